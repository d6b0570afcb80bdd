"""Settings: one table; from a program, a command line, the environment and files; nothing secret is shown."""

from __future__ import annotations

import pickle
import re
from datetime import timedelta
from pathlib import Path

import pytest

from rrcollect import ParameterError
from server_agg import CollectorSettings
from server_agg.collect.http import app
from server_agg.collect.http import log as log_routes
from server_agg.collect.http import surveys as survey_routes
from server_agg.collect.settings import OWN_ADDRESSES, defaults
from tests.inside.collect import settings_from_environment, variable
from tests.support.command_line import main

SECRET = "hunter2 hunter2 hunter2"  # noqa: S105
ADDRESS = f"postgresql://me:{SECRET.replace(' ', '-')}@db.example.org:5433/reports?application_name=x"
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "operators.md"


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch):
    for name in CollectorSettings.model_fields:
        monkeypatch.delenv(variable(name), raising=False)
        monkeypatch.delenv(variable(name) + "_FILE", raising=False)


def test_what_is_given_wins_over_the_environment_and_that_over_the_default(monkeypatch, tmp_path):
    (tmp_path / "store").write_text(ADDRESS + "\n")
    for name, value in (("PORT", "8001"), ("GRACE", "P1D"), ("HTTPS", "true"),
                        ("STORE_FILE", str(tmp_path / "store"))):  # fmt: skip
        monkeypatch.setenv(f"RRCOLLECT_{name}", value)
    made = settings_from_environment(port="8002")
    assert (made.port, made.grace, made.https) == (8002, timedelta(days=1), True)
    assert made.store.get_secret_value() == ADDRESS
    assert made.minimum == CollectorSettings().minimum == 30
    assert CollectorSettings().port == 8000  # a program that makes its own settings reads no environment
    assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301


@pytest.mark.parametrize("name", ["RRCOLLECT_PROT", "RRCOLLECT_PROT_FILE", "RRCOLLECT_MINIMUM_ANSWERS"])
def test_a_variable_that_is_not_a_setting_is_told(monkeypatch, name):
    monkeypatch.setenv(name, SECRET)
    with pytest.raises(ParameterError, match="the name of a setting") as caught:
        settings_from_environment()
    assert SECRET not in str(caught.value)


def test_a_variable_and_its_file_together_are_refused(monkeypatch, tmp_path):
    (tmp_path / "token").write_text(SECRET)
    monkeypatch.setenv("RRCOLLECT_OWNER_TOKEN", SECRET)
    monkeypatch.setenv("RRCOLLECT_OWNER_TOKEN_FILE", str(tmp_path / "token"))
    with pytest.raises(ParameterError, match="not both"):
        settings_from_environment()
    monkeypatch.setenv("RRCOLLECT_OWNER_TOKEN", "")  # an empty one is not set
    assert settings_from_environment().owner_token.get_secret_value() == SECRET
    monkeypatch.setenv("RRCOLLECT_OWNER_TOKEN_FILE", str(tmp_path / "absent"))
    with pytest.raises(ParameterError, match="can be read"):
        settings_from_environment()


def test_no_secret_is_shown(monkeypatch):
    monkeypatch.setenv("RRCOLLECT_OWNER_TOKEN", SECRET)
    monkeypatch.setenv("RRCOLLECT_STORE", ADDRESS)
    made = settings_from_environment()
    shown = f"{made!r} {made} {made.shown()}"
    assert SECRET not in shown
    assert "hunter2" not in shown
    assert made.shown()["store"] == "postgresql://db.example.org/reports"
    for bad in ({"queue_limit": 1}, {"minimum": "x"}, {"store": 7}, {"owner_token": 7}, {"nonsense": SECRET}):
        with pytest.raises(ParameterError) as caught:
            settings_from_environment(**bad)
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(("bad", "words"), [
    ({"port": 0}, "port is 0"), ({"port": "x"}, "port is 'x'"), ({"prefix": "surveys"}, "/ask"),
    ({"prefix": "/a b"}, "/ask"), ({"prefix": "/surveys"}, "none of assets"), ({"prefix": "/s/x/"}, "none of assets"),
    ({"workers": 2}, "1 for SQLite"), ({"body_seconds": float("nan")}, "body_seconds"),
    ({"retention_days": -1}, "retention_days"), ({"retention_days": 10**9}, "36525"), ({"grace": "P99999D"}, "36525"),
    ({"minimun": 3}, "'minimun': use one of store, owner_token"),
])  # fmt: skip
def test_nonsense_is_refused_by_name(bad, words):
    with pytest.raises(ParameterError, match=words):
        CollectorSettings(**bad)


def test_a_prefix_is_not_one_of_the_addresses_below_it():
    """A proxy may take the prefix away: what is left must not be read as a prefix again."""
    routes = [Path(module.__file__).read_text(encoding="utf-8") for module in (app, survey_routes, log_routes)]
    first = {path.split("/")[1] for text in routes for path in re.findall(r'Route\("(/[^"]*)"', text)} - {""}
    assert sorted(first | {"gateway"}) == list(OWN_ADDRESSES)  # which is in front of the routes


def test_the_command_and_the_guide_list_every_setting(capsys):
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    guide = GUIDE.read_text(encoding="utf-8")
    for name, field in CollectorSettings.model_fields.items():
        assert variable(name) in told
        assert f"| `{variable(name)}` | {defaults()[name]} | {field.description} |" in guide, name
    assert "--owner-token" not in told  # a command line is read by everybody on the machine
