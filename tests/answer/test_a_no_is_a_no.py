"""After a cancel or a decline nothing of that question leaves; what left before is said; no second draw is made."""

import asyncio
import contextlib
import threading

import pytest

from rrcollect import Attribute
from rrcollect.answer.ledger.ledger import DeclineResult
from rrcollect.errors import LedgerUnavailable
from tests.inside.answer import LedgerFile
from tests.support.devices import client, envelope, question
from tests.support.republishing import CountingSource


def never():
    raise AssertionError("the truth was read")


def states(device):
    return [(report.question, report.round, report.state) for report in device._ledger.outbox()]


def test_declining_stops_what_waits_in_all_rounds_and_says_what_left(tmp_path):
    device = client(tmp_path, attributes=[Attribute("doped", rounds=4), "b"])
    accepted = device.accept(envelope(question(rounds=4), question(id="q2", attribute="b")))
    made = [device.answer(accepted, "q1", True, round=number) for number in range(4)]
    other = device.answer(accepted, "q2", True)
    assert device._ledger.attempt(made[1].id)
    device._ledger.mark(made[1].id, "delivered")
    assert device._ledger.attempt(made[2].id)  # and nothing was heard: it may have left
    assert device.decline(accepted, "q1") == DeclineResult(stopped=2, left=2)
    found = {report.id: report.state for report in device._ledger.outbox()}
    assert [found[report.id] for report in made] == ["cancelled", "delivered", "cancelled", "cancelled"]
    assert found[other.id] == "waiting"
    assert [report.id for report in device._ledger.outbox("waiting")] == [other.id]
    assert device.decline(accepted, "q1") == DeclineResult(stopped=0, left=2)
    assert device.decline(accepted, "q2") == DeclineResult(stopped=1, left=0)


def test_declining_without_an_answer_stops_nothing(tmp_path):
    device = client(tmp_path)
    assert device.decline(device.accept(envelope()), "q1") == DeclineResult(stopped=0, left=0)


def test_a_carried_report_has_left(tmp_path):
    device = client(tmp_path)
    accepted = device.accept(envelope(collector="carried"))
    device.answer(accepted, "q1", True)
    assert device.decline(accepted, "q1") == DeclineResult(stopped=0, left=1)


def test_a_report_that_was_declined_while_it_was_picked_up_does_not_leave(tmp_path):
    """The delivery read the outbox before the decline; its attempt comes after."""
    device = client(tmp_path)
    accepted = device.accept(envelope())
    report = device.answer(accepted, "q1", True)
    (waiting,) = device._ledger.outbox("waiting")
    device.decline(accepted, "q1")
    assert not device._ledger.attempt(waiting.id)
    (kept,) = device._ledger.outbox()
    assert (kept.id, kept.state, kept.attempts) == (report.id, "cancelled", 0)


@pytest.mark.parametrize("how", ["declined", "cancelled"])
def test_answered_again_the_same_report_waits_again(tmp_path, how):
    source = CountingSource()
    device = client(tmp_path, source=source)
    accepted = device.accept(envelope())
    first = device.answer(accepted, "q1", True)
    if how == "declined":
        device.decline(accepted, "q1")
        assert device.open_questions(accepted) == []
    else:
        device._ledger.cancel(first, all_of_it=False)
    assert states(device) == [("q1", 0, "cancelled")]
    assert device.answer(accepted, "q1", never) == first
    assert states(device) == [("q1", 0, "waiting")]
    assert device._ledger.declined(accepted.digest) == set()
    assert source.times == 1
    assert len(device.budget().draws) == 1


