"""What is said beside results: when they were released, what is not shown and why, what a crowd and what fakes do.

Rules
1. Whole sentences, for people; the page, the command line and the demo print them as they are.
2. What is said of a release depends on the release and the signed survey alone.  How many answers wait is not said.
3. What the crowd adds is said in addition to the local ε, with its conditions, and never instead of it.  Of answers
   that another tool carried it is not said: there a row joins what one person answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rrcollect.design.mechanism import Mechanism
from rrcollect.design.promise import Promise
from rrcollect.publish.document import CARRIED
from rrcollect.publish.question import Question
from rrcollect.publish.survey import Survey
from server_agg.estimates.central_privacy import central_privacy
from server_agg.results.row import SHARES, Scale

MIXED = ""  # the value of a segment that released answers are not told apart by; no survey can declare it
NOT_TOLD = "Others together"
DELTA = "1e-6"  # of what the crowd adds
FAKES = (10, 100)
LIVE = (
    "This is the owner's live view: everything counted so far. Each look costs: a bar holds for one look that was "
    "planned beforehand. Of 100 surveys that are looked at after each of 1,000 answers, 37 show the truth outside "
    "their 95 % bar at some time."
)
LOOKING = (
    "This is the owner's live view: everything counted so far. Its bars allow for looking: they hold at all looks at "
    "once, however often you look and whenever you stop, if those who answer later are like those who answered before; "
    "so they are wider than those of a release. In a table by group this holds as long as the same groups are merged. "
    "The p-value of a trend, and what is said to fit badly, hold for one look that was planned beforehand."
)
ADDS = "In addition to the local promise"
CROWD = (
    "What the crowd adds holds against whoever sees the released counts, not against whoever sees reports arrive. It "
    "is that of the smallest crowd that became visible at once; somebody who answers several questions or rounds adds "
    "them up; all others of the crowd randomised as the survey says, and nothing links a report to a person."
)
LINKED = "Answers carry tickets made from invites: whoever issued the invites can tell which answers came from one."
ANONYMOUS = (
    "Answers carry tokens: neither the issuer nor the collector can tell from them whose answer it is, among the "
    "people who were given tokens for this same survey.  The issuer could make answers up."
)
JOINED = (
    "Nothing is said about what a crowd adds: the tool that carried these answers can tell which ones come from one "
    "person. The local promises add up."
)


@dataclass(frozen=True)
class ReleaseFacts:
    """A release: its number, when it was made, the round its headline shows (None: the whole), and by question the
    fewest answers that ever became visible as one sum; where there is an issuer, how many people it served."""

    number: int
    at: datetime
    headline: int | None
    crowds: Mapping[str, int]
    issued: int | None = None

    @property
    def when(self) -> str:
        """The time, to the minute, UTC."""
        return self.at.strftime("%Y-%m-%dT%H:%MZ")


def release_words(facts: ReleaseFacts | None, survey: Survey) -> list[str]:
    """What a stranger should know of a release."""
    whole = f"Answers are published in whole crowds of {survey.minimum:,}"
    if facts is None:
        return [f"Nothing was released yet. {whole}, when the owner releases them."]
    return [
        f"Released on {facts.at:%Y-%m-%d %H:%M} UTC (release {facts.number}). Nothing changes before the next one.",
        f"{whole}, drawn by chance from those that came; the last few are never published.",
    ]


def token_words(survey: Survey, counted: Mapping[str, int], issued: int | None) -> list[str]:
    """What tokens mean for these results, and whether more were spent than issued; `counted` by place.

    The number that is released lags behind by less than the minimum.

    >>> from types import SimpleNamespace
    >>> of = SimpleNamespace(issuer=True, invite_only=True, minimum=30)
    >>> [len(token_words(of, {"q1/0": n}, 100)) for n in (129, 130)]
    [1, 2]
    """
    if survey.issuer is None:
        return [LINKED] if survey.invite_only else []
    if issued is None:
        return [ANONYMOUS]
    found = [f"{ANONYMOUS}  {issued:,} people were given tokens."]
    place = max(counted, key=lambda one: counted[one], default=None)
    if place is not None and counted[place] >= issued + survey.minimum:
        found.append(
            f"Misfit: {counted[place]:,} answers were counted in one place, and {issued:,} people were given tokens: "
            "somebody with the issuer's secret made answers up, or the secret was stolen."
        )
    return found


def waiting_words(minimum: int, rounds: int, fullest: int | None) -> str:
    """Why a question has no estimate; `fullest` is how many answers its fullest round has, for the owner alone."""
    if fullest is None:
        return f"Nothing is released of this question yet: a release publishes whole crowds of {minimum:,} answers."
    if rounds == 1:
        return f"{fullest:,} of the {minimum:,} answers needed before anything is shown."
    return f"A round needs {minimum:,} answers before anything is shown; the fullest has {fullest:,}."


def missing_words(values: Iterable[str], shown: Iterable[str], minimum: int) -> str:
    """Which groups of a segment a release does not show, and what "Others together" are; "" if it shows all.

    Whether a group that is not shown has answers is not known here and not said: a few would then be told from none.

    >>> missing_words(["run", "ski", "golf"], ["run"], 30)
    'A group is shown from 30 answers on; ski and golf are not shown.'
    """
    seen = set(shown)
    missing = [value for value in values if value not in seen]
    said = []
    if missing:
        listed = missing[0] if len(missing) == 1 else f"{', '.join(missing[:-1])} and {missing[-1]}"
        said.append(
            f"A group is shown from {minimum:,} answers on; {listed} {'is' if len(missing) == 1 else 'are'} not shown."
        )
    if NOT_TOLD in seen:
        said.append(f"“{NOT_TOLD}” are answers that are not told apart by group, so that nobody is found among few.")
    return " ".join(said)


def promise_words(promise: Promise) -> str:
    """The local promise as it was signed, the one ε that is told of a question.

    >>> from rrcollect import Design
    >>> promise_words(Design("3/4", "3/4").loss)
    'ε = 1.099'
    """
    delta = f", δ = {float(promise.delta):.3g}" if promise.delta else ""
    return f"ε = {float(promise.epsilon):.4g}{delta}"


def crowd_words(design: Mechanism, n: int, promise: Promise | None = None) -> str:
    """What a crowd of n adds to the local promise, without one to the tight loss of the design.

    >>> from rrcollect import Design
    >>> crowd_words(Design("3/4", "3/4"), 1000)  # doctest: +ELLIPSIS
    'In addition to the local promise (ε = 1.099), which needs no trust, the crowd: who sees the released counts ...
    >>> crowd_words(Design(1, "1/20"), 1000)
    'The crowd adds nothing to the local promise: a "yes" is a proof.'
    """
    if design.proof_words:
        return f"The crowd adds nothing to the local promise: {design.proof_words}."
    central, local = central_privacy(design, n, DELTA), promise_words(promise or design.loss)
    if central > 0.99 * design.epsilon():
        return f"A crowd of {n:,} is too small to add to the local promise ({local})."
    return (
        f"{ADDS} ({local}), which needs no trust, the crowd: who sees the "
        f"released counts alone learns about one person no more than ε = {_up(central)} allows, δ = {DELTA} "
        f"(n = {n:,})."
    )


def conditions(notes: Iterable[str]) -> list[str]:
    """The conditions of what the crowd adds, if some note says that it adds something."""
    return [CROWD] if any(note.startswith(ADDS) for note in notes) else []


def fakes_words(design: Mechanism, n: int, scale: Scale = SHARES) -> str:
    """What fakes among n answers would do where no invitation guards a survey.

    >>> from rrcollect import Design
    >>> fakes_words(Design("3/4", "3/4"), 500)  # doctest: +ELLIPSIS
    'Without invitations one person can send many answers: ... 2.00 points, 10 fakes by up to 4.00, 100 ... 40.00.'
    """
    factor, what, unit = _moved(design, scale)
    counted = "".join(f", {many} fakes by up to {many / n * factor:.2f}" for many in FAKES if many < n)
    return (
        "Without invitations one person can send many answers: if 1 % of the answers were fakes, they could move "
        f"{what} by up to {factor / 100:.2f}{unit}{counted}."
    )


def dishonest_words(design: Mechanism, scale: Scale = SHARES) -> str:
    """What invited people could do who do not follow the protocol.

    >>> from rrcollect import Design
    >>> dishonest_words(Design("3/4", "3/4"))
    'If 1 % of those who answered sent what they liked, they could move this estimate by up to 2.00 points.'
    """
    factor, what, unit = _moved(design, scale)
    return (
        f"If 1 % of those who answered sent what they liked, they could move {what} by up to {factor / 100:.2f}{unit}."
    )


def question_notes(
    survey: Survey,
    question: Question,
    shown: dict[str, Any],
    scale: Scale,
    rounds: list[int],
    *,
    release: ReleaseFacts | None,
) -> tuple[list[str], list[str]]:
    """What is said of a question: what must be read beside its estimate, which is about these rounds, and what belongs
    to the method."""
    beside, method = [], []
    if shown["round"] is None:
        beside.append(_rounds_words(rounds, question.rounds))
        if survey.segments:
            method.append(
                "Each round weighs by its answers. Tables by group are of one round, if the owner chooses it for the "
                "headline."
            )
    if question.panel:
        beside.append(
            "Each device answered in one round, which it drew by chance beforehand: the rounds are of different people."
        )
    if survey.ask == "one":
        beside.append(
            "Each device was asked one of the survey's questions, which it drew by chance beforehand: those who "
            "answered this one are a fair sample of all."
        )
    if survey.invite_only:
        shown["estimate"]["dishonest"] = dishonest_words(question.design, scale)
    else:
        method.append(fakes_words(question.design, shown["estimate"]["n"], scale))
    if release is not None:
        for table in shown["segments"]:
            called, part = table["labels"], table["options"][0] if "options" in table else table
            rows = [called.get(row["label"], row["label"]) for row in part["rows"]]
            table["missing"] = missing_words(called.values(), rows, survey.minimum)
            if table["missing"]:
                method.append(f"By {table['label']}: {table['missing']}")
        crowd = release.crowds.get(question.id, survey.minimum)
        method.append(JOINED if survey.collector == CARRIED else crowd_words(question.design, crowd, question.promise))
    return [note for note in beside if note], method


def _rounds_words(found: list[int], asked: int) -> str:
    """Which rounds the headline is about.

    >>> _rounds_words([0, 1, 2], 3), _rounds_words([0, 2], 3), _rounds_words([1], 3)
    ('All 3 rounds together.', 'Rounds 1 and 3 of 3 together.', 'Round 2 of 3.')
    """
    if len(found) == asked:
        return f"All {asked} rounds together."
    numbers = [str(number + 1) for number in found]
    if len(numbers) == 1:
        return f"Round {numbers[0]} of {asked}."
    return f"Rounds {', '.join(numbers[:-1])} and {numbers[-1]} of {asked} together."


def _moved(design: Mechanism, scale: Scale) -> tuple[float, str, str]:
    """By how much all answers together could move what, in which unit."""
    factor = (100 if scale.is_share else scale.span) * float(design.manipulation_factor)
    what = "the share of one option" if design.cells > 1 else "this estimate"
    return factor, what, f" {'points' if scale.is_share else scale.unit}".rstrip()


def _up(epsilon: float) -> str:
    """Three digits, rounded up."""
    text = f"{epsilon:.3g}"
    return text if float(text) >= epsilon else f"{float(text) * (1 + 1e-2):.3g}"
