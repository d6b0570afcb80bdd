"""`Telemetry`: the answers of a tool, an app or a service about itself, randomised, once per install and round.

Rules
1. The host is not harmed.  Nothing here raises into it, prints, or changes its exit code; a failure is one line of the
   log "rrcollect.telemetry", at level debug, with the type of the error and no value.  `strict=True` raises instead.
2. Consent comes first: without it nothing is drawn and nothing is sent.  What a callable says is remembered, and so is
   what `consents` is told: a no wins over settings that say yes.
3. A truth is read after the host's work, at exit or when `finish` is called, once per question and round, and only if
   an answer is due.  A callable that returns None has nothing to say yet; nothing is drawn, and the next run asks it.
4. A run with nothing to draw loads neither pydantic nor cryptography (`note`).
5. One run draws and one run sends at a time: whoever does not get the lock leaves the work to the run that has it.
6. Reports leave by our own delivery, at the moments drawn with them: from a thread, or from a process of their own that
   ends by itself (`send="process"`), where the host is gone in an instant.
7. Where files cannot be locked (Windows) it is refused by name: two runs could draw twice.
"""

from __future__ import annotations

import atexit
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal

from rrcollect.errors import AnswerRefused, ParameterError, RRCollectError, SurveyRefused
from rrcollect.telemetry.note import Note, mark_of, read_consent, write_consent
from rrcollect.telemetry.sending import DRAWING, LEDGER, Sender, alone, fcntl, next_moment

if TYPE_CHECKING:
    from datetime import datetime

    from rrcollect.answer.acceptance import AcceptedSurvey
    from rrcollect.answer.client import Client
    from rrcollect.answer.policy import Policy
    from rrcollect.deliver.transport import Transport
    from rrcollect.publish.survey import Survey

OTHER = "other"  # the signed value of a segment that stands for all that were not thought of

Consent = bool | Callable[[str], "bool | None"]


class _NotYet(Exception):
    """The host has nothing to say about a question yet."""


