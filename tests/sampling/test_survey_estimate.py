"""Complex samples by enumeration, with planted bugs; errors; what results can do."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from rrcollect import Design, ParameterError, SetDesign, optimal_design
from server_agg import Tally, estimate, sampling
from server_agg.errors import NotCalibrated, SingleCluster, TooFewAnswers
from server_agg.sampling.replication import bootstrap_replicates
from tests.inside.sampling import Sample
from tests.sampling.data import survey

NOISY = Design("3/4", "2/3")


def moments(estimate_total: Any) -> tuple[float, float, float]:
    """(mean, variance, mean of the estimated variance) of a total over all samples of 2 of 4 clusters and all answers.

    Everybody of a cluster is asked; the truths of the four clusters are fixed.
    """
    truths = [(1, 1), (1, 0), (0, 0), (1, 0, 0)]
    mean = square = told = 0.0
    for drawn in itertools.combinations(range(4), 2):
        people = [(unit, truth) for unit in drawn for truth in truths[unit]]
        for answers in itertools.product((0, 1), repeat=len(people)):
            chance = 1 / 6
            for (_, truth), answer in zip(people, answers, strict=True):
                one = NOISY.p11 if truth else 1 - NOISY.p00
                chance *= float(one if answer else 1 - one)
            value, variance = estimate_total(list(answers), [unit for unit, _ in people])
            mean, square, told = mean + chance * value, square + chance * value**2, told + chance * variance
    return mean, square - mean**2, told


def test_the_total_and_its_variance_are_unbiased_for_a_finite_population() -> None:
    def ours(answers: list[int], units: list[int]) -> tuple[float, float]:
        found = sampling.estimate(answers, NOISY, clusters=units, population=4).total
        return found.value, found.standard_error**2

    mean, variance, told = moments(ours)
    assert math.isclose(mean, 4)
    assert math.isclose(variance, told)


def test_planted_bug_the_correction_must_not_shrink_the_noise() -> None:
    """(1 − f)·V alone, as software for direct answers has it, tells less than the truth."""

    def bug(answers: list[int], units: list[int]) -> tuple[float, float]:
        sample = Sample.of(len(answers), clusters=units, population=4)
        values = sampling.estimate(answers, NOISY, clusters=units, population=4).total.value
        r = (np.array(answers) - 0.25) / (3 / 4 + 2 / 3 - 1)
        return values, float(sample.covariance((sample.weights * r)[:, None])[0, 0])

    _, variance, told = moments(bug)
    assert told < 0.7 * variance


def test_a_census_has_the_error_of_the_noise_alone() -> None:
    answers = [1, 0, 1, 1, 0, 0]
    census = sampling.estimate(answers, NOISY, population=6)
    r = (np.array(answers) - 0.25) / (5 / 12)
    assert math.isclose(census.standard_error**2, float((r * r - r).sum()) / 36)
    assert sampling.estimate(answers, Design(1, 1), population=6).standard_error == 0


def test_unequal_weights_warn_that_they_may_go_with_the_truth() -> None:
    answers, units = [1, 0, 1, 0, 0, 1], [1, 1, 2, 2, 3, 3]
    equal, unequal = (
        sampling.estimate(answers, NOISY, clusters=units, weights=w) for w in ([2] * 6, [1, 2, 3, 1, 2, 3])
    )
    assert equal.interval().warning == ""
    assert "if weights go with the truth" in unequal.interval().warning


def test_planted_bug_clusters_matter() -> None:
    """Members of a cluster are alike: who ignores it tells an error several times too small."""
    truth = np.repeat([1, 0, 0, 1, 0, 0, 1, 0], 25)
    units = np.repeat(np.arange(8), 25)
    right, naive = (sampling.estimate(truth, Design(1, 1), **how) for how in ({"clusters": units}, {}))
    assert right.standard_error > 4 * naive.standard_error
    assert right.design_effect is not None
    assert naive.design_effect is not None
    assert right.design_effect > 25 > 24 * naive.design_effect
    assert right.interval().width > 3 * naive.interval().width


def test_a_single_cluster_is_an_error_that_names_its_stratum() -> None:
    strata, clusters = ["north", "north", "south", "south"], [1, 2, 3, 3]
    with pytest.raises(SingleCluster, match=r"'south' has a single cluster.*merge it.*population=") as caught:
        sampling.estimate([1, 0, 1, 0], NOISY, strata=strata, clusters=clusters)
    assert caught.value.stratum == "south"
    with pytest.raises(SingleCluster, match="single person"):
        sampling.estimate([1, 0, 1], NOISY, strata=["a", "a", "b"])
    with pytest.raises(SingleCluster, match="the sample has a single cluster"):
        sampling.estimate([1, 0, 1], NOISY, clusters=[1, 1, 1])
    taken_whole = {"north": 10, "south": 1}
    found = sampling.estimate([1, 0, 1, 0], NOISY, strata=strata, clusters=clusters, population=taken_whole)
    assert found.standard_error > 0


def test_cluster_names_are_names_within_their_stratum() -> None:
    again = sampling.estimate([1, 0, 1, 0, 1, 1], NOISY, strata=[1, 1, 1, 2, 2, 2], clusters=[1, 2, 2, 1, 2, 2])
    assert again.sample.units == 4
    assert again.df == 2


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"weights": [1, 2]}, "one weight for each of 4"),
        ({"weights": [1, 2, -1, 1]}, "weight 2 is -1"),
        ({"strata": ["a", None, "a", "a"]}, "strata of record 1 is 'missing'"),
        ({"strata": ["a", "b"]}, "one value for each of 4"),
        ({"clusters": [1.0, float("nan"), 2.0, 2.0]}, "clusters of record 1"),
        ({"population": 3}, "population is 3"),
        ({"population": {"a": 1}}, "one size for each stratum"),
        ({"strata": list("aabb"), "population": 9}, "a size for each"),
        ({"strata": list("aabb"), "population": [9, 8, 9, 9]}, "2 sizes in stratum 'a'"),
        ({"replicates": "magic"}, "'jackknife', 'bootstrap', or a Replicates"),
        ({"weights": np.ones(4), "replicates": sampling.replicates(np.ones((3, 5)))}, "3 rows"),
        ({"population": 9, "replicates": "bootstrap"}, "'jackknife', or no population"),
    ],
)
def test_bad_samples_are_refused(how: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        sampling.estimate([1, 0, 1, 0], NOISY, **how)


def test_bad_answers_are_refused() -> None:
    with pytest.raises(TooFewAnswers):
        sampling.estimate([1], NOISY)
    choice = SetDesign(3, 1, "1/2")
    with pytest.raises(ParameterError, match="answer 1 is '110'"):
        sampling.estimate(["100", "110"], choice)
    with pytest.raises(ParameterError, match="answer 0"):
        sampling.estimate(np.array([[1, 1, 0], [1, 0, 0]]), choice)
    with pytest.raises(ParameterError, match="3 different names"):
        sampling.estimate(["100", "010"], choice, labels=["a", "b"])
    with pytest.raises(ParameterError, match="without them there is no total"):
        _ = sampling.estimate([1, 0, 1], NOISY).total
    with pytest.raises(ParameterError, match=r"result\[name\]"):
        _ = sampling.estimate([1, 0, 1, 0], NOISY, by=list("abab")).value


def test_texts_and_matrices_are_the_same_choices() -> None:
    design = SetDesign(3, 1, "1/2")
    texts = ["100", "010", "001", "100"]
    matrix = np.array([[int(x) for x in text] for text in texts])
    labels = ["red", "green", "blue"]
    one, other = (sampling.estimate(each, design, labels=labels) for each in (texts, matrix))
    assert one.to_json() == other.to_json()
    # the counts are 2, 1, 1 of 4: the same as a plain estimate of a choice
    assert [round(f.value, 12) for f in one.rows] == [1.0, 0.0, 0.0]
    assert one.difference("red", "blue").value == pytest.approx(1)


def test_a_mean_is_its_share_on_another_scale_without_a_correction() -> None:
    data = survey("A")
    how = data.drawn(weights=True, strata=True, clusters=True, fpc=False)
    share = sampling.estimate(data["answer"], data.design, **how)
    mean = sampling.estimate(data["answer"], data.design, unit="hours", **how, bounds=(10, 30))
    assert mean.value == pytest.approx(10 + 20 * share.value)
    assert mean.standard_error == pytest.approx(20 * share.standard_error)
    assert mean.interval().low == pytest.approx(10 + 20 * share.interval().low)
    assert "hours" in mean.sentence()
    assert mean.total.value == pytest.approx(mean.value * data["w"].sum())
    finite = sampling.estimate(
        data["answer"], data.design, **data.drawn(weights=True, strata=True, clusters=True, fpc=True), bounds=(10, 30)
    )
    assert finite.standard_error == pytest.approx(mean.standard_error)


def test_one_cluster_per_person_equal_weights_is_the_plain_estimate() -> None:
    answers = np.array([1, 0, 0, 1, 1, 0, 1, 0, 0, 0])
    found = sampling.estimate(answers, NOISY)
    r = (answers - 0.25) / (5 / 12)
    assert found.value == pytest.approx(r.mean())
    assert found.standard_error == pytest.approx(r.std(ddof=1) / math.sqrt(10))
    assert found.design_effect == pytest.approx(1)


def test_counted_answers_are_the_same_strata_as_records() -> None:
    data = survey("B")
    sizes = {"0": 400, "1": 300, "2": 500}
    layers = data["stratum"].astype(str)
    tallies = {
        name: Tally(data.design, int((layers == name).sum()), int(data["answer"][layers == name].sum()))
        for name in sizes
    }
    stands = np.array([sizes[name] / tallies[name].n for name in layers])
    for records, counted in (
        ({"population": sizes}, {"population": sizes}),
        ({"weights": stands}, {"weights": sizes}),
    ):
        whole = sampling.estimate(data["answer"], data.design, strata=layers, **records)
        same = sampling.estimate(tallies, **counted)
        assert whole.value == pytest.approx(same.value, rel=1e-12)
        assert whole.standard_error == pytest.approx(same.standard_error, rel=1e-12)
        assert whole.design_effect == pytest.approx(same.design_effect, rel=1e-9)
        assert whole.total.standard_error == pytest.approx(same.total.standard_error, rel=1e-12)
        assert whole.total.value == pytest.approx(same.total.value, rel=1e-12)
        assert tuple(whole.interval()) == pytest.approx(tuple(same.interval()), rel=1e-9)
    exact = {name: estimate(tally, population=sizes[name]) for name, tally in tallies.items()}
    finite = sampling.estimate(tallies, population=sizes)
    value = sum(sizes[name] * one.exact_value for name, one in exact.items()) / 1200
    variance = sum(sizes[name] ** 2 * one.variance for name, one in exact.items()) / 1200**2
    assert finite.value == pytest.approx(float(value), rel=1e-12)
    assert finite.standard_error**2 == pytest.approx(float(variance), rel=1e-12)
    by_side = sampling.estimate(tallies, population=sizes, by={"0": "west", "1": "west", "2": "east"})
    assert [row.name for row in by_side.rows] == ["all", "east", "west"]
    assert by_side["east"].value == pytest.approx(exact["2"].value)


def test_a_domain_keeps_the_units_that_have_nobody_in_it() -> None:
    """Cutting the data to the group first makes up its size: another, mostly smaller, error."""
    data = survey("B")
    how = {"weights": data["w"], "clusters": data["cluster"]}
    inside = (data["cluster"] % 3 != 0) & (data["group"] == 1)
    whole = sampling.estimate(data["answer"], data.design, by=np.where(inside, "in", "out"), **how)["in"]
    cut = sampling.estimate(data["answer"][inside], data.design, **{k: v[inside] for k, v in how.items()})
    assert whole.value == pytest.approx(cut.value)
    assert whole.standard_error != pytest.approx(cut.standard_error, rel=1e-3)
    assert whole.df == cut.df  # of the units with somebody in it


def test_the_bootstrap_agrees_with_linearisation_and_repeats_itself() -> None:
    data = survey("B")
    how = data.drawn(weights=True, strata=True, clusters=True, fpc=False)
    linear, first, second = (
        sampling.estimate(data["answer"], data.design, replicates=asked, **how)
        for asked in (None, "bootstrap", "bootstrap")
    )
    assert first.standard_error == second.standard_error
    assert first.standard_error == pytest.approx(linear.standard_error, rel=0.15)  # a fixed seed
    sample = Sample.of(data["i"].size, **how)
    factors = bootstrap_replicates(sample, count=20_000).factors
    assert np.allclose(factors.mean(axis=1), 1, atol=0.05)


def test_alike_answers_count_clusters_not_people() -> None:
    """Nobody of 400 in 20 clusters says yes: the bar is that of 20 answers, since nothing shows that people differ."""
    units = np.repeat(np.arange(20), 20)
    none = sampling.estimate(np.zeros(400, int), Design(1, 1), clusters=units).interval()
    people = sampling.estimate(np.zeros(20, int), Design(1, 1)).interval()
    naive = sampling.estimate(np.zeros(400, int), Design(1, 1)).interval()
    assert none.low == 0
    assert naive.high < 0.02 < people.high <= none.high < 0.2


def test_the_bar_of_a_difference_is_narrower_for_correlated_groups_and_agrees_for_large_samples() -> None:
    rng = np.random.default_rng(1)
    units = np.repeat(np.arange(400), 20)
    answers = (rng.random(8000) < np.repeat(rng.uniform(0.2, 0.6, 400), 20)).astype(int)
    found = sampling.estimate(answers, optimal_design(3), clusters=units, by=np.tile([0, 1], 4000))
    apart = found.difference("0", "1")
    assert apart.rows[0].extras["correlation"] > 0.2
    for a, b in zip(apart.interval(), apart.interval(method="wald"), strict=True):
        assert a == pytest.approx(b, abs=0.004)
    assert (apart.p_value < 0.05) == (not apart.interval(method="wald").low <= 0 <= apart.interval(method="wald").high)


@pytest.mark.needs("matplotlib", "pandas")
def test_results_show_themselves() -> None:
    data = survey("A")
    found = sampling.estimate(
        data["answer"], data.design, by=data["group"], **data.drawn(weights=True, strata=True, clusters=True, fpc=True)
    )
    frame = found.to_frame()
    assert list(frame["name"]) == ["all", "0", "1"]
    assert {"low", "high", "design_effect", "total"} <= set(frame)
    assert "24 clusters in 4 strata, 20 degrees of freedom" in found.to_markdown()
    assert found.sentence().startswith("all: ")
    assert "design effect" in str(found)
    assert len(found.at_once()) == 3
    assert found.at_once()[1].width > found["0"].interval().width
    assert found.plot() is not None
    assert "NaN" not in found.to_json()
    assert found.difference("0", "1").to_frame()["p_value"][0] > 0


# ---- calibration and non-response -----------------------------------------------------------------------------------


def test_calibrated_weights_meet_their_totals() -> None:
    data = survey("A")
    totals = {"sex": (data["sex"], {0: 200.0, 1: 160.0}), "age": (data["age"], {0: 90.0, 1: 150.0, 4: 120.0})}
    made = sampling.rake(data["w"], totals)
    for column, wanted in totals.values():
        for cell, total in wanted.items():
            assert made.weights[column == cell].sum() == pytest.approx(total, rel=1e-10)
    known = sampling.estimate((data["sex"] == 1).astype(int), Design(1, 1), weights=made)
    assert known.value == pytest.approx(160 / 360)
    assert known.standard_error < 1e-12


def test_planted_bug_calibrated_weights_taken_as_given() -> None:
    """Without residuals the error of what calibration explains is told far too large."""
    rng = np.random.default_rng(3)
    cell = rng.integers(0, 2, 2000)
    answers = (rng.random(2000) < np.where(cell == 1, 0.9, 0.1)).astype(int)
    made = sampling.post_stratify(None, cell, {0: 500, 1: 500})
    right, wrong = (sampling.estimate(answers, Design(1, 1), weights=w) for w in (made, made.weights))
    assert right.value == wrong.value
    assert wrong.standard_error > 1.5 * right.standard_error


@pytest.mark.parametrize(
    ("work", "error", "words"),
    [
        (lambda: sampling.post_stratify(None, ["a", "b"], {"a": 1}), ParameterError, "one for each cell"),
        (lambda: sampling.post_stratify(None, ["a", "b"], {"a": 1, "b": 0}), ParameterError, "total of 'b' is 0"),
        (
            lambda: sampling.post_stratify([1, 1, 0], ["a", "a", "b"], {"a": 1, "b": 2}),
            NotCalibrated,
            "no record of positive",
        ),
        (lambda: sampling.rake(None, {}), ParameterError, "one or more"),
        (
            lambda: sampling.rake(None, {"x": ([0, 1], {0: 1, 1: 1}), "y": ([0, 1], {0: 2, 1: 2})}),
            NotCalibrated,
            "different numbers of people",
        ),
        (
            lambda: sampling.rake(None, {"x": ([0, 1], {0: 1, 1: 1}), "y": ([0, 1], {0: 0.5, 1: 1.5})}),
            NotCalibrated,
            "still off by",
        ),
        (
            lambda: sampling.response_weights(None, [1, 1, 0, 0], [0, 0, 1, 1]),
            NotCalibrated,
            "almost surely|propensity",
        ),
        (lambda: sampling.response_weights(None, [1, 0, 1, 0], [[1, 1]] * 4), ParameterError, "linearly dependent"),
        (lambda: sampling.response_weights(None, [1, 0, 1, 0], [1, 2]), ParameterError, "a row for each of 4"),
    ],
)
def test_weights_that_cannot_be_made_are_refused(work: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        work()


def test_response_weights_mend_what_covariates_explain() -> None:
    """Exact: everybody of a population of two classes; those with x = 1 answer half as often."""
    x = np.repeat([0, 1], 600)
    truth = np.concatenate([np.arange(600) % 10 == 0, np.arange(600) % 10 < 6]).astype(int)  # 10 % and 60 %
    there = np.concatenate([np.arange(600) // 10 % 10 < 8, np.arange(600) // 10 % 10 < 4]).astype(int)  # 80 % and 40 %
    made = sampling.response_weights(None, there, x)
    answers = [t if h else None for t, h in zip(truth.tolist(), there, strict=True)]
    mended = sampling.estimate(answers, Design(1, 1), weights=made)
    naive = sampling.estimate(truth[there == 1], Design(1, 1))
    share = [truth[(x == k) & (there == 1)].mean() for k in (0, 1)]
    assert mended.value == pytest.approx(sum(share) / 2)
    assert abs(mended.value - truth.mean()) < 0.01 < abs(naive.value - truth.mean())
    assert mended.rows[0].n == int(there.sum())
    # propensities by cells are post-stratification to the cells' sizes: one estimate, one error
    cells = sampling.post_stratify(None, x[there == 1], {0: 600, 1: 600})
    within = sampling.estimate(truth[there == 1], Design(1, 1), weights=cells)
    assert mended.value == pytest.approx(within.value)


def test_raking_after_non_response_counts_both() -> None:
    data = survey("A")
    there = (data["i"] * 29 % 17 < 9 + 3 * data["sex"]).astype(int)
    first = sampling.response_weights(data["w"], there, data["x"])
    made = sampling.rake(first, {"sex": (data["sex"], {0: 200.0, 1: 160.0})})
    how = {"strata": data["stratum"], "clusters": data["cluster"]}
    linear, again = (
        sampling.estimate(data["answer"], data.design, weights=made, replicates=r, **how) for r in (None, "jackknife")
    )
    assert linear.sample.weights[there == 0].sum() == 0
    assert linear.standard_error == pytest.approx(again.standard_error, rel=0.06)
