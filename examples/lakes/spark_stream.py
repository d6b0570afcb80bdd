"""For whoever counts while reports arrive: Spark Structured Streaming, each report once, over restarts.

    pip install 'rrcollect[spark]'
    python examples/lakes/spark_stream.py REPORTS STATE     # a folder of Parquet files, and one for what is remembered

Rules
1. A micro-batch is counted with the rows of those before it as `earlier`: repeats are not counted again, what
   contradicts an earlier report or uses its ticket again is refused.  One file, replaced as a whole, holds the total
   and the number of the last batch in it: a batch that Spark runs again after a crash is not added again.
2. What is remembered is bounded.  When a round has closed and the grace period is over, its rows are not counted any
   more, as in the collector; so nothing of it has to be remembered, and its folders go.
"""

import json
import os
import shutil
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from made_up_rows import SURVEY
from pyspark.sql import SparkSession
from pyspark.sql.functions import coalesce, col, lit

from rrcollect import Survey
from server_agg import BatchResult, tally_reports

GRACE = timedelta(days=7)  # the collector's setting: how long reports of a closed round are still taken
TEXTS = ("survey", "question", "design", "answer", "id", "ticket", "segments")
SCHEMA = ", ".join(["round long", *(f"{name} string" for name in TEXTS)])


def closed_rounds(survey: Survey, now: datetime) -> list[int]:
    """The rounds of which nothing is counted any more."""
    rounds = range(max(question.rounds for question in survey.questions))
    closes = [survey.rounds[number].closes if number < len(survey.rounds) else survey.expires for number in rounds]
    return [number for number in rounds if now > closes[number] + GRACE]


def count_batch(rows: Any, number: int, survey: Survey, state: Path, now: datetime) -> None:
    """Add one micro-batch to the total, once."""
    total, remembered = state / "total.json", state / "remembered"
    so_far: dict[str, Any] = json.loads(total.read_text()) if total.exists() else {"batch": -1, "result": None}
    if number <= so_far["batch"]:
        return  # it was added before the crash
    closed = closed_rounds(survey, now)
    for round_ in closed:
        for folder in remembered.glob(f"batch=*/round={round_}"):
            shutil.rmtree(folder)
    fresh = rows.filter(~coalesce(col("round"), lit(-1)).isin(closed)) if closed else rows
    asked = list(range(max(question.rounds for question in survey.questions)))
    known = fresh.filter(col("round").isin(asked))  # others are refused, and need not be remembered
    known.write.mode("overwrite").partitionBy("round").parquet(str(remembered / f"batch={number}"))
    result = tally_reports(fresh, survey, earlier=_before(rows.sparkSession, number, remembered))
    if so_far["result"] is not None:
        result += BatchResult.from_json(so_far["result"])
    new = total.with_suffix(".new")
    new.write_text(json.dumps({"batch": number, "result": result.to_json()}))
    os.replace(new, total)


def _before(spark: Any, number: int, remembered: Path) -> Any:
    """The remembered rows of the batches before this one."""
    folders = [path for path in remembered.glob("batch=*/round=*") if int(path.parent.name[6:]) < number]
    if not folders:
        return None
    found = spark.read.option("basePath", str(remembered)).parquet(*map(str, folders))
    return found.select(*TEXTS, col("round").cast("long"))


def main() -> None:
    reports, state = sys.argv[1], Path(sys.argv[2]).resolve()
    state.mkdir(parents=True, exist_ok=True)
    spark = SparkSession.builder.appName("stream").getOrCreate()
    rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(reports)
    stream = rows.writeStream.foreachBatch(
        lambda batch, number: count_batch(batch, number, SURVEY, state, datetime.now(UTC))
    )
    stream = stream.trigger(availableNow=True)  # what is there now; leave it out to go on for ever
    stream.option("checkpointLocation", str(state / "checkpoint")).start().awaitTermination()
    print(BatchResult.from_json(json.loads((state / "total.json").read_text())["result"]).summary)


if __name__ == "__main__":
    main()
