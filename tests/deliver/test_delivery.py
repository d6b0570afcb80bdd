"""Delivery: at least once, each report alone, shuffled; over HTTP to a real server; through failures and restarts."""

import contextlib
import json
import socket
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rrcollect import HttpTransport, Pace, Policy, Report, SimulatedCollector
from rrcollect.errors import ParameterError, ReportRefused, TransportFailed
from rrcollect.publish.rules import REASONS
from tests.support.devices import POLICY, client, envelope, question, survey

MANY = [question(id=f"q{i}", attribute=f"a{i}") for i in range(8)]
SURVEY = survey(*MANY)


@pytest.fixture
def device(tmp_path):
    policy = Policy(POLICY.publishers, lifetime_epsilon=100)
    mine = client(tmp_path, attributes=[q.attribute for q in MANY], policy=policy)
    accepted = mine.accept(envelope(*MANY))
    for q in MANY:
        mine.answer(accepted, q.id, True)
    return mine


def no_wait(**changes):
    return Pace(sleep=lambda seconds: None, **changes)


# ---- the outbox -----------------------------------------------------------------------------------------------------


def test_everything_is_delivered_once(device):
    collector = SimulatedCollector([SURVEY])
    assert device.deliver(collector).delivered == 8
    assert device.deliver(collector).delivered == 0
    assert len(collector.requests) == len(collector.reports) == 8
    assert {r.state for r in device.budget().reports} == {"delivered"}


def test_each_report_is_alone_and_the_order_is_shuffled(device):
    orders = set()
    for _ in range(12):
        collector = SimulatedCollector([SURVEY], failures=["after"] * 8)
        device.deliver(collector, no_wait(attempts=1))  # every reply is lost: nothing is marked
        orders.add(tuple(json.loads(body)["question"] for body in collector.requests))
    assert all(sorted(order) == sorted(q.id for q in MANY) for order in orders)
    assert len(orders) > 1  # 12 equal orders of 8: chance 8!^-11, below 1e-50


def test_a_lost_request_and_a_lost_reply_are_repeated_and_counted_once(device):
    collector = SimulatedCollector([SURVEY], failures=["before", "after"] * 6)
    done = device.deliver(collector, no_wait(attempts=20))
    assert (done.delivered, done.waiting) == (8, 0)
    assert len(collector.requests) > 8
    assert len(collector.reports) == 8


def test_what_could_not_be_sent_waits_and_survives_a_restart(device, tmp_path):
    dead = SimulatedCollector([SURVEY], failures=["before"] * 1000)
    done = device.deliver(dead, no_wait(attempts=2))
    assert (done.delivered, done.waiting, done.refused) == (0, 8, ())
    assert "lost" in done.last_failure
    again = client(tmp_path, attributes=["a0"])
    assert again.deliver(SimulatedCollector([SURVEY])).delivered == 8


def test_a_refusal_is_final_and_keeps_its_reason(device):
    collector = SimulatedCollector([])  # it does not know the survey
    done = device.deliver(collector, no_wait())
    assert done.delivered == 0
    said = "unknown_survey: no survey with this digest is published here"
    assert {reason for _, reason in done.refused} == {said}
    assert len(collector.requests) == 8
    device.deliver(collector, no_wait())
    assert len(collector.requests) == 8
    assert {r.reason for r in device.budget().reports} == {said}


def test_backoff_grows_has_jitter_and_honours_retry_after():
    waits = []
    pace = Pace(attempts=9, first_wait=1, longest_wait=8, sleep=waits.append)
    for attempt in range(8):
        for _ in range(50):
            pace.wait(attempt, None)
    for attempt in range(8):
        part = waits[attempt * 50 : attempt * 50 + 50]
        assert all(0 <= w <= min(8, 2**attempt) for w in part)
        assert len(set(part)) > 10
    pace.wait(0, 5.0)
    pace.wait(0, 500.0)
    assert waits[-2:] == [5.0, 500.0]  # never sooner than the collector asked for


@pytest.mark.parametrize(
    "bad",
    [
        {"attempts": 0},
        {"attempts": True},
        {"first_wait": -1},
        {"first_wait": 9, "longest_wait": 1},
        {"longest_wait": float("inf")},
    ],
)
def test_bad_paces(bad):
    with pytest.raises(ParameterError):
        Pace(**bad)


