"""Clocks that are set, and devices that sleep: nothing waits for ever, nothing is sent together or again and again."""

import math
from datetime import UTC, datetime, timedelta

import pytest

from rrcollect import Policy
from rrcollect.deliver.schedule import CATCH_UP, LONGEST_SPREAD
from rrcollect.errors import TransportFailed
from tests.support.devices import POLICY, Clock, client, envelope, question

HOUR, YEAR = 3600.0, 365 * 86_400.0
MANY = [question(id=f"q{i}", attribute=f"a{i}") for i in range(8)]


def answered(path, **changes):
    """A device with eight reports."""
    rich = Policy(POLICY.publishers, lifetime_epsilon=100)
    mine = client(path, attributes=[q.attribute for q in MANY], policy=rich, **changes)
    accepted = mine.accept(envelope(*MANY))
    for q in MANY:
        mine.answer(accepted, q.id, True)
    return mine


class JumpingClock(Clock):
    """A clock that jumps by so many seconds, once, in the n-th sleep."""

    def __init__(self, jump, at=1):
        super().__init__(datetime(2026, 1, 1, tzinfo=UTC))
        self.jump, self.at, self.slept = jump, at, 0.0

    def sleep(self, seconds):
        super().sleep(seconds)
        self.slept += seconds
        self.at -= 1
        if self.at == 0:
            self.now += timedelta(seconds=self.jump)


class Heard:
    """A transport that keeps the moments at which it was called, and fails if told to."""

    def __init__(self, clock, fails=False):
        self.clock, self.fails, self.moments = clock, fails, []

    def send(self, destination, body):
        self.moments.append(self.clock().timestamp())
        if self.fails:
            raise TransportFailed("nothing is known")


def test_what_was_to_leave_apart_does_not_leave_together_after_the_device_slept(tmp_path):
    """A laptop is closed for a night in the middle of a pass: all moments have come when it is opened."""
    clock = JumpingClock(8 * HOUR)
    device = answered(tmp_path, clock=clock, sleep=clock.sleep, spread=HOUR)
    heard = Heard(clock)
    assert device.deliver(heard, within=2 * HOUR).delivered == len(MANY)
    woken = sorted(moment for moment in heard.moments if moment > min(heard.moments) + HOUR) or sorted(heard.moments)
    assert len(woken) >= len(MANY) - 1
    assert len(set(woken)) == len(woken)  # a false alarm needs two equal draws of 53 bits
    assert woken[-1] - woken[0] <= 2 * CATCH_UP


@pytest.mark.parametrize("fails", [False, True])
def test_a_clock_that_is_set_back_during_a_pass_neither_stops_nor_hurries_it(tmp_path, fails):
    """The pass slept for a year; or it would have come again and again to moments that lie ahead once more."""
    clock = JumpingClock(-YEAR, at=3)
    device = answered(tmp_path, clock=clock, sleep=clock.sleep, spread=60)
    heard = Heard(clock, fails)
    done = device.deliver(heard, within=120)
    assert done.delivered == (0 if fails else len(MANY))
    assert clock.slept <= 200
    attempts = [report.attempts for report in device.budget().reports]
    assert all(1 <= n <= 3 for n in attempts), attempts  # within 120 s: the first moment and at most two gaps


def test_a_report_made_by_a_clock_that_was_ahead_is_not_kept_for_a_year(tmp_path):
    clock = Clock(datetime(2027, 6, 1, tzinfo=UTC))
    device = answered(tmp_path, clock=clock, sleep=clock.sleep, spread=HOUR)
    clock.now -= timedelta(seconds=YEAR)
    assert device.deliver(Heard(clock)).delivered == len(MANY)


def test_a_moment_that_can_have_been_meant_is_waited_for(tmp_path):
    clock = Clock()
    device = answered(tmp_path, clock=clock, sleep=clock.sleep, spread=LONGEST_SPREAD)
    clock.now -= timedelta(seconds=1)
    done = device.deliver(Heard(clock))
    assert (done.delivered, done.waiting) == (0, len(MANY))


# ---- the fraction of a second ---------------------------------------------------------------------------------------

MANY_MORE = [question(id=f"q{i}", attribute=f"a{i}") for i in range(40)]
DEVICES, ERRORS = 4, (0.0, 0.25, -0.5, 86_400.777_123)
KINDS = ("first attempts", "second attempts", "overdue")


def distance(fractions):
    """How far the fractions are from uniform: the greatest difference of the distribution functions."""
    ordered, n = sorted(fractions), len(fractions)
    return max(max((i + 1) / n - x, x - i / n) for i, x in enumerate(ordered))


def bound(n, tests):
    """The `distance` of n uniform fractions that any of so many tests exceeds with a chance of at most 1e-9 (DKW)."""
    return math.sqrt(math.log(2 * tests / 1e-9) / (2 * n))


def arrivals(path, error):
    """The moments, by the collector's clock, at which reports of devices come whose clocks are wrong by `error`."""
    seen = {kind: [] for kind in KINDS}
    rich = Policy(POLICY.publishers, lifetime_epsilon=200)
    for number in range(DEVICES):
        home = path / f"{error}-{number}"
        home.mkdir()
        clock = Clock(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=error))
        names = [q.attribute for q in MANY_MORE]
        mine = client(home, attributes=names, policy=rich, clock=clock, sleep=clock.sleep, spread=60)
        accepted = mine.accept(envelope(*MANY_MORE))
        for q in MANY_MORE:
            mine.answer(accepted, q.id, True)
        came = {}

        class Heard:
            fails = True

            def send(self, destination, body, clock=clock, came=came):
                came.setdefault(body, []).append(clock().timestamp() - error)
                if self.fails:
                    raise TransportFailed("503")

        heard = Heard()
        mine.deliver(heard, within=125)  # the first moment within 60 s, the second within 60 s of it
        seen["first attempts"] += [moments[0] for moments in came.values()]
        seen["second attempts"] += [moments[1] for moments in came.values()]
        clock.now = datetime(2026, 2, 1, tzinfo=UTC) + timedelta(seconds=error)
        heard.fails = False
        mine.deliver(heard)
        seen["overdue"] += [moments[-1] for moments in came.values()]
    return seen


@pytest.mark.parametrize("error", ERRORS)
def test_arrivals_are_uniform_in_the_fraction_of_a_second_whatever_the_error_of_the_clock(tmp_path, error):
    """A collector measures the error of a device's clock by the fraction at which whole seconds arrive."""
    for kind, moments in arrivals(tmp_path, error).items():
        n = DEVICES * len(MANY_MORE)
        assert len(moments) == n
        assert distance([moment % 1 for moment in moments]) < bound(n, len(ERRORS) * len(KINDS)), kind


def test_the_distance_finds_devices_that_send_at_whole_seconds(tmp_path, monkeypatch):
    """The planted bug: moments without their fraction, as they once were."""
    monkeypatch.setattr("rrcollect.deliver.schedule.STEP", None)
    moments = arrivals(tmp_path, 0.25)["first attempts"]
    assert distance([moment % 1 for moment in moments]) > 2 * bound(len(moments), len(ERRORS) * len(KINDS))
