"""Bayesian equal-tailed credible intervals for the prevalence, under a stated prior.

Priors: "uniform" on [0, 1]; "jeffreys", which is Beta(½, ½) for λ cut to its range, since √information ∝ 1/√(λ(1−λ));
or (a, b), a Beta(a, b) for π.  With u = the prior's distribution function of π the posterior density of u is the
likelihood itself: bounded, whatever the prior.  It is summed on a grid of u that spans all π of deviance <= 80
(e^-40 of the peak lies outside) and inverted by interpolation; the ends are good to about 1e-6 of the bar's width.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from rrcollect.errors import ParameterError
from server_agg.likelihood import deviance_lower, maximum_likelihood
from server_agg.quantiles import special
from server_agg.tally import Tally

__all__ = ["Prior", "StatedPrior", "as_prior", "credible_lower"]

POINTS = 8193
REACH = 80.0

Prior = str | tuple[float, float]
ALLOWED = "'uniform', 'jeffreys', or (a, b) with positive finite numbers for a Beta(a, b) prior of the prevalence"


class StatedPrior(NamedTuple):
    """A prior that was understood."""

    words: str
    a: float
    b: float
    of_rate: bool  # whether it is a prior of λ, cut to its range, instead of π

    def mirrored(self) -> StatedPrior:
        return StatedPrior(self.words, self.b, self.a, self.of_rate)


def as_prior(prior: object) -> StatedPrior:
    """The prior, or a `ParameterError`."""
    if prior == "uniform":
        return StatedPrior("uniform prior", 1.0, 1.0, False)
    if prior == "jeffreys":
        return StatedPrior("Jeffreys prior", 0.5, 0.5, True)
    if isinstance(prior, tuple) and len(prior) == 2:
        numbers = [x for x in prior if isinstance(x, int | float) and not isinstance(x, bool)]
        if len(numbers) == 2 and all(0 < x < math.inf for x in numbers):
            return StatedPrior(
                f"Beta({numbers[0]:g}, {numbers[1]:g}) prior", float(numbers[0]), float(numbers[1]), False
            )
    raise ParameterError("prior", prior, ALLOWED)


def credible_lower(tally: Tally, tail: Fraction, prior: StatedPrior) -> float:
    """The π below which the posterior puts `tail`; the tally must be oriented (c > 0)."""
    import numpy as np

    beta = special()
    q00, p11 = float(1 - tally.design.p00), float(tally.design.p11)
    p00, q11 = float(tally.design.p00), float(1 - tally.design.p11)
    ends = deviance_lower([tally], REACH), 1.0 - deviance_lower([tally.mirrored()], REACH)
    if prior.of_rate:
        angles = [math.asin(math.sqrt(min(1.0, q00 * (1 - pi) + p11 * pi))) for pi in ends]
        yes = np.sin(np.linspace(angles[0], angles[1], POINTS)) ** 2
        pi = np.clip((yes - q00) / float(tally.design.c), 0.0, 1.0)
    else:
        first, last = (float(beta.betainc(prior.a, prior.b, end)) for end in ends)
        levels = np.linspace(first, last, POINTS)
        pi = np.clip(beta.betaincinv(prior.a, prior.b, levels), *ends)
    logs = beta.xlogy(tally.ones, q00 * (1 - pi) + p11 * pi) + beta.xlogy(
        tally.n - tally.ones, p00 * (1 - pi) + q11 * pi
    )
    peak = maximum_likelihood([tally])
    top = beta.xlogy(tally.ones, q00 * (1 - peak) + p11 * peak)
    top += beta.xlogy(tally.n - tally.ones, p00 * (1 - peak) + q11 * peak)
    density = np.exp(np.minimum(logs - top, 0.0))
    mass = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    return float(np.interp(float(tail) * mass[-1], mass, pi))
