"""The restore drill: a copy made under load, put in another place, is the same collector; and what is not in it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import threading
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from server_agg import open_store
from server_agg.collect.store.postgres import PostgresDatabase
from server_agg.errors import StoreUnavailable, UnfitDatabase
from tests.inside.collect import Catalogue, SqliteDatabase, incoming
from tests.support.collector_running import publication, report
from tests.support.command_line import main
from tests.support.devices import KEY
from tests.support.postgres_server import binary


def taken(digest, **changes):
    return incoming(report(digest, **changes).row)


@pytest.fixture
def filled(where, tmp_path):
    """A store with five folded reports and one that waits; its survey's digest, and the reports."""
    store = open_store(where, keys=tmp_path / "keys")
    digest = Catalogue(store.shelf).publish(publication(minimum=3).envelope, [KEY.public.raw.hex()])[0].published.digest
    folded = [taken(digest) for _ in range(5)]
    store.take(folded)
    assert store.fold() == 5
    waiting = taken(digest)
    store.take([waiting])
    yield store, digest, folded, waiting
    store.disconnect()


def restored(where, file, postgres, **how):
    """The copy, in another place."""
    if "://" not in where:
        return open_store(file, keys=f"{file}.keys", **how)
    fresh = postgres().new_database()
    subprocess.run([binary("pg_restore"), "--no-owner", f"--dbname={fresh}", str(file)], check=True)
    return open_store(fresh, keys=f"{file}.keys", **how)


@pytest.mark.parametrize("with_key", [False, True])
def test_a_restored_copy_goes_on_where_it_was_made(where, filled, tmp_path, request, with_key):
    store, digest, folded, waiting = filled
    file = tmp_path / "copy.sqlite3"
    made = store.backup(file, with_key=with_key)
    assert made.waiting == 1
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    again = restored(where, file, lambda: request.getfixturevalue("postgres"))
    try:
        assert again.tallies() == store.tallies()
        assert again.tallies().n == 5
        assert [one.digest for one in again.shelf.surveys()] == [digest]
        assert [one.value for one in again.take([*folded, waiting])] == ["same"] * 5 + ["same" if with_key else "new"]
        assert len(again.epochs.waiting()) == 1
    finally:
        again.disconnect()


def crashed(folder):
    """A collector's file of 1200 reports as a crash leaves it, with its log, and an older copy of 200 of them."""
    store = open_store(folder / "running.sqlite3")
    digest = Catalogue(store.shelf).publish(publication(minimum=3).envelope, [KEY.public.raw.hex()])[0].published.digest

    def fold(times):
        for _ in range(times):
            store.take([taken(digest) for _ in range(100)])
            store.fold()

    fold(2)
    store.backup(folder / "copy.sqlite3")
    fold(10)
    for ending in ("", "-wal", "-shm"):
        shutil.copy(folder / f"running.sqlite3{ending}", folder / f"crashed.sqlite3{ending}")
    store.disconnect()
    return folder / "crashed.sqlite3", folder / "copy.sqlite3"


@pytest.mark.parametrize("how", ["moved", "copied"])
def test_a_copy_in_the_place_of_a_file_that_crashed_is_what_it_was(tmp_path, how):
    """The first step of the drill: the log goes, and the copy takes the place of the file."""
    file, copy = crashed(tmp_path)
    for ending in ("-wal", "-shm"):
        Path(f"{file}{ending}").unlink()
    copy.replace(file) if how == "moved" else shutil.copy(copy, file)
    store = open_store(file)
    assert store.tallies().n == 200
    with store.database.reading() as cursor:
        assert cursor.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store.disconnect()


def test_a_copy_beside_the_log_of_another_file_is_refused(tmp_path):
    """The step that was forgotten: SQLite would read the log as the copy's own, and count what is not in it."""
    file, copy = crashed(tmp_path)
    shutil.copy(copy, file)
    before = file.read_bytes()
    with pytest.raises(UnfitDatabase, match=r"crashed\.sqlite3-wal is the log of another file"):
        open_store(file)
    assert file.read_bytes() == before
    with closing(sqlite3.connect(file)) as connection:  # the check can fail: this is what SQLite makes of it
        assert connection.execute("SELECT SUM(n) FROM counts").fetchone() != (200,)


