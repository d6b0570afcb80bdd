"""The rule of a release: whoever sees everything ever published finds nothing smaller than a crowd."""

import json
import random
from collections import Counter
from itertools import combinations

import pytest

from rrcollect import ParameterError, SetDesign
from server_agg.collect.store.crowds import sums_of
from server_agg.collect.store.fold import tallies_of
from server_agg.collect.store.release_rule import hierarchy
from server_agg.survey_page.released import MIXED
from tests.inside.collect import Cell, next_release
from tests.support.devices import survey
from tests.support.release_judge import (
    Blocks,
    CrossingTables,
    EverythingAtTheEnd,
    History,
    Person,
    Remainder,
    judged,
    live,
    random_history,
    small_combination,
)

HISTORIES = [random_history(random.Random(seed)) for seed in range(200)]


def test_no_combination_of_all_that_was_ever_published_is_smaller_than_a_crowd():
    """Exact for each history: there is nothing that chance could spoil."""
    found = [judged(history, Blocks(random.Random(7))) for history in HISTORIES]
    assert found == [(None, None)] * len(HISTORIES)


@pytest.mark.parametrize(("bug", "least"), [
    (lambda history: live, 20), (lambda history: CrossingTables(), 15), (lambda history: Remainder(), 15),
    (lambda history: EverythingAtTheEnd(len(history.arrivals)), 15),
], ids=["live", "tables that cross", "an undeclared remainder", "the last few"])  # fmt: skip
def test_the_judge_catches_planted_bugs(bug, least):
    found = [judged(history, bug(history)) for history in HISTORIES[:50]]
    assert sum(combination is not None for combination, _ in found) >= least
    assert sum(small is not None for _, small in found) >= least


def test_the_judge_finds_the_two_attacks_that_were_seen():
    """Two tables of one question, and two days of one table, each by a single subtraction."""
    crowd = [Person(i, "p", 0, '{"one":"a","two":"x"}') for i in range(30)]
    odd = Person(30, "p", 0, '{"one":"a","two":"y"}')
    crossing = History(5, ["one", "two"], [[*crowd, odd]])
    days = History(5, [], [[p._replace(segments="{}") for p in crowd], [odd._replace(segments="{}")]])
    for history in (crossing, days):
        assert judged(history, live) == (1, 1)
        assert judged(history, Blocks()) == (None, None)


def test_combinations_are_those_of_brute_force():
    source = random.Random(3)
    for _ in range(300):
        counts = [source.randint(1, 30) for _ in range(source.randint(1, 5))]
        sums = {0}
        for many in range(1, len(counts) + 1):
            for chosen in combinations(counts, many):
                for signs in range(2**many):
                    sums.add(sum(n if signs >> i & 1 else -n for i, n in enumerate(chosen)))
        wanted = min((total for total in sums if 0 < total < 7), default=None)
        assert small_combination(counts, 7) == wanted


# ---- what it keeps --------------------------------------------------------------------------------------------------


def cells(**groups):
    """Counts of {a_x: (zeros, ones)}: the values of the segments `one` and `two`; "none" declared neither."""
    found = {}
    for group, answers in groups.items():
        declared = {} if group == "none" else dict(zip(("one", "two"), group.split("_"), strict=True))
        said = json.dumps(declared, sort_keys=True, separators=(",", ":"))
        found |= {Cell("s", "q", 0, "d", said, answer): n for answer, n in zip("01", answers, strict=True) if n}
    return found


def by_label(made):
    found = Counter()
    for cell, n in made.added.items():
        found[cell.segments] += n
    return dict(found)


def test_left_overs_join_one_level_up_and_the_last_few_wait():
    made = next_release(cells(a_x=(8, 5), a_y=(4, 3), b_x=(3, 3), none=(1, 1)), 10, ["one", "two"])
    assert by_label(made) == {'{"one":"a","two":"x"}': 10, f'{{"one":"a","two":"{MIXED}"}}': 10}
    assert made.waiting == {("q", 0): 8}
    assert made.crowds == {"q": 10}
    assert made.answers == sum(made.taken.values()) == 20


