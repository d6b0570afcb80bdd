"""One answer: 64 bits from the operating system, one comparison.

Postcondition.  `randomise(truth, design)` returns 1 with probability exactly T/2^64, where T = k11 if the truth is
yes and T = 2^64 − k00 if it is no, (k00, k11) being the design's numerators.

Rules
1. The only source is the operating system's generator; there is no seed.  A test injects its own.
2. The same statements run for both truths, on the same number of random bytes.  Both comparisons are made, and the
   truth enters by one "and" with whether they differ: where both truths are answered alike nothing is chosen by it, not
   even by an index (which the processor would predict, and take longer over the rarer truth).  A comparison before it
   would do the same in CPython 3.11: its result is the object True, whose reference count a truth of True then waits
   for (7 ns of 600).  So the type of the truth is looked up in a table.
3. Neither the truth nor the draw appears in an error.  No random bytes, no answer.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from rrcollect.design.yes_no import Design
from rrcollect.errors import BadTruth, NoRandomness, NotOriented, OffGridDesign, ParameterError

if TYPE_CHECKING:
    from typing import Never

__all__ = ["Source", "plain_truth", "random_bytes", "randomise", "thresholds", "wrong_design"]

Source = Callable[[int], bytes]
_BOOLEANS: dict[type, None] = {bool: None}


def wrong_design(design: object, kind: type) -> Never:
    """The error for what is not the design that a draw needs; found out by its missing numbers, which costs nothing."""
    raise ParameterError("design", design, f"a {kind.__name__}: what the answer is drawn with")


def thresholds(design: Design) -> tuple[int, int]:
    """(T0, T1): a draw below T[truth] says 1.  Refuses designs a device does not run (off the grid, c <= 0).

    >>> thresholds(Design("3/4", "1"))
    (4611686018427387904, 18446744073709551616)
    """
    try:
        limits = design.limits
    except AttributeError:
        wrong_design(design, Design)
    if limits is None:
        if design.c <= 0:
            raise NotOriented(f"{design} has p00 + p11 <= 1: its answers would mean their opposite")
        raise OffGridDesign(f"{design!r} is off the grid of 1/2^64: a device applies design.to_grid()")
    return limits


def plain_truth(truth: object) -> bool:
    """The truth as a bool, if it is True, False, 1 or 0; otherwise an error that does not show it."""
    try:
        _BOOLEANS[type(truth)]  # rule 2: not by a comparison
    except KeyError:
        return _other_truth(truth)
    return truth  # type: ignore[return-value]


def _other_truth(truth: object) -> bool:
    if type(truth).__name__ in ("int", "bool_", "bool") and truth in (0, 1):  # NumPy's booleans without importing NumPy
        return bool(truth)
    raise BadTruth("the truth must be True or False (or 1 or 0); what was given is not shown")


def randomise(truth: bool, design: Design, *, source: Source = os.urandom) -> int:
    """The answer (0 or 1) to send instead of the truth: 1 with probability exactly as the design says.

    >>> randomise(True, Design("3/4", "3/4"), source=lambda n: bytes(n)), randomise(False, Design(1, "1/2"))
    (1, 0)
    """
    try:
        limits = design.limits or thresholds(design)
    except AttributeError:
        wrong_design(design, Design)
    row = plain_truth(truth)
    drawn = int.from_bytes(random_bytes(8, source), "big")
    no, yes = drawn < limits[0], drawn < limits[1]
    return int(no ^ ((no ^ yes) & row))


def random_bytes(n: int, source: Source) -> bytes:
    """So many fresh bytes, or an error; never fewer."""
    try:
        drawn = source(n)
    except Exception as error:
        raise NoRandomness(f"the secure generator failed ({type(error).__name__}); no answer was made") from None
    if not isinstance(drawn, bytes) or len(drawn) != n:
        raise NoRandomness(f"the secure generator did not return {n} bytes; no answer was made")
    return drawn
