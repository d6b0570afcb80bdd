"""Both pages in a real Chromium: a person answers, the owner watches; tampering and hostile text come to nothing."""

import base64
import csv
import json
import re

import pytest
from axe_playwright_python.sync_playwright import Axe

from rrcollect import Design, publish_survey
from server_agg import open_store
from server_agg.collect.stored_report import incoming
from tests.support.browser import Visit, chromium
from tests.support.collector_running import BEARER, JSON, ROOT, TOKEN, Running, publication, report
from tests.support.devices import KEY, VECTORS, load, question, survey

HOSTILE = '<img src=x onerror="document.title=\'owned\'"> <script>document.title="owned"</script> =cmd|calc!A1'
AXE = Axe()


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture
def visit(browser):
    with Visit(browser, viewport={"width": 390, "height": 844}) as one:
        yield one


def sign_in(page):
    page.get_by_label("Owner's token").fill(TOKEN)
    page.get_by_role("button", name="Show results").click()


def accessible(page):
    found = AXE.run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]})
    assert found.violations_count == 0, found.generate_report()


def only_here(visit, collector):
    """No third-party request, no policy violation, no script error."""
    strangers = [url for url in visit.requests if not url.startswith((collector.url, "blob:" + collector.url))]
    assert strangers == []
    assert [c for c in visit.complaints if "401" not in c] == []


def test_a_person_answers_and_the_owner_sees_the_count_grow(collector, visit, browser):
    digest = collector.publish(publication(segments={"sport": ["run", "ski"]}))
    with Visit(browser) as owner:
        results = owner.page(f"{collector.url}/")
        sign_in(results)
        results.get_by_text("0 of the 2 answers needed").wait_for()
        accessible(results)

        page = visit.page(f"{collector.url}/s/{digest}")
        page.get_by_text("changed at random with chance 25 %").wait_for()
        assert "Nobody can tell" in page.content()
        assert "Spent" not in page.content()  # before sending nothing but the promise
        accessible(page)
        page.get_by_label("sport").select_option(label="ski")
        page.get_by_label("Yes").check()
        page.get_by_role("button", name="Change at random and send").click()
        page.get_by_text("Received by the collector").wait_for()
        page.get_by_text("Spent for life: ε = 1.099 of 10.99").wait_for()
        accessible(page)

        results.locator(".answers", has_text="1").wait_for()
        first = page.locator("[data-report]").get_attribute("data-report")
        sent = page.locator(".sent").inner_text()

        page.reload()  # asked again: the same report
        page.get_by_text("Received by the collector").wait_for()
        assert page.locator("[data-report]").get_attribute("data-report") == first
        assert page.locator(".sent").inner_text() == sent
        assert collector.results()["surveys"][0]["answers"] == 1
        (row,) = open_rows(collector)
        assert row.id == first
        assert json.loads(row.segments) == {"sport": "ski"}
        only_here(visit, collector)
        only_here(owner, collector)
        assert visit.context.cookies() == []


def test_the_surveys_own_texts_are_shown_in_the_persons_language(collector, browser):
    sport = {"values": [{"value": "run", "label": {"en": "Running", "de": "Laufen"}}], "label": {"en": "Sport"}}
    asked = question(text={"en": "Ever doped?", "de": "Je gedopt?"}, help={"en": "In twelve months."})
    texts = {"introduction": "First line\nsecond line", "consent": {"en": "I agree.", "de": "Ich stimme zu."}}
    texts |= {"contact": "survey@example.org", "privacy": "https://example.org/p", "thanks": "<b>Many thanks</b>"}
    digest = collector.publish(publication(asked, segments={"sport": sport}, **texts))
    with Visit(browser, locale="de-AT") as visit:
        page = visit.page(f"{collector.url}/s/{digest}")
        for said in (
            "Je gedopt?",
            "In twelve months.",
            "Ich stimme zu.",
            "survey@example.org",
            "https://example.org/p",
        ):
            page.get_by_text(said).wait_for()
        assert page.locator("[data-text=introduction]").inner_text() == "First line\nsecond line"
        assert not page.locator("#thanks").is_visible()
        accessible(page)
        page.get_by_label("Sport").select_option(label="Laufen")
        page.get_by_label("Yes").check()
        page.get_by_role("button", name="Change at random and send").click()
        page.get_by_text("<b>Many thanks</b>").wait_for()
        page.get_by_text("Received by the collector.").wait_for()
        (row,) = open_rows(collector)
        assert json.loads(row.segments) == {"sport": "run"}
        only_here(visit, collector)


