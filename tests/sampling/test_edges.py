"""Complex samples at their edges: misfit beside values, totals of rare attributes, differences without an error."""

from __future__ import annotations

import numpy as np
import pytest

from rrcollect import Design, ParameterError, optimal_design
from server_agg import Tally, estimate, sampling
from tests.support.covering import counts, covered

E1, DIRECT, P3 = optimal_design(1), Design(1, 1), Design(1, "0.3")


def answers_of(n, ones):
    return [1] * ones + [0] * (n - ones)


@pytest.mark.parametrize("ones", [0, 17, 20, 26, 50, 80, 100])
def test_the_misfit_of_a_sample_is_that_of_its_count(ones):
    """Without weights: if nobody has it, answers are noise alone, however people were drawn."""
    exact, found = estimate(Tally(E1, 100, ones)).misfit, sampling.estimate(answers_of(100, ones), E1)["all"].misfit
    assert found.tail_probability == exact.tail_probability
    assert (found.approximate, bool(found)) == (False, bool(exact))
    if exact.told:
        assert found.side == exact.side


@pytest.mark.needs("pandas")
def test_misfit_stands_beside_every_value_of_a_complex_sample():
    few = (np.arange(200) % 10 == 0).astype(int)
    found = sampling.estimate(few, E1, clusters=np.arange(200) // 10, weights=np.linspace(1, 1.1, 200))
    assert found.value < 0
    for text in (str(found), found.sentence(), found._repr_html_(), found.to_markdown()):
        assert "unclipped −3" in text
        assert "data do not fit the design" in text
    assert found.as_dict()["rows"][0]["misfit"]["flag"]
    assert "P(so far below)" in found.points()[0].note
    assert found.to_frame().loc[0, "misfit_flag"]
    fits = sampling.estimate(answers_of(200, 80), E1, clusters=np.arange(200) // 10)
    assert "fit" not in str(fits)
    assert "unclipped" not in str(fits)


def test_the_options_of_a_choice_and_means_have_their_misfit_too():
    design = optimal_design(1, options=3)
    found = sampling.estimate(["100"] * 60 + ["010"] * 35 + ["001"] * 5, design)
    assert [bool(figure.misfit) for figure in found.rows] == [False, False, True]
    mean = sampling.estimate(answers_of(100, 10), E1, bounds=(5, 9))
    assert "unclipped" in str(mean)


def coverage_of_total(method):
    """The least exact coverage over prevalences of 30 direct answers, each standing for 10 people."""
    n, bars = 30, []
    for ones in range(n + 1):
        total = sampling.estimate(answers_of(n, ones), DIRECT, weights=np.full(n, 10.0)).total
        bars.append(tuple(total.interval(method=method)))
    laws = ((300 * pi, law) for pi, law in counts(DIRECT, n, np.arange(1, 100) / 100))
    return min(covered(bars, laws, rounding=1e-9))


def test_the_bar_of_a_total_holds_for_rare_attributes_and_the_plain_one_does_not():
    assert coverage_of_total("korn-graubard") >= 0.95
    assert coverage_of_total("wald") < 0.3


def test_the_bar_of_a_total_knows_that_people_were_not_counted_beforehand():
    """A group of which everybody has the attribute: the share is certain, how many they are is not."""
    group = np.where(np.arange(100) % 3 == 0, "a", "b")
    found = sampling.estimate([1] * 100, DIRECT, weights=np.full(100, 7.0), by=group)["a"]
    bar = found.total.interval()
    assert found.standard_error == 0
    assert bar.low < found.total.value < bar.high
    assert bar.high == pytest.approx(found.total.interval(method="wald").high)
    assert found.total.interval(method="wald").low >= bar.low


def test_a_total_of_zero_answers_has_a_bar():
    total = sampling.estimate([0] * 50, P3, weights=np.ones(50)).total
    assert tuple(total.interval(method="wald")) == (0, 0)
    assert "width 0" in total.interval(method="wald").warning
    assert 5 < total.interval().high < 50
    with pytest.raises(ParameterError, match="method"):
        total.interval(method="exact")


@pytest.mark.parametrize(("n", "proof"), [(2, False), (10, True)])
def test_groups_that_agree_within_themselves_are_not_proofs(n, proof):
    """The estimated error is 0; p was 0 with it, also for two people against two."""
    found = sampling.estimate([0] * n + [1] * n, DIRECT, by=[0] * n + [1] * n).difference("0", "1")
    bar = found.interval()
    assert found.standard_error == 0
    assert 0 < found.p_value < 1
    assert (found.p_value < 0.05) is proof
    assert (bar.low <= 0 <= bar.high) is not proof
    assert found.rows[0].extras["test"] == "the mover bar"
    equal = sampling.estimate([0] * 2 * n, DIRECT, by=[0] * n + [1] * n).difference("0", "1")
    assert equal.p_value > 0.99


def test_answers_that_are_all_alike_have_no_design_effect():
    """It was a quotient of two rounding errors."""
    assert sampling.estimate([0] * 60, E1, weights=np.linspace(1, 3, 60)).design_effect is None


@pytest.mark.parametrize(("responded", "word"), [([1] * 6, "everybody"), ([0] * 6, "nobody")])
def test_response_weights_need_people_of_both_kinds(responded, word):
    with pytest.raises(ParameterError, match=f"'{word}'.*weights as they are"):
        sampling.response_weights(None, responded, [1, 2, 3, 4, 5, 6])
