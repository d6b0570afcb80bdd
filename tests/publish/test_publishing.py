"""Keys, envelopes (against securesystemslib's DSSE), surveys and the last chance before publishing."""

import json
import os
import pickle
import stat

import pytest
from securesystemslib.dsse import Envelope
from securesystemslib.signer import CryptoSigner, SSlibKey

from rrcollect import (
    Design,
    Disclosure,
    ParameterError,
    Promise,
    PublicKey,
    Question,
    SigningKey,
    Survey,
    optimal_design,
)
from rrcollect.errors import (
    CertainDisclosure,
    ClaimTooSmall,
    Expired,
    KeyFileError,
    MalformedDocument,
    NotOriented,
    OffGridDesign,
    Oversize,
    UntrustedKey,
)
from tests.inside.publish import SURVEY_TYPE, pae, seal, verify
from tests.support.devices import FAR, KEY, question, survey

# ---- keys ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("password", [None, "correct horse"])
def test_keys_are_stored_for_their_owner_only(tmp_path, password):
    key = SigningKey.generate()
    key.save(tmp_path / "key.pem", password)
    assert stat.S_IMODE(os.stat(tmp_path / "key.pem").st_mode) == 0o600
    assert SigningKey.load(tmp_path / "key.pem", password).public == key.public
    with pytest.raises(KeyFileError, match="never overwritten"):
        key.save(tmp_path / "key.pem")


def test_a_key_others_may_read_is_refused(tmp_path):
    SigningKey.generate().save(tmp_path / "key.pem")
    os.chmod(tmp_path / "key.pem", 0o644)
    with pytest.raises(KeyFileError, match="chmod 600"):
        SigningKey.load(tmp_path / "key.pem")


def test_bad_key_files(tmp_path):
    key = SigningKey.generate()
    key.save(tmp_path / "locked.pem", "secret")
    for password in (None, "wrong"):
        with pytest.raises(KeyFileError, match="password is wrong or missing"):
            SigningKey.load(tmp_path / "locked.pem", password)
    (tmp_path / "junk.pem").write_text("junk")
    os.chmod(tmp_path / "junk.pem", 0o600)
    with pytest.raises(KeyFileError, match="is not a private key"):
        SigningKey.load(tmp_path / "junk.pem")
    with pytest.raises(KeyFileError, match="cannot be read"):
        SigningKey.load(tmp_path / "absent.pem")
    with pytest.raises(KeyFileError, match="cannot be written"):
        key.save(tmp_path / "no" / "folder.pem")
    with pytest.raises(KeyFileError, match="empty"):
        key.save(tmp_path / "x.pem", "")
    with pytest.raises(KeyFileError):
        PublicKey.from_pem(b"junk")


def test_other_kinds_of_keys_are_refused(tmp_path):
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    other = ec.generate_private_key(ec.SECP256R1())
    pem = other.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "ec.pem").write_bytes(pem)
    os.chmod(tmp_path / "ec.pem", 0o600)
    with pytest.raises(KeyFileError, match="not Ed25519"):
        SigningKey.load(tmp_path / "ec.pem")
    public = other.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    with pytest.raises(KeyFileError, match="not Ed25519"):
        PublicKey.from_pem(public)


def test_private_bytes_are_not_shown_or_pickled(tmp_path):
    key = SigningKey.generate()
    key.save(tmp_path / "key.pem")
    secret = (tmp_path / "key.pem").read_text().splitlines()[1]
    assert secret not in repr(key)
    with pytest.raises(TypeError):
        pickle.dumps(key)
    assert PublicKey.from_pem(key.public.to_pem()) == key.public
    with pytest.raises(AttributeError):
        key.public.raw = b""
    assert key.public.key_id[:16] in repr(key.public)


# ---- envelopes ------------------------------------------------------------------------------------------------------


def test_our_envelope_verifies_with_securesystemslib():
    data = json.loads(survey().publish([KEY]).envelope)
    theirs = Envelope.from_dict(data)
    public = SSlibKey(KEY.public.key_id, "ed25519", "ed25519", {"public": KEY.public.raw.hex()})
    assert theirs.pae() == pae(SURVEY_TYPE, survey().payload())
    assert set(theirs.verify([public], 1)) == {KEY.public.key_id}


def test_an_envelope_of_securesystemslib_verifies_here():
    signer = CryptoSigner.generate_ed25519()
    raw = (
        PublicKey(bytes.fromhex(signer.public_key.keyval["public"]))
        if len(signer.public_key.keyval["public"]) == 64
        else None
    )
    raw = raw or PublicKey.from_pem(signer.public_key.keyval["public"].encode())
    theirs = Envelope(survey().payload(), SURVEY_TYPE, {})
    theirs.sign(signer)
    data = theirs.to_dict()
    for signature in data["signatures"]:
        signature["keyid"] = raw.key_id
    from tests.inside.publish import canonical

    assert verify(canonical(data), [raw]).payload == survey().payload()


