"""Documents: every good vector is accepted, every bad one refused by name, no random byte is drawn, no bit can flip."""

import base64
import os
from typing import Annotated

import pytest
from pydantic import PlainValidator

import rrcollect.errors
from rrcollect import ParameterError, Policy, PublicKey, RRCollectError, SigningKey, SurveyRefused, TrustedPublisher
from rrcollect.errors import OverPolicy
from tests.inside.answer import SeenVersion, marked
from tests.support.devices import KEY, POLICY, VECTORS, cases, envelope, moment, survey, unb64, vector_policy
from tests.vectors.make import texts
from tests.vectors.parts import PUBLISHER

GOOD, BAD = cases("surveys", "good_"), cases("surveys", "bad_")


@pytest.fixture
def no_randomness(monkeypatch):
    """Any draw from the operating system's generator fails the test."""

    def fail(n):
        raise AssertionError("a random byte was drawn")

    monkeypatch.setattr(os, "urandom", fail)
    with pytest.raises(AssertionError):
        os.urandom(1)  # the guard works


def judge(case):
    seen = {(PUBLISHER, "clean-sport"): SeenVersion(**case["seen"])} if "seen" in case else None
    return vector_policy(case).accept(unb64(case["envelope"]), now=moment(case["now"]), seen=seen)


def test_there_are_enough_bad_documents():
    assert len(BAD) >= 200
    assert len(GOOD) >= 10


@pytest.mark.parametrize("case", GOOD.values(), ids=GOOD)
def test_good_documents_are_accepted(case, no_randomness):
    accepted = judge(case)
    assert accepted.digest == case["digest"] == accepted.survey.digest
    assert accepted.signers
    assert set(marked(accepted.survey.say(accepted.survey.title))) <= set(accepted.explain().split("\n"))


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_bad_documents_are_refused_by_name(case, no_randomness):
    with pytest.raises(SurveyRefused) as caught:
        judge(case)
    assert type(caught.value).__name__ == case["error"]
    assert len(str(caught.value)) < 600
    assert str(caught.value).isprintable()


def test_the_vectors_are_what_their_command_makes():
    for path, text in texts().items():
        assert (VECTORS / path).read_text(encoding="utf-8") == text, path


def test_every_error_for_documents_has_a_vector():
    named = {case["error"] for case in BAD.values()}
    classes = [c for c in vars(rrcollect.errors).values() if isinstance(c, type) and issubclass(c, SurveyRefused)]
    of_an_answer = {"NotOpen", "RoundClosed", "SplitLog", "SurveyWithdrawn"}  # by the clock, or the ledger
    assert named == {c.__name__ for c in classes} - {"SurveyRefused"} - of_an_answer


