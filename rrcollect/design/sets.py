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

from rrcollect.design.balanced import Balanced
from rrcollect.design.bins import SetsOfBins
from rrcollect.design.bits import BitMechanism
from rrcollect.design.mechanism import GRID
from rrcollect.design.parameters import NumberLike, probability, whole_number
from rrcollect.design.sampling import Source, drawn_set
from rrcollect.design.sentences import Said, Sentences, set_sentences, set_told
from rrcollect.design.terms import KindLike
from rrcollect.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rrcollect.design.bulk_sets import ChosenSets
    from rrcollect.design.terms import Fill

MOST_OPTIONS = 200


class SetDesign(Balanced, SetsOfBins, BitMechanism):
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
        for name, value in (("options", k), ("size", w), ("p", exact), ("choice", None)):
            object.__setattr__(self, name, value)
        self.check_informative()
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

    # ---- estimating -------------------------------------------------------------------------------------------

    def covariance(self, prevalences: Sequence[NumberLike], i: int, j: int, n: int = 1) -> Fraction:
        """The exact covariance of two options' shares from n people drawn from a population.

        >>> SetDesign(5, 2, "2/3").covariance(["1/2", "1/4", "1/8", "1/16", "1/16"], 0, 1)
        Fraction(-5, 8)
        """
        shares, people = self.shares(prevalences), whole_number("n", n)
        if self.option(i) == self.option(j):
            return self.variance(prevalences, i, n)
        with_truth, both_others = self.pair_chances()
        a, b = (self.q + self.c * shares[one] for one in (i, j))
        together = both_others + (with_truth - both_others) * (shares[i] + shares[j])
        return (together - a * b) / (self.c**2 * people)

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
