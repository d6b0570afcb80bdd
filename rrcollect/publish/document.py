"""What every signed document has in common: exact types, no unknown fields, faults with their place.

Rules
1. A field that is missing, unknown or not exactly of its type refuses the document; nothing is converted.
2. Every field is written, whatever its value: a document has one spelling.
3. A refusal names the place and the fault, in words of the document; pydantic's own errors never reach a caller.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator, ValidationError

from rrcollect.errors import MalformedDocument, NotOriented, SurveyRefused, UninformativeDesign
from rrcollect.publish.texts import LANGUAGE, passage, words

__all__ = ["Document", "Language", "Moment", "Name", "Passage", "Passages", "Texts", "Words", "by_language", "refusal"]

MOMENT = "%Y-%m-%dT%H:%M:%SZ"


class Document(BaseModel):
    """The base of survey, question and all their parts."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, arbitrary_types_allowed=True)

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise refusal(error) from None


def refusal(error: ValidationError) -> SurveyRefused:
    """Our error for the first fault pydantic saw, with its place; values are not repeated."""
    fault = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in fault["loc"]) or "document"
    said = f"{place}: {fault['msg'].removeprefix('Value error, ')}"
    cause = fault.get("ctx", {}).get("error")
    return NotOriented(said) if isinstance(cause, UninformativeDesign) else MalformedDocument(said)


def _moment(value: object) -> datetime:
    if isinstance(value, str):
        try:
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
Texts = Annotated[dict[Language, Words], Field(max_length=50)]  # by language, one line each
Passages = Annotated[dict[Language, Passage], Field(max_length=50)]  # by language, several lines each
Moment = Annotated[datetime, PlainValidator(_moment), PlainSerializer(lambda t: t.strftime(MOMENT))]


def by_language(fields: dict[str, Any], names: tuple[str, ...], language: object) -> dict[str, Any]:
    """The fields with plain texts as maps by language."""
    return {
        name: {language: value} if name in names and isinstance(value, str) else value for name, value in fields.items()
    }
