"""docs/examples.md: the command of each example and the first lines it prints; `…` is anything within a line."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.support.examples import ROOT

PAGE = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Section:
    """One example on the page: how to run it and what it prints first."""

    command: str
    shown: tuple[str, ...]


def sections() -> dict[str, Section]:
    found = re.findall(r"^## (\S+)\n.*?```bash\n(.*?)\n```\n\n```text\n(.*?)\n```", PAGE, re.DOTALL | re.MULTILINE)
    return {name: Section(command, tuple(shown.split("\n"))) for name, command, shown in found}


def prints(shown: tuple[str, ...], out: str) -> bool:
    """Whether the output begins with the lines shown."""
    lines = [line.rstrip() for line in out.split("\n")]
    patterns = [".*".join(re.escape(part) for part in line.split("…")) for line in shown]
    return len(lines) >= len(patterns) and all(
        re.fullmatch(pattern, line) for pattern, line in zip(patterns, lines, strict=False)
    )
