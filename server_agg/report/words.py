"""Estimates for people: one sentence, tables; and for machines: plain values ready for JSON.

Rules
1. A number never stands without its bar, and a bar never without method, level and target.  ε is that of the published
   mechanism, never of one column of it.
2. Percentages have one decimal, or as many as the bar needs to show two digits.
3. An estimate outside [0, 1] is shown clipped, with the unclipped value beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from rrcollect.design.parameters import NumberLike, fraction
from rrcollect.design.yes_no import Design
from server_agg.estimates.interval import target_words
from server_agg.estimates.methods import methods_for
from server_agg.report.drawing import Point
from server_agg.report.tables import Table, text_table

if TYPE_CHECKING:
    from rrcollect.design.mechanism import Mechanism
    from server_agg.estimates.diagnostics import DirectAnswers, Misfit
    from server_agg.estimates.interval import Interval
    from server_agg.estimates.one import Estimate


class EstimateLike(Protocol):
    """An estimate of one design or of several: what notes beside a value need."""

    @property
    def n(self) -> int: ...

    @property
    def value(self) -> float: ...

    @property
    def misfit(self) -> Misfit: ...


def percent(share: float, digits: int = 1) -> str:
    """A share as a percentage without its sign; the minus sign is a real one.

    >>> percent(0.2836), percent(-0.1492)
    ('28.4', '−14.9')
    """
    text = f"{100 * share:.{digits}f}"
    text = text.removeprefix("-") if float(text) == 0 else text
    return text.replace("-", "−")


def digits_for(width: float) -> int:
    """Decimals of a percentage so that a bar of this width shows two digits; at least 1, at most 8."""
    return min(8, max(1, 1 - math.floor(math.log10(100 * width)))) if width > 0 else 1


def bar_words(bar: Interval, name: str = "interval") -> str:
    """E.g. "95 % exact interval 21.8–35.1 %"."""
    digits = digits_for(bar.width)
    return (
        f"{float(100 * bar.level):.10g} % {bar.method} {name} {percent(bar.low, digits)}–{percent(bar.high, digits)} %"
    )


def privacy_words(mechanism: Mechanism) -> str:
    """ε of the published mechanism, or what proves the truth if there is none."""
    loss = mechanism.loss
    if not loss.delta:
        return f"ε = {float(loss.epsilon):.4g}"
    if not isinstance(mechanism, Design):
        return "ε = ∞ (an answer can be a proof)"
    proofs = " and a ".join(f'"{word}"' for word in mechanism.proofs)
    return f"ε = ∞ (a {proofs} is a proof)"


def sentence(estimate: Estimate, level: NumberLike, method: str) -> str:
    """The estimate in one sentence."""
    bar = estimate.interval(level, method)
    digits = digits_for(bar.width)
    value = f"{percent(estimate.clipped, digits)} %"
    if estimate.clipped != estimate.value:
        value += f" [unclipped {percent(estimate.value, digits)} %]"
    words = f"{value} ({bar_words(bar)}), n = {estimate.tally.n}, {privacy_words(estimate.tally.mechanism)}"
    return "; ".join([f"{words}; target: the {bar.target}", *_fit_notes(estimate, bar)])


class ScaleLike(Protocol):
    """A scale: where values lie, and how one is written beside its bar."""

    @property
    def ends(self) -> tuple[float, float]: ...

    def text(self, value: float, width: float) -> str: ...


def value_notes(estimate: EstimateLike, bar: Interval, scale: ScaleLike | None = None) -> str:
    """What stands beside a value that is shown cut to its scale, by default [0, 1]: the unclipped one, how well the
    counts fit, and why a bar has no width."""
    low, high = (0.0, 1.0) if scale is None else scale.ends
    text = percent(estimate.value, digits_for(bar.width)) if scale is None else scale.text(estimate.value, bar.width)
    cut = [] if low <= estimate.value <= high else [f"unclipped {text}"]
    return "; ".join([*cut, *_fit_notes(estimate, bar)])


SHARE_HEAD = ["n", "estimate %", "low", "high", "bar", ""]


def share_cells(estimate: EstimateLike, bar: Interval) -> list[str]:
    """Under `SHARE_HEAD`: a share cut to [0, 1], its bar, how that was made, and what stands beside."""
    digits, shown = digits_for(bar.width), min(max(estimate.value, 0.0), 1.0)
    shares = [percent(share, digits) for share in (shown, bar.low, bar.high)]
    return [str(estimate.n), *shares, f"{float(100 * bar.level):.4g} % {bar.method}", value_notes(estimate, bar)]


def share_table(rows: Iterable[tuple[str, EstimateLike, Interval]], first: str = "") -> Table:
    """Shares by name, each with its bar."""
    return [first, *SHARE_HEAD], [[name, *share_cells(estimate, bar)] for name, estimate, bar in rows]


def figure_table(
    name: str, n: int | None, value: float | None, bar: Interval, *, percentage: bool = True, unit: str = ""
) -> Table:
    """One figure with its bar: a share or a difference of shares in percent, or a number with its unit."""

    def text(given: float) -> str:
        return percent(given, digits_for(bar.width)) if percentage else plain_number(given, bar.width)

    count = [] if n is None else [str(n)]
    shown = ["none" if value is None else text(value), text(bar.low), text(bar.high)]
    how = f"{float(100 * bar.level):.4g} % {bar.method}"
    why = bar.warning[bar.warning.index("width 0") :] if "width 0" in bar.warning else ""
    head = f"estimate{' %' if percentage else f', {unit}' if unit else ''}"
    return ["", *(["n"] if count else []), head, "low", "high", "bar", ""], [[name, *count, *shown, how, why]]


def plain_number(value: float, width: float) -> str:
    """A number with as many decimals as its bar needs to show two digits; the minus sign is a real one.

    >>> plain_number(-12.3456, 3.1), plain_number(0.0001234, 0.002), plain_number(5e9, 3e8)
    ('−12.3', '0.0001', '5000000000')
    """
    digits = min(12, max(0, 1 - math.floor(math.log10(width)))) if width > 0 else 1
    return f"{value:.{digits}f}".replace("-", "−")


def share_point(name: str, estimate: EstimateLike, bar: Interval[float]) -> Point:
    """A share as it is drawn; how well its count fits stands under its name."""
    return Point(
        f"{name} (n = {estimate.n:,})".strip(), estimate.value, bar.low, bar.high, misfit_note(estimate.misfit)
    )


def misfit_note(misfit: Misfit) -> str:
    """How well a count fits, where it must be told, as it stands beside a value that is drawn."""
    return f"P(so far {misfit.side}) = {misfit.tail_probability:.2g}" if misfit.told else ""


def bar_note(bar: Interval) -> str:
    """What a bar covers and what it warns of; why it has no width stands beside the value."""
    warned = bar.warning.partition("width 0")[0].rstrip("; ")
    return f"{bar.describe()}; {warned}" if warned else bar.describe()


def _fit_notes(estimate: EstimateLike, bar: Interval) -> list[str]:
    notes = [estimate.misfit.describe()] if estimate.misfit.told else []
    return [*notes, bar.warning[bar.warning.index("width 0") :]] if "width 0" in bar.warning else notes


def estimate_dict(estimate: Estimate, level: NumberLike, method: str) -> dict[str, object]:
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


def estimate_table(estimate: Estimate, level: NumberLike) -> str:
    """Everything about an estimate as text."""
    share = f"{float(100 * fraction('level', level)):.10g}"
    head = ["method", f"low {share} %", "high", ""]
    return text_table(None, _summary(estimate, level)) + "\n\n" + text_table(head, _rows(estimate, level), {1, 2})


def estimate_tables(estimate: Estimate) -> list[Table]:
    """The same as tables, at 95 %."""
    return [(None, _summary(estimate, 0.95)), (["method", "low (95 %)", "high", ""], _rows(estimate, 0.95))]
