"""Node programs with ledgers: raced under all names of one ledger, killed at system calls, and on a full disk."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any

from tests.support.stopping import Round, everywhere, struck

FOLDER = Path(__file__).resolve().parents[1] / "assurance" / "node_ledger"
WRITES = ("rename", "fsync", "write", "openat", "mkdir", "unlink")
"""The system calls by which a ledger writes, those that matter most first; strace counts each by itself."""
AFTER = "kills after the first answer"
Told = list[tuple[str, str | None]]
"""By attribute: what was handed out, or None for a refusal."""


def searched(search: str, **given: object) -> tuple[dict[str, int], str]:
    """One of the searches of search.mjs: (counts, the first counterexample or "")."""
    done = subprocess.run(
        ["node", FOLDER / "search.mjs", json.dumps({"search": search, **given})],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found["counts"], found["fault"]


def started(path: str | Path, attributes: Iterable[str], *before: str, **given: object) -> subprocess.Popen[str]:
    """A program that asks about these attributes; `before` is put before its command."""
    argument = json.dumps({"path": str(path), "attributes": list(attributes), **given})
    command = [*before, "node", str(FOLDER / "device.mjs"), argument]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def told(program: subprocess.Popen[str]) -> Told:
    """What it handed out until it ended."""
    out, _ = program.communicate()
    lines = [json.loads(line) for line in out.splitlines() if line.endswith("]")]
    return [(line[0], line[1]) for line in lines]


class Tokens:
    """What was handed out, by attribute."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        self.faults: list[str] = []

    def take(self, said: Told, *, refusals: bool = False) -> None:
        """Compare with what was handed out before; `refusals` are allowed."""
        for attribute, token in said:
            if token is None:
                self.faults += [f"{attribute}: refused"] * (not refusals)
            elif self.known.setdefault(attribute, token) != token:
                self.faults.append(f"{attribute}: a second draw")


def raced(root: Path, processes: int, ledger: str) -> Tokens:
    """Processes ask at once, each under one of the names of the ledger: about the same thing, and one of their own."""
    (root / "far").mkdir()
    (root / "far" / "up").symlink_to(root)
    tokens, path = Tokens(), root / "ledger"
    tokens.take(told(started(path, ["first"], ledger=ledger)))
    (root / "alias").symlink_to(path)
    names: list[tuple[str, dict[str, object]]] = [
        (str(path), {}),
        (str(root / "alias"), {}),
        ("ledger", {"from": str(root), "to": "/"}),
        (str(root / "far" / "up" / "ledger"), {}),
        ("up/alias", {"from": str(root / "far"), "to": str(root)}),
    ]
    running = []
    for number in range(processes):
        name, place = names[number % len(names)]
        asked = ["shared", f"own {number}", "first"]
        running.append(started(name, asked, ledger=ledger, waits=True, **place))
    for program in running:
        assert program.stdin
        program.stdin.close()
        program.stdin = None
    for program in running:
        tokens.take(told(program))
    for name, place in names:
        tokens.take(told(started(name, sorted(tokens.known), ledger=ledger, **place)))
    return tokens


def killed_at_calls(
    root: Path, calls: Iterable[str], first: int, stride: int, step: Callable[[int, int], None]
) -> tuple[dict[str, int], str]:
    """Kill a program at its first, (first + stride)th, … system call of each kind."""
    counts = Counter[str]()
    for behind, call in product(([], ["b"]), calls):  # a new ledger, and one in use

        def play(number: int, behind: list[str] = behind, call: str = call) -> Round:
            step(number, 150)
            path, tokens = root / f"{len(behind)} {call} {number}" / "ledger", Tokens()
            path.parent.mkdir()
            if behind:
                tokens.take(told(started(path, behind)))
            program = started(path, ["a", "c"], *struck(call, f"signal=KILL:when={number}"))
            said = told(program)
            tokens.take(said)
            for _ in range(2):
                tokens.take(told(started(path, ["a", "b", "c"])))
            shutil.rmtree(path.parent)
            return Round(program.returncode != 0, AFTER if said else "kills before it", "; ".join(tokens.faults[:1]))

        found, fault = everywhere(play, first=first, stride=stride)
        counts += found
        if fault:
            return counts, f"killed at {call}, {len(behind)} draws behind it, {fault}"
    return {"kills": counts.total(), AFTER: counts[AFTER]}, ""


def filled(root: Path, limits: Iterable[int], ledger: str) -> tuple[dict[str, int], str]:
    """A ledger grows until the disk is full (a file has at most so many bytes); then there is room again."""
    counts = {"answered": 0, "refused": 0}
    names = [f"attribute {number}" for number in range(40)]
    for limit in limits:
        path, tokens = root / str(limit) / "ledger", Tokens()
        path.parent.mkdir()
        said = told(started(path, names, "prlimit", f"--fsize={limit}", ledger=ledger))
        tokens.take(said, refusals=True)
        counts["answered"] += sum(token is not None for _, token in said)
        counts["refused"] += sum(token is None for _, token in said)
        tokens.take(told(started(path, names, ledger=ledger)))
        if tokens.faults:
            return counts, f"{limit} bytes: {tokens.faults[0]}"
    return counts, ""
