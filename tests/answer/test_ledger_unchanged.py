"""A ledger that nobody else has written to is not read again; whatever else happens to its files is noticed."""

import errno
import os
import shutil
import sqlite3
import threading
import time
from contextlib import closing

import pytest

from rrcollect import LedgerError, SimulatedCollector
from rrcollect.answer.ledger import content
from rrcollect.answer.ledger.guard import KEPT_LINES, MOST_LINES
from rrcollect.errors import LedgerCorrupt, LedgerRestored
from tests.inside.answer import Ledger, LedgerFile, RollbackGuard, content_of, guard, meta_of
from tests.support.devices import client, envelope, question, survey
from tests.support.stopping import KILLED, Round, copy_of, everywhere, in_child, killed_at_line

NAMES = ["a", "b", "c", "d", "e", "f"]
QUESTIONS = [question(id=name, attribute=name) for name in NAMES]


def answering(folder, *names):
    """A client that has answered about these, and the survey; its ledger is known to be whole."""
    device = client(folder, attributes=NAMES)
    accepted = device.accept(envelope(*QUESTIONS))
    for name in names:
        device.answer(accepted, name, True)
    return device, accepted


def counted(monkeypatch, owner, name):
    calls, real = [], getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *given, **named: (calls.append(1), real(*given, **named))[1])
    return calls


def test_after_the_first_operation_no_row_and_no_line_is_read_again(tmp_path, monkeypatch):
    device, accepted = answering(tmp_path, "a")
    hashed, read = counted(monkeypatch, LedgerFile, "_check_history"), counted(monkeypatch, RollbackGuard, "lines")
    for name in ("b", "c", "a"):
        device.answer(accepted, name, True)
    device.budget()
    device.decline(accepted, "d")
    assert (hashed, read) == ([], [])
    answering(tmp_path)  # a new object reads everything
    assert hashed
    assert read


def test_the_sum_that_changes_carry_on_is_the_one_of_all_rows(tmp_path):
    device, accepted = answering(tmp_path, "a", "b", "c")
    device.decline(accepted, "a")
    device.answer(accepted, "a", True)
    device.accept(envelope(*QUESTIONS, version=2))
    device.deliver(SimulatedCollector([survey(*QUESTIONS)]))
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite3")) as connection:
        assert meta_of(connection)["content"] == content_of(connection)
        for table in ("draws", "reports", "words", "surveys"):
            before = content_of(connection)
            connection.execute(f"DELETE FROM {table} WHERE rowid = 1")  # noqa: S608
            assert content_of(connection) != before
        connection.execute("CREATE TABLE another (x)")
        assert content_of(connection) != before


def test_a_row_that_was_not_changed_by_a_change_is_found(tmp_path):
    """The planted bug: SQL beside `Change`, inside a transaction."""
    ledger = Ledger(tmp_path / "ledger.sqlite3")
    with ledger.file.transaction() as change:
        change.connection.execute("INSERT INTO declined VALUES ('s', 'q')")
    with pytest.raises(LedgerCorrupt, match="altered"):
        Ledger(tmp_path / "ledger.sqlite3")


def by_sql(path, statement):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()


