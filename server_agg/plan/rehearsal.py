"""The same survey over and over with a known truth: is the estimate unbiased, and do the bars hold?

This rehearses the mechanism itself.  For the power of a test, `models.power` repeats whole experiments on
the seeded, artificial answers of `models.simulation`, which are never part of the privacy path.

In each survey n people are drawn from a population with the given prevalence (NumPy), and each answers by the real
mechanism (`rrcollect.randomise_many`: exact, with the operating system's generator).  The estimate and all its bars
follow from the count of ones alone, so each distinct count is worked out once.

Of a choice the first option is rehearsed, which has the prevalence; the other people have the other options in turn.
Everybody answers with a set, and the option is estimated from its column of them.

A coverage is itself estimated, from the surveys simulated: it is given with an exact 95 % interval of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rrcollect import randomise_many
from rrcollect.design.mechanism import Mechanism
from rrcollect.design.parameters import NumberLike, probability, whole_number
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.count.tally import Tally
from server_agg.estimates.estimate import Estimate, estimate
from server_agg.estimates.interval import checked_target
from server_agg.estimates.methods import METHODS, checked_method, methods_for
from server_agg.estimates.share import DIRECT, Share
from server_agg.results.drawing import COLOURS, Picture, axes_for, plain_axes
from server_agg.results.findings import Findings
from server_agg.results.interval import Interval, exact_level
from server_agg.results.row import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

AT_ONCE = 1 << 22  # bits drawn at once
MOST_ANSWERS = 10**11
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


@dataclass(frozen=True, eq=False)
class Rehearsal(Findings):
    """The coverage of each method's bars, and how the estimate varied; `plot()` draws its distribution.

    `values` are the estimates, `mean` and `spread` theirs, `predicted_spread` what the theory gives; `bias_in_errors`
    says how many standard errors the mean lies from the truth: beyond ±4 something is wrong.
    """

    first = "bar"

    def details(self, level: NumberLike = 0.95) -> list[list[str]]:
        """How the estimate varied."""
        verdict = "none to be seen" if abs(self.bias_in_errors) < 4 else "BIASED: this does not happen by chance"
        mean, error = 100 * self.mean, 100 * self.mean_standard_error
        return [
            ["surveys", f"{self.surveys:,} of {self.people:,} people each, {self.design}"],
            ["truth", f"{100 * self.prevalence:.3f} %"],
            ["mean estimate", f"{mean:.3f} % ± {error:.3f} (one Monte-Carlo standard error)"],
            ["bias", f"{self.bias_in_errors:+.2f} standard errors: {verdict}"],
            ["spread", f"{100 * self.spread:.3f} points; theory {100 * self.predicted_spread:.3f}"],
        ]

    def plot(self, ax: Axes | None = None, *, limits: tuple[float, float] | None = None) -> Picture:
        """The estimates beside the truth and the theory's normal curve."""
        axes = axes_for(ax)
        axes.hist(100 * self.values, bins=40, density=True, color=COLOURS[0], alpha=0.35, label="estimates")
        at = np.linspace(*(axes.get_xlim() if limits is None else limits), 400)
        sigma = 100 * self.predicted_spread
        bell = np.exp(-0.5 * ((at - 100 * self.prevalence) / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi))
        axes.plot(at, bell, color=COLOURS[0], label="normal curve with the theory's variance")
        axes.axvline(100 * self.prevalence, color=COLOURS[1], label="truth")
        axes.axvline(100 * self.mean, color="black", linestyle="--", label="mean estimate")
        axes.set_xlabel("estimate, %")
        axes.set_yticks([])
        plain_axes(axes, f"{self.surveys} surveys of {self.people} people; {self.design}")
        axes.legend(fontsize="small", frameon=False)
        return Picture(axes)


