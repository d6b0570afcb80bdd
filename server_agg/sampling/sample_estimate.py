"""`SampleEstimate`: the figures of one sample, their totals and differences, each a row with its bar.

    korn-graubard  Clopper and Pearson's with the effective sample size (see `estimates.effective`): for rare attributes
                   too.  Its degrees of freedom are units − strata, or fewer where a few units carry the weight W
                   (Satterthwaite by stratum), and 2m/(κ − 1) where a few of m clusters make the variance (κ their
                   kurtosis: a variance estimated from m of them has the relative variance (κ − 1)/m).
    wald           value ∓ t·SE, t with units − strata degrees of freedom; what R's `confint` and Stata print.
    hoeffding      guaranteed for people who answer independently of each other and of their weights, and for those who
                   answered (target "sample") always; it is not called guaranteed where weights or clusters forbid it.
    guaranteed     of counted answers: from the exact bars of all strata at once.
    mover          for differences: square-and-add on the Korn-Graubard bars of the parts, with their correlation [Z07].
Korn and Graubard's, Wald's and mover are approximate: no theorem bounds their coverage; docs/coverage.md has computed
and simulated ones.

A total Σwr is the share times the people that the weights stand for, and these vary from sample to sample unless the
weights were calibrated.  Its korn-graubard bar knows both: it goes from the lower of both lower ends to the higher of
both upper ends of Σw times the share's bar, with the error of the total (for rare attributes), and value ∓ t·SE (for
people who are not counted beforehand).  A total of shares has no end below 0.

Rules
1. A figure is a share or a mean of numbers within bounds; it is computed as a share.
2. The design effect is the variance over that of a simple random sample of as many people drawn with replacement, the
   variance among people estimated with the weights (R's `deff = "replace"`).  None if that is 0 but for rounding.
3. Figures of one sample are dependent: differences use their covariance.  Bars are each for themselves; `at_once`
   has bars that hold at once.
4. The misfit of a figure is that of its answers counted by design (see `values`): exact, however people were drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.design.parameters import NumberLike, whole_number
from rrcollect.errors import ParameterError
from server_agg.estimates.effective import EffectiveSample
from server_agg.estimates.interval import DIFFERENCE, Problem
from server_agg.estimates.methods import interval_of, wald_interval
from server_agg.estimates.numerics import t_quantile, turning_point
from server_agg.results.findings import Findings
from server_agg.results.interval import Interval, Misfit, exact_level
from server_agg.results.row import DIFFERENCES, Row, Scale, Test
from server_agg.sampling.omnibus import wald_test
from server_agg.sampling.sample import Sample

if TYPE_CHECKING:
    from server_agg.sampling.sample import Floats

ROUNDING, SMALLEST = 1e-9, 1e-9  # beyond a range but for rounding; the least p that is looked for
NO_ENDS = "no ends: the figure below is not told from 0"
RATIOS = Scale(-math.inf, math.inf, "", "ratio")
FEW = 10  # degrees of freedom below which the estimated error is itself uncertain


@dataclass(frozen=True)
class SampleRow(Row):
    """A share or mean with its design-based error; `total` is the number of people, or the sum of their numbers."""

    df: float = math.inf
    design_effect: float | None = None
    kish_design_effect: float | None = None  # n·Σw²/(Σw)²: what unequal weights cost if they go with nothing
    problem: Problem | None = None  # of the share: what its bars are made from
    total: Row | None = None


def share_row(
    row: Row,
    problem: Problem,
    *,
    df: float,
    simple: float,
    kish: float,
    total: tuple[float, float, float, float] | None,
) -> SampleRow:
    """A figure from what its bars see; `row` has its name, n, misfit and scale, `simple` is the variance of a simple
    random sample, `total` is value, error, people and degrees of freedom of the total."""
    scale, error, sample = row.scale, problem.error(), _sample(problem)
    span, low = scale.span, float(scale.low)
    least = (ROUNDING * float(sample.most - sample.least)) ** 2
    effect = error**2 / simple if simple > least and math.isfinite(error) else None

    def bar(level: NumberLike, method: str | None) -> Interval[Any]:
        found = interval_of(problem, level, method or "korn-graubard")
        return found.with_ends((low + span * found.low, low + span * found.high))

    sum_of = None if total is None else _total_row(row, problem, total)
    extras = {
        "df": df, "design_effect": effect, "kish_design_effect": kish,
        "total": None if sum_of is None else sum_of.value,
        "total_standard_error": None if sum_of is None else sum_of.standard_error,
    }  # fmt: skip
    value = low + span * float(problem.value)
    if abs(value - scale.clipped(value)) <= ROUNDING * span:
        value = scale.clipped(value)
    return SampleRow(
        row.name, row.n, value, _known(span * error), bar, None, row.misfit, scale, extras,
        df=df, design_effect=effect, kish_design_effect=kish, problem=problem, total=sum_of,
    )  # fmt: skip


def _known(error: float) -> float | None:
    """A standard error; None where nothing shows it."""
    return error if math.isfinite(error) else None


def _sample(problem: Problem) -> EffectiveSample:
    if problem.sample is None:
        raise NotImplementedError(f"{problem.kind} without an effective sample size")
    return problem.sample


def _total_row(row: Row, share: Problem, given: tuple[float, float, float, float]) -> Row:
    """The total of a figure."""
    value, error, people, df = given
    least, most = (end * people for end in row.scale.ends)
    span, positive = most - least, row.scale.low >= 0

    def bar(level: NumberLike, method: str | None) -> Interval[Any]:
        name = method or "korn-graubard"
        if name not in ("korn-graubard", "wald"):
            raise ParameterError("method", name, "'korn-graubard' or 'wald'")
        plain = wald_interval(value, error, level, "total", freedom=df)
        if name == "wald":
            return plain
        part = Fraction((value - least) / span)
        problem = replace(share, value=part, error=lambda: error / span, parts=(), freedom=df)
        found = interval_of(problem, level, name)
        low, high = min(least + span * found.low, plain.low), max(least + span * found.high, plain.high)
        return found.with_ends((max(low, 0.0) if positive else low, high), target="total")

    unit = "" if row.scale.is_share else row.scale.unit
    scale = Scale(0.0 if positive else -math.inf, math.inf, unit, "total")
    return Row(f"total of {row.name}", row.n, value, error, bar, scale=scale, extras={"df": df})


@dataclass(frozen=True, eq=False)
class SampleEstimate(Findings):
    """The figures of one sample: one, or "all" and one per group, for a choice one per option; totals and differences
    of them are the same class.  A result with one row has its `design_effect` and `kish_design_effect` too."""

    covariance: Floats = field(kw_only=True)  # of their shares
    sample: Sample = field(kw_only=True)

    @property
    def df(self) -> int:
        """Degrees of freedom of the whole sample."""
        return self.sample.df

    def __getattr__(self, name: str) -> Any:
        if name in ("design_effect", "kish_design_effect") and len(self.figures) == 1:
            return getattr(self._shares()[0], name)
        return super().__getattr__(name)

    def _shares(self, names: Sequence[str] | None = None) -> list[SampleRow]:
        """The figures of these names, which totals and differences of them are not."""
        asked = self.figures if names is None else [self[name] for name in names]
        if not all(type(row) is SampleRow for row in asked):
            raise ParameterError("row", [row.name for row in asked], "a share or a mean, not a total or a difference")
        return asked  # type: ignore[return-value]

    @property
    def total(self) -> SampleEstimate:
        """How many people, or the sum of their numbers: a row for each figure."""
        totals = [row.total for row in self._shares()]
        if not all(totals):
            allowed = "weights that count people, or the population's size: without them there is no total"
            raise ParameterError("weights", None, allowed)
        return replace(self, figures=tuple(totals))  # type: ignore[arg-type]

    def at_once(self, level: NumberLike = 0.95, method: str | None = None) -> list[Interval[Any]]:
        """The bars of all rows, holding at once: each at level 1 − α/k."""
        each = 1 - (1 - exact_level(level)) / len(self.figures)
        return [row.interval(each, method) for row in self.figures]

    def difference(self, first: str, second: str, *, family: int | None = None) -> SampleEstimate:
        """One figure minus another, by their covariance; p, of no difference, is that of the bar that is printed: it
        holds 0 at level 1 − α if and only if p is not below α.  Both are those of one of `family` comparisons at once:
        of all pairs of groups, or of options, unless given; 1 for a pair that was meant beforehand."""
        if first == second:
            raise ParameterError("second", second, "another row")
        one, other = self._shares([first, second])
        names = [row.name for row in self.figures]
        a, b = names.index(one.name), names.index(other.name)
        many = self._pairs(a, b) if family is None else whole_number("family", family, 1)
        return replace(self, figures=(_difference_row(one, other, float(self.covariance[a, b]), self.df, many),))

    def pairs(self, *names: str) -> SampleEstimate:
        """All pairs of these figures (of all but "all"), each one of as many at once as there are."""
        chosen = list(combinations(self._compared(names), 2))
        made = [self.difference(a, b, family=len(chosen)).figures[0] for a, b in chosen]
        return replace(self, figures=tuple(made))

    def equal(self, *names: str) -> Test:
        """That these figures (all but "all") are one and the same, by Wald's F."""
        chosen, every = self._compared(names), [row.name for row in self.figures]
        at = [every.index(name) for name in chosen]
        way = np.eye(len(at))[1:] - np.eye(len(at))[:1]
        value = way @ [float(row.problem.value) for row in self._shares(chosen) if row.problem is not None]
        spread = way @ self.covariance[np.ix_(at, at)] @ way.T
        return wald_test(f"{' = '.join(chosen)}", "survey", value, spread, float(self.df))

    def _compared(self, names: Sequence[str]) -> list[str]:
        """The names asked for, or those of all groups."""
        chosen = list(names) or [row.name for row in self.figures if row.name != "all"]
        if len(chosen) < 2 or len(set(chosen)) != len(chosen):
            raise ParameterError("names", chosen, "two different rows or more")
        self._shares(chosen)
        return chosen

    def ratio(self, first: str, second: str) -> SampleEstimate:
        """One figure over another, by their covariance; its bar is Fieller's: the ratios ρ for which first − ρ·second
        is not told from 0 by Student's t.  Where the second is not told from 0 it has no ends."""
        if first == second:
            raise ParameterError("second", second, "another row")
        one, other = self._shares([first, second])
        names = [row.name for row in self.figures]
        at = [names.index(one.name), names.index(other.name)]
        return replace(self, figures=(ratio_row(one, other, self.covariance[np.ix_(at, at)], float(self.df)),))

    def _pairs(self, a: int, b: int) -> int:
        """How many comparisons there are like that of these two figures: of options of everybody or of the groups, or
        of groups, for every option."""
        options = int(self.facts["options"])
        groups, same = len(self.figures) // options - 1, a // options == b // options
        if same:
            return math.comb(options, 2) * (groups if a >= options else 1)
        if a % options == b % options:
            return math.comb(groups + (min(a, b) < options), 2) * (1 if options == 2 else options)
        return math.comb(len(self.figures), 2)

    def columns(self) -> dict[str, list[str]]:
        """What the sample costs, and the totals."""
        rows = [row for row in self.figures if type(row) is SampleRow]
        if not rows:
            return {}
        found = {"design effect": ["none" if row.design_effect is None else f"{row.design_effect:.2f}" for row in rows]}
        totals = [row.total for row in rows if row.total is not None]
        if totals:
            found["total"] = [row.scale.text(row.scale.clipped(row.value or 0.0), 1e3) for row in totals]
        return found


