"""What an assurance check is.

Rules
1. A check makes one claim about the project and consists of parts.  A part looks for counterexamples and returns an
   `Outcome`: whether the claim held, and the figures it counted.  Nothing is timed, except where time is the subject.
2. In some parts a bug has been planted.  Such a part passes when the same code that looks for counterexamples finds
   one.  Every check has at least one.
3. Work is cut into pieces, so that a long run can stop and go on.  Pieces share nothing; their figures add up: integers
   are summed, except that a name starting with "least" or "most" keeps the extreme.
4. A check has two sizes: SMALL runs in the tests, FULL in `make assure`.  The code is the same.
5. `sources` are the folders and files whose change makes the evidence stale; a part may name its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

Figure = int | float | str
Step = Callable[[int, int], None]
"""`step(done, total)` tells where a piece is; calling it often costs nothing."""


class Size(Enum):
    """How much of a check is run."""

    SMALL = "small"
    FULL = "full"


SMALL, FULL = Size.SMALL, Size.FULL


@dataclass(frozen=True)
class Outcome:
    """What a piece found; `remark` explains a failure, or says what a reader should know.

    `rows` go into the table of the check: by the name of the row, its cells by their columns.
    """

    passed: bool
    figures: Mapping[str, Figure] = field(default_factory=dict)
    remark: str = ""
    rows: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """`run(piece, step)` is called for each piece; with a planted bug it passes when that is caught."""

    name: str
    run: Callable[[int, Step], Outcome]
    pieces: int = 1
    planted: bool = False
    sources: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Check:
    """A claim, the parts that try to refute it, and what they do not show (`limits`).

    The pieces of a check may run beside others, unless it is `alone`: uses all cores by itself, or judges times.
    """

    number: int
    name: str
    title: str
    claim: str
    sources: tuple[str, ...]
    parts: Callable[[Size], list[Part]]
    limits: str = ""
    alone: bool = True


def caught(run: Callable[[int, Step], Outcome]) -> Callable[[int, Step], Outcome]:
    """The search over a planted bug: passed if the search finds something.

    >>> caught(lambda piece, step: Outcome(False, {"wrong": 3}))(0, lambda done, total: None).passed
    True
    """

    def inverted(piece: int, step: Step) -> Outcome:
        found = run(piece, step)
        return Outcome(not found.passed, found.figures, found.remark)

    return inverted


def together(outcomes: Iterable[Outcome]) -> Outcome:
    """The pieces of a part as one outcome.

    >>> together([Outcome(True, {"designs": 10, "least margin": 3}), Outcome(True, {"designs": 5, "least margin": 2})])
    Outcome(passed=True, figures={'designs': 15, 'least margin': 2}, remark='', rows={})
    """
    passed, remarks = True, []
    figures: dict[str, Figure] = {}
    rows: dict[str, Mapping[str, str]] = {}
    for outcome in outcomes:
        passed &= outcome.passed
        rows |= outcome.rows
        if outcome.remark and outcome.remark not in remarks:
            remarks.append(outcome.remark)
        for name, value in outcome.figures.items():
            figures[name] = _joined(name, figures[name], value) if name in figures else value
    return Outcome(passed, figures, "; ".join(remarks), rows)


def _joined(name: str, one: Figure, other: Figure) -> Figure:
    if isinstance(one, str) or isinstance(other, str):
        return one if one == other else f"{one}, {other}"
    if name.startswith("least"):
        return min(one, other)
    if name.startswith("most"):
        return max(one, other)
    return one + other
