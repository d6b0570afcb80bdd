"""The documentation as a site: it builds strictly, describes every public name, and asks nobody else for anything."""

import importlib
import inspect
import re
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml
from axe_playwright_python.sync_playwright import Axe

from tests.documents.api_docstrings import as_markdown, public_homes
from tests.documents.raised_errors import raised_by
from tests.documents.site import ROOT
from tests.documents.source_names import PACKAGES
from tests.support.browser import Visit, chromium

# Whoever connects or looks up a name while this runs is stopped.
OFFLINE = """
import runpy, sys
def guard(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        raise SystemExit(f"{event}: the build is offline")
sys.addaudithook(guard)
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


def offline(*arguments, cwd=ROOT):
    command = [sys.executable, "-c", OFFLINE, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = offline("mkdocs", "build", "--strict", "--site-dir", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_whoever_connects_during_the_build_is_noticed(tmp_path):
    (tmp_path / "asks.py").write_text("import urllib.request\nurllib.request.urlopen('http://127.0.0.1:9/font')\n")
    assert "the build is offline" in offline("asks", cwd=tmp_path).stderr


@pytest.mark.parametrize("page", ["[a](none.md)", "[a](#none)", "[a](/index.md)"])
def test_a_broken_link_stops_the_build(page, tmp_path):
    rules = re.search(r"^validation:\n(?: .*\n)+", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)[0]
    (tmp_path / "docs").mkdir()
    (tmp_path / "mkdocs.yml").write_text(f"site_name: a\nplugins: []\n{rules}")
    for text, code in (("# A\n", 0), (f"# A\n\n{page}\n", 1)):
        (tmp_path / "docs" / "index.md").write_text(text)
        assert offline("mkdocs", "build", "--strict", cwd=tmp_path).returncode == code


def test_every_page_can_be_reached(site):
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")} - {"404.html"}
    assert len(pages) >= 40
    home = (site / "index.html").read_text(encoding="utf-8")
    assert pages - {href.partition("#")[0] for href in re.findall(r'href="([^"]+)"', home)} - {"index.html"} == set()


# ---- the reference --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def entries(site):
    """The text of every entry of the reference up to the next one, by its full name."""
    found = {}
    for page in (site / "api").glob("*.html"):
        parts = re.split(r'<h\d id="([\w.]+)" class="doc doc-heading">', page.read_text(encoding="utf-8"))
        found |= dict(zip(parts[1::2], parts[2::2], strict=True))
    return found


def test_every_public_name_has_an_entry_that_says_how_it_is_imported(entries):
    exported = {(package, name) for package in PACKAGES for name in importlib.import_module(package).__all__}
    described = {(package, path.rpartition(".")[2]) for path, package in public_homes().items()}
    spaces = {
        ("rrcollect", "classic"),
        *(("server_agg", name) for name in ("collect", "errors", "models", "plan", "sampling")),
    }
    assert described == exported - spaces  # packages, with pages of their own
    for path, package in public_homes().items():
        assert f"<code>from {package} import {path.rpartition('.')[2]}</code>" in entries[path]


def test_what_is_not_public_does_not_look_public(entries):
    assert "rrcollect.publish.envelope.pae" not in entries
    others = entries.keys() - public_homes().keys()
    assert others
    assert [name for name in others if "<code>from rrcollect import" in entries[name]] == []
    assert not [name for name in entries if any(part.startswith("_") for part in name.split("."))]


def test_every_function_lists_the_errors_a_call_can_end_in(entries):
    for path, package in public_homes().items():
        value = getattr(importlib.import_module(package), path.rpartition(".")[2])
        if inspect.isfunction(value):
            listed = re.search(r"<p>Errors: (.*?)</p>", entries[path], re.DOTALL)
            links = re.findall(r'href="(?:errors\.html)?#([\w.]+)"', listed[1]) if listed else []
            assert set(links) <= set(entries)
            assert [link.rpartition(".")[2] for link in links] == raised_by(value), path


def test_members_list_their_errors_too_and_an_error_says_who_mends_it(entries):
    assert "BudgetExhausted" in entries["rrcollect.answer.client.Client.answer"]
    assert "To be mended by: publisher." in entries["rrcollect.errors.BadSignature"]
    assert "expires" in entries["rrcollect.publish.survey_fields.SurveyFields.expires"]  # a document's fields


def test_docstrings_become_markdown():
    assert as_markdown("Words.\n\n    a = b\n\nRules\n1. One\n   line.\n2. Two.\n>>> 1  # doctest: +SKIP\n1").split(
        "\n"
    ) == [
        *("Words.", "", "```text", "    a = b", "```", "", "Rules", "", "1. One", "   line.", "2. Two.", ""),
        *("```pycon", ">>> 1", "1", "```"),
    ]


# ---- nothing from elsewhere -----------------------------------------------------------------------------------------

LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio)\b[^>]*\ssrc=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|<link\b(?![^>]*rel=["']?canonical)[^>]*\shref=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|(?:url\(|@import\s)["']?((?:https?:)?//[^"')\s]+)"""
)


