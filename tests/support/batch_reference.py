"""What every engine must give, in plain Python over `rules.fault`, and the surveys and rows it is tested on."""

from __future__ import annotations

import itertools
import json
from collections import Counter, defaultdict
from datetime import UTC, datetime
from typing import Any

from rrcollect import BlockDesign, Choice, Design, Number, Question, Report, SetDesign, SigningKey, Survey
from server_agg import REASONS, Tallies, Tally, TallyKey
from tests.inside.design import Mechanism, from_text
from tests.inside.publish import ReportRow, fault

KEY = SigningKey.generate()
FAR = datetime(2100, 1, 1, tzinfo=UTC)
DESIGNS = {
    "q1": Design("3/4", "3/4"),
    "q2": Design("3/4", "5/8"),
    "q4": SetDesign(5, 2, "3/4"),  # a choice with few texts
    "q5": SetDesign(20, 3, "1/2"),  # one that is counted bit by bit
    "q6": Design("3/4", "3/4"),  # a number
    "q7": BlockDesign(3, 3, "5/8"),  # one of very many options: thirteen blocks
}
ROUNDS = {"q2": 3, "q4": 2}


def _options(k: int) -> Choice:
    return Choice(options=[{"en": f"o{j}"} for j in range(k)])


def any_set(random: Any, k: int, size: int) -> str:
    """A text with so many ones."""
    chosen = random.sample(range(k), size)
    return "".join("1" if j in chosen else "0" for j in range(k))


def answer_to(random: Any, question: str) -> str:
    """An answer that the question's design can give."""
    design = DESIGNS[question]
    if isinstance(design, BlockDesign):
        return f"{random.randrange(13):02d}"
    return any_set(random, design.options, design.size) if isinstance(design, SetDesign) else random.choice("01")


def _survey(name: str, **changes: Any) -> Survey:
    questions = [
        Question(id="q1", attribute="a1", text="One?", design=DESIGNS["q1"]),
        Question(id="q2", attribute="a2", text="Two?", design=DESIGNS["q2"], rounds=3),
        Question(id="q4", attribute="a4", text="Four?", design=DESIGNS["q4"], kind=_options(5), rounds=2),
        Question(id="q5", attribute="a5", text="Five?", design=DESIGNS["q5"], kind=_options(20)),
        Question(id="q6", attribute="a6", text="Six?", design=DESIGNS["q6"], kind=Number(low=0, high=40)),
        Question(id="q7", attribute="a7", text="Seven?", design=DESIGNS["q7"], kind=_options(10)),
    ]
    fields = {"name": name, "version": 1, "title": "T", "publisher": "P", "expires": FAR, "questions": questions}
    return Survey(**{**fields, "collector": "carried", **changes})


def wide_survey(k: int, size: int) -> Survey:
    """A yes/no and a choice of k options."""
    wide = Question(id="wide", attribute="w", text="Which?", design=SetDesign(k, size, "1/2"), kind=_options(k))
    return _survey("wide", questions=[Question(id="q1", attribute="a1", text="One?", design=DESIGNS["q1"]), wide])


OPEN = _survey("open", segments={"region": ["north", 'so\'uth "x" | é', "=1+1"], "age": ["young", "old"]})
CLOSED = _survey("closed", invite_only=True)
SURVEYS = (OPEN, CLOSED)
KNOWN = {survey.digest: survey for survey in SURVEYS}
OF_OPEN, OF_CLOSED = KNOWN  # their digests, computed once
PUBLICATION = OPEN.publish([KEY])

Row = dict[str, Any]


def own_fault(row: Row) -> str | None:
    """Why a row is refused by itself."""
    return fault(ReportRow(**row), KNOWN.get(row["survey"]))


