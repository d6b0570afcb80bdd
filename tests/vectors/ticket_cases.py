"""Invites as people type them, and the tickets that stand for them in reports.

Spelled out here once more, by the text of docs/wire-format.md, and not by calling what it checks.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

SIGNS = "0123456789abcdefghjkmnpqrstvwxyz"


def invite(label: str) -> str:
    """26 signs (130 bits, here of a label's hash) and two that check them."""
    bits = int.from_bytes(hashlib.sha256(label.encode()).digest()[:17]) >> 6
    start = "".join(SIGNS[bits >> shift & 31] for shift in range(125, -1, -5))
    check = int.from_bytes(hashlib.sha256(start.encode()).digest()[:2]) >> 6
    return start + SIGNS[check >> 5] + SIGNS[check & 31]


def ticket(key: str, survey: str, question: str, number: int) -> str:
    message = f"rrcollect ticket\n{survey}\n{question}\n{number}"
    return hmac.new(key.encode(), message.encode(), hashlib.sha256).hexdigest()[:32]


def typed() -> list[dict[str, Any]]:
    """What a person typed, and the invite it is; null if it is mistyped."""
    made: list[dict[str, Any]] = []
    for good in map(invite, ("one", "two", "three")):
        spellings = [
            good,
            good.upper(),
            f"  {good}\n",
            "-".join(good[i : i + 5] for i in range(0, 28, 5)),
            f"-{good}--",
        ]
        spellings += [good.replace("1", "i"), good.replace("1", "L").replace("0", "O")]
        made += [{"typed": text, "invite": good} for text in spellings]
        wrong = [
            good[:-1],
            good + "0",
            good[:12] + good[13:],
            good[1] + good[0] + good[2:],
            good[:26],
            f"{good[:13]} {good[13:]}",
        ]
        wrong += [good[:at] + SIGNS[(SIGNS.index(good[at]) + 1) % 32] + good[at + 1 :] for at in range(28)]
        wrong += [good[:at] + sign + good[at + 1 :] for at, sign in ((0, "u"), (7, "é"), (25, "_"))]
        made += [{"typed": text, "invite": None} for text in wrong if text != good]
    return made + [{"typed": text, "invite": None} for text in ("", "-", "0" * 28, "x" * 500, "𝟎" * 28)]


def tickets() -> list[dict[str, Any]]:
    """The ticket of an invite in the report about a question and round."""
    digests = [hashlib.sha256(label.encode()).hexdigest() for label in ("a", "b")]
    return [
        {
            "invite": key,
            "survey": digest,
            "question": question,
            "round": number,
            "ticket": ticket(key, digest, question, number),
        }
        for key in map(invite, ("one", "two"))
        for digest in digests
        for question in ("q1", "doped_2.b")
        for number in (0, 1, 999)
    ]
