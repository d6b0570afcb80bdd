"""Do the tests notice?  One small change at a time is made in the code, and its tests must fail.

Rules
1. The changes are mutmut's and a few more (assurance/mutants.py), tried on the tests that reach them
   (assurance/mutant_runs.py).  mutmut's own runner leaves out decorated functions, among them the thresholds of the
   draw, and module constants; so its changes are used and not its runner.
2. At least nine in ten mutants of every group are killed.  Every survivor has its reason in mutation_survivors.toml;
   one without fails the check.  A mutant no test reaches is a survivor.
3. Verdicts are kept in assurance/results/mutants, a file a module.  "Killed" is not asked again while the module is
   the same, "survived" not while module and tests are; so a run can stop and go on, and a new test costs little.
4. Of a module with a `share` only that many mutants in a hundred are tried, chosen by the digest of their names; the
   page then says what can be said of all with 99 % confidence.
"""

from __future__ import annotations

import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from assurance.check import FULL, Check, Figure, Outcome, Part, Size, Step
from assurance.evidence import ROOT
from assurance.mutation_blind import blinded
from assurance.mutation_targets import GROUPS, Target
from assurance.mutation_verdicts import DEAD, Verdicts, sampled, tried, verdicts_file

SURVIVORS = ROOT / "assurance" / "mutation_survivors.toml"
LEAST = 0.9
SOURCES = tuple(f"assurance/{name}.py" for name in ("mutants", "mutant_runs", "mutant_session", "mutant_code"))


def reasons(module: str, path: Path = SURVIVORS) -> dict[str, str]:
    """Why a mutant of a module may survive, by "line | change"."""
    found = tomllib.loads(path.read_text(encoding="utf-8")).get(module, [])
    return {f"{entry['line']} | {change}": entry["reason"] for entry in found for change in entry["changes"]}


def judged(target: Target, verdicts: Mapping[str, str]) -> Outcome:
    """The outcome for one module: every survivor must have a reason."""
    counts, why = Counter(verdicts.values()), reasons(target.module)
    alive = [key for key, verdict in verdicts.items() if verdict not in DEAD]
    bare = [key for key in alive if reason_of(key, why) is None]
    figures: dict[str, Figure] = {**counted(counts)}
    figures |= {f"survivor {n}": f"`{key}`: {reason_of(key, why) or 'NO REASON'}" for n, key in enumerate(alive, 1)}
    return Outcome(not bare, figures, f"{len(bare)} survivors without a reason" if bare else "")


def reason_of(key: str, why: Mapping[str, str]) -> str | None:
    """The reason given for a mutant, for its equals on the line, or for every change of the line.

    >>> reason_of("x = a | b | a → b | 1", {"x = a | b | a → b": "symmetric"})
    'symmetric'
    >>> reason_of("x = 1 | 1 → 2", {"x = 1 | *": "never read"})
    'never read'
    """
    for name, reason in why.items():
        if key == name or (key.startswith(f"{name} | ") and key.removeprefix(f"{name} | ").isdigit()):
            return reason
        if name.endswith(" | *") and key.startswith(name.removesuffix("*")):
            return reason
    return None


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
    """The share of a whole group, from the verdicts kept."""
    counts: Counter[str] = Counter()
    missing = []
    for target in GROUPS[group]:
        known = Verdicts(target, verdicts_file(target)).known()
        counts.update(known.values())
        missing += [] if known else [target.module]
    figures = counted(counts)
    good = not missing and int(figures["killed"]) >= LEAST * int(figures["mutants"])
    lower = (
        {} if all(t.share == 100 for t in GROUPS[group]) else {"of all, with 99 % confidence, at least": bound(figures)}
    )
    return Outcome(good, {**figures, **lower}, f"no verdicts on {', '.join(missing)}" if missing else "")


def bound(figures: Mapping[str, Figure]) -> str:
    """Clopper and Pearson's lower bound of the share killed, as if the sample were all drawn at random."""
    from scipy.stats import beta

    killed, total = int(figures["killed"]), int(figures["mutants"])
    return f"{float(beta.ppf(0.01, killed, total - killed + 1)):.1%}"


def in_full(target: Target) -> Part:
    def run(piece: int, step: Step) -> Outcome:
        return judged(target, tried(target, step, verdicts_file(target)))

    sources = (target.module, *SOURCES, "assurance/mutation_survivors.toml")
    return Part(target.module, run, sources=sources)


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
    "At least 90 % of the mutants of every group make a test fail, and every survivor has a reason.",
    (*SOURCES, "assurance/mutation_targets.py"),
    parts,
)
