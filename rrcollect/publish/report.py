"""The report: all that ever leaves the device.

Rules
1. Its length is the same for both answers, and nothing in it depends on the truth but the answer.
2. It names the survey by digest, the question, the round, and the matrix the answer was drawn with, so that whoever
   estimates uses the numbers that were applied.
3. Its id is fresh random 128 bits.  No clock, no address, no device.
4. One spelling: canonical JSON of exactly these fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rrcollect.design.yes_no import Design
from rrcollect.errors import MalformedDocument, MalformedReport, RRCollectError, SurveyRefused
from rrcollect.publish.canonical import canonical, read_canonical
from rrcollect.publish.survey import MOST_ROUNDS, design_from_wire, design_to_wire

__all__ = ["LARGEST_REPORT", "Report"]

LARGEST_REPORT = 8192  # bytes
_DIGEST = re.compile(r"[0-9a-f]{64}")
_ID = re.compile(r"[0-9a-f]{32}")
_FIELDS = {"answer", "design", "id", "invite", "question", "round", "segments", "survey"}


@dataclass(frozen=True)
class Report:
    """One randomised answer on its way out.

    >>> report = Report(survey="0" * 64, question="q1", design=Design("3/4", "3/4"), answer=1, id="f" * 32)
    >>> len(report.to_bytes()) == len(Report(**{**vars(report), "answer": 0}).to_bytes())
    True
    >>> Report.from_bytes(report.to_bytes()) == report
    True
    """

    survey: str
    question: str
    design: Design
    answer: int = field(repr=False)
    id: str
    round: int = 0
    segments: Mapping[str, str] = field(default_factory=dict, hash=False)
    invite: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.survey, str) or not _DIGEST.fullmatch(self.survey):
            raise MalformedReport("survey must be a SHA-256 digest: 64 hexadecimal digits")
        if not isinstance(self.id, str) or not _ID.fullmatch(self.id):
            raise MalformedReport("id must be 32 hexadecimal digits")
        if not isinstance(self.question, str) or not 1 <= len(self.question) <= 64:
            raise MalformedReport("question must be the id of a question")
        if type(self.answer) is not int or self.answer not in (0, 1):
            raise MalformedReport("answer must be 0 or 1")
        if type(self.round) is not int or not 0 <= self.round < MOST_ROUNDS:
            raise MalformedReport(f"round must be a whole number from 0 to {MOST_ROUNDS - 1}")
        if self.invite is not None and (not isinstance(self.invite, str) or not 1 <= len(self.invite) <= 128):
            raise MalformedReport("invite must be a string of at most 128 characters, or null")
        if not isinstance(self.segments, Mapping) or not all(
            isinstance(name, str) and isinstance(value, str) for name, value in self.segments.items()
        ):
            raise MalformedReport("segments must map names to values, both strings")
        object.__setattr__(self, "segments", dict(self.segments))

    def to_bytes(self) -> bytes:
        """The canonical bytes that are sent."""
        return canonical(
            {
                "answer": self.answer,
                "design": design_to_wire(self.design),
                "id": self.id,
                "invite": self.invite,
                "question": self.question,
                "round": self.round,
                "segments": dict(self.segments),
                "survey": self.survey,
            }
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> Report:
        """The report of canonical bytes; every other spelling is refused."""
        try:
            value = read_canonical(data, LARGEST_REPORT)
        except SurveyRefused as error:
            raise MalformedReport(str(error)) from None
        if not isinstance(value, dict) or set(value) != _FIELDS:
            raise MalformedReport(f"a report has exactly the fields {sorted(_FIELDS)}")
        try:
            design = design_from_wire(value["design"])
        except (ValueError, RRCollectError) as error:
            raise MalformedReport(str(error)) from None
        report = cls(**{**value, "design": design})
        try:
            same = report.to_bytes() == data
        except MalformedDocument as error:
            raise MalformedReport(str(error)) from None
        if not same:
            raise MalformedReport("a number is not written in its one canonical form")
        return report
