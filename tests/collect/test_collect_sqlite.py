"""The SQLite store by itself: what a failure leaves, whose file it is, and how SQLite's errors are told."""

import resource
import sqlite3
import stat
from contextlib import contextmanager
from functools import partial

import pytest

from server_agg import open_store
from server_agg.collect.store.sqlite import APPLICATION
from server_agg.errors import StoreFull, StoreUnavailable, UnfitDatabase
from tests.inside.collect import ReportOutcome, SqliteDatabase, incoming, marked_reports
from tests.inside.collect import sqlite as sqlite_store
from tests.support.collector_running import TABLES, report


def arrival():
    return incoming(report("ab" * 32).row)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "what? a #file%20.sqlite3"


@pytest.fixture
def store(path):
    opened = open_store(path)
    yield opened
    opened.disconnect()


def test_a_failed_transaction_leaves_nothing_and_the_next_one_works(store):
    made = arrival()

    def fails():
        with store.database.writing() as cursor:
            key = store.epochs.current(cursor).key
            assert len(store.database.put(cursor, marked_reports(key, [made, arrival()]))[1]) == 2
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert store.epochs.waiting() == []
    assert store.take([made]) == [ReportOutcome.NEW]
    assert store.epochs.waiting() == [made]


@contextmanager
def files_that_cannot_grow():
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_told_as_full_when_the_file_is_opened_anew_too(store):
    """After a failure the connection goes.  The next one begins with the file of shared memory, which cannot grow
    either: whoever failed first, be it a fold, the sender of the next report is told 507 and not 503."""
    told = []
    with files_that_cannot_grow():
        for _ in range(3):
            with pytest.raises(StoreFull) as refused:
                store.take([arrival()])
            told.append(str(refused.value))
    assert "SQLITE_IOERR_SHMSIZE" not in told[0]
    assert all("SQLITE_IOERR_SHMSIZE" in later for later in told[1:])
    assert store.take([arrival()]) == [ReportOutcome.NEW]


def test_a_connection_that_broke_is_opened_anew(store):
    def breaks():
        with store.database.writing() as cursor:
            cursor.connection.close()
            raise KeyError

    for _ in range(2):
        with pytest.raises(KeyError):
            breaks()
    assert store.take([arrival()]) == [ReportOutcome.NEW]


def test_a_second_report_with_an_id_is_seen_in_bulk(store):
    made = arrival()
    with store.database.writing() as cursor:
        key = store.epochs.current(cursor).key
        place, put = store.database.put(cursor, marked_reports(key, [made, arrival()]))
        assert len(put) == 2
        store.database.run(cursor, "INSERT INTO intake (place, content) VALUES (?, ?)", (place, b""))
        old, new = marked_reports(key, [made, arrival()])
        assert store.database.put(cursor, [old, new]) == (place + 1, {new[0]})


def test_the_file_is_its_owners_and_says_what_it_is(store, path):
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with store.database.reading() as cursor:
        assert cursor.execute("PRAGMA application_id").fetchone() == (APPLICATION,) == (int.from_bytes(b"rrc1"),)
        assert cursor.execute("PRAGMA user_version").fetchone() == (1,)
        tables = {name for (name,) in cursor.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert tables == set(TABLES)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            cursor.execute("DELETE FROM reports")


def test_a_connection_that_flushes_less_than_asked_is_refused(path, monkeypatch):
    class Hasty(sqlite3.Connection):
        def execute(self, statement, *values):
            return super().execute("SELECT 1" if statement == "PRAGMA synchronous" else statement, *values)

    monkeypatch.setattr(sqlite_store.sqlite3, "connect", partial(sqlite3.connect, factory=Hasty))
    with pytest.raises(UnfitDatabase, match="synchronous=1; needed: wal and 2"):
        open_store(path)


def test_a_store_without_a_name_is_the_file_the_command_line_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    open_store().disconnect()
    assert (tmp_path / "rrcollect.sqlite3").exists()


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_was_moved_takes_no_more_reports(store, path, replaced):
    path.rename(path.with_name("old"))
    if replaced:
        path.write_bytes(path.with_name("old").read_bytes())
        with pytest.raises(StoreUnavailable, match="moved or replaced while it was open"):
            store.take([arrival()])
        return
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="cannot be opened: No such file"):
            store.take([arrival()])
    with pytest.raises(StoreUnavailable, match="SQLITE_CANTOPEN"):
        list(store.pages())
    assert not path.exists()  # nothing was made in its place


def test_a_closed_store_opens_again_and_closing_twice_is_allowed(store):
    made = arrival()
    store.take([made])
    store.disconnect()
    store.disconnect()
    assert store.take([made]) == [ReportOutcome.SAME]


def test_a_lock_is_waited_for_as_long_as_said(path, monkeypatch):
    monkeypatch.setattr(sqlite_store, "PATIENCE", 0.05)
    store = open_store(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="SQLITE_BUSY"):
        store.take([arrival()])
    other.execute("ROLLBACK")
    other.close()
    assert store.take([arrival()]) == [ReportOutcome.NEW]
    store.disconnect()


def test_a_database_without_a_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnfitDatabase, match=r"journal_mode=memory, synchronous=2; needed: wal and 2"):
        open_store(":memory:")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("SQLITE_FULL", StoreFull, r"cannot grow \(SQLITE_FULL\)"),
        ("SQLITE_IOERR_WRITE", StoreFull, r"cannot grow \(SQLITE_IOERR_WRITE\)"),
        ("SQLITE_IOERR_READ", StoreUnavailable, r"cannot be used \(SQLITE_IOERR_READ\)"),
        ("SQLITE_NOTADB", UnfitDatabase, r"not a SQLite database \(SQLITE_NOTADB\)"),
        ("SQLITE_CORRUPT_INDEX", UnfitDatabase, r"not a SQLite database \(SQLITE_CORRUPT_INDEX\)"),
        ("SQLITE_BUSY", StoreUnavailable, r"cannot be used \(SQLITE_BUSY\)"),
        ("", StoreUnavailable, r"cannot be used \(OperationalError\)"),
    ],
)
def test_sqlites_errors_are_told_as_ours_without_what_they_were_about(tmp_path, name, kind, words):
    error = sqlite3.OperationalError("a secret")
    if name:
        error.sqlite_errorname = name
    with pytest.raises(kind, match=words) as caught, SqliteDatabase(tmp_path / "a.sqlite3")._translated():
        raise error
    assert type(caught.value) is kind
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_other_errors_of_the_file_and_our_own(tmp_path):
    database = SqliteDatabase(tmp_path / "a.sqlite3")
    with pytest.raises(StoreUnavailable, match="cannot be opened: Permission denied"), database._translated():
        raise PermissionError(13, "Permission denied", "/a/secret/path")
    ours = StoreFull("as it was")
    with pytest.raises(StoreFull) as caught, database._translated():
        raise ours
    assert caught.value is ours
