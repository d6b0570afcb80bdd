"""`survey_estimate`: shares, means, totals and differences from a complex sample of randomised answers.

With r the unbiased values of the answers (for choices one per option), d the group of a record and w its weight,
    share    Σ_d w r / Σ_d w          scores w(r − share)/Σ_d w, 0 outside the group       (Hájek, linearised)
    total    Σ_d w r                  scores w r
and `sample` turns scores into variances.  r carries the noise of the randomisation and the person drawn, so both count.

Rules
1. A group (`by`) is a domain: all units stay in the sample, with scores of 0.  Cutting the data to the group first
   would make up its size.
2. A mean of numbers (`low`, `high`) has no finite-population correction: how much of an answer's spread is the rounding
   of the number to a bit is not known.
3. Replicates estimate (1 − f)·V as linearisation does; the noise of a population taken in part is added to both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rrcollect.design.parameters import NumberLike, checked_bounds
from rrcollect.errors import ParameterError
from server_agg.estimates.effective import EffectiveSample
from server_agg.sampling.answer_values import AnswerValues
from server_agg.sampling.figures import MeanFigure, SurveyFigure
from server_agg.sampling.replicates import Replicates, replicates_of
from server_agg.sampling.sample import Sample, coded
from server_agg.sampling.survey_figures import SurveyEstimate, SurveyMeans
from server_agg.sampling.totals import Total

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from server_agg.sampling.sample import Floats, Places

ALL = "all"
SHARE = (Fraction(0), Fraction(1))


def survey_estimate(
    answers: Any,
    design: Any,
    *,
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
    population: Any = None,
    by: Any = None,
    replicates: Replicates | str | None = None,
    low: NumberLike | None = None,
    high: NumberLike | None = None,
    unit: str = "",
    labels: Sequence[str] = (),
) -> SurveyEstimate:
    """Shares (or the mean of a number from `low` to `high`) in the population that a complex sample was drawn from.

    `design` is a Design, one Design per record, or a SetDesign (choices: answers are texts of 0 and 1, or a matrix).
    `weights` are numbers, or what `rake`, `post_stratify` and `response_weights` made.  `population` counts clusters
    where there are clusters: a number, or one for each stratum.  `by` makes a figure per group.  `replicates` is
    "jackknife", "bootstrap", or replicate weights.

    >>> from rrcollect import Design
    >>> found = survey_estimate([1, 0, 1, 1, 0, 0, 1, 0], Design("3/4", "3/4"), clusters=[1, 1, 2, 2, 3, 3, 4, 4])
    >>> round(found.value, 6), round(found.standard_error, 6), found.freedom
    (0.5, 0.408248, 3)
    """
    given = AnswerValues.of(answers, design, labels, getattr(weights, "responded", None))
    n = given.n
    sample = Sample.of(n, weights=weights, strata=strata, clusters=clusters, population=population)
    scale = SHARE if low is None and high is None else checked_bounds((low, high))
    if scale != SHARE:
        if len(given.names) > 1:
            raise ParameterError("low", low, "nothing for choices: each option is a share")
        sample = replace(sample, fraction=np.zeros_like(sample.fraction))  # rule 2
    groups, called = (np.zeros(n, np.intp), (ALL,)) if by is None else coded("by", by, n)
    made = replicates_of(replicates, sample)
    return _estimated(
        sample, given, RecordGroups(groups, [str(name) for name in called]), scale=scale, unit=unit, replicates=made
    )


class RecordGroups(NamedTuple):
    """Every record's group, and their names."""

    of: Places
    called: list[str]