def test_what_is_added_was_counted_and_is_counted_once():
    source = random.Random(11)
    for _ in range(100):
        given = cells(**{name: (source.randrange(20), source.randrange(20)) for name in ("a_x", "a_y", "b_x", "none")})
        made = next_release(given, 7, ["one", "two"], source)
        assert all(0 < n <= given[cell] for cell, n in made.taken.items())
        for answer in "01":
            assert sum(n for c, n in made.added.items() if c.answer == answer) == sum(
                n for c, n in made.taken.items() if c.answer == answer
            )
        assert sum(given.values()) - made.answers == made.waiting.get(("q", 0), 0) < 7


def test_nothing_is_released_of_too_few():
    assert next_release(cells(a_x=(3, 3)), 7, ["one", "two"])[:3] == ({}, {}, {})
    assert next_release({}, 7, ["one"]) == ({}, {}, {}, {})


class Every:
    """Every draw that `sample` can give, one after the other."""

    def __init__(self):
        self.at, self.size = 0, 1

    def sample(self, population, many):
        choices = list(combinations(population, many))
        self.size = len(choices)
        return list(choices[self.at])


def test_which_answers_are_published_is_a_fair_draw():
    """By enumeration of every draw: 7 answers, 4 of them 1, 5 published: as in the hypergeometric law."""
    source, ones = Every(), Counter()
    while source.at < source.size:
        made = next_release(cells(none=(3, 4)), 5, [], source)
        ones[sum(n for cell, n in made.added.items() if cell.answer == "1")] += 1
        source.at += 1
    assert ones == {2: 6, 3: 12, 4: 3}  # C(4,k)·C(3,5−k) of C(7,5) = 21


def test_how_much_is_released_does_not_depend_on_the_answers():
    source = random.Random(5)
    for _ in range(100):
        sizes = {name: source.randrange(30) for name in ("a_x", "a_y", "b_x", "none")}
        given = [{name: (ones := source.randint(0, n), n - ones) for name, n in sizes.items()} for _ in range(3)]
        made = [by_label(next_release(cells(**one), 7, ["one", "two"])) for one in given]
        assert made[0] == made[1] == made[2]


def test_the_hierarchy_is_the_signed_survey_s_coarse_segments_first():
    made = survey(segments={"age": ["1", "2", "3"], "sport": ["run", "ski"], "club": ["x", "y"]})
    assert hierarchy(made) == ["club", "sport", "age"]


# ---- choices --------------------------------------------------------------------------------------------------------

SETS = SetDesign(5, 2, "3/4")


def choice_history(source):
    """What came before each of some publications: cells of whole sets, few of each."""
    every = ["".join("1" if j in pair else "0" for j in range(5)) for pair in combinations(range(5), 2)]
    return [
        Counter(
            Cell("s", "q", 0, SETS.text, source.choice(['{"one":"a"}', '{"one":"b"}', "{}"]), source.choice(every))
            for _ in range(source.choice((0, 3, 17, 40)))
        )
        for _ in range(4)
    ]


def drawn_by_column(made, source):
    """The planted bug: which answers hold an option is drawn for each option by itself."""
    bits = {}
    for cell, n in made.items():
        bits.setdefault(cell.segments, []).extend([cell.answer] * n)
    found = Counter()
    for label, texts in bits.items():
        columns = [source.sample([text[j] for text in texts], len(texts) * 2 // 3) for j in range(5)]
        for row in zip(*columns, strict=True):
            found[Cell("s", "q", 0, SETS.text, label, "".join(row))] += 1
    return found


def test_released_column_sums_are_those_of_whole_answers_in_whole_crowds():
    """Exact for each history; a combination of what was ever shown is one of whole blocks, in every column."""
    caught = 0
    for seed in range(60):
        source = random.Random(seed)
        counted, taken, public = Counter(), Counter(), Counter()
        for came in choice_history(source):
            counted += came
            made = next_release(counted - taken, 7, ["one"], source)
            taken.update(made.taken)
            public.update(made.added)
            assert sum(made.added.values()) % 7 == 0
            for label in {cell.segments for cell in public}:
                part = {cell: n for cell, n in public.items() if cell.segments == label}
                for tally in tallies_of(sums_of(part)).values():  # a Tally refuses sums that no answers have
                    assert len(tally) > 1
                    assert tally.n % 7 == 0
            texts = Counter()
            for cell, n in public.items():
                texts[cell.answer] += n
            assert all(n <= sum(m for c, m in counted.items() if c.answer == text) for text, n in texts.items())
            try:
                tallies_of(sums_of(drawn_by_column(counted, source)))
            except ParameterError:
                caught += 1
    assert caught > 50
