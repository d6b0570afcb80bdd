"""The survey page with questions of every kind, in a real Chromium: options, numbers, panels, one of several."""

import itertools

import pytest

from rrcollect import Choice, Number, Several, optimal_design
from server_agg import open_store
from tests.support.browser import Visit, accessible, unfold
from tests.support.collector_running import RunningCollector
from tests.support.devices import question
from tests.support.kept_rows import kept_rows

SEND = "Send"
ROOT = "document.querySelector('rr-survey').shadowRoot"
LANDS = [f"{letter}{place}land" for letter in "ABCDE" for place in range(5)]
OFTEN = ["Every day", "Every week", "Less often", "Never"]
EARLY = """const system = crypto.getRandomValues.bind(crypto);  // reports leave at the first moment that may be drawn
crypto.getRandomValues = (array) => (array.byteLength === 7 ? array.fill(0) : system(array));"""


def given_words(*numbers):
    """A generator that gives these numbers wherever eight bytes are drawn, the last one again and again."""
    return f"""const real = crypto.getRandomValues.bind(crypto), words = {list(map(str, numbers))};
    crypto.getRandomValues = (array) => {{
        if (array.byteLength !== 8) return real(array);
        new DataView(array.buffer).setBigUint64(0, BigInt(words.length > 1 ? words.shift() : words[0]));
        return array;
    }};"""


@pytest.fixture
def visit(browser):
    with Visit(browser, viewport={"width": 390, "height": 844}) as one:
        one.context.add_init_script(EARLY)
        yield one


@pytest.fixture
def collector(tmp_path):
    with RunningCollector("", open_store(tmp_path / "reports.sqlite3", keep_rows=True)) as running:
        yield running


def options(*labels):
    return Choice(options=[{"en": label} for label in labels])


def asked(name, kind, design, **changes):
    return question(id=name, attribute=name, kind=kind, text=f"About {name}?", design=design, **changes)


def often(**changes):
    return asked("often", options(*OFTEN), optimal_design("ln 3", options=4), **changes)


def hours(low="0", high="80", **changes):
    kind = Number(low=low, high=high, unit={"en": "hours"}, clip=changes.pop("clip", False))
    return asked("hours", kind, optimal_design("ln 3"), **changes)


def card(page, name):
    return page.locator(f'[data-question="{name}"]')


def rows(collector):
    waiting = [report.row for report in collector.store.epochs.waiting()]
    return {row.question: row for row in waiting + kept_rows(collector.store)}


def test_all_that_apply_and_a_number_in_bins_are_answered_on_the_page(collector, visit):
    signs = asked(
        "signs", Several([{"en": "Headache"}, {"en": "Fever"}, {"en": "Cough"}]), optimal_design(1, several=3)
    )
    wide = asked("wide", Number(0, 80, "hours", bins=16), optimal_design(1, bins=16))
    page = visit.page(f"{collector.url}/s/{collector.page_of(signs, wide)}")
    page.get_by_text("This device draws one of the 3 options by chance, and answers").first.wait_for()
    accessible(page)
    unfold(page)
    card(page, "signs").get_by_role("button", name=SEND).click()
    card(page, "signs").get_by_text("Choose all that apply, or “None of these”, or decline.").wait_for()
    box = lambda name: card(page, "signs").get_by_role("checkbox", name=name)  # noqa: E731
    ticked = lambda: [box(name).get_attribute("aria-checked") for name in ("Headache", "Fever", "None of these")]  # noqa: E731
    box("Fever").click()
    box("Headache").click()
    assert ticked() == ["true", "true", "false"]
    box("None of these").click()
    assert ticked() == ["false", "false", "true"]
    box("Fever").click()
    assert ticked() == ["false", "true", "false"]
    accessible(page)
    card(page, "signs").get_by_role("button", name=SEND).click()
    card(page, "signs").get_by_text("This device was asked about one option").wait_for()
    card(page, "wide").get_by_role("spinbutton").focus()
    page.keyboard.type("42")
    card(page, "wide").get_by_role("button", name=SEND).click()
    card(page, "wide").get_by_text("the answer to one question about where your number lies").first.wait_for()
    sent = rows(collector)
    assert signs.design.allows(sent["signs"].answer)
    assert wide.design.allows(sent["wide"].answer)


