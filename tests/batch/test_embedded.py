"""Reports in a column of another tool's table: the batch's integers, every cell accounted for, and nothing shown."""

import csv
import json
import random

import pandas
import polars
import pyarrow
import pytest

from rrcollect import ParameterError, Report
from rrcollect.errors import BadSignature
from server_agg import tally_reports
from server_agg.errors import BadColumn, UnreadableReports
from tests.inside.publish import canonical
from tests.support.batch_reference import (
    CLOSED,
    DESIGNS,
    KEY,
    OPEN,
    PUBLICATION,
    SURVEYS,
    faulty_rows,
    generated,
    reference,
    reports,
)
from tests.support.command_line import main, run
from tests.support.devices import POLICY, client, envelope, question

COLUMN = "rr_doped"


def cell(report: Report) -> str:
    return report.to_bytes().decode()


def carried(row: dict) -> str | None:
    """A row as the cell that says it; None where JSON objects do not stand for its design and segments."""
    objects = {}
    for name in ("design", "segments"):
        try:
            objects[name] = json.loads(row[name]) if row[name] is not None else None
        except ValueError:
            return None
        if objects[name] is not None and not isinstance(objects[name], dict):
            return None
    return canonical({**row, **objects}).decode()


def read_again(text: str) -> dict:
    """The row that a cell says."""
    value = json.loads(text)
    objects = {name: value[name] for name in ("design", "segments") if value[name] is not None}
    return value | {name: canonical(given).decode() for name, given in objects.items()}


def cells_of(rows: list[dict]) -> list[str]:
    return [text for text in map(carried, rows) if text is not None]


def check(result, cells: list[str]) -> None:
    tallies, repeated, refused = reference([read_again(text) for text in cells])
    assert result.summary.refused == refused
    assert result.tallies == tallies
    assert (result.summary.rows, result.summary.repeated) == (len(cells), repeated)


# ---- the same rules ------------------------------------------------------------------------------------------------


def test_every_fault_is_named_as_the_batch_names_it():
    cells = cells_of(faulty_rows())
    result = tally_reports({COLUMN: cells}, SURVEYS, column=COLUMN)
    check(result, cells)
    assert len(result.summary.refused) == 10  # all that a row can have by itself, but for malformed


@pytest.mark.parametrize("frame", [dict, pandas.DataFrame, polars.DataFrame, polars.LazyFrame, pyarrow.table])
def test_repeats_conflicts_and_tickets_are_those_of_the_reference_in_every_frame(frame):
    cells = cells_of(generated(random.Random(7), 300))
    result = tally_reports(frame({"age": list(range(len(cells))), COLUMN: cells}), SURVEYS, column=COLUMN)
    check(result, cells)
    assert {"conflicting_id", "ticket_reused"} <= set(result.summary.refused)


def test_a_count_that_forgets_repeats_is_caught():
    """The planted bug: every cell taken as a report of its own."""
    cells = cells_of(generated(random.Random(7), 300))
    assert tally_reports({COLUMN: list(dict.fromkeys(cells))}, SURVEYS, column=COLUMN).summary.rows < len(cells)
    with pytest.raises(AssertionError):
        check(tally_reports({COLUMN: list(dict.fromkeys(cells))}, SURVEYS, column=COLUMN), cells)


def test_the_same_reports_as_json_lines_give_the_same_result(tmp_path):
    told = reports(5) + reports(3) + reports(2, survey="0" * 64)
    (tmp_path / "reports.jsonl").write_bytes(b"\n".join(report.to_bytes() for report in told))
    found = tally_reports({COLUMN: [cell(report) for report in told]}, OPEN, column=COLUMN)
    assert found == tally_reports(tmp_path / "reports.jsonl", OPEN)
    assert str(found.summary) == "10 rows read: 5 accepted, 3 repeated, 2 refused (2 unknown_survey)"


def test_several_reports_in_a_cell_and_several_columns_are_one_batch():
    one, two, other = reports(1)[0], reports(2)[1], reports(3, answer="0")
    table = {"a": [f"{cell(one)}\r\n{cell(two)}\n", None], "b": [cell(one), cell(other[2])]}
    result = tally_reports(table, OPEN, column=["a", "b"])
    assert str(result.summary) == "4 rows read: 3 accepted, 1 repeated, 0 refused"
    assert result.tallies.one().ones == 2
    conflict = tally_reports({"a": [cell(one)], "b": [cell(other[0])]}, OPEN, column=["a", "b"])
    assert conflict.summary.refused == {"conflicting_id": 2}


def test_who_did_not_answer_is_not_a_row():
    for missing in ("", None, float("nan")):
        found = tally_reports(pandas.DataFrame({COLUMN: [cell(reports(1)[0]), missing]}), OPEN, column=COLUMN)
        assert (found.summary.rows, found.summary.accepted) == (1, 1)
    assert tally_reports({COLUMN: [None]}, OPEN, column=COLUMN).summary.rows == 0


# ---- what is not a report ------------------------------------------------------------------------------------------

