"""What a user installs: a wheel whose README's session runs in a clean environment, a package of npm, a light client.

Each of both, and a checkout without Node, serves the same page.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
import threading
import venv
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import HeaderParser
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import rrcollect
import server_agg
from tests.support.browser import Visit, chromium
from tests.support.collector_running import TOKEN, Client, publication
from tests.support.devices import KEY
from tests.support.element import built
from tests.support.npm_package import README, ROOT, SESSION, WEB, new_project, run
from tests.support.ports import free_port
from tests.support.waiting import PATIENCE

LEFT_OUT = shutil.ignore_patterns(".*", "dist", "node_modules", "tests", "docs", "site", "build", "__pycache__")
TOLD = json.loads((WEB / "package.json").read_text(encoding="utf-8"))
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<script type="module" src="node_modules/rrcollect/{folder}/rr-survey.mjs"></script>
<main><rr-survey page src="survey.json" publisher="{key}" publisher-name="{name}"></rr-survey></main>
</html>
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    """Without anything that a tool makes."""
    return shutil.copytree(ROOT, tmp_path_factory.mktemp("checkout") / "tree", ignore=LEFT_OUT)


@pytest.fixture(scope="module")
def packed(checkout, tmp_path_factory) -> Path:
    """The folder in which a release was built, with the built element, as its source distribution and its wheel."""
    out = tmp_path_factory.mktemp("out")
    shutil.copytree(built(), checkout / "rrcollect/web/dist")
    run(sys.executable, "-m", "build", "--outdir", out, checkout, cwd=out)  # the wheel is made of the other one
    shutil.rmtree(checkout / "rrcollect/web/dist")
    return out


@pytest.fixture(scope="module")
def wheel(packed) -> Path:
    (found,) = packed.glob("*.whl")
    return found


def test_the_wheel_holds_both_packages_and_their_types(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for package in ("rrcollect", "server_agg"):
        for needed in ("__init__.py", "__init__.pyi", "py.typed"):
            assert f"{package}/{needed}" in names
    for served in (
        "rrcollect/web/src/index.mjs",
        "rrcollect/web/src/rr-survey.mjs",
        "rrcollect/web/src/words/ar.json",
        "server_agg/collect/static/page.css",
        "server_agg/demo/page.css",
        "server_agg/demo/report.html",
        "server_agg/demo/languages.toml",
    ):
        assert served in names
    assert not [name for name in names if name.startswith(("tests/", "examples/", "docs/")) or "node_modules" in name]


def holds_the_element(names: list[str]) -> bool:
    assert "rrcollect/web/src/rr-survey.mjs" in names
    found = {f"rrcollect/web/dist/{name}" in names for name in ("rr-survey.mjs", "sources.txt")}
    assert len(found) == 1
    return found.pop()


def test_the_built_element_is_packed_if_it_was_made_of_these_sources(packed, wheel, checkout, tmp_path):
    """In the source distribution, and in the wheel that is built of that."""
    (source,) = packed.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        assert holds_the_element([name.partition("/")[2] for name in archive.getnames()])
    assert holds_the_element(zipfile.ZipFile(wheel).namelist())
    tree = shutil.copytree(checkout, tmp_path / "tree")
    shutil.copytree(built(), tree / "rrcollect/web/dist")
    with (tree / "rrcollect/web/src/element/style.mjs").open("a") as module:
        module.write("// changed\n")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, tree, cwd=tmp_path)
    (made,) = tmp_path.glob("*.whl")
    assert not holds_the_element(zipfile.ZipFile(made).namelist())


# ---- what a package index shows -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def metadata(wheel) -> Message:
    archive = zipfile.ZipFile(wheel)
    (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    return HeaderParser().parsestr(archive.read(name).decode())


def relative_links(page: str) -> list[str]:
    """Links and pictures of a page in Markdown that lead to files beside it."""
    return [target for target in re.findall(r"\]\(([^)\s]+)\)", page) if not re.match(r"[a-z]+:|#", target)]


def test_the_wheel_says_what_a_package_index_shows(metadata):
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Author"] == "The rrcollect authors"
    assert (metadata["Version"], metadata["Requires-Python"]) == (rrcollect.__version__, ">=3.11")
    classifiers = metadata.get_all("Classifier")
    assert not [one for one in classifiers if one.startswith("License ::")]  # the expression is the one place
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in range(11, 15)} <= set(classifiers)


def test_the_readme_of_an_index_has_no_link_to_a_file_that_is_not_there(metadata):
    page = metadata.get_payload()
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert page.startswith("# rrcollect\n")
    assert relative_links(page) == []
    assert relative_links((ROOT / "README.md").read_text(encoding="utf-8"))  # in the source they are links
    assert "concepts (`docs/concepts.md`)" in page.lower()
    assert "pip install 'rrcollect[estimate]'" in page


def test_the_extra_for_postgresql_brings_no_engine(metadata):
    asked = [one for one in metadata.get_all("Requires-Dist") if one.endswith("extra == 'postgres'")]
    assert [re.match(r"[\w-]+", one)[0] for one in asked] == ["psycopg"]


# ---- the package of npm ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def npm(tmp_path_factory) -> Path:
    """A folder with nothing but the package."""
    return new_project(tmp_path_factory.mktemp("project"))


def exported(told: dict[str, object]) -> list[str]:
    """The places that a package's `exports` name."""
    return [
        place for entry in told["exports"].values() for place in ([entry] if isinstance(entry, str) else entry.values())
    ]


