"""`Estimate`: the unbiased estimate of the prevalence from one tally, with every error bar for it.

Of n answers N are ones; λ̂ = N/n and c = p00 + p11 − 1.

    π̂ = (λ̂ − (1−p00))/c                         the estimate: unbiased, but may lie outside [0, 1]; `clipped` does not
    v_pop = λ̂(1−λ̂)/((n−1)c²)                    unbiased for the variance if respondents are drawn from a population
    v_real = [π̂ p11(1−p11) + (1−π̂) p00(1−p00)]/(c²n)
                                                unbiased for the variance by the mechanism's noise alone: the target is
                                                the people who answered.  Never negative: it is linear in N, and not
                                                negative at N = 0 and N = n.
    v = (1−f)·v_pop + f·v_real, f = n/M         if n people were drawn from M without replacement

Rules
1. Value and variances are exact fractions; floats are for display.
2. An estimate keeps its tally and target, so that other bars can be computed later without counting again.
3. No estimate without a bar: n < 2 is refused.  No result is ever NaN or infinite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from rrcollect.design.parameters import NumberLike, fraction, probability, whole_number
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.count.tally import Tally, checked_tally
from server_agg.errors import TooFewAnswers
from server_agg.estimates.credible import Prior
from server_agg.estimates.diagnostics import DirectAnswers, Margin, PeopleTotal
from server_agg.estimates.exact import squared_widths, unbiased
from server_agg.estimates.interval import TargetLike, checked_target, target_words
from server_agg.estimates.methods import interval_of, methods_for
from server_agg.estimates.numerics import binomial_at_least, normal_quantile
from server_agg.estimates.problem import Problem
from server_agg.estimates.score import variance_line
from server_agg.report.result import UnbiasedResult
from server_agg.results.drawing import Point
from server_agg.results.interval import Interval, Misfit, Side, exact_level
from server_agg.results.tables import Table, text_table
from server_agg.results.words import bar_words, digits_for, fit_notes, percent, privacy_words

DIRECT = Design(1, 1)  # the truth as it is


@dataclass(frozen=True)
class Estimate(UnbiasedResult):
    """The prevalence estimated from `tally` for `target`: "population", "sample", or the size M of a population.

    >>> from rrcollect import Design
    >>> e = Estimate(Tally(Design("3/4", "3/4"), 1000, 400))
    >>> e.exact_value, round(e.standard_error, 4)
    (Fraction(3, 10), 0.031)
    >>> low, high = e.interval(level=0.95, method="exact")
    >>> print(e.sentence())
    30.0 % (95 % exact interval 23.9–36.2 %), n = 1000, ε = 1.099; target: the population
    """

    tally: Tally
    target: TargetLike = "population"

    def __post_init__(self) -> None:
        checked_tally(self.tally, yes_no=True)
        if self.tally.n < 2:
            raise TooFewAnswers(self.tally.n)
        object.__setattr__(self, "target", checked_target(self.target, self.tally.n))

    @property
    def n(self) -> int:
        """How many answers were counted."""
        return self.tally.n

    # ---- the value and its variance ---------------------------------------------------------------------------

    @property
    def says_yes(self) -> Fraction:
        """λ̂ = N/n, the share of ones."""
        return Fraction(self.tally.ones, self.tally.n)

    @property
    def exact_value(self) -> Fraction:
        """The unbiased estimate, exactly."""
        return unbiased(self.tally)

    @property
    def population_variance(self) -> Fraction:
        """v_pop, unbiased for the variance if the respondents were drawn from an infinite population."""
        yes = self.says_yes
        return yes * (1 - yes) / ((self.tally.n - 1) * self.tally.column.c**2)

    @property
    def noise_variance(self) -> Fraction:
        """v_real, unbiased for the variance that the mechanism alone adds."""
        design, pi = self.tally.column, self.exact_value
        noise = pi * design.p11 * (1 - design.p11) + (1 - pi) * design.p00 * (1 - design.p00)
        return noise / (design.c**2 * self.tally.n)

    @property
    def sampled_share(self) -> Fraction:
        """f: 0 for an infinite population, 1 if the target is the people who answered, n/M for M people."""
        if self.target == "population":
            return Fraction(0)
        return Fraction(1) if self.target == "sample" else Fraction(self.tally.n, int(self.target))

    @property
    def sampling(self) -> Fraction:
        """s in the true variance V_real + s·π(1−π)/n: 1 for "population", 0 for "sample", (M−n)/(M−1) for M people."""
        if self.target in ("population", "sample"):
            return 1 - self.sampled_share
        return Fraction(int(self.target) - self.tally.n, int(self.target) - 1)

    @property
    def variance(self) -> Fraction:
        """The unbiased estimate of the variance of `value` for the target."""
        f = self.sampled_share
        return (1 - f) * self.population_variance + f * self.noise_variance

    @property
    def problem(self) -> Problem:
        """The estimate in the form that the methods for error bars take."""
        tally = self.tally.oriented()
        return Problem(
            "one design",
            self.exact_value,
            lambda: self.standard_error,
            self.target,
            n=tally.n,
            tallies=(tally,),
            variance=lambda: variance_line(tally.design, tally.n, self.sampling),
            squares=squared_widths([Fraction(1)], [tally]),
        )

    # ---- error bars -------------------------------------------------------------------------------------------

    def interval(
        self, level: NumberLike = 0.95, method: str = "exact", *, side: Side = "both", prior: Prior = "uniform"
    ) -> Interval:
        """(low, high), within [0, 1]; the methods are described in `server_agg.estimates.methods`.

        `side` "lower" or "upper" gives a one-sided bound with the whole error probability at that end.

        >>> from rrcollect import Design
        >>> Estimate(Tally(Design(1, "1/2"), 20, 0)).interval(method="exact", side="upper")[0]
        0.0
        """
        return interval_of(self.problem, level, method, side, prior)

    def margins(self) -> tuple[Margin, Margin]:
        """The paper's margins of error at 95 %, both with the estimated σ ([HLM17] Section II)."""
        sigma = self.standard_error
        return (
            Margin(1.96, 1.96 * sigma, "π̂ is nearly normal (central limit theorem) and σ is nearly its estimate"),
            Margin(
                4.5,
                4.5 * sigma,
                "nothing of the distribution (Chebyshev), but the true σ: with the estimated one the coverage can be "
                "near 0; interval(method='chebyshev') inverts the inequality instead",
            ),
        )

    @property
    def misfit(self) -> Misfit:
        """How improbable so extreme a count is at the prevalence (0 or 1) nearest to it, and on which side it lies."""
        tally = self.tally.oriented()
        below = binomial_at_least(tally.n - tally.ones, tally.n, float(tally.design.p00))  # if all truths were "no"
        above = binomial_at_least(tally.ones, tally.n, float(tally.design.p11))  # if all truths were "yes"
        return Misfit(below, "below") if below <= above else Misfit(above, "above")

    # ---- what privacy cost, and what dishonest reporters could do ---------------------------------------------

    @property
    def effective_sample_size(self) -> float:
        """How many honest, direct answers would have the same variance, if the clipped value is the prevalence."""
        return float(self.tally.n * self.tally.design.effective_sample_ratio(self.exact_clipped))

    def direct(self, level: NumberLike = 0.95) -> DirectAnswers:
        """The standard error and the half-width that n honest answers to a direct question would have given."""
        exact, pi = exact_level(level), self.exact_clipped
        error = math.sqrt(self.sampling * pi * (1 - pi) / self.tally.n)
        return DirectAnswers(error, normal_quantile((1 - exact) / 2) * error, float(exact))

    def manipulation(self, share: NumberLike) -> float:
        """How far a share of dishonest reporters can move the value, at most: share/|c|."""
        return float(probability("share", share) * self.tally.design.manipulation_factor)

    def interval_with_dishonest(self, share: NumberLike, level: NumberLike = 0.95, method: str = "exact") -> Interval:
        """A bar for the prevalence among honest people.  It holds whatever up to this share of reporters sent.

        m = floor(share·n) answers are taken as dishonest.  Of the n − m honest answers at least N − m and at most N are
        ones.  So the lower end is that of max(0, N − m) ones in n − m answers, the upper end that of min(N, n − m).
        """
        tally, m = self.tally.oriented(), math.floor(probability("share", share) * self.tally.n)
        honest = tally.n - m
        if honest < 2:
            raise ParameterError("share", share, f"a share that leaves two honest reporters of {tally.n} or more")
        few, many = (
            Estimate(Tally(tally.design, honest, ones), self.target).interval(level, method)
            for ones in (max(0, tally.ones - m), min(tally.ones, honest))
        )
        told = f"holds whatever any {m} of the {tally.n} reporters sent; they are given up"
        warnings = dict.fromkeys(filter(None, (told, few.warning, many.warning)))
        return few.with_ends((few.low, many.high), target=f"{few.target}, honest people", warning="; ".join(warnings))

    def total(self, people: int | None = None, level: NumberLike = 0.95, method: str = "exact") -> PeopleTotal:
        """How many people: the share times the size of the target (`people` must be given for a population).

        >>> from rrcollect import Design
        >>> Estimate(Tally(Design("3/4", "3/4"), 1000, 400), target="sample").total().value
        300.0
        """
        size = {"population": people, "sample": self.tally.n}.get(str(self.target), self.target)
        if size is None:
            raise ParameterError("people", people, "the size of the population the total is for")
        if people is not None and self.target != "population" and whole_number("people", people) != size:
            raise ParameterError("people", people, f"{size}, the size of the target, or nothing")
        size = whole_number("people", size)
        bar = self.interval(level, method)
        return PeopleTotal(
            size, float(size * self.exact_value), size * self.standard_error, size * bar[0], size * bar[1], bar
        )

    def sentence(self, level: NumberLike = 0.95, method: str = "exact") -> str:
        """One sentence that may be put into a report."""
        return _sentence(self, level, method)

    def as_dict(self, level: NumberLike = 0.95, method: str = "exact") -> dict[str, object]:
        """Inputs and results as plain values, ready for JSON."""
        return _dict(self, level, method)

    def table(self, level: NumberLike = 0.95) -> str:
        """Every bar at this level as a text table."""
        above, below = _tables(self, level)
        return text_table(*above) + "\n\n" + text_table(*below, {1, 2})

    def __str__(self) -> str:
        return self.table()

    numeric = frozenset({1, 2})

    def tables(self) -> list[Table]:
        """Two tables: a summary, and the bars of all methods at 95 %."""
        return _tables(self)

    def points(self) -> list[Point]:
        """The value with every bar at 95 %."""
        bars = {name: self.interval(method=name) for name in methods_for("one design", self.target)}
        return [Point(name, self.value, *bar) for name, bar in bars.items()]

    def caption(self) -> str:
        """Which bars the picture shows, and for which target."""
        return f"95 % bars by method, n = {self.n:,}; for the {target_words(self.target)}"


