"""Artificial surveys: seeded answers from every design, for rehearsals and power.

This is not how an answer is drawn.  Real answers come from `rrcollect`, on the device, with the operating system's
generator, once for life; here a seed makes everything repeatable, and so nothing private.  Nothing in `rrcollect`
imports this module (a test asserts it), and `server_agg` does not re-export it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.design.parameters import NumberLike, probability, whole_number
from rrcollect.errors import ParameterError
from server_agg.count.tally import answer_array
from server_agg.models.columns import matrix_of, probabilities, vector_of
from server_agg.models.links import sigmoid

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
