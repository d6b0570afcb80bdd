"""How the cost of a batch grows: 1, 10 and 100 million rows, each in a process of its own.

`python -m tests.benchmarks.batch_growth` writes docs/batch-growth.md and .svg; `--largest N` leaves out larger sizes.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

from server_agg import tally_reports
from tests.benchmarks.batch import SURVEY, write_rows
from tests.benchmarks.measure import machine, tell

SIZES = (1_000_000, 10_000_000, 100_000_000)
MEMORY = "3GB"  # for the engine; the rest of the process comes on top


def measured(path: Path) -> dict[str, float]:
    """One batch in a process of its own: seconds and peak memory."""
    command = [sys.executable, "-m", "tests.benchmarks.batch_growth", "--one", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told: dict[str, float] = json.loads(done.stdout)
    return told


def one(path: Path) -> None:
    start = time.perf_counter()
    folder = str(path.parent)
    result = tally_reports(path, SURVEY, memory_limit=MEMORY, progress=False, temp_directory=folder)
    took = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"rows": result.summary.rows, "seconds": took, "gigabytes": peak}))


def growth(sizes: tuple[int, ...], docs: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    told = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rows.parquet")
            write_rows(path, size)
            told.append({**measured(path), "file": path.stat().st_size / 1e9})
            tell(str(told[-1]))
    lines = [
        "# How the cost of a batch grows\n",
        f"`python -m tests.benchmarks.batch_growth` on {machine()}; DuckDB {duckdb.__version__} limited to {MEMORY}.\n"
        "One Parquet file; every row is validated, deduplicated by report id and grouped. Memory is the peak of\n"
        "the whole process.\n",
        "| rows | file, GB | seconds | million rows per second | peak memory, GB |",
        "|---:|---:|---:|---:|---:|",
        *(
            f"| {t['rows']:,.0f} | {t['file']:.2f} | {t['seconds']:.1f} | {t['rows'] / t['seconds'] / 1e6:.1f} "
            f"| {t['gigabytes']:.2f} |"
            for t in told
        ),
        "\n![time and peak memory against rows](batch-growth.svg)",
    ]
    docs.joinpath("batch-growth.md").write_text("\n".join(lines) + "\n")
    plt.rcParams["svg.hashsalt"] = "rrcollect"
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    rows = [t["rows"] for t in told]
    left.loglog(rows, [t["seconds"] for t in told], "o-")
    left.set(xlabel="rows", ylabel="seconds", title="Time")
    right.semilogx(rows, [t["gigabytes"] for t in told], "o-")
    right.axhline(4, linestyle="--", color="grey")
    right.set(xlabel="rows", ylabel="GB", title="Peak memory (dashed: 4 GB)", ylim=(0, 4.5))
    figure.savefig(docs / "batch-growth.svg", metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="leave out larger sizes")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        one(given.one)
    else:
        growth(tuple(size for size in SIZES if size <= given.largest), Path(__file__).parents[2] / "docs")


if __name__ == "__main__":
    main()
