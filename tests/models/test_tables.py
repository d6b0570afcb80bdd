"""Tables of two questions: R's chisq.test, loglin, mcnemar.test, glm, optim and survey; unbiased by enumeration."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from rrcollect import Design, ParameterError, SetDesign
from server_agg import models, sampling
from tests.models.data import DIRECT, DIRECT4, KEPT, TOLD, TOLD2, drawn, figures, people, sets

NAMES = ["A", "B"]


@pytest.mark.parametrize("name", NAMES)
def test_direct_tables_are_those_of_r(name: str) -> None:
    data, judged = people(name), figures()["tables"][name]
    groups = models.table(data["group"], (sets(data["rank"]), DIRECT4))
    assert groups.independence.statistic == pytest.approx(judged["pearson"], rel=1e-9)
    assert groups.independence.p_value == pytest.approx(judged["pearson_p"], rel=1e-9)
    assert groups.independence.df == 3
    assert groups.likelihood.independence.statistic == pytest.approx(judged["g2"], abs=1e-6)
    waves = models.table((sets(data["rank"]), DIRECT4), (sets(data["later"]), DIRECT4))
    assert waves.symmetry.statistic == pytest.approx(judged["bowker"], rel=1e-9)
    assert waves.homogeneity.statistic == pytest.approx(judged["stuart_maxwell"], rel=1e-9)
    two = models.table((data["answer"], DIRECT), (data["second"], DIRECT))
    assert two.homogeneity.statistic == pytest.approx(judged["mcnemar"], rel=1e-9)
    (odds,) = two.odds_ratios.rows
    assert odds.extras["log_odds"] == pytest.approx(judged["log_odds"], rel=1e-6)
    more = math.sqrt(240 / 239) if name == "A" else math.sqrt(data["i"].size / (data["i"].size - 1))
    assert odds.extras["log_odds_error"] == pytest.approx(judged["log_odds_se"] * more, rel=1e-6)
    changed = waves.change
    assert changed["changed (gross)"].value == pytest.approx(np.mean(data["rank"] != data["later"]))
    net = [np.mean(data["later"] == k) - np.mean(data["rank"] == k) for k in range(4)]
    assert np.allclose([row.value for row in changed.rows[1:]], net)


@pytest.mark.parametrize("name", NAMES)
def test_the_likelihood_is_that_of_r_s_optim(name: str) -> None:
    data, judged = people(name), figures()["tables"][name]
    two = models.table((data["told"], TOLD), (data["told2"], TOLD2)).likelihood
    assert np.allclose([row.value for row in two.rows], judged["noisy"]["shares"], atol=2e-4)
    assert two.log_likelihood == pytest.approx(judged["noisy"]["log_likelihood"], abs=1e-5)
    assert two.log_likelihood >= judged["noisy"]["log_likelihood"] - 1e-6
    assert two.independence.statistic == pytest.approx(judged["noisy"]["g2"], abs=1e-4)
    groups = models.table(data["group"], (sets(data["said"]), KEPT)).likelihood
    assert groups.log_likelihood == pytest.approx(judged["groups"]["log_likelihood"], abs=1e-3)
    assert np.allclose([row.value for row in groups.rows], judged["groups"]["shares"], atol=2e-3)
    for row in two.rows:
        low, high = row.interval()
        assert 0 <= low <= row.value <= high <= 1
        assert high - low > 0.05


@pytest.mark.parametrize("name", NAMES)
def test_complex_tables_are_those_of_r_s_survey(name: str) -> None:
    data, judged, how = people(name), figures()["complex"][name], drawn(people(name))
    cells = models.table((data["told"], TOLD), (data["told2"], TOLD2), **how)
    order = ["yes, yes", "yes, no", "no, yes", "no, no"]
    assert np.allclose([cells[cell].value for cell in order], judged["cells"], rtol=1e-9)
    assert np.allclose([cells[cell].standard_error for cell in order], judged["se"], rtol=1e-9)
    groups = models.table(data["group"], (sets(data["rank"]), DIRECT4), **how)
    wald = groups.wald
    left = groups.df - wald.df + 1
    assert wald.statistic == pytest.approx(judged["own"]["wald"], rel=1e-8)
    # R's own takes totals of the table, ours shares: the same to first order
    assert wald.statistic * left / (groups.df * wald.df) == pytest.approx(judged["wald"]["statistic"], rel=0.1)
    assert wald.p_value == pytest.approx(judged["wald"]["p"], rel=0.1)
    found, own = groups.independence, judged["own"]
    assert found.statistic == pytest.approx(own["x2"], rel=1e-8)
    assert found.p_value == pytest.approx(own["p"], rel=1e-6)
    # R's default takes the covariance of the saturated table, ours that of independence: near each other
    assert found.p_value == pytest.approx(judged["second"]["p"], rel=0.35)
    if judged["log_odds"] is not None:
        (odds,) = cells.odds_ratios.rows
        assert odds.extras["log_odds"] == pytest.approx(judged["log_odds"], rel=1e-8)
        assert odds.extras["log_odds_error"] == pytest.approx(judged["log_odds_se"], rel=1e-8)
    replicated = models.table((data["told"], TOLD), (data["told2"], TOLD2), replicates="jackknife", **how)
    assert np.allclose([r.standard_error for r in replicated.rows], [r.standard_error for r in cells.rows], rtol=0.1)
    with pytest.raises(ParameterError, match="there is no likelihood"):
        _ = cells.likelihood


def test_pearson_s_is_that_of_the_answers_own_table() -> None:
    """Rule 1: noise drawn apart neither makes nor hides dependence, so SciPy judges the randomised answers as they are;
    SetDesigns of one option too."""
    data = people("B")
    found = models.table((data["told"], Design("0.7", "0.9")), (sets(data["said"]), KEPT))
    counts = np.array([[np.sum((data["told"] == a) & (data["said"] == b)) for b in range(4)] for a in range(2)])
    judged = chi2_contingency(counts, correction=False)
    assert found.independence.statistic == pytest.approx(judged.statistic, rel=1e-9)
    assert (found.independence.df, found.independence.p_value) == (3, pytest.approx(judged.pvalue, rel=1e-9))


@pytest.mark.parametrize("designs", [(Design("3/4", "2/3"), SetDesign(3, 1, "3/4")), (SetDesign(3, 2, "0.8"), DIRECT)])
def test_shares_are_unbiased_by_enumeration(designs: tuple[Any, Any]) -> None:
    """Two people, every pair of answers that they can give: the mean of every cell is its true share."""
    said, laws = [], []
    for design in designs:
        bits = [b for b in itertools.product((0, 1), repeat=design.width) if design.allows("".join(map(str, b)))]
        said.append([b[0] if design.width == 1 else b for b in bits])
        laws.append(design.chances([b[0] for b in bits] if design.width == 1 else np.array(bits)))
    j, k = (design.truths for design in designs)
    truths = [(j - 1, 0), (0, k - 1)]
    mean = np.zeros((j, k))
    places = [range(len(each)) for each in said]
    for a, b, c, d in itertools.product(places[0], places[1], places[0], places[1]):
        chance = (
            laws[0][a, truths[0][0]] * laws[1][b, truths[0][1]] * laws[0][c, truths[1][0]] * laws[1][d, truths[1][1]]
        )
        if chance:
            first, second = [said[0][a], said[0][c]], [said[1][b], said[1][d]]
            mean += chance * models.table((first, designs[0]), (second, designs[1])).shares
    want = np.zeros((j, k))
    for one, other in truths:
        want[one, other] += 0.5
    assert np.allclose(mean, want, atol=1e-12)


def test_a_design_for_each_record_margins_and_what_is_shown() -> None:
    data = people("A")
    each = [TOLD if i % 2 else Design("0.8", "0.8") for i in range(240)]
    one = models.table((data["told"], TOLD), (data["told2"], TOLD2))
    several = models.table((data["told"], each), (data["told2"], TOLD2))
    assert np.allclose(one.shares, several.shares)
    assert one.simple
    margin = one.margin(0)
    assert margin.value == pytest.approx(sampling.estimate(data["told"], TOLD).value)
    assert margin.value == pytest.approx(one.shares[1].sum())
    mixed = models.table((data["told"], [TOLD, Design("0.7", "0.9")] * 120), (data["told2"], TOLD2))
    assert not mixed.simple
    assert "Rao–Scott" in mixed.independence.method
    text = str(one)
    assert "supposes: the two answers of a person were drawn apart" in text
    assert "the questions are independent: Pearson" in text
    assert one.as_dict()["independence"]["df"] == 1
    assert one.difference("yes, no", "no, yes").value == pytest.approx(one.change["net: yes"].value * -1)
    named = models.table((data["told"], TOLD, ["never", "ever"]), data["group"])
    assert [row.name for row in named.rows][:2] == ["never, 0", "never, 1"]
    assert all(math.isfinite(end) for row in one.rows for end in row.interval())


def test_answers_without_dependence_and_cells_at_zero() -> None:
    """Nothing varies: no dependence, p = 1; a share of 0 has no odds ratio, and shares beyond 0 are told."""
    same = models.table(([0] * 20, DIRECT), ([1, 0] * 10, DIRECT))
    assert (same.independence.statistic, same.independence.p_value) == (0.0, 1.0)
    assert same.odds_ratios.rows[0].value is None
    assert "no odds" not in str(same.odds_ratios)
    assert "none where one of its shares" in str(same.odds_ratios)
    negative = models.table(([0] * 30 + [1] * 10, TOLD), ([0, 1] * 20, TOLD))
    assert negative.likelihood["yes, yes"].value >= 0


def test_the_planted_bug_one_and_the_same_answer_twice() -> None:
    """An answer repeated as if drawn again shows impossible shares."""
    answers = (np.arange(400) % 10 < 4).astype(int)
    again = models.table((answers, TOLD), (answers, TOLD))
    assert again["yes, no"].value < -0.1
    assert again["yes, no"].value + 3 * again["yes, no"].standard_error < 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"first": ([1, 0, 1], TOLD)}, "as many as there are first ones"),
        ({"first": ([1, 0, 1, 2], TOLD)}, "answer 3 is 2"),
        ({"first": ([1, 0, 1, 0],)}, "or a known column"),
        ({"first": ([1, 0, 1, 0], TOLD, ["a"])}, "2 different names"),
        ({"first": [1, 1, 1, 1]}, "two or more"),
        ({"first": [1.0, math.nan, 1.0, 0.0]}, "missing"),
        ({"first": ([1, 0, 1, 0], "warner")}, "design"),
        ({"weights": [1, 1, 1]}, "one weight for each of 4"),
        ({"clusters": [1, 1, 2]}, "one value for each"),
    ],
)
def test_bad_input_is_refused(change: dict[str, Any], words: str) -> None:
    given = {"first": ([1, 0, 1, 0], TOLD), "second": ([1, 1, 0, 0], TOLD), **change}
    with pytest.raises(ParameterError, match=words):
        models.table(given.pop("first"), given.pop("second"), **given)


def test_waves_need_the_same_options() -> None:
    groups = models.table(([1, 0, 1, 0], TOLD), ["a", "b", "b", "a"])
    with pytest.raises(ParameterError, match="the options of the first"):
        _ = groups.change
    with pytest.raises(ParameterError, match="0 or 1"):
        groups.margin(2)


@pytest.mark.parametrize("name", NAMES)
def test_groups_pairs_and_ratios_of_samples_are_those_of_r_s_survey(name: str) -> None:
    """svyby with its covariance and svycontrast, svyglm's regTermTest, svyratio."""
    data, judged, how = people(name), figures()["complex"][name], drawn(people(name))
    found = sampling.estimate(data["told"], TOLD, by=data["age"], **how)
    test = found.equal()
    assert test.statistic == pytest.approx(judged["groups"], rel=1e-8)
    assert test.statistic == pytest.approx(judged["groups_svyglm"], rel=1e-6)
    ages = [row.name for row in found.rows[1:]]
    assert test.df == len(ages) - 1
    pairs = found.pairs()
    assert len(pairs.rows) == math.comb(len(ages), 2)
    for row, told in zip(pairs.rows[: len(ages) - 1], judged["pairs"], strict=True):
        assert row.value == pytest.approx(told["value"], rel=1e-8)
        assert row.standard_error == pytest.approx(told["se"], rel=1e-8)
        assert row.extras["family"] == len(pairs.rows)
        low, high = row.interval()
        assert (low <= 0 <= high) == (row.p_value >= 0.05)
    both = models.table((data["told"], TOLD), (data["told2"], TOLD2), **how)
    apart = sampling.estimate(data["told"], TOLD, **how)
    assert apart.value == pytest.approx(both.shares[1].sum())
    by_cells = both.ratio("yes, yes", "yes, no")
    assert by_cells.value == pytest.approx(judged["ratio"]["value"], rel=1e-9)
    assert by_cells.standard_error == pytest.approx(judged["ratio"]["se"], rel=1e-9)
    low, high = by_cells.interval()
    assert low is None or low < by_cells.value < high


