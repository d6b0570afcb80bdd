"""What strangers see, in a real Chromium: every kind and state, in words, on one axis; saved, printed and framed."""

import json
import re
import secrets
import struct

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.inside.collect import incoming
from tests.support.boards import CITY, answered, doped, hours, often
from tests.support.browser import Visit, chromium
from tests.support.collector_running import BEARER, JSON, HostedApp, RunningCollector, report
from tests.support.devices import KEY

AXE = Axe()
SMALL = """[...document.querySelectorAll("body *")].filter((one) => [...one.childNodes].some((c) => c.nodeType === 3 &&
    c.data.trim()) && parseFloat(getComputedStyle(one).fontSize) < 12).map((one) => one.outerHTML.slice(0, 90))"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    """A collector with public results, and by name the surveys on it."""
    where = tmp_path_factory.mktemp("board") / "public.sqlite3"
    with RunningCollector(str(where), minimum=10, public_results=True) as running:
        running.made = made = {}
        for name, questions, changes, people in (
            ("kinds", [doped(), often(), hours()], {"segments": {"city": CITY}}, 900),
            ("rounds", [doped(rounds=3)], {"segments": {"city": CITY}}, 900),
            ("gone", [doped()], {}, 100),
            ("empty", [doped()], {"pilot": True}, 0),
            ("few", [doped()], {"segments": {"city": CITY}}, 90),
        ):
            one = running.publication(*questions, name=name, title=f"About {name}", minimum=20, **changes)
            made[name] = running.publish(one)
            answered(running.store, one.survey, people, *([("Dublin", "Berlin")] if name == "few" else []))
            running.store.release(one.survey)
        gone = running.publication(doped(), name="gone", title="About gone", minimum=20)
        notice = gone.survey.withdraw([KEY])
        assert running.request("POST", f"/surveys/{made['gone']}/withdrawal", notice, JSON)[0] == 201
        unfit = running.publication(name="unfit", title="About unfit", minimum=20, segments={"city": CITY})
        made["unfit"] = running.publish(unfit)
        running.store.take([
            incoming(report(made["unfit"], answer="0", id=secrets.token_hex(16), segments={"city": city}).row)
            for city in ("Dublin", "Berlin") for _ in range(60)
        ])  # fmt: skip
        running.store.release(unfit.survey)
        assert running.json("GET", "/results")[0] == 200  # computed once per release
        yield running


@pytest.fixture
def visit(browser):
    with Visit(browser, viewport={"width": 1280, "height": 900}) as one:
        yield one


def opened(visit, board, name, more=""):
    page = visit.page(f"{board.url}/r/{board.made[name]}{more}")
    page.get_by_role("heading", name=f"About {name}").wait_for()
    return page


def accessible(page):
    found = AXE.run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]})
    assert found.violations_count == 0, found.generate_report()


def card(page, name):
    return page.locator(f'[data-question="{name}"]')


def edges(page):
    """Where the first and the last mark of the axis lie on the screen, of every figure with rows."""
    found = page.locator("figure svg").evaluate_all(
        """(all) => all.filter((svg) => !svg.getAttribute("aria-label").includes("by round")).map((svg) => {
            const places = [...svg.querySelectorAll("line.grid")].map((one) => one.getBoundingClientRect().left);
            return [Math.round(Math.min(...places)), Math.round(Math.max(...places))];
        })"""
    )
    return {tuple(one) for one in found}


def test_a_board_reads_every_kind_in_words_on_one_axis(board, visit):
    page = opened(visit, board, "kinds")
    said = re.compile(r"^About \d+ of 100 \(between \d+ and \d+\)$")
    assert said.match(card(page, "doped").locator(".about").inner_text())
    assert re.match(r"About [\d.]+ hours \(between", card(page, "hours").locator(".about").inner_text())
    assert card(page, "often").locator(".about").inner_text().startswith("The largest share: Every day. About ")
    card(page, "often").get_by_text("That it is the largest is certain at the level 95 %").wait_for()
    for name in ("doped", "often", "hours"):
        assert card(page, name).locator("h2.foreign").count() == 1
        card(page, name).get_by_text("From 900 answers").wait_for()
    assert len(edges(page)) == 1  # one axis, whatever the question, the option and the group
    shares = card(page, "doped").locator("svg text.quiet").all_text_contents()
    assert [text for text in shares if text.isdigit()][:6] == ["0", "20", "40", "60", "80", "100"]
    assert card(page, "often").locator("figure").first.locator("rect.band").count() == 3
    differences = card(page, "doped").locator(".differences li").all_inner_texts()
    (sure,) = [words for words in differences if words.startswith("Dublin is higher than Berlin, by about ")]
    assert sure.replace("\u00a0", " ").endswith(": certain at the level 95 %.")
    assert len(differences) == 3
    listed = card(page, "doped").locator(".differences li:visible").all_inner_texts()
    assert sure in listed  # and only what is certain; the others are counted in a sentence
    assert not any("not certain" in words.replace("\u00a0", " ") for words in listed)
    card(page, "doped").get_by_text(
        re.compile(r"^(None of the other 2 differences is|The other difference is not)")
    ).wait_for()
    assert card(page, "often").locator("figure:visible").count() == 1  # its options by group are folded
    for folded in ("certain is so for all 3 comparisons at once, at the level 95 %", "Bars of differences: mover"):
        assert not card(page, "doped").get_by_text(folded).is_visible()
    page.get_by_text("2,700 answers are in this release.").wait_for()
    assert page.evaluate("document.documentElement.scrollHeight") < 3_000  # three questions, each of a screen or less
    page.get_by_text("(release 1). Nothing changes before the next one.").wait_for()
    for folded in ("ε = 1.099", "target", "its coverage is guaranteed", "1 % of the answers were fakes"):
        assert not card(page, "doped").get_by_text(folded).first.is_visible()
    card(page, "doped").get_by_text("Method").click()
    folded = ("ε = 1.099", "target", "its coverage is guaranteed", "1 % of the answers were fakes", "no misfit")
    for told in (
        *folded,
        "certain is so for all 3 comparisons at once, at the level 95 %",
        "Bars of differences: mover",
    ):
        assert card(page, "doped").get_by_text(told).first.is_visible()
    accessible(page)
    strangers = [url for url in visit.requests if not url.startswith((board.url, "blob:" + board.url))]
    assert (strangers, visit.complaints, visit.context.cookies()) == ([], [], [])


def test_what_the_page_says_is_what_was_released(board, visit):
    """The words and the figure tell the same numbers as /results."""
    shown = board.json("GET", f"/results?survey={board.made['kinds']}")[1]["surveys"][0]["questions"]
    page = opened(visit, board, "kinds")
    for question in shown[::2]:
        it = question["estimate"]
        assert card(page, question["id"]).locator(".about").inner_text() == it["about"]
        dot = card(page, question["id"]).locator("figure").first.locator("circle")
        (left, right), box = edges(page).pop(), dot.bounding_box()
        low, high = (0, 1) if question["kind"] != "number" else (0, 40)
        wanted = left + (it["shown"] - low) / (high - low) * (right - left)
        assert box["x"] + box["width"] / 2 == pytest.approx(wanted, abs=2)


def test_rounds_are_drawn_and_told(board, visit):
    page = opened(visit, board, "rounds")
    page.get_by_text("All 3 rounds together.").wait_for()
    trend = page.get_by_role("img", name=re.compile("by round: round 1: About .* round 3: About"))
    assert trend.locator("circle").count() == 3
    page.get_by_text(
        re.compile(r"(Rises|Falls) by about [\d.]+ points? per round: (not )?certain at the level")
    ).wait_for()
    accessible(page)


def test_what_is_suppressed_withdrawn_unfit_or_not_there_is_said(board, visit):
    few = opened(visit, board, "few")
    few.get_by_text("A group is shown from 20 answers on; Oslo is not shown.").wait_for()
    assert few.get_by_text("not declared").count() == 0
    gone = opened(visit, board, "gone")
    gone.get_by_text("Withdrawn by its publisher, for good").wait_for()
    assert gone.locator(".about").count() == 1  # what was released stays
    empty = opened(visit, board, "empty")
    empty.get_by_text("Nothing was released yet.").wait_for()
    empty.get_by_text("pilot: trial data").wait_for()
    assert empty.locator("figure").count() == 0
    unfit = opened(visit, board, "unfit")
    unfit.get_by_text("These counts do not fit the survey's design: do not use this number.").wait_for()
    unfit.get_by_text(re.compile("do not use these numbers: (Dublin, Berlin|Berlin, Dublin)")).wait_for()
    assert unfit.locator("svg .warn", has_text="do not use").count() == 2
    assert not unfit.get_by_text("P(a count so far below)").first.is_visible()  # it stands under Method
    unfit.locator("summary", has_text="Method").first.click()
    assert unfit.get_by_text("P(a count so far below)").first.is_visible()
    for page in (few, gone, empty, unfit):
        accessible(page)


def test_the_list_leads_to_each_survey_and_the_keyboard_suffices(board, visit):
    page = visit.page(f"{board.url}/")
    page.get_by_role("heading", name="Results").wait_for()
    assert page.locator("article").count() == len(board.made)
    assert page.locator("article", has_text="About kinds").locator("li").count() == 3
    assert "do not use this number" in page.locator("article", has_text="About unfit").inner_text()
    accessible(page)
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "About kinds":
            break
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="About kinds").wait_for()
    page.locator("figure").first.wait_for()
    reached = set()
    while "All results" not in reached:
        assert len(reached) < 99
        page.keyboard.press("Tab")
        focused = page.evaluate(
            "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"
        )
        reached.add(focused)
        if focused == "Method":
            page.keyboard.press("Enter")
    assert {"Method", "Print or PDF", "JSON", "CSV", "Copy link", "Share or embed", "All results"} <= reached
    assert "Save as SVG: Have you ever doped?, all" in reached
    assert page.locator("details.method[open]").count() >= 3


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (390, "dark"), (1280, "dark")])
def test_every_width_and_scheme_is_legible(board, browser, width, scheme):
    with Visit(browser, viewport={"width": width, "height": 844}, color_scheme=scheme) as one:
        for name in ("kinds", "rounds", "unfit"):
            page = opened(one, board, name)
            page.locator("svg").first.wait_for()
            for details in page.locator("details").all():
                details.locator("summary").click()
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate(SMALL) == []
            if name == "unfit" or width == 390:
                accessible(page)
        assert one.complaints == []


def test_a_figure_is_redrawn_and_its_text_keeps_its_size(board, visit):
    page = opened(visit, board, "kinds")
    for width in (1280, 360):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("(w) => document.querySelector('svg').viewBox.baseVal.width <= w", arg=width)
        found = page.locator("svg").first.evaluate(
            "(svg) => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width"
        )
        assert found == pytest.approx(1, abs=0.01)


def test_a_figure_is_saved_with_its_question_and_what_its_bars_are(board, browser):
    with Visit(browser, viewport={"width": 390, "height": 844}, color_scheme="dark") as one:
        page = opened(one, board, "kinds")
        with page.expect_download() as got:
            page.get_by_role("button", name="Save as SVG: Have you ever doped?, by City").click()
        text = got.value.path().read_text()
        for wanted in ("Have you ever doped? (by City)", "95 % exact bars", "n = 300", "Release 1 of", "Berlin"):
            assert wanted in text
        assert "class=" not in text
        assert 'fill="rgb(255, 255, 255)"' in text  # on white, whatever the screen
        assert got.value.suggested_filename == "kinds-doped-by-city.svg"
        with page.expect_download() as got:
            page.get_by_role("button", name="Save as PNG: Have you ever doped?, all").click()
        data = got.value.path().read_bytes()
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">II", data[16:24])[0] == 1600
        assert one.complaints == []


def test_json_csv_link_and_frame_are_offered(board, visit):
    page = opened(visit, board, "kinds")
    for form, start in (("JSON", b'{"surveys":[{'), ("CSV", b"survey,title,question")):
        with page.expect_download() as got:
            page.get_by_role("link", name=form).click()
        assert got.value.path().read_bytes().startswith(start)
    page.get_by_text("Share or embed").click()
    address, frame = (page.get_by_label(name).input_value() for name in ("Address of this page", "For another page"))
    assert address == f"{board.url}/r/{board.made['kinds']}" == page.url
    assert f'src="{address}/embed"' in frame
    page.get_by_role("button", name="Copy link").click()
    page.get_by_text(re.compile("The link was copied|does not copy here")).wait_for()


async def host_page(scope, receive, send):
    """A page of somebody else, which frames whatever its address asks for."""
    if scope["type"] != "http":
        return
    inside = scope["query_string"].decode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
    page = f"<!doctype html><title>Host</title><iframe src='{inside}' width='700' height='700'></iframe>"
    await send({"type": "http.response.body", "body": page.encode()})


def test_the_embed_stands_in_a_foreign_page_and_nothing_else_does(board, visit):
    digest = board.made["kinds"]
    with HostedApp(host_page) as host:
        for path, shown in ((f"/r/{digest}/embed", True), (f"/r/{digest}", False), ("/", False), ("/owner", False)):
            page = visit.page(f"http://localhost:{host.port}/?{board.url}{path}")
            inside = page.frames[1]  # what it shows, or refuses to show, is loaded with the page
            if shown:
                inside.locator("figure svg").first.wait_for()
                assert inside.get_by_role("button").count() == 0  # nothing to press
                assert inside.get_by_role("link").all_inner_texts() == ["All about these results"]
            else:
                assert inside.url.startswith("chrome-error")
            page.close()
    for path, wanted in ((f"/r/{digest}/embed", "frame-ancestors *"), (f"/r/{digest}", "frame-ancestors 'none'")):
        headers = board.request("GET", path)[2]
        assert wanted in headers["content-security-policy"]
        assert ("x-frame-options" in headers) is (wanted != "frame-ancestors *")
        assert "script-src 'self'; style-src 'self'; img-src 'self' blob:;" in headers["content-security-policy"]


def test_paper_shows_figures_and_method_and_no_buttons(board, visit, tmp_path):
    page = opened(visit, board, "kinds")
    page.locator("svg").first.wait_for()
    count = "() => { window.opened = document.querySelectorAll('details.method[open]').length; }"
    page.evaluate(f"addEventListener('beforeprint', {count})")
    page.pdf(path=tmp_path / "board.pdf", format="A4")
    assert (tmp_path / "board.pdf").read_bytes().startswith(b"%PDF")
    assert page.evaluate("window.opened") >= 3  # what is folded cannot be opened on paper
    page.emulate_media(media="print")
    for gone in ("Print or PDF", "Copy link", "Save as SVG: Have you ever doped?, all"):
        assert not page.get_by_role("button", name=gone).is_visible()
    assert page.get_by_role("img", name=re.compile("^Estimate")).first.is_visible()


def test_results_that_are_not_public_have_no_address(tmp_path):
    with RunningCollector(str(tmp_path / "closed.sqlite3")) as collector:
        digest = collector.page_of()
        for path in (f"/r/{digest}", f"/r/{digest}/embed"):
            status, said = collector.json("GET", path)
            assert (status, said["error"]) == (404, "not_public")
        status, _, headers = collector.request("GET", "/")
        assert (status, headers["location"]) == (307, "./owner")
        assert collector.json("GET", "/r/" + "0" * 64, headers=BEARER)[0] == 404
        assert json.loads(collector.request("GET", "/results")[1])["error"] == "owner_token"