def estimate_direct(n: int, ones: int) -> Estimate:
    """The estimate from n answers that nobody randomised: a direct question, or the replications of a simulation."""
    return Estimate(Tally(DIRECT, n, ones))


def _sentence(estimate: Estimate, level: NumberLike, method: str) -> str:
    """The estimate in one sentence."""
    bar = estimate.interval(level, method)
    digits = digits_for(bar.width)
    value = f"{percent(estimate.clipped, digits)} %"
    if estimate.clipped != estimate.value:
        value += f" [unclipped {percent(estimate.value, digits)} %]"
    words = f"{value} ({bar_words(bar)}), n = {estimate.tally.n}, {privacy_words(estimate.tally.mechanism)}"
    return "; ".join([f"{words}; target: the {bar.target}", *fit_notes(estimate, bar)])


def _dict(estimate: Estimate, level: NumberLike, method: str) -> dict[str, object]:
    """Inputs and results as plain values."""
    return {
        "tally": estimate.tally.as_dict(),
        "target": estimate.target,
        "value": estimate.value,
        "clipped": estimate.clipped,
        "standard_error": estimate.standard_error,
        "interval": estimate.interval(level, method).as_dict(),
        "misfit": estimate.misfit.as_dict(),
        "effective_sample_size": estimate.effective_sample_size,
        "manipulation_per_percent": estimate.manipulation("0.01"),
    }


