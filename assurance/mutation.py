"""Do the tests notice?  One small change at a time is made in the code, and its tests must fail.

Rules
1. The changes are mutmut's and a few more (assurance/mutants.py), tried on the tests that reach them
   (assurance/mutant_runs.py).  mutmut's own runner leaves out decorated functions, among them the thresholds of the
   draw, and module constants; so its changes are used and not its runner.
2. At least nine in ten mutants of every group are killed.  Every survivor has its reason in assurance/survivors, a
   file a module, which says whether the mutant is equivalent to the code or only not tested by the tests asked.  A
   survivor without a reason fails the check, and so does a reason without a survivor.  A mutant no test reaches is one.
3. Verdicts are kept in assurance/results/mutants, a file a module, and asked again as `mutation_verdicts` says; so a
   run can stop and go on, and a new test costs little.
4. Of a module with a `share` only that many mutants in a hundred are tried, chosen by the digest of their names; then
   nine in ten is asked of the lower bound of the group's share, with 99 % confidence.
"""

from __future__ import annotations

import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from assurance.check import FULL, Check, Figure, Outcome, Part, Size, Step
from assurance.evidence import ROOT
from assurance.mutation_blind import blinded
from assurance.mutation_targets import GROUPS, Target
from assurance.mutation_verdicts import DEAD, Verdicts, keys_of, sampled, tried, verdicts_file

SURVIVORS = "assurance/survivors"
LEAST = 0.9
SOURCES = tuple(
    f"assurance/{name}.py" for name in ("mutants", "mutant_runs", "mutant_session", "mutant_code", "mutation_verdicts")
)


class Reason(NamedTuple):
    """Why a mutant may survive, and whether it does the same as the code."""

    text: str
    equivalent: bool


def survivors_file(module: str) -> str:
    """Where the reasons of a module are.

    >>> survivors_file("server_agg/tally.py")
    'assurance/survivors/server_agg.tally.toml'
    """
    return f"{SURVIVORS}/{module.removesuffix('.py').replace('/', '.')}.toml"


def reasons(module: str) -> dict[str, Reason]:
    """Why mutants of a module may survive, by "line | change", or "line | change | n" for its n-th repetition."""
    path = ROOT / survivors_file(module)
    found = tomllib.loads(path.read_text(encoding="utf-8")).get("survivor", []) if path.exists() else []
    return {
        f"{entry['line']} | {change}": Reason(entry["reason"], entry["equivalent"])
        for entry in found
        for change in entry["changes"]
    }


def judged(target: Target, verdicts: Mapping[str, str]) -> Outcome:
    """The outcome for one module: every survivor must have a reason, and every reason a survivor."""
    why = reasons(target.module)
    alive = [key for key, verdict in verdicts.items() if verdict not in DEAD]
    faults = [f"no reason for `{key}`" for key in alive if key not in why]
    faults += [f"a reason but no survivor: `{key}`" for key in why if key not in alive]
    figures: dict[str, Figure] = counted(Counter(verdicts.values()))
    figures["of these equivalent to the code"] = sum(why[key].equivalent for key in alive if key in why)
    for number, key in enumerate(alive, 1):
        figures[f"survivor {number}"] = f"`{key}`: {why[key].text if key in why else 'NO REASON'}"
    return Outcome(not faults, figures, "; ".join(faults[:5]))


def counted(counts: Mapping[str, int]) -> dict[str, Figure]:
    """The figures of a count of verdicts."""
    total, dead = sum(counts.values()), sum(counts.get(verdict, 0) for verdict in DEAD)
    return {
        "mutants": total,
        "killed": dead,
        "of these stopped after ten times the time": counts.get("timeout", 0),
        "survived": total - dead,
        "of these not reached by the tests asked": counts.get("unreached", 0),
        "share killed": f"{dead / total:.1%}" if total else "none",
    }


def of_group(group: str) -> Outcome:
    """The share of a whole group, from the verdicts kept; they must be all there."""
    counts: Counter[str] = Counter()
    missing = 0
    for target in GROUPS[group]:
        known = Verdicts(target, verdicts_file(target)).known()
        keys = keys_of(target)
        counts.update(known[key] for key in keys if key in known)
        missing += sum(key not in known for key in keys)
    figures = counted(counts)
    if missing:
        return Outcome(False, figures, f"no verdict yet on {missing} mutants")
    if all(target.share == 100 for target in GROUPS[group]):
        return Outcome(int(figures["killed"]) >= LEAST * int(figures["mutants"]), figures)
    least = bound(int(figures["killed"]), int(figures["mutants"]))
    return Outcome(least >= LEAST, {**figures, "of all, with 99 % confidence, at least": f"{least:.1%}"})


def bound(killed: int, tried: int) -> float:
    """Clopper and Pearson's lower bound of the share killed, as if the mutants tried were drawn at random.

    >>> round(bound(95, 100), 3)
    0.873
    """
    from scipy.stats import beta

    return float(beta.ppf(0.01, killed, tried - killed + 1)) if killed else 0.0


def in_full(target: Target) -> Part:
    def run(piece: int, step: Step) -> Outcome:
        return judged(target, tried(target, step, verdicts_file(target)))

    own = (survivors_file(target.module),) if (ROOT / survivors_file(target.module)).exists() else ()
    return Part(target.module, run, sources=(target.module, *target.tests, *SOURCES, *own))


def small(target: Target, only: Callable[[str], bool] | None, *, blind: bool = False) -> Callable[[int, Step], Outcome]:
    """Some mutants of a module with the tests as they are, or with tests that assert nothing."""

    def run(piece: int, step: Step) -> Outcome:
        with tempfile.TemporaryDirectory() as folder:
            tests = blinded(ROOT / target.tests[0], Path(folder)) if blind else target.tests[0]
            verdicts = tried(Target(target.module, (tests,), slow=target.slow), step, None, only)
        figures = counted(Counter(verdicts.values()))
        enough = int(figures["killed"]) >= LEAST * int(figures["mutants"])
        return Outcome(enough is not blind and bool(verdicts), figures, "" if enough is not blind else str(verdicts))

    return run


DRAW = Target(
    "rrcollect/answer/draw.py",
    ("tests/answer/test_draw.py",),
    slow="fork or any_grid",
)
LINE = "no, yes = drawn < limits[0], drawn < limits[1]"


def parts(size: Size) -> list[Part]:
    """A part a module and a group in full; one line of the draw in the tests."""
    few = (lambda key: sampled(key, 20)) if size is FULL else (lambda key: key.startswith(LINE))
    twin = Part(
        "the draw, with tests that assert nothing",
        small(DRAW, few, blind=True),
        twin=True,
        sources=(DRAW.module, *SOURCES),
    )
    if size is not FULL:
        return [Part("the draw", small(DRAW, few)), twin]
    found = []
    for group, targets in GROUPS.items():
        found += [in_full(target) for target in targets]
        sources = tuple(source for target in targets for source in in_full(target).sources or ())
        found.append(Part(f"group: {group}", lambda piece, step, g=group: of_group(g), sources=sources))  # type: ignore[misc]
    return [*found, twin]


CHECK = Check(
    10,
    "mutation",
    "Mutants of mechanism, exact arithmetic, ledger, estimators and intake are killed by the tests",
    "At least 90 % of the mutants of every group make a test fail (of the exact arithmetic, the estimators and the "
    "intake a sample was tried, and 90 % is the lower bound with 99 % confidence), and every survivor has a reason.",
    (*SOURCES, "assurance/mutation_targets.py"),
    parts,
)
