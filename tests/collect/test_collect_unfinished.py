"""What failed once is finished later: keys that were not destroyed, closes, folds, and copies on a full disk."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from server_agg import CollectorSettings, open_store
from server_agg.collect.housekeeping import tidy
from server_agg.errors import KeysBusy, StoreFull, StoreUnavailable
from tests.inside.collect import Catalogue, GroupCommit, KeyFolder, PublishedSurvey, close_due, incoming
from tests.inside.collect import postgres as postgres_store
from tests.inside.collect import sqlite as sqlite_store
from tests.support.collector_crashing import ids_of
from tests.support.collector_running import BEARER, DIGEST, RunningCollector, body, publication, report
from tests.support.command_line import main
from tests.support.devices import KEY
from tests.support.kept_rows import kept_rows
from tests.support.waiting import PATIENCE, until

LATER = time.time() + 200 * 365 * 86400


def reports(digest, many):
    return [incoming(report(digest).row) for _ in range(many)]


@pytest.fixture
def opened(where):
    """A store that keeps rows, with a survey of a crowd of three."""
    store = open_store(where, keep_rows=True)
    store.shelf.publish(PublishedSurvey(DIGEST, b"envelope", ("aa" * 32,), "P", "n", 1, 3))
    yield store
    store.disconnect()


def test_a_key_that_could_not_be_destroyed_is_destroyed_at_the_next_look(opened, monkeypatch):
    sound = KeyFolder.keep_only

    def fails(*_):
        raise StoreUnavailable("an epoch key cannot be destroyed: Input/output error")

    def keys():
        return len(list(opened.epochs.keys.folder.glob(f"{opened.epochs.name}.*.key")))

    opened.take(reports(DIGEST, 3))
    monkeypatch.setattr(KeyFolder, "keep_only", fails)
    with pytest.raises(StoreUnavailable):
        opened.fold()
    assert (opened.tallies().n, keys()) == (3, 2)
    monkeypatch.setattr(KeyFolder, "keep_only", sound)
    assert opened.fold() == 0  # nothing is ripe
    assert keys() == 1


@pytest.mark.parametrize("how", ["retention", "housekeeping", "again"])
def test_a_close_that_was_interrupted_is_done_again(where, monkeypatch, how):
    store, made = open_store(where, keep_rows=True), publication(minimum=3)
    catalogue = Catalogue(store.shelf)
    catalogue.publish(made.envelope, [KEY.public.raw.hex()])
    store.take(reports(made.digest, 4))
    store.fold()
    overwritten, sound = [], type(store.database).overwrite

    def full(_):
        raise StoreFull("no space")

    monkeypatch.setattr(type(store.database), "overwrite", full)
    with pytest.raises(StoreFull):
        close_due(store, catalogue, timedelta(0), LATER)
    assert [(one.closed, one.finished) for one in store.shelf.surveys()] == [(True, False)]
    assert [one.value for one in store.take(reports(made.digest, 1))] == ["closed"]
    monkeypatch.setattr(type(store.database), "overwrite", lambda self: overwritten.append(sound(self)))
    if how == "retention":
        assert close_due(store, catalogue, timedelta(0), LATER) == [made.digest]
    elif how == "housekeeping":  # without a setting for retention
        tidy(store, catalogue, CollectorSettings())
    else:
        store.folds.finish(made.digest)
    assert [(one.closed, one.finished) for one in store.shelf.surveys()] == [(True, True)]
    assert (len(overwritten), store.tallies().n, store.folds.unfinished()) == (1, 4, [])
    tidy(store, catalogue, CollectorSettings())
    assert close_due(store, catalogue, timedelta(0), LATER) == []
    assert len(overwritten) == 1
    store.disconnect()


def test_a_close_beside_a_reader_is_finished_when_the_ids_are_gone(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite_store, "READERS_PATIENCE", 0.05)
    store, made = open_store(tmp_path / "a.sqlite3", keep_rows=True), publication(minimum=3)
    catalogue = Catalogue(store.shelf)
    catalogue.publish(made.envelope, [KEY.public.raw.hex()])
    sent = reports(made.digest, 50)
    store.take(sent)
    store.fold()

    def left():
        held = b"".join(path.read_bytes() for path in tmp_path.glob("a.sqlite3*") if path.is_file())
        return sum(bytes.fromhex(one.id) in held or one.id.encode() in held for one in sent)

    with store.database.reading(snapshot=True) as cursor:
        assert cursor.execute("SELECT COUNT(*) FROM reports").fetchone() == (50,)
        with pytest.raises(StoreUnavailable, match="still in the log, which somebody reads"):
            store.folds.finish(made.digest)
        with pytest.raises(StoreUnavailable):
            tidy(store, catalogue, CollectorSettings())
        assert (left(), store.folds.unfinished()) == (50, [made.digest])
        assert [one.value for one in store.take(reports(made.digest, 1))] == ["closed"]
    tidy(store, catalogue, CollectorSettings())
    assert (left(), store.folds.unfinished(), store.tallies().n) == (0, [], 50)
    assert [(one.closed, one.finished) for one in store.shelf.surveys()] == [(True, True)]
    store.disconnect()


@pytest.mark.engine
def test_a_close_beside_a_snapshot_of_postgresql_is_finished_when_that_is_over(postgres, monkeypatch):
    """VACUUM FULL copies the rows that a snapshot still shows."""
    monkeypatch.setattr(postgres_store, "READERS_PATIENCE", 0.05)
    store, made = open_store(postgres.new_database(), keep_rows=True), publication(minimum=3)
    catalogue = Catalogue(store.shelf)
    catalogue.publish(made.envelope, [KEY.public.raw.hex()])
    store.take(reports(made.digest, 50))
    store.fold()
    with store.database.reading(snapshot=True) as cursor:
        assert cursor.execute("SELECT COUNT(*) FROM reports").fetchone() == (50,)
        with pytest.raises(StoreUnavailable, match="still read by another session"):
            store.folds.finish(made.digest)
        assert store.folds.unfinished() == [made.digest]
    tidy(store, catalogue, CollectorSettings())
    assert (store.folds.unfinished(), store.tallies().n) == ([], 50)
    store.disconnect()


def test_what_a_crash_left_ripe_is_folded_at_the_start(opened):
    opened.take(reports(DIGEST, 3))
    writer = GroupCommit(opened, fold_seconds=0.01)
    until(lambda: opened.tallies().n == 3)
    writer.close()


def test_a_fold_that_fails_is_told_once_and_counted(tmp_path, caplog):
    store, why = open_store(tmp_path / "a.sqlite3"), StoreUnavailable("an epoch key cannot be made: no space")
    sound = store.epochs.keys.make
    with RunningCollector("", store, fold_seconds=0.02, log_seconds=1) as running, caplog.at_level("INFO", "rrcollect"):
        digest = running.publish(publication(minimum=3))

        def fails(_):
            raise why

        store.epochs.keys.make = fails
        for _ in range(12):
            assert running.post(body(digest))[0] == 201

        def told(event):
            return [one.fields["doing"] for one in caplog.records if one.message == event]

        def metric(name):
            page = running.request("GET", "/metrics", headers=BEARER)[1].decode()
            return float(page.partition(f"\n{name} ")[2].partition("\n")[0])

        until(lambda: metric("rrcollect_failed_folds_total") >= 3)
        until(lambda: metric("rrcollect_unfolded_reports") == 12)
        assert told("store failed") == ["folding"]
        store.epochs.keys.make = sound
        until(lambda: metric("rrcollect_unfolded_reports") == 0)
        assert (told("store failed"), told("store works again")) == (["folding"], ["folding"])
        assert store.tallies().n == 12


def test_whatever_command_folds_keeps_the_rows_of_a_database_that_keeps_them(where, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RRCOLLECT_EPOCH_KEYS", str(tmp_path / "keys"))
    store, made = open_store(where, keep_rows=True), publication(minimum=3)
    Catalogue(store.shelf).publish(made.envelope, [KEY.public.raw.hex()])
    store.take(reports(made.digest, 4))
    assert main(["store", "release", made.digest, "--store", where]) == 0
    assert len(kept_rows(store)) == 4
    assert main(["store", "export", "--out", str(tmp_path / "rows.parquet"), "--store", where]) == 0
    assert "4 reports" in capsys.readouterr().out
    open_store(where, keep_rows=False).disconnect()
    assert main(["store", "export", "--out", str(tmp_path / "more.parquet"), "--store", where]) != 0
    store.disconnect()


def test_reports_are_taken_and_results_shown_while_a_copy_is_made(opened):
    """The copy holds the lock of the folder; folds wait, and nothing else does."""
    writer = GroupCommit(opened, fold_seconds=0.01)

    async def one():
        return await asyncio.wait_for(writer.take(reports(DIGEST, 1)), PATIENCE)

    with opened.epochs.keys.lock():
        for _ in range(4):
            assert asyncio.run(one())[0].value == "new"
            time.sleep(0.05)
        opened.folds.fold_unless_busy()
        with pytest.raises(KeysBusy):
            opened.fold(wait=False)
        assert opened.tallies().n == 0
    until(lambda: opened.tallies().n == 4)
    writer.close()


# ---- full disks ------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk():
    """A file system of twelve megabytes that can grow, in a folder that everybody may enter: PostgreSQL's user too."""
    folder = Path(tempfile.mkdtemp(prefix="rrsmall"))
    folder.chmod(0o755)

    def sized(megabytes, *how):
        words = ["mount", "-t", "tmpfs", "-o", ",".join([*how, f"size={megabytes}m"]), "tmpfs", str(folder)]
        return subprocess.run(words, capture_output=True, check=False).returncode == 0

    if os.geteuid() != 0 or not sized(12):
        folder.rmdir()
        pytest.skip("file systems cannot be mounted by this user here")
    yield folder, lambda megabytes: sized(megabytes, "remount")
    subprocess.run(["umount", "--lazy", str(folder)], check=True)
    folder.rmdir()


