"""One answer to a question of any kind: the row of bits to send instead of the truth.

Rules
1. A kind says what a truth looks like: True or False, the number of an option, a number in the kind's range.  Anything
   else is a `BadTruth` that does not show it.
2. The draw is that of the kind's own module (`draw`, `draw_set`, `draw_number`), by the design as it was published.
"""

from __future__ import annotations

from fractions import Fraction
from typing import cast

from rrcollect.answer.draw import Source, randomise
from rrcollect.answer.draw_number import randomise_number
from rrcollect.answer.draw_set import randomise_choice
from rrcollect.design.mechanism import Mechanism
from rrcollect.design.parameters import NumberLike
from rrcollect.design.sets import SetDesign
from rrcollect.design.yes_no import checked_yes_no
from rrcollect.publish.kinds import Number
from rrcollect.publish.question import Question

Truth = bool | NumberLike
"""A bool (yes or no), the number of an option (choice), or a number (number)."""


def blank(design: Mechanism) -> str:
    """An answer as long as any other: it stands in a report until one is drawn.

    >>> blank(SetDesign(5, 2, "2/3"))
    '11000'
    """
    ones = design.size if isinstance(design, SetDesign) else 0
    return "1" * ones + "0" * (design.width - ones)


def randomised(truth: Truth, question: Question, source: Source) -> str:
    """The answer to send instead of the truth, as text of 0 and 1.

    >>> from rrcollect import Question, SetDesign
    >>> from rrcollect.publish.kinds import Choice
    >>> colours = Choice(options=[{"en": "red"}, {"en": "green"}, {"en": "blue"}])
    >>> asked = Question(id="q1", attribute="a", kind=colours, text="Which?", design=SetDesign(3, 1, "1/2"))
    >>> randomised(2, asked, lambda n: b"\\xff" * n)
    '001'
    """
    design, kind = question.design, question.kind
    if isinstance(design, SetDesign):
        return randomise_choice(cast(int, truth), design, source=source)
    if isinstance(kind, Number):
        low, high = Fraction(kind.low), Fraction(kind.high)
        return str(randomise_number(truth, checked_yes_no(design), low, high, clip=kind.clip, source=source))
    return str(randomise(cast(bool, truth), checked_yes_no(design), source=source))
