"""The restore drill: a copy made under load, put in another place, is the same collector; and what is not in it."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import threading

import pytest

from server_agg.cli.main import main
from server_agg.collect.backup import back_up
from server_agg.collect.catalogue import Catalogue
from server_agg.collect.errors import StoreUnavailable
from server_agg.collect.stored_report import incoming
from server_agg.collect.stores import open_store
from tests.support.collector_running import publication, report
from tests.support.devices import KEY
from tests.support.postgres_server import binary


def taken(digest, **changes):
    return incoming(report(digest, **changes).row)


@pytest.fixture
def filled(where, tmp_path):
    """A store with five folded reports and one that waits; its survey's digest, and the reports."""
    store = open_store(where, keys=tmp_path / "keys")
    digest = Catalogue(store).publish(publication(minimum=3).envelope, [KEY.public.raw.hex()])[0].published.digest
    folded = [taken(digest) for _ in range(5)]
    store.take(folded)
    assert store.fold() == 5
    waiting = taken(digest)
    store.take([waiting])
    yield store, digest, folded, waiting
    store.close()


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
    made = back_up(store, file, with_key=with_key)
    assert made.waiting == 1
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    again = restored(where, file, lambda: request.getfixturevalue("postgres"))
    try:
        assert again.tallies() == store.tallies()
        assert again.tallies().n == 5
        assert [one.digest for one in again.surveys()] == [digest]
        assert [one.value for one in again.take([*folded, waiting])] == ["same"] * 5 + ["same" if with_key else "new"]
        assert len(again.waiting()) == 1
    finally:
        again.close()


def test_what_waits_is_in_no_copy_without_its_key(where, filled, tmp_path):
    store, _, _, _ = filled
    made = back_up(store, tmp_path / "copy.sqlite3")
    assert made.keys is None
    assert not (tmp_path / "copy.sqlite3.keys").exists()
    with store.reading() as cursor:
        content = bytes(store.run(cursor, "SELECT content FROM intake").fetchone()[0])
    held = (tmp_path / "copy.sqlite3").read_bytes()
    assert content not in held
    if "://" not in where:
        with_key = back_up(store, tmp_path / "whole.sqlite3", with_key=True)
        assert content in with_key.file.read_bytes()  # the check can fail
        kept = sqlite3.connect(tmp_path / "copy.sqlite3")
        assert kept.execute("SELECT COUNT(*) FROM intake").fetchone() == (0,)
        kept.close()


def test_copies_made_under_load_are_whole(tmp_path):
    store = open_store(tmp_path / "a.sqlite3")
    digest = Catalogue(store).publish(publication(minimum=2).envelope, [KEY.public.raw.hex()])[0].published.digest
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
            back_up(store, tmp_path / f"{number}.sqlite3")
            again = open_store(tmp_path / f"{number}.sqlite3")
            with again.reading() as cursor:
                ids = again.run(cursor, "SELECT COUNT(*) FROM ids").fetchone()[0]
            assert again.tallies().n == ids  # one committed state: never counts without their ids
            counts.append(ids)
            again.close()
        assert counts == sorted(counts)
    finally:
        over.set()
        thread.join()
        store.close()


def test_the_command_says_what_is_in_it_and_overwrites_nothing(tmp_path, capsys):
    open_store(tmp_path / "a.sqlite3").close()
    words = ["backup", str(tmp_path / "copy.sqlite3"), "--store", str(tmp_path / "a.sqlite3")]
    assert main(words) == 0
    assert "0 waiting reports are not in it" in capsys.readouterr().out
    assert main(words) != 0
    assert main([*words[:2], "--store", str(tmp_path / "absent.sqlite3")]) != 0


@pytest.mark.engine
def test_no_password_is_on_a_command_line(postgres, monkeypatch, tmp_path):
    from server_agg.collect import backup

    seen = []

    def run(command, **how):
        seen.append((command, how["env"].get("PGPASSWORD")))
        return subprocess.CompletedProcess(command, 1, b"", b"")

    monkeypatch.setattr(backup.subprocess, "run", run)
    with pytest.raises(StoreUnavailable, match="pg_dump") as caught:
        backup._postgres("postgresql://me:hunter2@db.example.org/reports", tmp_path / "x", with_waiting=False)
    ((command, password),) = seen
    assert password == "hunter2"  # noqa: S105
    assert "hunter2" not in " ".join(command) + str(caught.value)
