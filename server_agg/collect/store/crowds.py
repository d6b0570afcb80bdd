"""What is kept of a crowd: all folded reports to one survey, question, round and design that declare the same segments.

Rules
1. Outside the seal a crowd has no trace below the survey's `minimum`, and grows by at least as many reports or not at
   all (`fold`).  One line is kept of it, with the least that its estimates need; which that is follows from its
   mechanism (`Form`), and nobody asks for a type.
2. A mechanism with at most `FEW_ANSWERS` answers keeps how often each was given and released: that is n and the sums.
   Of others n stands outside, and the sums if they do not tell single answers (`Mechanism.sums_tell`).
3. Of those others the answers themselves are sealed: all of them where the sums would tell them, and elsewhere those
   that were not released, because a release draws them one by one.  They lie sorted, each as often as it was given:
   no id, ticket, time, nor number of the fold, and the length tells how many there are, not which.
4. The key of a survey's answers is one of those that the epoch's key opens (`epochs`): a fold leaves what is sealed as
   it is, and writes a crowd's new answers beside it, together with what is no larger: so a crowd has one content, or a
   few of which each is about twice as large as the next, and what is written is at most linear in what came, times
   the logarithm of the crowd.  A release makes one content of each crowd, under a new key.
5. `erase` is the end of single answers: when a survey ends, or when the key is lost (a copy without it).  n and the
   sums outside stay.  Where sums tell answers, what was released is public, and that is what stays of the crowds.

>>> from rrcollect import Design, SetDesign
>>> [form_of(made.text).name for made in (Design("3/4", "3/4"), SetDesign(8, 1, "1/2"), SetDesign(9, 1, "1/2"),
...                                       SetDesign(40, 13, "1/2"))]
['ANSWERS', 'ANSWERS', 'NOTHING', 'SUMS']
"""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple

from rrcollect.design import from_text
from rrcollect.design.mechanism import Mechanism
from rrcollect.publish.canonical import canonical
from server_agg.collect.store.answers import Answers, many, packed_answers, together, unpacked_answers
from server_agg.collect.store.database import CROWD, Database
from server_agg.collect.store.keys import EpochKey
from server_agg.collect.store.reports import Cell, CellCount
from server_agg.collect.store.stages import LAST, VERSIONED
from server_agg.count.statistics import counts_of_texts
from server_agg.survey_page.released import MIXED

FEW_ANSWERS = 8
SAME_CROWD = CROWD.replace(", ", " = ? AND ") + " = ?"
PUT_CROWD = (
    f"INSERT INTO counts ({CROWD}, n, kept) VALUES (?, ?, ?, ?, ?, ?, ?) "  # noqa: S608
    f"ON CONFLICT ({CROWD}) DO UPDATE SET n = excluded.n, kept = excluded.kept"
)
PUT_RELEASED = f"INSERT INTO released ({CROWD}, number, n, sums) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
PUT_TAKEN = (
    f"INSERT INTO taken ({CROWD}, number, content) VALUES (?, ?, ?, ?, ?, ?, ?) "  # noqa: S608
    f"ON CONFLICT ({CROWD}, number) DO UPDATE SET content = excluded.content"
)
PUT_ANSWERS = f"INSERT INTO answers ({CROWD}, number, level, content) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
READ = f"SELECT {CROWD}, {{}} FROM {{}}"  # noqa: S608
READ_COUNTS = (  # with what was released of each
    "SELECT " + ", ".join(f"counts.{name}" for name in CROWD.split(", ")) + ", n, kept, coalesce(content, '{}') "
    "FROM counts LEFT JOIN taken ON "
    + " AND ".join(f"taken.{name} = counts.{name}" for name in CROWD.split(", "))
    + f" AND taken.number = {LAST.format('counts')}"
)
READ_CROWD = f"SELECT n, kept FROM counts WHERE {SAME_CROWD}"  # noqa: S608
DELETE_CROWD = f"DELETE FROM counts WHERE {SAME_CROWD}"  # noqa: S608
SurveyKeys = dict[str, str]  # by digest, the secret that its answers are sealed with, hexadecimal


