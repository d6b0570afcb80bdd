"""Reports that travelled in a column of another tool: what a survey tool exports, counted by the same rules.

Rules
1. A cell holds a report as the device made it: its canonical JSON text, or several of them, one per line.  An empty or
   missing cell is a person who did not answer; it is not a row of the account.
2. The rows are judged by the batch (`tally_reports`): equal ids are one report, foreign surveys are refused by name,
   and every report is accounted for.  What is not a report is an error that says where it stands, or under `lenient`
   is counted as malformed.
3. Only surveys whose collector is "carried" are counted.  A row of such a table joins a person's answers, so their
   devices charged them as a sum and said so; of any other survey people were told that answers travel one by one.
4. Nothing is said about a crowd (`central_privacy`): it needs reports that cannot be told apart by person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rrcollect.errors import ParameterError, RRCollectError
from rrcollect.lazy import extra
from rrcollect.publish.canonical import canonical, read_canonical
from rrcollect.publish.document import CARRIED
from rrcollect.publish.report import LARGEST_REPORT, ReportRow
from rrcollect.publish.survey import Survey
from server_agg.columns import count_rows
from server_agg.errors import UnreadableReports

MALFORMED = ReportRow(*(None,) * 8)._replace(round="not a report")  # type: ignore[arg-type]  # which the batch calls so
OBJECTS, NUMBER = ("design", "segments"), "round"


def refuse_collected(surveys: Iterable[Survey]) -> None:
    """Raise if answers of one of these surveys do not travel with another tool."""
    for survey in surveys:
        if survey.collector != CARRIED:
            allowed = f"a survey whose collector is {CARRIED!r}: the answers of this one go to {survey.collector}"
            raise ParameterError("surveys", survey.name, f"{allowed}, one by one, and people were told so")


def rows_of_columns(data: Any, column: str | Sequence[str], encoding: str, *, lenient: bool) -> Any:
    """The reports in a column (or several) of a table, as an Arrow table of rows.

    >>> from rrcollect import Design, Report
    >>> told = [Report("0" * 64, "q1", Design("3/4", "3/4"), answer, id=32 * answer) for answer in "10"]
    >>> cells = [report.to_bytes().decode() for report in told]
    >>> table = {"age": [31, 44, 27, 44], "rr_doped": [cells[0], cells[1], None, cells[1]]}
    >>> rows_of_columns(table, "rr_doped", "utf-8", lenient=False)["answer"].to_pylist()
    ['1', '0', '0']
    """
    names = [column] if isinstance(column, str) else list(column)
    if not names:
        raise ParameterError("column", column, "the name of a column, or several")
    rows = [row for name in names for row in _rows(data, name, encoding, lenient=lenient)]
    arrow = extra("pyarrow", "data")
    schema = arrow.schema([(name, arrow.string()) for name in ReportRow._fields])
    return arrow.Table.from_pylist([row._asdict() for row in rows], schema=schema)


def _rows(data: Any, column: str, encoding: str, *, lenient: bool) -> Iterator[ReportRow]:
    """The rows of a column, each as often as it stands there; `round` as text, which the batch reads."""
    found = count_rows(data, [column], encoding)
    for (cell,), times in found.counts.items():
        if cell is None or cell == "":
            continue
        for line in re.split(r"[\r\n]+", cell) if isinstance(cell, str) else [cell]:
            if isinstance(line, str) and not line.strip():
                continue
            row = _row(line)
            if row is None:
                if not lenient:
                    raise UnreadableReports(found.where(cell), None, f"column {column!r} holds what is not a report")
                row = MALFORMED
            yield from [row] * times


def _row(text: object) -> ReportRow | None:
    """The row of a report's canonical text; None if it is not one."""
    try:
        value = read_canonical(text.encode(), LARGEST_REPORT) if isinstance(text, str) else None
    except (RRCollectError, UnicodeEncodeError):
        return None
    if not isinstance(value, dict) or set(value) != set(ReportRow._fields):
        return None
    cells: dict[str, Any] = {}
    for name, given in value.items():
        kind = dict if name in OBJECTS else int if name == NUMBER else str
        if given is not None and type(given) is not kind:
            return None
        cells[name] = given if given is None or kind is str else canonical(given).decode()
    return ReportRow(**cells)
