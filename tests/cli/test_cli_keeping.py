"""The commands on a collector's store: where they find it, and numbers that they do not take."""

import io
import json
import os
import sys
from datetime import timedelta
from types import SimpleNamespace

import pytest

from rrcollect import ParameterError
from server_agg import open_store
from server_agg.collect.settings import PREFIX
from tests.inside.collect import Catalogue, incoming
from tests.support.collector_running import body, expired, publication, report
from tests.support.command_line import refused, run
from tests.support.devices import KEY

PASSWORD = "hunter2-hunter2"  # noqa: S105


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def stored(where, made, reports=4, **how):
    """A store with a survey, and reports that wait in it."""
    store = open_store(where, **how)
    Catalogue(store.shelf).publish(made.envelope, [KEY.public.raw.hex()])
    store.take([incoming(report(made.digest).row) for _ in range(reports)])
    store.disconnect()
    return made.digest


def is_closed(where):
    store = open_store(where)
    found = [one.closed for one in store.shelf.surveys()]
    store.disconnect()
    return found == [True]


# ---- numbers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grace", ["-100000", "-1e-9", "nan", "inf", "-inf", "1e300", "1000000000", "999999999"])
def test_a_grace_that_is_no_time_closes_nothing(tmp_path, capsys, grace):
    where = tmp_path / "a.sqlite3"
    digest = stored(where, publication(expires="2100-01-01T00:00:00Z"))
    said = refused(capsys, 2, "grace is ", "store", "close", digest, "--store", str(where), f"--grace={grace}")
    assert "use a " in said
    assert not is_closed(where)


@pytest.mark.parametrize("grace", [timedelta(days=-100_000), timedelta(microseconds=-1), timedelta.min, timedelta.max])
def test_a_program_cannot_close_with_such_a_grace_either(tmp_path, grace):
    where = tmp_path / "a.sqlite3"
    digest = stored(where, publication(expires="2100-01-01T00:00:00Z"))
    store = open_store(where)
    with pytest.raises(ParameterError, match="^grace is "):
        store.close(digest, grace=grace)
    store.disconnect()
    assert not is_closed(where)


@pytest.mark.parametrize("grace", ["0", "0.5", "-0.0"])
def test_a_survey_that_is_over_is_closed_with_little_grace(tmp_path, capsys, grace):
    where = tmp_path / "a.sqlite3"
    digest = stored(where, expired(minimum=2, expires="2026-01-01T00:00:00Z"))
    assert run(capsys, "store", "close", digest, "--store", str(where), f"--grace={grace}")[0] == 0
    assert is_closed(where)


@pytest.mark.parametrize("headline", ["9" * 5000, "1" * 10, "\u0661", "1.0", "nan", "+1", "00"])
def test_a_headline_that_is_no_round_is_refused(tmp_path, capsys, headline):
    digest = stored(tmp_path / "a.sqlite3", publication())
    words = ("store", "release", digest, "--store", "a.sqlite3", f"--headline={headline}")
    refused(capsys, 2, "the number of a round, from 1 on, or whole", *words)


# ---- where the store is ----------------------------------------------------------------------------------------------


def commands(digest):
    """Each command without its store."""
    return {
        "ingest": ["store", "ingest"],
        "export": ["store", "export", "--out", "counts.json"],
        "backup": ["store", "backup", "--out", "copy.sqlite3"],
        "release": ["store", "release", digest],
        "close": ["store", "close", digest],
    }


@pytest.mark.parametrize("way", ["RRCOLLECT_STORE", "RRCOLLECT_STORE_FILE"])
@pytest.mark.parametrize("name", list(commands("")))
def test_the_store_and_its_keys_are_those_of_the_settings(tmp_path, monkeypatch, capsys, name, way):
    """As in `deploy/compose.yaml`: an empty variable beside its file, several workers, a folder of keys elsewhere."""
    made = expired(minimum=2, expires="2026-01-01T00:00:00Z")
    digest = stored(tmp_path / "a.sqlite3", made, keys=tmp_path / "elsewhere")
    for variable, value in (("RRCOLLECT_STORE", "a.sqlite3"), ("RRCOLLECT_EPOCH_KEYS", "elsewhere")):
        if way.endswith("_FILE"):
            (tmp_path / variable).write_text(value + "\n")
            monkeypatch.setenv(variable + "_FILE", variable)
        monkeypatch.setenv(variable, "" if way.endswith("_FILE") else value)
    monkeypatch.setenv("RRCOLLECT_WORKERS", "2")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(body(digest))))
    code, out, err = run(capsys, *commands(digest)[name], "--json")
    assert (code, err) == (3 if name == "ingest" else 0, "")
    wanted = {"ingest": ("refused", {"closed": 1}), "backup": ("waiting", 4), "close": ("reports", 4)}
    if name in wanted:
        key, value = wanted[name]
        assert json.loads(out)[key] == value
    assert not (tmp_path / "a.sqlite3.keys").exists()


def test_what_is_given_wins_over_the_settings(tmp_path, monkeypatch, capsys):
    digest = stored(tmp_path / "a.sqlite3", publication(), keys=tmp_path / "elsewhere")
    monkeypatch.setenv("RRCOLLECT_STORE", f"postgresql://me:{PASSWORD}@absent.invalid/reports")
    monkeypatch.setenv("RRCOLLECT_EPOCH_KEYS", "nowhere")
    monkeypatch.setenv("RRCOLLECT_WORKERS", "2")
    assert run(capsys, "store", "release", digest, "--store", "a.sqlite3", "--epoch-keys", "elsewhere")[0] == 0
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("name", list(commands("")))
def test_without_a_store_it_is_said_what_to_give(tmp_path, monkeypatch, capsys, name):
    words = commands("0" * 64)[name]
    for more in ([], ["--store="]):
        said = refused(capsys, 2, "give --store", *words, *more)
        assert "RRCOLLECT_STORE_FILE" in said
    monkeypatch.setenv("RRCOLLECT_PORT", "8001")
    refused(capsys, 2, "give --store", *words)
    assert list(tmp_path.iterdir()) == []


def test_an_address_from_the_environment_is_not_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RRCOLLECT_STORE", f"host=db password={PASSWORD}")
    said = refused(capsys, 4, "there is no database where RRCOLLECT_STORE", "store", "export", "--out", "counts.json")
    assert PASSWORD not in said
    assert list(tmp_path.iterdir()) == []


def test_settings_come_from_the_environment_without_any_further_package(tmp_path, monkeypatch, capsys):
    stored(tmp_path / "a.sqlite3", publication())
    monkeypatch.setitem(sys.modules, "pydantic_settings", None)
    assert run(capsys, "store", "export", "--out", "counts.json", "--store", "a.sqlite3")[0] == 0
    monkeypatch.setenv("RRCOLLECT_STORE", "a.sqlite3")
    assert run(capsys, "store", "export", "--out", "more.json")[0] == 0
    assert (tmp_path / "more.json").read_bytes() == (tmp_path / "counts.json").read_bytes()
