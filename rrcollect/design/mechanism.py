"""What every published mechanism says of itself, and the one spelling of each.

A mechanism turns one of `truths` possible truths into an answer of `width` bits, written as text of 0 and 1: one
character for yes/no.

Rules
1. One spelling.  `to_wire()` is the mechanism as a JSON object, `text` its canonical JSON (RFC 8785); `from_wire` and
   `from_text` take that spelling and no other.  The text is what rows, ledgers and databases hold, so two mechanisms
   are equal exactly if their texts are.
2. Privacy is read off the mechanism itself: `satisfies`, `loss` and `worst_likelihood_ratio` are decided exactly.
3. `column` is one bit seen alone: a yes/no design, 1 with chance p11 if the truth is the bit's own and 1 − p00 if not.
   It is for estimating only.  Its likelihood ratio may be smaller than the mechanism's, so ε never comes from it.
4. All answers have the same length, whatever is answered.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol

from rrcollect.design.choice import SetDesign
from rrcollect.design.parameters import EpsilonLike, NumberLike
from rrcollect.design.promise import Promise
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError, shown

AnyDesign = Design | SetDesign
"""Every mechanism there is: yes/no and numbers by a 2×2 design, choices by sets."""

LONGEST_TEXT = 512  # characters of a mechanism's text


class Mechanism(Protocol):
    """The published randomisation of one question."""

    @property
    def truths(self) -> int:
        """How many truths there are to tell: 2 for yes/no."""
        ...

    @property
    def width(self) -> int:
        """How many bits an answer has: 1 for yes/no."""
        ...

    def satisfies(self, epsilon: EpsilonLike, delta: NumberLike = 0) -> bool:
        """Whether every respondent has (ε, δ)-differential privacy, decided exactly."""
        ...

    @property
    def loss(self) -> Promise:
        """What one answer costs; see `promise`."""
        ...

    @property
    def worst_likelihood_ratio(self) -> Fraction | float:
        """How much one answer can change the odds between two truths; `math.inf` if an answer is a proof."""
        ...

    @property
    def total_variation(self) -> Fraction:
        """The distance between the laws of the two truths that differ most: the least δ at ε = 0."""
        ...

    @property
    def on_grid(self) -> bool:
        """Whether a device can apply it exactly: all its chances are multiples of 1/2^64."""
        ...

    def allows(self, answer: str) -> bool:
        """Whether this text is an answer the mechanism can give."""
        ...

    @property
    def column(self) -> Design:
        """One bit of the answer seen alone, for estimates."""
        ...

    def to_wire(self) -> dict[str, Any]:
        """The mechanism as a JSON object."""
        ...

    @property
    def text(self) -> str:
        """The canonical JSON text of `to_wire()`."""
        ...


_READERS: dict[frozenset[str], Callable[[object], AnyDesign]] = {
    frozenset({"p00", "p11"}): Design.from_wire,
    frozenset({"options", "p", "size"}): SetDesign.from_wire,
}


def from_wire(value: object) -> AnyDesign:
    """The mechanism of a wire form.

    >>> from_wire({"p00": "3/4", "p11": "3/4"})
    Design('3/4', '3/4')
    >>> from_wire({"options": 5, "p": "2/3", "size": 2})
    SetDesign(5, 2, '2/3')
    """
    reader = _READERS.get(frozenset(value)) if isinstance(value, dict) else None
    if reader is None:
        known = " or ".join("{" + ", ".join(f'"{name}": "…"' for name in sorted(names)) + "}" for names in _READERS)
        raise ParameterError("design", value, known)
    return reader(value)


def from_text(text: str) -> AnyDesign:
    """The mechanism of its canonical text; another spelling of the same numbers is refused.

    >>> from_text('{"p00":"3/4","p11":"3/4"}').column
    Design('3/4', '3/4')
    """
    allowed = 'the canonical text of a design, such as {"p00":"3/4","p11":"3/4"}'
    if not isinstance(text, str) or len(text) > LONGEST_TEXT:
        raise ParameterError("design", text, allowed)
    try:
        made = from_wire(json.loads(text))
    except json.JSONDecodeError:
        raise ParameterError("design", text, allowed) from None
    if made.text != text:
        raise ParameterError("design", shown(text), f"its one spelling, {made.text}")
    return made
