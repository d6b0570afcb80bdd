"""A whole collector in memory, for tests of apps that embed the client.

It implements the transport and keeps the rules of a real one: a report is taken if its survey is known, its matrix is
the published one and its segments are declared; the same report again counts once; the same id with other content is
refused. `failures` are raised before or after taking a report, to see what an app does with a bad network.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from rrcollect.errors import MalformedReport, ParameterError, ReportRefused, TransportFailed
from rrcollect.publish.report import Report
from rrcollect.publish.survey import Survey

__all__ = ["SimulatedCollector"]

Fault = Literal["none", "before", "after"]


class SimulatedCollector:
    """`failures` says for each request in turn: "none", fail "before" taking it, or fail "after" (a lost reply).

    `reports` holds what was taken, by id: `tallies_from_reports(collector.reports.values())` counts it.

    >>> collector = SimulatedCollector([], failures=["before"])
    >>> collector.send(b"{}")
    Traceback (most recent call last):
    ...
    rrcollect.errors.TransportFailed: simulated: the request was lost
    """

    def __init__(self, surveys: Iterable[Survey], failures: Iterable[Fault] = ()) -> None:
        known = list(surveys)
        if not all(isinstance(survey, Survey) for survey in known):
            raise ParameterError("surveys", type(surveys).__name__, "a list of Survey")
        self.surveys = {survey.digest: survey for survey in known}
        self.reports: dict[str, Report] = {}
        self.requests: list[bytes] = []
        self._failures: Iterator[Fault] = iter(failures)

    def send(self, body: bytes) -> None:
        """Take a report, or say why not."""
        fault = next(self._failures, "none")
        if fault == "before":
            raise TransportFailed("simulated: the request was lost")
        self.requests.append(body)
        self._take(body)
        if fault == "after":
            raise TransportFailed("simulated: the reply was lost")

    def _take(self, body: bytes) -> None:
        try:
            report = Report.from_bytes(body)
        except MalformedReport as error:
            raise ReportRefused(f"malformed report: {error}") from None
        survey = self.surveys.get(report.survey)
        if survey is None:
            raise ReportRefused("unknown survey")
        question = next((q for q in survey.questions if q.id == report.question), None)
        if question is None:
            raise ReportRefused("unknown question")
        if question.design != report.design:
            raise ReportRefused("the matrix is not the published one")
        if survey.invite_only and report.invite is None:
            raise ReportRefused("this survey needs an invite")
        if report.round >= question.rounds:
            raise ReportRefused("unknown round")
        if any(value not in survey.segments.get(name, ()) for name, value in report.segments.items()):
            raise ReportRefused("undeclared segment")
        known = self.reports.get(report.id)
        if known is not None and known != report:
            raise ReportRefused("another report has this id")
        self.reports[report.id] = report
