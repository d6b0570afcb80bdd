"""One question of a survey: what is asked, with which design, under which promise.

Rules
1. The design is what devices apply, the promise (ε, δ) what is said about it.  The promise must be kept by the design,
   decided exactly; a claim smaller than that is refused here and again on the device.
2. A design in which an answer is a proof, or as good as one, needs the signed field `disclosure`: how many of how many
   respondents the publisher expects to expose.
3. In a panel each device answers in one of the rounds, which it draws itself: two rounds or more are needed, and it
   costs what one round costs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from rrcollect.design import from_wire
from rrcollect.design.chosen import ChosenDesign
from rrcollect.design.mechanism import Mechanism
from rrcollect.design.promise import Promise
from rrcollect.design.sentences import PRACTICAL_PROOF, Sentences
from rrcollect.errors import ClaimTooSmall, MalformedDocument, NotOriented, OffGridDesign
from rrcollect.publish.document import Document, Frozen, Name, Passages, by_language, read_by
from rrcollect.publish.kinds import Choice, Kind, Number, YesNo

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
            kind: YesNo | Choice | Number = ...,
            help: str | Mapping[str, str] = ...,
            promise: Promise = ...,
            rounds: int = ...,
            panel: bool = ...,
            disclosure: Disclosure | None = ...,
        ) -> None: ...

    @classmethod
    def filled(cls, given: Any) -> Any:
        """With texts in English, and the promise its design was chosen for or keeps."""
        if not isinstance(given, dict):
            return given
        made = by_language(given, ("text", "help"), "en")
        if "promise" not in made and isinstance(made.get("design"), Mechanism):
            design: Mechanism = made["design"]
            made["promise"] = design.promise if isinstance(design, ChosenDesign) else design.loss
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
        if self.disclosure is not None:
            self._check_disclosure(self.disclosure, where)

    def _check_disclosure(self, said: Disclosure, where: str) -> None:
        """The number expected to be exposed is possible, and is not 0 where an answer is (nearly) a proof."""
        most = self.design.most_exposed
        if said.exposed > most * said.respondents:
            raise MalformedDocument(f"{where}: no more than {float(most * said.respondents):.4g} people can be exposed")
        if self.discloses and said.exposed == 0:
            raise MalformedDocument(
                f"{where}: somebody will be exposed; name so many respondents that it is one or more"
            )

    @property
    def answered_rounds(self) -> int:
        """In how many rounds one device answers (rule 3)."""
        return 1 if self.panel else self.rounds

    @property
    def sentences(self) -> Sentences:
        """What people read about how the answer is drawn."""
        return self.design.sentences(self.kind.kind)

    @property
    def discloses(self) -> bool:
        """Whether an answer is a proof, or as good as one."""
        return self.design.worst_likelihood_ratio >= PRACTICAL_PROOF
