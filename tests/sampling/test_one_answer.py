"""One question has one answer, however a sample is described; what shows nothing says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rrcollect import Design, ParameterError, optimal_design
from server_agg import Tally, estimate, sampling

E1, DIRECT = optimal_design(1), Design(1, 1)


def test_a_few_heavy_weights_have_one_design_effect_and_it_is_r_s() -> None:
    """Weights 200, 200, 200, 1, 1, …: R's svymean(deff = "replace"), that is, the variance over that of a simple random
    sample with replacement whose variance among people is the weighted one, with n − 1."""
    weights = np.array([200.0] * 3 + [1.0] * 57)
    answers = np.array([1, 0, 1] + [1, 0, 0] * 19)
    found = sampling.estimate(answers, DIRECT, weights=weights)
    share = weights @ answers / weights.sum()
    scores = weights * (answers - share) / weights.sum()
    variance = 60 / 59 * scores @ scores
    simple = weights @ (answers - share) ** 2 / weights.sum() / 59
    assert found.design_effect == pytest.approx(variance / simple)
    assert found.kish_design_effect == pytest.approx(60 * weights @ weights / weights.sum() ** 2)
    assert found.as_dict()["rows"][0]["design_effect"] == found.design_effect  # type: ignore[index]


@pytest.mark.parametrize("made", [sampling.post_stratify, None])
def test_everybody_of_a_population_leaves_the_noise_alone(made: Any) -> None:
    """150 people of 150: only the randomisation is left, post-stratified or not."""
    answers, cells = (np.arange(150) % 3 == 0).astype(int), np.arange(150) % 2
    weights = None if made is None else made(None, cells, {0: 75, 1: 75})
    found = sampling.estimate(answers, E1, weights=weights, population=150)
    whole = estimate(Tally(E1, 150, int(answers.sum())), target="sample")
    assert found.standard_error == pytest.approx(whole.standard_error)
    counted = {c: Tally(E1, 75, int(answers[cells == c].sum())) for c in (0, 1)}
    assert sampling.estimate(counted, population={0: 75, 1: 75}).standard_error == pytest.approx(whole.standard_error)
    infinite = sampling.estimate(answers, E1, weights=weights)
    assert infinite.standard_error > 1.05 * found.standard_error  # planted bug: the population forgotten


def test_the_misfit_of_a_stratum_is_not_that_of_the_figure() -> None:
    """The figure is of all answers: its misfit is that of all its counts by one design, as `estimate` has it."""
    strata = {"a": Tally(E1, 100, 60), "b": Tally(E1, 50, 10)}
    found = sampling.estimate(strata, population={"a": 1000, "b": 100})
    whole = estimate(Tally(E1, 150, 70))
    assert found.misfit == whole.misfit
    assert not any("so far below" in note for note in found.notes)
    worse = sampling.estimate({"a": Tally(E1, 100, 60), "b": Tally(E1, 50, 3)}, population={"a": 1000, "b": 100})
    assert any(note.startswith("stratum b: data do not fit the design") for note in worse.notes)


def test_replicate_weights_without_their_weights_are_refused() -> None:
    given = sampling.replicates(np.tile([[0, 1.5, 1.5], [1.5, 0, 1.5], [1.5, 1.5, 0]], (2, 1)), scale=2 / 3)
    with pytest.raises(ParameterError, match="weights.*that the replicates were made from"):
        sampling.estimate([1, 0, 1, 0, 1, 1], E1, replicates=given)
    assert sampling.estimate([1, 0, 1, 0, 1, 1], E1, weights=np.ones(6), replicates=given).standard_error > 0


@pytest.mark.parametrize("role", ["by", "strata", "clusters"])
def test_a_number_and_its_text_are_not_one_name(role: str) -> None:
    mixed = np.array([1, "1", 2, 2, 1, "1"], object)
    with pytest.raises(ParameterError, match="written alike"):
        sampling.estimate([1, 0, 1, 0, 1, 1], E1, **{role: mixed})
    same = sampling.estimate([1, 0, 1, 0, 1, 1], E1, by=np.array([1, 1.0, 2, 2, 1, 1], object))
    assert [row.name for row in same.rows] == ["all", "1", "2"]


def test_groups_come_in_their_own_order() -> None:
    ages = ["10", "9", "9", "10", "11", "100", "11", "100"]
    found = sampling.estimate([1, 0] * 4, E1, by=ages)
    assert [row.name for row in found.rows] == ["all", "9", "10", "11", "100"]
    classes = np.array(["18-24", "5-17", "65+", "25-64"] * 2, object)
    assert [row.name for row in sampling.estimate([1, 0] * 4, E1, by=classes).rows][1:] == [
        "5-17", "18-24", "25-64", "65+",
    ]  # fmt: skip


def test_a_domain_in_one_cluster_shows_no_standard_error() -> None:
    """R's survey says SE 0; the spread between clusters cannot be seen in one."""
    clusters, groups = np.repeat([1, 2, 3, 4], 6), np.repeat(["x", "y", "y", "y"], 6)
    found = sampling.estimate([1, 0, 1, 0, 1, 1, 1, 0] * 3, optimal_design(3), clusters=clusters, by=groups)
    alone = found["x"]
    assert alone.standard_error is None
    assert alone.as_dict()["design_effect"] is None
    assert found["y"].standard_error
    for method in ("korn-graubard", "wald"):
        assert tuple(alone.interval(method=method)) == (0.0, 1.0)
    assert any("x: all its answers lie in one cluster" in note for note in found.notes)
    apart = found.difference("x", "y")
    assert apart.standard_error is None
    assert apart.p_value > 0.05
    assert "none" in str(found)
    found.to_json()


def test_a_complex_estimate_says_that_it_is_approximate_however_it_is_shown() -> None:
    answers, clusters = [1, 0, 1, 0, 1, 1, 1, 0] * 3, np.repeat(np.arange(12), 2)
    heavy = np.where(np.arange(24) < 12, 1.0, 2.0)
    for how in ({"clusters": clusters}, {"weights": heavy}, {"clusters": clusters, "weights": heavy}):
        found = sampling.estimate(answers, E1, **how)
        for shown in (str(found), found.sentence(), found.to_markdown(), found.to_latex(), found._repr_html_()):
            assert "coverage approximate" in shown
            assert ("if weights go with the truth" in shown) is ("weights" in how)
