"""The ledger: raced by many processes, full and read-only disks, damaged and restored files.

Raced by 64 processes, killed at every line, and in any order of all that can happen: tests/assurance/ledger/check.py.
"""

import hashlib
import os
import shutil
import sqlite3
import stat
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from rrcollect import LedgerError, Promise, Report
from rrcollect.errors import LedgerCorrupt, LedgerNewer, LedgerRestored, LedgerUnavailable, RolledBack
from tests.inside.answer import (
    Attributes,
    Ledger,
    LedgerRequest,
    QuestionDraw,
    RollbackGuard,
    SeenVersion,
    content_of,
    link,
    meta_of,
)
from tests.inside.answer import file as ledger_file
from tests.support.devices import POLICY, PUBLISHER, THREE_QUARTERS, client, envelope, question, survey
from tests.support.ledger_crashing import AGAIN, SIGNED, answered, device, rows
from tests.support.stopping import full_at, in_child, race


def request(survey, question, attribute, id="f" * 32):
    report = Report(survey=survey, question=question, design=THREE_QUARTERS, answer="0", id=id)
    return LedgerRequest(report, attribute, "Is it so?", Promise.of("ln 3", 0), "https://collect.example.org/reports")


# ---- many at once ---------------------------------------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.parametrize("fresh", [True, False], ids=["making_the_ledger", "ledger_there"])
def test_processes_race_on_one_attribute(tmp_path, fresh):
    if not fresh:
        device(tmp_path)
    returned = race(16, lambda number: answered(device(tmp_path), number % 2 == 0))
    assert len(set(returned)) == 1
    assert len(rows(tmp_path, "draws")) == 1
    assert len(rows(tmp_path, "reports")) == 1


@pytest.mark.process
def test_the_race_catches_a_ledger_that_forgets(tmp_path):
    """The planted bug: a client whose ledger is not shared draws again and again."""

    def forgetful(number):
        own = tmp_path / str(number)
        own.mkdir()
        return answered(device(own))

    assert len(set(race(8, forgetful))) > 1


def test_threads_share_one_client(tmp_path):
    mine = device(tmp_path)
    accepted = mine.accept(SIGNED)
    returned, errors = [], []

    def work():
        try:
            returned.append(mine.answer(accepted, "q1", True).to_bytes())
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(set(returned)) == 1
    assert len(mine.budget().draws) == 1


@pytest.mark.process
def test_a_client_carried_across_a_fork(tmp_path):
    mine = device(tmp_path)
    accepted = mine.accept(SIGNED)
    status, in_fork = in_child(lambda: mine.answer(accepted, "q1", True).to_bytes())
    assert status == 0
    assert mine.answer(accepted, "q1", True).to_bytes() == in_fork
    assert len(mine.budget().draws) == 1


# ---- a disk that fails ----------------------------------------------------------------------------------------------


@pytest.mark.process
def test_a_full_disk_draws_nothing_and_recovers(tmp_path):
    mine = device(tmp_path)
    accepted = mine.accept(SIGNED)
    sizes = sorted({0, 1, 50, 500, 4096, 8192, (tmp_path / "ledger.sqlite3").stat().st_size})
    for size in sizes:

        def work() -> bytes:
            try:
                device(tmp_path).answer(accepted, "q1", True)
            except LedgerError as error:
                return f"{type(error).__name__}: {error}".encode()
            return b"answered"

        status, said = full_at(size, work)
        assert status == 0
        assert said.startswith((b"LedgerUnavailable", b"answered")), said
        if said == b"answered":
            break
        assert not mine.budget().reports or mine.budget().draws
    report = mine.answer(accepted, "q1", True)
    assert len(mine.budget().draws) == 1
    assert report.to_bytes() == mine.budget().reports[0].body


def test_a_guard_that_cannot_be_written_keeps_the_report_in(tmp_path):
    """The draw is committed, the guard is not: nothing is handed out until it is, and then the same bytes."""
    mine = device(tmp_path)
    accepted = mine.accept(SIGNED)
    guard = tmp_path / "ledger.sqlite3.guard"
    kept = guard.read_bytes()
    guard.unlink()
    guard.mkdir()
    with pytest.raises(LedgerUnavailable, match="rollback guard"):
        mine.answer(accepted, "q1", True)
    guard.rmdir()
    guard.write_bytes(kept)
    first = mine.answer(accepted, "q1", True)
    assert len(mine.budget().draws) == 1
    assert guard.read_bytes().count(b"\n") == 3
    assert first == mine.answer(accepted, "q1", True)


