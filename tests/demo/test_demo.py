"""The demo at a small size: everybody is counted once, the page stands alone, its commands work, the web demo stops."""

import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import time
import urllib.request
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from rrcollect import Report
from rrcollect.errors import ReportRefused
from server_agg import Tallies, Tally
from server_agg.cli.main import main
from server_agg.demo import population
from server_agg.demo import run as show
from server_agg.demo.collection import Counter
from server_agg.demo.drawings import Mark, forest
from server_agg.demo.page import page
from server_agg.demo.page_text import COMMANDS
from server_agg.demo.web import BEFORE
from tests.support.command_line import PROGRAM, json_of, refused, run

RESPONDENTS = 600


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "out"
    show.fresh_folder(folder)
    told = []
    found = show.run_demo(folder, RESPONDENTS, 1.5, told.append, processes=1)
    assert told == sorted(told)
    assert 0.5 < told[-1] <= 1
    return found


# ---- what was counted -----------------------------------------------------------------------------------------------


def test_both_ways_were_taken_and_nobody_twice(shown):
    assert shown.full > 1
    assert shown.full + shown.gateway == RESPONDENTS
    assert shown.tallies.n == 3 * RESPONDENTS
    with sqlite3.connect(shown.folder / "reports.sqlite3") as database:
        assert database.execute("SELECT COUNT(DISTINCT id) FROM reports").fetchone() == (3 * RESPONDENTS,)
    database.close()
    assert Tallies.from_json((shown.folder / "tallies.json").read_text()) == shown.tallies


def test_a_respondent_counted_twice_or_lost_is_seen(shown):
    show._check(shown.population, shown.tallies)
    key = next(iter(shown.tallies))
    for change in (1, -1):
        tally = shown.tallies[key]
        planted = Tallies({**shown.tallies, key: Tally(key.design, tally.n + change, tally.ones)})
        with pytest.raises(show.DemoFailed, match="not counted once"):
            show._check(shown.population, planted)


def in_reach(shown, truth_of):
    """Every estimate within 6.6 standard errors of the truth it is given; false alarm below 1e-9 for four."""
    for question, number in shown.rounds():
        found = shown.estimate(question, number)
        design = found.tally.design
        spread = float(design.variance(truth_of(question, number), found.tally.n)) ** 0.5
        if abs(found.value - truth_of(question, number)) > 6.6 * spread:
            return False
    return True


def test_the_estimates_are_where_the_truth_is(shown):
    assert in_reach(shown, population.true_share)
    assert not in_reach(shown, lambda question, number: 0.98 if question == "doped" else 0.5)  # planted


def test_the_judge_is_the_collectors_own(shown, tmp_path):
    counter = Counter(tmp_path / "r.sqlite3")
    good = Report.from_bytes(shown.report)
    with pytest.raises(ReportRefused, match="no survey"):
        counter.send(shown.report)
    key = (shown.folder / "publisher.pem.pub").read_bytes()
    from rrcollect import PublicKey

    counter.publish(shown.publication.envelope, PublicKey.from_pem(key).raw.hex())
    counter.send(shown.report)
    counter.send(shown.report)  # the same again counts once
    assert counter.tallies().n == 1
    with pytest.raises(ReportRefused, match="conflict"):
        counter.send(replace(good, answer="0" if good.answer == "1" else "1").to_bytes())
    counter.close()


def test_people_are_asked_every_question_once():
    drawn = population.drawn_population(2000)
    assert drawn.count("doped") == 2000
    assert (drawn.count("pressed", 0), drawn.count("pressed", 1)) == (1000, 1000)
    share, truth = drawn.share("doped"), population.true_share("doped")
    assert abs(share - truth) < 6.6 * (truth * (1 - truth) / 2000) ** 0.5  # false alarm below 1e-10
    assert population.true_share("doped", sport="cycling") == 0.24


