"""Makes the test vectors that every implementation must pass.  Run: python -m tests.vectors.make

surveys/good_*.json   envelopes that must be accepted, with the digest and the costs they must give
surveys/bad_*.json    envelopes that must be refused, with the error's name
reports/good_*.json, reports/bad_*.json   likewise for reports
draws.json            64-bit draws with the answer each truth must give

Keys are derived from labels, so the files are the same on every run; they protect nothing.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from rrcollect import Design, SigningKey, optimal_design
from rrcollect.publish.canonical import canonical
from rrcollect.publish.envelope import SURVEY_TYPE, pae

HERE = Path(__file__).parent
NOW = "2026-11-01T00:00:00Z"
PUBLISHER = "Example Institute"


def key(label: str) -> SigningKey:
    return SigningKey(Ed25519PrivateKey.from_private_bytes(hashlib.sha256(label.encode()).digest()))


ALICE, BOB, MALLORY = key("alice"), key("bob"), key("mallory")
POLICY: dict[str, Any] = {
    "publishers": [{"name": PUBLISHER, "keys": [ALICE.public.raw.hex()], "threshold": 1}],
    "max_epsilon": "ln(9)",
    "max_ratio": "20",
    "allow_disclosure": False,
}
TWO_KEYS = {
    **POLICY,
    "publishers": [{"name": PUBLISHER, "keys": [ALICE.public.raw.hex(), BOB.public.raw.hex()], "threshold": 2}],
}
OPEN = {**POLICY, "allow_disclosure": True}

QUESTION: dict[str, Any] = {
    "id": "q1",
    "attribute": "doped",
    "kind": {"kind": "yes_no"},
    "text": {"en": "Have you ever doped?"},
    "help": {},
    "design": {"p00": "3/4", "p11": "3/4"},
    "promise": {"epsilon": "ln(3)", "delta": "0"},
    "rounds": 1,
    "panel": False,
    "disclosure": None,
}
SURVEY: dict[str, Any] = {
    "name": "clean-sport",
    "version": 3,
    "publisher": PUBLISHER,
    "pilot": False,
    "language": "en",
    "title": {"en": "Clean sport"},
    "introduction": {},
    "consent": {},
    "contact": {},
    "privacy": {},
    "thanks": {},
    "look": {"colour": None, "logo": None},
    "collector": "https://collect.example.org/reports",
    "origins": [],
    "opens": None,
    "expires": "2027-01-31T00:00:00Z",
    "rounds": [],
    "ask": "all",
    "minimum": 30,
    "invite_only": False,
    "segments": {"sport": {"help": {}, "label": {}, "values": [{"label": {}, "value": "run"}, {"label": {}, "value": "ski"}]}},
    "questions": [QUESTION],
}
PROOF = {**QUESTION, "design": {"p00": "1", "p11": "1/128"}, "promise": {"epsilon": "0", "delta": "1/128"}}
MEANT = {**PROOF, "disclosure": {"exposed": 1, "respondents": 1000}}


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def parts(payload: bytes, *signers: SigningKey, kind: str = SURVEY_TYPE) -> dict[str, Any]:
    message = pae(kind, payload)
    return {
        "payload": b64(payload),
        "payloadType": kind,
        "signatures": [{"keyid": s.public.key_id, "sig": b64(s.sign(message))} for s in signers],
    }


def signed(payload: bytes, *signers: SigningKey, kind: str = SURVEY_TYPE) -> bytes:
    return canonical(parts(payload, *(signers or (ALICE,)), kind=kind))


def with_survey(**changes: Any) -> bytes:
    """The survey with fields replaced (or removed, by ...), signed."""
    document = {k: v for k, v in {**SURVEY, **changes}.items() if v is not ...}
    return signed(loose(document))


def with_question(**changes: Any) -> bytes:
    question = {k: v for k, v in {**QUESTION, **changes}.items() if v is not ...}
    return with_survey(questions=[question])


def loose(value: Any) -> bytes:
    """Sorted compact JSON that also writes what canonical JSON refuses (floats, huge integers, half surrogates)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def with_parts(change: Callable[[dict[str, Any]], object]) -> bytes:
    """The good envelope with its parts changed."""
    made = copy.deepcopy(parts(canonical(SURVEY), ALICE))
    change(made)
    return loose(made)


GOOD_ENVELOPE = signed(canonical(SURVEY))
GRID = {**QUESTION, "design": optimal_design(1).to_wire(), "promise": {"epsilon": "1", "delta": "0"}}


