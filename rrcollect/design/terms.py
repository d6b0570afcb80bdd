"""What a mechanism is told and tells: the kind of a question, how a crowd hides a report, a curve of shares."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    Fill = Callable[[NDArray[np.uint8]], None]


class KindLike(Protocol):
    """What a mechanism reads of the kind of a question: its name, and how many options it has (0 if none)."""

    kind: Any

    @property
    def option_count(self) -> int: ...


class Blanket(NamedTuple):
    """How a crowd hides a report ([BBGN19], [FMT23]): two truths of one person differ in a report with chance `weight`
    only; it is then a 1 with the chances `ones`, one for each truth.  Every other report is, with chance `share` at
    least, a coin of `coin` in its place, whatever is true."""

    weight: Fraction
    share: Fraction
    coin: Fraction
    ones: tuple[Fraction, Fraction]


class Curve(NamedTuple):
    """Shares of people below each inner edge of the bins of a number, or in each bin: the unbiased `values` from n
    answers, each the mean of independent terms whose variance is `spread` at most, and which are `reach` at most from
    their mean."""

    values: Any
    spread: Any
    reach: Any
