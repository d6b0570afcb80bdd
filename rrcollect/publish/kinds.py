"""What may be true, and how it is asked: yes or no, one of several options, a number in a range.

Rules
1. A kind says which truths there are; the design beside it says how they are randomised.  They must fit: a yes/no and
   a number go with a 2×2 design, a choice of k options with a design for k options.
2. The order of options is part of the document: the first option is the first bit of an answer.  No two have the same
   label in a language: nobody could tell them apart.
3. A number lies in [low, high], both written exactly.  What lies outside is refused by the device, or brought to the
   nearer end if the survey says `clip`; never silently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from rrcollect.design.choice import MOST_OPTIONS, SetDesign
from rrcollect.design.mechanism import AnyDesign
from rrcollect.design.parameters import SIGNED, NumberLike, fraction
from rrcollect.design.yes_no import Design
from rrcollect.publish.document import Document, Frozen, Texts, by_language, on_the_wire


def _as_tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _number(value: object, info: ValidationInfo) -> str:
    exact = fraction("number", value, limits=SIGNED)
    if on_the_wire(info) and str(exact) != value:
        raise ValueError("it must be written in lowest terms, such as '40' or '1/2'")
    return str(exact)


Exact = Annotated[str, BeforeValidator(_number)]


class YesNo(Document):
    """Yes or no."""

    kind: Literal["yes_no"] = "yes_no"

    @property
    def truths(self) -> str:
        """What may be true, as ledgers write it: an answer to other truths does not stand for one to these."""
        return "yes_no"

    @property
    def texts(self) -> tuple[Mapping[str, str], ...]:
        """The texts for people in it, each by language."""
        return ()


class Choice(Document):
    """One of 2 to 200 options, each with its label by language; a plain label is English.

    >>> Choice(options=["Never", "Once", {"en": "Often", "de": "Oft"}]).options[0]
    {'en': 'Never'}
    """

    by_place = ("options",)
    kind: Literal["choice"] = "choice"
    options: Annotated[
        tuple[Annotated[Texts, Field(min_length=1)], ...],
        BeforeValidator(_as_tuple),
        Field(min_length=2, max_length=MOST_OPTIONS),
    ]

    if TYPE_CHECKING:  # what a caller may give, where it is more than what is kept

        def __init__(self, options: Sequence[str | Mapping[str, str]]) -> None: ...

    @classmethod
    def filled(cls, given: Any) -> Any:
        """With plain labels in English."""
        options = given.get("options") if isinstance(given, dict) else None
        if not isinstance(options, list | tuple):
            return given
        return {**given, "options": [{"en": one} if isinstance(one, str) else one for one in options]}

    @model_validator(mode="after")
    def _told_apart(self) -> Choice:
        labels = [(language, label) for option in self.options for language, label in option.items()]
        if len(set(labels)) < len(labels):
            raise ValueError("two options have the same label")
        return self

    @property
    def truths(self) -> str:
        """As of `YesNo`; how many options there are is said by the design."""
        return "choice"

    @property
    def texts(self) -> tuple[Mapping[str, str], ...]:
        """The options' labels."""
        return self.options


class Number(Document):
    """A number from `low` to `high`, in `unit` (plain words are English); `clip` brings what lies outside to the nearer
    end.

    >>> Number(0, "37.5", "hours").high
    '75/2'
    """

    by_place = ("low", "high", "unit")
    kind: Literal["number"] = "number"
    low: Exact
    high: Exact
    unit: Texts = Field(default_factory=Frozen)
    clip: bool = False

    if TYPE_CHECKING:  # as above

        def __init__(
            self, low: NumberLike, high: NumberLike, unit: str | Mapping[str, str] = ..., *, clip: bool = ...
        ) -> None: ...

    @classmethod
    def filled(cls, given: Any) -> Any:
        """With a plain unit in English."""
        return by_language(given, ("unit",), "en") if isinstance(given, dict) else given

    @model_validator(mode="after")
    def _ordered(self) -> Number:
        if fraction("low", self.low) >= fraction("high", self.high):
            raise ValueError("low must be below high")
        return self

    @property
    def truths(self) -> str:
        """As of `YesNo`: the range in which the number lies.

        >>> Number(low="0", high="24").truths
        'number from 0 to 24'
        """
        return f"number from {self.low} to {self.high}"

    @property
    def texts(self) -> tuple[Mapping[str, str], ...]:
        """The unit."""
        return (self.unit,)


Kind = Annotated[YesNo | Choice | Number, Field(discriminator="kind")]


def misfit(kind: YesNo | Choice | Number, design: AnyDesign) -> str | None:
    """Why a design does not go with a kind (rule 1); None if it does.

    >>> misfit(YesNo(), SetDesign(2, 1, "3/4"))
    'a yes_no question goes with a design of p00 and p11'
    """
    if not isinstance(kind, Choice):
        fits = isinstance(design, Design)
        return None if fits else f"a {kind.kind} question goes with a design of p00 and p11"
    if isinstance(design, SetDesign) and design.options == len(kind.options):
        return None
    return f"a choice of {len(kind.options)} options goes with a design for {len(kind.options)} options"
