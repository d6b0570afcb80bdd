"""A tool with telemetry is the tool without it: its output, its exit code, and what it draws and sends."""

from __future__ import annotations

import json
import logging
import os
import resource
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rrcollect import ParameterError, Question, SigningKey, SimulatedCollector, Survey, SurveyRefused, optimal_design
from rrcollect.errors import KeyFileError
from rrcollect.telemetry import Telemetry
from tests.inside.publish import RoundTimes
from tests.inside.telemetry import NAME, Note
from tests.support.waiting import until

pytestmark = pytest.mark.process
KEY = SigningKey.generate()
HEX = KEY.public.raw.hex()
TODAY = datetime(2026, 3, 1, tzinfo=UTC)


def survey_of(**fields):
    asked = [
        Question(id="crashed", attribute="crashed", text="Did it crash?", design=optimal_design("ln 3")),
        Question(id="slow", attribute="slow", text="Was it slow?", design=optimal_design("ln 3")),
    ]
    return Survey(**{
        "name": "stability", "version": 1, "title": "Stability", "publisher": "Example Software",
        "collector": "http://127.0.0.1:9/reports", "expires": "2100-01-01T00:00:00Z",
        "segments": {"version": ["1", "2", "other"]}, "questions": asked, **fields,
    })  # fmt: skip


SURVEY = survey_of()
ENVELOPE = SURVEY.publish([KEY]).envelope


@pytest.fixture
def home(tmp_path):
    (tmp_path / "survey.json").write_bytes(ENVELOPE)
    return tmp_path


def tool(home, how, folder=None, **running):
    command = [
        sys.executable,
        "-m",
        "tests.support.telemetry_tool",
        how,
        folder or home / "t",
        home / "survey.json",
        HEX,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **running)


def seen(done):
    return done.stdout, done.stderr, done.returncode


def telemetry_of(home, **how):
    options = {"consent": True, "strict": True, "spread": 0, "transport": SimulatedCollector([SURVEY])} | how
    return Telemetry(home / "t", ENVELOPE, KEY.public, **options)


def draws(home):
    """How many draws the ledger holds."""
    return len(telemetry_of(home, consent=False).sent())


def told(telemetry, truth=lambda: True, question="crashed"):
    """One run of the host."""
    telemetry.answer(question, truth)
    telemetry.finish()
    telemetry.deliver()
    return telemetry


# ---- the host is not harmed -------------------------------------------------------------------------------------


def limited_disk():
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


@pytest.mark.parametrize("how", ["yes", "no", "unasked", "broken", "yes,process", "yes,raising", "yes,killed"])
def test_a_tool_with_telemetry_says_and_ends_as_without(home, how):
    ending = [word for word in how.split(",") if word in ("raising", "killed")]
    without = tool(home, ",".join(["without", *ending]))
    assert [seen(tool(home, how)) for _ in range(2)] == [seen(without)] * 2
    drawn = "yes" in how and "killed" not in how
    assert (home / "t" / "ledger.sqlite3").exists() == drawn


@pytest.mark.parametrize("fault", ["no folder", "full disk", "no survey", "another key", "damaged note", "other owner"])
def test_what_goes_wrong_is_not_the_tools(home, fault):
    without, folder, running = tool(home, "without"), None, {}
    if fault == "no folder":
        folder = home / "survey.json" / "below"
    if fault == "full disk":
        running = {"preexec_fn": limited_disk}
    if fault == "no survey":
        (home / "survey.json").write_bytes(ENVELOPE[:-9])
    if fault == "another key":
        (home / "survey.json").write_bytes(SURVEY.publish([SigningKey.generate()]).envelope)
    if fault == "damaged note":
        (home / "t").mkdir()
        (home / "t" / NAME).write_bytes(b'{"survey": [')
    if fault == "other owner":
        (home / "t").mkdir()
        (home / "t" / "drawing.lock").mkdir()  # cannot be opened as a file
    found = tool(home, "yes", folder, **running)
    if fault == "full disk":  # such a disk takes no output of the tool either: its pipe is no file
        assert found.returncode == without.returncode
    assert seen(found) == seen(without)


def test_a_host_that_is_harmed_is_noticed(home):
    """The planted bug: `strict` in production."""
    source = Path("tests/support/telemetry_tool.py").read_text(encoding="utf-8")
    (home / "harmful.py").write_text(source.replace("spread=0,", "spread=0, strict=True,"))
    command = [sys.executable, home / "harmful.py", "yes", home / "t", home / "absent.json", HEX]
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert seen(done) != seen(tool(home, "without"))


