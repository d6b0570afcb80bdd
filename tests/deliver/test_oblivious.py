"""Oblivious HTTP: the vectors of RFC 9292 and RFC 9458, byte for byte."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given
from hypothesis import strategies as some
from pyhpke import KEMKey, KEMKeyPair

from rrcollect.errors import TransportFailed
from tests.inside.deliver import bhttp, encapsulation

# RFC 9292, 5.1: GET /hello.txt
REQUEST_9292 = bytes.fromhex(
    "0003474554056874747073000a2f68656c6c6f2e747874406c0a757365722d6167656e74346375726c2f372e31362e33206c69626375726c2f"
    "372e31362e33204f70656e53534c2f302e392e376c207a6c69622f312e322e3304686f73740f7777772e6578616d706c652e636f6d0f616363"
    "6570742d6c616e677561676506656e2c206d690000"
)
# RFC 9458, appendix A
PRIVATE = X25519PrivateKey.from_private_bytes(
    bytes.fromhex("3c168975674b2fa8e465970b79c8dcf09f1c741626480bd4c6162fc5b6a98e1a")
)
PUBLIC = bytes.fromhex("31e1f05a740102115220e9af918f738674aec95f54db6e04eb705aae8e798155")
EPHEMERAL = X25519PrivateKey.from_private_bytes(
    bytes.fromhex("bc51d5e930bda26589890ac7032f70ad12e4ecb37abb1b65b1256c9c48999c73")
)
REQUEST = bytes.fromhex("00034745540568747470730b6578616d706c652e636f6d012f")
SEALED = bytes.fromhex(
    "010020000100014b28f881333e7c164ffc499ad9796f877f4e1051ee6d31bad19dec96c208b4726374e469135906992e1268c594d2a10c695d"
    "858c40a026e7965e7d86b83dd440b2c0185204b4d63525"
)
REPLY = bytes.fromhex("0140c8")
NONCE = bytes.fromhex("c789e7151fcba46158ca84b04464910d")
SEALED_REPLY = bytes.fromhex("c789e7151fcba46158ca84b04464910d86f9013e404feea014e7be4a441f234f857fbd")


def ephemeral():
    return KEMKeyPair(
        KEMKey.from_pyca_cryptography_key(EPHEMERAL), KEMKey.from_pyca_cryptography_key(EPHEMERAL.public_key())
    )


def test_the_request_of_rfc_9292_is_written_and_read():
    headers = (
        (b"user-agent", b"curl/7.16.3 libcurl/7.16.3 OpenSSL/0.9.7l zlib/1.2.3"),
        (b"host", b"www.example.com"),
        (b"accept-language", b"en, mi"),
    )
    message = bhttp.Message((b"GET", b"https", b"", b"/hello.txt"), headers)
    assert message.packed(len(REQUEST_9292)) == REQUEST_9292
    for padding in (0, 1, 100):
        assert bhttp.Message.unpacked(REQUEST_9292 + bytes(padding)) == message
    assert bhttp.Message.unpacked(REQUEST_9292[:-2]) == message  # the empty parts at its end may be missing


def test_the_example_of_rfc_9458_is_made_byte_for_byte():
    message = bhttp.Message((b"GET", b"https", b"example.com", b"/"))
    assert message.packed(len(REQUEST)) == REQUEST
    sealed = encapsulation.seal_request(1, PUBLIC, REQUEST, ephemeral())
    assert sealed.data == SEALED
    opened, gateway = encapsulation.open_request(1, PRIVATE, SEALED)
    assert opened == REQUEST
    assert gateway.export(b"message/bhttp response", 16).hex() == "62d87a6ba569ee81014c2641f52bea36"
    assert bhttp.Message((b"200",)).packed(3) == REPLY
    assert encapsulation.seal_reply(gateway, REPLY, NONCE) == SEALED_REPLY
    assert encapsulation.open_reply(sealed, SEALED_REPLY) == REPLY
    assert bhttp.Message.unpacked(REPLY) == bhttp.Message((b"200",))


def test_every_request_has_a_key_of_its_own_and_a_length_of_whole_units():
    made = {encapsulation.seal_request(1, PUBLIC, bytes(encapsulation.UNIT)).enc for _ in range(8)}
    assert len(made) == 8
    assert encapsulation.whole_units(encapsulation.UNIT) == encapsulation.UNIT


@given(control=some.lists(some.binary(max_size=99), min_size=4, max_size=4).map(tuple),
       headers=some.lists(some.tuples(some.binary(max_size=99), some.binary(max_size=99)), max_size=5).map(tuple),
       content=some.binary(max_size=300))  # fmt: skip
def test_what_is_written_is_read(control, headers, content):
    message = bhttp.Message(control, headers, content)
    assert bhttp.Message.unpacked(message.packed(3000)) == message
    with pytest.raises(TransportFailed):
        message.packed(1)


@given(some.binary(max_size=200) | some.binary(max_size=60).map(lambda more: REQUEST_9292[:90] + more))
def test_bytes_of_no_message_are_refused_and_nothing_else(data):
    try:
        message = bhttp.Message.unpacked(data)
    except TransportFailed:
        return
    assert bhttp.Message.unpacked(message.packed(len(data) + 400)) == message


@pytest.mark.parametrize("data", [b"", b"\x02", b"\x01\x40\x64", b"\x01\x42\x58", b"\x00\x05GET", b"\x00" + b"\xff" * 8,
                                  REQUEST + b"\0\0\0\1", REQUEST + b"\0\0\1x"])  # fmt: skip
def test_a_message_that_is_cut_off_or_not_of_known_length_is_refused(data):
    with pytest.raises(TransportFailed):
        bhttp.Message.unpacked(data)


@pytest.mark.parametrize("place", range(0, len(SEALED), 5))
def test_a_changed_request_does_not_open(place):
    changed = bytes([*SEALED[:place], SEALED[place] ^ 1, *SEALED[place + 1 :]])
    for data in (changed, SEALED[:place]):
        with pytest.raises(TransportFailed):
            encapsulation.open_request(1, PRIVATE, data)


def test_a_changed_reply_does_not_open_and_no_other_requests():
    sealed = encapsulation.seal_request(1, PUBLIC, REQUEST, ephemeral())
    for data in (b"", SEALED_REPLY[:20], SEALED_REPLY[:-1] + b"x", b"x" + SEALED_REPLY[1:]):
        with pytest.raises(TransportFailed):
            encapsulation.open_reply(sealed, data)
    with pytest.raises(TransportFailed):
        encapsulation.open_reply(encapsulation.seal_request(1, PUBLIC, REQUEST), SEALED_REPLY)
    for key in (bytes(32), b"short"):
        with pytest.raises((TransportFailed, ValueError)):
            encapsulation.seal_request(1, key, REQUEST)
