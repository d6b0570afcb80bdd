"""Planning choices and numbers: people for a margin, the margin that n people give.

A choice.  Option j seen alone is the yes/no design `column`, and the bars of all k options hold at once at level
1 − α/k each; so n for ± w is that of a yes/no by the column at that level, for the option that needs most.
A number.  The mean of a number in [low, high] is a share of its range; so n for ± w is that of a yes/no for
± w/(high − low).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction

from rrcollect.design.choice import SetDesign
from rrcollect.design.optimal import optimal_design
from rrcollect.design.optimal_choice import optimal_choice
from rrcollect.design.parameters import EpsilonLike, NumberLike, fraction, probability
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from rrcollect.publish.number_range import bounds
from server_agg.compare.options import option_level
from server_agg.estimates.one import DIRECT
from server_agg.plan.sample_size import margin_of_error, sample_size, worst_prevalence


def _shares(design: SetDesign, shares: Sequence[NumberLike] | None) -> list[Fraction]:
    """The shares at which a design must do; the worst one if none are given."""
    if shares is None:
        return [worst_prevalence(design.column)]
    found = [probability("shares", share) for share in shares]
    if len(found) != design.options or sum(found) != 1:
        raise ParameterError("shares", list(shares), f"{design.options} shares that add up to 1")
    return found


def option_sample_size(
    design: SetDesign,
    margin: NumberLike,
    *,
    level: NumberLike = 0.95,
    method: str = "exact",
    shares: Sequence[NumberLike] | None = None,
) -> int:
    """How many answers so that the bars of all options, holding at once at `level`, are ± `margin` or less.

    >>> option_sample_size(optimal_choice(1, 2), 0.05), option_sample_size(optimal_choice(1, 10), 0.05)
    (1839, 11328)
    """
    each = option_level(level, design.options)
    return max(
        sample_size(design.column, margin, level=each, method=method, prevalence=share)
        for share in set(_shares(design, shares))
    )


def option_margin(
    design: SetDesign,
    n: int,
    *,
    level: NumberLike = 0.95,
    method: str = "exact",
    shares: Sequence[NumberLike] | None = None,
) -> float:
    """The margin ± that n answers give every option at once.

    >>> round(option_margin(optimal_choice(1, 10), 11328), 3)
    0.05
    """
    each = option_level(level, design.options)
    return max(
        margin_of_error(design.column, n, level=each, method=method, prevalence=share)
        for share in set(_shares(design, shares))
    )


def mean_sample_size(
    design: Design,
    margin: NumberLike,
    low: NumberLike,
    high: NumberLike,
    *,
    level: NumberLike = 0.95,
    method: str = "exact",
    mean: NumberLike | None = None,
) -> int:
    """How many answers for a mean within ± `margin`, in the number's own unit; at the worst mean if none is given.

    >>> mean_sample_size(optimal_design(1), 2, 0, 40)
    1839
    """
    least, most = bounds(low, high)
    wanted, share = fraction("margin", margin) / (most - least), _share(mean, least, most)
    if not 0 < wanted < 1:
        raise ParameterError("margin", margin, f"above 0 and below {most - least}, the range of the number")
    return sample_size(design, wanted, level=level, method=method, prevalence=share)


def mean_margin(
    design: Design,
    n: int,
    low: NumberLike,
    high: NumberLike,
    *,
    level: NumberLike = 0.95,
    method: str = "exact",
    mean: NumberLike | None = None,
) -> float:
    """The margin ± of a mean from n answers, in the number's own unit.

    >>> round(mean_margin(optimal_design(1), 1839, 0, 40), 2)
    2.0
    """
    least, most = bounds(low, high)
    found = margin_of_error(design, n, level=level, method=method, prevalence=_share(mean, least, most))
    return float(most - least) * found


def _share(mean: NumberLike | None, low: Fraction, high: Fraction) -> Fraction | None:
    if mean is None:
        return None
    share = (fraction("mean", mean) - low) / (high - low)
    if not 0 <= share <= 1:
        raise ParameterError("mean", mean, f"{low} to {high}")
    return share


@dataclass(frozen=True)
class ChoicePlan:
    """What a choice of k options costs at one ε: people for the margin, and beside it a yes/no and no privacy."""

    epsilon: str
    options: int
    size: int
    n: int
    yes_no_n: int
    direct_n: int

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return asdict(self)


def choice_plan(
    epsilon: EpsilonLike, options: int, margin: NumberLike, *, level: NumberLike = 0.95, method: str = "exact"
) -> ChoicePlan:
    """The people that a choice needs, at the worst shares.

    >>> found = choice_plan(1, 10, "0.05")
    >>> found.size, found.n, found.yes_no_n
    (3, 11328, 1839)
    """
    design = optimal_choice(epsilon, options)
    each = option_level(level, options)
    return ChoicePlan(
        str(epsilon),
        options,
        design.size,
        option_sample_size(design, margin, level=level, method=method),
        sample_size(optimal_design(epsilon), margin, level=level, method=method),
        sample_size(DIRECT, margin, level=each, method=method),
    )
