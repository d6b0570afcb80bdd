"""Estimates from answers that are rows of bits: values without bias, and what a design costs in precision, exactly.

target "population": respondents are drawn from a population of prevalence π ([HLM17] Corollary 1), λ(1−λ)/(c²n).
target "sample": the respondents are all there is, π is their own share, and only the mechanism's noise counts:
[π p11(1−p11) + (1−π) p00(1−p00)]/(c²n).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from rrcollect.design.mechanism import Mechanism
from rrcollect.design.parameters import NumberLike, probability, whole_number
from rrcollect.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

Target = Literal["population", "sample"]


class BitMechanism(Mechanism):
    """A mechanism whose answers are rows of bits, and whose tallies count the ones of each."""

    __slots__ = ()
    statistic = "ones"

    @property
    def cells(self) -> int:
        """One count per character."""
        return self.width

    def check_counts(self, n: int, counts: Sequence[int]) -> tuple[int, ...]:
        """The counts of n answers, if they can be; otherwise a `ParameterError`."""
        if len(counts) != self.cells:
            raise ParameterError("counts", list(counts), f"{self.cells}, one per cell of {self!r}")
        found = tuple(whole_number("counts", count, minimum=0) for count in counts)
        if max(found) > n:
            raise ParameterError("counts", list(found), f"at most n = {n} each")
        return found

    def bits(self, answers: Any) -> NDArray[np.uint8]:
        """The answers as a table of 0 and 1, one row each and one column per character; others are refused.

        Answers are texts, or a table with one column per character; where that is one, also 0 and 1 or booleans in a
        list, an array or a column.

        >>> from rrcollect import SetDesign
        >>> from rrcollect import SetDesign
        >>> SetDesign(3, 1, "1/2").bits(["100", "001"]).tolist()
        [[1, 0, 0], [0, 0, 1]]
        """
        from rrcollect.design.answers import answer_table

        return answer_table(answers, self.width, self.allows, self.form)

    def counted(self, answers: Any) -> tuple[int, tuple[int, ...]]:
        """(how many answers there are, the counts of a tally of them)."""
        table = self.bits(answers)
        return len(table), tuple(table.sum(axis=0, dtype="int64").tolist())

    def texts(self, answers: Any) -> Iterator[str]:
        """The answers as they are sent, one after the other."""
        return ("".join(map(str, row)) for row in self.bits(answers).tolist())

    def unbiased(self, answers: Any) -> NDArray[np.float64]:
        """r = (bit − (1−p00))/c for every bit of every answer, by the `column`.

        >>> from rrcollect import Design
        >>> from rrcollect import Design
        >>> Design("3/4", "3/4").unbiased([1, 0, 1]).tolist()
        [1.5, -0.5, 1.5]
        """
        one = self.column
        return self._by_bit(answers, (one.p00 - 1) / one.c, one.p00 / one.c)

    def noise(self, answers: Any) -> NDArray[np.float64]:
        """e = r·p11(1−p11)/c² + (1−r)·p00(1−p00)/c²: p00(1−p11)/c² for a 1, p11(1−p00)/c² for a 0, never negative.

        >>> from rrcollect import Design
        >>> from rrcollect import Design
        >>> Design("3/4", "3/4").noise([1, 0]).tolist()
        [0.75, 0.75]
        """
        one = self.column
        return self._by_bit(answers, one.p11 * (1 - one.p00) / one.c**2, one.p00 * (1 - one.p11) / one.c**2)

    def _by_bit(self, answers: Any, of_zero: Fraction, of_one: Fraction) -> NDArray[np.float64]:
        import numpy as np

        table = np.array([float(of_zero), float(of_one)])[self.bits(answers)]
        return table[:, 0] if self.width == 1 else table


class YesNoUtility(BitMechanism):
    """How well n answers of yes or no estimate a share."""

    __slots__ = ()
    p00: Fraction
    p11: Fraction

    @property
    @abstractmethod
    def matrix(self) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
        """Row = truth, column = answer."""

    @abstractmethod
    def likelihood_ratio(self, answer: int) -> Fraction | float:
        """How much this answer (0 or 1) can change the odds of the truth."""

    def says_yes(self, prevalence: NumberLike) -> Fraction:
        """λ = P(answer 1) = 1 − p00 + πc at prevalence π."""
        return 1 - self.p00 + probability("prevalence", prevalence) * self.c

    def variance(self, prevalence: NumberLike, n: int = 1, target: Target = "population") -> Fraction:
        """The exact variance of the unbiased estimate from n answers at prevalence π.

        target "population": respondents are drawn from a population of prevalence π ([HLM17] Corollary 1),
        λ(1−λ)/(c²n).  target "sample": the respondents are all there is, π is their own share, and only the
        mechanism's noise counts: [π p11(1−p11) + (1−π) p00(1−p00)]/(c²n).
        """
        pi, people = probability("prevalence", prevalence), whole_number("n", n)
        if target == "population":
            yes = self.says_yes(pi)
            spread = yes * (1 - yes)
        elif target == "sample":
            spread = pi * self.p11 * (1 - self.p11) + (1 - pi) * self.p00 * (1 - self.p00)
        else:
            raise ParameterError("target", target, "'population' or 'sample'")
        return spread / (self.c**2 * people)

    def standard_deviation(self, prevalence: NumberLike, n: int = 1, target: Target = "population") -> float:
        """The square root of `variance`."""
        return math.sqrt(self.variance(prevalence, n, target))

    def effective_sample_ratio(self, prevalence: NumberLike) -> Fraction:
        """The share of a sample left after paying for privacy: direct questioning's variance over this one's.

        π(1−π)c²/(λ(1−λ)); where both variances vanish, its limit.

        >>> from rrcollect import Design
        >>> Design("3/4", "3/4").effective_sample_ratio("1/2")
        Fraction(1, 4)
        """
        pi = probability("prevalence", prevalence)
        yes = self.says_yes(pi)
        if yes * (1 - yes) == 0:  # π = 0 or 1 and the answer is certain there
            return abs(self.c)
        return pi * (1 - pi) * self.c**2 / (yes * (1 - yes))

    def exposed(self, prevalence: NumberLike, n: int = 1) -> Fraction:
        """How many of n respondents, on average, give an answer that proves their truth.

        >>> from rrcollect import Design
        >>> Design(1, "1/20").exposed(prevalence="1/10", n=1000)
        Fraction(5, 1)
        """
        pi, people = probability("prevalence", prevalence), whole_number("n", n)
        certain = Fraction(0)
        for answer in (0, 1):
            if self.likelihood_ratio(answer) == math.inf:
                certain += pi * self.matrix[1][answer] + (1 - pi) * self.matrix[0][answer]
        return people * certain


class SetUtility(BitMechanism):
    """How well n sets of options estimate the options' shares."""

    __slots__ = ()
    options: int

    @property
    @abstractmethod
    def q(self) -> Fraction:
        """The chance that an option is in the set if it is not the truth."""

    def variance(
        self, prevalences: Sequence[NumberLike], option: int, n: int = 1, target: Target = "population"
    ) -> Fraction:
        """The exact variance of one option's unbiased share from n answers, as `Design.variance`.

        >>> from rrcollect import SetDesign
        >>> SetDesign(4, 1, "1/2").variance(["1/2", "1/4", "1/8", "1/8"], 0)
        Fraction(2, 1)
        """
        found: Fraction = self.column.variance(self._shares(prevalences)[self._option(option)], n, target)
        return found

    def covariance(self, prevalences: Sequence[NumberLike], i: int, j: int, n: int = 1) -> Fraction:
        """The exact covariance of two options' shares from n people drawn from a population.

        >>> from rrcollect import SetDesign
        >>> SetDesign(5, 2, "2/3").covariance(["1/2", "1/4", "1/8", "1/16", "1/16"], 0, 1)
        Fraction(-5, 8)
        """
        shares, people = self._shares(prevalences), whole_number("n", n)
        if self._option(i) == self._option(j):
            return self.variance(prevalences, i, n)
        with_truth, both_others = self.pair_chances()
        a, b = (self.q + self.c * shares[one] for one in (i, j))
        together = both_others + (with_truth - both_others) * (shares[i] + shares[j])
        return (together - a * b) / (self.c**2 * people)

    def total_variance(self, prevalences: Sequence[NumberLike], n: int = 1, target: Target = "population") -> Fraction:
        """The variances of all options together: the mean squared error of the whole vector.

        >>> from rrcollect import SetDesign
        >>> SetDesign(4, 1, "1/2").total_variance(["1/4"] * 4)
        Fraction(27, 4)
        """
        return sum((self.variance(prevalences, j, n, target) for j in range(self.options)), Fraction(0))

    def _shares(self, prevalences: Sequence[NumberLike]) -> list[Fraction]:
        shares = [probability("prevalences", share) for share in prevalences]
        if len(shares) != self.options or sum(shares) != 1:
            raise ParameterError("prevalences", list(prevalences), f"{self.options} shares that add up to 1")
        return shares

    def _option(self, option: int) -> int:
        if type(option) is not int or not 0 <= option < self.options:
            raise ParameterError("option", option, f"a whole number from 0 to {self.options - 1}")
        return option
