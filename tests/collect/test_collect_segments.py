"""Who reads every committed state: nobody's answers are joined by what they declared and when it was folded.

Some dozens of people answer three questions in quick succession and declare segments of few people.  The reader
(`tests/support/forensics.py`) has the counts, rows and ids of every state that was ever committed.  Its planted bug is
the store as it was before: every fold told its counts and rows by segments, however few.
"""

from __future__ import annotations

import random
from itertools import groupby
from pathlib import Path

import pytest

from server_agg import open_store
from server_agg.collect.store import fold as folding
from server_agg.collect.store.epochs import NOTHING_GATHERED
from tests.inside.collect import PublishedSurvey, SqliteDatabase, folded_from, incoming
from tests.support.collector_crashing import ids_of
from tests.support.collector_running import DIGEST, report
from tests.support.forensics import clear_state, least_step, logged_states, order_in_crowds
from tests.support.kept_rows import kept_rows

MINIMUM, PEOPLE, GROUPS = 5, 60, 6
BEYOND_CHANCE = 7.5  # standard deviations: exceeded with a probability below 1e-13


def answered(where, *, keep_rows):
    """A store after the traffic, every committed state of it, and the ids as they came."""
    source = random.Random(1)  # the people, not the privacy
    groups = [source.randrange(GROUPS) for _ in range(PEOPLE)]
    events = sorted((person + source.uniform(0, 3), person, q) for person in range(PEOPLE) for q in (1, 2, 3))
    store = open_store(where, keep_rows=keep_rows)
    store.shelf.publish(PublishedSurvey(DIGEST, b"envelope", ("aa" * 32,), "P", "n", 1, MINIMUM))
    if isinstance(store.database, SqliteDatabase):
        with store.database.writing() as cursor:
            cursor.execute("PRAGMA wal_autocheckpoint = 0")  # the log keeps everything
    states, arrival, counted = [], [], []
    order = "ctid" if "://" in where else "id"
    for _, person, q in events:
        made = incoming(report(DIGEST, question=f"q{q}", segments={"group": str(groups[person])}).row)
        store.take([made])
        arrival.append(made.id)
        if store.fold() or not states:
            with store.database.reading() as cursor:
                states.append(clear_state(cursor.execute, order))
            counted.append(store.tallies().n)
    return store, states, arrival, counted


@pytest.mark.parametrize("keep_rows", [False, True], ids=["counts", "rows"])
def test_between_any_two_states_a_group_gains_a_crowd_or_nothing(where, keep_rows):
    store, states, arrival, counted = answered(where, keep_rows=keep_rows)
    assert len(states) > 20
    assert least_step(states) >= MINIMUM
    if "://" not in where:
        logged = logged_states(Path(where))
        assert logged == [state for state, _ in groupby(states)]  # the log has them all
        assert least_step(logged) >= MINIMUM
    within, across = order_in_crowds(states, arrival)
    assert abs(within) < BEYOND_CHANCE
    assert keep_rows or across > 0.9  # the order of crowds is there, as operators are told
    assert counted == sorted(counted)
    assert counted[-1] + len(store.epochs.waiting()) == len(arrival)  # the owner sees small groups from the start
    assert sorted(ids_of(store)[0]) == sorted(arrival)
    known = [one.value for one in store.take([incoming(report(DIGEST, id=id_).row) for id_ in arrival])]
    assert "new" not in known
    store.folds.finish(DIGEST)
    assert (store.tallies().n, store.epochs.waiting()) == (len(arrival), [])
    with store.database.reading() as cursor:
        assert clear_state(cursor.execute).counts.total() == len(arrival)
        assert store.epochs.gathered(cursor) == NOTHING_GATHERED
    store.disconnect()


@pytest.mark.parametrize("keep_rows", [False, True], ids=["counts", "rows"])
def test_the_reader_sees_folds_that_tell_small_groups(where, monkeypatch, keep_rows):
    """The planted bug: what the store did before."""

    def told(crowds, ripe, minimum, gathered, *, keep_rows):
        return folded_from(crowds, ripe, dict.fromkeys(minimum, 0), gathered, keep_rows=keep_rows)

    monkeypatch.setattr(folding, "folded_from", told)
    store, states, _, _ = answered(where, keep_rows=keep_rows)
    assert least_step(states) == 1
    assert "://" in where or least_step(logged_states(Path(where))) == 1
    store.disconnect()


@pytest.mark.engine
def test_the_reader_sees_ids_of_kept_rows_that_are_told_by_folds(postgres, monkeypatch):
    """The planted bug: rows wait for their crowd, and their ids do not."""
    sound = folding.Folds._write

    def early(self, cursor, folded, ring, name, finish):
        ids = {DIGEST: sorted(row.id for row in folded.gathered.rows if row.id not in seen)}
        seen.update(ids[DIGEST])
        rest = {survey: [one for one in own if one not in seen] for survey, own in folded.ids.items()}
        self.database.append_ids(cursor, self._known[DIGEST][1], ids[DIGEST])
        sound(self, cursor, folded._replace(ids=rest), ring, name, finish)

    seen = set()
    monkeypatch.setattr(folding.Folds, "_write", early)
    store, states, _, _ = answered(postgres.new_database(), keep_rows=True)
    assert least_step(states) < MINIMUM
    store.disconnect()


def test_the_reader_sees_ids_in_the_order_of_arrival():
    """The planted bug: crowds that are written as they came."""
    from tests.support.forensics import ClearState

    ids = [f"{random.getrandbits(128):032x}" for _ in range(200)]
    states = [ClearState(None, {}, ids[:n]) for n in range(0, 201, 5)]
    within, across = order_in_crowds(states, ids)
    assert within > BEYOND_CHANCE
    assert across > 0.99
    mixed = [ClearState(None, {}, [id_ for k in range(0, n, 5) for id_ in sorted(ids[k : k + 5])])
             for n in range(0, 201, 5)]  # fmt: skip
    assert abs(order_in_crowds(mixed, ids)[0]) < BEYOND_CHANCE


def test_a_row_that_waits_for_its_crowd_is_known_and_kept_when_the_crowd_is_there(where):
    store = open_store(where, keep_rows=True)
    store.shelf.publish(PublishedSurvey(DIGEST, b"envelope", ("aa" * 32,), "P", "n", 1, 3))
    made = [incoming(report(DIGEST, segments={"group": str(k)}).row) for k in (1, 2, 3)]
    store.take(made)
    assert (store.fold(), store.tallies().n, kept_rows(store)) == (3, 3, [])
    again = [made[0], made[1]._replace(row=made[1].row._replace(answer="0"))]
    assert [one.value for one in store.take(again)] == ["same", "conflicting_id"]
    more = [incoming(report(DIGEST, segments={"group": "1"}).row) for _ in range(3)]
    store.take(more)
    assert store.fold() == 3
    assert kept_rows(store) == sorted((one.row for one in (made[0], *more)), key=lambda row: row.id)
    assert [one.value for one in store.take([made[0], made[2]])] == ["same"] * 2
    store.disconnect()
    store = open_store(where)  # the database remembers that rows are kept
    store.folds.finish(DIGEST)
    assert store.tallies().n == 6
    store.disconnect()
