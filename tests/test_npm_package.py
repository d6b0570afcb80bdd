"""What a user of JavaScript installs: a package from a tarball, in which the README's session runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import rrcollect
from tests.support.npm_package import README, ROOT, SESSION, WEB, new_project, run

TOLD = json.loads((WEB / "package.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    return new_project(tmp_path_factory.mktemp("project"))


def exported(told: dict[str, object]) -> list[str]:
    """The places that a package's `exports` name."""
    return [
        place for entry in told["exports"].values() for place in ([entry] if isinstance(entry, str) else entry.values())
    ]


def test_the_package_holds_what_it_says_and_nothing_else(project):
    here = project / "node_modules" / "rrcollect"
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


def test_it_is_the_version_of_the_wheel():
    assert TOLD["version"] == rrcollect.__version__
    assert f"version: {rrcollect.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_session_of_its_readme_runs_in_an_empty_project(project):
    (project / "session.mjs").write_text(SESSION)
    said = run("node", "session.mjs", cwd=project)
    assert "Clean sport" in said
    assert re.search(r"^true$", said, re.MULTILINE)
    assert "Example Institute" in said
    (project / "planted.mjs").write_text(SESSION.replace("03a107", "13a107").replace('"ledger"', '"other"'))
    with pytest.raises(AssertionError, match="UntrustedKey"):  # the check can fail
        run("node", "planted.mjs", cwd=project)


def test_its_readme_has_no_link_to_a_file_that_is_not_there():
    assert re.findall(r"\]\((?![a-z]+:|#)[^)]*\)", README) == []
