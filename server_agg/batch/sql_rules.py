"""The rules of `rrcollect.publish.report` as SQL (DuckDB): judge every row, compare the valid ones, count.

    rows → judged (fault, code) → grouped by id → grouped by ticket, where surveys are by invitation → counts

Rules
1. The query gives (fault, code, before, reports, rows, text of the answer, ones of long answers): for every code, text
   and fault how many reports and rows there are, and in how many reports each character of a long answer is 1.
   `before` marks reports whose id was already in the earlier rows.
2. Without deduplication the rows are grouped before they are judged: a judgement depends on the grouped columns only,
   and there are far fewer groups than rows.
3. Ids are grouped as 128-bit numbers; the rows of an id are compared by the least and greatest of their code, answer
   and ticket.
4. What an outer join did not find is told by the number 0 and never by NULL alone: some databases fill with defaults.
5. No value of a row ever becomes part of a query's text.  What does are survey digests and numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

from rrcollect.publish.question import MOST_ROUNDS
from rrcollect.publish.report import TICKET
from server_agg.batch.sources import COLUMNS
from server_agg.batch.summary import NUMBER_OF
from server_agg.batch.survey_tables import NARROW, SurveyTables

NUMBER = (
    "NOT coalesce(strlen(rows_in.answer) = questions.width AND regexp_full_match(rows_in.answer, '[0-9]+') "
    "AND try_cast(rows_in.answer AS BIGINT) < questions.cells, false)"
)
WRONG = {  # by statistic: whether a text is not an answer, by the shape of the question's answers
    "ones": "strlen(coalesce(rows_in.answer, '')) <> questions.width "
    "OR (rows_in.answer NOT IN ('0', '1') AND NOT regexp_full_match(rows_in.answer, '[01]+')) "
    "OR (questions.size > 0 AND strlen(replace(rows_in.answer, '0', '')) <> questions.size)",
    "numbers": NUMBER,
    "blocks": NUMBER,
}
TICKET_FITS = f"regexp_full_match(ticket, '{TICKET.pattern}')"  # NULL without a ticket


def quoted(text: str) -> str:
    """A string literal."""
    return "'" + text.replace("'", "''") + "'"


def text_as_number(column: str) -> str:
    """A whole number written as text, in its one spelling; NULL for every other text."""
    return (
        f"CASE {column} WHEN '0' THEN 0 WHEN '1' THEN 1 ELSE CASE WHEN regexp_full_match({column}, '-?[1-9][0-9]*') "
        f"THEN coalesce(try_cast({column} AS BIGINT), -1) END END"
    )


@dataclass(frozen=True)
class Query:
    """The counting query over a relation of rows.

    `rows` names a table or view with the columns of a row, `malformed` (if `malformed`) and `earlier` (if `earlier`).
    """

    tables: SurveyTables
    rows: str
    malformed: bool = False
    earlier: bool = False

    def faults(self) -> dict[str, str]:
        """The test of each reason; the first that is true, in the order of `REASONS`, is the row's."""
        digests = ", ".join(f"'{digest}'" for digest in self.tables.surveys)
        return {
            **({"malformed": "rows_in.malformed"} if self.malformed else {}),
            "unknown_survey": f"coalesce(questions.number, 0) = 0 AND coalesce(rows_in.survey, '') NOT IN ({digests})",
            "unknown_question": "coalesce(questions.number, 0) = 0",
            "wrong_design": "coalesce(rows_in.design, '') <> questions.design",
            "unknown_round": "coalesce(rows_in.round, -1) NOT BETWEEN 0 AND questions.rounds - 1",
            "bad_answer": self._wrong_answer(),
            "undeclared_segment": "coalesce(texts.place, 0) = 0",
            "missing_ticket": "questions.invite_only AND rows_in.ticket_fits IS NULL",
            "unexpected_ticket": "NOT questions.invite_only AND rows_in.ticket_fits IS NOT NULL",
            "bad_ticket": "NOT coalesce(rows_in.ticket_fits, true)",
            "bad_id": "rows_in.uid IS NULL OR strlen(rows_in.id) <> 32 OR rows_in.id <> lower(rows_in.id)",
        }

    def _wrong_answer(self) -> str:
        names = sorted({question.design.statistic for _, question in self.tables.questions})
        if len(names) == 1:
            return WRONG[names[0]]
        return " OR ".join(f"(questions.statistic = '{name}' AND ({WRONG[name]}))" for name in names)

    def judged(self, rows: str, *, ids: bool = True, columns: str = "") -> str:
        """Every row of `rows` with its fault (0: none) and its code."""
        tests = {reason: test for reason, test in self.faults().items() if ids or reason != "bad_id"}
        cases = " ".join(f"WHEN {tests[reason]} THEN {NUMBER_OF[reason]}" for reason in NUMBER_OF if reason in tests)
        number = "INTEGER" if self.tables.codes < 2**31 else "BIGINT"
        asked = f"(questions.number::{number} * {MOST_ROUNDS} + rows_in.round::{number})"
        code = f"({asked} * {self.tables.places} + texts.place::{number})::{number}"
        if ids:  # an id is read as a number once: it is judged, and grouped by
            rows = f"(SELECT *, try_cast(id AS UUID) AS uid, {TICKET_FITS} AS ticket_fits FROM {rows})"  # noqa: S608
        return (
            f"SELECT {columns} CASE {cases} ELSE 0 END AS fault, CASE WHEN fault = 0 THEN {code} END AS code "  # noqa: S608
            f"FROM {rows} AS rows_in "
            "LEFT JOIN rr_questions AS questions "
            "ON rows_in.survey = questions.survey AND rows_in.question = questions.question "
            "LEFT JOIN rr_texts AS texts ON rows_in.survey = texts.survey AND rows_in.segments = texts.segments"
        )

    def without_deduplication(self) -> str:
        """Counts of rows, ids unseen: group, then judge the groups.

        Of tickets only their form counts.  Where no survey is by invitation a row may have none at all, and a group
        says how many of its rows have one: grouping by the form too would cost a quarter of the time.
        """
        columns = "survey, question, round, design, answer, segments" + ", malformed" * self.malformed
        if self.tables.by_invitation:
            fits = f"{TICKET_FITS} AS ticket_fits"
            groups = f"SELECT {columns}, {fits}, count(*) AS group_rows FROM {self.rows} GROUP BY ALL"  # noqa: S608
        else:
            counted = f"SELECT {columns}, count(ticket) AS holders, count(*) AS all_rows FROM {self.rows} GROUP BY ALL"  # noqa: S608
            groups = (
                "SELECT *, CASE WHEN ticket_fits THEN holders ELSE all_rows - holders END AS group_rows "  # noqa: S608
                f"FROM ({counted}), (VALUES (NULL), (true)) AS holding(ticket_fits) WHERE group_rows > 0"
            )
        judged = self.judged(f"({groups})", ids=False, columns="rows_in.group_rows, rows_in.answer,")
        return self._lines(f"({judged})", "false", "group_rows", "group_rows")

    def _lines(self, relation: str, before: str, reports: str, rows: str, fault: str = "fault") -> str:
        """The counts of a relation with a fault, a code and an answer per row: by the text of short answers; of long
        ones, which count by "ones", with the 1 at each character summed.  A refused row has neither."""
        width = self.tables.width if self.tables.wide else 0
        short = f"{fault} = 0 AND strlen(answer) <= {NARROW}" if width else f"{fault} = 0"
        ones = "".join(f", coalesce(sum(get_bit(bits, {bit}) * {reports}), 0)::BIGINT" for bit in range(width))
        if width:
            long = f"CASE WHEN {fault} = 0 AND NOT ({short}) THEN rpad(answer, {width}, '0')::BIT END AS bits"
            relation = f"(SELECT *, {long} FROM {relation})"  # noqa: S608
        return (
            f"SELECT {fault} AS fault, code, {before} AS before, sum({reports})::BIGINT AS reports, "  # noqa: S608
            f"sum({rows})::BIGINT AS rows, CASE WHEN {short} THEN answer END AS text{ones} FROM {relation} GROUP BY ALL"
        )

    def grouped_by_id(self) -> str:
        """(uid, fault, code, answer, ticket, all_rows, earlier_rows): a line for every id of valid rows, and one for
        all refused rows of a fault."""
        compared = ("code", "answer", "ticket") if self.tables.by_invitation else ("code", "answer")
        ends = ", ".join(f"min({name}) AS least_{name}, max({name}) AS greatest_{name}" for name in compared)
        conflict = " OR ".join(f"least_{name} <> greatest_{name}" for name in compared)
        columns = "rows_in.uid, rows_in.answer, rows_in.ticket," + (" rows_in.earlier," if self.earlier else "")
        return f"""
            SELECT uid, CASE WHEN fault = 0 AND ({conflict}) THEN {NUMBER_OF["conflicting_id"]} ELSE fault END AS fault,
                   CASE WHEN fault = 0 AND ({conflict}) THEN NULL ELSE least_code END AS code, least_answer AS answer,
                   {"least_ticket" if "ticket" in compared else "NULL::VARCHAR"} AS ticket, all_rows, earlier_rows
            FROM (SELECT CASE WHEN fault = 0 THEN judged.uid END AS uid, fault, {ends}, count(*) AS all_rows,
                         {"count(*) FILTER (earlier)" if self.earlier else "0::BIGINT"} AS earlier_rows
                  FROM ({self.judged(self.rows, columns=columns)}) AS judged GROUP BY ALL)"""  # noqa: S608

    def deduplicated(self, ids: str | None = None) -> str:
        """Counts of reports, each id and each ticket once; `ids` names a table of `grouped_by_id`, if there is one."""
        ids = ids or f"({self.grouped_by_id()})"
        before, new = "earlier_rows > 0 AND fault = 0", "all_rows - earlier_rows"
        if not self.tables.by_invitation:
            return self._lines(ids, before, "1", new)
        without = "(SELECT * FROM ids WHERE fault > 0 OR ticket IS NULL)"
        single = "(SELECT * FROM tickets WHERE reports = 1)"
        none = ", ".join(["NULL::VARCHAR", *("0" * (self.tables.width if self.tables.wide else 0))])
        return f"""
            WITH ids AS MATERIALIZED (SELECT * FROM {ids}),
            tickets AS (SELECT code // {self.tables.places} AS asked, ticket, count(*) AS reports, min(code) AS code,
                               min(answer) AS answer, sum(all_rows - earlier_rows) AS new_rows,
                               count(*) FILTER (earlier_rows > 0) AS earlier_reports,
                               coalesce(sum(all_rows - earlier_rows) FILTER (earlier_rows > 0), 0) AS repeats
                        FROM ids WHERE fault = 0 AND ticket IS NOT NULL GROUP BY asked, ticket)
            {self._lines(without, before, "1", new)}
            UNION ALL {self._lines(single, "earlier_reports > 0", "1", "new_rows", fault="0")}
            UNION ALL SELECT 0, NULL, true, 0, sum(repeats)::BIGINT, {none} FROM tickets WHERE reports > 1
            UNION ALL SELECT {NUMBER_OF["ticket_reused"]}, NULL, false, 0, sum(new_rows - repeats)::BIGINT, {none}
                      FROM tickets WHERE reports > 1"""  # noqa: S608

    def refused_rows(self, ids: str) -> str:
        """The refused rows themselves with their reason, given a table of `grouped_by_id`."""
        names = " ".join(f"WHEN {number} THEN '{reason}'" for reason, number in NUMBER_OF.items())
        columns = "".join(f"rows_in.{name}, " for name in COLUMNS) + ("rows_in.earlier," if self.earlier else "")
        bad = f"SELECT uid, fault FROM {ids} WHERE uid IS NOT NULL AND fault > 0"  # noqa: S608
        if self.tables.by_invitation:
            bad += (
                f" UNION ALL SELECT unnest(new) AS uid, {NUMBER_OF['ticket_reused']} AS fault FROM (SELECT "  # noqa: S608
                f"list(uid) FILTER (earlier_rows = 0) AS new, count(*) AS reports FROM {ids} WHERE fault = 0 "
                f"AND ticket IS NOT NULL GROUP BY code // {self.tables.places}, ticket) WHERE reports > 1"
            )
        return f"""
            SELECT {", ".join(f"judged.{name}" for name in COLUMNS)},
                   CASE judged.fault + coalesce(refused.fault, 0) {names} END AS reason
            FROM (SELECT * FROM ({self.judged(self.rows, columns=columns)})
                  {"WHERE NOT earlier" * self.earlier}) AS judged
            LEFT JOIN ({bad}) AS refused ON judged.fault = 0 AND try_cast(judged.id AS UUID) = refused.uid
            WHERE judged.fault + coalesce(refused.fault, 0) > 0"""  # noqa: S608
