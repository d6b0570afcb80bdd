"""A withdrawal is signed as a survey is, under a label of its own, and says exactly which survey it ends."""

import json
from datetime import UTC, datetime

import pytest

from rrcollect import ParameterError, SigningKey, errors
from rrcollect.errors import MalformedDocument, UntrustedKey
from rrcollect.publish.envelope import read_withdrawal
from tests.inside.publish import Withdrawal, verify
from tests.support.command_line import main, refused, signed_survey
from tests.support.devices import KEY, cases, envelope, survey, unb64, vector_policy

GOOD, BAD = cases("withdrawals", "good_"), cases("withdrawals", "bad_")


def judged(case):
    """The withdrawal of a vector, as a device reads it."""
    return vector_policy(case).accept_withdrawal(unb64(case["envelope"]))


@pytest.mark.parametrize("case", GOOD.values(), ids=GOOD)
def test_good_withdrawals_are_taken(case):
    assert judged(case).survey == case["survey"]


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_bad_withdrawals_are_refused_by_name(case):
    with pytest.raises(getattr(errors, case["error"])) as caught:
        judged(case)
    assert type(caught.value).__name__ == case["error"]


def test_the_vectors_would_notice_a_reader_that_skips_a_check():
    """The planted bugs: a label that is not looked at, keys that are not counted, a spelling that is not compared."""
    assert {"bad_labelled_as_a_survey", "bad_one_of_two_needed_keys", "bad_payload_spaced"} <= set(BAD)
    case = BAD["bad_labelled_as_a_survey"]
    payload = verify(unb64(case["envelope"]), vector_policy(case).keys).payload  # a survey's label
    assert Withdrawal.from_payload(payload).survey  # all else of it is right
    case = BAD["bad_one_of_two_needed_keys"]
    assert read_withdrawal(unb64(case["envelope"]), vector_policy(case).keys)


def test_a_survey_is_withdrawn_by_its_digest_and_no_other():
    made = survey().withdraw([KEY], moment=datetime(2026, 5, 1, 12, tzinfo=UTC))
    read, _ = read_withdrawal(made, [KEY.public])
    assert survey().withdrawn_by(read)
    assert not survey(title="Another").withdrawn_by(read)
    assert not survey(version=2).withdrawn_by(read)
    assert json.loads(read.payload()) == {
        "survey": survey().digest,
        "publisher": "Example Institute",
        "name": "clean-sport",
        "version": 1,
        "moment": "2026-05-01T12:00:00Z",
    }
    with pytest.raises(MalformedDocument):
        read_withdrawal(envelope(), [KEY.public])  # a survey's signature never withdraws it
    with pytest.raises(UntrustedKey):
        read_withdrawal(made, [SigningKey.generate().public])


@pytest.mark.parametrize("keys", [[], KEY, [KEY.public]])
def test_a_withdrawal_is_signed_by_signing_keys(keys):
    with pytest.raises(ParameterError):
        survey().withdraw(keys)
    with pytest.raises(ParameterError):
        read_withdrawal("text", [KEY.public])


# ---- the command ----------------------------------------------------------------------------------------------------


def test_the_command_signs_a_withdrawal_with_a_key_that_signed_the_survey(tmp_path, monkeypatch, capsys):
    signed_survey(tmp_path)
    monkeypatch.chdir(tmp_path)
    words = ["withdraw", "survey.signed.json", "--key", "publisher.pem", "--out", "withdrawal.json"]
    assert main(words) == 0
    capsys.readouterr()
    key = SigningKey.load(tmp_path / "publisher.pem").public
    read, _ = read_withdrawal((tmp_path / "withdrawal.json").read_bytes(), [key])
    assert read.name == "clean-sport"
    refused(capsys, 4, "exists already", *words)
    assert main(["keygen", "--out", "other.pem"]) == 0
    capsys.readouterr()
    other = ["withdraw", "survey.signed.json", "--key", "other.pem", "--out", "other.json"]
    refused(capsys, 3, "no signature of this envelope is by a key", *other)
    assert not (tmp_path / "other.json").exists()
