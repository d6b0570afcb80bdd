"""The report: all that ever leaves the device, and the same as one flat row.

Rules
1. Its length is the same for all answers, and nothing in it depends on the truth but the answer.
2. It names the survey by digest, the question, the round, and the design the answer was drawn with, so that whoever
   estimates uses the numbers that were applied.
3. Its answer is a text of fixed length that its design alone reads (`allows`).
4. Its id is fresh random 128 bits.  No clock, no address, no device.
5. One spelling: canonical JSON of exactly these fields, made with the report.  What does not fit into
   `LARGEST_REPORT` bytes is not a report; another answer takes the old one's place and nothing is spelled again.
6. A row has the same eight columns wherever reports are stored, in a table, a frame or a file: `survey question round
   design answer id ticket segments`.  `design` and `segments` are canonical JSON text, `round` is a whole number, all
   else is text; `ticket` alone may be missing.  A row may hold anything: `fault` says what is wrong with it.
7. Where the survey has an issuer a report carries a token in the place of the ticket (`tokens`).  A token is judged by
   a collector that has the secret; a row of what it admitted has the form of any other, its id in that place.

Which reports a survey allows, and why the others are refused: written once
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

import re
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import NamedTuple

from rrcollect.design import from_wire
from rrcollect.design.mechanism import Mechanism
from rrcollect.errors import MalformedDocument, MalformedReport, RRCollectError, SurveyRefused
from rrcollect.publish.canonical import canonical, read, read_canonical
from rrcollect.publish.question import MOST_ROUNDS
from rrcollect.publish.survey import Survey

LARGEST_REPORT = 8192  # bytes
REPORT_ID = re.compile(r"[0-9a-f]{32}")
TICKET = re.compile(r"[0-9a-f]{32}")
NONCE_DIGITS = 64
TOKEN = re.compile(rf"[0-9a-f]{{{NONCE_DIGITS}}}[0-9a-f]{{64}}")  # a nonce, and what binds it to its report
_DIGEST = re.compile(r"[0-9a-f]{64}")


class ReportRow(NamedTuple):
    """A report as one row of a table, a frame or a file; a collector that admitted it puts its id for its ticket."""

    survey: str | None
    question: str | None
    round: int | None
    design: str | None
    answer: str | None
    id: str | None
    ticket: str | None
    segments: str | None

    def __repr__(self) -> str:
        return f"ReportRow({self.id!r}, {self.question!r})"


_FIELDS = frozenset(ReportRow._fields)  # of a report too


@dataclass(frozen=True)
class Report:
    """One randomised answer on its way out.

    >>> from rrcollect import Design
    >>> report = Report(survey="0" * 64, question="q1", design=Design("3/4", "3/4"), answer="1", id="f" * 32)
    >>> len(report.to_bytes()) == len(report.with_answer("0").to_bytes())
    True
    >>> Report.from_bytes(report.to_bytes()) == report
    True
    """

    survey: str
    question: str
    design: Mechanism
    answer: str = field(repr=False)
    id: str
    round: int = 0
    segments: Mapping[str, str] = field(default_factory=dict, hash=False)
    ticket: str | None = field(default=None, repr=False)
    _body: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.survey, str) or not _DIGEST.fullmatch(self.survey):
            raise MalformedReport("survey must be a SHA-256 digest: 64 hexadecimal digits")
        if not isinstance(self.id, str) or not REPORT_ID.fullmatch(self.id):
            raise MalformedReport("id must be 32 hexadecimal digits")
        if not isinstance(self.question, str) or not 1 <= len(self.question) <= 64:
            raise MalformedReport("question must be the id of a question")
        if not isinstance(self.design, Mechanism):
            raise MalformedReport("design must be the design the answer was drawn with")
        if not isinstance(self.answer, str) or not self.design.allows(self.answer):
            raise MalformedReport("answer must be a text that the design can give")
        if type(self.round) is not int or not 0 <= self.round < MOST_ROUNDS:
            raise MalformedReport(f"round must be a whole number from 0 to {MOST_ROUNDS - 1}")
        if self.ticket is not None and not (
            isinstance(self.ticket, str) and (TICKET.fullmatch(self.ticket) or TOKEN.fullmatch(self.ticket))
        ):
            raise MalformedReport("ticket must be 32 hexadecimal digits, 128 of a token, or null")
        if not isinstance(self.segments, Mapping) or not all(
            isinstance(name, str) and isinstance(value, str) for name, value in self.segments.items()
        ):
            raise MalformedReport("segments must map names to values, both strings")
        object.__setattr__(self, "segments", dict(self.segments))
        try:
            body = canonical({**{name: vars(self)[name] for name in _FIELDS}, "design": self.design.to_wire()})
        except MalformedDocument as error:
            raise MalformedReport(str(error)) from None
        if len(body) > LARGEST_REPORT:
            raise MalformedReport(f"a report has at most {LARGEST_REPORT} bytes; this one has {len(body)}")
        object.__setattr__(self, "_body", body)

    def to_bytes(self) -> bytes:
        """The canonical bytes that are sent."""
        return self._body

    def with_answer(self, answer: str) -> Report:
        """The same report around another answer: these characters alone change (rule 1)."""
        if not self.design.allows(answer):
            raise MalformedReport("answer must be a text that the design can give")
        made = copy(self)
        object.__setattr__(made, "answer", answer)
        start = len('{"answer":"')  # the first field
        object.__setattr__(made, "_body", b'{"answer":"%b%b' % (answer.encode(), self._body[start + len(answer) :]))
        return made

    @property
    def row(self) -> ReportRow:
        """The report as a flat row.

        >>> from rrcollect import Design
        >>> report = Report(survey="0" * 64, question="q1", design=Design("3/4", "3/4"), answer="1", id="f" * 32,
        ...                 segments={"region": "north"})
        >>> report.row.design, report.row.segments
        ('{"p00":"3/4","p11":"3/4"}', '{"region":"north"}')
        """
        segments = canonical(self.segments).decode()
        where = self.survey, self.question, self.round
        return ReportRow(*where, self.design.text, self.answer, self.id, self.ticket, segments)

    @classmethod
    def from_bytes(cls, data: bytes) -> Report:
        """The report of canonical bytes; every other spelling is refused."""
        try:
            value = read(data, LARGEST_REPORT)
            if not isinstance(value, dict) or set(value) != _FIELDS:
                raise MalformedReport(f"a report has exactly the fields {sorted(_FIELDS)}")
            design = from_wire(value["design"])
        except RRCollectError as error:
            raise MalformedReport(str(error)) from None
        report = cls(**{**value, "design": design})
        if report._body != data:
            raise MalformedReport("the bytes are not the canonical form (RFC 8785) of the report")
        return report


# ---- which reports a survey allows ----------------------------------------------------------------------------------

_REASONS = {
    "malformed": (400, "cut off, broken, or with a value of the wrong type"),
    "unknown_survey": (404, "no survey with this digest is published here"),
    "unknown_question": (422, "the survey has no question with this id"),
    "wrong_design": (422, "the recorded design is not the published one in its one spelling: it cannot be counted"),
    "unknown_round": (422, "not a round of the question: 0 to rounds − 1"),
    "bad_answer": (422, "not an answer the design can give"),
    "undeclared_segment": (422, "a segment or value the survey does not declare, or not in canonical JSON"),
    "missing_ticket": (403, "the survey is by invitation, and the report has no ticket"),
    "unexpected_ticket": (422, "the survey is open to everybody, and the report has a ticket"),
    "bad_ticket": (422, "a ticket that is not 32 hexadecimal digits in lower case, or a token that is not 128"),
    "bad_id": (422, "not 32 hexadecimal digits in lower case"),
    "conflicting_id": (409, "another report has this id"),
    "ticket_reused": (403, "another report has this ticket, question and round"),
    "unknown_ticket": (403, "no invitation of this survey gives this ticket"),
    "closed": (410, "the survey has expired, or this round of it has closed, and the grace period is over"),
    "withdrawn": (410, "the survey's publisher has withdrawn it"),
}
REASONS = {reason: meaning for reason, (_, meaning) in _REASONS.items()}
"""Every reason, in the order in which they are looked for, and what it means."""

STATUS = {reason: status for reason, (status, _) in _REASONS.items()}
"""The HTTP status that a collector sends with each reason (422: well formed, but not what the survey allows).  A device
takes a reply as a refusal only if its status and its reason belong together."""

COMPARED = ("conflicting_id", "ticket_reused")  # found by comparing reports that are valid by themselves


def fault(report: Report | ReportRow, survey: Survey | None) -> str | None:  # noqa: PLR0911 (a list of rules)
    """Why the survey does not allow this report, judged by itself: a name from `REASONS`, or None.

    `survey` is the one published under the report's digest; None if there is not one.

    >>> from rrcollect import Design
    >>> fault(Report(survey="0" * 64, question="q1", design=Design("3/4", "3/4"), answer="1", id="f" * 32), None)
    'unknown_survey'
    """
    row, ticket_form = (report.row, TOKEN) if isinstance(report, Report) else (report, TICKET)
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
    if row.ticket is not None and not (TICKET if survey.issuer is None else ticket_form).fullmatch(row.ticket):
        return "bad_ticket"
    if row.id is None or not REPORT_ID.fullmatch(row.id):
        return "bad_id"
    return None


def declared(text: str | None, survey: Survey) -> bool:
    """Whether the text is canonical JSON of segments, each with a value, that the survey declares."""
    try:
        value = read_canonical((text or "").encode(), LARGEST_REPORT)
    except (SurveyRefused, UnicodeEncodeError):
        return False
    return isinstance(value, dict) and survey.declares(value)
