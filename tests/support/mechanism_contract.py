"""What every mechanism must be, clause by clause; run for each in the list of tests/design/test_mechanism_contract.py.

A `Subject` is a mechanism's class with what the contract needs to know of it: all its values on a small grid, how an
answer is drawn, and the law it states.  The judge of privacy is the definition: with the law of the answers, given the
truth, as exact fractions,
    δ(E) = max over pairs of truths of Σ over answers of max(0, P(a | one) − E·P(a | other)),   E = e^ε rational.
Everything is enumerated or compared as fractions and texts.  No chance is involved: no false alarms.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import ROUND_DOWN, Context
from fractions import Fraction
from itertools import combinations_with_replacement, count, permutations, product
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from rrcollect import Choice, Epsilon, Report, RRCollectError, SimulatedCollector, Survey
from rrcollect import design as designs
from server_agg import Tallies, Tally, estimate, open_store, survey_results, tally_reports
from server_agg.errors import TooFewAnswers
from tests.inside.answer import LANGUAGES, Words
from tests.inside.collect import Catalogue, crowds, incoming
from tests.inside.design import Source
from tests.inside.publish import YesNo, fault
from tests.inside.survey_page import asked_question, released_results
from tests.support.biased_draws import feeding
from tests.support.devices import KEY, POLICY, client, question, survey
from tests.support.engines import QUICK
from tests.support.tape import Tape

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


def one_of_several(made: Any, truth: int) -> list[int]:
    """The shares that somebody adds to: that of yes, or that of their option."""
    return [truth] if made.truths == 2 and made.width == 1 else [int(truth == row) for row in range(made.truths)]


def kind_of(made: Any) -> Any:
    """Yes or no, or a choice of as many options as there are counts."""
    return Choice(options=[f"option {j}" for j in range(made.cells)]) if made.cells > 1 else YesNo()


def count_ones(made: Any, answers: Sequence[str]) -> list[int]:
    """The counts of a tally, character by character."""
    return [sum(said[cell] == "1" for said in answers) for cell in range(made.cells)]


def unbiased_values(made: Any, laws: Sequence[Law], tally: Tally) -> list[float]:
    """The unbiased values that a page shows, from the law of a bit."""
    own, other = (sum(p for said, p in laws[truth].items() if said[-1] == "1") for truth in (made.truths - 1, 0))
    return [float((Fraction(count, tally.n) - other) / (own - other)) for count in tally.counts]


def shown_values(shown: dict[str, Any]) -> list[float]:
    """The values of an estimate on the page."""
    return [one["value"] for one in shown.get("options", [shown])]


@dataclass(frozen=True)
class Subject:
    """One mechanism before the contract.

    `small(bits)`: its values with chances on the grid of 2^bits that a device runs.
    `draw(truth, mechanism, source)`: an answer as text; truths are 0, 1, …
    `law(mechanism, truth)`: the answers it states, each with its chance, written without the class's own arithmetic.
    `kept(epsilon, delta)`: the value for a promise, on the device's grid; `raised`: one grid step more informative.
    `sources(bits, mechanism)`: sources that give every draw of the grid equally often.
    `boundaries(mechanism, laws)`: the bytes of draws at and beside every boundary.
    `rebuilt(mechanism, truths, tape)`: the single draws behind answers in bulk, by the bytes that were given for them;
        None if the law alone is the same.
    `given(mechanism, truth)`: the truth as a device takes it; `many`: several of them; `kind`: of a question.
    `rows(mechanism, truth)`: of each row of an estimate whether the person adds to it; `said(mechanism, answer)`: of
        each row the bit that an answer says, None if it does not speak of the row.
    `counts(mechanism, answers)`: the counts of a tally, by hand; `letters`: what answers are written with.
    `values(mechanism, laws, tally)`: what the page must show, by hand; `shown`: where it shows it.
    `people`: how many of them bars are enumerated for; `reports`: how many a store gets, and its minimum.
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
    rebuilt: Callable[[Any, Sequence[int], Tape], list[int]] | None = None
    given: Callable[[Any, int], Any] = lambda made, truth: truth if made.cells > 1 else bool(truth)
    many: Callable[[Any, Sequence[int]], Any] = lambda made, truths: truths
    kind: Callable[[Any], Any] = kind_of
    rows: Callable[[Any, int], list[int]] = one_of_several
    said: Callable[[Any, str], list[int | None]] = lambda made, answer: [int(bit) for bit in answer]
    counts: Callable[[Any, Sequence[str]], list[int]] = count_ones
    letters: str = "01"
    values: Callable[[Any, Sequence[Law], Tally], list[float]] = unbiased_values
    shown: Callable[[dict[str, Any]], list[float]] = shown_values
    people: int = 3
    reports: tuple[int, int] = (40, 10)

    def drawn(self, made: Any, truths: Sequence[int]) -> Any:
        """An answer for each truth, in bulk."""
        return made.draw_many(self.many(made, truths), fixed_stream())

    def tally(self, made: Any, answers: Sequence[str]) -> Tally:
        """The tally of some answers, by hand."""
        return Tally(made, len(answers), self.counts(made, answers))

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
    """Of the answers that speak of a row, 1 is said with chance p11 of `column` if the truth is the row's own, else
    1 − p00.  (Yes/no: its one bit is yes's.)"""
    for made in subject.small(subject.bits):
        column = made.column
        for truth, law in enumerate(subject.laws(made)):
            for row, own in enumerate(subject.rows(made, truth)):
                bits = [(subject.said(made, answer)[row], chance) for answer, chance in law.items()]
                spoken = sum(chance for bit, chance in bits if bit is not None)
                ones = sum(chance for bit, chance in bits if bit)
                assert ones == spoken * (column.p11 if own else 1 - column.p00), (made, truth, row)


