"""The demo at a small size: everybody is counted once, the page stands alone, its commands work, the web demo stops."""

import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from axe_playwright_python.sync_playwright import Axe

from rrcollect import Report
from rrcollect.errors import ReportRefused
from server_agg import Tallies, Tally
from server_agg.cli.demo import program_name
from server_agg.demo import people as population
from server_agg.demo import run as show
from server_agg.demo.page import forest, page, picture
from server_agg.demo.web import BEFORE
from tests.inside.answer import Words, question_headline
from tests.support.browser import chromium
from tests.support.command_line import PROGRAM, at_a_terminal, json_of, main, refused, run
from tests.support.waiting import until

RESPONDENTS = 600
SMALLEST_WORDS = """() => Math.min(...[...document.querySelectorAll('body *')]
    .filter(each => [...each.childNodes].some(part => part.nodeType === 3 && part.data.trim()))
    .map(each => parseFloat(getComputedStyle(each).fontSize)))"""


LONGEST = 8_971 // 2  # pixels of the page at a desk: half of what it had


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
    assert shown.tallies.n == 5 * RESPONDENTS
    with sqlite3.connect(shown.folder / "reports.sqlite3") as database:
        assert database.execute("SELECT COUNT(DISTINCT id) FROM reports").fetchone() == (5 * RESPONDENTS,)
    database.close()
    assert Tallies.from_json((shown.folder / "tallies.json").read_text()) == shown.tallies


def test_a_respondent_counted_twice_or_lost_is_seen(shown):
    show._check(shown.people, shown.tallies)
    key = next(key for key in shown.tallies if key.question == "doped")
    for change in (1, -1):
        tally = shown.tallies[key]
        planted = Tallies({**shown.tallies, key: Tally(key.design, tally.n + change, tally.ones)})
        with pytest.raises(show.DemoFailed, match="not counted once"):
            show._check(shown.people, planted)


def in_reach(shown, truths):
    """Every row within 6.8 standard errors of its truth; false alarm below 1e-9 for fourteen."""
    for question in shown.questions:
        column = shown.publication.survey.question(question["id"]).design.column
        span = question["scale"]["high"] - question["scale"]["low"]
        for row, truth in zip(question["drawn"], truths[question["id"]], strict=True):
            spread = span * float(column.variance(truth / span, row["n"])) ** 0.5
            if abs(row["value"] - truth) > 6.8 * spread:
                return False
    return True


def test_the_estimates_are_where_the_truth_is(shown):
    truths = {question["id"]: [row["truth"] for row in question["drawn"]] for question in shown.questions}
    assert in_reach(shown, truths)
    for planted in ("doped", "tempted", "hours"):
        wrong = 39.5 if planted == "hours" else 0.98
        assert not in_reach(shown, {**truths, planted: [wrong] * len(truths[planted])})


def test_the_truth_beside_a_row_is_that_of_those_it_is_about(shown):
    of = {q["id"]: {row["label"]: row["truth"] for row in q["drawn"]} for q in shown.questions}
    assert of["doped"]["everybody"] == pytest.approx(population.true_value("doped"))
    assert of["doped"]["cycling"] == pytest.approx(0.24)
    assert of["pressed"] == pytest.approx({f"Round {r + 1}": population.true_value("pressed", r) for r in (0, 1)})
    assert of["tempted"]["A medal"] == pytest.approx(population.true_value("tempted", option=1))
    assert of["hours"]["everybody"] == pytest.approx(population.true_value("hours"))
    merged = shown._beside(shown.questions[0], shown.questions[0]["drawn"][0], "m", sports=["cycling", "swimming"])
    assert merged["truth"] == pytest.approx((0.2 * 0.24 + 0.3 * 0.08) / 0.5)


def test_rows_and_words_are_those_of_the_results_page(shown):
    made, found = unescape(page(shown, "rrcollect")), shown.results.page()
    for question in found["questions"]:
        estimate = question["estimate"]
        for row in [*estimate.get("options", [estimate]), *(question["trend"] or {"rounds": []})["rounds"]]:
            if question["trend"] is None or "round" in row:
                assert row["text"] in made
        for note in [estimate["bar"], *question["notes"]]:
            assert note in made


def test_a_choice_and_a_number_stand_beside_the_yes_no_questions(shown):
    drawn = {question["id"]: question["drawn"] for question in shown.questions}
    assert len(drawn["tempted"]) == 5
    assert sum(row["value"] for row in drawn["tempted"]) == pytest.approx(1)
    made = page(shown, "rrcollect")
    for wanted in ("A medal", "hours", "all options at once"):
        assert wanted in made
    assert ("the truth lies outside" in made) is any(not row["holds"] for rows in drawn.values() for row in rows)


