"""Drawn questions: one of many yes/no questions is drawn before the truth is read, and answered at full ε.

The device draws question i with chance w_i, whatever is true; then it answers yes or no to it with Warner's design: the
answer is the truth's with chance p.  The number that is sent is 2i + (1 if "yes" was said).

    SeveralDesign   "all that apply": is option i true of you?  w_i = 1/m
    BinDesign       where a number lies among k = 2^h bins (`bins`): a level l of h, and a row r of 2^l

Rules
1. Of the drawn question the answer has exactly the law of `column` = Design(p, p).  What was drawn tells nothing: it
   does not depend on the truth.  So an answer changes the odds by p/(1 − p) at most, and ε is that of one yes/no.
2. Lemma (δ).  Two truths that differ in the answers to questions of the total chance s tell apart by
   s·max(0, p − E(1 − p)) at most.  `apart` is the greatest s: 1 for several options (somebody of whom all is true,
   somebody of whom nothing is).  For bins it is (h+1)/(2h): two bins share their node down to one level L, where all
   rows tell them apart; on each later level their nodes differ, so exactly half of the rows do; L = 0 is the worst.
3. Row j of a tally is question j alone: n_j answers, of which so many say yes, by the column.
4. Which question an answer speaks of stands in the report.  So a report has 2·(number of questions) values.
5. A draw takes 16 bytes: a number uniform below `ways`, by rejection and never by a remainder that favours somebody,
   from which the question follows; then the 64 bits of the answer.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rrcollect.design.mechanism import GRID
from rrcollect.design.numbered import NumberedMechanism
from rrcollect.design.parameters import NumberLike, probability
from rrcollect.design.sampling import Source, drawn_bit, random_bytes
from rrcollect.design.terms import Blanket
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError, UninformativeDesign

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rrcollect.design.terms import Fill

MOST_TRUTHS = 1024


class DrawnMechanism(NumberedMechanism):
    """One of many yes/no questions, drawn beforehand; see the module."""

    __slots__ = ()
    p: Fraction
    column: Design  # the drawn question's answer

    def _made(self, p: NumberLike, **numbers: int) -> None:
        """Set the numbers; the truth must show."""
        exact = probability("p", p)
        if 2 * exact <= 1:
            raise UninformativeDesign(f"p = {exact} is not above 1/2: no number of answers would show the truth")
        for name, value in (*numbers.items(), ("p", exact), ("choice", None), ("column", Design(exact, exact))):
            object.__setattr__(self, name, value)

    # ---- what the two differ in -------------------------------------------------------------------------------

    @property
    @abstractmethod
    def questions(self) -> int:
        """How many questions there are."""

    @property
    @abstractmethod
    def ways(self) -> int:
        """From how many numbers, all alike, one is drawn (rule 5)."""

    @abstractmethod
    def question_of(self, number: Any) -> Any:
        """The question that such a number draws."""

    @abstractmethod
    def chance(self, question: int) -> Fraction:
        """w_i: how often the question is drawn."""

    @property
    @abstractmethod
    def apart(self) -> Fraction:
        """The chance of a question that tells the two truths apart that differ most (rule 2)."""

    @abstractmethod
    def checked_truth(self, truth: object) -> Any:
        """The truth in the form that `holds` takes; an error that does not show it otherwise."""

    @abstractmethod
    def holds(self, truth: Any, question: int) -> bool:
        """The true answer to a question."""

    # ---- form -------------------------------------------------------------------------------------------------

    @property
    def values(self) -> int:
        """Two for each question (rule 4)."""
        return 2 * self.questions

    @property
    def rows(self) -> int:
        """One for each question."""
        return self.questions

    def row(self, n: int, counts: Sequence[int], number: int) -> tuple[int, int]:
        """The answers to one question, and how many of them say yes."""
        no, yes = counts[2 * number : 2 * number + 2]
        return no + yes, yes

    def __str__(self) -> str:
        return f"one of {self.questions} questions, answered truly with p = {float(self.p):.10g}"

    @property
    def c(self) -> Fraction:
        """2p − 1: how much of the drawn question's truth gets through."""
        return self.column.c

    @property
    def on_grid(self) -> bool:
        """Whether a device can apply it exactly."""
        return self.column.on_grid

    def to_grid(self) -> DrawnMechanism:
        """p lowered to the grid, which keeps every promise."""
        return type(self)(self.numbers[0], Fraction(math.floor(self.p * GRID), GRID))  # type: ignore[call-arg]

    # ---- privacy ----------------------------------------------------------------------------------------------

    def needed(self) -> tuple[tuple[Fraction, Fraction]]:
        """Of the questions that tell two truths apart (rule 2)."""
        return ((self.apart * self.p, self.apart * (1 - self.p)),)

    @property
    def total_variation(self) -> Fraction:
        """Of the two truths that differ most."""
        return self.apart * self.c

    def telling(self) -> tuple[Fraction, Fraction]:
        """All answers are alike: each of them tells, or none."""
        return self.column.telling()

    @property
    def most_exposed(self) -> Fraction:
        """All respondents: each answer exposes, or none."""
        return self.column.most_exposed

    @property
    def proof_words(self) -> str:
        """Each answer proves the truth of what was drawn, if any does."""
        return "each answer proves what is true of the drawn question" if self.p == 1 else ""

    def blanket(self) -> Blanket:
        """Two truths differ only in the questions that tell them apart; every other report is, with the chance that
        its own question is the same and 2(1 − p), a fair coin in its place.  The rarest question is hidden least."""
        if self.p == 1:
            raise ParameterError("design", self, "a design with p below 1: an answer is a proof, and no crowd hides it")
        rarest = min(self.chance(question) for question in (0, self.questions - 1))
        return Blanket(self.apart, rarest * 2 * (1 - self.p), Fraction(1, 2), (1 - self.p, self.p))

    # ---- drawing ----------------------------------------------------------------------------------------------

    def draw(self, truth: object, source: Source) -> str:
        """The drawn question with its answer (rule 5)."""
        given, limits = self.checked_truth(truth), self.column.applied
        drawn = random_bytes(16, source)
        number, accepted = int.from_bytes(drawn[:8], "big"), GRID // self.ways * self.ways
        while number >= accepted:
            number = int.from_bytes(random_bytes(8, source), "big")
        question: int = self.question_of(number % self.ways)
        said = drawn_bit(bool(self.holds(given, question)), limits, lambda _: drawn[8:])
        return self.written(2 * question + int(said))

    def draw_many(self, truths: Any, fill: Fill) -> NDArray[np.int64]:
        """As many single draws: the question of each by a uniform number below `ways`, its answer by the column."""
        import numpy as np

        given, limit = self.checked_truths(truths), GRID // self.ways * self.ways - 1
        drawn = np.zeros(len(given), np.uint64)
        where = np.arange(len(given))
        while where.size:
            fresh = np.zeros(where.size, np.uint64)
            fill(fresh.view(np.uint8))
            drawn[where] = fresh
            where = where[fresh > np.uint64(limit)]
        questions = self.question_of((drawn % np.uint64(self.ways)).astype(np.int64))
        said = self.column.draw_many(self.all_hold(given, questions), fill)
        return np.asarray(2 * questions + said, np.int64)

    @abstractmethod
    def checked_truths(self, truths: Any) -> NDArray[Any]:
        """Many truths in the form that `all_hold` takes; an error that shows none of them otherwise."""

    @abstractmethod
    def all_hold(self, truths: Any, questions: NDArray[np.int64]) -> NDArray[np.bool_]:
        """The true answer of each person to the question drawn for them."""

    # ---- estimating -------------------------------------------------------------------------------------------

    @property
    def manipulation_factor(self) -> Fraction:
        """Whoever lies also chooses the question: one report of n moves its share by at most 1/(c·chance·n)."""
        return 1 / (self.c * min(self.chance(0), self.chance(self.questions - 1)))

    def answer_ends(self, weights: Sequence[Any]) -> tuple[float, float]:
        """Of y = weight·r for the drawn question: r is (0 or 1 − (1 − p))/(c·chance)."""
        each = [(float(weight) / float(self.chance(j)), float(self.c)) for j, weight in enumerate(weights)]
        ends = [scaled * (bit - float(1 - self.p)) / c for scaled, c in each for bit in (0, 1)]
        return min(ends), max(ends)

    def unbiased(self, answers: Any) -> NDArray[np.float64]:
        """(bit − (1 − p))/(c·chance) in the drawn question's row, 0 in the others."""
        import numpy as np

        given, chances = self.as_numbers(answers), np.array([float(self.chance(j)) for j in range(self.questions)])
        table = np.zeros((len(given), self.questions))
        drawn, bits = given // 2, given % 2
        table[np.arange(len(given)), drawn] = (bits - float(1 - self.p)) / (float(self.c) * chances[drawn])
        return table

    def noise(self, answers: Any) -> NDArray[np.float64]:
        """r² − r: the truth of a question is 0 or 1, so E[r²] − truth² = E[r² − r]."""
        found = self.unbiased(answers)
        return found * found - found

    def chances(self, answers: Any) -> NDArray[np.float64]:
        """P(answer | truth), a column per truth, where there are no more than `MOST_TRUTHS`."""
        import numpy as np

        if self.truths > MOST_TRUTHS:
            raise ParameterError("design", self, f"one with at most {MOST_TRUTHS} truths")
        given, people = self.as_numbers(answers), range(self.truths)
        drawn, said = given // 2, given % 2
        own = np.array([[self.holds(truth, question) for truth in people] for question in range(self.questions)])
        weights = np.array([float(self.chance(question)) for question in range(self.questions)])
        kept = own[drawn] == said[:, None]
        return np.asarray(weights[drawn, None] * np.where(kept, float(self.p), float(1 - self.p)))
