"""<rr-survey> in a real Chromium: what it says of a survey that is over is true of what was answered before; drawings
and marks; and every state is legible."""

import pytest

from rrcollect import Design, Number, optimal_design
from server_agg import open_store
from tests.support.browser import Visit, accessible, unfold
from tests.support.collector_running import JSON, RunningCollector
from tests.support.devices import KEY, question

EARLY = """const system = crypto.getRandomValues.bind(crypto);  // reports leave at the first moment that may be drawn
crypto.getRandomValues = (array) => (array.byteLength === 7 ? array.fill(0) : system(array));"""
NO_STORAGE = (
    "Object.defineProperty(globalThis, 'indexedDB', { get() { throw new DOMException('no', 'SecurityError'); } })"
)
SMALL = """() => {
    const root = document.querySelector("rr-survey")?.shadowRoot ?? document.body, small = [];
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const size = parseFloat(getComputedStyle(node.parentElement).fontSize);
        if (node.textContent.trim() && size < 12) small.push([node.textContent, size]);
    }
    return small;
}"""
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
MARKED = """() => {
    const root = document.querySelector("rr-survey").shadowRoot, found = { foreign: [], ours: [] };
    const style = (one) => getComputedStyle(one).textDecorationStyle;
    const dotted = (one) => Boolean(one) && (style(one) === "dotted" || dotted(one.parentElement));
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const one = node.parentElement;
        if (!node.data.trim() || one.closest("style, option")) continue;
        (one.closest("[part=foreign]") ? found.foreign : found.ours).push([node.data.trim(), dotted(one)]);
    }
    return found;
}"""
HOLLOW = "all => all.map((one) => one.querySelectorAll('.hollow').length)"
TEXTS = {"contact": "mail@example.org", "introduction": "We ask."}


@pytest.fixture
def collector(tmp_path):
    with RunningCollector("", open_store(tmp_path / "reports.sqlite3", keep_rows=True)) as running:
        yield running


@pytest.fixture
def visit(browser):
    with Visit(browser) as one:
        one.context.add_init_script(EARLY)
        yield one


def answered(collector, visit, digest, *, delivered):
    """A person answers; what is not delivered waits in the browser."""
    if not delivered:
        visit.context.route("**/reports", lambda route: route.abort())
    page = visit.page(f"{collector.url}/s/{digest}")
    page.get_by_role("radio", name="Yes").click()
    page.get_by_role("button", name="Send").click()
    page.get_by_text("It was received." if delivered else "is kept here and is sent later").wait_for()
    page.close()
    visit.context.unroute("**/reports")


def withdrawn(collector, made, digest):
    notice = made.survey.withdraw([KEY])
    assert collector.request("POST", f"/surveys/{digest}/withdrawal", notice, JSON)[0] == 201


def over(collector, visit, digest, heading):
    """The page of a survey that is over: its title and whom to ask stay."""
    page = visit.page(f"{collector.url}/s/{digest}")
    page.get_by_role("heading", name=heading, level=2).wait_for()
    assert page.get_by_role("heading", level=1).inner_text() == "About you"
    page.get_by_text("Contact: mail@example.org").wait_for()
    assert page.get_by_role("radio").count() == 0
    return page


@pytest.mark.parametrize("delivered", [True, False])
def test_after_its_end_what_waits_is_sent_and_what_was_answered_is_not_denied(collector, visit, delivered):
    digest = collector.page_of(title="About you", **TEXTS)
    answered(collector, visit, digest, delivered=delivered)
    assert collector.kept() == int(delivered)
    visit.context.clock.set_fixed_time("2150-01-01")
    page = over(collector, visit, digest, "This survey has ended.")
    page.get_by_text("What you answered before stays sent.").wait_for()
    assert page.get_by_text("Nothing was asked").count() == 0
    assert collector.kept() == 1


@pytest.mark.parametrize("delivered", [True, False])
def test_after_a_withdrawal_nothing_is_sent_and_what_was_sent_is_not_denied(collector, visit, delivered):
    made = collector.publication(title="About you", **TEXTS)
    digest = collector.publish(made)
    answered(collector, visit, digest, delivered=delivered)
    withdrawn(collector, made, digest)
    sent: list[str] = []
    visit.context.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page = over(collector, visit, digest, "This survey was withdrawn by its publisher.")
    told = "What you answered before stays sent." if delivered else "The survey was withdrawn; it is not sent again."
    page.get_by_text(told).wait_for()
    page.wait_for_timeout(500)
    assert sent == []
    assert collector.kept() == int(delivered)


def test_who_answered_nothing_is_told_so(collector, visit):
    digest = collector.page_of(title="About you", **TEXTS)
    visit.context.clock.set_fixed_time("2150-01-01")
    over(collector, visit, digest, "This survey has ended.").get_by_text(
        "Nothing was asked and nothing was sent."
    ).wait_for()


@pytest.mark.parametrize("language", ["en", "ar"])
def test_texts_of_the_survey_have_a_mark_that_needs_no_typeface(collector, browser, language):
    """In Arabic, and where there is no serif, the typeface is the same."""
    with Visit(browser, locale=language) as visit:
        page = visit.page(f"{collector.url}/s/{collector.page_of(title='About you', **TEXTS)}")
        page.get_by_role("radio").first.wait_for()
        found = page.evaluate(MARKED)
        assert {"About you", "We ask.", "mail@example.org"} <= {text for text, _ in found["foreign"]}
        assert all(dotted for _, dotted in found["foreign"])
        ours = [text for text, dotted in found["ours"] if dotted]
        assert ours == [{"en": "this type, dotted below", "ar": "بهذا الخط المنقّط"}[language]]  # which shows the mark
        page.locator("rr-survey").evaluate(
            "one => one.shadowRoot.querySelector('.promise').setAttribute('part', 'foreign')"
        )
        assert not all(dotted for _, dotted in page.evaluate(MARKED)["foreign"])  # the check sees what has none


