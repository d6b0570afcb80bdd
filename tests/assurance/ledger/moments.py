"""The moments of a call at which something can happen to it, found while it runs.  Helper of `ledger_machine`.

Rules
1. A moment is an event of the call and a number of lines after it.  The events are the start, the beginning of a
   transaction, its COMMIT and the rollback guard's fsync.  They are found while the call runs: the more reports there
   are, the more lines it takes to get to them.
2. The moment comes before the line is run: (COMMIT, 0) is just before the commit, (COMMIT, 1) just after.
3. A call that ends sooner is disturbed when it has returned, before its report is let out.  A refusal is not disturbed.
4. What is told of a disturbance is its phase: where it fell, seen from the transaction.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FrameType
from typing import Any, Final, NamedTuple, TypeVar

from hypothesis import strategies as st

from tests.inside.answer import LedgerFile, RollbackGuard, guard
from tests.support.stopping import traced

T = TypeVar("T")
Moment = tuple[str, int]
"""An event, and how many lines after it."""

START, TRANSACTION, COMMIT, GUARD = "start", "transaction", "commit", "guard"
PHASES: Final = ("outside a transaction", "before the commit", "between commit and guard", "after the guard")
OUTSIDE, BEFORE, BETWEEN, AFTER = range(4)

MOMENTS = (
    st.tuples(st.just(START), st.integers(1, 400))
    | st.tuples(st.just(TRANSACTION), st.integers(0, 250))
    | st.tuples(st.just(COMMIT), st.integers(0, 20))
    | st.tuples(st.just(COMMIT), st.integers(0, 60))
    | st.tuples(st.just(GUARD), st.integers(0, 50))
)
"""A fifth answer runs about 370 lines, 11 of them from COMMIT to the guard's fsync and 50 after it."""


class Around(NamedTuple):
    """What happens around a disturbed answer."""

    fresh: bool  # a question without a report is asked
    kept: bool  # a copy of the ledger is kept just before
    then: str  # what is done just after


THEN = ["nothing", "asked again", "asked again, old copy restored"]
AROUND = st.builds(Around, st.sampled_from([True, True, False]), st.booleans(), st.sampled_from(THEN))


def _line(function: Callable[..., object], text: str) -> tuple[str, int]:
    """(name of the function, number of its one line with that text)."""
    lines, first = inspect.getsourcelines(inspect.unwrap(function))
    (found,) = [number for number, line in enumerate(lines, start=first) if text in line]
    return function.__name__, found


_EVENTS: Final = {
    _line(LedgerFile.transaction, '"BEGIN IMMEDIATE"'): (TRANSACTION, BEFORE),
    _line(LedgerFile.transaction, '"COMMIT"'): (COMMIT, BEFORE),
    _line(LedgerFile.transaction, "self.advance_guard(after"): ("", BETWEEN),
    _line(guard._write, "os.fsync("): (GUARD, BETWEEN),
    _line(RollbackGuard.append, "told = stamped("): ("", AFTER),
}


def disturbed(moment: Moment, act: Callable[[int], None], work: Callable[[], T]) -> T:
    """What `work` returns; at the moment `act` is called once, with the phase (an index into PHASES)."""
    event, lines = moment
    phase, left, acted = OUTSIDE, lines if event == START else None, False

    def tracer(frame: FrameType, kind: str, argument: Any) -> Any:
        nonlocal phase, left, acted
        code = frame.f_code
        if "/rrcollect/answer/" not in code.co_filename:
            return None
        if kind == "line":
            met = _EVENTS.get((code.co_name, frame.f_lineno))
            if met is not None:
                phase = met[1]
                if left is None and met[0] == event:
                    left = lines
            if left is not None and not acted:
                if left == 0:
                    acted = True
                    act(phase)
                left -= 1
        elif kind == "return" and phase == BETWEEN and code.co_name == "advance_guard":
            phase = AFTER  # nothing was new
        return tracer

    made = traced(tracer, work)
    if not acted:
        act(phase)
    return made
