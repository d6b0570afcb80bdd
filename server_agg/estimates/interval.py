"""`Interval`: an error bar that says what it covers; and the names of targets and sides, checked in one place.

Rules
1. It is the pair (low, high) and unpacks as one; beside the numbers it carries its method, level, target and side,
   whether its coverage is guaranteed, and a warning where there is something to be warned of.
2. Every error bar of the project is one.  Both ends are numbers; only an `Interval[float | None]` (a ratio, the profile
   of a likelihood) may lack an end where nothing bounds it: that end is None, never infinite.
3. The bar of a share lies in [0, 1], and by the edge rule (see `problem`) never misses it where its ends rise
   with the count; any other bar of width 0 says why in its warning.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Literal, cast, get_args

from rrcollect.design.yes_no import Target
from rrcollect.errors import ParameterError
from server_agg.estimates.numerics import exact_level

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    End_co = TypeVar("End_co", bound=float | None, covariant=True, default=float)
else:
    from typing import TypeVar

    End_co = TypeVar("End_co", covariant=True)

Side = Literal["both", "lower", "upper"]
TargetLike = str | int
TARGETS: tuple[str, ...] = get_args(Target)
"""The targets that have a name; a finite population has a size instead."""


class Interval(tuple[End_co, End_co]):
    """(low, high) with what it covers.

    >>> low, high = Interval((0.2, 0.4), method="exact", level=0.95, target="population", guaranteed=True)
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
        ends: tuple[End_co, End_co],
        *,
        method: str,
        level: object,
        target: str,
        guaranteed: bool = False,
        side: Side = "both",
        warning: str = "",
    ) -> Interval[End_co]:
        made = super().__new__(cls, ends)
        made.method, made.level, made.target = method, exact_level(level), target
        made.side, made.guaranteed, made.warning = side, guaranteed, warning
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuilt, (tuple(self), dict(self.__dict__))

    @property
    def low(self) -> End_co:
        """The lower end."""
        return self[0]

    @property
    def high(self) -> End_co:
        """The upper end."""
        return self[1]

    @property
    def width(self) -> End_co:
        """high − low; None where an end is missing."""
        low, high = self
        return cast("End_co", None if low is None or high is None else high - low)

    def with_ends(self, ends: tuple[float, float], **changed: object) -> Interval:
        """The same bar on another scale or of something made of it: all that is not `changed` stays, warnings too.

        >>> bar = Interval((0.1, 0.2), method="wald", level=0.95, target="sample", warning="rough")
        >>> bar.with_ends((10.0, 20.0), target="total").describe(), bar.with_ends((10.0, 20.0)).warning
        ('95 % wald interval for the total, coverage approximate', 'rough')
        """
        return _rebuilt(ends, {**self.__dict__, **changed})

    def describe(self) -> str:
        """What the bar covers, in one line.

        >>> Interval((0.0, 1.0), method="wald", level="9/10", target="sample").describe()
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


def checked_target(target: object, drawn: int | None = None) -> TargetLike:
    """The target: 'population', 'sample', or, where `drawn` people were drawn from one, a finite population's size."""
    if isinstance(target, str) and target in TARGETS:
        return target
    if drawn is None:
        raise ParameterError("target", target, "'population' or 'sample'")
    allowed = f"'population', 'sample', or the size M of a finite population, a whole number >= {drawn}"
    if isinstance(target, str | bool) or not hasattr(target, "__index__"):
        raise ParameterError("target", target, allowed)
    if target.__index__() < drawn:
        raise ParameterError("target", target, f"{allowed} (n were drawn from it)")
    return int(target.__index__())


def target_words(target: TargetLike) -> str:
    """The target as a bar names it."""
    return f"population of {target}" if isinstance(target, int) else target


def tail_probability(level: object, side: str) -> Fraction:
    """The error probability left to one end: (1 − level)/2 for a two-sided bar, 1 − level for a one-sided one."""
    if side not in ("both", "lower", "upper"):
        raise ParameterError("side", side, "'both', 'lower' or 'upper'")
    miss = 1 - exact_level(level)
    if side != "both" and miss * 2 > 1:
        raise ParameterError("level", level, "1/2 or more for a one-sided bound")
    return miss / 2 if side == "both" else miss
