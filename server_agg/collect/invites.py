"""Invites, made here or by their owner: the collector keeps sorted hashes of tickets, and nothing else of them.

Rules
1. `{"count": N}` makes N invites and returns them once.  `{"hashes": […]}` takes the hashes of tickets of invites that
   the owner made (`rrcollect invites`): then not even this process ever holds one.
2. An invite gives a ticket for each question and round (`rrcollect.publish.tickets`).  Hashes are stored sorted, so
   that their order says nothing about which belong to one invite.
3. Whoever issued the invites can compute which tickets belong together; this is said where people read it.
"""

from __future__ import annotations

import re
from typing import Any

from rrcollect.publish.survey import Survey
from rrcollect.publish.tickets import new_invite, ticket_hashes
from server_agg.errors import Refusal

MOST_INVITES = 10_000
MOST_HASHES = 200_000  # in one request
LARGEST_REQUEST = MOST_HASHES * 67 + 64  # bytes: each hash with quotes and comma
HASH = re.compile(r"[0-9a-f]{64}")


def asked_invites(asked: Any, survey: Survey) -> tuple[list[str] | None, list[str]]:
    """What a request asks for: the invites made for it (None if it brought hashes), and the hashes to keep."""
    if not survey.invite_only:
        raise Refusal(400, "not_by_invitation", "this survey is open to everybody (invite_only is false)")
    if isinstance(asked, dict) and set(asked) == {"hashes"}:
        return None, _hashes(asked["hashes"])
    count = asked.get("count") if isinstance(asked, dict) and set(asked) == {"count"} else None
    most = min(MOST_INVITES, MOST_HASHES // sum(question.rounds for question in survey.questions))
    if type(count) is not int or not 1 <= count <= most:
        raise Refusal(400, "count", f'send {{"count": N}} with N from 1 to {most}, or {{"hashes": […]}}')
    made = [new_invite() for _ in range(count)]
    return made, ticket_hashes(made, survey)


def _hashes(given: Any) -> list[str]:
    if not isinstance(given, list) or not 1 <= len(given) <= MOST_HASHES:
        raise Refusal(400, "hashes", f"send 1 to {MOST_HASHES} hashes of tickets")
    if not all(isinstance(one, str) and HASH.fullmatch(one) for one in given):
        raise Refusal(400, "hashes", "a hash of a ticket is SHA-256 in 64 hexadecimal digits of lower case")
    return sorted(set(given))