def chances_are_the_law(subject: Subject) -> None:
    """What likelihoods are made of is the chance of every answer given every truth, by the law."""
    for made in subject.small(subject.bits):
        laws = subject.laws(made)
        said = sorted({answer for law in laws for answer in law})
        found = made.chances(said if made.width > 1 else [int(answer) for answer in said])
        wanted = [[float(law.get(answer, 0)) for law in laws] for answer in said]
        assert np.allclose(found, wanted, rtol=1e-12, atol=0), made


def answers_have_equal_length(subject: Subject) -> None:
    """Answers are texts of `width` characters, all of `letters`; exactly the possible ones are allowed."""
    for made in subject.small(subject.bits):
        drawn = {
            subject.draw(truth, made, source)
            for truth in range(made.truths)
            for source in subject.sources(subject.bits, made)
        }
        possible = {said for law in subject.laws(made) for said, chance in law.items() if chance}
        assert drawn == possible, made
        assert all(len(said) == made.width and set(said) <= set(subject.letters) for said in drawn), made
        for length in (made.width - 1, made.width, made.width + 1):
            for letters in product(subject.letters, repeat=length):
                said = "".join(letters)
                assert made.allows(said) is (said in possible), (made, said)
        for said in (
            "",
            "x",
            " " * made.width,
            "9" * made.width,
            made.blank + "\n",
            "¹" * made.width,
            "٣" * made.width,
        ):
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
    """Three people, every way they can be and answer: the mean of each row's estimate, given how many answers speak of
    it, is the share of its truth.  (Counts are doubled, because one answer has no estimate.)"""
    n = 3
    for made in list(subject.small(2)):
        laws = subject.laws(made)
        told = {
            (m, ones): estimate(Tally(made.column, 2 * m, 2 * ones)).exact_value
            for m in range(1, n + 1)
            for ones in range(m + 1)
        }
        spoken = {answer: subject.said(made, answer) for law in laws for answer in law}
        for people in combinations_with_replacement(range(made.truths), n):
            rows = [subject.rows(made, truth) for truth in people]
            means: Counter[tuple[int, int]] = Counter()
            chances: Counter[tuple[int, int]] = Counter()
            for said in product(*(laws[truth].items() for truth in people)):
                chance = math.prod((p for _, p in said), start=Fraction(1))
                for row, bits in enumerate(zip(*(spoken[answer] for answer, _ in said), strict=True)):
                    counted = [bit for bit in bits if bit is not None]
                    if counted:
                        means[row, len(counted)] += chance * told[len(counted), sum(counted)]
                        chances[row, len(counted)] += chance
            for (row, m), mean in means.items():
                share = Fraction(sum(each[row] for each in rows), n)
                assert mean == share * chances[row, m], (made, people)