def reasons_of(rows: list[Row], earlier: list[Row] = []):  # noqa: B006
    """For each of `rows` why it is refused, "repeated", or None if it is counted: the oracle."""
    reasons = [own_fault(row) for row in rows]
    ids, contents, uses = defaultdict(list), defaultdict(set), defaultdict(set)
    olds = [row for row in earlier if not own_fault(row)]
    for place, row in enumerate(rows):
        if reasons[place] is None:
            ids[row["id"]].append(place)
    for row in [*olds, *(row for row, why in zip(rows, reasons, strict=True) if why is None)]:
        contents[row["id"]].add(ReportRow(**row))
    for report_id, found in contents.items():
        for row in found if len(found) == 1 else ():
            if row.ticket is not None:
                uses[row.survey, row.question, row.round, row.ticket].add(report_id)
    before = {row["id"] for row in olds}
    for report_id, places in ids.items():
        row = rows[places[0]]
        said = uses[row["survey"], row["question"], row["round"], row["ticket"]]
        if len(contents[report_id]) > 1:
            why = ["conflicting_id"] * len(places)
        elif report_id in before:
            why = ["repeated"] * len(places)
        elif row["ticket"] is not None and len(said) > 1:
            why = ["ticket_reused"] * len(places)
        else:
            why = [None] + ["repeated"] * (len(places) - 1)
        for place, reason in zip(places, why, strict=True):
            reasons[place] = reason
    return reasons


def reference(rows: list[Row], earlier: list[Row] = []):  # noqa: B006
    """(tallies, repeated, refused): what the oracle's reasons add up to."""
    counted, refused = defaultdict(list), Counter()
    reasons = reasons_of(rows, earlier)
    for row, reason in zip(rows, reasons, strict=True):
        if reason is not None:
            refused[reason] += 1
            continue
        segments = tuple(json.loads(row["segments"]).items())
        key = TallyKey(row["survey"], row["question"], from_text(row["design"]), segments, row["round"])
        counted[key].append(row["answer"])
    tallies = Tallies({key: _tally(key.design, answers) for key, answers in counted.items()})
    repeated = refused.pop("repeated", 0)
    return tallies, repeated, {name: refused[name] for name in REASONS if refused[name]}


def _tally(design: Mechanism, answers: list[str]) -> Tally:
    if isinstance(design, BlockDesign):
        return Tally(design, len(answers), [answers.count(f"{block:02d}") for block in range(13)])
    sums = [sum(int(answer[place]) for answer in answers) for place in range(design.width)]
    return Tally(design, len(answers), sums) if design.width > 1 else Tally(design, len(answers), sums[0])


HOSTILE = ["'; DROP TABLE reports; --", "\u202e", "🙂" * 40, 'a"b|c', "q1|3/4", "{}", "NULL", "\n", "x" * 200, "=cmd()"]
WRONG = {
    "survey": ["0" * 64, OPEN.digest.upper(), OPEN.digest + "\n", "", None],
    "question": ["q3", "Q1", "q1 ", "q2", "", None],
    "round": [-1, 1, 3, 1000, 2**40, None],
    "design": [
        '{"p00":"6/8","p11":"3/4"}',
        '{"p11":"3/4","p00":"3/4"}',
        '{"p00":"3/4","p11":"5/8"}',
        '{"p00":"3/4"}',
        DESIGNS["q4"].text,
        '{"options":20,"p":"1/2","size":4}',
        "3/4",
        "",
        None,
    ],
    "answer": [
        "2",
        "-1",
        "01",
        "11",
        "",
        " 1",
        "1\n",
        "１",
        "true",
        None,
        "11000",
        "1100",
        "110000",
        "11100",
        "1100２",
        "0" * 5,
        "11000\n",
        "1" * 3 + "0" * 17,
        "1" * 4 + "0" * 16,
        "1" * 2 + "0" * 18,
        "1" * 3 + "0" * 16 + "\n",
        "1" * 20,
        "13",
        "7",
        "0７",
        "12",
    ],
    "id": ["F" * 32, "0" * 31, "0" * 33, "g" * 32, "0" * 31 + "\n", "é" * 16, "0" * 32 + "\n", "", None],
    "ticket": ["", "a" * 31, "a" * 33, "A" * 32, "g" * 32, "a" * 31 + "\n", "a" * 32 + "\n", "é" * 16, "٣" * 32, None],
    "segments": [
        '{"region":"west"}',
        '{"age": "old"}',
        '{"region":"north","age":"old"}',
        '{"x":"y"}',
        '{"age":["old"]}',
        '{"age":1}',
        "[]",
        "{",
        "",
        None,
    ],
}


