"""Every session printed in README and docs is executed; links lead somewhere; the project stands alone."""

import doctest
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_sessions_run_as_printed(page):
    result = doctest.testfile(str(page), module_relative=False, optionflags=FLAGS)
    assert result.failed == 0


def test_the_sessions_are_not_empty():
    with_sessions = {page.name for page in PAGES if ">>> " in page.read_text()}
    assert {"README.md", "concepts.md", "embedders.md", "estimates.md", "paper.md"} <= with_sessions


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_no_tracked_file_names_a_machine_or_a_registry():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    pattern = re.compile(r"/(?:work|root|home)/[a-z]|files\.pythonhosted|registry\.npmjs")
    for name in tracked:
        path = ROOT / name
        if (
            path.suffix in {".py", ".md", ".toml", ".mjs", ".json", ""}
            and path.is_file()
            and name != "tests/test_documents.py"
        ):
            found = pattern.search(path.read_text(errors="replace"))
            assert found is None, f"{name}: {found}"
