"""What every engine must give, in plain Python, and the surveys and rows the contract is tested on."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from datetime import UTC, datetime
from typing import Any

from rrcollect import Design, Question, SigningKey, Survey, publish_survey
from rrcollect.publish.report import Report
from server_agg import Tallies, Tally, TallyKey

KEY = SigningKey.generate()
FAR = datetime(2100, 1, 1, tzinfo=UTC)


def _survey(name: str, **changes: Any) -> Survey:
    questions = [
        Question(id="q1", attribute="a1", text="One?", design=Design("3/4", "3/4")),
        Question(id="q2", attribute="a2", text="Two?", design=Design("3/4", "5/8"), rounds=3),
    ]
    fields = {"name": name, "version": 1, "title": "T", "publisher": "P", "expires": FAR, "questions": questions}
    return Survey(**{**fields, **changes})


OPEN = _survey("open", segments={"region": ["north", 'so\'uth "x" | é', "=1+1"], "age": ["young", "old"]})
CLOSED = _survey("closed", invite_only=True)
SURVEYS = (OPEN, CLOSED)
PUBLICATION = publish_survey(OPEN, [KEY])

Row = dict[str, Any]


def reference(rows: list[Row], earlier: list[Row] = [], surveys: tuple[Survey, ...] = SURVEYS):  # noqa: B006
    """(tallies, repeated, refused): the oracle."""
    known = {survey.digest: survey for survey in surveys}
    refused, ids, people, counted = Counter(), defaultdict(list), defaultdict(set), defaultdict(lambda: [0, 0])
    olds = [row for row in earlier if not fault(row, known)]
    for row, old in [(row, False) for row in rows] + [(row, True) for row in olds]:
        why = fault(row, known)
        if why:
            refused[why] += 1
        else:
            ids[row["id"]].append(
                (tuple(sorted((k, v) for k, v in row.items() if k != "id" and v is not None)), old, row)
            )
    agreed = {i: found for i, found in ids.items() if len({content for content, _, _ in found}) == 1}
    refused["conflicting_id"] += sum(not old for i in ids.keys() - agreed.keys() for _, old, _ in ids[i])
    for i, found in agreed.items():
        row = found[0][2]
        if row["invite"] is not None:
            people[row["survey"], row["question"], row["round"], row["invite"]].add(i)
    repeated = 0
    for found in agreed.values():
        row, new, old = found[0][2], sum(not old for _, old, _ in found), any(old for _, old, _ in found)
        if old:
            repeated += new
        elif row["invite"] is not None and len(people[row["survey"], row["question"], row["round"], row["invite"]]) > 1:
            refused["invite_reused"] += new
        else:
            repeated += new - 1
            design = Design(row["p00"], row["p11"])
            segments = tuple(json.loads(row["segments"]).items())
            sums = counted[TallyKey(row["survey"], row["question"], design, segments, row["round"])]
            sums[0] += 1
            sums[1] += row["answer"]
    tallies = Tallies({key: Tally(key.design, n, ones) for key, (n, ones) in counted.items()})
    return tallies, repeated, {name: n for name, n in refused.items() if n}


def fault(row: Row, known: dict[str, Survey]) -> str:
    survey = known.get(row["survey"])
    if survey is None:
        return "unknown_survey"
    question = next((q for q in survey.questions if q.id == row["question"]), None)
    if question is None:
        return "unknown_question"
    if (row["p00"], row["p11"]) != (str(question.design.p00), str(question.design.p11)):
        return "wrong_design"
    if row["round"] not in range(question.rounds):
        return "bad_round"
    if row["answer"] not in (0, 1):
        return "bad_answer"
    try:
        said = json.loads(row["segments"])
        canonical = json.dumps(said, ensure_ascii=False, separators=(",", ":"), sort_keys=True) == row["segments"]
        if not isinstance(said, dict) or not canonical or not all(said[name] in survey.segments[name] for name in said):
            return "undeclared_segment"
    except (TypeError, ValueError, LookupError):
        return "undeclared_segment"
    if row["invite"] is None and survey.invite_only:
        return "missing_invite"
    if row["invite"] is not None and not 1 <= len(row["invite"]) <= 128:
        return "bad_invite"
    if not isinstance(row["id"], str) or not re.fullmatch("[0-9a-f]{32}", row["id"]):
        return "bad_id"
    return ""


HOSTILE = ["'; DROP TABLE reports; --", "\u202e", "🙂" * 40, 'a"b|c', "q1|3/4", "{}", "NULL", "\n", "x" * 200, "=cmd()"]


def row(**changes: Any) -> Row:
    plain = {"survey": OPEN.digest, "question": "q1", "round": 0, "p00": "3/4", "p11": "3/4", "answer": 1}
    return {**plain, "id": "0" * 32, "invite": None, "segments": "{}", **changes}


def generated(random: Any, n: int, hostile: bool = True) -> list[Row]:
    """Rows of every kind: good ones, repeats, conflicts, nulls, unknown and hostile values."""
    rows: list[Row] = []
    texts = ["{}", '{"region":"north"}', '{"age":"old","region":"north"}', '{"region":"so\'uth \\"x\\" | é"}']
    wrong_texts = ['{"region":"west"}', '{"age": "old"}', '{"region":"north","age":"old"}', '{"x":"y"}', "[]", "", None]
    for _ in range(n):
        question = random.choice(["q1", "q2"])
        made = row(
            survey=random.choice([OPEN, OPEN, CLOSED]).digest,
            question=question,
            round=random.randrange(3) if question == "q2" else 0,
            p11="3/4" if question == "q1" else "5/8",
            answer=random.randrange(2),
            id=f"{random.getrandbits(128):032x}",
        )
        if made["survey"] == CLOSED.digest or random.random() < 0.2:
            made["invite"] = f"guest-{random.randrange(n)}"
        if made["survey"] == OPEN.digest:
            made["segments"] = random.choice(texts)
        if random.random() < 0.25:
            wrong = {
                "survey": ["0" * 64, OPEN.digest.upper(), "", None],
                "question": ["q3", "Q1", "q1 ", None],
                "round": [-1, 1, 3, 1000, None],
                "p00": ["6/8", "0.75", "1/2", "3/4|3/4", None],
                "p11": ["3/4", "1", "", None],
                "answer": [2, -1, None],
                "id": ["F" * 32, "0" * 31, "0" * 33, "g" * 32, "0" * 31 + "\n", "é" * 16, "0" * 32 + "\n", "", None],
                "invite": ["", "x" * 129, "é" * 128, None],
                "segments": wrong_texts,
            }
            field = random.choice(list(wrong))
            pool = wrong[field] + (HOSTILE if hostile and field not in ("round", "answer") else [])
            made[field] = random.choice(pool)
        rows.append(made)
        if rows and random.random() < 0.3:
            again = dict(random.choice(rows[-10:]))
            if random.random() < 0.4:
                again.update(random.choice([{"answer": 1 - (again["answer"] or 0)}, {"round": 1}, {"invite": "other"}]))
            rows.append(again)
    random.shuffle(rows)
    return rows


def reports(n: int, **changes: Any) -> list[Report]:
    plain = {"survey": OPEN.digest, "question": "q1", "design": Design("3/4", "3/4"), "answer": 1}
    return [Report(**{**plain, "id": f"{i:032x}", **changes}) for i in range(n)]
