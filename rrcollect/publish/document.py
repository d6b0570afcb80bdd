"""What every signed document has in common: exact types, no unknown fields, faults with their place.

Rules
1. On the wire every field is written, whatever its value, and nothing is converted: a field that is missing, unknown or
   not exactly of its type refuses the document.  A program may leave fields out and give plain texts (`filled`).
2. The first fault is told: an object's fields before their values, the values in the order of the fields here.
3. A refusal names the place and the fault, in words of the document; pydantic's own errors never reach a caller, and
   an interrupt passes through: pydantic calls nothing of ours while it writes.
4. A document is frozen through and through, its texts too (`Frozen`), so what was computed from it once holds for good.
   A changed copy (`model_copy`) is another document: nothing that was computed from the first one goes with it.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Annotated, Any, ClassVar, NoReturn, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from rrcollect.errors import MalformedDocument, NotCanonical, NotOriented, SurveyRefused, UninformativeDesign, shown
from rrcollect.publish.canonical import canonical, read_canonical
from rrcollect.publish.logo import checked_logo
from rrcollect.publish.texts import LANGUAGE, passage, words

MOMENT = "%Y-%m-%dT%H:%M:%SZ"
K = TypeVar("K")
V = TypeVar("V")
WIRE = object()  # the context of a document that was read, not made by a program


class Frozen(dict[K, V]):
    """A dictionary that cannot be changed: the texts and segments of a document.

    >>> Frozen({"en": "Ever?"})["en"]
    'Ever?'
    >>> Frozen({"en": "Ever?"})["en"] = "Never?"
    Traceback (most recent call last):
    ...
    TypeError: a document cannot be changed; make another one
    """

    def _unchanged(self, *_given: object, **_named: object) -> NoReturn:
        raise TypeError("a document cannot be changed; make another one")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _unchanged

    def __reduce__(self) -> tuple[type[Frozen[K, V]], tuple[dict[K, V]]]:
        return type(self), (dict(self),)


class Document(BaseModel):
    """The base of survey, question and all their parts."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, arbitrary_types_allowed=True)

    by_place: ClassVar[tuple[str, ...]] = ()  # fields that may be given without their names, in this order
    texts_by_language: ClassVar[tuple[str, ...]] = ()  # fields that may be given as plain texts

    def __init__(self, /, *given: Any, **fields: Any) -> None:
        if len(given) > len(self.by_place):
            raise TypeError(f"{type(self).__name__} takes {len(self.by_place)} values without a name, not {len(given)}")
        try:
            super().__init__(**dict(zip(self.by_place, given, strict=False)), **fields)
        except ValidationError as error:
            raise _refusal(error) from None

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # a part of a document is validated in its place

    @classmethod
    def from_wire(cls, value: object) -> Self:
        """The document of JSON values: exactly its fields, exactly of their types."""
        try:
            return cls.model_validate(value, context=WIRE)
        except ValidationError as error:
            raise _refusal(error) from None

    def to_wire(self) -> dict[str, Any]:
        """The document as JSON values."""
        return {name: _wire(getattr(self, name)) for name in type(self).model_fields}

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other fields, and with nothing that was computed from the old ones (rule 4)."""
        made = super().model_copy(update=update, deep=deep)
        for name in set(vars(made)) - set(type(made).model_fields):
            del vars(made)[name]
        return made

    @model_validator(mode="before")
    @classmethod
    def _given(cls, given: Any, info: ValidationInfo) -> Any:
        if info.context is not WIRE:
            return cls.filled(given) if isinstance(given, dict) else cls.from_plain(given)
        if not isinstance(given, dict) or set(given) != set(cls.model_fields):
            raise ValueError(f"it must have exactly the fields {', '.join(cls.model_fields)}")
        return given

    @classmethod
    def filled(cls, given: dict[str, Any]) -> dict[str, Any]:
        """The fields that a program gave, with what it may leave to us: plain texts are in the document's language."""
        return by_language(given, cls.texts_by_language, given.get("language", "en"))

    @classmethod
    def from_plain(cls, given: Any) -> Any:
        """What a program gave instead of fields."""
        return given


class SignedDocument(Document):
    """A document with one spelling: canonical JSON.  Its identity is the SHA-256 of those bytes."""

    largest: ClassVar[int]  # bytes

    def payload(self) -> bytes:
        """The canonical bytes that are signed."""
        return canonical(self.to_wire())

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the payload, in hexadecimal: the document's identity.  Computed once: a document is frozen."""
        return hashlib.sha256(self.payload()).hexdigest()

    @classmethod
    def from_payload(cls, payload: bytes) -> Self:
        """The document of canonical bytes; every other spelling is refused.  Signatures are the envelope's business."""
        value = read_canonical(payload, cls.largest)
        made = cls.from_wire(value)
        if made.to_wire() != value:  # equal values have equal bytes: nothing is spelled a second time
            raise NotCanonical("a number is not written in its one canonical form")
        vars(made)["digest"] = hashlib.sha256(payload).hexdigest()  # of these very bytes
        return made


def _wire(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_wire(item) for item in value]
    if isinstance(value, dict):
        return {name: _wire(item) for name, item in value.items()}
    if isinstance(value, datetime):
        return value.strftime(MOMENT)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.to_wire() if hasattr(value, "to_wire") else value


def read_by(reader: Callable[[object], Any]) -> PlainValidator:
    """A field that `reader` reads; what it refuses is told in its turn, by its own name."""

    def read(given: object) -> Any:
        try:
            return reader(given)
        except SurveyRefused as error:
            raise ValueError(str(error)) from error

    return PlainValidator(read)


