"""`BlockDesign`: one of very many options, sent as the number of a block.

The options are the points of the projective space PG(t−1, q), q prime; the blocks are its hyperplanes.  There are

    k = (q^t − 1)/(q − 1) points and as many blocks,    ω = (q^(t−1) − 1)/(q − 1) points in a block,
    λ = (q^(t−2) − 1)/(q − 1) blocks that hold two given points,    λ₃ = (q^(t−3) − 1)/(q − 1) three not on a line.

The device sends a uniform block that holds the truth with chance p, else a uniform block that does not [PNL23]: what
follows is that of sets of ω of k options (`balanced`), in about log10 k digits instead of k characters.

Rules
1. A point is a vector whose first coordinate that is not 0 is 1.  Points are numbered by where that is, then by the
   digits behind it, read as a number to the base q; so are blocks, by the vectors that they are orthogonal to.
2. A question may have fewer options than there are points.  The others are never true: ε stays tight, the shares of the
   real ones unbiased, and those of the others are 0, which is a test of misfit.
3. Draw: 64 bits say whether the truth is in the block (D < P); one whole number V below (m − 1)m, m = q^(t−1), drawn as
   in `sampling`, gives V div m + 1 and V mod m.  The digits of the first if it is in, of the second if not, are all
   coordinates of u but the one where the truth v has its first 1, which is solved for: u·v = 0 if v is in, else 1.
   Every block that holds v is spanned by q − 1 such u ≠ 0, every other by exactly one: uniform in both cases.  Both
   numbers are always drawn, and the same steps follow.
4. An answer is the number of the block in as many decimal digits as the largest has.
5. A device applies p on the grid of 1/2^64; lowering p keeps every promise.
6. q^t is at most 2^28: so are the points of the transform that counts are read with.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rrcollect.design.balanced import Balanced
from rrcollect.design.mechanism import GRID
from rrcollect.design.parameters import NumberLike, probability, whole_number
from rrcollect.design.sampling import Source, drawn_below, option_index
from rrcollect.design.sentences import Said, Sentences, block_sentences, block_told
from rrcollect.design.space import LARGEST_SPACE, Space, digits_of, is_prime
from rrcollect.design.terms import KindLike
from rrcollect.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from rrcollect.design.bulk_blocks import ChosenBlocks
    from rrcollect.design.terms import Fill

MOST_CELLS = 1 << 24  # of a table with a column for every option


class BlockDesign(Balanced):
    """A block of PG(`dimension` − 1, `field`), the truth in it with chance `p`.

    >>> design = BlockDesign(3, 3, "3/5")
    >>> design.truths, design.size, design.c, design.worst_likelihood_ratio
    (13, 4, Fraction(19, 60), Fraction(27, 8))
    >>> design.text
    '{"dimension":3,"field":3,"p":"3/5"}'
    """

    __slots__ = ("choice", "dimension", "field", "limit", "p", "size", "truths")
    field: int
    dimension: int
    truths: int
    parts = MappingProxyType({"field": int, "dimension": int, "p": str})
    limit: int | None  # P on 2^64; None off the grid
    statistic = "blocks"
    sums_tell = True  # the counts of a tally are how often each answer was given

    def __init__(self, field: int, dimension: int, p: NumberLike) -> None:
        q, t, exact = whole_number("field", field, 2), whole_number("dimension", dimension, 3), probability("p", p)
        if q > LARGEST_SPACE or not is_prime(q):
            raise ParameterError("field", field, "a prime number")
        if t > LARGEST_SPACE.bit_length() or q**t > LARGEST_SPACE:
            raise ParameterError("dimension", dimension, f"one whose space has at most 2^28 vectors: {q}^{t} are more")
        k, w, *_ = Space(q, t).sizes
        scaled = exact * GRID
        found = {"field": q, "dimension": t, "p": exact, "choice": None, "truths": k, "size": w}
        for name, value in (*found.items(), ("limit", int(scaled) if scaled.denominator == 1 else None)):
            object.__setattr__(self, name, value)
        self.check_informative()

    def __str__(self) -> str:
        held = f"the truth in it with p = {float(self.p):.10g}"
        return f"a block of {self.size} of {self.truths} options (PG({self.dimension - 1}, {self.field})), {held}"

    @property
    def space(self) -> Space:
        """The space whose points are the options."""
        return Space(self.field, self.dimension)

    # ---- form -------------------------------------------------------------------------------------------------

    @property
    def values(self) -> int:
        """As many blocks as options."""
        return self.truths

    @property
    def cells(self) -> int:
        """One count per block."""
        return self.truths

    @property
    def blank(self) -> str:
        """The first block.

        >>> BlockDesign(3, 3, "3/5").blank
        '00'
        """
        return "0" * len(str(self.truths - 1))

    def allows(self, answer: str) -> bool:
        """Whether this text is an answer: the number of a block, with all its digits."""
        digits = len(answer) == self.width and answer.isascii() and answer.isdigit()
        return digits and int(answer) < self.truths

    @property
    def form(self) -> str:
        """Which numbers."""
        return f"the number of a block in {self.width} digits, {self.blank} to {self.truths - 1}"

    def options_for(self, many: int = 0) -> int:
        """Any number of options up to its own (rule 2); if none is said, what it was chosen for."""
        asked = self.truths if self.choice is None else int(self.choice.options)
        return many if 2 <= many <= self.truths else asked

    def fits(self, kind: KindLike) -> bool:
        """A choice of as many options or fewer."""
        return kind.kind == "choice" and self.options_for(kind.option_count) == kind.option_count

    @property
    def on_grid(self) -> bool:
        """Whether a device can apply it exactly (rule 5)."""
        return self.limit is not None

    def to_grid(self) -> BlockDesign:
        """The design a device applies: p lowered to the grid."""
        return BlockDesign(self.field, self.dimension, Fraction(math.floor(self.p * GRID), GRID))

    @property
    def applied_limit(self) -> int:
        """The number a device compares its draws with; an error if no device applies this design."""
        if self.limit is None:
            raise self.off_grid()
        return self.limit

    # ---- drawing ----------------------------------------------------------------------------------------------

    def draw(self, truth: object, source: Source) -> str:
        """The number of one block instead of an option's number (rule 3)."""
        weight, tail = self.space.place(option_index(truth, self.truths))
        q, m = self.field, self.field ** (self.dimension - 1)
        inside, number = drawn_below(self.applied_limit, m * (m - 1), source)
        held, other = divmod(number, m)
        high, low = divmod(other + inside * (held + 1 - other), weight)
        solved = (1 - inside - self.space.product(low, tail)) % q
        return f"{self.space.number((high * q + solved) * weight + low):0{self.width}d}"

    def draw_many(self, truths: Any, fill: Fill) -> ChosenBlocks:
        """A block for every option's number."""
        from rrcollect.design.bulk_blocks import drawn_blocks

        return drawn_blocks(truths, self, self.applied_limit, fill)

    # ---- counting and estimating ------------------------------------------------------------------------------

    def numbers_of(self, answers: Any) -> NDArray[np.int64]:
        """The blocks of answers: what a bulk draw gave, texts as they are sent, or numbers; others are refused."""
        from rrcollect.design.bulk_blocks import block_numbers

        return block_numbers(answers, self)

    def counted(self, answers: Any) -> tuple[int, tuple[int, ...]]:
        """(how many answers there are, how often each block was sent)."""
        import numpy as np

        blocks = self.numbers_of(answers)
        return len(blocks), tuple(np.bincount(blocks, minlength=self.truths).tolist())

    def texts(self, answers: Any) -> Iterator[str]:
        """The numbers as they are sent, one after the other."""
        return (f"{block:0{self.width}d}" for block in self.numbers_of(answers).tolist())

    def check_counts(self, n: int, counts: Sequence[int]) -> tuple[int, ...]:
        """One count per block, together n."""
        found = tuple(counts)
        if len(found) != self.truths:
            raise ParameterError("counts", f"{len(found)} counts", f"{self.truths}, one for each block")
        if set(map(type, found)) != {int} or min(found) < 0:
            found = tuple(whole_number("counts", count, minimum=0) for count in found)
        if sum(found) != n:
            raise ParameterError("counts", f"together {sum(found)}", f"n = {n} together: every answer is one block")
        return found

    def answer_ends(self, weights: Sequence[Any]) -> tuple[float, float]:
        """Of y = Σ weight·(bit − q)/c: no less than if a block held all options of negative weight and no other."""
        every = float(self.q) * float(sum(weights))
        least, most = sum(w for w in weights if w < 0), sum(w for w in weights if w > 0)
        return (float(least) - every) / float(self.c), (float(most) - every) / float(self.c)

    def pair_chances(self) -> tuple[Fraction, Fraction]:
        """A block that holds two options holds their line.

        >>> BlockDesign(3, 3, "3/5").pair_chances()
        (Fraction(3, 20), Fraction(2, 45))
        """
        k, w, two, three = self.space.sizes
        off = self.p * Fraction(three, w) + (1 - self.p) * Fraction(two - three, k - w)
        return self.p * Fraction(two, w), off

    def line(self, i: int, j: int) -> Sequence[int]:
        """The q + 1 points of the line through two."""
        return self.space.line(i, j)

    def unbiased(self, answers: Any) -> NDArray[np.float64]:
        """r = (bit − q)/c, one column per option."""
        return self._by_bit(answers, float(-self.q / self.c), float((1 - self.q) / self.c))

    def noise(self, answers: Any) -> NDArray[np.float64]:
        """By the column, as `BitMechanism.noise`."""
        one = self.column
        ends = one.p11 * (1 - one.p00) / one.c**2, one.p00 * (1 - one.p11) / one.c**2
        return self._by_bit(answers, *map(float, ends))

    def _by_bit(self, answers: Any, of_zero: float, of_one: float) -> NDArray[np.float64]:
        import numpy as np

        return np.array([of_zero, of_one])[self.held(answers)]

    def chances(self, answers: Any) -> NDArray[np.float64]:
        """P(block | truth), alike for all that hold the truth, and for all others."""
        inside, outside = self.p / self.size, (1 - self.p) / (self.truths - self.size)
        return self._by_bit(answers, float(outside), float(inside))

    def held(self, answers: Any) -> NDArray[np.uint8]:
        """Whether each answer's block holds each option: a row per answer, a column per option."""
        import numpy as np

        blocks = self.numbers_of(answers)
        if blocks.size * self.truths > MOST_CELLS:
            allowed = f"at most {MOST_CELLS // self.truths} of them at once; a tally has the shares of all options"
            raise ParameterError("answers", f"{blocks.size} answers with {self.truths} options each", allowed)
        vectors = digits_of(self.space)
        products = vectors[blocks].astype(np.int64) @ vectors.T.astype(np.int64)
        found: NDArray[np.uint8] = (products % self.field == 0).astype(np.uint8)
        return found

    # ---- in words ---------------------------------------------------------------------------------------------

    def sentences(self, kind: str = "") -> Sentences:
        """A block is spoken of as a group of options."""
        return block_sentences(self.truths, self.size, 1 - self.p, self.telling())

    def told(self, answer: str, kind: str = "") -> tuple[Said, Said]:
        """The number of the block sent, and what it can tell."""
        return block_told(answer, 1 - self.p, self.telling())
