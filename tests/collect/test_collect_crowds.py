"""What a store keeps of a crowd: for every mechanism, whoever reads all that is not sealed finds no single answer.

The reader takes every table outside the seal, line by line, after every fold and release.  It looks for answers as they
were sent, for tables with a line per answer, and for crowds that came or grew by fewer than the minimum.  Its planted
bug is the store as it was: how often each answer was given, whatever the mechanism.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from itertools import pairwise, product

import pytest

from rrcollect import BlockDesign, Choice, Design, Number, SetDesign, Several
from server_agg import Tallies, open_store
from server_agg.collect.store.database import SEALED
from server_agg.collect.store.epochs import NOTHING_GATHERED
from tests.inside.collect import Catalogue, crowds, incoming
from tests.inside.design import DESIGNS, BinDesign, SeveralDesign
from tests.support.collector_running import TABLES, expired, publication, report
from tests.support.devices import KEY, question

MINIMUM, SEGMENTS = 5, {"region": ["n", "s"], "age": ["1", "2", "3"]}
MADE = {
    "yes or no": Design("3/4", "3/4"),
    "few options": SetDesign(4, 1, "1/2"),
    "one of many": SetDesign(12, 1, "1/2"),
    "all but one": SetDesign(10, 9, "19/20"),
    "sets": SetDesign(9, 4, "3/4"),
    "blocks": BlockDesign(3, 3, "5/8"),
    "all that apply": SeveralDesign(60, "3/4"),
    "bins": BinDesign(8, "3/4"),
}
KINDS = {
    SeveralDesign: lambda made: Several([f"option {n}" for n in range(made.several)]),
    BinDesign: lambda made: Number(0, made.bins, bins=made.bins),
}
LARGE = [name for name, made in MADE.items() if made.values > 8]


def test_every_mechanism_is_read():
    assert {type(made) for made in MADE.values()} == set(DESIGNS.values())
    for made in MADE.values():
        assert len(answers_of(made)) == made.values


def answers_of(made):
    digits = "01" if made.statistic == "ones" else "0123456789"
    return [text for each in product(digits, repeat=made.width) if made.allows(text := "".join(each))]


def asked(store, made, publish=publication, **changes):
    choice = lambda made: Choice(options=[{"en": f"option {n}"} for n in range(made.truths)])  # noqa: E731
    kind = {"kind": KINDS.get(type(made), choice)(made)} if made.values > 2 else {}
    made = publish(questions=[question(design=made.to_grid(), **kind)], minimum=MINIMUM, segments=SEGMENTS, **changes)
    return Catalogue(store.shelf).publish(made.envelope, [KEY.public.raw.hex()])[0].survey


def came(survey, many, source):
    """Reports with answers of the question's design, and with segments, some not declared."""
    made = survey.questions[0].design
    answers = answers_of(made)
    found = []
    for _ in range(many):
        declared = {name: source.choice(values) for name, values in SEGMENTS.items() if source.random() < 0.8}
        found.append(report(survey.digest, design=made, answer=source.choice(answers), segments=declared))
    return found


def outside(store):
    """Every table that is not sealed, as (columns, lines)."""
    found = {}
    with store.database.reading() as cursor:
        for table in sorted(set(TABLES) - set(SEALED)):
            cursor.execute(f"SELECT * FROM {table}")  # noqa: S608
            found[table] = [column[0] for column in cursor.description], [tuple(line) for line in cursor.fetchall()]
    return found


def by_crowd(state):
    found = Counter()
    for table in ("counts", "released"):
        columns, lines = state[table]
        at = [columns.index(name) for name in ("question", "round", "design", "segments", "n")]
        for line in lines:
            *crowd, n = (line[place] for place in at)
            found[table, *crowd] += n
    return found