class Form(Enum):
    """What stands outside the seal besides n: how often each answer was given, the sums, or nothing."""

    ANSWERS = "answers"
    SUMS = "sums"
    NOTHING = ""


@lru_cache(maxsize=4096)
def mechanism_of(text: str) -> Mechanism:
    """The mechanism of its canonical text."""
    return from_text(text)


@lru_cache(maxsize=4096)
def form_of(design: str) -> Form:
    """What is kept of crowds that answered by this design."""
    mechanism = mechanism_of(design)
    if mechanism.values <= FEW_ANSWERS:
        return Form.ANSWERS
    return Form.NOTHING if mechanism.sums_tell else Form.SUMS


class Held(NamedTuple):
    """A crowd as it is known here: how many reports, the counts of their tally, and the answers that are there one by
    one: how often each, and how often of these it was released."""

    n: int
    sums: list[int]
    answers: Answers


NOBODY = Held(0, [], {})


def sums_of(cells: Mapping[Cell, int]) -> dict[Cell, tuple[int, list[int]]]:
    """By crowd, of which the answer is "": how many answers, and the counts of their tally."""
    found: dict[Cell, dict[str, int]] = {}
    for cell, n in cells.items():
        found.setdefault(cell._replace(answer=""), {})[cell.answer] = n
    return {crowd: (sum(texts.values()), _sums(crowd, texts)) for crowd, texts in found.items()}


def by_crowd(counts: Mapping[Cell, CellCount]) -> dict[Cell, Answers]:
    """Cells by their crowds."""
    found: dict[Cell, Answers] = {}
    for cell, n in counts.items():
        found.setdefault(cell._replace(answer=""), {})[cell.answer] = n
    return found


def with_more(held: dict[Cell, Held], counts: Mapping[Cell, CellCount]) -> None:
    """Add answers to what is known of their crowds."""
    for crowd, answers in by_crowd(counts).items():
        held[crowd] = _more(crowd, held.get(crowd, NOBODY), answers)


def unpublished(held: Mapping[Cell, Held]) -> dict[Cell, int]:
    """What a release may draw: by cell how many answers are not public."""
    return {
        crowd._replace(answer=answer): n - published
        for crowd, known in held.items()
        for answer, (n, published) in known.answers.items()
        if n > published
    }


# ---- in the database ------------------------------------------------------------------------------------------------


def read_crowds(database: Database, cursor: Any, keys: SurveyKeys, survey: str | None = None) -> dict[Cell, Held]:
    """Every crowd of a survey, or of all, that stands outside the seal, with what is sealed of it."""
    found = {}
    where, values = (" WHERE counts.survey = ?", (survey,)) if survey is not None else ("", ())
    for *crowd, n, kept, taken in database.run(cursor, READ_COUNTS + where, values).fetchall():
        found[Cell(*crowd)] = _outside(Cell(*crowd), n, kept, taken)
    some = any(form_of(crowd.design) is not Form.ANSWERS for crowd in found)
    for crowd, pieces in (read_answers(database, cursor, keys, survey) if some else {}).items():
        n, sums, _ = found[crowd]
        if form_of(crowd.design) is Form.NOTHING:
            given = {answer: count.n for answer, count in pieces.items()}
            sums = _added(sums, _sums(crowd, given))
        found[crowd] = Held(n, sums, pieces)
    return found


def read_answers(database: Database, cursor: Any, keys: SurveyKeys, survey: str | None = None) -> dict[Cell, Answers]:
    """By crowd what is sealed of a survey, or of all."""
    opened: dict[Cell, list[Answers]] = {}
    secret = {digest: EpochKey(bytes.fromhex(key)) for digest, key in keys.items()}
    for *crowd, content in _lines(database, cursor, "content", "answers", survey):
        opened.setdefault(Cell(*crowd), []).append(unpacked_answers(secret[crowd[0]].opened(bytes(content))))
    return {crowd: together(pieces) for crowd, pieces in opened.items()}


