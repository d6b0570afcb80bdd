"""How a report leaves the device.

A transport has one method for reports, `send(destination, body)`: the destination is the address that the signed survey
names, kept with the report since it was drawn.  It returns when the collector there has the report for good, raises
`ReportRefused` if that collector will never take it, `WrongAddress` if there is no collector there, and
`TransportFailed` if nothing is known: sending again is then safe, because a collector counts a report id once.  What is
believed of a reply: `judge`.  `ask` carries a request for tokens to an issuer in the same way.

`HttpTransport` uses the standard library: one connection per report, no cookies, no redirects, the same headers every
time, and HTTPS unless the host is this machine.  The timeout is for the whole exchange, however slow its parts are.
With a relay the connection goes through HTTP CONNECT: the relay sees the device's address and the collector's name but
no content, the collector sees the relay's address alone.  What is not encrypted goes through a relay on this machine
alone: to another one "this machine" would be itself.

What a reply says about a report: the collector's own words, or nothing
1. 200 or 201 with exactly {"new": …, "known": …}, one report in sum: the collector has it.
2. A JSON object whose `error` is a reason of `publish.report`, under that reason's own status: refused for good.
3. 404, 405 or 501 without such words: there is no collector at this address, and waiting will not make one.
4. Everything else (a sign-in page, a proxy's page, a redirect, trouble of the collector, a word nobody published) says
   nothing about the report: it waits.  Nothing of a reply moves the moment of a later attempt; `Retry-After` is not
   read.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import SplitResult, urlsplit

from rrcollect.errors import (
    IssuerFailed,
    ParameterError,
    ReportRefused,
    TokensRefused,
    TransportFailed,
    WrongAddress,
    shown,
)
from rrcollect.publish.report import REASONS, STATUS
from rrcollect.publish.tokens import REFUSALS

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
MOST_PATIENT = 3600.0
LARGEST_BUNDLE = 256 * 1024  # bytes; what a log says at once
HEADERS = {"Content-Type": "application/json", "User-Agent": "rrcollect", "Accept": "application/json"}


class Transport(Protocol):
    """Anything that can carry a report to a collector; `send` is called by several threads at once."""

    def send(self, destination: str, body: bytes) -> None:
        """Return if the collector has the report; otherwise `ReportRefused` or `TransportFailed`."""
        ...


class Issuing(Protocol):
    """Anything that can carry a request for tokens to an issuer."""

    def ask(self, issuer: str, body: bytes, longest: int) -> bytes:
        """The reply, of so many bytes at most; otherwise `TokensRefused` or `IssuerFailed`."""
        ...


class HttpTransport:
    """POST each report to the address its survey names, through `relay` (such as http://relay.example:3128) if given.

    >>> HttpTransport().send("http://example.org/reports", b"{}")
    Traceback (most recent call last):
    ...
    rrcollect.errors.WrongAddress: 'http://example.org/reports' is not an address for reports: use https, or http \
on this machine.  Nothing was sent; the survey's publisher has to mend it
    """

    def __init__(
        self, *, relay: str | None = None, timeout: float = 10.0, context: ssl.SSLContext | None = None
    ) -> None:
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= MOST_PATIENT:
            raise ParameterError("timeout", timeout, f"seconds, above 0 and at most {MOST_PATIENT:g}")
        if context is not None and not isinstance(context, ssl.SSLContext):
            raise ParameterError("context", type(context).__name__, "an ssl.SSLContext")
        self._relay = None if relay is None else _relay(relay)
        self._timeout = float(timeout)
        self._context = context
        self._open: set[http.client.HTTPConnection] = set()
        self._lock = threading.Lock()

    def send(self, destination: str, body: bytes) -> None:
        """One POST; see the module's text for the outcomes."""
        if str(destination).startswith("{"):
            raise WrongAddress(
                "this survey's reports leave through its relay and no other way: use OhttpTransport.  Nothing was sent"
            )
        judge(destination, *self.exchange(destination, body, HEADERS, LONGEST_REPLY))

    def ask(self, issuer: str, body: bytes, longest: int) -> bytes:
        """What the issuer at this address replies to a request for tokens, of so many bytes at most."""
        if issuer.startswith("{"):
            raise IssuerFailed("this survey's tokens are asked for through its relay: use OhttpTransport")
        return judged_by_issuer(issuer, *self.exchange(issuer, body, HEADERS, max(longest, LONGEST_REPLY)))

    def exchange(
        self, address: str, body: bytes, headers: Mapping[str, str], longest: int, patience: float | None = None
    ) -> tuple[int, bytes]:
        """The status of the reply to one POST, and its first `longest` bytes and one more; `patience` in seconds, if it
        is not the timeout."""
        patience = self._timeout if patience is None else patience
        connection, target = self._connection(address, patience)
        replies = _kept_replies(connection)
        deadline = threading.Timer(patience, _hang_up, [connection])  # for the whole exchange, byte by byte
        deadline.daemon = True
        end = time.monotonic() + patience
        deadline.start()
        with self._lock:
            self._open.add(connection)
        try:
            connection.connect()
            if time.monotonic() >= end:  # the timer found nothing to hang up on while the connection was being made
                raise TimeoutError
            connection.request("POST", target, body=body, headers=dict(headers))
            with connection.getresponse() as response:
                return response.status, response.read(longest + 1)
        except (OSError, ValueError, http.client.HTTPException) as error:
            way = "" if self._relay is None else " through the relay"
            raise TransportFailed(f"the collector could not be reached{way} ({type(error).__name__})") from None
        finally:
            deadline.cancel()
            for reply in replies:
                reply.close()
            connection.close()
            with self._lock:
                self._open.discard(connection)

    def hang_up(self) -> None:
        """End every exchange that is under way; their `send` fails."""
        with self._lock:
            for connection in self._open:
                _hang_up(connection)

    def _connection(self, destination: str, patience: float = MOST_PATIENT) -> tuple[http.client.HTTPConnection, str]:
        """A connection of its own, not yet opened, and the path to post to."""
        read = _parts(destination)
        if read is None or (read[0].scheme == "http" and read[1] not in LOCAL_HOSTS):
            raise WrongAddress(
                f"{shown(destination)} is not an address for reports: use https, or http on this machine.  "
                "Nothing was sent; the survey's publisher has to mend it"
            )
        parts, host, port = read
        secure = parts.scheme == "https"
        port = port or (443 if secure else 80)
        if self._relay is not None and not secure and self._relay[0] not in LOCAL_HOSTS:
            raise WrongAddress(
                f"{shown(destination)} is not encrypted, and would be read by the relay; nothing was sent"
            )
        first = self._relay or (host, port)
        if secure:
            context = self._context or ssl.create_default_context()
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                *first, timeout=patience, context=context
            )
        else:
            connection = http.client.HTTPConnection(*first, timeout=patience)
        if self._relay is not None:
            connection.set_tunnel(host, port)
        return connection, (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


class HttpLog:
    """Reads a log of surveys, at an address such as https://collect.example.org/log, for `Client.accept(…, log=…)`."""

    def __init__(self, address: str, *, timeout: float = 10.0) -> None:
        read = _parts(address)
        if read is None or (read[0].scheme == "http" and read[1] not in LOCAL_HOSTS) or read[0].query:
            raise ParameterError("address", address, "the https address of a log, or http on this machine")
        self._parts, self._host, self._port, self._timeout = *read, timeout

    def __call__(self, name: str) -> bytes:
        """The bytes at an address below the log's own, such as `checkpoint`."""
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=self._timeout)
        try:
            connection.request("GET", f"{self._parts.path.rstrip('/')}/{name}", headers={"User-Agent": "rrcollect"})
            reply = connection.getresponse()
            found = reply.read(LARGEST_BUNDLE + 1)
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise TransportFailed(f"the log could not be read ({type(error).__name__})") from None
        finally:
            connection.close()
        if reply.status != 200 or len(found) > LARGEST_BUNDLE:
            raise TransportFailed(f"the log has no {name} (status {reply.status})")
        return found


