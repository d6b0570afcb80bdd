"""Check 5: the ledger keeps one attribute to one draw, whatever happens to the device."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis.reporting import with_reporter
from hypothesis.stateful import run_state_machine_as_test

from rrcollect import Client
from tests.assurance.check import FULL, Check, Outcome, Part, Size, Step, caught
from tests.assurance.ledger.machine import Life
from tests.assurance.ledger.moments import PHASES
from tests.assurance.ledger.planted import PLANTED
from tests.assurance.ledger.world import Plant, Refuted
from tests.assurance.scratch import scratch
from tests.support.devices import client
from tests.support.ledger_crashing import (
    CALLS,
    SCENES,
    answered,
    answers_stopped,
    device,
    killed_at_call,
    one_by_one,
    reservation_stopped,
    reserving,
    rows,
    without_space,
)
from tests.support.republishing import attack
from tests.support.stopping import Work, race


def lived(
    plant: Plant, steps: int, told: Step = lambda done, total: None, *, longest: int = 50, lives: int = 21
) -> tuple[dict[str, int], dict[str, int], str]:
    """Live so many steps, in sequences of at most `longest`, of which `lives` are made with one start of the machine.

    Returns the steps taken by kind, the answers disturbed by phase, and how the claim was refuted ("" if it was not).
    """

    class Lived(Life):
        pass

    Lived.plant, Lived.taken, Lived.fallen = plant, {}, {}
    rules = settings(
        max_examples=lives,  # of which the first is always the dullest
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
            return Lived.taken, Lived.fallen, f"{how}\n{notes}"
    return Lived.taken, Lived.fallen, ""


def _one_life(steps: int) -> tuple[dict[str, int], dict[str, int], str]:
    return lived(Plant(), steps)


def _life(steps: int, workers: int, *, everywhere: bool) -> Callable[[int, Step], Outcome]:
    """Lives of that many steps in all; several workers wait for several children at a time.

    `everywhere`: fails if there was a phase of an answer in which none was disturbed."""

    def run(piece: int, step: Step) -> Outcome:
        if workers == 1:
            lives = [lived(Plant(), steps, step, lives=5)]
        else:
            with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
                lives = list(pool.map(_one_life, [steps // workers] * workers))
        taken = sum((Counter(found) for found, _, _ in lives), Counter[str]())
        fallen = sum((Counter(found) for _, found, _ in lives), Counter[str]())
        fault = next((fault for _, _, fault in lives if fault), "")
        counts = {f"of these, {kind}": number for kind, number in sorted(taken.items())}
        counts |= {f"answers disturbed {phase}": fallen[phase] for phase in PHASES}
        missed = [f"no answer was disturbed {phase}" for phase in PHASES if everywhere and not fallen[phase]]
        figures = {"steps": taken.total(), "second draws": int(bool(fault)), **counts}
        return Outcome(not fault and not missed, figures, fault or "; ".join(missed))

    return run


def _planted(plant: type[Plant], most: int) -> Callable[[int, Step], Outcome]:
    def run(piece: int, step: Step) -> Outcome:
        # Found after some hundred steps on average.  The rarest, a guard left behind, took 880 steps on average over 21
        # runs, with the tail of an exponential law; the longest of 33 took 3,889.  To miss it in 40,000 steps has a
        # chance of 2e-20, and of 1.4e-10 even if the average were twice as much.
        taken, _, fault = lived(plant(), most, step, longest=25)
        said = fault.partition("\n")[0]
        caught = said.startswith("Refuted")
        return Outcome(
            caught, {"steps until it was found": sum(taken.values())}, said if caught else f"not found {said}"
        )

    return run


def _kills(
    stride: int, pieces: int, open_again: Callable[[Path], object] = lambda p: None, planted: bool = False
) -> Part:
    """Every stride-th line of each scene; the pieces share the lines between them."""

    def run(piece: int, step: Step) -> Outcome:
        counts, faults = Counter[str](), []
        for number, scene in enumerate(SCENES):
            step(number, len(SCENES))
            with scratch() as folder:
                found, fault = answers_stopped(
                    folder, scene, stride=stride * pieces, first=1 + piece * stride, open_again=open_again
                )
            counts += found
            faults += [f"{scene}: {fault}"] * bool(fault)
        if planted:
            return Outcome(bool(faults), {"kills until it was found": counts.total()}, "; ".join(faults))
        figures = {"kills": counts.total(), **counts, "second draws or reports": len(faults)}
        return Outcome(not faults, figures, "; ".join(faults))

    return Part("killed after sending, ledger lost" if planted else "killed at every line", run, pieces, planted)


def _reservations(work: Work = reserving, stride: int = 1) -> Callable[[int, Step], Outcome]:
    def run(piece: int, step: Step) -> Outcome:
        with scratch() as folder:
            counts, fault = reservation_stopped(folder, stride=stride, work=work)
        return Outcome(not fault, {**counts, "reserved in part": int(bool(fault))}, fault)

    return run


def _calls(
    names: Sequence[str], scenes: Sequence[str] = tuple(SCENES), open_again: Callable[[Path], object] = lambda p: None
) -> Callable[[int, Step], Outcome]:
    """Answers and a reservation, killed at every call of one name: each piece has its own."""

    def run(piece: int, step: Step) -> Outcome:
        stop = killed_at_call(names[piece])
        counts, faults = Counter[str](), []
        for number, scene in enumerate(scenes):
            step(number, len(scenes) + 1)
            with scratch() as folder:
                found, fault = answers_stopped(folder, scene, open_again=open_again, stop=stop)
            counts["kills of an answer"] += found.total()
            faults += [f"{scene}: {fault}"] * bool(fault)
        with scratch() as folder:
            found, fault = reservation_stopped(folder, stop=stop)
        counts["kills of a reservation"] += found.total()
        faults += [f"a reservation: {fault}"] * bool(fault)
        said = "; ".join(f"{names[piece]}: {fault}" for fault in faults)
        enough = all(counts.values())
        figures = {**counts, "second draws, or reserved in part": len(faults)}
        return Outcome(not faults and enough, figures, said or ("" if enough else f"{names[piece]} is not called"))

    return run


def _full_disk(
    step_of_limit: int, open_again: Callable[[Path], object] = lambda p: None
) -> Callable[[int, Step], Outcome]:
    """Files that cannot grow beyond 1 byte, 1 + step, … bytes, until an answer fits."""

    def run(piece: int, step: Step) -> Outcome:
        refused, faults = 0, []
        for number, scene in enumerate(SCENES):
            step(number, len(SCENES))
            with scratch() as folder:
                found, fault = answers_stopped(
                    folder, scene, stride=step_of_limit, open_again=open_again, stop=without_space
                )
            refused += found.total()
            faults += [f"{scene}: {fault}"] * bool(fault)
        figures = {"answers for which there was no space": refused, "second or lost draws": len(faults)}
        return Outcome(not faults and refused > 0, figures, "; ".join(faults))

    return run


def _race(processes: int, make: Callable[[Path], Client], *, fresh: bool) -> tuple[int, int]:
    """(different reports, draws) after that many processes answered one question at once."""
    with scratch() as root:
        folder = root / "device"  # links to it lie beside it
        folder.mkdir()
        if not fresh:
            device(folder)
        returned = race(processes, lambda number: answered(make(folder), number % 2 == 0))
        return len(set(returned)), len(rows(folder, "draws")) if (folder / "ledger.sqlite3").exists() else processes


def _by_any_name(folder: Path) -> Client:
    """The device of a folder, which is reached by its name or by one of four symbolic links."""
    link = folder.with_name(f"{folder.name}-{os.getpid() % 5}")
    if os.getpid() % 5 == 0:
        return device(folder)
    with suppress(FileExistsError):
        link.symlink_to(folder)
    return device(link)


def _races(processes: int, races: int) -> Callable[[int, Step], Outcome]:
    def run(piece: int, step: Step) -> Outcome:
        bad = 0
        for number in range(races):
            step(number, races)
            bad += _race(processes, _by_any_name, fresh=number % 2 == 0) != (1, 1)
        figures = {"races": races, "processes in all": races * processes, "second draws or reports": bad}
        return Outcome(bad == 0, figures)

    return run


def _republished(times: int) -> Callable[[int, Step], Outcome]:
    def run(piece: int, step: Step) -> Outcome:
        with scratch() as folder:
            drawn = attack(folder, client, times)
        return Outcome(drawn == 1, {"surveys that ask the same": times, "draws": drawn})

    return run


def _own_ledger(path: Path) -> Client:
    own = path / str(os.getpid())
    own.mkdir()
    return device(own)


def _split(piece: int, step: Step) -> Outcome:
    different, _ = _race(8, _own_ledger, fresh=True)
    return Outcome(different > 1, {"different reports by 8 processes": different})


def _lose(folder: Path) -> None:
    for file in folder.glob("ledger.sqlite3*"):
        file.unlink()


def parts(size: Size) -> list[Part]:
    """At full size 4 pieces of 10,000 steps, every line of every scene, and 20 races of 64 processes."""
    full = size is FULL
    calls, scenes = (CALLS, list(SCENES)) if full else (("fsync",), list(SCENES)[:1])
    return [
        Part(
            "a life of steps in any order",
            _life(10_000 if full else 200, 5 if full else 1, everywhere=full),  # 200 steps may miss a phase by chance
            pieces=4 if full else 1,
        ),
        *[Part(name, _planted(plant, 40_000), planted=True) for name, plant in PLANTED.items()],
        _kills(1 if full else 40, 4 if full else 1),
        _kills(10 if full else 40, 1, _lose, planted=True),
        *([Part("a reservation of many killed at every line", _reservations())] if full else []),
        Part("a reservation of many in several transactions", caught(_reservations(one_by_one, 9)), planted=True),
        Part("killed at every system call that writes", _calls(calls, scenes), len(calls)),
        Part("killed at a system call, ledger lost", caught(_calls(("fsync",), scenes[:1], _lose)), planted=True),
        Part("a full disk", _full_disk(499 if full else 9_999)),
        Part("a full disk, ledger lost", caught(_full_disk(9_999, _lose)), planted=True),
        Part("republished again and again", _republished(1000 if full else 30)),
        Part("64 processes race" if full else "processes race", _races(64 if full else 16, 20 if full else 2)),
        Part("processes race, each with a ledger of its own", _split, planted=True),
    ]


CHECK = Check(
    5,
    "ledger",
    "One attribute, one draw",
    "Asked again, republished, killed at a line or inside a write, interrupted, forked, raced by several names, on a "
    "full disk, with its clock moved, its ledger restored from an old copy or removed: a device never draws twice for "
    "an attribute and round, never lets out two different reports for a question, and never spends more than its "
    "budget; and whatever an old copy lacks, it is refused. (Restoring the ledger and its rollback guard together "
    "cannot be seen.) Of people who are reserved together in bulk all are, or nobody.",
    (
        "tests/assurance/ledger/machine.py",
        "tests/assurance/ledger/moments.py",
        "tests/assurance/ledger/planted.py",
        "tests/assurance/ledger/world.py",
        "tests/support/ledger_crashing.py",
        "tests/support/stopping.py",
        "rrcollect/answer/ledger/bulk.py",
        "rrcollect/answer/client.py",
        "rrcollect/answer/ledger/ledger.py",
        "rrcollect/answer/ledger/file.py",
        "rrcollect/answer/ledger/guard.py",
        "rrcollect/deliver/outbox.py",
        "rrcollect/design",
        "rrcollect/publish",
        "tests/support/devices.py",
        "tests/support/republishing.py",
    ),
    parts,
    "one device at a time; whoever can write to the person's files can restore all of them together.",
    alone=False,
)