def open_rows(collector):
    return list(collector.store.reports())


@pytest.fixture
def collector(tmp_path):
    store = open_store(tmp_path / "reports.sqlite3")
    with Running("", store) as running:
        running.store = store
        yield running


def test_two_tabs_and_a_later_survey_repeat_the_one_draw(collector, visit):
    one = collector.publish(publication())
    two = collector.publish(publication(question(text="The same, in other words?"), name="another"))
    pages = [visit.page(f"{collector.url}/s/{digest}") for digest in (one, one, two)]
    for page in pages:
        page.get_by_label("No", exact=True).check()
    for page in pages:
        page.get_by_role("button", name="Change at random and send").click(no_wait_after=True)
    for page in pages:
        page.get_by_text("Received by the collector").wait_for()
    assert len({page.locator(".sent").inner_text() for page in pages}) == 1
    ids = [page.locator("[data-report]").get_attribute("data-report") for page in pages]
    assert ids[0] == ids[1] != ids[2]
    assert len({row.answer for row in open_rows(collector)}) == 1
    pages[0].reload()
    pages[0].get_by_text("ε = 1.099 of").wait_for()  # the second survey cost nothing more


def test_answering_by_keyboard_alone_and_declining(collector, visit):
    digest = collector.publish(publication(question(), question(id="q2", attribute="b", text="Another?")))
    page = visit.page(f"{collector.url}/s/{digest}")
    first = page.locator('[data-question="q1"]')
    first.get_by_role("button", name="Change at random and send").focus()
    page.keyboard.press("Enter")
    first.get_by_text("Choose yes or no first").wait_for()
    page.keyboard.press("Space")  # the focus was moved to the first choice
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    first.get_by_text("Received by the collector").wait_for()
    second = page.locator('[data-question="q2"]')
    second.get_by_role("button", name="I prefer not to answer").click()
    second.get_by_text("You declined. Nothing was sent.").wait_for()
    assert page.evaluate("document.activeElement.id") == "text-q2"
    page.reload()
    second.get_by_text("You declined").wait_for()
    assert len(open_rows(collector)) == 1
    second.get_by_role("button", name="Answer after all").click()
    second.get_by_label("Yes").check()
    second.get_by_role("button", name="Change at random and send").click()
    second.get_by_text("Received by the collector").wait_for()
    assert len(open_rows(collector)) == 2


def test_a_later_round_is_asked_for_in_the_address(collector, visit):
    digest = collector.publish(publication(question(rounds=3)))
    for number in ("1", "2"):
        page = visit.page(f"{collector.url}/s/{digest}#round={number}")
        page.get_by_label("Yes").check()
        page.get_by_role("button", name="Change at random and send").click()
        page.get_by_text("Received by the collector").wait_for()
    page.get_by_text("ε = 2.197 of").wait_for()  # every round is a draw of its own, and is paid for
    assert sorted(row.round for row in open_rows(collector)) == [0, 1]


def test_a_tampered_envelope_is_refused_on_screen(collector, visit):
    good = publication()
    digest = collector.publish(good)
    parts = json.loads(good.envelope)
    payload = base64.b64decode(parts["payload"]).replace(b"Clean sport", b"Dirty sport")
    parts["payload"] = base64.b64encode(payload).decode()
    forged = json.dumps(parts, separators=(",", ":"), sort_keys=True)
    visit.context.route("**/surveys/*", lambda route: route.fulfill(body=forged, content_type="application/json"))
    page = visit.page(f"{collector.url}/s/{digest}")
    page.get_by_text("This survey was refused").wait_for()
    assert page.get_by_text("BadSignature").count() == 1
    assert page.get_by_text("Dirty").count() == 0
    assert page.locator("form").count() == 0
    accessible(page)


