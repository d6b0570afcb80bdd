"""One question as a person writes it in a survey's file, and its design chosen from what is promised.

Rules
1. `kind` is one word, "yes_no" if there is none.  A choice has `options` (plain words in the survey's language, or by
   language), a number `low` and `high`, and if wanted `unit` and `clip`.
2. The promise chooses the design: `DESIGNS` says by which names, for which kinds.  The names of one row are given.
3. A fault names the question and the name that is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, NamedTuple

from rrcollect.design.full_support import full_support_design
from rrcollect.design.mechanism import Mechanism
from rrcollect.design.optimal import optimal_design
from rrcollect.design.optimal_choice import optimal_choice
from rrcollect.design.sets import SetDesign
from rrcollect.design.two_sided import two_sided_design
from rrcollect.design.yes_no import Design
from rrcollect.errors import (
    MalformedDocument,
    ParameterError,
    SurveyRefused,
    UninformativeDesign,
    shown,
)
from rrcollect.publish.document import by_language
from rrcollect.publish.kinds import Choice, Number, YesNo
from rrcollect.publish.question import Disclosure, Question

MADE = ("design", "promise")  # fields of a question that follow from what is written
NAMES = "a name of small letters, digits, and . _ - after the first, 64 characters at most"
MEANT = {  # words for programs, and what they mean to whoever writes a survey
    "Field required": "is missing",
    "Extra inputs are not permitted": "means nothing here",
    "Input should be a valid integer": "must be a whole number",
    "Input should be a valid dictionary": "must be words, or a table of words by language",
    "Input should be a valid tuple": "must be a list",
    "document: ": "",
    "Input should be a valid": "must be a",
    "disclosure=Disclosure(exposed=…, respondents=…)": "the line `disclosure = { exposed = …, respondents = … }`",
}

AnyKind = YesNo | Choice | Number
KINDS: dict[str, tuple[type[AnyKind], tuple[str, ...]]] = {
    "yes_no": (YesNo, ()),
    "choice": (Choice, ("options",)),
    "number": (Number, ("low", "high", "unit", "clip")),
}


def _optimal(_: AnyKind, epsilon: Any, delta: Any = 0, **known: Any) -> Mechanism:
    choose = full_support_design if "max_ratio" in known else optimal_design
    return choose(epsilon, delta, **known)


class DesignForm(NamedTuple):
    """A way to say which design: for which kinds, by the names that must be there and those that may."""

    kinds: tuple[str, ...]
    needed: tuple[str, ...]
    wanted: tuple[str, ...]
    design: Callable[..., Mechanism]


DESIGNS = (
    DesignForm(("yes_no",), ("epsilon",), ("delta", "prevalence", "max_ratio"), _optimal),
    DesignForm(("yes_no",), ("epsilon_yes", "epsilon_no"), (), lambda _, epsilon_yes, epsilon_no: two_sided_design(
        epsilon_yes, epsilon_no)),
    DesignForm(("number",), ("epsilon",), (), lambda _, epsilon: optimal_design(epsilon)),
    DesignForm(("yes_no", "number"), ("p00", "p11"), (), lambda _, p00, p11: Design(p00, p11).to_grid()),
    DesignForm(("choice",), ("epsilon",), ("delta",), lambda kind, epsilon, delta=0: optimal_choice(
        epsilon, len(kind.options), delta)),
    DesignForm(("choice",), ("size", "p"), (), lambda kind, size, p: SetDesign(len(kind.options), size, p).to_grid()),
)  # fmt: skip
PROMISES = tuple(dict.fromkeys(name for way in DESIGNS for name in (*way.needed, *way.wanted)))


def question_from(written: Any, place: int, language: object) -> Question:
    """The question, its design chosen; `place` is its number in the file, if it has no id."""
    if not isinstance(written, dict):
        raise MalformedDocument("a question is a table of names and values")
    fields = by_language(written, ("text", "help"), language)
    with at(f"question {written['id']!r}" if isinstance(written.get("id"), str) else f"question {place}"):
        known(written, _names())
        fields["kind"] = kind = _kind(fields, language)
        given = {name: fields.pop(name) for name in PROMISES if name in fields}
        fields["design"] = _design(kind, given)
        if isinstance(fields.get("disclosure"), dict):
            with at("disclosure"):
                fields["disclosure"] = Disclosure(**fields["disclosure"])
        return Question(**fields)


def _names() -> tuple[str, ...]:
    own = [name for name in Question.model_fields if name not in MADE]
    return (*own, *(name for _, names in KINDS.values() for name in names), *PROMISES)


def _kind(fields: dict[str, Any], language: object) -> AnyKind:
    """The kind with its parts, which are taken out of the fields."""
    word = fields.pop("kind", "yes_no")
    if not isinstance(word, str) or word not in KINDS:
        raise MalformedDocument(f"kind: {shown(word)} is not a kind of question; known are {', '.join(KINDS)}")
    make, names = KINDS[word]
    parts = {}
    for name in [name for _, listed in KINDS.values() for name in listed if name in fields]:
        if name not in names:
            raise MalformedDocument(f"{name}: a {word} question has none")
        parts[name] = fields.pop(name)
    parts = by_language(parts, ("unit",), language)
    if isinstance(parts.get("options"), list):
        parts["options"] = [{language: one} if isinstance(one, str) else one for one in parts["options"]]
    return make(**parts)


def _design(kind: AnyKind, given: dict[str, Any]) -> Mechanism:
    """The design of the one way whose names are given (rule 2)."""
    ways = [way for way in DESIGNS if kind.kind in way.kinds]
    for way in ways:
        if set(way.needed) <= set(given) <= {*way.needed, *way.wanted}:
            return way.design(kind, **given)
    allowed = ", or ".join(
        " and ".join(way.needed) + (f" (and {', '.join(way.wanted)})" if way.wanted else "") for way in ways
    )
    raise MalformedDocument(f"give {allowed} for a {kind.kind} question; given: {', '.join(given) or 'none of them'}")


def known(written: dict[str, Any], names: Sequence[str]) -> None:
    """Refuse a name that means nothing, with the one it may have been."""
    for name in written:
        if name not in names:
            near = get_close_matches(name, names, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(names)}"
            raise MalformedDocument(f"the name {shown(name)} means nothing here; {hint}")


@contextmanager
def at(place: str) -> Iterator[None]:
    """A refusal of what stands at this place of the file names the place, in words of the file."""
    try:
        yield
    except ParameterError as error:
        raise ParameterError(f"{place}: {error.name}", error.value, error.allowed) from None
    except (SurveyRefused, UninformativeDesign) as error:
        raise type(error)(f"{place}: {_as_written(str(error)).removeprefix(f'{place}: ')}") from None


def _as_written(words: str) -> str:
    """A refusal's words for whoever writes the file, not for a program."""
    for said, meant in MEANT.items():
        words = words.replace(said, meant)
    return re.sub(r"String should match pattern '[^']*'", NAMES, words)
