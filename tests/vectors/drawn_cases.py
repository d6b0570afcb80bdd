"""What a device draws when it accepts a survey: the question it asks, and the round of each panel.

Every case has the survey, the clock, the attributes that the app answers about (under their own names), what the ledger
held before (`asked`: the attribute of the question drawn for this survey; `panels`: rounds by attribute), the bytes
that the generator gives, and what must come of them: the question's id, the panels' rounds by question, how many bytes
were taken.  Worked out here by lists, not by the client.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.inside.publish import canonical
from tests.vectors.parts import NOW, PANEL, QUESTION, SURVEY, TWO_OF_FIVE, b64, times

WORD = 2**64


def words(*numbers: int) -> bytes:
    """The generator's bytes, eight for each number."""
    return b"".join(number.to_bytes(8, "big") for number in numbers)


def uniform_cases() -> list[dict[str, Any]]:
    """Whole numbers below a count, from 64-bit words; those that would favour somebody are drawn again."""
    made = []
    for count in (1, 2, 3, 4, 5, 7, 10, 52, 200, 1000):
        spare = WORD % count
        for word in sorted({0, 1, count - 1, count, WORD // 2, WORD - spare - 1}):
            made.append(
                {"count": count, "bytes": words(word).hex(), "value": word % count, "used": 8 if count > 1 else 0}
            )
        if spare:
            again = words(WORD - 1, WORD - spare, count + 1)
            made.append({"count": count, "bytes": again.hex(), "value": 1, "used": 24})
    return made


def questions(count: int, *panels: int) -> list[dict[str, Any]]:
    """So many questions about a0, a1, …; those listed have a panel of four rounds."""
    return [{**(PANEL if n in panels else QUESTION), "id": f"q{n}", "attribute": f"a{n}"} for n in range(count)]


def cases() -> Iterator[dict[str, Any]]:
    late = times("10-01", "10-02", "10-03", "11-01", "11-01", "11-02", "12-01", "12-31")
    everything: dict[str, Any] = {"attributes": ["a0", "a1", "a2"], "asked": None, "panels": {}}

    def case(survey: dict[str, Any], given: bytes, question: str | None, rounds: dict[str, int | None], used: int,
             **changes: Any) -> dict[str, Any]:  # fmt: skip
        return {"survey": b64(canonical({**SURVEY, **survey})), "now": NOW, **everything, "bytes": given.hex(),
                "question": question, "rounds": rounds, "used": used, **changes}  # fmt: skip

    yield case({"questions": questions(3)}, b"", None, {}, 0)
    for word in (0, 1, 5, WORD // 3 * 3 - 1):
        yield case({"ask": "one", "questions": questions(3)}, words(word), f"q{word % 3}", {}, 8)
    yield case({"ask": "one", "questions": questions(3)}, words(WORD - 1, 7), "q1", {}, 16)
    yield case({"ask": "one", "questions": questions(1)}, b"", "q0", {}, 0)
    yield case({"ask": "one", "questions": questions(3)}, b"", "q2", {}, 0, asked="a2")
    yield case({"ask": "one", "questions": questions(2)}, words(9), "q1", {}, 8, asked="a2")
    yield case({"ask": "one", "questions": questions(3)}, words(0), "q0", {}, 8, attributes=["a1"])
    for word in (0, 1, 2, 7):
        yield case({"questions": questions(1, 0)}, words(word), None, {"q0": word % 4}, 8)
    yield case({"questions": questions(3, 0, 2)}, words(6, 3), None, {"q0": 2, "q2": 3}, 16)
    yield case({"questions": questions(3, 0, 2)}, words(3), None, {"q0": None, "q2": 3}, 8, attributes=["a2"])
    yield case({"questions": questions(3, 0, 2)}, words(1), None, {"q0": 3, "q2": 1}, 8, panels={"a0": 3})
    wide = [{**TWO_OF_FIVE, "id": "q0", "attribute": "a0", "rounds": 1000, "panel": True}]
    yield case({"questions": wide}, words(WORD - 1, 12345), None, {"q0": 345}, 16)
    yield case({"questions": questions(1, 0), "rounds": late}, words(3), None, {"q0": 3}, 8)  # the third is open
    yield case({"questions": questions(1, 0), "rounds": late}, words(2), None, {"q0": 2}, 8)
    now = "2026-11-02T00:00:00Z"  # the third has just closed
    yield case({"questions": questions(1, 0), "rounds": late}, b"", None, {"q0": 3}, 0, now=now)
    now = "2026-12-31T00:00:00Z"
    yield case({"questions": questions(1, 0), "rounds": late}, b"", None, {"q0": None}, 0, now=now)
    yield case({"questions": questions(1, 0), "rounds": late}, b"", None, {"q0": 0}, 0, now=now, panels={"a0": 0})
    both = {"ask": "one", "questions": questions(3, 0, 1)}
    yield case(both, words(1, 6), "q1", {"q0": None, "q1": 2}, 16)
    yield case(both, words(2), "q2", {"q0": None, "q1": None}, 8)
    yield case(both, words(6), "q1", {"q0": None, "q1": 2}, 8, asked="a1")


def drawn() -> dict[str, Any]:
    """The content of drawn.json."""
    return {"uniform": uniform_cases(), "accepting": list(cases())}
