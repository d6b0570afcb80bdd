"""Artificial surveys: seeded answers from every classic procedure and every design, for rehearsals and power.

This is not how an answer is drawn.  Real answers come from `rrcollect`, on the device, with the operating system's
generator, once for life; here a seed makes everything repeatable, and so nothing private.  Nothing in `rrcollect`
imports this module (a test asserts it), and `server_agg` does not re-export it.

`simulate_procedure` acts a procedure out with its own spinner, die or cards, as the interviewer would tell it, and not
with the matrix that `rrcollect.classic` says it is: that the two agree is tested.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.design.parameters import NumberLike, probability, whole_number
from rrcollect.errors import ParameterError
from server_agg.count.tally import answer_array
from server_agg.models.columns import matrix_of, probabilities, vector_of
from server_agg.models.outcome import sigmoid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from server_agg.models.columns import Floats

    Bits = NDArray[np.uint8]

Seed = int | np.random.Generator


def simulate_truths(n: int, prevalence: NumberLike, seed: Seed) -> Bits:
    """n truths, each 1 with probability `prevalence`."""
    rng = np.random.default_rng(seed)
    return (rng.random(whole_number("n", n)) < float(probability("prevalence", prevalence))).astype(np.uint8)


def simulate_answers(truths: Any, design: Any, seed: Seed, *, draws: int = 0) -> NDArray[np.int64]:
    """An answer for every truth, by a Design (or one for each); with `draws`, how many of so many say 1 (Kuk's).

    >>> from rrcollect import optimal_design
    >>> simulate_answers([1, 0, 1, 0, 1, 0], optimal_design(1), seed=1).tolist()
    [1, 0, 1, 0, 1, 0]
    """
    rng, given = np.random.default_rng(seed), answer_array(truths)
    table, places = probabilities(design, int(given.size))
    rate = np.where(given == 1, table[places, 1], table[places, 0])
    if draws:
        return np.asarray(rng.binomial(draws, rate), np.int64)
    return np.asarray(rng.random(given.size) < rate, np.int64)


# ---- the classic procedures, acted out ----------------------------------------------------------------------------


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
    if one not in counted:
        raise ParameterError("one", one, f"one of {', '.join(counted)}")
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


def simulate_procedure(name: str, truths: Any, seed: Seed, **parameters: Any) -> NDArray[np.int64]:
    """Answers by acting the procedure `name` out; the parameters are those of `rrcollect.classic`'s function.

    >>> simulate_procedure("forced_response", [1, 1, 0, 0], seed=2, yes="1/6", no="1/6").tolist()
    [0, 0, 0, 1]
    """
    if name not in PROCEDURES:
        raise ParameterError("name", name, f"one of {', '.join(PROCEDURES)}; for Moors use simulate_moors")
    read: dict[str, Callable[[str, Any], Any]] = {"draws": whole_number, "one": lambda _, value: value}
    given = {k: read[k](k, v) if k in read else float(probability(k, v)) for k, v in parameters.items()}
    try:
        return np.asarray(PROCEDURES[name](np.random.default_rng(seed), answer_array(truths), **given), np.int64)
    except TypeError:
        raise ParameterError("parameters", sorted(parameters), f"those of rrcollect.classic.{name}") from None


def simulate_moors(
    truths: Any, seed: Seed, *, p: NumberLike, innocuous: NumberLike, second: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Moors' two samples: the first answers by the unrelated-question procedure, `second` others the harmless one."""
    rng = np.random.default_rng(seed)
    share = float(probability("innocuous", innocuous))
    first = _unrelated_question(rng, answer_array(truths), float(probability("p", p)), share)
    return np.asarray(first, np.int64), (rng.random(whole_number("second", second)) < share).astype(np.int64)


# ---- whole surveys ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SimulatedSurvey:
    """What everybody would know in a real survey (`covariates`, `answers`), and what nobody would (`truths`)."""

    covariates: Floats
    answers: NDArray[np.int64]
    truths: Bits
    cheated: NDArray[np.bool_]


def simulate_survey(
    n: int,
    coefficients: Sequence[float],
    design: Any,
    seed: Seed,
    *,
    covariates: Any = None,
    self_protective: NumberLike = 0,
) -> SimulatedSurvey:
    """n people with P(truth = 1) = σ(b0 + b1 z1 + …); covariates are standard normal unless given.

    With probability `self_protective` a person says "no" whatever the rules say.

    >>> from rrcollect import optimal_design
    >>> survey = simulate_survey(1000, [-1.0, 0.5], optimal_design(2), seed=7)
    >>> survey.covariates.shape, int(survey.answers.sum()), int(survey.truths.sum())
    ((1000, 1), 307, 249)
    """
    rng, people = np.random.default_rng(seed), whole_number("n", n)
    beta = vector_of("coefficients", coefficients)
    if covariates is None:
        z = rng.standard_normal((people, beta.size - 1))
    else:
        z = matrix_of(covariates, people)
        if z.shape[1] != beta.size - 1:
            raise ParameterError("covariates", f"an array of shape {z.shape}", f"{beta.size - 1} columns")
    s, _ = sigmoid(beta[0] + z @ beta[1:])
    truths = (rng.random(people) < s).astype(np.uint8)
    answers = simulate_answers(truths, design, rng)
    cheated = rng.random(people) < float(probability("self_protective", self_protective))
    return SimulatedSurvey(z, np.where(cheated, 0, answers), truths, cheated)
