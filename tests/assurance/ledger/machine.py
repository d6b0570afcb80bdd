"""All that can happen to a device, in any order, as a hypothesis state machine over `ledger_world`.

Steps: ask; ask or deliver while killed at some moment; ask while interrupted at some moment, or while a second client
answers at some moment (see `ledger_moments`); ask in a fork, alone or against its parent; accept a survey or another
version of it; move the clock; keep a copy of the ledger; restore it, or remove or empty the ledger, or remove its
rollback guard; deliver over a network that loses replies; restart; the next release of the app, in which an attribute
has another name, or the alias is dropped; ask by another path to the files, also while the first client answers; ask
in words that were answered, disguised, about another attribute.

In addition to the rules of `ledger_world`: a ledger that lacks a report which left the device (with its draw), one that
is older than the last state in its rollback guard, and one without a guard is refused (`LedgerRestored`); put back, it
is used again.  A copy that lacks nothing but a change which was cut off before it was guarded may be used.
"""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import wraps
from typing import ClassVar, Concatenate, ParamSpec

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from rrcollect.errors import (
    Expired,
    LedgerCorrupt,
    LedgerError,
    LedgerRestored,
    LedgerUnavailable,
    NotDrawn,
    RolledBack,
)
from tests.assurance.ledger.moments import AROUND, MOMENTS, PHASES, THEN, Around, Moment, disturbed
from tests.assurance.ledger.world import (
    DISGUISES,
    GONE,
    LATE,
    NOW,
    REFUSALS,
    RELEASES,
    SURVEYS,
    Leave,
    Network,
    Plant,
    Refuted,
    Which,
    World,
)
from tests.inside.answer import file as ledger_file

WHICH = st.tuples(st.integers(0, len(SURVEYS) - 1), st.sampled_from("abc"), st.integers(0, 1))
TIMES = st.sampled_from([NOW, NOW, datetime(1990, 1, 1, tzinfo=UTC), LATE])


class Interrupted(BaseException):
    """What stops an answer in mid-air, as Ctrl-C does."""


P = ParamSpec("P")


def on_a_good_ledger(step: Callable[Concatenate[Life, P], None]) -> Callable[Concatenate[Life, P], None]:
    """A step of a life: what `_probe` replaced it has put back, so whoever calls the ledger restored or damaged
    is wrong, and so is whoever does not know a round that was drawn when its survey was accepted.

    Said here, where it happens: a life that is lived again may go another way, and then another error is told."""

    @wraps(step)
    def judged(life: Life, /, *given: P.args, **named: P.kwargs) -> None:
        try:
            step(life, *given, **named)
        except (LedgerCorrupt, LedgerRestored) as error:
            raise Refuted(f"a good ledger was refused: {error}") from None
        except NotDrawn as error:
            raise Refuted(f"what an accepted survey drew was forgotten: {error}") from None

    return judged