GOOD = cell(reports(1)[0])
BROKEN = {
    "plain truth": "yes-secret",
    "cut off": GOOD[:-5],
    "another order": json.dumps(dict(reversed(json.loads(GOOD).items()))),
    "blanks": json.dumps(json.loads(GOOD)),
    "a field more": canonical(json.loads(GOOD) | {"person": "ana"}).decode(),
    "a field less": canonical({k: v for k, v in json.loads(GOOD).items() if k != "ticket"}).decode(),
    "a number for an answer": canonical(json.loads(GOOD) | {"answer": 1}).decode(),
    "true for a round": canonical(json.loads(GOOD) | {"round": True}).decode(),
    "text for a design": canonical(json.loads(GOOD) | {"design": DESIGNS["q1"].text}).decode(),
    "too long": canonical(json.loads(GOOD) | {"segments": {"region": "x" * 9000}}).decode(),
    "half a character": GOOD.replace('"q1"', '"\ud800"'),
    "another list": "[1]",
    "a heading": '{"ImportId":"QID1"}',
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_what_is_not_a_report_is_found_and_not_shown(broken):
    with pytest.raises(
        UnreadableReports, match=r"row 1 \(the first is 0\): column 'rr_doped' holds what is not a"
    ) as told:
        tally_reports({COLUMN: [GOOD, broken]}, OPEN, column=COLUMN)
    assert "secret" not in str(told.value)
    found = tally_reports({COLUMN: [GOOD, broken, broken]}, OPEN, column=COLUMN, lenient=True)
    assert (found.summary.accepted, found.summary.refused) == (1, {"malformed": 2})


def test_a_cell_that_is_not_text_is_not_a_report():
    with pytest.raises(UnreadableReports):
        tally_reports({COLUMN: [1, 0]}, OPEN, column=COLUMN)
    assert tally_reports({COLUMN: [1, 0, True]}, OPEN, column=COLUMN, lenient=True).summary.refused == {"malformed": 3}


def test_the_refused_are_written_with_their_reasons(tmp_path):
    path = tmp_path / "refused.parquet"
    told = [GOOD, "x", cell(reports(2, survey="0" * 64)[1])]
    tally_reports({COLUMN: told}, OPEN, column=COLUMN, lenient=True, refused_to=path)
    assert sorted(polars.read_parquet(path)["reason"]) == ["malformed", "unknown_survey"]


def test_bad_arguments_are_named():
    sent = OPEN.model_copy(update={"collector": "https://collect.example.org/reports"})
    with pytest.raises(ParameterError, match="go to https://collect.example.org/reports, one by one, and people were"):
        tally_reports({COLUMN: [GOOD]}, sent, column=COLUMN)
    with pytest.raises(BadColumn, match="'rr_dopde' is missing: use one of 'rr_doped'"):
        tally_reports({COLUMN: [GOOD]}, OPEN, column="rr_dopde")
    with pytest.raises(ParameterError, match="surveys"):
        tally_reports({COLUMN: [GOOD]}, [], column=COLUMN)
    with pytest.raises(ParameterError, match="column"):
        tally_reports({COLUMN: [GOOD]}, OPEN, column=[])
    with pytest.raises(BadSignature):
        tally_reports(
            {COLUMN: [GOOD]}, PUBLICATION.envelope.replace(b"e", b"f", 1), column=COLUMN, trusted=[KEY.public]
        )


# ---- the device that made them -------------------------------------------------------------------------------------


def test_the_device_explains_and_charges_the_sum(tmp_path):
    asked = [question(), question(id="q2", attribute="pressed")]
    signed = envelope(*asked, collector="carried")
    told = POLICY.accept(signed).explain()
    assert "It can tell that they come from one person" in told
    assert "at most 9 times" in told  # ln 3 + ln 3
    mine = client(tmp_path, attributes=["doped", "pressed"])
    accepted = mine.accept(signed)
    row = "\n".join(cell(mine.answer(accepted, q.id, True)) for q in asked)
    assert "at most 9 times" in mine.budget().explain()
    assert mine.deliver().delivered == 0
    result = tally_reports({COLUMN: [row]}, signed, column=COLUMN, trusted=[*POLICY.publishers[0].keys])
    assert result.summary.accepted == 2


def test_the_command_counts_a_csv_of_another_tool(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "survey.json").write_bytes(PUBLICATION.envelope)
    (tmp_path / "key.pub").write_bytes(KEY.public.to_pem())
    with (tmp_path / "responses.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", COLUMN], ["", '{"ImportId":"QID1"}'], *enumerate(map(cell, reports(40)))])
    signed = ["--column", COLUMN, "survey.json", "--trust", "key.pub"]
    code, out, err = run(capsys, "tally", "responses.csv", *signed)
    assert (code, out) == (3, "")
    assert "responses.csv, line 2: column 'rr_doped' holds what is not a report; `rrcollect tally --lenient`" in err
    code, out, err = run(capsys, "tally", "responses.csv", *signed, "--lenient", "--out", "tallies.json")
    assert code == 0, err
    assert "41 rows read: 40 accepted, 0 repeated, 1 refused (1 malformed)" in out
    assert main(["estimate", "tallies.json"]) == 0
    assert run(capsys, "tally", "a.csv", "b.csv", *signed)[0] == 2
    assert run(capsys, "tally", "responses.csv", "--column", COLUMN)[0] == 2


def test_the_invited_are_counted_too():
    told = [Report(CLOSED.digest, "q1", DESIGNS["q1"], "1", id=i * 32, ticket=t * 32) for i, t in ("12", "32", "45")]
    found = tally_reports({COLUMN: [cell(report) for report in told]}, CLOSED, column=COLUMN)
    assert (found.summary.accepted, found.summary.refused) == (1, {"ticket_reused": 2})