def add_to_crowds(database: Database, cursor: Any, keys: SurveyKeys, counts: Mapping[Cell, CellCount]) -> None:
    """Write what a fold adds to crowds; `keys` gets one for a survey that has none yet."""
    lines = []
    for crowd, answers in by_crowd(counts).items():
        found = database.run(cursor, READ_CROWD, crowd[:5]).fetchone()
        before = _outside(crowd, *(found or (0, "")))
        after = _more(crowd, before, answers)
        lines.append(_line(crowd, after._replace(sums=before.sums) if form_of(crowd.design) is Form.NOTHING else after))
        if form_of(crowd.design) is Form.ANSWERS and any(public for _, public in answers.values()):
            _add_taken(database, cursor, crowd, answers)
        if sealed := _to_seal(crowd, answers):
            secret = EpochKey(bytes.fromhex(keys.setdefault(crowd.survey, secrets.token_hex(32))))
            _add_answers(database, cursor, secret, crowd, sealed)
    database.run_many(cursor, PUT_CROWD, lines)


def _add_taken(database: Database, cursor: Any, crowd: Cell, answers: Answers) -> None:
    """Note what was released of these answers before they came into their crowd."""
    of = (*crowd[:5], _last(database, cursor, crowd.survey))
    same = f"SELECT content FROM taken WHERE {SAME_CROWD} AND number = ?"  # noqa: S608
    found = database.run(cursor, same, of).fetchone()
    before = Counter(json.loads(found[0]) if found else {})
    before.update({answer: public for answer, (_, public) in answers.items() if public})
    database.run(cursor, PUT_TAKEN, (*of, json.dumps(before, sort_keys=True)))


def _add_answers(database: Database, cursor: Any, secret: EpochKey, crowd: Cell, answers: Answers) -> None:
    """Seal them beside the others of their crowd, together with what is no larger (rule 4)."""
    of, same = (*crowd[:5], _last(database, cursor, crowd.survey)), f"FROM answers WHERE {SAME_CROWD} AND number = ?"
    while True:
        level = many(answers).bit_length()
        found = database.run(cursor, f"SELECT content {same} AND level = ?", (*of, level)).fetchone()
        if found is None:
            break
        answers = together([answers, unpacked_answers(secret.opened(bytes(found[0])))])
        database.run(cursor, f"DELETE {same} AND level = ?", (*of, level))
    database.run(cursor, PUT_ANSWERS, (*of, level, secret.sealed(packed_answers(answers))))


def _last(database: Database, cursor: Any, survey: str) -> int:
    """The number of the last release of a survey; 0 before the first."""
    statement = "SELECT coalesce(max(number), 0) FROM releases WHERE survey = ?"
    return int(database.run(cursor, statement, (survey,)).fetchone()[0])


class Published(NamedTuple):
    """What a release changes of crowds: what was taken of them, and all that is sealed of a survey, under a new key."""

    taken: list[Sequence[Any]]
    answers: list[Sequence[Any]]
    rest: dict[Cell, int]  # what was taken elsewhere


def published(held: Mapping[Cell, Held], taken: Mapping[Cell, int], keys: SurveyKeys, number: int) -> Published:
    """The crowds of one survey when this release made so many of its cells public; what is not theirs is left."""
    lines: list[Sequence[Any]] = []
    sealed: list[Sequence[Any]] = []
    rest = dict(taken)
    secret = secrets.token_hex(32)
    for survey in {crowd.survey for crowd in held}:
        keys.pop(survey, None)
    for crowd, (_, _, answers) in held.items():
        after: Answers = {}
        for answer, (n, public) in answers.items():
            cell = crowd._replace(answer=answer)
            own = min(n - public, rest.get(cell, 0))
            after[answer] = CellCount(n, public + own)
            if own:
                rest[cell] -= own
        if form_of(crowd.design) is Form.ANSWERS:
            if shown := {answer: count.published for answer, count in sorted(after.items()) if count.published}:
                lines.append((*crowd[:5], number, json.dumps(shown)))
        elif still := _to_seal(crowd, after):
            keys[crowd.survey] = secret
            content = EpochKey(bytes.fromhex(secret)).sealed(packed_answers(still))
            sealed.append((*crowd[:5], number, many(still).bit_length(), content))
    return Published(lines, sealed, {cell: n for cell, n in rest.items() if n})


