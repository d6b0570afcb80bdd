"""All that can happen to a device, in any order, as a hypothesis state machine over `ledger_world`.

Steps: ask; ask or deliver while killed at some line; ask while interrupted at some line, or while a second client
answers at some line; ask in a fork, alone or against its parent; accept a survey or another version of it; move the
clock; keep a copy of the ledger; restore it, or remove or empty the ledger, or remove its seal; deliver over a network
that loses replies; restart.

Besides the rules of `ledger_world`: a ledger that lacks a report which left the device (with its draw), and one with
reports but without a seal, is refused (`LedgerRestored`); put back, it is used again.  An old copy that lacks no report
is used, and knows no newer version of a survey than it knew then.
"""

from __future__ import annotations

import gc
import os
import shutil
from contextlib import suppress
from datetime import UTC, datetime
from typing import ClassVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.reporting import with_reporter
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from assurance.check import Step
from assurance.ledger_world import LATE, NOW, REFUSALS, SURVEYS, Leave, Network, Plant, Refuted, Which, World
from rrcollect import Pace
from rrcollect.answer import ledger_file
from rrcollect.errors import Expired, LedgerRestored, LedgerUnavailable, RolledBack
from tests.answer.crashing import at_line, traced

__all__ = ["Life", "lived"]

WHICH = st.tuples(st.integers(0, len(SURVEYS) - 1), st.sampled_from("abc"), st.integers(0, 1))
LINES = st.integers(1, 450) | st.integers(375, 445)  # an answer runs about 440 lines; the last of them commit it
TIMES = st.sampled_from([NOW, NOW, datetime(1990, 1, 1, tzinfo=UTC), LATE])
PATIENT = Pace(attempts=2, first_wait=0.0, longest_wait=0.0, sleep=lambda seconds: None)


class Interrupted(BaseException):
    """What stops an answer in mid-air, as Ctrl-C does."""


