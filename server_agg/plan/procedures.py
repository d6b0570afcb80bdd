"""All procedures side by side at the same ε: what each costs in variance.

Every procedure that can keep the promise (ε, 0) is given the parameters that reach it; those whose ε is infinite
(Mangat, triangular) are listed with the δ they need instead, at the same probability of a protecting answer.

Others' ways to ask for one of several options, or for a number, beside ours at the same ε.

For options with equal shares, E = e^ε, n times the mean squared error over all options, of a population:

    sets of ω options             [YB18]   `SetDesign.total_variance`, the best ω               k bits
    k-ary response                [HLM16]  the same with ω = 1                                  ⌈log2 k⌉ bits
    optimised unary encoding      [WBLJ17] every bit alone, p = 1/2, q = 1/(E + 1)              k bits
    unary encoding, as in RAPPOR  [EPK14]  every bit alone, p = 1 − q = √E/(√E + 1)             k bits
    Hadamard, one sign of a row   [CMM21]  k((E + 1)/(E − 1))² − Σπ²                            ⌈log2 k⌉ + 1 bits
    Laplace noise on the answer   [WWH16]  8k/ε² + 1 − Σπ²                                      k numbers

What one dishonest reporter of n moves: an option's share by at most `option`/n, all shares together by at most
`all`/n.  A bit moves an option by 1/(p − q); a set has as many ones whatever is sent, bits alone have none to k of
them, and noise that is a real number has no end.

For a number in [0, 1], n times the variance of the mean at the worst number: one bit 1/(4c²), the piecewise mechanism
([WXY19], on [−1, 1]: t²/(√E − 1) + (√E + 3)/(3(√E − 1)²)), Laplace noise 2/ε².
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from rrcollect.classic import procedures
from rrcollect.classic.repeated import RepeatedDesign
from rrcollect.design.balanced import Balanced
from rrcollect.design.many_options import best_for_options, checked_options, made_for
from rrcollect.design.mechanism import GRID
from rrcollect.design.optimal import optimal_design
from rrcollect.design.parameters import Epsilon, EpsilonLike, NumberLike, probability
from rrcollect.design.sentences import bits_of
from rrcollect.design.sets import MOST_OPTIONS
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.plan.pictures import draw_lines
from server_agg.results.drawing import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEAD = ("procedure", "parameters", "ε", "δ(ε)", "n·variance", "effective", "note")
NUMERIC = frozenset({2, 3, 4, 5})
OTHERS_HEAD = ("design", "n·MSE", "people", "bits sent", "a dishonest reporter moves an option", "and all of them")
OTHERS_NUMERIC = frozenset({1, 2, 3, 4, 5})
DOUBLE = 64  # bits of a number


class ProcedureGrade(NamedTuple):
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
        return self._asdict()

    def cells(self) -> tuple[str, ...]:
        """The line as text, under `HEAD`."""
        epsilon = "∞" if self.epsilon is None else f"{self.epsilon:.4g}"
        numbers = epsilon, f"{self.delta:.3g}", f"{self.n_variance:.4g}", f"{100 * self.effective_sample:.1f} %"
        return self.procedure, self.parameters, *numbers, self.note


def _largest(keeps: Callable[[Fraction], bool]) -> Fraction:
    """The largest k/2^64 below 1 that keeps the promise; `keeps` is true up to a point above 1/2 and false after it."""
    low, high = GRID // 2, GRID
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if keeps(Fraction(middle, GRID)) else (low, middle)
    return Fraction(low, GRID)


def compare_procedures(
    epsilon: EpsilonLike, prevalence: NumberLike, innocuous: NumberLike = "1/4"
) -> list[ProcedureGrade]:
    """Every classic procedure at the same ε, best first.

    `innocuous` is the known share of yes to the harmless question of the unrelated-question and Moors procedures.

    >>> [line.procedure for line in compare_procedures(1, "0.1")][:2]
    ['optimal [HLM17]', 'warner']
    """
    promise, pi, u = Epsilon(epsilon), probability("prevalence", prevalence), probability("innocuous", innocuous)
    if not 0 < u < 1:
        raise ParameterError("innocuous", innocuous, "a share of yes strictly between 0 and 1")
    best = optimal_design(promise)
    q = best.p00
    smaller = min(u, 1 - u)
    big_e = promise.exp
    p = Fraction(math.floor(smaller * (big_e - 1) / (1 + smaller * (big_e - 1)) * GRID), GRID)
    twice = _largest(lambda theta: theta * theta <= big_e * ((1 - theta) * (1 - theta)))
    truth, lie, half, share, often = (f"{float(x):.6g}" for x in (q, 1 - q, 2 * q - 1, u, p))
    two = f"θ1 = {float(twice):.6g}, θ2 = {float(1 - twice):.6g}, 2 draws"
    made: list[tuple[str, str, Design | RepeatedDesign]] = [
        ("optimal [HLM17]", f"p00 = p11 = {truth}", best),
        ("warner", f"p = {truth}", procedures.warner(q)),
        ("forced_response", f"yes = no = {lie}", procedures.forced_response(1 - q, 1 - q)),
        ("mangat_singh", f"t = {half}, p = 0.5", procedures.mangat_singh(2 * q - 1, "1/2")),
        ("crosswise", f"u = {lie}", procedures.crosswise(1 - q)),
        ("kuk", f"θ1 = {truth}, θ2 = {lie}, 1 draw", procedures.kuk(q, 1 - q)),
        ("kuk", two, procedures.kuk(twice, 1 - twice, draws=2)),
        ("unrelated_question", f"p = {often}, u = {share}", procedures.unrelated_question(p, u)),
        ("mangat", f"p = {truth}", procedures.mangat(q)),
        ("triangular", f"u = {lie}", procedures.triangular(1 - q)),
    ]
    lines = [*(_graded(*one, promise, pi) for one in made), _moors(p, u, promise, pi)]
    return sorted(lines, key=lambda line: (line.epsilon is None, line.n_variance))


def _graded(
    name: str, parameters: str, design: Design | RepeatedDesign, promise: Epsilon, pi: Fraction
) -> ProcedureGrade:
    tight, nominal = design.epsilon(), name in procedures.NOMINAL
    notes = [design.proof_words, "nominal: rests on a trait others may know" if nominal else ""]
    return ProcedureGrade(
        name, parameters, None if math.isinf(tight) else tight, design.delta(promise), float(design.variance(pi)),
        float(design.effective_sample_ratio(pi)), nominal, "; ".join(filter(None, notes)),
    )  # fmt: skip


def _moors(p: Fraction, u: Fraction, promise: Epsilon, pi: Fraction) -> ProcedureGrade:
    """Moors with the best split of n people over the two samples, per person of the whole survey."""
    moors = procedures.moors(p)
    first = moors.best_split(pi, u)
    thousandths = min(999, max(1, round(first * 1000)))
    variance = moors.variance(pi, u, n1=thousandths, n2=1000 - thousandths) * 1000
    line = _graded("moors", f"p = {float(p):.6g}, {thousandths / 10:g} % in sample 1", moors.design(u), promise, pi)
    effective = float(pi * (1 - pi) / variance) if variance else 0.0
    return line._replace(n_variance=float(variance), effective_sample=effective)


# ---- others' designs for options and numbers ------------------------------------------------------------------------


class OtherDesign(NamedTuple):
    """One line: n·MSE, the people needed against the best, bits per answer, n times what one dishonest reporter
    of n moves."""

    design: str
    n_mse: float
    people: float
    bits: int
    option: float
    all: float

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON; what has no end is None."""
        return {name: None if value == math.inf else value for name, value in self._asdict().items()}

    def cells(self) -> tuple[str, ...]:
        """The line as text, under `OTHERS_HEAD`."""
        moved = ["without end" if value == math.inf else f"{value:.4g}/n" for value in (self.option, self.all)]
        return (self.design, f"{self.n_mse:.6g}", f"{self.people:.3g} ×", str(self.bits), *moved)


