"""Does anything but the answer depend on the truth?  Record and replay: the same draws, either truth.

Statements.  The whole of `Client.answer` is traced, in our modules and in every other written in Python, once for each
truth on the same draw: the sequences of executed lines must be equal.
System calls.  Two processes answer under strace on the same draws, with opposite truths: the sequences of calls, with
their arguments (sizes and files; not the bytes written, which hold the answer), must be equal.  Calls by which the
process gets memory are left out: when the allocator needs some is a matter of the process's history.
Time.  See `timing`.  It comes first: CPython runs slower in a process in which something has been traced.
Statements and system calls involve no chance: no false alarms.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from random import SystemRandom
from typing import Any

from tests.assurance.check import FULL, Check, Outcome, Part, Size, Step, caught
from tests.assurance.evidence import ROOT
from tests.assurance.scratch import scratch
from tests.assurance.traces.answers import answers, leaking, warm
from tests.assurance.traces.timing import single_path, whole_answer
from tests.support.executed_lines import lines_of

Run = Callable[[int, Step], Outcome]
MEMORY = {"brk", "mmap", "munmap", "mremap", "mprotect", "madvise"}


# ---- statements -----------------------------------------------------------------------------------------------------


def statements(how_many: int, kind: str = "") -> Run:
    """Compare the traces of both truths on the same draws."""

    def run(piece: int, step: Step) -> Outcome:
        unequal, lines, flipped, remark = 0, 0, 0, ""
        with scratch() as folder:
            warm(folder)
            for truth in (0, 1):
                (folder / f"truth{truth}").mkdir()
            pairs = zip(*(answers(folder / f"truth{truth}", how_many) for truth in (0, 1)), strict=True)
            with leaking(kind):
                for number, (if_no, if_yes) in enumerate(pairs, start=1):
                    said: list[Any] = []
                    traces = [
                        lines_of(lambda call=call, truth=truth, said=said: said.append(call(truth)))
                        for call, truth in ((if_no, False), (if_yes, True))
                    ]
                    lines += len(traces[0])
                    flipped += said[0].answer != said[1].answer
                    if traces[0] != traces[1]:
                        unequal += 1
                        remark = remark or "first difference: " + _difference(*traces)
                    step(number, how_many)
        figures = {
            "draws": how_many,
            "draws on which the truths are answered differently": flipped,
            "lines": lines,
            "unequal traces": unequal,
        }
        return Outcome(unequal == 0, figures, remark)

    return run


def _difference(one: Sequence[tuple[str, int, str]], other: Sequence[tuple[str, int, str]]) -> str:
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return " or ".join(f"{Path(t[at][0]).name}:{t[at][1]}" if at < len(t) else "the end" for t in (one, other))


# ---- system calls ---------------------------------------------------------------------------------------------------


def system_calls(truths: str, kind: str) -> list[list[str]]:
    """The calls of each answer of a process of its own."""
    if shutil.which("strace") is None:
        raise RuntimeError("strace is needed (Debian: apt-get install strace)")
    with scratch() as folder:
        log, place = folder / "log", folder / "devices"
        command = ["strace", "-f", "-y", "-s", "0", "-o", str(log), sys.executable]
        command += ["-m", "tests.assurance.traces.answers", str(place), truths, kind]
        environment = {"PYTHONHASHSEED": "0", "PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
        subprocess.run(command, check=True, cwd=ROOT, env=environment, timeout=600)
        text = log.read_text(encoding="utf-8", errors="replace").replace(str(folder), "").replace(str(ROOT), "")
    found: list[list[str]] = []
    inside = False
    for line in text.splitlines():
        call = _plain(line)
        if "/mark/" in line:
            inside = "/mark/begin" in line
            found += [[]] if inside else []
        elif inside and call.partition("(")[0] not in MEMORY:
            found[-1].append(call)
    return found


def _plain(line: str) -> str:
    """A call without process numbers, addresses, inode and times, and without the sizes of folders others write to."""
    call = re.sub(r"^\d+\s+", "", line)
    call = re.sub(r"^(get\w*[pt]id\(\)).*", r"\1", call)
    call = re.sub(r"0x[0-9a-f]+", "0x", call)
    call = re.sub(r"\{st_mode=S_IFDIR[^}]*\}", "{S_IFDIR}", call)
    return re.sub(r"(st_ino|st_[amc]time(_nsec)?|st_dev|st_rdev)=[^,}]*", r"\1", call)


def calls(how_many: int, kind: str = "") -> Run:
    """Opposite truths in two processes."""

    def run(piece: int, step: Step) -> Outcome:
        truths = "".join(str(SystemRandom().randrange(2)) for _ in range(how_many))
        opposite = truths.translate(str.maketrans("01", "10"))
        one, other = system_calls(truths, kind), system_calls(opposite, kind)
        unequal = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
        figures, remark = {"draws": how_many, "system calls": sum(map(len, one)), "unequal traces": len(unequal)}, ""
        if unequal:
            pairs = zip([*unequal[0][0], "the end"], [*unequal[0][1], "the end"], strict=False)
            remark = "first difference: " + " or ".join(next(((a, b) for a, b in pairs if a != b), ("?", "?")))
        return Outcome(not unequal and len(one) == how_many, figures, remark)

    return run


def parts(size: Size) -> list[Part]:
    """Hundreds of replays, a million timed calls; or a few, with coarse delays alone: fine ones need quiet."""
    full = size is FULL
    few = 60 if full else 6
    fine = [
        Part("a fiftieth longer for yes, single path", caught(single_path(200_000, "slight delay")), planted=True),
        Part("one yes in 50 takes 50 times as long", caught(single_path(200_000, "rare slow path")), planted=True),
        Part("a fortieth longer for yes, whole answer", caught(whole_answer(10_000, "slight delay")), planted=True),
    ]
    return [
        Part("time of the single path", single_path(1_000_000 if full else 20_000, strict=full)),
        Part("time of the whole answer", whole_answer(40_000 if full else 150, strict=full)),
        Part("statements of the whole answer", statements(200 if full else 4)),
        Part("system calls of the whole answer", calls(200 if full else 6)),
        Part("early return for a yes on half of the draws", caught(statements(few, "early return")), planted=True),
        Part("an extra write for yes", caught(calls(few, "extra write")), planted=True),
        Part("a delay for yes, single path", caught(single_path(20_000, "delay")), planted=True),
        Part("a delay for yes, whole answer", caught(whole_answer(200, "delay")), planted=True),
        *(fine if full else []),
    ]


CHECK = Check(
    4,
    "traces",
    "Record and replay",
    "Nothing but the answer depends on the truth: not the statements executed, not the system calls, and the time by "
    "less than 1/200.",
    (
        "tests/assurance/traces/timing.py",
        "tests/assurance/traces/answers.py",
        "rrcollect/answer/client.py",
        "rrcollect/answer/draw.py",
        "rrcollect/answer/ledger/ledger.py",
        "rrcollect/answer/ledger/file.py",
        "rrcollect/answer/ledger/guard.py",
        "rrcollect/publish/report.py",
        "rrcollect/design",
        "rrcollect/publish",
        "tests/support/devices.py",
        "tests/support/executed_lines.py",
    ),
    parts,
    "times of one machine and one build of Python; caches, power and radio are not looked at.",
)