# ---- the collector in memory ----------------------------------------------------------------------------------------


def refused(change, collector=None):
    collector = collector or SimulatedCollector([survey(segments={"sport": ["ski"]})])
    good = {
        "survey": survey(segments={"sport": ["ski"]}).digest,
        "question": "q1",
        "design": question().design,
        "answer": "1",
        "id": "0" * 32,
    }
    with pytest.raises(ReportRefused) as caught:
        collector.send(Report(**{**good, **change}).to_bytes())
    reason, _, words = str(caught.value).partition(": ")
    assert words == REASONS[reason]
    return reason


def test_the_simulated_collector_keeps_a_real_ones_rules():
    from rrcollect import optimal_design

    assert refused({"survey": "1" * 64}) == "unknown_survey"
    assert refused({"question": "q9"}) == "unknown_question"
    assert refused({"design": optimal_design(1)}) == "wrong_design"
    assert refused({"round": 1}) == "unknown_round"
    assert refused({"segments": {"sport": "go"}}) == "undeclared_segment"
    assert refused({"segments": {"city": "Bern"}}) == "undeclared_segment"
    assert refused({"ticket": "mine"}) == "unexpected_ticket"
    collector = SimulatedCollector([survey()])
    report = Report(survey=survey().digest, question="q1", design=question().design, answer="1", id="0" * 32)
    collector.send(report.to_bytes())
    collector.send(report.to_bytes())
    assert len(collector.reports) == 1
    with pytest.raises(ReportRefused, match="another report has this id"):
        collector.send(replace(report, answer="0").to_bytes())
    with pytest.raises(ReportRefused, match="malformed"):
        collector.send(b"{}")


def test_the_simulated_collector_counts_a_ticket_once():
    invited = survey(question(), question(id="q2", attribute="b"), invite_only=True)
    collector = SimulatedCollector([invited])
    first = {"survey": invited.digest, "ticket": "t1"}
    assert refused({**first, "ticket": None}, collector) == "missing_ticket"
    report = Report(question="q1", design=question().design, answer="1", id="1" * 32, **first)
    collector.send(report.to_bytes())
    collector.send(report.to_bytes())
    assert refused({**first, "id": "2" * 32}, collector) == "ticket_reused"
    assert refused({**first, "id": "1" * 32, "ticket": "t2"}, collector) == "conflicting_id"
    collector.send(replace(report, question="q2", id="3" * 32).to_bytes())  # it speaks once for every question
    assert len(collector.reports) == 2


# ---- HTTP -----------------------------------------------------------------------------------------------------------


class Collector:
    """A real HTTP server on this machine that answers with the given statuses in turn, then 200."""

    def __init__(self, *statuses):
        collector = self
        self.statuses, self.seen = list(statuses), []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.seen.append((self.path, dict(self.headers), body))
                status, headers, text = collector.statuses.pop(0) if collector.statuses else (200, {}, b"{}")
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/reports?key=1"
        self.thread = threading.Thread(target=self.server.serve_forever)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def test_over_http_to_a_real_server(device):
    with Collector() as collector:
        assert device.deliver(HttpTransport(collector.url)).delivered == 8
    assert len({body for _, _, body in collector.seen}) == 8
    assert {path for path, _, _ in collector.seen} == {"/reports?key=1"}
    lengths = {len(body) for _, _, body in collector.seen}
    assert len(lengths) == 1
    names = {frozenset(headers) for _, headers, _ in collector.seen}
    assert names == {frozenset({"Host", "Accept-Encoding", "Content-Length", "Content-Type", "User-Agent", "Accept"})}
    assert {headers["User-Agent"] for _, headers, _ in collector.seen} == {"rrcollect"}


@pytest.mark.parametrize("status", [301, 302, 307, 401, 407, 408, 425, 429, 500, 502, 503, 507])
def test_statuses_that_are_retried(status):
    with Collector((status, {"Retry-After": "7"}, b"busy")) as collector:
        with pytest.raises(TransportFailed) as caught:
            HttpTransport(collector.url).send(b"{}")
        assert caught.value.retry_after == 7
        HttpTransport(collector.url).send(b"{}")


