"""Can issuer and collector, together and with all their keys, tell whose answer it is?

People get their tokens and send their reports by the project's own code; the machine between is the enemy: it knows
every secret key, every request with its invite, order and moment, and every report with its moment and every output.

Who sends which report is a uniform permutation of the people.  A guess that does not depend on it is right more than
MOST times with a chance of at most 1/(MOST + 1)! (the number of sets of so many hits, over the number of arrangements),
whatever the guess.  So every rule of matching is one guess, and one that is right more often has found a weakness.  All
guesses together: false alarms below 1e-9.

For what nothing can prevent (a small group, an issuer that serves a few alone) the crowd that is left is reported, and
must be what the theory says: as many as were served.
"""

from __future__ import annotations

import math
import random
import secrets
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from rrcollect import Question, Report, SigningKey, Survey, TokenSecret, optimal_design
from rrcollect.deliver.schedule import in_windows
from rrcollect.errors import IssuerFailed
from tests.assurance.check import FULL, SMALL, Check, Outcome, Part, Size, Step, caught
from tests.assurance.tokens.devices import killed, stolen
from tests.inside.publish import input_of, tokens, voprf

MOST = 17  # hits of one guess
WINDOW = 3600
KEY = SigningKey.generate()
SECRET = TokenSecret.new(KEY.public)
SURVEY = Survey(
    name="tokens", version=1, title="Tokens", publisher="P", collector="https://c.example.org/reports",
    expires="2100-01-01T00:00:00Z", invite_only=True,
    questions=[Question(id="q1", attribute="a", text="Ever?", design=optimal_design("ln 2"))],
).with_issuer(SECRET, "https://c.example.org/tokens", window=WINDOW)  # fmt: skip
ISSUER, DIGEST, PLACE = SURVEY.issuer, SURVEY.digest, "q1/0"
assert ISSUER is not None
PUBLIC = ISSUER
CLASSES = 64  # keys that a marking issuer has


@dataclass(frozen=True)
class Served:
    """What the issuer knows of one person."""

    person: int
    moment: float
    request: tokens.TokenRequest
    reply: bytes
    marked: int  # the key that the issuer used, if it marks people


@dataclass(frozen=True)
class Arrived:
    """What the collector knows of one report; `person` is the truth that is guessed."""

    person: int
    moment: float
    report: Report


World = tuple[list[Served], list[Arrived]]
MARKS = [TokenSecret.new(KEY.public).pair(PUBLIC.salt, PLACE) for _ in range(CLASSES)]


def marking_reply(request: tokens.TokenRequest, mark: int) -> bytes:
    """A reply under a key of the issuer's own, with a proof that is right for that key."""
    made = [voprf.evaluated(MARKS[mark], one) for one in request.elements]
    return b'{"evaluated":["' + b'","'.join((a + b).hex().encode() for a, b in made) + b'"]}'


def world(people: int, step: Step, weakness: str = "", served: int | None = None) -> World:
    """Everything that happens: people ask one after the other over a day, and their reports arrive."""
    keys, asked, arrived = tokens.TokenKeys(SURVEY, SECRET), list[Served](), list[Arrived]()
    for person in range(people if served is None else served):
        moment = 86_400 * (person + random.random()) / people
        places = {PLACE: tokens.Blinded.new()}
        request = tokens.request_of(PUBLIC, DIGEST, secrets.token_hex(16), places)
        mark = person % CLASSES
        reply = marking_reply(request, mark) if weakness in ("marked", "unchecked") else keys.reply(request)
        try:
            output = tokens.outputs_of(PUBLIC, request, places, reply)[PLACE]
        except IssuerFailed:
            asked.append(Served(person, moment, request, reply, mark))
            continue
        asked.append(Served(person, moment, request, reply, mark))
        bare = Report(DIGEST, "q1", SURVEY.questions[0].design, secrets.choice("01"), secrets.token_hex(16))
        report = tokens.with_token(bare, places[PLACE].nonce, output)
        leaves = moment + 5 * random.random() if weakness == "at once" else in_windows(moment, 86_400)[0]
        arrived.append(Arrived(person, leaves, report))
        step(person, people)
    arrived.sort(key=lambda one: one.moment)
    return asked, arrived