def asked(people, question, number=0):
    """What is true of those who are asked."""
    return [truth for person in people for q, r, truth in person.asked() if (q, r) == (question, number)]


def share(people, question, option=None):
    """Among those who are asked: the share of yes or of an option, or the mean of a number."""
    said = asked(people, question)
    return sum(truth if option is None else truth == option for truth in said) / len(said)


def test_the_truths_of_the_population_are_what_is_drawn():
    """Ten means of 4000 people within 6.8 standard errors; false alarm below 1e-9."""
    drawn = population.drawn_people(4000)
    for option in range(5):
        truth = population.true_value("tempted", option=option)
        assert abs(share(drawn, "tempted", option=option) - truth) < 6.8 * (truth * (1 - truth) / 4000) ** 0.5
    assert abs(share(drawn, "hours") - population.true_value("hours")) < 6.8 * 10 / 4000**0.5  # a spread below 10
    assert sum(population.true_value("tempted", option=j) for j in range(5)) == pytest.approx(1)


def test_the_judge_is_the_collectors_own(shown, tmp_path):
    counter = population.InProcessCollector(tmp_path / "r.sqlite3")
    good = Report.from_bytes(shown.report)
    with pytest.raises(ReportRefused, match="no survey"):
        counter.send("https://collect.example.org/reports", shown.report)
    key = (shown.folder / "publisher.pem.pub").read_bytes()
    from rrcollect import PublicKey

    counter.publish(shown.publication.envelope, PublicKey.from_pem(key).raw.hex())
    counter.send("https://collect.example.org/reports", shown.report)
    counter.send("https://collect.example.org/reports", shown.report)  # the same again counts once
    assert len(counter.store.epochs.waiting()) == 1
    with pytest.raises(ReportRefused, match="conflict"):
        counter.send(
            "https://collect.example.org/reports", replace(good, answer="0" if good.answer == "1" else "1").to_bytes()
        )
    counter.close()


def test_people_are_asked_every_question_once():
    drawn = population.drawn_people(2000)
    assert len(asked(drawn, "doped")) == 2000
    assert (len(asked(drawn, "pressed", 0)), len(asked(drawn, "pressed", 1))) == (1000, 1000)
    seen, truth = share(drawn, "doped"), population.true_value("doped")
    assert abs(seen - truth) < 6.6 * (truth * (1 - truth) / 2000) ** 0.5  # false alarm below 1e-10
    assert population.true_value("doped", sport="cycling") == 0.24


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
    text = page(shown, "rrcollect")
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert {place.removeprefix("#") for place in tags.loads} == set(re.findall(r'<h2 id="(\w+)">', text))
    assert all(place.startswith("#") for place in tags.loads)
    assert not {"script", "link", "img", "iframe"} & tags.seen
    assert not re.search(r"https?:|url\(|@import|//[a-z]", text)
    assert "prefers-color-scheme: dark" in text
    for question in shown.publication.survey.questions:
        assert question.text["en"] in text
    for words in (f"{shown.full:,} respondents by full clients", f"{shown.gateway:,} through a gateway in bulk"):
        assert words in text
    assert text.count("In truth") >= 3
    assert shown.publication.digest[:16] in text
    assert "None" not in text
    assert not re.search(r"\b(nan|inf)\b", text)


def test_the_page_shows_one_loss_for_each_question_as_it_was_promised(shown):
    text = page(shown, "rrcollect")
    assert re.findall(r"Promised: (.*?)<", text) == [
        "ε = 1.099", "ε = 0.6931", "ε = 0.6931, δ = 0.25", "ε = 1", "ε = 1",
    ]  # fmt: skip
    assert "2.079" not in text  # the tight ε of the third, without a δ


def test_what_a_single_answer_gives_away_is_said_in_the_device_s_words(shown):
    text, words = unescape(page(shown, "rrcollect")), Words.of("en")
    for question in shown.publication.survey.questions:
        assert " ".join(question_headline(question, words)) in text


def test_what_is_said_of_all_answers_holds_for_the_strongest(shown):
    text = page(shown, "rrcollect")
    assert "answer proves anything" not in text
    (most,) = re.findall(r"No single answer changes the odds by a factor of more than (\d+)\.", text)
    worst = max(question.design.worst_likelihood_ratio for question in shown.publication.survey.questions)
    assert int(most) - 1 < worst <= int(most)