@pytest.mark.process
@pytest.mark.parametrize("with_key", [False, True])
def test_a_copy_that_finds_no_space_says_so_and_leaves_nothing(opened, small_disk, with_key):
    opened.take(reports(DIGEST, 3))
    opened.fold()
    folder, grow = small_disk
    (folder / "filler").write_bytes(bytes(12 * 2**20 - 4096))
    before = sorted(os.listdir(folder))
    with pytest.raises((StoreFull, OSError), match="free some space|No space"):
        opened.backup(folder / "copy", with_key=with_key)
    assert sorted(os.listdir(folder)) == before
    assert grow(40)
    opened.backup(folder / "copy", with_key=with_key)


@pytest.mark.engine
@pytest.mark.process
def test_a_full_disk_of_postgresql_is_told_to_senders_and_nothing_is_lost(postgres, small_disk, tmp_path):
    folder, grow = small_disk
    (folder / "space").mkdir()
    subprocess.run(["chown", "nobody", str(folder / "space")], check=True)
    name = f"full{os.getpid()}"
    with psycopg.connect(postgres.address(), autocommit=True) as connection:
        connection.execute(f"CREATE TABLESPACE {name} LOCATION '{folder / 'space'}'")
        connection.execute(f"CREATE DATABASE {name} TABLESPACE {name}")
    try:
        store = open_store(postgres.address(name), keys=tmp_path / "keys")
        store.shelf.publish(PublishedSurvey(DIGEST, b"envelope", ("aa" * 32,), "P", "n", 1, 300))
        acknowledged, refused = [], []
        while not refused and len(acknowledged) < 100_000:
            some = reports(DIGEST, 200)
            try:
                store.take(some)
            except StoreFull as error:
                refused.append((error.status, error.retry_after, some))
            else:
                acknowledged += [one.id for one in some]
            if len(acknowledged) % 2000 == 0:
                try:
                    store.fold()
                except StoreFull as error:
                    refused.append((error.status, error.retry_after, []))
        ((status, seconds, again),) = refused
        assert (status, seconds) == (507, 30)
        assert grow(200)
        assert {one.value for one in store.take(again)} <= {"new"}
        store.fold()
        found, n = ids_of(store)
        assert sorted(found) == sorted([*acknowledged, *(one.id for one in again)])
        assert n == len(found)
        store.disconnect()
    finally:
        with psycopg.connect(postgres.address(), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
            connection.execute(f"DROP TABLESPACE {name}")
