"""Numbers in text: how many decimals, the minus sign, percentages, bars and promises.

Rules
1. A number never stands without its bar, and a bar never without method, level and target.  ε is that of the published
   mechanism, never of one column of it.
2. Percentages have one decimal, or as many as the bar needs to show two digits.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rrcollect.design.parameters import fraction

if TYPE_CHECKING:
    from rrcollect.design.mechanism import Mechanism
    from server_agg.results.interval import Interval, Misfit


def written(value: float, digits: int) -> str:
    """A number with so many decimals; the minus sign is a real one, and nothing is minus 0.

    >>> written(-14.92, 1), written(-0.01, 1)
    ('−14.9', '0.0')
    """
    text = f"{value:.{digits}f}"
    return (text.removeprefix("-") if float(text) == 0 else text).replace("-", "−")


def mark(value: float) -> str:
    """A number at the mark of an axis.

    >>> mark(-0.25), mark(40.0)
    ('−0.25', '40')
    """
    return f"{value:.6g}".replace("-", "−")


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


def bar_words(bar: Interval, name: str = "interval") -> str:
    """E.g. "95 % exact interval 21.8–35.1 %"."""
    digits = decimals(100 * bar.width, least=1, most=8)
    return (
        f"{float(100 * bar.level):.10g} % {bar.method} {name} {percent(bar.low, digits)}–{percent(bar.high, digits)} %"
    )


def privacy_words(mechanism: Mechanism) -> str:
    """ε of the published mechanism, or what proves the truth if there is none."""
    loss = mechanism.loss
    if not loss.delta:
        return f"ε = {float(loss.epsilon):.4g}"
    return f"ε = ∞ ({mechanism.proof_words})"


def misfit_note(misfit: Misfit | None) -> str:
    """How well a count fits, where it must be told, as it stands beside a value that is drawn."""
    return f"P(so far {misfit.side}) = {misfit.tail_probability:.2g}" if misfit is not None and misfit.told else ""
