"""Every block of code in README and docs is run; a broken one of any language is noticed."""

import pytest

from tests.documents.blocks import Block, PageError, blocks_of
from tests.documents.workspace import ELSEWHERE, ROOT, RUNNERS, Workspace

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])  # docs/api repeats docstrings, which are doctests


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Dask about pandas
def test_every_block_does_what_the_page_says(page, tmp_path):
    with Workspace(tmp_path) as workspace:
        for block in blocks_of(page.read_text(encoding="utf-8")):
            workspace.run(block)


def test_no_page_has_lost_its_blocks():
    found = {page.name: {block.language for block in blocks_of(page.read_text())} for page in PAGES}
    assert {"python", "bash", "text"} <= found["README.md"]
    assert "python" in found["concepts.md"] & found["paper.md"] & found["estimates.md"] & found["regression.md"]
    assert {"js", "html"} <= found["browser.md"]
    assert {"toml", "console"} <= found["publishers.md"]
    assert "json" in found["wire-format.md"]


# ---- the runner itself: a good block passes, and the same block with one bug is refused -----------------------------

SURVEY = """name = "a"
version = 1
title = "A"
publisher = "P"
collector = "carried"
expires = "2100-01-01T00:00:00Z"
[[questions]]
id = "q1"
attribute = "doped"
text = "?"
epsilon = "ln 3"
"""
REPORT = (
    '{"answer": "1", "design": {"p00": "3/4", "p11": "3/4"}, "id": "' + "0" * 32 + '", "question": "q1", '
    '"round": 0, "segments": {}, "survey": "' + "0" * 64 + '", "ticket": null}\n'
)
TALLY = (
    '[{"survey": "' + "0" * 64 + '", "question": "q1", "design": {"p00": "3/4", "p11": "3/4"}, "segments": {}, '
    '"round": 0, "pilot": false, "n": 1000, "counts": [400]}]\n'
)
IMPORT = 'import { Client } from "rrcollect";\n'
GOOD = {
    "python": ("x = 1\nassert x == 1\n", "x == 1", "x == 2"),
    "session": (">>> 1 + 1\n2\n", "\n2", "\n3"),
    "bash": ("true\necho done\n", "true", "false"),
    "pipe": ("true | cat\n", "true", "false"),
    "console": ("$ echo a; echo b\na\nb\n", "a\nb", "a\nc"),
    "command": ("rrcollect estimate --counts 400 --n 1000 --epsilon 1\n", "--counts", "--count"),
    "toml": (SURVEY, 'epsilon = "ln 3"', 'epsilon = "ln -3"'),
    "syntax": (SURVEY, "version = 1", "version = = 1"),
    "json": (REPORT, '"round": 0', '"round": -1'),
    "tally": (TALLY, '"counts": [400]', '"counts": [4000]'),
    "js": (IMPORT + "if (typeof Client !== 'function') throw Error();\n", "Client", "Clients"),
    "throws": ("if (1 + 1 !== 2) throw Error();\n", "!==", "==="),
    "html": (f'<p>a</p><script type="module">{IMPORT}</script>\n', "Client", "Clients"),
    "script": (f'<script type="module">{IMPORT}</script>\n', "import", "imprt"),
    "tags": ("<p>a</p>\n", "</p>", ""),
}
LANGUAGE = {
    "session": "python",
    "pipe": "bash",
    "command": "bash",
    "syntax": "toml",
    "tally": "json",
    "throws": "js",
    "script": "html",
    "tags": "html",
}


def run(page, folder):
    with Workspace(folder) as workspace:
        for block in blocks_of(page):
            workspace.run(block)


@pytest.mark.parametrize("case", GOOD)
def test_a_broken_block_is_noticed(case, tmp_path):
    text, right, wrong = GOOD[case]
    language = LANGUAGE.get(case, case)
    for folder in ("good", "bad"):
        (tmp_path / folder).mkdir()
    run(f"Text.\n\n```{language}\n{text}```\n", tmp_path / "good")
    broken = text.replace(right, wrong)
    assert broken != text
    with pytest.raises(PageError, match="line 3"):
        run(f"Text.\n\n```{language}\n{broken}```\n", tmp_path / "bad")


def test_every_language_has_a_broken_block():
    assert {LANGUAGE.get(case, case) for case in GOOD} == set(RUNNERS) - {"text", "javascript"}


@pytest.mark.parametrize(
    "page",
    ["```\nx\n```\n", "```python\nx\n", "Text.\n\n    make coffee\n", "```ruby\nx\n```\n"],
    ids=["no language", "never closed", "indented", "nobody runs it"],
)
def test_code_that_nobody_would_run_is_refused(page, tmp_path):
    with pytest.raises(PageError):
        run(page, tmp_path)


def test_blocks_share_their_folder_names_and_environment(tmp_path):
    page = """
```toml a.toml
x = 1
```
```bash
export GREETING=hello
```
```python
import pathlib, tomllib
found = tomllib.loads(pathlib.Path("a.toml").read_text())
```
```python
>>> found
{'x': 1}
```
```console
$ echo "$GREETING" \\
> you
hello you
```
"""
    run(page, tmp_path)


def test_a_server_of_a_page_is_stopped_with_it(tmp_path):
    page = """
```bash
export RRCOLLECT_OWNER_TOKEN=0123456789abcdef0123
rrcollect serve --store reports.sqlite3 &
echo $! > number
curl -s --retry 30 --retry-connrefused --retry-delay 1 http://127.0.0.1:8000/readyz
```
"""
    run(page, tmp_path)
    number = int((tmp_path / "page" / "number").read_text())
    stat = ROOT.joinpath(f"/proc/{number}/stat")
    assert not stat.exists() or stat.read_text().split()[2] == "Z"


def test_the_lines_run_elsewhere_are_exact_and_have_reasons(tmp_path):
    assert all(ELSEWHERE.values())
    with Workspace(tmp_path) as workspace:
        workspace.run(Block("bash", None, "make demo   # the whole flow\n", 1))
        with pytest.raises(PageError):
            workspace.run(Block("bash", None, "make demo-of-something-else\n", 1))
