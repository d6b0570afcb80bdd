"""What the surveys allow, numbered: the small tables every engine judges rows by.

Rules
1. A survey is the owner's own `Survey` or `Publication`, or the bytes of an envelope; those are verified under the
   keys the caller trusts before anything in them is believed.
2. Which segments a report may declare is a list of texts: the canonical JSON of every allowed combination.  If there
   are more than `MOST_TEXTS` the texts that occur are looked up in the source and judged one by one (`discover`).
3. What is counted together has one number, a `code`, made of question, round, answer, segments and "has an invite";
   equal codes mean equal reports but for the id and the invite.  A code is below 2^63.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from rrcollect.errors import ParameterError, SurveyRefused
from rrcollect.publish.canonical import canonical, read_canonical
from rrcollect.publish.envelope import verify
from rrcollect.publish.keys import PublicKey
from rrcollect.publish.publication import Publication
from rrcollect.publish.survey import MOST_ROUNDS, Question, Survey
from server_agg.count.tallies import Tallies, TallyKey
from server_agg.count.tally import Tally

__all__ = ["Published", "SurveyLike", "surveys_of"]

MOST_TEXTS = 20_000
LONGEST_TEXT = 65_536  # bytes of a segments text that is still looked at

SurveyLike = Survey | Publication | bytes


def surveys_of(given: SurveyLike | Iterable[SurveyLike], trusted: Iterable[PublicKey] = ()) -> tuple[Survey, ...]:
    """The surveys given one by one or as a list; envelopes are verified under the trusted keys."""
    listed = [given] if isinstance(given, (Survey, Publication, bytes)) else list(given)
    keys = list(trusted)
    found: dict[str, Survey] = {}
    for one in listed:
        if isinstance(one, Survey):
            survey = one
        elif isinstance(one, Publication):
            survey = one.survey
        elif isinstance(one, bytes):
            if not keys:
                raise ParameterError("trusted", keys, "the publisher's public keys, to verify an envelope with")
            survey = Survey.from_payload(verify(one, keys).payload)
        else:
            raise ParameterError("surveys", one, "Survey, Publication, or the bytes of an envelope with trusted keys")
        found[survey.digest] = survey
    return tuple(found.values())


@dataclass(frozen=True)
class Published:
    """The questions of all surveys and the segments texts they allow, each with its number."""

    surveys: Mapping[str, Survey]
    questions: tuple[tuple[str, Question], ...]
    texts: tuple[tuple[str, str], ...] = field(repr=False)
    enumerated: bool = True

    @classmethod
    def of(cls, surveys: Iterable[Survey]) -> Published:
        """The tables of these surveys."""
        by_digest = {survey.digest: survey for survey in surveys}
        questions = tuple((digest, question) for digest, survey in by_digest.items() for question in survey.questions)
        many = sum(math.prod(len(v) + 1 for v in survey.segments.values()) for survey in by_digest.values())
        if many > MOST_TEXTS:
            return cls(by_digest, questions, (), enumerated=False)
        texts = ((digest, text) for digest, survey in by_digest.items() for text in _combinations(survey.segments))
        return cls(by_digest, questions, tuple(texts))

    def discover(self, seen: Iterable[tuple[str | None, str | None]]) -> Published:
        """The same with the allowed ones of the (survey, segments) pairs seen as texts."""
        allowed = {(survey, text) for survey, text in seen if survey and text and self.allows(survey, text)}
        return Published(self.surveys, self.questions, tuple(sorted(allowed)))

    def allows(self, survey: str, text: str) -> bool:
        """Whether a report to the survey may carry this segments text."""
        declared = self.surveys[survey].segments if survey in self.surveys else {}
        try:
            value = read_canonical(text.encode(), LONGEST_TEXT)
        except (SurveyRefused, UnicodeEncodeError):
            return False
        return isinstance(value, dict) and all(value[name] in declared.get(name, ()) for name in value)

    @property
    def by_invitation(self) -> bool:
        """Whether any survey wants invites."""
        return any(survey.invite_only for survey in self.surveys.values())

    @property
    def codes(self) -> int:
        """One more than the largest code."""
        return len(self.questions) * MOST_ROUNDS * 4 * max(len(self.texts), 1)

    def code(self, content: str) -> int:
        """The code of `survey|question|round|answer|segments`, of a report without an invite."""
        digest, question_id, round_, answer, text = content.split("|", 4)
        number, place = self._numbers[digest, question_id], self._places[digest, text]
        return ((number * MOST_ROUNDS + int(round_)) * 2 + int(answer)) * max(len(self.texts), 1) * 2 + place * 2

    @cached_property
    def _numbers(self) -> dict[tuple[str, str], int]:
        return {(digest, question.id): i for i, (digest, question) in enumerate(self.questions)}

    @cached_property
    def _places(self) -> dict[tuple[str, str], int]:
        return {pair: i for i, pair in enumerate(self.texts)}

    def tallies(self, counted: Mapping[int, int]) -> Tallies:
        """The tallies of how many accepted reports had each code."""
        sums: dict[TallyKey, list[int]] = {}
        for code, n in counted.items():
            rest, place = divmod(code // 2, max(len(self.texts), 1))
            rest, answer = divmod(rest, 2)
            number, round_ = divmod(rest, MOST_ROUNDS)
            digest, question = self.questions[number]
            text = self.texts[place][1]
            segments = tuple(read_canonical(text.encode(), LONGEST_TEXT).items())
            found = sums.setdefault(TallyKey(digest, question.id, question.design, segments, round_), [0, 0])
            found[0] += n
            found[1] += n * answer
        return Tallies({key: Tally(key.design, n, ones) for key, (n, ones) in sums.items()})


def _combinations(declared: Mapping[str, list[str]]) -> Iterable[str]:
    """The canonical text of every choice of at most one value for each segment.

    >>> list(_combinations({"region": ["north", "south"]}))
    ['{}', '{"region":"north"}', '{"region":"south"}']
    """
    choices = [[None, *values] for values in declared.values()]
    for chosen in itertools.product(*choices):
        yield canonical({n: v for n, v in zip(declared, chosen, strict=True) if v is not None}).decode()
