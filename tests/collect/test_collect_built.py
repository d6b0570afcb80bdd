"""<rr-survey> as it is built and served: what its sources make, as little as the documents say, and nothing lost."""

import base64
import filecmp
import gzip
import json
import re

import pytest

from tests.inside.answer import LANGUAGES, Words
from tests.inside.collect import pages
from tests.support.browser import Visit
from tests.support.collector_running import ROOT
from tests.support.devices import cases
from tests.support.element import BUILT, WEB, build_element

LIMIT = 30_000
SOURCES = ("rr-survey.mjs", "rrcollect.mjs", "rr-entries.mjs", "rr-drawings.mjs")
NAMES = re.compile(r'\b(?:refuse|fault|new RRCollectError)\("([A-Za-z0-9]+)"')
PHRASE = re.compile(r"[a-z]{2,}(?: [a-z']{2,}){2,}")
DEFAULTS = {"max_epsilon": "ln(9)", "max_ratio": "20", "allow_disclosure": False}

VERDICTS = """async (cases) => {
    const emptied = () => new Promise((resolve) => {  // each survey is new to this device
        const request = indexedDB.open("rrcollect", 1);
        request.onupgradeneeded = () => request.result.createObjectStore("ledger");
        request.onsuccess = () => {
            const cleared = request.result.transaction("ledger", "readwrite");
            cleared.objectStore("ledger").clear();
            cleared.oncomplete = () => { request.result.close(); resolve(); };
        };
    });
    const said = {};
    for (const [name, { keys, threshold, publisher }] of Object.entries(cases)) {
        await emptied();
        const element = document.createElement("rr-survey"), { shadowRoot: root } = element;
        const given = { src: `/given/${name}`, publisher: keys.join(" "), "publisher-name": publisher, threshold };
        for (const [attribute, value] of Object.entries(given)) element.setAttribute(attribute, value);
        document.body.append(element);
        while (root.querySelector("[aria-busy=false]") === null) await new Promise((resolve) => setTimeout(resolve));
        said[name] = root.querySelector("[data-state]")?.dataset.state ?? "asked";
        element.remove();
    }
    return said;
}"""
KEPT = """new Promise((resolve) => {
    indexedDB.open("rrcollect", 1).onsuccess = ({ target: { result } }) => {
        result.transaction("ledger").objectStore("ledger").get("state").onsuccess = (got) => resolve(got.target.result);
    };
})"""
KNOWN = """() => {
    const known = new Set(), add = (one) => one && Object.getOwnPropertyNames(one).forEach((name) => known.add(name));
    for (const name of Object.getOwnPropertyNames(globalThis)) {
        const one = name === "event" ? null : globalThis[name];
        add(typeof one === "function" ? one : null);
        add(typeof one === "function" ? one.prototype : null);
    }
    return [...known];
}"""


def packed(*names, folder=None):
    """How many bytes these files have, gzipped as they are served."""
    data = [pages.asset(name)[0] if folder is None else (folder / name).read_bytes() for name in names]
    return sum(len(pages.packed(one)) for one in data)


def first_files(language):
    return ["rr-survey.mjs", f"words/{language}.mjs"]


def test_the_element_is_what_its_sources_make(tmp_path):
    """If not: make element"""
    made = build_element(tmp_path)
    files = sorted(str(path.relative_to(made)) for path in made.rglob("*.mjs"))
    assert files == sorted(str(path.relative_to(BUILT)) for path in BUILT.rglob("*") if path.is_file())
    assert filecmp.cmpfiles(made, BUILT, files, shallow=False) == (files, [], [])


def test_another_source_makes_another_element(tmp_path):
    """Planted bug: somebody changes a source and does not build."""
    drawings = (WEB / "rr-drawings.mjs").read_text(encoding="utf-8")
    made = build_element(tmp_path, {"rr-drawings.mjs": drawings.replace("PEOPLE = 20", "PEOPLE = 21")})
    assert (made / "rr-survey.mjs").read_bytes() != (BUILT / "rr-survey.mjs").read_bytes()


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_loaded_before_the_first_question_has_less_than_30_kb(collector, browser, language):
    words, digest = Words.of(language), collector.page_of()
    with Visit(browser, locale=language) as visit:
        page = visit.page(f"{collector.url}/s/{digest}")
        page.get_by_role("radio", name=words.say("yes_button")).wait_for()

        def scripts():
            return [url.partition("/assets/")[2] for url in visit.requests if url.endswith(".mjs")]

        assert scripts() == first_files(language)
        ours = [url.removeprefix(collector.url) for url in visit.requests if url.startswith(collector.url)]
        assert len(ours) == len(visit.requests)  # no third party
        page.get_by_text(words.say("how")).click()
        page.locator(".simulation").wait_for()
        assert scripts() == [*first_files(language), "rr-explanation.mjs", f"words/{language}.more.mjs"]
    assert packed(*first_files(language)) < LIMIT
    assert sum(len(gzip.compress(pages.asset(name)[0], 9)) for name in first_files(language)) < LIMIT


def test_the_sources_as_they_are_have_more():
    """Planted bug: a page that loads what is not built."""
    assert packed(*SOURCES, "words/en.mjs", folder=WEB) > LIMIT


