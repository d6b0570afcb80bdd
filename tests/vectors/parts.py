"""What the vectors are made of: keys, policies, one good survey, and ways to change it.

Keys are derived from labels, so the files are the same on every run; they protect nothing.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from rrcollect import SigningKey, optimal_design
from tests.inside.publish import SURVEY_TYPE, canonical, pae

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
    "relay": None,
    "origins": [],
    "frames": [],
    "opens": None,
    "expires": "2027-01-31T00:00:00Z",
    "rounds": [],
    "ask": "all",
    "minimum": 30,
    "invite_only": False,
    "issuer": None,
    "segments": {
        "sport": {"help": {}, "label": {}, "values": [{"label": {}, "value": "run"}, {"label": {}, "value": "ski"}]}
    },
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


def segments(values: list[Any], /, **changes: Any) -> dict[str, Any]:
    """One segment with these values (strings, or whatever), or with a part replaced or removed."""
    listed = [{"value": v, "label": {}} if isinstance(v, str) else v for v in values]
    whole = {"values": listed, "label": {}, "help": {}, **changes}
    return {"sport": {k: v for k, v in whole.items() if v is not ...}}


def times(*moments: str) -> list[dict[str, str]]:
    """Rounds of 2026 that open and close on these days."""
    made = [f"2026-{moment}T00:00:00Z" for moment in moments]
    return [{"opens": a, "closes": b} for a, b in zip(made[::2], made[1::2], strict=True)]


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


FAMILY = "\U0001f469\u200d\U0001f467"  # an emoji made with a joiner
PERSIAN = "\u0622\u06cc\u0627 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u06cc\u062f\u061f"  # written with a non-joiner
LONG = Fraction(2**512 - 1, 2**512 - 2**200)  # as many bits as a number of a document may have
KINDS: dict[str, dict[str, Any]] = {
    "choice": {"kind": "choice", "options": [{"en": "Never"}, {"en": "Once", "de": "Einmal"}, {"en": "Often"}]},
    "number": {"kind": "number", "low": "0", "high": "24", "unit": {"en": "hours"}, "clip": True, "bins": 0},
    "number_without_unit": {"kind": "number", "low": "-1/2", "high": "1/2", "unit": {}, "clip": False, "bins": 0},
}
SET_DESIGN = {"options": 3, "p": "1/2", "size": 1}
ONE_OF_THREE = {
    **QUESTION,
    "kind": KINDS["choice"],
    "design": SET_DESIGN,
    "promise": {"epsilon": "ln(2)", "delta": "0"},
}
FIVE = {"kind": "choice", "options": [{"en": word} for word in ("Red", "Green", "Blue", "White", "Other")]}
TWO_OF_FIVE = {
    **QUESTION,
    "kind": FIVE,
    "design": {"options": 5, "p": "3/4", "size": 2},
    "promise": {"epsilon": "ln(9/2)", "delta": "0"},
}
CERTAIN_SET = {
    **TWO_OF_FIVE,
    "design": {"options": 5, "p": "1", "size": 2},
    "promise": {"epsilon": "0", "delta": "3/4"},
    "disclosure": {"exposed": 9, "respondents": 10},
}
THIRD = {"epsilon": "ln(3)", "delta": "0"}
ALL_THAT_APPLY = {
    **QUESTION,
    "kind": {**KINDS["choice"], "kind": "several"},
    "design": {"several": 3, "p": "3/4"},
    "promise": THIRD,
}
IN_BINS = {**QUESTION, "kind": {**KINDS["number"], "bins": 16}, "design": {"bins": 16, "p": "3/4"}, "promise": THIRD}
SETS_OF_BINS = {**IN_BINS, "kind": {**KINDS["number"], "bins": 4}, "design": {"options": 4, "p": "7/16", "size": 1}}
HOURS = {**QUESTION, "kind": KINDS["number"]}
PANEL = {**QUESTION, "rounds": 4, "panel": True}
ISSUED: dict[str, Any] = {  # the keys are the first multiples of the generator (RFC 9496): points, and nobody's secret
    "address": "https://collect.example.org/tokens",
    "salt": "0123456789abcdef" * 2,
    "window": 3600,
    "keys": {
        "q1/0": "e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76",
        "q1/1": "6a493210f7499cd17fecb510ae0cea23a110e8d5b901f8acadd3095c73a3b919",
    },
}


def png(width: int, height: int) -> bytes:
    """The beginning of a PNG: all that a device reads of it."""
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + width.to_bytes(4) + height.to_bytes(4) + b"\x08\x06\0\0\0"


def jpeg(width: int, height: int, frame: int = 0xC0, before: bytes = b"") -> bytes:
    """The beginning of a JPEG, to its frame."""
    size = height.to_bytes(2) + width.to_bytes(2)
    return b"\xff\xd8" + before + b"\xff" + bytes([frame]) + b"\x00\x0b\x08" + size + b"\x01\x01\x11\x00"


def logo(kind: str, data: bytes) -> dict[str, Any]:
    return {"colour": None, "logo": f"data:image/{kind};base64,{b64(data)}"}


WRITTEN = {
    "introduction": {"en": "Two lines:\nthis is the second."},
    "consent": {"en": "I take part of my own will."},
    "contact": {"en": "survey@example.org"},
    "privacy": {"en": "https://example.org/privacy", "de": "https://example.org/de?x=1#top"},
    "thanks": {"en": f"Thank you {FAMILY}"},
}
