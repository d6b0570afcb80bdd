"""The survey's page and the collector's notices speak the language that the browser asks for, and nothing else."""

import re
from pathlib import Path

import pytest

from rrcollect import Choice, Design, Disclosure, Number, optimal_design
from server_agg import open_store
from server_agg.collect.http.headers import preferred
from tests.inside.answer import LANGUAGES, Words
from tests.support.browser import Visit, accessible, unfold
from tests.support.collector_running import RunningCollector
from tests.support.devices import question
from tests.support.element import SOURCES

ROOT = Path(__file__).parents[2]
OURS = """() => {
    const texts = [], walker = document.createTreeWalker(document.querySelector("rr-survey").shadowRoot, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        if (!node.parentElement.closest(".foreign, .digest") && node.textContent.trim()) texts.push(node.textContent);
    }
    return texts;
}"""  # noqa: E501
SUPPLIED = """async () => {
    const english = await (await fetch("/assets/words/en.json")).json(), element = document.querySelector("rr-survey");
    const turned = (said) => (typeof said === "string" ? `IT ${said}` : { other: `IT ${said.other}` });
    element.words = { it: Object.fromEntries(Object.entries(english).map(([key, said]) => [key, turned(said)])) };
    element.lang = "it";
}"""


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    store = open_store(tmp_path_factory.mktemp("store") / "reports.sqlite3", keep_rows=True)
    with RunningCollector("", store) as running:
        yield running


def asked(collector, **changes):
    often = Choice(options=[{"en": "1"}, {"en": "2"}, {"en": "3"}, {"en": "4"}])
    listed = [
        question(id="q1", attribute="a", text="?", rounds=2),
        question(id="q2", attribute="b", text="?", kind=often, design=optimal_design("ln 3", options=4)),
    ]
    return collector.page_of(*listed, segments={"1": ["2", "3"]}, pilot=True, **changes)


@pytest.mark.browser
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_speaks_the_language_of_the_browser_and_nothing_else(collector, browser, language):
    words, digest = Words.of(language), asked(collector)
    with Visit(browser, locale=f"{language}-CH", viewport={"width": 390, "height": 844}) as visit:
        page = visit.page(f"{collector.url}/s/{digest}")
        page.get_by_text(words.say("at_each")).wait_for()
        unfold(page)
        assert page.evaluate("[document.documentElement.lang, document.documentElement.dir]") == [
            language,
            words.direction,
        ]
        accessible(page)
        page.get_by_role("radio", name=words.say("yes_button"), exact=True).click()
        page.get_by_role("button", name=words.say("send"), exact=True).first.click()
        page.get_by_text(words.say("delivered")).wait_for()
        unfold(page)
        texts = page.evaluate(OURS)
        assert visit.complaints == []
    foreign = strange(texts, language)
    assert foreign == []
    assert strange(texts, "ar") != [] or language == "ar"  # the check sees other letters


def strange(texts, language):
    """What of these texts is in English, or for Arabic in Latin letters at all."""
    english = {text for text in Words.of("en").table.values() if isinstance(text, str)}
    own = {text for text in Words.of(language).table.values() if isinstance(text, str)}
    latin = re.compile(r"\b(?!UTC\b)[A-Za-z]{2,}")
    return [text for text in texts if text in english - own or (language == "ar" and latin.search(text))]


@pytest.mark.browser
@pytest.mark.parametrize(
    ("language", "typed", "shown"), [("ar", "-٣٫٥", "−3.5"), ("fa", "-۳.۵", "−3.5"), ("de", "-3,5", "−3,5")]
)
def test_a_number_is_typed_in_the_digits_of_the_keyboard_and_shown_in_the_languages_way(
    collector, browser, language, typed, shown
):
    degrees = question(id="q1", attribute="a", kind=Number(low="-5", high="5"))
    digest = collector.page_of(degrees, name="degrees")
    with Visit(browser, locale=language) as visit:
        page = visit.page(f"{collector.url}/s/{digest}")
        dial = page.get_by_role("spinbutton")
        dial.wait_for()
        for key in typed:
            dial.dispatch_event("keydown", {"key": key, "bubbles": True})
        assert (dial.get_attribute("aria-valuenow"), dial.inner_text().strip()) == ("-3.5", shown)
        assert page.locator(".digits").get_attribute("dir") == "ltr"


