"""`Interval`: an error bar that says what it covers; `Misfit`: how well the counts behind a value fit; numbers in text.

Rules
1. It is the pair (low, high) and unpacks as one; beside the numbers it carries its method, level, target and side,
   whether its coverage is guaranteed, and a warning where there is something to be warned of.
2. Every error bar of the project is one.  Both ends are numbers; only an `Interval[float | None]` (a ratio, the profile
   of a likelihood) may lack an end where nothing bounds it: that end is None, never infinite.
3. The bar of a share lies in [0, 1], and by the edge rule (see `estimates`) never misses it where its ends rise
   with the count; any other bar of width 0 says why in its warning.
4. In text a number never stands without its bar, and a bar never without method, level and target.  ε is that of the
   published mechanism, never of one column of it.
5. Percentages have one decimal, or as many as the bar needs to show two digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, cast

from rrcollect.design.parameters import fraction
from rrcollect.errors import ParameterError

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from rrcollect.design.mechanism import Mechanism

    End_co = TypeVar("End_co", bound=float | None, covariant=True, default=float)
else:
    from typing import TypeVar

    End_co = TypeVar("End_co", covariant=True)

Side = Literal["both", "lower", "upper"]


def exact_level(level: object, name: str = "level") -> Fraction:
    """A confidence level as the exact number it is written as, strictly between 0 and 1.

    >>> exact_level(0.95)
    Fraction(19, 20)
    """
    allowed = "a number strictly between 0 and 1, such as 0.95"
    exact = fraction(name, level, allowed)
    if not 0 < exact < 1 or float(exact) in (0.0, 1.0):
        raise ParameterError(name, level, allowed)
    return exact


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


@dataclass(frozen=True)
class Misfit:
    """How well the counts fit the design: the chance of so extreme a count at the nearest end of [0, 1].

    True, as a condition, if the two-sided 95 % exact interval, before the edge rule, misses [0, 1] altogether.
    """

    tail_probability: float
    side: str
    approximate: bool = False  # the probability is by the normal law

    def at(self, level: object = 0.95) -> bool:
        """Whether the two-sided exact interval at this level, before the edge rule, misses [0, 1] altogether."""
        return self.tail_probability <= (1 - exact_level(level)) / 2

    def __bool__(self) -> bool:
        return self.at()

    @property
    def told(self) -> bool:
        """Whether it is told beside a value: the count lies beyond what the nearest end gives by even chance."""
        return self.tail_probability < 0.5

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {"flag": bool(self), "tail_probability": self.tail_probability, "side": self.side}

    def describe(self) -> str:
        """The probability in words; before it, if so, that the data do not fit at 95 %."""
        sign = "≈" if self.approximate else "="
        words = f"P(a count so far {self.side}) {sign} {self.tail_probability:.3g} at that end of [0, 1]"
        return f"data do not fit the design: {words}" if self else words


def worst_misfit(each: Iterable[Misfit]) -> Misfit:
    """Of several counts the most extreme one, its probability times their number (Bonferroni).

    >>> worst_misfit([Misfit(0.2, "below"), Misfit(0.01, "above")])
    Misfit(tail_probability=0.02, side='above', approximate=False)
    """
    found = sorted(each, key=lambda misfit: misfit.tail_probability)
    if not found:
        return Misfit(1.0, "below")
    return replace(found[0], tail_probability=min(1.0, len(found) * found[0].tail_probability))


# ---- numbers in text ------------------------------------------------------------------------------------------------


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


def bars_words(bars: Sequence[Interval[Any]], together: str) -> str:
    """What bars are that hold `together`; nothing where there are none."""
    if len(bars) < 2:
        return bars[0].describe() if bars else ""
    if len({(bar.method, bar.level, bar.target, bar.guaranteed) for bar in bars}) != 1:
        said = [f"{kind_words(bar)} {'guaranteed' if bar.guaranteed else 'approximate'}" for bar in bars]
        rough = "coverage approximate" if together and len({bar.guaranteed for bar in bars}) > 1 else ""
        return ", ".join(filter(None, ["bars: " + ", ".join(dict.fromkeys(said)), together, rough]))
    promise = "coverage guaranteed" if bars[0].guaranteed else "coverage approximate"
    return ", ".join(filter(None, [f"{kind_words(bars[0])} bars for the {bars[0].target}", together, promise]))


def kind_words(bar: Interval[Any]) -> str:
    """Level and method, e.g. "95 % exact"."""
    return f"{percent_of(bar.level)} {bar.method}"


def privacy_words(mechanism: Mechanism) -> str:
    """ε of the published mechanism, or what proves the truth if there is none."""
    loss = mechanism.loss
    if not loss.delta:
        return f"ε = {float(loss.epsilon):.4g}"
    return f"ε = ∞ ({mechanism.proof_words})"


def misfit_note(misfit: Misfit | None) -> str:
    """How well a count fits, where it must be told, as it stands beside a value that is drawn."""
    return f"P(so far {misfit.side}) = {misfit.tail_probability:.2g}" if misfit is not None and misfit.told else ""
