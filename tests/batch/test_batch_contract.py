"""The contract: every engine gives the reference's integers, and accounts for every row."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import narwhals.stable.v2 as nw
import pandas as pd
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrcollect import Survey
from server_agg import BatchResult, Tallies, Tally, tally_reports
from tests.inside.batch import NUMBER_OF, Summary, SurveyTables
from tests.inside.batch import frame_engine as frames
from tests.inside.publish import COMPARED, Segment
from tests.support import engines
from tests.support.batch_contract import OWN, check, check_lenient, covering, readable, refusal, rows_of
from tests.support.batch_reference import (
    CLOSED,
    DESIGNS,
    OPEN,
    SURVEYS,
    any_set,
    generated,
    reasons_of,
    row,
    wide_survey,
)  # fmt: skip

ANY_ROW = st.builds(
    row,
    survey=st.sampled_from([OPEN.digest, OPEN.digest, CLOSED.digest, "0" * 64, None]),
    question=st.sampled_from(["q1", "q1", "q2", "q3", "q4", None]),
    round=st.sampled_from([0, 0, 1, 2, 3, -1, None]),
    design=st.sampled_from(
        [DESIGNS["q1"].text, DESIGNS["q1"].text, DESIGNS["q2"].text, DESIGNS["q4"].text, "3/4", None]
    ),
    answer=st.sampled_from(["0", "1", "0", "1", "2", "00", "11000", "01001", "11100", None]),
    id=st.one_of(
        st.sampled_from(["0" * 32, "a" * 32, "b" * 32]),
        st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=33),
    ),
    ticket=st.one_of(
        st.none(),
        st.sampled_from(["1" * 32, "2" * 32, "'=x", "=1"]),
        st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=3),
    ),
    segments=st.sampled_from(["{}", "{}", '{"region":"north"}', '{"region":"=1+1"}', '{"x":"y"}', None]),
)
ENGINES = [*engines.QUICK, engines.dask]
IN_SQL = (*engines.FILES, engines.relation)  # what they cannot read is in test_batch_faults.py


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e.__name__)
@pytest.mark.parametrize("seed", [1, 2])
def test_generated_rows(engine: Any, seed: int, tmp_path: Path) -> None:
    rows = rows_of(seed, engine)
    check(tally_reports(engine(rows, tmp_path), SURVEYS), rows)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e.__name__)
def test_no_rows(engine: Any, tmp_path: Path) -> None:
    result = tally_reports(engine([], tmp_path), SURVEYS)
    assert (result.summary.rows, len(result.tallies)) == (0, 0)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e.__name__)
def test_earlier_rows_are_not_counted_again(engine: Any, tmp_path: Path) -> None:
    rows = rows_of(3, engine)
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    old, new = rows[:600], rows[400:]  # two hundred rows are in both
    if engine is engines.relation:
        source, earlier = _two_relations(new, old)
    else:
        source, earlier = engine(new, tmp_path / "new"), engine(old, tmp_path / "old")
    check(tally_reports(source, SURVEYS, earlier=earlier), new, old)


def _two_relations(new: list[dict[str, Any]], old: list[dict[str, Any]]) -> tuple[Any, Any]:
    import duckdb

    connection = duckdb.connect()
    for name, rows in (("new", new), ("old", old)):
        connection.register(f"given_{name}", engines.arrow_table(rows))
        connection.execute(f"CREATE TABLE kept_{name} AS FROM given_{name}")
    return connection.table("kept_new"), connection.table("kept_old")


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e.__name__)
@pytest.mark.parametrize("surveys", [SURVEYS, (OPEN,)], ids=["invited", "open"])
def test_without_deduplication_every_row_counts(engine: Any, surveys: tuple[Survey, ...], tmp_path: Path) -> None:
    rows = rows_of(4, engine)
    rows = [row for row in rows if surveys is SURVEYS or row["survey"] != CLOSED.digest]
    for number, one in enumerate(rows):  # so that the reference has nothing to compare
        one["id"] = f"{number:032x}"
        one["ticket"] = f"{number:032x}" if one["ticket"] else None
    check(tally_reports(engine(rows, tmp_path), surveys, deduplicate=False), rows)
    assert any(one["ticket"] and one["survey"] == OPEN.digest for one in rows)


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # Dask's own, of pandas
@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e.__name__)
@pytest.mark.parametrize("tickets", [True, False])
def test_refused_rows_are_written_with_their_reason(engine: Any, tickets: bool, tmp_path: Path) -> None:
    rows = rows_of(5, engine)
    if not tickets:
        rows = [row for row in rows if row["ticket"] is None]
    (tmp_path / "in").mkdir()
    out = tmp_path / "refused.parquet"
    check(tally_reports(engine(rows, tmp_path / "in"), SURVEYS, refused_to=out), rows)
    told = zip(rows, reasons_of(rows), strict=True)
    expected = Counter(refusal(row, reason) for row, reason in told if reason not in (None, "repeated"))
    assert Counter(refusal(row, row.pop("reason")) for row in pq.read_table(out).to_pylist()) == expected


@pytest.mark.parametrize("engine", [e for e in ENGINES if e not in IN_SQL], ids=lambda e: e.__name__)
def test_rounds_that_are_not_whole_are_malformed(engine: Any, tmp_path: Path) -> None:
    rows = rows_of(6)
    check_lenient(engine(rows, tmp_path), rows)


@pytest.mark.parametrize(
    "engine", [engines.relation, engines.polars, engines.pyarrow, engines.pandas], ids=lambda e: e.__name__
)
def test_rounds_of_every_width_of_integer(engine: Any, tmp_path: Path) -> None:
    rows = [row for row in generated(random.Random(6), 200) if row["round"] in (0, 1, 2, 3, None)]
    table = engines.arrow_table(rows)
    for kind in (pa.int8(), pa.uint8(), pa.int32(), pa.uint64()):
        place = table.schema.get_field_index("round")
        typed = table.set_column(place, "round", table["round"].cast(kind))
        if engine is engines.relation:
            connection = duckdb.connect()
            connection.register("given", typed)
            source = connection.table("given")
        elif engine is engines.polars:
            source = polars.from_arrow(typed)
        else:
            source = typed if engine is engines.pyarrow else typed.to_pandas(types_mapper=pd.ArrowDtype)
        check(tally_reports(source, SURVEYS), rows)


@settings(max_examples=40)
@given(st.data())
def test_any_rows_on_the_quick_engines(data: st.DataObject) -> None:
    """Small alphabets, so that ids, invites and contents collide all the time."""
    rows = data.draw(st.lists(ANY_ROW, max_size=12))
    earlier = data.draw(st.lists(ANY_ROW, max_size=4))
    engine = data.draw(
        st.sampled_from([engines.polars, engines.pyarrow, engines.parquet, engines.comma, engines.jsonl])
    )
    rows, earlier = readable(engine, rows), readable(engine, earlier)
    with tempfile.TemporaryDirectory() as new, tempfile.TemporaryDirectory() as old:
        result = tally_reports(engine(rows, Path(new)), SURVEYS, earlier=engine(earlier, Path(old)))
    check(result, rows, earlier)


def test_more_segments_than_are_listed_beforehand(tmp_path: Path) -> None:
    many = OPEN.model_copy(
        update={"segments": {f"s{i}": Segment.model_validate([f"v{j}" for j in range(9)]) for i in range(6)}}
    )
    assert not SurveyTables.of([many]).enumerated
    texts = ["{}", '{"s0":"v1"}', '{"s0":"v1","s5":"v8"}', '{"s0":"v9"}', '{"s6":"v1"}', '{"s5":"v8","s0":"v1"}', "{"]
    rows = [row(survey=many.digest, id=f"{i:032x}", segments=text) for i, text in enumerate(texts * 3)]
    for engine in (engines.parquet, engines.relation, engines.polars_lazy, engines.pandas):
        (tmp_path / engine.__name__).mkdir()
        result = tally_reports(engine(rows, tmp_path / engine.__name__), many)
        assert result.summary.refused == {"undeclared_segment": 12}
        assert [tally.n for tally in result.tallies.values()] == [3, 3, 3]


@pytest.mark.parametrize("engine", [engines.parquet, engines.polars, engines.pandas], ids=lambda e: e.__name__)
def test_two_hundred_options(engine: Any, tmp_path: Path) -> None:
    """The widest answers, beside yes/no ones: column sums bit by bit, in several passes over an eager frame."""
    wide = wide_survey(200, 60)
    source = random.Random(9)
    design = wide.question("wide").design
    rows = [
        row(survey=wide.digest, question="wide", design=design.text, answer=any_set(source, 200, 60), id=f"{i:032x}")
        for i in range(60)
    ]
    rows += [row(survey=wide.digest, answer=source.choice("01"), id=f"{i:032x}") for i in range(1000, 1040)]
    for deduplicate in (True, False):
        result = tally_reports(engine(rows, tmp_path), wide, deduplicate=deduplicate)
        counted = result.tallies.where(question="wide").one()
        answers = [one["answer"] for one in rows if one["question"] == "wide"]
        assert counted == Tally(design, 60, [sum(int(text[j]) for text in answers) for j in range(200)])
        assert result.tallies.where(question="q1").one().n == 40


# ---- planted bugs: engines with the mistakes that such engines make; the same check must catch each -----------------


def _planted(rows: list[dict[str, Any]], mistake: str) -> BatchResult:
    """The right result with one mistake in it."""
    result = tally_reports(engines.polars(rows, Path()), SURVEYS)
    refused = dict(result.summary.refused)
    tallies = dict(result.tallies)
    if mistake == "drops conflicting repeats silently":
        refused.pop("conflicting_id")
    if mistake == "keeps the first of conflicting repeats":
        key = next(key for key in tallies if key.question == "q1")
        refused["conflicting_id"] -= 1
        tallies[key] = Tally(key.design, tallies[key].n + 1, tallies[key].ones)
    if mistake == "sums booleans as null":
        tallies |= {key: Tally(key.design, tally.n, 0) for key, tally in tallies.items() if key.design.width == 1}
    if mistake == "pools two designs":
        plain = [key for key in tallies if not key.segments and key.round == 0 and key.survey == OPEN.digest]
        first, second = [key for key in plain if key.question in ("q1", "q2")]
        added = tallies.pop(second)
        tallies[first] = Tally(first.design, tallies[first].n + added.n, tallies[first].ones + added.ones)
    if mistake == "counts the bits of a set from the other end":
        sets = {key: tally for key, tally in tallies.items() if len(tally) > 1}
        tallies |= {key: Tally(key.design, tally.n, tally.counts[::-1]) for key, tally in sets.items()}
    if mistake == "moves an answer to the last option":
        long = next(key for key, tally in tallies.items() if key.question == "q5" and tally.counts[19] < tally.n)
        first = next(j for j in range(20) if tallies[long].counts[j])
        counts = list(tallies[long].counts)
        counts[first], counts[19] = counts[first] - 1, counts[19] + 1
        tallies[long] = Tally(long.design, tallies[long].n, counts)
    total = sum(tally.n for tally in tallies.values())
    summary = result.summary
    rows_told = total + summary.repeated + sum(refused.values())
    return BatchResult(Tallies(tallies), Summary(rows_told, total, summary.repeated, refused))


@pytest.mark.parametrize(
    "mistake",
    [
        "drops conflicting repeats silently",
        "keeps the first of conflicting repeats",
        "sums booleans as null",
        "pools two designs",
        "counts the bits of a set from the other end",
        "moves an answer to the last option",
    ],
)
def test_a_mistaken_engine_is_caught(mistake: str) -> None:
    rows = generated(random.Random(7), 400)
    check(_planted(rows, "none"), rows)
    with pytest.raises(AssertionError):
        check(_planted(rows, mistake), rows)


@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        ("_grouped_by_id", lambda ids: ids.filter(nw.col("fault") != NUMBER_OF["conflicting_id"])),
        ("_tickets_once", lambda ids: ids),
    ],
)
def test_an_engine_with_a_broken_rule_is_caught(rule: str, broken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = getattr(frames, rule)
    if rule == "_tickets_once":
        monkeypatch.setattr(frames, rule, broken)
    else:
        monkeypatch.setattr(frames, rule, lambda *given, **options: broken(whole(*given, **options)))
    rows = generated(random.Random(8), 400)
    with pytest.raises((AssertionError, ValueError)):
        check(tally_reports(engines.polars(rows, Path()), SURVEYS), rows)


def test_an_engine_that_rounds_what_is_not_whole_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of(6)
    whole = frames._read
    check_lenient(engines.polars(rows, Path()), rows)

    def rounded(column: str, kind: Any) -> tuple[Any, Any]:
        if column != "round":
            return whole(column, kind)
        return nw.col(column).fill_null(-1).cast(nw.Int64), nw.lit(False)

    monkeypatch.setattr(frames, "_read", rounded)
    with pytest.raises(AssertionError):
        check_lenient(engines.polars(rows, Path()), rows)


@pytest.mark.parametrize("reason", [*OWN, *COMPARED])
def test_rows_without_a_reason_are_not_taken_for_the_contract_s(reason: str) -> None:
    rows = rows_of(1)
    told = zip(rows, reasons_of(rows), strict=True)
    with pytest.raises(AssertionError):
        covering([row for row, why in told if why != reason])
