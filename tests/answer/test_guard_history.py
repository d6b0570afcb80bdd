"""What the rollback guard remembers: a chain from an unforeseeable start over every state of the ledger."""

import itertools
import os
import sqlite3
import stat
from contextlib import closing

import pytest

from rrcollect.errors import LedgerRestored
from tests.inside.answer import RollbackGuard, link
from tests.inside.answer import content_of as _content
from tests.support.devices import client, envelope, question

LEDGER = "ledger.sqlite3"


def answered(folder, *names):
    folder.mkdir()
    device = client(folder, attributes=[*names, "later"])
    accepted = device.accept(envelope(*(question(id=name, attribute=name) for name in (*names, "later"))))
    for name in names:
        device.answer(accepted, name, True)
    return device, accepted


def meta(folder):
    with closing(sqlite3.connect(folder / LEDGER)) as connection:
        return dict(connection.execute("SELECT key, value FROM meta"))


def test_the_guard_is_a_chain_over_the_content_of_every_state_from_a_start_of_its_own(tmp_path):
    starts = set()
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        client(folder)
        states = [meta(folder)]
        starts.add(states[0]["before"])
        device = client(folder, attributes=["a", "b"])
        accepted = device.accept(envelope(question(id="a", attribute="a"), question(id="b", attribute="b")))
        states.append(meta(folder))
        for name in ("a", "b"):
            device.answer(accepted, name, True)
            states.append(meta(folder))
        device.budget()  # changes nothing
        assert [state["serial"] for state in states] == ["0", "1", "2", "3"]
        for before, after in itertools.pairwise(states):
            assert after["before"] == before["chain"]
        for state in states:
            assert state["chain"] == link(state["before"], state["serial"], state["content"])
        lines = RollbackGuard(folder / LEDGER).path.read_text().splitlines()
        assert lines == [f"{int(state['serial']):016d} {state['chain']}" for state in states]
    assert len(starts) == 3


CHANGES = {
    "a draw": lambda device, accepted: device.answer(accepted, "later", True),
    "a survey's version": lambda device, accepted: device.accept(envelope(version=9)),
    "a decline": lambda device, accepted: device.decline(accepted, "later"),
    "a decline that stops a report": lambda device, accepted: device.decline(accepted, "a"),
    "an attempt": lambda device, accepted: device._ledger.attempt(device._ledger.outbox()[0].id),
    "a verdict": lambda device, accepted: device._ledger.mark(device._ledger.outbox()[0].id, "delivered"),
    "a schedule": lambda device, accepted: device._ledger.reschedule(device._ledger.outbox()[0].id, [1, 2]),
    "words": lambda device, accepted: device.answer(
        device.accept(envelope(question(id="a", attribute="a", text="In other words?"), name="again")), "a", True
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_old_copy_is_refused_whatever_it_lacks(tmp_path, change):
    """The guard counted reports: an old copy with as many had forgotten survey versions."""
    device, accepted = answered(tmp_path / "x", "a", "b")
    old = (tmp_path / "x" / LEDGER).read_bytes()
    CHANGES[change](device, accepted)
    assert (tmp_path / "x" / LEDGER).read_bytes() != old
    for journal in (tmp_path / "x").glob(f"{LEDGER}-*"):
        journal.unlink()
    (tmp_path / "x" / LEDGER).write_bytes(old)
    with pytest.raises(LedgerRestored, match="an old copy was restored"):
        device.budget()


def test_a_ledger_without_its_guard_is_refused_from_the_beginning(tmp_path):
    client(tmp_path)
    (tmp_path / f"{LEDGER}.guard").unlink()
    with pytest.raises(LedgerRestored, match="missing"):
        client(tmp_path)
    (tmp_path / f"{LEDGER}.guard").write_bytes(b"")
    with pytest.raises(LedgerRestored, match="missing"):
        client(tmp_path)


def test_a_ledger_two_steps_ahead_of_its_guard_is_refused(tmp_path):
    """One step is a crash between commit and guard; two cannot come about, but by another guard."""
    device, _ = answered(tmp_path / "x", "a", "b")
    guard = tmp_path / "x" / f"{LEDGER}.guard"
    lines = guard.read_bytes().splitlines(keepends=True)
    guard.write_bytes(b"".join(lines[:-1]))
    assert len(device.budget().reports) == 2
    assert guard.read_bytes() == b"".join(lines)
    guard.write_bytes(b"".join(lines[:-2]))
    with pytest.raises(LedgerRestored):
        device.budget()
    guard.write_bytes(b"".join(lines[:-2]) + lines[-2].replace(lines[-2][-20:], lines[-1][-20:]))
    with pytest.raises(LedgerRestored):
        device.budget()


def test_a_body_that_was_changed_with_digest_and_chain_mended_is_not_handed_out(tmp_path):
    device, _ = answered(tmp_path / "x", "a", "b")
    with closing(sqlite3.connect(tmp_path / "x" / LEDGER)) as connection:
        connection.execute("UPDATE reports SET body = CAST(body || x'20' AS BLOB) WHERE rowid = 1")
        content, told = _content(connection), dict(connection.execute("SELECT key, value FROM meta"))
        for key, value in {"content": content, "chain": link(told["before"], told["serial"], content)}.items():
            connection.execute("UPDATE meta SET value = ? WHERE key = ?", (value, key))
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
