"""Reports in Parquet files whose exact tallies are known before any engine reads them.

Rules
1. NumPy makes the rows and counts them; no engine takes part.  A seed and a partition's number fix every byte.
2. Each chunk of rows holds new reports, repeats of reports of this chunk and of the one before, pairs that contradict
   each other, and rows with one fault of each kind that a single row can have; their order is shuffled.
3. The first byte of an id is its partition's number: no id lies in two partitions, and their tallies add up.
4. Ids are the only long texts.  Tickets, which need a comparison of their own, are left to `tests/batch`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rrcollect import Design, Question, Survey
from server_agg import BatchResult, Tallies, Tally, TallyKey
from tests.inside.batch import COLUMNS, Summary
from tests.inside.publish import canonical

CHUNK = 1_000_000
SEED = 20_261
FAR = datetime(2100, 1, 1, tzinfo=UTC)
REGIONS, AGES = ("north", "south", "east", "west"), ("young", "old")


def _question(**fields: Any) -> Question:
    return Question(**fields)


def _survey(name: str, segments: dict[str, list[str]], *questions: Question) -> Survey:
    return Survey(
        name=name,
        version=1,
        title=name,
        publisher="Assurance",
        collector="carried",
        expires=FAR,
        questions=questions,
        segments=segments,
    )


TWO = _survey(
    "two",
    {"region": list(REGIONS), "age": list(AGES)},
    _question(id="q1", attribute="a1", text="One?", design=Design("3/4", "3/4")),
    _question(id="q2", attribute="a2", text="Two?", design=Design("3/4", "5/8"), rounds=3),
)
ONE = _survey("one", {}, _question(id="q1", attribute="a1", text="One?", design=Design("9/10", "4/5"), rounds=2))
SURVEYS = (TWO, ONE)


def _kinds() -> list[TallyKey]:
    """Everything that is counted apart: 62 kinds of report."""
    found = []
    for survey in SURVEYS:
        regions = [{}, *({"region": r} for r in survey.segment_values.get("region", ()))]
        ages = [{}, *({"age": a} for a in survey.segment_values.get("age", ()))]
        for question, region, age in product(survey.questions, regions, ages):
            segments = tuple(sorted((age | region).items()))
            for round_ in range(question.rounds):
                found.append(TallyKey(survey.digest, question.id, question.design, segments, round_))
    return found


KINDS = _kinds()
FAULTS: dict[str, tuple[str, Any]] = {  # reason: the column and the value that a row of that kind has instead
    "unknown_survey": ("survey", "0" * 64),
    "unknown_question": ("question", "q9"),
    "wrong_design": ("design", '{"p00":"3/4","p11":"1/2"}'),
    "unknown_round": ("round", 7),
    "bad_answer": ("answer", "2"),
    "undeclared_segment": ("segments", '{"region":"nowhere"}'),
    "unexpected_ticket": ("ticket", "ab" * 16),
    "bad_id": ("id", ord("G")),
}
PLAIN: dict[str, list[Any]] = {
    "survey": [key.survey for key in KINDS],
    "question": [key.question for key in KINDS],
    "round": [key.round for key in KINDS],
    "design": [key.design.text for key in KINDS],
    "segments": [canonical(dict(key.segments)).decode() for key in KINDS],
}
HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
PAIRS = np.stack([np.repeat(HEX, 16), np.tile(HEX, 16)], axis=1).view(np.uint16).ravel()  # two digits per byte


@dataclass(frozen=True)
class Rows:
    """Reports by number: `kind` is a place in KINDS, `fault` 0 or 1 + a place in FAULTS."""

    number: Any
    kind: Any
    answer: Any
    fault: Any

    def take(self, places: Any) -> Rows:
        """These rows."""
        return Rows(self.number[places], self.kind[places], self.answer[places], self.fault[places])

    @staticmethod
    def joined(parts: list[Rows]) -> Rows:
        """One after the other."""
        return Rows(*(np.concatenate([getattr(p, f) for p in parts]) for f in ("number", "kind", "answer", "fault")))


def write_partition(folder: Path, partition: int, rows: int, *, chunk: int = CHUNK) -> BatchResult:
    """Write `rows` rows to one file of `folder`; returns what a tally of them must be."""
    folder.mkdir(parents=True, exist_ok=True)
    ones = np.zeros((len(KINDS), 2), np.int64)
    repeated, refused = 0, np.zeros(len(FAULTS), np.int64)
    conflicting = 0
    with pq.ParquetWriter(folder / f"{partition:03d}.parquet", _schema(), store_schema=False) as writer:
        for made, kept, again, pairs in _chunks(partition, rows, chunk):
            ones += np.bincount(2 * kept.kind + kept.answer, minlength=2 * len(KINDS)).reshape(-1, 2)
            repeated, conflicting = repeated + again, conflicting + 2 * pairs
            refused += np.bincount(made.fault, minlength=len(FAULTS) + 1)[1:]
            writer.write_table(_table(made, partition))
    counted = [(key, int(n.sum()), int(n[1])) for key, n in zip(KINDS, ones, strict=True)]
    tallies = {key: Tally(key.design, n, [yes]) for key, n, yes in counted if n}
    why = {name: int(n) for name, n in zip(FAULTS, refused, strict=True)} | {"conflicting_id": conflicting}
    return BatchResult(Tallies(tallies), Summary(rows, int(ones.sum()), repeated, why))


def _chunks(partition: int, rows: int, chunk: int) -> Iterator[tuple[Rows, Rows, int, int]]:
    """(all rows, the reports that are counted, how many repeats, how many contradicting pairs) of each chunk."""
    rng = np.random.default_rng([SEED, partition])
    before: Rows | None = None
    for start in range(0, rows, chunk):
        size = min(chunk, rows - start)
        bad, pairs, again = max(1, size // 1000) * len(FAULTS), max(1, size // 500), max(1, size // 50)
        fresh = size - bad - pairs - again
        if fresh < pairs + 1:
            raise ValueError(f"{size} rows are too few for a chunk")
        number = np.arange(start, start + fresh + bad, dtype=np.uint64)
        kind = rng.integers(0, len(KINDS), fresh + bad)
        answer = rng.integers(0, 2, fresh + bad)
        fault = np.concatenate(
            [np.zeros(fresh, np.int64), np.repeat(np.arange(1, len(FAULTS) + 1), bad // len(FAULTS))]
        )
        new = Rows(number, kind, answer, fault)
        mixed = rng.permutation(fresh)
        torn, kept = new.take(mixed[:pairs]), new.take(mixed[pairs:])
        other = Rows(torn.number, torn.kind, 1 - torn.answer, torn.fault)
        known = kept if before is None else Rows.joined([kept, before])
        repeats = known.take(rng.integers(0, known.number.size, again))
        made = Rows.joined([new, other, repeats])
        yield made.take(rng.permutation(size)), kept, again, pairs
        before = kept


def _schema() -> Any:
    listed = pa.dictionary(pa.int32(), pa.string())  # in memory; in the file they are plain texts
    kinds = {"round": pa.int64(), "id": pa.string()}
    return pa.schema([(name, kinds.get(name, listed)) for name in COLUMNS])


def _table(rows: Rows, partition: int) -> Any:
    columns: dict[str, Any] = {name: _column(name, rows) for name in PLAIN}
    said = np.where(rows.fault == _fault("answer"), 2, rows.answer).astype(np.int32)
    columns["answer"] = pa.DictionaryArray.from_arrays(pa.array(said), pa.array(["0", "1", FAULTS["bad_answer"][1]]))
    ticketed = np.zeros(rows.number.size, np.int32)
    missing = pa.array(ticketed, mask=rows.fault != _fault("ticket"))
    columns["ticket"] = pa.DictionaryArray.from_arrays(missing, pa.array([FAULTS["unexpected_ticket"][1]]))
    columns["id"] = _ids(rows, partition)
    return pa.table([columns[name] for name in COLUMNS], schema=_schema())


def _fault(column: str) -> int:
    """The number of the fault that this column can have."""
    return 1 + next((i for i, (name, _) in enumerate(FAULTS.values()) if name == column), len(FAULTS))


def _column(name: str, rows: Rows) -> Any:
    wrong = next((value for column, value in FAULTS.values() if column == name), PLAIN[name][0])
    values = sorted({*PLAIN[name], wrong})
    places = np.array([values.index(value) for value in PLAIN[name]], np.int32)[rows.kind]
    places[rows.fault == _fault(name)] = values.index(wrong)
    if name == "round":
        return pa.array(np.array(values, np.int64)[places])
    return pa.DictionaryArray.from_arrays(pa.array(places), pa.array(values))


def _ids(rows: Rows, partition: int) -> Any:
    """32 hexadecimal digits per report: the partition's byte, and a one-to-one mixture of the report's number."""
    raw = np.empty((rows.number.size, 16), np.uint8)
    raw[:, 0] = partition
    raw[:, 1:9] = _mixed(rows.number).view(np.uint8).reshape(-1, 8)
    raw[:, 9:] = _mixed(~rows.number).view(np.uint8).reshape(-1, 8)[:, :7]
    text = PAIRS[raw].view(np.uint8).reshape(-1, 32)
    text[rows.fault == _fault("id"), 0] = FAULTS["bad_id"][1]
    offsets = pa.py_buffer(np.arange(0, 32 * (rows.number.size + 1), 32, dtype=np.int32))
    return pa.StringArray.from_buffers(rows.number.size, offsets, pa.py_buffer(np.ascontiguousarray(text)))


def _mixed(number: Any) -> Any:
    """SplitMix64's finisher: a permutation of the 64-bit numbers."""
    z = number + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def changed_row(folder: Path, partition: int) -> None:
    """Plant an error: the first row of the partition that stands alone gets the other answer."""
    path = folder / f"{partition:03d}.parquet"
    table = pq.read_table(path)
    ids, answers = table["id"].to_pylist(), table["answer"].to_pylist()
    seen: dict[str, int] = {}
    for one in ids:
        seen[one] = seen.get(one, 0) + 1
    place = next(i for i, one in enumerate(ids) if seen[one] == 1 and answers[i] in ("0", "1"))
    answers[place] = "0" if answers[place] == "1" else "1"
    at = table.schema.get_field_index("answer")
    pq.write_table(table.set_column(at, "answer", pa.array(answers)), path, store_schema=False)
