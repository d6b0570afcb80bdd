"""SurveyJS with survey-core and its plain renderer from npm: in Node, and in a page in Chromium."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rrcollect import Choice, Number, Question, SigningKey, Survey, optimal_design
from server_agg import tally_reports
from tests.support.browser import Visit, chromium
from tests.support.devices import FAR

HERE = Path(__file__).parent / "surveyjs"
ROOT = Path(__file__).parents[3]
NODE = Path(os.environ["REACH_NODE"])
KEY = SigningKey.generate()
PLACES = {
    "/web/": ROOT / "rrcollect" / "web" / "src",
    "/examples/": ROOT / "examples",
    "/node_modules/": NODE / "node_modules",
}


def test_in_node() -> None:
    done = subprocess.run(
        ["node", "--test", HERE / "surveyjs.test.mjs"], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert "# fail 0" in done.stdout
    assert "# pass 10" in done.stdout


class Pages(SimpleHTTPRequestHandler):
    """The page, the signed survey, our modules and npm's."""

    envelope = b""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        place = next((start for start in PLACES if path.startswith(start)), None)
        file = PLACES[place] / path.removeprefix(place) if place else HERE / "page.html"
        body = self.envelope if path == "/survey.json" else file.read_bytes() if file.is_file() else None
        kind = {".mjs": "text/javascript", ".json": "application/json", ".css": "text/css", ".html": "text/html"}.get(
            file.suffix, ""
        )
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Type", "application/json" if path == "/survey.json" else kind)
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_: object) -> None:
        """Silence."""


def survey_at(origin: str) -> Survey:
    sports, design = [{"en": name} for name in ("Running", "Cycling", "Rowing", "Another")], optimal_design("ln 3")
    asked = {
        "doped": {"text": "Have you ever doped?", "help": "In your whole life.", "design": design},
        "sport": {"text": "Which sport?", "kind": Choice(options=sports), "design": optimal_design("ln 3", options=4)},
        "hours": {"text": "How many hours?", "kind": Number(low=0, high=40, unit={"en": "stunden"}), "design": design},
    }
    questions = [Question(id=f"q{i}", attribute=name, **asked[name]) for i, name in enumerate(asked, start=1)]
    fields = {"name": "clean-sport", "version": 1, "title": "Clean sport", "publisher": "Example Institute"}
    return Survey(**fields, collector="carried", origins=[origin], expires=FAR, questions=questions)


@contextmanager
def served() -> Iterator[tuple[str, Survey]]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    origin = f"http://127.0.0.1:{server.server_port}"
    survey = survey_at(origin)
    Pages.envelope = survey.publish([KEY]).envelope
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield origin, survey
    finally:
        server.shutdown()
        server.server_close()


class Form:
    """The form in a page, and what a person does there."""

    def __init__(self, visit: Visit, origin: str, **given: Any) -> None:
        words = "&".join(f"{name}={value}" for name, value in {"key": KEY.public.raw.hex(), **given}.items())
        self.page = visit.page(f"{origin}/?{words}")
        drawn = "window.test && test.roots.length >= 2 && test.roots.every((one) => one.querySelector('button'))"
        self.page.wait_for_function(drawn)

    def click(self, question: int, word: str) -> None:
        x, y = self.page.evaluate(PLACE, [question, word])
        self.page.mouse.click(x, y)
        self.page.mouse.move(5, 5)

    def data(self) -> dict[str, str]:
        return dict(self.page.evaluate("window.test.model.data"))

    def told(self) -> str:
        """All that the page outside of the shadow roots got to know; SurveyJS animates heights, in its own time."""
        self.page.wait_for_timeout(500)
        log, *rest = self.page.evaluate("[test.log, document.documentElement.outerHTML, test.storage()]")
        told = "\n".join([*(line for line in log if not line.startswith("DIV style ")), *rest])
        return re.sub(r"\b(sp|sq)_\d+", "N", re.sub(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])", "ID", told))


