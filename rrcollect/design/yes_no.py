"""`Design`: the published 2×2 matrix, and everything that follows from the matrix alone.

    P(say 0 | truth 0) = p00    P(say 1 | truth 0) = 1 − p00
    P(say 0 | truth 1) = 1 − p11    P(say 1 | truth 1) = p11        [HLM17] Definition 1

Rules
1. p00 and p11 are exact fractions.  A *grid* design (multiples of 1/2^64) is what a device can apply exactly.
2. Lemma (rounding).  While c = p00 + p11 − 1 > 0, lowering p00 or p11 keeps every privacy inequality: each of
       p11 <= e^ε (1 − p00) + δ        p00 <= e^ε (1 − p11) + δ
   has one coordinate on the left and the other, subtracted, on the right.  Hence `to_grid` floors both.
3. Privacy is read off the matrix, never off a claim.  Decisions are exact; a float that leaves this class is rounded
   to the safe side (a privacy loss upward).
4. The thresholds a device compares with are kept with the design (`limits`); a design that no device applies, off the
   grid or with c <= 0, has none.
5. c < 0 is a design whose answers mean their opposite; `swapped` exchanges the outputs as [HLM17] does, and all
   properties are those of the swapped design.  c = 0 is refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from rrcollect.design.bits import BitMechanism
from rrcollect.design.mechanism import GRID
from rrcollect.design.parameters import NumberLike, probability, whole_number
from rrcollect.design.sampling import Range, Source, drawn_bit, drawn_number
from rrcollect.design.sentences import PRACTICAL_PROOF, Said, Sentences, yes_no_sentences, yes_no_told
from rrcollect.design.terms import Blanket, KindLike
from rrcollect.errors import NotOriented, ParameterError, UninformativeDesign

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rrcollect.design.terms import Fill

Target = Literal["population", "sample"]


class Design(BitMechanism):
    """The design matrix of a randomised-response mechanism, by its diagonal (p00, p11).

    >>> warner = Design("4/5", "4/5")
    >>> warner.epsilon()                          # ln 4, rounded up
    1.3862943611198908
    >>> warner.satisfies("ln 4", 0), warner.satisfies("ln 3", 0)
    (True, False)
    >>> warner.variance(prevalence="1/4", n=100)  # exact
    Fraction(91, 14400)
    """

    __slots__ = ("choice", "limits", "p00", "p11")
    p00: Fraction
    p11: Fraction
    limits: tuple[int, int] | None  # (T0, T1): 64 random bits below T[truth] say 1; None if no device applies this

    parts = MappingProxyType({"p00": str, "p11": str})
    truths = 2
    values = 2
    width = 1

    def __init__(self, p00: NumberLike, p11: NumberLike) -> None:
        exact00, exact11 = probability("p00", p00), probability("p11", p11)
        if exact00 + exact11 == 1:
            raise UninformativeDesign(
                f"p00 = {exact00} and p11 = {exact11} add up to 1: both truths are answered by the same law, "
                "so nothing can be learned from any number of answers"
            )
        object.__setattr__(self, "p00", exact00)
        object.__setattr__(self, "p11", exact11)
        object.__setattr__(self, "choice", None)
        applied = exact00 + exact11 > 1 and self.on_grid
        object.__setattr__(self, "limits", (int((1 - exact00) * GRID), int(exact11 * GRID)) if applied else None)

    def __str__(self) -> str:
        return f"p00 = {_shown(self.p00)}, p11 = {_shown(self.p11)}"

    def allows(self, answer: str) -> bool:
        """Whether this text is an answer: "0" or "1"."""
        return answer in ("0", "1")

    def fits(self, kind: KindLike) -> bool:
        """Yes or no, or a number of which one bit is sent."""
        return kind.kind in ("yes_no", "number") and not kind.option_count

    blank, form = "0", "0 or 1"

    @property
    def column(self) -> Design:
        """The one bit of the answer seen alone: the design itself."""
        return self

    # ---- the matrix -------------------------------------------------------------------------------------------

    @property
    def matrix(self) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
        """((p00, p01), (p10, p11)); row = truth, column = answer."""
        return (self.p00, 1 - self.p00), (1 - self.p11, self.p11)

    @property
    def c(self) -> Fraction:
        """p00 + p11 − 1, the determinant: how much of the truth gets through."""
        return self.p00 + self.p11 - 1

    def swapped(self) -> Design:
        """The same mechanism with its outputs exchanged ("yes" for "no"): (1 − p00, 1 − p11)."""
        return Design(1 - self.p00, 1 - self.p11)

    def mirrored(self) -> Design:
        """The mechanism for the complementary attribute: (p11, p00)."""
        return Design(self.p11, self.p00)

    @property
    def on_grid(self) -> bool:
        """Whether both probabilities are multiples of 1/2^64."""
        return GRID % self.p00.denominator == 0 and GRID % self.p11.denominator == 0

    @property
    def numerators(self) -> tuple[int, int]:
        """(k00, k11) with p00 = k00/2^64 and p11 = k11/2^64; 2^64 stands for 1."""
        if not self.on_grid:
            raise self.off_grid()
        return int(self.p00 * GRID), int(self.p11 * GRID)

    def to_grid(self) -> Design:
        """The design a device applies: both probabilities floored to multiples of 1/2^64 (rounding lemma)."""
        if self.c < 0:
            return self.swapped().to_grid().swapped()
        return Design(Fraction(math.floor(self.p00 * GRID), GRID), Fraction(math.floor(self.p11 * GRID), GRID))

    # ---- drawing ----------------------------------------------------------------------------------------------

    @property
    def applied(self) -> tuple[int, int]:
        """(T0, T1): the answer is 1 if the draw is below T0 for the truth "no", below T1 for the truth "yes".

        Refuses designs that a device does not run: off the grid, or c <= 0.

        >>> Design("3/4", "1").applied
        (4611686018427387904, 18446744073709551616)
        """
        if self.limits is None:
            if self.c <= 0:
                raise NotOriented(f"{self} has p00 + p11 <= 1: its answers would mean their opposite")
            raise self.off_grid()
        return self.limits

    def draw(self, truth: object, source: Source) -> str:
        """One answer to yes or no."""
        return drawn_bit(truth, self.limits or self.applied, source)

    def draw_number(self, number: object, bounds: Range, source: Source, *, clip: bool = False) -> str:
        """One answer about a number: "high" more often the higher it is."""
        return drawn_number(number, self.applied, bounds, source, clip=clip)

    def draw_many(self, truths: Any, fill: Fill) -> NDArray[np.bool_]:
        """An answer for every truth, as booleans."""
        from rrcollect.design.bulk_bits import drawn_bits

        return drawn_bits(truths, self.applied, fill)

    def draw_packed(self, truths: Any, fill: Fill, n: int | None = None, bitorder: str = "little") -> NDArray[np.uint8]:
        """An answer for each of n truths, eight to a byte."""
        from rrcollect.design.bulk_bits import drawn_packed

        return drawn_packed(truths, self.applied, fill, n, bitorder)

    def draw_numbers(self, numbers: Any, bounds: Range, fill: Fill, *, clip: bool = False) -> NDArray[np.bool_]:
        """A bit for every number."""
        from rrcollect.design.bulk_bits import drawn_numbers

        return drawn_numbers(numbers, self.applied, bounds, fill, clip=clip)

    # ---- privacy ----------------------------------------------------------------------------------------------

    def needed(self) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
        """Of the answers 0 and 1 the chance under the truth it speaks for, and under the other."""
        no, yes = ((max(chances), min(chances)) for chances in zip(*self.matrix, strict=True))
        return no, yes

    def likelihood_ratio(self, answer: int) -> Fraction | float:
        """How much this answer (0 or 1) can change the odds of the truth; `math.inf` if it proves it.

        >>> Design(1, "1/20").likelihood_ratio(1), Design(1, "1/20").likelihood_ratio(0)
        (inf, Fraction(20, 19))
        """
        if isinstance(answer, bool) or answer not in (0, 1):
            raise ParameterError("answer", answer, "0 or 1")
        most, least = self.needed()[answer]
        return most / least if least else math.inf

    @property
    def proofs(self) -> tuple[str, ...]:
        """The answers ("yes", "no") that prove the truth behind them."""
        return tuple(word for word, answer in (("yes", 1), ("no", 0)) if self.likelihood_ratio(answer) == math.inf)

    def telling(self) -> tuple[Fraction, Fraction]:
        """The greatest ratio of the answers that do not tell, and the chance of those that do."""
        ratios = [self.likelihood_ratio(answer) for answer in (0, 1)]
        chances = [sum((row[a] for a in (0, 1) if ratios[a] >= PRACTICAL_PROOF), Fraction(0)) for row in self.matrix]
        return Fraction(max((ratio for ratio in ratios if ratio < PRACTICAL_PROOF), default=1)), max(chances)

    @property
    def most_exposed(self) -> Fraction:
        """By the answers that tell, each at its likeliest; if none does, by the likeliest answer."""
        chances = [max(row[a] for row in self.matrix) for a in (0, 1)]
        proving = [chances[a] for a in (0, 1) if self.likelihood_ratio(a) >= PRACTICAL_PROOF]
        return min(Fraction(1), sum(proving or [max(chances)], Fraction(0)))

    @property
    def proof_words(self) -> str:
        """Which answer is a proof."""
        proofs = " and a ".join(f'"{word}"' for word in self.proofs)
        return f"a {proofs} is a proof" if proofs else ""

    def blanket(self) -> Blanket:
        """A report is, with chance γ = 2−p00−p11, a coin of (1−p00)/γ that does not depend on its truth."""
        if self.proofs:
            words = " or ".join(f'"{word}"' for word in self.proofs)
            allowed = (
                f"a design without a certain disclosure: here {words} proves the truth, and no crowd hides a proof"
            )
            raise ParameterError("design", self, allowed)
        share = 2 - self.p00 - self.p11
        return Blanket(Fraction(1), share, (1 - self.p00) / share, (1 - self.p00, self.p11))

    # ---- estimating -------------------------------------------------------------------------------------------

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

    def effective_sample_ratio(self, prevalence: NumberLike) -> Fraction:
        """The share of a sample left after paying for privacy: direct questioning's variance over this one's.

        π(1−π)c²/(λ(1−λ)); where both variances vanish, its limit.

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

        >>> Design(1, "1/20").exposed(prevalence="1/10", n=1000)
        Fraction(5, 1)
        """
        pi, people = probability("prevalence", prevalence), whole_number("n", n)
        certain = Fraction(0)
        for answer in (0, 1):
            if self.likelihood_ratio(answer) == math.inf:
                certain += pi * self.matrix[1][answer] + (1 - pi) * self.matrix[0][answer]
        return people * certain

    def answer_ends(self, weights: Sequence[Any]) -> tuple[float, float]:
        """Of weight·(bit − (1−p00))/c, the one bit being 0 or 1."""
        (weight,) = weights
        ends = [float(weight) * (bit - float(1 - self.p00)) / float(self.c) for bit in (0, 1)]
        return min(ends), max(ends)

    # ---- in words ---------------------------------------------------------------------------------------------

    def explain(self, n: int = 1000) -> str:
        """Everything a publisher should read before signing: the matrix, the promise, and if the design was chosen why,
        and what it discloses among n respondents."""
        if self.choice is not None:
            return str(self.choice.explain(n))
        return f"Design    {self}\nPromise   {self.loss}"

    def sentences(self, kind: str = "") -> Sentences:
        """Of yes and no; of a number its answers are "low" and "high"."""
        ratios = self.likelihood_ratio(0), self.likelihood_ratio(1)
        return yes_no_sentences((self.p00, self.p11), ratios, self.telling(), kind)

    def told(self, answer: str, kind: str = "") -> tuple[Said, Said]:
        """Which word was sent, and by how much it can change the odds."""
        return yes_no_told(int(answer), self.likelihood_ratio(int(answer)), kind)


def checked_yes_no(value: object, name: str = "design") -> Design:
    """The value, if it is a 2×2 design; otherwise a `ParameterError`: for what only such a design can do."""
    if not isinstance(value, Design):
        raise ParameterError(name, value, "a Design: the matrix the answers were drawn with")
    return value


def _shown(p: Fraction) -> str:
    """Ten digits, but never "1" for a probability that is not 1."""
    text = f"{float(p):.10g}"
    return f"1 − {float(1 - p):.3g}" if text == "1" and p != 1 else text
