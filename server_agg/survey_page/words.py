"""What was found, in the words of a board: "About 37 of 100 (between 27 and 47)".

Rules
1. A share is told of 100 people, or of 1,000 or 10,000 where its bar is narrower than two of them.  A mean is told in
   its unit.
2. The ends of a bar are rounded outward: what is told is never narrower than what was found.
3. That something is higher, rises or is the largest is never told without whether it is certain, and at which level.
   "Certain" means that the bar of the difference does not reach 0; with several comparisons, all of them at once.
4. Counts that do not fit are told in a sentence that says what to do; their probability is told with the method.  Of
   several counts one is called so at 95 % for all of them at once (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from server_agg.results.interval import decimals, mark, written
from server_agg.results.row import Scale

if TYPE_CHECKING:
    from server_agg.results.interval import Misfit

UNFIT = "These counts do not fit the survey's design: do not use this number."
AT_THE_EDGE = "These counts lie beyond the end of the scale, as chance alone can bring about (see Method)."
BASES = (100, 1_000, 10_000)
SLACK = 1e-9  # a float that should be whole


def about(value: float, low: float, high: float, scale: Scale) -> str:
    """A value, cut to its scale, with its bar.

    >>> from server_agg.results.row import SHARES
    >>> about(0.37, 0.2712, 0.4688, SHARES), about(-0.02, 0, 0.0039, SHARES)
    ('About 37 of 100 (between 27 and 47)', 'About 0 of 1,000 (between 0 and 4)')
    >>> about(21.731, 19.01, 24.42, Scale(0, 40, "hours"))
    'About 21.7 hours (between 19.0 and 24.5)'
    """
    shown = scale.clipped(value)
    if scale.is_share:
        base = next((base for base in BASES if base * (high - low) >= 2), BASES[-1])
        ends = f"{_down(base * low, 0)} and {_up(base * high, 0)}"
        return f"About {round(base * shown)} of {base:,} (between {ends})"
    digits = decimals(high - low)
    unit = f" {scale.unit}" if scale.unit else ""
    return f"About {written(shown, digits)}{unit} (between {_down(low, digits)} and {_up(high, digits)})"


def value_text(value: float, low: float, high: float, scale: Scale) -> str:
    """The same as it stands beside a drawing, shares of 100.

    >>> from server_agg.results.row import SHARES
    >>> value_text(0.372, 0.2712, 0.4688, SHARES), value_text(21.731, 19.01, 24.42, Scale(0, 40, "hours"))
    ('37 (27–47)', '21.7 (19.0–24.5)')
    """
    factor, digits = _beside(high - low, scale)
    ends = f"({_down(factor * low, digits)}–{_up(factor * high, digits)})"
    return f"{number_text(scale.clipped(value), high - low, scale)} {ends}"


def number_text(value: float, width: float, scale: Scale) -> str:
    """A value as it is written beside a bar of this width, shares of 100; it is not cut to its scale.

    >>> from server_agg.results.row import SHARES
    >>> number_text(-0.014, 0.2, SHARES), number_text(-0.014, 0.01, SHARES)
    ('−1', '−1.4')
    """
    factor, digits = _beside(width, scale)
    return written(factor * value, digits)


def _beside(width: float, scale: Scale) -> tuple[int, int]:
    """What a value is multiplied by, and how many decimals it has, beside a bar of this width."""
    if not scale.is_share:
        return 1, decimals(width)
    return 100, 0 if 100 * width >= 2 else 1 if 1000 * width >= 2 else 2


def shown_value(value: float, low: float, high: float, scale: Scale) -> dict[str, Any]:
    """A value with its bar as pages show it: cut to its scale, in the words of a board, as it is written beside its
    drawing, and the unbiased value if that lies beyond the scale."""
    cut = scale.clipped(value)
    said = {"about": about(value, low, high, scale), "text": value_text(value, low, high, scale)}
    unclipped = None if cut == value else number_text(value, high - low, scale)
    return {"value": value, "shown": cut, "low": low, "high": high, **said, "unclipped": unclipped}


def axis_of(scale: Scale) -> dict[str, Any]:
    """The axis that values of a scale are drawn on: its marks with their texts, what they are of, and its two ends.

    >>> axis_of(Scale(0, 40, "hours"))["marks"]
    [[0.0, '0'], [10.0, '10'], [20.0, '20'], [30.0, '30'], [40.0, '40']]
    """
    (low, high), parts, factor = scale.ends, 5 if scale.is_share else 4, 100 if scale.is_share else 1
    places = [low + part * (high - low) / parts for part in range(parts + 1)]
    marks = [[place, mark(factor * place)] for place in places]
    unit = "of 100" if scale.is_share else scale.unit
    return {"unit": unit, "marks": marks, "ends": f"{marks[0][1]}–{marks[-1][1]}", "share": scale.is_share}


def level_words(level: object) -> str:
    """E.g. "95 %"."""
    return f"{100 * float(level):.6g} %"  # type: ignore[arg-type]


def certainty(level: object, *, certain: bool) -> str:
    """Whether it is certain, and at which level."""
    return f"{'certain' if certain else 'not certain'} at the level {level_words(level)}"


def difference_words(value: float, bar: tuple[float, float], scale: Scale, level: object) -> tuple[str, str]:
    """How A stands to B, by how much, between what, and whether that is certain.

    >>> from server_agg.results.row import SHARES
    >>> difference_words(0.12, (-0.031, 0.27), SHARES, 0.95)
    ('is higher than', 'by about 12 points (between −4 and 27): not certain at the level 95 %')
    """
    low, high = bar
    if scale.is_share:
        low, high, value, digits = 100 * low, 100 * high, 100 * value, 0 if high - low >= 0.02 else 2
    else:
        digits = decimals(high - low)
    said = written(value, digits)
    unit = _unit(scale, said)
    ends, sure = (
        f"(between {_down(low, digits)} and {_up(high, digits)})",
        certainty(level, certain=low > 0 or high < 0),
    )
    if not float(said.replace("−", "-")):
        return "is about as high as", f"with a difference of about {said}{unit} {ends}: that they differ is {sure}"
    return "is higher than", f"by about {said}{unit} {ends}: {sure}"


def others_words(certain: int, told: int, family: int) -> str:
    """What is said of the differences that are not listed, of `told` ones of which `certain` are; `family` is how many
    there are.

    >>> others_words(1, 6, 6), others_words(0, 6, 6), others_words(0, 1, 1), others_words(2, 2, 2)
    ('None of the other 5 differences is certain.', 'None of the 6 differences is certain.', \
'The difference is not certain.', '')
    """
    rest, looked = told - certain, " that were looked at" if told < family else ""
    if not rest:
        return ""
    other = "other " if certain else ""
    return (
        f"The {other}difference{looked} is not certain."
        if rest == 1
        else f"None of the {other}{rest:,} differences{looked} is certain."
    )


def fit_words(misfits: Sequence[Misfit], among: int = 1) -> str | None:
    """What a board is told of counts that fit badly, of so many that are looked at; None where nothing must be told.

    >>> from server_agg.results.interval import Misfit
    >>> fit_words([Misfit(0.001, "below")]), fit_words([Misfit(0.9, "below")])
    ("These counts do not fit the survey's design: do not use this number.", None)
    >>> fit_words([Misfit(0.02, "below")], among=5)
    'These counts lie beyond the end of the scale, as chance alone can bring about (see Method).'
    """
    level = 1 - (1 - Fraction(19, 20)) / max(among, len(misfits), 1)
    if any(misfit.at(level) for misfit in misfits):
        return UNFIT
    return AT_THE_EDGE if any(misfit.told for misfit in misfits) else None


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

    >>> from server_agg.results.row import SHARES
    >>> trend_words(-0.031, 0.2, SHARES, 0.95)
    'Falls by about 3.1 points per round: not certain at the level 95 %'
    >>> trend_words(0.01, 0.2, SHARES, 0.95)
    'Rises by about 1 point per round: not certain at the level 95 %'
    """
    steep = f"{abs(100 * slope if scale.is_share else slope):.2g}"
    verb, certain = "Rises" if slope > 0 else "Falls", p < 1 - float(level)  # type: ignore[arg-type]
    return f"{verb} by about {steep}{_unit(scale, steep)} per round: {certainty(level, certain=certain)}"


def _unit(scale: Scale, said: str) -> str:
    """The unit of a difference; a survey's own unit stays as it was written."""
    if scale.is_share:
        return " point" if said.lstrip("−") == "1" else " points"
    return f" {scale.unit}" if scale.unit else ""


def _down(value: float, digits: int) -> str:
    power = 10**digits
    return written(math.floor(value * power + SLACK) / power, digits)


def _up(value: float, digits: int) -> str:
    power = 10**digits
    return written(math.ceil(value * power - SLACK) / power, digits)