def sample_estimate(
    rows: Sequence[SampleRow], covariance: Floats, sample: Sample, told: list[str], *, variance_by: str, privacy: str,
    target: str, options: int, misfits: Mapping[str, Misfit],
) -> SampleEstimate:  # fmt: skip
    """The figures, with how the people were drawn and by what the variance was estimated; few clusters are told."""
    strata = f" in {len(sample.strata)} strata" if sample.strata != (None,) else ""
    units = f", {sample.units} clusters" if sample.clustered else ""
    said = f"{sample.n} answers{units}{strata}, {sample.df} degrees of freedom, {variance_by}, {privacy}"
    few = f"few clusters: the standard error has {sample.df} degrees of freedom, so it is uncertain"
    facts = {
        "records": sample.n, "units": sample.units, "strata": len(sample.strata), "df": sample.df,
        "variance_by": variance_by, "privacy": privacy, "options": options, "misfits_of_strata": dict(misfits),
    }  # fmt: skip
    told = [*told, *([few] if sample.clustered and sample.df < FEW else [])]
    return SampleEstimate(tuple(rows), target, facts, told, said, covariance=covariance, sample=sample)


def ratio_row(one: SampleRow, other: SampleRow, spread: Floats, df: float) -> Row:
    """The ratio of two figures, and Fieller's bar."""
    a, b = float(one.value or 0.0), float(other.value or 0.0)
    v = spread * one.scale.span * other.scale.span
    if not np.isfinite(v).all() or b == 0:
        return Row(f"{one.name} / {other.name}", None, None, None, scale=RATIOS)
    value = a / b
    error = math.sqrt(max(float(v[0, 0] - 2 * value * v[0, 1] + value**2 * v[1, 1]), 0.0)) / abs(b)

    def bar(level: NumberLike, method: str | None) -> Interval[Any]:
        if method not in (None, "fieller"):
            raise ParameterError("method", method, "'fieller'")
        exact = exact_level(level)
        t = t_quantile((1 - exact) / 2, df)
        square = b * b - t * t * float(v[1, 1])
        middle = a * b - t * t * float(v[0, 1])
        inside = middle**2 - square * (a * a - t * t * float(v[0, 0]))
        told: dict[str, Any] = {"method": "fieller", "level": exact, "target": "ratio of two figures"}
        if square <= 0 or inside < 0:
            return Interval((None, None), warning=NO_ENDS, **told)
        reach = math.sqrt(inside)
        return Interval(((middle - reach) / square, (middle + reach) / square), **told)

    return Row(f"{one.name} / {other.name}", None, value, error, bar, scale=RATIOS, extras={"df": df})