def test_a_run_with_nothing_to_draw_loads_nothing_large(home):
    assert "loaded: []" in tool(home, "yes,loads").stderr  # before its end
    noted = json.loads((home / "t" / NAME).read_text())
    assert noted["draw"] is None
    command = "import sys, runpy; sys.argv = ['x', 'yes', *sys.argv[1:]]\nimport atexit\n"
    command += "atexit.register(lambda: print(sorted({'pydantic', 'cryptography', 'logging'} & set(sys.modules))))\n"
    command += "runpy.run_module('tests.support.telemetry_tool', run_name='__main__')"

    def loaded(folder):
        words = [sys.executable, "-c", command, folder, home / "survey.json", HEX]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout.splitlines()[-1]

    assert loaded(home / "t") == "[]"
    assert "pydantic" in loaded(home / "fresh")  # the first run of an install draws


def test_two_at_once_draw_once_and_none_waits(home):
    words = [sys.executable, "-m", "tests.support.telemetry_tool", "yes,slow", home / "t", home / "survey.json", HEX]
    running = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) for _ in range(4)]
    for each in running:
        each.stdin.close()
    assert [each.wait(60) for each in running] == [3] * 4
    tool(home, "yes")
    assert draws(home) == 1


def test_a_clock_that_was_wrong_repeats_and_does_not_draw_again(home, monkeypatch):
    now = time.time()
    for clock in (now + 10**9, now, now - 10**8, now):
        monkeypatch.setattr(time, "time", lambda clock=clock: clock)
        told(telemetry_of(home))
    assert draws(home) == 1


def test_reports_leave_by_a_process_of_their_own(home):
    """With no collector there the report waits, and the note says until when."""
    telemetry = telemetry_of(home, transport=None, send="process")
    telemetry.answer("crashed", lambda: True)
    telemetry.finish()
    until(lambda: telemetry.sent()[0]["state"] == "waiting" and Note.read(os.fspath(home / "t")).send > time.time(), 60)


# ---- consent ------------------------------------------------------------------------------------------------------


def test_without_consent_nothing_is_drawn_and_the_truth_is_not_read(home):
    for consent in (False, lambda text: False, lambda text: None):
        telemetry = telemetry_of(home, consent=consent)
        telemetry.answer("crashed", lambda: 1 / 0)
        telemetry.finish()
        assert not (home / "t" / "ledger.sqlite3").exists()


def test_consent_is_asked_for_once_with_the_explanation_and_again_for_another_survey(home):
    told = []
    for _ in range(3):
        telemetry = telemetry_of(home, consent=lambda text: told.append(text) or True)
        telemetry.answer("crashed", lambda: True)
        telemetry.finish()
    assert len(told) == 1
    assert "Did it crash?" in told[0]
    second = survey_of(version=2)
    telemetry = Telemetry(
        home / "t", second.publish([KEY]).envelope, HEX, consent=lambda text: bool(told.append(text)), strict=True
    )
    telemetry.answer("crashed", lambda: 1 / 0)
    telemetry.finish()
    assert len(told) == 2


def test_after_a_no_what_waits_does_not_leave(home):
    telemetry = telemetry_of(home, spread=86_400, consent=lambda text: True)
    telemetry.answer("crashed", lambda: True)
    telemetry.finish()
    assert [sent["state"] for sent in telemetry.sent()] == ["waiting"]
    telemetry.consents(False)
    assert [sent["state"] for sent in telemetry.sent()] == ["cancelled"]
    telemetry.answer("slow", lambda: 1 / 0)
    telemetry.finish()


def test_a_remembered_no_wins_over_settings_that_say_yes_until_a_yes_is_remembered(home):
    telemetry_of(home).consents(False)
    telemetry = telemetry_of(home, consent=True)
    telemetry.answer("crashed", lambda: 1 / 0)
    telemetry.finish()
    assert not (home / "t" / "ledger.sqlite3").exists()
    telemetry.consents(True)
    told(telemetry)
    assert [sent["state"] for sent in telemetry.sent()] == ["delivered"]


# ---- what is answered -----------------------------------------------------------------------------------------------


