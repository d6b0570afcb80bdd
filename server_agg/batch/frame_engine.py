"""The rules of `rrcollect.publish.report` as narwhals expressions: one for Polars, pandas, pyarrow, Dask and PySpark.

Rules
1. One expression for all of them; it is lazy where the frame is, and nothing is collected but grouped counts.
2. What differs between engines is avoided rather than handled: no nulls after `_flat` (a missing text is "", a missing
   number −1), no booleans in sums, no casts inside an aggregation, nothing that depends on the order of rows.
3. What is counted together is one text, `survey|question|round|segments`, the content.  It has one reading: the first
   three parts of a valid row are known to hold no "|".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw

from rrcollect.design.mechanism import Mechanism
from rrcollect.errors import ParameterError
from rrcollect.publish.report import LARGEST_REPORT
from server_agg.batch.sources import COLUMNS, NUMBER, wanted
from server_agg.batch.summary import NUMBER_OF, Counts, Line, Options
from server_agg.batch.survey_tables import NARROW, SurveyTables
from server_agg.count.statistics import judged_by
from server_agg.errors import BadColumn, UnreadableReports

Frame = Any  # a narwhals DataFrame or LazyFrame: they share the methods used here
MISSING = -1
BITS_AT_ONCE = 50  # columns of a long answer
UNREADABLE_NUMBER = -(2**60)  # stands for a value that is there and is not a whole number
WHOLE_TEXT = r"^(?:0|-?[1-9][0-9]*)$"


@dataclass
class FrameBatch:
    """One batch on one frame."""

    frame: Frame
    tables: SurveyTables
    options: Options
    earlier: Frame | None = None

    def counts(self) -> Counts:
        """The counts of the rows of `frame` that are not in `earlier`."""
        rows = _flat(self.frame, lenient=self.options.lenient).with_columns(earlier=nw.lit(0))
        if self.earlier is not None:
            before = _flat(self.earlier, lenient=self.options.lenient).with_columns(earlier=nw.lit(1))
            rows = nw.concat([rows, before], how="vertical")
        tables = self.tables
        if not tables.enumerated:
            short = rows.filter(nw.col("segments").str.len_chars() <= LARGEST_REPORT, _known(tables))
            tables = tables.discover(_collected(short.select("survey", "segments").unique(), "survey", "segments"))
        judged = _judged(rows, tables, ids=self.options.deduplicate)
        ids = None
        if self.options.deduplicate:
            ids = _grouped_by_id(judged)
            if tables.by_invitation:
                ids = _tickets_once(ids)
        self._write(judged, ids)
        return _counts(tables, judged if ids is None else ids)

    def _write(self, judged: Frame, ids: Frame | None) -> None:
        """The refused rows with their reason, as Parquet."""
        to = self.options.refused_to
        if to is None:
            return
        if not to.endswith(".parquet"):
            raise ParameterError("refused_to", to, "a path ending in .parquet, for frames")
        own = judged.filter(nw.col("earlier") == 0)
        if ids is not None:
            bad = ids.filter(nw.col("uid") != "", nw.col("fault") > 0).select("uid", compared="fault")
            own = own.join(bad, left_on="uid", right_on="uid", how="left")
            own = own.with_columns(fault=nw.col("fault") + nw.col("compared").fill_null(0))
        reason: Any = nw.lit("")
        for name, number in NUMBER_OF.items():
            reason = nw.when(nw.col("fault") == number).then(nw.lit(name)).otherwise(reason)
        ticket = nw.when(nw.col("ticketed") == 1).then(nw.col("ticket")).otherwise(nw.lit(None, nw.String))
        refused = own.filter(nw.col("fault") > 0).with_columns(ticket=ticket, reason=reason).select(*COLUMNS, "reason")
        if refused.implementation.is_pyspark() or refused.implementation.is_pyspark_connect():
            nw.to_native(refused).write.mode("overwrite").parquet(to)  # a nightly job may be run again
        elif isinstance(refused, nw.LazyFrame):
            refused.sink_parquet(to)
        else:
            refused.write_parquet(to)


def _collected(frame: Frame, *columns: str) -> list[tuple[Any, ...]]:
    chosen = frame.select(*columns)
    return list((chosen.collect() if isinstance(chosen, nw.LazyFrame) else chosen).iter_rows())


def _counts(tables: SurveyTables, reports: Frame) -> Counts:
    """The counts of reports, one for each line: by the text of short answers, of long ones with their bits summed.

    An eager frame holds all columns that a step makes, so the bits of long answers are summed some at a time; a lazy
    one is read once.
    """
    names, valid = ("fault", "content", "before", "text"), nw.col("content") != ""
    short = nw.when(valid & (nw.col("answer").str.len_chars() <= NARROW)).then(nw.col("answer")).otherwise(nw.lit(""))
    texts, lines = reports.with_columns(text=short), list[Line]()
    width = tables.width if tables.wide else 0
    step = max(1, width) if isinstance(reports, nw.LazyFrame) else BITS_AT_ONCE
    for first in range(0, max(1, width), step):
        chosen = range(first, min(first + step, width))
        ones = {f"bit_{bit}": _is_one(bit, reports.implementation.is_ibis()) for bit in chosen}
        sums = {name: nw.col(name).sum() for name in ("rows", *ones)}
        spread = texts.with_columns(**ones) if ones else texts
        groups = spread.group_by(*names).agg(reports=nw.len(), **sums)
        for fault, content, before, text, *counted in _collected(groups, *names, "reports", *sums):
            n, rows, *long = map(int, counted)
            once = (n, rows, text) if first == 0 else (0, 0, "")
            bits = [0] * first + long + [0] * (width - first - len(long))
            lines.append((int(fault), tables.code(content) if content else None, bool(before), *once, *bits))
    return Counts(tables, lines)


def _is_one(bit: int, by_pattern: bool) -> Any:
    """Whether a character of a long answer is 1; by a pattern (slower) where a text cannot be cut: ibis on Polars."""
    answer = nw.col("answer")
    set_ = answer.str.contains(f"^[01]{{{bit}}}1") if by_pattern else answer.str.slice(bit, 1) == "1"
    one = (nw.col("text") == "") & (nw.col("content") != "") & set_
    return nw.when(one).then(nw.lit(1)).otherwise(nw.lit(0))


def _ones(design: Mechanism) -> Any:
    """Whether the answer is a text of 0 and 1 as this design gives it."""
    said = _exactly("answer", "[01]", design.width)
    many = judged_by(design)
    if many:  # not by replacing: ibis on Polars replaces the first 0 only
        said = said & nw.col("answer").str.contains(f"^0*(?:10*){{{many}}}$")
    return said


def _numbers(design: Mechanism) -> Any:
    """Whether the answer is a number of as many digits as the largest, and not above it: texts of one length compare
    as their numbers do."""
    return _exactly("answer", "[0-9]", design.width) & (nw.col("answer") <= str(design.cells - 1))


SAID = {"ones": _ones, "numbers": _numbers, "blocks": _numbers}  # by statistic: whether a text is an answer


def _flat(frame: Frame, *, lenient: bool) -> Frame:
    """The columns of a row without nulls, `ticketed`, and `malformed`; checks the schema first."""
    schema = frame.collect_schema()
    read: dict[str, Any] = {}
    broken: Any = nw.lit(False)
    for column in COLUMNS:
        if column not in schema:
            raise BadColumn(column, "missing", f"the columns {', '.join(COLUMNS)}", "the frame")
        expression, fault = _read(column, schema[column])
        if fault is not None and not lenient:
            _mixed(frame, column)
            raise BadColumn(column, f"of type {schema[column]}", wanted(column), "the frame")
        broken = broken if fault is None else broken | fault
        read[column] = expression
    rows = frame.select(**read, malformed=broken)
    ticketed = nw.when(nw.col("ticket").is_null()).then(nw.lit(0)).otherwise(nw.lit(1))
    filled = {name: nw.col(name).fill_null("") for name in COLUMNS if name != NUMBER}
    filled[NUMBER] = nw.col(NUMBER).fill_null(MISSING).cast(nw.Int64)
    return rows.with_columns(ticketed=ticketed).with_columns(**filled)


def _read(column: str, kind: Any) -> tuple[Any, Any]:  # noqa: PLR0911 (a table of cases)
    """The column as it is wanted, and the test of values that cannot be read (None if all can)."""
    col = nw.col(column)
    if column != NUMBER:
        if kind == nw.String:
            return col, None
        if kind in (nw.Categorical, nw.Unknown) or isinstance(kind, nw.Enum) or kind == nw.Enum:
            return col.cast(nw.String), None
        return nw.lit(None, nw.String), ~col.is_null()
    if kind == nw.Unknown:
        return col.cast(nw.Int64), None
    if kind.is_integer():
        if kind in (nw.UInt64, nw.UInt128, nw.Int128):  # what 64 bits do not hold is wrong, whatever it is
            col = nw.when(col < 10**9).then(col)
        if kind.is_unsigned_integer():
            return nw.when(col.is_null()).then(nw.lit(MISSING)).otherwise(col), None
        return col, None  # nulls are filled before the cast: Dask casts none of its nullable integers with them
    if kind == nw.String:
        whole = col.str.contains(WHOLE_TEXT) & ~col.str.ends_with("\n")
        text = nw.when(whole & (col.str.len_chars() < 10)).then(col).otherwise(nw.lit(str(MISSING)))
        number = nw.when(col.is_null() | whole).then(text.cast(nw.Int64)).otherwise(nw.lit(UNREADABLE_NUMBER))
        return number, number == UNREADABLE_NUMBER
    if kind.is_numeric():
        missing = col.is_null() | (col.is_nan() if kind.is_float() else nw.lit(False))
        inside = (col < 10**15) & (col > -(10**15))
        kept = nw.when(inside).then(col).otherwise(nw.lit(float(MISSING))).fill_null(float(MISSING))
        kept = nw.when(missing).then(nw.lit(float(MISSING))).otherwise(kept)
        same = (kept.round(0) == kept) & (inside | missing)
        whole = nw.when(same).then(kept).otherwise(nw.lit(float(MISSING))).cast(nw.Int64)
        number = nw.when(same | missing).then(whole).otherwise(nw.lit(UNREADABLE_NUMBER))
        return number, number == UNREADABLE_NUMBER
    return nw.lit(MISSING), ~col.is_null()


def _mixed(frame: Frame, column: str) -> None:
    """An error with the row, if the column is a pandas column of Python objects of several types."""
    if frame.collect_schema()[column] != nw.Object:
        return
    values = frame.to_native()[column]
    kind = int if column == NUMBER else str
    for position, value in enumerate(values):
        if value is not None and value == value and not isinstance(value, kind):  # noqa: PLR0124 (NaN)
            why = f"column {column!r} mixes types: {type(value).__name__} where {kind.__name__} is wanted"
            raise UnreadableReports("the frame", position + 1, why)


def _known(tables: SurveyTables) -> Any:
    return nw.col("survey").is_in(list(tables.surveys))


def _faults(tables: SurveyTables) -> dict[str, Any]:
    """The test of each reason; the first that is true, in the order of `REASONS`, is the row's."""
    asked = [(f"{digest}|{question.id}", question) for digest, question in tables.questions]
    designs = [f"{name}|{question.design.text}" for name, question in asked]
    texts = [f"{digest}|{text}" for digest, text in tables.texts] or [""]  # an empty list has no type
    closed = [digest for digest, survey in tables.surveys.items() if survey.invite_only] or [""]

    def among(names: list[str]) -> Any:
        return nw.col("asked").is_in(names)

    in_time = can_be_said = nw.lit(False)
    for rounds in sorted({question.rounds for _, question in asked}):
        names = [name for name, question in asked if question.rounds == rounds]
        in_time = in_time | (among(names) & (nw.col("round") >= 0) & (nw.col("round") < rounds))
    forms: dict[tuple[str, int, int, int], list[tuple[str, Mechanism]]] = {}
    for name, question in asked:
        design = question.design
        forms.setdefault((design.statistic, design.width, judged_by(design), design.cells), []).append((name, design))
    for (statistic, *_), alike in sorted(forms.items(), key=lambda form: form[0]):
        can_be_said = can_be_said | (among([name for name, _ in alike]) & SAID[statistic](alike[0][1]))
    invited, ticketed = nw.col("survey").is_in(closed), nw.col("ticketed") == 1
    return {
        "malformed": nw.col("malformed"),
        "unknown_survey": ~_known(tables),
        "unknown_question": ~among([name for name, _ in asked]),
        "wrong_design": ~nw.concat_str("asked", "design", separator="|").is_in(designs),
        "unknown_round": ~in_time,
        "bad_answer": ~can_be_said,
        "undeclared_segment": ~nw.concat_str("survey", "segments", separator="|").is_in(texts),
        "missing_ticket": invited & ~ticketed,
        "unexpected_ticket": ~invited & ticketed,
        "bad_ticket": ticketed & ~_exactly("ticket", "[0-9a-f]", 32),
        "bad_id": ~_exactly("id", "[0-9a-f]", 32),
    }


