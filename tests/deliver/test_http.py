"""HTTP to real servers on this machine: what leaves, what replies mean, and the way through a relay."""

import contextlib
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rrcollect import HttpTransport, ParameterError
from rrcollect.errors import ReportRefused, TransportFailed, WrongAddress
from server_agg import REASONS
from tests.inside.publish import STATUS
from tests.support.devices import Clock, client, envelope, question
from tests.support.waiting import PATIENCE

TAKEN = b'{"new":1,"known":0}'
PAGE = b"<!doctype html><title>Sign in</title>"
SOMEWHERE = "https://collect.example.org/reports"


class Collector:
    """A real HTTP server on this machine that answers with the given statuses in turn, then 200."""

    def __init__(self, *statuses):
        collector = self
        self.statuses, self.seen = list(statuses), []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.seen.append((self.path, dict(self.headers), body))
                status, headers, text = collector.statuses.pop(0) if collector.statuses else (201, {}, TAKEN)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/reports"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def sent(*reply, **settings):
    """One report to a collector that replies so."""
    with Collector(reply) as collector:
        HttpTransport(**settings).send(collector.url, b"{}")
    return collector


def test_over_http_to_a_real_server(tmp_path):
    asked = [question(id=f"q{i}", attribute=f"a{i}") for i in range(4)]
    with Collector() as collector:
        device = client(tmp_path, attributes=[q.attribute for q in asked])
        accepted = device.accept(envelope(*asked, collector=collector.url))
        for q in asked:
            device.answer(accepted, q.id, True)
        assert device.deliver().delivered == 4
    assert len({body for _, _, body in collector.seen}) == 4
    assert {path for path, _, _ in collector.seen} == {"/reports"}
    assert len({len(body) for _, _, body in collector.seen}) == 1
    names = {frozenset(headers) for _, headers, _ in collector.seen}
    assert names == {frozenset({"Host", "Accept-Encoding", "Content-Length", "Content-Type", "User-Agent", "Accept"})}
    assert {headers["User-Agent"] for _, headers, _ in collector.seen} == {"rrcollect"}


# ---- what a reply means ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reply", [(201, TAKEN), (200, b'{"new":0,"known":1}'), (200, b' {"known": 1,\n"new": 0} ')])
def test_the_collectors_own_words_are_believed(reply):
    status, said = reply
    assert len(sent(status, {}, said).seen) == 1


NOT_A_WORD = [
    *((status, PAGE) for status in (200, 201, 400, 403, 409, 410, 413, 415, 422)),
    *((status, b"") for status in (200, 201, 204, 301, 302, 307, 401, 407, 408, 425, 429, 500, 502, 503, 507)),
    (200, b"{}"),
    (200, b'{"new":1,"known":1}'),
    (200, b'{"new":2,"known":-1}'),
    (200, b'{"new":true,"known":0}'),
    (200, b'{"new":1.0,"known":0}'),
    (200, b'{"new":1,"known":0,"more":1}'),
    (200, b'{"new":1}'),
    (200, b"[1]"),
    (200, b"["),
    (200, b"\xff"),
    (200, b"[" * 4000),
    (200, TAKEN + b" " * 5000),
    (202, TAKEN),
    (500, TAKEN),
    (403, b'{"error":"forbidden","reason":"x"}'),
    (403, b'{"error":"conflicting_id"}'),
    (200, b'{"error":"closed"}'),
    (422, b'{"error":["wrong_design"]}'),
    (400, b'{"error":"disconnected"}'),
    (413, b'{"error":"too_large"}'),
    (415, b'{"error":"content_type"}'),
    (503, b'{"error":"QueueFull"}'),
]


@pytest.mark.parametrize(("status", "said"), NOT_A_WORD)
def test_what_is_not_a_word_on_the_report_leaves_it_waiting(status, said):
    with pytest.raises(TransportFailed, match=f"status {status}") as caught:
        sent(status, {"Retry-After": "7", "Location": "http://127.0.0.1:1/"}, said)
    assert type(caught.value) is TransportFailed
    assert "Sign in" not in str(caught.value)