def test_the_documents_tell_how_much_is_loaded():
    text = (ROOT / "docs/browser.md").read_text(encoding="utf-8")
    assert re.findall(r"less than ([0-9]+) kB gzipped", text) == [str(LIMIT // 1000)]
    all_of = [packed(*first_files(one), "rr-explanation.mjs", f"words/{one}.more.mjs") for one in LANGUAGES]
    (said,) = re.findall(r"the files have ([0-9]+) to ([0-9]+) kB", text)
    assert said == (f"{min(all_of) / 1000:.0f}", f"{max(all_of) / 1000:.0f}")


def test_the_names_of_errors_stay_and_sentences_for_developers_go():
    written = (WEB / "rrcollect.mjs").read_text(encoding="utf-8")
    made = "".join(path.read_text(encoding="utf-8") for path in BUILT.glob("*.mjs"))
    names, phrases = (
        set(NAMES.findall(written)),
        set(PHRASE.findall(written)) - {"explained by rrcollect", "division by zero"},
    )
    assert len(names) > 30
    assert {name for name in names if f'"{name}"' not in made} == set()
    assert len(phrases) > 300  # in comments, and in what developers are told
    assert {phrase for phrase in phrases if phrase in made} == set()


def test_the_bad_documents_are_refused_by_the_same_names(collector, browser):
    given = {}
    surveys = cases("surveys")
    for name, case in surveys.items():
        caps = {key: value for key, value in case["policy"].items() if key != "publishers"}
        if caps == DEFAULTS and len(case["policy"]["publishers"]) == 1 and "seen" not in case:
            (publisher,) = case["policy"]["publishers"]
            given[name] = {"threshold": 1, **publisher, "publisher": publisher["name"]}
    assert len(given) > 800

    def envelope(route):
        name = route.request.url.rpartition("/")[2]
        route.fulfill(body=base64.b64decode(surveys[name]["envelope"]), content_type="application/json")

    said = {}
    for now in sorted({surveys[name]["now"] for name in given}):
        with Visit(browser) as visit:
            visit.context.route("**/given/*", envelope)
            visit.context.clock.set_fixed_time(now)
            page = visit.page(f"{collector.url}/s/{collector.page_of()}")
            page.get_by_role("radio", name="Yes").wait_for()
            said |= page.evaluate(VERDICTS, {name: one for name, one in given.items() if surveys[name]["now"] == now})
    wanted = {name: surveys[name].get("error", "WrongOrigin") for name in given}  # good ones are of other origins
    assert {name: (said[name], wanted[name]) for name in given if said[name] != wanted[name]} == {}


def test_the_ledger_of_the_element_is_that_of_the_sources(collector, browser):
    """Shortened names are for the element's own objects: what is kept is read by every later version."""
    digest = collector.page_of()
    with Visit(browser) as visit:
        page = visit.page(f"{collector.url}/s/{digest}")
        page.get_by_role("radio", name="Yes").click()
        page.get_by_role("button", name="Send").click()
        page.get_by_text("It was received.").wait_for()
        kept = page.evaluate(KEPT)
    types = (WEB / "rrcollect.d.mts").read_text(encoding="utf-8")

    def fields(name):
        (body,) = re.findall(rf"^export type {name} = \{{\n(.*?)^\}};", types, re.DOTALL | re.MULTILINE)
        return set(re.findall(r"^    (\w+):", body, re.MULTILINE))

    assert set(kept) == fields("State")
    assert set(kept["draws"][0]) == fields("Draw")
    assert set(kept["reports"][0]) == fields("Outgoing") | set(kept["reports"][0]) & {"earlierAttempts"}
    assert set(json.loads(kept["reports"][0]["body"])) == {
        "answer", "design", "id", "question", "round", "segments", "survey", "ticket",
    }  # fmt: skip


def test_shortened_names_are_none_of_the_browsers(collector, browser):
    (text,) = re.findall(r"const OWN = `([^`]+)`", (WEB / "build.mjs").read_text(encoding="utf-8"))
    with Visit(browser) as visit:
        known = set(visit.page(f"{collector.url}/").evaluate(KNOWN))
    assert {"textContent", "addEventListener", "status"} <= known
    assert set(text.split()) & known == set()


def test_what_cannot_be_loaded_later_is_told_and_tried_again(collector, browser):
    digest = collector.page_of()
    with Visit(browser, locale="en") as visit:
        visit.context.route("**/*.more.mjs", lambda route: route.abort())
        page = visit.page(f"{collector.url}/s/{digest}")
        page.get_by_text("How does this protect me?").click()
        page.locator("details.protection").get_by_text("This did not work. Please try again.").wait_for()
        visit.context.route("**/surveys/*", lambda route: route.fulfill(body="{}"))
        page.evaluate("document.querySelector('rr-survey').setAttribute('threshold', '1')")  # it starts anew
        page.get_by_role("heading", name="This survey cannot be shown").wait_for()
        page.get_by_text("Technical detail: MalformedDocument").wait_for()
        visit.context.unroute("**/*.more.mjs")
        visit.context.unroute("**/surveys/*")
        page.reload()
        page.get_by_text("How does this protect me?").click()
        page.locator(".simulation").wait_for()
