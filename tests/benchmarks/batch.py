"""Batch aggregation against what one would write by hand.  Run: python -m tests.benchmarks.batch"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal

import duckdb
import numpy as np
import pyarrow
from pydantic import BaseModel

from rrcollect import Choice, Design, Question, SetDesign, Survey, randomise_many
from server_agg import tally_reports
from tests.benchmarks.measure import Contestants, interleave, tell
from tests.benchmarks.report import show
from tests.benchmarks.section import FULL, Curve, Effort, Section, compare, rates
from tests.inside.count import count_ones
from tests.inside.design import best_for_options

ROWS_OF_A_RUN = 3_000_000
# At most 1.25 × the time of hand-written SQL is a ratio of at least 0.8.
FLOORS: dict[tuple[str, str], float | None] = {
    ("Parquet, deduplicated", "hand-written SQL"): 0.8,
    ("Parquet, as they are", "bare GROUP BY"): 0.8,
    ("sets of 10 options, deduplicated", "Parquet, deduplicated"): 1 / 3,
    ("sets of 10 options, as they are", "Parquet, as they are"): 1 / 3,
    ("sets of 100 options, deduplicated", "Parquet, deduplicated"): None,
    ("JSON lines", "a pydantic loop"): 10,
    ("JSON lines", "hand-written SQL on JSON lines"): None,
    ("packed bits", "unpackbits().sum()"): 20,
    ("packed bits", "bitwise_count(words).sum()"): None,
    ("packed bits", "one pass over the bytes (max)"): None,
}
FAR = datetime(2100, 1, 1, tzinfo=UTC)
SURVEY = Survey(
    name="bench", version=1, title="Bench", publisher="Bench", expires=FAR, collector="https://collect.example.org/reports",
    questions=[
        Question(id="q1", attribute="a1", text="One?", design=Design("3/4", "3/4")),
        Question(id="q2", attribute="a2", text="Two?", design=Design("3/4", "5/8"), rounds=3),
    ],
    segments={"region": ["north", "south", "east", "west"]},
)  # fmt: skip

# One row in a hundred is a repeat, one in a thousand contradicts another, one in a thousand has a wrong matrix.
ROWS = f"""
    SELECT '{SURVEY.digest}' AS survey, CASE WHEN i % 3 = 0 THEN 'q2' ELSE 'q1' END AS question,
           (CASE WHEN i % 3 = 0 THEN i % 9 // 3 ELSE 0 END)::BIGINT AS round,
           '{{"p00":"3/4","p11":"' || CASE WHEN i % 1000 = 7 THEN '1/2' WHEN i % 3 = 0 THEN '5/8' ELSE '3/4' END
           || '"}}' AS design, (hash(i) % 2)::VARCHAR AS answer,
           md5((CASE WHEN t % 100 = 1 THEN t - 1 ELSE t END)::VARCHAR) AS id, NULL::VARCHAR AS ticket,
           '{{"region":"' || ['north', 'south', 'east', 'west'][1 + i % 4] || '"}}' AS segments
    FROM (SELECT t, CASE WHEN t % 100 = 1 AND t % 1000 <> 1 THEN t - 1 ELSE t END AS i FROM range($n) AS r(t))"""  # noqa: S608

WIRE = """SELECT answer, design::JSON AS design, id, question, round, segments::JSON AS segments, survey, ticket
    FROM rows"""

# What one would write by hand for exactly this survey.
BY_HAND = f"""
    WITH judged AS (
        SELECT id, question, round, answer, segments, CASE
            WHEN survey IS NULL OR survey <> '{SURVEY.digest}' THEN 'unknown_survey'
            WHEN question IS NULL OR question NOT IN ('q1', 'q2') THEN 'unknown_question'
            WHEN design IS DISTINCT FROM CASE question WHEN 'q1' THEN '{{"p00":"3/4","p11":"3/4"}}'
                ELSE '{{"p00":"3/4","p11":"5/8"}}' END THEN 'wrong_design'
            WHEN round IS NULL OR round < 0 OR round >= CASE question WHEN 'q1' THEN 1 ELSE 3 END THEN 'unknown_round'
            WHEN answer IS NULL OR answer NOT IN ('0', '1') THEN 'bad_answer'
            WHEN segments IS NULL OR segments NOT IN ('{{}}', '{{"region":"north"}}', '{{"region":"south"}}',
                '{{"region":"east"}}', '{{"region":"west"}}') THEN 'undeclared_segment'
            WHEN ticket IS NOT NULL THEN 'unexpected_ticket'
            WHEN id IS NULL OR NOT regexp_full_match(id, '[0-9a-f]{{32}}') THEN 'bad_id' END AS reason
        FROM rows),
    ids AS (
        SELECT id, min(question) AS question, min(round) AS round, min(answer) AS answer, min(segments) AS segments,
               count(*) AS n, max(question) <> min(question) OR max(round) <> min(round) OR max(answer) <> min(answer)
               OR max(segments) <> min(segments) AS conflict
        FROM judged WHERE reason IS NULL GROUP BY id)
    SELECT question, round, segments, answer, NULL AS reason, count(*) AS reports, sum(n) AS rows
    FROM ids WHERE NOT conflict GROUP BY ALL
    UNION ALL SELECT NULL, NULL, NULL, NULL, 'conflicting_id', count(*), sum(n) FROM ids WHERE conflict
    UNION ALL SELECT NULL, NULL, NULL, NULL, reason, count(*), count(*) FROM judged WHERE reason IS NOT NULL
    GROUP BY reason
    """  # noqa: S608
READ_JSON = """SELECT survey, question, round, design::VARCHAR AS design, answer, id, ticket,
    segments::VARCHAR AS segments FROM read_json('{path}', format = 'newline_delimited', columns = {{
        answer: 'VARCHAR', design: 'JSON', id: 'VARCHAR', question: 'VARCHAR', round: 'BIGINT', segments: 'JSON',
        survey: 'VARCHAR', ticket: 'VARCHAR'}})"""
BARE = """SELECT survey, question, design, round, segments, count(*), count(*) FILTER (answer = '1') FROM rows
    GROUP BY ALL"""


class Matrix(BaseModel):
    p00: str
    p11: str


ID = re.compile(r"[0-9a-f]{32}")


class Line(BaseModel):
    answer: Literal["0", "1"]
    design: Matrix
    id: str
    question: str
    round: int
    segments: dict[str, str]
    survey: str
    ticket: str | None


def pydantic_loop(path: Path) -> Counter[tuple[object, ...]]:
    """The same by hand, a line at a time: read, judge by the survey, compare repeats of an id, count."""
    digest, published = (
        SURVEY.digest,
        {q.id: (str(q.design.column.p00), str(q.design.column.p11), q.rounds) for q in SURVEY.questions},
    )
    seen: dict[str, tuple[object, ...]] = {}
    conflicting: set[str] = set()
    with path.open("rb") as file:
        for text in file:
            line = Line.model_validate_json(text)
            if line.survey != digest or line.question not in published:
                continue
            p00, p11, rounds = published[line.question]
            if (line.design.p00, line.design.p11) != (p00, p11) or not 0 <= line.round < rounds:
                continue
            if line.ticket is not None or not ID.fullmatch(line.id):
                continue
            if any(value not in SURVEY.segment_values.get(name, ()) for name, value in line.segments.items()):
                continue
            content = line.question, p00, p11, line.round, tuple(sorted(line.segments.items())), line.answer
            if seen.setdefault(line.id, content) != content:
                conflicting.add(line.id)
    return Counter(content for report_id, content in seen.items() if report_id not in conflicting)


def write_rows(path: Path, n: int) -> None:
    with duckdb.connect(config={"temp_directory": str(path.parent), "preserve_insertion_order": False}) as connection:
        connection.execute(f"CREATE VIEW rows AS {ROWS.replace('$n', str(n))}")
        what = "rows" if path.suffix == ".parquet" else f"({WIRE})"
        options = "(FORMAT parquet)" if path.suffix == ".parquet" else "(FORMAT json)"
        connection.execute(f"COPY {what} TO '{path}' {options}")


def by_hand(path: Path, sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as connection:
        read = f"FROM read_parquet('{path}')" if path.suffix == ".parquet" else READ_JSON.format(path=path)
        connection.execute(f"CREATE VIEW rows AS {read}")
        return connection.execute(sql).fetchall()


def check_by_hand(path: Path) -> None:
    """The SQL by hand accepts as many as the library, and refuses as many for the same reasons."""
    result, found = tally_reports(path, SURVEY, progress=False), by_hand(path, BY_HAND)
    assert result.summary.accepted == sum(int(str(line[5])) for line in found if line[4] is None)
    assert result.summary.refused == {str(r[4]): int(str(r[6])) for r in found if r[4] is not None}


def parquet(path: Path, rows: int) -> Contestants:
    """Both ways of counting a Parquet file, ours and by hand, after a check that they count the same."""
    write_rows(path, rows)
    check_by_hand(path)
    return {
        "Parquet, deduplicated": (rows, lambda: tally_reports(path, SURVEY, progress=False)),
        "hand-written SQL": (rows, lambda: by_hand(path, BY_HAND)),
        "Parquet, as they are": (rows, lambda: tally_reports(path, SURVEY, deduplicate=False, progress=False)),
        "bare GROUP BY": (rows, lambda: by_hand(path, BARE)),
    }


def survey_of_sets(k: int) -> Survey:
    design, labels = best_for_options(1, k), tuple({"en": f"option {j}"} for j in range(k))
    asked = Question(id="q1", attribute="a1", text="Which?", design=design, kind=Choice(options=labels))
    return Survey(
        name="sets", version=1, title="Sets", publisher="Bench", expires=FAR, questions=[asked],
        collector="https://collect.example.org/reports", segments={"region": ["north", "south", "east", "west"]},
    )  # fmt: skip


def sets(path: Path, k: int, rows: int) -> tuple[Survey, int]:
    """A Parquet file of as many answers to a choice, with as many repeats and refusals as there are of bits."""
    survey, truths = survey_of_sets(k), np.arange(min(rows, 100_000)) % k
    design = survey.questions[0].design
    assert isinstance(design, SetDesign)
    drawn = pyarrow.table({"place": range(len(truths)), "text": list(randomise_many(truths, design).texts())})
    with duckdb.connect(config={"temp_directory": str(path.parent), "preserve_insertion_order": False}) as connection:
        connection.register("drawn", drawn)
        made = f"""
            SELECT '{survey.digest}' AS survey, 'q1' AS question, 0::BIGINT AS round,
                   CASE WHEN t % 1000 = 7 THEN '{{}}' ELSE '{design.text}' END AS design, text AS answer,
                   md5((CASE WHEN t % 100 = 1 THEN t - 1 ELSE t END)::VARCHAR) AS id, NULL::VARCHAR AS ticket,
                   '{{"region":"' || ['north', 'south', 'east', 'west'][1 + i % 4] || '"}}' AS segments
            FROM (SELECT t, CASE WHEN t % 100 = 1 AND t % 1000 <> 1 THEN t - 1 ELSE t END AS i
                  FROM range({rows}) AS r(t))
            JOIN drawn ON place = i % {len(truths)}"""  # noqa: S608
        connection.execute(f"COPY ({made}) TO '{path}' (FORMAT parquet)")
    return survey, rows


def choices(folder: Path, rows: int) -> Contestants:
    """Sets of options: how long counting them takes, beside as many bits."""
    found: Contestants = {}
    for k in (10, 100):
        path = folder / f"sets{k}.parquet"
        survey, n = sets(path, k, rows)
        tally = tally_reports(path, survey, progress=False).tallies
        assert all(sum(one.counts) == survey.questions[0].design.size * one.n for one in tally.values())  # type: ignore[attr-defined]
        for dedup in (True, False)[: 2 if k == 10 else 1]:
            name = f"sets of {k} options, {'deduplicated' if dedup else 'as they are'}"
            found[name] = n, partial(tally_reports, path, survey, deduplicate=dedup, progress=False)
    return found


def json_lines(path: Path, rows: int) -> Contestants:
    """The same for JSON lines: against a loop over a pydantic model, and the same SQL by hand."""
    write_rows(path, rows)
    check_by_hand(path)
    assert sum(pydantic_loop(path).values()) == tally_reports(path, SURVEY, progress=False).summary.accepted
    return {
        "JSON lines": (rows, lambda: tally_reports(path, SURVEY, progress=False)),
        "a pydantic loop": (rows, lambda: pydantic_loop(path)),
        "hand-written SQL on JSON lines": (rows, lambda: by_hand(path, BY_HAND)),
    }


def bits(size: int) -> Contestants:
    """Packed answers: counting ones."""
    held = np.frombuffer(os.urandom(size), np.uint8)
    assert count_ones(held[:1000]) == int(np.unpackbits(held[:1000]).sum())
    words = held.view(np.uint64)
    assert count_ones(held) == int(np.bitwise_count(words).sum())
    return {
        "packed bits": (size * 8, lambda: count_ones(held)),
        "unpackbits().sum()": (size * 8, lambda: np.unpackbits(held).sum()),
        "bitwise_count(words).sum()": (size * 8, lambda: np.bitwise_count(words).sum()),
        "one pass over the bytes (max)": (size * 8, held.max),
    }


def section(effort: Effort = FULL) -> Section:
    repetitions = max(3, effort.repetitions // 3)
    curves = []
    with tempfile.TemporaryDirectory() as folder:
        tell("batch: Parquet")
        size = effort.size(ROWS_OF_A_RUN)
        counted = parquet(Path(folder, "rows.parquet"), size) | choices(Path(folder), size)
        timings = interleave(counted, repetitions)
        tell("batch: JSON lines")
        timings |= interleave(
            json_lines(Path(folder, "rows.jsonl"), effort.size(500_000)), max(3, effort.repetitions * 3 // 5)
        )
        tell("batch: packed bits")
        timings |= interleave(bits(effort.size(125_000_000)), repetitions, clock=time.process_time)
        if effort.curves:
            curves.append(curve(Path(folder, "growing.parquet")))
    return Section(
        name="batch",
        title="Batch tallies",
        text=f"{effort.size(ROWS_OF_A_RUN):,} reports in a Parquet file, validated, deduplicated by id, grouped, "
        "against SQL written by hand for exactly this survey on the same engine (DuckDB); JSON lines against a "
        "loop over a pydantic model that does the same, and against the same SQL; 10^9 packed answers, against "
        "the sum of unpacked bits and against NumPy's `bitwise_count` of words, the best line one would write. All "
        "count the same, which is checked. Sets of options (10 and 100) are counted "
        "from a file of as many reports as the bits. How a batch of 100 million reports behaves is in "
        "[scale.md](scale.md).",
        unit="million reports per second",
        rows=rates(timings),
        ratios=compare(timings, FLOORS),
        curves=curves,
    )


def curve(path: Path) -> Curve:
    """Seconds against rows."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for rows in (10_000, 100_000, 1_000_000, 3_000_000):
        tell(f"batch: {rows:,} reports")
        for name, t in interleave(parquet(path, rows), 3).items():
            lines.setdefault(name, []).append((rows, t.best * rows))
    return Curve(name="batch", title="Time of a tally against reports", xlabel="reports", ylabel="seconds", lines=lines)


if __name__ == "__main__":
    show(section())
