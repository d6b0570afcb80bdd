"""Published surveys, with their withdrawals and the hashes of their invites: as a database keeps them (the shelf), and
as the collector knows them (the catalogue).

Rules
1. A survey enters with the owner's token and the publisher's public keys; it is checked as a device would check it:
   canonical form, a signature by one of those keys, every question's matrix and promise.
2. What entered is immutable and known by its digest.  Another document under a version already published is refused,
   as every device that saw the first would refuse it.
3. A withdrawal enters with a signature by one of the keys that the survey was published with; nobody's token is asked
   for.  It is for good.
4. Collectors may share a database.  A survey is called unknown only after the database was asked for it: devices take
   that for final, and another process may have published it a moment ago.  Strangers choose digests, so the database
   is asked `MOST_LOOKS` times per second at most; beyond that nothing is said about a survey (`StoreUnavailable`).
   Lines that one process reads (`ingest`) have no such limit: nobody waits behind them.
5. On the shelf a name and version of a publisher is one survey, by a unique index, and a withdrawal is for good.  Of an
   invite only hashes of its tickets are kept, in the order of the hashes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rrcollect.errors import ParameterError, SurveyRefused
from rrcollect.publish.composition import check_cells
from rrcollect.publish.envelope import read_withdrawal, verify
from rrcollect.publish.keys import PublicKey
from rrcollect.publish.log import survey_entry
from rrcollect.publish.survey import Survey
from server_agg.collect.store.database import Database
from server_agg.collect.store.keys import STEP
from server_agg.collect.store.log import add_deed, add_entry
from server_agg.collect.store.reports import longest_report
from server_agg.errors import Refusal, StoreUnavailable

LOOK_AGAIN = 1.0  # seconds
MOST_LOOKS = 200  # per second
MOST_KEYS = 16
ADD_SURVEY = (
    "INSERT INTO surveys (digest, envelope, keys, publisher, name, version, minimum, longest, pilot) VALUES (?, ?, ?, "
    "?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)
SURVEYS = "SELECT digest, envelope, keys, publisher, name, version, minimum, pilot, closed, withdrawal FROM surveys"
JUDGED_BEFORE = ""  # in the place of tickets: those of this survey are tokens
ADD_INVITE = "INSERT INTO invites (survey, ticket) VALUES (?, ?) ON CONFLICT DO NOTHING"


@dataclass(frozen=True)
class PublishedSurvey:
    """A signed envelope with the public keys (hexadecimal) its owner named when publishing it, and what a store must
    know of the survey in it: whose it is, how many reports a crowd has, and whether it is a trial.  `closed`: nothing
    is taken for it any more; `finished`: and what was deleted of it is overwritten; `withdrawal`: the publisher's
    notice, if there is one; `longest`: how many bytes a report to it has at most, packed; `issued`:
    its reports carry tokens, which are judged before a store sees them."""

    digest: str
    envelope: bytes
    keys: tuple[str, ...]
    publisher: str
    name: str
    version: int
    minimum: int
    pilot: bool = False
    closed: bool = False
    finished: bool = False
    withdrawal: bytes | None = None
    longest: int = STEP
    issued: bool = False

    @property
    def entry(self) -> bytes:
        """Its entry in the log, by the first of its keys."""
        return survey_entry(PublicKey(bytes.fromhex(self.keys[0])), self.name, self.version, self.digest)


class Shelf:
    """The surveys of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def publish(self, survey: PublishedSurvey) -> bool:
        """Keep a survey; False if it was there already, a `Refusal` if its name and version is another's."""
        given = (survey.digest, survey.envelope, " ".join(survey.keys), survey.publisher, survey.name, survey.version)
        with self._database.writing() as cursor:
            if (
                self._database.run(
                    cursor, ADD_SURVEY, (*given, survey.minimum, survey.longest, int(survey.pilot))
                ).rowcount
                == 1
            ):
                add_deed(self._database, cursor, "published", survey.digest)
                add_entry(self._database, cursor, survey.entry)
                if survey.issued:
                    self._database.run(cursor, ADD_INVITE, (survey.digest, JUDGED_BEFORE))
                return True
            same = self._database.run(cursor, "SELECT 1 FROM surveys WHERE digest = ?", (survey.digest,)).fetchone()
            if same is None:
                raise Refusal(
                    409, "version_taken", f"version {survey.version} is published with other content; raise version"
                )
        return False

    def surveys(self, of: str | None = None) -> list[PublishedSurvey]:
        """Every published survey, or the one of this digest."""
        where, values = (" WHERE digest = ?", (of,)) if of is not None else ("", ())
        with self._database.reading() as cursor:
            rows = self._database.run(cursor, f"{SURVEYS}{where} ORDER BY digest", values).fetchall()
        found = []
        for digest, envelope, keys, by, name, version, least, pilot, closed, notice in rows:
            signed = digest, bytes(envelope), tuple(keys.split())
            state: tuple[Any, ...] = bool(pilot), closed > 0, closed > 1, None if notice is None else bytes(notice)
            found.append(PublishedSurvey(*signed, by, name, version, least, *state))
        return found

    def withdraw(self, digest: str, envelope: bytes) -> bool:
        """Keep the publisher's withdrawal of a survey, for good; False if there is one already."""
        statement = "UPDATE surveys SET withdrawal = ? WHERE digest = ? AND withdrawal IS NULL"
        with self._database.writing() as cursor:
            return bool(self._database.run(cursor, statement, (envelope, digest)).rowcount == 1)

    def withdrawals(self) -> dict[str, bytes]:
        """By digest the withdrawals there are."""
        with self._database.reading() as cursor:
            self._database.run(cursor, "SELECT digest, withdrawal FROM surveys WHERE withdrawal IS NOT NULL")
            rows = cursor.fetchall()
        return {digest: bytes(envelope) for digest, envelope in rows}

    def add_invites(self, survey: str, hashes: Sequence[str]) -> None:
        """Make these invites (by the hashes of their tickets) good for a survey; written in the order of the hashes."""
        with self._database.writing() as cursor:
            self._database.run_many(cursor, ADD_INVITE, [(survey, one) for one in sorted(hashes)])