class Telemetry:
    """What a host says about itself, to one signed survey.

    `folder` is the host's own, per install.  `survey` is the signed survey: its bytes, or a file.  `trust` is the
    publisher's public key (PEM or hexadecimal), several of them, or a `Policy`.  `consent` is True or False, as the
    host's settings say, or a callable: it is given the explanation to show, and answers True, False, or None if nobody
    could be asked.  `segments` are the groups to declare; a value that the survey does not know is sent as "other" if
    the survey has that, and else not.  `send` is "thread" or "process" (rule 6).

    >>> import tempfile
    >>> from rrcollect import Question, SigningKey, SimulatedCollector, Survey, optimal_design
    >>> key, question = SigningKey.generate(), Question(id="crashed", attribute="crashed", text="Did it crash?",
    ...                                                 design=optimal_design("ln 3"))
    >>> survey = Survey(name="stability", version=1, title="Stability", publisher="Example Software",
    ...                 collector="https://collect.example.org/reports", expires="2100-01-01T00:00:00Z",
    ...                 questions=[question])
    >>> telemetry = Telemetry(tempfile.mkdtemp(), survey.publish([key]).envelope, key.public, consent=True,
    ...                       transport=SimulatedCollector([survey]), strict=True, spread=0)
    >>> telemetry.answer("crashed", lambda: False)
    >>> telemetry.finish(); telemetry.deliver()
    >>> [(sent["question"], sent["state"]) for sent in telemetry.sent()]
    [('crashed', 'delivered')]
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        survey: bytes | str | os.PathLike[str],
        trust: Any,
        *,
        consent: Consent = False,
        segments: Mapping[str, str] | None = None,
        send: Literal["thread", "process"] = "thread",
        strict: bool = False,
        spread: float | None = None,
        transport: Transport | None = None,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self._survey, self._trust, self._consent, self._segments = survey, trust, consent, segments or {}
        self._send, self._strict, self._spread, self._clock = send, strict is True, spread, clock
        self._truths: dict[str, Callable[[], Any]] = {}
        self._pid, self._drawing = os.getpid(), threading.Lock()
        self._sender: Sender | None = None
        with self._harmless():
            if fcntl is None:
                raise RRCollectError("telemetry needs files that can be locked, which this system does not have")
            self._folder = os.path.abspath(os.fspath(folder))
            if self._strict:
                self._check_arguments()
            if send == "process" and transport is not None:
                raise ParameterError("transport", type(transport).__name__, 'none with send="process"')
            self._sender = Sender(self._folder, transport, clock, self._failed)
            atexit.register(self._at_exit)
            if send == "thread" and consent is not False:
                self._sender.by_thread()

    def answer(self, question: str, truth: Callable[[], Any]) -> None:
        """Answer a question of the survey by what `truth` returns, at the end of this run, if an answer is due then."""
        with self._harmless():
            if not callable(truth):
                raise ParameterError("truth", type(truth).__name__, "a function without arguments that returns it")
            if self._strict:
                self._accepted().survey.question(question)
            self._truths[question] = truth

    def finish(self) -> None:
        """Draw what is due, and let it be sent; called at exit, and by a service whenever it likes."""
        with self._harmless():
            if os.getpid() != self._pid or self._sender is None or not self._drawing.acquire(blocking=False):
                return  # a fork's copy, or another thread that is at it
            try:
                self._draw_due()
                if self._consent is not False:
                    self._sender.by_process() if self._send == "process" else self._sender.by_thread()
            finally:
                self._drawing.release()

    def deliver(self) -> None:
        """Send what is due now, and wait for it: for tests, and for hosts that choose their moments themselves."""
        with self._harmless():
            if self._sender is not None and self._consent is not False:
                self._sender.now()

    def consents(self, given: bool) -> None:
        """Remember what the person said.  After a no, nothing is drawn, and what waits does not leave."""
        with self._harmless():
            write_consent(self._folder, mark_of(self._envelope()), bool(given))
            self._consent = bool(given) if not callable(self._consent) else self._consent
            if not given and os.path.exists(self._ledger):
                client, accepted = self._client()
                for question in accepted.survey.questions:
                    client.decline(accepted, question.id)

    def check(self) -> None:
        """Print what would be asked, drawn and sent, for developers; raises what is wrong.  No truth is read."""
        self._check_arguments()
        accepted = self._accepted()
        unknown = sorted(set(self._truths) - {question.id for question in accepted.survey.questions})
        if unknown:
            accepted.survey.question(unknown[0])
        print(accepted.explain())  # noqa: T201 (that is what it is for)
        for question in accepted.survey.questions:
            answered = "answered" if question.id in self._truths else "NOT answered: no truth was given for it"
            times = f"once in {question.rounds} rounds" if question.panel else f"{question.rounds} time(s)"
            print(f"{question.id}: {question.kind.kind}, {times}; {answered}")  # noqa: T201
        print(f"Sent to {accepted.survey.collector}, with {self._declared(accepted.survey) or 'no segments'}")  # noqa: T201

    def explain(self) -> str:
        """What has been sent so far and what it tells, for the person whose install this is."""
        with self._harmless():
            if os.path.exists(self._ledger):
                return self._client()[0].budget().explain()
        return "This install has drawn no answer."

    def sent(self) -> list[dict[str, Any]]:
        """Every report of this install: question, segments, state, and what was sent once it has left."""
        with self._harmless():
            if os.path.exists(self._ledger):
                known = self._client()[0].budget().export()
                answers = {(each["attribute"], each["round"]): each["sent"] for each in known["answers"]}
                return [{**each, "sent": answers.get((each["attribute"], each["round"]))} for each in known["reports"]]
        return []

    # ---- one run ----------------------------------------------------------------------------------------------

    def _draw_due(self) -> None:
        """Draw, unless the note says that nothing is to be drawn, or without consent."""
        if not self._truths:
            return
        mark, found = mark_of(self._envelope()), Note.read(self._folder)
        if (found is None or not found.quiet(mark, self._truths, self._now())) and self._consented(mark):
            with alone(self._folder, DRAWING) as mine:
                if mine:
                    self._draw(mark)

    def _consented(self, mark: str) -> bool:
        given = read_consent(self._folder, mark)
        if isinstance(self._consent, bool):
            return self._consent and given is not False  # a remembered no wins over settings
        if given is None and callable(self._consent):
            given = self._consent(self._accepted().explain())
            if isinstance(given, bool):
                write_consent(self._folder, mark, given)
        return given is True

    def _draw(self, mark: str) -> None:
        """Answer what is due, and note until when nothing will be."""
        client, accepted = self._client()
        survey, now, due = accepted.survey, self._now(), math.inf
        declared = self._declared(survey)
        for name in self._truths:
            try:
                due = min(due, self._answered(client, accepted, name, declared, now))
            except (AnswerRefused, SurveyRefused) as refusal:  # not this install's, or not now: for good
                self._failed(refusal)
            except Exception as error:  # the host's own function, or the disk: the next run tries again
                due = now
                if self._strict:
                    raise
                self._failed(error)
        Note(mark, tuple(self._truths), now, due, next_moment(client)).write(self._folder)

    def _answered(
        self, client: Client, accepted: AcceptedSurvey, name: str, declared: Mapping[str, str], now: float
    ) -> float:
        """Answer one question if its time has come; when it is to be asked again."""
        survey, question = accepted.survey, accepted.survey.question(name)
        opens = survey.opens.timestamp() if survey.opens else -math.inf
        drawn = client.panel_round(accepted, name) if question.panel else None
        rounds = [
            (number, times.opens.timestamp(), times.closes.timestamp())
            for number, times in enumerate(survey.rounds[: question.rounds])
            if drawn is None or number == drawn
        ] or [(drawn or 0, opens, math.inf)]
        later = min((max(start, opens) for _, start, _ in rounds if max(start, opens) > now), default=math.inf)
        for number, start, end in rounds:
            if max(start, opens) <= now < end:
                with suppress(_NotYet):
                    client.answer(accepted, name, lambda: _said(self._truths[name]), round=number, segments=declared)
                    return later
                return now
        return later

    def _now(self) -> float:
        return time.time() if self._clock is None else self._clock().timestamp()

    # ---- what it needs ----------------------------------------------------------------------------------------

    @property
    def _ledger(self) -> str:
        return os.path.join(self._folder, LEDGER)

    def _envelope(self) -> bytes:
        given = self._survey
        if isinstance(given, bytes):
            return given
        read: Callable[[], bytes] | None = getattr(given, "read_bytes", None)  # a file of a package, too
        if read is not None:
            return read()
        with open(given, "rb") as file:
            return file.read()

    def _accepted(self) -> AcceptedSurvey:
        envelope = self._envelope()
        return self._policy(envelope).accept(envelope, now=None if self._clock is None else self._clock())

    def _policy(self, envelope: bytes) -> Policy:
        from rrcollect.answer.policy import Policy, TrustedPublisher
        from rrcollect.publish.envelope import verify
        from rrcollect.publish.keys import PublicKey
        from rrcollect.publish.survey import Survey

        if isinstance(self._trust, Policy):
            return self._trust
        several = self._trust if isinstance(self._trust, list | tuple | set | frozenset) else [self._trust]
        keys = [PublicKey.read(key) for key in several]
        return Policy([TrustedPublisher(Survey.from_payload(verify(envelope, keys).payload).publisher, keys)])

    def _client(self) -> tuple[Client, AcceptedSurvey]:
        from rrcollect.answer.attributes import EveryAttributeOf
        from rrcollect.answer.client import Client

        envelope, survey = self._envelope(), self._accepted().survey
        policy = self._policy(envelope)
        most = max(question.rounds for question in survey.questions)
        given = {"spread": self._spread, "clock": self._clock}
        how: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        client = Client(self._ledger, attributes=[EveryAttributeOf(survey.publisher, most)], policy=policy, **how)
        return client, client.accept(envelope)

    def _declared(self, survey: Survey) -> dict[str, str]:
        declared = {}
        for name, value in self._segments.items():
            values = survey.segments[name].names if name in survey.segments else ()
            chosen = value if value in values else OTHER if OTHER in values else None
            if chosen is not None:
                declared[name] = chosen
            elif self._strict:
                raise ParameterError("segments", name, f"a segment of the survey that has {value!r} or {OTHER!r}")
        return declared

    def _check_arguments(self) -> None:
        """What a developer should hear of at once."""
        if not isinstance(self._consent, bool) and not callable(self._consent):
            raise ParameterError("consent", self._consent, "True, False, or a function of the explanation to show")
        if self._send not in ("thread", "process"):
            raise ParameterError("send", self._send, "'thread' or 'process'")
        self._declared(self._accepted().survey)

    # ---- faults -----------------------------------------------------------------------------------------------

    def _at_exit(self) -> None:
        try:
            if self._sender is not None:
                self._sender.end()
            self.finish()
        except BaseException as error:  # the host is over: not even Ctrl-C may print a traceback
            self._failed(error)

    @contextmanager
    def _harmless(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if self._strict:
                raise
            self._failed(error)

    def _failed(self, error: BaseException) -> None:
        import logging  # a quiet run does without

        logging.getLogger("rrcollect.telemetry").debug("telemetry: %s", type(error).__name__)


def _said(truth: Callable[[], Any]) -> Any:
    told = truth()
    if told is None:
        raise _NotYet
    return told
