"""What every mechanism must be, clause by clause; run for each in the list of tests/design/test_mechanism_contract.py.

A `Subject` is a mechanism's class with what the contract needs to know of it: all its values on a small grid, how an
answer is drawn, and the law it states.  The judge of privacy is the definition: with the law of the answers, given the
truth, as exact fractions,
    δ(E) = max over pairs of truths of Σ over answers of max(0, P(a | one) − E·P(a | other)),   E = e^ε rational.
Everything is enumerated or compared as fractions and texts.  No chance is involved: no false alarms.
"""

from __future__ import annotations

import json
import math
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path
from typing import Any

from rrcollect import Epsilon, RRCollectError
from rrcollect import design as designs
from server_agg import Tally, estimate
from tests.inside.design import Source
from tests.support.biased_draws import feeding

ROOT = Path(__file__).resolve().parents[2]
RATIOS = [Fraction(text) for text in ("1", "9/8", "3/2", "3", "15", "1000")]
DELTAS = [Fraction(text) for text in ("0", "1/16", "1/8", "1/2")]
PROMISES = [("ln 3", "0"), ("1", "0"), ("1/10", "0"), ("4", "0"), ("1/2", "1/10"), ("0", "1/20")]
Law = dict[str, Fraction]


def every_draw(bits: int, made: Any) -> Iterator[Source]:
    """Sources of one draw: all that differ in their first bits, with the others all 0 and all 1."""
    for top in range(1 << bits):
        yield feeding(top << 64 - bits)
        yield feeding((top + 1 << 64 - bits) - 1)


def boundary_draws(made: Any, laws: Sequence[Law]) -> list[bytes]:
    """0, 2^64 − 1, and the last and first draw on either side of every chance and its complement."""
    chances = {chance for law in laws for chance in law.values()}
    limits = {int(chance * 2**64) for chance in chances | {1 - chance for chance in chances}}
    near = {limit + step for limit in limits for step in (-1, 0, 1)} | {0, 2**64 - 1}
    return [draw.to_bytes(8, "big") for draw in sorted(near) if 0 <= draw < 2**64]


@dataclass(frozen=True)
class Subject:
    """One mechanism before the contract.

    `small(bits)`: its values with chances on the grid of 2^bits that a device runs.
    `draw(truth, mechanism, source)`: an answer as text; truths are 0, 1, …
    `law(mechanism, truth)`: the answers it states, each with its chance, written without the class's own arithmetic.
    `kept(epsilon, delta)`: the value for a promise, on the device's grid; `raised`: one grid step more informative.
    `sources(bits, mechanism)`: sources that give every draw of the grid equally often.
    `boundaries(mechanism, laws)`: the bytes of draws at and beside every boundary.
    """

    name: str
    small: Callable[[int], Iterator[Any]]
    draw: Callable[[int, Any, Source], str]
    law: Callable[[Any, int], Law]
    kept: Callable[[str, str], Any]
    raised: Callable[[Any], Any]
    from_wire: Callable[[object], Any] = designs.from_wire
    from_text: Callable[[str], Any] = designs.from_text
    sources: Callable[[int, Any], Iterator[Source]] = every_draw
    promises: Sequence[tuple[str, str]] = tuple(PROMISES)
    boundaries: Callable[[Any, Sequence[Law]], list[bytes]] = boundary_draws
    bits: int = 4

    def laws(self, mechanism: Any) -> list[Law]:
        return [self.law(mechanism, truth) for truth in range(mechanism.truths)]


def spent(laws: Sequence[Law], ratio: Fraction) -> Fraction:
    """δ(E), by the definition."""
    nothing = Fraction(0)

    def beyond(one: Law, other: Law) -> Fraction:
        return sum((max(nothing, p - ratio * other.get(said, nothing)) for said, p in one.items()), nothing)

    return max(beyond(one, other) for one, other in permutations(laws, 2))


def worst_ratio(laws: Sequence[Law]) -> Fraction | float:
    """The largest quotient of the chances that two truths give one answer."""
    pairs = [(one[said], other.get(said, Fraction(0))) for one, other in permutations(laws, 2) for said in one]
    return max((a / b if b else math.inf for a, b in pairs if a), default=Fraction(1))