def compare_choices(epsilon: EpsilonLike, options: int) -> list[OtherDesign]:
    """Every way to ask for one of so many options at the same ε, fewest people first.

    >>> for line in compare_choices(1, 10)[:3]:
    ...     print(line.design, round(line.n_mse, 3), round(line.people, 2))
    sets of 3 of 10 options 30.004 1.0
    optimised unary encoding 38.727 1.29
    unary encoding, as in RAPPOR 40.077 1.34
    """
    exact, k = Epsilon(epsilon), checked_options(options)
    e, best = _factor(exact), best_for_options(exact, k)
    root, number = math.sqrt(e), math.ceil(math.log2(k))
    slope = (e + 1) / (e - 1)
    lines = [
        _unary("optimised unary encoding", 1 / 2, 1 / (e + 1), k),
        _unary("unary encoding, as in RAPPOR", root / (root + 1), 1 / (root + 1), k),
        ("Hadamard, one sign of a row", k * slope**2 - 1 / k, number + 1, 2 * slope, 2 * k * slope),
        ("Laplace noise on the answer", 8 * k / float(exact) ** 2 + 1 - 1 / k, DOUBLE * k, math.inf, math.inf),
    ]
    if k <= MOST_OPTIONS:
        lines.append(_groups("k-ary response", made_for(exact, k, 1), k, number))
    if best.size > 1:
        name = f"{best.choice.compared[0][0]} of {k} options"
        lines.append(_groups(name, best, k, k if best.width == k else bits_of(best.values)))
    least = min(line[1] for line in lines)
    return sorted(
        (OtherDesign(name, mse, mse / least, bits, option, every) for name, mse, bits, option, every in lines),
        key=lambda line: line.n_mse,
    )


