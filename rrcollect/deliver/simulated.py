"""A whole collector in memory, for tests of apps that embed the client.

It implements the transport and keeps the rules of a real one (`publish.report`): it is found at the addresses that its
surveys name; a report is taken if its survey allows it; the same report again counts once; the same id with other
content is refused, and so is a second report under one ticket.  It is the issuer of surveys whose `secrets` it has: it
takes any invite, once.  `failures` are raised before or after taking a report,
to see what an app does with a bad network.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from rrcollect.errors import (
    IssuerFailed,
    MalformedReport,
    ParameterError,
    ReportRefused,
    TokensRefused,
    TransportFailed,
    shown,
)
from rrcollect.publish.issuer import MOST_PLACES, TokenSecret
from rrcollect.publish.report import NONCE_DIGITS, REASONS, Report, fault
from rrcollect.publish.survey import Survey
from rrcollect.publish.tokens import REFUSALS, TokenKeys, TokenRequest

Fault = Literal["none", "before", "after"]


class SimulatedCollector:
    """`failures` says for each request in turn: "none", fail "before" taking it, or fail "after" (a lost reply).

    `reports` holds what was taken, by id: `Tallies.of(collector.reports.values())` counts it.

    >>> SimulatedCollector([]).send("https://collect.example.org/reports", b"{}")
    Traceback (most recent call last):
    ...
    rrcollect.errors.TransportFailed: simulated: none of these surveys has its reports sent to 'https://collect.example.org/reports'
    """

    def __init__(
        self,
        surveys: Iterable[Survey],
        failures: Iterable[Fault] = (),
        *,
        secrets: Mapping[str, TokenSecret] | None = None,
    ) -> None:
        known = list(surveys)
        if not all(isinstance(survey, Survey) for survey in known):
            raise ParameterError("surveys", type(surveys).__name__, "a list of Survey")
        self.surveys = {survey.digest: survey for survey in known}
        self.keys = {digest: TokenKeys(self.surveys[digest], secret) for digest, secret in (secrets or {}).items()}
        self.issued: dict[tuple[str, str], TokenRequest] = {}
        self.reports: dict[str, Report] = {}
        self.requests: list[bytes] = []
        self._failures: Iterator[Fault] = iter(failures)
        self._one_at_a_time = threading.Lock()

    def send(self, destination: str, body: bytes) -> None:
        """Take a report, or say why not."""
        if destination not in {survey.destination for survey in self.surveys.values()}:
            raise TransportFailed(f"simulated: none of these surveys has its reports sent to {shown(destination)}")
        with self._one_at_a_time:
            failure = next(self._failures, "none")
            if failure == "before":
                raise TransportFailed("simulated: the request was lost")
            self.requests.append(body)
            self._take(body)
        if failure == "after":
            raise TransportFailed("simulated: the reply was lost")

    def ask(self, issuer: str, body: bytes, longest: int) -> bytes:
        """Issue the tokens of a survey for an invite, or say why not."""
        request = TokenRequest.from_bytes(body, MOST_PLACES)
        keys = None if request is None else self.keys.get(request.survey)
        with self._one_at_a_time:
            failure = next(self._failures, "none")
            if (
                failure == "before"
                or keys is None
                or request is None
                or self.surveys[request.survey].tokens_at != issuer
            ):
                raise IssuerFailed("simulated: the request was lost")
            if not keys.fits(request):
                raise TokensRefused(f"malformed: {REFUSALS['malformed'][1]}")
            if self.issued.setdefault((request.survey, request.invite), request) != request:
                raise TokensRefused(f"already_issued: {REFUSALS['already_issued'][1]}")
            reply = keys.reply(request)
        if failure == "after":
            raise IssuerFailed("simulated: the reply was lost")
        return reply

    def _take(self, body: bytes) -> None:
        try:
            report = Report.from_bytes(body)
        except MalformedReport as error:
            raise ReportRefused(f"malformed: {error}") from None
        survey = self.surveys.get(report.survey)
        found = fault(report, survey) or self._unissued(report) or self._compared(report)
        if found is not None:
            raise ReportRefused(f"{found}: {REASONS[found]}")
        self.reports[report.id] = report

    def _unissued(self, report: Report) -> str | None:
        """The reason found by the token."""
        keys = self.keys.get(report.survey)
        if self.surveys[report.survey].issuer is None or (keys is not None and keys.spoken(report)):
            return None
        return "unknown_ticket"

    def _compared(self, report: Report) -> str | None:
        """The reason found by comparing with the reports already taken."""
        known = self.reports.get(report.id)
        if known is not None:
            return None if known == report else "conflicting_id"
        spent = (report.survey, report.question, report.round, (report.ticket or "")[:NONCE_DIGITS])
        taken = ((r.survey, r.question, r.round, (r.ticket or "")[:NONCE_DIGITS]) for r in self.reports.values())
        return "ticket_reused" if report.ticket is not None and spent in taken else None
