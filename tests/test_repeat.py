"""The tests that wait are found by reading; what fails once in some rounds is in the table."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import repeat

PLANTED = """
import time
import threading as threads
import pytest
from tests.support import servers
from tests.support.servers import serving

LATER = threads.Timer

@pytest.fixture
def patient():
    time.sleep(1)

def helper():
    return serving()

def test_nothing(tmp_path): assert time.time() and "sleep"
def test_timer(): time.sleep(1)
def test_thread(): threads.Thread()
def test_process():
    import subprocess
    subprocess.run(["true"])
def test_server(): helper()
def test_server_by_module(): servers.serving()
def test_constant(): LATER()
def test_signal():
    from signal import alarm
    alarm(1)
def test_fixture(patient): pass
def test_fixture_of_a_folder(served): pass
def test_fixture_by_name(request): request.getfixturevalue("served")
@pytest.mark.usefixtures("patient")
def test_used(): pass
@pytest.mark.browser
def test_mark(): pass
class TestClass:
    def test_inside(self): time.sleep(1)
"""
SERVERS = "def serving():\n    return started()\ndef started():\n    import socket\n    return socket.socket()\n"


def test_every_planted_way_of_waiting_is_found(tmp_path: Path) -> None:
    texts = {
        "test_planted.py": PLANTED,
        "test_calm.py": "def test_calm(): pass\n",
        "conftest.py": "import pytest\nfrom tests.support.servers import serving\n"
        "@pytest.fixture\ndef served():\n    return serving()\n",
        "support/servers.py": SERVERS,
    }
    for name, text in texts.items():
        path = tmp_path / "tests" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    every = [line.split("(")[0].split()[1] for line in PLANTED.splitlines() if line.startswith("def test_")]
    found = repeat.waiting(tmp_path / "tests/test_planted.py", tmp_path)
    assert found == [*every[1:], "TestClass"]
    assert repeat.chosen(tmp_path) == ["tests/test_planted.py"]


def test_tests_of_this_project_that_are_known_to_wait_are_chosen() -> None:
    for name in (
        "deliver/test_delivery.py::test_an_interrupt_stops_further_attempts_and_hangs_up",
        "deliver/test_http.py::test_a_server_that_drips_is_hung_up_on",
        "collect/test_collect_pages.py::test_an_invitation_from_the_address_is_used_once",
        "test_files.py::test_two_processes_that_write_one_name_never_mix",
    ):
        file, _, test = name.partition("::")
        assert test in repeat.waiting(repeat.ROOT / "tests" / file), name


@pytest.mark.process
def test_what_fails_in_one_round_of_three_is_in_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_sometimes.py").write_text(
        "import time, pytest\n"
        "rounds = []\n"
        "@pytest.fixture(scope='session')\n"
        "def kept(): return []\n"
        "def test_it(tmp_path, kept):\n"
        "    assert kept == []\n"
        "    kept.append(1)\n"
        "    time.sleep(0)\n"
        "    (tmp_path / 'new').mkdir()\n"
        "    rounds.append(1)\n"
        "    assert len(rounds) != 2, 'the second time'\n"
        "def test_without_waiting(): pass\n"
    )
    monkeypatch.setattr(repeat, "ROOT", tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[1]))
    sometimes = repeat.File("test_sometimes.py", rounds=1, seconds=0.1)
    gone = repeat.File("test_gone.py", seconds=1000)
    repeat.repeat([sometimes, gone], 4, 1, float("inf"))
    assert (sometimes.rounds, sometimes.found.tests, sometimes.found.failed.total()) == (4, 1, 1)
    assert (gone.rounds, gone.found.failed.total()) == (4, 4)
    lines = "\n".join(repeat.table([sometimes, gone]))
    assert "test_sometimes.py::test_it: failed 1 times in 4 rounds" in lines
    assert "the second time" in lines
    assert "test_gone.py (the process ended with 4)" in lines


@pytest.mark.process
def test_the_command_ends_with_1_if_something_failed() -> None:
    def ends_with(*arguments: str) -> int:
        command = [sys.executable, "-m", "tests.repeat", "1", "--busy", "1", *arguments]
        return subprocess.run(command, cwd=repeat.ROOT, capture_output=True, timeout=240, check=False).returncode

    assert ends_with("tests/test_house.py") == 1  # no test of it waits
    assert ends_with("--minutes", "0", "tests/test_house.py") == 0  # nothing was started
