"""A release keeps nobody from taking reports: little is written at a time, and much is made by a process of its own."""

from __future__ import annotations

import json
import random
import subprocess
from contextlib import contextmanager
from itertools import product
from types import SimpleNamespace

import pytest

from rrcollect.errors import ParameterError
from server_agg import open_store
from server_agg.collect import apart
from server_agg.collect.store import stages
from server_agg.errors import KeysBusy, StoreUnavailable
from tests.inside.collect import Catalogue, Cell, CellCount, add_to_crowds, incoming
from tests.support.collector_running import publication, report
from tests.support.devices import KEY

VALUES = [f"v{number}" for number in range(11)]
DESIGN = '{"p00":"3/4","p11":"3/4"}'


@pytest.fixture
def store(where, tmp_path):
    opened = open_store(where, keys=tmp_path / "keys")
    yield opened
    opened.disconnect()


@pytest.fixture
def survey(store):
    """A survey of which 1,331 crowds of three were counted."""
    made = publication(segments=dict.fromkeys(("one", "three", "two"), VALUES), minimum=2)
    Catalogue(store.shelf).publish(made.envelope, [KEY.public.raw.hex()])
    groups = [json.dumps(dict(zip(("one", "three", "two"), each, strict=True))) for each in product(VALUES, repeat=3)]
    counts = {
        Cell(made.survey.digest, "q1", 0, DESIGN, group.replace(" ", ""), answer): CellCount(n)
        for group in groups
        for answer, n in (("0", 2), ("1", 1))
    }
    with store.database.writing() as cursor:
        add_to_crowds(store.database, cursor, {}, counts)
    return made.survey


def watched(store, monkeypatch):
    """How many lines each transaction of this store writes."""
    sizes, writing, run_many = [], store.database.writing, store.database.run_many

    @contextmanager
    def counted(**how):
        sizes.append(0)
        with writing(**how) as cursor:
            yield cursor

    def many(cursor, statement, rows):
        sizes[-1] += len(rows)
        run_many(cursor, statement, rows)

    monkeypatch.setattr(store.database, "writing", counted)
    monkeypatch.setattr(store.database, "run_many", many)
    return sizes


def longest(store, survey, monkeypatch):
    sizes = watched(store, monkeypatch)
    assert store.release(survey).added > 3_000
    return max(sizes)


def test_a_release_writes_little_at_a_time_and_reports_are_taken_between(store, survey, monkeypatch):
    monkeypatch.setattr(stages, "AT_ONCE", 100)
    taken = []

    def pause(seconds):
        (outcome,) = store.take([incoming(report(survey.digest).row)])
        taken.append((seconds > 0, outcome.value, store.last_release(survey)))

    ours = SimpleNamespace(sleep=pause, perf_counter=stages.time.perf_counter)  # a database's driver sleeps, too
    monkeypatch.setattr(stages, "time", ours)
    assert longest(store, survey, monkeypatch) == 100
    assert len(taken) > 20
    assert set(taken) == {(True, "new", None)}  # and nothing is public before all of it is


def test_the_check_sees_a_release_that_is_written_at_once(store, survey, monkeypatch):
    """The planted bug: what was before."""
    monkeypatch.setattr(stages, "AT_ONCE", 10**9)
    assert longest(store, survey, monkeypatch) > 1_300


def test_a_release_by_another_process_is_the_release(store, survey, monkeypatch):
    monkeypatch.setattr(apart, "FEW", 10)
    seen, run = [], subprocess.run

    def watched_run(command, **how):
        seen.append((str(command), how["input"]))
        return run(command, **how)

    monkeypatch.setattr(apart.subprocess, "run", watched_run)
    made = apart.release(store, survey, headline=0, now=1_000_000)
    assert (made["number"], made["at"], made["added"] % 2) == (1, "1970-01-12T13:46Z", 0)
    assert store.last_release(survey).facts.headline == 0
    assert store.last_release(survey).tallies.n == made["added"] > 3_900
    ((command, given),) = seen
    assert store.database.address in given
    assert store.database.address not in command  # where everybody of the machine could read it
    assert survey.digest not in command
    assert apart.release(store, survey)["added"] == 0
    store.take([incoming(report(survey.digest).row) for _ in range(40)])
    store.fold()
    assert apart.release(store, survey)["number"] == 2


def test_a_release_of_few_is_made_here(store, survey, monkeypatch):
    monkeypatch.setattr(apart.subprocess, "run", None)
    assert apart.release(store, survey)["added"] > 3_900


def test_what_goes_wrong_there_is_said_here(store, survey, monkeypatch):
    monkeypatch.setattr(apart, "FEW", 10)
    with pytest.raises(ParameterError, match="headline"):
        apart.release(store, survey, headline=7)
    with monkeypatch.context() as patch:
        patch.setattr(apart.sys, "executable", "/bin/false")
        with pytest.raises(StoreUnavailable, match="ended with 1"):
            apart.release(store, survey)
    done = subprocess.CompletedProcess((), 0, '{"error": "KeysBusy", "words": "a copy is under way"}')
    with monkeypatch.context() as patch:
        patch.setattr(apart.subprocess, "run", lambda *_, **__: done)
        with pytest.raises(KeysBusy, match="a copy is under way"):
            apart.release(store, survey)
    assert store.last_release(survey) is None
    assert apart.release(store, survey)["number"] == 1


def test_a_release_that_was_interrupted_leaves_nothing_that_counts(store, survey, monkeypatch):
    """What was written of it under its number is neither read nor kept by the next one."""
    write, written = stages.write, []

    def cut_off(database, statement, lines):
        if written.append(statement) or len(written) > 4:  # after what is swept before
            raise StoreUnavailable("gone")
        write(database, statement, lines)

    with monkeypatch.context() as patch:
        patch.setattr(stages, "write", cut_off)
        with pytest.raises(StoreUnavailable):
            store.release(survey, source=random.Random(1))
    with store.database.reading() as cursor:
        left = store.database.run(cursor, "SELECT COUNT(*) FROM taken").fetchone()[0]
    assert left > 1_000
    assert store.last_release(survey) is None
    before = store.tallies()
    made = store.release(survey, source=random.Random(2))
    assert store.last_release(survey).tallies.n == made.added
    assert store.tallies() == before
