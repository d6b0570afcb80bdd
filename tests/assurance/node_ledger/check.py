"""Check 11: the ledger of a Node program keeps one attribute to one draw, whatever happens to the program."""

from __future__ import annotations

from collections.abc import Callable

from tests.assurance.check import FULL, Check, Outcome, Part, Size, Step, caught
from tests.assurance.scratch import scratch
from tests.support.node_ledgers import WRITES, filled, killed_at_calls, raced, searched

Run = Callable[[int, Step], Outcome]
LOST = "second or lost draws"


def _search(search: str, **given: object) -> Run:
    """A search inside one process; a life gets another seed in every piece."""

    def run(piece: int, step: Step) -> Outcome:
        counts, fault = searched(search, **{**given, "seed": 1 + piece})
        return Outcome(not fault, {"disturbances": sum(counts.values()), LOST: int(bool(fault)), **counts}, fault)

    return run


def _raced(processes: int, races: int, ledger: str = "FileLedger") -> Run:
    def run(piece: int, step: Step) -> Outcome:
        faults: list[str] = []
        for number in range(races):
            step(number, races)
            with scratch() as folder:
                faults += raced(folder, processes, ledger).faults
        figures = {"races": races, "processes in all": races * processes, LOST: len(faults)}
        return Outcome(not faults, figures, "; ".join(faults[:3]))

    return run


def _killed(calls: tuple[str, ...], pieces: int) -> Run:
    """The pieces share the calls between them."""

    def run(piece: int, step: Step) -> Outcome:
        with scratch() as folder:
            counts, fault = killed_at_calls(folder, calls, 1 + piece, pieces, step)
        return Outcome(not fault, {**counts, LOST: int(bool(fault))}, fault)

    return run


def _filled(limits: range, ledger: str = "FileLedger") -> Run:
    def run(piece: int, step: Step) -> Outcome:
        with scratch() as folder:
            counts, fault = filled(folder, limits, ledger)
        return Outcome(not fault, {**counts, LOST: int(bool(fault))}, fault)

    return run


def parts(size: Size) -> list[Part]:
    """At full size every call of every scene, 40,000 steps of life, every system call, and 10 races of 64 processes."""
    full = size is FULL
    stride, pieces = (1, 4) if full else (3, 1)

    def planted(name: str, search: str, ledger: str, most: int = 4000) -> Part:
        return Part(name, caught(_search(search, ledger=ledger, steps=most)), planted=True)

    return [
        Part("killed at every call to the disk", _search("kills", stride=stride)),
        planted("a swap in two steps", "kills", "TwoSteps"),
        Part("the disk fails, or is full, at every call", _search("faults", stride=stride)),
        planted("a write that was cut off passes for a whole one", "faults", "Trusting"),
        Part("the power is cut at every call", _search("cuts", stride=stride)),
        planted("handed out before it is flushed", "cuts", "Unflushed"),
        planted("named before it is flushed", "cuts", "Volatile"),
        Part("other programs run at every call", _search("meanwhile", stride=1 if full else 29)),
        planted("a swap without a comparison", "meanwhile", "Overwriting"),
        Part("a life of steps in any order", _search("lives", steps=10_000 if full else 1000), pieces),
        planted("an old copy is used", "lives", "Unguarded"),
        Part("killed at every system call that writes", _killed(WRITES if full else WRITES[:1], pieces), pieces),
        Part("64 processes race" if full else "processes race", _raced(64 if full else 10, 10 if full else 1)),
        Part("processes race on the ledger as it was", caught(_raced(10, 1, "OldFileLedger")), planted=True),
        Part("a full disk", _filled(range(0, 20_000, 128 if full else 4096))),
        Part("a full disk and the ledger as it was", caught(_filled(range(8192, 8193), "OldFileLedger")), planted=True),
    ]


CHECK = Check(
    11,
    "node_ledger",
    "One attribute, one draw, in Node",
    "Killed, raced, reached by symbolic links and from other folders, on a disk that fails, is full or loses power, "
    "with its ledger restored from an old copy or its rollback guard removed: a Node program never draws twice for an "
    "attribute, and what it handed out is in its ledger. (Restoring the ledger and its rollback guard together cannot "
    "be seen.)",
    (
        "rrcollect/web/src",
        "tests/assurance/node_ledger/device.mjs",
        "tests/assurance/node_ledger/disturbed.mjs",
        "tests/assurance/node_ledger/planted.mjs",
        "tests/assurance/node_ledger/search.mjs",
        "tests/support/node_ledgers.py",
    ),
    parts,
    "file systems of Linux only; power cuts are imitated above them: names are lost until their folder is flushed, and "
    "bytes until their file is.",
    alone=False,
)
