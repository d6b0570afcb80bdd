"""Surveys, keys and policies that the tests share."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rrcollect import Client, Design, Policy, PublicKey, Question, SigningKey, Survey, TrustedPublisher

VECTORS = Path(__file__).parent.parent / "vectors"
KEY = SigningKey.generate()
PUBLISHER = "Example Institute"
COLLECTOR = "https://collect.example.org/reports"
POLICY = Policy([TrustedPublisher(PUBLISHER, [KEY.public])])
FAR = datetime(2100, 1, 1, tzinfo=UTC)
THREE_QUARTERS = Design("3/4", "3/4")


def question(**changes: Any) -> Question:
    """A question in words of its own for each attribute."""
    fields = {"id": "q1", "attribute": "doped", "design": THREE_QUARTERS, **changes}
    return Question(**{"text": f"Ever {fields['attribute']}?", **fields})


def survey(*questions: Question, **changes: Any) -> Survey:
    fields = {"name": "clean-sport", "version": 1, "title": "Clean sport", "publisher": PUBLISHER, "expires": FAR}
    return Survey(**{**fields, "collector": COLLECTOR, "questions": list(questions) or [question()], **changes})


def envelope(*questions: Question, **changes: Any) -> bytes:
    return survey(*questions, **changes).publish([KEY]).envelope


def client(path: Path, **changes: Any) -> Client:
    """A device that sends at once, unless told otherwise."""
    return Client(path / "ledger.sqlite3", **{"attributes": ["doped"], "policy": POLICY, "spread": 0, **changes})


class Clock:
    """A clock that goes on only while somebody sleeps: `Client(clock=clock, sleep=clock.sleep)`."""

    def __init__(self, now: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def cases(family: str, start: str = "") -> dict[str, dict[str, Any]]:
    """The vectors of a family, "surveys", "reports" or "withdrawals", whose names begin like that."""
    lines = (json.loads(line) for line in (VECTORS / f"{family}.jsonl").read_text(encoding="utf-8").splitlines())
    return {case.pop("name"): case for case in lines if case["name"].startswith(start)}


def load(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def vector_policy(case: dict[str, Any]) -> Policy:
    rules = dict(case["policy"])
    publishers = [
        TrustedPublisher(p["name"], [PublicKey(bytes.fromhex(k)) for k in p["keys"]], p["threshold"])
        for p in rules.pop("publishers")
    ]
    return Policy(publishers, **rules)


def moment(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def unb64(text: str) -> bytes:
    return base64.b64decode(text)
