"""What a reply says about a report: the collector's own words, or nothing.

Rules
1. 200 or 201 with exactly {"new": …, "known": …}, one report in sum: the collector has it.
2. A JSON object whose `error` is a reason of `publish.rules`, under that reason's own status: refused for good.
3. 404, 405 or 501 without such words: there is no collector at this address, and waiting will not make one.
4. Everything else (a sign-in page, a proxy's page, a redirect, trouble of the collector, a word nobody published) says
   nothing about the report: it waits.  Nothing of a reply moves the moment of a later attempt; `Retry-After` is not
   read.
"""

from __future__ import annotations

import json
from typing import Any

from rrcollect.errors import ReportRefused, TransportFailed, WrongAddress, shown
from rrcollect.publish.rules import REASONS, STATUS

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


def _object(said: bytes) -> dict[str, Any]:
    """The JSON object of a reply; empty if it is not one."""
    if len(said) > LONGEST_REPLY:
        return {}
    try:
        value = json.loads(said)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