class Life(RuleBasedStateMachine):
    """One device, from its first start to the end of the sequence."""

    plant: ClassVar[Plant] = Plant()
    taken: ClassVar[dict[str, int]] = {}

    def __init__(self) -> None:
        super().__init__()
        self.world = World(self.plant)
        self.copy: tuple[bytes, set[object], int] | None = None
        self.newest = 1

    def teardown(self) -> None:
        shutil.rmtree(self.world.folder)

    def _done(self, step: str) -> None:
        self.taken[step] = self.taken.get(step, 0) + 1
        self.world.check()

    @rule(which=WHICH)
    def ask(self, which: Which) -> None:
        self.world.judged(which, lambda: self.world.ask(which))
        self._done("asked")

    @rule(which=WHICH, line=LINES, delivering=st.sampled_from([False, False, True]))
    def killed(self, which: Which, line: int, delivering: bool) -> None:
        """A program is gone at some line; what it had let out is out."""
        killer = at_line(line, lambda: os._exit(9))

        def work(leave: Leave) -> None:
            if delivering:
                traced(killer, lambda: self.world.client.deliver(Network(leave, 0), PATIENT))
            else:
                leave(traced(killer, lambda: self.world.ask(which)).to_bytes())

        self.world.in_child(work, None)
        self.world.client = self.world.start()
        self._done("killed while delivering" if delivering else "killed while answering")

    @rule(which=WHICH, line=LINES)
    def interrupted(self, which: Which, line: int) -> None:
        def stop() -> None:
            raise Interrupted

        with suppress(Interrupted, *REFUSALS):
            self.world.leaves(traced(at_line(line, stop), lambda: self.world.ask(which)).to_bytes())
        gc.collect(1)  # stopped in the middle of closing a connection, it is closed when it is forgotten
        self._done("interrupted")

    @rule(which=WHICH, also=WHICH, same=st.booleans(), line=LINES)
    def meanwhile(self, which: Which, also: Which, same: bool, line: int) -> None:
        """A second client answers while the first stands at some line; locked out, it gives up."""

        def second() -> None:
            patience, ledger_file.BUSY_SECONDS = ledger_file.BUSY_SECONDS, 0.0
            self.world.ticks += 1
            try:
                with suppress(LedgerUnavailable, *REFUSALS):
                    other = self.world.start(beside=True)
                    self.world.leaves(self.world.ask(which if same else also, other).to_bytes())
            finally:
                ledger_file.BUSY_SECONDS = patience

        with suppress(*REFUSALS):
            self.world.leaves(traced(at_line(line, second), lambda: self.world.ask(which)).to_bytes())
        self._done("a second client meanwhile")

    @rule(which=WHICH, together=st.booleans())
    def forked(self, which: Which, together: bool) -> None:
        """A client carried into a child; `together`: parent and child answer at the same time."""

        here = (lambda: self.world.ask(which)) if together else None
        self.world.in_child(lambda leave: leave(self.world.ask(which).to_bytes()), here)
        self.world.ticks += 1
        self.world.judged(which, lambda: self.world.ask(which))
        self._done("two processes at once" if together else "forked")

    @rule(place=st.integers(0, len(SURVEYS) - 1))
    def accept(self, place: int) -> None:
        try:
            self.world.accepted[place] = self.world.client.accept(SURVEYS[place])
        except Expired:
            if self.world.now != LATE:
                raise Refuted("a survey was called expired that is not") from None
        except RolledBack:
            if place >= self.newest - 1:
                raise Refuted("a survey was called old that is not") from None
        else:
            if place < self.newest - 1:
                raise Refuted("an older version was accepted")
            self.newest = max(self.newest, place + 1 if place < 3 else 0)
        self._done("republished")

    @rule(now=TIMES)
    def clock(self, now: datetime) -> None:
        self.world.now = now
        self._done("clock moved")

    @rule()
    def restart(self) -> None:
        self.world.client = self.world.start()
        self._done("restarted")

    @rule(lost=st.integers(0, 3))
    def deliver(self, lost: int) -> None:
        self.world.client.deliver(Network(self.world.leaves, lost), PATIENT)
        self._done("delivered")

    def _content(self) -> set[object]:
        draws, reports = self.world.rows()
        return {*draws, *reports.values()}

    @rule()
    def keep(self) -> None:
        content = self._content()  # closing the last connection leaves everything in the one file
        self.copy = self.world.ledger.read_bytes(), content, self.newest
        self._done("copied")

    @precondition(lambda self: self.copy is not None)
    @rule(which=WHICH)
    def restore(self, which: Which) -> None:
        assert self.copy is not None  # noqa: S101  the precondition
        self._probe(which, *self.copy)
        self._done("old copy restored")

    @rule(which=WHICH, what=st.sampled_from(["ledger removed", "ledger emptied", "seal removed"]))
    def remove(self, which: Which, what: str) -> None:
        if what == "seal removed":
            self.world.rows()
            self._probe(which, self.world.ledger.read_bytes(), set(), self.newest, seal=False)
        else:
            self._probe(which, None if what == "ledger removed" else b"", set(), 0)
        self._done(what)

    def _probe(self, which: Which, data: bytes | None, content: set[object], newest: int, *, seal: bool = True) -> None:
        """Ask a device whose ledger was replaced (or whose seal is gone); `newest` is the version this ledger has seen.

        If something is lost that has left the device, it must say so; if nothing is lost, it must answer; in between
        are draws that were cut off before they were sealed, and both are right.  Refused, the files are put back."""
        world = self.world
        must = bool(set(world.reports.values()) - content)
        may = bool(self._content() - content)
        files = {path: path.read_bytes() for path in (world.ledger, world.seal) if path.exists()}
        world.ledger.unlink()
        if data is not None:
            world.ledger.write_bytes(data)
        if not seal:
            world.seal.unlink(missing_ok=True)
        try:
            world.client = world.start(beside=True)
            made = world.ask(which)
        except LedgerRestored:
            if not may:
                raise Refuted("a ledger was called restored that lacks nothing") from None
            for journal in world.folder.glob("ledger.sqlite3-*"):
                journal.unlink()
            for path, kept in files.items():
                path.write_bytes(kept)
            return
        except REFUSALS:
            pass
        else:
            world.leaves(made.to_bytes())
        if must:
            raise Refuted("a ledger that had lost what left the device was used")
        self.newest = newest


def lived(
    plant: Plant, steps: int, told: Step = lambda done, total: None, *, longest: int = 50
) -> tuple[dict[str, int], str]:
    """Live so many steps, in sequences of at most `longest`; (steps taken by kind, how the claim was refuted)."""

    class Lived(Life):
        pass

    Lived.plant, Lived.taken = plant, {}
    rules = settings(
        max_examples=21,  # of which the first is always the dullest
        stateful_step_count=longest,
        database=None,
        deadline=None,
        derandomize=False,
        report_multiple_bugs=False,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    while (taken := sum(Lived.taken.values())) < steps:
        told(taken, steps)
        said: list[object] = []
        Refuted.said.clear()
        try:
            with with_reporter(said.append):
                run_state_machine_as_test(Lived, settings=rules)
        except Exception as error:
            how = f"Refuted: {Refuted.said[0]}" if Refuted.said else f"{type(error).__name__}: {error}"
            notes = "\n".join([*map(str, said), *getattr(error, "__notes__", [])])
            return Lived.taken, f"{how}\n{notes}"
    return Lived.taken, ""
