"""Check 9: every engine gives the same integers, on sizes that do not fit in memory.

The rows are made and counted by NumPy (`engine_data`); each engine tallies them through `tally_reports` in a process of
its own (`engine_run`), and every integer of its result is compared with what was counted when the rows were made.

DuckDB and Spark get all rows in one call.  Polars holds the reports of a call in memory, so it gets one partition per
call (rows are partitioned by the first byte of their id, so that repeats meet); results of partitions add up, see
`BatchResult`.  The files lie in a temporary folder and are removed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from server_agg import BatchResult
from tests.assurance.check import FULL, Check, Outcome, Part, Size, Step
from tests.assurance.engines.data import changed_row, write_partition
from tests.assurance.engines.run import ENGINES
from tests.assurance.evidence import ROOT

PARTITION = {True: 5_000_000, False: 10_000}
PARTITIONS = {"duckdb": 20, "polars": 10, "spark": 2}
PLANTED_ROWS = {True: 1_000_000, False: 10_000}
PATIENCE = 3600.0  # seconds


def integers(result: BatchResult) -> dict[str, int]:
    """Every number of a result under a name of its own."""
    told: dict[str, Any] = result.summary.as_dict()
    found = {name: int(told[name]) for name in ("rows", "accepted", "repeated")}
    found |= {f"refused: {name}": rows for name, rows in result.summary.refused.items()}
    for key, tally in result.tallies.items():
        found[f"n of {key}"] = tally.n
        found |= {f"ones of {key}, bit {bit}": ones for bit, ones in enumerate(tally.counts)}
    return found


def differences(expected: BatchResult, found: BatchResult) -> dict[str, tuple[int, int]]:
    """The integers that are not equal: (expected, found)."""
    wanted, told = integers(expected), integers(found)
    names = [*wanted, *(name for name in told if name not in wanted)]
    return {n: (wanted.get(n, 0), told.get(n, 0)) for n in names if wanted.get(n, 0) != told.get(n, 0)}


def in_a_process(engine: str, folder: Path) -> tuple[BatchResult, int]:
    """The engine's result and the peak memory of its process, in bytes."""
    command = [sys.executable, "-m", "tests.assurance.engines.run", engine, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=PATIENCE)
    if done.returncode:
        raise RuntimeError(f"{engine} ended with {done.returncode}: {done.stderr[-2000:]}")
    told = json.loads(done.stdout.strip().splitlines()[-1])
    return BatchResult.from_json(json.dumps(told["result"])), int(told["peak"])


def exact(engine: str, rows: int, partitions: range, piece: int, step: Step) -> Outcome:
    """Make the rows, tally them, compare; with `partitions` of several the call sees all of them at once."""
    with tempfile.TemporaryDirectory(prefix="rrcollect-engines-") as place:
        folder = Path(place) / "reports"
        numbers = range(piece, piece + 1) if engine == "polars" else partitions
        expected = None
        for done, number in enumerate(numbers):
            made = write_partition(folder, number, rows)
            expected = made if expected is None else expected + made
            step(done + 1, 2 * len(numbers))
        assert expected is not None
        size = sum(path.stat().st_size for path in folder.iterdir())
        found, peak = in_a_process(engine, folder)
    wrong = differences(expected, found)
    figures = {
        "rows": expected.summary.rows,
        "repeated rows": expected.summary.repeated,
        "refused rows": expected.summary.refused_rows,
        "integers compared": len(integers(expected)),
        "Parquet, MB": size // 10**6,
        "most memory in use, MB": peak // 10**6,
        "most rows in one call": expected.summary.rows,
    }
    return Outcome(not wrong, figures, f"{engine}: {dict(list(wrong.items())[:3])}" if wrong else "")


def twice_counted(rows: int, piece: int, step: Step) -> Outcome:
    """Engines that do not compare ids, so that repeated reports count twice."""
    with tempfile.TemporaryDirectory(prefix="rrcollect-engines-") as place:
        folder = Path(place) / "reports"
        expected = write_partition(folder, 0, rows)
        right = [differences(expected, ENGINES[name](folder)[0]) for name in ("duckdb", "polars")]
        wrong = [differences(expected, ENGINES[name](folder, deduplicate=False)[0]) for name in ("duckdb", "polars")]
    figures = {"rows": rows, "integers found wrong": sum(map(len, wrong)), "without the bug": sum(map(len, right))}
    return Outcome(all(wrong) and not any(right), figures)


def one_row_changed(rows: int, piece: int, step: Step) -> Outcome:
    """One answer of one row is turned after the rows were counted."""
    with tempfile.TemporaryDirectory(prefix="rrcollect-engines-") as place:
        folder = Path(place) / "reports"
        expected = write_partition(folder, 0, rows)
        changed_row(folder, 0)
        wrong = [differences(expected, ENGINES[name](folder)[0]) for name in ("duckdb", "polars")]
    figures = {"rows": rows, "rows changed": 1, "integers found wrong": sum(map(len, wrong))}
    return Outcome(all(len(found) == 1 for found in wrong), figures)


def parts(size: Size) -> list[Part]:
    """Three engines and two planted errors."""
    full = size is FULL
    rows = PARTITION[full]

    def of(engine: str) -> Part:
        count = PARTITIONS[engine] if full else 2
        words = f"{rows * count:,} rows on {engine}" if full else f"rows on {engine}"
        return Part(words, partial(exact, engine, rows, range(count)), count if engine == "polars" else 1)

    return [
        of("duckdb"),
        of("polars"),
        of("spark"),
        Part("repeated reports counted twice", partial(twice_counted, PLANTED_ROWS[full]), planted=True),
        Part("one row of the files changed", partial(one_row_changed, PLANTED_ROWS[full]), planted=True),
    ]


CHECK = Check(
    9,
    "engines",
    "Engines: the same integers on 100 million rows",
    "DuckDB on 10^8 rows, Polars on 5·10^7 and Spark on 10^7 give exactly the integers that NumPy counted while making "
    "them: every n, every number of ones, every repeated and every refused row by its reason. DuckDB and Spark in "
    "one call, Polars in a call for each of 10 partitions.",
    (
        "tests/assurance/engines/data.py",
        "tests/assurance/engines/run.py",
        "server_agg/batch",
        "server_agg/count/tallies.py",
    ),
    parts,
    "one machine: Spark in local mode, not on a cluster.",
)