def compare_numbers(epsilon: EpsilonLike) -> dict[str, float]:
    """n times the variance of the mean of numbers in [0, 1], at the worst number, by three ways at the same ε.

    >>> {name: round(value, 3) for name, value in compare_numbers(1).items()}
    {'one bit': 1.171, 'piecewise': 1.306, 'Laplace noise': 2.0}
    """
    exact = Epsilon(epsilon)
    root = math.sqrt(_factor(exact))
    piecewise = (1 / (root - 1) + (root + 3) / (3 * (root - 1) ** 2)) / 4
    one_bit = float(1 / (4 * optimal_design(exact).c ** 2))
    return {"one bit": one_bit, "piecewise": piecewise, "Laplace noise": 2 / float(exact) ** 2}


def plot_choices(
    options: int, epsilons: Sequence[EpsilonLike] = ("1/2", 1, "3/2", 2, "5/2", 3, 4), ax: Axes | None = None
) -> Picture:
    """People needed against the best design, over ε, one line per design; the axis upwards is logarithmic.

    >>> plot_choices(10, epsilons=(1, 2)).axes.get_xlabel()
    'ε'
    """
    if not epsilons:
        raise ParameterError("epsilons", list(epsilons), "one ε or more")
    found: dict[str, tuple[list[float], list[float]]] = {}
    for epsilon in epsilons:
        for line in compare_choices(epsilon, options):
            name = "the best sets or blocks" if line.design.startswith(("sets of", "blocks of")) else line.design
            places, people = found.setdefault(name, ([], []))
            places.append(float(Epsilon(epsilon)))
            people.append(line.people)
    title = f"One of {options} options"
    axes = draw_lines(ax, found, x="ε", y="people needed, against the best", title=title)
    axes.set_yscale("log")
    axes.legend()
    return Picture(axes)


Line = tuple[str, float, int, float, float]


def _groups(name: str, design: Balanced, k: int, bits: int) -> Line:
    c, most = float(design.c), min(design.size, design.truths - design.size, k)
    return name, k * float(design.column.variance(Fraction(1, k))), bits, 1 / c, 2 * most / c


def _unary(name: str, p: float, q: float, k: int) -> Line:
    """Every bit alone: 1 with chance p if the option is the truth, q if not."""
    share = q + (p - q) / k
    return name, k * share * (1 - share) / (p - q) ** 2, k, 1 / (p - q), k / (p - q)


def _factor(epsilon: Epsilon) -> float:
    """e^ε, above 1."""
    if epsilon <= Epsilon(0):
        raise ParameterError("epsilon", str(epsilon), "above 0")
    return math.exp(float(epsilon))