def _estimated(
    sample: Sample,
    given: AnswerValues,
    by: RecordGroups,
    *,
    scale: tuple[Fraction, Fraction],
    unit: str,
    replicates: Replicates | None,
) -> SurveyEstimate:
    values, names, (groups, called) = given.values, given.names, by
    inside = (groups[:, None] == np.arange(len(called))).astype(np.float64)  # records × groups
    tops = (inside[:, :, None] * values[:, None, :]).reshape(sample.n, -1)  # records × (groups, options)
    bottoms = np.repeat(inside, len(names), axis=1)
    w = sample.weights[:, None]
    sums = sample.weights @ bottoms
    if not (sums > 0).all():
        raise ParameterError("by", called[int(np.argmin(sums)) // len(names)], "groups with a weight above 0")
    shares = (sample.weights @ tops) / sums
    low, span = float(scale[0]), float(scale[1] - scale[0])
    numbers = low * bottoms + span * tops
    apart = sample.deviations(w * (tops - shares * bottoms) / sums)
    if replicates is None:
        covariance = apart.T @ apart
        totals = sample.covariance(w * numbers)
    else:
        covariance = replicates.ratio_covariance(sample, tops, bottoms, shares)
        totals = replicates.total_covariance(sample, numbers)
    covariance = covariance + sample.noise(w * tops / sums, sums)
    totals = totals + span**2 * sample.noise(w * tops, np.ones_like(sums))
    figures = []
    for place in range(tops.shape[1]):
        group, option = divmod(place, len(names))
        here = (groups == group) & (sample.weights > 0)
        free = min(sample.freedom_of(here), sample.freedom)
        if replicates is not None and replicates.freedom is not None:
            free = min(replicates.freedom, free) if not replicates.own else replicates.freedom
        spread = values[here, option] - shares[place]
        weights = sample.weights[here] / sums[place]
        n = int(here.sum())
        simple = float(weights @ spread**2) / max(n - 1, 1)
        effective = _effective(sample, here, weights, given, min(free, _freedom_shown(apart[:, place])))
        total = None
        if sample.weighted:
            error = math.sqrt(max(float(totals[place, place]), 0.0))
            sum_of = float(sample.weights @ numbers[:, place])
            total = Total(sum_of, error, sample.freedom, float(sums[place]), effective, *scale)
        figure = (SurveyFigure if scale == SHARE else MeanFigure)(
            _name(called[group], names[option], len(called)), n, float(shares[place]),
            math.sqrt(max(float(covariance[place, place]), 0.0)), free,
            effective, simple, *scale, unit, total,
        )  # fmt: skip
        figures.append(figure)
    kind = "linearisation" if replicates is None else f"{replicates.kind}, {replicates.count} replicates"
    made = SurveyEstimate if scale == SHARE else SurveyMeans
    return made(tuple(figures), covariance, sample, kind, given.privacy)


def _name(group: str, option: str, groups: int) -> str:
    if not option:
        return group
    return option if groups == 1 and group == ALL else f"{group}: {option}"


def _freedom_shown(apart: Floats) -> float:
    """2m/(κ − 1), κ the kurtosis of the m units: what the estimated variance is worth if a few units make it.

    >>> _freedom_shown(np.array([1.0, -1, 1, -1])), round(_freedom_shown(np.array([9.0] + [-1.0] * 9)), 2)
    (inf, 2.81)
    """
    second, fourth = float((apart**2).mean()), float((apart**4).mean())
    return 2 * apart.size / (fourth / second**2 - 1) if fourth > second**2 * (1 + 1e-9) > 0 else math.inf


def _effective(
    sample: Sample, here: NDArray[np.bool_], weights: Floats, given: AnswerValues, freedom: float
) -> EffectiveSample:
    """What weights and clusters leave of the answers of a group."""
    widths = given.widths[here]
    parts = weights * (widths / float(widths.max()))
    units = np.bincount(sample.unit[here], weights, sample.units)
    squares = units[units > 0] ** 2
    whole = float(squares.sum())
    heavy = whole**2 / float(squares @ squares) - 1
    kish = 1 / float(parts @ parts)
    n = max(int(here.sum()), 2)
    return EffectiveSample(n, *given.ends, kish, min(freedom, max(heavy, 1.0)), min(1 / whole, kish))