def faults(states, made, sent):
    """What the reader finds in states of a store that keeps no rows."""
    found = set()
    for before, after in pairwise(states):
        old, new = by_crowd(before), by_crowd(after)
        if any(0 < abs(new[crowd] - old[crowd]) < MINIMUM for crowd in {*old, *new}):
            found.add("a crowd changed by too few")
    for state in states:
        if any("answer" in columns and lines for columns, lines in state.values()):
            found.add("a line per answer")
        shown = {table: lines for table, (_, lines) in state.items() if table not in ("surveys", "ids")}
        if made.values > 8 and any(f'"{answer}"' in str(shown) for answer in sent):
            found.add("an answer in the clear")
        for line in state["counts"][1]:
            kept = json.loads(line[-1] or "[]")
            if made.values > 8 and kept and (isinstance(kept, dict) or made.sums_tell):
                found.add("sums that tell answers")
    return found


def traffic(store, survey, source, *, releases=True):
    """Some dozens of reports in small groups, folded each time and released sometimes; the states, and all reports."""
    states, reports = [outside(store)], []
    for step in range(12):
        some = came(survey, source.choice((1, 3, 6, 30)), source)
        reports += some
        store.take([incoming(one.row) for one in some])
        store.fold()
        states.append(outside(store))
        waiting = {one.id for one in store.epochs.waiting()}
        assert store.tallies() == Tallies.of(one for one in reports if one.id not in waiting)
        if releases and step % 4 == 3:
            store.release(survey)
            states.append(outside(store))
            assert store.tallies() == Tallies.of(one for one in reports if one.id not in waiting)
    return states, reports


@pytest.fixture
def store(where, tmp_path):
    opened = open_store(where, keys=tmp_path / "keys")
    yield opened
    opened.disconnect()


@pytest.mark.parametrize("name", MADE)
def test_outside_the_seal_a_crowd_has_no_single_answers_and_grows_by_crowds(store, name):
    made = MADE[name]
    survey = asked(store, made)
    states, reports = traffic(store, survey, random.Random(1))
    assert faults(states, made, {one.answer for one in reports}) == set()
    assert len(by_crowd(states[-1])) > 8
    n = store.last_release(survey).tallies.n
    assert n % MINIMUM == 0
    assert n > len(reports) // 2


@pytest.mark.parametrize("name", LARGE)
def test_the_reader_sees_answers_that_are_kept_one_by_one(store, name, monkeypatch):
    """The planted bug: the store as it was."""
    monkeypatch.setattr(crowds, "form_of", lambda design: crowds.Form.ANSWERS)
    states, reports = traffic(store, asked(store, MADE[name]), random.Random(1))
    found = faults(states, MADE[name], {one.answer for one in reports})
    assert found == {"an answer in the clear", "sums that tell answers"}


@pytest.mark.parametrize("name", MADE)
def test_each_answer_is_released_once_and_from_those_that_came(store, name):
    survey, source, reports = asked(store, MADE[name]), random.Random(2), []
    for _ in range(6):
        some = came(survey, 40, source)
        reports += some
        store.take([incoming(one.row) for one in some])
        made = store.release(survey)
        public = store.last_release(survey).tallies.one()
        assert public.n == len(reports) - sum(made.waiting.values())
        assert sum(made.waiting.values()) < MINIMUM
        whole = Tallies.of(reports).one()
        assert all(a <= b for a, b in zip(public.counts, whole.counts, strict=True))
        assert all(b - a < MINIMUM for a, b in zip(public.counts, whole.counts, strict=True))


def test_sealed_answers_are_few_contents_until_a_release_makes_them_one(store):
    survey, source = asked(store, MADE["sets"]), random.Random(3)
    for _ in range(40):
        store.take([incoming(one.row) for one in came(survey, 20, source)])
        store.fold()
    with store.database.reading() as cursor:
        many = cursor.execute("SELECT COUNT(*) FROM answers GROUP BY segments").fetchall()
        ring = store.epochs.ring(cursor)
    assert len(many) == 12
    assert all(n <= 8 for (n,) in many)  # 40 folds
    store.release(survey)
    with store.database.reading() as cursor:
        many = cursor.execute("SELECT COUNT(*) FROM answers GROUP BY segments").fetchall()
        assert all(n == 1 for (n,) in many)
        assert store.epochs.ring(cursor).surveys != ring.surveys


