"""Delivery: at least once, each report alone, at its own moments; what replies mean; through failures and restarts."""

import itertools
import json
import signal
import threading
import time
from dataclasses import replace

import pytest

from rrcollect import ParameterError, Policy, Report, SimulatedCollector
from rrcollect.deliver.schedule import ATTEMPTS
from rrcollect.errors import ReportRefused, TransportFailed, WrongAddress
from server_agg import REASONS
from tests.inside.deliver import remaining, schedule
from tests.support.devices import COLLECTOR, POLICY, Clock, client, envelope, question, survey
from tests.support.waiting import PATIENCE, until

MANY = [question(id=f"q{i}", attribute=f"a{i}") for i in range(8)]
SURVEY = survey(*MANY)
OTHER = "https://other.example.org/reports"


def answered(path, signed=None, **changes):
    """A device with eight reports."""
    policy = Policy(POLICY.publishers, lifetime_epsilon=100)
    mine = client(path, **{"attributes": [q.attribute for q in MANY], "policy": policy, **changes})
    accepted = mine.accept(signed or envelope(*MANY))
    for q in MANY:
        mine.answer(accepted, q.id, True)
    return mine


@pytest.fixture
def device(tmp_path):
    return answered(tmp_path)


class Reply:
    """A transport whose every `send` does the same."""

    def __init__(self, error=None, hold=None):
        self.error, self.hold, self.seen = error, hold, []

    def send(self, destination, body):
        self.seen.append((destination, body))
        if self.hold is not None:
            assert self.hold.wait(PATIENCE)
        if self.error is not None:
            raise self.error


# ---- the outbox -----------------------------------------------------------------------------------------------------


def test_everything_is_delivered_once(device):
    collector = SimulatedCollector([SURVEY])
    done = device.deliver(collector)
    assert (done.delivered, done.waiting, done.next_moment, done.last_failure) == (8, 0, None, None)
    assert device.deliver(collector).delivered == 0
    assert len(collector.requests) == len(collector.reports) == 8
    assert {(r.state, r.attempts) for r in device.budget().reports} == {("delivered", 1)}


def test_each_report_is_alone_and_the_order_is_shuffled(tmp_path):
    orders = set()
    for number in range(6):
        (tmp_path / str(number)).mkdir()
        clock = Clock()
        device = answered(tmp_path / str(number), clock=clock, sleep=clock.sleep, spread=3600)
        collector = SimulatedCollector([SURVEY])
        assert device.deliver(collector, within=3600).delivered == 8
        orders.add(tuple(json.loads(body)["question"] for body in collector.requests))
    assert all(sorted(order) == sorted(q.id for q in MANY) for order in orders)
    assert len(orders) > 1  # 6 equal orders of 8: chance below (8!/2)^-5, 3e-22 (moments of one second may tie)


def test_a_lost_request_and_a_lost_reply_are_repeated_and_counted_once(tmp_path):
    clock = Clock()
    device = answered(tmp_path, clock=clock, sleep=clock.sleep)
    collector = SimulatedCollector([SURVEY], failures=["before", "after"] * 6)
    done = device.deliver(collector, within=86400)
    assert (done.delivered, done.waiting) == (8, 0)
    assert len(collector.requests) > 8
    assert len(collector.reports) == 8
    assert sum(r.attempts for r in device.budget().reports) == 20


def test_what_could_not_be_sent_waits_and_survives_a_restart(tmp_path):
    clock = Clock()
    device = answered(tmp_path, clock=clock, sleep=clock.sleep)
    dead = SimulatedCollector([SURVEY], failures=["before"] * 1000)
    done = device.deliver(dead)
    assert (done.delivered, done.waiting, done.refused) == (0, 8, ())
    assert "lost" in done.last_failure
    assert 2 <= (done.next_moment - clock()).total_seconds() <= 5
    again = client(tmp_path, attributes=["a0"], clock=clock, sleep=clock.sleep)
    assert again.deliver(SimulatedCollector([SURVEY])).delivered == 0  # not before its moment
    assert again.deliver(SimulatedCollector([SURVEY]), within=5).delivered == 8