def good() -> Iterator[tuple[str, bytes, dict[str, Any]]]:
    """(name, envelope, policy)."""
    yield "plain", GOOD_ENVELOPE, POLICY
    yield "grid_design", with_survey(questions=[GRID]), POLICY
    yield "two_signers", signed(canonical(SURVEY), ALICE, BOB), TWO_KEYS
    yield "unknown_extra_signer", signed(canonical(SURVEY), ALICE, MALLORY), POLICY
    yield "rounds", with_question(rounds=52), POLICY
    yield "looser_promise", with_question(promise={"epsilon": "2", "delta": "1/1000"}), POLICY
    yield "no_segments", with_survey(segments={}), POLICY
    yield "invite_only", with_survey(invite_only=True), POLICY
    yield "unicode", with_survey(title="Sauberer Sport – 清洁运动 🏅", segments={"sport": ["бег", "ski"]}), POLICY
    yield "two_lines", with_question(text="First line\nsecond line"), POLICY
    yield "meant_disclosure", with_survey(questions=[MEANT]), OPEN
    yield "same_version_again", GOOD_ENVELOPE, {**POLICY, "seen": {"version": 3, "digest": "same"}}
    yield "newer_version", GOOD_ENVELOPE, {**POLICY, "seen": {"version": 2, "digest": "0" * 64}}


def bad() -> Iterator[tuple[str, str, bytes, dict[str, Any]]]:
    """(name, error, envelope, policy)."""
    for name, error, envelope in [*bad_bytes(), *bad_parts(), *bad_signatures(), *bad_surveys(), *bad_questions()]:
        yield name, error, envelope, POLICY
    yield from bad_for_a_policy()


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


def bad_surveys() -> Iterator[tuple[str, str, bytes]]:
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
    yield "half_surrogate", "MalformedDocument", with_survey(title="a\ud800b")
    yield (
        "escaped_half_surrogate",
        "MalformedDocument",
        signed(canonical(SURVEY).replace(b"Clean sport", b"Clean \\ud800")),
    )
    for field in SURVEY:
        yield (
            f"survey_without_{field}",
            "MalformedDocument" if field not in ("segments", "invite_only") else "NotCanonical",
            with_survey(**{field: ...}),
        )
        yield f"survey_{field}_null", "MalformedDocument", with_survey(**{field: None})
    yield "survey_extra_field", "MalformedDocument", with_survey(tracking="on")
    for name, value in {
        "upper": "Clean",
        "empty": "",
        "long": "a" * 65,
        "newline": "clean\n",
        "space": "a b",
        "path": "../etc",
    }.items():
        yield f"name_{name}", "MalformedDocument", with_survey(name=value)
    for name, value in {"zero": 0, "negative": -1, "text": "3", "true": True, "huge": 2**40}.items():
        yield f"version_{name}", "MalformedDocument", with_survey(version=value)
    yield "version_float", "FloatInDocument", with_survey(version=3.0)
    titles = {
        "empty": "",
        "long": "x" * 201,
        "bell": "a\x07",
        "bidi": "a\u202eb",
        "zero_width": "a\u200bb",
        "space": " a",
        "tab": "a\tb",
        "number": 5,
    }
    for name, value in titles.items():
        yield f"title_{name}", "MalformedDocument", with_survey(title=value)
    dates = {
        "date_only": "2027-01-31",
        "offset": "2027-01-31T00:00:00+01:00",
        "month_13": "2027-13-01T00:00:00Z",
        "fraction": "2027-01-31T00:00:00.5Z",
        "number": 1800000000,
        "empty": "",
    }
    for name, value in dates.items():
        yield f"expires_{name}", "MalformedDocument", with_survey(expires=value)
    yield "expires_small_z", "NotCanonical", with_survey(expires="2027-01-31T00:00:00z")
    yield "expires_unpadded", "NotCanonical", with_survey(expires="2027-1-31T00:00:00Z")
    yield "questions_empty", "MalformedDocument", with_survey(questions=[])
    yield "questions_object", "MalformedDocument", with_survey(questions={"q1": QUESTION})
    yield (
        "question_id_twice",
        "MalformedDocument",
        with_survey(questions=[QUESTION, {**QUESTION, "attribute": "other"}]),
    )
    yield "attribute_twice", "MalformedDocument", with_survey(questions=[QUESTION, {**QUESTION, "id": "q2"}])
    many = [{**QUESTION, "id": f"q{i}", "attribute": f"a{i}"} for i in range(201)]
    yield "too_many_questions", "MalformedDocument", with_survey(questions=many)
    segments = {
        "array": [],
        "values_text": {"sport": "ski"},
        "no_values": {"sport": []},
        "value_twice": {"sport": ["ski", "ski"]},
        "value_number": {"sport": [1]},
        "bad_name": {"Sport!": ["ski"]},
        "control": {"sport": ["s\x00ki"]},
    }
    for name, value in segments.items():
        yield f"segments_{name}", "MalformedDocument", with_survey(segments=value)
    yield "invite_only_text", "MalformedDocument", with_survey(invite_only="yes")
    yield "invite_only_number", "MalformedDocument", with_survey(invite_only=1)


