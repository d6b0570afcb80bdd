"""For whoever keeps reports in a Delta table: count a version of it.

    pip install 'rrcollect[batch,estimate]' deltalake polars
    python examples/lakes/delta_table.py [FOLDER]     # FOLDER for the table (./delta)

The table is read lazily by Polars; the version that was counted yesterday is today's `earlier`.
"""

import sys
from pathlib import Path

import polars
from deltalake import write_deltalake
from made_up_rows import SURVEY, rows

from server_agg import estimate, tally_reports


def main() -> None:
    folder = str(Path(sys.argv[1] if len(sys.argv) > 1 else "delta").resolve())
    write_deltalake(folder, rows(0, 600), mode="overwrite")
    write_deltalake(folder, rows(500, 500), mode="append")  # a hundred were sent again
    result = tally_reports(polars.scan_delta(folder), SURVEY)
    print(result.summary)
    print(estimate(result.tallies.one()).sentence())
    monday = tally_reports(polars.scan_delta(folder, version=0), SURVEY)
    tuesday = tally_reports(polars.scan_delta(folder), SURVEY, earlier=polars.scan_delta(folder, version=0))
    print("Monday and what came after it add up:", (monday + tuesday).tallies == result.tallies)


if __name__ == "__main__":
    main()
