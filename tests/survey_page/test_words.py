"""The words of a board: never narrower than the bar, never certain without a level, comparisons all at once."""

import math
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrcollect import Design, optimal_design
from server_agg import Tally, compare
from server_agg.results.row import SHARES, Scale
from server_agg.survey_page import words as plain_words
from server_agg.survey_page.question import MOST, differences
from server_agg.survey_page.words import about, difference_words, largest_words, others_words, trend_words
from tests.support.comparing import both

D = Design("3/4", "3/4")
HOURS = Scale(0, 40, "hours")
LEVEL = Fraction(19, 20)
shares = st.floats(0, 1, allow_nan=False)


def ends(words):
    inside = words.split("between ")[1].split(")")[0].replace("−", "-")
    return [float(one) for one in inside.split(" and ")]


def holds(low, value, high):
    """Whether the words hold the bar, and are not wider than rounding makes them."""
    words = about(value, low, high, SHARES)
    base = int(words.split(" of ")[1].split(" ")[0].replace(",", ""))
    told = [end / base for end in ends(words)]
    hours = ends(about(40 * value, 40 * low, 40 * high, HOURS))
    return (
        told[0] <= low + 1e-9
        and high <= told[1] + 1e-9
        and told[1] - told[0] <= high - low + 2 / base
        and hours[0] <= 40 * low + 1e-7
        and 40 * high <= hours[1] + 1e-7
    )


@given(low=shares, value=shares, high=shares)
def test_the_bar_that_is_told_holds_the_bar_that_was_found(low, value, high):
    assert holds(*sorted((low, value, high)))


def test_the_check_sees_a_bar_that_is_rounded_to_the_nearest(monkeypatch):
    nearest = SimpleNamespace(floor=round, ceil=round, log10=math.log10)
    monkeypatch.setattr(plain_words, "math", nearest)
    assert not holds(0.128, 0.3, 0.522)


def test_a_narrow_bar_is_told_of_more_people():
    assert about(0.0041, 0.0032, 0.0051, SHARES) == "About 41 of 10,000 (between 32 and 51)"
    assert about(0.041, 0.032, 0.051, SHARES) == "About 41 of 1,000 (between 32 and 51)"
    assert about(1.3, 0.8, 1.0, SHARES) == "About 100 of 100 (between 80 and 100)"  # cut to the scale


def groups(**ones):
    return compare({name: Tally(D, 300, many) for name, many in ones.items()}, minimum=30)


def test_certain_is_what_the_bars_of_all_pairs_exclude():
    """The family is all pairs: a difference that one test alone would call certain is not certain among ten."""
    many = groups(a=150, b=120, c=121, d=122, e=123)
    found = {(one["higher"], one["lower"]): one for one in differences(many, looking=False)}
    assert len(found) == 10
    alone = both(Tally(D, 300, 150), Tally(D, 300, 120))
    assert alone.test.p_value < 0.05 < 10 * alone.test.p_value
    pair = found["a", "b"]
    bar = alone.difference.interval(1 - (1 - LEVEL) / 10, "mover")
    assert (pair["low"], pair["high"], pair["method"]) == (bar.low, bar.high, "mover")
    assert pair["words"].endswith(": not certain at the level 95 %")
    (two,) = differences(groups(a=150, b=120), looking=False)
    assert two["words"].endswith(": certain at the level 95 %")
    for one in [*found.values(), two]:
        assert (one["low"] > 0 or one["high"] < 0) is ("not certain" not in one["words"]) is one["certain"]


def test_options_of_a_choice_are_one_family():
    (one,) = differences(replace(groups(a=150, b=120), many=4), looking=False)
    assert one["comparisons"] == 4
    assert "not certain" in one["words"]


def test_groups_that_were_put_together_are_not_compared():
    cells = {
        "a": Tally(D, 300, 150),
        "b": Tally(D, 300, 100),
        "few": Tally(D, 10, 5),
        "(not declared)": Tally(D, 90, 9),
    }
    pairs = differences(compare(cells, minimum=30), looking=False)
    assert {(one["higher"], one["lower"]) for one in pairs} <= {("a", "b")}


def test_of_many_pairs_the_highest_is_told_against_the_lowest():
    many = groups(**{f"g{i:02d}": 100 + 4 * i for i in range(12)})
    found = differences(replace(many, many=6), looking=False)
    assert [one["lower"] for one in found] == ["g00", "g01", "g02", "g03", "g04"]
    assert {one["higher"] for one in found} == {"g11"}
    assert {one["comparisons"] for one in found} == {66 * 6}
    assert len(found) == MOST // 6


def test_in_a_live_view_the_bars_of_the_groups_decide():
    cells = {"a": Tally(D, 300, 170), "b": Tally(D, 300, 90)}
    table = compare(cells, minimum=30, method="anytime", over=5)
    (one,) = differences(table, looking=True)
    a, b = (row.interval() for row in table.group_rows)
    assert (one["low"], one["high"]) == (a.low - b.high, a.high - b.low)


def test_means_are_compared_in_their_unit():
    cells = {name: Tally(optimal_design(1), 400, ones) for name, ones in (("a", 240), ("b", 180))}
    (one,) = differences(compare(cells, minimum=30, bounds=HOURS.ends, unit=HOURS.unit), looking=False)
    share = both(*cells.values())
    assert one["value"] == pytest.approx(40 * share.difference.value)
    assert one["low"] == pytest.approx(40 * share.difference.interval(method="mover").low)
    assert " hours (between " in one["words"]


def test_equal_groups_are_not_called_higher():
    verb, words = difference_words(0.001, (-0.2, 0.21), SHARES, 0.95)
    assert verb == "is about as high as"
    assert words.endswith("that they differ is not certain at the level 95 %")


def test_the_largest_option_is_certain_when_its_bar_lies_above_all_others():
    bars = [("a", 0.5, 0.4, 0.6), ("b", 0.3, 0.2, 0.41), ("c", 0.2, 0.1, 0.3)]
    assert largest_words(bars, 0.95) == ("a", "not certain at the level 95 %: its bar overlaps with another")
    assert largest_words([bars[0], bars[2]], 0.9)[1].startswith("certain at the level 90 %")


def test_one_point_is_one_point():
    assert trend_words(-0.0099, 0.5, SHARES, 0.95).startswith("Falls by about 0.99 points")
    assert trend_words(-0.01, 0.5, SHARES, 0.95).startswith("Falls by about 1 point per round")
    assert difference_words(0.0102, (-0.031, 0.27), SHARES, 0.95)[1].startswith("by about 1 point (between")


def test_what_is_not_certain_is_counted_and_what_was_not_looked_at_is_not_judged():
    assert others_words(1, 6, 6) == "None of the other 5 differences is certain."
    assert others_words(1, 2, 2) == "The other difference is not certain."
    assert others_words(0, 5, 396) == "None of the 5 differences that were looked at is certain."


def test_a_trend_says_its_level():
    assert trend_words(0.02, 0.01, SHARES, 0.95) == "Rises by about 2 points per round: certain at the level 95 %"
    assert trend_words(-1.5, 0.06, HOURS, 0.95) == "Falls by about 1.5 hours per round: not certain at the level 95 %"
