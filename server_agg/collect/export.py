"""Reports out of a store, for the batch path: one JSON object a line, the same columns everywhere."""

from __future__ import annotations

import json
from typing import IO

from server_agg.collect.store import Store

__all__ = ["export_reports"]


def export_reports(store: Store, out: IO[str], survey: str | None = None) -> int:
    """Write every report (of one survey, if given) as JSON Lines, in the order of the random ids; returns how many."""
    written = 0
    for row in store.reports(survey):
        out.write(json.dumps(row.as_dict(), ensure_ascii=False, separators=(",", ":")) + "\n")
        written += 1
    return written
