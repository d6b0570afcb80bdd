"""Envelopes: bytes, parts, signatures, and what a policy refuses."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from rrcollect import Design
from tests.inside.publish import SURVEY_TYPE, canonical, pae
from tests.vectors.parts import (
    ALICE,
    BOB,
    GOOD_ENVELOPE,
    MALLORY,
    MEANT,
    OPEN,
    POLICY,
    PROOF,
    PUBLISHER,
    SURVEY,
    TWO_KEYS,
    b64,
    parts,
    signed,
    with_parts,
    with_question,
    with_survey,
)


def bad_bytes() -> Iterator[tuple[str, str, bytes]]:
    text = GOOD_ENVELOPE
    yield "empty", "MalformedDocument", b""
    yield "not_json", "MalformedDocument", b"survey"
    yield "truncated", "MalformedDocument", text[:-1]
    yield "truncated_half", "MalformedDocument", text[: len(text) // 2]
    yield "trailing_bytes", "MalformedDocument", text + b"{}"
    yield "trailing_newline", "NotCanonical", text + b"\n"
    yield "leading_space", "NotCanonical", b" " + text
    yield "byte_order_mark", "MalformedDocument", b"\xef\xbb\xbf" + text
    yield "utf16", "MalformedDocument", text.decode().encode("utf-16")
    yield "invalid_utf8", "MalformedDocument", text.replace(b"payload", b"pay\xffload", 1)
    yield "nul_byte", "MalformedDocument", text.replace(b",", b"\x00,", 1)
    yield "array", "MalformedDocument", b"[]"
    yield "string", "MalformedDocument", b'"survey"'
    yield "null", "MalformedDocument", b"null"
    yield "number", "MalformedDocument", b"7"
    yield "float", "FloatInDocument", b"1.5"
    yield "exponent", "FloatInDocument", b"1e3"
    yield "nan", "FloatInDocument", b"NaN"
    yield "infinity", "FloatInDocument", b"-Infinity"
    yield "minus_zero", "FloatInDocument", b"-0"
    yield "huge_integer", "FloatInDocument", b"9007199254740993"
    yield "enormous_integer", "FloatInDocument", b"1" + b"0" * 5000
    yield "too_deep", "Oversize", b"[" * 40 + b"]" * 40
    yield "very_deep", "Oversize", b'{"a":' * 5_000
    yield "too_large", "Oversize", b'"' + b"a" * 262_144 + b'"'
    yield "duplicate_key", "DuplicateKey", b'{"payload":"","payload":"","payloadType":"","signatures":[]}'
    yield "indented", "NotCanonical", json.dumps(json.loads(text), indent=1, sort_keys=True).encode()
    yield (
        "keys_out_of_order",
        "NotCanonical",
        json.dumps(dict(reversed(json.loads(text).items())), separators=(",", ":")).encode(),
    )
    yield "escaped_letter", "NotCanonical", text.replace(b'"payload"', b'"p\\u0061yload"', 1)
    yield "escaped_slash", "NotCanonical", text.replace(b"application/", b"application\\/", 1)


def bad_parts() -> Iterator[tuple[str, str, bytes]]:
    for field in ("payload", "payloadType", "signatures"):
        yield f"without_{field}", "MalformedDocument", with_parts(lambda e, f=field: e.pop(f))
        yield f"{field}_null", "MalformedDocument", with_parts(lambda e, f=field: e.update({f: None}))
        yield f"{field}_number", "MalformedDocument", with_parts(lambda e, f=field: e.update({f: 7}))
    yield "extra_field", "MalformedDocument", with_parts(lambda e: e.update(extra=1))
    yield "signature_text", "MalformedDocument", with_parts(lambda e: e.update(signatures=["x"]))
    yield "signature_without_keyid", "MalformedDocument", with_parts(lambda e: e["signatures"][0].pop("keyid"))
    yield "signature_without_sig", "MalformedDocument", with_parts(lambda e: e["signatures"][0].pop("sig"))
    yield "signature_extra_field", "MalformedDocument", with_parts(lambda e: e["signatures"][0].update(alg="none"))
    yield "keyid_number", "MalformedDocument", with_parts(lambda e: e["signatures"][0].update(keyid=1))
    yield "sig_null", "MalformedDocument", with_parts(lambda e: e["signatures"][0].update(sig=None))
    yield "sig_not_base64", "MalformedDocument", with_parts(lambda e: e["signatures"][0].update(sig="!!!!"))
    yield "payload_not_base64", "MalformedDocument", with_parts(lambda e: e.update(payload="*"))
    yield "payload_unpadded", "MalformedDocument", with_parts(lambda e: e.update(payload="YQ"))
    yield "payload_line_breaks", "MalformedDocument", with_parts(lambda e: e.update(payload="YWJj\nYWJj"))
    yield "payload_urlsafe", "MalformedDocument", with_parts(lambda e: e.update(payload="_-8="))
    yield "payload_stray_bits", "NotCanonical", with_parts(lambda e: e.update(payload="YR=="))
    yield "sig_stray_bits", "NotCanonical", with_parts(stray_bits)
    yield "many_signatures", "MalformedDocument", with_parts(lambda e: e.update(signatures=e["signatures"] * 17))


def stray_bits(envelope: dict[str, Any]) -> None:
    sig = envelope["signatures"][0]["sig"]  # 64 bytes: two padding characters, four unused bits before them
    envelope["signatures"][0]["sig"] = sig[:-3] + chr(ord(sig[-3]) + 1) + "=="


def bad_signatures() -> Iterator[tuple[str, str, bytes]]:
    payload = canonical(SURVEY)
    right = parts(payload, ALICE)["signatures"][0]
    plain = {"keyid": ALICE.public.key_id, "sig": b64(ALICE.sign(payload))}
    other = parts(canonical({**SURVEY, "version": 4}), ALICE)["signatures"][0]
    relabelled = {**parts(payload, ALICE, kind="application/vnd.other+json")["signatures"][0]}
    yield "no_signature", "MissingSignature", with_parts(lambda e: e.update(signatures=[]))
    yield "unknown_key", "UntrustedKey", signed(payload, MALLORY)
    yield "two_unknown_keys", "UntrustedKey", signed(payload, MALLORY, BOB)
    yield "key_twice", "KeyCountedTwice", with_parts(lambda e: e.update(signatures=[right, right]))
    yield (
        "unknown_key_twice",
        "KeyCountedTwice",
        with_parts(lambda e: e.update(signatures=[right, *parts(payload, BOB, BOB)["signatures"]])),
    )
    yield "signature_without_label", "BadSignature", with_parts(lambda e: e.update(signatures=[plain]))
    yield "signature_of_another_version", "BadSignature", with_parts(lambda e: e.update(signatures=[other]))
    yield "signature_for_another_purpose", "BadSignature", with_parts(lambda e: e.update(signatures=[relabelled]))
    yield "signature_zero", "BadSignature", with_parts(lambda e: e["signatures"][0].update(sig=b64(bytes(64))))
    yield "signature_short", "BadSignature", with_parts(lambda e: e["signatures"][0].update(sig=b64(bytes(63))))
    yield (
        "signature_long",
        "BadSignature",
        with_parts(lambda e: e["signatures"][0].update(sig=b64(base64.b64decode(right["sig"]) + b"\0"))),
    )
    yield "signature_empty", "BadSignature", with_parts(lambda e: e["signatures"][0].update(sig=""))
    yield (
        "signature_by_another_under_a_trusted_name",
        "BadSignature",
        with_parts(lambda e: e["signatures"][0].update(sig=b64(MALLORY.sign(pae(SURVEY_TYPE, payload))))),
    )
    yield "good_and_bad_signature", "UntrustedKey", signed(canonical({**SURVEY, "publisher": "Somebody Else"}), ALICE)
    yield (
        "wrong_payload_type",
        "MalformedDocument",
        signed(payload, ALICE, kind="application/vnd.rrcollect.report.v1+json"),
    )
    yield "empty_payload_type", "MalformedDocument", signed(payload, ALICE, kind="")
    yield (
        "swapped_payload",
        "BadSignature",
        with_parts(lambda e: e.update(payload=b64(canonical({**SURVEY, "version": 9})))),
    )


def bad_payloads() -> Iterator[tuple[str, str, bytes]]:
    yield "payload_empty", "MalformedDocument", signed(b"")
    yield "payload_array", "MalformedDocument", signed(b"[]")
    yield "payload_not_json", "MalformedDocument", signed(b"survey")
    yield "payload_spaced", "NotCanonical", signed(json.dumps(SURVEY, sort_keys=True).encode())
    yield "payload_out_of_order", "NotCanonical", signed(json.dumps(SURVEY, separators=(",", ":")).encode())
    yield (
        "payload_duplicate_key",
        "DuplicateKey",
        signed(canonical(SURVEY).replace(b'"version":3', b'"version":3,"version":4')),
    )
    yield "payload_too_deep", "Oversize", signed(b"[" * 40 + b"]" * 40)
    yield "payload_utf16", "MalformedDocument", signed(canonical(SURVEY).decode().encode("utf-16"))
    yield "half_surrogate", "MalformedDocument", with_survey(title={"en": "a\ud800b"})
    yield (
        "escaped_half_surrogate",
        "MalformedDocument",
        signed(canonical(SURVEY).replace(b"Clean sport", b"Clean \\ud800")),
    )


def bad_for_a_policy() -> Iterator[tuple[str, str, bytes, dict[str, Any]]]:
    payload = canonical(SURVEY)
    yield "one_of_two_needed_keys", "UntrustedKey", GOOD_ENVELOPE, TWO_KEYS
    twice = [parts(payload, ALICE)["signatures"][0]] * 2
    yield "one_key_twice_for_two", "KeyCountedTwice", with_parts(lambda e: e.update(signatures=twice)), TWO_KEYS
    yield (
        "key_of_another_publisher",
        "UntrustedKey",
        GOOD_ENVELOPE,
        {
            **POLICY,
            "publishers": [
                {"name": PUBLISHER, "keys": [BOB.public.raw.hex()], "threshold": 1},
                {"name": "Other", "keys": [ALICE.public.raw.hex()], "threshold": 1},
            ],
        },
    )
    yield "nobody_trusted", "UntrustedKey", GOOD_ENVELOPE, {**POLICY, "publishers": []}
    yield "expired", "Expired", GOOD_ENVELOPE, {**POLICY, "now": "2027-02-01T00:00:00Z"}
    yield "expired_to_the_second", "Expired", GOOD_ENVELOPE, {**POLICY, "now": "2027-01-31T00:00:00Z"}
    yield "rolled_back", "RolledBack", GOOD_ENVELOPE, {**POLICY, "seen": {"version": 4, "digest": "0" * 64}}
    yield "version_reused", "RolledBack", GOOD_ENVELOPE, {**POLICY, "seen": {"version": 3, "digest": "0" * 64}}
    yield "over_the_cap", "OverPolicy", GOOD_ENVELOPE, {**POLICY, "max_epsilon": "1"}
    yield (
        "over_the_cap_by_a_hair",
        "OverPolicy",
        GOOD_ENVELOPE,
        {**POLICY, "max_epsilon": "1098612288668109691/1000000000000000000"},
    )
    yield "proof_not_meant", "CertainDisclosure", with_survey(questions=[PROOF]), OPEN
    yield "proof_not_allowed", "CertainDisclosure", with_survey(questions=[MEANT]), POLICY
    near = Design(1 - Fraction(1, 2**30), "1/2")
    wire = {"design": near.to_wire(), "promise": {"epsilon": str(near.tight_epsilon), "delta": "0"}}
    yield "nearly_a_proof", "CertainDisclosure", with_question(**wire), OPEN
    no_proof = {"design": {"p00": "1/128", "p11": "1"}, "promise": {"epsilon": "0", "delta": "1/128"}}
    yield "no_is_a_proof", "CertainDisclosure", with_question(**no_proof), OPEN
    direct = {"design": {"p00": "1", "p11": "1"}, "promise": {"epsilon": "0", "delta": "1"}}
    yield "the_truth_itself", "CertainDisclosure", with_question(**direct), OPEN
    yield "ratio_over_the_cap", "CertainDisclosure", GOOD_ENVELOPE, {**POLICY, "max_ratio": "2"}
