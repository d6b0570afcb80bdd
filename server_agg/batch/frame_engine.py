"""The rules as narwhals expressions: the same judgement on Polars, pandas, pyarrow, Dask and PySpark.

Rules
1. One expression for all of them; it is lazy where the frame is, and nothing is collected but grouped counts.
2. What differs between engines is avoided rather than handled: no nulls after `_flat` (a missing text is "", a missing
   number −1), no booleans in sums, no casts inside an aggregation, nothing that depends on the order of rows.
3. What is counted together is one text, `survey|question|round|answer|segments`.  It has one reading: the first four
   parts of a row that stands are known to hold no "|".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw

from rrcollect.errors import ParameterError
from server_agg.batch.columns import COLUMNS, NUMBER_ALLOWED, NUMBERS, TEXT_ALLOWED, TEXTS
from server_agg.batch.counting import Counts, Line
from server_agg.batch.errors import BadColumn, UnreadableRow
from server_agg.batch.reasons import CONFLICTING_ID, INVITE_REUSED, NAME, NUMBER
from server_agg.batch.sql_rules import LONGEST_INVITE
from server_agg.batch.survey_tables import LONGEST_TEXT, Published

__all__ = ["FrameBatch"]

Frame = Any  # a narwhals DataFrame or LazyFrame: they share the methods used here
MISSING = -1
UNREADABLE_NUMBER = -(2**40)  # stands for a value that is there and is no whole number
WHOLE_TEXT = r"^(?:0|-?[1-9][0-9]{0,14})$"


@dataclass
class FrameBatch:
    """One batch on one frame."""

    frame: Frame
    published: Published
    lenient: bool = False
    deduplicate: bool = True
    earlier: Frame | None = None
    refused_to: str | None = None

    def counts(self) -> Counts:
        """The counts of the rows of `frame` that are not in `earlier`."""
        rows = _flat(self.frame, lenient=self.lenient).with_columns(old=nw.lit(0))
        if self.earlier is not None:
            before = _flat(self.earlier, lenient=self.lenient).with_columns(old=nw.lit(1))
            rows = nw.concat([rows, before], how="vertical")
        published = self.published
        if not published.enumerated:
            short = rows.filter(nw.col("segments").str.len_chars() <= LONGEST_TEXT, _known(published))
            pairs = _collected(short.select("survey", "segments").unique(), "survey", "segments")
            published = published.discover(pairs)
        judged = _judged(rows, published, ids=self.deduplicate)
        if not self.deduplicate:
            groups = judged.group_by("fault", "content").agg(n=nw.len())
            self._write(judged, None)
            return _counts(published, ((f, c, False, n, n) for f, c, n in _collected(groups, "fault", "content", "n")))
        ids = _one_line_an_id(judged)
        if published.by_invitation or _collected(judged.select(nw.col("invited").max()), "invited")[0][0]:
            ids = _invites_once(ids)
        self._write(judged, ids)
        lines = _collected(_grouped(ids), "fault", "content", "before", "reports", "rows")
        return _counts(published, lines)

    def _write(self, judged: Frame, ids: Frame | None) -> None:
        """The refused rows with their reason, as Parquet."""
        if self.refused_to is None:
            return
        if not self.refused_to.endswith(".parquet"):
            raise ParameterError("refused_to", self.refused_to, "a path ending in .parquet, for frames")
        own = judged.filter(nw.col("old") == 0)
        if ids is not None:
            bad = ids.filter(nw.col("uid") != "", nw.col("fault") > 0).select("uid", compared="fault")
            own = own.join(bad, left_on="uid", right_on="uid", how="left")
            own = own.with_columns(fault=nw.coalesce(nw.col("compared"), nw.col("fault")))
        reason: Any = nw.lit("")
        for number, name in NAME.items():
            reason = nw.when(nw.col("fault") == number).then(nw.lit(name)).otherwise(reason)
        invite = nw.when(nw.col("invited") == 1).then(nw.col("invite")).otherwise(nw.lit(None, nw.String))
        refused = own.filter(nw.col("fault") > 0).with_columns(invite=invite, reason=reason).select(*COLUMNS, "reason")
        if refused.implementation.is_pyspark() or refused.implementation.is_pyspark_connect():
            nw.to_native(refused).write.mode("overwrite").parquet(self.refused_to)  # a nightly job may be run again
        elif isinstance(refused, nw.LazyFrame):
            refused.sink_parquet(self.refused_to)
        else:
            refused.write_parquet(self.refused_to)


def _collected(frame: Frame, *columns: str) -> list[tuple[Any, ...]]:
    wanted = frame.select(*columns)
    return list((wanted.collect() if isinstance(wanted, nw.LazyFrame) else wanted).iter_rows())


def _counts(published: Published, lines: Iterable[tuple[Any, ...]]) -> Counts:
    read: list[Line] = []
    for fault, content, before, reports, rows in lines:
        code = published.code(content) if content else None
        read.append((int(fault), code, bool(before), int(reports), int(rows)))
    return Counts(published, read)


def _flat(frame: Frame, *, lenient: bool) -> Frame:
    """The nine columns without nulls, `invited`, and `malformed`; checks the schema first."""
    schema = frame.collect_schema()
    read: dict[str, Any] = {}
    broken: Any = nw.lit(False)
    for column in COLUMNS:
        if column not in schema:
            raise BadColumn(column, "missing", f"the columns {', '.join(COLUMNS)}", "the frame")
        expression, fault = _read(column, schema[column])
        if fault is not None and not lenient:
            _mixed(frame, column)
            raise BadColumn(column, f"of type {schema[column]}", NUMBER_ALLOWED.get(column, TEXT_ALLOWED), "the frame")
        broken = broken if fault is None else broken | fault
        read[column] = expression
    rows = frame.select(**read, malformed=broken)
    texts = {name: nw.col(name).fill_null("") for name in TEXTS}
    numbers = {name: nw.col(name).fill_null(MISSING).cast(nw.Int64) for name in NUMBERS}
    invited = nw.when(nw.col("invite").is_null()).then(nw.lit(0)).otherwise(nw.lit(1))
    rows = rows.with_columns(invited=invited)
    return rows.with_columns(**texts, **numbers)


def _read(column: str, kind: Any) -> tuple[Any, Any]:  # noqa: PLR0911 (a table of cases)
    """The column as it is wanted, and the test of values that cannot be read (None if all can)."""
    col = nw.col(column)
    if column in TEXTS:
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
    if kind == nw.Boolean and column == "answer":
        said = nw.when(col).then(nw.lit(1)).otherwise(nw.lit(0))
        return nw.when(col.is_null()).then(nw.lit(MISSING)).otherwise(said), None
    if kind == nw.String:
        whole = col.str.contains(WHOLE_TEXT) & ~col.str.ends_with("\n")
        text = nw.when(whole & (col.str.len_chars() < 10)).then(col).otherwise(nw.lit(str(MISSING)))
        number = nw.when(col.is_null() | whole).then(text.cast(nw.Int64)).otherwise(nw.lit(UNREADABLE_NUMBER))
        return number, number == UNREADABLE_NUMBER
    if kind.is_numeric():
        missing = col.is_null() | (col.is_nan() if kind.is_float() else nw.lit(False))
        inside = (col < 10**9) & (col > -(10**9))
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
    wanted = int if column in NUMBERS else str
    for position, value in enumerate(values):
        if value is not None and value == value and not isinstance(value, wanted):  # noqa: PLR0124 (NaN)
            why = f"column {column!r} mixes types: {type(value).__name__} where {wanted.__name__} is wanted"
            raise UnreadableRow("the frame", position + 1, why)


def _known(published: Published) -> Any:
    return nw.col("survey").is_in(list(published.surveys))


def _judged(rows: Frame, published: Published, *, ids: bool) -> Frame:
    """Every row with its fault (0: none), its content, and its id if it stands ("" if not)."""
    rows = rows.with_columns(
        asked=nw.concat_str("survey", "question", separator="|"),
        matrix=nw.concat_str("survey", "question", "p00", "p11", separator="|"),
        declared=nw.concat_str("survey", "segments", separator="|"),
    )
    listed = [(f"{digest}|{question.id}", question) for digest, question in published.questions]
    in_time: Any = nw.lit(False)
    for rounds in sorted({question.rounds for _, question in listed}):
        asked = [name for name, question in listed if question.rounds == rounds]
        in_time = in_time | (nw.col("asked").is_in(asked) & (nw.col("round") < rounds))
    matrices = [f"{name}|{question.design.p00}|{question.design.p11}" for name, question in listed]
    closed = [digest for digest, survey in published.surveys.items() if survey.invite_only]
    length = nw.col("invite").str.len_chars()
    texts = [f"{survey}|{text}" for survey, text in published.texts] or [""]  # an empty list has no type
    faults: dict[str, Any] = {
        "malformed": nw.col("malformed"),
        "unknown_survey": ~_known(published),
        "unknown_question": ~nw.col("asked").is_in([name for name, _ in listed]),
        "wrong_design": ~nw.col("matrix").is_in(matrices),
        "bad_round": ~(in_time & (nw.col("round") >= 0)),
        "bad_answer": ~nw.col("answer").is_in([0, 1]),
        "undeclared_segment": ~nw.col("declared").is_in(texts),
    }
    if closed:
        faults["missing_invite"] = (nw.col("invited") == 0) & nw.col("survey").is_in(closed)
    if ids:
        faults["bad_invite"] = (nw.col("invited") == 1) & ((length < 1) | (length > LONGEST_INVITE))
        well_formed = nw.col("id").str.contains("^[0-9a-f]{32}$") & (nw.col("id").str.len_chars() == 32)
        faults["bad_id"] = ~well_formed
    fault: Any = nw.lit(0)
    for name in reversed(faults):
        fault = nw.when(faults[name]).then(nw.lit(NUMBER[name])).otherwise(fault)
    rows = rows.with_columns(
        fault=fault,
        said=nw.concat_str(nw.col("round").cast(nw.String), nw.col("answer").cast(nw.String), separator="|"),
    )
    content = nw.concat_str("survey", "question", "said", "segments", separator="|")
    stands = nw.col("fault") == 0
    return rows.with_columns(
        content=nw.when(stands).then(content).otherwise(nw.lit("")),
        uid=nw.when(stands).then(nw.col("id")).otherwise(nw.lit("")),
        guest=nw.when(stands & (nw.col("invited") == 1))
        .then(nw.concat_str("asked", nw.col("round").cast(nw.String), "invite", separator="|"))
        .otherwise(nw.lit("")),
    )


def _one_line_an_id(judged: Frame) -> Frame:
    """(uid, fault, content, guest, rows, again): every id that stands, and the refused rows in one line a fault."""
    content, guest = nw.col("content"), nw.col("guest")
    ids = judged.group_by("uid", "fault").agg(
        content=content.min(), other=content.max(), guest=guest.min(), other_guest=guest.max(), n=nw.len(),
        olds=nw.col("old").sum(),
    )  # fmt: skip
    conflict = (nw.col("fault") == 0) & (
        (nw.col("content") != nw.col("other")) | (nw.col("guest") != nw.col("other_guest"))
    )
    ids = ids.with_columns(rows=nw.col("n") - nw.col("olds"))
    ids = ids.with_columns(fault=nw.when(conflict).then(nw.lit(CONFLICTING_ID)).otherwise(nw.col("fault")))
    stands = nw.col("fault") == 0
    return ids.with_columns(
        content=nw.when(stands).then(nw.col("content")).otherwise(nw.lit("")),
        guest=nw.when(stands).then(nw.col("guest")).otherwise(nw.lit("")),
        before=nw.when(stands & (nw.col("olds") > 0)).then(nw.lit(1)).otherwise(nw.lit(0)),
    )


def _invites_once(ids: Frame) -> Frame:
    """The same, with the new reports of an invite that speaks more than once refused."""
    people = ids.filter(nw.col("guest") != "").group_by("guest").agg(reports=nw.len())
    crowded = people.filter(nw.col("reports") > 1).select("guest", "reports")
    joined = ids.join(crowded, on="guest", how="left")
    reused = ~nw.col("reports").is_null() & (nw.col("before") == 0)
    return joined.with_columns(
        fault=nw.when(reused).then(nw.lit(INVITE_REUSED)).otherwise(nw.col("fault")),
        content=nw.when(reused).then(nw.lit("")).otherwise(nw.col("content")),
    ).drop("reports")


def _grouped(ids: Frame) -> Frame:
    """(fault, content, before, reports, rows)."""
    return ids.group_by("fault", "content", "before").agg(reports=nw.len(), rows=nw.col("rows").sum())