def test_a_ratio_s_error_is_the_delta_method_s_and_its_bar_fieller_s() -> None:
    data, how = people("A"), drawn(people("A"))
    found = sampling.estimate(data["told"], TOLD, by=data["group"], **how)
    row = found.ratio("0", "1").rows[0]
    a, b = (found[name].value for name in "01")
    v = found.covariance[1:, 1:]
    want = math.sqrt(v[0, 0] / b**2 - 2 * a * v[0, 1] / b**3 + a**2 * v[1, 1] / b**4)
    assert (row.value, row.standard_error) == (pytest.approx(a / b), pytest.approx(want))
    for end in row.interval():  # at its ends first − ρ·second is t errors from 0
        gap = (a - end * b) / math.sqrt(v[0, 0] - 2 * end * v[0, 1] + end**2 * v[1, 1])
        assert abs(gap) == pytest.approx(2.0280940, rel=1e-6) or found.df != 36
        assert abs(gap) > 1.9
    for wrong in (("0", "0"), ("0", "9")):
        with pytest.raises(ParameterError):
            found.ratio(*wrong)
    for names in (("0",), ("0", "0"), ("0", "none")):
        with pytest.raises(ParameterError):
            found.equal(*names)
        with pytest.raises(ParameterError):
            found.pairs(*names)
