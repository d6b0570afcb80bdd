"""The numbers a collector runs with, and why they are what they are."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from rrcollect.errors import ParameterError

__all__ = ["CollectorSettings", "Settings"]


@dataclass(frozen=True)
class Settings:
    """Everything but the store and the token.

    `minimum`: answers a cell needs to be shown (30).  `grace`: how long after its expiry a survey's reports are taken,
    for devices that were offline (7 days).  `list_limit`: reports in one request (100).  `body_seconds`: how long a
    body may take to arrive (10).  `header_seconds`: the same for a request's head (10).  `queue_limit`: reports that
    may wait for the disk before senders are told to come back (10 000).  `origins`: web pages of other hosts that may
    send reports.  `public_results`: whether results are shown without the token.  `results_age`: for how many seconds
    counts are remembered between two readers (1).
    """

    minimum: int = 30
    grace: timedelta = timedelta(days=7)
    list_limit: int = 100
    body_seconds: float = 10.0
    header_seconds: float = 10.0
    queue_limit: int = 10_000
    batch_limit: int = 1_000
    origins: tuple[str, ...] = ()
    public_results: bool = False
    results_age: float = 1.0

    def __post_init__(self) -> None:
        if type(self.minimum) is not int or self.minimum < 2:
            raise ParameterError("minimum", self.minimum, "a whole number, 2 or more: a bar needs two answers")
        if type(self.list_limit) is not int or not 1 <= self.list_limit <= 1000:
            raise ParameterError("list_limit", self.list_limit, "a whole number from 1 to 1000")
        if self.queue_limit < self.list_limit or self.batch_limit < self.list_limit:
            raise ParameterError("queue_limit", self.queue_limit, f"at least list_limit = {self.list_limit}")
        if self.grace < timedelta(0):
            raise ParameterError("grace", self.grace, "no negative time")
        for origin in self.origins:
            scheme, _, host = origin.partition("://")
            if scheme not in ("http", "https") or not host or "/" in host or "*" in host:
                raise ParameterError("origins", origin, "origins such as https://app.example.org, without a path or *")


CollectorSettings = Settings  # its name outside this package