@pytest.mark.browser
def test_words_that_a_page_supplies_are_announced_in_ours_and_broken_ones_fail_in_ours(collector, browser):
    digest = asked(collector)
    with Visit(browser, locale="en-GB") as visit:
        page = visit.page(f"{collector.url}/s/{digest}")
        page.get_by_text("at each question").wait_for()
        page.evaluate(SUPPLIED)
        page.locator("#supplied", has_text="were supplied by whoever asks or made this page").wait_for()
        page.get_by_role("button", name="IT Send").first.wait_for()
        unfold(page)
        assert page.locator("details.protection").inner_text().count("IT Asked by:") == 0  # shown in the head
        page.evaluate(
            "() => { const one = document.querySelector('rr-survey'); one.words = { it: {} }; one.lang = 'it-IT'; }"
        )
        page.get_by_text("Nothing was asked and nothing was sent.").wait_for()


@pytest.mark.browser
def test_an_answer_that_would_be_certain_is_not_asked_for_on_a_page(collector, browser):
    """So what a page says of an answer, that it may or may not be what was chosen, is true of all that it sends."""
    proof = question(id="q1", attribute="a", design=Design(1, 1), disclosure=Disclosure(exposed=1, respondents=1))
    with Visit(browser, locale="en-GB") as visit:
        page = visit.page(f"{collector.url}/s/{collector.page_of(proof, name='certain')}")
        page.get_by_text("It asks for more than this device gives away.").wait_for()


# ---- the collector's notices ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_link_that_leads_nowhere_is_told_in_the_browsers_language(collector, language):
    words = Words.of(language)
    asking = {"accept": "text/html", "accept-language": f"xx, {language}-CH;q=0.5"}
    status, page, _ = collector.request("GET", "/s/abc", headers=asking)
    text = page.decode()
    assert status == 404
    assert f'<html lang="{language}" dir="{words.direction}">' in text
    assert words.say("mistyped") in text
    digest = collector.publish(collector.publication(name="elsewhere", origins=["https://elsewhere.example"]))
    status, page, headers = collector.request("GET", f"/s/{digest}", headers=asking)
    assert (status, headers["vary"]) == (421, "accept-language")
    assert words.say("answered_at") in page.decode()


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        ("", None), ("de", "de"), ("DE-at", "de"), ("en;q=0.1,fr;q=0.2", "fr"), ("it, es", "es"), ("*", None),
        ("de;q=0, es;q=0.001", "es"), ("de;q=2", None), ("de" * 10**6, None), ("it," * 60 + "de", None),
        ("ar ; q=1.0", "ar"), ("é,fr", "fr"),
    ],
)  # fmt: skip
def test_the_language_is_read_from_what_the_browser_accepts(header, wanted):
    assert preferred(header) == wanted


# ---- no sentence outside the table ----------------------------------------------------------------------------------

ELEMENT = [
    SOURCES / "rr-survey.mjs",
    *(
        path for path in sorted((SOURCES / "element").glob("*.mjs")) if path.name != "developers.mjs"
    ),  # no page shows it
    ROOT / "examples/surveyjs.mjs",
]
COMMENT = re.compile(r"/\*.*?\*/|^ *//.*?$| // .*?$", re.DOTALL | re.MULTILINE)
BY_NAME = {"delivered", "waiting", "cancelled", "refused", "carried"}  # by the state of a report
BY_PROGRAM = {f"issuer{end}" for end in ("", "_unlinkable", "_unchecked", "_window", "_for_good")}  # pages refuse those
BY_KIND = {f"{start}{end}" for start in ("crowd", "one_person") for end in ("", "_option", "_number")}


def sentences(code):
    """Texts of several words in a module, styles aside."""
    texts = re.findall(r'"((?:[^"\\\n]|\\.)*)"', re.sub(r"`[^`\n]*`", "", COMMENT.sub("", code)))
    return [text for text in texts if re.search(r"[A-Za-z]{2,} [a-z]{2,} [a-z]{2,}", text)]


def test_no_sentence_is_written_into_the_element():
    for path in ELEMENT:
        code = path.read_text(encoding="utf-8")
        assert sentences(code) == []
        assert sentences(code + '\nconst planted = "You may decline this question.";\n') != []


def test_every_word_of_a_page_is_said_by_one():
    code = "".join(path.read_text(encoding="utf-8") for path in ELEMENT)
    code += (ROOT / "server_agg/collect/http/pages.py").read_text(encoding="utf-8").replace("'", '"')
    keys = list(Words.of("en").table)
    pages = set(keys[keys.index("asked_by") :])
    assert {key for key in pages if f'"{key}"' not in code} - BY_NAME - BY_KIND - BY_PROGRAM == set()
    assert "planted" not in pages