def accepted_flips(signed: bytes) -> int:
    """How many of all single-bit flips of an envelope are accepted."""
    accepted = 0
    for position in range(len(signed) * 8):
        flipped = bytearray(signed)
        flipped[position // 8] ^= 1 << position % 8
        try:
            POLICY.accept(bytes(flipped))
        except RRCollectError:
            continue
        except ValueError:  # the planted bug's own decoder
            continue
        accepted += 1
    return accepted


@pytest.mark.no_cover
def test_no_single_bit_of_a_signed_survey_can_be_flipped():
    POLICY.accept(envelope())
    assert accepted_flips(envelope()) == 0


@pytest.mark.no_cover
def test_the_flip_test_catches_a_verifier_that_ignores_spelling(monkeypatch):
    """A planted bug: without the canonical check some flips (stray base64 bits) would be accepted."""
    from tests.inside.publish import envelope as module

    class Lenient(module.Envelope):
        payload: Annotated[bytes, PlainValidator(lambda value: base64.b64decode(value + "=="))]

    padded = (made for made in (envelope(name="s" * n) for n in (1, 2)) if b'="' in made.partition(b"payloadType")[0])
    signed = next(padded)  # base64 has stray bits where it is padded
    monkeypatch.setattr(module, "Envelope", Lenient)
    assert accepted_flips(signed) > 0


def test_truncations_are_refused():
    signed = envelope()
    for length in range(len(signed)):
        with pytest.raises(RRCollectError):
            POLICY.accept(signed[:length])


def test_the_clock_can_be_given_or_read():
    assert POLICY.accept(envelope()).survey.name == "clean-sport"
    with pytest.raises(ParameterError, match="envelope's bytes"):
        POLICY.accept(envelope().decode())


def test_the_devices_own_reading_wins_over_the_claim():
    """A document may claim more loss than there is; the device charges what the matrix really costs."""
    from rrcollect import Promise
    from tests.support.devices import question

    loose = envelope(question(promise=Promise.of(2, "1/10")))
    assert str(POLICY.cost(POLICY.accept(loose).survey.question("q1"))) == "(ε, δ) = (ln(3), 0)"


def test_composition_is_exact():
    from tests.support.devices import question

    whole = survey(question(rounds=4), question(id="q2", attribute="b", design=question().design)).composition
    assert str(whole.whole.epsilon) == "ln(243)"
    assert "(4 rounds)" in whole.explain()
    assert "factor of at most 243" in whole.explain()


def test_rotation_with_two_of_three_keys():
    a, b, c = (SigningKey.generate() for _ in range(3))
    policy = Policy([TrustedPublisher(PUBLISHER, [a.public, b.public, c.public], threshold=2)])
    one = survey().publish([a])
    with pytest.raises(rrcollect.errors.UntrustedKey, match="1 of 2"):
        policy.accept(one.envelope)
    two = one.sign(c)
    assert policy.accept(two.envelope).digest == two.digest == survey().digest
    with pytest.raises(rrcollect.errors.KeyCountedTwice):
        two.sign(c)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Policy(max_ratio=1),
        lambda: Policy(max_epsilon=-1),
        lambda: Policy(lifetime_delta=2),
        lambda: Policy(allow_disclosure="yes"),
        lambda: Policy([TrustedPublisher("a", [KEY.public]), TrustedPublisher("a", [KEY.public])]),
        lambda: TrustedPublisher("a", []),
        lambda: TrustedPublisher("a", ["key"]),
        lambda: TrustedPublisher("a", [["key"]]),
        lambda: TrustedPublisher("a", [KEY.public], threshold=2),
        lambda: TrustedPublisher("a", [KEY.public], threshold=0),
        lambda: PublicKey(b"short"),
        lambda: Policy(["a publisher"]),
    ],
)
def test_bad_policies(make):
    with pytest.raises(ParameterError):
        make()


def test_one_key_instead_of_a_list_is_named():
    with pytest.raises(ParameterError, match=r"PublicKey.*a list of one PublicKey or more"):
        TrustedPublisher("a", KEY.public)


def test_a_policy_that_pins_takes_no_survey_of_ones_own():
    """A publisher that signs another survey for each person is told apart by the digest."""
    mine, theirs = envelope(), envelope(thanks="Thank you, number 7")
    digest = POLICY.accept(mine).digest
    pinned = Policy(POLICY.publishers, digests=[digest])
    accepted = pinned.accept(mine)
    assert accepted.digest == digest
    with pytest.raises(OverPolicy, match="pins"):
        pinned.accept(theirs)
    with pytest.raises(OverPolicy, match="pins"):
        pinned.check_trust(POLICY.accept(theirs))
    for wrong in ("", digest, [digest[:-1]], [digest.upper()], [7], None):
        with pytest.raises(ParameterError):
            Policy(POLICY.publishers, digests=wrong)


def test_people_see_the_beginning_of_the_digest():
    accepted = POLICY.accept(envelope())
    short = " ".join(accepted.digest[i : i + 4] for i in range(0, 24, 4))
    assert f"Fingerprint of this survey: {short}." in accepted.explain()
    assert f": {short}." in accepted.explain("de")
