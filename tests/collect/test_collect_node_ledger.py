"""The ledger of a Node program: under all its names, on a full disk, raced, restored.

The tests of js/ledger.test.mjs by name, and real processes; the long search is tests/assurance/node_ledger.
"""

import subprocess

import pytest

from tests.support.collector_running import ROOT
from tests.support.node_ledgers import filled, raced

TESTS = ROOT / "tests" / "collect" / "js" / "ledger.test.mjs"
pytestmark = pytest.mark.process


def passes(name):
    done = subprocess.run(
        ["node", "--test", f"--test-name-pattern=^{name}$", TESTS],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert "\n# pass 1\n" in done.stdout


def test_every_name_of_a_node_ledger_is_one_ledger(tmp_path):
    assert raced(tmp_path, 5, "FileLedger").faults == []
    (tmp_path / "planted").mkdir()
    assert "first: a second draw" in raced(tmp_path / "planted", 5, "OldFileLedger").faults


def test_a_full_disk_leaves_a_node_ledger_as_it_was(tmp_path):
    counts, fault = filled(tmp_path, [8192], "FileLedger")
    assert fault == ""
    assert min(counts.values()) > 0
    (tmp_path / "planted").mkdir()
    assert "refused" in filled(tmp_path / "planted", [8192], "OldFileLedger")[1]


def test_a_node_program_that_was_second_repeats_the_first():
    passes("what was made from a state that is no longer the ledger is thrown away")


def test_nothing_left_behind_blocks_a_node_program_or_lets_it_in_twice():
    passes("nothing that a program left behind blocks the next one")
    passes("a lock that was left behind lets nobody in twice")


def test_an_old_copy_of_a_node_ledger_is_refused():
    passes("an old copy, another history and a ledger without its rollback guard are refused")


def test_a_page_answers_when_its_transaction_is_complete():
    passes("the ledger of a page answers when its transaction is complete, and not before")
