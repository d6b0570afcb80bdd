"""What a survey is at a moment: not yet open, open, ended, withdrawn or closed; and so for each of its rounds.

Rules
1. It follows from the signed survey, its signed withdrawal, whether it was closed, and the clock: never from answers.
2. What happened last comes first: closed, withdrawn, ended, not yet open, open.
3. A sentence says until when reports are taken.  After the end those that waited on a device are still taken for the
   grace period; then the survey may be closed.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from rrcollect.publish.survey import Survey

STATES = ("not yet open", "open", "ended", "withdrawn", "closed")


def state_of(survey: Survey, *, withdrawn: bool, closed: bool, grace: timedelta, now: datetime) -> dict[str, Any]:
    """The state, a sentence about it, and whether the survey may be closed now.

    >>> from rrcollect import Question, optimal_design
    >>> asked = Question(id="q1", attribute="a", text="Ever?", design=optimal_design(1))
    >>> survey = Survey(name="s", version=1, title="S", publisher="P", collector="carried",
    ...                 expires="2030-01-01T00:00:00Z", questions=[asked])
    >>> def at(year):
    ...     now = datetime(year, 6, 1, tzinfo=UTC)
    ...     return state_of(survey, withdrawn=False, closed=False, grace=timedelta(days=7), now=now)
    >>> at(2029)["state"], at(2029)["words"]
    ('open', 'Open: answers are taken until 2030-01-01 00:00 UTC.')
    >>> at(2031)["state"], at(2031)["may_close"]
    ('ended', True)
    """
    over = survey.expires + grace
    ended, may_close = now >= survey.expires, now >= over and not closed
    late = "nothing is taken any more" if now >= over else f"what waits on a device is taken until {_when(over)}"
    if closed:
        state, words = "closed", "Closed: the counts stay; ids, rows and tickets are deleted, and nothing is taken."
    elif withdrawn:
        state, words = "withdrawn", "Withdrawn by its publisher, for good: nothing is taken any more."
    elif ended:
        state, words = "ended", f"Ended on {_when(survey.expires)}: {late}."
    elif survey.opens is not None and now < survey.opens:
        state, words = "not yet open", f"Not yet open: it opens on {_when(survey.opens)}."
    else:
        state, words = "open", f"Open: answers are taken until {_when(survey.expires)}."
    return {"state": state, "words": words, "may_close": may_close, "rounds": _rounds(survey, now)}


def _rounds(survey: Survey, now: datetime) -> list[dict[str, Any]]:
    """The rounds as signed; one without times of its own is open as long as the survey."""
    found = []
    for number in range(max(question.rounds for question in survey.questions)):
        times = survey.rounds[number] if survey.rounds else None
        opens, closes = (survey.opens, survey.expires) if times is None else (times.opens, times.closes)
        state = "open" if now < closes else "ended"
        if opens is not None and now < opens:
            state = "not yet open"
        said = {"opens": None if opens is None else _iso(opens), "closes": _iso(closes)}
        found.append({"round": number, "state": state, **said})
    return found


def _when(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _iso(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