@pytest.mark.parametrize("name", MADE)
def test_when_a_survey_ends_its_answers_are_erased_and_sums_and_what_is_public_stay(store, name):
    survey = asked(store, MADE[name], expired, expires="2026-01-01T00:00:00Z")
    _, reports = traffic(store, survey, random.Random(4))
    public = store.last_release(survey)
    store.folds.finish(survey.digest)
    with store.database.reading() as cursor:
        assert cursor.execute("SELECT COUNT(*) FROM answers").fetchone() == (0,)
        assert cursor.execute("SELECT COUNT(*) FROM gathered").fetchone() == (0,)
        assert store.epochs.gathered(cursor) == NOTHING_GATHERED
    assert store.last_release(survey) == public
    left, form = store.tallies(), crowds.form_of(MADE[name].text)
    if form is crowds.Form.ANSWERS:
        assert left == Tallies.of(reports)
    elif form is crowds.Form.NOTHING:
        assert left.one() == public.tallies.one()
    else:  # what was no crowd with its segments is one without them, or is not counted
        assert len(reports) - MINIMUM < left.n <= len(reports)
        assert all(tally.n >= MINIMUM for tally in left.values())
    store.folds.finish(survey.digest)
    assert store.tallies() == left


@pytest.mark.parametrize("name", MADE)
def test_a_copy_without_its_key_has_the_sums_and_what_is_public_and_goes_on(tmp_path, name):
    store = open_store(tmp_path / "a.sqlite3", keys=tmp_path / "keys")
    survey = asked(store, MADE[name])
    _, reports = traffic(store, survey, random.Random(5))
    public, before = store.last_release(survey).tallies.one(), by_crowd(outside(store))
    store.backup(tmp_path / "copy.sqlite3")
    store.backup(tmp_path / "whole.sqlite3", with_key=True)
    store.disconnect()
    with open_store(tmp_path / "whole.sqlite3", keys=tmp_path / "whole.sqlite3.keys") as whole:
        waiting = {one.id for one in whole.epochs.waiting()}
        assert whole.tallies() == Tallies.of(one for one in reports if one.id not in waiting)
    with open_store(tmp_path / "copy.sqlite3", keys=tmp_path / "other keys") as copy:
        n = sum(n for (table, *_), n in before.items() if table == "counts")
        left = public.n if crowds.form_of(MADE[name].text) is crowds.Form.NOTHING else n
        assert copy.tallies().n == left
        if left == public.n != n:
            assert copy.tallies().one() == public
        more = came(survey, 60, random.Random(6))
        copy.take([incoming(one.row) for one in more])
        copy.fold()
        assert copy.tallies().n == left + 60
        copy.release(survey)
        assert copy.tallies().n == left + 60
        assert copy.last_release(survey).tallies.n >= public.n + 60 - MINIMUM


@pytest.mark.parametrize("name", MADE)
def test_the_length_of_what_waits_tells_how_many_reports_and_nothing_else(store, name):
    """Long names of segments made long contents of those who declared them."""
    long = {"region": ["n", "s" * 60], "age": ["1", "2" * 60], "trade": ["t" * 60], "a" * 60: ["x" * 60]}
    survey = asked(store, MADE[name], lambda **fields: publication(**{**fields, "segments": long}))
    made, sizes = survey.questions[0].design, Counter()
    for declared in ({}, {"region": "n"}, {part: max(values, key=len) for part, values in long.items()}):
        store.take([incoming(report(survey.digest, design=made, answer=made.blank, segments=declared).row)])
    with store.database.reading() as cursor:
        sizes.update(len(content) for (content,) in cursor.execute("SELECT content FROM intake").fetchall())
    assert list(sizes.values()) == [3]
