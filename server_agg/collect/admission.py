"""Which reports are taken: rules without I/O, from bytes to an `Arrival` or a `Refusal` that says what to mend.

Rules
1. A report is canonical JSON of exactly its fields (`rrcollect.publish.report`), of a published survey, for a question
   and a round it has, drawn with the matrix it publishes, with segments it declares.
2. After the survey's expiry, reports that waited on a device are still taken for the `grace` period.
3. An invite-only survey needs an invite; whether it is good and unspent the store decides, in its transaction.
4. A list is judged whole: one bad report refuses it, before anything is stored.

Speed.  Canonical bytes of two reports to the same question differ in answer, id and invite alone.  What surrounds these
three is remembered once it was checked in full, and compared byte for byte from then on.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from rrcollect.errors import MalformedReport, SurveyRefused
from rrcollect.publish.canonical import canonical, read_canonical
from rrcollect.publish.report import LARGEST_REPORT, Report
from server_agg.collect.catalogue import Listed
from server_agg.collect.errors import Refusal
from server_agg.collect.stored_report import Arrival, ReportRow, arrival_of, bound_invite, ticket_of

__all__ = ["Admission"]

SHAPE = re.compile(
    rb'\{"answer":([01]),("design":\{"p00":"[0-9/]{1,60}","p11":"[0-9/]{1,60}"\}),"id":"([0-9a-f]{32})",'
    rb'"invite":(?:null|"([A-Za-z0-9_-]{1,128})"),("question":.{1,8000})\}',
    re.DOTALL,
)
MOST_REMEMBERED = 4096


class _Frame(NamedTuple):
    """What surrounds answer, id and invite in a report that was checked in full."""

    row: ReportRow
    closes: float
    needs_invite: bool


class Admission:
    """The rules, over a function that finds a published survey by its digest."""

    def __init__(
        self,
        survey: Callable[[str], Listed | None],
        *,
        grace: timedelta,
        list_limit: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._survey = survey
        self._grace = grace.total_seconds()
        self._list_limit = list_limit
        self._clock = clock
        self._frames: dict[tuple[bytes, bytes], _Frame] = {}

    def admit(self, body: bytes) -> list[Arrival]:
        """The reports of a request's body, all of them good."""
        if body[:1] != b"[":
            return [self._one(body)]
        try:
            value = read_canonical(body, LARGEST_REPORT * self._list_limit)
        except SurveyRefused as error:
            raise Refusal(400, "malformed", str(error)) from None
        if not isinstance(value, list) or not 1 <= len(value) <= self._list_limit:
            raise Refusal(400, "malformed", f"a list holds 1 to {self._list_limit} reports")
        found = []
        for place, item in enumerate(value):
            try:
                found.append(self._one(canonical(item)))
            except Refusal as refusal:
                raise Refusal(refusal.status, refusal.code, f"report {place} of the list: {refusal.reason}") from None
        return found

    def _one(self, body: bytes) -> Arrival:
        now = self._clock()
        match = SHAPE.fullmatch(body)
        frame = self._frames.get((match[2], match[5])) if match is not None else None
        if match is None or frame is None:
            return self._in_full(body, now, match)
        if now >= frame.closes:
            raise _closed()
        report_id, spent = match[3].decode(), match[4]
        invite = None if spent is None else spent.decode()
        if frame.needs_invite and invite is None:
            raise _invite_missing()
        row = frame.row._replace(
            answer=int(match[1]), id=report_id, invite=bound_invite(report_id, invite), day=day_of(now)
        )
        return Arrival(row, ticket_of(invite) if frame.needs_invite and invite is not None else None)

    def _in_full(self, body: bytes, now: float, match: re.Match[bytes] | None) -> Arrival:
        try:
            report = Report.from_bytes(body)
        except MalformedReport as error:
            raise Refusal(400, "malformed", str(error)) from None
        listed = self._survey(report.survey)
        if listed is None:
            raise Refusal(404, "unknown_survey", "no survey with this digest is published here")
        self._check(report, listed)
        closes = listed.survey.expires.timestamp() + self._grace
        if now >= closes:
            raise _closed()
        needs_invite = listed.survey.invite_only
        if needs_invite and report.invite is None:
            raise _invite_missing()
        arrival = arrival_of(report, day_of(now), needs_invite=needs_invite)
        if match is not None:
            if len(self._frames) >= MOST_REMEMBERED:
                self._frames.clear()
            self._frames[match[2], match[5]] = _Frame(arrival.row, closes, needs_invite)
        return arrival

    def _check(self, report: Report, listed: Listed) -> None:
        question = next((q for q in listed.survey.questions if q.id == report.question), None)
        if question is None:
            raise Refusal(422, "unknown_question", "the survey has no question with this id")
        if report.design != question.design:
            raise Refusal(
                422,
                "wrong_matrix",
                f"the question is published with p00 = {question.design.p00}, p11 = {question.design.p11}; "
                "an answer drawn with another matrix cannot be counted",
            )
        if report.round >= question.rounds:
            raise Refusal(422, "unknown_round", f"the question has {question.rounds} rounds, counted from 0")
        for name, value in report.segments.items():
            if value not in listed.survey.segments.get(name, ()):
                raise Refusal(422, "unknown_segment", "a segment or its value is not one the survey declares")


def day_of(now: float) -> str:
    """The day, UTC: all that is kept of the time."""
    return _day(int(now // 86400))


def _day(number: int) -> str:
    if number not in _DAYS:
        _DAYS.clear()
        _DAYS[number] = datetime.fromtimestamp(number * 86400, UTC).strftime("%Y-%m-%d")
    return _DAYS[number]


_DAYS: dict[int, str] = {}


def _closed() -> Refusal:
    return Refusal(410, "expired", "the survey has expired, and its grace period is over")


def _invite_missing() -> Refusal:
    return Refusal(403, "invite_missing", "this survey is by invitation: the report needs an invite")
