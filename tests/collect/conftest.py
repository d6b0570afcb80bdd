"""What the collector's tests share: both stores, a running collector, and a browser."""

from __future__ import annotations

import pytest

from server_agg import open_store
from tests.inside.collect import PublishedSurvey
from tests.support.collector_running import DIGEST, LARGE, RunningCollector
from tests.support.postgres_server import running_postgres


@pytest.fixture(scope="session")
def postgres():
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="module")
def browser():
    """Chromium, started once for the tests of a file."""
    from tests.support.browser import chromium  # Playwright is not there in the quick loop

    with chromium() as running:
        yield running


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.engine)])
def where(request, tmp_path):
    """The address of an empty database of either kind."""
    if request.param == "sqlite":
        return str(tmp_path / "reports.sqlite3")
    return request.getfixturevalue("postgres").new_database()


@pytest.fixture
def store(where):
    """A store that keeps rows, with two surveys: a crowd of two and a crowd of a thousand."""
    opened = open_store(where, keep_rows=True)
    for digest, minimum in ((DIGEST, 2), (LARGE, 1000)):
        opened.shelf.publish(PublishedSurvey(digest, b"envelope", ("aa" * 32,), "P", "n", minimum, minimum))
    yield opened
    opened.disconnect()


@pytest.fixture
def collector(tmp_path):
    """A collector on SQLite, in a thread."""
    with RunningCollector(str(tmp_path / "reports.sqlite3")) as running:
        yield running
