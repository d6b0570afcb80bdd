"""`ChoiceEstimate`: the shares of all options of a choice from one tally, with bars that hold at once.

    π̂_j = (N_j/n − q)/c                      unbiased; all of them add up to 1 exactly, because the counts do to nω
    Cov_ij = (t_ij − μ_iμ_j)/((n−1)c²)       t_ij = t0 + (t1 − t0)(π̂_i + π̂_j), the chance that both are in a set

Rules
1. One option is a yes/no estimate (`estimate[j]`): every bar, target and sentence of it applies as it stands.
2. Two options of one question are dependent.  They are compared, and added up, by the covariance.
3. `interval(..., simultaneous=True)` holds for all options at once: each at level 1 − α/k (two options need no
   correction), then tightened for free: no option has more than 1 minus the lower ends of the others, nor less than 1
   minus their upper ends.  Where that would leave nothing (misfit) the bars stay as they were.
4. The raw value is unbiased and sums onward; the `simplex` value lies in [0, 1], adds up to 1 with the others, is
   biased and has a smaller error.  They are two figures, each by its name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from rrcollect.design.parameters import NumberLike, fraction
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.count.tally import Tally, checked_tally
from server_agg.errors import TooFewAnswers
from server_agg.estimates.combination import Combination, ScoreMean, ShareAmong
from server_agg.estimates.interval import TargetLike, checked_target
from server_agg.estimates.numerics import binomial_at_least, float_below
from server_agg.estimates.one import Estimate
from server_agg.estimates.simplex import likeliest_shares, nearest_shares
from server_agg.report.result import Result
from server_agg.results.drawing import Point
from server_agg.results.interval import Interval, Misfit, exact_level
from server_agg.results.words import digits_for, percent, privacy_words, share_point


@dataclass(frozen=True)
class ChoiceEstimate(Result):
    """The shares estimated from `tally` for `target`; `labels` name the options.

    >>> from rrcollect.design.sets import SetDesign
    >>> e = ChoiceEstimate(Tally(SetDesign(4, 1, "1/2"), 1000, [420, 260, 180, 140]), labels=("a", "b", "c", "d"))
    >>> [round(value, 3) for value in e.values], round(sum(e.values), 12)
    ([0.76, 0.28, 0.04, -0.08], 1.0)
    >>> e.interval(0).guaranteed
    True
    """

    tally: Tally
    target: TargetLike = "population"
    labels: tuple[str, ...] = ()

    tidy = "options"

    def __post_init__(self) -> None:
        checked_tally(self.tally)
        if self.tally.n < 2:
            raise TooFewAnswers(self.tally.n)
        object.__setattr__(self, "target", checked_target(self.target, self.tally.n))
        object.__setattr__(self, "labels", named_options(self.labels, len(self.tally)))

    def __getitem__(self, option: int) -> Estimate:
        """One option as a yes/no estimate."""
        return Estimate(self.tally[option], self.target)

    @property
    def n(self) -> int:
        """Answers."""
        return self.tally.n

    # ---- values -----------------------------------------------------------------------------------------------

    @cached_property
    def exact_values(self) -> tuple[Fraction, ...]:
        """The unbiased shares, exactly; they add up to 1."""
        return tuple(self[j].exact_value for j in range(len(self.tally)))

    @property
    def values(self) -> list[float]:
        """The unbiased shares; one may leave [0, 1]."""
        return [float(value) for value in self.exact_values]

    @property
    def standard_errors(self) -> list[float]:
        """One for each option."""
        return [self[j].standard_error for j in range(len(self.tally))]

    @cached_property
    def exact_covariance(self) -> tuple[tuple[Fraction, ...], ...]:
        """The unbiased estimate of the covariances for the target; every row adds up to 0."""
        k = len(self.tally)
        return tuple(tuple(self._covariance(i, j) for j in range(k)) for i in range(k))

    @property
    def covariance(self) -> list[list[float]]:
        """`exact_covariance` in floats."""
        return [[float(value) for value in row] for row in self.exact_covariance]

    def _covariance(self, i: int, j: int) -> Fraction:
        if i == j:
            return self[i].variance
        design, n, values = self.tally.design, self.tally.n, self.exact_values
        p, q = design.p, design.q
        with_truth, both_others = design.pair_chances()
        share = values[i] + values[j]
        together = both_others + (with_truth - both_others) * share
        seen = Fraction(self.tally.counts[i] * self.tally.counts[j], n * n)
        drawn = (together - seen) / ((n - 1) * design.c**2)
        noise = (share * (with_truth - p * q) + (1 - share) * (both_others - q * q)) / (n * design.c**2)
        f = self[i].sampled_share
        return Fraction((1 - f) * drawn + f * noise)

    def simplex(self) -> list[float]:
        """The shares brought into [0, 1] and adding up to 1: of greatest likelihood for sets of one option, otherwise
        the nearest such shares.  Biased; for reading, not for adding up."""
        return [float(value) for value in (self._inside())]

    def _inside(self) -> list[Fraction]:
        return likeliest_shares(self.tally) if self.tally.design.size == 1 else nearest_shares(self.exact_values)

    @property
    def misfit(self) -> Misfit:
        """Whether some count is too extreme for any shares: k times the least chance, at most 1."""
        design, n, k = self.tally.design, self.tally.n, len(self.tally)
        few = min(binomial_at_least(n - count, n, float(1 - design.q)) for count in self.tally.counts)
        many = min(binomial_at_least(count, n, float(design.p)) for count in self.tally.counts)
        return Misfit(min(1.0, k * few), "below") if few <= many else Misfit(min(1.0, k * many), "above")

    # ---- bars -------------------------------------------------------------------------------------------------

    def interval(
        self, option: int, level: NumberLike = 0.95, method: str = "exact", *, simultaneous: bool = True
    ) -> Interval:
        """The bar of one option; with `simultaneous` all options' bars hold at once with this probability."""
        bar = self[option].interval(level, method)  # also checks the option
        return self.intervals(level, method)[option] if simultaneous else bar

    def intervals(self, level: NumberLike = 0.95, method: str = "exact") -> list[Interval]:
        """The bars of all options, holding at once (rule 3)."""
        k, miss = len(self.tally), 1 - exact_level(level)
        each = 1 - (miss if k == 2 else miss / k)
        bars = [self[j].interval(each, method) for j in range(k)]
        low, high = (sum((Fraction(bar[end]) for bar in bars), Fraction(0)) for end in (0, 1))
        tight = [
            (
                max(bar.low, float_below(1 - high + Fraction(bar.high))),
                min(bar.high, -float_below(low - Fraction(bar.low) - 1)),
            )
            for bar in bars
        ]
        if k == 2 or not bars[0].guaranteed or any(ends[0] > ends[1] for ends in tight):
            tight = [(bar.low, bar.high) for bar in bars]
        return [bar.with_ends(ends, level=exact_level(level)) for ends, bar in zip(tight, bars, strict=True)]

    # ---- several options --------------------------------------------------------------------------------------

    def group(self, options: Iterable[int]) -> Estimate | Combination:
        """The share of several options together: exact where sets hold one option, else by the covariance."""
        chosen = sorted({self._checked(option) for option in options})
        if not 0 < len(chosen) < len(self.tally):
            raise ParameterError("options", chosen, f"1 to {len(self.tally) - 1} of the options")
        design, size = self.tally.design, len(chosen)
        if design.size == 1:
            column = Design(1 - size * design.q, design.p + (size - 1) * design.q)
            ones = sum(self.tally.counts[j] for j in chosen)
            return Estimate(Tally(column, self.tally.n, ones, design), self.target)
        weights = [Fraction(j in chosen) for j in range(len(self.tally))]
        return self._combined(weights, "share of the group", (0.0, 1.0))

    def compare(self, first: int, second: int) -> Combination:
        """The share of one option minus that of another, by the covariance.

        >>> from rrcollect.design.sets import SetDesign
        >>> e = ChoiceEstimate(Tally(SetDesign(4, 1, "1/2"), 1000, [420, 260, 180, 140]))
        >>> round(e.compare(0, 1).value, 3), e.compare(0, 1).p_value < 1e-6
        (0.48, True)
        """
        if self._checked(first) == self._checked(second):
            raise ParameterError("second", second, "another option")
        weights = [Fraction((j == first) - (j == second)) for j in range(len(self.tally))]
        return self._combined(weights, f"{self.labels[first]} − {self.labels[second]}", (-1.0, 1.0))

    def mean(self, scores: Sequence[NumberLike]) -> Combination:
        """The mean of scores given to ordered options."""
        weights = [fraction("scores", score) for score in scores]
        if len(weights) != len(self.tally):
            raise ParameterError("scores", list(scores), f"one for each of {len(self.tally)} options")
        return self._combined(weights, "mean of the scores", (float(min(weights)), float(max(weights))), ScoreMean)

    def among(self, option: int, options: Iterable[int]) -> ShareAmong:
        """The share of an option among the people of several, such as all to whom the question applies.

        >>> from rrcollect.design.sets import SetDesign
        >>> e = ChoiceEstimate(Tally(SetDesign(4, 1, "1/2"), 1000, [320, 260, 180, 240]))
        >>> found = e.among(0, [0, 1, 2])                       # the fourth: does not apply
        >>> round(found.value, 3), [round(end, 3) for end in found.interval()]
        (0.59, [0.488, 0.696])
        """
        of = sorted({self._checked(one) for one in options})
        if self._checked(option) not in of or len(of) < 2:
            raise ParameterError("options", of, f"two options or more, {option} among them")
        share = sum((self.exact_values[j] for j in of), Fraction(0))
        crossed = sum((self._covariance(option, j) for j in of), Fraction(0))
        square = sum((self._covariance(i, j) for i in of for j in of), Fraction(0))
        return ShareAmong(
            self.n, (self.values[option], float(share)), (float(self[option].variance), float(crossed), float(square)),
            f"{self.labels[option]} among {', '.join(self.labels[j] for j in of)}", len(of), self.tally.design,
        )  # fmt: skip

    def _combined(
        self, weights: list[Fraction], what: str, span: tuple[float, float], kind: type[Combination] = Combination
    ) -> Combination:
        value = sum((w * v for w, v in zip(weights, self.exact_values, strict=True)), Fraction(0))
        used = [j for j, weight in enumerate(weights) if weight]
        square = sum((weights[i] * weights[j] * self._covariance(i, j) for i in used for j in used), Fraction(0))
        ends = self.tally.design.answer_ends(weights)
        return kind(self.n, float(value), math.sqrt(max(square, Fraction(0))), what, span, ends)

    def _checked(self, option: int) -> int:
        self.tally[option]  # the check of an option stands there
        return option

    # ---- output -----------------------------------------------------------------------------------------------

    def as_dict(self, level: NumberLike = 0.95, method: str = "exact") -> dict[str, object]:
        """Inputs and results as plain values, ready for JSON."""
        bars = self.intervals(level, method)
        options = [
            {"label": label, "count": count, "value": value, "simplex": inside, "standard_error": error}
            | {"interval": bar.as_dict(), "misfit": self[j].misfit.as_dict()}
            for j, (label, count, value, inside, error, bar) in enumerate(
                zip(
                    self.labels, self.tally.counts, self.values, self.simplex(), self.standard_errors, bars, strict=True
                )
            )
        ]
        shown = {"n": self.tally.n, "design": self.tally.design.to_wire(), "target": self.target}
        return {**shown, "misfit": self.misfit.as_dict(), "options": options}

    def cells(self) -> tuple[list[str] | None, list[list[str]]]:
        """A line for each option, the largest share first."""
        bars, inside = self.intervals(), self.simplex()
        order = sorted(range(len(bars)), key=lambda j: (-self.exact_values[j], j))
        lines = []
        for j in order:
            digits = digits_for(bars[j].width)
            ends = f"{percent(bars[j].low, digits)}–{percent(bars[j].high, digits)}"
            lines.append([self.labels[j], percent(self.values[j], digits), ends, percent(inside[j], digits)])
        return ["option", "%", "95 %, all at once", "within 0–100 %"], lines

    numeric = frozenset({1, 2, 3})

    def notes(self) -> list[str]:
        """How many answers, by which promise, what the bars cover, and how well the counts fit."""
        bar = self.intervals()[0]
        promise = "guaranteed" if bar.guaranteed else "approximate"
        told = (
            f"n = {self.tally.n}, {privacy_words(self.tally.design)}; {bar.method} bars for the {bar.target}, {promise}"
        )
        return ["; ".join([told, *([self.misfit.describe()] if self.misfit.told else [])])]

    def points(self) -> list[Point]:
        """The options, the largest share first, with how well each count fits."""
        bars, order = self.intervals(), sorted(range(len(self.tally)), key=lambda j: (-self.exact_values[j], j))
        return [share_point(self.labels[j], self[j], bars[j]) for j in order]

    def caption(self) -> str:
        """What the bars of the picture are."""
        return "95 % exact bars, all at once"

    def table(self) -> str:
        """The options as a text table, with the fit below it."""
        return str(self)

    def sentence(self, level: NumberLike = 0.95) -> str:
        """The largest share with its bar, and what the others are like, in one sentence."""
        bars = self.intervals(level)
        top = max(range(len(bars)), key=lambda j: self.exact_values[j])
        digits = digits_for(bars[top].width)
        told = [
            f"{self.labels[top]}: {percent(min(max(self.values[top], 0.0), 1.0), digits)} % "
            f"({float(100 * bars[top].level):.10g} % interval for all {len(bars)} options at once "
            f"{percent(bars[top].low, digits)}–{percent(bars[top].high, digits)} %)",
            f"n = {self.tally.n}, {privacy_words(self.tally.design)}; target: the {bars[top].target}",
        ]
        return "; ".join([", ".join(told), *([self.misfit.describe()] if self.misfit.told else [])])


def named_options(labels: Iterable[str], options: int) -> tuple[str, ...]:
    """The labels, one for each option; without any, their numbers."""
    names = tuple(labels) or tuple(f"option {j + 1}" for j in range(options))
    if len(names) != options or len(set(names)) < options:
        raise ParameterError("labels", list(names), f"{options} different names, one for each option")
    return names
