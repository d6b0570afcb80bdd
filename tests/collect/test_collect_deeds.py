"""The owner's log: every deed is in it, no respondent's, and a changed or cut log is noticed."""

from __future__ import annotations

import json

import pytest

from rrcollect import ParameterError
from server_agg import open_store
from server_agg.errors import UnfitDatabase
from tests.inside.collect import Catalogue, incoming
from tests.support.collector_running import BEARER, RunningCollector, body, expired, report
from tests.support.command_line import main
from tests.support.devices import KEY


def done(store):
    """A store after some deeds; its survey."""
    made = expired(minimum=2, expires="2026-01-01T00:00:00Z")
    survey = Catalogue(store.shelf).publish(made.envelope, [KEY.public.raw.hex()])[0].survey
    Catalogue(store.shelf).publish(made.envelope, [KEY.public.raw.hex()])  # it is there: no deed
    store.take([incoming(report(survey.digest).row) for _ in range(5)])
    store.fold()
    store.release(survey, now=1_800_000_000)
    store.release(survey)  # nothing new: no deed
    for _ in range(2):
        store.folds.finish(survey.digest)
    return survey


@pytest.fixture
def store(where, tmp_path):
    opened = open_store(where, keys=tmp_path / "keys")
    yield opened
    opened.disconnect()


def test_deeds_are_entries_and_what_respondents_do_is_not(store, tmp_path):
    survey = done(store)
    log = store.log()
    assert [(one.number, one.deed, one.survey) for one in log] == [
        (number, deed, survey.digest) for number, deed in enumerate(("published", "released", "closed"))
    ]
    assert (log[1].moment, log[1].facts) == ("2027-01-15T08:00:00Z", {"release": 1, "added": 4})
    assert store.log(log[1].checkpoint) == log
    assert store.export(tmp_path / "log.jsonl") == 3
    assert [json.loads(line)["deed"] for line in (tmp_path / "log.jsonl").read_text().splitlines()] == [
        "published", "released", "closed",
    ]  # fmt: skip


@pytest.mark.parametrize("change", [
    "UPDATE deeds SET line = replace(line, 'released', 'rebuilt!') WHERE number = 1",
    "UPDATE deeds SET line = replace(line, ':', ': ') WHERE number = 1",
    "UPDATE deeds SET line = 'nothing' WHERE number = 2",
    "DELETE FROM deeds WHERE number = 1",
    "DELETE FROM deeds WHERE number = 0",
    "UPDATE deeds SET number = 7 WHERE number = 2",
])  # fmt: skip
def test_a_changed_line_is_noticed_at_once(store, change):
    done(store)
    with store.database.writing() as cursor:
        cursor.execute(change)
    with pytest.raises(UnfitDatabase, match="the owner's log was changed: entry"):
        store.log()


def test_a_cut_end_and_a_log_written_anew_are_noticed_against_a_checkpoint(store):
    done(store)
    last = store.log()[-1].checkpoint
    with store.database.writing() as cursor:
        cursor.execute("DELETE FROM deeds WHERE number = 2")
    store.log()  # by itself it is whole
    with pytest.raises(UnfitDatabase, match="cut or written anew"):
        store.log(last)
    with store.database.writing() as cursor:
        cursor.execute("DELETE FROM deeds")
    done(store)
    with pytest.raises(UnfitDatabase, match="cut or written anew"):
        store.log(last)
    with pytest.raises(ParameterError, match="checkpoint"):
        store.log("last week")


def test_a_collector_that_starts_notes_it_and_a_new_token_and_shows_the_log(tmp_path, capsys):
    where = str(tmp_path / "a.sqlite3")
    with RunningCollector(where) as running:
        digest = running.page_of()
        for _ in range(3):
            running.post(body(digest))
        _, said = running.json("GET", "/surveys", headers=BEARER)
    deeds = ["opened", "token changed", "published"]
    assert [one["deed"] for one in said["log"]["entries"]] == deeds
    with RunningCollector(where):
        pass
    with open_store(where) as store:
        log = store.log(said["log"]["checkpoint"])
        assert [one.deed for one in log] == [*deeds, "opened"]
        assert "a token for the tests" not in str(log)
    assert main(["store", "check", "--store", where, "--checkpoint", said["log"]["checkpoint"]]) == 0
    assert f"the owner's log is whole: 4 entries, the last is {log[-1].checkpoint}" in capsys.readouterr().out
    with open_store(where) as store, store.database.writing() as cursor:
        cursor.execute("DELETE FROM deeds WHERE number >= 2")
    assert main(["store", "check", "--store", where]) == 0
    assert main(["store", "check", "--store", where, "--checkpoint", said["log"]["checkpoint"]]) != 0
    assert "cut or written anew" in capsys.readouterr().err
