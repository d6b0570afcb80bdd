"""Scale from measured slopes: how the cost of counting grows with rows, and what a report costs a collector.

`python -m tests.benchmarks.scale` measures what is missing and writes docs/scale.md (by `scale_page`); `--engine NAME`,
`--largest N` and `--collector` measure a part of it, `--page` nothing.

Rules
1. Every size of every engine runs in a process of its own.  What is compared is CPU seconds, of the process and of
   the Java machine it started: on a shared machine they are what other work disturbs least.
2. Figures are recorded in `scale.json` with their date; a size that is recorded is not measured again.
3. The same rows for all: one Parquet file per size, one row in a hundred a repeat, one in a thousand a conflict.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from server_agg import open_store, tally_reports
from tests.benchmarks.batch import SURVEY, write_rows
from tests.benchmarks.ingest import cpu_of, published, served
from tests.benchmarks.measure import load, tell
from tests.inside.collect import Catalogue, IncomingReport

SIZES = (100_000, 1_000_000, 10_000_000, 100_000_000)
MEMORY = "3GB"  # for DuckDB; the rest of the process comes on top
RECORDED = Path(__file__).with_suffix(".json")
Figures = dict[str, Any]


def _polars(path: Path) -> Any:
    import polars

    return polars.scan_parquet(path)


def _pyarrow(path: Path) -> Any:
    from pyarrow import parquet

    return parquet.read_table(path)


def _pandas(path: Path) -> Any:
    import pandas  # type: ignore[import-untyped,unused-ignore]

    return pandas.read_parquet(path, dtype_backend="pyarrow")


def _dask(path: Path) -> Any:
    import dask.dataframe

    return dask.dataframe.read_parquet(path)


def _spark(path: Path) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "4g").config("spark.sql.shuffle.partitions", "8")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.local.dir", str(path.parent))
    return builder.getOrCreate().read.parquet(str(path))


ENGINES: dict[str, tuple[Callable[[Path], Any], int]] = {
    "DuckDB": (lambda path: path, 100_000_000),
    "Polars": (_polars, 10_000_000),
    "pyarrow": (_pyarrow, 10_000_000),
    "pandas": (_pandas, 10_000_000),
    "Dask": (_dask, 10_000_000),
    "Spark": (_spark, 100_000_000),
}
"""How each is given a file, and the largest size that is asked of it here."""


def recorded() -> Figures:
    """What was measured: {"batches": […], "killed": […], "collector": {…}}."""
    return json.loads(RECORDED.read_text()) if RECORDED.exists() else {"batches": [], "killed": [], "collector": {}}


def keep(figures: Figures) -> None:
    """Replace what is recorded."""
    RECORDED.write_text(json.dumps(figures, indent=1) + "\n")


def one(engine: str, path: Path) -> None:
    """Count a file in this process, and print what it took; where memory ends, this process is the one to be killed."""
    Path("/proc/self/oom_score_adj").write_text("1000")
    start, used = time.perf_counter(), time.process_time()
    options: dict[str, Any] = {"memory_limit": MEMORY, "temp_directory": str(path.parent)} if engine == "DuckDB" else {}
    result = tally_reports(ENGINES[engine][0](path), SURVEY, progress=False, **options)
    seconds, cpu = time.perf_counter() - start, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if engine == "Spark":
        from pyspark import SparkContext

        java = SparkContext._gateway.proc.pid  # type: ignore[union-attr]
        cpu += cpu_of(java)
        lines = Path(f"/proc/{java}/status").read_text().splitlines()
        peak += next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024
    print(json.dumps({"rows": result.summary.rows, "seconds": seconds, "cpu": cpu, "bytes": peak}))


def measure(engines: list[str], largest: int) -> None:
    """Measure what is missing, the smallest sizes first."""
    for size in (size for size in SIZES if size <= largest):
        seen = {(batch["engine"], batch["size"]) for kind in ("batches", "killed") for batch in recorded()[kind]}
        todo = [name for name in engines if size <= ENGINES[name][1] and (name, size) not in seen]
        if not todo:
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rows.parquet")
            write_rows(path, size)
            for name in todo:
                command = [sys.executable, "-m", "tests.benchmarks.scale", "--engine", name, "--one", str(path)]
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
                about = {"engine": name, "size": size, "date": str(datetime.now(UTC).date()), "load": round(load(), 1)}
                figures = recorded()
                if done.returncode == -signal.SIGKILL:  # by the system, for want of memory
                    figures["killed"].append(about)
                else:
                    said = json.loads(done.stdout.splitlines()[-1])
                    figures["batches"].append({**about, **said, "file": path.stat().st_size})
                keep(figures)
                tell(f"{about} {done.stdout[-200:]}")


def stored_bytes(reports: int) -> int:
    """The size of a collector's database after so many reports, folded."""
    sample, survey = published()
    envelope, key = survey.split(b"\n")
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "reports.sqlite3")
        Catalogue(store.shelf).publish(envelope, [key.decode()])
        for _ in range(0, reports, 500):
            store.take([IncomingReport(sample.row._replace(id=os.urandom(16).hex())) for _ in range(500)])
            store.fold()
        store.disconnect()
        return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def collector(seconds: float) -> None:
    """Core-seconds and bytes per report."""
    sample, _ = published()
    single, lists = served("collector", seconds, 64), served("collector", seconds, 16, 100)
    small, large = 50_000, 150_000
    figures = recorded()
    figures["collector"] = {
        "date": str(datetime.now(UTC).date()),
        "load": round(load(), 1),
        "requests per second": single[0],
        "core seconds, alone": single[1],
        "core seconds, in lists of 100": lists[1] / 100,
        "bytes on the wire": len(sample.to_bytes()),
        "bytes on disk": (stored_bytes(large) - stored_bytes(small)) / (large - small),
    }
    keep(figures)
    tell(str(figures["collector"]))


def main() -> None:
    """Measure what is asked for, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=ENGINES, action="append", help="only these")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="leave out larger sizes")
    parser.add_argument("--collector", action="store_true", help="measure the collector only")
    parser.add_argument("--page", action="store_true", help="write the page from what is recorded")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        one(given.engine[0], given.one)
        return
    if not given.page and not given.collector:
        measure(given.engine or list(ENGINES), given.largest)
    if not given.page and (given.collector or not recorded()["collector"]):
        collector(5.0)
    from tests.benchmarks.scale_page import write

    write(Path(__file__).parents[2] / "docs")


if __name__ == "__main__":
    main()