def test_another_survey_of_the_same_publisher_is_not_slipped_in(collector, visit):
    digest = collector.publish(publication())
    other = publish_survey(survey(name="other"), [KEY]).envelope
    visit.context.route("**/surveys/*", lambda route: route.fulfill(body=other, content_type="application/json"))
    page = visit.page(f"{collector.url}/s/{digest}")
    page.get_by_text("not the one you asked for").wait_for()


def test_a_lost_connection_keeps_the_answer_and_sends_it_later(collector, visit):
    digest = collector.publish(publication())
    page = visit.page(f"{collector.url}/s/{digest}")
    page.get_by_label("Yes").check()
    visit.context.route("**/reports", lambda route: route.abort())
    page.get_by_role("button", name="Change at random and send").click()
    page.get_by_text("kept here and is sent later").wait_for()
    assert open_rows(collector) == []
    visit.context.unroute("**/reports")
    page.reload()
    page.get_by_text("Received by the collector").wait_for()
    assert len(open_rows(collector)) == 1


def test_an_invitation_from_the_address_is_used_once(collector, browser):
    digest = collector.publish(publication(invite_only=True))
    _, made = collector.json("POST", f"/surveys/{digest}/invites", b'{"count":1}', {**JSON, **BEARER})
    for words in ("Received by the collector", "Not taken"):
        with Visit(browser) as person:
            page = person.page(f"{collector.url}/s/{digest}#invite={made['invites'][0]}")
            assert page.get_by_label("Your invitation code").input_value() == made["invites"][0]
            page.get_by_label("Yes").check()
            page.get_by_role("button", name="Change at random and send").click()
            page.get_by_text(words).wait_for()
    assert len(open_rows(collector)) == 1


def hostile():
    asked = question(text=HOSTILE, rounds=3)
    return publication(asked, title=HOSTILE[:200], segments={"sport": ["ski", "=1+1", HOSTILE[:200]]})