@pytest.mark.parametrize("language", ["en", "ar"])
def test_a_drawing_shows_the_design_with_a_caption(collector, browser, language):
    number = Number(low="0", high="80", unit={"en": "hours"})
    questions = [
        question(id="equal", attribute="a", text="One?", design=Design("3/4", "3/4").to_grid()),
        question(id="unequal", attribute="b", text="Two?", design=Design("9/10", "3/5").to_grid()),
        question(id="number", attribute="c", text="Three?", kind=number, design=optimal_design("ln 3")),
    ]
    with Visit(browser, locale=language) as visit:
        page = visit.page(f"{collector.url}/s/{collector.page_of(*questions)}")
        page.get_by_role("spinbutton").wait_for()
        rows = {
            name: page.locator(f"[data-question={name}] .dots").evaluate_all(HOLLOW) for name in ("equal", "unequal")
        }
        assert rows == {"equal": [5], "unequal": [2, 8]}  # of 20: a true "no", then a true "yes"
        if language == "en":
            assert page.get_by_text("Each dot is an answer; a hollow one is not the truth.").count() == 2
            page.get_by_text("From low numbers to high ones: how often “high” is sent.").wait_for()
        turned = page.locator(".slope").evaluate("one => getComputedStyle(one).transform")
        assert turned == {"en": "none", "ar": "matrix(-1, 0, 0, 1, 0, 0)"}[language]


def ended(page):
    """Its one question is declined."""
    page.locator("button.decline").click()
    page.locator("#end").wait_for()


@pytest.mark.parametrize(("width", "scheme", "language"), [(320, "dark", "ar"), (1280, "light", "en")])
def test_every_state_is_legible(collector, browser, width, scheme, language):
    """One visit: what a state needs is done before its page is opened."""
    plain, gone = collector.page_of(**TEXTS), collector.publication(name="gone", **TEXTS)
    trial, digest = collector.page_of(name="trial", pilot=True), collector.publish(gone)
    withdrawn(collector, gone, digest)
    tampered = collector.request("GET", f"/surveys/{plain}")[1].replace(b'"sig":"', b'"sig":"AAAA')
    options = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme, "locale": language}

    def open_in(address, prepare=lambda context: None, then=lambda page: None, *, state=None, wait="section"):
        with Visit(browser, **options) as visit:
            prepare(visit.context)
            page = visit.page(f"{collector.url}/s/{address}")
            page.locator(f"[data-state={state}]" if state else wait).first.wait_for()
            then(page)
            assert page.evaluate(WIDE) <= 0
            assert page.evaluate(SMALL) == []
            assert page.evaluate("document.documentElement.dir") == {"en": "ltr", "ar": "rtl"}[language]
            accessible(page)

    def reply(**given):
        return lambda context: context.route("**/surveys/*", lambda route: route.fulfill(**given))

    open_in(plain, then=ended, wait="button.decline")
    open_in(trial, then=unfold, wait="#pilot")
    open_in(plain, lambda context: context.clock.set_fixed_time("2150-01-01"), state="Expired")
    open_in(digest, state="SurveyWithdrawn")
    open_in(plain, lambda context: context.route("**/surveys/*", lambda route: route.abort()), state="Offline")
    open_in(plain, lambda context: context.add_init_script(NO_STORAGE), state="LedgerUnavailable")
    open_in(plain, reply(body=tampered, content_type="application/json"), wait="[data-state]")
    open_in(plain, reply(status=404, body="{}"), state="Missing")
    open_in(plain[:-1], wait="h1")


KEYS = KEY.public.raw.hex()
MISCONFIGURED = [
    ({"src": None}, "src is missing: use the address of a survey"),
    ({"publisher": None}, "publisher is missing: use the public keys"),
    ({"publisher": "03a1"}, """publisher is "03a1": use the public keys that may sign the survey, each of 64"""),
    ({"publisher": "0" * 64}, f"""publisher is "{"0" * 64}": use the public keys"""),
    ({"publisher-name": "Nobody"}, """publisher-name is "Nobody": use the name of the publisher"""),
    ({"threshold": "two"}, """threshold is "two": use a whole number from 1"""),
    ({"threshold": "2"}, """threshold is "2": use a whole number from 1"""),
    ({"src": "/nothing"}, """src is "/nothing": use the address of a survey"""),
    ({"src": "/openapi.json"}, """src is "/openapi.json": use the address of a survey"""),
    ({}, None),
]


@pytest.mark.parametrize(("changes", "told"), MISCONFIGURED, ids=lambda one: str(one)[:30])
def test_a_misconfigured_element_tells_the_console_which_attribute_and_what_was_expected(
    collector, visit, changes, told
):
    digest = collector.page_of()
    page = visit.page(f"{collector.url}/s/{digest}")
    page.get_by_role("radio", name="Yes").wait_for()
    page.evaluate(
        """async (given) => {
            const element = document.createElement("rr-survey");
            for (const [name, value] of Object.entries(given)) if (value !== null) element.setAttribute(name, value);
            document.querySelector("rr-survey").replaceWith(element);
            while (!element.shadowRoot.querySelector("[aria-busy=false]")) await new Promise((go) => setTimeout(go));
        }""",
        {"src": f"/surveys/{digest}", "publisher": KEYS, **changes},
    )
    lines = [line for line in visit.complaints if line.startswith("<rr-survey> ")]
    if told is None:
        page.get_by_role("radio", name="Yes").wait_for()
        assert lines == []
    else:
        (line,) = lines
        assert line.startswith(f"<rr-survey> {told}")
