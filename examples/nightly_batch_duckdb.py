"""For whoever runs the nightly job: from files of reports to estimates by segment, on the embedded DuckDB.

Shows one call that reads CSV and Parquet alike, an account of every row, why rows were refused, two nights that add
up, a job that may be run again, and a table whose bars hold all at once.

    python examples/nightly_batch_duckdb.py [FOLDER]   # FOLDER for the nights and what was counted (./nights)

The two nights are made up, by counting and not at random, so that every number below can be checked.
`nightly_batch_spark.py` counts the same files on Spark.
"""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from rrcollect import Design, Question, Report, Survey
from server_agg import REASONS, BatchResult, compare, tally_reports, write_reports

DESIGN = Design("3/4", "3/4")
SURVEY = Survey(
    name="clean-sport",
    version=1,
    title="Clean sport",
    publisher="Example Institute",
    collector="https://collect.example.org/reports",
    expires=datetime(2100, 1, 1, tzinfo=UTC),
    segments={"region": ["north", "south", "west", "islands"]},
    questions=[Question(id="doped", attribute="doped", text="Have you ever doped?", design=DESIGN)],
)


def reports(
    region: str, start: int, n: int, ones: int, *, survey: str = SURVEY.digest, design: Design = DESIGN
) -> Iterator[Report]:
    """n reports with ids from `start` on, the first `ones` of them yes."""
    for i in range(n):
        yield Report(
            survey=survey,
            question="doped",
            design=design,
            answer=str(int(i < ones)),
            id=f"{start + i:032x}",
            segments={"region": region},
        )


def make_nights(folder: Path) -> tuple[Path, Path]:
    """Monday and Tuesday, a folder each; Tuesday also holds what should not be counted."""
    monday, tuesday = folder / "monday", folder / "tuesday"
    for night in (monday, tuesday):
        night.mkdir(parents=True, exist_ok=True)
    north, south = list(reports("north", 0, 3000, 1200)), list(reports("south", 10_000, 2000, 600))
    write_reports(monday / "north.parquet", north)
    write_reports(monday / "south.csv", south)
    write_reports(monday / "west.parquet", reports("west", 15_000, 1800, 810))
    write_reports(monday / "islands.parquet", reports("islands", 20_000, 12, 5))
    write_reports(tuesday / "north.parquet", [*north[:250], *reports("north", 30_000, 1500, 600)])  # 250 sent again
    write_reports(tuesday / "south.csv", reports("south", 40_000, 1000, 300))
    rubbish = [
        *reports("moon", 50_000, 7, 3),
        *reports("north", 51_000, 5, 5, survey="0" * 64),
        *reports("south", 52_000, 20, 20, design=Design("9/10", "9/10")),
        *reports("south", 53_000, 2, 0),
        *reports("south", 53_000, 2, 2),  # the ids of the line before, with the other answer
    ]
    write_reports(tuesday / "rubbish.parquet", rubbish)
    return monday, tuesday


def show(result: BatchResult) -> None:
    """Every row accounted for, and the estimates."""
    print(result.summary)
    for reason, rows in result.summary.refused.items():
        print(f"  {rows:3} {reason}: {REASONS[reason]}")
    print(compare(result.tallies.where(question="doped").by("region"), minimum=30))


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "nights")
    monday, tuesday = make_nights(folder)

    counted = folder / "monday.json"
    counted.write_text(tally_reports(monday, SURVEY).to_json())  # what Monday's job left behind
    today = tally_reports(tuesday, SURVEY, earlier=monday, refused_to=folder / "refused.csv")
    print("Tuesday:", today.summary)

    print("\nBoth nights together")
    total = BatchResult.from_json(counted.read_text()) + today
    show(total)
    print("as one batch, the same integers:", total.tallies == tally_reports([monday, tuesday], SURVEY).tallies)
    again = tally_reports(tuesday, SURVEY, earlier=monday)
    print("Tuesday's job run again, the same bytes:", again.to_json() == today.to_json())

    refused = (folder / "refused.csv").read_text().splitlines()
    print(f"\n{len(refused) - 1} refused rows are in {folder / 'refused.csv'}, the first of them:")
    print(*(line.replace("0" * 24, "…") for line in refused[:2]), sep="\n")


if __name__ == "__main__":
    main()
