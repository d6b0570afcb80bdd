"""Pages read well, link to what exists, and stand alone."""

import re
from pathlib import Path

import pytest

from tests.documents.blocks import blocks_of, prose_of
from tests.documents.workspace import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "api").glob("*.md")])
WIDEST = 118
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = [line.lstrip("#").strip() for _, line in prose_of(page) if line.startswith("#")]
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(folder, page: str) -> list[str]:
    broken = []
    for target in LINK.findall("\n".join(line for _, line in prose_of(page))):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        path = (folder / file).resolve() if file else None
        missing = path is not None and not path.exists()
        if missing or (anchor and anchor not in anchors(path.read_text(encoding="utf-8") if path else page)):
            broken.append(target)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    assert broken_links(page.parent, page.read_text(encoding="utf-8")) == []


def test_a_broken_link_is_noticed():
    assert broken_links(ROOT, "# A heading\n[a](#a-heading) [b](README.md) [c](docs/paper.md#errata)\n") == []
    wrong = ["#no-heading", "docs/none.md", "docs/paper.md#none"]
    assert broken_links(ROOT, "".join(f"[x]({target})\n" for target in wrong)) == wrong


def test_the_reference_is_made_with_the_site_and_not_kept():
    assert [path.name for path in (ROOT / "docs" / "api").iterdir()] == ["index.md"]


def test_the_cookbook_answers_fifteen_questions_in_ten_lines_each():
    page = (ROOT / "docs" / "cookbook.md").read_text(encoding="utf-8")
    _, *sections = re.split(r"^## ", page, flags=re.MULTILINE)
    assert len(sections) == 15
    for section in sections:
        (block,) = blocks_of(section)
        assert section.splitlines()[0].endswith("?")
        assert 1 <= len(block.text.strip().splitlines()) <= 10


def too_long(page: str) -> list[int]:
    return [number for number, line in prose_of(page) if len(line) > WIDEST]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_lines_are_not_too_long_to_read(page):
    assert too_long(page.read_text(encoding="utf-8")) == []


def test_a_long_line_is_noticed():
    assert too_long("short\n" + "x" * 119 + "\n```text\n" + "y" * 119 + "\n```\n") == [2]


def test_every_page_is_reached_from_the_readme():
    seen, queue = set(), [ROOT / "README.md"]
    while queue:
        page = queue.pop()
        if page in seen or not page.exists():
            continue
        seen.add(page)
        links = [target.partition("#")[0] for target in LINK.findall(page.read_text(encoding="utf-8"))]
        queue += [(page.parent / link).resolve() for link in links if link.endswith(".md")]
    assert set(PAGES) - seen == set()


def test_no_file_names_a_machine_or_a_registry():
    folders = ("rrcollect", "server_agg", "tests", "examples", "docs", "deploy", ".ci")
    files = [*ROOT.iterdir(), *(path for folder in folders for path in (ROOT / folder).rglob("*"))]
    assert len(files) > 500
    pattern = re.compile(r"/(?:work|root|home)/[a-z]|files\.pythonhosted|registry\.npmjs")
    assert pattern.search("see /" + "root/x")
    for path in files:
        if path.suffix in {".py", ".pyi", ".md", ".sh", ".toml", ".mjs", ".json", ""} and path.is_file():
            if path.name == ".git" or path == Path(__file__):
                continue
            found = pattern.search(path.read_text(errors="replace"))
            assert found is None, f"{path}: {found}"