def _difference_row(one: SampleRow, other: SampleRow, shared: float, df: float, family: int) -> Row:
    a, b = one.problem, other.problem
    if a is None or b is None:
        raise NotImplementedError("a share without its problem")
    errors, span = (a.error(), b.error()), one.scale.span
    error = math.sqrt(max(errors[0] ** 2 + errors[1] ** 2 - 2 * shared, 0.0))
    both = errors[0] * errors[1]
    correlation = min(max(shared / both, -1.0), 1.0) if both > 0 else 0.0
    problem = Problem(
        "complex difference", a.value - b.value, lambda: error, parts=((Fraction(1), a), (Fraction(-1), b)),
        span=DIFFERENCE, freedom=df, correlation=correlation,
        covers=f"difference{f', one of {family} at once' if family > 1 else ''}",
    )  # fmt: skip

    def bar(level: NumberLike, method: str | None) -> Interval[Any]:
        asked = exact_level(level)
        found = interval_of(problem, 1 - (1 - asked) / family, method or "mover")
        return found.with_ends((span * found.low, span * found.high), level=asked)

    value, alone = span * float(problem.value), _by_bar(problem)
    p = min(1.0, family * alone)
    scale = DIFFERENCES if one.scale.is_share else Scale(-span, span, one.scale.unit, "difference")
    extras = {"df": df, "correlation": correlation, "test": "the mover bar", "p_alone": alone, "family": family}
    shown = one.scale.clipped(one.value or 0.0) - other.scale.clipped(other.value or 0.0)
    return Row(f"{one.name} − {other.name}", None, value, _known(span * error), bar, p, None, scale, extras, shown)


def _by_bar(problem: Problem) -> float:
    """The largest p whose bar at level 1 − p still holds 0."""

    def held(p: float) -> bool:
        bar = interval_of(problem, 1 - p, "mover")
        return bar.low <= 0 <= bar.high

    return turning_point(held, SMALLEST, 1 - SMALLEST)
