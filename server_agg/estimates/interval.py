"""`Interval`: an error bar that says what it covers.

Rules
1. It is the pair (low, high) and unpacks as one; beside the numbers it carries its method, level, target and side,
   whether its coverage is guaranteed, and a warning where there is something to be warned of.
2. It lies in [0, 1].  If the bar misses [0, 1] altogether it is the nearest end, twice; `Estimate.misfit` tells.
3. Only lower ends are computed.  The upper end is 1 − the lower end of the mirrored problem (the complementary
   attribute), so every result mirrors exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Literal

from rrcollect.errors import ParameterError
from server_agg.estimates.numerics import exact_level

__all__ = ["OUTWARD", "WALD_WARNING", "Interval", "Side", "clipped_interval", "tail_of"]

Side = Literal["both", "lower", "upper"]
OUTWARD = Fraction(1, 2**52)  # guaranteed bars are widened by this much, more than all rounding that follows

WALD_WARNING = (
    "plug-in standard error: the true coverage can be far below the level (at p00 = 1 or p11 = 1, near 0); "
    "prefer 'exact'"
)


class Interval(tuple[float, float]):
    """(low, high) with what it covers.

    >>> low, high = Interval((0.2, 0.4), method="exact", level=Fraction(19, 20), target="population", guaranteed=True)
    >>> low, high
    (0.2, 0.4)
    """

    method: str
    level: Fraction
    target: str
    side: Side
    guaranteed: bool
    warning: str

    def __new__(
        cls,
        ends: tuple[float, float],
        *,
        method: str,
        level: Fraction,
        target: str,
        guaranteed: bool,
        side: Side = "both",
        warning: str = "",
    ) -> Interval:
        made = super().__new__(cls, ends)
        made.method, made.level, made.target = method, level, target
        made.side, made.guaranteed, made.warning = side, guaranteed, warning
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuilt, (tuple(self), dict(self.__dict__))

    @property
    def low(self) -> float:
        """The lower end."""
        return self[0]

    @property
    def high(self) -> float:
        """The upper end."""
        return self[1]

    @property
    def width(self) -> float:
        """high − low."""
        return self[1] - self[0]

    def describe(self) -> str:
        """What the bar covers, in one line.

        >>> Interval((0, 1), method="wald", level=Fraction(9, 10), target="sample", guaranteed=False).describe()
        '90 % wald interval for the sample, coverage approximate'
        """
        bound = {"both": "interval", "lower": "lower bound", "upper": "upper bound"}[self.side]
        promise = "coverage guaranteed" if self.guaranteed else "coverage approximate"
        return f"{float(100 * self.level):.10g} % {self.method} {bound} for the {self.target}, {promise}"

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {
            "low": self[0],
            "high": self[1],
            "level": float(self.level),
            "method": self.method,
            "target": self.target,
            "side": self.side,
            "guaranteed": self.guaranteed,
            "warning": self.warning,
        }


def _rebuilt(ends: tuple[float, float], given: dict[str, object]) -> Interval:
    return Interval(ends, **given)  # type: ignore[arg-type]


def tail_of(level: object, side: str) -> Fraction:
    """The error probability left to one end: (1 − level)/2 for a two-sided bar, 1 − level for a one-sided one."""
    if side not in ("both", "lower", "upper"):
        raise ParameterError("side", side, "'both', 'lower' or 'upper'")
    miss = 1 - exact_level(level)
    if side != "both" and miss * 2 > 1:
        raise ParameterError("level", level, "1/2 or more for a one-sided bound")
    return miss / 2 if side == "both" else miss


def clipped_interval(
    lower: Callable[[], float],
    mirrored_lower: Callable[[], float],
    *,
    method: str,
    level: object,
    target: str,
    guaranteed: bool,
    side: Side = "both",
    warning: str = "",
) -> Interval:
    """The bar whose lower end is `lower()` and whose upper end is 1 − `mirrored_lower()`, within [0, 1]."""
    low = 0.0 if side == "upper" else min(max(lower(), 0.0), 1.0)
    high = 1.0 if side == "lower" else 1.0 - min(max(mirrored_lower(), 0.0), 1.0)
    exact = exact_level(level)
    return Interval(
        (min(low, high), high),
        method=method,
        level=exact,
        target=target,
        guaranteed=guaranteed,
        side=side,
        warning=warning,
    )
