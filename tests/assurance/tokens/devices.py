"""Real devices and a real collector: stolen after they delivered, and killed at every line and every message."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import CodeType
from typing import Any
from unittest.mock import patch

from rrcollect import (
    Client,
    Policy,
    Question,
    SigningKey,
    SimulatedCollector,
    Survey,
    TokenSecret,
    TrustedPublisher,
    optimal_design,
)
from rrcollect.errors import IssuerFailed, ReportRefused, TokensRefused, TransportFailed
from server_agg import open_store
from server_agg.errors import Refusal, StoreError
from tests.assurance.check import Outcome, Step
from tests.assurance.scratch import scratch
from tests.inside.answer import ledger, ledger_tokens
from tests.inside.collect import Admission, Catalogue, Issuing, ReportOutcome, count_issued
from tests.inside.publish import input_of, new_invite, ticket_hashes, voprf
from tests.support.stopping import KILLED, Round, everywhere, killed_at_line

KEY = SigningKey.generate()
SECRET = TokenSecret.new(KEY.public)
NOW = datetime(2026, 11, 1, tzinfo=UTC)
SURVEY = Survey(
    name="s", version=1, title="S", publisher="P", collector="https://c.example.org/reports",
    expires="2100-01-01T00:00:00Z", invite_only=True, minimum=2,
    questions=[Question(id=f"q{n}", attribute=f"a{n}", text=f"Ever {n}?", design=optimal_design("ln 2"))
               for n in (1, 2)],
).with_issuer(SECRET, "https://c.example.org/tokens", window=3600)  # fmt: skip
ENVELOPE = SURVEY.publish([KEY]).envelope
TRACED = ("/rrcollect/answer/", "/rrcollect/publish/tokens.py", "/collect/issuing.py", "/assurance/tokens/devices.py")
Run = Callable[[int, Step], Outcome]


class Clock:
    """A clock that goes on when somebody sleeps."""

    def __init__(self, now: datetime = NOW) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def device(path: Path) -> Client:
    clock = Clock()
    how: dict[str, Any] = {"attributes": ["a1", "a2"], "policy": Policy([TrustedPublisher("P", [KEY.public])])}
    return Client(path, **how, clock=clock, sleep=clock.sleep, spread=0)


# ---- stolen ---------------------------------------------------------------------------------------------------------


@contextmanager
def keeping() -> Iterator[None]:
    """A ledger that erases nothing."""

    def kept(change: Any, survey: str, outputs: Any) -> None:
        for place, output in outputs.items():
            change.update("tokens", "output = ?", (output,), "survey = ? AND place = ?", (survey, place))

    with patch.object(ledger, "erase", lambda *_: None), patch.object(ledger, "keep_outputs", kept):
        yield


def stolen(small: bool, *, keep: bool = False) -> Run:
    """Devices fetch, answer and deliver; then their files are searched for whatever joins them with what issuer and
    collector have."""

    def run(piece: int, step: Step) -> Outcome:
        people, joined = (5 if small else 100), 0
        with scratch() as folder:
            there = SimulatedCollector([SURVEY], secrets={SURVEY.digest: SECRET})
            for person in range(people):
                path = folder / f"{person}.sqlite3"
                if keep:
                    with keeping():
                        _answered(path, there)
                else:
                    _answered(path, there)
                step(person, people)
            for person in range(people):
                joined += _joins(folder, f"{person}.sqlite3", there)
        figures = {"ledgers": people, "reports": len(there.reports), "reports found by a ledger": joined}
        return Outcome(joined == 0 and len(there.reports) == 2 * people, figures)

    return run


def _answered(path: Path, there: SimulatedCollector) -> None:
    one = device(path)
    accepted = one.accept(ENVELOPE)
    one.fetch_tokens(accepted, new_invite(), there)
    for asked in ("q1", "q2"):
        one.answer(accepted, asked, True)
    one.deliver(there, within=2 * 3600)


def _joins(folder: Path, name: str, there: SimulatedCollector) -> int:
    """How many reports these files tell to be theirs."""
    files = b"".join(path.read_bytes() for path in folder.glob(f"{name}*"))
    with closing(sqlite3.connect(folder / name)) as connection:
        held = {blob for row in connection.execute("SELECT nonce, blind, output FROM tokens") for blob in row if blob}
    elements = {element for request in there.issued.values() for element in request.elements}
    found = 0
    for report in there.reports.values():
        nonce = bytes.fromhex((report.ticket or "")[:64])
        given = input_of(report.survey, f"{report.question}/0", nonce)
        blinds = [blob for blob in held if len(blob) == 32 and any(blob)]
        known = any(part in files for part in (report.id.encode(), nonce, nonce.hex().encode()))
        found += known or any(_blinded(given, blind) in elements for blind in blinds)
    return found


def _blinded(given: bytes, blind: bytes) -> bytes:
    try:
        return voprf.blinded(given, blind)
    except ValueError:
        return b""


# ---- killed ---------------------------------------------------------------------------------------------------------


class Here:
    """A collector with its store in a folder, in this process, reached without a network."""

    def __init__(self, folder: Path) -> None:
        self.store = open_store(folder / "store.sqlite3")
        self.catalogue = Catalogue(self.store.shelf)
        self.catalogue.publish(ENVELOPE, [KEY.public.raw.hex()])
        self.issuing = Issuing(self.store.epochs, self.catalogue.find)
        how: dict[str, Any] = {"grace": timedelta(days=7), "list_limit": 1, "tokens": self.issuing.check}
        self.admission = Admission(self.catalogue.find, **how)

    def ask(self, issuer: str, body: bytes, longest: int) -> bytes:
        try:
            reply = self.issuing.issue(body)
        except Refusal as refusal:
            raise TokensRefused(refusal.code) from None
        except StoreError as error:
            raise IssuerFailed(str(error)) from None
        return reply

    def send(self, destination: str, body: bytes) -> None:
        try:
            (outcome,) = self.store.take(self.admission.admit(body))
        except Refusal as refusal:
            raise ReportRefused(refusal.code) from None
        except StoreError as error:
            raise TransportFailed(str(error)) from None
        if outcome not in (ReportOutcome.NEW, ReportOutcome.SAME):
            raise ReportRefused(outcome.value)


def _flow(folder: Path, invite: str) -> bytes:
    here = Here(folder)
    one = device(folder / "ledger.sqlite3")
    accepted = one.accept(ENVELOPE)
    one.fetch_tokens(accepted, invite, here)
    one.answer(accepted, "q1", True)
    one.deliver(here, within=2 * 3600)
    here.store.disconnect()
    return b""


@contextmanager
def forgetting() -> Iterator[None]:
    """A ledger that draws nonce and blind anew at every request."""
    real = ledger_tokens.begun

    def begun(change: Any, survey: str, *rest: Any) -> Any:
        change.delete("tokens", "survey = ? AND blind IS NOT NULL", (survey,))
        return real(change, survey, *rest)

    with patch.object(ledger, "begun", begun):
        yield


def _inside(code: CodeType) -> bool:
    return any(part in code.co_filename for part in TRACED)


def _begun(folder: Path) -> str:
    """A store with the survey, its secret and an invite."""
    invite = new_invite()
    here = Here(folder)
    here.store.keep_secret(SURVEY, SECRET)
    here.store.shelf.add_invites(SURVEY.digest, ticket_hashes([invite], SURVEY))
    here.store.disconnect()
    return invite


def killed(small: bool, *, forgetful: bool = False) -> Run:
    """Kill device and issuer at a line, let both go on, and count: one person served, one report, none lost."""

    def run(piece: int, step: Step) -> Outcome:
        def play(line: int) -> Round:
            with scratch() as folder:
                invite = _begun(folder)

                def work(where: Path) -> Callable[[], bytes]:
                    return lambda: _flow(where, invite)

                status = killed_at_line(line, folder, work, _inside).status
                assert status in (0, KILLED), status
                served, kept = _gone_on(folder, invite)
                step(line, line + 1)
                found[served > 1 or kept > 1, kept < 1] += 1
                return Round(status == KILLED, "kills")

        found: Counter[tuple[bool, bool]] = Counter()
        with forgetting() if forgetful else _as_it_is():
            stops, _ = everywhere(play, stride=151 if small else 1)
        second = sum(n for (twice, _), n in found.items() if twice)
        lost = sum(n for (_, gone), n in found.items() if gone)
        figures = {"kills": stops["kills"], "second tokens": second, "lost answers": lost}
        return Outcome(stops["kills"] > 10 and second == 0 and lost == 0, figures)

    return run


@contextmanager
def _as_it_is() -> Iterator[None]:
    yield


def _gone_on(folder: Path, invite: str) -> tuple[int, int]:
    """How many people were served, and how many reports are there, after everything was done again."""
    with suppress(TokensRefused):
        _flow(folder, invite)
    with open_store(folder / "store.sqlite3") as store:
        kept = int(store.tallies().n) + len(store.epochs.waiting())
        return count_issued(store.database, SURVEY.digest), kept
