"""How a report leaves the device.

A transport has one method, `send(body)`.  It returns when the collector has the report for good, raises `ReportRefused`
if the collector will never take it, and `TransportFailed` if that is not known: sending again is then safe, because a
collector counts a report id once.  A redirect, a proxy or a sign-in page is not the collector's word on the report.

`HttpTransport` uses the standard library: one connection per report, no cookies, no redirects, the same headers every
time, and HTTPS unless the host is this machine.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
from typing import Protocol
from urllib.parse import urlsplit

from rrcollect.errors import ParameterError, ReportRefused, TransportFailed

__all__ = ["HttpTransport", "Transport"]

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
LONGEST_REASON = 300
MOST_PATIENT = 3600.0
FINAL = frozenset({400, 403, 404, 409, 410, 413, 415, 422})  # said of the report itself; all else may pass


class Transport(Protocol):
    """Anything that can carry a report to a collector."""

    def send(self, body: bytes) -> None:
        """Return if the collector has the report; otherwise `ReportRefused` or `TransportFailed`."""
        ...


class HttpTransport:
    """POST each report to a collector's address, such as https://collect.example.org/reports.

    >>> HttpTransport("http://example.org/r")
    Traceback (most recent call last):
    ...
    rrcollect.errors.ParameterError: url is 'http://example.org/r'; allowed: https, or http on this machine
    """

    def __init__(
        self, url: str, *, timeout: float = 10.0, allow_http: bool = False, context: ssl.SSLContext | None = None
    ) -> None:
        allowed = "an address such as https://collect.example.org/reports"
        try:
            parts = urlsplit(url) if isinstance(url, str) and url.isascii() else urlsplit("")
            host, port = parts.hostname, parts.port
        except ValueError:
            raise ParameterError("url", url, allowed) from None
        if parts.scheme not in ("http", "https") or not host or parts.username or parts.password or parts.fragment:
            raise ParameterError("url", url, allowed)
        if any(c.isspace() for c in url) or ".." in host:
            raise ParameterError("url", url, allowed)
        if parts.scheme == "http" and host not in LOCAL_HOSTS and not allow_http:
            raise ParameterError("url", url, "https, or http on this machine")
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= MOST_PATIENT:
            raise ParameterError("timeout", timeout, f"seconds, above 0 and at most {MOST_PATIENT:g}")
        self._https = parts.scheme == "https"
        self._host, self._port = host, port if port is not None else (443 if self._https else 80)
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._timeout = float(timeout)
        self._context = context

    def send(self, body: bytes) -> None:
        """One POST; see the module's text for the outcomes."""
        connection = self._connection()
        deadline = threading.Timer(self._timeout, _hang_up, [connection])  # for the whole exchange, byte by byte
        deadline.daemon = True
        deadline.start()
        try:
            connection.request(
                "POST",
                self._target,
                body=body,
                headers={"Content-Type": "application/json", "User-Agent": "rrcollect", "Accept": "application/json"},
            )
            response = connection.getresponse()
            said = response.read(4096).decode("utf-8", "replace")
            retry_after = response.headers.get("Retry-After")
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise TransportFailed(f"the collector could not be reached ({type(error).__name__})") from None
        finally:
            deadline.cancel()
            connection.close()
        _judge(response.status, said, retry_after)

    def _connection(self) -> http.client.HTTPConnection:
        if self._https:
            context = self._context or ssl.create_default_context()
            return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout, context=context)
        return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)


def _hang_up(connection: http.client.HTTPConnection) -> None:
    """End an exchange that takes too long; the reader then fails."""
    if connection.sock is not None:
        with contextlib.suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)


def _judge(status: int, said: str, retry_after: str | None) -> None:
    if 200 <= status < 300:
        return
    if status not in FINAL:
        wait = float(retry_after) if retry_after and retry_after.isascii() and retry_after.isdigit() else None
        raise TransportFailed(f"the collector answered {status}", min(wait, MOST_PATIENT) if wait is not None else None)
    words = "".join(c if c.isprintable() else " " for c in said[:LONGEST_REASON]).strip()
    raise ReportRefused(f"the collector answered {status}: {words or 'no reason given'}")
