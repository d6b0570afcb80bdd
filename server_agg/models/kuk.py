"""Kuk's k draws [Kuk90]: each person reports how many of k independent draws said "yes".

With S the reported number: π̂ = (mean(S)/k − (1−p00))/c, unbiased, and
    v_pop = s²/(n k² c²), s² the sample variance of S                     unbiased: the S are i.i.d.
    v_real = [π̂ p11(1−p11) + (1−π̂) p00(1−p00)]/(k c² n)                  for the people who answered
The true variance is again a quadratic in π, (a + bπ)/k + π(1−π) over n, so Wilson's and Chebyshev's bars of `score`
apply; Hoeffding's bound treats a person's mean answer as one term of width 1/|c|.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from rrcollect.classic.repeated import RepeatedDesign
from rrcollect.design.parameters import NumberLike, whole_number
from rrcollect.errors import ParameterError
from server_agg.count.tally import Tally
from server_agg.errors import TooFewAnswers
from server_agg.estimates.estimate import estimate
from server_agg.estimates.interval import Problem, checked_target
from server_agg.estimates.methods import interval_of
from server_agg.estimates.score import variance_line
from server_agg.report.result import UnbiasedResult
from server_agg.results.drawing import Point
from server_agg.results.interval import Interval, Misfit, Side
from server_agg.results.tables import Table
from server_agg.results.words import bar_note, share_point, share_table


@dataclass(frozen=True)
class RepeatedEstimate(UnbiasedResult):
    """The prevalence from `people`: how many people reported 0, 1, …, k."""

    design: RepeatedDesign
    people: tuple[int, ...]
    target: str = "population"

    @property
    def n(self) -> int:
        """People."""
        return sum(self.people)

    @property
    def _mean(self) -> Fraction:
        return Fraction(sum(r * m for r, m in enumerate(self.people)), self.n)

    @property
    def exact_value(self) -> Fraction:
        """π̂, exactly; unbiased, may leave [0, 1]."""
        return (self._mean / self.design.draws - 1 + self.design.design.p00) / self.design.design.c

    @property
    def variance(self) -> Fraction:
        """The unbiased variance estimate for the target, exactly."""
        one, k = self.design.design, self.design.draws
        if self.target == "sample":
            pi = self.exact_value
            return (pi * one.p11 * (1 - one.p11) + (1 - pi) * one.p00 * (1 - one.p00)) / (k * one.c**2 * self.n)
        squares = sum(((r - self._mean) ** 2 * m for r, m in enumerate(self.people)), Fraction(0))
        return squares / (self.n - 1) / (self.n * k**2 * one.c**2)

    @property
    def misfit(self) -> Misfit:
        """Whether there are too few or too many red cards for any prevalence."""
        draws, red = self.n * self.design.draws, int(self._mean * self.n)
        return estimate(Tally(self.design.design, draws, red)).misfit

    numeric = frozenset(range(1, 5))

    def cells(self) -> Table:
        """The share with its bar."""
        return share_table([("repeated draws", self, self.interval())])

    def notes(self) -> list[str]:
        """What the bar is for, and by which draws."""
        return [f"{self.design.draws} draws each, {bar_note(self.interval())}"]

    def points(self) -> list[Point]:
        """The share."""
        return [share_point("repeated draws", self, self.interval())]

    def as_dict(self, level: NumberLike = 0.95, method: str = "hoeffding") -> dict[str, object]:
        """Inputs and results as plain values, ready for JSON."""
        return {
            "design": self.design.design.to_wire(),
            "draws": self.design.draws,
            "people": list(self.people),
            "n": self.n,
            "value": self.value,
            "standard_error": self.standard_error,
            "interval": self.interval(level, method).as_dict(),
            "misfit": self.misfit.as_dict(),
        }

    def interval(self, level: NumberLike = 0.95, method: str = "hoeffding", *, side: Side = "both") -> Interval:
        """(low, high) by "hoeffding" or "chebyshev" (guaranteed) or "wilson" (approximate)."""
        one, sampling = self.design.design, Fraction(int(self.target == "population"))
        problem = Problem(
            "repeated draws",
            self.exact_value,
            lambda: self.standard_error,
            self.target,
            variance=lambda: variance_line(one, self.n, sampling, self.design.draws),
            squares=1 / (self.n * one.c**2),
        )
        return interval_of(problem, level, method, side)


def estimate_repeated(design: RepeatedDesign, people: Sequence[int], target: str = "population") -> RepeatedEstimate:
    """The estimate from how many people reported 0, 1, …, k.

    >>> from rrcollect import Design
    >>> found = estimate_repeated(RepeatedDesign(Design("4/5", "4/5"), 2), [50, 30, 20])
    >>> found.exact_value, round(found.standard_error, 4)
    (Fraction(1, 4), 0.0654)
    """
    if len(people) != design.draws + 1:
        raise ParameterError("people", people, f"{design.draws + 1} counts: of people who reported 0 … {design.draws}")
    checked_target(target)
    counts = tuple(whole_number(f"people who reported {r}", m, minimum=0) for r, m in enumerate(people))
    if sum(counts) < 2:
        raise TooFewAnswers(sum(counts), "the survey")
    return RepeatedEstimate(design, counts, target)
