"""`SetDesign`: the published randomisation of one of k options, and everything that follows from it.

The device sends a set of exactly ω of the k options.  With chance p the truth is among them; the others are uniform:

    P(S | x) = p / C(k−1, ω−1) if x is in S,    (1 − p) / C(k−1, ω) if not          [YB18] subset selection

ω = 1 is k-ary randomised response [HLM16]; k = 2, ω = 1 is Warner's.

Rules
1. p is an exact fraction, and truths are told apart: c = (kp − ω)/(k − 1) > 0.
2. What a device applies is on the *grid* of 1/2^64: p itself for ω >= 2; for ω = 1 the chance of each other option,
   (1 − p)/(k − 1), because one 64-bit draw chooses among all of them.  Lowering p keeps every promise.
3. Privacy is read off the numbers, exactly: e^ε = p(k−ω)/((1−p)ω), and the least δ at ε is
   max(0, (p(k−ω) − e^ε ω(1−p))/(k−1)).
4. Option j of the set seen alone is the yes/no design `column` = Design(1 − q, p), q = (ω − p)/(k − 1).  It is for
   estimates only: ε never comes from it.  Two options of one answer are dependent; `covariance` says how much.
5. An answer is k characters of 0 and 1, ω of them 1, in the order of the options: position and length tell nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rrcollect.design.bins import SetsOfBins
from rrcollect.design.bits import BitMechanism
from rrcollect.design.mechanism import GRID
from rrcollect.design.parameters import NumberLike, probability, whole_number
from rrcollect.design.sampling import Source, drawn_set
from rrcollect.design.sentences import PRACTICAL_PROOF, Said, Sentences, decimal, rounded_up, set_sentences, set_told
from rrcollect.design.terms import Blanket, KindLike
from rrcollect.design.yes_no import Design, Target
from rrcollect.errors import ParameterError, UninformativeDesign

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rrcollect.design.bulk_sets import ChosenSets
    from rrcollect.design.terms import Fill

MOST_OPTIONS = 200


class SetDesign(SetsOfBins, BitMechanism):
    """A set of `size` of `options`, the truth among them with chance `p`.

    >>> design = SetDesign(5, 2, "2/3")
    >>> design.q, design.c, design.worst_likelihood_ratio
    (Fraction(1, 3), Fraction(1, 3), Fraction(3, 1))
    >>> design.column.worst_likelihood_ratio          # smaller: never the promise
    Fraction(2, 1)
    """

    __slots__ = ("choice", "limit", "options", "p", "size")
    options: int
    size: int
    p: Fraction
    parts = MappingProxyType({"options": int, "size": int, "p": str})
    limit: int | None  # R (ω = 1) or P (ω >= 2) on 2^64; None off the grid

    def __init__(self, options: int, size: int, p: NumberLike) -> None:
        k, exact = whole_number("options", options, 2), probability("p", p)
        if k > MOST_OPTIONS:
            raise ParameterError("options", options, f"2 to {MOST_OPTIONS}")
        w = whole_number("size", size)
        if w >= k:
            raise ParameterError("size", size, f"1 to {k - 1}: a set of all options tells nothing")
        if k * exact <= w:
            raise UninformativeDesign(
                f"p = {exact} is not above {Fraction(w, k)}: of {k} options every one is in a set of {w} with that "
                "chance anyway, so the truth would not show in any number of answers"
            )
        for name, value in (("options", k), ("size", w), ("p", exact), ("choice", None)):
            object.__setattr__(self, name, value)
        scaled = ((1 - exact) / (k - 1) if w == 1 else exact) * GRID
        object.__setattr__(self, "limit", int(scaled) if scaled.denominator == 1 else None)

    def __str__(self) -> str:
        sets = "one option" if self.size == 1 else f"{self.size} options"
        return f"{sets} of {self.options}, the truth among them with p = {float(self.p):.10g}"

    def allows(self, answer: str) -> bool:
        """Whether this text is an answer: one character per option, as many 1 as the set has options."""
        return len(answer) == self.options and answer.count("1") == self.size == len(answer) - answer.count("0")

    def fits(self, kind: KindLike) -> bool:
        """A choice of as many options, or a number in as many bins."""
        return kind.kind in ("choice", "number") and kind.option_count == self.options

    @property
    def blank(self) -> str:
        """A set of the first options.

        >>> SetDesign(5, 2, "2/3").blank
        '11000'
        """
        return "1" * self.size + "0" * (self.options - self.size)

    @property
    def form(self) -> str:
        """How many characters, and how many of them are 1."""
        return f"{self.options} of 0 and 1, {self.size} of them 1"

    @property
    def values(self) -> int:
        """C(k, ω) sets: 10 of them for 2 of 5 options."""
        return math.comb(self.options, self.size)

    # ---- what follows from it ---------------------------------------------------------------------------------

    @property
    def truths(self) -> int:
        """How many truths there are to tell."""
        return self.options

    @property
    def sums_tell(self) -> bool:  # type: ignore[override]
        """Sets of one option, or of all but one: each count is how often one of them was sent."""
        return self.size in (1, self.options - 1)

    @property
    def q(self) -> Fraction:
        """The chance that an option is in the set if it is not the truth."""
        return (self.size - self.p) / (self.options - 1)

    @property
    def c(self) -> Fraction:
        """p − q: how much of the truth gets through."""
        return self.p - self.q

    @property
    def column(self) -> Design:
        """One option of the set seen alone, for estimates (rule 4)."""
        return Design(1 - self.q, self.p)

    @property
    def on_grid(self) -> bool:
        """Whether a device can apply it exactly (rule 2)."""
        return self.limit is not None

    def to_grid(self) -> SetDesign:
        """The design a device applies: p lowered to the grid, which keeps every promise.

        >>> SetDesign(3, 1, "3/5").to_grid().limit
        3689348814741910324
        """
        if self.size > 1:
            return SetDesign(self.options, self.size, Fraction(math.floor(self.p * GRID), GRID))
        others = self.options - 1
        return SetDesign(self.options, 1, 1 - Fraction(math.ceil((1 - self.p) * GRID / others) * others, GRID))

    @property
    def applied_limit(self) -> int:
        """The number a device compares its draws with; an error if no device applies this design."""
        if self.limit is None:
            raise self.off_grid()
        return self.limit

    # ---- drawing ----------------------------------------------------------------------------------------------

    def draw(self, truth: object, source: Source) -> str:
        """One set instead of an option's number."""
        return drawn_set(truth, self.applied_limit, self.options, self.size, source)

    def draw_many(self, truths: Any, fill: Fill) -> ChosenSets:
        """A set for every option's number."""
        from rrcollect.design.bulk_sets import drawn_sets

        return drawn_sets(truths, self, self.applied_limit, self.size, fill)

    def counted(self, answers: Any) -> tuple[int, tuple[int, ...]]:
        """Sets drawn in bulk are counted without spreading them out."""
        if _check_drawn(self, answers):
            return len(answers), tuple(answers.counts().tolist())
        return super().counted(answers)

    def texts(self, answers: Any) -> Iterator[str]:
        """Sets drawn in bulk are spread out a part at a time."""
        return answers.texts() if _check_drawn(self, answers) else super().texts(answers)

    # ---- privacy ----------------------------------------------------------------------------------------------

    def needed(self) -> tuple[tuple[Fraction, Fraction]]:
        """Of the sets that hold one of two options and not the other: with chance u it is the truth, with v not."""
        k, w, others = self.options, self.size, self.options - 1
        return ((self.p * (k - w) / others, (1 - self.p) * w / others),)

    def telling(self) -> tuple[Fraction, Fraction]:
        """All sets are alike: each of them tells, or none."""
        ratio = self.worst_likelihood_ratio
        return (Fraction(1), Fraction(1)) if ratio >= PRACTICAL_PROOF else (Fraction(ratio), Fraction(0))

    most_exposed = Fraction(1)  # all respondents: each set exposes, or none

    @property
    def proof_words(self) -> str:
        """What a set excludes, if it excludes anything for certain."""
        return "what is not in a set is excluded for certain" if self.p == 1 else ""

    def blanket(self) -> Blanket:
        """Two truths x and x′ differ only in the sets that hold one of them and not the other: with x the set holds x
        and not x′ with chance a = p(k−ω)/(k−1), and x′ and not x with b = (1−p)ω/(k−1).  So with chance a + b the
        report is a coin of a/(a+b) or b/(a+b), and every other report is, with chance 2b at least, a fair coin in its
        place."""
        if self.p == 1:
            raise ParameterError("design", self, "a design with p below 1: a set that lacks an option excludes it")
        ((own, other),) = self.needed()
        return Blanket(own + other, 2 * other, Fraction(1, 2), (other / (own + other), own / (own + other)))

    # ---- estimating -------------------------------------------------------------------------------------------

    def variance(
        self, prevalences: Sequence[NumberLike], option: int, n: int = 1, target: Target = "population"
    ) -> Fraction:
        """The exact variance of one option's unbiased share from n answers, as `Design.variance`.

        >>> SetDesign(4, 1, "1/2").variance(["1/2", "1/4", "1/8", "1/8"], 0)
        Fraction(2, 1)
        """
        return self.column.variance(self._shares(prevalences)[self._option(option)], n, target)

    def covariance(self, prevalences: Sequence[NumberLike], i: int, j: int, n: int = 1) -> Fraction:
        """The exact covariance of two options' shares from n people drawn from a population.

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

    def pair_chances(self) -> tuple[Fraction, Fraction]:
        """Two bits of one answer: the truth's with another, two others.

        >>> SetDesign(5, 2, "2/3").pair_chances()
        (Fraction(1, 6), Fraction(1, 18))
        """
        k, w = self.options, self.size
        both_others = Fraction(0) if w == 1 else (w - 1) * (w - 2 * self.p) / Fraction((k - 1) * (k - 2))
        return self.p * (w - 1) / Fraction(k - 1), both_others

    def answer_ends(self, weights: Sequence[Any]) -> tuple[float, float]:
        """Of y = Σ weight·(bit − q)/c: the ω least weights, and the ω greatest."""
        ordered, every = sorted(weights), float(self.q) * float(sum(weights))
        least, most = sum(ordered[: self.size]), sum(ordered[-self.size :])
        return (float(least) - every) / float(self.c), (float(most) - every) / float(self.c)

    def check_counts(self, n: int, counts: Sequence[int]) -> tuple[int, ...]:
        """One count per option; together as many as n sets hold, else they were not counted from such answers."""
        found = super().check_counts(n, counts)
        if sum(found) != self.size * n:
            allowed = f"{self.size * n} together: every answer holds {self.size} of the options"
            raise ParameterError("counts", list(found), allowed)
        return found

    # ---- in words ---------------------------------------------------------------------------------------------

    def explain(self, n: int = 1000) -> str:
        """What a publisher should read before signing: what one answer tells, what it costs, what one dishonest
        reporter can do.

        >>> print(SetDesign(10, 3, "9/16").explain().splitlines()[2])
        People    for shares of 1/10 each: 2.94 times as many as a yes/no about one option, 0.762 of k-ary response
        """
        k, people, ratio = self.options, whole_number("n", n), self.worst_likelihood_ratio
        lines = [f"Design    {self}"]
        if isinstance(ratio, float):
            lines.append("Promise   none with δ = 0: an option that is not in the set is excluded for certain")
        else:
            lines.append(
                f"Promise   ε = {self.epsilon():.6g}: between any two options one answer changes the odds by a factor "
                f"of at most {decimal(rounded_up(ratio, max(3, len(str(int(ratio))))))}"
            )
            even = [Fraction(1, k)] * k
            yes_no = Design(ratio / (ratio + 1), ratio / (ratio + 1)).variance(even[0])
            single = SetDesign(k, 1, ratio / (ratio + k - 1)).total_variance(even)
            lines.append(
                f"People    for shares of 1/{k} each: {float(self.variance(even, 0) / yes_no):.3g} times as many as a "
                f"yes/no about one option, {float(self.total_variance(even) / single):.3g} of k-ary response"
            )
        moved = 100 * float(self.manipulation_factor) / people
        lines.append(f"Cheating  one false report of {people} moves an option by at most {moved:.3g} percentage points")
        return "\n".join(lines)

    def sentences(self, kind: str = "") -> Sentences:
        """Sets of one option are spoken of as that option."""
        return set_sentences(self.options, self.size, 1 - self.p, self.telling(), kind)

    def told(self, answer: str, kind: str = "") -> tuple[Said, Said]:
        """The options sent, by their numbers from 1, and what they can tell."""
        return set_told(answer, self.size, 1 - self.p, self.telling(), kind)


def _check_drawn(design: SetDesign, answers: object) -> bool:
    """Whether the answers are sets drawn in bulk; those of another design are refused."""
    from rrcollect.design.bulk_sets import ChosenSets

    if not isinstance(answers, ChosenSets):
        return False
    if answers.design != design:
        raise ParameterError("answers", answers, f"sets drawn by {design!r}")
    return True
