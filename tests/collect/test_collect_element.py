"""<rr-survey> in a real Chromium: in somebody else's page, in every state, at every width, and in a language that is
written from right to left."""

import base64
import json
import shutil
import zlib

import pytest

from rrcollect import Choice, Number, optimal_design
from rrcollect.publish.document import Look
from server_agg import open_store
from tests.support.browser import FLAGS, Visit, accessible, unfold
from tests.support.collector_running import RunningCollector
from tests.support.devices import KEY, question
from tests.support.embedded import Site


def drawn(width, height):
    """A PNG of one colour."""

    def chunk(name, data):
        return len(data).to_bytes(4) + name + data + zlib.crc32(name + data).to_bytes(4)

    rows = (b"\0" + b"\xc2\x18\x5b" * width) * height
    head = width.to_bytes(4) + height.to_bytes(4) + b"\x08\x02\0\0\0"
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


LOGO = "data:image/png;base64," + base64.b64encode(drawn(60, 30)).decode()
EARLY = """const system = crypto.getRandomValues.bind(crypto);  // reports leave at the first moment that may be drawn
crypto.getRandomValues = (array) => (array.byteLength === 7 ? array.fill(0) : system(array));"""
SMALL = """() => {
    const root = document.querySelector("rr-survey").shadowRoot, small = [];
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const size = parseFloat(getComputedStyle(node.parentElement).fontSize);
        if (node.textContent.trim() && size < 12) small.push([node.textContent, size]);
    }
    return small;
}"""
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
ROOT = "document.querySelector('rr-survey').shadowRoot"


@pytest.fixture
def collector(tmp_path):
    with RunningCollector("", open_store(tmp_path / "reports.sqlite3", keep_rows=True)) as running:
        yield running


def kinds():
    often = Choice(options=[{"en": word, "ar": f"خيار {word}"} for word in ("Daily", "Weekly", "Rarely", "Never")])
    hours = Number(low="0", high="80", unit={"en": "hours"})
    return [
        question(id="q1", attribute="a", text="Ever doped?", help={"en": "In twelve months."}),
        question(id="q2", attribute="b", kind=often, text="How often?", design=optimal_design("ln 3", options=4)),
        question(id="q3", attribute="c", kind=hours, text="How many hours?", design=optimal_design("ln 3")),
    ]


def replying(status):
    return lambda route: route.fulfill(status=status, body="{}")


def attributes(collector, digest, *more):
    key = KEY.public.raw.hex()
    return " ".join([f'src="{collector.url}/surveys/{digest}" publisher="{key}"', *more])


def test_a_page_of_another_origin_embeds_a_survey_under_a_strict_policy(collector, browser):
    with Site(collector.url) as site, Visit(browser) as visit:
        visit.context.add_init_script(EARLY)
        digest = collector.page_of(*kinds(), origins=[site.url], look=Look(colour="#ffd400", logo=LOGO))
        site.attributes = attributes(collector, digest)
        page = visit.page(site.url)
        page.get_by_role("radio", name="Yes").click()
        unfold(page)  # what is loaded then keeps the policy, too
        accessible(page)
        page.locator('[data-question="q1"]').get_by_role("button", name="Send").click()
        page.locator('[data-question="q1"]').get_by_text("It was received.").wait_for()
        page.locator('[data-question="q2"]').get_by_role("button", name="I prefer not to answer").click()
        page.locator('[data-question="q2"]').get_by_text("You declined. Nothing was sent.").wait_for()
        assert page.get_by_role("heading", name="Thank you. That was all.").count() == 0
        page.get_by_role("spinbutton").focus()
        page.keyboard.type("7351.5")
        page.locator('[data-question="q3"]').get_by_role("button", name="Send").click()
        page.get_by_text("Enter a number from 0 to 80").wait_for()
        page.get_by_role("spinbutton").press("Delete")
        page.keyboard.type("73.515151")
        page.locator('[data-question="q3"]').get_by_role("button", name="Send").click()
        page.get_by_role("heading", name="Thank you. That was all.").wait_for()
        page.get_by_text("You can close this page now.").wait_for()
        events = page.evaluate("heard")
        assert events == [
            ["answered", '{"question":"q1"}', "rr-survey"],
            ["declined", '{"question":"q2"}', "rr-survey"],
            ["answered", '{"question":"q3"}', "rr-survey"],
            ["finished", "{}", "rr-survey"],
        ]
        assert page.title() == "A club"  # the page stays its author's
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
        accent = page.locator("summary").first.evaluate("one => getComputedStyle(one).color")
        assert accent == "rgb(122, 31, 162)"  # the author's colour wins over the survey's
        shown = page.content() + page.evaluate(ROOT + ".innerHTML") + page.url
        kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, history.state])")
        assert "73.515151" not in shown + kept + json.dumps(events)
        assert page.locator("[aria-checked=true], [aria-valuenow]").count() == 0
        assert [url for url in visit.requests if not url.startswith((site.url, collector.url, "data:"))] == []
        assert visit.complaints == []
        assert collector.kept() == 2


