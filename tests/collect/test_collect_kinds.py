"""Choices and numbers through a collector that runs: taken over HTTP, folded, released, shown with their bars."""

from __future__ import annotations

import json
import random
import re

import pytest

from rrcollect import Choice, Number, Report, SetDesign, optimal_design
from server_agg import Tally, estimate
from tests.inside.collect import incoming
from tests.support.browser import Visit
from tests.support.collector_running import BEARER, JSON, TOKEN, RunningCollector
from tests.support.devices import question

LABELS = ("<b>red</b>", "blue", "green", "none of these")
PARTY = question(
    id="party", attribute="party", text="Which?", design=optimal_design(1, options=4), rounds=3,
    kind=Choice(options=[{"en": label} for label in LABELS]), panel=True,
)  # fmt: skip
HOURS = question(
    id="hours", attribute="hours", text="How long?", design=optimal_design(1),
    kind=Number(low=0, high=40, unit={"en": "hours"}),
)  # fmt: skip
MANY = optimal_design(1, options=10)
COLOUR = question(
    id="colour", attribute="colour", text="Which colour?", design=MANY,
    kind=Choice(options=[{"en": f"colour {j}"} for j in range(10)]),
)  # fmt: skip


def answer(source, design):
    if not isinstance(design, SetDesign):
        return source.choice("01")
    chosen = source.sample(range(design.options), design.size)
    return "".join("1" if j in chosen else "0" for j in range(design.options))


def made(digest, asked, source, **more):
    return Report(survey=digest, question=asked.id, design=asked.design, answer=answer(source, asked.design),
                  id=f"{source.getrandbits(128):032x}", **more)  # fmt: skip


@pytest.fixture
def collector(tmp_path):
    with RunningCollector(str(tmp_path / "reports.sqlite3")) as running:
        yield running


@pytest.fixture
def visit(browser):
    with Visit(browser) as somebody:
        yield somebody


def sent(collector, digest, each=90):
    """Reports to every question, put into the store."""
    source, reports = random.Random(5), []
    for asked in (PARTY, HOURS, COLOUR):
        for i in range(each):
            segments = {"sport": source.choice(["run", "ski"])}
            reports.append(made(digest, asked, source, round=i % asked.rounds, segments=segments))
    collector.store.take([incoming(one.row) for one in reports])
    return reports


def test_reports_of_every_kind_are_taken_and_wrong_ones_are_refused_by_name(collector):
    digest = collector.page_of(PARTY, HOURS, COLOUR, segments={"sport": ["run", "ski"]})
    source = random.Random(1)
    for asked in (PARTY, HOURS, COLOUR):
        for _ in range(2):  # the second by what was remembered of the first
            one = made(digest, asked, source)
            assert collector.post(one.to_bytes())[0] in (200, 201, 202)
            wide = json.loads(one.to_bytes())
            for wrong in ("1" * asked.design.width + "1", "", "2"):
                body = json.dumps({**wide, "answer": wrong}, sort_keys=True, separators=(",", ":")).encode()
                status, said = collector.post(body)
                assert status in (400, 422), said
            if asked.design.width > 1:
                flipped = "1" * asked.design.width
                body = json.dumps({**wide, "answer": flipped}, sort_keys=True, separators=(",", ":")).encode()
                assert collector.post(body)[0] in (400, 422)
    both = [made(digest, asked, source) for asked in (PARTY, HOURS, COLOUR)]
    assert collector.post(b"[" + b",".join(one.to_bytes() for one in both) + b"]")[0] in (200, 201, 202)


def test_what_is_shown_is_what_the_estimators_say_of_the_reports(collector):
    digest = collector.page_of(PARTY, HOURS, COLOUR, segments={"sport": ["run", "ski"]})
    reports = sent(collector, digest)
    found = {each["id"]: each for each in collector.results()["surveys"][0]["questions"]}
    texts = [one.answer for one in reports if one.question == "colour"]
    wanted = estimate(Tally(MANY, 90, [sum(text[j] == "1" for text in texts) for j in range(10)]))
    assert [one["value"] for one in found["colour"]["estimate"]["options"]] == [row.value for row in wanted.rows]
    ones = sum(one.answer == "1" for one in reports if one.question == "hours")
    share = estimate(Tally(HOURS.design, 90, ones)).value
    assert found["hours"]["estimate"]["value"] == pytest.approx(40 * share)
    assert found["party"]["panel"] is True
    assert any("drew by chance" in note for note in found["party"]["notes"])
    assert len(found["party"]["trend"]["options"]) == 4
    status, said = collector.json("POST", f"/surveys/{digest}/release", b'{"round":null}', {**JSON, **BEARER})
    assert (status, said["added"]) == (201, 270)
    status, public = collector.json("GET", "/results")
    if status == 200:  # where results are public
        assert public["surveys"][0]["view"] == "released"
    csv = collector.request("GET", "/results?format=csv", headers=BEARER)[1].decode()
    assert csv.count("colour 3") >= 1
    assert ",hours," in csv


@pytest.mark.browser
def test_the_page_draws_options_means_and_rounds(collector, visit):
    digest = collector.page_of(PARTY, HOURS, COLOUR, segments={"sport": ["run", "ski"]})
    sent(collector, digest)
    results = visit.page(f"{collector.url}/")
    results.get_by_label("Owner's token").fill(TOKEN)
    results.get_by_role("button", name="Enter").click()
    results.get_by_role("button", name="Clean sport").click()
    party = results.locator('[data-question="party"]')
    party.get_by_role("img", name=re.compile("^Options: ")).wait_for()
    assert party.get_by_role("img", name=re.compile("by round: round 1")).count() == 4
    assert party.locator("b").count() == 0  # a label is text
    assert "<b>red</b>" in party.inner_text()
    hours = results.locator('[data-question="hours"]')
    assert re.search(r"hours", hours.get_by_role("img", name=re.compile("^Estimate")).get_attribute("aria-label"))
    colour = results.locator('[data-question="colour"]')
    assert colour.locator("figure").first.locator("circle").count() == 10
    colour.get_by_text("Every option by").click()
    assert colour.get_by_role("img", name=re.compile("^by sport, ")).count() == 10
    colour.get_by_text("Method", exact=True).click()
    colour.get_by_text("all options at once").first.wait_for()
    assert "add up to 100 %" in colour.inner_text()
    for width in (390, 1280):
        results.set_viewport_size({"width": width, "height": 900})
        assert results.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert not visit.complaints