def written_ratio(ratio: Fraction) -> str:
    """ε = ln E."""
    return f"ln({ratio})"


# ---- the clauses ----------------------------------------------------------------------------------------------------


def a_promise_is_kept_and_tight(subject: Subject) -> None:
    """The value made for a promise keeps it, and one grid step more would break it."""
    for epsilon, delta in subject.promises:
        made = subject.kept(epsilon, delta)
        assert made.on_grid
        assert made.satisfies(epsilon, delta), (epsilon, delta)
        assert not subject.raised(made).satisfies(epsilon, delta), (epsilon, delta)


def privacy_is_the_definition(subject: Subject) -> None:
    """`satisfies` is δ(E) <= δ, for every value of the small grid, at and one step beside the boundary."""
    for made in subject.small(subject.bits):
        laws = subject.laws(made)
        for ratio in RATIOS:
            least = spent(laws, ratio)
            for delta in {*DELTAS, least, max(Fraction(0), least - Fraction(1, 2**70))}:
                assert made.satisfies(written_ratio(ratio), delta) == (least <= delta), (made, ratio, delta)


def the_loss_is_the_least_promise(subject: Subject) -> None:
    """(ln R, 0) for a finite worst ratio R, else (0, total variation): both satisfied, and nothing less."""
    for made in subject.small(subject.bits):
        laws = subject.laws(made)
        worst = worst_ratio(laws)
        assert made.worst_likelihood_ratio == worst, made
        assert made.satisfies(made.loss.epsilon, made.loss.delta)
        if worst == math.inf:
            assert (made.loss.epsilon, made.loss.delta) == (Epsilon(0), spent(laws, Fraction(1))), made
        else:
            assert (made.loss.epsilon, made.loss.delta) == (Epsilon.of_ratio(Fraction(worst)), 0), made


def every_draw_gives_the_law(subject: Subject) -> None:
    """Over all draws of a small grid each answer comes exactly as often as the law says."""
    for bits in range(1, subject.bits + 1):
        for made in subject.small(bits):
            for truth in range(made.truths):
                said = Counter(subject.draw(truth, made, source) for source in subject.sources(bits, made))
                chances = {answer: Fraction(times, said.total()) for answer, times in said.items()}
                assert chances == {answer: p for answer, p in subject.law(made, truth).items() if p}, (made, truth)


def bits_have_the_column_s_law(subject: Subject) -> None:
    """Bit j is 1 with chance p11 of `column` if the truth is its own, else 1 − p00.  (Yes/no: its one bit is yes's.)"""
    for made in subject.small(subject.bits):
        column = made.column
        for truth, law in enumerate(subject.laws(made)):
            for bit in range(made.width):
                own = truth == (1 if made.width == 1 else bit)
                ones = sum(chance for said, chance in law.items() if said[bit] == "1")
                assert ones == (column.p11 if own else 1 - column.p00), (made, truth, bit)


def answers_have_equal_length(subject: Subject) -> None:
    """Answers are texts of `width` characters 0 and 1; exactly the possible ones are allowed."""
    for made in subject.small(subject.bits):
        drawn = {
            subject.draw(truth, made, source)
            for truth in range(made.truths)
            for source in subject.sources(subject.bits, made)
        }
        possible = {said for law in subject.laws(made) for said, chance in law.items() if chance}
        assert drawn == possible, made
        assert all(len(said) == made.width and set(said) <= {"0", "1"} for said in drawn), made
        for length in (made.width - 1, made.width, made.width + 1):
            for letters in product("01", repeat=length):
                said = "".join(letters)
                assert made.allows(said) is (said in possible), (made, said)
        for said in ("", "x", " " * made.width, "2" * made.width, "1" * made.width + "\n", "¹" * made.width):
            assert not made.allows(said), (made, said)


