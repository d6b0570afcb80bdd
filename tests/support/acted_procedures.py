"""The classic procedures acted out with their own spinner, die or cards, as an interviewer tells it, and not with the
matrix that `rrcollect.classic` says they are: that the two agree is tested."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.uint8]


def _warner(rng: np.random.Generator, truths: Bits, p: float) -> Bits:
    asked = rng.random(truths.size) < p  # the spinner shows "do you have it?"
    return np.where(asked, truths, 1 - truths)


def _forced_response(rng: np.random.Generator, truths: Bits, yes: float, no: float) -> Bits:
    roll = rng.random(truths.size)
    return np.where(roll < yes, 1, np.where(roll < yes + no, 0, truths))


def _unrelated_question(rng: np.random.Generator, truths: Bits, p: float, prevalence: float) -> Bits:
    card, harmless = rng.random(truths.size) < p, rng.random(truths.size) < prevalence
    return np.where(card, truths, harmless)


def _mangat_singh(rng: np.random.Generator, truths: Bits, t: float, p: float) -> Bits:
    first = rng.random(truths.size) < t
    return np.where(first, truths, _warner(rng, truths, p))


def _mangat(rng: np.random.Generator, truths: Bits, p: float) -> Bits:
    spun_no = rng.random(truths.size) < p
    return np.asarray(np.where(truths == 1, 1, np.where(spun_no, 0, 1)), np.uint8)


def _crosswise(rng: np.random.Generator, truths: Bits, prevalence: float, one: str = "likelier") -> Bits:
    mother = rng.random(truths.size) < prevalence
    same = (truths == 1) == mother
    counted = {"likelier": prevalence > 0.5, "same": True, "different": False}
    return np.asarray(same if counted[one] else ~same, np.uint8)


def _triangular(rng: np.random.Generator, truths: Bits, prevalence: float) -> Bits:
    quarter = rng.random(truths.size) < prevalence
    return np.asarray((truths == 1) | quarter, np.uint8)


def _kuk(rng: np.random.Generator, truths: Bits, theta1: float, theta2: float, draws: int = 1) -> Bits:
    first, second = (rng.random((truths.size, draws)) < share for share in (theta1, theta2))
    return np.asarray(np.where(truths == 1, first.sum(axis=1), second.sum(axis=1)), np.uint8)


PROCEDURES: dict[str, Callable[..., Any]] = {
    "warner": _warner,
    "forced_response": _forced_response,
    "unrelated_question": _unrelated_question,
    "mangat_singh": _mangat_singh,
    "mangat": _mangat,
    "crosswise": _crosswise,
    "triangular": _triangular,
    "kuk": _kuk,
}


def simulate_procedure(name: str, truths: Any, seed: int, **parameters: Any) -> NDArray[np.int64]:
    """Answers by acting the procedure `name` out; the parameters are those of `rrcollect.classic`'s function.

    >>> simulate_procedure("forced_response", [1, 1, 0, 0], seed=2, yes="1/6", no="1/6").tolist()
    [0, 0, 0, 1]
    """
    given = {name: value if name in ("draws", "one") else float(Fraction(value)) for name, value in parameters.items()}
    rng = np.random.default_rng(seed)
    return np.asarray(PROCEDURES[name](rng, np.asarray(truths, np.uint8), **given), np.int64)


def simulate_moors(
    truths: Any, seed: int, *, p: str, innocuous: str, second: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Moors' two samples: the first answers by the unrelated-question procedure, `second` others the harmless one."""
    rng, share = np.random.default_rng(seed), float(Fraction(innocuous))
    first = _unrelated_question(rng, np.asarray(truths, np.uint8), float(Fraction(p)), share)
    return np.asarray(first, np.int64), (rng.random(second) < share).astype(np.int64)