def filled(collector, digest, many=400):
    rows = []
    for number in range(many):
        group = ["ski", "=1+1", HOSTILE[:200]][number % 3]
        made = report(digest, answer=str(int(number % 7 < 3)), segments={"sport": group}, round=number // 3 % 3)
        rows.append(incoming(made.row))
    collector.store.take(rows)


def test_hostile_text_is_shown_not_run(collector, visit):
    digest = collector.publish(hostile())
    filled(collector, digest)
    page = visit.page(f"{collector.url}/s/{digest}")
    page.get_by_role("heading", name="<script>").first.wait_for()
    assert page.locator("main img, main script").count() == 0
    results = visit.page(f"{collector.url}/")
    sign_in(results)
    results.get_by_text("<script>").first.wait_for()
    assert results.locator("main img, main script").count() == 0
    for shown in (page, results):
        assert "owned" not in shown.title() or "<script>" in shown.title()
        accessible(shown)
    only_here(visit, collector)


def test_results_have_bars_segments_trend_notes_and_downloads(collector, visit):
    digest = collector.publish(hostile())
    filled(collector, digest)
    results = visit.page(f"{collector.url}/")
    results.set_viewport_size({"width": 1200, "height": 1400})
    sign_in(results)
    card = results.locator("article")
    card.get_by_role("img", name=re.compile("^Estimate")).wait_for()
    assert card.get_by_role("img", name=re.compile("^Trend: round 1")).count() == 1
    assert card.get_by_role("img", name=re.compile("^sport: ")).count() == 1
    words = card.inner_text().lower()
    for wanted in ("ε = 1.099, δ = 0", "the population", "interval", "1 % of the answers were fakes"):
        assert wanted in words
    with results.expect_download() as got:
        results.get_by_role("button", name="CSV").click()
    lines = list(csv.reader(got.value.path().read_text().splitlines()))
    assert len(lines) >= 1 + 1 + 3 + 3
    assert not [cell for line in lines for cell in line if cell[:1] in "=+@" and cell]
    assert any(cell == "'=1+1" for line in lines for cell in line)
    with results.expect_download() as got:
        results.get_by_role("button", name="JSON").click()
    (survey_,) = json.loads(got.value.path().read_text())["surveys"]
    assert survey_["answers"] == 400
    results.emulate_media(media="print")
    assert not results.get_by_role("button", name="CSV").is_visible()
    assert card.get_by_role("img", name=re.compile("^Estimate")).is_visible()


def came_in(collector, digest, cells):
    """Reports of {(round, sport, answer): how many} put into the store."""
    rows = []
    for (number, sport, answer), many in cells.items():
        for _ in range(many):
            made = report(digest, answer=str(answer), segments={"sport": sport}, round=number)
            rows.append(incoming(made.row))
    collector.store.take(rows)


def test_rounds_with_too_few_answers_each_say_so(collector, visit):
    digest = collector.publish(publication(question(rounds=3), segments={"sport": ["run", "ski"]}))
    came_in(collector, digest, {(0, "run", 1): 1, (1, "run", 0): 1, (2, "ski", 1): 1})
    results = visit.page(f"{collector.url}/")
    sign_in(results)
    results.get_by_text("A round needs 2 answers before anything is shown; the fullest has 1.").wait_for()
    assert "3 of the 2" not in results.locator("article").inner_text()


def test_a_figure_that_says_nothing_is_not_shown(collector, visit):
    digest = collector.publish(publication(segments={"sport": ["run", "ski"]}))
    came_in(collector, digest, {(0, "run", 0): 1, (0, "ski", 0): 1})
    results = visit.page(f"{collector.url}/")
    sign_in(results)
    card = results.locator("article")
    card.get_by_role("img", name=re.compile("^Estimate")).wait_for()
    assert "direct answer" not in card.inner_text()
    assert "by sport" not in card.inner_text().lower()
    came_in(collector, digest, {(0, "run", 1): 30, (0, "ski", 1): 20, (0, "ski", 0): 50})
    card.get_by_role("img", name=re.compile("^sport: ")).wait_for()
    assert "direct answers" in card.inner_text()


def test_a_wrong_token_is_told(collector, visit):
    page = visit.page(f"{collector.url}/")
    page.get_by_label("Owner's token").fill("a wrong token entirely")
    page.get_by_role("button", name="Show results").click()
    page.get_by_text("The token is not right").wait_for()
    accessible(page)


def test_dark_mode_is_legible_too(collector, browser):
    digest = collector.publish(hostile())
    filled(collector, digest)
    with Visit(browser, color_scheme="dark") as one:
        page = one.page(f"{collector.url}/s/{digest}")
        page.get_by_label("Yes").wait_for()
        accessible(page)
        results = one.page(f"{collector.url}/")
        sign_in(results)
        results.get_by_role("img", name=re.compile("^Estimate")).wait_for()
        accessible(results)


def test_the_vectors_pass_in_chromium(collector, visit):
    def cases(kind):
        return {path.stem: load(path) for path in sorted((VECTORS / kind).glob("*.json"))}

    given = {"surveys": cases("surveys"), "reports": cases("reports")}
    given |= {name: load(VECTORS / f"{name}.json") for name in ("draws", "settings")}
    judge = (ROOT / "tests/collect/js/judge.mjs").read_text()
    visit.context.route("**/assets/judge.mjs", lambda route: route.fulfill(body=judge, content_type="text/javascript"))
    page = visit.page(f"{collector.url}/")
    found = page.evaluate(
        """async (given) => {
            const rr = await import("/assets/rrcollect.mjs");
            const { judge } = await import("/assets/judge.mjs");
            return judge(rr, given);
        }""",
        given,
    )
    assert found["wrong"] == []
    assert found["judged"] > 1000


def test_a_page_without_the_design_it_was_published_with_cannot_be_answered(collector):
    """The collector, the page's last resort: a report by another matrix is not counted."""
    digest = collector.publish(publication())
    status, said = collector.post(report(digest, design=Design("1", "1/2")).to_bytes())
    assert (status, said["error"]) == (422, "wrong_design")
