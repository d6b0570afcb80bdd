"""The issuer that a survey names: who gives each person one token per place, and under which public keys.

Rules
1. A place is what one person answers once: a question and round (`q1/0`); of a panel the question (`q1`); of a survey
   that asks one question the survey (`*`).  Each has a key of its own, so that a token is good for its place alone.
2. The keys come from one secret: `info` is ("rrcollect token v1", the publisher's key, the salt, the place), each with
   its length before it.  The salt is drawn when the survey is published, so another version has other keys.
3. What a token is for is (the survey's digest, the place, a nonce): the digest binds without being in the key.
4. Keys that are not points, the identity, or equal to each other are refused; so is one known from another survey,
   by whoever knows others (the ledger of a device, the catalogue of a collector).
5. `window` is the same for all: a report leaves at a moment that is uniform over the window after the one in which it
   was made (`deliver.schedule`).  Windows are counted from 1970, not from anybody's request.
6. The secret is made once, before the survey is signed, is kept by the issuer and the collector alone, and is erased
   when the survey is over.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Protocol

from pydantic import AfterValidator, Field

from rrcollect.errors import KeyFileError, MalformedDocument, ParameterError
from rrcollect.publish.document import CARRIED, Address, Document, Frozen
from rrcollect.publish.keys import PublicKey
from rrcollect.publish.question import Question
from rrcollect.publish.voprf import IDENTITY, KeyPair, derived_keys, framed, is_element

LABEL = b"rrcollect token v1"
MOST_PLACES = 200
SHORTEST_WINDOW, LONGEST_WINDOW = 3600, 14 * 86_400  # seconds
SECRET = 32  # bytes


class PlacesLike(Protocol):
    """What is read of a survey here."""

    @property
    def ask(self) -> str: ...
    @property
    def questions(self) -> tuple[Question, ...]: ...


def place_of(survey: PlacesLike, question: Question, round_: int) -> str:
    """Where an answer belongs: a person has one in each place."""
    if survey.ask == "one":
        return "*"
    return question.id if question.panel else f"{question.id}/{round_}"


def places_of(survey: PlacesLike) -> list[str]:
    """All places of a survey, in the order in which a device asks for them: the same for everybody."""
    return sorted({place_of(survey, q, number) for q in survey.questions for number in range(q.rounds)})


def _not_carried(address: str) -> str:
    if address == CARRIED:
        raise ValueError("an issuer has an address of its own")
    return address


def _keys(given: dict[str, str]) -> Frozen[str, str]:
    if IDENTITY.hex() in given.values():
        raise ValueError("a key is the identity: every token would be the same")
    if len(set(given.values())) != len(given):
        raise ValueError("two places have the same key: a token would be good for both")
    return Frozen(given)


Key = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Issuer(Document):
    """The issuer's address, the salt and public keys by place, and the window in which reports leave."""

    address: Annotated[Address, AfterValidator(_not_carried)]
    salt: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    window: int = Field(default=86_400, ge=SHORTEST_WINDOW, le=LONGEST_WINDOW)
    keys: Annotated[dict[str, Key], Field(min_length=1, max_length=MOST_PLACES), AfterValidator(_keys)]

    def check(self) -> None:
        """Every key is a point of the group."""
        for place, key in self.keys.items():
            if not is_element(bytes.fromhex(key)):
                raise MalformedDocument(f"issuer.keys.{place}: it is not a point of the group")

    def key(self, place: str) -> bytes:
        """The public key of a place."""
        return bytes.fromhex(self.keys[place])


def input_of(survey: str, place: str, nonce: bytes) -> bytes:
    """What the function is computed of: the survey by its digest, the place, and the nonce of one report."""
    return framed(bytes.fromhex(survey), place.encode(), nonce)


@dataclass(frozen=True, repr=False)
class TokenSecret:
    """The secret that the keys of one survey come from, for the publisher's key that signs it.

    >>> secret = TokenSecret.new(PublicKey(bytes(32)))
    >>> secret
    TokenSecret(…)
    >>> secret.issuer(["*"], "https://issue.example.org/tokens").window
    86400
    """

    seed: bytes
    publisher: PublicKey

    @classmethod
    def new(cls, publisher: PublicKey) -> TokenSecret:
        """A fresh one."""
        return cls(secrets.token_bytes(SECRET), publisher)

    def pair(self, salt: str, place: str) -> KeyPair:
        """The keys of a place."""
        return derived_keys(self.seed, framed(LABEL, self.publisher.raw, bytes.fromhex(salt), place.encode()))

    def pairs(self, issuer: Issuer) -> dict[str, KeyPair]:
        """The keys of every place; an error if they are not those that were signed."""
        found = {place: self.pair(issuer.salt, place) for place in issuer.keys}
        if any(pair.public != issuer.key(place) for place, pair in found.items()):
            raise ParameterError("secret", "not shown", "the one that the survey's keys come from")
        return found

    def issuer(self, places: Iterable[str], address: str, *, window: int = 86_400) -> Issuer:
        """The issuer of a survey with these places, under a fresh salt."""
        salt = secrets.token_hex(16)
        keys = {place: self.pair(salt, place).public.hex() for place in places}
        return Issuer(address=address, salt=salt, window=window, keys=keys)

    def text(self) -> str:
        """The secret as it is kept in a file."""
        return f"{self.seed.hex()}{self.publisher.raw.hex()}\n"

    @classmethod
    def of(cls, text: str) -> TokenSecret:
        """The secret of such a text."""
        try:
            whole = bytes.fromhex(text.strip())
        except ValueError:
            whole = b""
        if len(whole) != 2 * SECRET:
            raise KeyFileError("this is not a secret of tokens: 128 hexadecimal digits")
        return cls(whole[:SECRET], PublicKey(whole[SECRET:]))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> TokenSecret:
        """Read a secret written by `save`."""
        try:
            with open(path, encoding="ascii") as file:
                return cls.of(file.read(1024))
        except (OSError, ValueError):
            raise KeyFileError(f"{os.fspath(path)} cannot be read as a secret of tokens") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a new file that only its owner may read."""
        try:
            with open(path, "x", encoding="ascii", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
                file.write(self.text())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise KeyFileError(f"{os.fspath(path)} cannot be written: {error.strerror}") from None

    def __repr__(self) -> str:
        return "TokenSecret(…)"

    def __reduce__(self) -> str:
        raise TypeError("a TokenSecret is not pickled; save it to a file of its own")
