"""A release: one version in all files, and what is not decided is told.  Building it is `make release`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import rrcollect
from tests.release import ROOT, refuse_unready, undecided, versions
from tests.support.element import built

BUILT = shutil.ignore_patterns("dist", "node_modules", "__pycache__")
FILES = ("rrcollect/__init__.py", "rrcollect/web/package.json", "CITATION.cff", "CHANGELOG.md", "pyproject.toml")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the files that a release is judged by."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_all_files_say_one_version(tree: Path) -> None:
    assert set(versions().values()) == {rrcollect.__version__}
    for name in versions():
        path, old = tree / name, (tree / name).read_text()
        path.write_text(old.replace(rrcollect.__version__, "9.9.9", 1))
        assert versions(tree) == {**versions(), name: "9.9.9"}
        path.write_text(old.replace("version", "").replace("## ", ""))
        assert versions(tree)[name] == "none"
        path.write_text(old)


@pytest.mark.browser  # Node makes it
def test_no_release_is_made_without_the_element_of_these_sources(tree: Path) -> None:
    shutil.copytree(ROOT / "rrcollect/web", tree / "rrcollect/web", dirs_exist_ok=True, ignore=BUILT)
    with pytest.raises(SystemExit, match="dist is not there, or was made of other sources: run `make element` first"):
        refuse_unready(tree)
    shutil.copytree(built(), tree / "rrcollect/web/dist")
    refuse_unready(tree)
    (tree / "rrcollect/web/src/more.mjs").write_text("export {};\n")
    with pytest.raises(SystemExit, match="made of other sources"):
        refuse_unready(tree)
    (tree / "rrcollect/web/src/more.mjs").unlink()
    (tree / "CITATION.cff").write_text("version: 9.9.9\n")
    with pytest.raises(SystemExit, match="one version"):
        refuse_unready(tree)


def test_what_is_not_decided_is_told_until_it_is(tree: Path) -> None:
    for name, old, new in [
        ("pyproject.toml", "[project.scripts]", '[project.urls]\nSource = "https://example.org"\n\n[project.scripts]'),
        ("rrcollect/web/package.json", '"type"', '"repository": "https://example.org",\n  "type"'),
        ("CHANGELOG.md", "(unreleased)", "(2026-11-17)"),
    ]:
        before = undecided(tree)
        (tree / name).write_text((tree / name).read_text().replace(old, new))
        assert len(undecided(tree)) == len(before) - 1
    assert undecided(tree) == []
