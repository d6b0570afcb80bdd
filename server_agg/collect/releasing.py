"""Releases in the store: making the next one, and reading the last.

Rules
1. A release is one transaction: what is public, which answers that took, and the line that says when.  Two that are
   asked for at once come one after the other, and the second finds little or nothing new.
2. A release that would add no block and change no headline is not made: nothing is written, and the reasons are told.
3. Strangers read the last release and nothing else; its results are computed once.  Nothing in it depends on what was
   counted since.
4. The headline is the round that the owner chose, or the whole; what is chosen stays until another is chosen.
5. Answers that are gathered (`fold`) are released like all others; which of their cells a release took from is noted
   under the key of the epoch, and told with the counts when their segments have a crowd.
6. At a stated step (`due`) a survey is released once per step; what came in between waits for the next.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from rrcollect.errors import ParameterError
from rrcollect.publish.survey import Survey
from server_agg.collect.catalogue import Catalogue
from server_agg.collect.counts import tallies_of
from server_agg.collect.fold import Cell, CellCount, GatheredReports
from server_agg.collect.release import Release, hierarchy, next_release
from server_agg.collect.store import Store
from server_agg.collect.tables import (
    ADD_RELEASE,
    ADD_RELEASED,
    LAST_RELEASE,
    MARK_PUBLISHED,
    READ_RELEASED,
    READ_UNPUBLISHED,
)
from server_agg.count.tallies import Tallies
from server_agg.survey_page.released import ReleaseFacts
from server_agg.survey_page.results import released_results, survey_results

SAME: Final = -1  # the headline stays what it is


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


@dataclass(frozen=True)
class LastRelease:
    """What strangers may see."""

    facts: ReleaseFacts
    tallies: Tallies


def release_survey(
    store: Store,
    survey: Survey,
    *,
    headline: int | None = SAME,
    now: float | None = None,
    source: random.Random | None = None,
) -> ReleaseOutcome:
    """Make what is ripe public; `headline` is a round, None for the whole, or `SAME`.

    >>> import pathlib, tempfile
    >>> from rrcollect import Question, Survey, optimal_design
    >>> from server_agg.collect.stores import open_store
    >>> asked = Question(id="q1", attribute="a", text="Ever?", design=optimal_design(1))
    >>> survey = Survey(name="s", version=1, title="S", publisher="P", collector="carried",
    ...                 expires="2100-01-01T00:00:00Z", questions=[asked])
    >>> store = open_store(pathlib.Path(tempfile.mkdtemp(), "reports.sqlite3"))
    >>> release_survey(store, survey).added, store.close()
    (0, None)
    """
    checked_headline(survey, headline)
    store.fold_unless_busy()
    with store.writing(alone=True) as cursor:
        found = store.run(cursor, LAST_RELEASE, (survey.digest,)).fetchone()
        before = None if found is None else _facts(*found)
        unpublished, gathered = _unpublished(store, cursor, survey)
        made = next_release(unpublished + _open(gathered, survey), survey.minimum, hierarchy(survey), source)
        kept = None if before is None else before.headline
        chosen = kept if headline == SAME else headline
        if not made.added and chosen == kept:
            return ReleaseOutcome(before, 0, made.waiting, survey.minimum)
        crowds = {} if before is None else dict(before.crowds)
        for question, size in made.crowds.items():
            crowds[question] = min(size, crowds.get(question, size))
        number = 1 if before is None else before.number + 1
        moment = int(time.time() if now is None else now)
        line = (survey.digest, number, moment, chosen, json.dumps(crowds, sort_keys=True))
        store.run_many(cursor, ADD_RELEASED, [(*cell, n) for cell, n in made.added.items()])
        counted = unpublished & Counter(made.taken)
        store.run_many(cursor, MARK_PUBLISHED, [(n, *cell) for cell, n in sorted(counted.items())])
        _publish_gathered(store, cursor, gathered, Counter(made.taken) - counted)
        store.run(cursor, ADD_RELEASE, line)
    return ReleaseOutcome(_facts(*line[1:]), made.answers, made.waiting, survey.minimum)


def checked_headline(survey: Survey, headline: int | None) -> None:
    """Return if the survey has this round; None is the whole, `SAME` what it is."""
    rounds = max(question.rounds for question in survey.questions)
    if headline is not None and headline != SAME and not 0 <= headline < rounds:
        raise ParameterError("headline", headline, f"a round of the survey, 0 to {rounds - 1}, or None for the whole")


def unreleased(store: Store, survey: Survey) -> Release:
    """What a release would do now; nothing is changed."""

    def read(cursor: Any) -> Counter[Cell]:
        unpublished, gathered = _unpublished(store, cursor, survey)
        return unpublished + _open(gathered, survey)

    return next_release(store.consistently(read), survey.minimum, hierarchy(survey))


def release_all(store: Store, catalogue: Catalogue, step: timedelta, now: float | None = None) -> int:
    """Release every survey that was not released yet in this step; how many changed."""
    moment, changed = time.time() if now is None else now, 0
    catalogue.refresh()
    for listed in catalogue.all():
        last = last_release(store, listed.survey)
        if due(None if last is None else last.facts, step, moment):
            changed += release_survey(store, listed.survey, now=moment).added > 0
    return changed


def last_release(store: Store, survey: Survey) -> LastRelease | None:
    """The last release of a survey; None before the first."""
    digest = survey.digest
    with store.reading() as cursor:
        rows = store.run(cursor, READ_RELEASED, (digest, digest)).fetchall()
    if not rows:
        return None
    cells = [(digest, *row[4:]) for row in rows if row[4] is not None]
    return LastRelease(_facts(*rows[0][:4]), tallies_of(cells, {digest} if survey.pilot else ()))


class PublicResults:
    """What strangers may see of surveys, as their page shows it; computed once per release, however many look."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._shown: dict[str, tuple[int, dict[str, Any]]] = {}

    def of(self, survey: Survey) -> dict[str, Any]:
        """The last release of a survey."""
        with self._store.reading() as cursor:
            found = self._store.run(cursor, LAST_RELEASE, (survey.digest,)).fetchone()
        known = self._shown.get(survey.digest)
        if known is None or known[0] != (0 if found is None else found[0]):
            last = last_release(self._store, survey)
            facts, tallies = (None, Tallies({})) if last is None else (last.facts, last.tallies)
            known = 0 if facts is None else facts.number, released_results(tallies, survey, facts).as_dict()
            self._shown[survey.digest] = known
        return known[1]