def test_every_kind_is_answered_by_keyboard_alone(collector, visit):
    lands = asked("land", options(*LANDS), optimal_design(1, options=len(LANDS)))
    page = visit.page(f"{collector.url}/s/{collector.page_of(often(), lands, hours())}")
    page.get_by_text("it is replaced by another option in one case out of two. So the option").wait_for()
    page.get_by_text("only “high” or “low”, drawn by chance. So neither of them proves anything").wait_for()
    accessible(page)
    unfold(page)
    page.get_by_text("changes it to another option by chance in at least 50 of 100 cases").wait_for()
    page.get_by_text("“high” is sent in at least 25 and at most 75 of 100 cases").wait_for()
    page.get_by_text("These people are made up").wait_for()
    accessible(page)
    checked = lambda: page.evaluate(ROOT + ".querySelector('[aria-checked=true]')?.textContent")  # noqa: E731
    card(page, "often").get_by_role("button", name=SEND).focus()
    page.keyboard.press("Enter")
    card(page, "often").get_by_text("Choose an option first, or decline.").wait_for()
    for key, wanted in (
        ("ArrowDown", 1),
        ("End", 3),
        ("ArrowRight", 0),
        ("n", 3),
        ("e", 0),
        ("e", 1),
        ("Home", 0),
        ("x", 0),
    ):
        page.keyboard.press(key)  # the focus was moved to the first option
        assert checked() == OFTEN[wanted], key
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    card(page, "often").get_by_text("It was received.").wait_for()
    card(page, "land").get_by_role("radio", name=LANDS[0]).focus()
    for key, wanted in (("c", "C0land"), ("c", "C1land"), ("a", "A0land"), ("End", "E4land")):
        page.keyboard.press(key)
        assert checked() == wanted, key
    box, list_ = (page.locator(which).bounding_box() for which in ("[aria-checked=true]", ".choices.many"))
    assert list_["y"] <= box["y"] <= list_["y"] + list_["height"]  # scrolled into sight
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    card(page, "land").get_by_text(f"of the {len(LANDS)} options. What you chose may or may not").wait_for()
    card(page, "hours").get_by_role("spinbutton").focus()
    page.keyboard.type("38,5194")
    page.keyboard.press("Tab")
    assert page.evaluate(ROOT + ".activeElement.textContent") == SEND  # one stop: the keypad is for fingers
    page.keyboard.press("Enter")
    card(page, "hours").get_by_text("Your number was not sent.").wait_for()
    page.get_by_text("It was received.").nth(2).wait_for()
    accessible(page)
    kept = rows(collector)
    assert card(page, "often").locator(".sent").text_content() == OFTEN[kept["often"].answer.index("1")]
    listed = card(page, "land").locator(".sent li").all_text_contents()
    assert listed == [land for land, bit in zip(LANDS, kept["land"].answer, strict=True) if bit == "1"]
    said = {"1": "“high”", "0": "“low”"}[kept["hours"].answer]
    assert card(page, "hours").locator(".sent").text_content() == said
    assert "5194" not in page.content()
    assert visit.complaints == []


def test_every_kind_is_legible_in_the_dark(collector, browser):
    digest = collector.page_of(often(), hours())
    with Visit(browser, color_scheme="dark") as visit:
        page = visit.page(f"{collector.url}/s/{digest}")
        page.get_by_role("radio", name="Never").click()
        page.get_by_role("spinbutton").press("4")
        accessible(page)


def test_a_number_is_entered_with_fingers_and_judged_before_it_is_sent(collector, visit):
    page = visit.page(f"{collector.url}/s/{collector.page_of(hours('-10', '80'))}")
    dial = page.get_by_role("spinbutton")
    key = lambda name: page.get_by_role("button", name=name, exact=True)  # noqa: E731
    send = page.get_by_role("button", name=SEND)
    dial.wait_for()
    assert page.locator("form, input, select, textarea, fieldset, [contenteditable]").count() == 0  # nothing is saved
    send.click()
    page.get_by_text("Enter a number first, or decline.").wait_for()
    for name in ("1", "0", "0"):
        key(name).click()
    assert dial.inner_text().split() == ["100", "hours"]
    send.click()
    page.get_by_text("Enter a number from -10 to 80, or decline.").wait_for()
    assert dial.get_attribute("aria-valuetext") == "100 hours"  # it stays, to be corrected
    key("delete the last digit").click()
    key("minus").click()
    assert (dial.inner_text().split()[0], dial.get_attribute("aria-valuenow")) == ("−10", "-10")
    key("decimal point").click()
    key("5").click()
    assert dial.get_attribute("aria-valuenow") == "-10.5"
    send.click()
    page.get_by_text("Enter a number from -10 to 80, or decline.").wait_for()
    steps = [("Delete", None), ("ArrowDown", "80"), ("ArrowUp", "80"), ("ArrowDown", "79"), ("Delete", None)]
    steps += [("ArrowUp", "-10"), ("ArrowUp", "-9"), ("x", "-9"), ("Backspace", None), ("0", "0"), ("7", "-7")]
    steps += [("-", "7"), (".", "7"), (".", "7"), ("2", "7.2")]
    for pressed, wanted in steps:
        dial.press(pressed)
        assert dial.get_attribute("aria-valuenow") == wanted, pressed
    accessible(page)
    send.click()
    page.get_by_text("It was received.").wait_for()
    assert rows(collector)["hours"].answer in ("0", "1")