def test_no_page_and_no_style_loads_anything_from_elsewhere(site):
    files = [*site.rglob("*.html"), *site.rglob("*.css"), *site.rglob("*.svg")]
    assert len(files) > 40
    assert {path.name: found for path in files if (found := LOADED.findall(path.read_text(encoding="utf-8")))} == {}


@pytest.mark.parametrize(
    "planted",
    [
        '<link rel="stylesheet" href="https://fonts.googleapis.com/css?family=Roboto">',
        '<script src="https://unpkg.com/mermaid"></script>',
        "<img alt='' src=//counter.example/x.gif>",
        "@import 'https://example.org/a.css';",
        "src: url(https://fonts.gstatic.com/a.woff2)",
    ],
)
def test_something_from_elsewhere_is_noticed(planted):
    assert len(LOADED.findall(planted)) == 1


@pytest.fixture(scope="module")
def served(site):
    quiet = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


COPIED = """() => {
    const code = document.querySelectorAll("pre > code")[1];
    code.setAttribute("data-md-copying", "");  // as the copy button does
    return code.innerText.trim().split("\\n")[0];
}"""


def find(page, words):
    """Type into the field for searching.  Keys that are pressed before the page listens are lost: one more tells it."""
    field, results = page.get_by_placeholder("Search"), page.locator(".md-search-result__link")
    field.press_sequentially(words)
    for _ in range(30):
        if results.count():
            return
        field.press("End")
        page.wait_for_timeout(1000)
    raise AssertionError(f"nothing is found about {words}")


@pytest.mark.browser
def test_a_reader_finds_something_and_no_one_else_hears_of_it(served):
    with chromium() as browser:
        for width, scheme in ((390, "light"), (1280, "dark")):
            with Visit(browser, viewport={"width": width, "height": 844}, color_scheme=scheme) as visit:
                page = visit.page(f"{served}index.html")
                if width == 390:
                    page.locator("label[for=__search]").first.click()
                    find(page, "rollback guard")
                for name in ("publishers", "wire-format", "performance", "cookbook", "api/estimates", "index"):
                    page.goto(f"{served}{name}.html")
                    assert page.evaluate("document.documentElement.scrollWidth") <= width, name
                    if name in ("cookbook", "api/estimates"):
                        found = Axe().run(page).response["violations"]
                        assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == [], name
                    if name == "cookbook":
                        assert page.evaluate(COPIED) == 'plan.sample_size(optimal_design("ln 3"), margin="0.05")'
                assert {url for url in visit.requests if not url.startswith((served, "data:", "blob:"))} == set()
                assert visit.complaints == []


# ---- files that a forge shows ---------------------------------------------------------------------------------------


def test_the_issue_forms_and_the_citation_are_well_formed():
    from rrcollect import __version__

    forms = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    assert [form.stem for form in forms] == ["config", "defect", "question", "wish"]
    for form in forms[1:]:
        read = yaml.safe_load(form.read_text(encoding="utf-8"))
        assert {"name", "description", "body"} <= set(read)
        ids = [part["id"] for part in read["body"] if part["type"] != "markdown"]
        assert len(set(ids)) == len(ids) >= 1
        assert all(part["attributes"].get("label") for part in read["body"] if part["type"] != "markdown")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == __version__
    assert {"cff-version", "message", "title", "authors", "license", "preferred-citation"} <= set(citation)
