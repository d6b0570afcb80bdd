"""Runs the blocks of one page, in order, in a folder of their own.

Rules
1. `python` with prompts is a session and must print what the page shows; without prompts it is run as it stands.  All
   of a page share one set of names, and the folder is their working directory.
2. `bash` must succeed.  In `console`, lines after `$` are run and must print what follows them (`...` stands for
   anything).  See `shell` for what runs there.
3. `toml` and `json` must be read by the project's own parsers: surveys, envelopes, reports and tallies are recognised
   by their fields.  `js` is run by Node beside the browser client; `html` must parse, and its module scripts too, with
   imports that exist.
4. `text` is not code.  Any other language is refused: nobody would run it.
5. Lines in `ELSEWHERE` are run by somebody else, who is named there; so are the examples.
"""

from __future__ import annotations

import base64
import contextlib
import doctest
import io
import json
import os
import re
import subprocess
import tomllib
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from tests.documents.blocks import Block, PageError
from tests.documents.shell import PATIENCE, ROOT, Shell

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
ELSEWHERE = {
    "make demo": "the gate runs it (.ci/run)",
    "make test": "the gate runs it (.ci/run)",
    "make lint": "the gate runs it (.ci/run)",
    "jupyter lab examples/notebooks": "tests/examples/test_notebooks.py runs every notebook",
    "pip install '.[estimate]'": "as below, with SciPy",
    "pip install .": "tests/test_packaging.py builds the wheel and installs it into a clean environment",
    "pip install 'rrcollect[server]'": "as above; tests/documents/test_names.py looks for the extras",
    "pip install 'rrcollect[server,postgres]'": "as above",
    "spark-submit --master yarn --files survey.signed.json,publisher.pem.pub tally.py s3a://lake/reports > out.json": (
        "tests/batch/test_batch_spark.py runs the program in its own session"
    ),
    "otree test doped 20 --export=out": "tests/reach/parts/test_otree.py plays it with oTree's own bots",
    "rrcollect tally survey.json out/doped.csv --column player.rr_doped --trust publisher.pem.pub": "as above",
    "make demo-web": "it runs until it is stopped",
    "make bench": "it takes minutes; the gate's own comparison is its checked form",
    "make bench-check": "a target of its own",
    "make assure": "it takes hours",
}
EXAMPLE = re.compile(r"python examples/[\w/]+\.py")  # every example is run, as a process, by a test of its own


