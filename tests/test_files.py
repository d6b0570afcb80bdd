"""A new file is whole or not there, whatever goes wrong and whoever else writes it."""

import multiprocessing
import os
import resource
import signal
import sys

import pytest

from server_agg.files import new_file
from tests.inside.files import FORMULA, harmless


def test_a_file_appears_when_it_is_whole_and_is_flushed_before(tmp_path, monkeypatch):
    wanted, flushed = tmp_path / "night.csv.gz", []
    monkeypatch.setattr(os, "fsync", lambda handle: flushed.append(wanted.exists()))
    with new_file(wanted) as partial:
        partial.write_text("whole")
        assert (partial.parent, partial.name.endswith("-night.csv.gz"), partial.name[0]) == (tmp_path, True, ".")
        assert not wanted.exists()
    assert (wanted.read_text(), flushed, os.listdir(tmp_path)) == ("whole", [False], ["night.csv.gz"])


@pytest.mark.parametrize("before", [None, "yesterday"])
def test_a_failure_leaves_what_was_there_and_nothing_else(tmp_path, before):
    wanted = tmp_path / "night.csv"
    if before:
        wanted.write_text(before)

    def fails():
        with new_file(wanted) as partial:
            partial.write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert os.listdir(tmp_path) == (["night.csv"] if before else [])
    assert not before or wanted.read_text() == before


def test_a_block_that_writes_nothing_makes_no_file(tmp_path):
    with pytest.raises(FileNotFoundError), new_file(tmp_path / "night.csv"):
        pass
    assert os.listdir(tmp_path) == []


def _limited(folder, size):
    """Write more than the process may: what a full disk does."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    try:
        with new_file(folder / "night.csv") as partial:
            partial.write_bytes(b"x" * 10 * size)
    except OSError:
        sys.exit(7)


def _write(folder, letter, start):
    start.wait(30)
    for _ in range(50):
        with new_file(folder / "night.csv") as partial:
            partial.write_text(letter * 100_000)


def test_a_full_disk_leaves_nothing(tmp_path):
    process = multiprocessing.get_context("fork").Process(target=_limited, args=(tmp_path, 4096))
    process.start()
    process.join(30)
    assert (process.exitcode, os.listdir(tmp_path)) == (7, [])


def test_two_processes_that_write_one_name_never_mix(tmp_path):
    spawn = multiprocessing.get_context("fork")
    start = spawn.Barrier(3)
    processes = [spawn.Process(target=_write, args=(tmp_path, letter, start)) for letter in "ab"]
    for process in processes:
        process.start()
    start.wait(30)
    seen = set()
    while any(process.is_alive() for process in processes):
        if (tmp_path / "night.csv").exists():
            seen.add((tmp_path / "night.csv").read_text())
    assert [process.exitcode for process in processes] == [0, 0]
    seen.add((tmp_path / "night.csv").read_text())
    assert seen <= {"a" * 100_000, "b" * 100_000}
    assert os.listdir(tmp_path) == ["night.csv"]


@pytest.mark.parametrize("first", FORMULA)
def test_one_apostrophe_makes_a_cell_harmless_and_is_taken_away_again(first):
    assert harmless(first + "1") == "'" + first + "1"
    assert harmless(first) == "'" + first
    assert harmless("1" + first) == "1" + first
    assert harmless("") == ""
