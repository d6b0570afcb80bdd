"""The export of rows beside the one that this project had before: the old code itself, from its own commit.

Run: python -m tests.benchmarks.export_before [ROWS]      (in a clone of the repository, with its history)

Both export the same number of kept rows from a SQLite store into Parquet, in turns, each in a process of its own; of
three exports of a process the fastest counts, by its CPU time.  Prints the ratio of the best and of the median turns.
"""

from __future__ import annotations

import io
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BEFORE = "e5f27c9"  # the last commit with the collector's first edition
TURNS = 5

TIMED = """
best = 1e9
for turn in range(4):  # the first warms up
    began = time.process_time()
    assert export(f"{folder}/{turn}.parquet") == n
    best = min(best, time.process_time() - began) if turn else best
print(json.dumps(best))
"""
START = "import json, secrets, sys, tempfile, time\nn, folder = int(sys.argv[1]), tempfile.mkdtemp(dir=sys.argv[2])\n"
OLD = """
from server_agg.collect.export import export_reports
from server_agg.collect.store import INSERT, open_store
store = open_store(folder + "/reports.sqlite3")
export = lambda path: export_reports(store, path)
made = [("ab" * 32, "q1", 0, "3/4", "3/4", i % 2, secrets.token_hex(16), None, "{}", "2026-01-01") for i in range(n)]
with store.writing() as cursor:
    cursor.executemany(INSERT, made)
"""
NEW = """
from rrcollect.publish.report import ReportRow
from server_agg import open_store
from server_agg.collect.store.reports import incoming
from server_agg.collect.catalogue import PublishedSurvey
store = open_store(folder + "/reports.sqlite3", keep_rows=True)
export = store.export
store.shelf.publish(PublishedSurvey("ab" * 32, b"", ("aa" * 32,), "Bench", "bench", 1, 2))
design = '{"p00":"3/4","p11":"3/4"}'
made = [ReportRow("ab" * 32, "q1", 0, design, str(i % 2), secrets.token_hex(16), None, "{}") for i in range(n)]
store.take([incoming(row) for row in made])
assert store.fold() == n
"""


def seconds(tree: Path, code: str, rows: int, scratch: str) -> float:
    """The CPU time of one export by the code of a tree."""
    command = [sys.executable, "-c", START + code + TIMED, str(rows), scratch]
    environment = os.environ | {"PYTHONPATH": str(tree)}
    done = subprocess.run(command, cwd=tree, env=environment, check=True, stdout=subprocess.PIPE)
    return float(json.loads(done.stdout))


def main(rows: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        old = Path(scratch, "old")
        packed = subprocess.run(["git", "archive", BEFORE], cwd=ROOT, check=True, stdout=subprocess.PIPE)
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
            archive.extractall(old, filter="data")
        found = [(seconds(old, OLD, rows, scratch), seconds(ROOT, NEW, rows, scratch)) for _ in range(TURNS)]
    before, now = [one for one, _ in found], [one for _, one in found]
    median = statistics.median(before) / statistics.median(now)
    print(f"{rows} rows: {min(before):.3f} s before, {min(now):.3f} s now: {min(before) / min(now):.1f} times as fast")
    print(f"by the median of {TURNS} turns {median:.1f} times")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