def _exactly(column: str, characters: str, length: int) -> Any:
    """So many of these characters and nothing else; the length too, as `$` lets a line break follow."""
    col = nw.col(column)
    return col.str.contains(f"^{characters}{{{length}}}$") & (col.str.len_chars() == length)


def _judged(rows: Frame, tables: SurveyTables, *, ids: bool) -> Frame:
    """Every row with its fault (0: none); the id, content and use of a ticket of those that are valid, "" of others."""
    rows = rows.with_columns(asked=nw.concat_str("survey", "question", separator="|"))
    tests = _faults(tables)
    fault: Any = nw.lit(0)
    for reason in reversed(NUMBER_OF):
        if reason in tests and (ids or reason != "bad_id"):
            fault = nw.when(tests[reason]).then(nw.lit(NUMBER_OF[reason])).otherwise(fault)
    rows = rows.with_columns(fault=fault, number=nw.col("round").cast(nw.String))
    valid = nw.col("fault") == 0
    content = nw.concat_str("asked", "number", "segments", separator="|")
    ticket_use = nw.concat_str("asked", "number", "ticket", separator="|")
    return rows.with_columns(
        content=nw.when(valid).then(content).otherwise(nw.lit("")),
        uid=nw.when(valid).then(nw.col("id")).otherwise(nw.lit("")),
        ticket_use=nw.when(valid & (nw.col("ticketed") == 1)).then(ticket_use).otherwise(nw.lit("")),
        before=nw.lit(0),
        rows=nw.lit(1),
    )


