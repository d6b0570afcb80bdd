"""Power by rehearsal: draw the survey many times, test each, count how often the effect is found.

Rules
1. An experiment is a callable that takes a NumPy generator and returns a p-value; those here are frozen dataclasses, so
   that they can be sent to other processes.
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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from rrcollect.design.parameters import NumberLike, whole_number
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError, RRCollectError
from server_agg.comparisons.compare import compare
from server_agg.comparisons.trend import trend
from server_agg.count.tally import Tally
from server_agg.estimates.numerics import normal_quantile, normal_tail
from server_agg.estimates.share import Share
from server_agg.models.columns import matrix_of, vector_of
from server_agg.models.outcome import Outcome
from server_agg.models.regression import fit
from server_agg.models.simulation import simulate_survey
from server_agg.results.interval import Interval, exact_level
from server_agg.results.words import bar_words, percent, percent_of

Experiment = Callable[[np.random.Generator], float]
CHUNK = 25  # replications a process takes at a time


@dataclass(frozen=True)
class GroupsExperiment:
    """Groups of n people each with these prevalences; `test` is "equal" (any difference) or "trend"."""

    design: Design
    n: int
    prevalences: tuple[float, ...]
    test: str = "equal"

    def __call__(self, rng: np.random.Generator) -> float:
        tallies = {
            str(place): Tally(self.design, self.n, int(rng.binomial(self.n, float(self.design.says_yes(share)))))
            for place, share in enumerate(self.prevalences)
        }
        if self.test == "trend":
            return trend(tallies).test.p_value
        return compare(tallies).test.p_value


@dataclass(frozen=True)
class RegressionExperiment:
    """n people, standard normal covariates, coefficients (intercept first); the test is Wald's of `place`."""

    design: Design
    n: int
    coefficients: tuple[float, ...]
    place: int = 1

    def __call__(self, rng: np.random.Generator) -> float:
        survey = simulate_survey(self.n, self.coefficients, self.design, rng)
        found = fit(survey.answers, survey.covariates, self.design)
        return float(found.rows[self.place].p_value or 0.0)


@dataclass(frozen=True)
class SimulatedPower:
    """How often an effect was found, of `replications`; `failures` of them had no fit and found nothing.

    By formula there are none, and `expected` is the power.
    """

    experiment: Any
    replications: int
    found: int
    failures: int
    level: Fraction
    expected: float | None = None

    @property
    def value(self) -> float:
        """The share of replications that found the effect, or the power by formula."""
        return self.found / self.replications if self.expected is None else self.expected

    def interval(self, level: NumberLike = 0.95) -> Interval:
        """The exact bar of the power: replications are a survey that nobody randomises."""
        if self.expected is not None:
            raise ParameterError("power", "by formula", "replications, for a bar")
        return Share(Tally(Design(1, 1), self.replications, self.found)).interval(level, "exact")

    def sentence(self) -> str:
        """One sentence."""
        told = f"power {percent(self.value)} % of a test at {percent_of(1 - self.level)}"
        if self.expected is not None:
            return f"{told}, by formula"
        return f"{told} ({bar_words(self.interval())}), {self.replications} replications, {self.failures} without a fit"

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        bar = None if self.expected is not None else self.interval().as_dict()
        return {
            "experiment": repr(self.experiment), "replications": self.replications, "failures": self.failures,
            "value": self.value, "interval": bar, "test_level": float(self.level),
        }  # fmt: skip


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
) -> SimulatedPower:
    """How often a test at 1 − level finds an effect, by rehearsing the whole survey `replications` times.

    Either groups of n people each with these `prevalences` (`test` "equal" or "trend"), or n people and the
    `coefficients` of a regression, intercept first, of which `place` is tested; covariates are standard normal.  With
    `covariates` like those of the survey the power of a coefficient is by formula.  With several `processes` the
    calling script must guard its entry with `if __name__ == "__main__":`.  A progress bar is shown on a terminal
    (`progress` None), always, or never.

    >>> from rrcollect import optimal_design
    >>> power(optimal_design(2), 400, prevalences=(0.2, 0.35), replications=200, seed=1).value
    0.93
    >>> rows = np.linspace(-2, 2, 400)
    >>> round(power(optimal_design(2), 300, coefficients=[-1.0, 0.5], covariates=rows).value, 3)
    0.829
    """
    if (prevalences is None) == (coefficients is None):
        raise ParameterError("prevalences", prevalences, "prevalences of groups, or coefficients of a regression")
    if coefficients is not None and covariates is not None:
        by_formula = _by_formula(design, n, covariates, coefficients, place=place, level=level)
        return SimulatedPower("formula", 0, 0, 0, exact_level(level), by_formula)
    experiment: Experiment = (
        GroupsExperiment(design, n, tuple(prevalences), test)
        if prevalences is not None
        else RegressionExperiment(design, n, tuple(coefficients or ()), place)
    )
    return simulate_power(
        experiment, replications=replications, level=level, seed=seed, processes=processes, progress=progress
    )


def simulate_power(
    experiment: Experiment,
    *,
    replications: int = 1000,
    level: NumberLike = 0.95,
    seed: int = 0,
    processes: int = 1,
    progress: bool | None = None,
) -> SimulatedPower:
    """How often any `experiment` gives a p-value below 1 − level."""
    times, workers = whole_number("replications", replications, minimum=2), whole_number("processes", processes)
    alpha = float(1 - exact_level(level))
    seeds = np.random.SeedSequence(whole_number("seed", seed, minimum=0)).spawn(times)
    chunks = [seeds[start : start + CHUNK] for start in range(0, times, CHUNK)]
    shown = sys.stderr.isatty() if progress is None else progress
    found = failures = done = 0
    for hits, misses, size in _results(experiment, chunks, alpha, workers):
        found, failures, done = found + hits, failures + misses, done + size
        if shown:
            _bar(done, times)
    return SimulatedPower(experiment, times, found, failures, exact_level(level))


def _results(
    experiment: Experiment, chunks: Sequence[Sequence[np.random.SeedSequence]], alpha: float, workers: int
) -> Iterator[tuple[int, int, int]]:
    if workers == 1:
        for chunk in chunks:
            yield _replicate(experiment, chunk, alpha)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        futures: list[Future[tuple[int, int, int]]] = [
            pool.submit(_replicate, experiment, chunk, alpha) for chunk in chunks
        ]
        for future in as_completed(futures):
            yield future.result()


def _replicate(experiment: Experiment, seeds: Sequence[np.random.SeedSequence], alpha: float) -> tuple[int, int, int]:
    found = failures = 0
    for seed in seeds:
        try:
            found += experiment(np.random.default_rng(seed)) < alpha
        except ParameterError:
            raise
        except RRCollectError:
            failures += 1
    return found, failures, len(seeds)


def _bar(done: int, total: int) -> None:
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
