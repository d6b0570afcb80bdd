"""Makes the test vectors that every implementation must pass.  Run: python -m tests.vectors.make

surveys.jsonl         a line per envelope: good_… must be accepted, with the digest it must give; bad_… must be refused,
                      with the error's name
reports.jsonl, withdrawals.jsonl   likewise for reports, and for withdrawals with the policy that judges them
draws.json            64-bit draws with the answer each truth must give
sets.json             draws for one of several options, with the set or block each truth must give
asked.json            draws of a question and its answer, with the answer each truth must give
numbers.json          draws for a number in a range, with the answer each number must give
drawn.json            what a device draws when it accepts a survey: the question it asks, the round of each panel
settings.json         policies, and whether a device takes them
explained.json        surveys and ledgers, and what people are told about them
words.json            texts and helps of questions, and the fingerprints that ledgers know them by
tickets.json          invites as typed, with what they are, and the tickets derived from them

The cases stand in the modules beside this one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.inside.publish import canonical
from tests.vectors.device_cases import asked, blocks, draws, numbers, sets, settings
from tests.vectors.drawn_cases import drawn
from tests.vectors.envelope_cases import bad_bytes, bad_for_a_policy, bad_parts, bad_payloads, bad_signatures
from tests.vectors.explained_cases import explained
from tests.vectors.log_cases import bad_logged, good_logged
from tests.vectors.parts import NOW, POLICY, SURVEY, b64
from tests.vectors.question_cases import bad_fits, bad_kinds, bad_numbers, bad_questions
from tests.vectors.relay_cases import bad_relays, good_relays
from tests.vectors.report_cases import bad_reports, good_reports
from tests.vectors.survey_cases import (
    bad_fields,
    bad_in_order,
    bad_issuers,
    bad_moments,
    bad_places,
    bad_segments,
    bad_surveys,
    good,
)
from tests.vectors.text_cases import bad_texts, words
from tests.vectors.ticket_cases import tickets, typed
from tests.vectors.withdrawal_cases import bad_withdrawals, good_withdrawals

HERE = Path(__file__).parent
DIGEST = hashlib.sha256(canonical(SURVEY)).hexdigest()


def bad() -> Iterator[tuple[str, str, bytes, dict[str, Any]]]:
    """(name, error, envelope, policy)."""
    makers = (bad_bytes, bad_parts, bad_signatures, bad_payloads, bad_fields, bad_surveys, bad_texts, bad_places,
              bad_moments, bad_segments, bad_issuers, bad_questions, bad_kinds, bad_fits, bad_numbers,
              bad_relays, bad_in_order)  # fmt: skip
    for make in makers:
        for name, error, envelope in make():
            yield name, error, envelope, POLICY
    yield from bad_for_a_policy()
    yield from bad_logged()


def surveys() -> Iterator[tuple[str, Any]]:
    """(name, vector) of every signed survey."""
    for name, envelope, policy in (*good(), *good_logged(), *good_relays()):
        digest = hashlib.sha256(base64.b64decode(json.loads(envelope)["payload"])).hexdigest()
        yield f"good_{name}", {"now": NOW, **case(policy, digest), "digest": digest, "envelope": b64(envelope)}
    for name, error, envelope, policy in bad():
        yield f"bad_{name}", {"now": NOW, **case(policy, ""), "error": error, "envelope": b64(envelope)}


def reports() -> Iterator[tuple[str, Any]]:
    """(name, vector) of every report."""
    for name, body in good_reports():
        yield f"good_{name}", {"report": b64(body)}
    for name, body in bad_reports():
        yield f"bad_{name}", {"report": b64(body)}


def withdrawals() -> Iterator[tuple[str, Any]]:
    """(name, vector) of every withdrawal."""
    for name, envelope, policy in good_withdrawals():
        yield f"good_{name}", {"policy": policy, "survey": DIGEST, "envelope": b64(envelope)}
    for name, error, envelope, policy in bad_withdrawals():
        yield f"bad_{name}", {"policy": policy, "error": error, "envelope": b64(envelope)}


def texts() -> dict[str, str]:
    """The text of every file, by its name in this folder."""
    tables = {"draws": draws(), "sets": [*sets(), *blocks()], "asked": asked(), "numbers": numbers(), "drawn": drawn(),
              "settings": settings(), "explained": explained(), "words": words(),
              "tickets": {"typed": typed(), "tickets": tickets()}}  # fmt: skip
    found = {f"{name}.json": json.dumps(table, indent=1, sort_keys=True) + "\n" for name, table in tables.items()}
    for family in (surveys, reports, withdrawals):
        listed = list(family())
        if len(dict(listed)) != len(listed):
            raise AssertionError(f"two vectors of {family.__name__} have the same name")
        lines = (json.dumps({"name": name, **dict(sorted(vector.items()))}) for name, vector in sorted(listed))
        found[f"{family.__name__}.jsonl"] = "".join(f"{line}\n" for line in lines)
    return found


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
    for name, text in texts().items():
        (HERE / name).write_text(text, encoding="utf-8")
    sys.stdout.write(f"{len(texts())} files\n")


if __name__ == "__main__":
    main()