# ---- the guesses ----------------------------------------------------------------------------------------------------


def features(asked: list[Served], arrived: list[Arrived]) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """By name, what can be compared of requests, and of reports."""
    keys = SECRET.pair(PUBLIC.salt, PLACE)
    elements = [one.request.elements[0] for one in asked]
    nonces = [bytes.fromhex((one.report.ticket or "")[:64]) for one in arrived]
    inputs = [input_of(DIGEST, PLACE, nonce) for nonce in nonces]
    points = [voprf.blinded(given, (1).to_bytes(32, "little")) for given in inputs]
    ours: dict[str, list[Any]] = {
        "order": list(range(len(asked))),
        "moment": [one.moment for one in asked],
        "fraction": [one.moment % 1 for one in asked],
        "invite": [one.request.invite for one in asked],
        "element": [element[::-1] for element in elements],
        "element's end": [element[0] for element in elements],
        "evaluated": [voprf.evaluated(keys, element)[0] for element in elements],
        "proof": [one.reply[79:] for one in asked],
    }
    theirs: dict[str, list[Any]] = {
        "order": list(range(len(arrived))),
        "moment": [one.moment for one in arrived],
        "fraction": [one.moment % 1 for one in arrived],
        "id": [one.report.id for one in arrived],
        "nonce": [nonce[::-1] for nonce in nonces],
        "point": [point[::-1] for point in points],
        "output": [voprf.output_of(keys, given) for given in inputs],
        "token": [(one.report.ticket or "")[64:] for one in arrived],
        "answer": [one.report.answer for one in arrived],
    }
    return ours, theirs


def ranked(values: list[Any]) -> list[int]:
    """The places in the order of the values."""
    return sorted(range(len(values)), key=lambda at: (values[at], at))


def guesses(asked: list[Served], arrived: list[Arrived]) -> Iterator[tuple[str, list[int]]]:
    """(its name, for each report the place of a request)."""
    ours, theirs = features(asked, arrived)
    for one, mine in ours.items():
        for other, yours in theirs.items():
            found = [0] * len(arrived)
            for request, report in zip(ranked(mine), ranked(yours), strict=False):
                found[report] = request
            yield f"{one} and {other} in one order", found
    moments = [one.moment for one in asked]
    yield "the last request before it", [max(0, bisect_right(moments, one.moment) - 1) for one in arrived]
    days = [one.moment % 86_400 for one in arrived]
    yield "the same time of day", [max(0, bisect_right(moments, moment) - 1) for moment in days]
    pieces = {one.request.elements[0]: at for at, one in enumerate(asked)}
    yield "the element itself", [pieces.get(point, 0) for point in ([bytes(p)[::-1] for p in theirs["point"]])]
    yield "text in common", _in_common(asked, arrived)


def _in_common(asked: list[Served], arrived: list[Arrived]) -> list[int]:
    """The request that has eight digits in common with what is random in a report."""
    known: dict[str, int] = {}
    for at, one in enumerate(asked):
        text = one.request.invite + one.request.elements[0].hex() + one.reply.decode()
        known.update((text[start : start + 16], at) for start in range(len(text) - 15))
    found = []
    for report in arrived:
        text = report.report.id + (report.report.ticket or "")
        hits = Counter(known[part] for start in range(len(text) - 15) if (part := text[start : start + 16]) in known)
        found.append(hits.most_common(1)[0][0] if hits else 0)
    return found


def by_mark(asked: list[Served], arrived: list[Arrived]) -> list[int]:
    """Which of the issuer's own keys a token fits; then any of those that were given that key, each one once."""
    left = {mark: [at for at, one in enumerate(asked) if one.marked == mark] for mark in range(CLASSES)}
    found = []
    for one in arrived:
        given = input_of(DIGEST, PLACE, bytes.fromhex((one.report.ticket or "")[:64]))
        bare = replace(one.report, ticket=None)
        fits = [
            mark
            for mark in range(CLASSES)
            if tokens.with_token(bare, bytes.fromhex((one.report.ticket or "")[:64]),
                                 voprf.output_of(MARKS[mark], given)) == one.report
        ]  # fmt: skip
        found.append(left[fits[0]].pop() if fits and left[fits[0]] else 0)
    return found