def test_each_question_is_answered_once_per_round_and_a_truth_may_come_later(home):
    rounds = [
        RoundTimes(opens=TODAY + timedelta(days=7 * n), closes=TODAY + timedelta(days=7 * n + 7)) for n in range(3)
    ]
    asked = Question(id="crashed", attribute="crashed", text="Crashed?", design=optimal_design("ln 3"), rounds=3)
    survey = survey_of(questions=[asked], rounds=rounds)
    envelope = survey.publish([KEY]).envelope
    read = []

    def truth(day):
        read.append(day)
        return None if day < 2 else True

    for day in (-1, 0, 1, 2, 6, 8, 9, 15, 25):
        moment = TODAY + timedelta(days=day)
        telemetry = Telemetry(
            home / "t", envelope, KEY.public, consent=True, strict=True, spread=86_400, clock=lambda m=moment: m
        )
        telemetry.answer("crashed", lambda day=day: truth(day))
        telemetry.finish()
    assert read == [0, 1, 2, 8, 15]  # nothing was known on the first two days
    assert sorted(sent["round"] for sent in telemetry.sent()) == [0, 1, 2]


def test_a_value_the_survey_does_not_know_is_other_or_is_not_declared(home):
    telemetry = telemetry_of(home, segments={"version": "9.9-dev"})
    telemetry.answer("crashed", lambda: True)
    telemetry.finish()
    assert telemetry.sent()[0]["segments"] == {"version": "other"}
    with pytest.raises(ParameterError, match="segments is 'country'"):
        telemetry_of(home, segments={"country": "x"})
    lenient = telemetry_of(home, segments={"country": "x"}, strict=False)
    lenient.answer("slow", lambda: True)
    lenient.finish()
    declared = {sent["question"]: sent["segments"] for sent in lenient.sent()}
    assert declared == {"crashed": {"version": "other"}, "slow": {}}


def test_a_truth_that_fails_is_asked_again_and_its_words_are_not_logged(home, caplog):
    caplog.set_level(logging.DEBUG, "rrcollect.telemetry")

    def fails():
        raise RuntimeError("secret: it crashed on taxes.pdf")

    telemetry = telemetry_of(home, strict=False)
    telemetry.answer("crashed", fails)
    telemetry.finish()
    told(telemetry)
    assert [sent["state"] for sent in telemetry.sent()] == ["delivered"]
    assert [record.getMessage() for record in caplog.records] == ["telemetry: RuntimeError"]


# ---- while developing ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("how", "error"), [
    ({"consent": "yes"}, ParameterError),
    ({"send": "post"}, ParameterError),
    ({"trust": "03a1"}, KeyFileError),
    ({"trust": SigningKey.generate().public}, SurveyRefused),
    ({"survey": b"{}"}, SurveyRefused),
    ({"survey": "absent.json"}, OSError),
])  # fmt: skip
def test_strict_says_what_is_wrong(home, how, error):
    arguments = {"folder": home / "t", "survey": ENVELOPE, "trust": HEX, "consent": True} | how
    with pytest.raises(error):
        Telemetry(**arguments, strict=True)
    harmless = Telemetry(**arguments)
    harmless.answer("crashed", lambda: True)
    harmless.finish()


def test_strict_names_a_wrong_question_and_a_truth_that_is_no_function(home):
    with pytest.raises(ParameterError, match="question is 'chrashed': use one of this survey's: crashed, slow"):
        telemetry_of(home).answer("chrashed", lambda: True)
    with pytest.raises(ParameterError, match="truth is 'bool': use a function"):
        telemetry_of(home).answer("crashed", True)


def test_check_prints_what_would_be_asked_drawn_and_sent_and_reads_no_truth(home, capsys):
    telemetry = telemetry_of(home, segments={"version": "9.9"})
    telemetry.answer("crashed", lambda: 1 / 0)
    telemetry.check()
    said = capsys.readouterr().out
    assert "Did it crash?" in said
    assert "crashed: yes_no, 1 time(s); answered" in said
    assert "slow: yes_no, 1 time(s); NOT answered" in said
    assert "Sent to http://127.0.0.1:9/reports, with {'version': 'other'}" in said
    assert not (home / "t").exists()


def test_people_can_read_what_was_sent(home):
    telemetry = telemetry_of(home)
    assert telemetry.explain() == "This install has drawn no answer."
    told(telemetry)
    assert "crashed" in telemetry.explain()
    assert telemetry.sent()[0]["sent"] in ("0", "1")