@pytest.mark.parametrize("code", REASONS)
def test_a_reason_of_the_rules_is_final_under_its_own_status(code):
    said = b'{"error":"%b","reason":"because\\u001b[31m of this","new":0,"known":0}' % code.encode()
    with pytest.raises(ReportRefused) as caught:
        sent(STATUS[code], {}, said)
    assert str(caught.value) == f"{code}: {REASONS[code]}"  # our words, not the server's
    with pytest.raises(TransportFailed):
        sent(418, {}, said)


@pytest.mark.parametrize("status", [404, 405, 501])
@pytest.mark.parametrize("said", [PAGE, b"", b'{"error":"http","reason":"Not Found"}'])
def test_a_place_without_a_collector_is_a_wrong_address(status, said):
    with pytest.raises(WrongAddress, match=rf"http://127.0.0.1:\d+/reports.*status {status}"):
        sent(status, {}, said)


@pytest.mark.parametrize(("status", "said"), [(200, PAGE), (403, PAGE), (413, PAGE), (404, PAGE), (405, b"")])
def test_the_report_waits_and_a_wrong_address_is_raised_at_the_first_try(tmp_path, status, said):
    clock = Clock()
    with Collector((status, {}, said)) as collector:
        device = client(tmp_path, clock=clock, sleep=clock.sleep)
        device.answer(device.accept(envelope(collector=collector.url)), "q1", True)
        if status in (404, 405):
            with pytest.raises(WrongAddress):
                device.deliver()
        else:
            assert device.deliver().waiting == 1
        assert [r.state for r in device.budget().reports] == ["waiting"]
        assert device.deliver(within=10).delivered == 1  # it is found later
    assert len(collector.seen) == 2


# ---- the network ----------------------------------------------------------------------------------------------------


def test_a_server_that_drips_is_hung_up_on():
    with socket.create_server(("127.0.0.1", 0)) as server:
        stop = threading.Event()

        def drip():
            connection, _ = server.accept()
            connection.recv(4096)
            with contextlib.suppress(OSError):
                while not stop.wait(0.1):
                    connection.sendall(b"H")
            connection.close()

        thread = threading.Thread(target=drip)
        thread.start()
        start = time.monotonic()
        with pytest.raises(TransportFailed):
            HttpTransport(timeout=0.5).send(f"http://127.0.0.1:{server.getsockname()[1]}/", b"{}")
        assert time.monotonic() - start < 5
        stop.set()
        thread.join()


def test_ipv6_addresses_keep_their_host_and_port():
    connection, path = HttpTransport()._connection("https://[2001:db8::7]/r")
    assert (connection.host, connection.port, path) == ("2001:db8::7", 443, "/r")
    assert HttpTransport()._connection("http://[::1]/r")[0].port == 80


def test_what_is_under_way_can_be_hung_up():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        transport, said = HttpTransport(timeout=60), []

        def send():
            with pytest.raises(TransportFailed) as caught:
                transport.send(f"http://127.0.0.1:{silent.getsockname()[1]}/r", b"{}")
            said.append(str(caught.value))

        thread = threading.Thread(target=send)
        thread.start()
        connection, _ = silent.accept()
        with connection:
            connection.recv(4096)
            transport.hang_up()
            thread.join(PATIENCE)
    assert len(said) == 1


def test_nobody_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(TransportFailed, match="could not be reached"):
        HttpTransport().send(f"http://127.0.0.1:{port}/reports", b"{}")


def test_a_server_that_never_answers_and_one_that_talks_nonsense():
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(TransportFailed):
        HttpTransport(timeout=0.2).send(f"http://127.0.0.1:{silent.getsockname()[1]}/", b"{}")
    with socket.create_server(("127.0.0.1", 0)) as server:

        def nonsense():
            connection, _ = server.accept()
            connection.recv(4096)
            connection.sendall(b"HELLO WORLD\r\n\r\n")
            connection.close()

        thread = threading.Thread(target=nonsense)
        thread.start()
        with pytest.raises(TransportFailed):
            HttpTransport().send(f"http://127.0.0.1:{server.getsockname()[1]}/", b"{}")
        thread.join()


