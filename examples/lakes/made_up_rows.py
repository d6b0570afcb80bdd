"""The survey and the reports that the examples of this folder count: made up, so that every number can be checked."""

from datetime import UTC, datetime

import pyarrow as pa

from rrcollect import Design, Question, Report, Survey

DESIGN = Design("3/4", "3/4")
SURVEY = Survey(
    name="clean-sport",
    version=1,
    title="Clean sport",
    publisher="Example Institute",
    collector="https://collect.example.org/reports",
    expires=datetime(2100, 1, 1, tzinfo=UTC),
    questions=[Question(id="doped", attribute="doped", text="Have you ever doped?", design=DESIGN)],
)


def rows(start: int, n: int) -> pa.Table:
    """n reports with ids from `start` on, two of five yes."""
    reports = [
        Report(survey=SURVEY.digest, question="doped", design=DESIGN, answer=str(int(i % 5 < 2)), id=f"{i:032x}")
        for i in range(start, start + n)
    ]
    kinds = {"round": pa.int64()}
    names = reports[0].row._fields
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in names])
    return pa.Table.from_pylist([report.row._asdict() for report in reports], schema=schema)