class Interrupted(LedgerFile):
    """Interrupted right after the commit, before anything is returned."""

    error: BaseException | None = None

    @contextlib.contextmanager
    def transaction(self):
        with super().transaction() as connection:
            yield connection
        if self.error is not None:
            error, self.error = self.error, None
            raise error


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), SystemExit(1), asyncio.CancelledError(), GeneratorExit(), MemoryError()], ids=repr
)
@pytest.mark.parametrize("carried", [False, True])
def test_an_answer_that_is_interrupted_after_the_commit_does_not_leave(tmp_path, error, carried):
    source = CountingSource()
    device = client(tmp_path, source=source)
    accepted = device.accept(envelope(collector="carried") if carried else envelope())
    device._ledger.file = file = Interrupted(tmp_path / "ledger.sqlite3")
    file.error = error
    with pytest.raises(type(error)):
        device.answer(accepted, "q1", True)
    assert states(device) == [("q1", 0, "cancelled")]
    assert [question.id for question in device.open_questions(accepted)] == ["q1"]
    assert device.decline(accepted, "q1") == DeclineResult(stopped=0, left=0)
    assert device.open_questions(accepted) == []
    report = device.answer(accepted, "q1", never)
    assert states(device) == [("q1", 0, "carried" if carried else "waiting")]
    assert report.to_bytes() == device.budget().reports[0].body
    assert source.times == 1


def test_an_answer_asked_again_and_interrupted_is_stopped_too(tmp_path):
    device = client(tmp_path)
    accepted = device.accept(envelope())
    device.answer(accepted, "q1", True)
    device._ledger.file = file = Interrupted(tmp_path / "ledger.sqlite3")
    file.error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        device.answer(accepted, "q1", never)
    assert states(device) == [("q1", 0, "cancelled")]


def test_a_refused_call_does_not_stop_the_report_made_before(tmp_path):
    device = client(tmp_path)
    accepted = device.accept(envelope())
    device.answer(accepted, "q1", True)
    device._ledger.file = file = Interrupted(tmp_path / "ledger.sqlite3")
    file.error = LedgerUnavailable("the disk is full")
    with pytest.raises(LedgerUnavailable):
        device.answer(accepted, "q1", never)
    assert states(device) == [("q1", 0, "waiting")]


def test_interrupted_inside_the_truth_nothing_is_kept(tmp_path):
    def ctrl_c():
        raise KeyboardInterrupt

    device = client(tmp_path)
    accepted = device.accept(envelope())
    with pytest.raises(KeyboardInterrupt):
        device.answer(accepted, "q1", ctrl_c)
    assert states(device) == []
    assert device.budget().draws == ()


def test_decline_and_attempt_at_once_agree(tmp_path):
    """Whichever is first: either the report may have left and the decline says so, or it never leaves."""
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        device = client(folder)
        accepted = device.accept(envelope())
        report = device.answer(accepted, "q1", True)
        told, left = [], []
        threads = [
            threading.Thread(target=lambda: told.append(device.decline(accepted, "q1"))),  # noqa: B023
            threading.Thread(target=lambda: left.append(device._ledger.attempt(report.id))),  # noqa: B023
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (told[0], left[0]) in [(DeclineResult(1, 0), False), (DeclineResult(0, 1), True)]


@pytest.mark.parametrize("declined", [True, False])
def test_a_cancelled_task_does_not_send_if_it_declines_once_its_thread_is_done(tmp_path, declined):
    """As docs/embedders.md says it; without the decline, the planted bug, the thread's report waits to leave."""
    device, begun, go = client(tmp_path), threading.Event(), threading.Event()
    accepted = device.accept(envelope())

    def looked_up():
        begun.set()
        go.wait(30)
        return True

    async def answered():
        working = asyncio.ensure_future(asyncio.to_thread(device.answer, accepted, "q1", looked_up))
        try:
            await asyncio.shield(working)
        except asyncio.CancelledError:
            await asyncio.wait([working])
            if declined:
                await asyncio.to_thread(device.decline, accepted, "q1")
            raise

    async def person():
        task = asyncio.create_task(answered())
        await asyncio.to_thread(begun.wait, 30)
        task.cancel()
        go.set()
        await asyncio.wait([task])
        return task.cancelled()

    assert asyncio.run(person())
    assert states(device) == [("q1", 0, "cancelled" if declined else "waiting")]


def test_the_rule_catches_a_client_that_does_not_cancel(tmp_path, monkeypatch):
    """The planted bug: an interrupted answer that waits in the outbox."""
    monkeypatch.setattr("rrcollect.answer.ledger.ledger.Ledger.cancel", lambda *told, **more: None)
    device = client(tmp_path)
    accepted = device.accept(envelope())
    device._ledger.file = file = Interrupted(tmp_path / "ledger.sqlite3")
    file.error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        device.answer(accepted, "q1", True)
    assert states(device) == [("q1", 0, "waiting")]
