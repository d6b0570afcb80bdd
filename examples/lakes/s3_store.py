"""For whoever keeps reports in an object store: count a folder of it where it lies.

    pip install 'rrcollect[stores,estimate]' s3fs
    AWS_ENDPOINT_URL=… AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=… python examples/lakes/s3_store.py BUCKET

fsspec finds the keys where every program finds them.  The folders say the round, as Hive and Spark write them.
"""

import sys

import fsspec
import pyarrow.parquet as pq
from made_up_rows import SURVEY, rows

from server_agg import estimate, tally_reports


def main() -> None:
    place = f"s3://{sys.argv[1]}/reports"
    store = fsspec.filesystem("s3")
    for name, table in (("monday", rows(0, 600)), ("tuesday", rows(500, 500))):  # a hundred were sent again
        with store.open(f"{place}/round=0/{name}.parquet", "wb") as file:
            pq.write_table(table.drop_columns(["round"]), file)
    result = tally_reports(place, SURVEY)
    print(result.summary)
    print(estimate(result.tallies.one()).sentence())
    monday = f"{place}/round=0/monday.parquet"
    print("Tuesday alone:", tally_reports(f"{place}/round=0/tue*.parquet", SURVEY, earlier=monday).summary)


if __name__ == "__main__":
    main()
