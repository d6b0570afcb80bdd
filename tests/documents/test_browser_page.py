"""The page printed in docs/browser.md, in a real Chromium, against a real collector under its printed addresses."""

import json
from contextlib import contextmanager

import pytest

from rrcollect import Choice, Number, Question, optimal_design
from tests.documents.blocks import blocks_of
from tests.documents.wire_example import KEY, SURVEY
from tests.documents.workspace import ROOT
from tests.inside.answer import Words
from tests.support.browser import Visit, chromium
from tests.support.collector_running import BEARER, JSON, RunningCollector
from tests.support.element import SOURCES, TYPES, built

(PAGE,) = [block.text for block in blocks_of((ROOT / "docs" / "browser.md").read_text()) if block.name == "page.html"]
APP, COLLECT = "https://app.example.org", "https://collect.example.org"
SPORTS = [{"en": "Running", "de": "Laufen"}, {"en": "Rowing", "de": "Rudern"}, {"en": "Another", "de": "Ein anderer"}]
QUESTIONS = (
    SURVEY.questions[0],
    Question(
        id="q2", attribute="sport", kind=Choice(options=SPORTS), design=optimal_design("ln 3", options=3),
        text={"en": "Which sport do you do most?", "de": "Welchen Sport treiben Sie am meisten?"},
    ),
    Question(
        id="q3", attribute="hours", kind=Number(low="0", high="40", unit={"en": "hours", "de": "Stunden"}),
        text={"en": "How many hours?", "de": "Wie viele Stunden?"}, design=optimal_design("ln 3"),
    ),
)  # fmt: skip
PUBLISHED = SURVEY.model_copy(update={"origins": (APP,), "questions": QUESTIONS}).publish([KEY])


@pytest.fixture
def collector(tmp_path):
    with RunningCollector(str(tmp_path / "reports.sqlite3")) as running:
        running.json("POST", f"/surveys?key={KEY.public.raw.hex()}", PUBLISHED.envelope, {**JSON, **BEARER})
        yield running


@contextmanager
def opened(collector, client, language):
    """The printed page as a person opens it, with the client from this folder, and what it sends."""
    sent = []

    def app(route):
        asked = route.request.url.removeprefix(APP).partition("#")[0]
        if asked.startswith("/rrcollect/"):
            path = client / asked.removeprefix("/rrcollect/")
            route.fulfill(body=path.read_text(encoding="utf-8"), content_type=TYPES[path.suffix])
        else:
            route.fulfill(body=PAGE, content_type="text/html; charset=utf-8")

    def collect(route):
        request = route.request
        path, allowed = request.url.removeprefix(COLLECT), {"access-control-allow-origin": APP}
        if request.method == "OPTIONS":
            route.fulfill(status=200, headers={**allowed, "access-control-allow-headers": "content-type"})
            return
        sent.extend([request.post_data_buffer] if request.method == "POST" else [])
        status, said, _ = collector.request(request.method, path, request.post_data_buffer, JSON)
        route.fulfill(status=status, body=said, headers=allowed)

    with chromium() as browser, Visit(browser, locale=language) as person:
        person.context.route(f"{APP}/**", app)
        person.context.route(f"{COLLECT}/**", collect)
        yield person.page(f"{APP}/#{PUBLISHED.digest}"), sent
        assert person.complaints == []


def test_it_has_forty_lines():
    assert len(PAGE.splitlines()) <= 40


def test_a_person_answers_on_the_printed_page(collector):
    with opened(collector, SOURCES, "en") as (page, _):
        card = page.locator("section", has_text="Have you ever doped")
        card.get_by_role("radio", name="Yes").click()
        card.get_by_role("button", name="Send").click()
        card.get_by_text("was sent").wait_for()
        assert "at most 3 times as likely as the other" in card.inner_text()
        assert collector.kept() == 1


def test_every_kind_is_asked_in_the_person_s_language_and_a_question_may_be_declined(collector):
    words = Words.of("de")
    send, decline = words.say("send"), words.say("decline_button")
    with opened(collector, built(), "de-AT") as (page, sent):
        doped, sport, hours = (page.locator("section").nth(place) for place in range(3))
        assert "Welchen Sport" in sport.inner_text()
        assert doped.get_by_role("radio").all_inner_texts() == [words.say("yes_button"), words.say("no_button")]
        assert sport.get_by_role("radio").all_inner_texts() == [option["de"] for option in SPORTS]
        assert "Stunden" in hours.get_by_role("spinbutton").inner_text()
        doped.get_by_role("button", name=decline).click()
        doped.get_by_text(words.say("declined")).wait_for()
        sport.get_by_role("button", name=send).click()  # nothing was chosen
        assert sport.get_by_role("status").inner_text() == words.say("choose_option")
        sport.get_by_role("radio", name="Rudern").click()
        sport.get_by_role("button", name=send).click()
        sport.get_by_text(words.say("answered")).wait_for()
        for digit in "41":  # outside the range
            hours.get_by_role("button", name=digit, exact=True).click()
        hours.get_by_role("button", name=send).click()
        assert hours.get_by_role("status").inner_text() == words.say("enter_between", low="0", high="40")
        hours.get_by_role("spinbutton").press("Backspace")
        hours.get_by_role("button", name=send).click()
        for card in (sport, hours):  # delivered, and told what all of it reveals
            card.get_by_text(words.say("answered")).wait_for()
            card.locator("p").wait_for()
        assert page.locator("input, select, textarea").count() == 0  # browsers save what is in them
    assert sorted(json.loads(body)["question"] for body in sent) == ["q2", "q3"]
    assert collector.kept() == 2
