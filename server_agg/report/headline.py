"""The headline of a question: one round, or the whole of its rounds.

Rules
1. Which rounds it is about the owner chose, or it is the whole: never what was answered.
2. The whole of R rounds is their mean, weighted by answers.  The same people may have answered in several rounds, in
   whatever dependence; so its bar is the mean of the rounds' bars at level 1 − (1−level)/R (Bonferroni), and its
   standard error the mean of theirs, which no dependence exceeds.
3. A headline that is looked at while rounds are added has from the first look the level that all of them will need.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from server_agg.compare.segments import simultaneous_level
from server_agg.estimates.interval import Interval
from server_agg.estimates.numerics import exact_level
from server_agg.estimates.scale import OneValue, standard_error_of


@dataclass(frozen=True)
class Headline:
    """A value with its bar, over the rounds it is about."""

    rounds: tuple[int, ...]
    estimates: tuple[OneValue, ...]
    value: float
    standard_error: float | None
    bar: Interval

    @property
    def n(self) -> int:
        """Answers."""
        return sum(each.n for each in self.estimates)

    @property
    def misfit(self) -> str | None:
        """What does not fit, by round if there are several."""
        found = [
            (number, each.misfit) for number, each in zip(self.rounds, self.estimates, strict=True) if each.misfit.told
        ]
        several = len(self.rounds) > 1
        return "; ".join(f"round {n + 1}: {m.describe()}" if several else m.describe() for n, m in found) or None


def headline_of(estimates: Mapping[int, OneValue], level: object, method: str, over: int = 0) -> Headline:
    """The headline of these rounds.  `over`: of how many rounds it may become, if it is looked at before the last.

    >>> from rrcollect import Design
    >>> from server_agg.count.tally import Tally
    >>> from server_agg.estimates.one import Estimate
    >>> rounds = {r: Estimate(Tally(Design("3/4", "3/4"), n, ones)) for r, n, ones in ((0, 900, 360), (1, 100, 90))}
    >>> found = headline_of(rounds, "0.95", "exact")
    >>> round(found.value, 12), found.n, "{:.3f} to {:.3f}".format(*found.bar)
    (0.4, 1000, '0.282 to 0.438')
    """
    each = tuple(estimates.values())
    total = sum(one.n for one in each)
    alone = simultaneous_level(level, max(over, len(each)), "bonferroni")  # type: ignore[arg-type]
    bars = [one.interval(alone, method) for one in each]

    def mean(values: Sequence[float]) -> float:
        whole = sum(one.n * value for one, value in zip(each, values, strict=True)) / total
        return whole if len(values) > 1 else values[0]

    bar = bars[0]
    if max(over, len(each)) > 1:
        bar = bar.with_ends(
            (mean([one.low for one in bars]), mean([one.high for one in bars])),
            level=exact_level(level),
            target=bar.target if len(each) == 1 else f"{bar.target}, over {len(each)} rounds",
            guaranteed=all(one.guaranteed for one in bars),
            warning="; ".join(dict.fromkeys(one.warning for one in bars if one.warning)),
        )
    errors = [error for one in each if (error := standard_error_of(one)) is not None]
    value, error = mean([one.value for one in each]), mean(errors) if len(errors) == len(each) else None
    return Headline(tuple(estimates), each, value, error, bar)
