"""`Balanced`: what follows alike for sets of options and for blocks of a space.

An answer names a group of `size` of the `truths`; every truth is in as many groups as every other, and every two are in
as many together.  With chance p the truth is in the group that is sent, and the group is uniform among those.  Then

    e^ε = p(k − ω)/((1 − p)ω)          option j alone is the yes/no design (1 − q, p),  q = (ω − p)/(k − 1)

with k = `truths` and ω = `size`, whichever groups there are: only the covariances of two options differ.

Rules
1. p is an exact fraction, and truths are told apart: c = p − q = (kp − ω)/(k − 1) > 0.
2. `column` is for estimates only: its ratio is smaller than the mechanism's, so ε never comes from it.
3. The least δ at ε is max(0, (p(k−ω) − e^ε ω(1−p))/(k−1)).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from rrcollect.design.mechanism import Mechanism
from rrcollect.design.parameters import NumberLike, probability, whole_number
from rrcollect.design.sentences import PRACTICAL_PROOF, decimal, rounded_up
from rrcollect.design.terms import Blanket
from rrcollect.design.yes_no import Design, Target
from rrcollect.errors import ParameterError, UninformativeDesign


class Balanced(Mechanism):
    """A group of `size` of `truths` options, the truth in it with chance `p`."""

    __slots__ = ()
    p: Fraction
    size: int

    @property
    def q(self) -> Fraction:
        """The chance that an option is in the group if it is not the truth."""
        return (self.size - self.p) / (self.truths - 1)

    @property
    def c(self) -> Fraction:
        """p − q: how much of the truth gets through."""
        return self.p - self.q

    @property
    def column(self) -> Design:
        """One option of the group seen alone, for estimates (rule 2)."""
        return Design(1 - self.q, self.p)

    # ---- privacy ----------------------------------------------------------------------------------------------

    def needed(self) -> tuple[tuple[Fraction, Fraction]]:
        """Of the groups that hold one of two options and not the other: with chance u it is the truth, with v not."""
        k, w, others = self.truths, self.size, self.truths - 1
        return ((self.p * (k - w) / others, (1 - self.p) * w / others),)

    def telling(self) -> tuple[Fraction, Fraction]:
        """All groups are alike: each of them tells, or none."""
        ratio = self.worst_likelihood_ratio
        return (Fraction(1), Fraction(1)) if ratio >= PRACTICAL_PROOF else (Fraction(ratio), Fraction(0))

    @property
    def most_exposed(self) -> Fraction:
        """All respondents: each group exposes, or none."""
        return Fraction(1)

    @property
    def proof_words(self) -> str:
        """What a group excludes, if it excludes anything for certain."""
        return "what is not in a set is excluded for certain" if self.p == 1 else ""

    def blanket(self) -> Blanket:
        """Two truths x and x′ differ only in the groups that hold one of them and not the other: with x the group holds
        x and not x′ with chance a = p(k−ω)/(k−1), and x′ and not x with b = (1−p)ω/(k−1).  So with chance a + b the
        report is a coin of a/(a+b) or b/(a+b), and every other report is, with chance 2b at least, a fair coin in its
        place: whatever is true, every group has the chance of one that does not hold it, or more."""
        if self.p == 1:
            raise ParameterError("design", self, "a design with p below 1: a set that lacks an option excludes it")
        ((own, other),) = self.needed()
        return Blanket(own + other, 2 * other, Fraction(1, 2), (other / (own + other), own / (own + other)))

    # ---- estimating -------------------------------------------------------------------------------------------

    def variance(
        self, prevalences: Sequence[NumberLike], option: int, n: int = 1, target: Target = "population"
    ) -> Fraction:
        """The exact variance of one option's unbiased share from n answers, as `Design.variance`.

        >>> from rrcollect import SetDesign
        >>> SetDesign(4, 1, "1/2").variance(["1/2", "1/4", "1/8", "1/8"], 0)
        Fraction(2, 1)
        """
        found: Fraction = self.column.variance(self.shares(prevalences)[self.option(option)], n, target)
        return found

    def total_variance(self, prevalences: Sequence[NumberLike], n: int = 1, target: Target = "population") -> Fraction:
        """The variances of all options that shares are given of together: the mean squared error of the whole vector.

        >>> from rrcollect import SetDesign
        >>> SetDesign(4, 1, "1/2").total_variance(["1/4"] * 4)
        Fraction(27, 4)
        """
        return sum((self.column.variance(share, n, target) for share in self.shares(prevalences)), Fraction(0))

    def shares(self, prevalences: Sequence[NumberLike]) -> list[Fraction]:
        """The shares of the options, exactly; an error if they are not those of one question."""
        shares = [probability("prevalences", share) for share in prevalences]
        if self.options_for(len(shares)) != len(shares) or sum(shares) != 1:
            raise ParameterError("prevalences", list(prevalences), f"{self.truths} shares that add up to 1")
        return shares

    def option(self, option: int) -> int:
        """The number of an option; an error if there is no such."""
        if type(option) is not int or not 0 <= option < self.truths:
            raise ParameterError("option", option, f"a whole number from 0 to {self.truths - 1}")
        return option

    def line(self, i: int, j: int) -> Sequence[int]:
        """The options that are in an answer whenever two options are."""
        return [i, j]

    # ---- in words ---------------------------------------------------------------------------------------------

    def check_informative(self) -> None:
        """Refuse a p that no truth would show by."""
        if self.truths * self.p <= self.size:
            raise UninformativeDesign(
                f"p = {self.p} is not above {Fraction(self.size, self.truths)}: of {self.truths} options every one is "
                f"in a set of {self.size} with that chance anyway, so the truth would not show in any number of answers"
            )

    def explain(self, n: int = 1000) -> str:
        """What a publisher should read before signing: what one answer tells, what it costs, what one dishonest
        reporter can do, and if it was chosen among others, what they would have cost.

        >>> from rrcollect import SetDesign
        >>> print(SetDesign(10, 3, "9/16").explain().splitlines()[2])
        People    for shares of 1/10 each: 2.94 times as many as a yes/no about one option, 0.762 of k-ary response
        """
        people, ratio = whole_number("n", n), self.worst_likelihood_ratio
        k = self.truths if self.choice is None else self.choice.options
        lines = [f"Design    {self}"]
        if isinstance(ratio, float):
            lines.append("Promise   none with δ = 0: an option that is not in the set is excluded for certain")
        else:
            lines.append(
                f"Promise   ε = {self.epsilon():.6g}: between any two options one answer changes the odds by a factor "
                f"of at most {decimal(rounded_up(ratio, max(3, len(str(int(ratio))))))}"
            )
            even = Fraction(1, k)
            own = self.column.variance(even)
            yes_no = Design(ratio / (ratio + 1), ratio / (ratio + 1)).variance(even)
            single = Design((ratio + k - 2) / (ratio + k - 1), ratio / (ratio + k - 1)).variance(even)
            lines.append(
                f"People    for shares of 1/{k} each: {float(own / yes_no):.3g} times as many as a "
                f"yes/no about one option, {float(own / single):.3g} of k-ary response"
            )
        moved = 100 * float(self.manipulation_factor) / people
        lines.append(f"Cheating  one false report of {people} moves an option by at most {moved:.3g} percentage points")
        return "\n".join(lines if self.choice is None else [*lines, f"Why       {self.choice.reason}"])
