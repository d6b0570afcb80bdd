"""The oTree app of examples/otree_app, played by the bots of oTree from PyPI; its export is counted."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rrcollect import PublicKey, SigningKey, Survey
from server_agg import tally_reports

APP = Path(__file__).parents[3] / "examples" / "otree_app"
PEOPLE = 20
COLUMN = "player.rr_doped"
Rows = list[dict[str, str]]


def played(folder: Path) -> tuple[Rows, str]:
    """The exported rows of a session of bots, and what oTree printed."""
    project = folder / "project"
    shutil.copytree(APP, project, ignore=shutil.ignore_patterns("__pycache__"))
    key = SigningKey.generate()
    (project / "publisher.pem.pub").write_bytes(key.public.to_pem())
    survey = Survey.read(project / "survey.toml")
    (project / "survey.json").write_bytes(survey.publish([key]).envelope)
    otree, settings = Path(sys.executable).parent / "otree", {**os.environ, "RRCOLLECT_KEY": os.urandom(32).hex()}
    done = subprocess.run(
        [otree, "test", "doped", str(PEOPLE), "--export=out"],
        cwd=project, env=settings, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    with (project / "out" / "doped.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file)), done.stdout + done.stderr


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Rows, str]:
    folder = tmp_path_factory.mktemp("otree")
    return folder / "project", *played(folder)


def declined(number: int) -> bool:
    return number % 5 == 4


def truth(number: int) -> bool:
    return number % 3 == 0


def telling(rows: Rows) -> list[str]:
    """The columns whose few values tell who of those that answered has doped."""
    answered, found = [row for row in rows if not declined(int(row["participant.id_in_session"]))], []
    for column in rows[0]:
        values = [(row[column], truth(int(row["participant.id_in_session"]))) for row in answered]
        if 1 < len({value for value, _ in values}) <= 4 and len(set(values)) == len({value for value, _ in values}):
            found.append(column)
    return found


def test_the_export_is_counted_and_every_report_is_accepted(session: tuple[Path, Rows, str]) -> None:
    project, rows, _ = session
    trusted = [PublicKey.from_pem((project / "publisher.pem.pub").read_bytes())]
    envelope = (project / "survey.json").read_bytes()
    for file, column in (("doped.csv", COLUMN), ("all_apps_wide.csv", "doped.1.player.rr_doped")):
        result = tally_reports(project / "out" / file, envelope, column=column, trusted=trusted)
        assert (result.summary.accepted, result.summary.refused_rows, result.summary.repeated) == (16, 0, 0)
    assert [bool(row[COLUMN]) for row in rows] == [not declined(i) for i in range(1, PEOPLE + 1)]


def test_there_is_one_ledger_per_participant_and_no_code_on_the_disk(session: tuple[Path, Rows, str]) -> None:
    project, rows, _ = session
    names = [path.name for path in (project / "ledgers").glob("??/*.sqlite3")]
    assert len(names) == PEOPLE
    assert not any(row["participant.code"] in name for row in rows for name in names)


def test_no_column_tells_the_truth(session: tuple[Path, Rows, str]) -> None:
    _, rows, _ = session
    assert telling(rows) == []
    planted = [row | {"player.doped": str(truth(int(row["participant.id_in_session"])))} for row in rows]
    assert telling(planted) == ["player.doped"]  # the planted bug: an ordinary field of oTree


def test_the_database_has_no_field_for_it(session: tuple[Path, Rows, str]) -> None:
    """Of the player oTree saves its own fields, the report, and whether there is one."""
    _, rows, _ = session
    assert {name for name in rows[0] if name.startswith("player.")} == {
        "player.id_in_group", "player.role", "player.payoff", "player.rr_doped", "player.declined",
    }  # fmt: skip
