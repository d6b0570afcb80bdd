"""Where the peers' interpreter is, and what the peers said.  Helper of the check `audit`.

Rules
1. A peer this interpreter has is run with it.  Others are installed into `.venv-peers`, one by one, because they may
   ask for other versions of our own dependencies; a peer that cannot be installed is reported as such.
2. A peer runs in a process of its own (`peer_clients`), and is judged by the code that judges us.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.assurance.audit.epsilon_audit import Count, epsilon_at_least, refuted
from tests.assurance.check import Outcome, Step
from tests.assurance.evidence import ROOT

FOLDER = ROOT / ".venv-peers"


@dataclass(frozen=True)
class Peer:
    """A peer's adapter, what to install, what to import, and whether we expect it to keep its claim (a control)."""

    name: str
    adapter: str
    packages: tuple[str, ...]
    module: str
    control: bool


RAPPOR = ("pure-ldp", "scikit-learn<1.7", "statsmodels", "xxhash<4")  # what it uses but does not ask for
PEERS = (
    Peer("OpenDP, randomised response", "opendp", ("opendp>=0.12",), "opendp", True),
    Peer("diffprivlib, Binary", "diffprivlib", ("diffprivlib>=0.6.6", "scikit-learn<1.7"), "diffprivlib", True),
    Peer("pure-ldp, RAPPOR", "pure_ldp_rappor", RAPPOR, "pure_ldp", False),
    Peer("multi-freq-ldpy, L-GRR", "multi_freq_ldpy_l_grr", ("multi-freq-ldpy",), "multi_freq_ldpy", False),
    Peer("multi-freq-ldpy, L-SUE", "multi_freq_ldpy_l_sue", ("multi-freq-ldpy",), "multi_freq_ldpy", False),
    Peer("multi-freq-ldpy, subsets", "multi_freq_ldpy_ss", ("multi-freq-ldpy",), "multi_freq_ldpy", False),
)


@dataclass(frozen=True)
class PeerRecord:
    """What a peer claims for one report and for many, and how many subjects of each truth looked like "yes" on the
    whole of their reports."""

    claims_one: float
    claims_many: float | None
    no: Count
    yes: Count


def interpreters(peer: Peer) -> Iterator[str]:
    """Pythons that may have the peer, the second made for it."""
    if importlib.util.find_spec(peer.module) is not None:
        yield sys.executable
    python = FOLDER / "bin" / "python"
    if not python.exists():
        _run([sys.executable, "-m", "venv", str(FOLDER)])
    if _run([str(python), "-c", f"import {peer.module}"]) is None:
        _run([str(python), "-m", "pip", "install", "--quiet", *peer.packages])
    yield str(python)


def _run(command: list[str]) -> bytes | None:
    try:
        done = subprocess.run(command, capture_output=True, timeout=1200, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def ask(peer: Peer, epsilon: float, subjects: int, reports: int) -> PeerRecord | None:
    """Put the truths of `subjects` people, both ways, to the peer, `reports` times each; None if it does not run."""
    script = str(Path(__file__).with_name("peer_clients.py"))
    order = [script, peer.adapter, repr(epsilon), str(subjects), str(reports)]
    said = next((out for python in interpreters(peer) if (out := _run([python, *order])) is not None), None)
    if said is None:
        return None
    head, _, bits = said.partition(b"\n")
    claims, size = json.loads(head), subjects * reports
    if len(bits) != 2 * size:
        raise RuntimeError(f"{peer.name} gave {len(bits)} reports instead of {2 * size}")
    people = [[half[i : i + reports] for i in range(0, size, reports)] for half in (bits[:size], bits[size:])]
    no, yes = (Count(subjects, sum(sum(each) > reports for each in half)) for half in people)
    return PeerRecord(claims["one"], claims["many"], no, yes)


def table_row(claim: float | None, no: Count, yes: Count) -> dict[str, str]:
    """What is claimed (None: nothing) and what was audited, for a table.

    >>> table_row(1.0, Count(1000, 250), Count(1000, 750))
    {'claimed ε': '1.000', 'audited ε, at least': '0.834', 'claim': 'not refuted'}
    """
    word = "" if claim is None else "**refuted**" if refuted(claim, no, yes) else "not refuted"
    said = "nothing" if claim is None else f"{claim:.3f}"
    return {"claimed ε": said, "audited ε, at least": f"{epsilon_at_least(no, yes):.3f}", "claim": word}


def about_peers(
    peers: tuple[Peer, ...], epsilon: float, reports: int, people: int, times: int
) -> Callable[[int, Step], Outcome]:
    """One peer a piece; fails if a control, a peer we expect to keep its claim, is accused or does not run."""

    def run(piece: int, step: Step) -> Outcome:
        peer = peers[piece]
        once = ask(peer, epsilon, reports, 1)
        step(1, 2)
        often = ask(peer, epsilon, people, times)
        if once is None or often is None:
            return Outcome(not peer.control, {peer.name: "did not install, or did not run"})
        rows = {
            f"{peer.name}: one report": table_row(once.claims_one, once.no, once.yes),
            f"{peer.name}: {times} reports of one truth": table_row(often.claims_many, often.no, often.yes),
        }
        accused = refuted(once.claims_one, once.no, once.yes)
        return Outcome(not (peer.control and accused), {"clients": 1}, rows=rows)

    return run