def copied(where, store, file, how, postgres):
    """The address of a copy: by our own command, with the key or without, or as any other tool would make one."""
    if how != "by hand":
        store.backup(file, with_key=how == "with key")
    if "://" not in where:
        if how == "by hand":
            with sqlite3.connect(where) as connection:
                connection.execute("VACUUM INTO ?", (str(file),))
            connection.close()
        return str(file)
    if how == "by hand":
        subprocess.run([binary("pg_dump"), "--format=custom", f"--file={file}", where], check=True)
    fresh = postgres().new_database()
    subprocess.run([binary("pg_restore"), "--no-owner", f"--dbname={fresh}", str(file)], check=True)
    return fresh


def drilled(where, filled, file, how, later, postgres):
    """A restore drill beside the running collector, with its folder of keys; what the collector has lost by it."""
    store, digest, _, waiting = filled
    address = copied(where, store, file, how, postgres)
    expected = {waiting.id}
    if later:  # the running collector is in another epoch by now
        more = [taken(digest) for _ in range(3)]
        store.take(more)
        assert store.fold() == 4
        last = taken(digest)
        store.take([last])
        expected = {last.id}
    before = {path: path.read_bytes() for path in store.epochs.keys.folder.glob(f"{store.epochs.name}.*.key")}
    again = open_store(address, keys=store.epochs.keys.folder, discard_unreadable=True)
    again.take([taken(digest) for _ in range(3)])
    again.fold()
    again.disconnect()
    open_store(address, keys=store.epochs.keys.folder).disconnect()  # it stays the same one from now on
    lost = [path for path, secret in before.items() if not path.exists() or path.read_bytes() != secret]
    store.disconnect()
    fresh = open_store(where, keys=store.epochs.keys.folder, discard_unreadable=True)
    lost += sorted(expected - {one.id for one in fresh.epochs.waiting()})
    fresh.disconnect()
    return lost


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("how", ["without key", "with key", "by hand"])
def test_a_drill_with_the_same_folder_of_keys_leaves_the_collector_alone(where, filled, tmp_path, request, how, later):
    assert drilled(where, filled, tmp_path / "copy.db", how, later, lambda: request.getfixturevalue("postgres")) == []


def test_the_drill_finds_a_copy_that_keeps_its_name(where, filled, tmp_path, request, monkeypatch):
    """The planted bug: the name is bound to nothing."""
    for kind in (SqliteDatabase, PostgresDatabase):
        monkeypatch.setattr(kind, "identity", lambda *_: "the same")
    store = filled[0]
    with store.database.writing() as cursor:
        store.database.run(cursor, "UPDATE epoch SET identity = 'the same'")
    assert drilled(where, filled, tmp_path / "copy.db", "by hand", False, lambda: request.getfixturevalue("postgres"))


def test_a_copy_brings_what_waits_and_what_is_gathered_under_its_own_key(where, filled, tmp_path, request):
    store, digest, _, _ = filled
    store.take([taken(digest, question="q2", segments={"group": str(k)}) for k in range(3)])
    assert store.fold() == 3
    address = copied(where, store, tmp_path / "copy.db", "by hand", lambda: request.getfixturevalue("postgres"))
    again = open_store(address, keys=store.epochs.keys.folder)
    assert again.epochs.name != store.epochs.name
    assert (again.tallies(), again.epochs.waiting()) == (store.tallies(), store.epochs.waiting())
    assert again.tallies().n == 8
    again.disconnect()


@pytest.mark.engine
def test_an_ordinary_user_of_postgresql_can_be_told_which_database_it_is(postgres, tmp_path):
    address, name = postgres.new_database(), f"plain{os.getpid()}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN")
        connection.execute(f"GRANT ALL ON SCHEMA public TO {name}")
    store = open_store(address.replace("postgres@", f"{name}@"), keys=tmp_path / "keys")
    with store.database.reading() as cursor:
        assert store.database.identity(cursor).count("/") == 1
    store.disconnect()


