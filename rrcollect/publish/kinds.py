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

import hashlib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from rrcollect.design.parameters import SIGNED, NumberLike, fraction
from rrcollect.design.sentences import Said
from rrcollect.design.sets import MOST_OPTIONS
from rrcollect.publish.canonical import canonical
from rrcollect.publish.document import WIRE, Document, Frozen, Texts, as_tuple


def _number(value: object, info: ValidationInfo) -> str:
    exact = fraction("number", value, limits=SIGNED)
    if info.context is WIRE and str(exact) != value:
        raise ValueError("it must be written in lowest terms, such as '40' or '1/2'")
    return str(exact)


Exact = Annotated[str, BeforeValidator(_number)]


class AnyKind(Document):
    """What every kind says of itself; nobody asks for its type."""

    kind: str

    @property
    def truths(self) -> str:
        """What may be true, as ledgers write it: an answer to other truths does not stand for one to these."""
        return self.kind

    @property
    def texts(self) -> tuple[Mapping[str, str], ...]:
        """The texts for people in it, each by language."""
        return tuple(texts for texts in (*self.labels, self.units) if texts)

    @property
    def labels(self) -> tuple[Mapping[str, str], ...]:
        """The labels of the options, each by language."""
        return ()

    @property
    def units(self) -> Mapping[str, str]:
        """The unit of a number by language."""
        return {}

    @property
    def option_count(self) -> int:
        """How many options there are; 0 if there are none."""
        return len(self.labels)

    @property
    def sentences(self) -> tuple[Said, ...]:
        """What people read about the kind beside what they read about its design."""
        return ()

    @property
    def bounded(self) -> dict[str, Any]:
        """What `randomise` and `randomise_many` need beside truth and design."""
        return {}

    @property
    def goes_with(self) -> str:
        """Which designs fit (rule 1), in words.

        >>> YesNo().goes_with
        'a yes_no question goes with a design of p00 and p11'
        """
        many = f"{self.option_count} options"
        if self.option_count:
            return f"a choice of {many} goes with a design for {many}"
        return f"a {self.kind} question goes with a design of p00 and p11"


class YesNo(AnyKind):
    """Yes or no."""

    kind: Literal["yes_no"] = "yes_no"


class Choice(AnyKind):
    """One of 2 to 200 options, each with its label by language; a plain label is English.

    >>> Choice(options=["Never", "Once", {"en": "Often", "de": "Oft"}]).options[0]
    {'en': 'Never'}
    """

    by_place = ("options",)
    kind: Literal["choice"] = "choice"
    options: Annotated[
        tuple[Annotated[Texts, Field(min_length=1)], ...],
        BeforeValidator(as_tuple),
        Field(min_length=2, max_length=MOST_OPTIONS),
    ]

    if TYPE_CHECKING:  # what a caller may give, where it is more than what is kept

        def __init__(self, options: Sequence[str | Mapping[str, str]]) -> None: ...

    @classmethod
    def filled(cls, given: dict[str, Any]) -> dict[str, Any]:
        """With plain labels in English."""
        options = given.get("options")
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
    def labels(self) -> tuple[Mapping[str, str], ...]:
        """As they are numbered."""
        return self.options

    @property
    def truths(self) -> str:
        """Its options in their order, in all languages, as a hash: an answer to others, or in another order, does not
        stand for one to these.

        >>> Choice(["Never", "Once"]).truths == Choice(["Once", "Never"]).truths
        False
        """
        return f"choice of {hashlib.sha256(canonical([dict(option) for option in self.options])).hexdigest()}"


class Number(AnyKind):
    """A number from `low` to `high`, in `unit` (plain words are English); `clip` brings what lies outside to the nearer
    end.

    >>> Number(0, "37.5", "hours").high
    '75/2'
    """

    by_place = ("low", "high", "unit")
    texts_by_language = ("unit",)
    kind: Literal["number"] = "number"
    low: Exact
    high: Exact
    unit: Texts = Field(default_factory=Frozen)
    clip: bool = False

    if TYPE_CHECKING:  # as above

        def __init__(
            self, low: NumberLike, high: NumberLike, unit: str | Mapping[str, str] = ..., *, clip: bool = ...
        ) -> None: ...

    @model_validator(mode="after")
    def _ordered(self) -> Number:
        if fraction("low", self.low) >= fraction("high", self.high):
            raise ValueError("low must be below high")
        return self

    @property
    def truths(self) -> str:
        """The range in which the number lies.

        >>> Number(low="0", high="24").truths
        'number from 0 to 24'
        """
        return f"number from {self.low} to {self.high}"

    @property
    def units(self) -> Mapping[str, str]:
        """By language."""
        return self.unit

    @property
    def bounded(self) -> dict[str, Any]:
        """The bounds, exactly, and what happens to a number beyond them."""
        return {"bounds": (Fraction(self.low), Fraction(self.high)), "clip": self.clip}

    @property
    def sentences(self) -> tuple[Said, ...]:
        """What happens to a number outside the range."""
        return (Said("clipped", {"low": self.low, "high": self.high}),) if self.clip else ()


Kind = Annotated[YesNo | Choice | Number, Field(discriminator="kind")]
