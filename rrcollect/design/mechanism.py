"""`Mechanism`: what every published randomisation says of itself.  Nobody asks for its type.

A mechanism turns one of `truths` possible truths into an answer: a text of fixed length that only its mechanism reads.

Rules
1. One spelling.  `to_wire()` is the mechanism as a JSON object, `text` its canonical JSON (RFC 8785); `from_wire` and
   `from_text` of `rrcollect.design` take that spelling and no other.  The text is what rows, ledgers and databases
   hold, so two mechanisms are equal exactly if their texts are.
2. Privacy is read off the mechanism itself: `satisfies`, `loss` and `worst_likelihood_ratio` are decided exactly.
3. `statistic` names what a tally counts of an answer: "ones" is the number of 1 at each character.  A tally has `cells`
   counts.  `column` is one of them seen alone: a yes/no design, 1 with chance p11 if the truth is the cell's own and
   1 − p00 if not.  It is for estimating only.  Its likelihood ratio may be smaller than the mechanism's, so ε never
   comes from it.
4. All answers have the same length, whatever is answered.
5. What the mechanism must choose by its own form, it answers here: how it is drawn, which question it fits, what people
   are told about it.  A new mechanism is a subclass and a row of `rrcollect.design.DESIGNS`.
6. An answer that is repeated marks the person: two who compare reports find the same one.  `values` says how many
   answers there are; ledgers repeat one for another question only if there are few.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from rrcollect.design.parameters import SIGNED, Epsilon, probability
from rrcollect.design.promise import Private, Promise
from rrcollect.design.sampling import Range, Source, bin_of
from rrcollect.design.sentences import Said, Sentences
from rrcollect.design.terms import Blanket, Curve, KindLike
from rrcollect.errors import NotCanonical, OffGridDesign, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from rrcollect.design.terms import Fill

LONGEST_TEXT = 512  # characters of a mechanism's text
GRID = 1 << 64  # a device draws 64 bits; its probabilities are multiples of 1/GRID


class Mechanism(Private):
    """The published randomisation of one question."""

    __slots__ = ()

    choice: Any  # why it was chosen (`corners.Chosen`), None of one that was not; outside equality, hash and wire

    statistic: str  # what a tally counts of an answer (rule 3)

    parts: ClassVar[Mapping[str, type[int] | type[str]]]
    """The names of its exact numbers, in the order in which its class takes them, and the type of each on the wire."""

    @property
    def numbers(self) -> tuple[int | Fraction, ...]:
        """Its exact numbers, as its class takes them: two mechanisms are equal if and only if these are."""
        return tuple(getattr(self, name) for name in self.parts)

    def __repr__(self) -> str:
        shown = (str(number) if isinstance(number, int) else f"'{number}'" for number in self.numbers)
        return f"{type(self).__name__}({', '.join(shown)})"

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} cannot be changed ({name})")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a {type(self).__name__} cannot be changed ({name})")

    def __eq__(self, other: object) -> bool:
        return self is other or self.numbers == other.numbers if isinstance(other, Mechanism) else NotImplemented

    def __hash__(self) -> int:  # equal numbers have equal parts, whose hashes cost less than that of a fraction
        return hash(tuple((number.numerator, number.denominator) for number in self.numbers))

    def __reduce__(self) -> tuple[type[Mechanism], tuple[int | Fraction, ...]]:
        return type(self), self.numbers

    def chosen(self, choice: Any) -> Self:
        """The same mechanism with why it was chosen."""
        made = type(self)(*self.numbers)
        object.__setattr__(made, "choice", choice)
        return made

    # ---- form -------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def truths(self) -> int:
        """How many truths there are to tell: 2 for yes/no."""

    @property
    @abstractmethod
    def values(self) -> int:
        """How many different answers there are: 2 for yes/no.  A report that is repeated carries few bits (rule 6)."""

    @property
    def width(self) -> int:
        """How many characters an answer has: 1 for yes/no."""
        return len(self.blank)

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many counts a tally has."""

    @property
    def rows(self) -> int:
        """How many shares a tally gives."""
        return self.cells

    def row(self, n: int, counts: Sequence[int], number: int) -> tuple[int, int]:
        """(how many answers speak of one share, how many of them say 1), by `column`."""
        return n, counts[number]

    separate: bool = False  # whether the rows are shares of several things, which need not add up to 1

    def options_for(self, many: int = 0) -> int:
        """`many`, if its question can have so many options; else how many it has, as far as it is known."""
        return self.rows

    sums_tell: bool = False  # whether the counts of a tally give back the single answers, however many there are

    @property
    @abstractmethod
    def blank(self) -> str:
        """An answer as long as any other: it stands in a report until one is drawn."""

    @abstractmethod
    def allows(self, answer: str) -> bool:
        """Whether this text is an answer the mechanism can give."""

    @property
    @abstractmethod
    def form(self) -> str:
        """What an answer looks like, in words."""

    @abstractmethod
    def fits(self, kind: KindLike) -> bool:
        """Whether questions of this kind can be asked with it."""

    def to_wire(self) -> dict[str, Any]:
        """The mechanism as a JSON object, fractions in lowest terms: {"p00": "3/4", "p11": "1"}."""
        return {name: kind(getattr(self, name)) for name, kind in sorted(self.parts.items())}

    @classmethod
    def from_wire(cls, value: object) -> Self:
        """The mechanism of its one wire form; anything else is refused."""
        if not isinstance(value, dict) or {name: type(part) for name, part in value.items()} != cls.parts:
            raise ParameterError("design", value, cls.wire_form())
        given = ((name, value[name]) for name in cls.parts)
        made = cls(*(part if type(part) is int else probability(name, part, SIGNED) for name, part in given))
        if made.to_wire() != value:
            raise NotCanonical("a probability of a design is not written in lowest terms, such as '3/4'")
        return made

    @classmethod
    def wire_form(cls) -> str:
        """What its JSON object looks like."""
        named = (f'"{name}": ' + ("…" if kind is int else '"…"') for name, kind in sorted(cls.parts.items()))
        return "{" + ", ".join(named) + "}"

    @property
    def text(self) -> str:
        """The canonical JSON text of `to_wire()`: how rows, ledgers and databases hold a mechanism.

        >>> from rrcollect import Design
        >>> Design("3/4", "3/4").text
        '{"p00":"3/4","p11":"3/4"}'
        """
        return json.dumps(self.to_wire(), separators=(",", ":"), sort_keys=True)

    @property
    @abstractmethod
    def on_grid(self) -> bool:
        """Whether a device can apply it exactly: all its chances are multiples of 1/2^64."""

    @abstractmethod
    def to_grid(self) -> Mechanism:
        """The mechanism a device applies: its chances on the grid, every promise kept."""

    def off_grid(self) -> OffGridDesign:
        """The error for a device that should apply it and cannot."""
        return OffGridDesign(f"{self!r} is off the grid of 1/2^64: a device applies design.to_grid()")

    # ---- privacy ----------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def c(self) -> Fraction:
        """How much of the truth gets through; 1 would be all of it."""

    @property
    def total_variation(self) -> Fraction:
        """The distance between the laws of the two truths that differ most: the least δ at ε = 0, which is |c|."""
        return abs(self.c)

    @property
    def loss(self) -> Promise:
        """What one answer costs: (tight ε, 0), or (0, total variation) if an answer can be a proof; see `promise`.

        >>> from rrcollect import Design
        >>> print(Design("3/4", "3/4").loss, Design(1, "1/20").loss)
        (ε, δ) = (ln(3), 0) (ε, δ) = (0, 1/20)
        """
        tight = self.tight_epsilon
        return Promise(Epsilon(0), self.total_variation) if tight is None else Promise(tight, Fraction(0))

    @abstractmethod
    def telling(self) -> tuple[Fraction, Fraction]:
        """(the greatest ratio of an answer that does not tell the truth by itself, the chance of one that does, at the
        likeliest truth).  An answer tells if its ratio is `PRACTICAL_PROOF` or more."""

    @property
    @abstractmethod
    def most_exposed(self) -> Fraction:
        """The largest share of respondents that answers can expose."""

    @property
    @abstractmethod
    def proof_words(self) -> str:
        """Which answer proves what for certain, in English; "" if none does."""

    @abstractmethod
    def blanket(self) -> Blanket:
        """How a crowd hides one report.  A mechanism that can prove a truth is refused: no crowd hides a proof."""

    # ---- drawing ----------------------------------------------------------------------------------------------

    @abstractmethod
    def draw(self, truth: object, source: Source) -> str:
        """The answer to send instead of a truth, 0 to `truths` − 1 (a bool for yes and no); see `sampling`."""

    def draw_number(self, number: object, bounds: Range, source: Source, *, clip: bool = False) -> str:
        """The answer to send instead of a number within these bounds: of its part of the range."""
        return self.draw(bin_of(number, *bounds, self.truths, clip=clip), source)

    @abstractmethod
    def draw_many(self, truths: Any, fill: Fill) -> Any:
        """An answer for every truth of an array; `fill` fills an array of bytes with random ones."""

    def draw_numbers(self, numbers: Any, bounds: Range, fill: Fill, *, clip: bool = False) -> Any:
        """An answer for every number of an array, as `draw_number`."""
        from rrcollect.design.bulk_bits import bins_of

        return self.draw_many(bins_of(numbers, *bounds, self.truths, clip=clip), fill)

    def below(self, n: int, counts: Sequence[int]) -> Curve:
        """The shares of people below each inner edge of the bins of a number."""
        raise ParameterError("design", self, "one for bins: optimal_design(epsilon, bins=…)")

    within = below  # and in each of the bins

    def draw_packed(self, truths: Any, fill: Fill, n: int | None = None, bitorder: str = "little") -> Any:
        """An answer for each of n truths of yes or no, eight to a byte."""
        raise ParameterError("design", self, "a Design: what bits are drawn with")

    # ---- counting and estimating ------------------------------------------------------------------------------

    @property
    @abstractmethod
    def column(self) -> Any:
        """One cell seen alone, for estimates (rule 3): a `Design`."""

    @property
    def manipulation_factor(self) -> Fraction:
        """1/|c|: one report of n moves a share by at most this over n."""
        return 1 / abs(self.c)

    @abstractmethod
    def check_counts(self, n: int, counts: Sequence[int]) -> tuple[int, ...]:
        """The counts of n answers, if they can be; otherwise a `ParameterError`."""

    def pair_chances(self) -> tuple[Fraction, Fraction]:
        """The chance that two options are both in an answer, if the truth is on their `line`, and if not."""
        return Fraction(0), Fraction(0)

    @abstractmethod
    def answer_ends(self, weights: Sequence[Any]) -> tuple[float, float]:
        """Between what y = Σ weight·(bit − q)/c of one answer lies, q being the chance of a 1 of another option."""

    @abstractmethod
    def counted(self, answers: Any) -> tuple[int, tuple[int, ...]]:
        """(how many answers there are, the counts of a tally of them); answers are given in any form."""

    @abstractmethod
    def texts(self, answers: Any) -> Iterator[str]:
        """The answers as they are sent, one after the other."""

    @abstractmethod
    def unbiased(self, answers: Any) -> NDArray[np.float64]:
        """r for every answer, one per cell (a flat array where there is one cell): E[r | truth] = 1 for the truth's own
        cell and 0 for the others.  So any slice of the records that is chosen without looking at the answers sums
        without bias."""

    @abstractmethod
    def noise(self, answers: Any) -> NDArray[np.float64]:
        """e for every answer, as `unbiased`: unbiased for the variance that the mechanism adds to r."""

    @abstractmethod
    def chances(self, answers: Any) -> NDArray[np.float64]:
        """P(answer | truth) of every answer, one column per truth."""

    # ---- in words ---------------------------------------------------------------------------------------------

    @abstractmethod
    def sentences(self, kind: str = "") -> Sentences:
        """What people read about it, as keys and places of the words; `kind` is the name of the question's kind."""

    @abstractmethod
    def told(self, answer: str, kind: str = "") -> tuple[Said, Said]:
        """(what was sent, what it can tell about the person) of one answer, as `sentences`."""


def checked_design(value: object, name: str = "design") -> Mechanism:
    """The value, if it is a mechanism; otherwise a `ParameterError`.

    >>> checked_design("3/4")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    rrcollect.errors.ParameterError: design is ...: use a Design, SetDesign or BlockDesign: what answers are drawn with
    """
    if not isinstance(value, Mechanism):
        raise ParameterError(name, value, "a Design, SetDesign or BlockDesign: what answers are drawn with")
    return value
