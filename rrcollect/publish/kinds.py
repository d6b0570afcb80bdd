"""What may be true, and how it is asked: yes or no, one of several options, all that apply, a number in a range.

Rules
1. A kind says which truths there are; the design beside it says how they are randomised.  They must fit: a yes/no and
   a number go with a 2×2 design, a choice of k options with a design for k options, a number in k
   `bins` with one for k bins.
2. The order of options is part of the document: the first option is the first bit of an answer.  No two have the same
   label in a language: nobody could tell them apart.
3. A number lies in [low, high], both written exactly.  What lies outside is refused by the device, or brought to the
   nearer end if the survey says `clip`; never silently.
4. Of "all that apply" (`Several`) the device asks about one option, which it draws before the truth is read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from rrcollect.design.bins import MOST_BINS
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
        named = f"{self.option_count} {'options' if self.labels else 'bins'}"
        if self.option_count:
            return f"a {self.kind} of {named} goes with a design for {named}"
        return f"a {self.kind} question goes with a design of p00 and p11"


class YesNo(AnyKind):
    """Yes or no."""

    kind: Literal["yes_no"] = "yes_no"


class Listed(AnyKind):
    """2 to 200 options, each with its label by language."""

    by_place = ("options",)
    options: Annotated[
        tuple[Annotated[Texts, Field(min_length=1)], ...],
        BeforeValidator(as_tuple),
        Field(min_length=2, max_length=MOST_OPTIONS),
    ]

    @classmethod
    def filled(cls, given: dict[str, Any]) -> dict[str, Any]:
        """With plain labels in English."""
        options = given.get("options")
        if not isinstance(options, list | tuple):
            return given
        return {**given, "options": [{"en": one} if isinstance(one, str) else one for one in options]}

    @model_validator(mode="after")
    def _told_apart(self) -> Listed:
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
        return f"{self.kind} of {hashlib.sha256(canonical([dict(option) for option in self.options])).hexdigest()}"


class Choice(Listed):
    """One of 2 to 200 options; a plain label is English.

    >>> Choice(options=["Never", "Once", {"en": "Often", "de": "Oft"}]).options[0]
    {'en': 'Never'}
    """

    kind: Literal["choice"] = "choice"

    if TYPE_CHECKING:  # what a caller may give, where it is more than what is kept

        def __init__(self, options: Sequence[str | Mapping[str, str]]) -> None: ...


class Several(Listed):
    """All that apply of 2 to 200 options, of which the device asks about one.

    >>> Several(["Headache", "Fever", "Cough"]).goes_with
    'a several of 3 options goes with a design for 3 options'
    """

    kind: Literal["several"] = "several"

    if TYPE_CHECKING:  # what a caller may give, where it is more than what is kept

        def __init__(self, options: Sequence[str | Mapping[str, str]]) -> None: ...


class Number(AnyKind):
    """A number from `low` to `high`, in `unit` (plain words are English); `clip` brings what lies outside to the nearer
    end.  Its mean is estimated, or with `bins` its whole distribution, in so many equal parts of the range.

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
    bins: int = Field(default=0, ge=0, le=MOST_BINS)

    if TYPE_CHECKING:  # as above

        def __init__(
            self, low: NumberLike, high: NumberLike, unit: str | Mapping[str, str] = ..., *, clip: bool = ...,
            bins: int = ...,
        ) -> None: ...  # fmt: skip

    @model_validator(mode="after")
    def _ordered(self) -> Number:
        if fraction("low", self.low) >= fraction("high", self.high):
            raise ValueError("low must be below high")
        if self.bins and (self.bins < 4 or self.bins & (self.bins - 1)):
            raise ValueError("bins must be a power of two from 4 to 1024, or 0 for the mean alone")
        return self

    @property
    def truths(self) -> str:
        """The range in which the number lies.

        >>> Number(low="0", high="24").truths
        'number from 0 to 24'
        """
        return f"number from {self.low} to {self.high}" + (f" in {self.bins} bins" if self.bins else "")

    @property
    def option_count(self) -> int:
        """As many as bins."""
        return self.bins

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


Kind = Annotated[YesNo | Choice | Number | Several, Field(discriminator="kind")]
