"""What the site has beside the pages in docs/: mkdocs calls these hooks (`mkdocs.yml` names this file).

Rules
1. The pages at the root of the project belong to the site under the names in `ROOT_PAGES`; a link to another file of
   the project (an example, say) leads to a copy of it.
2. The reference has a page per step of the flow.  It shows every module in which a public name lives: nobody has to
   list a new one.
3. A block with a file name (as in `toml survey.toml`) shows the name above it.  A session is coloured as one, so that
   prompts and output can be told from code and are not copied with it.
"""

from __future__ import annotations

import re
from pathlib import Path
from posixpath import dirname, join, normpath, relpath
from typing import Any

from mkdocs.structure.files import File, Files

from tests.documents.api_docstrings import ALSO, FLAG, ROOT, public_homes

ROOT_PAGES = {
    "README.md": "overview.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "SECURITY.md": "security.md",
}
REFERENCE = {
    "design": ("Designs", ["rrcollect.design"]),
    "publish": ("Signed surveys", ["rrcollect.publish"]),
    "answer": ("Answering on a device", ["rrcollect.answer"]),
    "deliver": ("Delivery", ["rrcollect.deliver"]),
    "classic": ("Classic procedures", ["rrcollect.classic"]),
    "count": ("Tallies", ["server_agg.count"]),
    "batch": ("Counting files, frames and databases", ["server_agg.batch"]),
    "estimates": ("Estimates and their bars", ["server_agg.estimates"]),
    "compare": ("Groups and rounds", ["server_agg.comparisons"]),
    "plan": ("Planning", ["server_agg.plan"]),
    "sampling": ("Complex samples", ["server_agg.sampling"]),
    "analysis": ("Your own data", ["server_agg.own_data", "server_agg.columns", "server_agg.answer_words"]),
    "models": ("Regression and association", ["server_agg.models"]),
    "results": ("Results", ["server_agg.results", "server_agg.survey_page"]),
    "collect": ("The collector", ["server_agg.collect"]),
    "errors": ("Errors", []),
}
LINK = re.compile(r"(\]\()([^)\s#:]+)(#[^)\s]*)?(\))")
SESSION = re.compile(r"^```python$(?=\n>>> )", flags=re.MULTILINE)
NAMED = re.compile(r"^(```\w+) ([\w./-]+)$", flags=re.MULTILINE)


def public_modules() -> dict[str, list[str]]:
    """The modules on each page of the reference: the homes of public names; all errors are on a page of their own."""
    homes = {*ALSO, *(path.rpartition(".")[0] for path in public_homes())}
    homes |= {_dotted(path) for part in ("rrcollect", "server_agg") for path in (ROOT / part).rglob("errors.py")}
    shown: dict[str, list[str]] = {page: [] for page in REFERENCE}
    for home in sorted(homes):
        pages = [
            page for page, (_, parts) in REFERENCE.items() if f"{home}.".startswith(tuple(f"{part}." for part in parts))
        ]
        shown["errors" if home.endswith(".errors") else pages[0]].append(home)
    return shown


def _dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def _reference_page(title: str, modules: list[str]) -> str:
    return "\n\n".join([f"# {title}", *(f"::: {module}" for module in modules)]) + "\n"


def on_files(files: Files, *, config: Any, **_: Any) -> Files:
    """Add the pages of the root and of the reference, and the files that pages link to."""
    for source, name in ROOT_PAGES.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text(encoding="utf-8")))
    for page, modules in public_modules().items():
        text = _reference_page(REFERENCE[page][0], modules)
        files.append(File.generated(config, f"api/{page}.md", content=text))
    for path in _linked_files():
        files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    return files


def _linked_files() -> set[Path]:
    """Files outside docs/ that a page links to and that are not pages."""
    found = set()
    for page in (ROOT / "docs").glob("*.md"):
        for _open, target, _anchor, _close in LINK.findall(page.read_text(encoding="utf-8")):
            path = (page.parent / target).resolve()
            if target.startswith("../") and path.is_file() and path.name not in ROOT_PAGES:
                found.add(path)
    return found


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """The text of a page as the site shows it."""
    sources = {name: source for source, name in ROOT_PAGES.items()}
    uri = page.file.src_uri
    return site_markdown(markdown, sources.get(uri, f"docs/{uri}"), uri) + (_index() if uri == "api/index.md" else "")


def on_post_page(output: str, **_: Any) -> str:
    """The search field gets the name that people who cannot see it are told; the theme gives it none."""
    return output.replace('class="md-search" ', 'class="md-search" aria-label="Search" ')


def _own_name(path: str) -> str:
    return path.rpartition(".")[2]


def _index() -> str:
    """All public names, by page."""
    parts = []
    for page, modules in public_modules().items():
        names = [path for path in public_homes() if path.rpartition(".")[0] in modules]
        links = " · ".join(
            f"[{_own_name(path)}][{path}]" for path in sorted(names, key=lambda path: _own_name(path).casefold())
        )
        parts.append(f"\n## [{REFERENCE[page][0]}]({page}.md)\n\n{links}\n")
    return "".join(parts)


def site_markdown(text: str, source: str, uri: str) -> str:
    """Links lead to the pages of the site; file names of blocks stand above them.

    >>> site_markdown("[all](docs/index.md) [us](SECURITY.md)", "README.md", "overview.md")
    '[all](index.md) [us](security.md)'
    >>> site_markdown("[a](../concepts.md) [b](../../README.md#install)", "docs/api/index.md", "api/index.md")
    '[a](../concepts.md) [b](../overview.md#install)'
    """

    def moved(link: re.Match[str]) -> str:
        target = normpath(join(dirname(source), link[2]))
        shown = ROOT_PAGES.get(target, target.removeprefix("docs/"))
        return f"{link[1]}{relpath(shown, dirname(uri) or '.')}{link[3] or ''}{link[4]}"

    return NAMED.sub(r'\1 title="\2"', SESSION.sub("```pycon", FLAG.sub("", LINK.sub(moved, text))))
