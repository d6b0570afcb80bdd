"""Envelopes with the proof that their survey is in a log, and policies that name one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any

from tests.inside.publish import canonical, log
from tests.support.logs import LOG, NAME, SEEN_BY, MemoryLog
from tests.vectors.parts import ALICE, BOB, GOOD_ENVELOPE, MALLORY, POLICY, SURVEY

SEEN = [one.text for one in SEEN_BY[:2]]
LOGGED = {**POLICY, "log": LOG.text}
BY_ONE = {**LOGGED, "witnesses": SEEN, "witnesses_needed": 1}
BY_BOTH = {**LOGGED, "witnesses": SEEN}
DIGEST = hashlib.sha256(canonical(SURVEY)).hexdigest()


def proof(
    size: int = 300,
    index: int = 7,
    *,
    by: Any = ALICE,
    witnesses: int = 0,
    note: Callable[[str], str] = lambda note: note,
    **changes: Any,
) -> str:
    """The proof that the survey is the entry with this index, in a log of so many."""
    about = {"name": SURVEY["name"], "version": SURVEY["version"], "digest": DIGEST, **changes}
    made = MemoryLog([b"entry %d" % i for i in range(size)])
    made.entries[index] = log.survey_entry(by.public, **about)
    return made.proof(by.public, index, note(made.note(witnesses=witnesses)))


def with_proof(text: Any) -> bytes:
    return canonical({**json.loads(GOOD_ENVELOPE), "proof": text})


def good_logged() -> Iterator[tuple[str, bytes, dict[str, Any]]]:
    yield "logged", with_proof(proof()), LOGGED
    yield "logged_last", with_proof(proof(300, 299)), LOGGED
    yield "logged_alone", with_proof(proof(1, 0)), LOGGED
    yield "logged_seen_by_one", with_proof(proof(witnesses=1)), BY_ONE
    yield "logged_seen_by_two", with_proof(proof(witnesses=2)), BY_BOTH
    yield "logged_with_strangers", with_proof(proof(witnesses=2)), LOGGED
    yield "logged_for_nobody", with_proof("whatever"), POLICY  # a policy that names no log does not read it


def bad_logged() -> Iterator[tuple[str, str, bytes, dict[str, Any]]]:
    """(name, error, envelope, policy)."""
    yield "logged_not", "NotLogged", GOOD_ENVELOPE, LOGGED
    yield "logged_null", "MalformedDocument", with_proof(None), POLICY
    yield "logged_number", "MalformedDocument", with_proof(7), POLICY
    yield "logged_huge", "MalformedDocument", with_proof("x" * 8193), POLICY
    yield "logged_seen_by_too_few", "NotLogged", with_proof(proof(witnesses=1)), BY_BOTH
    yield "logged_other_version", "NotLogged", with_proof(proof(version=4)), LOGGED
    yield "logged_other_name", "NotLogged", with_proof(proof(name="other")), LOGGED
    yield "logged_other_digest", "NotLogged", with_proof(proof(digest="0" * 64)), LOGGED
    yield "logged_by_another_key", "NotLogged", with_proof(proof(by=BOB)), LOGGED
    good = proof(witnesses=2)
    changes: dict[str, Callable[[str], str]] = {
        "empty": lambda text: "",
        "cut": lambda text: text[:-1],
        "half": lambda text: text[: len(text) // 2],
        "other_index": lambda text: text.replace("index 7\n", "index 8\n"),
        "index_beyond": lambda text: text.replace("index 7\n", "index 300\n"),
        "index_spelled": lambda text: text.replace("index 7\n", "index 07\n"),
        "no_extra": lambda text: text.replace("extra ", "extro "),
        "other_root": lambda text: text.replace("\n300\n", "\n301\n"),
        "of_another_log": lambda text: text.replace(NAME, "log.example.net"),
        "longer_path": lambda text: text.replace("\n\n", "\n" + "A" * 43 + "=\n\n", 1),
        "path_of_no_hash": lambda text: text.replace("\n\n", "\nAAAA\n\n", 1),
        "shorter_path": lambda text: "\n\n".join([text.split("\n\n")[0].rsplit("\n", 1)[0], text.split("\n\n", 1)[1]]),
        "signature_cut": lambda text: text.replace("=\n— witness", "\n— witness", 1),
        "no_signature": lambda text: text[: text.index("— ")],
        "one_signature_twice": lambda text: text + text[text.index("— witness.example/1") :],
        "many_signatures": lambda text: text + "— x AAAAAAAA\n" * 16,
        "a_stranger_in_its_place": lambda text: text.replace("— log.", "— lag."),
        "line_of_no_signature": lambda text: text + "a witness\n",
    }
    for name, change in changes.items():
        yield f"logged_{name}", "NotLogged", with_proof(change(good)), BY_BOTH
    anothers = log.LogKey(NAME, MALLORY.public).text
    yield "logged_signed_by_another", "NotLogged", with_proof(good), {**BY_BOTH, "log": anothers}
    other = log.LogKey("witness.example/1", MALLORY.public, log.WITNESS).text
    yield "logged_seen_by_another", "NotLogged", with_proof(good), {**BY_BOTH, "witnesses": [SEEN[0], other]}
    large = proof(note=lambda note: note + "— x AAAAAAAA" + "A" * 4096 + "\n")
    yield "logged_large_note", "NotLogged", with_proof(large), LOGGED