class Life(RuleBasedStateMachine):
    """One device, from its first start to the end of the sequence."""

    plant: ClassVar[Plant] = Plant()
    taken: ClassVar[dict[str, int]] = {}
    fallen: ClassVar[dict[str, int]] = {}

    def __init__(self) -> None:
        super().__init__()
        self.world = World(self.plant)
        self.copy: tuple[bytes, set[object], int, int] | None = None
        self.newest = 1

    def teardown(self) -> None:
        shutil.rmtree(self.world.folder)

    def _done(self, step: str) -> None:
        self.taken[step] = self.taken.get(step, 0) + 1
        self.world.check()

    def _before(self, which: Which, around: Around) -> Which:
        if around.kept:
            self._keep()
        return self.world.unasked(which) if around.fresh else which

    def _after(self, asked: Which, around: Around) -> None:
        if around.then != "nothing":
            self.world.judged(asked, lambda: self.world.ask(asked))
        if around.then == THEN[2] and self.copy is not None:
            self._probe(asked, *self.copy)

    def _fell(self, phase: int) -> None:
        """An answer was disturbed."""
        self.fallen[PHASES[phase]] = self.fallen.get(PHASES[phase], 0) + 1

    @rule(which=WHICH)
    @on_a_good_ledger
    def ask(self, which: Which) -> None:
        self.world.judged(which, lambda: self.world.ask(which))
        self._done("asked")

    @rule(which=WHICH, around=AROUND, moment=MOMENTS, delivering=st.sampled_from([False, False, True]))
    @on_a_good_ledger
    def killed(self, which: Which, around: Around, moment: Moment, delivering: bool) -> None:
        """A program is gone at some moment; what it had let out is out."""
        asked = self._before(which, around)

        def gone(phase: int) -> None:
            os._exit(GONE[phase])

        def work(leave: Leave) -> None:
            if delivering:
                disturbed(moment, gone, lambda: self.world.client.deliver(Network(leave, 0)))
            else:
                leave(disturbed(moment, gone, lambda: self.world.ask(asked)).to_bytes())

        status = self.world.in_child(work, None)
        if status in GONE and not delivering:
            self._fell(GONE.index(status))
        self.world.client = self.world.start()
        self._after(asked, around)
        self._done("killed while delivering" if delivering else "killed while answering")

    @rule(which=WHICH, around=AROUND, moment=MOMENTS)
    @on_a_good_ledger
    def interrupted(self, which: Which, around: Around, moment: Moment) -> None:
        asked = self._before(which, around)

        def stop(phase: int) -> None:
            self._fell(phase)
            raise Interrupted

        with suppress(Interrupted, *REFUSALS):
            self.world.leaves(disturbed(moment, stop, lambda: self.world.ask(asked)).to_bytes())
        self._forget_connections()
        self._after(asked, around)
        self._done("interrupted")

    def _forget_connections(self) -> None:
        """A connection that was stopped in the middle of closing is closed when it is forgotten, and its log with it.

        Open, it would give its log to a ledger that is put in the place of this one."""
        gc.collect(1)
        if self.world.ledger.with_name("ledger.sqlite3-wal").exists():
            gc.collect()  # the collector of garbage had called it old

    @rule(which=WHICH, also=st.none() | WHICH, around=AROUND, moment=MOMENTS, linked=st.booleans())
    @on_a_good_ledger
    def meanwhile(self, which: Which, also: Which | None, around: Around, moment: Moment, linked: bool) -> None:
        """A second client, perhaps by another path, answers while the first stands at some moment; locked out, it gives
        up, and by another path also if it sees what is half done."""
        asked = self._before(which, around)
        path, refusals = (self.world.linked(), LedgerError) if linked else (None, LedgerUnavailable)

        def second(phase: int) -> None:
            self._fell(phase)
            patience, ledger_file.BUSY_SECONDS = ledger_file.BUSY_SECONDS, 0.0
            self.world.ticks += 1
            try:
                with suppress(refusals, *REFUSALS):
                    other = self.world.start(beside=True, at=path)
                    self.world.leaves(self.world.ask(also or asked, other).to_bytes())
            finally:
                ledger_file.BUSY_SECONDS = patience

        with suppress(*REFUSALS):
            self.world.leaves(disturbed(moment, second, lambda: self.world.ask(asked)).to_bytes())
        self._after(asked, around)
        self._done("a second client meanwhile")

    @rule(which=WHICH)
    @on_a_good_ledger
    def by_another_path(self, which: Which) -> None:
        other = self.world.start(beside=True, at=self.world.linked())
        self.world.judged(which, lambda: self.world.ask(which, other))
        self.world.judged(which, lambda: self.world.ask(which))
        self._done("asked by another path")

    @precondition(lambda self: self.world.used or not RELEASES[self.world.release].aliases)
    @rule()
    @on_a_good_ledger
    def app_release(self) -> None:
        """The app's next release; an alias is dropped only when it was used."""
        self.world.release = (self.world.release + 1) % len(RELEASES)
        self.world.used = False
        self.world.client = self.world.start()
        self._done("another release of the app")

    @precondition(lambda self: self.world.now != LATE)
    @rule(which=st.integers(0, 50), how=st.integers(0, len(DISGUISES) - 1))
    @on_a_good_ledger
    def disguised(self, which: int, how: int) -> None:
        self.world.disguised(which, how)
        self._done("asked in disguise")

    @rule(which=WHICH, together=st.booleans())
    @on_a_good_ledger
    def forked(self, which: Which, together: bool) -> None:
        """A client carried into a child; `together`: parent and child answer at the same time."""

        here = (lambda: self.world.ask(which)) if together else None
        self.world.in_child(lambda leave: leave(self.world.ask(which).to_bytes()), here)
        self.world.ticks += 1
        self.world.judged(which, lambda: self.world.ask(which))
        self._done("two processes at once" if together else "forked")

    @rule(place=st.integers(0, len(SURVEYS) - 1))
    @on_a_good_ledger
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
    @on_a_good_ledger
    def clock(self, now: datetime) -> None:
        self.world.now = now
        self._done("clock moved")

    @rule()
    @on_a_good_ledger
    def restart(self) -> None:
        self.world.client = self.world.start()
        self._done("restarted")

    @rule(lost=st.integers(0, 3))
    @on_a_good_ledger
    def deliver(self, lost: int) -> None:
        self.world.client.deliver(Network(self.world.leaves, lost))
        self._done("delivered")

    def _content(self) -> set[object]:
        """Every row of the ledger, and the bodies of its reports."""
        return {*self.world.everything(), *self.world.rows()[1].values()}

    def _keep(self) -> None:
        content = self._content()  # closing the last connection leaves everything in the one file
        self.copy = self.world.ledger.read_bytes(), content, self.newest, self.world.serial()

    @rule()
    @on_a_good_ledger
    def keep(self) -> None:
        self._keep()
        self._done("copied")

    @precondition(lambda self: self.copy is not None)
    @rule(which=WHICH)
    @on_a_good_ledger
    def restore(self, which: Which) -> None:
        assert self.copy is not None
        self._probe(which, *self.copy)
        self._done("old copy restored")

    @rule(which=WHICH, what=st.sampled_from(["ledger removed", "ledger emptied", "guard removed"]))
    @on_a_good_ledger
    def remove(self, which: Which, what: str) -> None:
        if what == "guard removed":
            self.world.rows()
            self._probe(which, self.world.ledger.read_bytes(), set(), self.newest, 0, guard=False)
        else:
            self._probe(which, None if what == "ledger removed" else b"", set(), 0, -1)
        self._done(what)

    def _probe(
        self, which: Which, data: bytes | None, content: set[object], newest: int, serial: int, *, guard: bool = True
    ) -> None:
        """Ask a device whose ledger was replaced (or whose guard is gone); `newest`: the version this ledger has seen;
        `serial`: the number of its last change.

        If something is lost that has left the device or was guarded, or the guard is, it must say so; if nothing is
        lost, it must answer; in between are changes that were cut off before they were guarded, and both are right.
        Refused, the files are put back."""
        world = self.world
        must = not guard or serial < world.guarded() or bool(set(world.reports.values()) - content)
        may = not guard or self._content() != content
        files = {path: path.read_bytes() for path in (world.ledger, world.guard) if path.exists()}
        world.ledger.unlink()
        if data is not None:
            world.ledger.write_bytes(data)
        if not guard:
            world.guard.unlink(missing_ok=True)
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
            raise Refuted("a ledger that had lost what left the device, or what was guarded, was used")
        self.newest = newest
