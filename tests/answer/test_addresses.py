"""Ticket and segments: checked before the draw, fixed once the report may have been taken, and mended before that."""

import pytest

from rrcollect import ParameterError, SimulatedCollector
from tests.inside.publish import new_invite, ticket
from tests.support.devices import COLLECTOR, client, envelope, question, survey
from tests.support.republishing import CountingSource

INVITED = {"invite_only": True, "segments": {"sport": ["run", "ski"]}}


def never():
    raise AssertionError("the truth was read")


def test_a_mistyped_invite_is_found_before_the_draw_and_is_nowhere(tmp_path):
    """It was for life: the report under it was drawn, sent, refused, and could not be changed."""
    source, invite = CountingSource(), new_invite()
    device = client(tmp_path, source=source)
    accepted = device.accept(envelope(**INVITED))
    mistyped = invite[:5] + ("z" if invite[5] != "z" else "y") + invite[6:]
    with pytest.raises(ParameterError, match="mistyped") as caught:
        device.answer(accepted, "q1", never, invite=mistyped)
    assert mistyped not in str(caught.value)
    assert source.times == 0
    assert device.budget().reports == ()


def test_the_invite_does_not_leave_and_is_not_kept(tmp_path):
    invite = new_invite()
    device = client(tmp_path, attributes=["doped", "b"])
    accepted = device.accept(envelope(question(), question(id="q2", attribute="b"), invite_only=True))
    made = [device.answer(accepted, name, True, invite=invite.upper()) for name in ("q1", "q2")]
    assert [report.ticket for report in made] == [ticket(invite, accepted.digest, name, 0) for name in ("q1", "q2")]
    assert len({report.ticket for report in made}) == 2
    held = b"".join(path.read_bytes() for path in tmp_path.iterdir()).lower()
    assert invite.encode() not in held
    assert made[0].ticket.encode() in held


@pytest.mark.parametrize("state", ["waiting", "cancelled", "refused"])
def test_a_report_that_was_never_taken_is_addressed_anew_around_the_same_answer(tmp_path, state):
    source, first, second = CountingSource(), new_invite(), new_invite()
    device = client(tmp_path, source=source)
    accepted = device.accept(envelope(**INVITED))
    old = device.answer(accepted, "q1", True, invite=first, segments={"sport": "ski"})
    if state == "refused":
        assert device._ledger.attempt(old.id)
    device._ledger.mark(old.id, state, "unknown_ticket")
    new = device.answer(accepted, "q1", never, invite=second)
    assert new.id != old.id
    assert (new.answer, new.segments, new.survey) == (old.answer, {"sport": "ski"}, old.survey)
    assert new.ticket == ticket(second, accepted.digest, "q1", 0)
    (kept,) = device._ledger.outbox()
    assert (kept.id, kept.body, kept.state, kept.reason) == (new.id, new.to_bytes(), "waiting", None)
    assert kept.attempts == (1 if state == "refused" else 0)  # that much of this answer has left
    again = device.answer(accepted, "q1", never, invite=second, segments={"sport": "run"})
    assert (again.answer, again.segments) == (old.answer, {"sport": "run"})
    collector = SimulatedCollector([survey(**INVITED)])
    collector.send(COLLECTOR, again.to_bytes())
    assert source.times == 1
    assert len(device.budget().draws) == 1


@pytest.mark.parametrize(("state", "why"), [("delivered", "was delivered"), ("waiting", "may have been taken")])
def test_a_report_that_may_have_been_taken_stays_as_it_is(tmp_path, state, why):
    """Otherwise two reports of one person would count, and both say the same."""
    invite = new_invite()
    device = client(tmp_path)
    accepted = device.accept(envelope(**INVITED))
    old = device.answer(accepted, "q1", True, invite=invite, segments={"sport": "ski"})
    assert device._ledger.attempt(old.id)
    device._ledger.mark(old.id, state)
    for changes in ({"invite": new_invite()}, {"invite": invite, "segments": {"sport": "run"}}):
        with pytest.raises(ParameterError, match=f"those of the first answer: that report {why}"):
            device.answer(accepted, "q1", never, **changes)
    assert device.answer(accepted, "q1", never, invite=invite) == old


def test_a_carried_report_was_handed_over(tmp_path):
    device = client(tmp_path)
    accepted = device.accept(envelope(collector="carried", segments={"sport": ["run", "ski"]}))
    old = device.answer(accepted, "q1", True, segments={"sport": "ski"})
    assert [report.state for report in device._ledger.outbox()] == ["carried"]
    with pytest.raises(ParameterError, match="was handed over"):
        device.answer(accepted, "q1", never, segments={"sport": "run"})
    assert device.answer(accepted, "q1", never) == old


def test_the_rule_catches_a_device_that_forgets_what_it_sent(tmp_path):
    """The planted bug: an attempt that is not recorded, and two reports of one person are counted."""
    collector = SimulatedCollector([survey(**INVITED)])
    device = client(tmp_path)
    accepted = device.accept(envelope(**INVITED))
    collector.send(COLLECTOR, device.answer(accepted, "q1", True, invite=new_invite()).to_bytes())
    collector.send(COLLECTOR, device.answer(accepted, "q1", never, invite=new_invite()).to_bytes())
    assert len(collector.reports) == 2
