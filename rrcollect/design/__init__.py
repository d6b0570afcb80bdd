"""The first step of the flow: which randomisation is optimal, exactly.

Read in this order: `parameters` (ε and δ as typed), `exponential` (e^ε without floats), `promise` ((ε, δ) and its
sums), `mechanism` (what every mechanism says of itself), `bits` (those whose answers are rows of bits), `balanced`
(those whose answers are groups of options), `yes_no`, `sets`, `blocks` (the mechanisms), `numbered` (those whose
answers are numbers), `drawn`, `several` and `bins` (a question drawn beforehand), `optimal` and `many_options` (the
theorems), `special` (choices where the theorems need help).

`DESIGNS` is the only list of mechanisms, by the keys of their wire form.
"""

from __future__ import annotations

import json

from rrcollect.design.bins import BinDesign
from rrcollect.design.blocks import BlockDesign
from rrcollect.design.mechanism import LONGEST_TEXT, Mechanism
from rrcollect.design.sets import SetDesign
from rrcollect.design.several import SeveralDesign
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError, shown

MADE: tuple[type[Mechanism], ...] = (Design, SetDesign, SeveralDesign, BinDesign, BlockDesign)
DESIGNS: dict[frozenset[str], type[Mechanism]] = {frozenset(made.parts): made for made in MADE}


def from_wire(value: object) -> Mechanism:
    """The mechanism of a wire form.

    >>> from_wire({"p00": "3/4", "p11": "3/4"})
    Design('3/4', '3/4')
    >>> from_wire({"options": 5, "p": "2/3", "size": 2})
    SetDesign(5, 2, '2/3')
    """
    made = DESIGNS.get(frozenset(value)) if isinstance(value, dict) else None
    if made is None:
        raise ParameterError("design", value, " or ".join(known.wire_form() for known in DESIGNS.values()))
    return made.from_wire(value)


def from_text(text: str) -> Mechanism:
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
