"""Which reports are taken: rules without I/O, from bytes to an `IncomingReport` or a `Refusal` that says what to mend.

Rules
1. A report is canonical JSON of exactly its fields, and `rrcollect.publish.report.fault` finds nothing wrong with it.
2. A round opens and closes when the signed survey says; one without times of its own is open as long as the survey.
   After it closed, reports that waited on a device are still taken for the `grace` period.
3. Whether a ticket is good and unspent the store decides, in its transaction.  A token is judged by `tokens`, last of
   all; without that no survey with an issuer is known here.
4. A list is judged whole: one bad report refuses it, before anything is stored.
5. What a request may cost is known before it is parsed: its bytes, the reports of a list, and its brackets.  A list is
   taken apart report by report, and no more of it than a list may hold: nothing of it is parsed as a whole.

Speed.  Canonical texts of two reports to the same question differ in answer, id and ticket alone.  What surrounds these
three is remembered once it was checked in full, and compared letter by letter from then on; whatever is not as expected
is checked in full again.  A list whose reports are all of this kind is canonical if it is made of them, commas and its
brackets; it is never parsed as a whole.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from datetime import timedelta
from typing import NamedTuple

from rrcollect.design.mechanism import Mechanism
from rrcollect.errors import MalformedReport
from rrcollect.publish.issuer import place_of
from rrcollect.publish.report import LARGEST_REPORT, Report, ReportRow, fault
from rrcollect.publish.survey import Survey
from server_agg.collect.catalogue import CatalogueEntry, round_times
from server_agg.collect.store.reports import IncomingReport, incoming
from server_agg.errors import Refusal

SHAPE = re.compile(
    r'\{"answer":"([^"\\]{1,256})",("design":\{[^{}]{1,512}\}),"id":"([0-9a-f]{32})",("question":.{1,8000}),'
    r'"ticket":(?:null|"([0-9a-f]{32})")\}',
    re.DOTALL,
)
ITEM = re.compile(  # the same inside a list, where the ends are not known: no quotes in names, no braces in segments
    r'\{"answer":"([^"\\]{1,256})",("design":\{[^{}]{1,512}\}),"id":"([0-9a-f]{32})",'
    r'("question":"[^"\\]{1,64}","round":[0-9]{1,3},"segments":\{[^{}]{0,4096}\},"survey":".{64}"),'
    r'"ticket":(?:null|"([0-9a-f]{32})")\}([,\]])'
)
MOST_REMEMBERED = 4096
_DECODER = json.JSONDecoder()
MOST_BRACKETS = 64  # per report
MOST_HELD = 0.0005  # seconds


class Frame(NamedTuple):
    """What surrounds answer, id and ticket in a report that was checked in full."""

    row: ReportRow
    design: Mechanism
    opens: float
    closes: float
    by_invitation: bool


def _turn(since: float) -> float:
    """Let others go on, if they could not since long: a list is judged in a thread, and a thread keeps the interpreter
    for long.  A sleep of no time is too short for anybody to wake up in."""
    if time.perf_counter() - since <= MOST_HELD:
        return since
    time.sleep(MOST_HELD / 10)
    return time.perf_counter()


@dataclass(eq=False)
class Admission:
    """The rules, over a function that finds a published survey by its digest."""

    survey: Callable[[str], CatalogueEntry | None]
    grace: timedelta = field(kw_only=True)
    list_limit: int = field(kw_only=True)
    withdrawn: Container[str] = field(kw_only=True, default=frozenset())
    clock: Callable[[], float] = field(kw_only=True, default=time.time)
    frames: dict[tuple[str, str], Frame] = field(kw_only=True, default_factory=dict)  # what is remembered
    tokens: Callable[[Report, IncomingReport, Survey], None] | None = field(kw_only=True, default=None)

    def admit(self, body: bytes) -> list[IncomingReport]:
        """The reports of a request's body, all of them good."""
        if body[:1] != b"[":
            return [self._one(body)]
        return self.known_list(body) or self._list(body)

    def known_list(self, body: bytes) -> list[IncomingReport]:
        """The reports of a list, if all are of a kind that was seen before; otherwise none."""
        try:
            text = body.decode()
        except UnicodeDecodeError:
            return []
        found: list[IncomingReport] = []
        now, start = self.clock(), 1
        while len(found) < self.list_limit and (match := ITEM.match(text, start)) is not None:
            answer, design, id_, rest, ticket, after = match.groups()
            frame = self.frames.get((design, rest))
            report = None if frame is None else self._framed(frame, now, answer, id_, ticket)
            if report is None:
                return []
            found.append(report)
            start = match.end()
            if after == "]":
                return found if start == len(text) else []
        return []

    def _list(self, body: bytes) -> list[IncomingReport]:
        most = MOST_BRACKETS * self.list_limit
        if body.count(b"[") + body.count(b"{") > most:
            raise Refusal.of("malformed", f"a list of reports has at most {most} brackets")
        found, since = [], time.perf_counter()
        for place, item in enumerate(self._items(body)):
            try:
                found.append(self._one(item))
            except Refusal as refusal:
                raise Refusal(refusal.status, refusal.code, f"report {place} of the list: {refusal.reason}") from None
            since = _turn(since)
        return found

    def _items(self, body: bytes) -> list[bytes]:
        """The bytes of each report in a list; no more is read of it than a list may hold."""
        try:
            text = body.decode()
            items, place, since = [], 1, time.perf_counter()
            while True:
                piece = text[place : place + LARGEST_REPORT + 1]  # what is longer is not a report
                end = place + _DECODER.raw_decode(piece)[1]
                items.append(text[place:end].encode())
                since = _turn(since)
                if text[end] == "]" and end + 1 == len(text) and len(items) <= self.list_limit:
                    return items
                if text[end] != "," or len(items) >= self.list_limit:
                    break
                place = end + 1
        except (ValueError, RecursionError, IndexError):
            pass
        raise Refusal.of("malformed", f"a list holds 1 to {self.list_limit} reports, as canonical JSON")

    def _one(self, body: bytes) -> IncomingReport:
        now = self.clock()
        try:
            match = SHAPE.fullmatch(body.decode())
        except UnicodeDecodeError:  # it is malformed, and the full check says so
            match = None
        if match is not None:
            answer, design, id_, rest, ticket = match.groups()
            frame = self.frames.get((design, rest))
            report = None if frame is None else self._framed(frame, now, answer, id_, ticket)
            if report is not None:
                return report
        return self._in_full(body, now, match)

    def _framed(self, frame: Frame, now: float, answer: str, id_: str, ticket: str | None) -> IncomingReport | None:
        """The report with this answer, id and ticket, if what surrounds them was checked in full before."""
        (survey, question, round_, design, _, _, _, segments), mechanism, opens, closes, by_invitation = frame
        if not opens <= now < closes or survey in self.withdrawn:
            return None
        if (ticket is not None) is not by_invitation or not mechanism.allows(answer):
            return None
        return incoming(ReportRow(survey, question, round_, design, answer, id_, ticket, segments))

    def _in_full(self, body: bytes, now: float, match: re.Match[str] | None) -> IncomingReport:
        try:
            report = Report.from_bytes(body)
        except MalformedReport as error:
            raise Refusal.of("malformed", str(error)) from None
        entry = self.survey(report.survey)
        reason = fault(report, None if entry is None else entry.survey)
        if entry is None or reason is not None:
            raise Refusal.of(reason or "unknown_survey")
        begins, ends = round_times(entry.survey, report.round)
        opens = begins.timestamp() if begins else -math.inf
        closes = ends.timestamp() + self.grace.total_seconds()
        if now < opens:
            raise Refusal(425, "not_open", "the survey, or this round of it, opens later: send it again then")
        if now >= closes:
            raise Refusal.of("closed")
        if report.survey in self.withdrawn:
            raise Refusal.of("withdrawn")
        if match is not None:
            if len(self.frames) >= MOST_REMEMBERED:
                self.frames.clear()
            frame = Frame(report.row, report.design, opens, closes, entry.survey.invite_only)
            self.frames[match[2], match[4]] = frame
        if entry.survey.issuer is None:
            return incoming(report.row)
        return self._with_token(report, entry.survey)

    def _with_token(self, report: Report, survey: Survey) -> IncomingReport:
        """The report, if its token is good; that is looked up and computed, which takes a thread of its own."""
        if self.tokens is None:
            raise Refusal.of("unknown_survey")
        found = incoming(report.row, place_of(survey, survey.question(report.question), report.round))
        self.tokens(report, found, survey)
        return found
