"""What can be inferred about the truth from what leaves the device?  A black-box audit of the client, and of peers.

Everything goes through the client, in Python and in Node, as an app uses it: a signed survey is accepted, a question is
answered through the ledger, the report's bytes are read.  Ten rounds of a question share a ledger, in Python on a file
system in memory where there is one; every round is a draw of its own, and the policy's budgets are raised accordingly.
Then `epsilon_audit` says how large ε must be at least.  Each bound printed holds at 99.9 % by itself (the largest of
four pieces does not; the one of all pieces together does).  A claim is refuted beyond a doubt of 1e-10 only, which is
the false-alarm rate of a piece: 1e-9 for the ten that the tests run, 2e-9 for all of them.

What is judged is the answer in the report; that nothing else in it depends on the truth is the check `traces`.

Memory.  The same person is asked again and again, and the observer takes the majority.  The ledger makes that worth one
report.  A client without memory gives itself away, and so do clients called longitudinal that draw afresh in each call.
"""

from __future__ import annotations

import base64
import json
import math
import multiprocessing
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import SystemRandom
from typing import Any

from rrcollect import Attribute, Choice, Client, Design, Number, Policy, Report, SetDesign, TrustedPublisher
from tests.assurance.audit.epsilon_audit import Count, epsilon_at_least, refuted
from tests.assurance.audit.peers import PEERS, about_peers, table_row
from tests.assurance.check import FULL, Check, Figure, Outcome, Part, Size, Step, caught
from tests.assurance.evidence import RESULTS, Evidence
from tests.assurance.scratch import scratch
from tests.inside.answer import LedgerRequest, QuestionDraw, SeenVersion, Truth
from tests.inside.design import Mechanism, made_for
from tests.inside.publish import YesNo
from tests.support.devices import KEY, PUBLISHER, envelope, question

EPSILON = math.log(3)
DESIGN = Design("3/4", "3/4")
POLICY = Policy(
    [TrustedPublisher(PUBLISHER, [KEY.public])],
    max_epsilon=5,
    max_ratio=100,
    attribute_epsilon=1000,
    lifetime_epsilon=1000,
)
ROUNDS = 10  # draws per ledger: every operation verifies the whole of it, so many small ledgers are faster
OPTIONS = Choice(options=["a", "b", "c", "d", "e"])
KINDS: dict[str, tuple[YesNo | Choice | Number, Mechanism, tuple[Truth, Truth]]] = {  # two truths each, "no" and "yes"
    "yes or no": (YesNo(), DESIGN, (False, True)),
    "one option of five": (OPTIONS, made_for("ln 3", 5, 1), (0, 1)),
    "two options of five": (OPTIONS, made_for("ln 3", 5, 2), (3, 1)),
    "a number": (Number(low=-3, high=24), DESIGN, (-3, 24.0)),
}
Trials = Callable[[bool], tuple[int, int]]
"""Answers for one truth: (trials, trials that look like "yes")."""


@contextmanager
def device() -> Iterator[Client]:
    """A client with a fresh ledger."""
    with scratch() as folder:
        yield Client(folder / "ledger.sqlite3", attributes=[Attribute("doped", rounds=ROUNDS)], policy=POLICY)


class NoMemory:
    """A planted bug: what a client without a ledger would use instead of one."""

    def seen(self) -> dict[tuple[str, str], SeenVersion]:
        """No survey was ever accepted."""
        return {}

    def remember(self, asking: QuestionDraw, seen: SeenVersion) -> None:
        """Forget it."""

    def answer(self, request: LedgerRequest, policy: Policy, draw: Callable[[], str]) -> Report:
        """Draw, whatever happened before."""
        return request.report.with_answer(draw())


def said_yes(report: Report, no: Truth = False, yes: Truth = True) -> bool:
    """What the bytes on the wire say."""
    return looks_like_yes(json.loads(report.to_bytes())["answer"], no, yes)


def looks_like_yes(answer: str, no: Any, yes: Any) -> bool:
    """1, or a set that holds the option "yes" and not the option "no"."""
    return bool(answer == "1" if len(answer) == 1 else answer[int(yes)] + answer[int(no)] == "10")


def rounds_of_one_ledger(
    ledgers: int, truth: bool, kind: str = "yes or no", design: Mechanism | None = None
) -> tuple[int, int]:
    """Each round of each ledger is a first answer."""
    asked, usual, truths = KINDS[kind]
    signed, seen = envelope(question(kind=asked, rounds=ROUNDS, design=design or usual)), 0
    for _ in range(ledgers):
        with device() as client:
            accepted = client.accept(signed)
            reports = [client.answer(accepted, "q1", truths[truth], round=number) for number in range(ROUNDS)]
            seen += sum(said_yes(report, *truths) for report in reports)
    return ledgers * ROUNDS, seen


