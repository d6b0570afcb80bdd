"""The page printed in docs/browser.md, in a real Chromium, against a real collector under its printed addresses."""

from tests.documents.blocks import blocks_of
from tests.documents.wire_example import KEY, SURVEY
from tests.documents.workspace import ROOT
from tests.support.browser import Visit, chromium
from tests.support.collector_running import BEARER, JSON, RunningCollector
from tests.support.element import SOURCES, TYPES

(PAGE,) = [block.text for block in blocks_of((ROOT / "docs" / "browser.md").read_text()) if block.name == "page.html"]
APP, COLLECT = "https://app.example.org", "https://collect.example.org"
PUBLISHED = SURVEY.model_copy(update={"origins": (APP,)}).publish([KEY])


def visit(collector, page, clicked):
    """Open the page, answer, and return what it says then."""

    def app(route):
        asked = route.request.url.removeprefix(APP).partition("#")[0]
        if asked.startswith("/rrcollect/"):
            path = SOURCES / asked.removeprefix("/rrcollect/")
            route.fulfill(body=path.read_text(encoding="utf-8"), content_type=TYPES[path.suffix])
        else:
            route.fulfill(body=page, content_type="text/html; charset=utf-8")

    def collect(route):
        request = route.request
        path, allowed = request.url.removeprefix(COLLECT), {"access-control-allow-origin": APP}
        if request.method == "OPTIONS":
            route.fulfill(status=200, headers={**allowed, "access-control-allow-headers": "content-type"})
            return
        status, said, _ = collector.request(request.method, path, request.post_data_buffer, JSON)
        route.fulfill(status=status, body=said, headers=allowed)

    with chromium() as browser, Visit(browser) as person:
        person.context.route(f"{APP}/**", app)
        person.context.route(f"{COLLECT}/**", collect)
        shown = person.page(f"{APP}/#{PUBLISHED.digest}")
        shown.wait_for_function("document.querySelector('#words').textContent.includes('doped')")
        shown.click(clicked)
        shown.wait_for_function("document.querySelector('#words').textContent.includes('was sent')")
        return shown.text_content("#words"), person.complaints


def test_a_person_answers_on_the_printed_page(tmp_path):
    with RunningCollector(str(tmp_path / "reports.sqlite3")) as collector:
        where = f"/surveys?key={KEY.public.raw.hex()}"
        collector.json("POST", where, PUBLISHED.envelope, {**JSON, **BEARER})
        words, complaints = visit(collector, PAGE, "#yes")
        assert "at most 3 times as likely as the other" in words
        assert complaints == []
        assert collector.kept() == 1
