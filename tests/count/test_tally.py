"""Tallies, collections, builders; bad input gets a typed error that names the fault."""

from __future__ import annotations

import json
import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rrcollect import Design, ParameterError, RRCollectError, optimal_design
from rrcollect.errors import UninformativeDesign
from server_agg import Tallies, Tally, TallyKey, estimate
from server_agg.errors import (
    DataUnavailable,
    EmptySelection,
    Refusal,
    SingleCluster,
    TooFewAnswers,
    UnreadableReports,
)  # fmt: skip

D = Design("3/4", "2/3")


def report(answer, **more):
    given = {"survey": "s", "question": "q", "design": D, "answer": answer, "segments": {}, "round": 0}
    return SimpleNamespace(**(given | more))


@pytest.mark.parametrize(
    ("n", "ones", "name"),
    [
        (10, 11, "counts"),
        (-1, 0, "n"),
        (10, -1, "counts"),
        (True, 0, "n"),
        (10, True, "counts"),
        (10.0, 3, "n"),
        (10, 3.0, "counts"),
        ("10", 3, "n"),
        (None, 3, "n"),
        (2**63, 3, "n"),
        (10**30, 3, "n"),
        (float("nan"), 3, "n"),
    ],
)
def test_invalid_counts_are_refused(n, ones, name):
    with pytest.raises(ParameterError, match=f"^{name} is "):
        Tally(D, n, ones)


def test_other_objects_are_not_designs():
    with pytest.raises(ParameterError, match="design"):
        Tally((0.75, 0.75), 10, 3)
    with pytest.raises(UninformativeDesign):
        Tally(Design("0.3", "0.7"), 10, 3)


def test_the_largest_count_and_one_more():
    most = 2**63 - 1
    assert Tally(D, most, most).n == most
    with pytest.raises(ParameterError, match="n is"):
        Tally(D, most, 0) + Tally(D, 1, 0)


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_answers_for_a_bar(n):
    with pytest.raises(TooFewAnswers, match=f"holds {n} answer"):
        estimate(Tally(D, n, 0))
    with pytest.raises(TooFewAnswers):
        estimate([Tally(D, n, 0)])
    error = pickle.loads(pickle.dumps(TooFewAnswers(1)))  # noqa: S301
    assert isinstance(error, RRCollectError)
    assert error.n == 1


