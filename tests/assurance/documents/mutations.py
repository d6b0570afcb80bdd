"""Surveys with a few things changed, signed as they then stand: most are refused, some are still good.

What is changed is chosen by a seed, so that a difference can be looked at again.  Places are chosen first, then what is
done there, so that every field of the document has its turn; texts get the characters at the edges of every rule.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

from rrcollect.errors import MalformedDocument
from rrcollect.publish.texts import HIDDEN, JOINER, NON_JOINER
from tests.inside.publish import canonical
from tests.vectors.parts import (
    FAMILY,
    GRID,
    KINDS,
    LONG,
    MEANT,
    NOW,
    OPEN,
    PERSIAN,
    POLICY,
    QUESTION,
    SET_DESIGN,
    SURVEY,
    WRITTEN,
    b64,
    loose,
    segments,
    signed,
    times,
)

Json = Any
SECOND = {**GRID, "id": "q2", "attribute": "pressed", "help": {"en": "Think of last year."}, "rounds": 2}
RICH = {
    **SURVEY,
    **WRITTEN,
    "title": {"en": "Clean sport", "de-AT": "Sauber", "fa": PERSIAN},
    "segments": segments(
        [{"value": "run", "label": {"en": "Running"}}, "ski"], label={"en": "Sport"}, help={"en": "x"}
    ),
    "origins": ["https://survey.example.org", "http://localhost:8000"],
    "opens": "2026-10-01T00:00:00Z",
    "rounds": times("11-01", "11-30", "12-01", "12-31"),
    "questions": [{**QUESTION, "text": {"en": f"A family: {FAMILY}?\nYours.", "fa": PERSIAN}}, SECOND],
}
BASES = [
    SURVEY,
    RICH,
    {**RICH, "questions": [MEANT, SECOND], "collector": "carried", "pilot": True},
    {**SURVEY, "questions": [{**QUESTION, "kind": KINDS["choice"], "design": SET_DESIGN}]},
    {**SURVEY, "questions": [{**QUESTION, "kind": KINDS["number"]}, {**SECOND, "kind": KINDS["choice"]}]},
]
VALUES: list[Json] = [
    None, True, False, 0, 1, 2, -1, 7, 1000, 1001, 2**31, 2**31 + 1, 10**9, 10**9 + 1, 2**53 - 1, 2**53, 1.5,
    "", "x", "0", "1", "all", "one", "carried", "en", "yes_no",
    [], {}, [None], ["x"], {"en": "x"}, {"de": "x"}, {"en": 1}, {"EN": "x"},
    QUESTION, KINDS["choice"], KINDS["number"], SET_DESIGN, {"kind": "yes_no"}, {"p00": "3/4", "p11": "3/4"},
    {"colour": "#aabbcc", "logo": None}, {"epsilon": "ln(3)", "delta": "0"}, {"exposed": 1, "respondents": 1000},
    times("11-01", "11-02"), "https://a.example", "http://a.example", "https://a.example/r", "http://127.0.0.1/r",
    "2027-01-31T00:00:00Z", "2026-12-31T00:00:00Z", "2027-02-01T00:00:00Z", "2027-1-1T00:00:00Z",
    "2027-02-29T00:00:00Z",
]  # fmt: skip
NUMBERS = [
    "0", "1", "3/4", "6/8", "0.75", "1/4", "2/3", "-1/4", "5/4", "1/0", "+1", " 1", "1 ", "1.", ".5", "1e0", "1e-1",
    "1e4000", "1e-4000", "1e4001", "ln(3)", "ln 3", "ln3", "ln(3) + 1", "1 + ln(3)", "-1 + ln(3)", "-2 + ln(3)",
    "ln(1)", "ln(0)", "",
    "nan", "00", "-0", "1_0", "\u00a01", "\x1c1", "\ufeff1", "\x0b1", "١",
    *[str(2**513 - 1)] * 3, str(2**512), str(LONG),
    f"2 + ln({LONG})", "0" * 699 + "1", "0" * 700 + "1", " + ".join(["ln(1e100)"] * 6),
    "1098612288668109691/1" + "0" * 18, str(2**512 - 1), f"ln({2**513 - 1})",
]  # fmt: skip
SPECIAL = [
    "\u0301" * 4, "\u0301" * 5, "\u0e47\u0300\u064e\u20dd", "\u0e47\u0300\u064e\u20dd\ufe2f",
    *[JOINER] * 6, *[NON_JOINER] * 6, JOINER + JOINER, JOINER + NON_JOINER,
    *[f"{a}{NON_JOINER}{b}" for a, b in ("\u0620\u0620", "\u0dff\u0dff", "\u0dff\u0e00", "\u061f\u0620")] * 2,
    *"\u0645\u061f\u0e00 \u00a0\u2800\u3000\n\ufe0f\u0301🏅\u3164\u202e",
]  # fmt: skip
EDGES = [
    chr(point)
    for a, b in HIDDEN
    for point in (a - 1, a, b, b + 1)
    if 0 <= point < 0xD800 or 0xE000 <= point <= 0x10FFFF
]
EXACT = ("p00", "p11", "epsilon", "delta", "low", "high", "p")
NAMES = ["en", "de", "EN", "en-us", "zh-Hant-TW", "x", "self", "__proto__", "constructor", "kind", "Sport!", "note"]


def places(value: Json, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value below this one."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in items:
        yield (*path, name)
        yield from places(item, (*path, name))


def _text(chance: random.Random, text: str) -> str:
    character = chance.choice(SPECIAL if chance.random() < 0.6 else EDGES)
    inside = [chance.randrange(len(text) + 1), *(text.find(c) + 1 for c in " \n" + JOINER + NON_JOINER)]
    where = chance.choice((0, len(text), chance.choice(inside)))
    kept = text if chance.random() < 0.9 else ""
    return kept[:where] + character + kept[where:]


def _change(chance: random.Random, document: Json) -> None:
    """One change at one place: most of them in a text for people or in a number, where the rules are finest."""
    everywhere = list(places(document))
    fine = [p for p in everywhere if p[-1] in (*EXACT, "en", "de", "de-AT", "fa", "value", "publisher")]
    path = chance.choice(fine if fine and chance.random() < 0.7 else everywhere)
    holder = document
    for name in path[:-1]:
        holder = holder[name]
    name, value = path[-1], holder[path[-1]]
    number = name in EXACT
    kind = chance.random()
    if number and kind < 0.7:
        holder[name] = chance.choice(NUMBERS)
    elif isinstance(value, str) and not number and kind < 0.8:
        holder[name] = _text(chance, value)
    elif isinstance(value, list) and value and kind < 0.4:
        value.append(copy.deepcopy(chance.choice(value)))
    elif isinstance(value, dict) and kind < 0.3:
        value[chance.choice(NAMES)] = copy.deepcopy(chance.choice(VALUES))
    elif isinstance(value, dict) and value and kind < 0.5:
        value[chance.choice(NAMES)] = value.pop(chance.choice(list(value)))
    elif kind < 0.65:
        del holder[name]
    else:
        holder[name] = copy.deepcopy(chance.choice(VALUES))


def _bytes(chance: random.Random, payload: bytes) -> bytes:
    """Another spelling, or none at all."""
    place = chance.randrange(len(payload))
    new = chance.choice([b" ", b"", b'"', b"{", b"0", b".", b"\\u0041", b"\xff", b"1e1", b"-0", b"\n", b'"a":1,"a":2,'])
    return payload[:place] + new + payload[place + chance.randrange(2) :]


def mutated(seed: int, number: int) -> list[dict[str, Any]]:
    """As many documents, each with its envelope, its policy and its clock, as in tests/vectors."""
    chance = random.Random(seed)
    made = []
    for _ in range(number):
        document = copy.deepcopy(chance.choice(BASES))
        for _ in range(chance.choice((1, 1, 1, 1, 2, 3))):
            _change(chance, document)
        try:
            payload = canonical(document)
        except MalformedDocument:  # a float, or half of a surrogate pair
            payload = loose(document)
        if chance.random() < 0.05:
            payload = _bytes(chance, payload)
        made.append({"envelope": b64(signed(payload)), "policy": chance.choice((POLICY, OPEN)), "now": NOW})
    return made
