"""Draws with the answers they must give, and settings with whether they are taken."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

from rrcollect import BlockDesign, Design, SetDesign, optimal_design
from tests.inside.design import made_for
from tests.vectors.parts import ALICE, BOB, POLICY, PUBLISHER


def settings() -> list[dict[str, Any]]:
    """Policies, and whether a device takes them."""
    keys = [ALICE.public.raw.hex(), BOB.public.raw.hex()]
    both = {"name": PUBLISHER, "keys": keys, "threshold": 2}
    changes: list[tuple[bool, dict[str, Any]]] = [
        (True, {}),
        (True, {"publishers": []}),
        (True, {"publishers": [both]}),
    ]
    for epsilon in ("max_epsilon", "attribute_epsilon", "lifetime_epsilon"):
        right = (0, 3, 1.5, "ln 9", "1/2 + ln(3)", "1e-4000", "1e4000", str(Fraction(2**13500 - 1, 7)))
        wrong = (-1, True, None, [], {}, "", "nan", "NaN", "inf", "-0.1", "ln 0", "1e4001", "ln(9", str(2**13500),
                 "1" * 4301, "0" * 20000 + "1", " + ".join(["ln(1e4000)"] * 3))  # fmt: skip
        changes += [(good, {epsilon: value}) for good, values in ((True, right), (False, wrong)) for value in values]
    for delta in ("attribute_delta", "lifetime_delta"):
        changes += [(True, {delta: value}) for value in (0, 1, 0.5, "1/100", "1e-9")]
        changes += [(False, {delta: value}) for value in (-1, 2, "2", "-1/2", True, None, "ln 2", "NaN", [], "1/0")]
    changes += [(True, {"max_ratio": value}) for value in (2, 1.5, "20", "1e9")]
    changes += [(False, {"max_ratio": value}) for value in (1, 0, -3, "1", True, None, "NaN", "x", [20])]
    changes += [(False, {"allow_disclosure": value}) for value in (None, 0, 1, "true", "yes", [])]
    changes += [(False, {"publishers": value}) for value in (None, "x", 7, [7], ["x"], [None], [both, both])]
    changes += [
        (False, {"publishers": [{**both, "threshold": value}]}) for value in (0, -1, 3, 1.5, "1", None, True, [])
    ]
    changes += [
        (False, {"publishers": [{**both, "keys": value}]}) for value in ([], None, keys[0], [7], [keys[0][:-1]])
    ]
    changes += [(False, {"publishers": [{**both, "keys": [keys[0], keys[0]]}]})]  # one key counts once
    changes += [(False, {"publishers": [{**both, "name": value}]}) for value in (None, 7, "")]
    changes += [(False, {"publishers": [{k: v for k, v in both.items() if k != name}]}) for name in ("name", "keys")]
    changes += [(False, {"publishers": [{**both, "treshold": 2}]})]
    changes += [(False, {name: 1}) for name in ("max_epsilom", "lifetime", "constructor")]
    return [{"good": good, "policy": {**POLICY, **change}} for good, change in changes]


def draws() -> list[dict[str, Any]]:
    """Draws at and around both thresholds of some designs, and the answer each truth must give."""
    made = []
    for p00, p11 in (
        ("3/4", "3/4"),
        ("1", "1/128"),
        ("1/128", "1"),
        *((str(d.p00), str(d.p11)) for d in (optimal_design(1), optimal_design(8))),
    ):
        design = Design(p00, p11)
        k00, k11 = design.numerators
        limits = (2**64 - k00, k11)
        points = {0, 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1, *(t + s for t in limits for s in (-2, -1, 0, 1))}
        for drawn in sorted(d for d in points if 0 <= d < 2**64):
            made.append(
                {
                    "design": {"p00": p00, "p11": p11},
                    "draw": f"{drawn:016x}",
                    "no": int(drawn < limits[0]),
                    "yes": int(drawn < limits[1]),
                }
            )
    return made


def numbers() -> list[dict[str, Any]]:
    """Draws at and around the threshold of numbers in a range, and the answer each must give; by exact fractions."""
    made = []
    for design in (Design("3/4", "3/4"), optimal_design(1)):
        k00, k11 = design.numerators
        for low, high in (("0", "24"), ("-1/2", "1/2"), ("0", "3")):
            start, width = Fraction(low), Fraction(high) - Fraction(low)
            for share in (Fraction(0), Fraction(1, 2), Fraction(1, 3), Fraction(1)):
                number = start + share * width
                limit = 2**64 - k00 + (k00 + k11 - 2**64) * math.floor(share * 2**64) // 2**64
                for drawn in sorted({0, limit - 1, limit, 2**64 - 1}):
                    made.append({"design": design.to_wire(), "low": low, "high": high, "number": str(number),
                                 "draw": f"{drawn:016x}", "answer": int(drawn < limit)})  # fmt: skip
    return made


def sets() -> list[dict[str, Any]]:
    """Draws for choices at and around their boundaries, and the set each truth must give; by lists, not by bits."""
    made = []
    singles = [made_for(1, 4, 1), made_for("1/2", 10, 1)]
    for design in [*singles, SetDesign(4, 2, "3/4"), optimal_design(1, options=10), made_for(1, 100, 27)]:
        k, w, limit = design.options, design.size, design.applied_limit
        bound = math.perm(k - 1, w)
        length = 0 if w == 1 else -(-bound.bit_length() // 8) + 8
        last = (1 << 8 * length) // bound * bound - 1
        numbers = [0] if w == 1 else [0, 1, bound - 1, bound, last // 3, last]
        firsts = {0, limit - 1, limit, 2**64 - 1, *(limit * step for step in ((2, k - 1) if w == 1 else ()))}
        for first, number in itertools.product(sorted(first for first in firsts if first < 2**64), numbers):
            held = _held(first, number % bound, k, w, limit)
            answers = ["".join("01"[(j - truth) % k in held] for j in range(k)) for truth in range(k)]
            drawn = first.to_bytes(8, "big") + number.to_bytes(length, "big")
            made.append({"design": design.to_wire(), "draw": drawn.hex(), "answers": answers})
    return made


DRAWS = (0, 2**62 - 1, 2**62, 3 * 2**62 - 1, 3 * 2**62, 2**64 - 1)


def asked() -> list[dict[str, Any]]:
    """Draws of drawn questions, and the answer each truth must give: of all that apply, and of where a number lies."""
    made = []
    for design, kind, truths in (
        ({"several": 3, "p": "3/4"}, {"kind": "several"}, [[j for j in range(3) if x >> j & 1] for x in range(8)]),
        ({"bins": 8, "p": "3/4"}, {"kind": "number", "low": "0", "high": "8"}, list(range(8))),
        ({"bins": 1024, "p": "3/4"}, {"kind": "number", "low": "0", "high": "1024"}, [0, 1, 511, 512, 700, 1023]),
    ):
        levels = range(int(design.get("bins", 1)).bit_length() - 1)
        ways = design.get("several") or len(levels) << len(levels) - 1
        digits = len(str(2 * int(design.get("several") or design["bins"] - 1) - 1))
        last = 2**64 // ways * ways
        for number, draw in itertools.product(sorted({0, 1, ways // 3, ways - 1, last - 1}), DRAWS):
            answers = [_answered(number % ways, draw, truth, len(levels), digits) for truth in truths]
            drawn = number.to_bytes(8, "big") + draw.to_bytes(8, "big")
            made.append({"design": design, "kind": kind, "truths": truths, "draw": drawn.hex(), "answers": answers})
    return made


def _answered(number: int, draw: int, truth: Any, levels: int, digits: int) -> str:
    """The question and its answer, by p = 3/4."""
    question, own = number, levels == 0 and number in truth
    if levels:
        level, row = number % levels, number // levels % (1 << number % levels)
        place = f"{truth:0{levels}b}"  # the halves that the bin lies in, from the widest on
        common = sum(a == b == "1" for a, b in zip(place[:level], f"{row:0{levels}b}"[levels - level :], strict=True))
        question, own = (1 << level) - 1 + row, (place[level] == "1") != bool(common % 2)
    return f"{2 * question + (draw < (3 * 2**62 if own else 2**62)):0{digits}d}"


def blocks() -> list[dict[str, Any]]:
    """The same for blocks, by lists of coordinates: of all truths of a small space, of a few of larger ones."""
    made = []
    for q, t, p in ((2, 3, "3/4"), (3, 4, "1/2"), (5, 3, "1/2"), (3, 14, "9/16"), (23, 6, "1/2")):
        design = BlockDesign(q, t, p)
        limit, m, last = design.applied_limit, q ** (t - 1), design.truths - 1
        bound = m * (m - 1)
        length = -(-bound.bit_length() // 8) + 8
        end = (1 << 8 * length) // bound * bound - 1
        truths = list(range(last + 1)) if last < 50 else [0, 1, m - 1, m, m + 1, last // 2, last - 1, last]
        for first, number in itertools.product((0, limit - 1, limit, 2**64 - 1), (0, bound - 1, bound, end // 3, end)):
            answers = [_block(q, t, truth, first < limit, number % bound) for truth in truths]
            drawn = first.to_bytes(8, "big") + number.to_bytes(length, "big")
            made.append({"design": design.to_wire(), "draw": drawn.hex(), "truths": truths, "answers": answers})
    return made


def _block(q: int, t: int, truth: int, inside: bool, number: int) -> str:
    """The block that holds the truth, or does not: its coordinates but the one of the truth's first 1 are drawn."""
    free, other = divmod(number, q ** (t - 1))
    drawn, lead = _digits(free + 1 if inside else other, q, t - 1), 0
    while truth >= q ** (t - 1 - lead):
        truth, lead = truth - q ** (t - 1 - lead), lead + 1
    point = [0] * lead + [1] + _digits(truth, q, t - 1 - lead)
    vector = [*drawn[:lead], 0, *drawn[lead:]]
    vector[lead] = ((0 if inside else 1) - sum(a * b for a, b in zip(vector, point, strict=True))) % q
    first = next(place for place, digit in enumerate(vector) if digit)
    scaled = [digit * pow(vector[first], -1, q) % q for digit in vector[first + 1 :]]
    value = sum(digit * q**place for place, digit in enumerate(reversed(scaled)))
    before = sum(q ** (t - 1 - place) for place in range(first))
    return str(before + value).rjust(len(str((q**t - 1) // (q - 1) - 1)), "0")


def _digits(number: int, q: int, count: int) -> list[int]:
    return [number // q**place % q for place in reversed(range(count))]


def _held(first: int, number: int, k: int, w: int, limit: int) -> set[int]:
    """The options of the set, counted from the truth."""
    if w == 1:
        return {(-1 - min(first // limit, k - 1)) % k}
    number, other = divmod(number, k - w)
    held = {0} if first < limit else {1 + other}
    for place in range(k - w, k - 1):
        number, other = divmod(number, place + 1)
        held.add(1 + place if 1 + other in held else 1 + other)
    return held
