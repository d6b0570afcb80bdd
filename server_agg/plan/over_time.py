"""The same ε for life, several ways to spend it: every round anew, one random round, one answer for good; all questions
or one.

T rounds, ε for all of them, n people; the variance of one round's share has the noise part (E = e^ε, K = E/(E − 1)²)

    fresh    everybody answers every round at ε/T         K(ε/T)/n          grows like T²
    panel    everybody answers one round, drawn by chance, at ε          T·K(ε)/n
    memo     everybody answers once and repeats it, at ε                 K(ε)/n, for what never changes

d questions, ε for all of them: everybody answers all, each at ε/d, or one that is drawn by chance, at ε.  By noise
alone one is better at every ε; with the people's own spread π(1−π) counted it is so up to `ask_one_best_until`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction

from rrcollect.design.optimal import optimal_design
from rrcollect.design.parameters import Epsilon, EpsilonLike, NumberLike, probability, whole_number
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.plan.sample_size import LARGEST_EPSILON, sample_size

WAYS = {
    "fresh": "a fresh answer each round, at a part of ε",
    "panel": "one round drawn by chance, at the whole ε",
    "memo": "one answer that is repeated: only for what never changes",
    "split": "every question, each at a part of ε",
    "one": "one question drawn by chance, at the whole ε",
}


@dataclass(frozen=True)
class Way:
    """One way to spend ε: what an answer costs, the noise part of n·Var of one share, and the people for the margin."""

    name: str
    words: str
    epsilon_per_answer: float
    noise: float
    n: int

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return asdict(self)


def _noise(design: Design) -> Fraction:
    """n·Var without the people's own spread: what it is at prevalence 0."""
    return design.variance(0)


def ways_over_rounds(
    epsilon: EpsilonLike,
    rounds: int,
    margin: NumberLike = "0.05",
    *,
    level: NumberLike = 0.95,
    method: str = "exact",
    prevalence: NumberLike | None = None,
) -> list[Way]:
    """The ways to learn one round's share within ± `margin`, at the same ε for life; in people.

    >>> [(way.name, round(way.noise, 2)) for way in ways_over_rounds(1, 52, method="wald")]
    [('fresh', 2703.92), ('panel', 47.88), ('memo', 0.92)]
    """
    many, whole = whole_number("rounds", rounds, 2), optimal_design(epsilon)
    part = _part(epsilon, many)
    how = {"level": level, "method": method, "prevalence": prevalence}
    needed = sample_size(whole, margin, **how)  # type: ignore[arg-type]
    fresh = sample_size(part, margin, **how)  # type: ignore[arg-type]
    total = float(Epsilon(epsilon))
    return [
        Way("fresh", WAYS["fresh"], total / many, float(_noise(part)), fresh),
        Way("panel", WAYS["panel"], total, float(many * _noise(whole)), many * needed),
        Way("memo", WAYS["memo"], total, float(_noise(whole)), needed),
    ]


def ways_of_asking(
    epsilon: EpsilonLike,
    questions: int,
    margin: NumberLike = "0.05",
    *,
    level: NumberLike = 0.95,
    method: str = "exact",
    prevalence: NumberLike | None = None,
) -> list[Way]:
    """All of d questions at a part of ε each, or one that is drawn by chance at the whole ε; in people.

    >>> [(way.name, round(way.noise, 2)) for way in ways_of_asking(1, 5, method="wald")]
    [('split', 24.92), ('one', 4.6)]
    """
    many, whole = whole_number("questions", questions, 2), optimal_design(epsilon)
    part = _part(epsilon, many)
    how = {"level": level, "method": method, "prevalence": prevalence}
    all_of_them = sample_size(part, margin, **how)  # type: ignore[arg-type]
    one = many * sample_size(whole, margin, **how)  # type: ignore[arg-type]
    total = float(Epsilon(epsilon))
    return [
        Way("split", WAYS["split"], total / many, float(_noise(part)), all_of_them),
        Way("one", WAYS["one"], total, float(many * _noise(whole)), one),
    ]


def _part(epsilon: EpsilonLike, parts: int) -> Design:
    return optimal_design(Fraction(float(Epsilon(epsilon))) / parts)


def ask_one_best_until(questions: int, prevalence: NumberLike = "1/2") -> float:
    """The ε up to which one question drawn by chance tells more than all at a part of ε each.

    >>> round(ask_one_best_until(2), 2), round(ask_one_best_until(10), 2), round(ask_one_best_until(2, "0.1"), 2)
    (3.06, 6.53, 4.86)
    """
    many, share = whole_number("questions", questions, 2), probability("prevalence", prevalence)
    if not 0 < share < 1:
        raise ParameterError("prevalence", prevalence, "a share strictly between 0 and 1")

    def better(epsilon: float) -> bool:
        split, one = optimal_design(epsilon / many), optimal_design(epsilon)
        return many * one.variance(share) < split.variance(share)

    low, high = 2.0**-6, LARGEST_EPSILON
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if better(middle) else (low, middle)
    return low
