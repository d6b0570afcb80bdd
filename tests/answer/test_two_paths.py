"""Two paths to one ledger: hard links of both files, used at once and one after the other, by threads and processes."""

import multiprocessing
import os
import threading
from contextlib import suppress

import pytest

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


def test_a_draw_made_meanwhile_by_another_path_is_found_before_one_is_made(tmp_path):
    """The second path waits while the first is within its draw."""
    folders, drawing, reports = linked(tmp_path), threading.Event(), []
    one, two = (client(folder, attributes=NAMES) for folder in folders)
    surveys = [device.accept(ENVELOPE) for device in (one, two)]

    def slow():
        drawing.set()
        threading.Event().wait(0.3)
        return True

    first = threading.Thread(target=lambda: reports.append(one.answer(surveys[0], "q0", slow)))
    first.start()
    drawing.wait(10)
    with suppress(LedgerError):  # refused, and nothing is handed out: as good
        reports.append(two.answer(surveys[1], "q0", lambda: 1 / 0))
    first.join()
    assert len({report.id for report in reports}) == 1


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
