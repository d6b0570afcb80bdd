"""Many collectors, each with a store of its own, count what one counts: the same integers, from 1 to 16 stores.

The rule: a report goes to the store that its ticket names, or its id if it has none, by a hash.  A report that is sent
again then meets its first copy, and a ticket its first use; counts are added.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from rrcollect import Design, Question, SigningKey, Survey
from server_agg import Tallies, open_store
from tests.inside.collect import Catalogue, IncomingReport
from tests.inside.publish import ReportRow

DESIGN = Design("3/4", "3/4")
KEY = SigningKey.generate()


def survey_of(invited: bool) -> Survey:
    return Survey(
        name="many", version=1, title="Many", publisher="P", expires="2100-01-01T00:00:00Z", invite_only=invited,
        collector="https://collect.example.org/reports", segments={"region": ["north", "south"]},
        questions=[Question(id=name, attribute=name, text=f"{name}?", design=DESIGN) for name in ("q1", "q2")],
    )  # fmt: skip


def arriving(survey: Survey, n: int) -> list[IncomingReport]:
    """New reports, repeats of them and, by invitation, tickets that are used again."""
    source, made = random.Random(n), list[IncomingReport]()
    for _ in range(n):
        segments = source.choice(["{}", '{"region":"north"}'])
        question, answer = source.choice(["q1", "q2"]), source.choice("01")
        ticket = f"{source.randrange(n):064x}" if survey.invite_only else None
        id_ = f"{source.getrandbits(128):032x}"
        row = ReportRow(survey.digest, question, 0, DESIGN.text, answer, id_, None, segments)
        made.append(IncomingReport(row, ticket))
        if source.random() < 0.2:
            made.append(source.choice(made))
    return made


def by_ticket_or_id(report: IncomingReport, stores: int) -> int:
    key = report.ticket or report.id
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8]) % stores


def counted(
    survey: Survey, reports: list[IncomingReport], stores: int, folder: Path, place: Callable[..., int]
) -> Tallies:
    """What the stores have counted when the survey is over, added."""
    folder.mkdir()
    envelope = survey.publish([KEY]).envelope
    total = Tallies()
    for number in range(stores):
        mine = [report for report in reports if place(report, stores) == number]
        store = open_store(folder / f"{number}.sqlite3", keys=folder / f"keys{number}")
        Catalogue(store.shelf).publish(envelope, [KEY.public.raw.hex()])
        if survey.invite_only:
            store.shelf.add_invites(survey.digest, sorted({report.ticket or "" for report in mine}))
        for start in range(0, len(mine), 50):
            store.take(mine[start : start + 50])
        store.folds.finish(survey.digest)
        total += store.tallies(survey.digest)
        store.disconnect()
    return total


@pytest.mark.parametrize("invited", [False, True], ids=["open", "invited"])
def test_the_counts_of_many_stores_add_up_to_those_of_one(invited: bool, tmp_path: Path) -> None:
    survey = survey_of(invited)
    reports = arriving(survey, 400)
    one = counted(survey, reports, 1, tmp_path / "one", by_ticket_or_id)
    assert 200 < sum(tally.n for tally in one.values()) < len(reports)
    for stores in (2, 3, 5, 8, 16):
        assert counted(survey, reports, stores, tmp_path / str(stores), by_ticket_or_id) == one


def test_spread_without_the_rule_they_do_not(tmp_path: Path) -> None:
    """Planted bugs: whichever store is next; and by id alone, where tickets are used again."""
    open_, invited = survey_of(False), survey_of(True)
    reports = arriving(open_, 400)
    one = counted(open_, reports, 1, tmp_path / "one", by_ticket_or_id)
    copies = [IncomingReport(*report) for report in reports]  # a copy is another object
    turns = {id(report): number % 4 for number, report in enumerate(copies)}
    assert counted(open_, copies, 4, tmp_path / "turns", lambda report, n: turns[id(report)]) != one
    tickets = arriving(invited, 400)
    one = counted(invited, tickets, 1, tmp_path / "invited", by_ticket_or_id)
    by_id = counted(invited, tickets, 4, tmp_path / "ids", lambda report, n: int(report.id, 16) % n)
    assert by_id != one