def test_an_origin_that_is_not_listed_is_refused(collector, browser):
    with Site(collector.url) as site, Visit(browser) as visit:
        digest = collector.page_of()  # answered on the collector's page only
        site.attributes = attributes(collector, digest)
        page = visit.page(site.url)
        page.get_by_text("This survey cannot be shown").wait_for()  # the collector does not even hand it out (CORS)
        accessible(page)
        envelope = collector.request("GET", f"/surveys/{digest}")[1]
        allowed = {"access-control-allow-origin": "*"}
        visit.context.route("**/surveys/*", lambda route: route.fulfill(body=envelope, headers=allowed))
        page.reload()
        page.get_by_role("heading", name="This survey is not answered here").wait_for()
        page.get_by_role("listitem").get_by_text(collector.url).wait_for()
        assert page.get_by_role("radio").count() == 0
        accessible(page)


def test_the_keys_decide_and_a_name_if_one_is_given(collector, browser):
    with Site(collector.url) as site, Visit(browser) as visit:
        digest = collector.page_of(origins=[site.url])
        for given, words in (
            (
                f'src="{collector.url}/surveys/{digest}" publisher="{"0" * 64}"',
                "It is not signed by its publisher’s key.",
            ),
            (
                attributes(collector, digest, 'publisher-name="Somebody else"'),
                "It is not signed by its publisher’s key.",
            ),
            (attributes(collector, digest, 'threshold="2"'), "This survey was refused"),
            (f'src="{collector.url}/surveys/{digest}"', "This survey cannot be shown"),
            (f'publisher="{KEY.public.raw.hex()}"', "This survey cannot be shown"),
        ):
            site.attributes = given
            page = visit.page(site.url)
            page.get_by_text(words).first.wait_for()
            page.get_by_text("Nothing was asked and nothing was sent.").wait_for()
            assert page.get_by_role("radio").count() == 0


def test_one_question_at_a_time_by_keyboard_alone(collector, browser):
    with Site(collector.url) as site, Visit(browser) as visit:
        visit.context.add_init_script(EARLY)
        digest = collector.page_of(*kinds(), origins=[site.url], segments={"sport": ["run", "ski"]})
        site.attributes = attributes(collector, digest, "steps")
        page = visit.page(site.url)
        page.get_by_label("sport").wait_for()
        seen = page.locator("section:visible .h1").last.inner_text
        assert seen() == "About you"  # what is not protected is asked first, and says so
        page.get_by_text("This is not protected").wait_for()
        press = page.keyboard.press
        page.get_by_label("sport").focus()
        press("Tab")
        press("Enter")  # Next
        assert seen() == "Ever doped?"
        assert page.get_by_text("Question 1 of 3").is_visible()
        assert page.evaluate(ROOT + ".activeElement.id") == "text-q1"
        for key in ("Tab", "Space", "Tab", "Enter"):
            press(key)
        page.get_by_text("It was received.").wait_for()
        page.get_by_role("button", name="Next").focus()
        press("Enter")
        assert seen() == "How often?"
        accessible(page)
        page.get_by_role("button", name="I prefer not to answer").focus()
        press("Enter")
        page.get_by_text("You declined. Nothing was sent.").wait_for()
        page.get_by_role("button", name="Next").focus()
        press("Enter")
        page.get_by_role("spinbutton").focus()
        for key in ("7", "Tab", "Enter"):
            press(key)
        page.get_by_text("It was received.").nth(1).wait_for()
        page.get_by_role("button", name="Next").last.focus()
        press("Enter")
        assert seen() == "Thank you. That was all."
        assert page.evaluate("heard").pop()[0] == "finished"


@pytest.mark.parametrize("width", [320, 390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "ar"])
def test_it_is_legible_at_every_width(collector, browser, width, scheme, language):
    texts = {
        "introduction": "We ask " + "x" * 60,
        "contact": "mail@example.org",
        "privacy": "https://example.org/" + "p" * 80,
    }
    options = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme, "locale": language}
    colour = {"en": "#ffd400", "ar": "#101010"}[language]  # too pale, and too dark, for letters on a card
    digest = collector.page_of(*kinds(), look=Look(colour=colour, logo=LOGO), segments={"sport": ["run"]}, **texts)
    with Visit(browser, **options) as visit:
        page = visit.page(f"{collector.url}/s/{digest}")
        page.get_by_role("spinbutton").wait_for()
        for _ in range(2):
            assert page.evaluate(WIDE) <= 0
            assert page.evaluate(SMALL) == []
            accessible(page)
            unfold(page)
        assert page.evaluate("document.documentElement.dir") == {"en": "ltr", "ar": "rtl"}[language]
        assert page.evaluate(ROOT + ".querySelector('[part=logo]').naturalWidth") == 60
        framed = page.locator("figure.logo")
        assert (
            framed.inner_text().strip() == {"en": "Picture by the publisher", "ar": "صورة من الجهة السائلة"}[language]
        )
        assert framed.evaluate("(it) => getComputedStyle(it).borderTopStyle") == "dotted"
        send, decline = (page.locator(name).first.bounding_box() for name in (".send", ".decline"))
        if width == 1280:
            assert (send["x"] < decline["x"]) is (language == "en")
        else:
            assert send["width"] == decline["width"] > width / 2  # a no is as easy as an answer
        assert visit.complaints == []