def row(**changes: Any) -> Row:
    plain = {"survey": OF_OPEN, "question": "q1", "round": 0, "design": DESIGNS["q1"].text, "answer": "1"}
    return {**plain, "id": "0" * 32, "ticket": None, "segments": "{}", **changes}


def faulty_rows() -> list[Row]:
    """Valid rows, each with every single fault, and with every pair of columns at fault; no two share id or ticket."""
    second = {"question": "q2", "round": 2, "design": DESIGNS["q2"].text}
    valid = [
        row(),
        row(**second, answer="0", segments='{"age":"old","region":"so\'uth \\"x\\" | é"}'),
        row(**second, survey=CLOSED.digest, ticket="ab" * 16),
        row(question="q4", round=1, design=DESIGNS["q4"].text, answer="01001"),
        row(question="q5", design=DESIGNS["q5"].text, answer="1" + "0" * 17 + "11", survey=CLOSED.digest, ticket="a"),
        row(question="q6", design=DESIGNS["q6"].text, answer="0"),
        row(question="q7", design=DESIGNS["q7"].text, answer="07", survey=CLOSED.digest, ticket="b"),
    ]
    changes: list[Row] = [{}, *({name: value} for name in WRONG for value in WRONG[name] + HOSTILE * (name != "round"))]
    for one, other in itertools.combinations(WRONG, 2):
        changes += [{one: a, other: b} for a, b in itertools.product(WRONG[one][::3], WRONG[other][1::4])]
    found = []
    for number, (plain, change) in enumerate(itertools.product(valid, changes)):
        fresh = {"id": f"{number:032x}"} | ({"ticket": f"{number:032x}"} if plain["ticket"] else {})
        found.append(plain | fresh | change)
    return found


def generated(random: Any, n: int, hostile: bool = True) -> list[Row]:
    """Rows of every kind: good ones, repeats, conflicts, nulls, unknown and hostile values."""
    rows: list[Row] = []
    texts = ["{}", '{"region":"north"}', '{"age":"old","region":"north"}', '{"region":"so\'uth \\"x\\" | é"}']
    for _ in range(n):
        question = random.choice(["q1", "q2", "q1", "q2", "q4", "q5", "q6", "q7"])
        made = row(
            survey=random.choice([OF_OPEN, OF_OPEN, OF_CLOSED]),
            question=question,
            round=random.randrange(ROUNDS.get(question, 1)),
            design=DESIGNS[question].text,
            answer=answer_to(random, question),
            id=f"{random.getrandbits(128):032x}",
        )
        if made["survey"] == OF_CLOSED or random.random() < 0.05:
            made["ticket"] = f"{random.randrange(max(1, n // 2)):032x}"
        if made["survey"] == OF_OPEN:
            made["segments"] = random.choice(texts)
        if random.random() < 0.25:
            field = random.choice(list(WRONG))
            made[field] = random.choice(WRONG[field] + (HOSTILE if hostile and field != "round" else []))
        rows.append(made)
        if rows and random.random() < 0.3:
            again = dict(random.choice(rows[-10:]))
            if random.random() < 0.4:
                other = {"0": "1", "1": "0"}.get(again["answer"]) or (again["answer"] or "0")[::-1]
                again.update(random.choice([{"answer": other}, {"round": 1}, {"ticket": "b" * 32}]))
            rows.append(again)
    random.shuffle(rows)
    return rows


def reports(n: int, **changes: Any) -> list[Report]:
    plain = {"survey": OPEN.digest, "question": "q1", "design": DESIGNS["q1"], "answer": "1"}
    return [Report(**{**plain, "id": f"{i:032x}", **changes}) for i in range(n)]
