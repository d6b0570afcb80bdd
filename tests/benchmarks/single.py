"""One answer per call, against the peers, and the whole of an answer by the client, in Python and in Node.

Run: python -m tests.benchmarks.single
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from rrcollect import Client, Policy, PublicKey, TrustedPublisher, optimal_design, randomise
from tests.benchmarks.cold import publish
from tests.benchmarks.measure import Contestants, Timing, interleave, timing_of
from tests.benchmarks.peers import MAKERS, PACKAGES, one_at_a_time, versions
from tests.benchmarks.report import show
from tests.benchmarks.section import FULL, Effort, Section, compare, durations

DESIGN = optimal_design(1)
OURS, WHOLE = "randomise", "Client.answer"
IN_NODE = {"draw": "Node, randomise", "memory": "Node, answer, memory", "file": "Node, answer, files"}
FLOORS: dict[str, float] = {"OpenDP": 10, "a secrets loop": 0.6}
ANSWERS = 8  # by the client, per repetition


def section(effort: Effort = FULL) -> Section:
    calls = effort.size(3000)
    truths = [i % 3 == 0 for i in range(calls)]
    contestants: Contestants = {OURS: (calls, lambda: [randomise(t, DESIGN) for t in truths])}
    with first_answers(effort.repetitions) as answer:
        contestants |= {WHOLE: (ANSWERS, answer), **one_at_a_time(DESIGN, 1.0, calls)}
        timings = interleave(contestants, effort.repetitions, clock=time.process_time)
    timings |= in_node(effort.repetitions)
    pairs = {(OURS, name): FLOORS.get(name) for name in MAKERS} | {(WHOLE, OURS): None}
    pairs |= {(IN_NODE[ledger], IN_NODE["draw"]): None for ledger in ("memory", "file")}
    return Section(
        name="single",
        title="One answer per call",
        text="One truth in, one answer out, in a loop; ε = 1. `randomise` checks the truth and the design at every "
        "call, asks the operating system for 8 bytes and is exact. The `secrets` loop is the same draw without "
        "any check. pure-LDP and multi-freq-ldpy use generators that are not secure, and floats. `Client.answer` is "
        "the whole of a first answer: trust and policy judged, one durable transaction of a ledger that is opened and "
        "verified for it, the rollback guard; the processor's time, without the disk's. In Node the same with a ledger "
        "in memory and with one of files.",
        unit="µs per answer",
        rows=durations(timings, 1e6),
        ratios=compare(timings, pairs),
        notes=[f"Versions: {versions()}."]
        + [f"{name} could not be imported." for name in PACKAGES if name not in timings],
    )


def in_node(repetitions: int) -> dict[str, Timing]:
    """The draw alone and whole first answers of the JavaScript client, by the processor's time."""
    with tempfile.TemporaryDirectory() as name:
        publish(Path(name))
        key = PublicKey.from_pem((Path(name) / "key.pub").read_bytes()).raw.hex()
        given = {"folder": name, "publisher": "Example", "key": key, "repetitions": repetitions}
        program = ["node", str(Path(__file__).with_name("client.mjs")), json.dumps(given)]
        done = subprocess.run(program, capture_output=True, text=True, check=True)
    return {IN_NODE[what]: timing_of(IN_NODE[what], seen) for what, seen in json.loads(done.stdout).items()}


@contextmanager
def first_answers(repetitions: int) -> Iterator[Callable[[], object]]:
    """A function that gives some first answers, each by a device of its own; to be called so many times."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        publish(folder)
        key, envelope = PublicKey.from_pem((folder / "key.pub").read_bytes()), (folder / "survey.json").read_bytes()
        policy = Policy([TrustedPublisher("Example", [key])])
        devices = [Client(folder / str(n), attributes=["doped"], policy=policy) for n in range(ANSWERS * repetitions)]
        ready = iter([(device, device.accept(envelope)) for device in devices])
        yield lambda: [device.answer(survey, "q1", True) for device, survey in islice(ready, ANSWERS)]


if __name__ == "__main__":
    show(section())
