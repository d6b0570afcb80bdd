"""Which reports a survey allows, and why the others are refused: written once.

Rules
1. A report is judged by itself first; the first reason that applies, in the order of `REASONS`, is the one given.
2. Only reports that are valid by themselves are compared with each other: first by report id, then by ticket.  So
   nobody can spoil a valid report by sending an invalid one under its id.
3. Equal rows with the same id are one report and its repeats.  If rows with the same id differ, none of them is counted
   (`conflicting_id`), because it cannot be known which one is true.
4. A ticket counts once per question and round.  If several report ids come with one ticket, none of them is counted
   (`ticket_reused`): keeping "the first" would depend on the order of files, keeping the smallest id would let the
   sender choose.  A collector sees one report at a time; it keeps the one that it acknowledged.
5. The names of the reasons do not change: they stand in replies, summaries, files of refused rows and dashboards.

The simulated collector, the collector's admission and the reader of packed answers call `fault`.  The rules as SQL and
as frame expressions are faster copies for many rows; tests compare them with `fault` row by row.
"""

from __future__ import annotations

from rrcollect.errors import SurveyRefused
from rrcollect.publish.canonical import read_canonical
from rrcollect.publish.report import LARGEST_REPORT, REPORT_ID, TICKET, Report, ReportRow
from rrcollect.publish.survey import Survey

REASONS = {
    "malformed": "cut off, broken, or with a value of the wrong type",
    "unknown_survey": "no survey with this digest is published here",
    "unknown_question": "the survey has no question with this id",
    "wrong_design": "the recorded design is not the published one in its one spelling: it cannot be counted",
    "unknown_round": "not a round of the question: 0 to rounds − 1",
    "bad_answer": "not an answer the design can give: text of 0 and 1",
    "undeclared_segment": "a segment or value the survey does not declare, or not in canonical JSON",
    "missing_ticket": "the survey is by invitation, and the report has no ticket",
    "unexpected_ticket": "the survey is open to everybody, and the report has a ticket",
    "bad_ticket": "a ticket that is not 32 hexadecimal digits in lower case",
    "bad_id": "not 32 hexadecimal digits in lower case",
    "conflicting_id": "another report has this id",
    "ticket_reused": "another report has this ticket, question and round",
    "unknown_ticket": "no invitation of this survey gives this ticket",
    "closed": "the survey has expired, or this round of it has closed, and the grace period is over",
    "withdrawn": "the survey's publisher has withdrawn it",
}
"""Every reason, in the order in which they are looked for, and what it means."""

STATUS = dict.fromkeys(REASONS, 422) | {  # 422: well formed, but not what the survey allows
    "malformed": 400,
    "unknown_survey": 404,
    "missing_ticket": 403,
    "unknown_ticket": 403,
    "ticket_reused": 403,
    "conflicting_id": 409,
    "closed": 410,
    "withdrawn": 410,
}
"""The HTTP status that a collector sends with each reason.  A device takes a reply as a refusal only if its status and
its reason belong together."""

COMPARED = ("conflicting_id", "ticket_reused")  # found by comparing reports that are valid by themselves
_LONGEST_SEGMENTS = LARGEST_REPORT


def fault(report: Report | ReportRow, survey: Survey | None) -> str | None:  # noqa: PLR0911 (a list of rules)
    """Why the survey does not allow this report, judged by itself: a name from `REASONS`, or None.

    `survey` is the one published under the report's digest; None if there is not one.

    >>> from rrcollect import Design
    >>> fault(Report(survey="0" * 64, question="q1", design=Design("3/4", "3/4"), answer="1", id="f" * 32), None)
    'unknown_survey'
    """
    row = report.row if isinstance(report, Report) else report
    if survey is None:
        return "unknown_survey"
    question = next((question for question in survey.questions if question.id == row.question), None)
    if question is None:
        return "unknown_question"
    if row.design != question.design.text:
        return "wrong_design"
    if row.round is None or not 0 <= row.round < question.rounds:
        return "unknown_round"
    if row.answer is None or not question.design.allows(row.answer):
        return "bad_answer"
    if not declared(row.segments, survey):
        return "undeclared_segment"
    if survey.invite_only and row.ticket is None:
        return "missing_ticket"
    if row.ticket is not None and not survey.invite_only:
        return "unexpected_ticket"
    if row.ticket is not None and not TICKET.fullmatch(row.ticket):
        return "bad_ticket"
    if row.id is None or not REPORT_ID.fullmatch(row.id):
        return "bad_id"
    return None


def declared(text: str | None, survey: Survey) -> bool:
    """Whether the text is canonical JSON of segments, each with a value, that the survey declares."""
    try:
        value = read_canonical((text or "").encode(), _LONGEST_SEGMENTS)
    except (SurveyRefused, UnicodeEncodeError):
        return False
    return isinstance(value, dict) and survey.declares(value)
