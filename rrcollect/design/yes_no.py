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

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from rrcollect.design.exponential import ExpNumber, sign_at_exp
from rrcollect.design.parameters import SIGNED, Epsilon, EpsilonLike, NumberLike, probability, whole_number
from rrcollect.design.promise import Promise, loss
from rrcollect.errors import NotCanonical, OffGridDesign, ParameterError, UninformativeDesign

GRID = 1 << 64  # a device draws 64 bits; its probabilities are multiples of 1/GRID

Target = Literal["population", "sample"]


@dataclass(frozen=True)
class Region:
    """Where a design lies for a promise (ε, δ): the sets R ⊇ R′ ⊇ R″ of [HLM17] Section III.

    `feasible`: in R, the promise is kept.  `oriented`: in R′, also p00 + p11 > 1.  `boundary`: in R″, also one privacy
    inequality is tight.  `tight` names the answers ("yes", "no") whose inequality holds with equality.
    """

    feasible: bool
    oriented: bool
    boundary: bool
    tight: tuple[str, ...]


class Design:
    """The design matrix of a randomised-response mechanism, by its diagonal (p00, p11).

    >>> warner = Design("4/5", "4/5")
    >>> warner.epsilon()                          # ln 4, rounded up
    1.3862943611198908
    >>> warner.satisfies("ln 4", 0), warner.satisfies("ln 3", 0)
    (True, False)
    >>> warner.variance(prevalence="1/4", n=100)  # exact
    Fraction(91, 14400)
    """

    __slots__ = ("limits", "p00", "p11")
    p00: Fraction
    p11: Fraction
    limits: tuple[int, int] | None  # (T0, T1): 64 random bits below T[truth] say 1; None if no device applies this

    truths = 2
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
        applied = exact00 + exact11 > 1 and self.on_grid
        object.__setattr__(self, "limits", (int((1 - exact00) * GRID), int(exact11 * GRID)) if applied else None)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Design cannot be changed ({name})")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Design cannot be changed ({name})")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Design):
            return NotImplemented
        return (self.p00, self.p11) == (other.p00, other.p11)

    def __hash__(self) -> int:
        return hash((self.p00, self.p11))

    def __repr__(self) -> str:
        return f"Design('{self.p00}', '{self.p11}')"

    def __str__(self) -> str:
        return f"p00 = {_shown(self.p00)}, p11 = {_shown(self.p11)}"

    def __reduce__(self) -> tuple[type[Design], tuple[str, str]]:
        return Design, (str(self.p00), str(self.p11))

    # ---- the one spelling -------------------------------------------------------------------------------------

    def to_wire(self) -> dict[str, str]:
        """{"p00": "3/4", "p11": "1"}: fractions in lowest terms."""
        return {"p00": str(self.p00), "p11": str(self.p11)}

    @classmethod
    def from_wire(cls, value: object) -> Design:
        """The design of a wire form; fractions in lowest terms and nothing else."""
        if not isinstance(value, dict) or set(value) != {"p00", "p11"}:
            raise ParameterError("design", value, '{"p00": "…", "p11": "…"}')
        if not all(isinstance(p, str) for p in value.values()):
            raise ParameterError("design", value, "probabilities written as text, such as '3/4'")
        if (made := Design(*(probability(name, value[name], SIGNED) for name in ("p00", "p11")))).to_wire() != value:
            raise NotCanonical("a probability of a design is not written in lowest terms, such as '3/4'")
        return made

    @property
    def text(self) -> str:
        """The canonical JSON text: how rows, ledgers and databases hold a design.

        >>> Design("3/4", "3/4").text
        '{"p00":"3/4","p11":"3/4"}'
        """
        return json.dumps(self.to_wire(), separators=(",", ":"), sort_keys=True)

    def allows(self, answer: str) -> bool:
        """Whether this text is an answer: "0" or "1"."""
        return answer in ("0", "1")

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
            raise OffGridDesign(f"{self!r} is off the grid of 1/2^64: a device applies design.to_grid()")
        return int(self.p00 * GRID), int(self.p11 * GRID)

    def to_grid(self) -> Design:
        """The design a device applies: both probabilities floored to multiples of 1/2^64 (rounding lemma)."""
        if self.c < 0:
            return self.swapped().to_grid().swapped()
        return Design(Fraction(math.floor(self.p00 * GRID), GRID), Fraction(math.floor(self.p11 * GRID), GRID))

    # ---- privacy ----------------------------------------------------------------------------------------------

    def _says(self, answer: int) -> tuple[Fraction, Fraction]:
        """P(answer | the truth it speaks for), P(answer | the other truth): the larger first."""
        given0, given1 = self.matrix[0][answer], self.matrix[1][answer]
        return max(given0, given1), min(given0, given1)

    def likelihood_ratio(self, answer: int) -> Fraction | float:
        """How much this answer (0 or 1) can change the odds of the truth; `math.inf` if it proves it.

        >>> Design(1, "1/20").likelihood_ratio(1), Design(1, "1/20").likelihood_ratio(0)
        (inf, Fraction(20, 19))
        """
        if isinstance(answer, bool) or answer not in (0, 1):
            raise ParameterError("answer", answer, "0 or 1")
        most, least = self._says(answer)
        return most / least if least else math.inf

    @property
    def worst_likelihood_ratio(self) -> Fraction | float:
        """The larger of the two answers' likelihood ratios; e^ε of the tight pure promise."""
        return max(self.likelihood_ratio(0), self.likelihood_ratio(1))

    @property
    def total_variation(self) -> Fraction:
        """The distance between the laws of the two truths, |c|."""
        return abs(self.c)

    @property
    def loss(self) -> Promise:
        """What one answer costs: (tight ε, 0), or (0, |c|) if an answer can be a proof."""
        return loss(self.worst_likelihood_ratio, self.total_variation)

    @property
    def tight_epsilon(self) -> Epsilon | None:
        """The least ε with δ = 0, exactly (ln of a rational); None if there is none because an answer is a proof."""
        ratio = self.worst_likelihood_ratio
        return Epsilon.of_ratio(ratio) if isinstance(ratio, Fraction) else None

    def epsilon(self) -> float:
        """The least ε with δ = 0, rounded up to a double for which `satisfies` still holds; `math.inf` if none."""
        tight = self.tight_epsilon
        return math.inf if tight is None else float(tight)

    def _excess(self, epsilon: Epsilon, answer: int) -> ExpNumber:
        """P(answer | a) − e^ε P(answer | b): the δ this answer needs."""
        most, least = self._says(answer)
        return most - epsilon.exp * least

    def _slack(self, epsilon: Epsilon, delta: Fraction, answer: int) -> int:
        """The sign of δ − `_excess`: positive if this answer's inequality holds with room, 0 if it is tight."""
        most, least = self._says(answer)
        return sign_at_exp((delta - most, least * epsilon.factor), epsilon.rational)

    def delta(self, epsilon: EpsilonLike) -> float:
        """The least δ at this ε, rounded up to a double for which `satisfies` still holds.

        >>> Design("0.8", "0.8").delta(0.5)
        0.4702557458599744
        """
        exact = Epsilon(epsilon)
        worst = max(self._excess(exact, 0), self._excess(exact, 1))
        return 0.0 if worst <= 0 else worst.float_above()

    def satisfies(self, epsilon: EpsilonLike, delta: NumberLike = 0) -> bool:
        """Whether every respondent has (ε, δ)-differential privacy, decided exactly."""
        return self.region(epsilon, delta).feasible

    def region(self, epsilon: EpsilonLike, delta: NumberLike = 0) -> Region:
        """Membership in R, R′ and R″ of [HLM17], and which inequality is tight.

        >>> Design(1, "1/4").region("ln 2", "1/4")
        Region(feasible=True, oriented=True, boundary=True, tight=('yes',))
        """
        exact, d = Epsilon(epsilon), probability("delta", delta)
        slack = {"no": self._slack(exact, d, 0), "yes": self._slack(exact, d, 1)}
        feasible = min(slack.values()) >= 0
        tight = tuple(answer for answer in ("yes", "no") if slack[answer] == 0)
        oriented = feasible and self.c > 0
        return Region(feasible, oriented, oriented and bool(tight), tight)

    @property
    def proofs(self) -> tuple[str, ...]:
        """The answers ("yes", "no") that prove the truth behind them."""
        return tuple(word for word, answer in (("yes", 1), ("no", 0)) if self.likelihood_ratio(answer) == math.inf)

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

    # ---- utility ----------------------------------------------------------------------------------------------

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

        >>> Design("3/4", "3/4").effective_sample_ratio("1/2")
        Fraction(1, 4)
        """
        pi = probability("prevalence", prevalence)
        yes = self.says_yes(pi)
        if yes * (1 - yes) == 0:  # π = 0 or 1 and the answer is certain there
            return abs(self.c)
        return pi * (1 - pi) * self.c**2 / (yes * (1 - yes))

    @property
    def manipulation_factor(self) -> Fraction:
        """1/|c|: if a share f of the reporters is dishonest, the estimate moves by at most f times this."""
        return 1 / abs(self.c)


def _shown(p: Fraction) -> str:
    """Ten digits, but never "1" for a probability that is not 1."""
    text = f"{float(p):.10g}"
    return f"1 − {float(1 - p):.3g}" if text == "1" and p != 1 else text