def bad_questions() -> Iterator[tuple[str, str, bytes]]:
    for field in QUESTION:
        yield (
            f"question_without_{field}",
            "MalformedDocument" if field not in ("rounds", "disclosure") else "NotCanonical",
            with_question(**{field: ...}),
        )
        if field != "disclosure":
            yield f"question_{field}_null", "MalformedDocument", with_question(**{field: None})
    yield "question_extra_field", "MalformedDocument", with_question(seed=1)
    yield "question_id_hostile", "MalformedDocument", with_question(id="<script>")
    yield "attribute_hostile", "MalformedDocument", with_question(attribute="a'; DROP TABLE draws;--")
    yield "text_control", "MalformedDocument", with_question(text="a\x1b[31mb")
    yield "text_long", "MalformedDocument", with_question(text="x" * 2001)
    matrices: dict[str, tuple[str, Any]] = {
        "float": ("FloatInDocument", {"p00": 0.75, "p11": "3/4"}),
        "number": ("MalformedDocument", {"p00": 1, "p11": "3/4"}),
        "missing": ("MalformedDocument", {"p00": "3/4"}),
        "extra": ("MalformedDocument", {"p00": "3/4", "p11": "3/4", "p01": "1/4"}),
        "array": ("MalformedDocument", ["3/4", "3/4"]),
        "decimal": ("NotCanonical", {"p00": "0.75", "p11": "3/4"}),
        "not_lowest_terms": ("NotCanonical", {"p00": "6/8", "p11": "3/4"}),
        "spaced": ("NotCanonical", {"p00": "3/4 ", "p11": "3/4"}),
        "plus": ("NotCanonical", {"p00": "+3/4", "p11": "3/4"}),
        "one_as_quotient": ("NotCanonical", {"p00": "1/1", "p11": "3/4"}),
        "division_by_zero": ("MalformedDocument", {"p00": "1/0", "p11": "3/4"}),
        "negative": ("MalformedDocument", {"p00": "-1/4", "p11": "3/4"}),
        "above_one": ("MalformedDocument", {"p00": "5/4", "p11": "3/4"}),
        "nan": ("MalformedDocument", {"p00": "nan", "p11": "3/4"}),
        "empty": ("MalformedDocument", {"p00": "", "p11": "3/4"}),
        "enormous": ("MalformedDocument", {"p00": "1" * 9000 + "/" + "2" * 9000, "p11": "3/4"}),
        "exponent_bomb": ("MalformedDocument", {"p00": "1e-999999999", "p11": "3/4"}),
        "off_grid": ("OffGridMatrix", {"p00": "2/3", "p11": "3/4"}),
        "off_grid_by_a_bit": ("OffGridMatrix", {"p00": str(Fraction(2**65 // 4 * 3 + 1, 2**65)), "p11": "3/4"}),
        "sum_one": ("NotOriented", {"p00": "1/4", "p11": "3/4"}),
        "sum_below_one": ("NotOriented", {"p00": "1/4", "p11": "1/4"}),
        "zero": ("NotOriented", {"p00": "0", "p11": "0"}),
    }  # fmt: skip
    for name, (error, value) in matrices.items():
        yield f"design_{name}", error, with_question(design=value)
    promises: dict[str, tuple[str, Any]] = {
        "too_small": ("ClaimTooSmall", {"epsilon": "1", "delta": "0"}),
        "too_small_by_a_hair": ("ClaimTooSmall", {"epsilon": "1098612288668109691/1000000000000000000", "delta": "0"}),
        "delta_too_small": ("ClaimTooSmall", {"epsilon": "1", "delta": "1/1000"}),
        "zero": ("ClaimTooSmall", {"epsilon": "0", "delta": "0"}),
        "negative": ("MalformedDocument", {"epsilon": "-1", "delta": "0"}),
        "nan": ("MalformedDocument", {"epsilon": "nan", "delta": "0"}),
        "infinite": ("MalformedDocument", {"epsilon": "inf", "delta": "0"}),
        "float": ("FloatInDocument", {"epsilon": 1.1, "delta": "0"}),
        "number": ("MalformedDocument", {"epsilon": 2, "delta": "0"}),
        "decimal": ("NotCanonical", {"epsilon": "1.5", "delta": "0"}),
        "bare_logarithm": ("NotCanonical", {"epsilon": "ln 3", "delta": "0"}),
        "delta_above_one": ("MalformedDocument", {"epsilon": "2", "delta": "2"}),
        "delta_negative": ("MalformedDocument", {"epsilon": "2", "delta": "-1/2"}),
        "missing_delta": ("MalformedDocument", {"epsilon": "2"}),
    }  # fmt: skip
    for name, (error, value) in promises.items():
        yield f"promise_{name}", error, with_question(promise=value)
    for name, value in {"zero": 0, "negative": -5, "many": 1001, "text": "1", "true": True}.items():
        yield f"rounds_{name}", "MalformedDocument", with_question(rounds=value)
    yield "disclosure_empty", "MalformedDocument", with_question(disclosure={})
    yield "disclosure_negative", "MalformedDocument", with_question(disclosure={"exposed": -1, "respondents": 10})
    yield "disclosure_nobody", "MalformedDocument", with_question(disclosure={"exposed": 0, "respondents": 0})
    yield "disclosure_impossible", "MalformedDocument", with_question(disclosure={"exposed": 900, "respondents": 1000})
    yield (
        "disclosure_of_nobody",
        "MalformedDocument",
        with_survey(questions=[{**PROOF, "disclosure": {"exposed": 0, "respondents": 10}}]),
    )
    yield (
        "disclosure_of_more_than_can_be",
        "MalformedDocument",
        with_survey(questions=[{**PROOF, "disclosure": {"exposed": 9, "respondents": 1000}}]),
    )
    yield "disclosure_true", "MalformedDocument", with_question(disclosure=True)


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


REPORT: dict[str, Any] = {
    "answer": "1",
    "design": {"p00": "3/4", "p11": "3/4"},
    "id": "0123456789abcdef0123456789abcdef",
    "question": "q1",
    "round": 0,
    "segments": {"sport": "ski"},
    "survey": hashlib.sha256(canonical(SURVEY)).hexdigest(),
    "ticket": None,
}


def good_reports() -> Iterator[tuple[str, bytes]]:
    yield "yes", canonical(REPORT)
    yield "no", canonical({**REPORT, "answer": "0"})
    yield "no_segments", canonical({**REPORT, "segments": {}})
    yield "ticket", canonical({**REPORT, "ticket": "abc"})
    yield "ticket_longest", canonical({**REPORT, "ticket": "🏅" * 128})
    yield "round", canonical({**REPORT, "round": 51})
    yield "grid_design", canonical({**REPORT, "design": optimal_design(1).to_wire()})


def bad_reports() -> Iterator[tuple[str, bytes]]:
    for field in REPORT:
        yield f"without_{field}", loose({k: v for k, v in REPORT.items() if k != field})
        if field != "ticket":
            yield f"{field}_null", loose({**REPORT, field: None})
    changes: dict[str, dict[str, Any]] = {
        "extra": {"time": 1},
        "answer_number": {"answer": 1},
        "answer_zero_number": {"answer": 0},
        "answer_true": {"answer": True},
        "answer_float": {"answer": 1.0},
        "answer_array": {"answer": ["1"]},
        "answer_empty": {"answer": ""},
        "answer_two": {"answer": "2"},
        "answer_two_characters": {"answer": "01"},
        "answer_word": {"answer": "yes"},
        "answer_spaced": {"answer": " 1"},
        "answer_minus": {"answer": "-1"},
        "answer_other_digit": {"answer": "１"},
        "id_short": {"id": "0" * 31},
        "id_upper": {"id": "A" * 32},
        "survey_short": {"survey": "0" * 63},
        "survey_upper": {"survey": "F" * 64},
        "round_negative": {"round": -1},
        "round_many": {"round": 1000},
        "round_true": {"round": True},
        "question_empty": {"question": ""},
        "question_long": {"question": "q" * 65},
        "ticket_number": {"ticket": 5},
        "ticket_empty": {"ticket": ""},
        "ticket_long": {"ticket": "x" * 129},
        "ticket_called_invite": {"invite": None},
        "segments_array": {"segments": []},
        "segments_number": {"segments": {"sport": 1}},
        "design_decimal": {"design": {"p00": "0.75", "p11": "3/4"}},
        "design_not_lowest": {"design": {"p00": "6/8", "p11": "3/4"}},
        "design_sum_one": {"design": {"p00": "1/4", "p11": "3/4"}},
        "design_above_one": {"design": {"p00": "3/2", "p11": "3/4"}},
        "design_float": {"design": {"p00": 0.75, "p11": "3/4"}},
        "design_missing": {"design": {"p00": "3/4"}},
        "design_extra": {"design": {"p00": "3/4", "p11": "3/4", "p": "1"}},
        "design_array": {"design": ["3/4", "3/4"]},
        "design_text": {"design": '{"p00":"3/4","p11":"3/4"}'},
    }
    for name, change in changes.items():
        yield name, loose({**REPORT, **change})
    yield "empty", b""
    yield "array", b"[]"
    yield "truncated", canonical(REPORT)[:-1]
    yield "spaced", json.dumps(REPORT, sort_keys=True).encode()
    yield "out_of_order", json.dumps(dict(reversed(REPORT.items())), separators=(",", ":")).encode()
    yield "duplicate_key", canonical(REPORT).replace(b'"answer":"1"', b'"answer":"1","answer":"0"')
    yield "too_large", canonical({**REPORT, "segments": {"sport": "x" * 9000}})
    yield "too_deep", b"[" * 5000
    yield "not_utf8", canonical(REPORT).replace(b"ski", b"\xff\xff\xff")
    yield "escaped_answer", canonical(REPORT).replace(b'"answer":"1"', b'"answer":"\\u0031"')
    yield "half_surrogate", canonical({**REPORT, "ticket": "abc"}).replace(b"abc", b"\\ud800")


def draws() -> list[dict[str, Any]]:
    """Draws at and around both thresholds of some designs, and the answer each truth must give."""
    made = []
    for p00, p11 in (
        ("3/4", "3/4"),
        ("1", "1/128"),
        ("1/128", "1"),
        *((str(d.p00), str(d.p11)) for d in (optimal_design(1), optimal_design(8))),
    ):
        design = Design(p00, p11)
        k00, k11 = design.numerators
        limits = (2**64 - k00, k11)
        points = {0, 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1, *(t + s for t in limits for s in (-2, -1, 0, 1))}
        for drawn in sorted(d for d in points if 0 <= d < 2**64):
            made.append(
                {
                    "design": {"p00": p00, "p11": p11},
                    "draw": f"{drawn:016x}",
                    "no": int(drawn < limits[0]),
                    "yes": int(drawn < limits[1]),
                }
            )
    return made


def files() -> Iterator[tuple[str, Any]]:
    """(path below this folder, content) of every vector."""
    for name, envelope, policy in good():
        digest = hashlib.sha256(base64.b64decode(json.loads(envelope)["payload"])).hexdigest()
        yield (
            f"surveys/good_{name}.json",
            {"now": NOW, **case(policy, digest), "digest": digest, "envelope": b64(envelope)},
        )
    for name, error, envelope, policy in bad():
        yield f"surveys/bad_{name}.json", {"now": NOW, **case(policy, ""), "error": error, "envelope": b64(envelope)}
    for name, body in good_reports():
        yield f"reports/good_{name}.json", {"report": b64(body)}
    for name, body in bad_reports():
        yield f"reports/bad_{name}.json", {"report": b64(body)}
    yield "draws.json", draws()


def case(policy: dict[str, Any], digest: str) -> dict[str, Any]:
    """The policy, with its clock and its memory beside it."""
    rules = {k: v for k, v in policy.items() if k not in ("now", "seen")}
    made: dict[str, Any] = {"policy": rules}
    if "now" in policy:
        made["now"] = policy["now"]
    if "seen" in policy:
        made["seen"] = {**policy["seen"], "digest": policy["seen"]["digest"].replace("same", digest)}
    return made


def main() -> None:
    wanted = dict(files())
    for folder in ("surveys", "reports"):
        (HERE / folder).mkdir(exist_ok=True)
        for old in (HERE / folder).glob("*.json"):
            if f"{folder}/{old.name}" not in wanted:
                old.unlink()
    for path, content in wanted.items():
        (HERE / path).write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")
    sys.stdout.write(f"{len(wanted)} files\n")


if __name__ == "__main__":
    main()
