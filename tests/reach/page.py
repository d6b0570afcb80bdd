"""docs/reach.md, made of the recorded results: one row per part, and what is not run here.

A row holds as many versions as fit; all of them are in the files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tests.assurance.page import WIDEST, lines
from tests.reach.part import Part
from tests.reach.running import Record

INTRODUCTION = (
    "Written by `make reach` from the files in `tests/reach/results`; nothing here is typed by hand. Each part is "
    "something the project works with and that is too heavy or too rare for `make test`. It is run for real, in an "
    "environment of its own if it needs other packages: `python -m tests.reach NAME` does one of them again."
)


def row(part: Part, found: Record | None) -> str:
    """A part and what was found.

    >>> part = Part("moto", "S3 by fsspec", ("-m", "pytest"))
    >>> found = {"held": True, "said": "3 passed", "seconds": 7.0, "date": "2026-11-17", "versions": {"moto": "5.2"}}
    >>> row(part, found)
    '| S3 by fsspec | moto 5.2 | 2026-11-17 | moto | 3 passed, 7 s |'
    >>> row(part, None)
    '| S3 by fsspec | | | moto | **not run** |'
    """
    if found is None:
        return f"| {part.title} | | | {part.name} | **not run** |"
    said = re.sub(r", \d+ deselected", "", found["said"])  # those of other parts, in the same file
    verdict = f"{said}, {found['seconds']:.0f} s" if found["held"] else f"**FAILED**: {said}"
    room = WIDEST - len(f"| {part.title} |  | {found['date']} | {part.name} | {verdict} |")
    told = ""
    for name, version in found["versions"].items():
        longer = f"{told}, {name} {version}" if told else f"{name} {version}"
        if name == "Python" or len(longer) > room:
            continue
        told = longer
    return f"| {part.title} | {told} | {found['date']} | {part.name} | {verdict} |".replace("|  |", "| |")


def page(parts: tuple[Part, ...], found: Mapping[str, Record], not_run: Mapping[str, str]) -> str:
    """The page."""
    held = sum(found[part.name]["held"] for part in parts if part.name in found)
    text = [
        "# Reach",
        "",
        *lines(INTRODUCTION),
        "",
        f"**{held} of {len(parts)} parts held.**",
        "",
        "| what | versions | when | part | result |",
        "| --- | --- | --- | --- | --- |",
        *(row(part, found.get(part.name)) for part in parts),
        "",
        "What a part runs:",
        "",
        *(line for part in parts for line in lines(f"{part.name}: `{' '.join(('python', *part.run))}`", "* ")),
        "",
        "## Not run here",
        "",
        "| what | why |",
        "| --- | --- |",
        *(f"| {what} | {why} |" for what, why in not_run.items()),
    ]
    return "\n".join([*text, ""])
