"""The code blocks of a Markdown page.

Rules
1. Code stands between fences of three backticks, and the first word after the opening fence names its language.
2. A second word is a file name: the block is that file, for the blocks that follow.
3. Indented code has no language, so nobody could run it: a page has none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FENCE = re.compile(r"^ {0,3}```(.*)$")
LISTED = re.compile(r"^\s*([*+-]|\d+[.)])\s")


class PageError(Exception):
    """A page breaks the rules above, or a block does not do what the page says."""


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, the file it stands for, its text, and the line it begins at."""

    language: str
    name: str | None
    text: str
    line: int


def blocks_of(page: str) -> list[Block]:
    """The fenced blocks, in order.

    >>> blocks_of("Text.\\n```toml a.toml\\nx = 1\\n```\\n")
    [Block(language='toml', name='a.toml', text='x = 1\\n', line=2)]
    """
    return _split(page)[0]


def prose_of(page: str) -> list[tuple[int, str]]:
    """The lines outside of code, with their numbers."""
    return _split(page)[1]


def _split(page: str) -> tuple[list[Block], list[tuple[int, str]]]:
    found: list[Block] = []
    prose: list[tuple[int, str]] = []
    opened: tuple[int, list[str]] | None = None
    kept: list[str] = []
    listed = False
    for number, line in enumerate(page.splitlines(), 1):
        fence = FENCE.match(line)
        if opened is not None:
            if fence and not fence[1].strip():
                start, words = opened
                name = words[1] if len(words) > 1 else None
                found.append(Block(words[0], name, "".join(f"{each}\n" for each in kept), start))
                opened = None
            else:
                kept.append(line)
        elif fence:
            words = fence[1].split()
            if not words:
                raise PageError(f"line {number}: a block without a language")
            opened, kept = (number, words), []
        else:
            if line.strip():
                listed = bool(LISTED.match(line)) or (listed and line.startswith(" "))
            if line.startswith("    ") and line.strip() and not listed:
                raise PageError(f"line {number}: indented code; use a fence and name the language")
            prose.append((number, line))
    if opened is not None:
        raise PageError(f"line {opened[0]}: a fence that is never closed")
    return found, prose