def judged(asked: list[Served], arrived: list[Arrived], more: Mapping[str, list[int]]) -> Outcome:
    """Whether some guess is right more often than chance allows."""
    worst, remark, number = 0, "", 0
    for name, guess in [*guesses(asked, arrived), *more.items()]:
        hits = sum(asked[at].person == one.person for at, one in zip(guess, arrived, strict=True))
        number += 1
        if hits > worst:
            worst, remark = hits, f"{name}: {hits} of {len(arrived)} reports"
    figures = {"people": len(asked), "reports": len(arrived), "guesses": number, "most hits of a guess": worst}
    assert number / math.factorial(MOST + 1) < 1e-9
    return Outcome(worst <= MOST, figures, remark if worst > MOST else "")


# ---- the parts ------------------------------------------------------------------------------------------------------


@contextmanager
def weak(kind: str) -> Iterator[None]:
    """A device with a weakness."""
    if kind == "unchecked":
        with patch.object(tokens, "proves", lambda *_: True):
            yield
    elif kind == "not blinded":
        with patch.object(tokens, "new_scalar", lambda: (1).to_bytes(32, "little")):
            yield
    else:
        yield


def linking(people: int, weakness: str = "") -> Callable[[int, Step], Outcome]:
    """Play a world and guess."""

    def run(piece: int, step: Step) -> Outcome:
        with weak(weakness):
            asked, arrived = world(people, step, weakness)
            more = {"the issuer's own keys": by_mark(asked, arrived)} if weakness in ("marked", "unchecked") else {}
        return judged(asked, arrived, more)

    return run


def refused(people: int) -> Callable[[int, Step], Outcome]:
    """An issuer that has a key for each person gets not one report."""

    def run(piece: int, step: Step) -> Outcome:
        asked, arrived = world(people, step, "marked")
        return Outcome(not arrived, {"people marked": len(asked), "reports with a marked token": len(arrived)})

    return run


def crowd(people: int, served: int) -> Callable[[int, Step], Outcome]:
    """An issuer that serves a few: those it served are the crowd, and no guess is better than one among them."""

    def run(piece: int, step: Step) -> Outcome:
        hits, games = 0, 200
        for game in range(games):
            asked, arrived = world(people, lambda *_: None, served=served)
            guess = next(guess for name, guess in guesses(asked, arrived) if name == "element and token in one order")
            one = random.randrange(len(arrived))
            hits += asked[guess[one]].person == arrived[one].person
            step(game, games)
        chance = 1 / served
        # Hoeffding: a false alarm of 1e-10
        width = math.sqrt(math.log(2 / 1e-10) / (2 * games))
        figures = {"games": games, "people served": served, "hits": hits, "most crowd that is left": served}
        return Outcome(abs(hits / games - chance) <= width, figures)

    return run


def parts(size: Size) -> list[Part]:
    people, few = (10_000, 1_000) if size is FULL else (300, 200)
    found = [
        Part("issuer and collector together", linking(people)),
        Part("an issuer with keys of its own for some", refused(few if size is FULL else 40)),
        Part("a few are served: the crowd that is left", crowd(1_000, 4)),
        Part("a ledger that is stolen after delivery", stolen(size is SMALL)),
        Part("killed at every line and every message", killed(size is SMALL)),
    ]
    planted = {
        "proofs not checked, keys not from the signed survey": linking(few, "unchecked"),
        "not blinded": linking(few, "not blinded"),
        "fetched just before sending": linking(few, "at once"),
        "blind, nonce and bytes kept after delivery": stolen(True, keep=True),
        "nonce and blind not kept before the request leaves": killed(True, forgetful=True),
    }
    return found + [Part(name, caught(run), planted=True) for name, run in planted.items()]


CHECK = Check(
    number=12,
    name="tokens",
    title="Whose answer it is",
    claim="Issuer and collector together, with every key, order and moment, link no report with a person better than "
    "by chance among those who were served; a stolen ledger does not tell which report was its own; a device or issuer "
    "that is killed anywhere gives no second token and loses no answer.",
    sources=("rrcollect/publish", "rrcollect/answer", "rrcollect/deliver", "server_agg/collect"),
    parts=parts,
    limits="The network address, and what somebody sees who watches the network, are not part of it.",
)