PLACE = """([question, word]) => {
  const button = [...window.test.roots[question].querySelectorAll("button")].find((one) => one.textContent === word);
  button.scrollIntoView({ block: "center" });
  const { x, y, width, height } = button.getBoundingClientRect();
  return [x + width / 2, y + height / 2];
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


def answered(browser: Any, origin: str, truth: str, fill: int) -> tuple[str, str]:
    """The answer in the form, and what the page was told."""
    with Visit(browser, viewport={"width": 390, "height": 844}) as visit:
        form = Form(visit, origin, fill=fill)
        form.click(0, truth)
        assert form.data() == {}
        form.click(0, "Change by chance")
        form.page.wait_for_function("window.test.model.data.rr_doped")
        assert visit.complaints == []
        assert form.page.evaluate("test.roots.every(({ host }) => host.scrollWidth <= host.clientWidth)")  # at 390 px
        return json.loads(form.data()["rr_doped"])["answer"], form.told()


def test_a_page_with_two_truths_and_one_draw_is_the_same_page(browser: Any) -> None:
    with served() as (origin, _):
        found: dict[str, dict[str, str]] = {"0": {}, "1": {}}
        for truth in ("Yes", "No"):
            for fill in (0, 255):
                answer, told = answered(browser, origin, truth, fill)
                found[answer][truth] = told.replace(f"fill={fill}", "")
        for told in found.values():
            assert set(told) == {"Yes", "No"}
            assert told["Yes"] == told["No"]
            assert "onValueChanged rr_doped" in told["Yes"]
            assert "at 5,5" in told["Yes"]  # outside of the question gestures are seen


UNMARKED = """(words) => test.roots.flatMap((root) => {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), found = [];
  while (walker.nextNode()) {
    const { data, parentElement } = walker.currentNode, style = getComputedStyle(parentElement);
    if (!words.some((word) => data.includes(word)) || parentElement.tagName === "STYLE") continue;
    const marked = parentElement.matches(".foreign") && style.textDecorationStyle === "dotted";
    if (!marked || !/underline/.test(style.textDecorationLine)) found.push(data);
  }
  return found;
})"""


def test_the_publishers_words_are_marked_wherever_they_stand(browser: Any) -> None:
    """Text, help, options, units and what leaves the device: all of them stood there as if they were ours."""
    with served() as (origin, survey), Visit(browser, viewport={"width": 390, "height": 844}) as visit:
        form = Form(visit, origin, fill=0)
        labels = [
            label for question in survey.questions for option in question.kind.labels for label in option.values()
        ]
        theirs = [text for question in survey.questions for text in (*question.text.values(), *question.help.values())]
        theirs += [*labels, "stunden", survey.publisher]
        assert form.page.evaluate(UNMARKED, theirs) == []
        said = form.page.evaluate("test.roots.map((root) => root.querySelector('.small').textContent)")
        assert all("are the publisher’s" in each for each in said)
        found = form.page.evaluate("test.roots.map((root) => root.textContent).join()")
        assert all(text in found for text in theirs if text != survey.publisher)
        form.page.evaluate("test.roots[1].querySelectorAll('.choices .foreign').forEach((one) => one.className = '')")
        assert sorted(form.page.evaluate(UNMARKED, theirs)) == sorted(labels)  # the planted bug


def test_the_check_sees_the_truth_of_an_ordinary_question(browser: Any) -> None:
    """The planted bug: SurveyJS's own yes or no, in the same page."""
    with served() as (origin, _), Visit(browser) as visit:
        told = []
        for word in ("Yes", "No"):
            form = Form(visit, origin, fill=0, naive=1)
            form.page.get_by_text(word, exact=True).click()
            form.page.wait_for_function("window.test.model.data.rr_doped !== undefined")
            told.append(form.told())
        assert "onValueChanged rr_doped true" in told[0]
        assert told[0] != told[1]


def test_all_kinds_end_up_as_reports_in_the_results(browser: Any) -> None:
    with served() as (origin, survey), Visit(browser, viewport={"width": 1280, "height": 900}) as visit:
        form = Form(visit, origin, fill=0)
        form.click(0, "No")
        form.click(0, "Change by chance")
        form.click(1, "Cycling")
        form.click(1, "Change by chance")
        for key in ("6", "2"):  # out of the range: nothing is drawn
            form.click(2, key)
        form.click(2, "Change by chance")
        assert "rr_hours" not in form.data()
        form.click(2, "⌫")
        form.click(2, "Change by chance")
        form.page.wait_for_function("Object.keys(window.test.model.data).length === 3")
        columns = {name: [value] for name, value in form.data().items()}
        result = tally_reports(columns, survey, column=list(columns))
        assert (result.summary.accepted, result.summary.refused) == (3, {})
        form.click(1, "I prefer not to answer")
        form.page.wait_for_function("Object.keys(window.test.model.data).length === 2")
        form.click(1, "Answer after all")