def test_a_certificate_nobody_vouches_for_is_not_trusted():
    with Collector() as collector, pytest.raises(TransportFailed):
        HttpTransport(timeout=PATIENCE).send(collector.url.replace("http:", "https:"), b"{}")
    assert collector.seen == []


BAD = [
    "",
    "reports",
    "carried",
    "ftp://example.org/",
    "http://example.org/reports",
    "https://user:secret@example.org/",
    "https:///reports",
    "https://example.org:99999/",
    "https://example.org:0/",
    "https://example.org/#x",
    "http://[bad",
    "https://exa..mple.org/",
    "https://example.org/ü",
    "https://example.org/a b",
    5,
]


@pytest.mark.parametrize("address", BAD)
def test_an_address_that_cannot_be_read_is_a_wrong_address(address):
    with pytest.raises(WrongAddress, match="is not an address for reports: use .* publisher has to mend it"):
        HttpTransport().send(address, b"{}")


@pytest.mark.parametrize("timeout", [0, -1, "x", True, None, float("nan")])
def test_bad_timeouts(timeout):
    with pytest.raises(ParameterError, match="^timeout is"):
        HttpTransport(timeout=timeout)
    with pytest.raises(ParameterError, match="^context is"):
        HttpTransport(context=5)


# ---- the relay ------------------------------------------------------------------------------------------------------


class Relay:
    """A small HTTP proxy that knows CONNECT and nothing else; keeps what it could read."""

    def __init__(self, refuse=False):
        self.refuse, self.asked, self.through = refuse, [], []
        self.server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.server.getsockname()[1]}"

    def __enter__(self):
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.server.close()
        self.thread.join(0.1)

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.server.accept()
                threading.Thread(target=self._relay, args=(connection,), daemon=True).start()

    def _relay(self, near):
        with near, contextlib.suppress(OSError):
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += near.recv(1)
            self.asked.append(head.decode())
            method, where, _ = head.split(b"\r\n")[0].split(b" ")
            if self.refuse or method != b"CONNECT":
                near.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
                return
            host, port = where.decode().rsplit(":", 1)
            with socket.create_connection((host, int(port))) as far:
                near.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                back = threading.Thread(target=self._pump, args=(far, near, []), daemon=True)
                back.start()
                self._pump(near, far, self.through)
                back.join(5)

    @staticmethod
    def _pump(source, target, kept):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                kept.append(data)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


def test_a_relay_carries_reports_to_the_collector(tmp_path):
    with Collector() as collector, Relay() as relay:
        device = client(tmp_path)
        device.answer(device.accept(envelope(collector=collector.url)), "q1", True)
        assert device.deliver(HttpTransport(relay=relay.url)).delivered == 1
    assert len(collector.seen) == 1
    (head,) = relay.asked
    assert head.startswith(f"CONNECT 127.0.0.1:{collector.server.server_port} HTTP/1.")
    assert "rrcollect" not in head


def test_a_relay_sees_no_content_of_https():
    with Collector() as collector, Relay() as relay, pytest.raises(TransportFailed, match="through the relay"):
        HttpTransport(relay=relay.url, timeout=PATIENCE).send(collector.url.replace("http:", "https:"), b"the report")
    assert relay.through[0][0] == 0x16  # a TLS handshake
    assert b"the report" not in b"".join(relay.through)


def test_a_relay_that_refuses_or_is_not_there_leaves_the_report_waiting():
    with Relay(refuse=True) as relay, pytest.raises(TransportFailed, match="through the relay") as caught:
        HttpTransport(relay=relay.url).send(SOMEWHERE, b"{}")
    assert type(caught.value) is TransportFailed
    with pytest.raises(TransportFailed):
        HttpTransport(relay=relay.url).send(SOMEWHERE, b"{}")


@pytest.mark.parametrize(
    "relay", ["", "relay", "https://relay.example:3128", "http://relay.example", "http://r:1/path", "http://u@r:1", 5]
)
def test_bad_relays(relay):
    with pytest.raises(ParameterError, match="^relay is"):
        HttpTransport(relay=relay)
