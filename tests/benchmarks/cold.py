"""A fresh process that answers one question, against the peers; and one that shows help.

Run: python -m tests.benchmarks.cold

Ours does more: it verifies a signed survey and commits the answer durably before it is returned.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.measure import Timing, interleave
from tests.benchmarks.report import show
from tests.benchmarks.section import FULL, Effort, Section, compare, durations

NOTHING = "pass"
IMPORT = "import rrcollect"
HELP = "import os, sys; sys.stdout = open(os.devnull, 'w'); from server_agg.cli.main import main; main(['--help'])"
DRAW = "from rrcollect import Design, randomise; randomise(True, Design('3/4', '3/4'))"
CLIENT = """
from pathlib import Path
from rrcollect import Client, Policy, PublicKey, TrustedPublisher
folder = Path({folder!r})
policy = Policy([TrustedPublisher("Example", [PublicKey.from_pem((folder / "key.pub").read_bytes())])])
client = Client(folder / __import__("secrets").token_hex(8), attributes=["doped"], policy=policy)
client.answer(client.accept((folder / "survey.json").read_bytes()), "q1", True)
"""
OPENDP = """
import opendp.prelude as dp
dp.enable_features("contrib")
dp.m.make_randomized_response_bool(0.75)(True)
"""
DIFFPRIVLIB = """
import warnings; warnings.simplefilter("ignore")
from diffprivlib.mechanisms import Binary
Binary(epsilon=1, value0="0", value1="1").randomise("1")
"""


PURE_LDP = """
from pure_ldp.frequency_oracles.direct_encoding import DEClient
DEClient(epsilon=1, d=2).privatise(1)
"""
MULTI_FREQ_LDPY = """
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
GRR_Client(1, 2, 1.0)
"""
OURS = "one randomised answer", "verify, answer, commit"
PEERS = "OpenDP, one answer", "diffprivlib, one answer", "pure-LDP, one answer", "multi-freq-ldpy, one answer"
FLOORS = {("verify, answer, commit", "OpenDP, one answer"): 2.0}


def publish(folder: Path) -> None:
    from datetime import UTC, datetime

    from rrcollect import Question, SigningKey, Survey, optimal_design

    key = SigningKey.generate()
    question = Question(id="q1", attribute="doped", text="Ever doped?", design=optimal_design("ln 3"))
    expires = datetime(2100, 1, 1, tzinfo=UTC)
    survey = Survey(
        name="s", version=1, title="S", publisher="Example", expires=expires, questions=[question], collector="carried"
    )
    (folder / "survey.json").write_bytes(survey.publish([key]).envelope)
    (folder / "key.pub").write_bytes(key.public.to_pem())


def available(code: str) -> bool:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def measured(repetitions: int, without: tuple[str, ...] = ()) -> dict[str, Timing]:
    """Seconds of a fresh process for every program that runs here."""
    with tempfile.TemporaryDirectory() as name:
        publish(Path(name))
        programs = {
            "Python alone": NOTHING,
            "import rrcollect": IMPORT,
            "rrcollect --help": HELP,
            "one randomised answer": DRAW,
            "verify, answer, commit": CLIENT.format(folder=name),
            "OpenDP, one answer": OPENDP,
            "diffprivlib, one answer": DIFFPRIVLIB,
            "pure-LDP, one answer": PURE_LDP,
            "multi-freq-ldpy, one answer": MULTI_FREQ_LDPY,
        }
        found = {label: code for label, code in programs.items() if label not in without and available(code)}
        return interleave(
            {
                label: (1, lambda code=code: subprocess.run([sys.executable, "-c", code], check=True))  # type: ignore[misc]
                for label, code in found.items()
            },
            repetitions,
        )


def section(effort: Effort = FULL) -> Section:
    timings = measured(max(3, effort.repetitions // 3), without=() if effort.curves else PEERS[1:])
    base = timings.pop("Python alone")
    beyond = {
        name: Timing(name, max(1e-4, t.best - base.best), max(1e-4, t.median - base.median))
        for name, t in timings.items()
    }
    missing: list[str] = []
    pairs = {(ours, peer): FLOORS.get((ours, peer)) for ours in OURS for peer in PEERS}
    return Section(
        name="cold",
        title="A cold start",
        text="A fresh process that imports and answers one question, beyond what starting Python itself takes "
        f"({1000 * base.best:.0f} ms). Ours does more: it verifies a signed survey and commits the answer "
        "durably before it is returned.",
        unit="milliseconds beyond Python alone",
        rows=durations(beyond, 1000),
        ratios=compare(beyond, pairs, missing),
        notes=[f"{name}: could not be run here." for name in missing],
    )


if __name__ == "__main__":
    show(section())
