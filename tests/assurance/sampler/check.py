"""The sampler's law: every draw of small grids, equality of the paths draw by draw, a billion answers per path.

* `sampler_draws` exhausts small grids, and compares bulk and single path on shared keystreams of random 64-bit designs;
  half of these keystreams decide nothing in their first byte or planes.  No chance is involved: no false alarms.
* `sampler_statistics` judges the real keystream; false alarms below 1e-9 per run.
* `epsilon_audit` treats the bulk paths as black boxes; ten promises, each accused in error with a chance below 1e-10.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect import Design, Epsilon, optimal_design, randomise_many
from tests.assurance.audit.epsilon_audit import Count, epsilon_at_least, refuted
from tests.assurance.check import FULL, Check, Figure, Outcome, Part, Size, Step, caught
from tests.assurance.sampler import statistics
from tests.assurance.sampler.draws import (
    all_paths,
    booleans_differ,
    booleans_faults,
    packed_differ,
    packed_faults,
    random_design,
    single_faults,
    small_designs,
    undecided,
)
from tests.assurance.sampler.sets import PATHS, PLANTED_SETS, number_law, set_law
from tests.support.biased_draws import biased, seven_bit
from tests.support.forks import repeated_draws
from tests.support.stopping import in_child
from tests.support.tape import Tape, randomise_packed

if TYPE_CHECKING:
    from numpy.typing import NDArray

Run = Callable[[int, Step], Outcome]


def exhaust(designs: Callable[[int], Iterator[tuple[Design, int]]], total: int, faults: Callable[..., int]) -> Run:
    """Sum the faults over designs."""

    def run(piece: int, step: Step) -> Outcome:
        wrong, checked, draws, example = 0, 0, 0, ""
        for design, bits in designs(piece):
            found = faults(design, bits)
            wrong, checked, draws = wrong + found, checked + 1, draws + (2 << bits)
            example = example or (f"first: {design!r}" if found else "")
            step(checked, total)
        return Outcome(wrong == 0, {"designs": checked, "draws": draws, "wrong answers": wrong}, example)

    return run


def unresolved(truths: NDArray[np.bool_], design: Design, *, fill: Tape) -> NDArray[np.bool_]:
    """A planted bug: planes that decide nothing mean "no"."""
    said = randomise_many(truths, design, fill=fill)
    said[undecided(design, fill)[: said.size]] = False
    return said


def too_high(path: Callable[..., Any]) -> Callable[..., Any]:
    """A planted bug in a bulk path: thresholds two steps of 1/2^16 too high."""
    step = Fraction(2, 1 << 16)

    def planted(*asked: Any, fill: Any) -> Any:
        *truths, design = asked
        return path(*truths, Design(design.p00 - step, design.p11 + step), fill=fill)

    return planted


def turned_round(truths: NDArray[np.uint8], n: int, design: Design, *, fill: Any) -> NDArray[np.uint8]:
    """A planted bug: the answers of a byte in the opposite order."""
    said = randomise_packed(truths, n, design, fill=fill)
    return np.packbits(np.unpackbits(said, bitorder="little"), bitorder="big")


def shared_keystreams(
    designs: int, many: Callable[..., Any] = randomise_many, eight: Callable[..., Any] = randomise_packed
) -> Run:
    """Random 64-bit designs; booleans and packed, with and without ties."""

    def run(piece: int, step: Step) -> Outcome:
        random, wrong, answers = Random(piece), 0, 0
        for number in range(designs):
            design = random_design(random, 64)
            for ties in (False, True):
                wrong += booleans_differ(design, 8, ties, many) + packed_differ(design, 3, ties, eight)
                answers += 8 * 64 + 3 * 64
            step(number + 1, designs)
        return Outcome(wrong == 0, {"designs": designs, "answers": answers, "unequal answers": wrong})

    return run


# ---- a billion answers ----------------------------------------------------------------------------------------------


def distribution(sampler: statistics.Sampler, words: int, runs: tuple[statistics.Run, ...]) -> Run:
    """One run per piece."""

    def run(piece: int, step: Step) -> Outcome:
        compared, least, worst = 0, 1.0, ""
        for number, each in enumerate(runs):
            truths = each.words(words)
            for name, count, chance in statistics.chances(each, truths, sampler(truths, each.design)):
                compared += count
                if chance < least:
                    least, worst = chance, f"{name} ({each.design}, truths {each.truths})"
            step(number + 1, len(runs))
        passed = least >= statistics.ALARM / statistics.MOST
        figures = {"answers": 64 * words * len(runs), "comparisons": compared, "least chance": least}
        return Outcome(passed, figures, "" if passed else f"least chance {least:.3g}: {worst}")

    return run


def forked(children: int) -> Run:
    """No child draws what another drew.  False alarms below 6e-14."""

    def run(piece: int, step: Step) -> Outcome:
        repeated = repeated_draws(children)
        return Outcome(repeated == 0, {"forks": children, "draws or keystreams of another fork": repeated})

    return run


def kept_across_forks(piece: int, step: Step) -> Outcome:
    """A planted bug: what one generator of the parent says in each of twenty children."""
    shared = np.random.default_rng(1)
    different = len({in_child(lambda: shared.bytes(8)) for _ in range(20)})
    return Outcome(different < 20, {"forks": 20, "different draws": different})


AUDITED = (("1/10", "0"), ("1", "0"), ("ln 3", "0"), ("4", "0"), ("1/2", "1/10"))


def audit(sampler: statistics.Sampler, draws: int, more: Fraction = Fraction(0)) -> Run:
    """So many draws per truth for several promises: how large must ε be at least?  `more` is added to it in secret."""

    def run(piece: int, step: Step) -> Outcome:
        figures: dict[str, Figure] = {"draws per truth and promise": draws}
        good, words = True, min(draws // 64, 1 << 18)
        for number, (epsilon, delta) in enumerate(AUDITED):
            claim = float(Epsilon(epsilon))
            design = optimal_design(Epsilon(epsilon) + Epsilon(more), delta)
            seen = []
            for truth in (0, 2**64 - 1):
                asked, calls = np.full(words, truth, np.uint64), -(-draws // (64 * words))
                said = [int(np.bitwise_count(sampler(asked, design)).sum(dtype=np.int64)) for _ in range(calls)]
                seen.append(Count(calls * words * 64, sum(said)))
            bound = epsilon_at_least(seen[0], seen[1], float(Fraction(delta)))
            figures[f"audited for (ε, δ) = ({epsilon}, {delta})"] = f"ε is at least {bound:.6g}, claimed {claim:.6g}"
            good &= not refuted(claim, seen[0], seen[1], float(Fraction(delta)))
            step(number + 1, len(AUDITED))
        return Outcome(good, figures)

    return run


def parts(size: Size) -> list[Part]:
    """All designs of D = 256 (16), 400 (20) of D up to 2^16 (2^11), a billion answers per path (a few million)."""
    full = size is FULL
    bits, pieces, random_designs, words = (8, 8, 100, 1 << 20) if full else (4, 1, 20, 1 << 15)
    runs = statistics.RUNS if full else statistics.RUNS[:9:4]

    def small(piece: int) -> Iterator[tuple[Design, int]]:
        return ((design, bits) for design in small_designs(bits, piece, pieces))

    def larger(piece: int) -> Iterator[tuple[Design, int]]:
        random = Random(piece)
        for _ in range(random_designs):
            chosen = random.randrange(9, 17 if full else 12)
            yield random_design(random, chosen), chosen

    def one_off(many: Callable[..., int]) -> Callable[[Design, int], int]:
        return lambda design, bits: single_faults(design, bits, many)

    def planted(sampler: statistics.Sampler, run: int) -> Run:
        return caught(distribution(sampler, 1 << 16, statistics.RUNS[run : run + 1]))

    few = [(Design(1, Fraction(3, 256)), 8), (Design(Fraction(201, 256), Fraction(99, 256)), 8)]
    fine = [(Design(Fraction(51533, 1 << 16), Fraction(25421, 1 << 16)), 16)]
    in_bytes = statistics.eight_per_byte
    return [
        Part(f"every design and every draw for D = {1 << bits}", exhaust(small, 33_000 // pieces, all_paths), pieces),
        Part("random designs, every draw", exhaust(larger, random_designs, all_paths), 4 if full else 1),
        Part("bulk and single path on shared keystreams", shared_keystreams(250 if full else 6), 4 if full else 1),
        Part("draws and keystreams of forks", forked(1000 if full else 50)),
        Part("distribution and independence, booleans", distribution(statistics.booleans, words, runs)),
        Part("distribution and independence, packed", distribution(statistics.eight_per_byte, words, runs)),
        Part("black-box audit, booleans", audit(statistics.booleans, 10**8 if full else 10**6)),
        Part("black-box audit, packed", audit(statistics.eight_per_byte, 10**8 if full else 10**6)),
        *(
            Part(
                f"distribution and independence, {name}", set_law(design, (10**9 if full else 10**6) // pieces), pieces
            )
            for name, design in PATHS.items()
        ),
        Part("distribution and independence, numbers", number_law(10**9 if full else 2 * 10**6)),
        *(
            Part(f"{name}, sets", caught(set_law(PATHS["sets from a table"], 1 << 20, draw)), planted=True)
            for name, draw in PLANTED_SETS.items()
        ),
        Part("numbers a twentieth too high", caught(number_law(9 << 18, 0.05)), planted=True),
        Part("a generator kept across forks", kept_across_forks, planted=True),
        Part('"at most" for "below"', caught(exhaust(lambda _: iter(few), 2, one_off(biased))), planted=True),
        Part("a probability of 7 bits", caught(exhaust(lambda _: iter(few), 2, one_off(seven_bit))), planted=True),
        *(
            Part(
                f"thresholds too high by 2/2^16, {name}", caught(exhaust(lambda _: iter(fine), 1, faults)), planted=True
            )
            for name, faults in (
                ("booleans", lambda design, bits: booleans_faults(design, too_high(randomise_many))),
                ("packed", lambda design, bits: packed_faults(design, too_high(randomise_packed))),
            )
        ),
        Part("undecided planes not resolved, shared keystream", caught(shared_keystreams(3, unresolved)), planted=True),
        Part("packed answers turned round", caught(shared_keystreams(3, eight=turned_round)), planted=True),
        Part("undecided byte not resolved", planted(statistics.unresolved, 8), planted=True),
        Part("threshold off by 1/256", planted(statistics.off_by_one, 0), planted=True),
        Part("keystream reused between chunks", planted(statistics.reusing, 0), planted=True),
        Part("biased byte of a word", planted(statistics.biased, 0), planted=True),
        Part("one answer of a word copied to its neighbour", planted(statistics.copying, 0), planted=True),
        Part(
            "threshold off by 1/256, packed", planted(partial(statistics.off_by_one, sampler=in_bytes), 0), planted=True
        ),
        Part("an answer copied, packed", planted(partial(statistics.copying, sampler=in_bytes), 0), planted=True),
        *(
            Part(
                f"designs for ε + 1/10 that claim ε, {name}", caught(audit(path, 10**6, Fraction(1, 10))), planted=True
            )
            for name, path in (("booleans", statistics.booleans), ("packed", in_bytes))
        ),
    ]


CHECK = Check(
    2,
    "sampler",
    "The sampler",
    "An answer is yes, or a set of options, with exactly the probability the design says, whichever path made it, and "
    "independently of every other answer.",
    (
        "tests/assurance/audit/epsilon_audit.py",
        "tests/assurance/sampler/draws.py",
        "tests/assurance/sampler/sets.py",
        "tests/assurance/sampler/statistics.py",
        "rrcollect/answer/draw.py",
        "rrcollect/design/bulk_bits.py",
        "rrcollect/design/bulk_sets.py",
        "rrcollect/design/sampling.py",
        "rrcollect/design/sets.py",
        "rrcollect/design/yes_no.py",
        "tests/support/biased_draws.py",
        "tests/support/forks.py",
        "tests/support/tape.py",
    ),
    parts,
    "the operating system's generator and OpenSSL's AES are taken to be sound; grids finer than 2^16 are not exhausted "
    "but compared draw by draw and by frequencies.",
    alone=False,
)
