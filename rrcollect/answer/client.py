"""The client an app embeds: accept a survey, answer its questions, deliver the reports.

Rules
1. The decision to answer is made before the truth is read: a callable truth is called after every check has passed, and
   not at all if the answer is already known.  It is called inside the ledger's one transaction, which others wait for:
   it looks the truth up, and neither asks a person nor uses this ledger.
2. The truth lives in one local variable for the time of one draw.  It is not stored, logged or put into an error.
3. Whatever was answered is in the ledger before it is returned (see `ledger`); delivery may fail and be repeated.
4. Declining is not calling `answer`.  `decline` remembers it on this device; nothing goes out, and what waited to go
   out is stopped.  An `answer` that is interrupted leaves nothing behind that goes out.
5. The browser client follows the same script, check by check: docs/wire-format.md, "Answering".
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime

from rrcollect.answer.acceptance import AcceptedSurvey, SeenVersion
from rrcollect.answer.asking import (
    QuestionDraw,
    answered_round,
    check_asked,
    check_expiry,
    check_open,
    check_round,
)
from rrcollect.answer.attributes import Attribute, Attributes, EveryAttributeOf
from rrcollect.answer.draw import Truth, randomise
from rrcollect.answer.explain.budget import Budget
from rrcollect.answer.ledger.ledger import DeclineResult, Ledger
from rrcollect.answer.ledger.rules import LedgerRequest
from rrcollect.answer.policy import Policy
from rrcollect.deliver.oblivious import OhttpTransport
from rrcollect.deliver.outbox import Deliveries, Timing, deliver
from rrcollect.deliver.schedule import HOURS, check_spread, moments_of
from rrcollect.deliver.transport import Issuing, Transport
from rrcollect.design.sampling import Source
from rrcollect.errors import LedgerError, LedgerUnavailable, NotLogged, ParameterError
from rrcollect.publish.envelope import Withdrawal
from rrcollect.publish.issuer import place_of
from rrcollect.publish.log import Checkpoint, LogReader
from rrcollect.publish.question import Question
from rrcollect.publish.report import Report
from rrcollect.publish.tickets import invite_proof, ticket
from rrcollect.publish.tokens import longest_reply, outputs_of, request_of

LATEST = 30 * 86_400  # seconds after the end of a survey: what has not arrived then does not leave any more

MOST_TRIES = 8


class Client:
    """The ledger of one person: accepts surveys, answers about each attribute once, and delivers the reports.

    Whoever else is asked on the same machine needs a ledger of their own: see `Clients`.

    `ledger` is a file of the app's own; `attributes` are what the app is willing to be asked about (names, `Attribute`,
    or `EveryAttributeOf` a publisher); `policy` names the publishers it trusts and caps what is given away.  `spread`
    is the time in seconds over which reports are sent: six hours for telemetry, a few seconds where a person looks on,
    0 in tests.

    >>> from datetime import datetime, timezone
    >>> from rrcollect import Question, SigningKey, Survey, TrustedPublisher, optimal_design
    >>> key = SigningKey.generate()
    >>> question = Question(id="q1", attribute="doped", text="Ever doped?", design=optimal_design("ln 3"))
    >>> survey = Survey(name="clean-sport", version=1, title="Clean sport", publisher="Example Institute",
    ...                 collector="https://collect.example.org/reports",
    ...                 expires=datetime(2100, 1, 1, tzinfo=timezone.utc), questions=[question])
    >>> import tempfile
    >>> ledger = os.path.join(tempfile.mkdtemp(), "ledger.sqlite3")
    >>> policy = Policy([TrustedPublisher("Example Institute", [key.public])])
    >>> client = Client(ledger, attributes=["doped"], policy=policy)
    >>> accepted = client.accept(survey.publish([key]).envelope)
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
        sleep: Callable[[float], None] = time.sleep,
        spread: float = HOURS,
    ) -> None:
        if not isinstance(policy, Policy):
            raise ParameterError("policy", type(policy).__name__, "a Policy")
        self.policy = policy
        self._attributes = Attributes(attributes)
        self._source = source
        self._clock = clock
        self._timing = Timing(lambda: clock().timestamp(), sleep, check_spread(spread))
        self._ledger = Ledger(ledger)

    def accept(self, envelope: bytes, *, log: Callable[[str], bytes] | None = None) -> AcceptedSurvey:
        """The survey of a signed envelope, if this device trusts and allows it; an error that says why otherwise.

        If the policy names a log, the state of the log must go on from the last one that this device accepted.  `log`
        returns the bytes at an address below the log's own; it is called only when the log has grown since."""
        now = self._clock()
        accepted = self.policy.accept(envelope, now=now, seen=self._ledger.seen())
        if accepted.state is not None:
            self._check_log(accepted.state, log)
        asking = QuestionDraw(accepted.survey, self._attributes, now, self._source)
        self._ledger.remember(asking, SeenVersion(accepted.survey.version, accepted.digest))
        return accepted

    def _check_log(self, state: Checkpoint, fetch: Callable[[str], bytes] | None) -> None:
        """Remember a state of a log, if it goes on from the last one."""
        for _ in range(MOST_TRIES):
            last = self._ledger.log_state(state.origin)
            if last is not None:
                if fetch is None and last.size != state.size:
                    raise NotLogged(
                        "the log is not as this device saw it last; give accept(…, log=…) what reads the log"
                    )
                LogReader(fetch or _nothing).check(last, state)
            if self._ledger.remember_log(state, last):
                return
        raise LedgerUnavailable("other programs accept surveys at the same time; try it again")

    def drawn_question(self, survey: AcceptedSurvey) -> str | None:
        """The one question this device answers, of a survey that asks one (`ask = "one"`); None if it asks all."""
        _check_accepted(survey)
        drawn = self._ledger.asked(survey.survey) if survey.survey.ask == "one" else None
        return None if drawn is None else drawn.id

    def panel_round(self, survey: AcceptedSurvey, question: str) -> int | None:
        """The one round in which this device answers a question with a panel; None if it is not one, or none was drawn
        because every round had closed."""
        _check_accepted(survey)
        asked = survey.survey.question(question)
        attribute = self._attributes.registered(survey.survey, asked) if asked.panel else None
        return None if attribute is None else self._ledger.panel_round(attribute)

    def withdraw(self, envelope: bytes) -> Withdrawal:
        """The withdrawal of a signed envelope: from now on its survey is refused, and what waits of it stays here."""
        withdrawal = self.policy.accept_withdrawal(envelope)
        self._ledger.withdraw(withdrawal)
        return withdrawal

    def fetch_tokens(self, survey: AcceptedSurvey, invite: str, transport: Issuing | None = None) -> None:
        """Prove the invite to the survey's issuer, once, and get the tokens that answers carry, for all places whatever
        will be answered.  What was fetched before is kept; if this is interrupted, call it again: the device asks with
        the same elements and gets the same tokens."""
        _check_accepted(survey)
        self.policy.check_trust(survey)
        now = self._clock()
        check_expiry(survey.survey, now)
        issuer = survey.survey.issuer
        if issuer is None:
            raise ParameterError("survey", survey.survey.name, "a survey with an issuer")
        proof = invite_proof(invite, survey.digest)
        over = int(survey.survey.expires.timestamp()) + LATEST
        places = self._ledger.begin_tokens(survey.digest, issuer, over)
        if places:
            request = request_of(issuer, survey.digest, proof, places)
            longest = longest_reply(len(places))
            reply = (transport or OhttpTransport()).ask(survey.survey.tokens_at, request.to_bytes(), longest)
            self._ledger.keep_outputs(survey.digest, outputs_of(issuer, request, places, reply))

    def answer(
        self,
        survey: AcceptedSurvey,
        question: str,
        truth: Truth | Callable[[], Truth],
        *,
        round: int | None = None,
        segments: Mapping[str, str] | None = None,
        invite: str | None = None,
    ) -> Report:
        """The report that answers a question, committed to the ledger and waiting in the outbox.

        The truth is True or False, the number of an option from 0 on, those of all that apply, or a number, as asked.
        Without a `round` it is answered in the first one, or of a panel in the one that this device drew.
        Asked again about the same attribute it repeats the first answer, and does not read the truth; a report with
        more than `MOST_REPEATED` values is repeated for the same survey, question and round alone.  Where the survey
        has an issuer its tokens are fetched before (`fetch_tokens`), and no invite is given here.  Segments are sent
        as they are; of the invite a ticket is sent, derived for this question and round.  Both are fixed by the
        first call for a question, unless the collector never took that report: then it is addressed anew.  If this call
        is interrupted after the draw, the report stays on the device until the question is answered again."""
        request = self._request(survey, question, round, segments, invite)
        asked = survey.survey.question(question)

        def draw() -> str:
            told = truth() if callable(truth) else truth
            return randomise(told, asked.design, **asked.kind.bounded, source=self._source)

        try:
            return self._ledger.answer(request, self.policy, draw)
        except BaseException as error:
            with suppress(LedgerError):
                self._ledger.cancel(request.report, all_of_it=not isinstance(error, Exception))
            raise

    def _request(
        self,
        survey: AcceptedSurvey,
        question_id: str,
        given_round: int | None,
        segments: Mapping[str, str] | None = None,
        invite: str | None = None,
    ) -> LedgerRequest:
        """The question as it is put to the ledger; whatever is wrong with it, or with its report, is found here."""
        _check_accepted(survey)
        self.policy.check_trust(survey)
        now = self._clock()
        check_open(survey.survey, now)
        question = survey.survey.question(question_id)
        if survey.survey.ask == "one":
            check_asked(question, self._ledger.asked(survey.survey))
        attribute = self._attributes.of(survey.survey, question)
        drawn = self._ledger.panel_round(attribute) if question.panel else None
        round_ = answered_round(survey.survey, question, attribute, given_round, drawn, now=now)
        check_round(survey.survey, round_, now)
        cost = self.policy.cost(question)
        declared = _declared(survey, segments)
        issuer = survey.survey.issuer
        if (survey.survey.invite_only and issuer is None) != (invite is not None):
            allowed = "the invite this survey requires" if invite is None else "no invite: this survey asks for none"
            allowed += "" if issuer is None else " here, `fetch_tokens` proves it"
            raise ParameterError("invite", "none" if invite is None else "an invite", allowed)
        report = Report(
            survey=survey.digest,
            question=question.id,
            design=question.design,
            answer=question.design.blank,  # until it is drawn
            id=secrets.token_hex(16),
            round=round_,
            segments=declared,
            ticket=None if invite is None else ticket(invite, survey.digest, question.id, round_),
        )
        return LedgerRequest(
            report,
            attribute.name,
            survey.survey.say(question.text),
            cost,
            survey.survey.destination,
            survey.survey.publisher,
            aliases=attribute.aliases,
            fingerprints=question.fingerprints,
            times=moments_of(now.timestamp(), self._timing.spread, 0 if issuer is None else issuer.window),
            declared=segments is not None,
            kind=question.kind.truths,
            rounds=attribute.rounds,
            values=survey.survey.report_values(question),
            place=None if issuer is None else place_of(survey.survey, question, round_),
            window=0 if issuer is None else issuer.window,
        )

    def decline(self, survey: AcceptedSurvey, question: str) -> DeclineResult:
        """Remember, on this device only, that the person does not want to answer; they may still change their mind.

        What waits for this question, in whatever round, does not leave any more.  `left` tells how many reports of it
        had left before, or may have left."""
        _check_accepted(survey)
        return self._ledger.decline(survey.digest, survey.survey.question(question).id)

    def open_questions(self, survey: AcceptedSurvey) -> list[Question]:
        """The questions this device answers that were neither answered (in whatever round) nor declined; an answer
        that was interrupted is not one.  Of a survey that asks one question it is the one drawn."""
        _check_accepted(survey)
        declined = self._ledger.declined(survey.digest)
        reports = (r for r in self._ledger.outbox() if r.survey == survey.digest and r.state != "cancelled")
        answered = {r.question for r in reports}
        asked = {q.id for q in survey.survey.questions}
        if survey.survey.ask == "one":
            asked = {self.drawn_question(survey) or ""}
        return [q for q in survey.survey.questions if q.id in asked - declined - answered]

    def budget(self) -> Budget:
        """What was answered so far and at what cost: `.explain()` in words, `.export()` as data."""
        return Budget(tuple(self._ledger.draws()), tuple(self._ledger.outbox()), self.policy, self._attributes.aliases)

    def deliver(self, transport: Transport | None = None, *, within: float = 0.0) -> Deliveries:
        """Send each waiting report whose moment has come, or comes `within` so many seconds, to where its survey says.

        Every report has its own moments, drawn when it was made, its own request and its own connection; safe to
        repeat.  Call it at every start of the app, and at `next_moment`; it takes a few seconds (see `schedule`)."""
        self._ledger.forget_over(self._clock().timestamp())
        with self._ledger.kept_open():
            return deliver([self._ledger], transport or OhttpTransport(), self._timing, within)


def _nothing(address: str) -> bytes:
    """What reads a log that has not changed."""
    raise NotLogged(f"the log was not read: {address}")


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