def kept_times(path, act):
    """Do something to a file and give it its time back by hand, which the system's own time of the change tells: from
    the next tick of the clock on (within one, this could not be seen; see `file`, rule 6)."""
    before = path.stat()
    time.sleep(0.03)
    act(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


ALTERED = {
    "an old answer": "UPDATE draws SET answer = CASE answer WHEN '0' THEN '1' ELSE '0' END WHERE seq = 1",
    "an old report": "UPDATE reports SET words = replace(words, 'Ever', 'Even') WHERE question = 'a'",
    "an old cost": "UPDATE draws SET epsilon = 'ln(1)' WHERE seq = 2",
    "a survey": "UPDATE surveys SET version = 0",
    "a draw that is gone": "DELETE FROM draws WHERE seq = 1",
}


@pytest.mark.parametrize("time_kept", [False, True])
@pytest.mark.parametrize("what", ALTERED)
def test_an_old_row_that_is_altered_under_an_open_client_is_noticed_by_the_next_operation(tmp_path, what, time_kept):
    """At once after an operation, within one tick of the file system's clock."""
    device, accepted = answering(tmp_path, "a", "b", "c")
    path = tmp_path / "ledger.sqlite3"
    if time_kept:
        kept_times(path, lambda path: by_sql(path, ALTERED[what]))
    else:
        by_sql(path, ALTERED[what])
    for use in (lambda: device.answer(accepted, "d", True), device.budget, lambda: device.decline(accepted, "e")):
        with pytest.raises(LedgerCorrupt):
            use()


def test_bytes_that_are_altered_in_place_are_noticed(tmp_path):
    device, accepted = answering(tmp_path, "a", "b", "c")
    path = tmp_path / "ledger.sqlite3"
    data = path.read_bytes()
    place = data.index(b"Ever a?")
    with path.open("r+b") as file:
        file.seek(place)
        file.write(b"Even a?")
    with pytest.raises(LedgerError):
        device.answer(accepted, "d", True)


def test_a_ledger_that_trusts_its_mark_blindly_is_caught(tmp_path, monkeypatch):
    """The planted bug: neither sizes nor times are compared."""
    device, accepted = answering(tmp_path, "a", "b", "c")
    monkeypatch.setattr(LedgerFile, "_unchanged", lambda *given: True)
    by_sql(tmp_path / "ledger.sqlite3", ALTERED["an old answer"])
    device.answer(accepted, "d", True)  # not noticed
    with pytest.raises(LedgerCorrupt):
        answering(tmp_path)


def test_a_file_that_is_rolled_back_under_an_open_client_is_noticed(tmp_path):
    device, accepted = answering(tmp_path, "a", "b")
    path = tmp_path / "ledger.sqlite3"
    shutil.copy2(path, tmp_path / "old")
    device.answer(accepted, "c", True)
    kept_times(path, lambda path: shutil.copy(tmp_path / "old", path))
    with pytest.raises(LedgerRestored, match="old copy"):
        device.answer(accepted, "d", True)


@pytest.mark.parametrize(
    ("damage", "error"),
    [
        (lambda lines: lines[:-2], LedgerRestored),
        (lambda lines: [*lines[:-1], b"0000000000000009 " + b"a" * 64 + b"\n"], LedgerRestored),
        (lambda lines: [*lines[:-1], lines[-1][:-65] + b"b" * 64 + b"\n"], LedgerRestored),
        (lambda lines: [], LedgerRestored),
        (lambda lines: [*lines[:-1], lines[-1][:40]], None),  # torn by a crash: one step behind, and mended
        (lambda lines: lines[2:], None),  # as after a compaction
    ],
    ids=["truncated", "another ledger's", "same size", "emptied", "torn", "beginning cut"],
)
def test_what_is_done_to_the_guard_under_an_open_client_is_noticed(tmp_path, damage, error):
    device, accepted = answering(tmp_path, "a", "b", "c")
    path = tmp_path / "ledger.sqlite3.guard"
    lines = path.read_bytes().splitlines(keepends=True)
    kept_times(path, lambda path: path.write_bytes(b"".join(damage(lines))))
    if error is None:
        device.answer(accepted, "d", True)
        assert len(client(tmp_path, attributes=NAMES).budget().draws) == 4
        return
    with pytest.raises(error):
        device.answer(accepted, "d", True)
    path.unlink()
    with pytest.raises(LedgerRestored, match="missing"):
        device.answer(accepted, "d", True)


def test_what_another_program_answers_in_between_is_read(tmp_path, monkeypatch):
    device, accepted = answering(tmp_path, "a")
    other, again = answering(tmp_path, "b")
    hashed = counted(monkeypatch, LedgerFile, "_check_history")
    assert device.answer(accepted, "b", True) == other.answer(again, "b", True)
    assert len(hashed) == 1  # by the one who has not seen it; it changed nothing, so the other one finds all as it was
    other.answer(again, "c", True)
    assert [draw.attribute for draw in device.budget().draws] == ["a", "b", "c"]


# ---- one pass of deliveries -----------------------------------------------------------------------------------------


def test_a_pass_of_deliveries_opens_and_verifies_once_and_reads_the_guard_once(tmp_path, monkeypatch):
    device, _ = answering(tmp_path, "a", "b", "c")
    device = client(tmp_path, attributes=NAMES)
    collector = SimulatedCollector([survey(*QUESTIONS)])
    opened, hashed = counted(monkeypatch, LedgerFile, "_connected"), counted(monkeypatch, LedgerFile, "_check_history")
    read = counted(monkeypatch, RollbackGuard, "lines")
    assert device.deliver(collector).delivered == 3
    assert (len(opened), len(hashed), len(read)) == (1, 1, 1)
    assert device.deliver(collector).delivered == 0
    assert (len(opened), len(hashed), len(read)) == (2, 1, 1)
    assert [report.state for report in device.budget().reports] == ["delivered"] * 3
    assert device._ledger.file._held is None


@pytest.mark.parametrize("tampering", [False, True])
def test_what_is_written_by_others_during_a_pass_is_noticed(tmp_path, tampering):
    device, _ = answering(tmp_path, "a", "b")
    other, accepted = answering(tmp_path)
    taken = SimulatedCollector([survey(*QUESTIONS)])

    class Meanwhile:
        once = threading.Lock()
        done = False

        def send(self, destination, body):
            with self.once:
                if not self.done and tampering:
                    by_sql(tmp_path / "ledger.sqlite3", ALTERED["an old answer"])
                elif not self.done:
                    other.answer(accepted, "c", True)
                self.done = True
            taken.send(destination, body)

    if tampering:
        with pytest.raises(LedgerCorrupt):
            device.deliver(Meanwhile())
    else:
        assert device.deliver(Meanwhile()).delivered == 2
        assert {draw.attribute for draw in device.budget().draws} == {"a", "b", "c"}


@pytest.mark.process
def test_a_fork_during_a_pass_opens_the_ledger_for_itself(tmp_path):
    device, accepted = answering(tmp_path, "a")
    with device._ledger.kept_open():
        status, made = in_child(lambda: device.answer(accepted, "b", True).to_bytes())
        assert status == 0
        assert device.answer(accepted, "b", True).to_bytes() == made


# ---- a guard of bounded length --------------------------------------------------------------------------------------


def changed(device, accepted, times):
    """Changes of the ledger, each with a line of the guard."""
    (report, *_) = device._ledger.outbox()
    for number in range(times):
        device._ledger.reschedule(report.id, [number + 1])


def lines_of(folder):
    return (folder / "ledger.sqlite3.guard").read_bytes().splitlines()


def test_the_guard_is_bounded_and_an_old_copy_is_still_refused(tmp_path):
    device, accepted = answering(tmp_path, "a")
    shutil.copy(tmp_path / "ledger.sqlite3", tmp_path / "old")
    longest = 0
    for _ in range(12):
        changed(device, accepted, 60)
        longest = max(longest, len(lines_of(tmp_path)))
    assert MOST_LINES < 720
    assert MOST_LINES - 60 <= longest <= MOST_LINES + 1
    lines = lines_of(tmp_path)
    assert [int(line.split()[0]) for line in lines] == list(range(722 - len(lines) + 1, 723))
    assert len(client(tmp_path, attributes=NAMES).budget().draws) == 1
    recent = (tmp_path / "ledger.sqlite3").read_bytes()
    changed(device, accepted, 1)
    for copy in ((tmp_path / "old").read_bytes(), recent):
        whole = (tmp_path / "ledger.sqlite3").read_bytes()
        (tmp_path / "ledger.sqlite3").write_bytes(copy)
        with pytest.raises(LedgerRestored):
            device.budget()
        (tmp_path / "ledger.sqlite3").write_bytes(whole)
    assert len(device.budget().draws) == 1


def torn_in_place(self, told):
    """The planted bug: the guard is shortened in its place."""
    if told is None or told[2] <= guard.MOST_LINES * 82:
        return told
    kept = sorted((self.lines() or {}).items())[-KEPT_LINES:]
    with self.path.open("wb") as file:
        for number, chain in kept:
            file.write(guard._spelled(number, chain))
            file.flush()
    return guard.stat_of(self.path)


@pytest.mark.process
@pytest.mark.parametrize("planted", [False, True])
def test_killed_at_every_line_of_the_compaction_the_ledger_is_whole(tmp_path, monkeypatch, planted):
    monkeypatch.setattr(guard, "MOST_LINES", 8)
    monkeypatch.setattr(guard, "KEPT_LINES", 3)
    if planted:
        monkeypatch.setattr(RollbackGuard, "compact", torn_in_place)
    template = tmp_path / "template"
    template.mkdir()
    device, accepted = answering(template, "a")
    changed(device, accepted, 6)
    assert len(lines_of(template)) == 9  # the next change begins with a compaction
    inside = {RollbackGuard.compact.__code__, guard._write.__code__, guard.sync_folder.__code__}

    def work(folder):
        mine = Ledger(folder / "ledger.sqlite3")
        return lambda: mine.reschedule(mine.outbox()[0].id, [77]) or b""

    def play(line):
        with copy_of(template) as folder:
            status, _ = killed_at_line(line, folder, work, inside.__contains__)
            try:
                again = client(folder, attributes=NAMES)
                assert len(again.budget().draws) == 1
                again._ledger.reschedule(again._ledger.outbox()[0].id, [78])
                assert planted or len(lines_of(folder)) < 9
            except LedgerError as error:
                return Round(True, "killed", str(error))
        return Round(status == KILLED, "killed")

    counts, fault = everywhere(play)
    assert bool(fault) == planted
    assert counts["killed"] > 10 or planted


def test_a_compaction_that_cannot_be_written_keeps_everything(tmp_path, monkeypatch):
    from rrcollect.errors import LedgerUnavailable

    monkeypatch.setattr(guard, "MOST_LINES", 4)
    device, accepted = answering(tmp_path, "a")
    changed(device, accepted, 2)
    for name in ("pwrite", "ftruncate"):

        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as planted:
            planted.setattr(guard.os, name, full)
            with pytest.raises(LedgerUnavailable, match="cannot be written"):
                changed(device, accepted, 2)
    changed(device, accepted, 2)
    assert len(device.budget().draws) == 1


def test_every_table_is_written_by_its_own_name(tmp_path):
    """`Change` puts names of tables and columns into SQL: all of them are this program's own."""
    ledger = Ledger(tmp_path / "ledger.sqlite3")
    with ledger.file.transaction() as change:
        assert content.tables_of(change.connection) >= {"draws", "reports", "words", "surveys", "declined"}
