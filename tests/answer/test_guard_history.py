"""What the rollback guard remembers: a chain from an unforeseeable start over every report, its body included."""

import os
import sqlite3
import stat
from contextlib import closing

import pytest

from rrcollect.answer.ledger_file import _content
from rrcollect.answer.rollback_guard import RollbackGuard, link
from rrcollect.errors import LedgerRestored
from tests.support.devices import client, envelope, question

REPORTS = "SELECT survey, question, round, attribute, words, id, body FROM reports ORDER BY rowid"


def answered(folder, *names):
    folder.mkdir()
    device = client(folder, attributes=list(names))
    accepted = device.accept(envelope(*(question(id=name, attribute=name) for name in names)))
    for name in names:
        device.answer(accepted, name, True)
    return device


def start(connection):
    return connection.execute("SELECT value FROM meta WHERE key = 'start'").fetchone()[0]


def test_the_guard_is_the_chain_over_all_reports_from_a_start_of_its_own(tmp_path):
    starts = set()
    for number in range(3):
        folder = tmp_path / str(number)
        answered(folder, "a", "b")
        with closing(sqlite3.connect(folder / "ledger.sqlite3")) as connection:
            chain = start(connection)
            starts.add(chain)
            lines = [f"{0:016d} {chain}"]
            rows = connection.execute(REPORTS).fetchall()
        for place, (*told, made) in enumerate(rows, start=1):
            chain = link(chain, *told, made.hex())
            lines.append(f"{place:016d} {chain}")
        guard = RollbackGuard(folder / "ledger.sqlite3")
        assert guard.path.read_text().splitlines() == lines
        assert guard.last() == (2, chain)
    assert len(starts) == 3


def test_a_body_that_was_changed_with_the_digest_mended_is_not_handed_out(tmp_path):
    device = answered(tmp_path / "x", "a", "b")
    with closing(sqlite3.connect(tmp_path / "x" / "ledger.sqlite3")) as connection:
        connection.execute("UPDATE reports SET body = CAST(body || x'20' AS BLOB) WHERE rowid = 1")
        connection.execute("UPDATE meta SET value = ? WHERE key = 'content'", (_content(connection),))
        connection.commit()
    with pytest.raises(LedgerRestored):
        device.budget()


def test_what_is_appended_after_a_torn_line_counts(tmp_path):
    guard = RollbackGuard(tmp_path / "ledger.sqlite3")
    guard.append(1, "a" * 64)
    with guard.path.open("ab") as file:
        file.write(b"0000000000000002 bb")  # a crash in mid-write
    guard.append(2, "c" * 64)
    guard.append(3, "d" * 64)
    assert guard.last() == (3, "d" * 64)
    assert [len(line) for line in guard.path.read_bytes().split(b"\n")] == [81, 19, 81, 81, 0]


def test_every_line_is_synced_and_with_the_first_the_folder(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(stat.S_ISDIR(os.fstat(handle).st_mode)))
    guard = RollbackGuard(tmp_path / "ledger.sqlite3")
    guard.append(1, "a" * 64)
    guard.append(2, "b" * 64)
    assert synced == [False, True, False]
