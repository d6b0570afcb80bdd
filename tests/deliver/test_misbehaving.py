"""Collectors and relays that misbehave: none holds a device up, fills its memory, or makes it believe something."""

import contextlib
import datetime
import gc
import gzip
import ipaddress
import socket
import ssl
import threading
import time

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from rrcollect import HttpTransport
from rrcollect.errors import TransportFailed, WrongAddress
from tests.support.waiting import PATIENCE

TAKEN = b'{"new":1,"known":0}'


class Server:
    """A server on this machine that talks as it likes: `talk(connection)` for the first that comes."""

    def __init__(self, talk):
        self._talk, self._socket = talk, socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.sent, self.stop = 0, threading.Event()
        self._thread = threading.Thread(target=self._serve)

    def _serve(self):
        with contextlib.suppress(OSError):
            connection, _ = self._socket.accept()
            connection.settimeout(PATIENCE)
            with connection:
                self._talk(self, connection)

    def pour(self, connection, piece, pause=0.0):
        """The piece again and again, until somebody hangs up."""
        while not self.stop.wait(pause):
            connection.sendall(piece)
            self.sent += len(piece)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *error):
        self.stop.set()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()


def told(talk, timeout=0.5):
    """What a device makes of it, after how many seconds, and how many bytes were poured.  One that waits as long as a
    server likes does not come back, and pytest ends it."""
    with Server(talk) as server:
        start = time.monotonic()
        with pytest.raises(TransportFailed) as caught:
            HttpTransport(timeout=timeout).send(f"http://127.0.0.1:{server.port}/reports", b"{}")
        took = time.monotonic() - start
    assert type(caught.value) is TransportFailed
    return str(caught.value), took, server.sent


def replies(head, piece=b"", pause=0.0):
    def talk(server, connection):
        connection.recv(65536)
        connection.sendall(head)
        if piece:
            server.pour(connection, piece, pause)

    return talk


ENDLESS = {
    "a reply of a terabyte": (b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n", b" " * 65536),
    "chunks without end": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"400\r\n" + b" " * 1024 + b"\r\n",
    ),
    "a status line without end": (b"HTTP/1.1 200 ", b"O" * 65536),
    "headers without end": (b"HTTP/1.1 200 OK\r\n", b"a: b\r\n" * 1000),
    "one header without end": (b"HTTP/1.1 200 OK\r\na: ", b"b" * 65536),
    "interim replies without end": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_a_reply_without_an_end_is_cut_short(name):
    _, took, poured = told(replies(*ENDLESS[name]))
    assert took < 5
    if "interim" not in name:  # these are read until the timeout, and not kept
        assert poured < 50_000_000


@pytest.mark.parametrize("name", ["headers", "body", "interim"])
def test_a_reply_in_drops_ends_with_the_timeout(name):
    head, drop = {
        "headers": (b"HTTP/1.1 200 OK\r\n", b"a: b\r\n"),
        "body": (b"HTTP/1.1 200 OK\r\nContent-Length: 19\r\n\r\n", b" "),
        "interim": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    }[name]
    _, took, _ = told(replies(head, drop, 0.1))
    assert took < 5


def test_a_compressed_reply_is_not_unpacked_and_not_believed():
    """A device asks for none; a bomb of 1 GB in 1 MB stays as it is."""
    bomb = gzip.compress(TAKEN)
    head = b"HTTP/1.1 201 Created\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    said, *_ = told(replies(head + bomb), PATIENCE)
    assert said == "the reply (status 201) is not a collector's word on the report"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status):
    asked = []
    with Server(lambda server, connection: asked.append(connection.recv(65536))) as elsewhere:
        where = b"http://127.0.0.1:%d/reports" % elsewhere.port
        reply = b"HTTP/1.1 %d Found\r\nLocation: %s\r\nContent-Length: 19\r\n\r\n" % (status, where) + TAKEN
        said, *_ = told(replies(reply), PATIENCE)
        assert said == f"the reply (status {status}) is not a collector's word on the report"
    assert asked == []


def certified(folder):
    """The context of a server on this machine, and one that trusts it."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.datetime.now(datetime.UTC)
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(here, critical=True)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file, pem = folder / "server.pem", serialization.Encoding.PEM
    plain = serialization.NoEncryption()
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    file.write_bytes(secret + certificate.public_bytes(pem))
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(file)
    return serving, ssl.create_default_context(cafile=file)


def relayed(tmp_path, delays, drop=b"H", timeout=0.5):
    """A relay that lets a connection through after so long, and a collector that drips behind it."""
    serving, trusting = certified(tmp_path)

    def talk(server, connection):
        connection.recv(65536)
        time.sleep(delays[0])
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        time.sleep(delays[1])
        with serving.wrap_socket(connection, server_side=True) as inside:
            if drop is None:
                asked = b""
                while not asked.endswith(b"{}"):  # closed with something unread, a connection is reset
                    asked += inside.recv(65536)
                inside.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 19\r\n\r\n" + TAKEN)
            else:
                server.pour(inside, drop, 0.1)

    with Server(talk) as server:
        end = threading.Timer(PATIENCE, server.stop.set)  # an old device would wait as long as the server likes
        end.start()
        transport = HttpTransport(relay=f"http://127.0.0.1:{server.port}", timeout=timeout, context=trusting)
        try:
            transport.send("https://127.0.0.1/reports", b"{}")
        finally:
            waited_for_the_server = server.stop.is_set()
            end.cancel()
            server.stop.set()
            assert not waited_for_the_server


def test_a_reply_that_begins_after_the_timeout_is_not_waited_for(tmp_path):
    """The timer went off while the connection was being encrypted, found nothing to hang up on, and never came back."""
    with pytest.raises(TransportFailed, match="through the relay"):
        relayed(tmp_path, (0.3, 0.3))


def test_the_same_relay_in_time_is_fine(tmp_path):
    relayed(tmp_path, (0.0, 0.0), drop=None, timeout=PATIENCE)  # however busy the machine is
    with pytest.raises(TransportFailed):  # drops, from the beginning
        relayed(tmp_path, (0.0, 0.0))


RELAYS = {
    "closes": b"",
    "a page": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>Please sign in</html>",
    "a reply in the collector's place": b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 19\r\n\r\n"
    + TAKEN,
    "a refusal in its place": b"HTTP/1.1 404 Not Found\r\nContent-Length: 26\r\n\r\n" + b'{"error":"unknown_survey"}',
    "a redirect": b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\nContent-Length: 0\r\n\r\n",
    "not HTTP": b"SSH-2.0-relay\r\n",
}


@pytest.mark.parametrize("name", RELAYS)
def test_a_relay_cannot_speak_for_the_collector(name):
    def talk(server, connection):
        connection.recv(65536)
        connection.sendall(RELAYS[name])
        connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(OSError):
            while connection.recv(65536):
                pass

    with Server(talk) as server, pytest.raises(TransportFailed, match="through the relay") as caught:
        HttpTransport(relay=f"http://127.0.0.1:{server.port}", timeout=2).send("https://collect.example.org/r", b"{}")
    assert type(caught.value) is TransportFailed
    del caught
    gc.collect()  # a reply that was left open would be told now


def test_what_is_not_encrypted_goes_through_a_relay_on_this_machine_alone():
    """To a relay elsewhere, "this machine" is itself: it would get the report in clear."""
    with pytest.raises(WrongAddress, match="read by the relay; nothing was sent"):
        HttpTransport(relay="http://relay.example:3128").send("http://localhost/reports", b"{}")
