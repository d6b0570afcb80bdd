"""What was found, in the words of a board: "About 37 of 100 (between 27 and 47)".

Rules
1. A share is told of 100 people, or of 1,000 or 10,000 where its bar is narrower than two of them.  A mean is told in
   its unit.
2. The ends of a bar are rounded outward: what is told is never narrower than what was found.
3. That something is higher, rises or is the largest is never told without whether it is certain, and at which level.
   "Certain" means that the bar of the difference does not reach 0; with several comparisons, all of them at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from server_agg.estimates.scale import Scale

__all__ = ["about", "certainty", "difference_words", "largest_words", "level_words", "trend_words"]

BASES = (100, 1_000, 10_000)
SLACK = 1e-9  # a float that should be whole


def about(value: float, low: float, high: float, scale: Scale) -> str:
    """A value, cut to its scale, with its bar.

    >>> from server_agg.estimates.scale import SHARES
    >>> about(0.37, 0.2712, 0.4688, SHARES), about(-0.02, 0, 0.0039, SHARES)
    ('About 37 of 100 (between 27 and 47)', 'About 0 of 1,000 (between 0 and 4)')
    >>> about(21.731, 19.01, 24.42, Scale.of_number(0, 40, "hours"))
    'About 21.7 hours (between 19.0 and 24.5)'
    """
    shown = scale.clipped(value)
    if scale.is_share:
        base = next((base for base in BASES if base * (high - low) >= 2), BASES[-1])
        ends = f"{_down(base * low, 0)} and {_up(base * high, 0)}"
        return f"About {round(base * shown)} of {base:,} (between {ends})"
    digits = _digits(high - low)
    unit = f" {scale.unit}" if scale.unit else ""
    return f"About {_written(shown, digits)}{unit} (between {_down(low, digits)} and {_up(high, digits)})"


def level_words(level: object) -> str:
    """E.g. "95 %"."""
    return f"{100 * float(level):.6g} %"  # type: ignore[arg-type]


def certainty(level: object, *, certain: bool) -> str:
    """Whether it is certain, and at which level."""
    return f"{'certain' if certain else 'not certain'} at the level {level_words(level)}"


def difference_words(value: float, bar: tuple[float, float], scale: Scale, level: object) -> tuple[str, str]:
    """How A stands to B, by how much, between what, and whether that is certain.

    >>> from server_agg.estimates.scale import SHARES
    >>> difference_words(0.12, (-0.031, 0.27), SHARES, 0.95)
    ('is higher than', 'by about 12 points (between −4 and 27): not certain at the level 95 %')
    """
    low, high = bar
    if scale.is_share:
        low, high, value, unit, digits = 100 * low, 100 * high, 100 * value, " points", 0 if high - low >= 0.02 else 2
    else:
        unit, digits = f" {scale.unit}" if scale.unit else "", _digits(high - low)
    written = _written(value, digits)
    ends, sure = (
        f"(between {_down(low, digits)} and {_up(high, digits)})",
        certainty(level, certain=low > 0 or high < 0),
    )
    if not float(written.replace("−", "-")):
        return "is about as high as", f"with a difference of about {written}{unit} {ends}: that they differ is {sure}"
    return "is higher than", f"by about {written}{unit} {ends}: {sure}"


def largest_words(bars: Sequence[tuple[str, float, float, float]], level: object) -> tuple[str, str]:
    """The label of the largest of several options, and whether that is certain: its bar lies above those of all others,
    which hold at once.

    >>> largest_words([("bus", 0.4, 0.35, 0.45), ("car", 0.3, 0.25, 0.34)], 0.95)
    ('bus', 'certain at the level 95 %: its bar lies above all others')
    """
    label, _, low, _ = max(bars, key=lambda one: one[1])
    others = [high for name, _, _, high in bars if name != label]
    certain = all(low > high for high in others)
    why = "its bar lies above all others" if certain else "its bar overlaps with another"
    return label, f"{certainty(level, certain=certain)}: {why}"


def trend_words(slope: float, p: float, scale: Scale, level: object) -> str:
    """Whether it rises or falls over the rounds, and whether that is certain.

    >>> from server_agg.estimates.scale import SHARES
    >>> trend_words(-0.031, 0.2, SHARES, 0.95)
    'Falls by about 3.1 points per round: not certain at the level 95 %'
    """
    steep, unit = (100 * slope, " points") if scale.is_share else (slope, f" {scale.unit}" if scale.unit else "")
    verb = "Rises" if slope > 0 else "Falls"
    return f"{verb} by about {abs(steep):.2g}{unit} per round: {certainty(level, certain=p < 1 - float(level))}"  # type: ignore[arg-type]


def _digits(width: float) -> int:
    return min(8, max(0, 1 - math.floor(math.log10(width)))) if width > 0 else 1


def _written(value: float, digits: int) -> str:
    text = f"{value:.{digits}f}"
    return (text.removeprefix("-") if float(text) == 0 else text).replace("-", "−")


def _down(value: float, digits: int) -> str:
    power = 10**digits
    return _written(math.floor(value * power + SLACK) / power, digits)


def _up(value: float, digits: int) -> str:
    power = 10**digits
    return _written(math.ceil(value * power - SLACK) / power, digits)
