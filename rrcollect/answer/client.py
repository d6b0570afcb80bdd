"""The client an app embeds: accept a survey, answer its questions, deliver the reports.

Rules
1. The decision to answer is made before the truth is read: a callable truth is called after every check has passed, and
   not at all if the answer is already known.  It is called inside the ledger's one transaction, which others wait for:
   it looks the truth up, and neither asks a person nor uses this ledger.
2. The truth lives in one local variable for the time of one draw.  It is not stored, logged or put into an error.
3. Whatever was answered is in the ledger before it is returned (see `ledger`); delivery may fail and be repeated.
4. Declining is not calling `answer`.  `decline` remembers it on this device; nothing goes out.
5. `rrcollect.mjs` follows the same script, check by check: docs/wire-format.md, "Answering".
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from types import TracebackType

from rrcollect.answer.acceptance import AcceptedSurvey, SeenVersion, accept_survey, check_expiry, check_trust
from rrcollect.answer.attributes import Attribute, Attributes, EveryAttributeOf
from rrcollect.answer.budget import Budget
from rrcollect.answer.draw import Source, randomise
from rrcollect.answer.ledger import Ledger, LedgerRequest
from rrcollect.answer.policy import Policy
from rrcollect.deliver.outbox import Deliveries, Pace, deliver
from rrcollect.deliver.transport import Transport
from rrcollect.errors import ParameterError
from rrcollect.publish.question import Question
from rrcollect.publish.report import Report

__all__ = ["Client"]


class Client:
    """Answers surveys on this device.

    `ledger` is a file of the app's own; `attributes` are what the app is willing to be asked about (names, `Attribute`,
    or `EveryAttributeOf` a publisher); `policy` names the publishers it trusts and caps what is given away.

    >>> from datetime import datetime, timezone
    >>> from rrcollect import Question, SigningKey, Survey, TrustedPublisher, optimal_design, publish_survey
    >>> key = SigningKey.generate()
    >>> question = Question(id="q1", attribute="doped", text="Ever doped?", design=optimal_design("ln 3"))
    >>> survey = Survey(name="clean-sport", version=1, title="Clean sport", publisher="Example Institute",
    ...                 collector="https://collect.example.org/reports",
    ...                 expires=datetime(2100, 1, 1, tzinfo=timezone.utc), questions=[question])
    >>> import tempfile
    >>> ledger = os.path.join(tempfile.mkdtemp(), "ledger.sqlite3")
    >>> policy = Policy([TrustedPublisher("Example Institute", [key.public])])
    >>> client = Client(ledger, attributes=["doped"], policy=policy)
    >>> accepted = client.accept(publish_survey(survey, [key]).envelope)
    >>> first = client.answer(accepted, "q1", truth=True)
    >>> client.answer(accepted, "q1", truth=lambda: 1 / 0) == first    # asked again: the truth is not read
    True
    """

    def __init__(
        self,
        ledger: str | os.PathLike[str],
        *,
        attributes: Iterable[str | Attribute | EveryAttributeOf],
        policy: Policy,
        source: Source = os.urandom,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.policy = policy
        self._attributes = Attributes(attributes)
        self._source = source
        self._clock = clock
        self._ledger = Ledger(ledger)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to release: every operation closes what it opened."""

    def accept(self, envelope: bytes) -> AcceptedSurvey:
        """The survey of a signed envelope, if this device trusts and allows it; an error that says why otherwise."""
        accepted = accept_survey(envelope, self.policy, now=self._clock(), seen=self._ledger.seen())
        survey = accepted.survey
        self._ledger.remember(survey.publisher, survey.name, SeenVersion(survey.version, accepted.digest))
        return accepted

    def answer(
        self,
        survey: AcceptedSurvey,
        question: str,
        truth: bool | Callable[[], bool],
        *,
        round: int = 0,
        segments: Mapping[str, str] | None = None,
        invite: str | None = None,
    ) -> Report:
        """The report that answers a question, committed to the ledger and waiting in the outbox.

        Asked again about the same attribute it repeats the first answer, and does not read the truth.  Segments and
        invite are sent as they are, unchanged, and are fixed by the first call for a question."""
        request = self._request(survey, question, round, segments, invite)

        def draw() -> str:
            return str(randomise(truth() if callable(truth) else truth, request.report.design, source=self._source))

        report = self._ledger.answer(request, self.policy, draw)
        if report.ticket != invite or (segments is not None and report.segments != dict(segments)):
            allowed = "what was declared at the first answer"
            raise ParameterError("segments or invite", "not those of the report", allowed)
        return report

    def _request(
        self,
        survey: AcceptedSurvey,
        question_id: str,
        round_: int,
        segments: Mapping[str, str] | None = None,
        invite: str | None = None,
    ) -> LedgerRequest:
        """The question as it is put to the ledger; whatever is wrong with it, or with its report, is found here."""
        _check_accepted(survey)
        check_trust(survey, self.policy)
        check_expiry(survey.survey, self._clock())
        question = survey.survey.question(question_id)
        attribute = self._attributes.own_name(survey.survey, question, round_)
        cost = self.policy.cost(question)
        declared = _declared(survey, segments)
        if survey.survey.invite_only != (invite is not None):
            allowed = "the invite this survey requires" if invite is None else "no invite: this survey asks for none"
            raise ParameterError("invite", "none" if invite is None else "an invite", allowed)
        report = Report(
            survey=survey.digest,
            question=question.id,
            design=question.design,
            answer="0" * question.design.width,  # until it is drawn
            id=secrets.token_hex(16),
            round=round_,
            segments=declared,
            ticket=invite,
        )
        return LedgerRequest(report, attribute, survey.survey.say(question.text), cost)

    def decline(self, survey: AcceptedSurvey, question: str) -> None:
        """Remember, on this device only, that the person does not want to answer; they may still change their mind."""
        _check_accepted(survey)
        self._ledger.decline(survey.digest, survey.survey.question(question).id)

    def open_questions(self, survey: AcceptedSurvey) -> list[Question]:
        """The questions of a survey that were neither answered (in whatever round) nor declined."""
        _check_accepted(survey)
        declined = self._ledger.declined(survey.digest)
        answered = {r.question for r in self._ledger.outbox() if r.survey == survey.digest}
        return [q for q in survey.survey.questions if q.id not in declined | answered]

    def budget(self) -> Budget:
        """What was answered so far and at what cost: `.explain()` in words, `.export()` as data."""
        return Budget(tuple(self._ledger.draws()), tuple(self._ledger.outbox()), self.policy)

    def deliver(self, transport: Transport, pace: Pace | None = None) -> Deliveries:
        """Send what waits in the outbox, each report in its own request, in shuffled order; safe to repeat."""
        return deliver(self._ledger, transport, pace or Pace())


def _check_accepted(survey: object) -> None:
    if not isinstance(survey, AcceptedSurvey):
        raise ParameterError("survey", type(survey).__name__, "what `accept` returned")


def _declared(survey: AcceptedSurvey, segments: Mapping[str, str] | None) -> dict[str, str]:
    """The declared segments, if the survey allows them; the error names the segment, not the person's value."""
    if segments is not None and not isinstance(segments, Mapping):
        raise ParameterError("segments", type(segments).__name__, "a mapping of segment names to values")
    declared = dict(segments or {})
    for name, value in declared.items():
        if name not in survey.survey.segments:
            raise ParameterError("segments", name, f"the survey's segments {sorted(survey.survey.segments)}")
        if value not in survey.survey.segments[name].names:
            allowed = f"one of {', '.join(survey.survey.segments[name].names)}"
            raise ParameterError(f"segments[{name!r}]", "another value, not shown", allowed)
    return declared
