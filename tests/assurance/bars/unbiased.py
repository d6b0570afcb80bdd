"""Unbiasedness as identities of fractions: sums over every count, no rounding, no simulation.

For the population both sides are polynomials in π of degree n at most: equal at n + 1 points, they are equal for every
prevalence.  For those who answered and for finite populations every number of true "yes" is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from rrcollect import Design
from server_agg import Estimate, Tally, estimate
from tests.assurance.bars.laws import binomial, finite_law, mean, sample_law
from tests.assurance.check import Outcome, Step
from tests.support.aims import aimed

PIECES = {True: 4, False: 1}
Estimator = Callable[[Estimate], tuple[Fraction, Fraction]]


def plain(estimate: Estimate) -> tuple[Fraction, Fraction]:
    """The project's estimate and its estimated variance."""
    return estimate.exact_value, estimate.variance


def clipped(estimate: Estimate) -> tuple[Fraction, Fraction]:
    """Planted: cut to [0, 1] before it is averaged."""
    return min(max(estimate.exact_value, Fraction(0)), Fraction(1)), estimate.variance


def one_too_many(estimate: Estimate) -> tuple[Fraction, Fraction]:
    """Planted: the share of "yes" among n + 1."""
    tally = estimate.tally
    return (Fraction(tally.ones, tally.n + 1) - (1 - tally.column.p00)) / tally.column.c, estimate.variance


def divided_by_n(estimate: Estimate) -> tuple[Fraction, Fraction]:
    """Planted: the variance with n where n − 1 belongs."""
    return estimate.exact_value, estimate.variance * (estimate.tally.n - 1) / estimate.tally.n


def biases(design: Design, n: int, target: str | int, of: Estimator) -> tuple[int, int]:
    """(identities looked at, how many fail): the mean of the value, and of the estimated variance, at every share."""
    found = [of(estimate(Tally(design, n, k), **aimed(target))) for k in range(n + 1)]
    if target == "population":
        shares = [Fraction(k, n) for k in range(n + 1)]
        laws = [binomial(n, design.says_yes(pi)) for pi in shares]
        true = [design.variance(pi, n) for pi in shares]
    else:
        laws = [sample_law(design, n, t) for t in range(n + 1)]
        size = n if target == "sample" else int(target)
        shares = [Fraction(k, size) for k in range(size + 1)]
        true = [design.variance(pi, n, target="sample") for pi in shares]
        if target != "sample":
            laws = [finite_law(laws, n, yes, size) for yes in range(size + 1)]
            drawn = Fraction(size - n, n * (size - 1))
            true = [v + pi * (1 - pi) * drawn for v, pi in zip(true, shares, strict=True)]
    wrong = 0
    for pi, law, variance in zip(shares, laws, true, strict=True):
        wrong += mean(law, lambda k: found[k][0]) != pi
        wrong += mean(law, lambda k: found[k][1]) != variance
    return 2 * len(shares), wrong


def unbiased(of: Estimator, designs: Sequence[Design], full: bool, piece: int, step: Step) -> Outcome:
    """Exact identities for designs × n × targets."""
    some = designs[piece :: PIECES[full]]
    sizes, few = (range(2, 26), (2, 3, 5, 8)) if full else ((2, 3, 7), (3,))
    looked = wrong = cases = 0
    for done, design in enumerate(some):
        targets: list[tuple[int, str | int]] = [(n, t) for n in sizes for t in ("population", "sample")]
        targets += [(n, m) for n in few for m in (n + 1, 2 * n)]
        for people, target in targets:
            count, failed = biases(design, people, target, of)
            looked, wrong, cases = looked + count, wrong + failed, cases + 1
        step(done + 1, len(some))
    return Outcome(wrong == 0, {"design × n × target": cases, "identities": looked, "identities that fail": wrong})


def biased(of: Estimator, designs: Sequence[Design], piece: int, step: Step) -> Outcome:
    """The same identities with a planted estimator: some must fail for every design."""
    found = [unbiased(of, [design], False, 0, step) for design in designs]
    wrong = sum(int(one.figures["identities that fail"]) for one in found)
    return Outcome(not any(one.passed for one in found), {"designs": len(found), "identities that fail": wrong})
