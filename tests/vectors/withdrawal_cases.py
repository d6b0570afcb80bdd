"""Withdrawals: their one spelling, their label, and who may sign them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from tests.inside.publish import SURVEY_TYPE, WITHDRAWAL_TYPE, canonical
from tests.vectors.parts import ALICE, BOB, GOOD_ENVELOPE, MALLORY, POLICY, PUBLISHER, SURVEY, TWO_KEYS, loose, signed

WITHDRAWAL: dict[str, Any] = {
    "survey": hashlib.sha256(canonical(SURVEY)).hexdigest(),
    "publisher": PUBLISHER,
    "name": SURVEY["name"],
    "version": SURVEY["version"],
    "moment": "2026-10-31T12:00:00Z",
}


def withdrawn(*signers: Any, kind: str = WITHDRAWAL_TYPE, **changes: Any) -> bytes:
    """The withdrawal with fields replaced (or removed, by ...), signed."""
    document = {k: v for k, v in {**WITHDRAWAL, **changes}.items() if v is not ...}
    return signed(loose(document), *signers, kind=kind)


def good_withdrawals() -> Iterator[tuple[str, bytes, dict[str, Any]]]:
    yield "plain", withdrawn(), POLICY
    yield "signed_by_two", withdrawn(ALICE, BOB), TWO_KEYS
    yield "with_a_stranger", withdrawn(ALICE, MALLORY), POLICY
    yield "first_year", withdrawn(moment="2000-01-01T00:00:00Z"), POLICY


def bad_withdrawals() -> Iterator[tuple[str, str, bytes, dict[str, Any]]]:
    """(name, error, envelope, policy)."""
    for name, error, envelope in _bad_documents():
        yield name, error, envelope, POLICY
    yield "one_of_two_needed_keys", "UntrustedKey", withdrawn(), TWO_KEYS
    other = {**POLICY, "publishers": [{**POLICY["publishers"][0], "name": "Other"}]}
    yield "key_of_another_publisher", "UntrustedKey", withdrawn(), other
    yield "nobody_trusted", "UntrustedKey", withdrawn(), {**POLICY, "publishers": []}


def _bad_documents() -> Iterator[tuple[str, str, bytes]]:
    for field in WITHDRAWAL:
        yield f"without_{field}", "MalformedDocument", withdrawn(**{field: ...})
        yield f"{field}_null", "MalformedDocument", withdrawn(**{field: None})
    yield "more_fields", "MalformedDocument", withdrawn(reason="x")
    yield "survey_capitals", "MalformedDocument", withdrawn(survey=WITHDRAWAL["survey"].upper())
    yield "survey_short", "MalformedDocument", withdrawn(survey="0" * 63)
    yield "survey_newline", "MalformedDocument", withdrawn(survey="0" * 64 + "\n")
    yield "version_zero", "MalformedDocument", withdrawn(version=0)
    yield "version_text", "MalformedDocument", withdrawn(version="3")
    yield "version_float", "FloatInDocument", withdrawn(version=3.5)
    yield "name_capital", "MalformedDocument", withdrawn(name="Clean")
    yield "publisher_invisible", "MalformedDocument", withdrawn(publisher="\u3164")
    yield "moment_local", "MalformedDocument", withdrawn(moment="2026-10-31T12:00:00+01:00")
    yield "moment_day", "MalformedDocument", withdrawn(moment="2026-10-31")
    yield "payload_array", "MalformedDocument", signed(b"[]", kind=WITHDRAWAL_TYPE)
    yield "payload_too_large", "Oversize", withdrawn(publisher="x" * 8192)
    yield (
        "payload_spaced",
        "NotCanonical",
        signed(json.dumps(WITHDRAWAL, sort_keys=True).encode(), kind=WITHDRAWAL_TYPE),
    )
    yield "labelled_as_a_survey", "MalformedDocument", withdrawn(kind=SURVEY_TYPE)
    yield "a_survey", "MalformedDocument", GOOD_ENVELOPE
    yield "a_survey_relabelled", "BadSignature", GOOD_ENVELOPE.replace(SURVEY_TYPE.encode(), WITHDRAWAL_TYPE.encode())
    yield "unknown_key", "UntrustedKey", withdrawn(MALLORY)
    yield "no_signature", "MissingSignature", canonical({**json.loads(withdrawn()), "signatures": []})
    yield "trailing_newline", "NotCanonical", withdrawn() + b"\n"