def test_every_state_has_a_page_in_a_persons_words(collector, browser):
    over = collector.publication(name="over")
    digest, made = collector.publish(over), collector.page_of()
    with Visit(browser) as visit:
        visit.context.clock.set_fixed_time("2150-01-01")
        page = visit.page(f"{collector.url}/s/{digest}")
        page.get_by_role("heading", name="This survey has ended.").wait_for()
        accessible(page)
    for status, title, words in (
        (404, "There is nothing at this address", "Perhaps the link was cut off or mistyped"),
        (503, "This survey cannot be shown", "Its address did not hand it out."),
    ):
        with Visit(browser) as visit:
            visit.context.route("**/surveys/*", replying(status))
            page = visit.page(f"{collector.url}/s/{made}")
            page.get_by_role("heading", name=title).wait_for()
            page.get_by_text(words).wait_for()
            page.get_by_text("Nothing was asked and nothing was sent.").wait_for()
            accessible(page)
    with Visit(browser) as visit:
        page = visit.page(f"{collector.url}/s/{made[:-1]}")  # mistyped: the collector's own page
        page.get_by_role("heading", name="There is nothing at this address").wait_for()
    with Visit(browser) as visit:
        visit.context.route("**/surveys/*", lambda route: route.abort())
        page = visit.page(f"{collector.url}/s/{made}")
        page.get_by_text("You are offline, and this survey was not loaded here before.").wait_for()
        accessible(page)
        visit.context.unroute("**/surveys/*")
        page.get_by_role("button", name="Try again").click()
        page.get_by_role("radio", name="Yes").wait_for()


def test_a_browser_that_keeps_no_data_asks_nothing(collector, browser, tmp_path):
    profile = tmp_path / "profile"
    (profile / "Default").mkdir(parents=True)
    forbidden = {"profile": {"default_content_setting_values": {"cookies": 2}}}
    (profile / "Default/Preferences").write_text(json.dumps(forbidden))
    digest = collector.page_of()
    program = shutil.which("chromium")
    options = {"executable_path": program, "args": FLAGS, "service_workers": "block"}
    context = browser.browser_type.launch_persistent_context(str(profile), **options)
    try:
        page = context.new_page()
        page.goto(f"{collector.url}/s/{digest}")
        page.get_by_text("does not let this page remember what it sent").wait_for()
        assert page.get_by_role("radio").count() == 0
        accessible(page)
    finally:
        context.close()
    assert collector.kept() == 0


def test_a_page_that_was_loaded_once_is_answered_offline_and_sent_later(collector, browser):
    digest = collector.page_of()
    with Visit(browser, service_workers="allow") as visit:
        visit.context.add_init_script(EARLY)
        visit.page(f"{collector.url}/owner")  # another page of the same origin, which is open
        page = visit.page(f"{collector.url}/s/{digest}")
        page.get_by_role("radio", name="Yes").wait_for()
        kept = [f"/surveys/{digest}", "/assets/element/explanation.mjs", "/assets/words/en.json"]
        there = f"Promise.all({kept}.map((one) => caches.match(one))).then((found) => found.every(Boolean))"
        page.wait_for_function(f"navigator.serviceWorker.controller && {there}", timeout=60_000)
        visit.context.set_offline(True)
        page.reload()
        page.get_by_text("How does this protect me?").click()
        page.locator(".simulation").wait_for()  # it was not opened while there was a network
        page.get_by_role("radio", name="Yes").click()
        page.get_by_role("button", name="Send").click()
        page.get_by_text("You are offline. Your answer is kept on this device").wait_for(timeout=30_000)
        assert collector.kept() == 0
        visit.context.set_offline(False)
        page.get_by_text("It was received.").wait_for(timeout=60_000)
        assert collector.kept() == 1
        names = "caches.open('rrcollect').then((one) => one.keys()).then((all) => all.map(({ url }) => url))"
        for url in page.evaluate(names):  # no report, nothing of what was entered, and no page but this one
            mine = f"{collector.url}/s/{digest}", f"{collector.url}/surveys/{digest}"
            assert url in mine or url.startswith(f"{collector.url}/assets/")


def test_simulated_people_are_not_drawn_by_what_is_entered(collector, browser):
    """They are there before anything is entered, and `Math.random` draws none of them."""
    with Visit(browser) as visit:
        visit.context.add_init_script("Math.random = () => { throw new Error('not this one'); };")
        page = visit.page(f"{collector.url}/s/{collector.page_of(*kinds())}")
        unfold(page)
        first = page.locator(".simulation").inner_text()
        assert "These people are made up. Nothing about you is in this picture." in first
        page.get_by_role("radio", name="Yes").click()
        assert page.locator(".simulation").inner_text() == first
        seen = set()
        for _ in range(12):
            page.get_by_role("button", name="Draw again").click()
            seen.add(page.locator(".simulation svg").last.evaluate("one => one.innerHTML"))
        assert len(seen) > 2  # 20 fair-ish coins: twelve draws give two pictures or fewer less than once in 1e30
        assert visit.complaints == []
