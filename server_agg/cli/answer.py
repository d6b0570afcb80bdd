"""`rrcollect answer`: a person at a terminal.

Rules
1. The truth is read without echo and shown nowhere; without a terminal that hides it nothing is asked.
2. Everything given is checked before the survey is shown.
3. A report that was not delivered is said with its reason, and the exit code tells: 3 refused for good, 4 it waits.
"""

from __future__ import annotations

import getpass
import os
import sys
import warnings
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from server_agg.answer_words import yes_or_no
from server_agg.cli.options import MANY, SURVEY, TRUST, add
from server_agg.cli.sources import read_envelope, trusted
from server_agg.cli.terminal import Incomplete, Output, plain

if TYPE_CHECKING:
    from rrcollect import Client, OhttpTransport, Question
    from rrcollect.answer.acceptance import AcceptedSurvey
    from rrcollect.answer.draw import Truth
    from rrcollect.deliver.outbox import Deliveries

SKIP = {"", "s", "skip"}
NO_TERMINAL = "`rrcollect answer` needs an interactive terminal that can hide what you type"


def add_answer(parser: ArgumentParser) -> None:
    """Options of `answer`."""
    add(
        parser,
        *(SURVEY, TRUST),
        ("--ledger", Path, "the file that remembers what you answered", {"required": True}),
        ("--send", bool, "send what waits to where the surveys say; without it it stays in the ledger"),
        ("--relay", str, "send through this HTTP proxy, such as http://relay.example:3128"),
        ("--spread", float, "send each report at a random moment within so many seconds (5)", {"default": 5.0}),
        ("--language", str, "what you read, such as de; default: the survey's"),
        ("--segment", str, "a group you declare", {**MANY, "metavar": "NAME=VALUE"}),
    )


def answer(options: Namespace) -> Output:
    """Show what would be sent, ask, answer, deliver."""
    from rrcollect import Client, EveryAttributeOf, OhttpTransport, Policy, TrustedPublisher
    from rrcollect.deliver.schedule import check_spread
    from rrcollect.errors import AlreadyAnswered

    transport, spread = OhttpTransport(relay=options.relay), check_spread(options.spread)
    keys = trusted(options)
    read, data = read_envelope(options.survey, keys)
    policy, publisher = Policy([TrustedPublisher(read.publisher, keys)]), read.publisher
    client = Client(options.ledger, attributes=[EveryAttributeOf(publisher)], policy=policy, spread=spread)
    accepted = client.accept(data)
    segments = _declared(options.segment, accepted.survey.segment_values)
    if client.open_questions(accepted) and not _can_hide():
        raise Incomplete(NO_TERMINAL)
    told, say = options.language, lambda texts: accepted.survey.say(texts, options.language)
    sys.stderr.write(plain(f"{accepted.headline(told)}\n\n{accepted.explain(told)}") + "\n\n")
    for question in client.open_questions(accepted):
        if (later := _later(client, accepted, question)) is not None:
            sys.stderr.write(f"question {question.id!r}: {later}\n")
            continue
        reply = _ask(question, say)
        if reply is None:
            client.decline(accepted, question.id)
        else:
            try:
                client.answer(accepted, question.id, reply, segments=segments)
            except AlreadyAnswered as error:  # the other questions go on
                sys.stderr.write(plain(f"question {question.id!r}: {error}") + "\n")
        del reply
    done = _delivered(client, transport, spread) if options.send else None
    budget, language = client.budget(), told or accepted.survey.language
    words, code = budget.explain(language), 0
    if done is not None:
        words += f"\ndelivered {done.delivered}, waiting {done.waiting}, refused {len(done.refused)}"
        code = _report_deliveries(done)
    return Output(budget.export(language), words, code=code)


def _delivered(client: Client, transport: OhttpTransport, spread: float) -> Deliveries:
    """What became of the reports; an address that cannot work is a reason to wait, and is said."""
    from rrcollect.deliver.outbox import Deliveries
    from rrcollect.deliver.schedule import SECONDS
    from rrcollect.errors import WrongAddress

    try:
        return client.deliver(transport, within=max(spread, SECONDS))
    except WrongAddress as error:
        reports = client.budget().reports
        states = {state: sum(report.state == state for report in reports) for state in ("delivered", "waiting")}
        return Deliveries(states["delivered"], (), states["waiting"], last_failure=str(error))


