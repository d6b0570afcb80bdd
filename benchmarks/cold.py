"""A fresh process that answers one question, against the peers; and one that shows help.

Run: python -m benchmarks.cold

Ours does more: it verifies a signed survey and commits the answer durably before it is returned.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import interleave, machine

NOTHING = "pass"
IMPORT = "import rrcollect"
HELP = "import os, sys; sys.stdout = open(os.devnull, 'w'); from server_agg.cli.main import main; main(['--help'])"
DRAW = "from rrcollect import Design, randomise; randomise(True, Design('3/4', '3/4'))"
CLIENT = """
from pathlib import Path
from rrcollect import Client, Policy, PublicKey, TrustedPublisher
folder = Path({folder!r})
policy = Policy([TrustedPublisher("Example", [PublicKey.from_pem((folder / "key.pub").read_bytes())])])
with Client(folder / __import__("secrets").token_hex(8), attributes=["doped"], policy=policy) as client:
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


def publish(folder: Path) -> None:
    from datetime import UTC, datetime

    from rrcollect import Question, SigningKey, Survey, optimal_design, publish_survey

    key = SigningKey.generate()
    question = Question(id="q1", attribute="doped", text="Ever doped?", design=optimal_design("ln 3"))
    expires = datetime(2100, 1, 1, tzinfo=UTC)
    survey = Survey(name="s", version=1, title="S", publisher="Example", expires=expires, questions=[question])
    (folder / "survey.json").write_bytes(publish_survey(survey, [key]).envelope)
    (folder / "key.pub").write_bytes(key.public.to_pem())


def available(code: str) -> bool:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def main() -> list[str]:
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
        }
        found = {label: code for label, code in programs.items() if available(code)}
        timings = interleave(
            {
                label: (1, lambda code=code: subprocess.run([sys.executable, "-c", code], check=True))  # type: ignore[misc]
                for label, code in found.items()
            },
            7,
        )
    base = timings["Python alone"].best
    lines = [machine(), "milliseconds beyond starting Python itself (best of 7, interleaved):"]
    lines += [f"{t.name:28s} {1000 * (t.best - base):8.1f} ms" for t in timings.values() if t.name != "Python alone"]
    shown = timings["rrcollect --help"].best
    lines.append(
        f"rrcollect --help as a whole: {1000 * shown:.0f} ms, {shown / base:.1f} × Python alone ({1000 * base:.0f} ms)"
    )
    print("\n".join(lines))
    return lines


if __name__ == "__main__":
    main()
