"""Canaries, the traces that a flow leaves, and leaks to be found: what `canary_flow` is made of.

Rules
1. What must never appear is a canary: the texts that wrong truths carry, the draws; and, where people look (logs,
   errors, metrics), a segment's value and an invite.
2. `Traces` writes down everything a job says or does; `everything_logged` lowers the level of every logger.
3. `counted_ids` makes two jobs comparable byte by byte.  It replaces ids and the order of delivery, never a draw.
4. A leak replaces one function of the client by one that tells.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import secrets
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import rrcollect.design.sampling as draw_module
from rrcollect import Design, Question, SigningKey, Survey
from rrcollect.errors import BadTruth
from tests.support.ports import free_port

TRUTH, SEGMENT, INVITE = "canarytruth7f3a", "canarysegment51c0", "canaryxnv1te9b2e0000000000ay"
UNDECLARED = "canaryundeclared0d4e"  # a segment's value that no survey allows
DRAWS = (b"\x21draw-q1", b"\xe1draw-q2", b"\x22draw-q3", b"\xe2draw-q4", b"\x23draw-q5", b"\xe3draw-q6")
KEY = SigningKey(Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
FAR = datetime(2100, 1, 1, tzinfo=UTC)


class Told:
    """A truth that is asked for, by an object whose words are a canary."""

    def __init__(self, value: bool, seconds: float = 0.0) -> None:
        self.value, self.seconds = value, seconds

    def __call__(self) -> bool:
        time.sleep(self.seconds)
        return self.value

    def __repr__(self) -> str:
        return f"Told({TRUTH}, {self.value})"


class WrongText(str):
    """A truth of the wrong kind that carries a canary."""

    __slots__ = ()


class WrongNumber(float):
    """Another."""

    def __repr__(self) -> str:
        return TRUTH


def fails() -> bool:
    """A truth whose reading fails with a canary."""
    raise RuntimeError(TRUTH)


def question(number: int, **changes: Any) -> Question:
    fields = {"id": f"q{number}", "attribute": f"a{number}", "design": Design("3/4", "3/4"), **changes}
    return Question(**{"text": f"About {fields['attribute']}?", **fields})


PORT = free_port()


def survey(name: str, **changes: Any) -> Survey:
    fields: dict[str, Any] = {"name": name, "version": 1, "title": "T", "publisher": "P", "expires": FAR}
    fields["collector"] = f"http://127.0.0.1:{PORT}/reports"
    return Survey(**{**fields, "segments": {"region": ["north", SEGMENT]}, **changes})


OPEN = survey("open", questions=[question(n) for n in range(1, 10)])
CLOSED = survey("closed", questions=[question(1, attribute="b1")], invite_only=True)


class Traces:
    """The files of a job's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)

    def write(self, name: str, words: object) -> None:
        """Add a line."""
        with (self.folder / name).open("a", encoding="utf-8") as file:
            file.write(f"{words}\n")

    @contextlib.contextmanager
    def error(self, wanted: type[BaseException], *, own: bool = False) -> Iterator[None]:
        """What is inside fails, and its traceback is kept, unless the error is the app's own."""
        try:
            yield
        except wanted:
            if not own:
                self.write("errors.txt", traceback.format_exc())
        else:
            raise AssertionError(f"{wanted.__name__} was expected")

    def recorded(self, app: Any) -> Any:
        """The application, with everything that goes in and comes out written down."""

        async def record(scope: Any, receive: Any, send: Any) -> None:
            kept = [name for name, _ in scope.get("headers", ())]
            self.write("traffic.txt", (scope["type"], scope.get("method"), scope.get("path"), kept))

            async def heard() -> Any:
                message = await receive()
                self.write("traffic.txt", message)
                return message

            async def said(message: Any) -> None:
                self.write("traffic.txt", message)
                await send(message)

            await app(scope, heard, said)

        return record


@contextlib.contextmanager
def everything_logged(traces: Traces) -> Iterator[None]:
    """Every logger at the lowest level, and warnings, to log.txt; standard output and error to files of their own."""
    root, handler = logging.getLogger(), logging.FileHandler(traces.folder / "log.txt")
    handler.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s"))
    root.addHandler(handler)
    logging.captureWarnings(True)
    warnings.simplefilter("always")
    saved = os.dup(1), os.dup(2)
    for stream, name in ((1, "stdout.txt"), (2, "stderr.txt")):
        handle = os.open(traces.folder / name, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        os.dup2(handle, stream)
        os.close(handle)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, stream in zip(saved, (1, 2), strict=True):
            os.dup2(number, stream)
            os.close(number)
        logging.captureWarnings(False)
        root.removeHandler(handler)
        handler.close()


def open_the_loggers() -> None:
    """Loggers that came with their own level or kept to themselves speak up."""
    for logger in [logging.getLogger(), *map(logging.getLogger, list(logging.root.manager.loggerDict))]:
        logger.setLevel(1)
        logger.propagate = True


@contextlib.contextmanager
def counted_ids() -> Iterator[None]:
    """Ids by counting, no shuffling: so that two jobs can be compared byte by byte.  Draws do not come from here."""
    numbers = itertools.count(1)

    class Still(secrets.SystemRandom):
        def shuffle(self, x: Any) -> None:
            """As it is."""

    def counted(nbytes: int | None = None) -> str:
        return format(next(numbers), f"0{2 * (nbytes or 32)}x")

    moments = itertools.count(1)

    def spread_out(bits: int) -> int:  # every report at a moment of its own, so that they leave one by one
        return (next(moments) * 41 % 97) * 2**bits // 97

    with (
        _instead(secrets, "token_hex", counted),
        _instead(secrets, "SystemRandom", Still),
        _instead(secrets, "randbits", spread_out),
    ):
        yield


@contextlib.contextmanager
def _instead(module: Any, name: str, value: Any) -> Iterator[None]:
    kept = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, kept)


# ---- leaks to be found ----------------------------------------------------------------------------------------------


def _logged(truth: object) -> bool:
    logging.getLogger("rrcollect.answer").debug("answering with %s", truth)
    return PLAIN_TRUTH(truth)


def _shown(truth: object) -> bool:
    try:
        return PLAIN_TRUTH(truth)
    except BadTruth:
        raise BadTruth(f"the truth must be True or False, not {truth!r}") from None


def _numbered(truth: object) -> bool:
    value, plain = PLAIN_TRUTH(truth), secrets.token_hex
    secrets.token_hex = lambda nbytes=None: str(int(value)) + plain(nbytes)[1:]
    return value


def _drawn(n: int, source: draw_module.Source) -> bytes:
    drawn = RANDOM_BYTES(n, source)
    logging.getLogger("rrcollect.answer").debug("drew %d", int.from_bytes(drawn, "big"))
    return drawn


RANDOM_BYTES, PLAIN_TRUTH = draw_module.random_bytes, draw_module.plain_truth
LEAKS: dict[str, Callable[[], contextlib.AbstractContextManager[None]]] = {
    "": contextlib.nullcontext,
    "truth in a log": lambda: _instead(draw_module, "plain_truth", _logged),
    "truth in an error": lambda: _instead(draw_module, "plain_truth", _shown),
    "truth in the first digit of an id": lambda: _instead(draw_module, "plain_truth", _numbered),
    "draw in a log": lambda: _instead(draw_module, "random_bytes", _drawn),
}
