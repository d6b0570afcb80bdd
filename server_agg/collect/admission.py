"""Which reports are taken: rules without I/O, from bytes to an `IncomingReport` or a `Refusal` that says what to mend.

Rules
1. A report is canonical JSON of exactly its fields, and `rrcollect.publish.rules.fault` finds nothing wrong with it.
2. After the survey's expiry, reports that waited on a device are still taken for the `grace` period.
3. Whether a ticket is good and unspent the store decides, in its transaction.
4. A list is judged whole: one bad report refuses it, before anything is stored.

Speed.  Canonical bytes of two reports to the same question differ in answer, id and ticket alone.  What surrounds these
three is remembered once it was checked in full, and compared byte for byte from then on; whatever is not as expected is
checked in full again.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import timedelta
from typing import NamedTuple

from rrcollect.design.mechanism import Mechanism
from rrcollect.errors import MalformedReport, SurveyRefused
from rrcollect.publish.canonical import canonical, read_canonical
from rrcollect.publish.report import LARGEST_REPORT, Report, ReportRow
from rrcollect.publish.rules import fault
from server_agg.collect.catalogue import CatalogueEntry
from server_agg.collect.errors import Refusal
from server_agg.collect.stored_report import IncomingReport, incoming

__all__ = ["Admission"]

SHAPE = re.compile(
    rb'\{"answer":"([01]{1,256})",("design":\{[^{}]{1,512}\}),"id":"([0-9a-f]{32})",("question":.{1,8000}),'
    rb'"ticket":(?:null|"([A-Za-z0-9_-]{1,128})")\}',
    re.DOTALL,
)
MOST_REMEMBERED = 4096


class _Frame(NamedTuple):
    """What surrounds answer, id and ticket in a report that was checked in full."""

    row: ReportRow
    design: Mechanism
    closes: float
    by_invitation: bool


class Admission:
    """The rules, over a function that finds a published survey by its digest."""

    def __init__(
        self,
        survey: Callable[[str], CatalogueEntry | None],
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

    def admit(self, body: bytes) -> list[IncomingReport]:
        """The reports of a request's body, all of them good."""
        if body[:1] != b"[":
            return [self._one(body)]
        try:
            value = read_canonical(body, LARGEST_REPORT * self._list_limit)
        except SurveyRefused as error:
            raise Refusal.of("malformed", str(error)) from None
        if not isinstance(value, list) or not 1 <= len(value) <= self._list_limit:
            raise Refusal.of("malformed", f"a list holds 1 to {self._list_limit} reports")
        found = []
        for place, item in enumerate(value):
            try:
                found.append(self._one(canonical(item)))
            except Refusal as refusal:
                raise Refusal(refusal.status, refusal.code, f"report {place} of the list: {refusal.reason}") from None
        return found

    def _one(self, body: bytes) -> IncomingReport:
        now = self._clock()
        match = SHAPE.fullmatch(body)
        frame = self._frames.get((match[2], match[4])) if match is not None else None
        if match is None or frame is None or now >= frame.closes:
            return self._in_full(body, now, match)
        answer, ticket = match[1].decode(), match[5]
        if (ticket is not None) is not frame.by_invitation or not frame.design.allows(answer):
            return self._in_full(body, now, match)
        spent = None if ticket is None else ticket.decode()
        return incoming(frame.row._replace(answer=answer, id=match[3].decode(), ticket=spent))

    def _in_full(self, body: bytes, now: float, match: re.Match[bytes] | None) -> IncomingReport:
        try:
            report = Report.from_bytes(body)
        except MalformedReport as error:
            raise Refusal.of("malformed", str(error)) from None
        entry = self._survey(report.survey)
        reason = fault(report, None if entry is None else entry.survey)
        if entry is None or reason is not None:
            raise Refusal.of(reason or "unknown_survey")
        closes = entry.survey.expires.timestamp() + self._grace
        if now >= closes:
            raise Refusal.of("closed")
        if match is not None:
            if len(self._frames) >= MOST_REMEMBERED:
                self._frames.clear()
            frame = _Frame(report.row, report.design, closes, entry.survey.invite_only)
            self._frames[match[2], match[4]] = frame
        return incoming(report.row)