def released_lines(
    known: Mapping[Cell, tuple[int, list[int]]], added: Mapping[Cell, int], number: int
) -> list[Sequence[Any]]:
    """The lines of what is public after this release added these answers, by the labels of their blocks."""
    after = dict(known)
    for crowd, (n, sums) in sums_of(added).items():
        before, had = known.get(crowd, (0, []))
        after[crowd] = before + n, _added(had, sums)
    return [(*crowd[:5], number, n, json.dumps(sums)) for crowd, (n, sums) in after.items()]


def read_released(database: Database, cursor: Any, survey: str | None) -> dict[Cell, tuple[int, list[int]]]:
    """What is public of a survey, or of all."""
    rows = _lines(database, cursor, "n, sums", "released", survey)
    return {Cell(*crowd): (n, json.loads(sums)) for *crowd, n, sums in rows}


def erase(database: Database, cursor: Any, survey: str | None) -> None:
    """Delete the single answers of a survey, or of all (rule 5)."""
    where, values = ("survey = ?", (survey,)) if survey is not None else ("survey IS NOT NULL", ())
    database.delete(cursor, "answers", where, values)
    crowds = _lines(database, cursor, "n", "counts", survey)
    gone = [crowd for *crowd, _ in crowds if form_of(crowd[3]) is Form.NOTHING]
    database.run_many(cursor, DELETE_CROWD, gone)
    left: dict[Cell, Held] = {}
    for crowd, (n, sums) in read_released(database, cursor, survey).items():
        if form_of(crowd.design) is Form.NOTHING:
            told = {name: value for name, value in json.loads(crowd.segments).items() if value != MIXED}
            own = crowd._replace(segments=canonical(told).decode())
            before = left.get(own, NOBODY)
            left[own] = Held(before.n + n, _added(before.sums, sums), {})
    database.run_many(cursor, PUT_CROWD, [_line(crowd, held) for crowd, held in left.items()])


def _lines(database: Database, cursor: Any, columns: str, table: str, survey: str | None) -> list[Any]:
    """By crowd these columns of a table, of one survey or of all."""
    where = f" WHERE number = {LAST.format(table)}" if table in VERSIONED else " WHERE survey IS NOT NULL"
    where, values = (f"{where} AND survey = ?", (survey,)) if survey is not None else (where, ())
    return list(database.run(cursor, READ.format(columns, table) + where, values).fetchall())


def _outside(crowd: Cell, n: int, kept: str, taken: str = "{}") -> Held:
    """What a line of the counts says, and the one of what was released of it."""
    if not kept:
        return Held(n, [], {})
    if form_of(crowd.design) is not Form.ANSWERS:
        return Held(n, json.loads(kept), {})
    given, public = json.loads(kept), json.loads(taken)
    return Held(
        n, _sums(crowd, given), {answer: CellCount(each, public.get(answer, 0)) for answer, each in given.items()}
    )


def _line(crowd: Cell, held: Held) -> Sequence[Any]:
    given = {answer: count.n for answer, count in sorted(held.answers.items())}
    kept: Any = given if form_of(crowd.design) is Form.ANSWERS else held.sums
    return *crowd[:5], held.n, json.dumps(kept, separators=(",", ":")) if kept else ""


def _to_seal(crowd: Cell, answers: Answers) -> Answers:
    """What is sealed of these answers (rule 3)."""
    form = form_of(crowd.design)
    if form is Form.NOTHING:
        return answers
    left = {answer: CellCount(n - public) for answer, (n, public) in answers.items() if n > public}
    return left if form is Form.SUMS else {}


def _more(crowd: Cell, held: Held, answers: Answers) -> Held:
    given = {answer: count.n for answer, count in answers.items()}
    sums = _added(held.sums, _sums(crowd, given))
    return Held(held.n + sum(given.values()), sums, together([held.answers, answers]))


def _sums(crowd: Cell, texts: Mapping[str, int]) -> list[int]:
    return counts_of_texts(texts, mechanism_of(crowd.design))


def _added(one: Sequence[int], other: Sequence[int]) -> list[int]:
    return [a + b for a, b in zip(one, other, strict=True)] if one and other else list(one or other)
