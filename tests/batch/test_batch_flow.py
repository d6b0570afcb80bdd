"""The whole flow: real clients answer, their reports go through files, and estimates come out."""

from __future__ import annotations

from pathlib import Path

import pytest

import server_agg
from rrcollect import Report, SimulatedCollector
from server_agg import tally_reports, write_reports
from tests.support.devices import KEY as PUBLISHER_KEY
from tests.support.devices import client, question
from tests.support.devices import envelope as signed

PEOPLE = 30


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[Report]]:
    """The survey, and what the devices sent."""
    tmp_path = tmp_path_factory.mktemp("devices")
    document = signed(question(), segments={"region": ["north", "south"]})
    reports: list[Report] = []
    for person in range(PEOPLE):
        folder = tmp_path / f"device-{person}"
        folder.mkdir()
        device = client(folder)
        accepted = device.accept(document)
        region = {"region": "north" if person % 2 else "south"}
        device.answer(accepted, "q1", person % 3 == 0, segments=region)
        collector = SimulatedCollector([accepted.survey])
        device.deliver(collector)
        reports += collector.reports.values()
    return document, reports


@pytest.mark.parametrize("ending", ["jsonl.gz", "csv", "parquet"])
def test_from_devices_through_files_to_an_estimate(
    ending: str, answered: tuple[bytes, list[Report]], tmp_path: Path
) -> None:
    document, reports = answered
    write_reports(tmp_path / f"night.{ending}", [*reports, *reports[:5]])
    result = tally_reports(tmp_path / f"night.{ending}", document, trusted=[PUBLISHER_KEY.public])
    assert str(result.summary) == f"{PEOPLE + 5} rows read: {PEOPLE} accepted, 5 repeated, 0 refused"
    assert result.tallies == server_agg.Tallies.of(reports)
    assert {name: sum(t.n for t in found) for name, found in result.tallies.by("region").items()} == {
        ("north",): PEOPLE // 2,
        ("south",): PEOPLE // 2,
    }
    estimate = server_agg.estimate(result.tallies.one())
    assert estimate.interval(level="0.999999").low <= 1 / 3 <= estimate.interval(level="0.999999").high
    assert question().design == result.tallies.one().design


def test_yesterday_plus_today_is_both_at_once(tmp_path: Path) -> None:
    from tests.support.batch_reference import OPEN, reports

    given = reports(100)
    write_reports(tmp_path / "yesterday.parquet", given[:60])
    write_reports(tmp_path / "today.jsonl", given[50:])
    yesterday = tally_reports(tmp_path / "yesterday.parquet", OPEN)
    today = tally_reports(tmp_path / "today.jsonl", OPEN, earlier=tmp_path / "yesterday.parquet")
    assert yesterday + today == tally_reports(tmp_path, OPEN)
    assert (yesterday + today).summary.repeated == 10
