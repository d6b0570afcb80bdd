"""What the surveys allow, numbered: the small tables every engine judges rows by.

Rules
1. Which segments a report may declare is a list of texts: the canonical JSON of every allowed combination.  If there
   are more than `MOST_TEXTS` the texts that occur are looked up in the source and judged one by one (`discover`).
2. Questions and texts are numbered from 1; 0 stands for one that is not known.  What is counted together has one
   number, a `code`, made of question, round and segments; equal codes and equal answers mean equal reports but for the
   id and the ticket.  A code is below 2^63.
3. Where answers have few texts (`NARROW`) every engine counts reports by text, and `statistic` says what that means
   for the counts of a tally; of longer ones the engine itself counts, in how many reports each character is 1.
4. An engine judges answers by its table of statistics, with data of the mechanism: its width, and how many 1 it fixes.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from operator import add

from rrcollect.design.mechanism import Mechanism
from rrcollect.publish.canonical import canonical, read_canonical
from rrcollect.publish.question import MOST_ROUNDS, Question
from rrcollect.publish.report import LARGEST_REPORT, declared
from rrcollect.publish.survey import Survey
from server_agg.count.statistics import counts_of_texts
from server_agg.count.tallies import Tallies, TallyKey
from server_agg.count.tally import Tally

MOST_TEXTS = 20_000
NARROW = 12  # bits; so wide an answer has at most C(12, 6) = 924 texts


@dataclass
class CountedAnswers:
    """Accepted reports of one code: how many, how often each short text was answered, and the counts of long ones."""

    n: int = 0
    texts: Counter[str] = field(default_factory=Counter)
    long: list[int] = field(default_factory=list)

    def counts(self, design: Mechanism) -> list[int]:
        """The counts of a tally."""
        short = counts_of_texts(self.texts, design)
        return list(map(add, short, self.long)) if self.long and design.width > NARROW else short


@dataclass(frozen=True)
class SurveyTables:
    """The questions of all surveys and the texts of segments they allow, each with its number."""

    surveys: Mapping[str, Survey]
    questions: tuple[tuple[str, Question], ...]
    texts: tuple[tuple[str, str], ...] = field(repr=False)
    enumerated: bool = True

    @classmethod
    def of(cls, surveys: Iterable[Survey]) -> SurveyTables:
        """The tables of these surveys."""
        by_digest = {survey.digest: survey for survey in surveys}
        questions = tuple((digest, question) for digest, survey in by_digest.items() for question in survey.questions)
        many = sum(
            math.prod(len(values) + 1 for values in survey.segment_values.values()) for survey in by_digest.values()
        )
        if many > MOST_TEXTS:
            return cls(by_digest, questions, (), enumerated=False)
        texts = [
            (digest, text) for digest, survey in by_digest.items() for text in _combinations(survey.segment_values)
        ]
        return cls(by_digest, questions, tuple(pair for pair in texts if len(pair[1].encode()) <= LARGEST_REPORT))

    def discover(self, seen: Iterable[tuple[str | None, str | None]]) -> SurveyTables:
        """The same with the allowed ones of the (survey, segments) pairs seen as texts."""
        pairs = ((digest, text) for digest, text in seen if digest and digest in self.surveys and text)
        allowed = {(digest, text) for digest, text in pairs if declared(text, self.surveys[digest])}
        return SurveyTables(self.surveys, self.questions, tuple(sorted(allowed)))

    @property
    def by_invitation(self) -> bool:
        """Whether any survey wants tickets."""
        return any(survey.invite_only for survey in self.surveys.values())

    @property
    def width(self) -> int:
        """How many characters the widest answer has."""
        return max((question.design.width for _, question in self.questions), default=1)

    @property
    def wide(self) -> bool:
        """Whether some answers have so many texts that they are counted by character, not by text."""
        return self.width > NARROW

    @property
    def places(self) -> int:
        """How many codes a question and round has: one for each text, and 0."""
        return len(self.texts) + 1

    @property
    def codes(self) -> int:
        """One more than the largest code."""
        return (len(self.questions) + 1) * MOST_ROUNDS * self.places

    def code(self, content: str) -> int:
        """The code of `survey|question|round|segments`."""
        digest, question, round_, text = content.split("|", 3)
        numbers, places = self._numbered
        return (numbers[digest, question] * MOST_ROUNDS + int(round_)) * self.places + places[digest, text]

    @cached_property
    def _numbered(self) -> tuple[dict[tuple[str, str], int], dict[tuple[str, str], int]]:
        """The numbers of questions and of texts."""
        asked = ((digest, question.id) for digest, question in self.questions)
        return {name: i for i, name in enumerate(asked, start=1)}, {pair: i for i, pair in enumerate(self.texts, 1)}

    def tallies(self, counted: Mapping[int, CountedAnswers]) -> Tallies:
        """The tallies of accepted reports by their codes."""
        found = {}
        for code, answers in counted.items():
            asked, place = divmod(code, self.places)
            number, round_ = divmod(asked, MOST_ROUNDS)
            digest, question = self.questions[number - 1]
            segments = tuple(read_canonical(self.texts[place - 1][1].encode(), LARGEST_REPORT).items())
            key = TallyKey(digest, question.id, question.design, segments, round_, self.surveys[digest].pilot)
            found[key] = Tally(question.design, answers.n, answers.counts(question.design))
        return Tallies(found)


def _combinations(declared: Mapping[str, tuple[str, ...]]) -> Iterable[str]:
    """The canonical text of every choice of at most one value for each segment.

    >>> list(_combinations({"region": ("north", "south")}))
    ['{}', '{"region":"north"}', '{"region":"south"}']
    """
    choices = [[None, *values] for values in declared.values()]
    for chosen in itertools.product(*choices):
        yield canonical({n: v for n, v in zip(declared, chosen, strict=True) if v is not None}).decode()
