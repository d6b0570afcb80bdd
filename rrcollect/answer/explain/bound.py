"""How much all that is sent can tell about a person: an upper bound, exact or rounded outward.

Rules
1. Draws are independent, so their likelihood ratios multiply: n draws by designs with worst ratios R1 … Rn change the
   odds between any two things about a person by at most R1 · … · Rn.
2. An answer whose ratio is `PRACTICAL_PROOF` or more tells the truth: it is a proof or as good as one.  Such answers
   are counted by their chance instead.  Whatever is true, one or more of them are sent with a chance of at most
   1 − (1 − t1) · … · (1 − tn), where ti is the chance of such an answer at the likeliest truth; and if none is sent,
   the ratios of the other answers multiply as in rule 1.
3. A product of many factors keeps few bits: above `EXACT_BITS` a ratio is rounded up and a chance of silence down, to
   the next multiple of 2^-256.  A ratio above `MOST_SHOWN` is not worked out further.  So no survey is slow to explain.
4. If one of several things is sent, whichever it is, the bound is the greatest of theirs.
5. The browser client does the same, step by step: the numbers shown are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from rrcollect.design.mechanism import Mechanism
from rrcollect.publish.survey import Survey

MOST_SHOWN = 10**6  # a limit above this is said in words: it limits nothing
EXACT_BITS = 1024
FINE = 1 << 256

Pair = tuple[int, int]  # a number over another, not reduced: that would take longer than everything else
ONE: Pair = (1, 1)


@dataclass(frozen=True)
class Bound:
    """`ratio`: how much everything that does not tell the truth by itself can change the odds; None if it is above
    `MOST_SHOWN`.  `telling`: the chance, at most, that an answer among all tells the truth by itself."""

    ratio: Fraction | None
    telling: Fraction


def bound(draws: Iterable[tuple[Mechanism, int]]) -> Bound:
    """The bound over so many draws by each of these designs.

    >>> from rrcollect import Design
    >>> bound([(Design("3/4", "3/4"), 4)]).ratio
    Fraction(81, 1)
    >>> bound([(Design(1, "1/2"), 2)])
    Bound(ratio=Fraction(4, 1), telling=Fraction(3, 4))
    """
    ratio, quiet = ONE, ONE  # `quiet`: the chance that no answer tells
    for design, times in draws:
        greatest, likeliest = design.telling()
        ratio = _up(_product(ratio, _power(greatest, times, _up)))
        quiet = _down(_product(quiet, _power(1 - likeliest, times, _down)))
    return Bound(None if _hidden(ratio) else Fraction(*ratio), 1 - Fraction(*quiet))


def ledgers_of(survey: Survey, *, page: bool) -> int:
    """How many ledgers a person has at most for this survey: an app has one, a browser (`page`) has for each origin one
    by itself and one inside each frame."""
    return max(1, len(survey.origins)) * (1 + len(survey.frames)) if page else 1


def greatest(bounds: Iterable[Bound]) -> Bound:
    """The bound of whichever one of several things is sent.

    >>> greatest([Bound(Fraction(3), Fraction(0)), Bound(Fraction(2), Fraction(1, 4))])
    Bound(ratio=Fraction(3, 1), telling=Fraction(1, 4))
    """
    listed = list(bounds)
    ratios = [one.ratio for one in listed if one.ratio is not None]
    ratio = max(ratios) if len(ratios) == len(listed) else None
    return Bound(ratio, max(one.telling for one in listed))


def _power(number: Fraction, times: int, rounded: Callable[[Pair], Pair]) -> Pair:
    made, base = ONE, number.as_integer_ratio()
    while times:
        if times % 2:
            made = rounded(_product(made, base))
        times //= 2
        if times:
            base = rounded(_product(base, base))
    return made


def _product(one: Pair, other: Pair) -> Pair:
    return one[0] * other[0], one[1] * other[1]


def _hidden(ratio: Pair) -> bool:
    return ratio[0] > MOST_SHOWN * ratio[1]


def _up(ratio: Pair) -> Pair:
    if _hidden(ratio):
        return MOST_SHOWN + 1, 1  # however large it is
    return ratio if ratio[1].bit_length() <= EXACT_BITS else (-(-ratio[0] * FINE // ratio[1]), FINE)


def _down(chance: Pair) -> Pair:
    return chance if chance[1].bit_length() <= EXACT_BITS else (chance[0] * FINE // chance[1], FINE)