def rounds_in_node(
    ledgers: int, truth: bool, kind: str = "yes or no", design: Mechanism | None = None
) -> tuple[int, int]:
    """The same by the JavaScript client, in Node."""
    asked, usual, truths = KINDS[kind]
    signed = envelope(question(kind=asked, rounds=ROUNDS, design=design or usual))
    given = {
        "envelope": base64.b64encode(signed).decode(),
        "publishers": [{"name": PUBLISHER, "keys": [KEY.public.raw.hex()], "threshold": 1}],
        "truth": truths[truth],
        "ledgers": ledgers,
        "rounds": ROUNDS,
    }
    program = ["node", str(Path(__file__).with_name("client.mjs"))]
    done = subprocess.run(program, input=json.dumps(given), capture_output=True, text=True, check=True)
    return ledgers * ROUNDS, sum(looks_like_yes(answer, *truths) for answer in json.loads(done.stdout))


def truth_first(people: int, truth: bool) -> tuple[int, int]:
    """A planted bug, multi-freq-ldpy's: sets of 3 of 10 options by the law of ε = 1, sent in the order they were drawn,
    the truth first if it is among them.  The observer looks at the first."""
    random, chance, first = SystemRandom(), 3 * math.e / (3 * math.e + 7), 0
    for _ in range(people):
        others = random.sample([option for option in range(10) if option != int(truth)], 3)
        sent = [int(truth), *others[:2]] if random.random() < chance else others
        first += sent[0] == 1
    return people, first


def asked_again(people: int, times: int, truth: bool) -> tuple[int, int]:
    """One person's attribute is asked for again and again, in ever new versions of the survey; the majority counts."""
    versions, yes = [envelope(question(), version=number) for number in range(1, times + 1)], 0
    for _ in range(people):
        with device() as client:
            reports = [client.answer(client.accept(signed), "q1", truth) for signed in versions]
            yes += 2 * sum(map(said_yes, reports)) > times
    return people, yes


def without_memory(people: int, times: int, truth: bool) -> tuple[int, int]:
    """The same with a client that forgets."""
    yes = 0
    with device() as client:
        client._ledger = NoMemory()  # type: ignore[assignment]
        accepted = client.accept(envelope(question()))
        for _ in range(people):
            reports = [client.answer(accepted, "q1", truth) for _ in range(times)]
            yes += 2 * sum(map(said_yes, reports)) > times
    return people, yes


def collect(asking: Trials, calls: int, workers: int, step: Step) -> tuple[Count, Count]:
    """Call for both truths, `calls` times each, in as many processes as given."""
    truths, totals = [False, True] * calls, {False: [0, 0], True: [0, 0]}

    def add(done: int, truth: bool, found: tuple[int, int]) -> None:
        totals[truth][0] += found[0]
        totals[truth][1] += found[1]
        step(done, len(truths))

    if workers == 1:
        for done, truth in enumerate(truths, start=1):
            add(done, truth, asking(truth))
    else:
        with multiprocessing.get_context("spawn").Pool(workers) as pool:
            for done, (truth, found) in enumerate(zip(truths, pool.imap(asking, truths), strict=True), start=1):
                add(done, truth, found)
    return Count(*totals[False]), Count(*totals[True])


def figures(no: Count, yes: Count) -> dict[str, Figure]:
    """Counts, which add up."""
    return {"trials per truth": no.n, "seen as yes, truth no": no.yes, "seen as yes, truth yes": yes.yes}


def judged(claim: float, no: Count, yes: Count, row: str) -> Outcome:
    """What is claimed, and what it must be at least."""
    bounds: dict[str, Figure] = {"most ε claimed": claim, "most ε audited, at least": epsilon_at_least(no, yes)}
    rows = {row: table_row(claim, no, yes)} if row else {}
    return Outcome(not refuted(claim, no, yes), {**figures(no, yes), **bounds}, rows=rows)


def audit(
    asking: Trials, calls: int, workers: int = 1, claim: float = EPSILON, row: str = ""
) -> Callable[[int, Step], Outcome]:
    """Holds unless the claim is refuted; `row` is its name in the table, if it has one."""

    def run(piece: int, step: Step) -> Outcome:
        no, yes = collect(asking, calls, workers, step)
        return judged(claim, no, yes, row)

    return run


