"""An estimate with its 95 % interval, against the libraries one would take.  Run: python -m tests.benchmarks.estimate

Neither statsmodels nor SciPy knows randomised response.  Their users take the Clopper–Pearson interval of the share of
"yes" and map it by hand: (λ − (1 − p00))/c.  That is what is timed here, and that it gives the same numbers is checked.
Ours does more: exact fractions inside, a clipped interval, a result that keeps its inputs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from scipy.stats import binomtest
from statsmodels.stats.proportion import proportion_confint

from rrcollect import Design, optimal_design
from server_agg import Tally, estimate
from tests.benchmarks.measure import Contestants, interleave, tell
from tests.benchmarks.report import show
from tests.benchmarks.section import FULL, Curve, Effort, Section, compare, durations

DESIGN = optimal_design(1)
P01, C = 1 - float(DESIGN.p00), float(DESIGN.c)
OURS, OURS_WILSON = "rrcollect, exact interval", "rrcollect, Wilson interval"
STATSMODELS, SCIPY = "statsmodels proportion_confint, mapped by hand", "SciPy binomtest, mapped by hand"
STATSMODELS_WILSON = "statsmodels, Wilson, mapped by hand"
FLOORS = {(OURS, STATSMODELS): None, (OURS, SCIPY): 1.0, (OURS_WILSON, STATSMODELS_WILSON): None}
SIZES = (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 1_000_000_000)
Bars = tuple[float, float, float]


def ours(n: int, ones: int, design: Design, method: str = "exact") -> Bars:
    found = estimate(Tally(design, n=n, counts=ones))
    low, high = found.interval(0.95, method)
    return found.value, low, high


def mapped(n: int, ones: int, bars: tuple[float, float]) -> Bars:
    """What one writes by hand around an interval of the share of "yes"."""
    low, high = ((x - P01) / C for x in bars)
    return (ones / n - P01) / C, max(0.0, low), min(1.0, high)


def statsmodels(n: int, ones: int, method: str = "beta") -> Bars:
    return mapped(n, ones, proportion_confint(ones, n, alpha=0.05, method=method))


def scipy(n: int, ones: int) -> Bars:
    found = binomtest(ones, n).proportion_ci(0.95, method="exact")
    return mapped(n, ones, (found.low, found.high))


def contestants(n: int, calls: int) -> Contestants:
    counts = [n * 2 // 5 + i % 7 for i in range(calls)]

    def loop(work: Callable[[int, int], Bars]) -> tuple[int, Callable[[], object]]:
        return calls, lambda: [work(n, ones) for ones in counts]

    for theirs in (statsmodels, scipy):
        for mine, other in zip(ours(n, counts[0], DESIGN), theirs(n, counts[0]), strict=True):
            assert math.isclose(mine, other, rel_tol=1e-7, abs_tol=1e-9), (n, mine, other)
    return {
        OURS: loop(lambda n, k: ours(n, k, DESIGN)),
        STATSMODELS: loop(statsmodels),
        SCIPY: loop(scipy),
        OURS_WILSON: loop(lambda n, k: ours(n, k, DESIGN, "wilson")),
        STATSMODELS_WILSON: loop(lambda n, k: statsmodels(n, k, "wilson")),
    }


def growth() -> Curve:
    """Microseconds an estimate against the respondents it is made from."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for n in SIZES:
        tell(f"estimate: {n:,} respondents")
        for name, t in interleave(contestants(n, 50), 5, clock=time.process_time).items():
            lines.setdefault(name, []).append((n, 1e6 * t.best))
    return Curve(
        name="estimate",
        title="Time of an estimate with its interval against respondents",
        xlabel="respondents",
        ylabel="µs",
        lines=lines,
    )


def section(effort: Effort = FULL) -> Section:
    timings = interleave(contestants(10_000, effort.size(1280) // 8), effort.repetitions, clock=time.process_time)
    return Section(
        name="estimate",
        title="An estimate with its interval",
        text="From counts to the estimated share and its 95 % interval, n = 10,000, ε = 1. statsmodels and SciPy do "
        "not know randomised response: what is timed is their interval for the share of yes, mapped by hand "
        "with floats; the numbers agree. SciPy's test computes a p-value on the way. Ours computes in exact "
        "fractions and returns an object that answers further questions; it is not meant to win by much.",
        unit="µs an estimate",
        rows=durations(timings, 1e6),
        ratios=compare(timings, FLOORS),
        curves=[growth()] if effort.curves else [],
    )


if __name__ == "__main__":
    show(section())
