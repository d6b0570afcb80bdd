"""All procedures side by side at the same ε: what each costs in variance.

Every procedure that can keep the promise (ε, 0) is given the parameters that reach it; those whose ε is infinite
(Mangat, triangular) are listed with the δ they need instead, at the same probability of a protecting answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction

from rrcollect.classic import procedures
from rrcollect.classic.repeated import RepeatedDesign
from rrcollect.design.mechanism import GRID
from rrcollect.design.optimal import optimal_design
from rrcollect.design.parameters import Epsilon, EpsilonLike, NumberLike, probability
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError

HEAD = ("procedure", "parameters", "ε", "δ(ε)", "n·variance", "effective", "note")
NUMERIC = frozenset({2, 3, 4, 5})


@dataclass(frozen=True)
class ProcedureGrade:
    """One line of the comparison.  `n_variance` is n times the variance of the estimate; ∞ has no JSON, so an infinite
    `epsilon` is None and `delta` says what the procedure needs instead."""

    procedure: str
    parameters: str
    epsilon: float | None
    delta: float
    n_variance: float
    effective_sample: float
    nominal: bool
    note: str

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return asdict(self)

    def cells(self) -> tuple[str, ...]:
        """The line as text, under `HEAD`."""
        return (
            self.procedure,
            self.parameters,
            "∞" if self.epsilon is None else f"{self.epsilon:.4g}",
            f"{self.delta:.3g}",
            f"{self.n_variance:.4g}",
            f"{100 * self.effective_sample:.1f} %",
            self.note,
        )


def _largest(keeps: Callable[[Fraction], bool]) -> Fraction:
    """The largest k/2^64 below 1 that keeps the promise; `keeps` is true up to a point above 1/2 and false after it."""
    low, high = GRID // 2, GRID
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if keeps(Fraction(middle, GRID)) else (low, middle)
    return Fraction(low, GRID)


def compare(epsilon: EpsilonLike, prevalence: NumberLike, innocuous: NumberLike = "1/4") -> list[ProcedureGrade]:
    """Every classic procedure at the same ε, best first.

    `innocuous` is the known share of yes to the harmless question of the unrelated-question and Moors procedures.

    >>> [line.procedure for line in compare(1, "0.1")][:2]
    ['optimal [HLM17]', 'warner']
    """
    promise, pi, u = Epsilon(epsilon), probability("prevalence", prevalence), probability("innocuous", innocuous)
    if not 0 < u < 1:
        raise ParameterError("innocuous", innocuous, "a share of yes strictly between 0 and 1")
    best = optimal_design(promise)
    q = best.p00
    smaller = min(u, 1 - u)
    big_e = promise.exp
    p = Fraction((smaller * (big_e - 1) / (1 + smaller * (big_e - 1)) * GRID).floor(), GRID)
    twice = _largest(lambda theta: theta * theta <= big_e * ((1 - theta) * (1 - theta)))
    kuk2 = procedures.kuk(twice, 1 - twice, draws=2)
    lines = [
        _graded("optimal [HLM17]", f"p00 = p11 = {float(q):.6g}", best, promise, pi),
        _graded("warner", f"p = {float(q):.6g}", procedures.warner(q), promise, pi),
        _graded(
            "forced_response",
            f"yes = no = {float(1 - q):.6g}",
            procedures.forced_response(1 - q, 1 - q),
            promise,
            pi,
        ),
        _graded(
            "mangat_singh",
            f"t = {float(2 * q - 1):.6g}, p = 0.5",
            procedures.mangat_singh(2 * q - 1, "1/2"),
            promise,
            pi,
        ),
        _graded("crosswise", f"u = {float(1 - q):.6g}", procedures.crosswise(1 - q), promise, pi),
        _graded("kuk", f"θ1 = {float(q):.6g}, θ2 = {float(1 - q):.6g}, 1 draw", procedures.kuk(q, 1 - q), promise, pi),
        _graded("kuk", f"θ1 = {float(twice):.6g}, θ2 = {float(1 - twice):.6g}, 2 draws", kuk2, promise, pi),
        _graded(
            "unrelated_question",
            f"p = {float(p):.6g}, u = {float(u):.6g}",
            procedures.unrelated_question(p, u),
            promise,
            pi,
        ),
        _moors(p, u, promise, pi),
        _graded("mangat", f"p = {float(q):.6g}", procedures.mangat(q), promise, pi),
        _graded("triangular", f"u = {float(1 - q):.6g}", procedures.triangular(1 - q), promise, pi),
    ]
    return sorted(lines, key=lambda line: (line.epsilon is None, line.n_variance))


def _graded(
    name: str, parameters: str, design: Design | RepeatedDesign, promise: Epsilon, pi: Fraction
) -> ProcedureGrade:
    tight = design.epsilon()
    nominal = name in procedures.NOMINAL
    note = "nominal: rests on a trait others may know" if nominal else ""
    if isinstance(design, Design) and design.proofs:
        note = f'a "{design.proofs[0]}" is a proof' + (f"; {note}" if note else "")
    return ProcedureGrade(
        procedure=name,
        parameters=parameters,
        epsilon=None if math.isinf(tight) else tight,
        delta=design.delta(promise),
        n_variance=float(design.variance(pi)),
        effective_sample=float(design.effective_sample_ratio(pi)),
        nominal=nominal,
        note=note,
    )


def _moors(p: Fraction, u: Fraction, promise: Epsilon, pi: Fraction) -> ProcedureGrade:
    """Moors with the best split of n people over the two samples, per person of the whole survey."""
    moors = procedures.moors(p)
    first = moors.best_split(pi, u)
    thousandths = min(999, max(1, round(first * 1000)))
    variance = moors.variance(pi, u, n1=thousandths, n2=1000 - thousandths) * 1000
    line = _graded("moors", f"p = {float(p):.6g}, {thousandths / 10:g} % in sample 1", moors.design(u), promise, pi)
    effective = float(pi * (1 - pi) / variance) if variance else 0.0
    return ProcedureGrade(**{**asdict(line), "n_variance": float(variance), "effective_sample": effective})


def comparison_table(lines: list[ProcedureGrade]) -> str:
    """The comparison as text.

    >>> print(comparison_table(compare(1, "0.1")[:1]))
    procedure        parameters              ε  δ(ε)  n·variance  effective  note
    optimal [HLM17]  p00 = p11 = 0.731059    1     0       1.011      8.9 %
    """
    rows = [line.cells() for line in lines]
    widths = [max(len(row[i]) for row in [HEAD, *rows]) for i in range(len(HEAD))]
    return "\n".join(
        "  ".join(
            cell.rjust(w) if i in NUMERIC else cell.ljust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [HEAD, *rows]
    )
