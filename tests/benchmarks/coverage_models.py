"""Coverage of the bars of models: coefficients, cheaters, a randomised predictor.

Two groups give a table of counts, and coverage is an exact sum over all tables (those without a fit are left out).  An
open outcome beside randomised answers has too many outcomes for a sum: it is simulated, and the row says with which
error.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import binom

from rrcollect import Design, optimal_design
from server_agg import Tally, models
from server_agg.errors import NoInformation, NotConverged, Separation
from tests.benchmarks.coverage_rows import Row, Setting
from tests.inside.estimates import methods_for
from tests.inside.models import simulate_survey
from tests.support.covering import ROUNDING, Ends, Law, pairs

E1, E2 = optimal_design(1), optimal_design(2)


def model_settings(n: int) -> Iterator[Setting]:
    """A logistic coefficient (two groups) and the share of cheaters; outcomes without a fit are left out."""
    tables = list(itertools.product(range(n + 1), repeat=2))
    inside = np.array([0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9])
    x = np.repeat([0.0, 1.0], 2)

    def coefficient(outcome: Any, method: str) -> Ends | None:
        i, j = outcome
        try:
            fit = models.fit([1, 0, 1, 0], x, E2, repeats=[i, n - i, j, n - j])
            bar = fit["x1"].interval(method=method)
        except (Separation, NotConverged, NoInformation):
            return None
        return bar.low, bar.high

    def effect(a: float, b: float) -> float:
        return math.log(b / (1 - b) / (a / (1 - a)))

    where = f"ε = 2; n = {n} and {n}; given a fit"
    named = methods_for("coefficient")
    yield Setting(
        "logistic coefficient", "population", where, named, tables, coefficient,
        lambda: pairs((E2, E2), (n, n), effect, inside),
    )  # fmt: skip
    designs = Design("0.9", "0.8"), Design("0.4", "0.8")

    def cheaters(outcome: Any, method: str) -> Ends:
        found = models.cheating([Tally(d, n, k) for d, k in zip(designs, outcome, strict=True)])
        return tuple(found["cheaters"].interval())

    def laws() -> Iterator[Law]:
        for h, others in itertools.product(np.arange(11) / 10, repeat=2):
            if h + others <= 1 + ROUNDING:
                rates = [min(1.0, h * float(d.p11) + others * float(1 - d.p00)) for d in designs]
                both = [binom.pmf(np.arange(n + 1), n, rate) for rate in rates]
                yield max(0.0, 1 - float(h + others)), np.outer(*both).ravel()

    where = f"(0.9, 0.8) and (0.4, 0.8); n = {n} and {n}"
    yield Setting("share of cheaters", "population", where, ("profile",), tables, cheaters, laws)


def simulated(surveys: int) -> Iterator[Row]:
    """A randomised predictor: the bar of the truth's coefficient over simulated surveys."""
    n = 500
    for kind, outcome in (
        ("linear", "exponential"),
        ("normal", "normal"),
        ("normal", "exponential"),
        ("logistic", "0 or 1"),
    ):
        hit = done = 0
        for seed in range(surveys):
            survey = simulate_survey(n, [-1.0], E1, seed)
            generator = np.random.default_rng([seed, 3])
            noise = generator.exponential(size=n) if outcome == "exponential" else generator.standard_normal(n)
            y: Any = survey.truths + noise
            if kind == "logistic":
                y = generator.random(n) < np.where(survey.truths == 1, 1 / (1 + math.exp(-1)), 0.5)
            try:
                fit = models.fit_predictor(y, survey.answers, E1, kind=kind)
            except (NotConverged, NoInformation):
                continue
            low, high = fit["truth"].interval()
            hit, done = hit + (low <= 1 <= high), done + 1
        share = hit / done
        where = f"ε = 1; n = {n}; {outcome}; {done} surveys"
        error = math.sqrt(share * (1 - share) / done)
        yield Row(f"predictor, {kind}", "population", "wald", False, share, where, error)