@pytest.mark.parametrize("with_key", [False, True])
def test_a_copy_is_its_owners_while_it_is_written(filled, tmp_path, monkeypatch, with_key):
    made, sound = tmp_path / "made", filled[0].database.copy
    made.mkdir()
    seen = []

    def copy(*given, **how):
        seen.extend(stat.S_IMODE(path.stat().st_mode) for path in made.iterdir())
        named = sound(*given, **how)
        seen.extend(stat.S_IMODE(path.stat().st_mode) for path in made.iterdir())
        return named

    monkeypatch.setattr(filled[0].database, "copy", copy)
    before = os.umask(0o022)
    try:
        filled[0].backup(made / "copy", with_key=with_key)
    finally:
        os.umask(before)
    assert seen == [0o600, 0o600]
    assert stat.S_IMODE((made / "copy").stat().st_mode) == 0o600


def test_what_waits_is_in_no_copy_without_its_key(where, filled, tmp_path):
    store, _, _, _ = filled
    made = store.backup(tmp_path / "copy.sqlite3")
    assert made.keys is None
    assert not (tmp_path / "copy.sqlite3.keys").exists()
    with store.database.reading() as cursor:
        content = bytes(store.database.run(cursor, "SELECT content FROM intake").fetchone()[0])
    held = (tmp_path / "copy.sqlite3").read_bytes()
    assert content not in held
    if "://" not in where:
        with_key = store.backup(tmp_path / "whole.sqlite3", with_key=True)
        assert content in with_key.file.read_bytes()  # the check can fail
        kept = sqlite3.connect(tmp_path / "copy.sqlite3")
        assert kept.execute("SELECT COUNT(*) FROM intake").fetchone() == (0,)
        kept.close()


def test_copies_made_under_load_are_whole(tmp_path):
    store = open_store(tmp_path / "a.sqlite3")
    digest = Catalogue(store.shelf).publish(publication(minimum=2).envelope, [KEY.public.raw.hex()])[0].published.digest
    over = threading.Event()

    def load():
        while not over.is_set():
            store.take([taken(digest) for _ in range(20)])
            store.fold()

    thread = threading.Thread(target=load)
    thread.start()
    try:
        counts = []
        for number in range(5):
            store.backup(tmp_path / f"{number}.sqlite3")
            again = open_store(tmp_path / f"{number}.sqlite3")
            with again.database.reading() as cursor:
                ids = again.database.run(cursor, "SELECT COUNT(*) FROM ids").fetchone()[0]
            assert again.tallies().n == ids  # one committed state: never counts without their ids
            counts.append(ids)
            again.disconnect()
        assert counts == sorted(counts)
    finally:
        over.set()
        thread.join()
        store.disconnect()


def test_the_command_says_what_is_in_it_and_overwrites_nothing(tmp_path, capsys):
    open_store(tmp_path / "a.sqlite3").disconnect()
    words = ["store", "backup", "--out", str(tmp_path / "copy.sqlite3"), "--store", str(tmp_path / "a.sqlite3")]
    assert main(words) == 0
    assert "0 waiting reports are not in it" in capsys.readouterr().out
    assert main(words) != 0
    assert main([*words[:3], str(tmp_path / "b.sqlite3"), "--store", str(tmp_path / "absent.sqlite3")]) != 0


@pytest.mark.engine
def test_no_password_is_on_a_command_line(postgres, monkeypatch, tmp_path):
    seen = []

    def run(command, **how):
        seen.append((command, how["env"].get("PGPASSWORD")))
        return subprocess.CompletedProcess(command, 1, b"", b"")

    database = PostgresDatabase(postgres.new_database())
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(database, "address", "postgresql://me:hunter2@db.example.org/reports")
    with pytest.raises(StoreUnavailable, match="pg_dump") as caught:
        database.copy(tmp_path / "x", "0" * 32, sealed=False)
    database.close()
    ((command, password),) = seen
    assert password == "hunter2"  # noqa: S105
    assert "hunter2" not in " ".join(command) + str(caught.value)
