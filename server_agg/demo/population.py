"""The made-up people of the demo: who does which sport, and what is true of them.

They answer the survey of `rrcollect publish --template`.  Truths are drawn with NumPy: this is the world the survey
asks about, not the mechanism that answers.  Everybody answers every question once; the question with two rounds is put
to one half of the people in its first round and to the other half in its second, so that rounds are independent.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

__all__ = ["QUESTIONS", "SPORTS", "Person", "Population", "drawn_population", "sample_csv", "true_share"]

SPORTS = {"athletics": 0.35, "cycling": 0.2, "swimming": 0.3, "weightlifting": 0.15}
QUESTIONS = ("doped", "pressed", "fixed")
SHARES = {
    ("doped", 0): {"athletics": 0.13, "cycling": 0.24, "swimming": 0.08, "weightlifting": 0.36},
    ("pressed", 0): {"athletics": 0.33, "cycling": 0.42, "swimming": 0.24, "weightlifting": 0.5},
    ("pressed", 1): {"athletics": 0.22, "cycling": 0.3, "swimming": 0.17, "weightlifting": 0.36},
    ("fixed", 0): {"athletics": 0.03, "cycling": 0.08, "swimming": 0.02, "weightlifting": 0.05},
}


@dataclass(frozen=True)
class Person:
    """One simulated respondent: a sport, the round of `pressed` they are asked in, and what is true of them."""

    sport: str
    round: int
    truths: dict[str, bool]

    def asked(self) -> Iterator[tuple[str, int, bool]]:
        """(question, round, truth) of everything they are asked."""
        for question in QUESTIONS:
            yield question, self.round if question == "pressed" else 0, self.truths[question]


@dataclass(frozen=True)
class Population:
    """The people drawn."""

    people: tuple[Person, ...]

    def share(self, question: str, round_: int = 0, sport: str | None = None) -> float:
        """The share of yes among those who are asked."""
        said = [t for p in self.people for q, r, t in p.asked()
                if (q, r) == (question, round_) and sport in (None, p.sport)]  # fmt: skip
        return sum(said) / len(said)

    def count(self, question: str, round_: int = 0) -> int:
        """How many are asked."""
        return sum((q, r) == (question, round_) for p in self.people for q, r, _ in p.asked())


def true_share(question: str, round_: int = 0, sport: str | None = None) -> float:
    """The share of yes in the population the people are drawn from."""
    shares = SHARES[question, round_]
    if sport is not None:
        return shares[sport]
    return sum(weight * shares[name] for name, weight in SPORTS.items())


def drawn_population(size: int) -> Population:
    """`size` people drawn independently; every second one is asked `pressed` in the second round."""
    rng = np.random.default_rng()
    sports = rng.choice(list(SPORTS), size=size, p=list(SPORTS.values()))
    luck = rng.random((size, len(QUESTIONS)))
    people = []
    for place, sport in enumerate(sports.tolist()):
        rounds = {"doped": 0, "pressed": place % 2, "fixed": 0}
        truths = {q: bool(luck[place, i] < SHARES[q, rounds[q]][sport]) for i, q in enumerate(QUESTIONS)}
        people.append(Person(sport, place % 2, truths))
    return Population(tuple(people))


def sample_csv(size: int) -> str:
    """Made-up people as a CSV file, all asked in the first round; nobody has the name of anybody made up before."""
    rng = np.random.default_rng()
    sports = rng.choice(list(SPORTS), size=size, p=list(SPORTS.values())).tolist()
    luck = rng.random((size, len(QUESTIONS)))
    lines = [",".join(["person", "sport", *QUESTIONS])]
    for sport, chances in zip(sports, luck, strict=True):
        said = ["yes" if x < SHARES[q, 0][sport] else "no" for q, x in zip(QUESTIONS, chances, strict=True)]
        lines.append(",".join([secrets.token_hex(8), sport, *said]))
    return "\n".join(lines) + "\n"
