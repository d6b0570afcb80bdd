"""The rules as SQL (DuckDB): judge every row, compare those that stand, count.

    rows → judged (fault, code) → one line an id → one line an invite, where invites are used → counts

Rules
1. The query gives (fault, code, before, reports, rows): for every code and every fault how many reports and rows there
   are.  `before` marks reports whose id was already in the earlier rows.
2. Without deduplication the rows are grouped before they are judged: a judgement depends on the grouped columns only,
   and there are far fewer groups than rows.
3. Ids are grouped as 128-bit numbers; the codes of an id are compared by their least and greatest.
4. No value of a row ever becomes part of a query's text.  What does are survey digests and numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

from rrcollect.publish.survey import MOST_ROUNDS
from server_agg.batch.reasons import CONFLICTING_ID, INVITE_REUSED, NUMBER
from server_agg.batch.survey_tables import Published

__all__ = ["Query", "text_as_number"]

LONGEST_INVITE = 128


def text_as_number(column: str) -> str:
    """A whole number written as text, in its one spelling; NULL for every other text."""
    return (
        f"CASE {column} WHEN '0' THEN 0 WHEN '1' THEN 1 ELSE CASE WHEN regexp_full_match({column}, '-?[1-9][0-9]*') "
        f"THEN coalesce(try_cast({column} AS BIGINT), -1) END END"
    )


@dataclass(frozen=True)
class Query:
    """The counting query over a relation of flat rows.

    `rows` names a table or view with the flat columns, `malformed` (if `malformed`) and `old` (if `earlier`).
    """

    published: Published
    rows: str
    malformed: bool = False
    earlier: bool = False
    invites: bool = False

    @property
    def _number(self) -> str:
        return "INTEGER" if self.published.codes < 2**31 else "BIGINT"

    def judged(self, rows: str, *, ids: bool = True, invites: bool = True, columns: str = "") -> str:
        """Every row of `rows` with its fault (0: none) and its code."""
        digests = ", ".join(f"'{digest}'" for digest in self.published.surveys)
        texts, number = max(len(self.published.texts), 1), self._number
        wants_invite = "r.invite IS NULL" if invites else "NOT r.invited"
        faults = [
            ("malformed", "r.malformed", self.malformed),
            ("unknown_survey", f"q.number IS NULL AND NOT coalesce(r.survey IN ({digests}), false)", True),
            ("unknown_question", "q.number IS NULL", True),
            ("wrong_design", "r.p00 IS DISTINCT FROM q.p00 OR r.p11 IS DISTINCT FROM q.p11", True),
            ("bad_round", "r.round IS NULL OR r.round < 0 OR r.round >= q.rounds", True),
            ("bad_answer", "r.answer IS NULL OR r.answer NOT IN (0, 1)", True),
            ("undeclared_segment", "t.place IS NULL", True),
            ("missing_invite", f"q.invite_only AND {wants_invite}", self.published.by_invitation),
            ("bad_invite", f"r.invite IS NOT NULL AND length(r.invite) NOT BETWEEN 1 AND {LONGEST_INVITE}", invites),
            (
                "bad_id",
                "r.uid IS NULL OR strlen(r.id) <> 32 OR r.id <> lower(r.id)",
                ids,
            ),
        ]
        cases = " ".join(f"WHEN {test} THEN {NUMBER[name]}" for name, test, wanted in faults if wanted)
        invited = "(r.invite IS NOT NULL)::INTEGER" if invites else "0"
        code = (
            f"((((q.number::{number} * {MOST_ROUNDS} + r.round::{number}) * 2 + r.answer::{number}) * {texts}"
            f" + t.place::{number}) * 2 + {invited})::{number}"
        )
        judge = f"CASE {cases} ELSE 0 END"
        if ids:  # read as a number once: it is judged, and grouped by
            rows = f"(SELECT *, try_cast(id AS UUID) AS uid FROM {rows})"  # noqa: S608
        return (
            f"SELECT {columns} {judge} AS fault, CASE WHEN fault = 0 THEN {code} END AS code FROM {rows} AS r "  # noqa: S608
            "LEFT JOIN rr_questions AS q ON r.survey = q.survey AND r.question = q.question "
            "LEFT JOIN rr_texts AS t ON r.survey = t.survey AND r.segments = t.segments"
        )

    def without_deduplication(self) -> str:
        """Counts of rows, ids unseen: group, then judge the groups."""
        extra = (", r.malformed" if self.malformed else "") + (
            ", r.invite IS NOT NULL AS invited" if self.published.by_invitation else ""
        )
        groups = (
            "SELECT r.survey, r.question, r.round, r.p00, r.p11, r.answer, r.segments"  # noqa: S608
            f"{extra}, count(*) AS n FROM {self.rows} AS r GROUP BY ALL"
        )
        judged = self.judged(f"({groups})", ids=False, invites=False, columns="r.n,")
        return (
            "SELECT fault, code, false AS before, sum(n)::BIGINT AS reports, sum(n)::BIGINT AS rows "  # noqa: S608
            f"FROM ({judged}) GROUP BY fault, code"
        )

    def one_line_an_id(self) -> str:
        """(uid, fault, code, n, o[, invite]): every id that stands on its own, the refused rows in one line."""
        columns = "r.uid," + ("r.old," if self.earlier else "") + ("r.invite," if self.invites else "")
        old = "count(*) FILTER (old)" if self.earlier else "0::BIGINT"
        conflict = "lo <> hi" + (" OR ilo IS DISTINCT FROM ihi" if self.invites else "")
        least = ", min(invite) AS ilo, max(invite) AS ihi" if self.invites else ""
        return f"""
            SELECT uid, CASE WHEN fault = 0 AND ({conflict}) THEN {CONFLICTING_ID} ELSE fault END AS fault,
                   CASE WHEN fault = 0 AND NOT ({conflict}) THEN lo END AS code, n, o
                   {", CASE WHEN fault = 0 THEN ilo END AS invite" if self.invites else ""}
            FROM (SELECT CASE WHEN fault = 0 THEN j.uid END AS uid, fault, min(code) AS lo, max(code) AS hi,
                         count(*) AS n, {old} AS o {least}
                  FROM ({self.judged(self.rows, columns=columns)}) AS j GROUP BY ALL)"""  # noqa: S608

    def deduplicated(self, ids: str | None = None) -> str:
        """Counts of reports, each id once, each invite once."""
        ids = ids or f"({self.one_line_an_id()})"
        plain = (
            "SELECT fault, code, o > 0 AND fault = 0 AS before, count(*) AS reports, sum(n - o)::BIGINT AS rows "  # noqa: S608
            f"FROM {ids} {{}} GROUP BY ALL"
        )
        if not self.invites:
            return plain.format("")
        per = 2 * max(len(self.published.texts), 1) * 2  # codes a question and round
        return f"""
            WITH ids AS MATERIALIZED (SELECT * FROM {ids}),
            people AS (SELECT code // {per} AS asked, invite, count(*) AS k, min(code) AS code, sum(n - o) AS n,
                              count(*) FILTER (o > 0) AS olds, coalesce(sum(n) FILTER (o > 0), 0)
                              - coalesce(sum(o) FILTER (o > 0), 0) AS again
                       FROM ids WHERE fault = 0 AND invite IS NOT NULL GROUP BY asked, invite)
            {plain.replace(ids, "ids", 1).format("WHERE fault > 0 OR invite IS NULL")}
            UNION ALL SELECT 0, code, olds > 0, count(*), sum(n)::BIGINT FROM people WHERE k = 1 GROUP BY ALL
            UNION ALL SELECT 0, NULL, true, 0, sum(again)::BIGINT FROM people WHERE k > 1
            UNION ALL SELECT {INVITE_REUSED}, NULL, false, 0, sum(n - again)::BIGINT FROM people WHERE k > 1"""  # noqa: S608

    def refused_rows(self, ids: str) -> str:
        """The refused rows themselves with their reason, given the table of `one_line_an_id`."""
        names = " ".join(f"WHEN {number} THEN '{name}'" for name, number in NUMBER.items())
        flat = "r.survey, r.question, r.round, r.p00, r.p11, r.answer, r.id, r.invite, r.segments,"
        old = " WHERE NOT old" if self.earlier else ""
        columns = flat + (" r.old," if self.earlier else "")
        reused = "false"
        if self.invites:
            per = 2 * max(len(self.published.texts), 1) * 2
            reused = (
                f"uid IN (SELECT unnest(uids) FROM (SELECT list(uid) FILTER (o = 0) AS uids, count(*) AS k FROM {ids} "  # noqa: S608
                f"WHERE fault = 0 AND invite IS NOT NULL GROUP BY code // {per}, invite) WHERE k > 1)"
            )
        bad = (
            f"SELECT uid, CASE WHEN fault = 0 THEN {INVITE_REUSED} ELSE fault END AS fault FROM {ids} "  # noqa: S608
            f"WHERE uid IS NOT NULL AND (fault > 0 OR {reused})"
        )
        return f"""
            SELECT j.* EXCLUDE (fault, code{", old" if self.earlier else ""}),
                   CASE coalesce(b.fault, j.fault) {names} END AS reason
            FROM (SELECT * FROM ({self.judged(self.rows, columns=columns)}){old}) AS j
            LEFT JOIN ({bad}) AS b ON j.fault = 0 AND try_cast(j.id AS UUID) = b.uid
            WHERE coalesce(b.fault, j.fault) > 0"""  # noqa: S608
