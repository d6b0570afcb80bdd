"""Looking for secrets in everything that whole flows left behind (part of check 10).

Two questions are put to the traces of `canary_flow`.  Is a canary anywhere it must not be, plain or encoded?  And do
the traces of two flows differ that differ in the truth alone?  The second finds every leak, however it is written: the
draws are given, so that what was sent is the same, and whatever differs was told by the truth.

Before comparing, what differs between any two runs is taken out: addresses of objects, ports, process numbers, the
order of lines that threads write, and the lines of asyncio's debug mode, which tell how long things took.  These lines
are searched for canaries like all others.
"""

from __future__ import annotations

import base64
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.assurance.check import Figure, Outcome, Step
from tests.assurance.dependencies.canary_traces import DRAWS, INVITE, SEGMENT, TRUTH, UNDECLARED
from tests.assurance.evidence import ROOT

Traces = Mapping[str, bytes]
NOWHERE = {"truth": [TRUTH.encode(), UNDECLARED.encode()], "draw": list(DRAWS)}
SEEN_BY_PEOPLE = ("log.txt", "stdout.txt", "stderr.txt", "metrics.txt")
KEPT = ("errors.txt", "words.txt", "store.txt", "store.sqlite3", "ledger.sqlite3", "traffic.txt")
ELSEWHERE = {SEGMENT: SEEN_BY_PEOPLE, INVITE: (*SEEN_BY_PEOPLE, *KEPT)}
BELONGS = (("traffic.txt", SEGMENT), ("ledger.sqlite3", SEGMENT))
NOT_COMPARED = ("store.sqlite3", "store.txt", ".key")  # sealed under a fresh key: no two are alike
PLAIN = (
    (rb"0x[0-9a-f]{6,}", b"0x"),
    (rb"127\.0\.0\.1(:|', )\d+", rb"127.0.0.1\1"),
    (rb"server process \[\d+\]", b"server process"),
    (rb"(_(?:sum|bucket)(?:\{[^}]*\})? )[0-9.e+-]+", rb"\1"),  # how long things took
    (rb"(content-length', b')\d+('\), \(b'content-type', b'text/plain)", rb"\1\2"),  # and so the length of the metrics
    (rb"'<\d+ bytes>'", b"bytes"),  # lengths of bodies are compared in traffic.txt
)


def forms(secret: bytes) -> set[bytes]:
    """The ways in which a secret may be written."""
    found = {secret, secret.hex().encode(), secret.hex().upper().encode(), repr(secret)[2:-1].encode()}
    found.add(str(int.from_bytes(secret, "big")).encode())
    if secret.isascii():
        found.add(secret.decode().encode("utf-16-le"))
    else:
        found.add(secret[1:])  # a draw's first byte decides; the others are text
    for shift in range(3):
        text = base64.b64encode(bytes(shift) + secret)
        found.add(text[-(-8 * shift // 6) : 8 * (shift + len(secret)) // 6])
    return found


def flows(jobs: list[tuple[str, str]]) -> list[Traces]:
    """The traces of each job (truths, leak), run one after the other in one process in development mode."""
    with tempfile.TemporaryDirectory(prefix="rrcollect-canaries-") as place:
        folders = [Path(place, str(number)) for number in range(len(jobs))]
        given = [f"{folder}:{truths}:{leak}" for folder, (truths, leak) in zip(folders, jobs, strict=True)]
        command = [
            sys.executable,
            "-X",
            "dev",
            "-W",
            "always",
            "-m",
            "tests.assurance.dependencies.canary_flow",
            *given,
        ]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, timeout=600)
        if done.returncode:
            raise RuntimeError(f"the flow ended with {done.returncode}: {done.stderr.decode(errors='replace')[-2000:]}")
        outside = {"process": done.stdout + done.stderr}
        return [
            {f.name: f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()} | outside for folder in folders
        ]


def leaked(traces: Traces) -> list[str]:
    """Where a canary is that must not be there."""
    found = []
    for name, data in traces.items():
        for kind, secrets in NOWHERE.items():
            found += [f"{kind} in {name}" for secret in secrets if any(form in data for form in forms(secret))]
        for canary, places in ELSEWHERE.items():
            if name in places and any(form in data for form in forms(canary.encode())):
                found.append(f"{canary} in {name}")
    return found


def comparable(name: str, data: bytes) -> bytes:
    """A trace without what differs between any two runs."""
    if not name.endswith(".txt"):
        return data
    for pattern, instead in PLAIN:
        data = re.sub(pattern, instead, data)
    return b"\n".join(sorted(line for line in data.split(b"\n") if not line.startswith(b"asyncio ")))


def differing(one: Traces, other: Traces) -> list[str]:
    """The traces that differ."""
    names = sorted(name for name in {*one, *other} if not name.endswith(NOT_COMPARED))
    return [n for n in names if n not in one or n not in other or comparable(n, one[n]) != comparable(n, other[n])]


def searched(patterns: list[str], piece: int, step: Step) -> Outcome:
    """Flows with these truths against one in which all are "no"."""
    found = flows([("0000", ""), *((truths, "") for truths in patterns)])
    leaks = [leak for traces in found for leak in leaked(traces)]
    differ = [f"{name} with truths {truths}" for truths, traces in zip(patterns, found[1:], strict=True)
              for name in differing(found[0], traces)]  # fmt: skip
    blind = [name for name, canary in BELONGS if canary.encode() not in found[0].get(name, b"")]
    figures: dict[str, Figure] = {
        "flows": len(found),
        "files": sum(map(len, found)),
        "bytes searched": sum(len(data) for traces in found for data in traces.values()),
        "ways of writing a secret": sum(len(forms(secret)) for secrets in NOWHERE.values() for secret in secrets),
        "canaries found": len(leaks),
        "traces that differ by the truth": len(differ),
        "tracebacks": sum(traces["errors.txt"].count(b"Traceback (most") for traces in found),
        "lines logged": sum(traces["log.txt"].count(b"\n") for traces in found),
    }
    remark = "; ".join([*leaks[:3], *differ[:3], *(f"the search is blind in {name}" for name in blind)])
    return Outcome(not leaks and not differ and not blind, figures, remark)


def planted(leaks: list[str], piece: int, step: Step) -> Outcome:
    """The same two questions of clients that leak: each must be found out."""
    found = flows([(truths, leak) for leak in leaks for truths in ("0000", "1111")])
    figures: dict[str, Figure] = {"clients that leak": len(leaks)}
    caught = []
    for leak, no, yes in zip(leaks, found[::2], found[1::2], strict=True):
        canaries, differ = leaked(yes), differing(no, yes)
        caught.append(bool(canaries or differ))
        figures[leak] = f"{len(canaries)} canaries, {len(differ)} traces that differ"
    return Outcome(all(caught), figures)