@pytest.mark.parametrize(
    "error",
    [
        ParameterError("delta", 2, "a number between 0 and 1"),
        TooFewAnswers(1, what="the pool", least=30),
        UnreadableReports("night.csv", 3, "cut off", skippable=False),
        DataUnavailable("no file"),
        Refusal(413, "too_large", "at most 9 bytes are read"),
        SingleCluster("south", unit="person"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_goes_from_process_to_process_as_it_was_made(error):
    error.add_note("seen by a worker")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_mixed_designs_are_refused():
    with pytest.raises(ParameterError, match=r"estimate\("):
        Tally(D, 10, 3) + Tally(Design("3/4", "3/4"), 10, 3)
    with pytest.raises(ParameterError):
        sum([Tally(D, 10, 3), Tally(Design("3/4", "3/4"), 10, 3)])
    for wrong in (1, True, "x"):
        with pytest.raises(TypeError):
            Tally(D, 10, 3) + wrong
        with pytest.raises(TypeError):
            wrong + Tally(D, 10, 3)
    with pytest.raises(TypeError):
        Tallies() + 1
    with pytest.raises(ParameterError, match="design"):
        TallyKey("s", "q", None)


def test_a_chosen_design_counts_with_the_plain_one():
    chosen = optimal_design(1)
    plain = Design(chosen.p00, chosen.p11)
    assert Tally(chosen, 10, 3) + Tally(plain, 5, 2) == Tally(plain, 15, 5)
    assert Tally(plain, 0, 0) + Tally(plain, 5, 2) == Tally(plain, 5, 2)


@pytest.mark.parametrize("level", [0, 1, -0.1, 1.5, float("nan"), float("inf"), "x", None, True, 95, 1 - 1e-30])
def test_invalid_levels_are_refused(level):
    with pytest.raises(ParameterError, match="level"):
        estimate(Tally(D, 10, 3)).interval(level)


def test_invalid_methods_sides_and_priors_are_refused():
    e = estimate(Tally(D, 10, 3))
    with pytest.raises(ParameterError, match="wilson, chebyshev"):
        e.interval(method="clopper")
    with pytest.raises(ParameterError, match="side"):
        e.interval(side="left")
    with pytest.raises(ParameterError, match="one-sided"):
        e.interval(0.4, side="lower")
    for prior in ("flat", (0, 1), (1,), (1, float("nan")), (1, float("inf")), (True, 1), [1, 1]):
        with pytest.raises(ParameterError, match="prior"):
            e.interval(method="credible", prior=prior)
    with pytest.raises(ParameterError, match="a Tally"):
        estimate([D])
    with pytest.raises(ParameterError, match="people"):
        e.total()
    with pytest.raises(ParameterError, match="10, the size of the target"):
        estimate(Tally(D, 10, 3), target="sample").total(people=11)
    with pytest.raises(ParameterError, match="share"):
        e.manipulation(2)


def test_tally_json_round_trip_without_floats():
    tally = Tally(optimal_design(1), 2**63 - 1, 5)
    assert Tally.from_json(tally.to_json()) == tally
    assert "." not in tally.to_json()
    assert json.loads(Tally(D, 7, 3).to_json()) == {
        "counts": [3],
        "design": {"p00": "3/4", "p11": "2/3"},
        "n": 7,
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        '{"design": {"p00": "3/4", "p11": "2/3"}, "n": 7}',
        '{"design": {"p00": "3/4", "p11": "2/3"}, "n": 7, "counts": [3], "more": 1}',
        '{"design": {"p00": "3/4", "p11": "2/3"}, "n": 7.0, "counts": [3]}',
        '{"design": {"p00": "3/4", "p11": "2/3"}, "n": 7, "counts": [NaN]}',
        '{"design": {"p00": "3/4", "p11": "2/3"}, "n": 7, "counts": [8]}',
        '{"design": {"p00": "3/4", "p11": "2/3"}, "n": 7, "counts": [true]}',
        '{"design": {"p00": "3/4", "p11": "2/3"}, "n": 7, "counts": 3}',
        '{"design": {"p00": "3/4", "p11": "2/3"}, "n": 7, "counts": []}',
        '{"design": {"p00": "3/4", "p11": "2/3"}, "n": 7, "counts": [3, 4]}',
        '{"design": {"p00": "3/4", "p11": "2/3"}, "n": 7, "n": 9, "counts": [3]}',
        '{"design": {"p00": 0.75, "p11": 0.5}, "n": 7, "counts": [3]}',
        '{"design": {"p00": "3/4"}, "n": 7, "counts": [3]}',
        '{"design": ["3/4", "2/3"], "n": 7, "counts": [3]}',
        '{"design": {"p00": "3/4", "p11": "x"}, "n": 7, "counts": [3]}',
        '{"design": {"p00": "3/4", "p11": "7/4"}, "n": 7, "counts": [3]}',
        '{"design": {"p00": "6/8", "p11": "2/3"}, "n": 7, "counts": [3]}',
        "[" * 100_000,
    ],
)
def test_bad_tally_json(text):
    with pytest.raises(RRCollectError):
        Tally.from_json(text)


def test_what_is_not_json_is_called_so():
    for text in ("", "{", b"\xff"):
        with pytest.raises(ParameterError, match="^tally is .*JSON text"):
            Tally.from_json(text)
    with pytest.raises(ParameterError, match="^tally is .*only numbers are whole"):
        Tally.from_json("[0.5]")


def test_counts_become_plain_integers_and_the_labels_are_turned_only_if_need_be():
    tally = Tally(D, np.int64(7), np.uint8(3))
    assert (type(tally.n), type(tally.ones)) == (int, int)
    assert tally.oriented() is tally
    assert Tally(Design("1/4", "1/3"), 7, 4).oriented() == tally.oriented()


def test_collection_json_round_trip():
    tallies = Tallies.of(
        [
            report("1", segments={"b": "2", "a": "1"}),
            report("0", round=3),
            report("1", survey="t"),
            report("1", question="z"),
        ]
    )
    assert Tallies.from_json(tallies.to_json()) == tallies
    assert repr(tallies) == "<Tallies: 4 keys, 4 answers>"
    entry = json.loads(tallies.to_json())[0]
    for bad in ([entry, entry], [entry | {"segments": []}], {}, [entry | {"round": -1}], [entry | {"survey": 3}]):
        with pytest.raises(ParameterError):
            Tallies.from_json(json.dumps(bad))


def test_selecting_and_grouping():
    other = Design("4/5", "4/5")
    tallies = Tallies.of(
        [
            report("1", segments={"region": "n"}),
            report("0", segments={"region": "s"}),
            report("1", design=other),
            report("1"),
        ]
    )
    assert tallies.by("region")[("n",)] == (Tally(D, 1, 1),)
    assert tallies.by("segments.region")[(None,)] == (Tally(D, 1, 1), Tally(other, 1, 1))
    assert tallies.where(design=other).one() == Tally(other, 1, 1)
    assert tallies.where(region="s").one() == Tally(D, 1, 0)
    with pytest.raises(ParameterError):
        tallies.one()
    with pytest.raises(EmptySelection):
        tallies.where(question="nothing").one()
    key = TallyKey("s", "q", D)
    assert key in tallies
    assert tallies[key] == Tally(D, 1, 1)
    with pytest.raises(EmptySelection):
        tallies[TallyKey("s", "unasked", D)]
    with pytest.raises(ParameterError):
        Tallies({key: Tally(other, 1, 1)})
    with pytest.raises(ParameterError):
        TallyKey("s", "q", D, (("a", "1"), ("a", "2")))


@pytest.mark.parametrize("answer", ["2", "-1", "", "01", None, 1, 0, 0.5, True, float("nan")])
def test_reports_with_an_invalid_answer_are_refused(answer):
    with pytest.raises(ParameterError, match="answer of report 1 is"):
        Tallies.of([report("1"), report(answer)])


def test_builders_agree():
    generator = np.random.default_rng(1)
    for n in (0, 1, 7, 8, 9, 1000):
        bits = generator.random(n) < 0.4
        expected = Tally(D, n, int(bits.sum()))
        forms = [bits, bits.astype(int), bits.tolist(), (int(b) for b in bits), bits.astype(np.uint8)]
        forms += [pd.Series(bits), pl.Series(bits.tolist(), dtype=pl.Boolean), bits.astype(object)]
        assert all(Tally.of(form, D) == expected for form in forms)
        for order in ("big", "little"):
            packed = np.packbits(bits, bitorder=order)
            assert Tally.of(packed, D, n=n, bitorder=order) == expected
            assert Tally.of(packed.tobytes(), D, n=n, bitorder=order) == expected
        for frame in (pd.DataFrame({"x": bits}), pl.DataFrame({"x": bits}), {"x": bits}):
            assert Tally.of(frame["x"], D) == expected


def test_padding_bits_are_not_counted():
    assert Tally.of(bytes([0xFF]), D, n=3).ones == 3
    assert Tally.of(bytes([0b00000111]), D, n=3, bitorder="little").ones == 3


@pytest.mark.parametrize(
    "answers",
    [
        [0, 2],
        [1, None],
        [1, float("nan")],
        ["0", "2"],
        [0.0, 0.5],
        "01",
        5,
        None,
        np.array([[0, 1]]),
        pd.Series([True, None]),
    ],
)
def test_invalid_answers_are_refused(answers):
    with pytest.raises(ParameterError, match="answer"):
        Tally.of(answers, D)


def test_floats_that_pandas_made_of_a_column_with_a_gap_are_0_and_1():
    column = pd.Series([1, None, 0, 1]).dropna()
    assert column.dtype == float
    for answers in (column, column.to_numpy(), column.tolist(), column.astype(object)):
        assert Tally.of(answers, D) == Tally(D, 3, 2)


def test_columns_and_bytes_that_do_not_fit():
    with pytest.raises(ParameterError, match="answer 1"):
        Tally.of(pl.DataFrame({"x": [True, None]})["x"], D)
    with pytest.raises(ParameterError, match="2 bytes for n = 9"):
        Tally.of(b"\x00", D, n=9)
    with pytest.raises(ParameterError, match="bitorder"):
        Tally.of(b"\x00", D, n=8, bitorder="middle")
    with pytest.raises(ParameterError, match="uint8"):
        Tally.of(np.zeros(1), D, n=8)
    for bad in (-1, 1.0, True):
        with pytest.raises(ParameterError):
            Tally(D, 5, bad)
