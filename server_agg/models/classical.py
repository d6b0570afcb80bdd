"""Two classic procedures with estimates of their own: Kuk's k draws [Kuk90] and Moors' two samples [Moo71].

Kuk: each person reports how many of k independent draws said "yes".  With S the reported number:
π̂ = (mean(S)/k − (1−p00))/c, unbiased, and
    v_pop = s²/(n k² c²), s² the sample variance of S                     unbiased: the S are i.i.d.
    v_real = [π̂ p11(1−p11) + (1−π̂) p00(1−p00)]/(k c² n)                  for the people who answered
The true variance is again a quadratic in π, (a + bπ)/k + π(1−π) over n, so Wilson's and Chebyshev's bars of `score`
apply; Hoeffding's bound treats a person's mean answer as one term of width 1/|c|.

Moors: the harmless question's share of yes is estimated from the second sample.
    π̂ = (λ̂1 − (1−p)λ̂2)/p,     v = [λ̂1(1−λ̂1)/(n1−1) + (1−p)² λ̂2(1−λ̂2)/(n2−1)]/p²
Both are unbiased.  Bars: wald (approximate); guaranteed, from the exact bars of λ1 and λ2 at level √level each; and
hoeffding, since π̂ is a sum of independent answers worth 1/(p n1) and (1−p)/(p n2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from rrcollect.classic.repeated import MoorsDesign, RepeatedDesign
from rrcollect.design.parameters import NumberLike, whole_number
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.count.tally import Tally
from server_agg.errors import TooFewAnswers
from server_agg.estimates.interval import Problem
from server_agg.estimates.methods import interval_of
from server_agg.estimates.numerics import normal_tail, squared_widths
from server_agg.estimates.score import variance_line
from server_agg.estimates.share import Share
from server_agg.results.findings import Findings
from server_agg.results.interval import Interval, Misfit, bar_words, percent
from server_agg.results.row import Row

DIRECT = Design(1, 1)


def _findings(n: int, variance: Fraction, problem: Problem, usual: str, misfit: Misfit, **facts: Any) -> Findings:
    """The prevalence with its unbiased variance; `usual` is the method of the bar that is shown."""

    def bar(level: NumberLike, method: str | None) -> Interval[Any]:
        return interval_of(problem, level, method or usual)

    row = Row(problem.kind, n, float(problem.value), math.sqrt(variance), bar, None, misfit)
    return Findings((row,), str(problem.target), {"exact_value": problem.value, "variance": variance, **facts})


def kuk(people: Sequence[int], design: RepeatedDesign, target: str = "population") -> Findings:
    """The estimate from how many people reported 0, 1, …, k.  Bars: "hoeffding", "chebyshev" (guaranteed), "wilson".
    `exact_value` may leave [0, 1]; `variance` is unbiased.

    >>> found = kuk([50, 30, 20], RepeatedDesign(Design("4/5", "4/5"), 2))
    >>> found.exact_value, round(found.standard_error, 4)
    (Fraction(1, 4), 0.0654)
    """
    if len(people) != design.draws + 1:
        raise ParameterError("people", people, f"{design.draws + 1} counts: of people who reported 0 … {design.draws}")
    if target not in ("population", "sample"):
        raise ParameterError("target", target, "'population' or 'sample'")
    counts = tuple(whole_number(f"people who reported {r}", m, minimum=0) for r, m in enumerate(people))
    n, one, k = sum(counts), design.design, design.draws
    if n < 2:
        raise TooFewAnswers(n, "the survey")
    mean = Fraction(sum(r * m for r, m in enumerate(counts)), n)
    value = (mean / k - 1 + one.p00) / one.c
    if target == "sample":
        variance = (value * one.p11 * (1 - one.p11) + (1 - value) * one.p00 * (1 - one.p00)) / (k * one.c**2 * n)
    else:
        squares = sum(((r - mean) ** 2 * m for r, m in enumerate(counts)), Fraction(0))
        variance = squares / (n - 1) / (n * k**2 * one.c**2)
    sampling = Fraction(int(target == "population"))
    problem = Problem(
        "repeated draws", value, lambda: math.sqrt(variance), target,
        variance=lambda: variance_line(one, n, sampling, k), squares=1 / (n * one.c**2),
    )  # fmt: skip
    misfit = Share(Tally(one, n * k, int(mean * n))).misfit
    found = _findings(n, variance, problem, "hoeffding", misfit, design=one, draws=k, people=counts)
    return replace(found, said=f"n = {n}, {k} draws each")


def moors(first: tuple[int, int], second: tuple[int, int], design: MoorsDesign) -> Findings:
    """The estimate from (n, how many said yes) in the first sample, asked both questions, and in the second, asked the
    harmless one.  Bars of the prevalence: "guaranteed", "hoeffding" or "wald".  `exact_value` and `variance` are as in
    `kuk`; `harmless` is the share of yes to the harmless question.

    >>> found = moors((800, 184), (200, 100), MoorsDesign(Fraction(7, 10)))
    >>> found.exact_value, round(found.standard_error, 4), found.harmless.value
    (Fraction(4, 35), 0.0261, 0.5)
    """
    asked, harmless = (_direct(*sample) for sample in (first, second))
    p = design.p
    value = (asked.exact_value - (1 - p) * harmless.exact_value) / p
    variance = (asked.variance + (1 - p) ** 2 * harmless.variance) / p**2
    weights = [1 / p, 1 - 1 / p]
    problem = Problem(
        "two samples", value, lambda: math.sqrt(variance),
        squares=squared_widths(weights, [asked.tally, harmless.tally]),
        parts=((weights[0], asked.problem), (weights[1], harmless.problem)),
    )  # fmt: skip
    found = _findings(
        asked.tally.n + harmless.tally.n, variance, problem, "guaranteed", _apart(p, asked, harmless),
        harmless=harmless, p=str(p), first=first, second=second,
    )  # fmt: skip
    told = f"harmless question: {percent(harmless.value)} % ({bar_words(harmless.interval(0.95, 'exact'))})"
    return replace(found, said=f"n = {asked.tally.n} and {harmless.tally.n}", told=[told])


def _direct(n: int, ones: int) -> Share:
    tally = Tally(DIRECT, n, ones)
    if tally.n < 2:
        raise TooFewAnswers(tally.n)
    return Share(tally)


def _apart(p: Fraction, asked: Share, harmless: Share) -> Misfit:
    """Whether the two shares are too far apart for any prevalence; by the normal law, the harmless share taken as the
    second sample has it."""
    u, tails = harmless.exact_value, {}
    for side, end in (("below", 0), ("above", 1)):
        yes = p * end + (1 - p) * u
        variance = yes * (1 - yes) / asked.tally.n + (1 - p) ** 2 * u * (1 - u) / harmless.tally.n
        away = float(asked.exact_value - yes) * (1 if side == "below" else -1)
        tails[side] = normal_tail(-away / math.sqrt(variance)) if variance else float(away >= 0)
    side = min(tails, key=lambda each: tails[each])
    return Misfit(tails[side], side, approximate=True)
