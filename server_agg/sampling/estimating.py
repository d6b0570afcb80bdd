"""`estimate`: shares, means, totals and differences from any sample of randomised answers, with one standard error.

With r the unbiased values of the answers (for choices one per option), d the group of a record and w its weight,
    share    Σ_d w r / Σ_d w          scores w(r − share)/Σ_d w, 0 outside the group       (Hájek, linearised)
    total    Σ_d w r                  scores w r                                           (Horvitz-Thompson)
and `sample` turns scores into variances.  r carries the noise of the randomisation and the person drawn, so both count;
residuals of clipped or recoded answers would not.

Rules
1. Plain, weighted, stratified, post-stratified and clustered samples go one way: what is not given is equal weights,
   one stratum, people drawn one by one.
2. A group (`by`) is a domain: all units stay in the sample, with scores of 0.  Cutting the data to the group first
   would make up its size.
3. A mean of numbers (`bounds`) has no finite-population correction: how much of an answer's spread is the rounding of
   the number to a bit is not known.
4. Replicates estimate (1 − f)·V as linearisation does; the noise of a population taken in part is added to both.
5. The target "sample" is those who answered, with weights as they are: f = 1, and the noise alone is left.
6. Counted answers {stratum: Tally} are a stratum each.  With `population` their sizes are known.  With `weights` what
   they stand for is known (post-stratification given the answers that each cell happens to have), as R's
   `svydesign(strata =, weights =)` has it: unbiased for every number of answers per cell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rrcollect.design.parameters import NumberLike, checked_bounds, fraction, whole_number
from rrcollect.errors import ParameterError
from server_agg.count.tally import Tally, checked_tally
from server_agg.errors import EmptySelection, TooFewAnswers
from server_agg.estimates.effective import EffectiveSample
from server_agg.estimates.interval import Problem
from server_agg.estimates.share import Share
from server_agg.results.interval import Misfit, privacy_words, worst_misfit
from server_agg.results.row import SHARES, Row, Scale
from server_agg.sampling.replication import Replicates, replicates_of
from server_agg.sampling.sample import Sample, coded
from server_agg.sampling.sample_estimate import SampleEstimate, sample_estimate, share_row
from server_agg.sampling.values import AnswerValues

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from server_agg.sampling.sample import Floats, Places

ALL = "all"
ROUNDED_UP = 1 + Fraction(2, 10**12)  # more than the rounding of a sum of floats
NOT_FIXED = (
    "not guaranteed for the population: weights may go with the truth.  If they were fixed beforehand it would be, for "
    "the weighted mean of the respondents' own prevalences; for the weighted share of those who answered it is "
    "(target='sample')"
)
ANSWERED = "weighted share of those who answered"
DEPENDENT = "not guaranteed: people of one cluster do not answer independently"


def estimate(
    answers: Any,
    design: Any = None,
    *,
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
    population: Any = None,
    by: Any = None,
    bounds: tuple[NumberLike, NumberLike] | None = None,
    replicates: Replicates | str | None = None,
    target: str = "population",
    unit: str = "",
    labels: Sequence[str] = (),
) -> SampleEstimate:
    """Shares (or the mean of a number within `bounds`) in the population that a sample was drawn from.

    `answers` are one per record, and `design` is a Design, one Design per record, or a SetDesign; or they are counted,
    {stratum: Tally}, and then `weights`, `population` and `by` are by stratum too.  `weights` are numbers, or what
    `rake`, `post_stratify` and `response_weights` made.  `population` counts clusters where there are clusters: a
    number, or one for each stratum.  `by` makes a row per group beside the row "all".  `replicates` is "jackknife",
    "bootstrap", or replicate weights.  `target` "sample" is those who answered.

    >>> from rrcollect import Design
    >>> from server_agg import Tally
    >>> design = Design("3/4", "3/4")
    >>> found = estimate([1, 0, 1, 1, 0, 0, 1, 0], design, clusters=[1, 1, 2, 2, 3, 3, 4, 4])
    >>> round(found.value, 6), round(found.standard_error, 6), found.df
    (0.5, 0.408248, 3)
    >>> counted = {"a": Tally(design, 100, 40), "b": Tally(design, 50, 30)}
    >>> round(estimate(counted, population={"a": 3000, "b": 1000}).value, 6)
    0.4
    >>> round(estimate(counted, weights={"a": 1, "b": 3}).value, 6)
    0.6
    """
    if target not in ("population", "sample"):
        raise ParameterError("target", target, "'population' or 'sample'")
    scale = SHARES if bounds is None else _mean_scale(bounds, unit)
    if isinstance(answers, Mapping):
        if any(given is not None for given in (design, strata, clusters, replicates)):
            raise ParameterError(
                "answers", "counted, with a design, strata, clusters or replicates", "answers one by one"
            )
        given, sample, by, parts = _counted(answers, weights, population, by, target)
        unfit = _misfits({name: checked_tally(tally) for name, tally in answers.items()})
    else:
        given = AnswerValues.of(answers, design, labels, getattr(weights, "responded", None))
        sample = Sample.of(given.n, weights=weights, strata=strata, clusters=clusters, population=population)
        parts, unfit = (), {}
    if not scale.is_share and len(given.names) > 1:
        raise ParameterError("bounds", bounds, "nothing for choices: each option is a share")
    if not scale.is_share or target == "sample":
        whole = float(target == "sample")
        sample = replace(sample, fraction=np.full_like(sample.fraction, whole))  # rules 3 and 5
    of, called = (np.zeros(given.n, np.intp), ()) if by is None else coded("by", by, given.n)
    groups = np.column_stack([np.ones(given.n, bool), *(of == place for place in range(len(called)))])
    names = [ALL, *map(str, called)]
    made = replicates_of(replicates, sample, weights)
    unless = ""
    if target == "population" and not parts:
        unless = DEPENDENT if clusters is not None else NOT_FIXED if weights is not None else ""
    return _Engine(sample, given, groups, names, made).estimated(scale, target, unless, parts, unfit)


def figures_of(sample: Sample, given: AnswerValues, made: Replicates | None) -> SampleEstimate:
    """The figures of values that were made already, of everybody."""
    unless = DEPENDENT if sample.clustered else NOT_FIXED if np.ptp(sample.weights) else ""
    return _Engine(sample, given, np.ones((given.n, 1), bool), [ALL], made).estimated(
        SHARES, "population", unless, (), {}
    )


def _misfits(strata: Mapping[Any, Tally]) -> dict[str, Misfit]:
    """Strata whose own counts do not fit the design, of so many: the figure's misfit is that of all counts."""
    each = {name: Share(tally).misfit for name, tally in strata.items()}
    rest = [Misfit(1.0, "below")] * (len(each) - 1)
    return {str(name): found for name, misfit in each.items() if (found := worst_misfit([misfit, *rest]))}