def test_a_retry_after_that_is_not_a_number_is_ignored_and_a_long_one_is_bounded():
    for text, expected in (("soon", None), ("²", None), ("99999999", 3600.0)):
        with Collector((503, {"Retry-After": text}, b"")) as collector, pytest.raises(TransportFailed) as caught:
            HttpTransport(collector.url).send(b"{}")
        assert caught.value.retry_after == expected


@pytest.mark.parametrize("status", [400, 403, 404, 409, 413, 422])
def test_statuses_that_are_final(status):
    refusal = (status, {"Location": "http://127.0.0.1:1/"}, b"because\x1b[31m of this")
    with Collector(refusal) as collector, pytest.raises(ReportRefused, match=f"{status}: because") as caught:
        HttpTransport(collector.url).send(b"{}")
    assert "\x1b" not in str(caught.value)
    assert len(collector.seen) == 1


def test_a_collector_that_asks_for_more_patience_than_there_is_gets_the_report_next_time(device):
    class Busy:
        sent = 0

        def send(self, body):
            self.sent += 1
            raise TransportFailed("busy", retry_after=500)

    busy = Busy()
    done = device.deliver(busy, no_wait(attempts=5))
    assert done.waiting == 8
    assert busy.sent == 8  # nobody waited, nobody was asked twice


def test_a_dead_network_costs_one_round_of_attempts_not_one_a_report(device):
    dead = SimulatedCollector([SURVEY], failures=["before"] * 1000)
    waits = []
    done = device.deliver(dead, Pace(attempts=4, sleep=waits.append))
    assert done.waiting == 8
    assert len(waits) == 3


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
            HttpTransport(f"http://127.0.0.1:{server.getsockname()[1]}/", timeout=0.5).send(b"{}")
        assert time.monotonic() - start < 5
        stop.set()
        thread.join()


def test_ipv6_addresses_keep_their_host_and_port():
    transport = HttpTransport("https://[2001:db8::7]/r")
    assert (transport._host, transport._port) == ("2001:db8::7", 443)
    assert transport._connection().host == "2001:db8::7"
    assert HttpTransport("http://[::1]/r")._connection().port == 80


def test_nobody_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(TransportFailed, match="could not be reached"):
        HttpTransport(f"http://127.0.0.1:{port}/reports").send(b"{}")


def test_a_server_that_never_answers_and_one_that_talks_nonsense():
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(TransportFailed):
        HttpTransport(f"http://127.0.0.1:{silent.getsockname()[1]}/", timeout=0.2).send(b"{}")
    with socket.create_server(("127.0.0.1", 0)) as server:

        def nonsense():
            connection, _ = server.accept()
            connection.recv(4096)
            connection.sendall(b"HELLO WORLD\r\n\r\n")
            connection.close()

        thread = threading.Thread(target=nonsense)
        thread.start()
        with pytest.raises(TransportFailed):
            HttpTransport(f"http://127.0.0.1:{server.getsockname()[1]}/").send(b"{}")
        thread.join()


def test_a_certificate_nobody_vouches_for_is_not_trusted():
    with Collector() as collector, pytest.raises(TransportFailed):
        HttpTransport(collector.url.replace("http:", "https:"), timeout=5).send(b"{}")
    assert collector.seen == []


@pytest.mark.parametrize(
    "url",
    [
        "",
        "reports",
        "ftp://example.org/",
        "http://example.org/reports",
        "https://user:secret@example.org/",
        "https:///reports",
        "https://example.org:99999/",
        "https://example.org/#x",
        "http://[bad",
        "https://exa..mple.org/",
        "https://example.org/ü",
        "https://example.org/a b",
        5,
    ],
)
def test_bad_addresses(url):
    with pytest.raises(ParameterError, match="^url is"):
        HttpTransport(url)
    assert HttpTransport("http://example.org/reports", allow_http=True)
    assert HttpTransport("https://example.org")
    for timeout in (0, -1, "x", True, None, float("nan")):
        with pytest.raises(ParameterError, match="^timeout is"):
            HttpTransport("https://example.org", timeout=timeout)
