"""<rr-survey> as it is built: what its sources make and nothing else, as small as the documents say; what is served."""

import base64
import json
import re
import runpy

import pytest

from tests.inside.answer import LANGUAGES, Words
from tests.inside.collect import pages
from tests.support.browser import Visit
from tests.support.collector_running import ROOT
from tests.support.devices import cases
from tests.support.element import SOURCES, build, built, changed, serve, sources_of

FIRST, ALL = 44_000, 60_000  # bytes, gzipped
AFTER = ("outbox-", "after-")  # wanted when the first question is shown
MESSAGES = re.compile(r'\b(?:refuse|badSetting|need)\([^;\n]*?"([a-z][^"\n$`]{20,})"')
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


@pytest.fixture(scope="module")
def dist():
    return built()


def gzipped(folder, names):
    """How many bytes these files have, gzipped as they are served."""
    return sum(len(pages.packed((folder / name).read_bytes())) for name in names)


# ---- which one is served -------------------------------------------------------------------------------------------


def folder_of(made):
    """What this copy of the client would serve."""
    return runpy.run_path(str(made / "__init__.py"))["folder"]()


def test_what_was_made_of_these_sources_is_served_and_of_others_never(dist, tmp_path):
    made = changed(tmp_path, {})
    assert folder_of(made) == made / "src"  # without Node
    (made / "dist").symlink_to(dist)
    assert folder_of(made) == made / "dist"
    for name in ("src/element/style.mjs", "src/words/ar.json", "build.mjs", "package.json"):
        text = (made / name).read_text(encoding="utf-8")
        (made / name).write_text(text + "\n", encoding="utf-8")
        assert folder_of(made) == made / "src"
        (made / name).write_text(text, encoding="utf-8")
    (made / "src" / "more.mjs").write_text("export {};\n")
    assert folder_of(made) == made / "src"


def test_the_same_sources_make_the_same_bytes(dist, tmp_path):
    made = changed(tmp_path, {})
    package = (made / "package.json").read_text(encoding="utf-8")
    (made / "package.json").write_text(re.sub('"types": "tsc .*"', '"types": "true"', package))  # they take long
    again = build(made)
    files = {path.name: path.read_bytes() for path in again.glob("*.m*")}
    assert files == {path.name: path.read_bytes() for path in dist.glob("*.m*")}
    assert len(files) > 8


def test_what_is_kept_without_a_network_is_what_a_page_loads(dist, monkeypatch):
    for folder in (SOURCES, dist):
        serve(monkeypatch, folder)
        first = pages.asset("offline.mjs")[0].decode().splitlines()[0]
        kept = json.loads(first.removeprefix("const ASSETS = ").removesuffix(";"))
        loaded = {str(path.relative_to(folder)) for path in folder.rglob("*.mjs")}
        assert loaded | {f"words/{language}.json" for language in LANGUAGES} <= set(kept)
        assert all(pages.asset(name) for name in kept)


# ---- how much it is ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
def test_little_is_loaded_before_the_first_question_and_in_all(collector, browser, dist, monkeypatch, language):
    serve(monkeypatch, dist)
    words, digest = Words.of(language), collector.page_of()
    with Visit(browser, locale=language) as visit:
        for name in AFTER:
            visit.context.route(f"**/{name}*.mjs", lambda route: route.abort())
        page = visit.page(f"{collector.url}/s/{digest}")
        page.get_by_role("radio", name=words.say("yes_button")).wait_for()

        def loaded():
            found = [url.partition("/assets/")[2] for url in visit.requests if url.endswith((".mjs", ".json"))]
            return [name for name in found if not name.startswith(AFTER)]

        first = loaded()
        assert "rr-survey.mjs" in first
        assert f"words/{language}.json" in first
        assert not [name for name in first if name.startswith("explanation-")]
        ours = [url for url in visit.requests if url.startswith(collector.url)]
        assert len(ours) == len(visit.requests)  # no third party
        page.get_by_text(words.say("how")).click()
        page.locator(".simulation").wait_for()
        assert [name for name in loaded() if name.startswith("explanation-")]
    assert gzipped(dist, first) <= FIRST
    assert gzipped(SOURCES, SOURCES.rglob("*.mjs")) > FIRST  # the check can fail
    scripts = [path.name for path in dist.glob("*.mjs") if path.name != "index.mjs"]
    assert gzipped(dist, [*scripts, f"words/{language}.json"]) <= ALL