class Workspace:
    """The folder, names and environment of one page; a context manager that leaves nothing running."""

    def __init__(self, folder: Path) -> None:
        self.folder, own = folder / "page", folder / "own"
        for made in (self.folder, own):
            made.mkdir()
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._shell = Shell(self.folder, own)
        for name in ("examples", "tests"):
            (self.folder / name).symlink_to(ROOT / name)
        (self.folder / "node_modules").mkdir()
        (self.folder / "node_modules" / "rrcollect").symlink_to(ROOT / "rrcollect" / "web")

    def __enter__(self) -> Workspace:
        self._came_from = Path.cwd()
        os.chdir(self.folder)
        return self

    def __exit__(self, *_: object) -> None:
        os.chdir(self._came_from)
        self._shell.close()

    def run(self, block: Block) -> None:
        """Run one block; `PageError` says what went wrong, and where."""
        if block.language not in RUNNERS:
            raise PageError(f"line {block.line}: nobody runs {block.language!r}")
        try:
            RUNNERS[block.language](self, block)
        except PageError as error:
            raise PageError(f"line {block.line} ({block.language}): {error}") from None
        except Exception as error:
            raise PageError(f"line {block.line} ({block.language}): {type(error).__name__}: {error}") from error

    # ---- Python -----------------------------------------------------------------------------------------------

    def python(self, block: Block) -> None:
        if block.name is not None:
            compile(block.text, block.name, "exec")
            self._write(block)
        elif ">>> " in block.text:
            self._session(block)
        else:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(self._shell.moved(block.text), f"<line {block.line}>", "exec"), self._names)  # noqa: S102

    def _session(self, block: Block) -> None:
        test = doctest.DocTestParser().get_doctest(self._shell.moved(block.text), self._names, "page", None, block.line)
        test.globs = self._names  # the parser made a copy
        said: list[str] = []
        doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(test, out=said.append, clear_globs=False)
        if said:
            raise PageError("".join(said))

    # ---- the shell --------------------------------------------------------------------------------------------

    def bash(self, block: Block) -> None:
        own = [line for line in block.text.splitlines() if not _elsewhere(line.split("  #")[0].strip())]
        self._shell.run("\n".join(own))

    def console(self, block: Block) -> None:
        if not block.text.startswith("$ "):
            raise PageError("a console begins with a command: `$ …`")
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            lines = part.splitlines()
            command = [lines.pop(0)]
            while lines and (command[-1].endswith("\\") or lines[0].startswith("> ")):
                command.append(lines.pop(0).removeprefix("> "))
            expected = "".join(f"{line}\n" for line in lines)
            got = self._shell.run("\n".join(command))
            if not doctest.OutputChecker().check_output(expected, got, FLAGS):
                raise PageError(f"$ {command[0]}\nshown:\n{expected}\nprinted:\n{got}")

    # ---- documents --------------------------------------------------------------------------------------------

    def toml(self, block: Block) -> None:
        self._judge(tomllib.loads(block.text), block)
        self._write(replace(block, text=self._shell.moved(block.text)))  # a survey names its collector

    def json(self, block: Block) -> None:
        self._judge(json.loads(block.text), block)
        self._write(block)

    def _judge(self, value: Any, block: Block) -> None:
        """Give the document to the parser it is meant for."""
        from rrcollect import Report, Survey
        from server_agg import Tallies
        from tests.inside.publish import canonical

        fields = set(value) if isinstance(value, dict) else set()
        if block.language == "toml" and "questions" in fields:
            Survey.from_entries(value).check()
        elif "questions" in fields:
            Survey.from_payload(canonical(value)).check()
        elif {"answer", "survey"} <= fields:
            Report.from_bytes(canonical(value))
        elif {"payload", "signatures"} <= fields:
            Survey.from_payload(base64.b64decode(value["payload"], validate=True)).check()
        elif isinstance(value, list) and all(isinstance(row, dict) and "counts" in row for row in value):
            Tallies.from_json(block.text)

    def _write(self, block: Block) -> None:
        if block.name is not None:
            (self.folder / block.name).write_text(block.text, encoding="utf-8")

    # ---- the browser's languages ------------------------------------------------------------------------------

    def js(self, block: Block) -> None:
        script = self.folder / (block.name or f"block-{block.line}.mjs")
        script.write_text(self._shell.moved(block.text), encoding="utf-8")
        self._node("--check" if block.name else "--no-warnings", script)

    def html(self, block: Block) -> None:
        page = _Scripts()
        page.feed(block.text)
        page.close()
        if page.open_tags:
            raise PageError(f"never closed: {page.open_tags}")
        for number, text in enumerate(page.scripts):
            script = self.folder / f"script-{block.line}-{number}.mjs"
            script.write_text(text, encoding="utf-8")
            self._node("--check", script)
            for names in re.findall(r"import\s*\{([^}]*)\}\s*from\s*[\"'][^\"']*rrcollect(?:/index\.mjs)?[\"']", text):
                self._node("--input-type=module", "-e", f"import {{{names}}} from 'rrcollect'")
        self._write(block)

    def _node(self, *arguments: str | Path) -> None:
        done = subprocess.run(
            ["node", *map(str, arguments)],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        if done.returncode != 0:
            raise PageError(done.stdout[-1500:] + done.stderr[-1500:])

    def text(self, block: Block) -> None:
        """Not code."""


RUNNERS: dict[str, Callable[[Workspace, Block], None]] = {
    "bash": Workspace.bash,
    "console": Workspace.console,
    "html": Workspace.html,
    "javascript": Workspace.js,
    "js": Workspace.js,
    "json": Workspace.json,
    "python": Workspace.python,
    "text": Workspace.text,
    "toml": Workspace.toml,
}


class _Scripts(HTMLParser):
    """The module scripts of a page, and the tags that were never closed."""

    VOID = frozenset({"meta", "link", "input", "br", "img", "hr"})

    def __init__(self) -> None:
        super().__init__()
        self.open_tags: list[str] = []
        self.scripts: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open_tags.append(tag)
        self._inside = tag == "script" and ("type", "module") in attrs and not dict(attrs).get("src")
        if self._inside:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        if not self.open_tags or self.open_tags.pop() != tag:
            raise PageError(f"</{tag}> closes nothing")
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.scripts[-1] += data


def _elsewhere(line: str) -> bool:
    return line in ELSEWHERE or bool(EXAMPLE.fullmatch(line))