def test_the_npm_package_holds_what_it_says_and_nothing_else(npm):
    here = npm / "node_modules" / "rrcollect"
    assert {path.name for path in here.iterdir()} == {*TOLD["files"], "package.json", "README.md", "LICENSE"}
    assert (here / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    assert [place for place in exported(TOLD) if not list(here.glob(place.removeprefix("./")))] == []
    ours = {path.name for path in WEB.iterdir()} - {
        "__init__.py",
        "__pycache__",
        "dist",
        "node_modules",
        "package.json",
        "README.md",
        "LICENSE",
    }
    assert ours == set(TOLD["files"]) - {"dist"}  # no module is forgotten


def test_it_is_of_the_version_of_the_wheel():
    assert TOLD["version"] == rrcollect.__version__
    assert f"version: {rrcollect.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_session_of_its_readme_runs_in_an_empty_project(npm):
    (npm / "session.mjs").write_text(SESSION)
    said = run("node", "session.mjs", cwd=npm)
    assert "Clean sport" in said
    assert re.search(r"^true$", said, re.MULTILINE)
    assert "Example Institute" in said
    (npm / "planted.mjs").write_text(SESSION.replace("03a107", "13a107").replace('"ledger"', '"other"'))
    with pytest.raises(AssertionError, match="UntrustedKey"):  # the check can fail
        run("node", "planted.mjs", cwd=npm)


def test_the_readme_of_npm_has_no_link_to_a_file_that_is_not_there():
    assert re.findall(r"\]\((?![a-z]+:|#)[^)]*\)", README) == []


# ---- in a clean environment -----------------------------------------------------------------------------------------

DOCTEST = """
import doctest, sys
done = doctest.testfile(sys.argv[1], module_relative=False, encoding="utf-8", optionflags=doctest.ELLIPSIS)
import rrcollect
print(done.failed, done.attempted, "numpy" in sys.modules, rrcollect.__file__)
sys.exit(done.failed > 0)"""


def session(python: Path, page: str, folder: Path) -> str:
    """Run the session of a page in a fresh folder: what failed, what ran, NumPy's presence, where rrcollect lies."""
    folder.mkdir()
    (folder / "README.md").write_text(page, encoding="utf-8")
    return run(python, "-I", "-c", DOCTEST, folder / "README.md", cwd=folder)


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory) -> Path:
    """The Python of an environment with the wheel, what it needs to serve, and nothing else."""
    folder = tmp_path_factory.mktemp("env")
    venv.create(folder)
    pip = (sys.executable, "-m", "pip", "--python", folder / "bin" / "python")
    run(*pip, "install", "--quiet", "--no-compile", f"{wheel}[cli,server]", cwd=folder)
    return folder / "bin" / "python"


class Collector(Client):
    """`rrcollect serve` where no Node is on the path."""

    def __init__(self, python: Path, folder: Path) -> None:
        super().__init__(free_port())
        command = [python, "-m", "server_agg.cli.main", "serve", "--store", "a.sqlite3", "--port", str(self.port)]
        alone = {"PATH": str(python.parent), "HOME": str(folder), "RRCOLLECT_OWNER_TOKEN": TOKEN}
        assert shutil.which("node", path=alone["PATH"]) is None
        alone |= {"RRCOLLECT_MINIMUM": "2", "RRCOLLECT_EPOCH_KEYS": str(folder / "keys")}
        self.process = subprocess.Popen(command, cwd=folder, env=alone)

    def __enter__(self) -> Collector:
        self.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)


class Quiet(SimpleHTTPRequestHandler):
    """The files of a folder."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def static(npm) -> Iterator[str]:
    """Where any server serves the folder of the npm package."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=npm)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(PATIENCE)


