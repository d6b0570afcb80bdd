"""The ledger's schema: a file of every earlier number is brought forward whole, a newer one is refused by name."""

import sqlite3
from contextlib import closing

import pytest

from rrcollect import LedgerError
from rrcollect.errors import LedgerCorrupt, LedgerNewer, LedgerUnavailable, NewerSchema
from rrcollect.schema import upgrade
from tests.inside.answer import LedgerFile
from tests.inside.answer import file as ledger_file
from tests.support.ledger_crashing import AGAIN, SIGNED, answered, device, rows
from tests.support.stopping import KILLED, Round, copy_of, everywhere, killed_at_line, race

LATER = [
    "ALTER TABLE reports ADD COLUMN place_in_line TEXT NOT NULL DEFAULT ''",
    "CREATE TABLE notes (text TEXT NOT NULL)",
    "INSERT INTO notes SELECT question FROM reports",
]
"""A real step to a schema 2 that exists in these tests alone: a column, a table, and rows made from the old ones."""


@pytest.fixture
def written(tmp_path):
    """A ledger written by the program of schema 1: its folder and the two reports in it."""
    mine = device(tmp_path)
    accepted = mine.accept(SIGNED)
    return tmp_path, [mine.answer(accepted, name, True).to_bytes() for name in ("q1", "q2")]


@pytest.fixture
def newer(monkeypatch):
    """From here on the program knows schema 2."""
    return lambda: monkeypatch.setattr(LedgerFile, "steps", [*LedgerFile.steps, LATER])


def schema(path):
    with closing(sqlite3.connect(path / "ledger.sqlite3")) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def never():
    raise AssertionError("read")


def test_a_file_of_the_step_before_is_brought_forward_and_nothing_is_lost(written, newer):
    path, bodies = written
    guard = (path / "ledger.sqlite3.guard").read_bytes()
    before = rows(path, "draws"), rows(path, "surveys")
    newer()
    mine = device(path)
    assert schema(path) == 2
    assert (rows(path, "draws"), rows(path, "surveys")) == before
    assert sorted(rows(path, "notes")) == [("q1",), ("q2",)]
    assert [row[-1] for row in rows(path, "reports")] == ["", ""]
    accepted = mine.accept(SIGNED)
    assert [mine.answer(accepted, name, never).to_bytes() for name in ("q1", "q2")] == bodies
    assert (path / "ledger.sqlite3.guard").read_bytes()[:-82] == guard  # one line more: the upgrade's
    mine.answer(mine.accept(AGAIN), "later", never)
    assert len(device(path).budget().reports) == 3


def test_a_new_file_takes_every_step(tmp_path, newer):
    newer()
    mine = device(tmp_path)
    assert schema(tmp_path) == 2
    assert rows(tmp_path, "notes") == []
    assert mine.answer(mine.accept(SIGNED), "q1", True).answer in ("0", "1")


def test_a_file_of_a_newer_program_is_refused_by_name_and_left_as_it_is(written, newer, monkeypatch):
    path, _ = written
    with monkeypatch.context() as later:
        later.setattr(LedgerFile, "steps", [*LedgerFile.steps, LATER])
        device(path)
    kept = (path / "ledger.sqlite3").read_bytes()
    said = "the ledger ledger.sqlite3 has schema 2; this program knows schemas up to 1: a newer version wrote it"
    with pytest.raises(LedgerNewer, match=said) as caught:
        device(path)
    assert isinstance(caught.value, LedgerError)
    assert isinstance(caught.value, NewerSchema)
    assert (path / "ledger.sqlite3").read_bytes() == kept
    newer()
    assert len(device(path).budget().reports) == 2


def test_a_damaged_file_is_not_brought_forward(written, newer):
    path, _ = written
    with closing(sqlite3.connect(path / "ledger.sqlite3")) as connection:
        connection.execute("UPDATE surveys SET version = 0")
        connection.commit()
    newer()
    with pytest.raises(LedgerCorrupt, match="altered"):
        device(path)
    assert schema(path) == 1


def test_a_step_that_fails_leaves_the_file_as_it_was(written, monkeypatch):
    path, bodies = written
    with monkeypatch.context() as broken:
        broken.setattr(LedgerFile, "steps", [*LedgerFile.steps, [LATER[0], "INSERT INTO notes VALUES (1)"]])
        with pytest.raises(LedgerError):
            device(path)
    assert schema(path) == 1
    mine = device(path)
    assert mine.answer(mine.accept(SIGNED), "q1", never).to_bytes() == bodies[0]


def test_killed_anywhere_in_the_upgrade_the_file_is_of_the_one_schema_or_the_other(written, newer):
    """At every 17th line; the next program brings the file forward, or finds it so."""
    path, bodies = written
    newer()

    def play(line):
        with copy_of(path) as now:
            status, _ = killed_at_line(line, now, lambda folder: lambda: bool(device(folder)).to_bytes())
            found = schema(now)
            mine = device(now)
            assert schema(now) == 2
            assert mine.answer(mine.accept(SIGNED), "q1", never).to_bytes() == bodies[0]
        return Round(status != 0, f"schema {found}", "" if status in (0, KILLED) else f"ended with {status}")

    counts, fault = everywhere(play, stride=17)
    assert (set(counts), fault) == ({"schema 1", "schema 2"}, "")


def test_many_programs_that_start_at_once_bring_it_forward_once(written, newer):
    path, bodies = written
    newer()
    assert set(race(8, lambda number: answered(device(path), number % 2 == 0))) == {bodies[0]}
    assert sorted(rows(path, "notes")) == [("q1",), ("q2",)]


def test_the_upgrade_waits_for_others_and_gives_up_in_time(written, newer, monkeypatch):
    path, _ = written
    newer()
    monkeypatch.setattr(ledger_file, "BUSY_SECONDS", 0.05)
    blocker = sqlite3.connect(path / "ledger.sqlite3", isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerUnavailable, match="locked"):
        device(path)
    blocker.close()
    assert len(device(path).budget().reports) == 2


@pytest.mark.parametrize("current", [0, 1, 2, 3])
def test_the_steps_that_are_lacking_are_run_in_order_and_no_others(current):
    done = []
    assert upgrade(done.append, current, [["a", "b"], ["c"], ["d", "e"]], "it") == 3
    assert done == [["a", "b", "c", "d", "e"], ["c", "d", "e"], ["d", "e"], []][current]
