"""A withdrawn survey is refused from then on, and nothing that waits of it leaves; only its publisher withdraws it."""

from datetime import UTC, datetime

import pytest

from rrcollect import Policy, SigningKey, SurveyRefused, TrustedPublisher
from rrcollect.errors import BadSignature, SurveyWithdrawn, UntrustedKey
from tests.inside.publish import WITHDRAWAL_TYPE, Withdrawal, seal
from tests.support.devices import KEY, PUBLISHER, client, envelope, question, survey
from tests.support.republishing import CountingSource

WHEN = datetime(2030, 5, 1, tzinfo=UTC)


def never():
    raise AssertionError("the truth was read")


def states(device):
    return sorted((report.question, report.state) for report in device._ledger.outbox())


def test_a_withdrawn_survey_is_refused_for_good_and_its_waiting_reports_are_stopped(tmp_path):
    source = CountingSource()
    asked = question(), question(id="q2", attribute="b"), question(id="q3", attribute="c")
    device = client(tmp_path, attributes=["doped", "b", "c"], source=source)
    accepted = device.accept(envelope(*asked))
    other = device.accept(envelope(question(id="x", attribute="b", text="Else?"), name="other"))
    made = [device.answer(accepted, name, True) for name in ("q1", "q2")]
    device.answer(other, "x", True)
    device._ledger.attempt(made[1].id)
    device._ledger.mark(made[1].id, "delivered")
    told = device.withdraw(survey(*asked).withdraw([KEY], moment=WHEN))
    assert survey(*asked).withdrawn_by(told)
    assert states(device) == [("q1", "withdrawn"), ("q2", "delivered"), ("x", "waiting")]
    device = client(tmp_path, attributes=["doped", "b", "c"], source=source)  # over a restart
    with pytest.raises(SurveyWithdrawn, match="as of 2030-05-01"):
        device.accept(envelope(*asked))
    for name in ("q1", "q3"):
        with pytest.raises(SurveyWithdrawn):
            device.answer(accepted, name, never)
    assert not device._ledger.attempt(made[0].id)
    assert device.accept(envelope(*asked, version=2))  # the way back is another version
    assert source.times == 2


def test_a_survey_that_was_never_seen_is_withdrawn_too(tmp_path):
    device = client(tmp_path)
    device.withdraw(survey().withdraw([KEY]))
    device.withdraw(survey().withdraw([KEY]))  # twice is once
    with pytest.raises(SurveyWithdrawn):
        device.accept(envelope())


def test_only_its_own_publisher_withdraws_a_survey(tmp_path):
    """Another publisher that this device trusts names the digest as its own, or the publisher with its own key."""
    stranger = SigningKey.generate()
    policy = Policy([TrustedPublisher(PUBLISHER, [KEY.public]), TrustedPublisher("Other", [stranger.public])])
    device = client(tmp_path, policy=policy)
    accepted = device.accept(envelope())
    device.answer(accepted, "q1", True)
    told = {"survey": survey().digest, "name": "clean-sport", "version": 1, "moment": WHEN}
    with pytest.raises(UntrustedKey):
        device.withdraw(seal(Withdrawal(publisher=PUBLISHER, **told).payload(), [stranger], WITHDRAWAL_TYPE))
    device.withdraw(seal(Withdrawal(publisher="Other", **told).payload(), [stranger], WITHDRAWAL_TYPE))
    assert states(device) == [("q1", "waiting")]
    assert device.accept(envelope()) == accepted
    assert device.answer(accepted, "q1", never)


def test_the_threshold_of_the_publisher_holds_for_withdrawals(tmp_path):
    second = SigningKey.generate()
    policy = Policy([TrustedPublisher(PUBLISHER, [KEY.public, second.public], threshold=2)])
    device = client(tmp_path, policy=policy)
    with pytest.raises(UntrustedKey, match="1 of 2"):
        device.withdraw(survey().withdraw([KEY]))
    device.withdraw(survey().withdraw([KEY, second]))


@pytest.mark.parametrize("damage", ["a survey's signature", "a flipped bit", "not bytes"])
def test_what_is_not_a_signed_withdrawal_withdraws_nothing(tmp_path, damage):
    device = client(tmp_path)
    signed = survey().withdraw([KEY])
    if damage == "a survey's signature":
        told = {"survey": survey().digest, "name": "clean-sport", "version": 1, "moment": WHEN}
        signed = seal(Withdrawal(publisher=PUBLISHER, **told).payload(), [KEY])  # under the label of surveys
    elif damage == "a flipped bit":
        place = signed.index(b'"sig":"') + 12
        signed = signed[:place] + (b"A" if signed[place : place + 1] != b"A" else b"B") + signed[place + 1 :]
    else:
        signed = signed.decode()
    with pytest.raises((SurveyRefused, BadSignature, ValueError)):
        device.withdraw(signed)
    assert device.accept(envelope())