def live_results(store: Store, survey: Survey, tallies: Tallies, minimum: int) -> dict[str, Any]:
    """What the owner sees: everything that was counted, with bars that allow for looking, the last release, and what a
    release would add now."""
    last, ahead = last_release(store, survey), unreleased(store, survey)
    facts = None if last is None else last.facts
    headline = None if facts is None else facts.headline
    how: dict[str, Any] = {"minimum": minimum, "method": "anytime"}
    found = survey_results(tallies, survey, release=facts, headline=headline, **how).as_dict()
    return found | {"next_release": ReleaseOutcome(facts, ahead.answers, ahead.waiting, survey.minimum).as_dict()}


def due(facts: ReleaseFacts | None, step: timedelta, now: float) -> bool:
    """Whether a survey was not released yet in the step that `now` lies in; steps are counted from 1970, UTC.

    >>> facts = ReleaseFacts(1, datetime(2026, 5, 1, 23, 59, tzinfo=UTC), None, {})
    >>> day = timedelta(days=1)
    >>> [due(facts, day, datetime(2026, 5, d, tzinfo=UTC).timestamp()) for d in (1, 2)], due(None, day, 0)
    ([False, True], True)
    """
    seconds = step.total_seconds()
    return facts is None or facts.at.timestamp() // seconds < now // seconds


def _unpublished(store: Store, cursor: Any, survey: Survey) -> tuple[Counter[Cell], GatheredReports]:
    """What was counted and is not public, and what is gathered."""
    rows = store.run(cursor, READ_UNPUBLISHED, (survey.digest,)).fetchall()
    return Counter({Cell(*row[:6]): row[6] for row in rows}), store.gathered(cursor)


def _open(gathered: GatheredReports, survey: Survey) -> Counter[Cell]:
    """What is gathered of a survey and is not public."""
    return Counter(
        {cell: n - published for cell, (n, published) in gathered.counts.items() if cell.survey == survey.digest}
    )


def _publish_gathered(store: Store, cursor: Any, gathered: GatheredReports, taken: Counter[Cell]) -> None:
    """Note, sealed, how many of what is gathered are public now."""
    if taken:
        counts = {cell: CellCount(n, published + taken[cell]) for cell, (n, published) in gathered.counts.items()}
        store.seal_sums(cursor, store.current(cursor).key, gathered._replace(counts=counts))


def _facts(number: int, moment: int, headline: int | None, crowds: str) -> ReleaseFacts:
    return ReleaseFacts(number, datetime.fromtimestamp(moment, UTC), headline, json.loads(crowds))