def python_and_node_agree(subject: Subject) -> None:
    """The browser client gives the same answer on every draw at and beside a boundary."""
    cases = []
    for made in [*subject.small(2), *(subject.kept(*promise) for promise in subject.promises)]:
        for drawn in subject.boundaries(made, subject.laws(made)):
            answers = [subject.draw(truth, made, lambda n, drawn=drawn: drawn) for truth in range(made.truths)]
            given = [subject.given(made, truth) for truth in range(made.truths)]
            kind = {"kind": subject.kind(made).kind, "low": "0", "high": str(made.truths)}
            case = {"design": made.to_wire(), "draw": drawn.hex(), "truths": given, "kind": kind}
            cases.append({**case, "answers": answers})
    said = in_node(cases)
    wrong = [(case, each) for case, each in zip(cases, said, strict=True) if each != case["answers"]]
    assert not wrong, f"{len(wrong)} of {len(cases)} draws, such as {wrong[0]}"


def node_reads_the_same(subject: Subject) -> None:
    """The browser client has the same wire form, text and blank, allows the same texts and keeps the same promises."""
    cases, expected = [], []
    for made in [*subject.small(2), *(subject.kept(*promise) for promise in subject.promises)]:
        answers = sorted({answer for law in subject.laws(made) for answer in law})[:64]
        texts = [*answers, "", "2", " 1", "1" * made.width, "0" * made.width, made.blank + "0", made.blank[:-1] + "x"]
        promises = [(written_ratio(ratio), str(delta)) for ratio in RATIOS for delta in DELTAS]
        cases.append({"design": made.to_wire(), "texts": texts, "promises": promises})
        allowed, kept = [made.allows(text) for text in texts], [made.satisfies(*promise) for promise in promises]
        expected.append(
            {"wire": made.to_wire(), "text": made.text, "blank": made.blank, "allowed": allowed, "kept": kept}
        )
    for case, read, ours in zip(cases, in_node(cases), expected, strict=True):
        assert read == ours, case["design"]