def test_sealing_needs_distinct_keys():
    with pytest.raises(ParameterError, match="one signing key"):
        seal(b"{}", [])
    with pytest.raises(ParameterError, match="distinct"):
        seal(b"{}", [KEY, KEY])


def test_a_second_signer_needs_the_signed_file_and_a_key_of_the_first_alone():
    second, envelope = SigningKey.generate(), survey().publish([KEY]).envelope
    opened = Survey.signed(envelope, [KEY.public])
    assert (opened.survey, opened.envelope, opened.digest) == (survey(), envelope, survey().digest)
    both = opened.sign(second).envelope
    assert verify(both, [KEY.public, second.public]).signers == {KEY.public, second.public}
    with pytest.raises(UntrustedKey):  # what nobody known has signed is not read
        Survey.signed(envelope, [second.public])


# ---- surveys --------------------------------------------------------------------------------------------------------


def test_a_survey_has_one_spelling():
    made = survey(question(), segments={"sport": ["ski", "run"]})
    again = Survey.from_payload(made.payload())
    assert again == made
    assert again.digest == made.digest
    assert b"." not in made.payload().replace(b"collect.example.org", b"")  # no float anywhere


def test_the_promise_defaults_to_what_the_design_was_chosen_for():
    chosen = question(design=optimal_design(1, "1/100"))
    assert chosen.promise == Promise.of(1, "1/100")
    assert question(design=Design("3/4", "3/4")).promise == Promise.of("ln 3", 0)
    assert question(design=Design(1, "1/4")).promise == Promise.of(0, "1/4")


@pytest.mark.parametrize(
    "make",
    [
        lambda: question(id="Q 1"),
        lambda: question(text=""),
        lambda: question(text="\u202e"),
        lambda: question(design="3/4"),
        lambda: question(design={"p00": 0.75, "p11": "3/4"}),
        lambda: question(promise="strong"),
        lambda: question(rounds=0),
        lambda: question(rounds=True),
        lambda: question(unknown=1),
        lambda: survey(expires="tomorrow"),
        lambda: survey(expires=FAR.replace(tzinfo=None)),
        lambda: survey(version="1"),
        lambda: survey(question(), question()),
        lambda: survey(segments={"sport": ["ski", "ski"]}),
        lambda: Disclosure(exposed=1),
    ],
)
def test_malformed_documents(make):
    with pytest.raises(MalformedDocument):
        make()


def test_publishing_checks_what_devices_would_refuse():
    for bad, error in (
        (question(design=Design("2/3", "2/3")), OffGridDesign),
        (question(design=Design("1/4", "1/4")), NotOriented),
        (question(promise=Promise.of(1, 0)), ClaimTooSmall),
    ):
        with pytest.raises(error):
            survey(bad).publish([KEY])
    with pytest.raises(NotOriented):
        Question(id="q", attribute="a", text="t", design={"p00": "1/4", "p11": "3/4"}, promise=Promise.of(1, 0))


def test_a_disclosing_design_is_not_published_by_accident():
    proof = optimal_design(1, "1/64", prevalence="1/1000")
    assert proof.proofs == ("yes",)
    with pytest.raises(CertainDisclosure) as caught:
        survey(question(design=proof)).publish([KEY])
    assert 'a "yes" would be a proof' in str(caught.value)
    assert "Otherwise use p00 = 0.7" in str(caught.value)
    meant = question(design=proof, disclosure=Disclosure(exposed=1, respondents=1000))
    publication = survey(meant).publish([KEY])
    assert publication.composition.whole == Promise.of(0, "1/64")
    assert "except with probability 0.01563" in publication.composition.explain()


@pytest.mark.parametrize("said", [(0, 1), (0, 1000), (16, 1000), (1000, 1000)])
def test_a_disclosure_that_cannot_be_true_is_refused(said):
    proof = optimal_design(1, "1/64", prevalence="1/1000")
    with pytest.raises(MalformedDocument, match="exposed"):
        survey(question(design=proof, disclosure=Disclosure(exposed=said[0], respondents=said[1]))).publish([KEY])


def test_what_no_device_would_take_is_not_published():
    long = [question(id=f"q{i}", attribute=f"a{i}", text="x" * 2000) for i in range(200)]
    with pytest.raises(Oversize):
        survey(*long).publish([KEY])
    with pytest.raises(Expired):
        survey(expires=FAR.replace(year=2001)).publish([KEY])
    for expires in ("1000-01-01T00:00:00Z", "1-01-01T00:00:00Z", FAR.replace(year=9999)):
        with pytest.raises(MalformedDocument):
            survey(expires=expires)


def test_nearly_a_proof_is_one():
    from fractions import Fraction

    near = Design(1 - Fraction(1, 2**30), "1/2")
    with pytest.raises(CertainDisclosure, match="as good as a proof"):
        survey(question(design=near)).publish([KEY])
