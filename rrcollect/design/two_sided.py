"""Two promises for one question: a "yes" may tell less than a "no", where only a "yes" can harm.

    ln P(yes | 1)/P(yes | 0) <= ε_yes        ln P(no | 0)/P(no | 1) <= ε_no

Theorem.  With E1 = e^ε_yes and E2 = e^ε_no, both above 1, the design

    p00 = E2(E1 − 1)/(E1 E2 − 1)        p11 = E1(E2 − 1)/(E1 E2 − 1)

has the least variance at every prevalence: both inequalities are tight there, and the variance falls with p00 and with
p11 (E1 = E2 is Warner's).  Lowering both to the grid keeps both promises (rounding lemma of `yes_no`).

Rules
1. It is an ordinary `Design`, and is charged the larger of the two promises: a device knows one ε.
2. ε_no is finite.  With ε_no = ∞ a "no" would be a proof, which somebody can be asked to show.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

from rrcollect.design.chosen import ChosenDesign, floored_to_grid
from rrcollect.design.parameters import Epsilon, EpsilonLike
from rrcollect.design.promise import Promise
from rrcollect.design.yes_no import Design
from rrcollect.errors import UninformativeDesign


def two_sided_design(epsilon_yes: EpsilonLike, epsilon_no: EpsilonLike) -> ChosenDesign:
    """The design of least variance in which a "yes" tells at most ε_yes and a "no" at most ε_no.

    >>> design = two_sided_design("ln 2", "ln 6")
    >>> float(design.p00), float(design.p11)          # 6/11, 10/11
    (0.5454545454545454, 0.9090909090909091)
    >>> design.satisfies("ln 6"), design.satisfies("ln 5")
    (True, False)
    """
    yes, no = Epsilon(epsilon_yes), Epsilon(epsilon_no)
    if min(yes, no) <= Epsilon(0):
        raise UninformativeDesign(
            f"with ε_yes = {yes} and ε_no = {no} one answer may tell nothing, so both truths are answered alike; "
            "both must be above 0"
        )
    p00, p11 = _both(yes, no)
    if p00 + p11 <= 1:
        raise UninformativeDesign(f"ε_yes = {yes} and ε_no = {no} are too strict for the grid of 1/2^64")
    reason = (
        f'a "yes" changes the odds by a factor of at most {float(yes.exp):.4g}, a "no" by at most {float(no.exp):.4g}. '
        "It is fair to ask this way where only one of the answers can harm, and nobody can demand to be shown the "
        "other one"
    )
    promise = Promise(max(yes, no), Fraction(0))
    return ChosenDesign(Design(p00, p11), promise=promise, rule="two promises, both tight", reason=reason)


def _both(yes: Epsilon, no: Epsilon) -> tuple[Fraction, Fraction]:
    """(p00, p11) floored to the grid, exactly.

    p00 rises with E1 and falls with E2, p11 the other way round.  So bounds of the two exponentials bound both; they
    are made finer until both ends have the same floor.  That ends: for rational E1 and E2 the bounds are exact, and
    else p00 and p11 are irrational and do not lie on the grid."""
    for doubled in itertools.count(7):
        (low1, high1), (low2, high2) = yes.exp.bounds(1 << doubled), no.exp.bounds(1 << doubled)
        least = floored_to_grid(_p00(low1, high2), _p00(low2, high1))
        most = floored_to_grid(_p00(high1, low2), _p00(high2, low1))
        if least == most:
            return least
    raise AssertionError("unreachable")


def _p00(e1: Fraction, e2: Fraction) -> Fraction:
    """p00 of the theorem; p11 is the same with the promises exchanged."""
    return e2 * (e1 - 1) / (e1 * e2 - 1)
