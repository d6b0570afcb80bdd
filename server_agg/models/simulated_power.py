"""Power by rehearsal: draw the survey many times, test each, count how often the effect is found.

Rules
1. An experiment takes a NumPy generator and returns a p-value; it can be sent to other processes.
2. Replication i always uses the i-th child of the seed: the result does not depend on how many processes worked.
3. A replication in which no fit exists (`Separation` and its kin) finds nothing, and is counted in `failures`.
4. The power found is itself an estimate: it comes with the exact bar of its binomial count.

By formula: `plan.power`; for a regression, Wald's test of one coefficient with the expected information, which is exact
as n grows.
"""

from __future__ import annotations

import math
import multiprocessing
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np

from rrcollect.design.parameters import NumberLike, whole_number
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError, RRCollectError
from server_agg.comparisons.compare import compare
from server_agg.comparisons.trend import trend
from server_agg.count.tally import Tally
from server_agg.estimates.numerics import normal_quantile, normal_tail
from server_agg.estimates.share import DIRECT, Share
from server_agg.models.columns import matrix_of, vector_of
from server_agg.models.outcome import Outcome
from server_agg.models.regression import fit
from server_agg.models.simulation import simulate_survey
from server_agg.results.findings import Findings
from server_agg.results.interval import Interval, exact_level, percent_of
from server_agg.results.row import Row

Experiment = Callable[[np.random.Generator], float]
TESTS: dict[str, Callable[..., Any]] = {"equal": compare, "trend": trend}
CHUNK = 25  # replications a process takes at a time


def _groups(design: Design, n: int, prevalences: Sequence[float], test: str, rng: np.random.Generator) -> float:
    """Groups of n people each with these prevalences."""
    rates = [float(design.says_yes(share)) for share in prevalences]
    tallies = {str(place): Tally(design, n, int(rng.binomial(n, rate))) for place, rate in enumerate(rates)}
    return float(TESTS[test](tallies).test.p_value)


def _regression(design: Design, n: int, coefficients: Sequence[float], place: int, rng: np.random.Generator) -> float:
    """n people, standard normal covariates; the test is Wald's of the coefficient at `place`."""
    survey = simulate_survey(n, coefficients, design, rng)
    return float(fit(survey.answers, survey.covariates, design).rows[place].p_value or 0.0)


def power(
    design: Design,
    n: int,
    *,
    prevalences: Sequence[float] | None = None,
    test: str = "equal",
    coefficients: Sequence[float] | None = None,
    place: int = 1,
    covariates: Any = None,
    replications: int = 1000,
    level: NumberLike = 0.95,
    seed: int = 0,
    processes: int = 1,
    progress: bool | None = None,
) -> Findings:
    """How often a test at 1 − level finds an effect, by rehearsing the whole survey `replications` times.

    Either groups of n people each with these `prevalences` (`test` "equal": any difference, or "trend"), or n people
    and the `coefficients` of a regression, intercept first, of which `place` is tested; covariates are standard normal.
    With `covariates` like those of the survey the power of a coefficient is by formula.  With several `processes` the
    calling script must guard its entry with `if __name__ == "__main__":`.  A progress bar is shown on a terminal
    (`progress` None), always, or never.  `found` is how often the effect was found; `failures` had no fit and found
    nothing.

    >>> from rrcollect import optimal_design
    >>> power(optimal_design(2), 400, prevalences=(0.2, 0.35), replications=200, seed=1).value
    0.93
    >>> rows = np.linspace(-2, 2, 400)
    >>> round(power(optimal_design(2), 300, coefficients=[-1.0, 0.5], covariates=rows).value, 3)
    0.829
    """
    if (prevalences is None) == (coefficients is None):
        raise ParameterError("prevalences", prevalences, "prevalences of groups, or coefficients of a regression")
    if test not in TESTS:
        raise ParameterError("test", test, f"one of {', '.join(TESTS)}")
    miss = 1 - exact_level(level)
    target = f"power of a test at {percent_of(miss)}"
    if coefficients is not None and covariates is not None:
        by_formula = _by_formula(design, n, covariates, coefficients, place=place, level=level)
        return Findings((Row("power", n, by_formula, None),), target, said="by formula")
    experiment: Experiment = (
        partial(_groups, design, n, tuple(prevalences), test)
        if prevalences is not None
        else partial(_regression, design, n, tuple(coefficients or ()), place)
    )
    times, workers = whole_number("replications", replications, minimum=2), whole_number("processes", processes)
    seeds = np.random.SeedSequence(whole_number("seed", seed, minimum=0)).spawn(times)
    chunks = [seeds[start : start + CHUNK] for start in range(0, times, CHUNK)]
    shown = sys.stderr.isatty() if progress is None else progress
    found = failures = done = 0
    with ExitStack() as open_pools:
        run: Callable[..., Any] = map
        if workers > 1:
            context = multiprocessing.get_context("spawn")
            run = open_pools.enter_context(ProcessPoolExecutor(workers, mp_context=context)).map
        for hits, misses, size in run(partial(_replicate, experiment, float(miss)), chunks):
            found, failures, done = found + hits, failures + misses, done + size
            if shown:
                _progress(done, times)
    share = Share(Tally(DIRECT, times, found))  # replications are a survey that nobody randomises

    def bar(level: NumberLike, method: str | None) -> Interval[Any]:
        made = share.interval(level, method or "exact")
        return made.with_ends((made.low, made.high), target=target)

    facts = {"found": found, "failures": failures, "replications": times, "test_level": float(exact_level(level))}
    said = f"{times} replications, {failures} without a fit"
    return Findings((Row("power", times, share.value, share.standard_error, bar),), target, facts, said=said)


def _replicate(experiment: Experiment, alpha: float, seeds: Sequence[np.random.SeedSequence]) -> tuple[int, int, int]:
    found = failures = 0
    for seed in seeds:
        try:
            found += experiment(np.random.default_rng(seed)) < alpha
        except ParameterError:
            raise
        except RRCollectError:
            failures += 1
    return found, failures, len(seeds)


def _progress(done: int, total: int) -> None:
    filled = 30 * done // total
    end = "\n" if done == total else ""
    sys.stderr.write(f"\r[{'#' * filled}{'.' * (30 - filled)}] {done}/{total} replications{end}")
    sys.stderr.flush()


def _by_formula(
    design: Any, n: int, covariates: Any, coefficients: Sequence[float], *, place: int, level: NumberLike
) -> float:
    """The power of Wald's test of one coefficient, for covariates like these and n people."""
    rows = np.asarray(covariates.to_numpy() if hasattr(covariates, "to_numpy") else covariates)
    z = matrix_of(rows, len(rows))
    beta = vector_of("coefficients", coefficients, z.shape[1] + 1)
    if not 0 <= whole_number("place", place, minimum=0) < beta.size:
        raise ParameterError("place", place, f"0 to {beta.size - 1}: the position of a coefficient")
    model = Outcome.of(np.zeros(len(z), np.uint8), np.column_stack([np.ones(len(z)), z]), design)
    information = model.derivatives(beta).information * whole_number("n", n) / len(z)
    error = math.sqrt(float(np.linalg.inv(information)[place, place]))
    critical, away = normal_quantile((1 - exact_level(level)) / 2), abs(float(beta[place])) / error
    return min(1.0, normal_tail(critical - away) + normal_tail(critical + away))