def test_all_shares_stand_on_one_axis(shown):
    text = page(shown, "rrcollect")
    axes = re.findall(r'<div class="line axis"><span class="plot">(.*?)</span>', text)
    assert len(axes) == len(shown.publication.survey.questions)
    assert text.count('<span class="unit">of 100</span>') == len(axes) - 1
    assert len(set(axes)) == 2  # hours have their own


@pytest.mark.browser
def test_the_page_is_legible_at_every_width(shown, tmp_path):
    """No words below 12 pixels, nothing to scroll sideways, nothing axe finds; at a desk half as long as it was."""
    place = tmp_path / "report.html"
    place.write_text(page(shown, "rrcollect"))
    with chromium() as browser:
        seen = browser.new_page(viewport={"width": 1280, "height": 800})
        seen.goto(place.as_uri())
        assert seen.evaluate("document.documentElement.scrollHeight") <= LONGEST
        seen.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        for width, scheme in ((320, "dark"), (390, "light"), (1280, "dark"), (1280, "light")):
            seen.set_viewport_size({"width": width, "height": 800})
            seen.emulate_media(color_scheme=scheme)
            assert seen.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") is (scheme == "dark")
            assert seen.evaluate(SMALLEST_WORDS) >= 12
            assert seen.evaluate("document.documentElement.scrollWidth") <= width
            assert Axe().run(seen).response["violations"] == []
        seen.add_style_tag(content=".axis b { font-size: 8px !important }")
        assert seen.evaluate(SMALLEST_WORDS) < 12


def test_the_page_shows_no_truth_of_a_person(shown):
    """What is printed of a single respondent is what left the device."""
    text = page(shown, "rrcollect")
    assert json.loads(shown.report)["id"] in text
    assert "truth=" not in text
    assert "Person(" not in text


def test_text_from_outside_is_escaped():
    row = {"label": "<b>&", "n": 10, "low": 0.05, "high": 0.2, "shown": 0.1, "truth": 0.1, "unclipped": None}
    drawn = forest([row | {"text": "10", "truth_words": "10"}], 'a "<title>"', [[0.0, "0"], [1.0, "100"]], "of <100>")
    assert "<b>" not in drawn.replace('<b style="', "")
    assert "<title>" not in drawn
    assert "&lt;b&gt;&amp;" in drawn


def test_the_picture_is_a_file_of_its_own_that_says_what_its_bars_cover(shown):
    text = picture(shown)
    drawn = ElementTree.fromstring(text)  # noqa: S314
    words = [node.text for node in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert shown.publication.survey.question("doped").text["en"] in words
    assert {row["text"] for row in shown.questions[0]["drawn"]} < set(words)
    assert {"everybody", "athletics", "cycling", "swimming", "weightlifting"} < set(words)
    assert "95 % bars: the first by itself, those by sport all at once." in words
    assert re.findall(r"https?://[^\"]+|url\(|@import|<script", text) == ["http://www.w3.org/2000/svg"]


# ---- the commands it prints -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with an environment of its own, as `make` makes it: `.venv/bin/rrcollect`, which no PATH finds."""
    folder = tmp_path_factory.mktemp("installed")
    program = folder / ".venv" / "bin" / "rrcollect"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!{sys.executable}\nimport sys\nfrom server_agg.cli.main import main\nsys.exit(main())\n")
    program.chmod(0o755)
    return folder


ROOT = Path(__file__).resolve().parents[2]
BARE = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}


