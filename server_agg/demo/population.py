"""The made-up people of the demo: who does which sport, and what is true of them.

They answer the survey of `rrcollect publish --template`: three yes/no questions, a choice and a number.  Truths are
drawn with NumPy: this is the world the survey asks about, not the mechanism that answers.  Everybody answers every
question once; the question with two rounds is put to one half of the people in its first round and to the other half in
its second, so that rounds are independent.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

Truth = bool | int | float
SPORTS = {"athletics": 0.35, "cycling": 0.2, "swimming": 0.3, "weightlifting": 0.15}
YES_NO = ("doped", "pressed", "fixed")
CHOICE, NUMBER = "tempted", "hours"
QUESTIONS = (*YES_NO, CHOICE, NUMBER)
SHARES = {
    ("doped", 0): {"athletics": 0.13, "cycling": 0.24, "swimming": 0.08, "weightlifting": 0.36},
    ("pressed", 0): {"athletics": 0.33, "cycling": 0.42, "swimming": 0.24, "weightlifting": 0.5},
    ("pressed", 1): {"athletics": 0.22, "cycling": 0.3, "swimming": 0.17, "weightlifting": 0.36},
    ("fixed", 0): {"athletics": 0.03, "cycling": 0.08, "swimming": 0.02, "weightlifting": 0.05},
}
TEMPTED = {  # by sport the shares of the options, in their order; they add up to 1
    "athletics": (0.15, 0.4, 0.1, 0.2, 0.15),
    "cycling": (0.3, 0.3, 0.1, 0.2, 0.1),
    "swimming": (0.1, 0.4, 0.2, 0.1, 0.2),
    "weightlifting": (0.1, 0.5, 0.1, 0.25, 0.05),
}
LONGEST = 40.0
HOURS = {"athletics": (3.0, 4.5), "cycling": (4.0, 4.0), "swimming": (3.0, 3.0), "weightlifting": (2.0, 4.0)}
"""Hours are 40 times a Beta of these two: within the range, so that their mean is known."""


@dataclass(frozen=True)
class Person:
    """One simulated respondent: a sport, the round of `pressed` they are asked in, and what is true of them."""

    sport: str
    round: int
    truths: dict[str, Truth]

    def asked(self) -> Iterator[tuple[str, int, Truth]]:
        """(question, round, truth) of everything they are asked."""
        for question in QUESTIONS:
            yield question, self.round if question == "pressed" else 0, self.truths[question]


@dataclass(frozen=True)
class Population:
    """The people drawn."""

    people: tuple[Person, ...]

    def _said(self, question: str, round_: int, sport: str | None) -> list[Truth]:
        return [t for p in self.people for q, r, t in p.asked()
                if (q, r) == (question, round_) and sport in (None, p.sport)]  # fmt: skip

    def share(self, question: str, round_: int = 0, sport: str | None = None, option: int | None = None) -> float:
        """Among those who are asked: the share of yes or of an option, or the mean of a number."""
        said = self._said(question, round_, sport)
        return sum(truth if option is None else truth == option for truth in said) / len(said)

    def count(self, question: str, round_: int = 0) -> int:
        """How many are asked."""
        return len(self._said(question, round_, None))


def true_value(question: str, round_: int = 0, sport: str | None = None, option: int | None = None) -> float:
    """In the population the people are drawn from: the share of yes or of an option, or the mean of a number."""
    if sport is None:
        return sum(weight * true_value(question, round_, name, option) for name, weight in SPORTS.items())
    if question == NUMBER:
        a, b = HOURS[sport]
        return LONGEST * a / (a + b)
    return SHARES[question, round_][sport] if option is None else TEMPTED[sport][option]


def drawn_population(size: int) -> Population:
    """`size` people drawn independently; every second one is asked `pressed` in the second round."""
    rng = np.random.default_rng()
    sports = rng.choice(list(SPORTS), size=size, p=list(SPORTS.values())).tolist()
    luck = rng.random((size, len(YES_NO)))
    others = zip(*_choices_and_hours(rng, sports), strict=True)
    people = []
    for place, (sport, (chosen, hours)) in enumerate(zip(sports, others, strict=True)):
        rounds = {"doped": 0, "pressed": place % 2, "fixed": 0}
        truths: dict[str, Truth] = {q: bool(luck[place, i] < SHARES[q, rounds[q]][sport]) for i, q in enumerate(YES_NO)}
        people.append(Person(sport, place % 2, {**truths, CHOICE: chosen, NUMBER: hours}))
    return Population(tuple(people))


def _choices_and_hours(rng: np.random.Generator, sports: Sequence[str]) -> tuple[list[int], list[float]]:
    chosen = [int(rng.choice(5, p=TEMPTED[sport])) for sport in sports]
    return chosen, [float(LONGEST * rng.beta(*HOURS[sport])) for sport in sports]


def sample_csv(size: int) -> str:
    """Made-up people as a CSV file, all asked in the first round; nobody has the name of anybody made up before."""
    rng = np.random.default_rng()
    sports = rng.choice(list(SPORTS), size=size, p=list(SPORTS.values())).tolist()
    luck = rng.random((size, len(YES_NO)))
    lines = [",".join(["person", "sport", *YES_NO])]
    for sport, chances in zip(sports, luck, strict=True):
        said = ["yes" if x < SHARES[q, 0][sport] else "no" for q, x in zip(YES_NO, chances, strict=True)]
        lines.append(",".join([secrets.token_hex(8), sport, *said]))
    return "\n".join(lines) + "\n"
