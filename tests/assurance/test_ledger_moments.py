"""The moments at which the ledger's machine disturbs an answer, for answers of any length."""

from __future__ import annotations

import gc
from contextlib import nullcontext

import pytest

from rrcollect.errors import LedgerCorrupt, LedgerRestored
from tests.assurance.ledger import check as ledger
from tests.assurance.ledger import machine
from tests.assurance.ledger.moments import AFTER, BEFORE, BETWEEN, OUTSIDE, PHASES, THEN, Around, disturbed
from tests.assurance.ledger.planted import Forgetful, LeavesTheGuardBehind
from tests.assurance.ledger.world import SURVEYS, TRUTHS, Plant, Refuted
from tests.inside.answer import Ledger
from tests.support.devices import client
from tests.support.ledger_crashing import rows

pytestmark = pytest.mark.no_cover  # an answer is traced here, and the tracer of the coverage with it put away
QUESTIONS = [(survey, f"{name}{version}") for survey, version in ((0, 1), (1, 2)) for name in "acb"][:5]


class Stopped(BaseException):
    """Stops an answer."""


@pytest.mark.parametrize("earlier", [0, 1, 4])
@pytest.mark.parametrize(
    ("moment", "phase", "reports", "guarded"),
    [
        (("start", 1), OUTSIDE, 0, 0),
        (("transaction", 0), BEFORE, 0, 0),
        (("commit", 0), BEFORE, 0, 0),
        (("commit", 1), BETWEEN, 1, 0),
        (("guard", 0), BETWEEN, 1, 1),  # written, not yet synced
        (("guard", 1), AFTER, 1, 1),
        (("guard", 1000), AFTER, 1, 1),
        (("start", 10_000), AFTER, 1, 1),
    ],
)
def test_an_answer_stops_where_it_should(tmp_path, earlier, moment, phase, reports, guarded):
    mine = client(tmp_path, attributes=["a", "b", "c"])
    accepted = [mine.accept(SURVEYS[0]), mine.accept(SURVEYS[1])]
    for survey, name in QUESTIONS[:earlier]:
        mine.answer(accepted[survey], name, TRUTHS[name[0]])
    survey, name = QUESTIONS[earlier]
    phases = []
    mine._ledger.cancel = lambda *told, **more: None  # a program that is killed does not get there

    def stop(found: int) -> None:
        phases.append(found)
        raise Stopped

    with pytest.raises(Stopped):
        disturbed(moment, stop, lambda: mine.answer(accepted[survey], name, TRUTHS[name[0]]))
    assert phases == [phase]
    assert len(rows(tmp_path, "reports")) == earlier + reports
    assert mine._ledger.file.guard.last()[0] == 2 + earlier + guarded  # two surveys were accepted


def test_a_report_made_before_is_handed_over_inside_the_one_transaction(tmp_path):
    mine = client(tmp_path, attributes=["a", "b", "c"])
    accepted = mine.accept(SURVEYS[0])
    made = mine.answer(accepted, "b1", TRUTHS["b"])
    phases = []
    assert disturbed(("commit", 0), phases.append, lambda: mine.answer(accepted, "b1", TRUTHS["b"])) == made
    assert phases == [BEFORE]


@pytest.mark.parametrize("missing", PHASES)
def test_a_long_life_fails_if_no_answer_was_disturbed_in_some_phase(monkeypatch, missing):
    fallen = {phase: 1 for phase in PHASES if phase != missing}
    monkeypatch.setattr(ledger, "lived", lambda plant, steps, step, lives: ({"asked": 9}, fallen, ""))
    assert ledger._life(9, 1, everywhere=False)(0, lambda done, total: None).passed
    found = ledger._life(9, 1, everywhere=True)(0, lambda done, total: None)
    assert not found.passed
    assert found.remark == f"no answer was disturbed {missing}"
    assert found.figures[f"answers disturbed {missing}"] == 0


@pytest.mark.process
@pytest.mark.parametrize("error", [LedgerRestored, LedgerCorrupt])
def test_a_fault_that_does_not_come_again_is_told_as_what_it_was(error):
    """A life that failed is lived again; forks and random ids may then lead it elsewhere."""

    class Once(Ledger):
        asked = False

        def outbox(self, *told):
            Once.asked, before = True, Once.asked
            if not before:
                raise error("only this once")
            return super().outbox(*told)

    class Fleeting(Plant):
        ledger = Once

    *_, fault = ledger.lived(Fleeting(), 2000, longest=25)  # one step in ten delivers
    assert fault.startswith("Refuted: ")


@pytest.mark.process
@pytest.mark.parametrize("plant", [Plant, LeavesTheGuardBehind])
def test_a_guard_left_behind_is_found_where_a_program_was_cut_off_after_its_commit(monkeypatch, plant):
    """The life that the search of `make assure` has to find among all others; it takes 880 steps on average."""
    monkeypatch.setattr(machine.Life, "plant", plant())
    life = machine.Life()
    try:
        found = pytest.raises(Refuted, match="two different reports left") if plant is not Plant else nullcontext()
        with found:
            life.killed((0, "a", 0), Around(True, True, THEN[2]), ("commit", 1), False)
    finally:
        life.teardown()


@pytest.mark.parametrize("plant", [Plant, Forgetful])
def test_a_round_that_was_drawn_and_forgotten_is_a_fault(monkeypatch, plant):
    monkeypatch.setattr(machine.Life, "plant", plant())
    life = machine.Life()
    try:
        life.accept(5)
        life.restart()
        with nullcontext() if plant is Plant else pytest.raises(Refuted, match="was forgotten"):
            life.ask((5, "a", 0))
    finally:
        life.teardown()


@pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")
def test_a_connection_that_was_stopped_while_it_closed_leaves_no_log_behind(monkeypatch):
    """What lives long is collected late, and a log that is left behind would damage the copy put in its place."""

    def disturbed_when_old(moment, act, work):
        def late(phase):
            gc.collect(1)
            gc.collect(1)
            act(phase)

        return disturbed(moment, late, work)

    life = machine.Life()
    try:
        life.keep()
        monkeypatch.setattr(machine, "disturbed", disturbed_when_old)
        life.interrupted(which=(0, "a", 0), around=Around(True, False, THEN[2]), moment=("guard", 5))
    finally:
        life.teardown()
