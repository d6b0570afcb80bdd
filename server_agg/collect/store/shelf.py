"""The shelf: published surveys, their withdrawals and the hashes of their invites, as a database keeps them.

Rules
1. A name and version of a publisher is one survey, by a unique index.
2. A withdrawal is for good.
3. Of an invite only hashes of its tickets are kept, in the order of the hashes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from server_agg.collect.store.database import Database
from server_agg.errors import Refusal

ADD_SURVEY = (
    "INSERT INTO surveys (digest, envelope, keys, publisher, name, version, minimum, pilot) VALUES (?, ?, ?, ?, ?, ?, "
    "?, ?) ON CONFLICT DO NOTHING"
)
SURVEYS = "SELECT digest, envelope, keys, publisher, name, version, minimum, pilot, closed, withdrawal FROM surveys"
ADD_INVITE = "INSERT INTO invites (survey, ticket) VALUES (?, ?) ON CONFLICT DO NOTHING"


@dataclass(frozen=True)
class PublishedSurvey:
    """A signed envelope with the public keys (hexadecimal) its owner named when publishing it, and what a store must
    know of the survey in it: whose it is, how many reports a crowd has, and whether it is a trial.  `closed`: nothing
    is taken for it any more; `finished`: and what was deleted of it is overwritten; `withdrawal`: the publisher's
    notice, if there is one."""

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


class Shelf:
    """The surveys of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def publish(self, survey: PublishedSurvey) -> bool:
        """Keep a survey; False if it was there already, a `Refusal` if its name and version is another's."""
        given = (survey.digest, survey.envelope, " ".join(survey.keys), survey.publisher, survey.name, survey.version)
        with self._database.writing() as cursor:
            if self._database.run(cursor, ADD_SURVEY, (*given, survey.minimum, int(survey.pilot))).rowcount == 1:
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