def _report_deliveries(done: Deliveries) -> int:
    """Say why reports were not delivered; the exit code."""
    for reason in sorted({reason for _, reason in done.refused}):
        sys.stderr.write(f"rrcollect answer: refused for good: {plain(reason)}\n")
    if done.waiting:
        why = plain(done.last_failure or "their moment has not come")
        sys.stderr.write(
            f"rrcollect answer: not delivered: {why}. The answers are kept in the ledger: run this again to send them\n"
        )
    return 3 if done.refused else 4 if done.waiting else 0


def _declared(pairs: Sequence[str], offered: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The groups given as NAME=VALUE; one that the survey does not offer is refused before anything is shown."""
    from rrcollect.errors import ParameterError

    listed = [f"{name}={value}" for name, values in offered.items() for value in values]
    for pair in pairs:
        if pair not in listed:
            allowed = f"{', '.join(listed)} (NAME=VALUE)" if listed else "none: this survey has no groups"
            raise ParameterError("--segment", pair, allowed)
    return dict(pair.split("=", 1) for pair in pairs)


def _later(client: Client, accepted: AcceptedSurvey, question: Question) -> str | None:
    """Why a question with a panel is not asked now: its round, which this device drew, is not open."""
    from rrcollect.answer.asking import check_round
    from rrcollect.errors import RoundClosed

    if not question.panel:
        return None
    drawn = client.panel_round(accepted, question.id)
    if drawn is None:
        return "every round has closed"
    try:
        check_round(accepted.survey, drawn, datetime.now(UTC))
    except RoundClosed as error:
        return f"this device answers in one round, which it drew: {error}"
    return None


def _ask(question: Question, say: Callable[[Mapping[str, str]], str]) -> Truth | None:
    """The truth as the kind has it, or None to decline; asked again until it is one, without echo or not at all."""
    from rrcollect.answer.explain.words import marked

    kind, listed, allowed = question.kind, list[str](), "yes/no"
    read: Callable[[str], Truth | None] = yes_or_no
    if kind.labels and question.design.separate:
        listed = [f"{place}  {say(label)}" for place, label in enumerate(kind.labels, 1)]
        allowed = f"the numbers of all options that apply, such as 1,3 (1 to {len(listed)}, or none)"
        read = partial(_several, len(listed))
    elif kind.labels:
        listed = [f"{place}  {say(label)}" for place, label in enumerate(kind.labels, 1)]
        read = {str(place): place - 1 for place in range(1, len(listed) + 1)}.get
        allowed = f"the number of an option, 1 to {len(listed)}"
    elif kind.bounded:
        listed = [say(kind.units)] if kind.units else []
        low, high = kind.bounded["bounds"]
        allowed, read = f"a number from {low} to {high}", lambda said: _number(said, **kind.bounded)
    marks = [plain(line) for text in [say(question.text), *listed] for line in marked(text)]
    asked = "\n".join([*marks, f"[{allowed}, empty to decline; not shown] "])
    while True:
        said = _unseen(asked).strip().lower()
        if said in SKIP:
            return None
        if (truth := read(said)) is not None:
            return truth
        sys.stderr.write(f"please type {allowed.replace('/', ' or ')}\n")


def _several(options: int, said: str) -> list[int] | None:
    """The options typed, from 0 on."""
    typed = [] if said == "none" else [part.strip() for part in said.split(",")]
    known = all(part.isascii() and part.isdigit() and 0 < int(part) <= options for part in typed)
    return [int(part) - 1 for part in typed] if known else None


def _number(said: str, bounds: tuple[Fraction, Fraction], clip: bool) -> Fraction | None:
    """The number typed, if the question takes it."""
    from rrcollect.design.parameters import SIGNED, fraction
    from rrcollect.errors import ParameterError

    try:
        typed = fraction("number", said, limits=SIGNED)
    except ParameterError:
        return None
    return typed if clip or bounds[0] <= typed <= bounds[1] else None


def _can_hide() -> bool:
    """Whether there is a terminal to ask at; `getpass` then has the last word on whether it can hide."""
    if os.name != "posix":  # pragma: no cover
        return True
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return sys.stdin is not None and sys.stdin.isatty()
    return True


def _unseen(prompt: str) -> str:
    """What is typed, if this terminal can keep it from the screen; an error if it cannot."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return getpass.getpass(prompt)
        except getpass.GetPassWarning:
            raise Incomplete(NO_TERMINAL) from None
