"""A collector on PostgreSQL needs the extras `server` and `postgres`, and no package of another extra."""

from __future__ import annotations

import pytest

from tests.support.collector_running import Process, body

pytestmark = [pytest.mark.process, pytest.mark.engine]

BATCH = ("duckdb", "narwhals", "pyarrow", "pandas", "polars")


class CollectorWithoutPackages(Process):
    """A collector that can import everything but these packages."""

    def __init__(self, where: str, *packages: str) -> None:
        code = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {packages!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
from tests.support.command_line import main
sys.exit(main())
"""
        self.program = ("-c", code)
        super().__init__(where, "--keep-rows")


def test_postgresql_is_served_without_the_packages_of_the_batch_engines(postgres, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))  # the folder of keys
    with CollectorWithoutPackages(postgres.new_database(), *BATCH) as collector:
        digest = collector.page_of()
        for _ in range(2):
            assert collector.post(body(digest)) == (201, {"new": 1, "known": 0})
        assert [one["digest"] for one in collector.results()["surveys"]] == [digest]


def test_without_its_own_package_it_names_the_extra(postgres) -> None:
    collector = CollectorWithoutPackages(postgres.new_database(), "psycopg")
    try:
        _, said = collector.process.communicate(timeout=60)
    finally:
        collector.process.kill()
    assert collector.process.returncode != 0
    assert b"pip install 'rrcollect[postgres]'" in said
