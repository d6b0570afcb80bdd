"""What a user installs: a wheel whose README's session runs in a clean environment, and a light client."""

import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path

import pytest

import rrcollect
import server_agg
from tests.support.element import built

ROOT = Path(__file__).resolve().parent.parent


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", out, ROOT, cwd=out)
    (built,) = out.glob("*.whl")
    return built


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


@pytest.mark.parametrize("fresh", [True, False])
def test_the_built_element_is_packed_if_it_was_made_of_these_sources(tmp_path, fresh):
    """In the source distribution, and in the wheel that is built of that."""
    tree, out = tmp_path / "tree", tmp_path / "out"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".*", "dist", "node_modules", "tests", "docs", "site"))
    shutil.copytree(built(), tree / "rrcollect/web/dist")
    if not fresh:
        with (tree / "rrcollect/web/src/element/style.mjs").open("a") as module:
            module.write("// changed\n")
    run(sys.executable, "-m", "build", "--outdir", out, tree, cwd=tmp_path)
    (source,), (made,) = out.glob("*.tar.gz"), out.glob("*.whl")
    with tarfile.open(source) as archive:
        packed = [name.partition("/")[2] for name in archive.getnames()]
    for names in (packed, zipfile.ZipFile(made).namelist()):
        assert "rrcollect/web/src/rr-survey.mjs" in names
        assert ("rrcollect/web/dist/rr-survey.mjs" in names) is fresh
        assert ("rrcollect/web/dist/sources.txt" in names) is fresh


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


# ---- in a clean environment -----------------------------------------------------------------------------------------

SESSION = """
import doctest, sys
done = doctest.testfile(sys.argv[1], module_relative=False, encoding="utf-8", optionflags=doctest.ELLIPSIS)
import rrcollect
print(done.failed, done.attempted, "numpy" in sys.modules, rrcollect.__file__)
sys.exit(done.failed > 0)"""


def session(python: Path, page: str, folder: Path) -> str:
    """Run the session of a page in a fresh folder: what failed, what ran, NumPy's presence, where rrcollect lies."""
    folder.mkdir()
    (folder / "README.md").write_text(page, encoding="utf-8")
    return run(python, "-I", "-c", SESSION, folder / "README.md", cwd=folder)


def test_the_session_of_the_readme_runs_from_the_wheel_and_on_a_device_without_numpy(wheel, metadata, tmp_path):
    venv.create(tmp_path / "env")
    python = tmp_path / "env" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python)
    run(*pip, "install", "--quiet", "--no-compile", f"{wheel}[estimate]", cwd=tmp_path)
    page = metadata.get_payload()
    assert re.match(rf"0 1\d True {re.escape(str(tmp_path))}", session(python, page, tmp_path / "whole"))

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
