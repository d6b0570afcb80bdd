"""`rrcollect answer`: a person at a terminal.  The truth is read without echo and shown nowhere."""

from __future__ import annotations

import getpass
import os
import sys
import warnings
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from server_agg.cli.terminal import emit, plain

if TYPE_CHECKING:
    from rrcollect.errors import RRCollectError

__all__ = ["add_answer", "answer"]

YES, NO, SKIP = {"y", "yes", "1", "true"}, {"n", "no", "0", "false"}, {"", "s", "skip"}


def add_answer(parser: ArgumentParser) -> None:
    """Options of `answer`."""
    parser.add_argument("envelope", type=Path, help="a signed survey")
    parser.add_argument(
        "--key", type=Path, action="append", required=True, help="a public key you trust; repeat for several"
    )
    parser.add_argument("--ledger", type=Path, required=True, help="the file that remembers what you answered")
    parser.add_argument("--url", help="where to send the reports; without it they wait in the ledger")
    parser.add_argument("--segment", action="append", default=[], metavar="NAME=VALUE", help="a group you declare")


def answer(options: Namespace) -> int:
    """Show what would be sent, ask, answer, deliver."""
    from rrcollect import Client, EveryAttributeOf, HttpTransport, Policy, PublicKey, TrustedPublisher
    from rrcollect.errors import ParameterError
    from rrcollect.publish.envelope import verify
    from rrcollect.publish.survey import Survey

    keys = [PublicKey.from_pem(path.read_bytes()) for path in options.key]
    data = options.envelope.read_bytes()
    publisher = Survey.from_payload(verify(data, keys).payload).publisher
    policy = Policy([TrustedPublisher(publisher, keys)])
    client = Client(options.ledger, attributes=[EveryAttributeOf(publisher)], policy=policy)
    accepted = client.accept(data)
    segments = {}
    for pair in options.segment:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ParameterError("--segment", pair, "NAME=VALUE")
        segments[name] = value
    _check_declared(segments, accepted.survey.segments)
    asked = list(client.open_questions(accepted))
    if asked:
        _check_terminal()
    sys.stderr.write(plain(accepted.explain()) + "\n\n")
    for question in asked:
        reply = _ask(question.text)
        if reply is None:
            client.decline(accepted, question.id)
        else:
            client.answer(accepted, question.id, reply, segments=segments)
        del reply
    done = client.deliver(HttpTransport(options.url)) if options.url else None
    words = client.budget().explain()
    if done is not None:
        words += f"\ndelivered {done.delivered}, waiting {done.waiting}, refused {len(done.refused)}"
    emit(options, client.budget().export(), words)
    return 0 if done is None or not done.refused else 3


def _check_declared(segments: Mapping[str, str], allowed: Mapping[str, Sequence[str]]) -> None:
    """Refuse a group that the survey does not have, before anything is shown or asked."""
    from rrcollect.errors import ParameterError

    for name, value in segments.items():
        if name not in allowed:
            raise ParameterError("--segment", name, f"a segment of the survey: {', '.join(allowed) or 'it has none'}")
        if value not in allowed[name]:
            raise ParameterError(f"--segment {name}", value, f"one of {', '.join(allowed[name])}")


def _check_terminal() -> None:
    """Refuse at once where nothing can be typed unseen: no terminal of this session, and none as standard input."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except (OSError, AttributeError):  # none, or a system that has no such thing
        if not sys.stdin.isatty():
            raise _no_terminal() from None


def _ask(text: str) -> bool | None:
    """Yes, no, or None to decline; asked again until it is one of them, without echo or not at all."""
    while True:
        said = _unseen(f"{plain(text)} [yes/no, empty to decline; not shown] ").strip().lower()
        if said in YES | NO:
            return said in YES
        if said in SKIP:
            return None
        sys.stderr.write("please type yes or no\n")


def _unseen(prompt: str) -> str:
    """What is typed, if this terminal can keep it from the screen; an error if it cannot."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return getpass.getpass(prompt)
        except getpass.GetPassWarning:
            raise _no_terminal() from None


def _no_terminal() -> RRCollectError:
    from rrcollect.errors import ParameterError

    return ParameterError("standard input", "no terminal", "a terminal that can hide what is typed")