def test_a_number_outside_is_taken_if_the_survey_says_so(collector, visit):
    page = visit.page(f"{collector.url}/s/{collector.page_of(hours(clip=True))}")
    unfold(page)
    page.get_by_text("A number below 0 counts as 0, one above 80 as 80.").wait_for()
    page.get_by_role("spinbutton").focus()
    page.keyboard.type("200")
    page.get_by_role("button", name=SEND).click()
    page.get_by_text("It was received.").wait_for()


def test_what_was_entered_is_forgotten_when_the_page_is_left(collector, visit):
    page = visit.page(f"{collector.url}/s/{collector.page_of(often(), hours())}")
    page.get_by_role("radio", name="Never").click()
    page.get_by_role("spinbutton").focus()
    page.keyboard.type("41")
    page.evaluate("dispatchEvent(new Event('pagehide'))")
    assert page.locator("[aria-checked=true], [aria-valuenow]").count() == 0
    assert "41" not in page.locator(".dial").inner_text()


def test_one_question_of_several_is_asked_and_stays_the_same(collector, visit):
    visit.context.add_init_script(given_words(2))
    three = [question(id=f"q{n}", attribute=f"a{n}") for n in range(2)] + [hours()]
    page = visit.page(f"{collector.url}/s/{collector.page_of(*three, ask='one')}")
    page.get_by_text("This survey has 3 questions. This device drew one of them by chance").wait_for()
    unfold(page)
    page.get_by_text("The limits are those of the question that tells most.").wait_for()
    assert page.locator("[data-question]").evaluate_all("all => all.map((one) => one.dataset.question)") == ["hours"]
    accessible(page)
    page.get_by_role("spinbutton").focus()
    page.keyboard.type("7")
    page.get_by_role("button", name=SEND).click()
    page.get_by_text("It was received.").wait_for()
    page.reload()
    page.get_by_text("It was received.").wait_for()
    assert page.locator("[data-question]").count() == 1
    assert list(rows(collector)) == ["hours"]


def test_a_panel_is_asked_in_the_round_that_was_drawn(collector, visit):
    visit.context.add_init_script(given_words(2))
    digest = collector.page_of(often(rounds=4, panel=True), question(rounds=4))
    page = visit.page(f"{collector.url}/s/{digest}")
    page.get_by_text("This device answers in round 3, which it drew by chance. Please come back").wait_for()
    page.get_by_text("It is asked in 4 rounds. This device answers in one of them only").wait_for(state="detached")
    assert page.get_by_role("radio").count() == 2  # those of the other question
    accessible(page)
    later = visit.page(f"{collector.url}/s/{digest}#round=3")
    unfold(later)
    later.get_by_text("It is asked in 4 rounds. This device answers in one of them only").wait_for()
    later.get_by_role("radio", name="Never").click()
    card(later, "often").get_by_role("button", name=SEND).click()
    card(later, "often").get_by_text("It was received.").wait_for()
    assert rows(collector)["often"].round == 2


def times(*days):
    """Rounds from day to day."""
    moments = [f"{day}T00:00:00Z" for day in days]
    return [{"opens": opens, "closes": closes} for opens, closes in itertools.pairwise(moments)]


def test_a_panel_follows_the_times_of_its_rounds(collector, visit):
    visit.context.add_init_script(given_words(0))  # the first that may be drawn
    open_now = times("2020-01-01", "2020-02-01", "2098-01-01", "2099-01-01")  # the first has closed
    page = visit.page(f"{collector.url}/s/{collector.page_of(often(rounds=3, panel=True), rounds=open_now)}")
    page.get_by_role("radio", name="Never").wait_for()
    soon = {"name": "soon", "rounds": times("2098-01-01", "2098-06-01", "2099-01-01")}
    page = visit.page(f"{collector.url}/s/{collector.page_of(hours(rounds=2, panel=True), **soon)}")
    words = "This device answers in round 1, which it drew by chance. Round 1 is not open yet."
    page.locator("#closed", has_text=words).wait_for()
    over = {"name": "over", "rounds": times("2020-01-01", "2020-01-15", "2020-02-01")}
    page = visit.page(f"{collector.url}/s/{collector.page_of(question(rounds=2, panel=True), **over)}")
    page.locator("#closed", has_text="Every round of it was closed when this device first saw it.").wait_for()
    accessible(page)


def test_hostile_labels_are_shown_and_not_run(collector, visit):
    label = '<img src=x onerror="document.title=1"> <b>Yes</b>'
    kind = Number(low="0", high="1", unit={"en": label})
    digest = collector.page_of(
        asked("a", options(label, "b", "c"), optimal_design(1, options=3)), asked("n", kind, optimal_design(1))
    )
    page = visit.page(f"{collector.url}/s/{digest}")
    page.get_by_role("radio", name="<img").click()
    page.get_by_role("spinbutton").wait_for()
    assert page.locator("main img, main b").count() == 0
    labels = page.get_by_role("radio").evaluate_all("all => all.map((one) => one.firstElementChild.className)")
    assert labels == ["foreign"] * 3  # the publisher's words look like the publisher's
    accessible(page)