def pooled(part: Part, folder: Path = RESULTS) -> Callable[[int, Step], Outcome]:
    """All recorded pieces of a part as one audit; fails unless they are all there, made by the sources as they are."""

    def run(piece: int, step: Step) -> Outcome:
        (row,) = Evidence(CHECK, folder).rows([part])
        if row["missing"] or row["stale"]:
            return Outcome(False, {}, "not all pieces are recorded")
        seen = row["outcome"].figures
        no, yes = (Count(seen["trials per truth"], seen[f"seen as yes, truth {truth}"]) for truth in ("no", "yes"))
        return judged(EPSILON, no, yes, "rrcollect, the whole client: one report")

    return run


def parts(size: Size) -> list[Part]:
    """10,000 first answers per truth (or 50); 200 people per truth asked 9 times (6); all peers (OpenDP)."""
    full = size is FULL
    asking = partial(rounds_of_one_ledger, 25 if full else 5)
    first = Part(
        "first answers through the whole client", audit(asking, 10 if full else 1, _workers(full)), 4 if full else 1
    )
    together = [Part("first answers, all pieces together", pooled(first))] if full else []
    often = "rrcollect, the whole client: 9 reports of one truth"
    again = audit(partial(asked_again, 10 if full else 6, 9), 20 if full else 1, _workers(full), row=often)
    peers = PEERS if full else PEERS[:1]
    about = about_peers(peers, EPSILON, *((20_000, 500, 63) if full else (500, 20, 21)))
    # Exact chances to miss a planted bug: 210 people by majorities of 15, 3e-11; 210 answers with p = 63/64, 3e-12.
    # 400 sets that hold the truth with p = 63/64 (ε = 4.5, not 1.1): 7e-15; 2000 people with the truth first: 1e-30.
    leaky = partial(rounds_of_one_ledger, 21, design=Design("63/64", "63/64"))
    set_leaky = partial(rounds_of_one_ledger, 40, kind="two options of five", design=SetDesign(5, 2, "63/64"))
    every = [
        Part(
            f"first answers: {kind}",
            audit(partial(rounds_of_one_ledger, 100 if full else 2, kind=kind), 10 if full else 1, _workers(full)),
        )
        for kind in list(KINDS)[1:]
    ]
    in_node = [
        Part(
            f"first answers in Node: {kind}",
            audit(partial(rounds_in_node, 500 if full else 5, kind=kind), 2 if full else 1),
        )
        for kind in KINDS
    ]
    node_leaky = partial(rounds_in_node, 21, design=Design("63/64", "63/64"))
    return [
        first,
        *together,
        *every,
        *in_node,
        Part("one person asked again, majority of 9 reports", again),
        Part("peers in the same harness", about, len(peers)),
        Part(
            "a client without its ledger, majority of 15",
            caught(audit(partial(without_memory, 210, 15), 1)),
            planted=True,
        ),
        Part("a mechanism with p = 63/64 that claims ln 3", caught(audit(leaky, 1)), planted=True),
        Part("in Node, a mechanism with p = 63/64 that claims ln 3", caught(audit(node_leaky, 1)), planted=True),
        Part("sets with p = 63/64 that claim ln 3", caught(audit(set_leaky, 1)), planted=True),
        Part(
            "sets of options in the order they were drawn",
            caught(audit(partial(truth_first, 2000), 1, claim=1.0)),
            planted=True,
        ),
    ]


def _workers(full: bool) -> int:
    return max(2, os.cpu_count() or 1) if full else 1


CHECK = Check(
    3,
    "audit",
    "Black-box audit of the whole client",
    "From the answers a device sends, nothing can be inferred about a truth beyond the ε its survey claims, however "
    "often the device is asked. (That nothing else it does depends on the truth is the check `traces`. The audit of "
    "10^8 draws per truth by the bulk paths is part of the check `sampler`.) Peers go through the same harness, for "
    "comparison: what they claim and what was audited.",
    (
        "tests/assurance/audit/epsilon_audit.py",
        "tests/assurance/audit/peer_clients.py",
        "tests/assurance/audit/peers.py",
        "rrcollect/web/src",
        "rrcollect/answer/acceptance.py",
        "rrcollect/answer/client.py",
        "rrcollect/answer/asking.py",
        "rrcollect/answer/draw.py",
        "rrcollect/design/sampling.py",
        "rrcollect/answer/ledger/ledger.py",
        "rrcollect/answer/ledger/file.py",
        "rrcollect/answer/policy.py",
        "rrcollect/answer/ledger/guard.py",
        "rrcollect/publish/report.py",
        "rrcollect/design",
        "rrcollect/publish",
        "tests/support/devices.py",
    ),
    parts,
    "a lower bound of ε from 10,000 answers per truth is a coarse one; the exact law is the subject of the check "
    "`sampler`. In Node the ledger is the one in memory; its file is the subject of the check `node_ledger`.",
)
