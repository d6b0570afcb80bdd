"""The rows that a store keeps, as reports' rows."""

from __future__ import annotations

from server_agg.collect import Store
from server_agg.collect.store.database import BETWEEN, PAGE_COLUMNS
from tests.inside.publish import ReportRow


def kept_rows(store: Store) -> list[ReportRow]:
    """In the order of their ids."""
    lines = [line for page in store.pages() for line in page.split("\n")]
    found = [dict(zip(PAGE_COLUMNS, line.split(BETWEEN), strict=True)) for line in lines]
    return [ReportRow(**{**one, "round": int(one["round"]), "ticket": one["ticket"] or None}) for one in found]
