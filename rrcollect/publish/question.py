"""One question of a survey: what is asked, with which design, under which promise.

Rules
1. The design is what devices apply, the promise (ε, δ) what is said about it.  The promise must be kept by the design,
   decided exactly; a claim smaller than that is refused here and again on the device.
2. A design in which an answer is a proof, or as good as one, needs the signed field `disclosure`: how many of how many
   respondents the publisher expects to expose.
3. In a panel each device answers in one of the rounds, which it draws itself: two rounds or more are needed, and it
   costs what one round costs.

As a person writes it in a survey's file:
4. `kind` is one word, "yes_no" if there is none.  A choice has `options` (plain words in the survey's language, or by
   language), a number `low` and `high`, and if wanted `unit`, `clip` and `bins`.
5. The promise chooses the design: `WAYS` says by which names, for which kinds.  The names of one row are given.
6. A fault names the question and the name that is wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import Field

from rrcollect.design import from_wire
from rrcollect.design.mechanism import Mechanism
from rrcollect.design.optimal import bin_design, choice_design, optimal_design, several_design
from rrcollect.design.parameters import Epsilon
from rrcollect.design.promise import Promise
from rrcollect.design.sentences import PRACTICAL_PROOF, Sentences
from rrcollect.design.sets import SetDesign
from rrcollect.design.several import SeveralDesign
from rrcollect.design.yes_no import Design
from rrcollect.errors import (
    CertainDisclosure,
    ClaimTooSmall,
    MalformedDocument,
    NotOriented,
    OffGridDesign,
    OverPolicy,
    ParameterError,
    SurveyRefused,
    UninformativeDesign,
    shown,
)
from rrcollect.publish.document import Document, Frozen, Name, Passages, by_language, read_by
from rrcollect.publish.kinds import AnyKind, Choice, Kind, Number, Several, YesNo
from rrcollect.publish.texts import fingerprints

MOST_ROUNDS = 1000

WireDesign = Annotated[Mechanism, read_by(lambda given: given if isinstance(given, Mechanism) else from_wire(given))]
WirePromise = Annotated[  # as it is written, so that what is published can be read
    Promise, read_by(lambda given: Promise.from_wire(given.to_wire() if isinstance(given, Promise) else given))
]


class Disclosure(Document):
    """The publisher's signed opt-in to exposing people: about `exposed` of every `respondents`.

    >>> Disclosure(exposed=40, respondents=1000).exposed
    40
    """

    exposed: int = Field(ge=0, le=10**9)
    respondents: int = Field(ge=1, le=10**9)


class Question(Document):
    """One question; a plain `text` or `help` is English.

    Without a `promise` the one the design was chosen for is taken, or else the tightest that its design keeps.

    >>> from rrcollect import optimal_design
    >>> question = Question(id="q1", attribute="doped", text="Have you ever doped?", design=optimal_design("ln 3"))
    >>> print(question.promise, question.rounds)
    (ε, δ) = (ln(3), 0) 1
    """

    texts_by_language = ("text", "help")
    id: Name
    attribute: Name
    kind: Kind = Field(default_factory=YesNo)
    text: Annotated[Passages, Field(min_length=1)]
    help: Passages = Field(default_factory=Frozen)
    design: WireDesign
    promise: WirePromise
    rounds: int = Field(default=1, ge=1, le=MOST_ROUNDS)
    panel: bool = False
    disclosure: Disclosure | None = None

    if TYPE_CHECKING:  # what a caller may give, where it is more than what is kept

        def __init__(
            self,
            *,
            id: str,
            attribute: str,
            text: str | Mapping[str, str],
            design: Mechanism,
            kind: YesNo | Choice | Number | Several = ...,
            help: str | Mapping[str, str] = ...,
            promise: Promise = ...,
            rounds: int = ...,
            panel: bool = ...,
            disclosure: Disclosure | None = ...,
        ) -> None: ...

    @classmethod
    def filled(cls, given: dict[str, Any]) -> dict[str, Any]:
        """With texts in English, and the promise its design was chosen for or keeps."""
        made = super().filled(given)
        if "promise" not in made and isinstance(made.get("design"), Mechanism):
            design: Mechanism = made["design"]
            made["promise"] = design.loss if design.choice is None else design.choice.promise
        return made

    def check(self) -> None:
        """Refuse a design that does not fit, that a device cannot or should not apply, or that breaks its promise."""
        where = f"question {self.id!r}"
        if not self.design.fits(self.kind):
            raise MalformedDocument(f"{where}: {self.kind.goes_with}")
        if self.panel and self.rounds == 1:
            raise MalformedDocument(f"{where}: a panel needs two rounds or more")
        if self.design.c <= 0:
            raise NotOriented(f"{where}: p00 + p11 = {float(self.design.c) + 1:.6g}; it must be above 1")
        if not self.design.on_grid:
            raise OffGridDesign(f"{where}: {self.design} is off the grid of 1/2^64; publish design.to_grid()")
        if not self.design.satisfies(self.promise.epsilon, self.promise.delta):
            raise ClaimTooSmall(
                f"{where} promises (ε, δ) = ({float(self.promise.epsilon):.6g}, {float(self.promise.delta):.6g}), but "
                f"its matrix only keeps ε = {self.design.epsilon():.6g} with δ = 0, or "
                f"δ = {self.design.delta(self.promise.epsilon):.6g} at the promised ε"
            )
        if self.disclosure is None:
            return
        most = self.design.most_exposed * self.disclosure.respondents
        if self.disclosure.exposed > most:
            raise MalformedDocument(f"{where}: no more than {float(most):.4g} people can be exposed")
        if self.discloses and self.disclosure.exposed == 0:
            raise MalformedDocument(
                f"{where}: somebody will be exposed; name so many respondents that it is one or more"
            )

    def charged(self, max_epsilon: Epsilon, max_ratio: Fraction, *, allow_disclosure: bool = False) -> Promise:
        """What one answer costs a device, exactly; an error if a device with these caps does not answer it at all."""
        ratio = self.design.worst_likelihood_ratio
        if ratio <= max_ratio:
            cost = self.design.loss
            if cost.epsilon > max_epsilon:
                raise OverPolicy(
                    f"question {self.id!r} costs ε = {float(cost.epsilon):.6g}; "
                    f"this device allows at most {float(max_epsilon):.6g} per question"
                )
            return cost
        shown = "without bound" if ratio == math.inf else f"by a factor of {float(ratio):.4g}"
        start = f"question {self.id!r}: an answer could change the odds {shown}"
        if self.disclosure is None:
            raise CertainDisclosure(f"{start}, and the publisher has not signed that this is meant")
        if not allow_disclosure:
            raise CertainDisclosure(f"{start}; this device does not allow that (allow_disclosure=False)")
        return Promise(Epsilon(0), self.design.total_variation)

    @property
    def answered_rounds(self) -> int:
        """In how many rounds one device answers (rule 3)."""
        return 1 if self.panel else self.rounds

    def values(self, asked_of: int = 1) -> int:
        """How many different reports a device can send for it; it was drawn out of `asked_of` questions."""
        return self.design.values * asked_of * (self.rounds if self.panel else 1)

    @property
    def fingerprints(self) -> frozenset[str]:
        """Of the words in which it is asked, in all languages: what ledgers know a question by."""
        return fingerprints(self.text, self.help)

    @property
    def sentences(self) -> Sentences:
        """What people read about how the answer is drawn."""
        return self.design.sentences(self.kind.kind)

    @property
    def discloses(self) -> bool:
        """Whether an answer is a proof, or as good as one."""
        return self.design.worst_likelihood_ratio >= PRACTICAL_PROOF


# ---- as it is written in a file -------------------------------------------------------------------------------------

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

KINDS: dict[str, tuple[type[AnyKind], tuple[str, ...]]] = {
    "yes_no": (YesNo, ()),
    "choice": (Choice, ("options",)),
    "number": (Number, ("low", "high", "unit", "clip", "bins")),
    "several": (Several, ("options",)),
}


_NAMES = tuple(name for _, listed in KINDS.values() for name in listed)


def _optimal(_: AnyKind, epsilon: Any, delta: Any = 0, **known: Any) -> Mechanism:
    cap, pi = known.get("max_ratio"), known.get("prevalence")
    promise = Promise.of(epsilon, delta) if cap is None else Promise.capped(epsilon, delta, cap)
    return optimal_design(promise, prevalence=pi)


def _two_sided(_: AnyKind, epsilon_yes: Any, epsilon_no: Any) -> Mechanism:
    return optimal_design(Promise.two_sided(epsilon_yes, epsilon_no))


def _number(bins: int, epsilon: Any) -> Mechanism:
    return bin_design(epsilon, bins) if bins else optimal_design(epsilon)


def _of_options(kind: AnyKind, epsilon: Any, delta: Any = 0) -> Mechanism:
    return choice_design(epsilon, kind.option_count, delta)


class DesignForm(NamedTuple):
    """A way to say which design: for which kinds, by the names that must be there and those that may."""

    kinds: tuple[str, ...]
    needed: tuple[str, ...]
    wanted: tuple[str, ...]
    design: Callable[..., Mechanism]


WAYS = (
    DesignForm(("yes_no",), ("epsilon",), ("delta", "prevalence", "max_ratio"), _optimal),
    DesignForm(("yes_no",), ("epsilon_yes", "epsilon_no"), (), _two_sided),
    DesignForm(("number",), ("epsilon",), (), lambda kind, epsilon: _number(kind.option_count, epsilon)),
    DesignForm(("several",), ("epsilon",), (), lambda kind, epsilon: several_design(epsilon, kind.option_count)),
    DesignForm(("several",), ("p",), (), lambda kind, p: SeveralDesign(kind.option_count, p).to_grid()),
    DesignForm(("yes_no", "number"), ("p00", "p11"), (), lambda _, p00, p11: Design(p00, p11).to_grid()),
    DesignForm(("choice",), ("epsilon",), ("delta",), _of_options),
    DesignForm(("choice",), ("size", "p"), (), lambda kind, size, p: SetDesign(kind.option_count, size, p).to_grid()),
)  # fmt: skip
PROMISES = tuple(dict.fromkeys(name for way in WAYS for name in (*way.needed, *way.wanted)))


def question_from(written: Any, place: int, language: object) -> Question:
    """The question, its design chosen; `place` is its number in the file, if it has no id."""
    if not isinstance(written, dict):
        raise MalformedDocument("a question is a table of names and values")
    fields = by_language(written, ("text", "help"), language)
    own = [name for name in Question.model_fields if name not in MADE]
    with at(f"question {written['id']!r}" if isinstance(written.get("id"), str) else f"question {place}"):
        known(written, (*own, *(name for _, names in KINDS.values() for name in names), *PROMISES))
        fields["kind"] = kind = _kind(fields, language)
        given = {name: fields.pop(name) for name in PROMISES if name in fields}
        fields["design"] = _design(kind, given)
        if isinstance(fields.get("disclosure"), dict):
            with at("disclosure"):
                fields["disclosure"] = Disclosure(**fields["disclosure"])
        return Question(**fields)


def _kind(fields: dict[str, Any], language: object) -> AnyKind:
    """The kind with its parts, which are taken out of the fields."""
    word = fields.pop("kind", "yes_no")
    if not isinstance(word, str) or word not in KINDS:
        raise MalformedDocument(f"kind: {shown(word)} is not a kind of question; known are {', '.join(KINDS)}")
    make, names = KINDS[word]
    parts = {}
    for name in [name for name in dict.fromkeys(_NAMES) if name in fields]:
        if name not in names:
            raise MalformedDocument(f"{name}: a {word} question has none")
        parts[name] = fields.pop(name)
    parts = by_language(parts, ("unit",), language)
    if isinstance(parts.get("options"), list):
        parts["options"] = [{language: one} if isinstance(one, str) else one for one in parts["options"]]
    return make(**parts)


def _design(kind: AnyKind, given: dict[str, Any]) -> Mechanism:
    """The design of the one way whose names are given (rule 5)."""
    ways = [way for way in WAYS if kind.kind in way.kinds]
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
