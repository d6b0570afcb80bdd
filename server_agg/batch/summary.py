"""What a batch gave: the tallies, and an account of every row; and how far it is, while it runs.

Rules
1. rows = accepted + repeated + the sum of refused.  Nothing is dropped silently; `Summary` refuses other numbers.
2. Every refused row has one reason, from `rrcollect.publish.report.REASONS`; engines give it by its place there,
   counted from 1, and 0 to a row that is valid by itself.
3. A valid report that was not counted before is accepted once; its other rows, and all rows of one that was counted
   before, are repeats.
4. Progress is a bar on a terminal, a callback for programs, silence in a pipe.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import add

from rrcollect.design.parameters import whole_number
from rrcollect.errors import ParameterError
from rrcollect.publish.report import REASONS
from server_agg.batch.survey_tables import CountedAnswers, SurveyTables
from server_agg.count.tallies import Tallies
from server_agg.count.tally import fields, read_json

NUMBER_OF = {reason: number for number, reason in enumerate(REASONS, start=1)}
Progress = Callable[[float], None]
EVERY = 0.2  # seconds
WIDTH = 40
MOST_COUNTS = 200  # of a tally, written out
Line = tuple[int, int | None, bool, int, int, str | None, *tuple[int, ...]]


@dataclass(frozen=True)
class Options:
    """How a batch is run."""

    deduplicate: bool = True
    lenient: bool = False
    refused_to: str | None = None
    progress: Progress | None = None
    memory_limit: str | None = None
    threads: int | None = None
    temp_directory: str | None = None


@dataclass(frozen=True)
class Summary:
    """Every row accounted for.

    >>> summary = Summary(rows=10, accepted=7, repeated=1, refused={"bad_answer": 2})
    >>> print(summary)
    10 rows read: 7 accepted, 1 repeated, 2 refused (2 bad_answer)
    >>> (summary + summary).accepted
    14
    """

    rows: int
    accepted: int
    repeated: int = 0
    refused: Mapping[str, int] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name in ("rows", "accepted", "repeated"):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), minimum=0))
        unknown = [name for name in self.refused if name not in REASONS]
        if unknown:
            raise ParameterError("refused", unknown, f"reasons among {list(REASONS)}")
        kept = {name: whole_number(name, self.refused[name], minimum=0) for name in REASONS if self.refused.get(name)}
        object.__setattr__(self, "refused", kept)
        if self.rows != self.accepted + self.repeated + self.refused_rows:
            raise ParameterError("rows", self.rows, "accepted + repeated + refused: every row is accounted for")

    @property
    def refused_rows(self) -> int:
        """Rows refused for whatever reason."""
        return sum(self.refused.values())

    def __add__(self, other: Summary) -> Summary:
        if not isinstance(other, Summary):
            return NotImplemented
        both = {name: self.refused.get(name, 0) + other.refused.get(name, 0) for name in REASONS}
        return Summary(self.rows + other.rows, self.accepted + other.accepted, self.repeated + other.repeated, both)

    def __str__(self) -> str:
        why = ", ".join(f"{rows:,} {name}" for name, rows in self.refused.items())
        return (
            f"{self.rows:,} rows read: {self.accepted:,} accepted, {self.repeated:,} repeated, "
            f"{self.refused_rows:,} refused{f' ({why})' if why else ''}"
        )

    def as_dict(self) -> dict[str, object]:
        """Plain numbers for JSON."""
        return {"rows": self.rows, "accepted": self.accepted, "repeated": self.repeated, "refused": dict(self.refused)}


@dataclass(frozen=True)
class BatchResult:
    """The tallies of a batch with the account of its rows; `+` joins two days or two servers."""

    tallies: Tallies
    summary: Summary

    def __post_init__(self) -> None:
        if self.tallies.n != self.summary.accepted:
            raise ParameterError("accepted", self.summary.accepted, f"the {self.tallies.n} answers that were tallied")

    def __add__(self, other: BatchResult) -> BatchResult:
        if not isinstance(other, BatchResult):
            return NotImplemented
        return BatchResult(self.tallies + other.tallies, self.summary + other.summary)

    def __str__(self) -> str:
        lines = [str(self.summary)]
        for key, tally in self.tallies.items():
            where = "".join(f", {name} = {value}" for name, value in key.segments)
            few = len(tally) <= MOST_COUNTS
            counted = f"ones = {', '.join(map(str, tally.counts))}" if few else f"{len(tally)} counts"
            lines.append(f"{key.survey[:8]}… {key.question}, round {key.round}{where}: n = {tally.n}, {counted}")
        return "\n".join(lines)

    def to_json(self) -> str:
        """{"summary": …, "tallies": …}, in a fixed order, without floats."""
        return json.dumps({"summary": self.summary.as_dict(), "tallies": json.loads(self.tallies.to_json())})

    @classmethod
    def from_json(cls, text: str) -> BatchResult:
        """The result written by `to_json`."""
        given = fields("result", read_json("result", text), ("summary", "tallies"))
        summary = fields("summary", given["summary"], ("rows", "accepted", "repeated", "refused"))
        if not isinstance(summary["refused"], dict):
            raise ParameterError("refused", summary["refused"], "an object of reasons and counts")
        return cls(Tallies.from_json(json.dumps(given["tallies"])), Summary(**summary))


class Counts:
    """The lines of an engine, added up: (fault, code, counted before, reports, rows, the text of short answers, and how
    many 1 at each character of long ones)."""

    def __init__(self, tables: SurveyTables, lines: Iterable[Line]) -> None:
        self.tables = tables
        self._repeated = 0
        self._counted: dict[int, CountedAnswers] = {}  # by code
        self._refused: dict[str, int] = {}
        reason_of = tuple(REASONS)
        for fault, code, before, reports, rows, text, *ones in lines:
            if fault:
                reason = reason_of[fault - 1]
                self._refused[reason] = self._refused.get(reason, 0) + (rows or 0)
            elif before or code is None:
                self._repeated += rows or 0
            else:
                found = self._counted.setdefault(code, CountedAnswers())
                found.n += reports
                if text:
                    found.texts[text] += reports
                if ones:
                    found.long = list(map(add, found.long or [0] * len(ones), ones))
                self._repeated += rows - reports
        self.malformed = self._refused.pop("malformed", 0)

    def result(self) -> BatchResult:
        """The tallies and the summary."""
        accepted = sum(found.n for found in self._counted.values())
        refused = {**self._refused, "malformed": self.malformed}
        rows = accepted + self._repeated + sum(refused.values())
        return BatchResult(self.tables.tallies(self._counted), Summary(rows, accepted, self._repeated, refused))


def reporter(wanted: Progress | bool | None) -> Progress | None:
    """The callback to use: the caller's, the bar (True, or None on a terminal), or none."""
    if callable(wanted):
        return wanted
    return draw_bar if wanted or (wanted is None and sys.stderr.isatty()) else None


def draw_bar(share: float) -> None:
    """Draw the bar on standard error; 1 ends the line."""
    done = round(max(0.0, min(share, 1.0)) * WIDTH)
    end = "\n" if share >= 1 else ""
    sys.stderr.write(f"\r[{'#' * done}{'.' * (WIDTH - done)}] {max(share, 0):4.0%}{end}")
    sys.stderr.flush()


@contextmanager
def watched(tell: Progress | None, share: Callable[[], float]) -> Iterator[None]:
    """While the block runs, `tell` is called with the share done; with 1 when it ends well."""
    if tell is None:
        yield
        return
    over = threading.Event()
    highest = 0.0

    def watch() -> None:
        nonlocal highest
        while not over.wait(EVERY):
            highest = max(highest, min(share(), 0.99))
            tell(highest)

    thread = threading.Thread(target=watch, name="rrcollect-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    tell(1.0)
