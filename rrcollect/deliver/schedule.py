"""When a report is sent: drawn by the device before the first attempt, and by nothing else.

Rules
1. The moments of all attempts are drawn when the report is made, by the secure generator, and kept with it: the first
   within `spread` seconds; then after gaps that double, from `spread` (at least `LEAST_GAP`) up to `MOST_GAP`, each cut
   to a random share between a half and the whole.  So no reply, to this report or to another, moves a moment: whoever
   delays or refuses on purpose learns no more than which of its drawn moments a report has come to.
2. An attempt uses up every moment that has passed.  When none is left, a fresh schedule is drawn.
3. Reports that are overdue (the program did not run, or was not asked) do not leave together: each gets a moment of its
   own within `CATCH_UP` seconds, or within the spread if that is shorter.
4. Moments are drawn and kept with their fraction, to the microsecond (`STEP`).  Rounded to seconds, every report would
   leave at a tick of the device's clock, and a collector would recognise the device by the error of that clock.  From a
   spread of whole seconds, the fraction of every arrival is uniform and independent of the clock.
5. A survey with an issuer has windows, the same for everybody, counted from 1970.  A report leaves at a moment that is
   uniform over the window after the one in which it was made; each further attempt has the next window.  Of reports
   that are overdue one leaves at once and the others get windows to come: no burst tells that they are one person's.
6. Clocks are set, and devices sleep.  A moment further away than any that is drawn was drawn by a clock that was wrong:
   its report is overdue.  Within one pass (`PassClock`) time does not go back, and whoever overslept is overdue too.
"""

from __future__ import annotations

import math
import secrets
import threading
from collections.abc import Callable, Sequence

from rrcollect.errors import ParameterError

ATTEMPTS = 10
HOURS = 6 * 3600.0  # the spread of telemetry: a program answers, nobody waits
SECONDS = 5.0  # the spread where a person looks on
CATCH_UP = 5.0
LEAST_GAP, MOST_GAP = 5.0, 86_400.0
LONGEST_SPREAD = 30 * 86_400.0
STEP = 6  # decimals of a moment, in seconds: exact in a double, and the same text in Python and JavaScript

Share = Callable[[], float]


def share() -> float:
    """Uniform on [0, 1), in steps of 2^-53, by the operating system's generator."""
    return secrets.randbits(53) / (1 << 53)


def check_spread(spread: object) -> float:
    """`spread` in seconds, or an error that says what is allowed."""
    if isinstance(spread, bool) or not isinstance(spread, int | float) or not 0 <= spread <= LONGEST_SPREAD:
        raise ParameterError("spread", spread, f"seconds, 0 to {LONGEST_SPREAD:.0f} (30 days)")
    return float(spread)


def schedule(now: float, spread: float, share: Share = share) -> tuple[float, ...]:
    """The moments of all attempts, in seconds since 1970.

    >>> schedule(1000.0, 60, share=lambda: 0.5)
    (1030.0, 1075.0, 1165.0, 1345.0, 1705.0, 2425.0, 3865.0, 6745.0, 12505.0, 24025.0)
    """
    moment = now + share() * spread
    moments = [round(moment, STEP)]
    gap = spread
    for _ in range(ATTEMPTS - 1):
        gap = min(max(gap, LEAST_GAP), MOST_GAP)
        moment += gap * (0.5 + share() / 2)
        moments.append(round(moment, STEP))
        gap *= 2
    return tuple(moments)


def in_windows(now: float, window: int, share: Share = share) -> tuple[float, ...]:
    """The moments of all attempts in windows of so many seconds (rule 5).

    >>> in_windows(5000.0, 3600, share=lambda: 0.5)[:3]
    (9000.0, 12600.0, 16200.0)
    """
    first = (int(now // window) + 1) * window
    return tuple(round(first + (number + share()) * window, STEP) for number in range(ATTEMPTS))


def moments_of(now: float, spread: float, window: int = 0, share: Share = share) -> tuple[float, ...]:
    """The moments of a report that is made now: within the spread, or in the windows of its survey."""
    return in_windows(now, window, share) if window else schedule(now, spread, share)


def remaining(
    moments: Sequence[float], now: float, spread: float, window: int = 0, share: Share = share
) -> tuple[float, ...]:
    """The moments after an attempt at `now`: those to come, or a fresh schedule if there are none.

    >>> remaining((1030, 1075, 1165), 1100.0, 60)
    (1165,)
    """
    return tuple(moment for moment in moments if moment > now) or moments_of(now, spread, window, share)


def overdue(moments: Sequence[float], now: float) -> bool:
    """Whether a report is to be sent as soon as it may: its moment has come, or cannot have been meant.

    >>> overdue((1030, 1075), 1029.0), overdue((1030, 1075), 1030.0), overdue((10**9,), 1030.0)
    (False, True, True)
    """
    return not moments or not now < moments[0] <= now + LONGEST_SPREAD


def caught_up(now: float, spread: float, share: Share = share) -> float:
    """The moment, drawn afresh, of a report that is overdue."""
    return now + share() * min(spread, CATCH_UP)


class PassClock:
    """The device's clock for one pass over the outbox: if somebody sets it back, this one goes on from where it was.

    >>> said = iter([100.0, 101.0, 5.0, 6.0])
    >>> clock = PassClock(lambda: next(said))
    >>> clock(), clock(), clock(), clock()
    (100.0, 101.0, 101.0, 102.0)
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now, self._lock = now, threading.Lock()
        self._ahead, self._latest = 0.0, -math.inf

    def __call__(self) -> float:
        with self._lock:
            now = self._now() + self._ahead
            if now < self._latest:
                self._ahead += self._latest - now
                now = self._latest
            self._latest = now
            return now