def _mean_scale(bounds: tuple[NumberLike, NumberLike], unit: str) -> Scale:
    low, high = checked_bounds(bounds)
    return Scale(float(low), float(high), unit, "mean")


def _counted(
    answers: Mapping[Any, Any], weights: Any, population: Any, by: Any, target: str
) -> tuple[AnswerValues, Sample, Any, tuple[tuple[Fraction, Problem], ...]]:
    """Counted answers as rows: the zeros and the ones of each stratum (rule 6)."""
    if not answers:
        raise EmptySelection("no strata: give one or more")
    names = list(answers)
    tallies = {name: checked_tally(tally, f"stratum {name}", yes_no=True) for name, tally in answers.items()}
    for name, given in (("weights", weights), ("population", population), ("by", by)):
        if given is not None and (not isinstance(given, Mapping) or set(given) != set(names)):
            shown = sorted(map(str, given)) if isinstance(given, Mapping) else given
            raise ParameterError(name, shown, f"one for each stratum: {sorted(map(str, names))}")
    if weights is not None and population is not None:
        raise ParameterError(
            "population", population, "nothing beside weights: what the strata stand for is one of them"
        )
    stands: dict[Any, Fraction] = {}
    for name, tally in tallies.items():
        size = tally.n if population is None else population[name]
        stands[name] = Fraction(whole_number(f"population of stratum {name!r}", size, minimum=tally.n))
        if weights is not None:
            stands[name] = fraction(f"weight of {name}", weights[name])
        if weights is not None and stands[name] <= 0:
            raise ParameterError(f"weight of {name}", weights[name], "a number above 0")
        if tally.n < 2:
            raise TooFewAnswers(tally.n, f"stratum {name}")
    repeats = np.array([float(count) for t in tallies.values() for count in (t.n - t.ones, t.ones)])
    places = np.repeat(np.arange(len(names)), 2)
    each = [float(stands[name] / tally.n) for name, tally in tallies.items()]
    sizes = None if population is None else {place: int(stands[name]) for place, name in enumerate(names)}
    sample = Sample.of(
        len(places), weights=None if weights is None else np.repeat(each, 2), strata=places, population=sizes,
        repeats=repeats,
    )  # fmt: skip
    everybody = sum(stands.values(), Fraction(0))
    parts = tuple(
        (stands[name] / everybody, Share(tally, target if population is None else int(stands[name])).problem)
        for name, tally in tallies.items()
    )
    values = AnswerValues.of_tallies(list(tallies.values()))
    return values, sample, None if by is None else [by[names[p]] for p in places], parts


