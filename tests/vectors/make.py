"""Makes the test vectors that every implementation must pass.  Run: python -m tests.vectors.make

surveys/good_*.json   envelopes that must be accepted, with the digest and the costs they must give
surveys/bad_*.json    envelopes that must be refused, with the error's name
reports/good_*.json, reports/bad_*.json   likewise for reports
withdrawals/good_*.json, withdrawals/bad_*.json   likewise for withdrawals, with the policy that judges them
draws.json            64-bit draws with the answer each truth must give
sets.json             draws for one of several options, with the set each truth must give
numbers.json          draws for a number in a range, with the answer each number must give
drawn.json            what a device draws when it accepts a survey: the question it asks, the round of each panel
settings.json         policies, and whether a device takes them
explained.json        surveys and ledgers, and what people are told about them
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

from rrcollect.publish.canonical import canonical
from tests.vectors.device_cases import draws, numbers, sets, settings
from tests.vectors.drawn_cases import drawn
from tests.vectors.envelope_cases import bad_bytes, bad_for_a_policy, bad_parts, bad_payloads, bad_signatures
from tests.vectors.explained_cases import explained
from tests.vectors.parts import NOW, POLICY, SURVEY, b64
from tests.vectors.question_cases import bad_fits, bad_kinds, bad_numbers, bad_questions
from tests.vectors.report_cases import bad_reports, good_reports
from tests.vectors.survey_cases import (
    bad_fields,
    bad_in_order,
    bad_moments,
    bad_places,
    bad_segments,
    bad_surveys,
    good,
)
from tests.vectors.text_cases import bad_texts
from tests.vectors.ticket_cases import tickets, typed
from tests.vectors.withdrawal_cases import bad_withdrawals, good_withdrawals

HERE = Path(__file__).parent
DIGEST = hashlib.sha256(canonical(SURVEY)).hexdigest()


def bad() -> Iterator[tuple[str, str, bytes, dict[str, Any]]]:
    """(name, error, envelope, policy)."""
    makers = (bad_bytes, bad_parts, bad_signatures, bad_payloads, bad_fields, bad_surveys, bad_texts, bad_places,
              bad_moments, bad_segments, bad_questions, bad_kinds, bad_fits, bad_numbers,
              bad_in_order)  # fmt: skip
    for make in makers:
        for name, error, envelope in make():
            yield name, error, envelope, POLICY
    yield from bad_for_a_policy()


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
    for name, envelope, policy in good_withdrawals():
        yield f"withdrawals/good_{name}.json", {"policy": policy, "survey": DIGEST, "envelope": b64(envelope)}
    for name, error, envelope, policy in bad_withdrawals():
        yield f"withdrawals/bad_{name}.json", {"policy": policy, "error": error, "envelope": b64(envelope)}
    yield "draws.json", draws()
    yield "sets.json", sets()
    yield "numbers.json", numbers()
    yield "drawn.json", drawn()
    yield "settings.json", settings()
    yield "explained.json", explained()
    yield "tickets.json", {"typed": typed(), "tickets": tickets()}


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
    listed = list(files())
    wanted = dict(listed)
    if len(wanted) != len(listed):
        raise AssertionError("two vectors have the same name")
    for folder in ("surveys", "reports", "withdrawals"):
        (HERE / folder).mkdir(exist_ok=True)
        for old in (HERE / folder).glob("*.json"):
            if f"{folder}/{old.name}" not in wanted:
                old.unlink()
    for path, content in wanted.items():
        (HERE / path).write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")
    sys.stdout.write(f"{len(wanted)} files\n")


if __name__ == "__main__":
    main()
