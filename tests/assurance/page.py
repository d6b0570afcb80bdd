"""docs/assurance.md, made of the recorded evidence: one table, then the claims with their limits.

Rules
1. The page contains nothing that is not in `tests/assurance/results` or in the words of a check.
2. A line for each part, with as many of its figures as fit, and one for all planted bugs of a check; everything is in
   the files.
3. What failed, is missing or was recorded for other sources is said, by name.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from tests.assurance.check import Check, Figure

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


def part_line(row: Row, check: Check) -> str:
    """A part with as many of its figures as a line holds.

    >>> from tests.assurance.check import Outcome, Part
    >>> part = Part("search", lambda piece, step: Outcome(True))
    >>> check = Check(7, "sample", "Sample", "All is well.", (), lambda size: [part])
    >>> part_line({"part": part, "missing": 0, "stale": [], "outcome": Outcome(True, {"promises": 1000})}, check)
    '| 7 | search | held | 1,000 promises |'
    """
    old = ", older sources" if row["stale"] else ""
    start, told = f"| {check.number} | {row['part'].name} | {verdict(row)}{old} | ", ""
    for what, value in row["outcome"].figures.items():
        said = f"{shown(value)} {what}" if isinstance(value, int) else f"{what}: {shown(value)}"
        longer = f"{told}; {said}" if told else said
        if len(start) + len(longer) + 2 > WIDEST:
            break
        told = longer
    return f"{start}{told} |".replace("|  |", "| |")


def planted_lines(found: list[Row], check: Check) -> list[str]:
    """All planted bugs of a check in one line, and a line for each that was not caught."""
    bugs = [row for row in found if row["part"].planted]
    good = [row for row in bugs if row["outcome"].passed and not row["missing"]]
    old = sum(bool(row["stale"]) for row in good)
    of_old = f", {old} of them of older sources" if old else ""
    bad = [part_line(row, check).replace("| ", "| planted bug: ", 2).replace("| planted bug: ", "| ", 1)
           for row in bugs if row not in good]  # fmt: skip
    return [f"| {check.number} | planted bugs | {len(good)} of {len(bugs)} caught{of_old} | |", *bad] if bugs else []


def claim(check: Check, found: list[Row]) -> list[str]:
    """What a check claims, what it does not show, and what is to be said of its parts."""
    limits = f" *Limits:* {check.limits}" if check.limits else ""
    text = lines(
        f"**{check.number}. {check.title}** (`python -m tests.assurance {check.name}`). {check.claim}{limits}", "* "
    )
    for row in found:
        if row["outcome"].remark and not row["part"].planted:
            text += lines(f"{row['part'].name}: {row['outcome'].remark}", "  * ")
    stale = sorted({file for row in found for file in row["stale"]})
    if stale:
        more = f" and {len(stale) - 3} other files" if len(stale) > 3 else ""
        text += lines(f"recorded in part for an earlier version of {', '.join(stale[:3])}{more}", "  * ")
    return text


def page(checks: list[tuple[Check, list[Row]]]) -> str:
    """The page."""
    rows = [row for _, found in checks for row in found]
    fresh = [row for row in rows if row["outcome"].passed and not row["missing"] and not row["stale"]]
    caught, bugs = (sum(row["part"].planted for row in some) for some in (fresh, rows))
    old = sum(bool(row["stale"]) for row in rows)
    machines = sorted({m for row in rows for m in row["machines"]})
    dates = sorted({d for row in rows for d in row["dates"]})
    minutes = sum(row["seconds"] for row in rows) / 60
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
            f"{dates[0] + ' to ' + dates[-1] if len(dates) > 1 else ''.join(dates)}; {minutes:.0f} minutes of one "
            f"core; {'; '.join(machines)}."
        ),
        "",
        "| check | part | found | figures |",
        "| ---: | --- | --- | --- |",
    ]
    for check, found in checks:
        text += [part_line(row, check) for row in found if not row["part"].planted] + planted_lines(found, check)
    text += ["", "## Claims and limits", ""]
    for check, found in checks:
        text += claim(check, found)
    compared = {name: cells for _, found in checks for row in found for name, cells in row["outcome"].rows.items()}
    if compared:
        text += ["", "## What clients claim, and what was audited", "", *table(compared)]
    return "\n".join([*text, ""]).replace("\n\n\n", "\n\n")