@pytest.mark.process
def test_a_guard_that_is_not_a_file_or_does_not_fit_is_an_error(tmp_path):
    guard = RollbackGuard(tmp_path / "ledger.sqlite3")
    guard.append(1, "a" * 64)

    def work() -> bytes:
        try:
            guard.append(2, "b" * 64)
        except LedgerUnavailable as error:
            return str(error).encode()
        return b"appended"

    size = guard.path.stat().st_size + 10  # ten bytes of the line are written, the rest is not
    assert full_at(size, work) == (0, b"the ledger's rollback guard cannot be written: No space left on device")
    assert guard.last() == (1, "a" * 64)
    guard.append(2, "c" * 64)  # after the torn line
    assert guard.last() == (2, "c" * 64)
    guard.path.unlink()
    assert guard.last() is None
    guard.path.mkdir()
    with pytest.raises(LedgerUnavailable, match="cannot be written: Is a directory"):
        guard.append(3, "d" * 64)


def test_only_whole_lines_of_the_guard_count_and_the_last_of_the_highest(tmp_path):
    guard = RollbackGuard(tmp_path / "ledger.sqlite3")
    guard.append(2, "a" * 64)
    with pytest.raises(LedgerRestored, match="another program"):
        guard.append(2, "b" * 64)
    assert guard.last() == (2, "b" * 64)
    lines = [
        "0000000000000001 " + "c" * 64,  # fewer draws
        "0000000000000009 " + "c" * 63,  # cut
        "9 " + "c" * 64,  # short
        "000000000000000x " + "c" * 64,  # no number
        "é" * 81,
    ]
    with guard.path.open("ab") as file:
        file.write("".join(line + "\n" for line in lines).encode("latin-1"))
    assert guard.last() == (2, "b" * 64)


def test_the_guard_keeps_no_file_open(tmp_path):
    guard = RollbackGuard(tmp_path / "ledger.sqlite3")
    before = len(os.listdir("/proc/self/fd"))
    for number in range(5):
        guard.append(number, "a" * 64)
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_chain_is_a_digest_of_its_parts_kept_apart():
    assert link("a", 1, "b") == hashlib.sha256(b"a\x1f1\x1fb").hexdigest()
    assert link("a", "1b") != link("a", 1, "b")


@pytest.mark.process
def test_a_read_only_folder(tmp_path):
    mine = device(tmp_path)
    accepted = mine.accept(SIGNED)

    def work() -> bytes:
        os.chmod(tmp_path / "ledger.sqlite3", 0o444)
        os.chmod(tmp_path, 0o555)
        if os.getuid() == 0:
            for folder in [tmp_path, *tmp_path.parents]:
                if os.stat(folder).st_mode & 0o005 != 0o005:
                    os.chmod(folder, os.stat(folder).st_mode | 0o055)
            os.setgid(65534)
            os.setuid(65534)
        try:
            mine.answer(accepted, "q1", True)
        except LedgerUnavailable as error:
            return str(error).encode()
        return b""

    status, said = in_child(work)
    os.chmod(tmp_path, 0o755)
    os.chmod(tmp_path / "ledger.sqlite3", 0o600)
    assert status == 0
    assert b"cannot be" in said
    assert mine.budget().draws == ()