def test_the_documents_tell_how_much_is_loaded(dist):
    text = (ROOT / "docs/browser.md").read_text(encoding="utf-8")
    assert re.findall(r"at most ([0-9]+) kB gzipped", text) == [str(FIRST // 1000)]
    scripts = [path.name for path in dist.glob("*.mjs") if path.name != "index.mjs"]
    all_of = [gzipped(dist, [*scripts, f"words/{language}.json"]) for language in LANGUAGES]
    (said,) = re.findall(r"the files have ([0-9]+) to ([0-9]+) kB", text)
    assert said == (f"{min(all_of) / 1000:.0f}", f"{max(all_of) / 1000:.0f}")


# ---- what it says and keeps ----------------------------------------------------------------------------------------


def test_what_developers_are_told_is_in_what_is_served(dist):
    messages = set(MESSAGES.findall(sources_of()))
    made = "".join(path.read_text(encoding="utf-8") for path in dist.glob("*.mjs"))
    assert len(messages) > 30
    assert {message for message in messages if message not in made} == set()


def test_the_types_name_what_the_modules_export(dist):
    def named(text, start):
        lists = re.findall(rf"^{start} \{{([^}}]*)\}} from", text, re.MULTILINE)
        return sorted(name.strip() for one in lists for name in one.split(",") if name.strip())

    written = named((SOURCES / "index.mjs").read_text(encoding="utf-8"), "export")
    assert len(written) > 30
    assert named((dist / "types/index.d.mts").read_text(encoding="utf-8"), "export") == written
    for name in ("rr-survey", "answer/ledger/file", "element/entries"):
        assert (dist / "types" / f"{name}.d.mts").is_file()


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


def test_what_is_kept_is_what_the_types_say(collector, browser, dist):
    """What a ledger holds is read by every later version."""
    digest = collector.page_of()
    with Visit(browser) as visit:
        page = visit.page(f"{collector.url}/s/{digest}")
        page.get_by_role("radio", name="Yes").click()
        page.get_by_role("button", name="Send").click()
        page.get_by_text("It was received.").wait_for()
        kept = page.evaluate(KEPT)
    declared = ("answer/ledger/ledger.d.mts", "deliver/outbox.d.mts")
    types = "".join((dist / "types" / name).read_text("utf-8") for name in declared)

    def fields(name):
        (body,) = re.findall(rf"^export type {name} = \{{\n(.*?)^\}};", types, re.DOTALL | re.MULTILINE)
        return set(re.findall(r"^    (\w+):", body, re.MULTILINE))

    assert set(kept) == fields("State")
    assert set(kept["draws"][0]) == fields("Draw")
    assert set(kept["reports"][0]) == fields("Outgoing")
    assert set(json.loads(kept["reports"][0]["body"])) == {
        "answer", "design", "id", "question", "round", "segments", "survey", "ticket",
    }  # fmt: skip


def test_what_cannot_be_loaded_later_is_told_and_tried_again(collector, browser):
    digest, explanation = collector.page_of(), "**/explanation*.mjs"  # built or not
    with Visit(browser, locale="en") as visit:
        visit.context.route(explanation, lambda route: route.abort())
        page = visit.page(f"{collector.url}/s/{digest}")
        page.get_by_text("How does this protect me?").click()
        page.locator("details.protection").get_by_text("This did not work. Please try again.").wait_for()
        visit.context.route("**/surveys/*", lambda route: route.fulfill(body="{}"))
        page.evaluate("document.querySelector('rr-survey').setAttribute('threshold', '1')")  # it starts anew
        page.get_by_role("heading", name="This survey cannot be shown").wait_for()
        page.get_by_text("Technical detail: MalformedDocument").wait_for()
        visit.context.unroute(explanation)
        visit.context.unroute("**/surveys/*")
        page.reload()
        page.get_by_text("How does this protect me?").click()
        page.locator(".simulation").wait_for()
