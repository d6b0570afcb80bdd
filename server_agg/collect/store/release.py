"""Releases in the store: making the next one, reading the last, and telling beforehand what the next would change.

Rules
1. A release counts from one transaction on, as a whole: what is public, which answers that took, and the line that
   says when.  Folds and releases come one after the other, by the lock of the folder of keys; so the second of two that
   are asked for at once finds little or nothing new.  While answers are drawn and sealed, and what they become is
   written beforehand (`stages`), reports are taken.
2. A release that would add no block and change no headline is not made: nothing is written, and the reasons are told.
3. Where there is an issuer, the number of people who were served tokens is released too, when it has grown by the
   minimum.
4. Strangers read the last release and nothing else.  Nothing in it depends on what was counted since.
5. The headline is the round that the owner chose, or the whole; what is chosen stays until another is chosen.
6. Answers that are gathered (`fold`) or sealed (`crowds`) are released like all others; which of them a release took
   is noted under seal.
7. At a stated step (`due`) a survey is released once per step; what came in between waits for the next.
8. A preview follows the rule of the release itself, on the same counts, and publishes nothing.  It has sizes: how many
   answers of which question, round and group are public now, and how many would be.  It has no values: which answers
   make up the crowds is drawn when the release is made, so that nobody can look at a draw and ask for another.  What
   comes in between may make the release larger.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from rrcollect.errors import ParameterError
from rrcollect.publish.survey import Survey
from server_agg.collect.store import stages
from server_agg.collect.store.crowds import (
    PUT_ANSWERS,
    PUT_RELEASED,
    PUT_TAKEN,
    Held,
    published,
    read_crowds,
    read_released,
    released_lines,
    unpublished,
    with_more,
)
from server_agg.collect.store.database import Database
from server_agg.collect.store.epochs import GatheredReports, KeyRing
from server_agg.collect.store.fold import Folds, tallies_of
from server_agg.collect.store.log import add_deed
from server_agg.collect.store.release_rule import Release, hierarchy, next_release
from server_agg.collect.store.reports import Cell, CellCount
from server_agg.count.tallies import Tallies
from server_agg.errors import StoreError
from server_agg.survey_page.released import MIXED, ReleaseFacts

SAME: Final = -1  # the headline stays what it is
ADD_RELEASE = "INSERT INTO releases (survey, number, moment, headline, crowds, issued) VALUES (?, ?, ?, ?, ?, ?)"
LAST_RELEASES = (
    "SELECT survey, number, moment, headline, crowds, issued FROM releases AS each WHERE number = (SELECT MAX(number) "
    "FROM releases WHERE survey = each.survey)"
)
READ_RELEASED = (  # in one statement, so that it is one committed state
    "SELECT releases.number, moment, headline, crowds, issued, question, round, design, segments, n, sums FROM "
    "releases LEFT JOIN released ON released.survey = releases.survey AND released.number = releases.number WHERE "
    "releases.survey = ? AND releases.number = (SELECT MAX(number) FROM releases WHERE survey = ?)"
)
Place = tuple[str, int, str, str]  # question, round, segment and group; the last two are "" for all answers


@dataclass(frozen=True)
class ReleaseOutcome:
    """What a release did: how many answers it added, and by question and round how many wait for a whole crowd."""

    facts: ReleaseFacts | None
    added: int
    waiting: dict[tuple[str, int], int]
    minimum: int

    @property
    def reasons(self) -> list[str]:
        """For the owner: why answers wait."""
        return [
            f"{question}, round {number + 1}: {n} {'answer waits' if n == 1 else 'answers wait'}, because crowds of "
            f"{self.minimum} are published whole"
            for (question, number), n in sorted(self.waiting.items())
            if n
        ]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        made = {"number": 0, "at": None} if self.facts is None else {"number": self.facts.number, "at": self.facts.when}
        return {**made, "added": self.added, "reasons": self.reasons}


class LastRelease(NamedTuple):
    """What strangers may see."""

    facts: ReleaseFacts
    tallies: Tallies


def make_release(
    folds: Folds,
    survey: Survey,
    *,
    headline: int | None = SAME,
    now: float | None = None,
    source: random.Random | None = None,
) -> ReleaseOutcome:
    """Make what is ripe public; `headline` is a round, None for the whole, or `SAME`."""
    checked_headline(survey, headline)
    folds.fold_unless_busy()
    with folds.epochs.keys.lock():  # no fold and no other release until this one is written
        stages.sweep(folds.database, survey.digest)
        made = _made(folds, survey, headline, now, source)
        with suppress(StoreError):  # the release is made; the next one sweeps again
            stages.sweep(folds.database, survey.digest)
    return made


class _Found(NamedTuple):
    """What a release is made of."""

    before: ReleaseFacts | None
    held: dict[Cell, Held]  # crowds outside the seal, with what is sealed of them
    ring: KeyRing
    gathered: GatheredReports
    public: dict[Cell, tuple[int, list[int]]]


def _made(
    folds: Folds, survey: Survey, headline: int | None, now: float | None, source: random.Random | None
) -> ReleaseOutcome:
    database, epochs, digest = folds.database, folds.epochs, survey.digest

    def read(cursor: Any) -> _Found:
        last = database.run(cursor, f"{LAST_RELEASES} AND survey = ?", (digest,)).fetchone()
        ring = epochs.ring(cursor)
        held = read_crowds(database, cursor, ring.surveys, digest)
        gathered = epochs.gathered(cursor, ring, {group for group in ring.groups if group[0] == digest})
        public = read_released(database, cursor, digest)
        return _Found(None if last is None else _facts(*last[1:]), held, ring, gathered, public)

    before, held, ring, gathered, public = epochs.consistently(read)
    everything = dict(held)
    with_more(everything, gathered.counts)
    made = next_release(unpublished(everything), survey.minimum, hierarchy(survey), source)
    kept = None if before is None else before.headline
    chosen = kept if headline == SAME else headline
    if not made.added and chosen == kept:
        return ReleaseOutcome(before, 0, made.waiting, survey.minimum)
    crowds = {} if before is None else dict(before.crowds)
    for question, size in made.crowds.items():
        crowds[question] = min(size, crowds.get(question, size))
    number = 1 if before is None else before.number + 1
    moment = int(time.time() if now is None else now)
    issued = None if survey.issuer is None else _issued(database, survey, before)
    line = (digest, number, moment, chosen, json.dumps(crowds, sort_keys=True), issued)
    changed = published(held, made.taken, ring.surveys, number)
    counts = dict(gathered.counts)
    for cell, n in changed.rest.items():
        counts[cell] = CellCount(counts[cell].n, counts[cell].published + n)
    groups = {cell[:3] for cell in changed.rest}
    regathered = epochs.sealed_groups(ring, gathered._replace(counts=counts), sorted(groups))
    stages.write(database, PUT_TAKEN, changed.taken)
    stages.write(database, PUT_ANSWERS, changed.answers)
    stages.write(database, PUT_RELEASED, released_lines(public, made.added, number))
    with database.writing() as cursor:
        epochs.write_gathered(cursor, regathered)
        epochs.write_ring(cursor, epochs.current(cursor).key, ring)
        database.run(cursor, ADD_RELEASE, line)
        add_deed(database, cursor, "released", digest, moment=line[2], release=number, added=made.answers)
    return ReleaseOutcome(_facts(*line[1:]), made.answers, made.waiting, survey.minimum)


def _issued(database: Database, survey: Survey, before: ReleaseFacts | None) -> int:
    """How many people were served tokens, as strangers may know it: it changes by at least the minimum."""
    known = 0 if before is None or before.issued is None else before.issued
    now = count_issued(database, survey.digest)
    return now if now - known >= survey.minimum else known


def count_issued(database: Database, survey: str) -> int:
    """How many people were served the tokens of a survey; the number stays when the survey is closed."""
    counted = "SELECT issued + (SELECT COUNT(*) FROM issued WHERE survey = digest) FROM surveys WHERE digest = ?"
    with database.reading() as cursor:
        row = database.run(cursor, counted, (survey,)).fetchone()
    return 0 if row is None else int(row[0])


def checked_headline(survey: Survey, headline: int | None) -> None:
    """Return if the survey has this round; None is the whole, `SAME` what it is."""
    last = max(question.rounds for question in survey.questions) - 1
    if headline is not None and (type(headline) is not int or not SAME <= headline <= last):
        raise ParameterError("headline", headline, f"a round of the survey, 0 to {last}, or null for the whole")


def unreleased(counted: Mapping[str, Mapping[Cell, Held]], survey: Survey) -> Release:
    """What a release would do with what was counted (`Folds.counted`); nothing is changed."""
    return next_release(unpublished(counted.get(survey.digest, {})), survey.minimum, hierarchy(survey))


def last_facts(database: Database) -> dict[str, ReleaseFacts]:
    """By digest the last release of every survey that has one."""
    with database.reading() as cursor:
        rows = database.run(cursor, LAST_RELEASES).fetchall()
    return {digest: _facts(*line) for digest, *line in rows}


def last_release(database: Database, survey: Survey) -> LastRelease | None:
    """The last release of a survey; None before the first."""
    digest = survey.digest
    with database.reading() as cursor:
        rows = database.run(cursor, READ_RELEASED, (digest, digest)).fetchall()
    if not rows:
        return None
    crowds = {
        Cell(digest, *crowd): (n, json.loads(sums)) for _, _, _, _, _, *crowd, n, sums in rows if crowd[0] is not None
    }
    return LastRelease(_facts(*rows[0][:5]), tallies_of(crowds, {digest} if survey.pilot else ()))


def preview_release(folds: Folds, survey: Survey, *, headline: int | None = SAME) -> dict[str, Any]:
    """The outcome that a release would have now, and what it would change."""
    checked_headline(survey, headline)
    folds.fold_unless_busy()
    facts, tallies = last_release(folds.database, survey) or (None, Tallies({}))
    ahead = unreleased(folds.counted(survey.digest), survey)
    before: Counter[Place] = Counter()
    for key, tally in tallies.items():
        before.update(dict.fromkeys(_places(key.question, key.round, key.segments), tally.n))
    after = Counter(before)
    for cell, n in ahead.added.items():
        after.update(dict.fromkeys(_places(cell.question, cell.round, json.loads(cell.segments).items()), n))
    kept = None if facts is None else facts.headline
    outcome = ReleaseOutcome(facts, ahead.answers, ahead.waiting, survey.minimum).as_dict()
    changes = [
        {"question": question, "round": number, "segment": segment, "group": group, "before": before[place], "after": n}
        for place, n in sorted(after.items())
        if n != before[place]
        for question, number, segment, group in [place]
    ]
    chosen = kept if headline == SAME else headline
    return {**outcome, "preview": True, "headline": {"before": kept, "after": chosen}, "changes": changes}


def _places(question: str, number: int, segments: Iterable[tuple[str, str]]) -> list[Place]:
    """Where an answer with this label is seen: among all, and in every group that it is told apart by."""
    groups = [(question, number, name, value) for name, value in segments if value != MIXED]
    return [(question, number, "", ""), *groups]


def due(facts: ReleaseFacts | None, step: timedelta, now: float) -> bool:
    """Whether a survey was not released yet in the step that `now` lies in; steps are counted from 1970, UTC.

    >>> facts = ReleaseFacts(1, datetime(2026, 5, 1, 23, 59, tzinfo=UTC), None, {})
    >>> day = timedelta(days=1)
    >>> [due(facts, day, datetime(2026, 5, d, tzinfo=UTC).timestamp()) for d in (1, 2)], due(None, day, 0)
    ([False, True], True)
    """
    seconds = step.total_seconds()
    return facts is None or facts.at.timestamp() // seconds < now // seconds


def _facts(number: int, moment: int, headline: int | None, crowds: str, issued: int | None) -> ReleaseFacts:
    return ReleaseFacts(number, datetime.fromtimestamp(moment, UTC), headline, json.loads(crowds), issued)