def test_the_ledger_is_its_owners_only(tmp_path):
    mine = device(tmp_path)
    mine.answer(mine.accept(SIGNED), "q1", True)
    for name in ("ledger.sqlite3", "ledger.sqlite3.guard"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


@pytest.mark.parametrize("path", ["no/such/folder/ledger.sqlite3", "."])
def test_a_path_that_cannot_be_a_ledger(tmp_path, path):
    from rrcollect import Client
    from tests.support.devices import POLICY

    with pytest.raises(LedgerUnavailable):
        Client(tmp_path / path, attributes=["doped"], policy=POLICY)


# ---- files that cannot be trusted ---------------------------------------------------------------------------------


@pytest.fixture
def used(tmp_path):
    """A ledger with two draws, and the state it had after the first, in `old`."""
    mine = device(tmp_path)
    accepted = mine.accept(SIGNED)
    mine.answer(accepted, "q1", True)
    shutil.copytree(tmp_path, tmp_path.parent / "old")
    mine.answer(accepted, "q2", True)
    yield tmp_path
    shutil.rmtree(tmp_path.parent / "old")


def restore_old_ledger(path):
    shutil.copy(path.parent / "old" / "ledger.sqlite3", path / "ledger.sqlite3")


def remove_ledger(path):
    (path / "ledger.sqlite3").unlink()


def empty_ledger(path):
    (path / "ledger.sqlite3").write_bytes(b"")


def remove_guard(path):
    (path / "ledger.sqlite3.guard").unlink()


def another_ledger(path):
    (path / "elsewhere").mkdir()
    other = device(path / "elsewhere")
    accepted = other.accept(SIGNED)
    other.answer(accepted, "q1", True)
    other.answer(accepted, "q2", True)
    shutil.copy(path / "elsewhere" / "ledger.sqlite3", path / "ledger.sqlite3")


def altering(*statements):
    """Damage done to the database by SQL."""

    def damage(path):
        connection = sqlite3.connect(path / "ledger.sqlite3")
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()

    return damage


delete_last_draw = altering("DELETE FROM draws WHERE seq = 2")
delete_first_draw = altering("DELETE FROM draws WHERE seq = 1")
flip_an_answer = altering("UPDATE draws SET answer = 1 - answer WHERE seq = 1")
lower_a_debit = altering("UPDATE draws SET epsilon = '0'")
lose_the_beginning = altering("DELETE FROM meta")
newer_schema = altering("PRAGMA user_version = 99")
other_application = altering("PRAGMA application_id = 7")


def truncate(path):
    data = (path / "ledger.sqlite3").read_bytes()
    (path / "ledger.sqlite3").write_bytes(data[: len(data) // 2])


def garbage(path):
    (path / "ledger.sqlite3").write_bytes(b"not a database at all " * 500)


def another_program(path):
    (path / "ledger.sqlite3").unlink()
    altering("CREATE TABLE notes (text)")(path)


@pytest.mark.parametrize(
    ("damage", "error"),
    [
        (restore_old_ledger, LedgerRestored),
        (remove_ledger, LedgerRestored),
        (empty_ledger, LedgerRestored),
        (remove_guard, LedgerRestored),
        (another_ledger, LedgerRestored),
        (delete_last_draw, LedgerCorrupt),
        (delete_first_draw, LedgerCorrupt),
        (flip_an_answer, LedgerCorrupt),
        (lower_a_debit, LedgerCorrupt),
        (lose_the_beginning, LedgerCorrupt),
        (truncate, LedgerCorrupt),
        (garbage, LedgerCorrupt),
        (another_program, LedgerCorrupt),
        (newer_schema, LedgerNewer),
        (other_application, LedgerCorrupt),
    ],
)
def test_a_ledger_that_cannot_be_trusted_is_not_used(used, damage, error):
    for journal in used.glob("ledger.sqlite3-*"):
        journal.unlink()
    damage(used)
    with pytest.raises(error):
        device(used)


@pytest.mark.no_cover
def test_no_single_bit_of_the_ledger_can_be_flipped_into_a_second_draw(used):
    """Every byte that is not 0, one random bit each (and every bit of every name): an error, or the very same state."""
    path = used / "ledger.sqlite3"
    whole = path.read_bytes()
    accepted = device(used).accept(SIGNED)
    before = [device(used).answer(accepted, q, True).to_bytes() for q in ("q1", "q2")]
    whole = path.read_bytes()
    random = Random(11)
    places = [i for i, byte in enumerate(whole) if byte]
    chosen = random.sample(places, 250) + [i + k for i in find_all(whole, b"doped") for k in range(5)]
    refused = 0
    for place in chosen:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << random.randrange(8)
        for journal in used.glob("ledger.sqlite3-*"):
            journal.unlink()
        path.write_bytes(bytes(damaged))
        try:
            mine = device(used, source=never_drawn)
            after = [mine.answer(accepted, q, never_read).to_bytes() for q in ("q1", "q2")]
        except LedgerError:
            refused += 1
            continue
        assert after == before, place
    assert refused > len(chosen) / 3


def never_drawn(n):
    raise AssertionError("a second draw")


def never_read():
    raise AssertionError("the truth was read again")


def find_all(data: bytes, word: bytes) -> list[int]:
    return [i for i in range(len(data)) if data.startswith(word, i)]


def altered(path, *statements, mended=False):
    """Change the ledger behind its back; with `mended`, by somebody who mends the digest and the chain too."""
    connection = sqlite3.connect(path / "ledger.sqlite3", isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    if mended:
        content, meta = content_of(connection), meta_of(connection)
        for key, value in {"content": content, "chain": link(meta["before"], meta["serial"], content)}.items():
            connection.execute("UPDATE meta SET value = ? WHERE key = ?", (value, key))
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE reports SET state = 'delivered'",
        "UPDATE reports SET words = 'Other?' WHERE question = 'q2'",
        "UPDATE surveys SET version = 0",
        "INSERT INTO declined VALUES ('s', 'q')",
        "DROP TABLE declined",
    ],
)
def test_every_row_is_under_the_digest(used, statement):
    altered(used, statement)
    with pytest.raises(LedgerCorrupt):
        device(used)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE draws SET answer = 1 - answer WHERE seq = 2",
        "UPDATE draws SET seq = 3 WHERE seq = 2",
        "UPDATE reports SET body = CAST(body AS TEXT) WHERE question = 'q2'",
        "UPDATE reports SET body = 1 WHERE question = 'q2'",
        "DELETE FROM reports",
        "DELETE FROM reports WHERE question = 'q2'",
        "UPDATE reports SET attempts = 7",
        "DELETE FROM words",
        "DELETE FROM surveys",
    ],
)
def test_the_guard_holds_where_digest_and_chain_were_mended(used, statement):
    altered(used, statement, mended=True)
    with pytest.raises(LedgerRestored, match="an old copy"):
        device(used)


