"""Every mechanism of the list keeps the contract; every clause of the contract catches a mechanism that breaks it.

A new mechanism is one more `Subject` in SUBJECTS.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from rrcollect import (
    BlockDesign,
    Design,
    Epsilon,
    Number,
    Promise,
    SetDesign,
    Several,
    optimal_design,
    randomise,
)  # fmt: skip
from tests.inside.design import GRID, BinDesign, Candidate, Said, SeveralDesign, Source, Space, from_text
from tests.support import mechanism_contract as contract
from tests.support.biased_draws import biased, seven_bit
from tests.support.mechanism_contract import CLAUSES, Law, Subject
from tests.support.tape import Tape, limits_of, packed_draws

# ---- yes/no ---------------------------------------------------------------------------------------------------------


def small_designs(bits: int, kind: type[Design] = Design) -> Iterator[Design]:
    size = 1 << bits
    return (
        kind(Fraction(k00, size), Fraction(k11, size))
        for k00 in range(size + 1)
        for k11 in range(size - k00 + 1, size + 1)
    )


def yes_no_law(design: Design, truth: int) -> Law:
    yes = Fraction(design.to_wire()["p11"]) if truth else 1 - Fraction(design.to_wire()["p00"])
    return {"0": 1 - yes, "1": yes}


def raised(design: Design) -> Design:
    """One step of 2^-64 more informative: both chances of a symmetric design, the smaller one of another."""
    step, smaller = Fraction(1, GRID), min(design.p00, design.p11)
    return Design(*(chance + step if chance == smaller else chance for chance in (design.p00, design.p11)))


def rebuilt(design: Design, truths: Sequence[int], tape: Tape) -> list[int]:
    """The draws of the single path, by the theorem and the two short cuts of `bulk_bits`."""
    words = np.packbits(np.array(truths, np.uint8), bitorder="little").view(np.uint64)
    draws = [draw for word in packed_draws(design, len(words), tape, words) for draw in word]
    no, yes = limits_of(design)
    if no + yes == GRID:
        return [GRID - 1 - draw if truth else draw for truth, draw in zip(truths, draws, strict=True)]
    return [0 if truth and yes == GRID else draw for truth, draw in zip(truths, draws, strict=True)]


YES_NO = Subject(
    "yes/no",
    small=small_designs,
    draw=lambda truth, design, source: randomise(bool(truth), design, source=source),
    law=yes_no_law,
    kept=lambda epsilon, delta: from_text(optimal_design(epsilon, delta).text),
    raised=raised,
    rebuilt=rebuilt,
)

# ---- one of several options -----------------------------------------------------------------------------------------


def small_sets(bits: int) -> Iterator[SetDesign]:
    """All designs for 2 to 4 options whose numbers lie on the grid of 2^bits."""
    steps = 1 << bits
    for k in (2, 3, 4):
        singles = (1 - Fraction((k - 1) * each, steps) for each in range(steps))
        yield from (SetDesign(k, 1, p) for p in singles if k * p > 1)
        for size in range(2, k):
            chances = (Fraction(inside, steps) for inside in range(steps + 1))
            yield from (SetDesign(k, size, p) for p in chances if k * p > size)


def set_law(design: SetDesign, truth: int) -> Law:
    """The definition: a uniform set of those with the truth, with chance p, else of those without it."""
    wire = design.to_wire()
    sets = [set(held) for held in combinations(range(wire["options"]), wire["size"])]
    inside = sum(truth in held for held in sets)
    chance, law = Fraction(wire["p"]), {}
    for held in sets:
        said = "".join("1" if option in held else "0" for option in range(wire["options"]))
        law[said] = chance / inside if truth in held else (1 - chance) / (len(sets) - inside)
    return law


def set_draws(bits: int, design: SetDesign) -> Iterator[Source]:
    """Every draw of the grid, with every number that chooses the others."""
    if design.size == 1:
        yield from contract.every_draw(bits, design)
        return
    bound = math.perm(design.options - 1, design.size)
    for top in range(1 << bits):
        for number in range(bound):
            start = (top << 64 - bits).to_bytes(8, "big")
            yield lambda n, start=start, number=number: start + number.to_bytes(n - 8, "big")


def set_boundaries(design: SetDesign, laws: object) -> list[bytes]:
    """Beside every boundary; for several options with numbers from the whole range, its ends among them."""
    limit, k, w = design.applied_limit, design.options, design.size
    if w == 1:
        near = {limit * step + beside for step in range(k + 1) for beside in (-1, 0, 1)} | {0, GRID - 1}
        return [draw.to_bytes(8, "big") for draw in sorted(near) if 0 <= draw < GRID]
    bound = math.perm(k - 1, w)
    length = -(-bound.bit_length() // 8) + 8
    last = (1 << 8 * length) // bound * bound - 1
    numbers = {0, 1, bound - 1, bound, last, *(last * part // 17 for part in range(17))}
    firsts = [draw for draw in (0, limit - 1, limit, GRID - 1) if 0 <= draw < GRID]
    return [first.to_bytes(8, "big") + number.to_bytes(length, "big") for first in firsts for number in sorted(numbers)]


def raised_set(design: SetDesign) -> SetDesign:
    step = Fraction(design.options - 1 if design.size == 1 else 1, GRID)
    return SetDesign(design.options, design.size, design.p + step)


SETS = Subject(
    "one of several options",
    small=small_sets,
    draw=lambda truth, design, source: randomise(truth, design, source=source),
    law=set_law,
    kept=lambda epsilon, delta: from_text(optimal_design(epsilon, delta, options=6).text),
    raised=raised_set,
    sources=set_draws,
    boundaries=set_boundaries,
    promises=[("ln 3", "0"), ("1", "0"), ("1/10", "0"), ("4", "0"), ("1/1000", "0")],
)

# ---- drawn questions ------------------------------------------------------------------------------------------------


def chances_to_keep(bits: int) -> Iterator[Fraction]:
    """Above 1/2, on the grid of 2^bits."""
    return (Fraction(inside, 1 << bits) for inside in range((1 << bits - 1) + 1, (1 << bits) + 1))


def small_several(bits: int) -> Iterator[SeveralDesign]:
    yield from (SeveralDesign(m, p) for m in (2, 3) for p in chances_to_keep(bits))


def small_bins(bits: int) -> Iterator[BinDesign]:
    """Four bins, and eight where that is quick."""
    yield from (BinDesign(4, p) for p in chances_to_keep(bits))
    yield from [BinDesign(8, "3/4")] * (bits > 2)


def applies(design: SeveralDesign, truth: int) -> list[int]:
    return [truth >> option & 1 for option in range(design.several)]


def walsh(size: int) -> Any:
    """Hadamard's matrix of this size, by Sylvester."""
    return np.kron([[1, 1], [1, -1]], walsh(size // 2)) if size > 1 else np.ones((1, 1), int)


def haar_walsh(bins: int) -> list[tuple[int, Any]]:
    """(how many rows a level has, the sign of each bin) for every question."""
    halves = ((rows, np.kron(walsh(rows), np.repeat([1, -1], bins // rows // 2))) for rows in levels(bins))
    return [(rows, signs) for rows, table in halves for signs in table]


def levels(bins: int) -> list[int]:
    return [1 << level for level in range(bins.bit_length() - 1)]


def in_bin(design: BinDesign, truth: int) -> list[int]:
    return [int(signs[truth] < 0) for _, signs in haar_walsh(design.bins)]


def drawn_law(design: Any, chances: Sequence[Fraction], own: Sequence[int]) -> Law:
    """Each question with its chance, its own answer with chance p."""
    p, digits = Fraction(design.to_wire()["p"]), len(str(2 * len(chances) - 1))
    return {
        f"{2 * question + said:0{digits}d}": chance * (p if said == truth else 1 - p)
        for question, (chance, truth) in enumerate(zip(chances, own, strict=True))
        for said in (0, 1)
    }


def bin_chances(bins: int) -> list[Fraction]:
    return [Fraction(1, rows * len(levels(bins))) for rows, _ in haar_walsh(bins)]


def drawn_draws(bits: int, design: Any) -> Iterator[Source]:
    """Every question as often as it is drawn, with every draw of the grid for its answer."""
    for number in range(design.ways):
        for top in range(1 << bits):
            yield lambda n, number=number, top=top: number.to_bytes(8, "big") + (top << 64 - bits).to_bytes(8, "big")


def drawn_boundaries(design: Any, laws: object) -> list[bytes]:
    """The first and last questions by the first and last numbers that draw them, at every boundary of the answer."""
    last = GRID // design.ways * design.ways
    numbers = {0, 1, design.ways - 1, design.ways, last - design.ways, last - 1}
    firsts = {draw for limit in design.column.applied for draw in (0, limit - 1, limit, GRID - 1) if 0 <= draw < GRID}
    return [one.to_bytes(8, "big") + two.to_bytes(8, "big") for one in sorted(numbers) for two in sorted(firsts)]


def spoken(design: Any, answer: str) -> list[int | None]:
    question, said = divmod(int(answer), 2)
    return [said if row == question else None for row in range(design.questions)]


def count_numbers(design: Any, answers: Sequence[str]) -> list[int]:
    return [sum(int(answer) == number for answer in answers) for number in range(2 * design.questions)]


def values_of_several(design: Any, laws: object, tally: Any) -> list[float]:
    """Of each option by those who were asked about it."""
    pairs, p = list(zip(tally.counts[::2], tally.counts[1::2], strict=True)), float(design.p)
    return [(yes / (no + yes) - (1 - p)) / (2 * p - 1) for no, yes in pairs]


def curve_by_hand(design: Any, laws: object, tally: Any) -> list[float]:
    """The curve whose Haar–Walsh signs are those estimated: k linear equations, solved."""
    signs, chances = haar_walsh(design.bins), np.array([float(each) for each in bin_chances(design.bins)])
    no, yes = np.array(tally.counts[::2]), np.array(tally.counts[1::2])
    seen = (no - yes) / (tally.n * chances * (2 * float(design.p) - 1))
    table = np.array([np.ones(design.bins), *(each for _, each in signs)])
    return [0.0, *np.cumsum(np.linalg.solve(table, [1.0, *seen])).tolist()]


def raised_drawn(design: Any) -> Any:
    first, p = design.numbers
    return type(design)(first, p + Fraction(1, GRID))


PURE = [("ln 3", "0"), ("1", "0"), ("1/10", "0"), ("4", "0"), ("1/1000", "0")]
DRAWN: dict[str, Any] = {
    "draw": lambda truth, design, source: randomise(made_truth(design, truth), design, source=source),
    "raised": raised_drawn, "sources": drawn_draws, "boundaries": drawn_boundaries, "promises": PURE, "said": spoken,
    "counts": count_numbers, "letters": "0123456789", "people": 5, "reports": (400, 150),
}  # fmt: skip


def made_truth(design: Any, truth: int) -> Any:
    """The truth as a device takes it: the numbers of the options that apply, or that of the bin."""
    return [option for option, own in enumerate(applies(design, truth)) if own] if design.apart == 1 else truth


SEVERAL = Subject(
    "all that apply",
    small=small_several,
    law=lambda design, truth: drawn_law(design, [Fraction(1, design.several)] * design.several, applies(design, truth)),
    kept=lambda epsilon, delta: from_text(optimal_design(epsilon, several=3).text),
    given=made_truth,
    many=lambda design, truths: np.array([applies(design, truth) for truth in truths]),
    kind=lambda design: Several([f"option {j}" for j in range(design.several)]),
    rows=applies,
    values=values_of_several,
    **DRAWN,
)
BINS = Subject(
    "the bins of a number",
    small=small_bins,
    law=lambda design, truth: drawn_law(design, bin_chances(design.bins), in_bin(design, truth)),
    kept=lambda epsilon, delta: BinDesign(8, optimal_design(epsilon).p00),
    given=lambda design, truth: truth,
    kind=lambda design: Number(0, design.bins, bins=design.bins),
    rows=in_bin,
    values=curve_by_hand,
    shown=lambda shown: [point["value"] for point in shown["curve"]],
    **{**DRAWN, "people": 4},
)

# ---- one of very many options ---------------------------------------------------------------------------------------

NUMBERED = [(1, 0, 0), (1, 0, 1), (1, 1, 0), (1, 1, 1), (0, 1, 0), (0, 1, 1), (0, 0, 1)]


def small_blocks(bits: int) -> Iterator[BlockDesign]:
    """All designs of the seven points of PG(2, 2) whose p lies on the grid of 2^bits."""
    chances = (Fraction(inside, 1 << bits) for inside in range(1, (1 << bits) + 1))
    return (BlockDesign(2, 3, p) for p in chances if 7 * p > 3)


def lies_in(block: int, option: int) -> bool:
    """Of the seven lines of the plane of Fano: orthogonal vectors over the field of two."""
    return sum(a * b for a, b in zip(NUMBERED[block], NUMBERED[option], strict=True)) % 2 == 0


def block_law(design: BlockDesign, truth: int) -> Law:
    """The definition: a uniform line of the three through the truth, with chance p, else of the four others."""
    p = Fraction(design.to_wire()["p"])
    return {str(block): p / 3 if lies_in(block, truth) else (1 - p) / 4 for block in range(7)}


def block_draws(bits: int, design: BlockDesign) -> Iterator[Source]:
    """Every draw of the grid, with every number of the free coordinates: 4·3 of them."""
    for top in range(1 << bits):
        for number in range(12):
            start = (top << 64 - bits).to_bytes(8, "big")
            yield lambda n, start=start, number=number: start + number.to_bytes(n - 8, "big")


def block_boundaries(design: BlockDesign, laws: object) -> list[bytes]:
    """Beside the boundary of p, with numbers from the whole range."""
    limit = design.applied_limit
    m = design.field ** (design.dimension - 1)
    length = -(-(m * (m - 1)).bit_length() // 8) + 8
    last = (1 << 8 * length) // (m * (m - 1)) * m * (m - 1) - 1
    numbers = {0, 1, m - 1, m, m * (m - 1) - 1, m * (m - 1), last, *(last * part // 17 for part in range(17))}
    firsts = [draw for draw in (0, limit - 1, limit, GRID - 1) if 0 <= draw < GRID]
    return [first.to_bytes(8, "big") + number.to_bytes(length, "big") for first in firsts for number in sorted(numbers)]


def kept_block(epsilon: str, delta: str) -> BlockDesign:
    """p = ωE/(ωE + 4) on the grid, of the seven points: where e^ε is rational exactly, else by the class itself."""
    found = Candidate(7, 3, Space(2, 3)).design(Epsilon(epsilon))
    assert isinstance(found, BlockDesign)
    return found


def values_of_blocks(design: BlockDesign, laws: object, tally: Any) -> list[float]:
    """Of each option by the lines through it."""
    p = Fraction(design.to_wire()["p"])
    other = (3 - p) / 6
    ones = [sum(n for block, n in enumerate(tally.counts) if lies_in(block, option)) for option in range(7)]
    return [float((Fraction(one, tally.n) - other) / (p - other)) for one in ones]


BLOCKS = Subject(
    "one of very many options",
    small=small_blocks,
    draw=lambda truth, design, source: randomise(truth, design, source=source),
    law=block_law,
    kept=kept_block,
    raised=lambda design: BlockDesign(2, 3, design.p + Fraction(1, GRID)),
    sources=block_draws,
    boundaries=block_boundaries,
    promises=[("ln 3", "0"), ("1", "0"), ("1/10", "0"), ("4", "0"), ("1/1000", "0")],
    letters="0123456789",
    said=lambda made, answer: [int(lies_in(int(answer), option)) for option in range(7)],
    counts=lambda made, answers: [list(answers).count(str(block)) for block in range(7)],
    values=values_of_blocks,
)

SUBJECTS = [YES_NO, SETS, SEVERAL, BINS, BLOCKS]


def marked(clause: Any, *subject: Any) -> Any:
    """As a parameter of a test; Node is for tests with browsers."""
    node = (contract.python_and_node_agree, contract.node_reads_the_same)
    marks = [pytest.mark.browser] if clause in node else []
    marks += [pytest.mark.engine] if clause is contract.every_engine_counts_the_same else []
    return pytest.param(clause, *subject, id=clause.__name__, marks=marks)


every_clause = pytest.mark.parametrize("clause", [marked(clause) for clause in CLAUSES])


@every_clause
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_the_contract(subject: Subject, clause: Any) -> None:
    clause(subject)


# ---- planted bugs ---------------------------------------------------------------------------------------------------


class Registered(Design):
    """Can stand in the list of mechanisms: what comes over the wire is of its own class."""

    @classmethod
    def from_wire(cls, value: object) -> Design:
        return cls(*Design.from_wire(value).numbers)


class Sound(Registered):
    """Breaks nothing: so it is not by being another class that the others are caught."""


class TrustingDesign(Design):
    """Keeps every promise, as it says."""

    def satisfies(self, epsilon: Any, delta: Any = 0) -> bool:
        return True


class WithoutDelta(Design):
    """Forgets δ."""

    def satisfies(self, epsilon: Any, delta: Any = 0) -> bool:
        return super().satisfies(epsilon, 0)


class FlatteringDesign(Design):
    """States half of its worst ratio."""

    @property
    def worst_likelihood_ratio(self) -> Fraction | float:
        return super().worst_likelihood_ratio / 2


class Cheap(Design):
    """Charges nothing."""

    @property
    def loss(self) -> Promise:
        return Promise.of(0, 0)


class TurnedDesign(Design):
    """Its column has the two chances in the other order."""

    @property
    def column(self) -> Design:
        return Design(self.p11, self.p00)


class Transposed(Design):
    """Its chances are those of the truths, given the answer."""

    def chances(self, answers: Any) -> Any:
        return super().chances(answers)[:, ::-1]


class Anything(Design):
    """Allows every text."""

    def allows(self, answer: str) -> bool:
        return True


class OnlyNo(Design):
    """Does not allow what it says half of the time."""

    def allows(self, answer: str) -> bool:
        return answer == "0"


class Loud(Design):
    """Says yes whatever is true, where many are asked."""

    def draw_many(self, truths: Any, fill: Any) -> Any:
        return np.ones(len(truths), bool)


class Shifted(Design):
    """Gives everybody the answer of the next, where many are asked."""

    def draw_many(self, truths: Any, fill: Any) -> Any:
        return np.roll(super().draw_many(truths, fill), -1)


class Generous(Design):
    """Where many are asked, both chances are a step of 2^-5 off, except on the small grid."""

    def draw_many(self, truths: Any, fill: Any) -> Any:
        step = Fraction(1, 32)
        small = self.p00.denominator <= 4 >= self.p11.denominator
        return (self if small else Design(self.p00 - step, self.p11 - step)).to_grid().draw_many(truths, fill)


class Miscounting(Design):
    """Counts one too few."""

    def counted(self, answers: Any) -> tuple[int, tuple[int, ...]]:
        n, (ones,) = super().counted(answers)
        return n, (max(ones - 1, 0),)


class Broad(Registered):
    """Tells engines that its answers have two characters; they have one."""

    width, cells = 2, 1

    def bits(self, answers: Any) -> Any:
        return Design(*self.numbers).bits(answers)


class Wordy(Registered):
    """Answers in words of different length on the device."""

    def draw(self, truth: object, source: Source) -> str:
        return "yes" if super().draw(truth, source) == "1" else "no"

    def allows(self, answer: str) -> bool:
        return answer in ("0", "1", "no", "yes")


class Padded(Registered):
    """Its blank is longer than its answers."""

    blank = "00"

    def allows(self, answer: str) -> bool:
        return answer in ("0", "1", "00")


class Narrow(Registered):
    """Lets more of the truth through, as its estimates believe, than it does: all bars are too short."""

    @property
    def column(self) -> Design:
        return Design(1, 1)


class Boasting(Registered):
    """Says that it changes half of those who would say no."""

    def sentences(self, kind: str = "") -> Any:
        return Design("1/2", "5/8").sentences(kind)


class Speechless(Registered):
    """Says what no language has words for."""

    def sentences(self, kind: str = "") -> Any:
        return super().sentences(kind)._replace(happens=Said("mumbled"))


class Decimal(Design):
    """Writes floats."""

    def to_wire(self) -> Any:
        return {name: str(float(Fraction(text))) for name, text in super().to_wire().items()}


class Forgetful(Design):
    """Writes p00 twice."""

    def to_wire(self) -> Any:
        wire = super().to_wire()
        return {**wire, "p11": wire["p00"]}


def of(kind: type[Design], **changes: Any) -> Subject:
    """The yes/no subject with another class."""

    def kept(epsilon: str, delta: str) -> Design:
        sound = YES_NO.kept(epsilon, delta)
        return kind(sound.p00, sound.p11)

    def one_more(design: Design) -> Design:
        more = raised(design)
        return kind(more.p00, more.p11)

    return replace(YES_NO, small=lambda bits: small_designs(bits, kind), kept=kept, raised=one_more, **changes)


def timid(epsilon: str, delta: str) -> Design:
    """A step less informative than it could be."""
    sound, step = YES_NO.kept(epsilon, delta), Fraction(1, GRID)
    return Design(sound.p00 - step, sound.p11 - step)


def in_words(truth: int, design: Design, source: Source) -> str:
    return "yes" if randomise(bool(truth), design, source=source) == "1" else "no"


def at_most(truth: int, design: Design, source: Source) -> str:
    return str(biased(truth, design, source=source))


def seven_bits(truth: int, design: Design, source: Source) -> str:
    return str(seven_bit(truth, design, source=source))


def three_of_256(bits: int) -> Iterator[Design]:
    return iter([Design(1, Fraction(3, 256))] if bits == 8 else [])


def read_lenient(text: str) -> Design:
    return Design(**json.loads(text))


def lenient_value(value: Any) -> Design:
    return Design(value["p00"], value["p11"])


PLANTED = [
    (contract.a_promise_is_kept_and_tight, replace(YES_NO, kept=timid)),
    (contract.a_promise_is_kept_and_tight, replace(YES_NO, kept=lambda e, d: raised(YES_NO.kept(e, d)))),
    (contract.privacy_is_the_definition, of(TrustingDesign)),
    (contract.privacy_is_the_definition, of(WithoutDelta)),
    (contract.the_loss_is_the_least_promise, of(FlatteringDesign)),
    (contract.the_loss_is_the_least_promise, of(Cheap)),
    (contract.every_draw_gives_the_law, replace(YES_NO, draw=at_most)),
    (contract.every_draw_gives_the_law, replace(YES_NO, draw=seven_bits, small=three_of_256, bits=8)),
    (contract.bits_have_the_column_s_law, of(TurnedDesign)),
    (contract.chances_are_the_law, of(Transposed)),
    (contract.answers_have_equal_length, replace(YES_NO, draw=in_words)),
    (contract.answers_have_equal_length, of(Anything)),
    (contract.answers_have_equal_length, of(OnlyNo)),
    (contract.one_spelling, of(Decimal)),
    (contract.one_spelling, of(Forgetful)),
    (contract.one_spelling, replace(YES_NO, from_text=read_lenient)),
    (contract.one_spelling, replace(YES_NO, from_wire=lenient_value)),
    (contract.estimates_are_unbiased, of(TurnedDesign)),
    (contract.python_and_node_agree, replace(YES_NO, draw=at_most)),
    (contract.node_reads_the_same, of(Anything)),
    (contract.bulk_has_the_law, of(Loud)),
    (contract.bulk_has_the_law, of(Shifted)),
    (contract.bulk_has_the_law, of(Generous)),
    (contract.the_device_answers_and_tells, of(Wordy)),
    (contract.the_device_answers_and_tells, of(Padded)),
    (contract.every_engine_counts_the_same, of(Miscounting)),
    (contract.every_engine_counts_the_same, of(Broad)),
    (contract.bars_cover_their_level, of(Narrow)),
    (contract.people_are_told, of(Boasting)),
    (contract.people_are_told, of(Speechless)),
    (contract.a_release_shows_it, of(Boasting)),
    (contract.a_release_shows_it, of(Narrow)),
]


@pytest.mark.parametrize(("clause", "broken"), [marked(*planted) for planted in PLANTED])
def test_a_planted_bug_is_caught(clause: Any, broken: Subject) -> None:
    with pytest.raises(AssertionError):
        clause(broken)


@every_clause
def test_a_class_without_a_planted_bug_passes(clause: Any) -> None:
    clause(of(Sound))


def test_every_clause_has_a_planted_bug() -> None:
    assert {clause for clause, _ in PLANTED} == set(CLAUSES)