def _refusal(error: ValidationError) -> SurveyRefused:
    """Our error for the first fault pydantic saw, with its place; values are not repeated."""
    fault = error.errors(include_url=False, include_input=False)[0]
    place = shown(".".join(str(part) for part in fault["loc"])).strip("'\"") or "document"
    said = f"{place}: {fault['msg'].removeprefix('Value error, ')}"
    cause = fault.get("ctx", {}).get("error")
    if isinstance(cause, UninformativeDesign):
        return NotOriented(said)
    named = getattr(cause, "__cause__", None)
    return type(named)(said) if isinstance(named, SurveyRefused) else MalformedDocument(said)


def as_tuple(value: object) -> object:
    """A list as the tuple that a document keeps."""
    return tuple(value) if isinstance(value, list) else value


_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


def _moment(value: object) -> datetime:
    if isinstance(value, str):
        try:
            if not _MOMENT.fullmatch(value):  # strptime takes other spellings too
                raise ValueError
            value = datetime.strptime(value, MOMENT).replace(tzinfo=UTC)
        except ValueError:
            raise ValueError("it must look like 2027-01-31T00:00:00Z") from None
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise ValueError("it must be a datetime with a time zone, or a string such as 2027-01-31T00:00:00Z")
    if not 2000 <= value.year <= 9000:
        raise ValueError("it must lie between the years 2000 and 9000")
    return value.astimezone(UTC).replace(microsecond=0)


Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
Language = Annotated[str, Field(pattern=LANGUAGE)]
Words = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(words)]
Passage = Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(passage)]
Texts = Annotated[dict[Language, Words], Field(max_length=50), AfterValidator(Frozen)]  # by language, one line each
Passages = Annotated[
    dict[Language, Passage], Field(max_length=50), AfterValidator(Frozen)
]  # by language, several lines each
Moment = Annotated[datetime, PlainValidator(_moment)]

CARRIED = "carried"
LOOPBACK = r"(?:localhost|127\.0\.0\.1|\[::1\])"
ORIGIN = rf"(?:https://[a-z0-9](?:[a-z0-9.-]{{0,251}}[a-z0-9])?|http://{LOOPBACK})(?::[1-9][0-9]{{0,4}})?"


def _matching(pattern: str, longest: int, fault: str) -> AfterValidator:
    """A text of this form; the fault says which."""
    form = re.compile(pattern)

    def checked(text: str) -> str:
        if len(text) > longest or not form.fullmatch(text):
            raise ValueError(fault)
        return text

    return AfterValidator(checked)


Link = Annotated[str, _matching(r"https://[!-~]{3,}", 1998, "a link begins with https://")]
Links = Annotated[dict[Language, Link], Field(max_length=50), AfterValidator(Frozen)]
Origin = Annotated[
    str, _matching(ORIGIN, 300, "an origin looks like https://survey.example.org; http only for this machine")
]
Origins = Annotated[tuple[Origin, ...], BeforeValidator(as_tuple), Field(max_length=16)]
Address = Annotated[
    str,
    _matching(
        rf"{CARRIED}|{ORIGIN}(?:/[A-Za-z0-9._~-]+)+",
        500,
        f"it must look like https://collect.example.org/reports (http only for this machine), or be {CARRIED!r}",
    ),
]
Logo = Annotated[str, AfterValidator(checked_logo)]


def in_language(texts: Mapping[str, str], wanted: str | None, default: str) -> str:
    """The text in the wanted language, else in its base language, else in the survey's own; "" if there is none.

    >>> in_language({"en": "Send", "de": "Senden"}, "de-AT", "en")
    'Senden'
    """
    for language in (wanted or default, (wanted or default).split("-")[0], default):
        if language in texts:
            return texts[language]
    return ""


def by_language(fields: dict[str, Any], names: tuple[str, ...], language: object) -> dict[str, Any]:
    """The fields with plain texts as maps by language."""
    if not isinstance(language, str):
        return fields
    return {
        name: {language: value} if name in names and isinstance(value, str) else value for name, value in fields.items()
    }


# ---- parts of a survey ----------------------------------------------------------------------------------------------


class Look(Document):
    """How the survey's page looks: a colour (#rrggbb) and a logo (an image as a data: address)."""

    colour: Annotated[str, Field(pattern=r"^#[0-9a-f]{6}$")] | None = None
    logo: Logo | None = None


class RoundTimes(Document):
    """When a round opens and closes."""

    opens: Moment
    closes: Moment


class SegmentValue(Document):
    """A value that may be declared, with its label by language (without one, the value itself)."""

    value: Words
    label: Texts = Field(default_factory=Frozen)


class Segment(Document):
    """A group that a respondent may declare: sent as it is, not randomised."""

    values: Annotated[tuple[SegmentValue, ...], BeforeValidator(as_tuple), Field(min_length=1, max_length=200)]
    label: Texts = Field(default_factory=Frozen)
    help: Passages = Field(default_factory=Frozen)

    @classmethod
    def from_plain(cls, given: Any) -> Any:
        """A list of plain values is a segment without labels."""
        if not isinstance(given, (list, tuple)):
            return given
        return {"values": [{"value": value} if isinstance(value, str) else value for value in given]}

    @property
    def names(self) -> tuple[str, ...]:
        """The values, without their labels."""
        return tuple(value.value for value in self.values)