@dataclass(frozen=True)
class CatalogueEntry:
    """A published survey, read."""

    survey: Survey
    published: PublishedSurvey


class Catalogue:
    """The surveys on a shelf, kept in memory."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._lock = threading.Lock()
        self._listed: dict[str, CatalogueEntry] = {}
        self._origins: set[str] = set()  # of all of them
        self._looked = 0.0
        self._looks = 0, 0  # a second of the clock, and how often the database was asked for one survey in it
        self.withdrawn: dict[str, bytes] = {}  # by digest; changed in place
        self.finished: set[str] = set()  # the digests of surveys that are closed
        self._look()

    def _look(self, digest: str | None = None) -> None:
        """Read what is new: all surveys, or one."""
        found = self._shelf.surveys(digest)
        self.withdrawn.update({one.digest: one.withdrawal for one in found if one.withdrawal is not None})
        self.finished.update(one.digest for one in found if one.finished)
        for published in found:
            if published.digest not in self._listed:
                survey = _read(published.envelope, _keys(published.keys))
                self._keep(CatalogueEntry(survey, published))

    def _keep(self, entry: CatalogueEntry) -> None:
        self._listed[entry.published.digest] = entry
        self._origins.update(entry.survey.origins)

    def withdraw(self, entry: CatalogueEntry, envelope: bytes) -> bool:
        """Check and keep the withdrawal of a survey; whether it is new."""
        try:
            notice, _ = read_withdrawal(envelope, _keys(entry.published.keys))
        except SurveyRefused as error:
            raise Refusal(400, type(error).__name__, str(error)) from None
        if not entry.survey.withdrawn_by(notice):
            raise Refusal(400, "another_survey", "this withdrawal is of another survey")
        new = self._shelf.withdraw(entry.published.digest, envelope)
        self.look_for_withdrawals()
        return new

    def look_for_withdrawals(self) -> None:
        """Read what other processes were told."""
        found = self._shelf.withdrawals()
        with self._lock:
            self.withdrawn.update(found)

    def known(self, digest: str) -> CatalogueEntry | None:
        """The survey, if this process has it already; never touches the disk."""
        return self._listed.get(digest)

    def find(self, digest: str, *, limited: bool = True) -> CatalogueEntry | None:
        """The survey, looked up in the store if it is not known here; may wait for the database.  If not `limited`,
        however often surveys are asked for that are not known: the caller remembers which are not."""
        if digest not in self._listed:
            with self._lock:
                if digest not in self._listed:
                    if limited:
                        self._count_a_look()
                    self._look(digest)
        return self._listed.get(digest)

    def of_name(self, published: PublishedSurvey) -> int:
        """How many surveys this publisher has published under this name, in the log as here: one transaction."""
        others = (entry.published for entry in list(self._listed.values()))
        return sum((one.keys[0], one.name) == (published.keys[0], published.name) for one in others)

    def _check_keys(self, survey: Survey) -> None:
        """No key of its issuer is known from another survey: a token would be good in both."""
        if survey.issuer is not None:
            self._look()
            for digest, entry in self._listed.items():
                other = entry.survey.issuer
                if digest != survey.digest and other and set(other.keys.values()) & set(survey.issuer.keys.values()):
                    raise Refusal(400, "known_key", f"survey {digest} has a key of this issuer: make a new secret")

    def _count_a_look(self) -> None:
        second, looks = self._looks
        now = int(time.monotonic())
        looks = looks + 1 if second == now else 1
        if looks > MOST_LOOKS:
            raise StoreUnavailable("too many surveys are asked for that are not known here; send it again in a moment")
        self._looks = now, looks

    def lists(self, origin: str, digest: str | None = None) -> bool:
        """Whether the survey with this digest, or without one any survey, lists an origin; never touches the disk."""
        if digest is None:
            return origin in self._origins
        entry = self._listed.get(digest)
        return entry is not None and origin in entry.survey.origins

    def refresh(self, older: float = 0.0) -> None:
        """Read what other processes have published, if what is known is `older` (seconds); may wait for the
        database."""
        with self._lock:
            if time.monotonic() - self._looked >= older:
                self._look()
                self._looked = time.monotonic()

    def all(self) -> list[CatalogueEntry]:
        """Every survey, by publisher, name and version."""
        listed = list(self._listed.values())
        return sorted(listed, key=lambda one: (one.survey.publisher, one.survey.name, one.survey.version))

    def publish(self, envelope: bytes, keys: Iterable[str], *, floor: int = 0) -> tuple[CatalogueEntry, bool]:
        """Check and keep a signed envelope; the second value says whether it is new.  A survey whose minimum is below
        the `floor` is refused: everybody sees results by the signed minimum."""
        given = tuple(dict.fromkeys(keys))
        if not 1 <= len(given) <= MOST_KEYS:
            words = f"name 1 to {MOST_KEYS} public keys of the publisher, each as key=<64 hex digits>"
            raise Refusal(400, "keys", words)
        try:
            signers = {key.raw.hex() for key in verify(envelope, _keys(given)).signers}
            survey = _read(envelope, _keys(given))
        except SurveyRefused as error:
            raise Refusal(400, type(error).__name__, str(error)) from None
        given = tuple(sorted(given, key=lambda one: one not in signers))  # the first is the key of its entry in the log
        if survey.minimum < floor:
            words = f"this survey shows results from {survey.minimum} answers on, and this collector takes surveys "
            words += f"that show them from {floor} on: sign it with minimum = {floor} or more"
            raise Refusal(400, "minimum", words)
        try:
            check_cells(survey)
        except ParameterError as error:
            raise Refusal(400, "cells", str(error)) from None
        of = (survey.publisher, survey.name, survey.version, survey.minimum, survey.pilot)
        more: dict[str, Any] = {"longest": longest_report(survey), "issued": survey.issuer is not None}
        published = PublishedSurvey(survey.digest, envelope, given, *of, **more)
        with self._lock:
            self._check_keys(survey)
            new = self._shelf.publish(published)
            if survey.digest not in self._listed:
                self._keep(CatalogueEntry(survey, published))
        return self._listed[survey.digest], new


def round_times(survey: Survey, number: int) -> tuple[datetime | None, datetime]:
    """When a round opens (None: it was always open) and closes: as its survey does, if it has no times of its own."""
    times = survey.rounds[number] if survey.rounds else None
    return (survey.opens, survey.expires) if times is None else (times.opens, times.closes)


def _keys(given: Iterable[str]) -> list[PublicKey]:
    try:
        return [PublicKey(bytes.fromhex(key)) for key in given]
    except (ValueError, ParameterError):
        raise Refusal(400, "keys", "a public key is 64 hexadecimal digits (32 bytes of Ed25519)") from None


def _read(envelope: bytes, keys: Iterable[PublicKey]) -> Survey:
    survey = Survey.from_payload(verify(envelope, keys).payload)
    survey.check()
    return survey