def one_spelling(subject: Subject) -> None:
    """The wire form and the text lead back to the same mechanism, and every other spelling is refused."""
    for made in [*subject.small(2), *(subject.kept(*promise) for promise in subject.promises)]:
        wire, text = made.to_wire(), made.text
        assert text == json.dumps(wire, sort_keys=True, separators=(",", ":"))
        assert outcome(lambda text=text: subject.from_text(text)) == made
        assert outcome(lambda text=text: subject.from_wire(json.loads(text))) == made
        assert subject.from_text(text).text == text
        for other in misspelt(wire, text):
            assert isinstance(outcome(lambda other=other: subject.from_text(other)), RRCollectError), other
        for value in ([wire], text, None, {}, {**wire, "x": "1"}, {k: v for k, v in wire.items() if k != min(wire)}):
            assert isinstance(outcome(lambda value=value: subject.from_wire(value)), RRCollectError), value


def misspelt(wire: dict[str, Any], text: str) -> Iterator[str]:
    """Texts that say the same in other words, or nearly the same."""
    yield from (text + "\n", " " + text, text.replace(":", ": "), text.replace(",", ", "), text + text, text[:-1], "")
    key = min(wire)
    yield text.replace(f'"{key}"', f'"\\u{ord(key[0]):04x}{key[1:]}"')
    yield "{" + ",".join(f'"{key}":{json.dumps(wire[key])}' for key in sorted(wire, reverse=True)) + "}"
    yield text[:-1] + f',"{min(wire)}":{json.dumps(wire[min(wire)])}' + "}"
    for key, value in wire.items():
        for other in _other_spellings(value):
            changed = dict(sorted({**wire, key: other}.items()))
            yield json.dumps(changed, separators=(",", ":"))


def _other_spellings(value: Any) -> list[Any]:
    if isinstance(value, int):
        return [str(value), float(value), True, None]
    number = Fraction(value)
    doubled = f"{2 * number.numerator}/{2 * number.denominator}"
    return [
        doubled,
        f"+{value}",
        f" {value}",
        f"{value} ",
        f"0{value}",
        f"{value}.0",
        float(number),
        int(number),
        [value],
    ]


def outcome(call: Callable[[], object]) -> object:
    """What a call returns, or the error it ends in."""
    try:
        return call()
    except Exception as error:
        return error


def estimates_are_unbiased(subject: Subject) -> None:
    """Three people, every way they can be and answer: the mean of each column's estimate is the share of its truth."""
    n = 3
    for made in list(subject.small(2)):
        laws = subject.laws(made)
        for people in product(range(made.truths), repeat=n):
            means = [Fraction(0)] * made.width
            for said in product(*(laws[truth].items() for truth in people)):
                chance = math.prod((p for _, p in said), start=Fraction(1))
                for bit in range(made.width):
                    ones = sum(answer[bit] == "1" for answer, _ in said)
                    means[bit] += chance * estimate(Tally(made.column, n, ones)).exact_value
            for bit, mean in enumerate(means):
                assert mean == Fraction(people.count(1 if made.width == 1 else bit), n), (made, people)


def python_and_node_agree(subject: Subject) -> None:
    """The browser client gives the same answer on every draw at and beside a boundary."""
    cases = []
    for made in [*subject.small(2), *(subject.kept(*promise) for promise in subject.promises)]:
        for drawn in subject.boundaries(made, subject.laws(made)):
            answers = [subject.draw(truth, made, lambda n, drawn=drawn: drawn) for truth in range(made.truths)]
            cases.append({"design": made.to_wire(), "draw": drawn.hex(), "answers": answers})
    told = subprocess.run(
        ["node", str(Path(__file__).parent / "draws.mjs")],
        input=json.dumps(cases), capture_output=True, text=True, check=False, timeout=120, cwd=ROOT,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    wrong = [(case, said) for case, said in zip(cases, json.loads(told.stdout), strict=True) if said != case["answers"]]
    assert not wrong, f"{len(wrong)} of {len(cases)} draws, such as {wrong[0]}"


CLAUSES = (
    a_promise_is_kept_and_tight,
    privacy_is_the_definition,
    the_loss_is_the_least_promise,
    every_draw_gives_the_law,
    bits_have_the_column_s_law,
    answers_have_equal_length,
    one_spelling,
    estimates_are_unbiased,
    python_and_node_agree,
)