def in_node(cases: list[dict[str, Any]]) -> list[Any]:
    """What the browser client says to some cases; see `draws.mjs`."""
    told = subprocess.run(
        ["node", str(Path(__file__).parent / "draws.mjs")],
        input=json.dumps(cases), capture_output=True, text=True, check=False, timeout=120, cwd=ROOT,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    said: list[Any] = json.loads(told.stdout)
    return said


def fixed_stream() -> Callable[[Any], None]:
    """Fills arrays from one long row of bytes, always the same one: no chance, so no false alarm.  It goes on from call
    to call, because a draw that is thrown away must be followed by another."""
    calls = count()

    def fill(buffer: Any) -> None:
        drawn = hashlib.shake_128(next(calls).to_bytes(8, "big")).digest(buffer.size)
        buffer[:] = np.frombuffer(drawn, np.uint8)

    return fill


def bulk_has_the_law(subject: Subject) -> None:
    """Many answers on a fixed keystream, people of all truths in turn: each answer is one that its own truth can give,
    and comes about as often as the law says (7 standard deviations and one answer more: a wrong numerator of the small
    grid is further off).  Where the single draw behind an answer can be rebuilt, it gives the same answer."""
    n = 2_000
    for made in subject.small(2):
        drawn = subject.drawn(made, [i % made.truths for i in range(n * made.truths)])
        texts = list(made.texts(drawn))
        assert made.counted(drawn)[0] == len(texts) == n * made.truths
        for truth, law in enumerate(subject.laws(made)):
            counted = Counter(texts[truth :: made.truths])
            assert set(counted) <= {answer for answer, chance in law.items() if chance}, made
            for answer, chance in law.items():
                p = float(chance)
                assert abs(counted[answer] - n * p) <= 7 * math.sqrt(n * p * (1 - p)) + 1, (made, truth, answer)
    for made in (subject.kept(*promise) for promise in subject.promises if subject.rebuilt):
        truths = [i // 3 % made.truths for i in range(128)]
        tape = Tape(rest=lambda size: hashlib.shake_128(str(size).encode()).digest(size))
        texts = list(made.texts(made.draw_many(subject.many(made, truths), tape)))
        draws = subject.rebuilt(made, truths, tape)  # type: ignore[misc]
        for truth, said, draw in zip(truths, texts, draws, strict=True):
            assert said == subject.draw(truth, made, feeding(draw)), (made, truth, draw)


@contextmanager
def registered(made: Any) -> Iterator[None]:
    """While it lasts, what comes over the wire is read as this mechanism's class (a planted one too).  The store keeps
    mechanisms by their text, the page what it tells of them; neither must know one from before, nor keep this one."""
    kept = (crowds.mechanism_of, crowds.form_of, asked_question._told)
    for cache in kept:
        cache.cache_clear()
    try:
        with mock.patch.dict(designs.DESIGNS, {frozenset(made.to_wire()): type(made)}):
            yield
    finally:
        for cache in kept:
            cache.cache_clear()


def asked_with(subject: Subject, made: Any, **changes: Any) -> Survey:
    """A survey of one question that this mechanism answers."""
    kind = subject.kind(made)
    assert made.fits(kind)
    return survey(question(kind=kind, design=made), **changes)


def reports_of(subject: Subject, made: Any, asked: Survey, n: int) -> list[Report]:
    """The reports of n people, every truth among them."""
    answers = made.texts(subject.drawn(made, [i % made.truths for i in range(n)]))
    return [
        Report(survey=asked.digest, question="q1", design=made, answer=answer, id=f"{i:032x}")
        for i, answer in enumerate(answers)
    ]


def the_device_answers_and_tells(subject: Subject) -> None:
    """A signed survey is accepted, answered through a ledger and delivered; the ledger says what was sent.  A report is
    one the survey allows, and as long as with any other answer."""
    made = subject.kept(*subject.promises[0])
    possible = {said for law in subject.laws(made) for said, chance in law.items() if chance}
    with registered(made):
        asked, lengths = asked_with(subject, made), set()
        sealed = asked.publish([KEY]).envelope
        for truth in range(made.truths):
            with tempfile.TemporaryDirectory() as folder:
                device, collector = client(Path(folder)), SimulatedCollector([asked])
                accepted = device.accept(sealed)
                report = device.answer(accepted, "q1", subject.given(made, truth))
                assert report.answer in possible, report
                assert outcome(lambda report=report: Report.from_bytes(report.to_bytes())) == report
                assert fault(report, asked) is None
                lengths |= {len(report.with_answer(said).to_bytes()) for said in (report.answer, made.blank, *possible)}
                assert not device.deliver(collector).waiting
                assert list(collector.reports.values()) == [report]
                assert device.budget().export()["answers"]
        assert len(lengths) == 1, lengths


def every_engine_counts_the_same(subject: Subject) -> None:
    """Reports in files, in DuckDB and in every frame of `make test` give the counts of the answers, made by hand."""
    made = subject.kept(*subject.promises[0])
    with registered(made):
        asked = asked_with(subject, made)
        reports = reports_of(subject, made, asked, 60)
        answers = [report.answer for report in reports]
        wanted = subject.tally(made, answers)
        assert Tally.of(answers, made) == wanted
        assert Tallies.of(reports).one() == wanted
        for engine in QUICK:
            with tempfile.TemporaryDirectory() as folder:
                source = engine([report.row._asdict() for report in reports], Path(folder))
                found = tally_reports(source, asked, progress=False)
            assert list(found.tallies.values()) == [wanted], (engine.__name__, str(found.summary))


def bars_cover_their_level(subject: Subject) -> None:
    """Few people, every way they can answer, shares at the ends and between: the exact bar of each row holds its share
    at least as often as its level says, and all rows do at once.  Chances and ends are compared as fractions."""
    few = [(made, subject.people) for made in list(subject.small(2))[::3]]
    for made, n in [*few, (subject.kept("4", "0"), subject.people - 1)]:
        laws, k = subject.laws(made), made.truths
        counted: dict[tuple[int, ...], list[tuple[str, ...]]] = {}
        for said in combinations_with_replacement(sorted({answer for law in laws for answer in law}), n):
            counted.setdefault(tuple(subject.counts(made, said)), []).append(said)
        even = tuple(Fraction(1, k) for _ in range(k))
        ends = [tuple(Fraction(int(truth == own)) for truth in range(k)) for own in (0, k - 1)]
        between = [tuple((share + 3 * one) / 4 for share, one in zip(even, end, strict=True)) for end in ends]
        for level in (Fraction(1, 2), Fraction(9, 10)):
            bars = {counts: exact_bars(made, n, counts, level) for counts in counted}
            for shares in [even, *ends, *between]:
                answered = {
                    said: sum(share * law[said] for share, law in zip(shares, laws, strict=True)) for said in laws[0]
                }
                adds = [[share * own for own in subject.rows(made, truth)] for truth, share in enumerate(shares)]
                rows = [sum(each, Fraction(0)) for each in zip(*adds, strict=True)]
                covered = [Fraction(0)] * (len(rows) + 1)
                for counts, ways in counted.items():
                    chance = sum((chance_of(said, answered) for said in ways), Fraction(0))
                    held = [low <= share <= high for share, (low, high) in zip(rows, bars[counts], strict=True)]
                    for place, holds in enumerate([*held, all(held)]):
                        covered[place] += chance * holds
                assert min(covered) >= level, (made, shares, level, covered)


def exact_bars(made: Any, n: int, counts: Sequence[int], level: Fraction) -> list[tuple[Fraction, Fraction]]:
    """The ends of each row's exact bar, as they are; of too few answers everything."""
    tally = Tally(made, n, counts)
    try:
        found = [row.interval(level, "exact") for row in estimate(tally).rows]
    except TooFewAnswers:
        return [(Fraction(0), Fraction(1))] * len(tally)
    return [(Fraction(low), Fraction(high)) for low, high in found]


def chance_of(said: tuple[str, ...], answered: Law) -> Fraction:
    """The chance that independent people say this, in any order."""
    orders = math.factorial(len(said)) // math.prod(math.factorial(times) for times in Counter(said).values())
    return orders * math.prod((answered[one] for one in said), start=Fraction(1))


def people_are_told(subject: Subject) -> None:
    """In every language all sentences of a mechanism are there, whole; the one that says how an answer is drawn names
    how often it is changed, rounded down to three digits.  Explanation and headline of a survey say these sentences."""
    for made in [*subject.small(2), *(subject.kept(*promise) for promise in subject.promises)]:
        laws = subject.laws(made)
        for words in map(Words.of, LANGUAGES):
            said = made.sentences()
            told = [each for answer in sorted(laws[0])[:3] if made.allows(answer) for each in made.told(answer)]
            for one in (said.happens, said.drawn, *said.proofs, *said.proves, *told):
                text = outcome(lambda one=one, words=words: words.spoken(one, reports=words.say("reports", count="1")))
                assert isinstance(text, str), (made, words.language, one, text)
                assert text.strip(), one
                assert not set("{}") & set(text), text
            names_the_chances(subject, made, laws, words.spoken(said.drawn), words)
    made = subject.kept(*subject.promises[0])
    with registered(made):
        accepted = POLICY.accept(asked_with(subject, made).publish([KEY]).envelope)
        for words in map(Words.of, LANGUAGES):
            said = made.sentences()
            assert words.spoken(said.drawn) in accepted.explain(words.language, page=True), words.language
            assert accepted.headline(words.language).startswith(words.spoken(said.happens)), words.language


def names_the_chances(subject: Subject, made: Any, laws: Sequence[Law], text: str, words: Words) -> None:
    """How often the truth's own bit says something else, of 100, is a number in the text; of a drawn question each bit
    is the truth's own."""
    for truth, law in enumerate(laws):
        rows = subject.rows(made, truth)
        changed = Fraction(0)
        for answer, chance in law.items():
            said = subject.said(made, answer)
            own = [
                row
                for row, adds in enumerate(rows)
                if said[row] is not None and (adds or len(rows) == 1 or None in said)
            ]
            changed += chance * (said[own[0]] != rows[own[0]])
        if changed >= Fraction(1, 10**4):
            cut = Context(prec=3, rounding=ROUND_DOWN).divide(100 * changed.numerator, changed.denominator)
            written = f"{cut:f}".rstrip("0").rstrip(".") if "." in f"{cut:f}" else f"{cut:f}"
            assert written.replace(".", str(words.table["decimal"])) in re.findall(r"\d+(?:[.,٫]\d+)?", text), (
                made,
                text,
            )


def a_release_shows_it(subject: Subject) -> None:
    """Reports into a store, a release, and the results page, for the owner and for everybody: the design, what people
    were told, every count, and the unbiased value, which is computed here from the law of a bit."""
    made, (n, minimum) = subject.kept(*subject.promises[0]), subject.reports
    laws = subject.laws(made)
    with registered(made), tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "a.sqlite3") as store:
        asked = asked_with(subject, made, minimum=minimum)
        Catalogue(store.shelf).publish(asked.publish([KEY]).envelope, [KEY.public.raw.hex()])
        reports = reports_of(subject, made, asked, n)
        store.take([incoming(report.row) for report in reports])
        store.fold()
        store.release(asked)
        made_public = store.last_release(asked)
        assert made_public is not None
        owners, public = store.tallies(asked), made_public.tallies
        assert list(owners.values()) == [subject.tally(made, [report.answer for report in reports])]
        assert minimum <= public.n <= n
        pages = [survey_results(owners, asked), released_results(public, asked, made_public.facts)]
    for page, tally in zip((each.page() for each in pages), (owners.one(), public.one()), strict=True):
        json.dumps(page, allow_nan=False)
        (shown,) = page["questions"]
        assert (shown["n"], shown["design"]) == (tally.n, made.to_wire())
        names_the_chances(subject, made, laws, shown["told"], Words.of("en"))
        values, wanted = subject.shown(shown["estimate"]), subject.values(made, laws, tally)
        assert len(values) == len(wanted)
        assert all(math.isclose(a, b, abs_tol=1e-9) for a, b in zip(values, wanted, strict=True)), (values, wanted)


CLAUSES = (
    a_promise_is_kept_and_tight,
    privacy_is_the_definition,
    the_loss_is_the_least_promise,
    every_draw_gives_the_law,
    bits_have_the_column_s_law,
    chances_are_the_law,
    answers_have_equal_length,
    one_spelling,
    estimates_are_unbiased,
    python_and_node_agree,
    node_reads_the_same,
    bulk_has_the_law,
    the_device_answers_and_tells,
    every_engine_counts_the_same,
    bars_cover_their_level,
    people_are_told,
    a_release_shows_it,
)
