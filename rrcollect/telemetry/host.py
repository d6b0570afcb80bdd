"""`Telemetry`: the answers of a tool, an app or a service about itself, randomised, once per install and round.

Rules
1. The host is not harmed.  Nothing here raises into it, prints, or changes its exit code; a failure is one line of the
   log "rrcollect.telemetry", at level debug, with the type of the error and no value.  `strict=True` raises instead.
2. Consent comes first: without it nothing is drawn and nothing is sent.  What a callable says is remembered.
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
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal

from rrcollect.errors import AnswerRefused, ParameterError, RRCollectError, SurveyRefused
from rrcollect.telemetry.note import Note, mark_of, read_consent, write_consent

if TYPE_CHECKING:
    from datetime import datetime

    from rrcollect.answer.acceptance import AcceptedSurvey
    from rrcollect.answer.client import Client
    from rrcollect.answer.policy import Policy
    from rrcollect.deliver.transport import Transport
    from rrcollect.publish.survey import Survey

fcntl: Any = None
with suppress(ImportError):
    import fcntl

LEDGER, DRAWING, SENDING = "ledger.sqlite3", "drawing.lock", "sending.lock"
OTHER = "other"  # the signed value of a segment that stands for all that were not thought of
LOOK_AGAIN = 60.0  # seconds: the least time until a thread looks again

Consent = bool | Callable[[str], "bool | None"]
Truth = Callable[[], Any]


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
    >>> telemetry.finish()
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
        self._folder, self._survey, self._trust = folder, survey, trust
        self._consent, self._segments, self._send = consent, dict(segments or {}), send
        self._strict, self._spread, self._transport = strict is True, spread, transport
        self._clock = clock
        self._truths: dict[str, Truth] = {}
        self._pid, self._ended, self._drawing = os.getpid(), threading.Event(), threading.Lock()
        self._thread: threading.Thread | None = None
        self._sender = 0
        with self._harmless():
            if self._strict:
                self._check_arguments()
            if fcntl is None:
                raise RRCollectError("telemetry needs files that can be locked, which this system does not have")
            self._folder = os.path.abspath(os.fspath(folder))
            atexit.register(self._at_exit)
            found = Note.read(self._folder)
            if send == "thread" and found is not None and found.send < math.inf:
                self._start_sending()

    def answer(self, question: str, truth: Truth) -> None:
        """Answer a question of the survey by what `truth` returns, at the end of this run, if an answer is due then."""
        with self._harmless():
            if not callable(truth):
                raise ParameterError("truth", type(truth).__name__, "a function without arguments that returns it")
            if self._strict:
                self._read().question(question)
            self._truths[question] = truth

    def finish(self) -> None:
        """Draw what is due, and let it be sent; called at exit, and by a service whenever it likes."""
        with self._harmless():
            if os.getpid() != self._pid or fcntl is None or not self._drawing.acquire(blocking=False):
                return  # a fork's copy, or another thread that is at it
            try:
                self._finish()
            finally:
                self._drawing.release()

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
        policy = self._policy(self._envelope())
        accepted = policy.accept(self._envelope(), now=self._moment())
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

    def _finish(self) -> None:
        if not self._truths:
            return self._send_due()
        envelope = self._envelope()
        mark, found = mark_of(envelope), Note.read(self._folder)
        if found is None or not found.quiet(mark, self._truths, self._now()):
            if self._consented(envelope, mark):
                with _alone(self._folder, DRAWING) as alone:
                    if alone:
                        self._draw(mark)
        return self._send_due()

    def _consented(self, envelope: bytes, mark: str) -> bool:
        if isinstance(self._consent, bool):
            return self._consent
        given = read_consent(self._folder, mark)
        if given is None and callable(self._consent):
            given = self._consent(self._policy(envelope).accept(envelope, now=self._moment()).explain())
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
                self._failed(error)
        send = self._deliver(client) if self._transport is not None else _next_moment(client)
        Note(mark, tuple(self._truths), now, due, send).write(self._folder)

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

    def _moment(self) -> datetime | None:
        return None if self._clock is None else self._clock()

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

    def _read(self) -> Survey:
        envelope = self._envelope()
        return self._policy(envelope).accept(envelope, now=self._moment()).survey

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

        envelope = self._envelope()
        policy = self._policy(envelope)
        survey = policy.accept(envelope, now=self._moment()).survey
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
        self._declared(self._read())

    # ---- sending ----------------------------------------------------------------------------------------------

    def _send_due(self) -> None:
        """What is due leaves in the background; never from this thread."""
        found = Note.read(self._folder)
        if found is None or found.send == math.inf or self._consent is False:
            return
        if self._send == "thread":
            self._start_sending()
        elif found.to_send(self._now()):
            with suppress(ChildProcessError):
                os.waitpid(self._sender, os.WNOHANG) if self._sender else None
            command = [sys.executable, "-m", "rrcollect.telemetry", self._folder]
            quiet = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0)]
            quiet += [(os.POSIX_SPAWN_DUP2, 0, output) for output in (1, 2)]  # type: ignore[misc]
            self._sender = os.posix_spawn(sys.executable, command, os.environ, file_actions=quiet, setsid=True)

    def _start_sending(self) -> None:
        if self._thread is None and not self._ended.is_set() and self._consent is not False:
            self._thread = threading.Thread(target=self._sending, name="rrcollect-telemetry", daemon=True)
            self._thread.start()

    def _sending(self) -> None:
        while not self._ended.is_set() and (found := Note.read(self._folder)) is not None:
            now = self._now()
            if found.to_send(now):
                with self._harmless():
                    send_due(self._folder, self._transport, self._clock)
                found = Note.read(self._folder) or found
            if found.send == math.inf:
                break
            self._ended.wait(min(max(found.send - now, LOOK_AGAIN), 86_400.0))
        self._thread = None

    def _deliver(self, client: Client) -> float:
        deliveries = client.deliver(self._transport)
        return deliveries.next_moment.timestamp() if deliveries.next_moment else math.inf

    # ---- faults -----------------------------------------------------------------------------------------------

    def _at_exit(self) -> None:
        self._ended.set()
        try:
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


def send_due(
    folder: str | os.PathLike[str],
    transport: Transport | None = None,
    clock: Callable[[], datetime] | None = None,
) -> None:
    """Send what is due in this folder, and note when the next report is."""
    from rrcollect.answer.client import Client
    from rrcollect.answer.policy import Policy

    place = os.fspath(folder)
    found = Note.read(place)
    with _alone(place, SENDING) as alone:
        if not alone or found is None:
            return
        how: dict[str, Any] = {} if clock is None else {"clock": clock}
        client = Client(os.path.join(place, LEDGER), attributes=[], policy=Policy(), **how)
        deliveries = client.deliver(transport)
        moment = deliveries.next_moment.timestamp() if deliveries.next_moment else math.inf
        latest = Note.read(place) or found  # what was drawn meanwhile waits, too
        latest._replace(send=moment if latest.made == found.made else min(moment, latest.send)).write(place)


def _next_moment(client: Client) -> float:
    """When the next waiting report is to be sent."""
    waiting = (report.times for report in client.budget().reports if report.state == "waiting")
    return min((times[0] for times in waiting if times), default=math.inf)


def _said(truth: Truth) -> Any:
    told = truth()
    if told is None:
        raise _NotYet
    return told


@contextmanager
def _alone(folder: str, lock: str) -> Iterator[bool]:
    """Whether this run has a lock of the folder, without waiting."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    handle = os.open(os.path.join(folder, lock), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)