def _rows(estimate: Estimate, level: NumberLike) -> list[list[str]]:
    """One row for each method."""
    rows = []
    for method in methods_for("one design", estimate.target):
        bar = estimate.interval(level, method)
        digits = digits_for(bar.width)
        note = "guaranteed" if bar.guaranteed else "approximate"
        rows.append([method, percent(bar.low, digits), percent(bar.high, digits), bar.warning or note])
    return rows


def _summary(estimate: Estimate, level: NumberLike) -> list[list[str]]:
    direct, target = estimate.direct(level), target_words(estimate.target)
    normal, chebyshev = estimate.margins()
    return [
        ["estimate", f"{percent(estimate.value, 2)} % (unbiased), {percent(estimate.clipped, 2)} % (clipped)"],
        ["standard error", f"{percent(estimate.standard_error, 2)} points, target: the {target}"
         if estimate.standard_error else "0 as estimated, since all answers are alike; see the bars"],
        ["answers", f"n = {estimate.tally.n}, ones = {estimate.tally.ones}"],
        ["design", f"{estimate.tally.design}, {privacy_words(estimate.tally.mechanism)}"],
        ["margins", f"±{percent(normal.half_width, 2)} (1.96σ), ±{percent(chebyshev.half_width, 2)} (4.5σ) points"
         if normal.half_width else "none: all answers are alike, so the estimated σ is 0; see the bars"],
        ["fit", estimate.misfit.describe()],
        ["privacy cost", f"{_worth(estimate)}{_direct(direct)}"],
        ["dishonesty", "each 1 % of dishonest reporters moves it up to "
         f"{percent(estimate.manipulation('0.01'), 2)} points"],
    ]  # fmt: skip


def _direct(direct: DirectAnswers) -> str:
    """The margin of direct questioning; nothing where the estimate is at an edge and a plug-in margin would be 0."""
    told = f"all n asked directly: ±{percent(direct.half_width, 2)} points"
    return told if direct.half_width else "at an edge no margin is told"


def _worth(estimate: Estimate) -> str:
    """How many direct answers tell as much; nothing where that rounds to 0, at an edge of what can be estimated."""
    worth = estimate.effective_sample_size
    return f"as many as {worth:.4g} direct answers; " if worth >= 0.5 else ""


def _tables(estimate: Estimate, level: NumberLike = 0.95) -> list[Table]:
    """Everything about an estimate."""
    share = f"{float(100 * fraction('level', level)):.10g}"
    return [(None, _summary(estimate, level)), (["method", f"low {share} %", "high", ""], _rows(estimate, level))]