@pytest.mark.parametrize("key", ["serial", "before", "content", "chain"])
def test_what_stands_beside_the_tables_is_checked_too(used, key):
    for value in ("7", "", "x" * 64, "-1"):
        altered(used, f"UPDATE meta SET value = '{value}' WHERE key = '{key}'")  # noqa: S608
        with pytest.raises(LedgerError):
            device(used)
    altered(used, f"DELETE FROM meta WHERE key = '{key}'")  # noqa: S608
    with pytest.raises(LedgerCorrupt):
        device(used)


def test_nothing_is_written_into_an_altered_ledger(used):
    ledger = Ledger(used / "ledger.sqlite3")
    altered(used, "UPDATE surveys SET version = 0")
    for write in (lambda: ledger.decline("s", "q"), lambda: ledger.mark("id", "refused")):
        with pytest.raises(LedgerCorrupt):
            write()


def test_a_transaction_keeps_every_other_writer_out(used):
    path = used / "ledger.sqlite3"
    other = sqlite3.connect(path, timeout=0, isolation_level=None)
    with Ledger(path).file.transaction(), pytest.raises(sqlite3.OperationalError, match="locked"):
        other.execute("BEGIN IMMEDIATE")
    other.execute("BEGIN IMMEDIATE")
    other.close()


def test_invalid_text_is_damage(used):
    altered(used, "UPDATE reports SET words = CAST(x'FF' AS TEXT)")
    with pytest.raises(LedgerCorrupt, match="decode"):
        device(used)


def test_an_empty_copy_is_missed_by_a_guard_of_one_report(tmp_path):
    device(tmp_path)
    ledger = tmp_path / "ledger.sqlite3"
    empty = ledger.read_bytes()
    mine = device(tmp_path)
    mine.answer(mine.accept(SIGNED), "q1", True)
    for file in tmp_path.glob("ledger.sqlite3-*"):
        file.unlink()
    ledger.write_bytes(empty)
    with pytest.raises(LedgerRestored, match="at change 0 but its rollback guard remembers 2"):
        device(tmp_path)


def test_who_comes_second_gets_the_report_of_the_first(tmp_path):
    """Two that both found nothing answered: the transaction of the second finds the answer of the first."""

    def never(*given):
        raise AssertionError("asked again")

    ledger = Ledger(tmp_path / "ledger.sqlite3")
    first = ledger.answer(request("0" * 64, "q1", "a", id="1" * 32), POLICY, lambda: "1")
    assert (first.answer, first.id) == ("1", "1" * 32)
    assert ledger.answer(request("0" * 64, "q1", "a", id="2" * 32), POLICY, never) == first


