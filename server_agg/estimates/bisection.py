"""The least whole number from which something holds.

`holds` is false up to a point and true after it.  Should it waver (exact powers and widths saw a little), the number
returned is still one at which it holds and before which it does not.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["least", "least_by_doubling"]


def least(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The least number in (low, high] at which `holds`, given that it does not at `low` and does at `high`.

    >>> least(lambda k: k * k >= 50, 0, 50)
    8
    """
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def least_by_doubling(holds: Callable[[int], bool], low: int, limit: int) -> int | None:
    """The least number above `low` at which `holds`, looked for by doubling; None if none is found up to `limit`.

    >>> least_by_doubling(lambda k: k >= 100, 1, 10**6)
    100
    """
    high = 2 * low
    while not holds(high):
        low, high = high, 2 * high
        if high > limit:
            return None
    return least(holds, low, high)
