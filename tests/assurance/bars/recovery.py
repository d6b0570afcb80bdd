"""Regressions on simulated surveys: are the coefficients recovered, and do their bars cover?

Every judgement is two-sided with a false-alarm rate of at most 1e-9, were the seeds drawn anew: a mean of R estimates
lies within the 5e-10 tails of Student's law around its target (plus `BIAS`, an allowance for the O(1/n) bias of maximum
likelihood), and a count of covering bars within the 5e-10 tails of the binomial law, for a true coverage within half a
point of the level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import binom, t

from rrcollect import Design, optimal_design
from server_agg import models
from tests.assurance.check import Figure, Outcome, Step
from tests.inside.models import simulate_survey

DIRECT = Design(1, 1)
TRUE = np.array([-0.6, 0.8])
PEOPLE = 1500
BIAS = 0.02  # allowed for n = 1500; the naive regression is off by ten times as much
DESIGNS: dict[str, Any] = {
    "ε = 2": optimal_design(2),
    "a yes is a proof": Design(1, "0.7"),
    "asymmetric": Design("0.9", "0.75"),
    "two designs": [optimal_design(2), Design("0.7", "0.95")] * (PEOPLE // 2),
}
Z95 = 1.959963984540054
TAIL = 5e-10


def estimates(design: Any, used: Any, seeds: Sequence[int], step: Step = lambda done, total: None) -> tuple[Any, Any]:
    """Coefficients and standard errors of a survey for each seed, drawn with `design` and fitted as if with `used`."""
    values, errors = [], []
    for done, seed in enumerate(seeds, start=1):
        survey = simulate_survey(PEOPLE, TRUE.tolist(), design, seed)
        fit = models.fit(survey.answers, survey.covariates, used)
        values.append(fit.coefficients)
        errors.append(fit.standard_errors)
        step(done, len(seeds))
    return np.array(values), np.array(errors)


def recovered(values: Any, target: Any = TRUE) -> bool:
    """Whether the mean of the estimates is the target, up to chance."""
    spread = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return bool((np.abs(values.mean(axis=0) - target) < t.isf(TAIL, len(values) - 1) * spread + BIAS).all())


def hits(values: Any, errors: Any, target: Any = TRUE) -> Any:
    """How many 95 % bars hold the target, for each coefficient."""
    return (np.abs(values - target) <= Z95 * errors).sum(axis=0)


def covers(values: Any, errors: Any, target: Any = TRUE) -> bool:
    """Whether that many is what a coverage within half a point of 95 % gives."""
    found = hits(values, errors, target)
    low, high = binom.ppf(TAIL, len(values), 0.945), binom.isf(TAIL, len(values), 0.955)
    return bool(((low <= found) & (found <= high)).all())


def regression(surveys: int, piece: int, step: Step) -> Outcome:
    """Simulated surveys of one design, fitted with it: recovered, and covered?"""
    name = list(DESIGNS)[piece]
    values, errors = estimates(DESIGNS[name], DESIGNS[name], range(surveys), step)
    share = hits(values, errors) / surveys
    error = math.sqrt(0.95 * 0.05 / surveys)
    figures: dict[str, Figure] = {"surveys": surveys, "bars": 2 * surveys}
    for place, word in enumerate(("Intercept", "slope")):
        figures[f"{name}: coverage of the {word}, ± {error:.4f}"] = float(share[place])
        figures[f"{name}: mean error of the {word}"] = float(values[:, place].mean() - TRUE[place])
    return Outcome(recovered(values) and covers(values, errors), figures)


def shortened(surveys: int, piece: int, step: Step) -> Outcome:
    """Standard errors a tenth too small must not cover: 92.2 % instead of 95 %."""
    name = list(DESIGNS)[piece]
    values, errors = estimates(DESIGNS[name], DESIGNS[name], range(surveys), step)
    share = float(hits(values, 0.9 * errors)[1]) / surveys
    return Outcome(not covers(values, 0.9 * errors), {"surveys": surveys, f"{name}: coverage of the slope": share})


def naive(surveys: int, piece: int, step: Step) -> Outcome:
    """A regression that ignores the design must neither recover nor cover."""
    name = list(DESIGNS)[piece]
    values, errors = estimates(DESIGNS[name], DIRECT, range(surveys))
    share = float(hits(values, errors)[1]) / surveys
    caught = not recovered(values) and not covers(values, errors)
    return Outcome(caught, {"surveys": surveys, f"{name}: coverage of the slope": share})