def test_a_refusal_is_final_and_keeps_its_reason(device):
    collector = SimulatedCollector([survey(name="another")])  # at the same address; it does not know the survey
    done = device.deliver(collector)
    assert done.delivered == 0
    said = "unknown_survey: no survey with this digest is published here"
    assert {reason for _, reason in done.refused} == {said}
    assert len(collector.requests) == 8
    device.deliver(collector)
    assert len(collector.requests) == 8
    assert {r.reason for r in device.budget().reports} == {said}


def test_a_report_that_does_not_wait_any_more_does_not_leave(tmp_path):
    clock = Clock()

    def meanwhile(seconds):  # while `deliver` waits for the first moment, the person says no
        clock.sleep(seconds)
        for report in device._ledger.outbox("waiting"):
            device._ledger.mark(report.id, "cancelled")

    device = answered(tmp_path, clock=clock, sleep=meanwhile, spread=3600)
    sent = Reply()
    assert device.deliver(sent, within=3600).waiting == 0
    assert sent.seen == []
    assert {(r.state, r.attempts) for r in device.budget().reports} == {("cancelled", 0)}


# ---- the destination ------------------------------------------------------------------------------------------------


def test_a_report_for_one_collector_never_reaches_another(tmp_path):
    mine = client(tmp_path, attributes=["doped", "b"])
    mine.answer(mine.accept(envelope()), "q1", True)
    mine.answer(mine.accept(envelope(question(attribute="b"), name="b", collector=OTHER)), "q1", True)
    sent = Reply()
    assert mine.deliver(sent).delivered == 2
    assert {(where, Report.from_bytes(body).survey) for where, body in sent.seen} == {
        (COLLECTOR, survey().digest),
        (OTHER, survey(question(attribute="b"), name="b", collector=OTHER).digest),
    }


def test_the_simulated_collector_is_found_at_its_surveys_addresses_alone(tmp_path):
    mine = answered(tmp_path, envelope(*MANY, collector=OTHER))
    collector = SimulatedCollector([SURVEY])
    done = mine.deliver(collector)
    assert (done.delivered, done.waiting, done.refused, collector.requests) == (0, 8, (), [])


def test_a_carried_report_is_not_delivered(tmp_path):
    mine = client(tmp_path)
    mine.answer(mine.accept(envelope(collector="carried")), "q1", True)
    sent = Reply()
    assert mine.deliver(sent).waiting == 0
    assert sent.seen == []
    assert [r.state for r in mine.budget().reports] == ["carried"]


# ---- the schedule ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", [0, 1, 5, 3600, 6 * 3600, 30 * 86400])
def test_moments_grow_within_their_bounds(spread):
    for _ in range(50):
        moments = schedule(1000.5, spread)
        assert len(moments) == ATTEMPTS
        assert all(moment == round(moment, 6) for moment in moments)
        assert 1000.5 <= moments[0] <= 1000.5 + spread
        gap = spread
        for sooner, later in itertools.pairwise(moments):
            gap = min(max(gap, 5), 86400)
            assert gap / 2 - 2e-6 <= later - sooner <= gap + 2e-6
            gap *= 2


