"""Ports for servers that are started a moment later, by another process.

Rules
1. A port is not one that the system hands out by itself: another test that binds port 0, or an outgoing connection,
   could be given it in between, and the request meant for our server would go to theirs.
2. Nor is it handed out twice by this process; others that count begin elsewhere.
"""

from __future__ import annotations

import itertools
import secrets
import socket

LOWEST, HIGHEST = 11_000, 32_000  # browsers visit none of the ports they call unsafe here; systems hand out higher ones
_counted = itertools.count(secrets.randbelow(HIGHEST - LOWEST))


def free_port() -> int:
    """A port of this machine on which nobody listens.

    >>> one, other = free_port(), free_port()
    >>> one != other, LOWEST <= min(one, other) <= max(one, other) < HIGHEST
    (True, True)
    """
    for number in itertools.islice(_counted, HIGHEST - LOWEST):
        port = LOWEST + number % (HIGHEST - LOWEST)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise AssertionError("no port is free")