def read_and_answered(browser, url: str) -> str:
    """What a person reads on a page, but for the simulation, which is drawn anew for each; then "yes" is sent."""
    with Visit(browser, locale="en") as visit:
        page = visit.page(url)
        page.get_by_role("radio", name="Yes").wait_for()
        page.locator("rr-survey summary").first.click()
        page.locator(".simulation").evaluate("one => one.remove()")
        read = page.locator("rr-survey").aria_snapshot()
        page.get_by_role("radio", name="Yes").click()
        page.get_by_role("button", name="Send").click()
        page.get_by_text("It was received.").wait_for()
        assert visit.complaints == []
    return str(read)


def test_the_wheel_the_npm_package_and_a_checkout_without_node_serve_the_same_page(
    checkout, environment, npm, static, tmp_path
):
    client = npm / "node_modules" / "rrcollect"
    with Collector(environment, tmp_path) as wheel, Collector(environment, checkout) as sources, chromium() as browser:
        for collector, folder in ((wheel, "dist"), (sources, "src")):
            _, served, _ = collector.request("GET", "/assets/rr-survey.mjs")
            assert served == (client / folder / "rr-survey.mjs").read_bytes()
        made = publication(collector=f"{wheel.url}/reports", origins=[wheel.url, sources.url, static])
        assert wheel.publish(made) == sources.publish(made) == made.digest
        (npm / "survey.json").write_bytes(made.envelope)
        places = [f"{wheel.url}/s/{made.digest}", f"{sources.url}/s/{made.digest}"]
        for folder in ("dist", "src"):
            page = PAGE.format(folder=folder, key=KEY.public.raw.hex(), name=made.survey.publisher)
            (npm / f"{folder}.html").write_text(page)
            places.append(f"{static}/{folder}.html")
        first, *others = [read_and_answered(browser, place) for place in places]
        assert others == [first] * 3
        assert "How does this protect me?" in first
        assert wheel.results()["surveys"][0]["answers"] == 4


def test_the_session_of_the_readme_runs_from_the_wheel_and_on_a_device_without_numpy(environment, metadata, tmp_path):
    python, page = environment, metadata.get_payload()
    assert re.match(rf"0 1\d True {re.escape(str(python.parents[1]))}", session(python, page, tmp_path / "whole"))

    pip = (sys.executable, "-m", "pip", "--python", python)  # the last test in this environment
    run(*pip, "uninstall", "--quiet", "--yes", "numpy", "scipy", cwd=tmp_path)
    device, cut, _ = page.partition(">>> from server_agg import")
    named = [name for name in rrcollect.__all__ if re.search(rf"\b{name}\b", device)]
    device = device.replace("import *", f"import {', '.join(named)}")  # all names at once are those for bulk, too
    assert cut
    assert re.match(r"0 1\d False ", session(python, device, tmp_path / "device"))
    with pytest.raises(AssertionError, match="No module named 'numpy'"):  # the check can fail
        session(python, page, tmp_path / "owner")


def modules_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    return set(run(sys.executable, "-c", code, cwd=ROOT).split())


@pytest.mark.parametrize(
    "statement",
    ["import rrcollect", "from rrcollect import optimal_design, classic; optimal_design(1, '0.1', prevalence='0.2')"],
)
def test_neither_importing_nor_designing_imports_numpy(statement):
    loaded = modules_after(statement)
    assert "rrcollect" in loaded
    assert not loaded & {"numpy", "pydantic", "cryptography", "matplotlib", "scipy", "server_agg"}
    assert "numpy" in modules_after("import numpy")  # the check can fail


@pytest.mark.parametrize("package", [rrcollect, server_agg])
def test_every_public_name_is_there(package):
    stub = Path(package.__file__).with_suffix(".pyi").read_text()
    named = [line for line in stub.splitlines() if not line.startswith(('"""', "__version__"))]
    assert len(package.__all__) == len(list(filter(None, named))) > 20
    for name in package.__all__:
        assert f" import {name} as {name}\n" in stub  # no other form: the loader reads this one
        assert getattr(package, name) is not None
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match=r"module '\w+' has no attribute 'no_such_name'"):
        _ = package.no_such_name


def test_a_public_name_is_loaded_when_first_used_and_then_kept():
    code = """
import sys, rrcollect
assert "rrcollect.design.yes_no" not in sys.modules and "Design" not in vars(rrcollect)
from rrcollect import *
from rrcollect.design.yes_no import Design as own
assert vars(rrcollect)["Design"] is own is Design and vars(rrcollect)["classic"] is sys.modules["rrcollect.classic"]
print("kept")"""
    assert run(sys.executable, "-c", code, cwd=ROOT) == "kept\n"