def test_the_first_moment_is_uniform_over_the_spread():
    # 4000 moments in 16 equal parts: each has 250 ± 15.3 and is outside 150 … 350 with a chance below 1e-10
    parts = [0] * 16
    for _ in range(4000):
        parts[int(schedule(0, 1600)[0] // 100)] += 1
    assert all(150 < part < 350 for part in parts)


def test_an_attempt_uses_up_what_has_passed_and_a_fresh_schedule_follows_the_last():
    assert remaining((10, 20, 30), 20.0, 5) == (30,)
    fresh = remaining((10, 20, 30), 31.0, 5)
    assert len(fresh) == ATTEMPTS
    assert fresh[0] >= 31


def test_the_moments_are_drawn_with_the_report_and_no_reply_moves_them(tmp_path):
    clock = Clock()
    device = answered(tmp_path, clock=clock, sleep=clock.sleep, spread=3600)
    drawn = {r.id: r.times for r in device.budget().reports}
    left = {r.id: [] for r in device.budget().reports}

    class Slow:
        def send(self, destination, body):
            left[Report.from_bytes(body).id].append(clock().timestamp())
            raise TransportFailed("503")

    done = device.deliver(Slow(), within=9 * 3600)
    end = clock().timestamp()
    for each, moments in drawn.items():
        assert left[each] == [moment for moment in moments if moment <= end][: len(left[each])]
        assert len(left[each]) >= 2
    assert done.next_moment.timestamp() == min(r.times[0] for r in device.budget().reports)


def test_before_its_moment_nothing_leaves(tmp_path):
    clock = Clock()
    device = answered(tmp_path, clock=clock, sleep=clock.sleep, spread=3600)
    first = min(r.times[0] for r in device.budget().reports)
    assert device.deliver(Reply(), within=max(0, first - clock().timestamp() - 1)).delivered == 0


def test_a_program_that_lives_for_seconds_picks_up_what_waits(tmp_path):
    clock = Clock()
    answered(tmp_path, clock=clock, sleep=clock.sleep, spread=3600)
    clock.sleep(86400)  # nobody delivered: all are overdue
    start, left = clock(), []

    class Noting(Reply):
        def send(self, destination, body):
            left.append((clock() - start).total_seconds())

    again = client(tmp_path, attributes=["a0"], clock=clock, sleep=clock.sleep, spread=3600)
    assert again.deliver(Noting()).delivered == 8
    assert max(left) <= 5
    assert len(set(left)) == 8  # not all at once: eight equal moments of 2^53 have a chance below 1e-14


def test_each_report_is_recorded_as_begun_before_it_leaves(device):
    class Looking:
        begun = ()

        def send(self, destination, body):
            (mine,) = [r for r in device._ledger.outbox() if r.body == body]
            self.begun += (mine.attempts,)

    looking = Looking()
    device.deliver(looking)
    assert looking.begun == (1,) * 8


def test_nobody_waits_for_anothers_reply(device):
    release = threading.Event()
    held = Reply(hold=release)
    worker = threading.Thread(target=device.deliver, args=(held,))
    worker.start()
    until(lambda: len(held.seen) == 8)  # all have left, and nobody has heard a word
    release.set()
    worker.join(PATIENCE)
    assert {r.state for r in device.budget().reports} == {"delivered"}


def test_at_most_so_many_are_under_way(device, monkeypatch):
    monkeypatch.setattr("rrcollect.deliver.outbox.AT_ONCE", 3)
    lock, now, most, full = threading.Lock(), [0], [0], threading.Event()

    class Counting:
        def send(self, destination, body):
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
                if now[0] == 3:
                    full.set()
            full.wait(PATIENCE)  # the first ones for the third, however slow the machine is
            time.sleep(0.05)
            with lock:
                now[0] -= 1

    assert device.deliver(Counting()).delivered == 8
    assert most[0] == 3


@pytest.mark.parametrize("spread", [-1, float("nan"), float("inf"), True, "5", None, 31 * 86400])
def test_bad_spreads(tmp_path, spread):
    with pytest.raises(ParameterError, match="^spread is"):
        client(tmp_path, spread=spread)


@pytest.mark.parametrize("within", [-1, float("nan"), float("inf"), True, "5", None])
def test_bad_patience(device, within):
    with pytest.raises(ParameterError, match="^within is"):
        device.deliver(Reply(), within=within)


def test_what_is_not_a_transport_is_refused(device):
    with pytest.raises(ParameterError, match=r"such as HttpTransport\(\)"):
        device.deliver(5)


# ---- trouble --------------------------------------------------------------------------------------------------------


def test_an_address_that_cannot_work_is_an_error_once_the_others_have_left(tmp_path):
    mine = client(tmp_path, attributes=["doped", "b"])
    mine.answer(mine.accept(envelope()), "q1", True)
    mine.answer(mine.accept(envelope(question(attribute="b"), name="b", collector=OTHER)), "q1", True)

    class Half(Reply):
        def send(self, destination, body):
            super().send(destination, body)
            if destination == OTHER:
                raise WrongAddress(f"nobody at {destination}")

    half = Half()
    with pytest.raises(WrongAddress, match="other.example.org"):
        mine.deliver(half, within=3600)
    assert len(half.seen) == 2
    assert sorted((r.destination, r.state) for r in mine.budget().reports) == [
        (COLLECTOR, "delivered"),
        (OTHER, "waiting"),
    ]


def test_a_fault_of_the_transport_comes_out_as_it_is_and_the_report_waits(device):
    with pytest.raises(ZeroDivisionError):
        device.deliver(Reply(error=ZeroDivisionError()))
    assert {r.state for r in device.budget().reports} == {"waiting"}


@pytest.mark.process
def test_an_interrupt_stops_further_attempts_and_hangs_up(tmp_path):
    release, hung_up = threading.Event(), threading.Event()

    class Held(Reply):
        def send(self, destination, body):
            super().send(destination, body)
            raise TransportFailed("hung up")

        def hang_up(self):
            hung_up.set()
            release.set()

    def late(seconds):
        raise KeyboardInterrupt

    device = answered(tmp_path, sleep=late, spread=0)
    held = Held(hold=release)
    for report in device._ledger.outbox()[1:]:  # one is due, the others within the hour
        device._ledger.reschedule(report.id, [int(time.time()) + 1800])

    def interrupt():  # a terminal does it while the first one is under way
        until(lambda: held.seen)
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        device.deliver(held, within=3600)
    assert len(held.seen) == 1
    assert hung_up.is_set()
    time.sleep(0.1)
    assert len(held.seen) == 1
    assert {r.state for r in device.budget().reports} == {"waiting"}
    assert sorted(r.attempts for r in device.budget().reports) == [0] * 7 + [1]


def test_an_ignored_interrupt_cuts_nothing_off(device):
    """A script that starts a program in the background has SIGINT ignored, and the program inherits that."""

    class Interrupted(Reply):
        def send(self, destination, body):
            super().send(destination, body)
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        device.deliver(Interrupted())
    finally:
        signal.signal(signal.SIGINT, before)
    assert {report.state for report in device.budget().reports} == {"delivered"}


# ---- the collector in memory ----------------------------------------------------------------------------------------


def refused(change, collector=None):
    collector = collector or SimulatedCollector([survey(segments={"sport": ["ski"]})])
    good = {
        "survey": survey(segments={"sport": ["ski"]}).digest,
        "question": "q1",
        "design": question().design,
        "answer": "1",
        "id": "0" * 32,
    }
    with pytest.raises(ReportRefused) as caught:
        collector.send(COLLECTOR, Report(**{**good, **change}).to_bytes())
    reason, _, words = str(caught.value).partition(": ")
    assert words == REASONS[reason]
    return reason


def test_the_simulated_collector_keeps_a_real_ones_rules():
    from rrcollect import optimal_design

    assert refused({"survey": "1" * 64}) == "unknown_survey"
    assert refused({"question": "q9"}) == "unknown_question"
    assert refused({"design": optimal_design(1)}) == "wrong_design"
    assert refused({"round": 1}) == "unknown_round"
    assert refused({"segments": {"sport": "go"}}) == "undeclared_segment"
    assert refused({"segments": {"city": "Bern"}}) == "undeclared_segment"
    assert refused({"ticket": "a" * 32}) == "unexpected_ticket"
    collector = SimulatedCollector([survey()])
    report = Report(survey=survey().digest, question="q1", design=question().design, answer="1", id="0" * 32)
    collector.send(COLLECTOR, report.to_bytes())
    collector.send(COLLECTOR, report.to_bytes())
    assert len(collector.reports) == 1
    with pytest.raises(ReportRefused, match="another report has this id"):
        collector.send(COLLECTOR, replace(report, answer="0").to_bytes())
    with pytest.raises(ReportRefused, match="malformed"):
        collector.send(COLLECTOR, b"{}")


def test_the_simulated_collector_counts_a_ticket_once():
    invited = survey(question(), question(id="q2", attribute="b"), invite_only=True)
    collector = SimulatedCollector([invited])
    first = {"survey": invited.digest, "ticket": "1" * 32}
    assert refused({**first, "ticket": None}, collector) == "missing_ticket"
    report = Report(question="q1", design=question().design, answer="1", id="1" * 32, **first)
    collector.send(COLLECTOR, report.to_bytes())
    collector.send(COLLECTOR, report.to_bytes())
    assert refused({**first, "id": "2" * 32}, collector) == "ticket_reused"
    assert refused({**first, "id": "1" * 32, "ticket": "2" * 32}, collector) == "conflicting_id"
    collector.send(
        COLLECTOR, replace(report, question="q2", id="3" * 32).to_bytes()
    )  # it speaks once for every question
    assert len(collector.reports) == 2