def in_bash(line, folder, **environment):
    words = ["bash", "-c", line]
    done = subprocess.run(words, cwd=folder, env=BARE | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def printed(page_text):
    """The commands of the page's last part, as a reader copies them."""
    last = page_text.partition('<h2 id="on">How to go on</h2>')[2]
    return [unescape(code) for code in re.findall(r"<pre><code>(.*?)</code></pre>", last)]


def test_the_commands_it_prints_work_as_printed(installed, monkeypatch):
    out = in_bash(".venv/bin/rrcollect demo --respondents 300 --seconds 0", installed)
    hint = [line.removeprefix("  ") for line in out.partition("To go on (the report has more):\n")[2].splitlines()]
    assert hint[1].startswith("../.venv/bin/rrcollect verify ")
    assert "accepted" in in_bash("; ".join(hint), installed)
    enter, *commands = printed((installed / "rrcollect-demo" / "report.html").read_text())
    assert enter == hint[0] == "cd rrcollect-demo"
    assert len(commands) == 7
    for name, value in BARE.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(installed / "rrcollect-demo")
    for command in commands:
        match shlex.split(command)[1:]:
            case ["answer", *_]:
                seen, code = at_a_terminal(["/bin/bash", "-c", command], ["yes\n", "no\n", "\n", "2\n", "12\n"])
                assert code == 0, seen
            case ["demo", "--web"]:
                with subprocess.Popen(["bash", "-c", f"exec {command}"], stdout=subprocess.PIPE, text=True) as web:
                    assert web.stdout.readline().startswith("results  http://127.0.0.1:")
                    web.send_signal(signal.SIGINT)
                    web.communicate(timeout=60)
                assert web.returncode == 0
            case _:
                assert in_bash(command, Path.cwd())


def test_a_program_on_the_path_is_called_by_its_name(installed):
    bin_ = installed / ".venv" / "bin"
    found = {"PATH": f"{bin_}:{BARE['PATH']}"}
    out = in_bash("rrcollect demo --respondents 300 --seconds 0 --out 'on the path'", installed, **found)
    hint = out.partition("To go on (the report has more):\n")[2]
    assert hint == "  cd 'on the path'\n  rrcollect verify survey.signed.json --trust publisher.pem.pub\n"
    assert "accepted" in in_bash(hint, installed, **found)
    other = installed / "other"  # another rrcollect on the PATH is not this one
    other.mkdir()
    shutil.copy(bin_ / "rrcollect", other)
    out = in_bash(".venv/bin/rrcollect demo --respondents 300 --seconds 0", installed, PATH=f"{other}:{BARE['PATH']}")
    assert "  ../.venv/bin/rrcollect verify" in out


def test_without_an_installed_program_the_module_is_called(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["main.py"])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "my python"))
    assert program_name(tmp_path) == f"'{tmp_path}/my python' -m server_agg.cli.main"


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
        until((tmp_path / "d" / "survey.signed.json").exists)
        time.sleep(0.5)  # its processes are starting, or at work
        os.killpg(demo.pid, signal.SIGINT)  # as a terminal does: to every process of the group
        out, err = demo.communicate(timeout=60)
    assert (demo.returncode, out, err) == (130, "", "\nrrcollect: stopped\n")


def test_ctrl_c_that_another_thread_takes_waits_until_a_process_is_started():
    begin, steps = threading.Event(), []

    def take():
        begin.wait(60)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        steps.append("taken")

    thread = threading.Thread(target=take)
    thread.start()  # before the block: it does not inherit what is blocked there

    def start():
        with population._undisturbed():
            begin.set()
            thread.join(60)
            steps.append("started")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert steps == ["taken", "started"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_the_web_demo_collects_and_stops_cleanly(by):
    words = [*PROGRAM, "demo", "--web", "--json", "--pause", "0.01"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as web:
        try:
            pages = json.loads(web.stdout.readline())
            found = results_of(pages["results"])
            assert found["view"] == "released"
            assert found["answers"] > 3 * BEFORE - 4 * 30  # whole crowds of four questions and rounds
            for question in found["questions"]:  # the first look has something to show
                assert question["estimate"]
                (sport,) = question["segments"]
                assert len(sport.get("options", [sport])[0]["rows"]) > 1
            owner = {"Authorization": f"Bearer {pages['token']}"}
            before = results_of(pages["results"], owner)["answers"]
            assert before >= 3 * BEFORE
            until(lambda: results_of(pages["results"], owner)["answers"] >= before + 6)
            assert results_of(pages["results"]) == found  # strangers see the release
            with urllib.request.urlopen(pages["survey"], timeout=60) as reply:  # noqa: S310
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
            _, err = web.communicate(timeout=60)
        finally:
            web.kill()
    assert (web.returncode, err) == (0, b"")


def results_of(address, headers=()):
    asked = urllib.request.Request(f"{address}results", headers=dict(headers))  # noqa: S310
    with urllib.request.urlopen(asked, timeout=60) as reply:  # noqa: S310
        return json.load(reply)["surveys"][0]


def test_the_web_demo_says_its_addresses_in_a_file_too(tmp_path):
    log = tmp_path / "log"
    with log.open("w") as file, subprocess.Popen([*PROGRAM, "demo", "--web"], stdout=file) as web:
        try:
            until(lambda: re.search(r"survey .*\n", log.read_text()))
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
