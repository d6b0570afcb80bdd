"""Every benchmark in turn.  Run: make bench"""

from __future__ import annotations

import sys

from benchmarks import batch, bulk, cold, ingest, regression


def main() -> None:
    sys.argv = sys.argv[:1]
    for title, benchmark in (
        ("Bulk randomisation", bulk),
        ("A cold start", cold),
        ("Batch tallies", batch),
        ("Ingest", ingest),
        ("Regression", regression),
    ):
        print(f"\n== {title}")
        benchmark.main()


if __name__ == "__main__":
    main()
