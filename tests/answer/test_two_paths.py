"""Two paths to one ledger: hard links of both files, used at once and one after the other, by threads and processes."""

import multiprocessing
import os
from contextlib import nullcontext, suppress

import pytest

from rrcollect.answer.ledger.guard import append
from rrcollect.errors import LedgerError, LedgerRestored
from tests.inside.answer import RollbackGuard
from tests.support.devices import client, envelope, question

LEDGER = "ledger.sqlite3"
ENVELOPE = envelope(*(question(id=f"q{n}", attribute=f"a{n}") for n in range(4)))
NAMES = [f"a{n}" for n in range(4)]


def linked(tmp_path):
    """Two folders with one ledger and one guard, by hard links."""
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    client(folders[0], attributes=NAMES).accept(ENVELOPE)
    for name in (LEDGER, f"{LEDGER}.guard"):
        os.link(folders[0] / name, folders[1] / name)
    return folders


def answered(folder, question_id, barrier, told):
    barrier.wait()
    try:
        device = client(folder, attributes=NAMES)
        told.put(device.answer(device.accept(ENVELOPE), question_id, True).id)
    except LedgerError as error:
        told.put(type(error).__name__)


@pytest.mark.process
@pytest.mark.parametrize("number", range(4))
def test_two_processes_by_two_paths_hand_out_one_draw(tmp_path, number):
    folders = linked(tmp_path)
    start = multiprocessing.get_context("fork")
    barrier, told = start.Barrier(4), start.Queue()
    running = [start.Process(target=answered, args=(folder, f"q{number}", barrier, told)) for folder in folders * 2]
    for each in running:
        each.start()
    ids = {told.get(timeout=60) for _ in running}
    for each in running:
        each.join()
    assert len({one for one in ids if len(one) == 32}) == 1


def drawing(folder, began, go, told):
    """A program that stands within its draw until it may go on."""

    def slow():
        began.set()
        go.wait(60)
        return True

    device = client(folder, attributes=NAMES)
    told.put(device.answer(device.accept(ENVELOPE), "q0", slow).id)


def met_within_a_draw(tmp_path, monkeypatch):
    """Another program answers by the other path while one draws: (its report, or "" if refused; how often it drew; the
    report of the first; what the second gets when it asks again)."""
    monkeypatch.setattr("rrcollect.answer.ledger.file.BUSY_SECONDS", 0.2)
    folders, start, drawn, mine = linked(tmp_path), multiprocessing.get_context("fork"), [], ""
    second = client(folders[1], attributes=NAMES)
    accepted = second.accept(ENVELOPE)
    began, go, told = start.Event(), start.Event(), start.Queue()
    first = start.Process(target=drawing, args=(folders[0], began, go, told))
    first.start()
    assert began.wait(60)
    with suppress(LedgerError):
        mine = second.answer(accepted, "q0", lambda: drawn.append(1) or True).id
    go.set()
    theirs = told.get(timeout=60)
    first.join()
    again = None
    with suppress(LedgerError):
        again = client(folders[1], attributes=NAMES).answer(accepted, "q0", lambda: 1 / 0).id
    return mine, len(drawn), theirs, again


@pytest.mark.process
def test_a_draw_made_meanwhile_by_another_path_keeps_all_others_out(tmp_path, monkeypatch):
    mine, drawn, theirs, again = met_within_a_draw(tmp_path, monkeypatch)
    assert (mine, drawn) == ("", 0)
    assert again == theirs


@pytest.mark.process
def test_the_check_sees_a_ledger_that_trusts_the_exclusion_of_paths(tmp_path, monkeypatch):
    """The planted bug: SQLite's own locks, which go by the name of the file, and no look at who was first."""

    def careless(self, number, chain):
        append(self.path, f"{number:016d} {chain}\n".encode())

    monkeypatch.setattr(RollbackGuard, "locked", lambda self, patience: nullcontext())
    monkeypatch.setattr(RollbackGuard, "append", careless)
    mine, drawn, theirs, _ = met_within_a_draw(tmp_path, monkeypatch)
    assert (len(mine), drawn) == (32, 1)
    assert mine != theirs


def test_a_line_of_this_number_with_another_chain_is_refused(tmp_path):
    guard = RollbackGuard(tmp_path / LEDGER)
    guard.append(1, "a" * 64)
    guard.append(1, "a" * 64)  # brought up twice: the same state
    with pytest.raises(LedgerRestored, match="by another path"):
        guard.append(1, "b" * 64)
    with pytest.raises(LedgerRestored):
        guard.append(1, "a" * 64)


def test_a_guard_that_is_cut_down_stays_the_same_file(tmp_path):
    guard = RollbackGuard(tmp_path / LEDGER)
    for number in range(300):
        told = guard.append(number, f"{number:064x}")
    before = guard.path.stat().st_ino
    guard.compact(told)
    assert guard.path.stat().st_ino == before
    assert guard.lines() == {number: f"{number:064x}" for number in range(236, 300)}
