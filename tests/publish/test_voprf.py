"""The oblivious function: the vectors of RFC 9497 (appendix A.1.2, suite ristretto255-SHA512 in mode VOPRF), and the
Rust library behind PyPI's `voprf`, which we did not write, in both directions."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from voprf import ristretto

from rrcollect.errors import ParameterError
from tests.inside.publish import voprf

GIVEN = json.loads((Path(__file__).parents[1] / "vectors" / "voprf.json").read_text(encoding="utf-8"))
KEYS = voprf.KeyPair(bytes.fromhex(GIVEN["skSm"]), bytes.fromhex(GIVEN["pkSm"]))
ALONE = [vector for vector in GIVEN["vectors"] if vector["Batch"] == 1]
ORDER = 2**252 + 27742317777372353535851937790883648493


def of(vector: dict, name: str) -> list[bytes]:
    return [bytes.fromhex(one) for one in vector[name].split(",")]


def test_the_keys_of_the_rfc():
    assert voprf.derived_keys(bytes.fromhex(GIVEN["seed"]), bytes.fromhex(GIVEN["keyInfo"])) == KEYS


@pytest.mark.parametrize("vector", GIVEN["vectors"])
def test_elements_and_outputs_of_the_rfc(vector):
    names = ("Input", "Blind", "BlindedElement", "EvaluationElement", "Output")
    for given, blind, element, made, output in zip(*(of(vector, name) for name in names), strict=True):
        assert voprf.blinded(given, blind) == element
        assert voprf.evaluated(KEYS, element)[0] == made
        assert voprf.finalised(given, blind, made) == output == voprf.output_of(KEYS, given)


@pytest.mark.parametrize("vector", ALONE)
def test_proofs_of_the_rfc(vector):
    (element,), (made,) = of(vector, "BlindedElement"), of(vector, "EvaluationElement")
    fixed, proof = bytes.fromhex(vector["Proof"]["r"]), bytes.fromhex(vector["Proof"]["proof"])
    assert voprf.evaluated(KEYS, element, lambda n: fixed + bytes(n - 32)) == (made, proof)
    assert voprf.proves(proof, KEYS.public, element, made)


def altered(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def test_every_changed_byte_of_a_proof_is_seen():
    keys, element = voprf.derived_keys(bytes(32), b"one"), voprf.blinded(b"nonce", voprf.new_scalar())
    made, proof = voprf.evaluated(keys, element)
    other = voprf.derived_keys(bytes(32), b"two")
    assert voprf.proves(proof, keys.public, element, made)
    assert not any(voprf.proves(altered(proof, at), keys.public, element, made) for at in range(64))
    assert not voprf.proves(proof, other.public, element, made)
    assert not voprf.proves(proof, keys.public, made, element)
    marked, proof = voprf.evaluated(other, element)  # a key for one person: how an issuer would mark them
    assert not voprf.proves(proof, keys.public, element, marked)


@pytest.mark.parametrize(
    "hostile",
    [b"", bytes(32), bytes(31), b"\xff" * 32, b"\1" + bytes(31), bytes(33), ORDER.to_bytes(32, "little"), bytes(64)],
)
def test_what_is_not_an_element_is_refused(hostile):
    keys = voprf.derived_keys(bytes(32), b"")
    element = voprf.blinded(b"x", voprf.new_scalar())
    made, proof = voprf.evaluated(keys, element)
    assert not voprf.is_element(hostile)
    assert not voprf.proves(proof, hostile, element, made)
    assert not voprf.proves(proof, keys.public, hostile, made)
    assert not voprf.proves(proof, keys.public, element, hostile)
    if len(hostile) == 32:
        with pytest.raises(ParameterError, match="other than the identity"):
            voprf.evaluated(keys, hostile)


@pytest.mark.parametrize("scalar", [0, ORDER, ORDER + 5, 2**256 - 1])
def test_a_proof_of_other_scalars_is_refused(scalar):
    keys, element = voprf.derived_keys(bytes(32), b""), voprf.blinded(b"x", voprf.new_scalar())
    made, proof = voprf.evaluated(keys, element)
    text = scalar.to_bytes(32, "little")
    assert not voprf.proves(text + proof[32:], keys.public, element, made)
    assert not voprf.proves(proof[:32] + text, keys.public, element, made)


def test_a_seed_of_another_length_is_refused():
    with pytest.raises(ParameterError, match="32 bytes"):
        voprf.derived_keys(bytes(31), b"")


@pytest.mark.parametrize("size", [1, 17, 96])
def test_our_device_and_the_other_library_s_issuer_agree(size):
    seed, info, given, blind = os.urandom(32), os.urandom(size), os.urandom(size), voprf.new_scalar()
    theirs, ours = ristretto.Evaluator.from_seed(seed, info), voprf.derived_keys(seed, info)
    assert theirs.public_key.serialize() == ours.public
    element = voprf.blinded(given, blind)
    reply = theirs.evaluate(ristretto.BlindedInput.deserialize(element)).serialize()
    made, proof = parts(reply)
    assert voprf.proves(proof, ours.public, element, made)
    assert voprf.finalised(given, blind, made) == theirs.evaluate_known_input(given) == voprf.output_of(ours, given)


@pytest.mark.parametrize("size", [1, 17, 96])
def test_the_other_library_s_device_and_our_issuer_agree(size):
    seed, info, given = os.urandom(32), os.urandom(size), os.urandom(size)
    keys = voprf.derived_keys(seed, info)
    device, element = ristretto.Client.blind(given)
    made, proof = voprf.evaluated(keys, element.serialize())
    reply = ristretto.VerifiableOutput.deserialize(joined(made, proof))
    public = ristretto.PublicKey.deserialize(keys.public)
    assert device.finalize(reply, public) == voprf.output_of(keys, given)
    with pytest.raises(ValueError, match="proof"):
        device.finalize(ristretto.VerifiableOutput.deserialize(joined(made, altered(proof, 40))), public)


def parts(reply: bytes) -> tuple[bytes, bytes]:
    """Element and proof of the other library's reply."""
    assert len(reply) == 96
    return reply[64:], reply[:64]


def joined(made: bytes, proof: bytes) -> bytes:
    return proof + made
