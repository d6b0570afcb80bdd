"""Power by rehearsal: draw the survey many times, test each, count how often the effect is found.

Rules
1. An experiment is a callable that takes a NumPy generator and returns a p-value; those here are frozen dataclasses, so
   that they can be sent to other processes.
2. Replication i always uses the i-th child of the seed: the result does not depend on how many processes worked.
3. A replication in which no fit exists (`Separation` and its kin) finds nothing, and is counted in `failures`.
4. The power found is itself an estimate: it comes with the exact bar of its binomial count.

By formula: `plan.power`; for a regression `power_of_coefficient`, Wald's test
with the expected information, which is exact as n grows.
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
from server_agg.compare.groups import compare_groups
from server_agg.count.tally import Tally
from server_agg.estimates.estimate import estimate
from server_agg.estimates.numerics import normal_quantile, normal_tail
from server_agg.estimates.share import DIRECT
from server_agg.models.columns import matrix_of, vector_of
from server_agg.models.group_tests import compare_many, trend_across
from server_agg.models.outcome import Outcome
from server_agg.models.regression import fit_logistic
from server_agg.models.simulation import simulate_survey
from server_agg.report.result import Result
from server_agg.results.interval import Interval, exact_level

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
            return trend_across(tallies).p
        if len(tallies) == 2:
            return compare_groups(tallies["0"], tallies["1"]).p
        return compare_many(tallies).p


@dataclass(frozen=True)
class RegressionExperiment:
    """n people, standard normal covariates, coefficients (intercept first); the test is Wald's of `place`."""

    design: Design
    n: int
    coefficients: tuple[float, ...]
    place: int = 1

    def __call__(self, rng: np.random.Generator) -> float:
        survey = simulate_survey(self.n, self.coefficients, self.design, rng)
        fit = fit_logistic(survey.answers, survey.covariates, self.design)
        return fit.p_value(fit.names[self.place])


@dataclass(frozen=True)
class SimulatedPower(Result):
    """How often an effect was found, of `replications`; `failures` of them had no fit and found nothing."""

    axis = "power"
    experiment: Any
    replications: int
    found: int
    failures: int
    level: Fraction

    @property
    def power(self) -> float:
        """The share of replications that found the effect."""
        return self.found / self.replications

    def interval(self, level: NumberLike = 0.95) -> Interval:
        """The exact bar of the power: replications are a survey that nobody randomises."""
        return estimate(Tally(DIRECT, self.replications, self.found)).interval(level)

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {
            "experiment": repr(self.experiment),
            "replications": self.replications,
            "failures": self.failures,
            "power": self.power,
            "interval": self.interval().as_dict(),
            "test_level": float(self.level),
        }


def simulated_power(
    experiment: Experiment,
    *,
    replications: int = 1000,
    level: NumberLike = 0.95,
    seed: int = 0,
    processes: int = 1,
    progress: bool | None = None,
) -> SimulatedPower:
    """How often `experiment` gives a p-value below 1 − level.

    With several `processes` the calling script must guard its entry with `if __name__ == "__main__":`.  A progress bar
    is shown on a terminal (`progress` None), always, or never.

    >>> from rrcollect import optimal_design
    >>> found = simulated_power(GroupsExperiment(optimal_design(2), 400, (0.2, 0.35)), replications=200, seed=1)
    >>> found.power
    0.93
    """
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


def power_of_coefficient(
    design: Any,
    covariates: Any,
    coefficients: Sequence[float],
    place: int,
    *,
    n: int | None = None,
    level: NumberLike = 0.95,
) -> float:
    """The power of Wald's test of one coefficient by formula, for covariates like these and n people (default: these).

    An intercept comes first in `coefficients`, as in `fit_logistic`; `place` counts from it.

    >>> from rrcollect import optimal_design
    >>> rows = np.linspace(-2, 2, 400)
    >>> round(power_of_coefficient(optimal_design(2), rows, [-1.0, 0.5], 1, n=300), 3)
    0.829
    """
    rows = np.asarray(covariates.to_numpy() if hasattr(covariates, "to_numpy") else covariates)
    z = matrix_of(rows, len(rows))
    beta = vector_of("coefficients", coefficients, z.shape[1] + 1)
    if not 0 <= whole_number("place", place, minimum=0) < beta.size:
        raise ParameterError("place", place, f"0 to {beta.size - 1}: the position of a coefficient")
    model = Outcome.of(np.zeros(len(z), np.uint8), np.column_stack([np.ones(len(z)), z]), design)
    people = len(z) if n is None else whole_number("n", n)
    information = model.derivatives(beta).information * people / len(z)
    error = math.sqrt(float(np.linalg.inv(information)[place, place]))
    critical, away = normal_quantile((1 - exact_level(level)) / 2), abs(float(beta[place])) / error
    return min(1.0, normal_tail(critical - away) + normal_tail(critical + away))
