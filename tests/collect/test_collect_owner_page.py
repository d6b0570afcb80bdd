"""The owner's page in a real Chromium: publish, invite, release, withdraw and close, by the collector's API alone."""

import re
from datetime import UTC, datetime

import pytest
from axe_playwright_python.sync_playwright import Axe

from rrcollect import SigningKey
from server_agg import open_store
from tests.support.boards import CITY, answered, doped, hours, often
from tests.support.browser import Visit, chromium
from tests.support.collector_running import BEARER, JSON, TOKEN, RunningCollector, expired
from tests.support.devices import KEY

AXE = Axe()
SMALL = """[...document.querySelectorAll("body *")].filter((one) => [...one.childNodes].some((c) => c.nodeType === 3 &&
    c.data.trim()) && parseFloat(getComputedStyle(one).fontSize) < 12).map((one) => one.outerHTML.slice(0, 90))"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture
def visit(browser):
    with Visit(browser, viewport={"width": 390, "height": 844}) as one:
        yield one


@pytest.fixture
def collector(tmp_path):
    with RunningCollector("", open_store(tmp_path / "owner.sqlite3"), public_results=True) as running:
        yield running


def accessible(page):
    found = AXE.run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]})
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.evaluate(SMALL) == []


def entered(visit, collector, title=None):
    page = visit.page(f"{collector.url}/owner")
    page.get_by_label("Owner's token").fill(TOKEN)
    page.get_by_role("button", name="Enter").click()
    page.get_by_role("heading", name="Surveys").wait_for()
    if title:
        page.get_by_role("button", name=title).click()
        page.get_by_role("heading", name=title, level=1).wait_for()
    return page


def unfolded(page, name):
    part = page.locator("details.desk", has=page.locator("summary", has_text=name))
    if part.get_attribute("open") is None:
        part.locator("summary").first.click()
    return part


def pem(tmp_path, data, name):
    path = tmp_path / name
    path.write_bytes(data)
    return path


def test_the_door_says_where_the_token_is_and_the_token_is_kept_nowhere(collector, visit):
    page = visit.page(f"{collector.url}/owner")
    page.get_by_text("rrcollect serve --token-file FILE").wait_for()
    accessible(page)
    page.get_by_label("Owner's token").fill("a wrong token entirely")
    page.keyboard.press("Enter")
    page.get_by_text("The token is not right.").wait_for()
    accessible(page)
    page.get_by_label("Owner's token").fill(TOKEN)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Surveys").wait_for()
    assert TOKEN not in page.content()
    assert page.url == f"{collector.url}/owner"
    assert page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]
    assert not [url for url in visit.requests if "token" in url]
    page.get_by_role("button", name="Forget the token").click()
    page.get_by_role("heading", name="For the owner").wait_for()


def test_every_state_is_shown(collector, visit):
    later, past = "2099-01-01T00:00:00Z", datetime(2020, 1, 1, tzinfo=UTC)
    collector.page_of(name="a", title="Runs")
    collector.page_of(name="b", title="Waits", opens=later)
    collector.page_of(name="c", title="Trial", pilot=True)
    gone = collector.publication(name="d", title="Gone")
    collector.publish(gone)
    notice = gone.survey.withdraw([KEY])
    assert collector.request("POST", f"/surveys/{gone.digest}/withdrawal", notice, JSON)[0] == 201
    collector.publish(expired(name="e", title="Over", expires=past))
    shut = collector.publish(expired(name="f", title="Shut", expires=past))
    assert collector.json("POST", f"/surveys/{shut}/close", b"{}", {**JSON, **BEARER})[0] == 200
    page = entered(visit, collector)
    for title, state in (
        ("Runs", "open"),
        ("Waits", "not yet open"),
        ("Trial", "pilot"),
        ("Gone", "withdrawn"),
        ("Over", "ended"),
        ("Shut", "closed"),
    ):
        card = page.locator("article", has=page.get_by_role("button", name=title))
        assert state in card.locator(".state").all_inner_texts(), title
    accessible(page)


def test_a_signed_survey_is_published_and_what_is_wrong_is_said(collector, visit, tmp_path):
    made = collector.publication(doped(), name="new", title="A new one")
    page = entered(visit, collector)
    part = unfolded(page, "Publish a survey")
    press = part.get_by_role("button", name="Publish", exact=True)
    press.click()
    part.get_by_text("The signed survey: choose a file, or paste its text.").wait_for()
    part.get_by_label("The signed survey", exact=True).set_input_files(pem(tmp_path, made.envelope, "s.json"))
    key = part.get_by_label("The publisher's public key, pasted")
    KEY.save(tmp_path / "private.pem")
    key.fill((tmp_path / "private.pem").read_text())
    sent = len(visit.requests)
    press.click()
    part.get_by_text("This is a private key. It must not leave your machine; nothing was sent.").wait_for()
    assert len(visit.requests) == sent
    key.fill(SigningKey.generate().public.to_pem().decode())
    press.click()
    part.get_by_text(re.compile("^Not published: ")).wait_for()
    assert collector.results()["surveys"] == []
    accessible(page)
    key.fill(KEY.public.to_pem().decode())
    press.click()
    part.get_by_text("Published. It is answered at").wait_for()
    page.get_by_role("button", name="A new one").wait_for()
    accessible(page)


def test_a_release_is_shown_before_it_is_made(collector, visit):
    made = collector.publication(doped(rounds=2), minimum=20, segments={"city": CITY})
    digest = collector.publish(made)
    answered(collector.store, made.survey, 130, ("Dublin", "Berlin"))
    page = entered(visit, collector, "Clean sport")
    part = unfolded(page, "Release")
    part.get_by_text("Strangers see nothing yet.").wait_for()
    assert not part.get_by_role("button", name="Release", exact=True).is_visible()
    part.get_by_label("The headline shows").select_option(label="round 2")
    part.get_by_role("button", name="Show what would change").click()
    part.get_by_text("A release now would add 120 answers.").wait_for()
    part.get_by_text("The headline would change from the whole to round 2.").wait_for()
    lines = [row.locator("td").all_text_contents() for row in part.locator("tbody tr").all()]
    assert ["Have you ever doped?", "round 1", "all answers", "0", "60"] in lines
    assert ["Have you ever doped?", "round 2", "city: Berlin", "0", "20"] in lines
    part.get_by_text("doped, round 1: 6 answers wait, because crowds of 20 are published whole.").wait_for()
    accessible(page)
    assert collector.json("GET", "/results")[1]["surveys"][0]["released"] is None  # nothing was released by looking
    part.get_by_role("button", name="Release", exact=True).click()
    part.get_by_text("Released: 120 answers were added.").wait_for()
    part.get_by_text("Strangers see release 1 of").wait_for()
    assert not part.get_by_role("button", name="Release", exact=True).is_visible()
    seen = collector.json("GET", f"/results?survey={digest}")[1]["surveys"][0]
    assert (seen["answers"], seen["headline"]) == (120, 1)
    assert visit.complaints == []


def test_the_preview_tells_sizes_that_the_release_keeps(collector):
    """By the API: whatever is drawn, as many answers of each group become public as was told."""
    made = collector.publication(doped(), often(), minimum=20, segments={"city": CITY})
    digest = collector.publish(made)
    answered(collector.store, made.survey, 157)
    owner = {**JSON, **BEARER}
    address = f"/surveys/{digest}/release"
    assert collector.json("POST", f"{address}?preview=1", b"{}", JSON)[0] == 401
    for query in ("?preview=0", "?preview=1&preview=1", "?other=1"):
        assert collector.json("POST", address + query, b"{}", owner)[0] == 400
    status, told = collector.json("POST", f"{address}?preview=1", b"{}", owner)
    assert (status, told["preview"]) == (200, True)
    assert collector.json("POST", f"{address}?preview=1", b"{}", owner)[1] == told
    assert collector.json("POST", address, b"{}", owner)[1]["added"] == told["added"]
    shown = collector.json("GET", "/results")[1]["surveys"][0]["questions"]
    for question in shown:
        whole = {one["group"]: one["after"] for one in told["changes"] if one["question"] == question["id"]}
        assert question["n"] == whole.pop("")
        (table,) = question["segments"]
        rows = table["options"][0]["rows"] if "options" in table else table["rows"]
        assert {row["label"]: row["n"] for row in rows if row["label"] in table["labels"]} == whole
    assert collector.json("POST", f"{address}?preview=1", b"{}", owner)[1]["changes"] == []


def test_invites_are_made_and_downloaded_once(collector, visit):
    digest = collector.page_of(invite_only=True)
    page = entered(visit, collector, "Clean sport")
    part = unfolded(page, "Invites")
    part.get_by_label("How many").fill("3")
    with page.expect_download() as got:
        part.get_by_role("button", name="Make invites").click()
    head, *lines = got.value.path().read_text().splitlines()
    assert head == "invite,link"
    assert len({line.split(",")[0] for line in lines}) == 3
    assert all(line.split(",")[1].startswith(f"{collector.url}/s/{digest}#invite=") for line in lines)
    part.get_by_text("3 invites were made. The list was downloaded").wait_for()
    assert lines[0].split(",")[0] not in page.content()
    accessible(page)


def test_rounds_are_shown_as_they_were_signed(collector, visit):
    times = [("2020-01-01", "2020-02-01"), ("2020-03-01", "2090-01-01"), ("2091-01-01", "2092-01-01")]
    rounds = [{"opens": f"{a}T00:00:00Z", "closes": f"{b}T00:00:00Z"} for a, b in times]
    collector.page_of(doped(rounds=3), rounds=rounds)
    page = entered(visit, collector, "Clean sport")
    states = unfolded(page, "Rounds").locator("tbody td:nth-child(2)").all_text_contents()
    assert states == ["ended", "open", "not yet open"]
    accessible(page)


def test_a_withdrawal_is_handed_in_and_a_forged_one_is_refused(collector, visit):
    made = collector.publication()
    digest = collector.publish(made)
    page = entered(visit, collector, "Clean sport")
    part = unfolded(page, "Withdraw or close")
    text = part.get_by_label("The signed withdrawal, pasted")
    text.fill(made.survey.withdraw([SigningKey.generate()]).decode())
    part.get_by_role("button", name="Withdraw for good").click()
    part.get_by_text(re.compile("^Not withdrawn: ")).wait_for()
    part.get_by_text("It can be closed when it has ended and its grace period has passed.").wait_for()
    text.fill(made.survey.withdraw([KEY]).decode())
    part.get_by_role("button", name="Withdraw for good").click()
    page.locator(".state.withdrawn").wait_for()
    assert collector.request("GET", f"/surveys/{digest}/withdrawal")[0] == 200
    accessible(page)


def test_a_survey_that_is_over_is_closed_and_no_other(collector, visit):
    past = datetime(2020, 1, 1, tzinfo=UTC)
    over = collector.publish(expired(name="over", title="Over", expires=past))
    runs = collector.page_of(name="runs")
    status, said = collector.json("POST", f"/surveys/{runs}/close", b"{}", {**JSON, **BEARER})
    assert (status, said["error"]) == (409, "not_over")
    assert collector.json("POST", f"/surveys/{over}/close", b"{}", JSON)[0] == 401
    assert collector.json("POST", f"/surveys/{over}/close", b'{"a":1}', {**JSON, **BEARER})[0] == 400
    page = entered(visit, collector, "Over")
    unfolded(page, "Withdraw or close").get_by_role("button", name="Close for good").click()
    page.locator(".state.closed").wait_for()
    assert [one.closed for one in collector.store.shelf.surveys() if one.digest == over] == [True]


def test_the_live_view_grows_and_folds_nothing_up(collector, visit):
    made = collector.publication(doped(), often(), hours(), minimum=10, segments={"city": CITY})
    collector.publish(made)
    page = entered(visit, collector, "Clean sport")
    page.get_by_text("0 of the 10 answers needed before anything is shown.").first.wait_for()
    answered(collector.store, made.survey, 60)
    page.get_by_role("img", name=re.compile("^Estimate")).first.wait_for()
    page.get_by_text("Its bars allow for looking").wait_for()
    card = page.locator('[data-question="doped"]')
    card.get_by_text("Method").click()
    page.evaluate("document.activeElement.blur()")
    assert "anytime" in card.inner_text()
    answered(collector.store, made.survey, 60, seed=2)
    card.get_by_text("From 120 answers").wait_for()
    assert card.locator("details.method[open]").count() == 1
    accessible(page)
    with page.expect_download() as got:
        page.get_by_role("button", name="CSV").click()
    assert got.value.path().read_text().startswith("survey,title,question")
    assert visit.complaints == []


def test_all_of_it_works_by_keyboard_in_the_dark_at_320(collector, browser):
    made = collector.publication(doped(), minimum=20)
    collector.publish(made)
    answered(collector.store, made.survey, 50)
    with Visit(browser, viewport={"width": 320, "height": 800}, color_scheme="dark") as visit:
        page = visit.page(f"{collector.url}/owner")
        page.keyboard.type(TOKEN)  # the field has the focus
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Surveys").wait_for()
        accessible(page)
        for name in ("Clean sport", "Show what would change", "Release"):
            page.get_by_role("button", name=name, exact=True).wait_for()
            for _ in range(40):
                page.keyboard.press("Tab")
                focused = "[document.activeElement.tagName, document.activeElement.textContent]"
                if page.evaluate(focused) == ["BUTTON", name]:
                    break
            page.keyboard.press("Enter")
            page.get_by_text({"Release": "Released: 40 answers"}.get(name, "Strangers see nothing yet.")).wait_for()
        accessible(page)
        assert visit.complaints == []


def test_it_works_below_a_path(tmp_path, visit):
    with RunningCollector(str(tmp_path / "below.sqlite3"), public_results=True, prefix="/surveys-of-us") as collector:
        page = visit.page(f"{collector.url}/surveys-of-us/owner")
        page.get_by_label("Owner's token").fill(TOKEN)
        page.get_by_role("button", name="Enter").click()
        page.get_by_text("No survey is published here yet.").wait_for()
        board = visit.page(f"{collector.url}/surveys-of-us/")
        board.get_by_text("No survey is published here yet.").wait_for()
        assert visit.complaints == []