def _grouped_by_id(judged: Frame) -> Frame:
    """(uid, fault, content, answer, ticket_use, before, rows): a line for every id of valid rows, and one for all
    refused rows of a fault."""
    compared = ("content", "answer", "ticket_use")
    least = {name: nw.col(name).min() for name in compared}
    greatest = {f"greatest_{name}": nw.col(name).max() for name in compared}
    ids = judged.group_by("uid", "fault").agg(
        **least, **greatest, all_rows=nw.len(), earlier_rows=nw.col("earlier").sum()
    )
    conflict: Any = nw.lit(False)
    for name in compared:
        conflict = conflict | (nw.col(name) != nw.col(f"greatest_{name}"))
    conflict = conflict & (nw.col("fault") == 0)
    ids = ids.with_columns(
        rows=nw.col("all_rows") - nw.col("earlier_rows"),
        fault=nw.when(conflict).then(nw.lit(NUMBER_OF["conflicting_id"])).otherwise(nw.col("fault")),
    )
    valid = nw.col("fault") == 0
    return ids.with_columns(
        content=nw.when(valid).then(nw.col("content")).otherwise(nw.lit("")),
        ticket_use=nw.when(valid).then(nw.col("ticket_use")).otherwise(nw.lit("")),
        before=nw.when(valid & (nw.col("earlier_rows") > 0)).then(nw.lit(1)).otherwise(nw.lit(0)),
    )


def _tickets_once(ids: Frame) -> Frame:
    """The same, with the new reports of a ticket that speaks more than once refused."""
    uses = ids.filter(nw.col("ticket_use") != "").group_by("ticket_use").agg(reports=nw.len())
    crowded = uses.filter(nw.col("reports") > 1).select("ticket_use", "reports")
    joined = ids.join(crowded, on="ticket_use", how="left")
    reused = (nw.col("reports").fill_null(0) > 1) & (nw.col("before") == 0)
    return joined.with_columns(
        fault=nw.when(reused).then(nw.lit(NUMBER_OF["ticket_reused"])).otherwise(nw.col("fault")),
        content=nw.when(reused).then(nw.lit("")).otherwise(nw.col("content")),
    ).drop("reports")