def _parts(text: object) -> tuple[SplitResult, str, int | None] | None:
    """The parts of an address, its host and its port; None if it is not one."""
    if not isinstance(text, str) or not text.isascii() or any(c.isspace() for c in text):
        return None
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not host or ".." in host or port == 0:
        return None
    return None if parts.username or parts.password or parts.fragment else (parts, host, port)


def _relay(relay: str) -> tuple[str, int]:
    """The host and port of a relay: plain http, because what goes through it is encrypted to the collector."""
    read = _parts(relay)
    if read is not None:
        parts, host, port = read
        if parts.scheme == "http" and port is not None and parts.path in ("", "/") and not parts.query:
            return host, port
    raise ParameterError(
        "relay", relay, "the address of an HTTP proxy that knows CONNECT, such as http://relay.example:3128"
    )


def _kept_replies(connection: http.client.HTTPConnection) -> list[http.client.HTTPResponse]:
    """The replies that this connection will begin to read; one that fails to begin is otherwise closed by nobody."""
    replies: list[http.client.HTTPResponse] = []

    def begun(*about: Any, **more: Any) -> http.client.HTTPResponse:
        replies.append(http.client.HTTPResponse(*about, **more))
        return replies[-1]

    connection.response_class = begun  # type: ignore[assignment]
    return replies