def rehearse(
    design: Mechanism,
    prevalence: NumberLike,
    n: int,
    surveys: int,
    *,
    level: NumberLike = 0.95,
    target: str = "population",
    methods: Sequence[str] | None = None,
    estimated_with: Design | None = None,
    tell: Callable[[float], None] = lambda share: None,
) -> Rehearsal:
    """Simulate `surveys` surveys of n people; `estimated_with` another matrix shows what a wrong one does.

    >>> from rrcollect import Design
    >>> found = rehearse(Design("3/4", "3/4"), "0.3", n=200, surveys=50, methods=["exact"])
    >>> [row.name for row in found.rows]
    ['exact']
    """
    people, many = whole_number("n", n, minimum=2), whole_number("surveys", surveys, minimum=2)
    share = float(probability("prevalence", prevalence))
    if people * many > MOST_ANSWERS:
        raise ParameterError("n times surveys", people * many, f"at most {MOST_ANSWERS:.0e} answers")
    checked_target(target)
    wanted = [checked_method("one design", each, target).name for each in methods or methods_for("one design", target)]
    holders, ones = _answered(design, share, people, many, lambda part: tell(0.5 * part))
    truths = np.full(many, share) if target == "population" else holders / people
    used = estimated_with or design.column
    found = {int(k): estimate(Tally(used, people, int(k)), target=target) for k in np.unique(ones)}
    values = np.array([found[int(k)].value for k in ones])
    rows = []
    for place, method in enumerate(wanted):
        rows.append(_coverage(method, found, ones, truths, level))
        tell(0.5 + 0.5 * (place + 1) / len(wanted))
    mean, predicted = float(values.mean()), math.sqrt(design.column.variance(share, people))
    error, asked = predicted / math.sqrt(many), float(exact_level(level))
    facts = {
        "design": design, "prevalence": share, "people": people, "surveys": many, "rehearsed_level": asked,
        "values": values, "mean": mean, "mean_standard_error": error, "bias_in_errors": (mean - share) / error,
        "spread": float(values.std(ddof=1)), "predicted_spread": predicted,
        "quantiles": {str(p): float(np.quantile(values, p)) for p in QUANTILES},
    }  # fmt: skip
    heads = {
        "mean width": [f"{100 * float(str(row.extras['mean_width'])):.2f}" for row in rows],
        f"against {100 * asked:.10g} %": [_promise(row, asked) for row in rows],
    }
    covered = "population's share" if target == "population" else "share among those asked"
    told = [f"estimate: how many of the bars held the {covered}; widths in points"]
    return Rehearsal(tuple(rows), f"coverage of the {covered}", facts, told, "", heads)


def _promise(row: Row, level: float) -> str:
    words = ("guaranteed", ": TOO FEW") if row.extras["guaranteed"] else ("approximate", ": falls short here")
    return words[0] + words[1] * bool(row.interval().high < level)


def _answered(
    design: Mechanism, share: float, n: int, surveys: int, tell: Callable[[float], None]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For every survey how many of the people drawn have the attribute, and how many answers are ones."""
    holders = np.random.default_rng().binomial(n, share, surveys)
    ones = np.empty(surveys, np.int64)
    rows = max(1, AT_ONCE // (n * design.width))
    for start in range(0, surveys, rows):
        part = holders[start : start + rows]
        truths = np.arange(n) < part[:, None]
        ones[start : start + rows] = np.count_nonzero(_said(design, truths), axis=1)
        tell(min(1.0, (start + rows) / surveys))
    return holders, ones


def _said(design: Mechanism, truths: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether each answer says yes, or holds the first option."""
    others = 1 + np.arange(truths.shape[1]) % max(1, design.cells - 1)
    told = np.where(truths, 0, others).ravel() if design.cells > 1 else truths.ravel()
    said = np.asarray(randomise_many(told, design), np.bool_).reshape(truths.size, -1)
    return said[:, 0].reshape(truths.shape)


def _coverage(
    method: str, found: dict[int, Estimate], ones: NDArray[np.int64], truths: NDArray[np.float64], level: NumberLike
) -> Row:
    """How often the bars of one method held, and how wide they were on average."""
    bars = {k: one.interval(level, method) for k, one in found.items()}
    low = np.array([bars[int(k)].low for k in ones])
    high = np.array([bars[int(k)].high for k in ones])
    held = Share(Tally(DIRECT, ones.size, int(np.count_nonzero((low <= truths) & (truths <= high)))))

    def bar(level: NumberLike, method: str | None) -> Interval:
        made = held.interval(level, method or "exact")
        return made.with_ends((made.low, made.high), target="coverage")

    extras = {"guaranteed": METHODS[method].guaranteed, "mean_width": float((high - low).mean())}
    return Row(method, int(ones.size), held.value, held.standard_error, bar, extras=extras)
