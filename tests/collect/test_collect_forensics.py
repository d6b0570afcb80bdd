"""Who takes the files: nothing at rest tells the order of folded reports, or joins one with its ticket.

The reader (`tests/support/forensics.py`) has the raw files, the logs, a dump and the keys, after real traffic and kill
-9.  Its planted bugs are the store as it was before, which wrote rows as they came, and one that keeps old keys.
"""

import hashlib
import secrets

import pytest

from tests.assurance.collector.planted import Hoarder, HoarderPostgres, PlainCollector, PlainPostgresCollector
from tests.inside.collect import Spending
from tests.inside.publish import known_as
from tests.support.collector_crashing import read_by_strangers
from tests.support.collector_running import Process
from tests.support.forensics import found_in, most_by_chance

REPORTS = 160


def test_nothing_at_rest_in_sqlite_tells_order_or_pairs(tmp_path):
    found = read_by_strangers(str(tmp_path / "a.sqlite3"), REPORTS, Process)
    assert found["folded"] >= REPORTS // 4
    assert (found["beyond chance"], found["acknowledged and lost"], found["counted twice"]) == (0, 0, 0), found


@pytest.mark.engine
def test_nothing_at_rest_in_postgresql_tells_order_or_pairs(postgres):
    found = read_by_strangers(postgres.new_database(), REPORTS, Process, postgres)
    assert found["folded"] >= REPORTS // 4
    assert (found["beyond chance"], found["acknowledged and lost"], found["counted twice"]) == (0, 0, 0), found


@pytest.mark.parametrize("start", [PlainCollector, Hoarder])
def test_the_reader_sees_rows_in_order_of_arrival_and_old_keys_in_sqlite(tmp_path, start):
    found = read_by_strangers(str(tmp_path / "a.sqlite3"), REPORTS, start)
    assert found["folded"] >= REPORTS // 4
    assert min(found["neighbours"], found["pairs"]) > 0.9 * found["folded"], found
    assert found["beyond chance"] == 2, found


@pytest.mark.engine
@pytest.mark.parametrize("start", [PlainPostgresCollector, HoarderPostgres])
def test_the_reader_sees_rows_in_order_of_arrival_and_old_keys_in_postgresql(postgres, start):
    found = read_by_strangers(postgres.new_database(), REPORTS, start, postgres)
    assert found["folded"] >= REPORTS // 4
    assert min(found["neighbours"], found["pairs"]) > 0.9 * found["folded"], found
    assert found["beyond chance"] == 2, found


def test_the_reader_sees_a_hash_that_can_be_tested():
    traffic = [
        (secrets.token_hex(16), Spending("ab" * 32, known_as(ticket, "q1", 0)), ticket)
        for ticket in map(str, range(40))
    ]
    ordered = sorted(traffic)
    rows = "\n".join(f"{id_} {hashlib.sha256(f'{id_}:{ticket}'.encode()).hexdigest()}" for id_, _, ticket in ordered)
    assert found_in({"export": rows.encode()}, traffic)["pairs"] == 40
    plain = "\n".join(id_ for id_, _, _ in ordered).encode()
    assert max(found_in({"export": plain}, traffic).values()) <= most_by_chance(1)
