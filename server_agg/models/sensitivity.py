"""One design, and perhaps cheaters: what the estimate would be for every supposed share of them.

One design cannot show who says "no" whatever the rules (see `cheating`), so their share γ is supposed, not estimated:
    h = π̂ + γ(1 − p00)/c        the share of honest carriers, from λ = h·p11 + (1 − γ − h)(1 − p00)
and the prevalence lies between h (no cheater is a carrier) and h + γ (all of them are).  The bar is the exact one of π̂,
moved, and cut to [0, 1 − γ]; a γ for which nothing is left is excluded by the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from rrcollect.design.parameters import NumberLike, probability
from server_agg.count.tally import Tally
from server_agg.estimates.estimate import Estimate, estimate
from server_agg.estimates.methods import unclipped_exact
from server_agg.report.result import Result
from server_agg.results.interval import Interval, exact_level
from server_agg.results.words import percent


@dataclass(frozen=True)
class Sensitivity(Result):
    """For each supposed share γ of cheaters: honest carriers' share h with its bar, and the prevalence's bounds.

    A γ that the data exclude (h < 0 or h > 1 − γ throughout its bar) has no bar: None.
    """

    numeric = frozenset(range(5))
    tidy = "rows"
    estimate: Estimate
    level: Fraction
    rows: tuple[tuple[float, float, Interval | None], ...]

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        rows: list[dict[str, object]] = [
            {
                "cheaters": gamma,
                "honest_carriers": h,
                "bar": None if bar is None else bar.as_dict(),
                "prevalence_if_all_cheaters_are_carriers": h + gamma,
            }
            for gamma, h, bar in self.rows
        ]
        return {"tally": self.estimate.tally.as_dict(), "level": float(self.level), "rows": rows}

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The table of text."""
        share = f"{float(100 * self.level):.10g} %"
        head = ["cheaters %", "none a carrier %", f"bar {share}", "all carriers %", f"bar {share} "]
        lines = []
        for gamma, h, bar in self.rows:
            bars = ["excluded"] * 2
            if bar is not None:
                bars = [f"{percent(bar[0] + g)}–{percent(bar[1] + g)}" for g in (0.0, gamma)]
            lines.append([percent(gamma), percent(h), bars[0], percent(h + gamma), bars[1]])
        return head, lines


def cheating_sensitivity(
    tally: Tally, cheaters: Sequence[NumberLike] = (0, "0.05", "0.1", "0.2", "0.3"), *, level: NumberLike = 0.95
) -> Sensitivity:
    """What the estimate would be if a share γ of the respondents said "no" by themselves.

    >>> from rrcollect import Design
    >>> print(cheating_sensitivity(Tally(Design("3/4", "3/4"), 1000, 400), [0, "0.1"]))
    cheaters %  none a carrier %   bar 95 %  all carriers %  bar 95 %
           0.0              30.0  23.9–36.2            30.0  23.9–36.2
          10.0              35.0  28.9–41.2            45.0  38.9–51.2
    """
    found = estimate(tally)
    low, high = unclipped_exact(found.problem, level)
    rows = []
    for given in cheaters:
        gamma = float(probability("cheaters", given))
        shift = gamma * float((1 - tally.design.p00) / tally.design.c)
        ends = max(low + shift, 0.0), min(high + shift, 1 - gamma)
        h = min(max(found.value + shift, 0.0), 1 - gamma)
        rows.append((gamma, h, _bar(ends, level, given) if ends[0] <= ends[1] else None))
    return Sensitivity(found, exact_level(level), tuple(rows))


def _bar(ends: tuple[float, float], level: NumberLike, cheaters: NumberLike) -> Interval:
    supposed = f"if the share of cheaters is {cheaters}"
    return Interval(
        ends, method="exact", level=level, target="share of honest carriers", guaranteed=True, warning=supposed
    )
