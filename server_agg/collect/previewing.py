"""What a release would change, told before it is made.

Rules
1. The rule is that of the release itself (`release.next_release`), on the same counts; nothing is published.
2. Told are sizes: how many answers of which question, round and group are public now, and how many would be.  They
   follow from the counts.  Values are not told: which answers make up the crowds is drawn when the release is made, so
   that nobody can look at a draw and ask for another.
3. What comes in between the preview and the release may make the release larger.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from rrcollect.publish.survey import Survey
from server_agg.collect.releasing import SAME, ReleaseOutcome, checked_headline, last_release, unreleased
from server_agg.collect.store import Store
from server_agg.survey_page.released import MIXED

Place = tuple[str, int, str, str]  # question, round, segment and group; the last two are "" for all answers


def preview_release(store: Store, survey: Survey, *, headline: int | None = SAME) -> dict[str, Any]:
    """The outcome that a release would have now, and what it would change.

    >>> import pathlib, tempfile
    >>> from rrcollect import Question, Survey, optimal_design
    >>> from server_agg.collect.stores import open_store
    >>> asked = Question(id="q1", attribute="a", text="Ever?", design=optimal_design(1))
    >>> survey = Survey(name="s", version=1, title="S", publisher="P", collector="carried",
    ...                 expires="2100-01-01T00:00:00Z", questions=[asked])
    >>> store = open_store(pathlib.Path(tempfile.mkdtemp(), "reports.sqlite3"))
    >>> preview_release(store, survey)["changes"], store.close()
    ([], None)
    """
    checked_headline(survey, headline)
    store.fold_unless_busy()
    last, ahead = last_release(store, survey), unreleased(store, survey)
    facts = None if last is None else last.facts
    before: Counter[Place] = Counter()
    for key, tally in () if last is None else last.tallies.items():
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