def test_an_older_version_is_refused_by_name_in_the_transaction_too(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite3")
    poll = QuestionDraw(survey(name="poll"), Attributes(["doped"]), datetime.now(UTC), os.urandom)
    ledger.remember(poll, SeenVersion(2, "d2"))
    with pytest.raises(RolledBack, match="version 1 of 'poll' is older than version 2"):
        ledger.remember(poll, SeenVersion(1, "d1"))
    assert ledger.seen() == {(PUBLISHER, "poll"): SeenVersion(2, "d2")}


def test_one_draw_is_enough_to_miss_a_guard_or_a_ledger(tmp_path):
    mine = device(tmp_path)
    guard, ledger = tmp_path / "ledger.sqlite3.guard", tmp_path / "ledger.sqlite3"
    assert RollbackGuard(ledger).last()[0] == 0
    for file in tmp_path.glob("ledger.sqlite3*"):
        if file != guard:
            file.unlink()
    mine = device(tmp_path)  # nothing was drawn, nothing is lost
    mine.answer(mine.accept(SIGNED), "q1", True)
    kept = guard.read_bytes()
    guard.unlink()
    with pytest.raises(LedgerRestored, match="rollback guard is missing"):
        device(tmp_path)
    guard.write_bytes(kept)
    for file in tmp_path.glob("ledger.sqlite3*"):
        if file != guard:
            file.unlink()
    with pytest.raises(LedgerRestored, match="remembers 2 changes"):
        device(tmp_path)


def test_the_file_says_what_it_is(tmp_path):
    device(tmp_path)
    connection = sqlite3.connect(tmp_path / "ledger.sqlite3")
    assert connection.execute("PRAGMA application_id").fetchone() == (int.from_bytes(b"rrld", "big"),)
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    connection.close()


def test_damage_while_a_client_is_open_is_seen_before_the_next_draw(used):
    mine = client(used, attributes=["doped", "b", "c"])
    accepted = mine.accept(envelope(question(id="q3", attribute="c"), name="third"))
    restore_old_ledger(used)
    with pytest.raises(LedgerRestored):
        mine.answer(accepted, "q3", True)


def test_an_old_copy_that_lacks_a_report_but_no_draw_is_not_used(used):
    """Another question about a drawn attribute adds a report around the old answer; a second one would count twice."""
    shutil.copy(used / "ledger.sqlite3", used / "copy")
    mine = device(used)
    mine.answer(mine.accept(AGAIN), "later", True)
    shutil.copy(used / "copy", used / "ledger.sqlite3")
    with pytest.raises(LedgerRestored, match="at change 3 but its rollback guard remembers 5"):
        device(used)


def test_both_files_restored_together_cannot_be_seen(used):
    """Stated as a limit: an old copy of the ledger and its guard is a consistent ledger."""
    restore_old_ledger(used)
    shutil.copy(used.parent / "old" / "ledger.sqlite3.guard", used / "ledger.sqlite3.guard")
    assert len(device(used).budget().draws) == 1


def test_a_torn_last_line_of_the_guard_does_not_count(used):
    guard = used / "ledger.sqlite3.guard"
    guard.write_bytes(guard.read_bytes()[:-30])
    mine = client(used, attributes=["doped", "b", "c"])
    assert len(mine.budget().draws) == 2
    mine.answer(mine.accept(envelope(question(id="q3", attribute="c"), name="third")), "q3", True)
    assert len(device(used).budget().draws) == 3
    assert guard.read_bytes().splitlines()[-1].startswith(b"0000000000000005 ")


def test_a_crash_between_commit_and_guard_is_mended(used):
    guard = used / "ledger.sqlite3.guard"
    lines = guard.read_bytes().splitlines(keepends=True)
    guard.write_bytes(b"".join(lines[:-1]))
    mine = device(used)
    assert len(mine.budget().draws) == 2
    assert guard.read_bytes() == b"".join(lines)


def test_a_report_made_before_a_crash_is_guarded_before_it_is_handed_out_again(used):
    guard = used / "ledger.sqlite3.guard"
    made = next(report for report in device(used).budget().reports if report.question == "q2")
    lines = guard.read_bytes().splitlines(keepends=True)
    guard.write_bytes(b"".join(lines[:-1]))
    again = Ledger(used / "ledger.sqlite3").answer(request(made.survey, "q2", "b"), POLICY, never_read)
    assert again.to_bytes() == made.body
    assert guard.read_bytes() == b"".join(lines)


def test_the_ledger_remembers_draws_versions_and_reports(used):
    ledger = Ledger(used / "ledger.sqlite3")
    first, second = ledger.draws()
    assert [(d.seq, d.attribute, d.round, d.design) for d in (first, second)] == [
        (1, "doped", 0, THREE_QUARTERS),
        (2, "b", 0, THREE_QUARTERS),
    ]
    assert {first.answer, second.answer} <= {"0", "1"}
    assert repr(first) == "Draw(1, 'doped', round 0)"
    (key,) = ledger.seen()
    assert key == (PUBLISHER, "clean-sport")
    assert ledger.seen()[key].version == 1
    one, other = ledger.outbox()
    ledger.mark(one.id, "refused", "too late")
    assert [(r.id, r.reason) for r in ledger.outbox("refused")] == [(one.id, "too late")]
    assert [r.id for r in ledger.outbox("waiting")] == [other.id]
    assert {r.id for r in ledger.outbox()} == {one.id, other.id}
    assert repr(other) == f"OutboxReport({other.id}, {other.question!r}, waiting)"


def test_declining_is_forgotten_by_answering(tmp_path):
    mine = device(tmp_path)
    accepted = mine.accept(SIGNED)
    mine.decline(accepted, "q1")
    mine.decline(accepted, "q2")
    mine.answer(accepted, "q1", True)
    assert [question for _, question in rows(tmp_path, "declined")] == ["q2"]


def test_durable_settings_are_checked_not_only_asked_for(tmp_path, monkeypatch):
    class Refusing(sqlite3.Connection):
        def execute(self, statement, *args):
            if "journal_mode = WAL" in statement:
                return super().execute("PRAGMA journal_mode = DELETE")
            return super().execute(statement, *args)

    real = sqlite3.connect
    monkeypatch.setattr(ledger_file.sqlite3, "connect", lambda *a, **k: real(*a, **k, factory=Refusing))
    with pytest.raises(LedgerUnavailable, match="does not allow a durable ledger"):
        device(tmp_path)


def test_a_new_ledger_waits_for_another_that_is_making_it(tmp_path):
    other = sqlite3.connect(tmp_path / "ledger.sqlite3", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    done = threading.Timer(0.2, lambda: other.execute("ROLLBACK"))
    done.start()
    assert device(tmp_path).budget().draws == ()
    done.join()
    other.close()


def test_a_locked_ledger_says_so(tmp_path, monkeypatch):
    mine = device(tmp_path)
    accepted = mine.accept(SIGNED)
    monkeypatch.setattr(ledger_file, "BUSY_SECONDS", 0.05)
    blocker = sqlite3.connect(tmp_path / "ledger.sqlite3", isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(LedgerUnavailable, match="locked"):
            mine.answer(accepted, "q1", True)
    finally:
        blocker.close()
    assert mine.budget().draws == ()


@pytest.mark.process
def test_the_commit_is_synced_before_anything_is_returned(tmp_path):
    """By tracing the system calls: an fsync of the ledger's log, of the guard and of its folder precede the return."""
    import subprocess

    if shutil.which("strace") is None:
        pytest.fail("strace is needed: apt-get install strace")
    script = tmp_path / "once.py"
    script.write_text(
        "import sys\n"
        "from pathlib import Path\n"
        "from tests.support.ledger_crashing import SIGNED, device\n"
        "mine = device(Path(sys.argv[1]))\n"
        "accepted = mine.accept(SIGNED)\n"
        "Path(sys.argv[1], 'before').touch()\n"
        "mine.answer(accepted, 'q1', True)\n"
        "Path(sys.argv[1], 'after').touch()\n"
        "from rrcollect.answer.ledger.guard import RollbackGuard\n"
        "RollbackGuard(Path(sys.argv[1], 'alone')).append(1, 64 * 'a')\n"
    )
    log = tmp_path / "log"
    root = Path(__file__).resolve().parent.parent.parent
    subprocess.run(
        [
            "strace",
            "-f",
            "-y",
            "-e",
            "trace=fsync,fdatasync,openat",
            "-o",
            str(log),
            sys.executable,
            str(script),
            str(tmp_path),
        ],
        check=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    text = log.read_text()
    answering = text[text.index("/before") : text.index("/after")]
    synced = [line for line in answering.splitlines() if "sync(" in line]
    assert any("ledger.sqlite3-wal" in line for line in synced)
    assert any("ledger.sqlite3.guard" in line for line in synced)
    alone = [line for line in text[text.index("/after") :].splitlines() if "sync(" in line]
    assert any("alone.guard" in line for line in alone)
    assert any(f"<{tmp_path}>" in line for line in alone)  # the folder, so that a new guard is found again
