"""For whoever keeps reports in an Iceberg table: count a snapshot of it.

    pip install 'rrcollect[batch,estimate]' 'pyiceberg[sql-sqlite]' polars
    python examples/lakes/iceberg_table.py [FOLDER]     # FOLDER for the catalogue and the table (./iceberg)

The table is read lazily by Polars; a snapshot that was counted yesterday is today's `earlier`.
"""

import sys
from pathlib import Path

from made_up_rows import SURVEY, rows
from pyiceberg.catalog.sql import SqlCatalog

from server_agg import estimate, tally_reports


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "iceberg").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    catalogue = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalogue.db", warehouse=folder.as_uri())
    catalogue.create_namespace_if_not_exists("surveys")
    table = catalogue.create_table_if_not_exists("surveys.reports", schema=rows(0, 1).schema)

    table.append(rows(0, 600))
    monday = table.history()[-1]
    table.append(rows(500, 500))  # a hundred were sent again

    result = tally_reports(table.to_polars(), SURVEY)
    print(result.summary)
    print(estimate(result.tallies.one()).sentence())
    before = table.scan(snapshot_id=monday.snapshot_id).to_polars()
    print("counted on Monday:", tally_reports(before, SURVEY).summary)


if __name__ == "__main__":
    main()
