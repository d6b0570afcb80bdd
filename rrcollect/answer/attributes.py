"""What an app is willing to be asked about, under the app's own names.

Rules
1. The name of an attribute is the app's.  A publisher that renames, rewords or republishes a question about it reaches
   the same entry of the ledger, and the same single draw.
2. A question about anything not registered is refused.
3. An attribute is renamed by an alias: its draws, words and budget under the earlier name stay its own.
4. An app that answers whatever a publisher asks (a survey page) registers the publisher instead.  Then the publisher
   chooses the names, and could ask the same thing under two of them: the lifetime budget is that app's defence.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rrcollect.design.parameters import whole_number
from rrcollect.errors import ParameterError, UnknownAttribute
from rrcollect.publish.question import MOST_ROUNDS, Question
from rrcollect.publish.survey import Survey


@dataclass(frozen=True)
class Attribute:
    """An attribute the app can speak about.

    `asked_as`: the names publishers may use for it (its own name if none is given).  `rounds`: how often, at most, it
    may be collected afresh; every round is debited for life, and a panel is one of them.  `aliases`: earlier names of
    it in this ledger, such as "Example Institute/crash" from the time of `EveryAttributeOf("Example Institute")`, or a
    former name of the app's own; what was drawn under them is repeated, and counts as spent.

    >>> Attribute("crashed", rounds=4, asked_as=("crash", "crashed-this-week"), aliases=("broke-down",)).name
    'crashed'
    """

    name: str
    rounds: int = 1
    asked_as: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or "/" in self.name:
            raise ParameterError("attribute name", self.name, "a text without '/'")
        for what in ("asked_as", "aliases"):
            given = getattr(self, what)
            if not isinstance(given, tuple) or not all(isinstance(name, str) and name for name in given):
                raise ParameterError(what, given, "a tuple of names")
        if whole_number("rounds", self.rounds) > MOST_ROUNDS:
            raise ParameterError("rounds", self.rounds, f"at most {MOST_ROUNDS}")


@dataclass(frozen=True)
class EveryAttributeOf:
    """Whatever this publisher asks, each attribute under "publisher/attribute".

    >>> EveryAttributeOf("Example Institute")
    EveryAttributeOf(publisher='Example Institute', rounds=1)
    """

    publisher: str
    rounds: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.publisher, str) or not self.publisher:
            raise ParameterError("publisher", self.publisher, "its name")
        if whole_number("rounds", self.rounds) > MOST_ROUNDS:
            raise ParameterError("rounds", self.rounds, f"at most {MOST_ROUNDS}")


class Attributes:
    """The registered attributes, and the rule that finds a question's own one."""

    def __init__(self, registered: Iterable[str | Attribute | EveryAttributeOf]) -> None:
        self._named: dict[str, Attribute] = {}
        self._earlier: dict[str, Attribute] = {}
        self._publishers: dict[str, EveryAttributeOf] = {}
        if isinstance(registered, str) or not isinstance(registered, Iterable):
            raise ParameterError("attributes", registered, "a list of names")
        for entry in registered:
            if isinstance(entry, EveryAttributeOf):
                if entry.publisher in self._publishers:
                    raise ParameterError("attributes", entry.publisher, "each publisher once")
                self._publishers[entry.publisher] = entry
                continue
            attribute = Attribute(entry) if isinstance(entry, str) else entry
            if not isinstance(attribute, Attribute):
                raise ParameterError("attributes", type(entry).__name__, "names, Attribute or EveryAttributeOf")
            for name in attribute.asked_as or (attribute.name,):
                if name in self._named:
                    raise ParameterError("attributes", name, "each name asked about belongs to one attribute")
                self._named[name] = attribute
            for name in attribute.aliases:
                if name in self._earlier:
                    raise ParameterError("aliases", name, "each earlier name belongs to one attribute")
                self._earlier[name] = attribute
        for attribute in self._named.values():
            if attribute.name in self._earlier:
                raise ParameterError("aliases", attribute.name, "names that are no longer registered themselves")

    @property
    def aliases(self) -> dict[str, tuple[str, ...]]:
        """The earlier names of each attribute that has some."""
        return {attribute.name: attribute.aliases for attribute in self._earlier.values()}

    def registered(self, survey: Survey, question: Question) -> Attribute | None:
        """The app's attribute for what the question asks; None if the app does not answer about it."""
        attribute = self._named.get(question.attribute)
        publisher = self._publishers.get(survey.publisher)
        if attribute is None and publisher is not None:
            name = f"{survey.publisher}/{question.attribute}"
            attribute = self._earlier.get(name) or _published(name, publisher.rounds)
        return attribute

    def of(self, survey: Survey, question: Question) -> Attribute:
        """The app's attribute for what the question asks."""
        attribute = self.registered(survey, question)
        if attribute is None:
            raise UnknownAttribute(
                f"this app does not answer about {question.attribute!r} (question {question.id!r}); "
                "if it should, register it: Client(attributes=[…])"
            )
        return attribute


def _published(name: str, rounds: int) -> Attribute:
    """An attribute under a publisher's name, which has the "/" that an app's own names lack."""
    attribute = Attribute("published", rounds)
    object.__setattr__(attribute, "name", name)
    return attribute
