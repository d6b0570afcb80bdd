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

from rrcollect.design.parameters import fraction
from server_agg.results.drawing import Point
from server_agg.results.tables import Table

if TYPE_CHECKING:
    from rrcollect.design.mechanism import Mechanism
    from server_agg.results.interval import Interval, Misfit


class EstimateLike(Protocol):
    """An estimate of one design or of several: what notes beside a value need."""

    @property
    def n(self) -> int: ...

    @property
    def value(self) -> float: ...

    @property
    def misfit(self) -> Misfit: ...


def written(value: float, digits: int) -> str:
    """A number with so many decimals; the minus sign is a real one, and nothing is minus 0.

    >>> written(-14.92, 1), written(-0.01, 1)
    ('−14.9', '0.0')
    """
    text = f"{value:.{digits}f}"
    return (text.removeprefix("-") if float(text) == 0 else text).replace("-", "−")


def decimals(width: float, least: int = 0, most: int = 12) -> int:
    """The decimals with which a bar of this width shows two digits.

    >>> decimals(3.1), decimals(0.002), decimals(3e8), decimals(0)
    (1, 4, 0, 1)
    """
    return min(most, max(least, 1 - math.floor(math.log10(width)))) if width > 0 else 1


def percent(share: float, digits: int = 1) -> str:
    """A share as a percentage without its sign.

    >>> percent(0.2836), percent(-0.1492)
    ('28.4', '−14.9')
    """
    return written(100 * share, digits)


def percent_of(level: object) -> str:
    """A level in words.

    >>> percent_of("0.95")
    '95 %'
    """
    return f"{float(100 * fraction('level', level)):.10g} %"


def digits_for(width: float) -> int:
    """Decimals of a percentage so that a bar of this width shows two digits; at least 1, at most 8."""
    return decimals(100 * width, least=1, most=8)


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
    return f"ε = ∞ ({mechanism.proof_words})"


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
    return "; ".join([*cut, *fit_notes(estimate, bar)])


SHARE_HEAD = ["n", "estimate %", "low", "high", "bar", ""]


def share_cells(estimate: EstimateLike, bar: Interval) -> list[str]:
    """Under `SHARE_HEAD`: a share cut to [0, 1], its bar, how that was made, and what stands beside."""
    digits, shown = digits_for(bar.width), min(max(estimate.value, 0.0), 1.0)
    shares = [percent(share, digits) for share in (shown, bar.low, bar.high)]
    return [str(estimate.n), *shares, f"{float(100 * bar.level):.4g} % {bar.method}", value_notes(estimate, bar)]


def share_table(rows: Iterable[tuple[str, EstimateLike, Interval]], first: str = "") -> Table:
    """Shares by name, each with its bar."""
    return [first, *SHARE_HEAD], [[name, *share_cells(estimate, bar)] for name, estimate, bar in rows]


def share_point(name: str, estimate: EstimateLike, bar: Interval[float]) -> Point:
    """A share as it is drawn; how well its count fits stands under its name."""
    return Point(
        f"{name} (n = {estimate.n:,})".strip(), estimate.value, bar.low, bar.high, misfit_note(estimate.misfit)
    )


def misfit_note(misfit: Misfit | None) -> str:
    """How well a count fits, where it must be told, as it stands beside a value that is drawn."""
    return f"P(so far {misfit.side}) = {misfit.tail_probability:.2g}" if misfit is not None and misfit.told else ""


def fit_notes(estimate: EstimateLike, bar: Interval) -> list[str]:
    notes = [estimate.misfit.describe()] if estimate.misfit.told else []
    return [*notes, bar.warning[bar.warning.index("width 0") :]] if "width 0" in bar.warning else notes
