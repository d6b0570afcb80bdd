"""One answer: 64 random bits from the operating system, compared with the design's thresholds.

Postcondition.  `randomise(truth, design)` returns 1 with probability exactly T/2^64, where T = k11 if the truth is
yes and T = 2^64 − k00 if it is no, (k00, k11) being the design's numerators.

Rules
1. The source of random bytes is the operating system's generator; there is no seed.  A test may pass another source.
2. The same statements run for both truths, on the same number of random bytes.  The draw is compared with both
   thresholds.  The truth enters once, in an "and" with whether the two results differ; where they do not differ, it
   chooses nothing.  Two other ways would take a time that depends on the truth:
   - The truth as an index.  The processor predicts the index, and takes longer over the rarer truth.
   - A comparison that checks the type of the truth.  In CPython 3.11 its result is the object True, and a truth of True
     then waits for the reference count of that object (7 ns of 600).  So the type is looked up in a table.
3. Neither the truth nor the draw appears in an error.  If random bytes are missing, an error is raised instead of an
   answer.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from rrcollect.design.yes_no import Design
from rrcollect.errors import BadTruth, NoRandomness, NotOriented, OffGridDesign, ParameterError

if TYPE_CHECKING:
    from typing import Never

Source = Callable[[int], bytes]
_BOOLEANS: dict[type, None] = {bool: None}


def wrong_design(design: object, kind: type) -> Never:
    """Raise the error for a value that is not a design of this kind.  Draws call it when an attribute of the design is
    missing, so that no time is spent on checking a good design."""
    raise ParameterError("design", design, f"a {kind.__name__}: what the answer is drawn with")


def thresholds(design: Design) -> tuple[int, int]:
    """(T0, T1): the answer is 1 if the draw is below T0 for the truth "no", below T1 for the truth "yes".

    Refuses designs that a device does not run: off the grid, or c <= 0.

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
    """The answer (0 or 1) to send instead of the truth: 1 with exactly the design's probability for this truth.

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
    """Exactly `n` bytes from the source, or an error (`NoRandomness`)."""
    try:
        drawn = source(n)
    except Exception as error:
        raise NoRandomness(f"the secure generator failed ({type(error).__name__}); no answer was made") from None
    if not isinstance(drawn, bytes) or len(drawn) != n:
        raise NoRandomness(f"the secure generator did not return {n} bytes; no answer was made")
    return drawn
