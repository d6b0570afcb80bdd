"""docs/assurance.md, made of the recorded evidence.

Rules
1. The page contains nothing that is not in `tests/assurance/results` or in the words of a check.
2. A line for each part, with as many of its figures as fit; all of them are in the files.
3. What failed, is missing or was recorded for other sources is said; what a check does not show stands under Limits.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from tests.assurance.check import Check, Figure

__all__ = ["page", "table"]

WIDEST = 118
Row = dict[str, Any]


def verdict(row: Row) -> str:
    """One word, or a few, for a part."""
    if row["missing"] == row["part"].pieces:
        return "not run"
    if row["missing"]:
        return f"not finished ({row['missing']} of {row['part'].pieces} pieces missing)"
    failed = "**not decided**" if row["outcome"].remark.startswith("not decided") else "**FAILED**"
    return ("caught" if row["part"].planted else "held") if row["outcome"].passed else failed


def shown(value: Figure) -> str:
    """A figure for people."""
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}" if isinstance(value, float) else value


def lines(text: str, bullet: str = "") -> list[str]:
    """Text in lines of at most 118 characters.

    >>> lines("one two", "* ")
    ['* one two']
    """
    return textwrap.wrap(
        text, WIDEST, initial_indent=bullet, subsequent_indent=" " * len(bullet), break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def table(rows: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Rows as a Markdown table; nothing for no rows.

    >>> print("\\n".join(table({"ours": {"claimed": "1", "audited": "0.9"}})))
    |  | claimed | audited |
    | --- | ---: | ---: |
    | ours | 1 | 0.9 |
    <BLANKLINE>
    """
    columns = list(dict.fromkeys(column for cells in rows.values() for column in cells))
    body = [f"| {' | '.join([name, *(cells.get(column, '') for column in columns)])} |" for name, cells in rows.items()]
    return [f"|  | {' | '.join(columns)} |", f"| --- |{' ---: |' * len(columns)}", *body, ""] if rows else []


def part_line(row: Row) -> str:
    """A part with as many of its figures as a line holds.

    >>> from tests.assurance.check import Outcome, Part
    >>> part = Part("search", lambda piece, step: Outcome(True))
    >>> part_line({"part": part, "missing": 0, "outcome": Outcome(True, {"promises": 1000, "broken": 0})})
    '| search | held | 1,000 promises; 0 broken |'
    """
    name = ("planted bug: " if row["part"].planted else "") + row["part"].name
    start, told = f"| {name} | {verdict(row)} | ", ""
    for what, value in row["outcome"].figures.items():
        said = f"{shown(value)} {what}" if isinstance(value, int) else f"{what}: {shown(value)}"
        longer = f"{told}; {said}" if told else said
        if len(start) + len(longer) + 2 > WIDEST:
            break
        told = longer
    return f"{start}{told} |".replace("|  |", "| |")


def section(check: Check, found: list[Row]) -> list[str]:
    """One check."""
    text = [f"## {check.number}. {check.title}", "", *lines(check.claim), ""]
    text += [f"`python -m tests.assurance {check.name}`", ""]
    text += table({name: cells for row in found for name, cells in row["outcome"].rows.items()})
    text += ["| part | found | figures |", "| --- | --- | --- |", *map(part_line, found), ""]
    remarks = []
    for row in found:
        if row["outcome"].remark and not row["part"].planted:
            remarks += lines(f"{row['part'].name}: {row['outcome'].remark}", "* ")
    stale = sorted({file for row in found for file in row["stale"]})
    if stale:
        more = f" and {len(stale) - 6} other files" if len(stale) > 6 else ""
        remarks += lines(f"recorded for an earlier version of {', '.join(stale[:6])}{more}", "* ")
    return [*text, *remarks, *([""] if remarks else [])]


def page(checks: list[tuple[Check, list[Row]]]) -> str:
    """The page."""
    rows = [row for _, found in checks for row in found]
    fresh = [row for row in rows if row["outcome"].passed and not row["missing"] and not row["stale"]]
    caught, bugs = (sum(row["part"].planted for row in some) for some in (fresh, rows))
    old = sum(bool(row["stale"]) for row in rows)
    machines = sorted({m for row in rows for m in row["machines"]})
    dates = sorted({d for row in rows for d in row["dates"]})
    minutes = {check.name: sum(row["seconds"] for row in found) / 60 for check, found in checks}
    text = [
        "# Assurance",
        "",
        *lines(
            "Written by `make assure` from the files in `tests/assurance/results`, which hold all figures; nothing "
            "here is typed by hand. Each part looks for counterexamples to a claim. A *planted bug* is the same "
            "search over code made wrong: it must find it. A smaller version of each part runs in `make test`. What "
            "is recorded for the sources as they are is not run again, so a run that was stopped goes on where it "
            "was. Whether the tests notice a changed line is another page: [mutation](mutation.md)."
        ),
        "",
        *lines(
            f"**{len(fresh) - caught} of {len(rows) - bugs} parts held, {caught} of {bugs} planted bugs were caught"
            f"{f'; {old} more are recorded for earlier versions of files' if old else ''}.** "
            f"{dates[0] + ' to ' + dates[-1] if len(dates) > 1 else ''.join(dates)}; {'; '.join(machines)}."
        ),
        "",
        "| check | parts | planted bugs | minutes of pieces |",
        "| --- | ---: | ---: | ---: |",
        *(
            f"| {check.number}. {check.title} | {sum(not row['part'].planted for row in found)} | "
            f"{sum(row['part'].planted for row in found)} | {minutes[check.name]:.1f} |"
            for check, found in checks
        ),
        "",
    ]
    for check, found in checks:
        text += section(check, found)
    text += ["## Limits", ""]
    for check, _ in checks:
        text += lines(f"**{check.title}.** {check.limits[0].upper()}{check.limits[1:]}", "* ") if check.limits else []
    return "\n".join([*text, ""])
