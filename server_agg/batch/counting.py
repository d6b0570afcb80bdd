"""From the engine's grouped counts to tallies and the account of rows."""

from __future__ import annotations

from collections.abc import Iterable

from server_agg.batch.reasons import MALFORMED, NAME
from server_agg.batch.summary import BatchResult, Summary
from server_agg.batch.survey_tables import Published

__all__ = ["Counts"]

Line = tuple[int, int | None, bool, int, int]


class Counts:
    """The lines (fault, code, before, reports, rows) of an engine, added up.

    A report that stands and was not counted before is accepted once; its other rows, and all rows of one that was
    counted before, are repeats; rows with a fault are refused.
    """

    def __init__(self, published: Published, lines: Iterable[Line]) -> None:
        self.published = published
        self.codes: dict[int, int] = {}
        self.repeated = 0
        self.malformed = 0
        self.invited = False
        self._faults: dict[int, int] = {}
        for fault, code, before, reports, rows in lines:
            if fault == MALFORMED:
                self.malformed += rows or 0
            elif fault:
                self._faults[fault] = self._faults.get(fault, 0) + (rows or 0)
            elif before or code is None:
                self.repeated += rows or 0
            else:
                self.codes[code] = self.codes.get(code, 0) + reports
                self.repeated += rows - reports
            self.invited = self.invited or bool(code is not None and code % 2)

    def result(self) -> BatchResult:
        """The tallies and the summary."""
        accepted = sum(self.codes.values())
        refused = {NAME[fault]: rows for fault, rows in {**self._faults, MALFORMED: self.malformed}.items()}
        rows = accepted + self.repeated + sum(refused.values())
        return BatchResult(self.published.tallies(self.codes), Summary(rows, accepted, self.repeated, refused))
