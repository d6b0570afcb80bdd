"""Several programs on one folder of ledgers, and a disk that is full at any of its writes."""

import json
from pathlib import Path

import pytest

from rrcollect import Clients, LedgerError, SimulatedCollector
from rrcollect.answer import clients as module
from rrcollect.errors import LedgerUnavailable
from tests.support.devices import POLICY, client, envelope, survey
from tests.support.stopping import full_at, race

SECRET = b"a key of the app's"
SIGNED = envelope()


def people(folder):
    return Clients(folder, key=SECRET, attributes=["doped"], policy=POLICY, spread=0)


def asked_everywhere(folder):
    """One worker of a server: answers of three people, an interview each time, and a pass over all ledgers."""
    clients, collector, told = people(folder), SimulatedCollector([survey()]), []
    for number in range(3):
        mine = clients.of(f"person {number}")
        told.append(mine.answer(mine.accept(SIGNED), "q1", True).id)
        with clients.interview() as interview:
            interview.answer(interview.accept(SIGNED), "q1", True)
        clients.deliver(collector)
    return json.dumps(told).encode()


@pytest.mark.process
def test_workers_that_answer_interview_and_deliver_at_once_disturb_nobody(tmp_path):
    """Passes at once opened interviews that others had deleted: errors, and empty ledgers that stayed for good."""
    told = race(6, lambda _: asked_everywhere(tmp_path))
    assert len(set(told)) == 1  # everybody got the one report of each person, and no error
    clients = people(tmp_path)
    clients.deliver(SimulatedCollector([survey()]))
    assert clients.interviews == 18
    assert list((tmp_path / "interviews").iterdir()) == []


@pytest.mark.process
def test_the_race_sees_passes_that_delete_without_being_alone(tmp_path, monkeypatch):
    """The planted bug: every pass believes that it is the only one."""
    monkeypatch.setattr(module._Passes, "alone", lambda self: True)
    for attempt in range(20):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        try:
            race(6, lambda _, folder=folder: asked_everywhere(folder))
        except AssertionError:
            return
        if list((folder / "interviews").iterdir()):
            return
    pytest.fail("the planted bug was not seen")


def test_a_settled_interview_is_kept_while_another_pass_runs_and_deleted_after_it(tmp_path, monkeypatch):
    clients, collector = people(tmp_path), SimulatedCollector([survey()])
    with clients.interview() as interview:
        interview.answer(interview.accept(SIGNED), "q1", True)
    with module._Passes(tmp_path / "passes.lock") as other:
        assert clients.deliver(collector).delivered == 1
        assert list((tmp_path / "interviews").glob("*.sqlite3"))
        assert other.alone()
        monkeypatch.setattr(module, "LOCK_SECONDS", 0.05)
        with pytest.raises(LedgerUnavailable, match="locked"):  # nobody begins while one deletes
            clients.deliver(collector)
    clients.deliver(collector)
    assert list((tmp_path / "interviews").iterdir()) == []


@pytest.mark.process
@pytest.mark.parametrize("limit", [0, 1, 16, 63])
def test_a_full_disk_leaves_no_half_of_a_key_check(tmp_path, limit):
    """Half of a check value would have refused the right key for good."""

    def begin() -> bytes:
        try:
            people(tmp_path)
        except LedgerUnavailable as error:
            return str(error).encode()
        return b"begun"

    status, said = full_at(limit, begin)
    assert status == 0
    assert said.startswith(b"the folder of ledgers cannot be used: "), said
    assert [path.name for path in tmp_path.iterdir()] == ["interviews"]
    assert people(tmp_path).interviews == 0


@pytest.mark.process
@pytest.mark.parametrize("limit", [0, 1])
def test_an_interview_that_cannot_be_counted_is_not_begun(tmp_path, limit):
    clients = people(tmp_path)
    with clients.interview():
        pass

    def begin() -> bytes:
        try:
            with clients.interview():
                return b"begun"
        except LedgerError as error:
            return type(error).__name__.encode()

    assert full_at(limit, begin) == (0, b"LedgerUnavailable")
    assert clients.interviews == 1


def test_a_folder_that_others_begin_while_we_look_is_not_called_damaged(tmp_path, monkeypatch):
    """Looked for in the other order, ledgers made meanwhile seemed to have lost their key.check."""
    exists = Path.exists

    def meanwhile(path, **options):
        found = exists(path, **options)
        if path.name == "key.check" and not found:
            monkeypatch.setattr(Path, "exists", exists)
            people(tmp_path).of("somebody")
        return found

    monkeypatch.setattr(Path, "exists", meanwhile)
    assert people(tmp_path).interviews == 0


@pytest.mark.parametrize("how", ["symlink", "folder"])
def test_every_name_of_a_ledger_is_one_ledger(tmp_path, how):
    """Its identity is the resolved file: with its guard, whatever the path is called."""
    (tmp_path / "real").mkdir()
    first = client(tmp_path / "real")
    report = first.answer(first.accept(SIGNED), "q1", True)
    if how == "symlink":
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "ledger.sqlite3").symlink_to(tmp_path / "real" / "ledger.sqlite3")
    else:
        (tmp_path / "other").symlink_to(tmp_path / "real", target_is_directory=True)
    again = client(tmp_path / "other")
    assert again.answer(again.accept(SIGNED), "q1", lambda: 1 / 0) == report
    assert not (tmp_path / "other" / "ledger.sqlite3.guard").is_symlink()
    assert len(first.budget().draws) == 1
