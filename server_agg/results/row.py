"""`Row`: one estimate of a result, with its bar; `Scale`: where its value lies and how it is written.

Rules
1. A value is shown cut to its scale, with as many digits as its bar shows two of; a difference is that of its parts
   as they are shown.
2. What must stand beside a value says the row itself: that it was cut, how well its count fits, what its bar warns of.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from rrcollect.design.mechanism import Mechanism
from rrcollect.design.parameters import NumberLike, fraction
from rrcollect.errors import ParameterError
from server_agg.results.drawing import SHARE
from server_agg.results.interval import Interval, Misfit, decimals, written

WITHOUT_PREFIX = ("interval", "tally")
MOST_ROWS = 200  # with more options only those that were found are rows


@dataclass(frozen=True)
class Scale:
    """Where values lie, how one is written beside its bar, and what an axis of them shows.

    >>> hours = Scale.of_number(0, 40, "hours")
    >>> hours.text(21.731, 5.4), hours.words(21.731, 5.4), SHARES.words(0.2836, 0.13)
    ('21.7', '21.7 hours', '28.4 %')
    """

    low: float | Fraction = -math.inf
    high: float | Fraction = math.inf
    unit: str = ""  # "%": written times 100
    axis: str = ""

    @classmethod
    def of_number(cls, low: NumberLike, high: NumberLike, unit: str = "") -> Scale:
        """The scale of a number's mean."""
        return cls(fraction("low", low), fraction("high", high), unit, unit or "mean")

    @property
    def is_share(self) -> bool:
        """Whether it is a share, or a difference of shares: written in percent."""
        return self.unit == "%"

    @property
    def bounds(self) -> tuple[float | Fraction, float | Fraction] | None:
        """The range of a number, exactly; None of a share."""
        return None if self.is_share else (self.low, self.high)

    @property
    def span(self) -> float:
        """From one end to the other."""
        return float(self.high - self.low)

    @property
    def ends(self) -> tuple[float, float]:
        """Where a value must lie."""
        return float(self.low), float(self.high)

    def clipped(self, value: float) -> float:
        """The value cut to the scale."""
        low, high = self.ends
        return min(max(value, low), high)

    def text(self, value: float | None, width: float | None) -> str:
        """The value as written beside a bar of this width, without its unit."""
        if value is None:
            return "none"
        if self.is_share:
            return written(100 * value, decimals(100 * (width or 0), least=1, most=8))
        return written(value, decimals(width or 0))

    def words(self, value: float | None, width: float | None) -> str:
        """The same with its unit."""
        return f"{self.text(value, width)} {self.unit}".rstrip()

    def bar(self, bar: Interval[Any]) -> str:
        """Both ends, with the unit."""
        return f"{self.text(bar.low, bar.width)}–{self.words(bar.high, bar.width)}"


SHARES = Scale(0.0, 1.0, "%", SHARE)
DIFFERENCES = Scale(-1.0, 1.0, "%", "difference, of 100")
NUMBERS = Scale()


@dataclass(frozen=True)
class Row:
    """One estimate of a result; `bar` makes its error bar from a level and a method (None: the usual one)."""

    name: str
    n: int | None
    value: float | None
    standard_error: float | None
    bar: Callable[[NumberLike, str | None], Interval[Any]] | None = field(default=None, repr=False, compare=False)
    p_value: float | None = None
    misfit: Misfit | None = None
    scale: Scale = SHARES
    extras: Mapping[str, object] = field(default_factory=dict)  # more entries of its JSON, and columns of a frame
    parts: float | None = None  # of a difference, that of its parts as they are shown

    def interval(self, level: NumberLike = 0.95, method: str | None = None) -> Interval[Any]:
        """The error bar."""
        if self.bar is None:
            raise ParameterError("row", self.name, "one that has an error bar")
        return self.bar(level, method)

    def as_dict(self, level: NumberLike = 0.95, method: str | None = None) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {
            "name": self.name,
            "n": self.n,
            "value": self.value,
            "standard_error": self.standard_error,
            "interval": None if self.bar is None else self.interval(level, method).as_dict(),
            "p_value": self.p_value,
            "misfit": None if self.misfit is None else self.misfit.as_dict(),
            **self.extras,
        }

    def shown(self, bar: Interval[Any] | None) -> str:
        """The value cut to its scale, as text beside its bar."""
        width, told = 0.0 if bar is None else bar.width, self.value if self.parts is None else self.parts
        return self.scale.text(None if told is None else self.scale.clipped(told), width)

    def beside(self, bar: Interval[Any]) -> list[str]:
        """What must stand beside the value: the unclipped one, how well its count fits, why its bar has no width."""
        found = []
        raw = self.scale.text(self.value, bar.width)
        if raw != self.shown(bar):
            found.append(f"unclipped {raw} {self.scale.unit}".rstrip())
        if self.misfit is not None and self.misfit.told:
            end = "[0, 1]" if self.scale.is_share else "the range"
            found.append(self.misfit.describe().replace("[0, 1]", end))
        return [*found, *([bar.warning] if bar.warning else [])]


def flat(given: Mapping[str, Any], prefix: str = "") -> dict[str, object]:
    """A nested dict as one row; names joined by underscores, those of bars and tallies as they are."""
    row: dict[str, object] = {}
    for name, value in given.items():
        if isinstance(value, dict):
            row |= flat(value, prefix if name in WITHOUT_PREFIX else f"{prefix}{name}_")
        elif not isinstance(value, list):
            row[prefix + name] = value
        elif all(isinstance(each, str) for each in value):
            row[prefix + name] = ", ".join(value)
    return row


@dataclass(frozen=True)
class Test:
    """A test of a hypothesis: small p speaks against it.  `method` is how p was found: a statistic by its name, or
    "exact" or "simulated" of the score, or "none", where nothing is random and a difference is one."""

    hypothesis: str
    method: str
    statistic: float
    df: int
    p_value: float

    __test__ = False  # not a test of this project's own

    def sentence(self) -> str:
        """One sentence."""
        if self.method == "none":
            return f"{self.hypothesis}: nothing is random, p = {self.p_value:.3g}"
        how = f"score, {self.method} p," if self.method in ("exact", "simulated") else self.method
        return f"{self.hypothesis}: {how} χ² = {self.statistic:.4g}, {self.df} df, p = {self.p_value:.3g}"

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return asdict(self)


def named_options(labels: Iterable[str], design: Mechanism) -> tuple[str, ...]:
    """The labels, one for each option; without any, their numbers."""
    names = tuple(labels) or tuple(f"option {j + 1}" for j in range(design.options_for()))
    if len(set(names)) < len(names) or design.options_for(len(names)) != len(names):
        given = list(names) if len(names) <= MOST_ROWS else f"{len(names)} names"
        raise ParameterError("labels", given, f"{design.options_for()} different names, one for each option")
    return names