class _Engine(NamedTuple):
    """All figures of one sample, group by group and option by option."""

    sample: Sample
    given: AnswerValues
    groups: NDArray[np.bool_]
    names: list[str]
    made: Replicates | None

    def estimated(self, scale: Scale, target: str, unless: str, parts: Any, unfit: dict[str, Misfit]) -> SampleEstimate:
        sample, given, made, options = self.sample, self.given, self.made, len(self.given.names)
        inside = self.groups.astype(np.float64)
        tops = (inside[:, :, None] * given.values[:, None, :]).reshape(given.n, -1)  # rows × (groups, options)
        bottoms = np.repeat(inside, options, axis=1)
        w, all_of = sample.weights[:, None], sample.totals
        sums = all_of @ bottoms
        if not (sums > 0).all():
            raise ParameterError("by", self.names[int(np.argmin(sums)) // options], "groups with a weight above 0")
        shares = (all_of @ tops) / sums
        low, span = float(scale.low), scale.span
        numbers = low * bottoms + span * tops
        apart = sample.deviations(w * (tops - shares * bottoms) / sums)
        if made is None:
            covariance, totals = apart.T @ apart, sample.covariance(w * numbers)
        else:
            covariance, totals = made.covariance(sample, tops, bottoms), made.covariance(sample, numbers)
        covariance = covariance + sample.noise(w * tops / sums, sums)
        totals = totals + span**2 * sample.noise(w * tops, np.ones_like(sums))
        rows, alone = [], []
        for place in range(tops.shape[1]):
            group, option = divmod(place, options)
            here = self.groups[:, group] & (sample.weights > 0)
            shown = _df_shown(apart[:, place]) if sample.clustered else math.inf
            df, (effective, squares, kish) = self._df(here), self._effective(here, sums[place], shown)
            spread = given.values[here, option] - shares[place]
            simple = float(all_of[here] @ spread**2) / sums[place] / max(effective.n - 1, 1)
            error = math.sqrt(max(float(covariance[place, place]), 0.0))
            if sample.clustered and np.ptp(sample.unit[here]) == 0 and sample.record_fraction[here].min() < 1:
                error = math.inf  # what would show it, the spread of clusters, is not there
                alone.append(self._name(group, option))
            problem = Problem(
                "strata" if parts and group == 0 else "complex sample", Fraction(float(shares[place])),
                partial(float, error), target, n=effective.n, squares=squares, parts=parts if group == 0 else (),
                unless=unless, covers=ANSWERED if target == "sample" and sample.weighted else "", sample=effective,
                freedom=df,
            )  # fmt: skip
            total = None
            if sample.weighted:
                wide = math.sqrt(max(float(totals[place, place]), 0.0))
                total = float(all_of @ numbers[:, place]), wide, float(sums[place]), float(sample.df)
            counts = given.counts(here, option, sample.repeats)
            misfit = worst_misfit(Share(tally).misfit for tally in counts) if counts else None
            row = Row(self._name(group, option), effective.n, None, None, misfit=misfit, scale=scale)
            rows.append(share_row(row, problem, df=df, simple=simple, kish=kish, total=total))
        kind = "linearisation" if made is None else f"{made.kind}, {made.count} replicates"
        told = [f"stratum {name}: {misfit.describe()}" for name, misfit in unfit.items()]
        if alone:
            told = [*told, f"{', '.join(alone)}: all its answers lie in one cluster, which shows no standard error"]
        how: dict[str, Any] = {
            "variance_by": kind,
            "privacy": _privacy(given),
            "target": target,
            "options": options,
            "misfits": unfit,
        }
        return sample_estimate(rows, covariance, sample, told, **how)

    def _df(self, here: NDArray[np.bool_]) -> int:
        df = min(self.sample.df_of(here), self.sample.df)
        if self.made is None or self.made.df is None:
            return df
        return self.made.df if self.made.own else min(self.made.df, df)

    def _name(self, group: int, option: int) -> str:
        name, label = self.names[group], self.given.names[option]
        return name if not label else label if group == 0 else f"{name}: {label}"

    def _effective(
        self, here: NDArray[np.bool_], total: float, shown: float
    ) -> tuple[EffectiveSample, Fraction, float]:
        """What weights and clusters leave of the answers of a group; Hoeffding's Σw²; Kish's n·Σw²/(Σw)²."""
        sample, widths, times = self.sample, self.given.widths[here], self.sample.repeats[here]
        weights = sample.weights[here] / total
        parts = weights * (widths / float(widths.max()))
        kish = 1 / float(times @ parts**2)
        unit = sample.unit[here]
        if sample.clustered:
            carried = np.asarray(np.bincount(unit, parts, sample.units), np.float64)
            unit = np.flatnonzero(carried).astype(np.intp)
            parts, times = carried[unit], np.ones(1)
        whole, heavy = _df_carried(parts, times, sample.stratum[unit])
        n, people = max(int(sample.repeats[here].sum()), 2), sample.repeats[here]
        freedom = min(float(self._df(here)), shown, max(heavy, 1.0))
        squares = Fraction(float(people @ (weights * widths) ** 2)) * ROUNDED_UP
        effective = EffectiveSample(n, *self.given.ends, kish, freedom, min(1 / whole, kish))
        return effective, squares, n * float(people @ weights**2)


def _privacy(given: AnswerValues) -> str:
    return privacy_words(given.designs[0]) if len(set(given.designs)) == 1 else f"{len(set(given.designs))} designs"


def _df_carried(parts: Floats, times: Floats, stratum: Places) -> tuple[float, float]:
    """ΣW² of the units, and what their weights leave of the degrees of freedom: by Satterthwaite (Σa)²/Σ(a²/f) over the
    strata, a their ΣW² and f = a²/ΣW⁴ − 1, which is m − 1 for m units of equal weight.

    >>> round(_df_carried(np.full(10, 0.1), np.ones(10), np.zeros(10, int))[1], 6)
    9.0
    """
    squares = parts**2
    a, fourth = (np.bincount(stratum, times * each) for each in (squares, squares**2))
    a, fourth = a[a > 0], fourth[a > 0]
    free = np.maximum(a**2 / fourth - 1, 1e-9)
    return float(a.sum()), float(a.sum() ** 2 / (a**2 / free).sum())


def _df_shown(apart: Floats) -> float:
    """2m/(κ − 1), κ the kurtosis of the m clusters: what the estimated variance is worth if a few of them make it.

    People drawn one by one need no such allowance: each answer has two values, so their share tells their spread.

    >>> _df_shown(np.array([1.0, -1, 1, -1])), round(_df_shown(np.array([9.0] + [-1.0] * 9)), 2)
    (inf, 2.81)
    """
    second, fourth = float((apart**2).mean()), float((apart**4).mean())
    return 2 * apart.size / (fourth / second**2 - 1) if fourth > second**2 * (1 + 1e-9) > 0 else math.inf