def _hang_up(connection: http.client.HTTPConnection) -> None:
    """End an exchange that takes too long; the reader then fails.

    By the socket's own method: that of an encrypted one would let its reader go on in clear."""
    if connection.sock is not None:
        with contextlib.suppress(OSError):
            socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)


# ---- what a reply says ----------------------------------------------------------------------------------------------

LONGEST_REPLY = 4096  # bytes; a collector's own reply has a few hundred
NOT_A_COLLECTOR = (404, 405, 501)


def judge(destination: str, status: int, said: bytes) -> None:
    """Return if the collector has the report; otherwise raise what its reply means.

    >>> judge("https://collect.example.org/reports", 201, b'{"new":1,"known":0}')
    >>> judge("https://collect.example.org/reports", 200, b"<html>Please sign in</html>")
    Traceback (most recent call last):
    ...
    rrcollect.errors.TransportFailed: the reply (status 200) is not a collector's word on the report
    """
    words = _object(said)
    if status in (200, 201) and set(words) == {"new", "known"}:
        counts = list(words.values())
        if all(type(count) is int and count >= 0 for count in counts) and sum(counts) == 1:
            return
    error = words.get("error")
    if isinstance(error, str) and STATUS.get(error) == status:
        raise ReportRefused(f"{error}: {REASONS[error]}")
    if status in NOT_A_COLLECTOR:
        raise WrongAddress(
            f"there is no collector at {shown(destination)} (status {status}); the report waits.  The survey's "
            "`collector` must be the whole address, as in https://collect.example.org/reports"
        )
    raise TransportFailed(f"the reply (status {status}) is not a collector's word on the report")


def judged_by_issuer(issuer: str, status: int, said: bytes) -> bytes:
    """The reply, if it is one to a request for tokens; otherwise what it means.  As with reports, only known words
    under their own status are a refusal; everything else says nothing, and asking again is safe.

    >>> judged_by_issuer("https://issue.example.org/tokens", 409, b'{"error":"already_issued","reason":"-"}')
    Traceback (most recent call last):
    ...
    rrcollect.errors.TokensRefused: already_issued: another device, or another ledger, used this invite
    """
    if status == 200:
        return said
    error = _object(said).get("error")
    if isinstance(error, str) and REFUSALS.get(error, (0,))[0] == status:
        raise TokensRefused(f"{error}: {REFUSALS[error][1]}")
    raise IssuerFailed(f"{shown(issuer)} issued no tokens (status {status}); asking again is safe")


def _object(said: bytes) -> dict[str, Any]:
    """The JSON object of a reply; empty if it is not one."""
    if len(said) > LONGEST_REPLY:
        return {}
    try:
        value = json.loads(said)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
