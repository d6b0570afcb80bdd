"""Korn and Graubard's bar for weighted answers [KG98]: Clopper and Pearson's with the effective sample size.

Put the value on the scale of the randomised share: s = (π̂ − a)/(b − a), where a and b are the least and the greatest
value that one answer can have (by one design: s is the weighted share of ones).  Then
    n* = min(n/D, 1/Σw²)·(t_{n−1}/t_f)²,     D = v/(s(1−s)/(n−1)) the design effect, v the estimated variance of s
and the end of Clopper and Pearson with n*s ones of n* answers, neither of them whole, is mapped back.  Weights w add up
to 1; those of answers by a design with a smaller range are scaled down by its range over the widest.
In clusters D counts how alike their members are; where all answers are alike nothing shows that, and each cluster is
counted as one answer: n* = 1/ΣW², W the clusters' weights (`alike`).
1/Σw² is Kish's effective size: with it n* never exceeds what the weights alone allow, also where v is 0 because all
answers are alike.  The t quantiles allow for a variance that a few heavy records estimate: f = (Σ a)²/Σ(a²/(m−1)) by
Satterthwaite, a the Σw² of a stratum of m answers; for records f = (Σw²)²/Σw⁴ − 1; at least 1.
Approximate: no theorem bounds its coverage; docs/coverage.md lists the least one found.  Where weights go with the
truth it can be far below the level, and no bar from these answers alone could hold: if nobody with the attribute is in
the sample, neither is the weight that such a person would have had.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from server_agg.estimates.numerics import scipy_special

ROUNDING = 1e-9  # an error below it, in widths, is that of a sum of floats; a true one so small has n/D above Kish's


class EffectiveSample(NamedTuple):
    """What the weights leave of n answers; `least` and `most` are those of the value of one answer."""

    n: int
    least: Fraction
    most: Fraction
    kish: float  # 1/Σw²
    freedom: float
    alike: float | None = None  # what counts where the estimated error is 0; by default the same

    def mirrored(self, about: Fraction) -> EffectiveSample:
        """For the complementary attribute, `about` minus this one."""
        return self._replace(least=about - self.most, most=about - self.least)

    def size(self, value: float, error: float, tail: float) -> float:
        """n* of a value with this standard error."""
        width = float(self.most - self.least)
        s = min(max((value - float(self.least)) / width, 0.0), 1.0)
        simple = s * (1 - s) * width**2 / (self.n - 1)  # the estimated variance of n answers of equal weight
        alike = error <= ROUNDING * width  # the design effect of answers that are all alike is 0/0
        least = self.kish if self.alike is None else self.alike
        found = least if alike else min(self.n * simple / error**2, self.kish)
        t = scipy_special().stdtrit
        return max(1.0, found * float(t(self.n - 1, 1 - tail) / t(max(self.freedom, 1.0), 1 - tail)) ** 2)


def korn_graubard_lower(sample: EffectiveSample, value: Fraction, size: float, tail: Fraction) -> float:
    """The lower end around `value`, with `size` answers."""
    width = float(sample.most - sample.least)
    ones = size * min(max(float(value - sample.least) / width, 0.0), 1.0)
    share = float(scipy_special().betaincinv(ones, size - ones + 1, float(tail))) if ones > 0 else 0.0
    return float(sample.least) + width * share