# ---- the page -------------------------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """Every element that is opened is closed; what the page would load is kept."""

    VOID = ("meta", "br")

    def __init__(self):
        super().__init__()
        self.open, self.loads, self.seen = [], [], set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.loads += [value for name, value in attrs if name in ("src", "href", "srcset", "action", "data")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_loads_nothing(shown):
    text = page(shown)
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert tags.loads == []
    assert not {"script", "link", "img", "iframe"} & tags.seen
    assert not re.search(r"https?:|url\(|@import|//[a-z]", text)
    assert "prefers-color-scheme: dark" in text
    for question in shown.publication.survey.questions:
        assert question.text in text
    for words in (f"{shown.full:,} respondents by full clients", f"{shown.gateway:,} through a gateway in bulk"):
        assert words in text
    assert text.count("In truth") >= 3
    assert shown.publication.digest[:16] in text
    assert "None" not in text
    assert not re.search(r"\b(nan|inf)\b", text)


def test_the_page_shows_the_loss_promised_beside_the_tight_one(shown):
    text = page(shown)
    assert "Promised ε = 0.6931, δ = 0.25; tight without a δ ε = 2.079: a “yes”" in text
    assert ">ε = 1.099: a “yes”" in text  # where they are the same, once


def test_the_page_shows_no_truth_of_a_person(shown):
    """What is printed of a single respondent is what left the device."""
    text = page(shown)
    assert json.loads(shown.report)["id"] in text
    assert "truth=" not in text
    assert "Person(" not in text


def test_text_from_outside_is_escaped():
    drawn = forest([Mark("<b>&", 10, 0.1, 0.05, 0.2, 0.1)], 'a "<title>"')
    assert "<b>" not in drawn
    assert "&lt;b&gt;&amp;" in drawn


def test_the_commands_on_the_page_work_in_its_folder(shown, monkeypatch, capsys):
    monkeypatch.chdir(shown.folder)
    for _, command in COMMANDS:
        words = shlex.split(command)[1:]
        if words[0] in ("answer", "demo"):
            continue
        code, out, err = run(capsys, *words)
        assert code == 0, err
        assert out


# ---- the command ----------------------------------------------------------------------------------------------------


def test_the_command_writes_where_it_says_and_replaces_only_its_own(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    said = json_of(capsys, "demo", "--respondents", "300", "--seconds", "0")
    assert (said["full_clients"], said["gateway"], said["respondents"]) == (1, 299, 300)
    assert said["report"] == "rrcollect-demo/report.html"
    first = (tmp_path / said["report"]).read_text()
    code, out, err = run(capsys, "demo", "--respondents", "300", "--seconds", "0")
    assert (code, err) == (0, "")
    assert "1 with a full client and a ledger each" in out
    assert "299 through a gateway in bulk" in out
    assert (tmp_path / said["report"]).as_uri() in out
    assert (tmp_path / said["report"]).read_text() != first
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    refused(capsys, 4, "no demo made it", "demo", "--respondents", "300", "--out", "mine")


def test_ctrl_c_ends_the_demo_in_one_line(tmp_path):
    words = [*PROGRAM, "demo", "--seconds", "60", "--out", tmp_path / "d"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0) as demo:
        end = time.monotonic() + 60
        while not (tmp_path / "d" / "survey.signed.json").exists() and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.5)  # its processes are starting, or at work
        os.killpg(demo.pid, signal.SIGINT)  # as a terminal does: to every process of the group
        out, err = demo.communicate(timeout=60)
    assert (demo.returncode, out, err) == (130, "", "\nrrcollect: stopped\n")


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_the_web_demo_collects_and_stops_cleanly(by):
    words = [*PROGRAM, "demo", "--web", "--json", "--pause", "0.01"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as web:
        try:
            pages = json.loads(web.stdout.readline())
            end = time.monotonic() + 60
            found = results_of(pages["results"])
            before = found["answers"]
            assert before >= 3 * BEFORE
            for question in found["questions"]:  # the first look has something to show
                assert question["estimate"]
                assert len(question["segments"][0]["rows"]) > 1
            answers = before
            while answers < before + 6 and time.monotonic() < end:
                time.sleep(0.2)
                answers = results_of(pages["results"])["answers"]
            assert answers >= before + 6
            with urllib.request.urlopen(pages["survey"], timeout=20) as reply:  # noqa: S310
                assert b"survey.mjs" in reply.read()
        finally:
            web.send_signal(by)
            out, err = web.communicate(timeout=60)
    assert (web.returncode, err) == (0, "")
    assert json.loads(out)["respondents"] >= 2


@pytest.mark.parametrize("after", [0.0, 0.002, 0.01])
def test_ctrl_c_while_the_web_demo_starts_is_not_lost(after):
    with subprocess.Popen([*PROGRAM, "demo", "--web", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as web:
        web.stdout.readline()
        time.sleep(after)
        web.send_signal(signal.SIGINT)
        try:
            _, err = web.communicate(timeout=40)
        finally:
            web.kill()
    assert (web.returncode, err) == (0, b"")


def results_of(address):
    with urllib.request.urlopen(f"{address}results", timeout=20) as reply:  # noqa: S310
        return json.load(reply)["surveys"][0]


def test_the_web_demo_says_its_addresses_in_a_file_too(tmp_path):
    log = tmp_path / "log"
    with log.open("w") as file, subprocess.Popen([*PROGRAM, "demo", "--web"], stdout=file) as web:
        try:
            end = time.monotonic() + 60
            while "survey" not in log.read_text() and time.monotonic() < end:
                time.sleep(0.1)
            said = log.read_text()
        finally:
            web.send_signal(signal.SIGTERM)
            web.wait(timeout=60)
    assert re.match(r"results  http://127\.0\.0\.1:\d+/\nsurvey   http://127\.0\.0\.1:\d+/s/[0-9a-f]{64}\n", said)


def test_a_port_that_is_taken(capsys):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["demo", "--web", "--port", str(taken.getsockname()[1])]) == 2
    assert "--port" in capsys.readouterr().err
