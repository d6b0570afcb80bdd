"""Regressions in clusters: what a few of them can tell; how many people, which letter, how near to dependent."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rrcollect import Design, optimal_design
from server_agg import models
from server_agg.errors import NotIdentified

DIRECT, E3 = Design(1, 1), optimal_design(3)


def test_four_clusters_hold_the_size() -> None:
    """A covariate of 4 clusters (2 and 2) that explains nothing, normal means of the clusters: p < .05 in 600 surveys
    by fixed seeds.  At a size of .05 more than .105 of them has probability < 1e-9; with clusters − 1 degrees of
    freedom it was .127.  (Of the linear model the test is Student's: see below.)"""
    found = 0
    for seed in range(600):
        rng = np.random.default_rng([seed, 33])
        inside = np.clip(0.5 + 0.12 * rng.standard_normal(4), 0.02, 0.98)
        answers = (rng.random(400) < np.repeat(inside, 100)).astype(int)
        x, clusters = np.repeat([0.0, 0.0, 1.0, 1.0], 100), np.repeat(np.arange(4), 100)
        found += models.fit(answers, x, DIRECT, clusters=clusters)["x1"].p_value < 0.05
    assert found / 600 < 0.105


def test_the_standard_error_is_that_of_two_groups_of_clusters() -> None:
    """A covariate of the clusters: the t test of two groups of cluster means, 5 against 3, is the judge (SciPy)."""
    from scipy import stats

    rng = np.random.default_rng(3)
    said = (rng.random((8, 50)) < rng.uniform(0.2, 0.8, (8, 1))).astype(int)
    x = np.repeat([0, 0, 0, 0, 1, 1, 1, 1], 50)
    fit = models.fit(said.ravel(), x, DIRECT, clusters=np.repeat(np.arange(8), 50), link="identity", names=["x"])
    judge = stats.ttest_ind(said[4:].mean(axis=1), said[:4].mean(axis=1))
    assert fit.df == 6
    assert fit["x"].p_value == pytest.approx(judge.pvalue)


def test_a_coefficient_that_one_cluster_alone_shows_has_no_standard_error() -> None:
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(8), 25)
    answers, x = rng.integers(0, 2, 200), rng.standard_normal(200)
    there = (clusters == 3).astype(float)
    for link in ("logit", "identity"):
        fit = models.fit(answers, {"x": x, "there": there}, E3, clusters=clusters, link=link)
        row = fit["there"]
        assert (row.standard_error, row.p_value) == (None, None)
        assert tuple(row.interval()) == (None, None)
        assert "one cluster alone shows it" in row.interval().warning
        assert fit["x"].standard_error > 0
        assert "there: one cluster alone shows it" in str(fit)
        assert " none" in fit.summary()
        fit.to_json()
        fit.to_frame()


def test_few_clusters_are_told_and_too_few_are_refused() -> None:
    rng = np.random.default_rng(2)
    answers, x = rng.integers(0, 2, 200), rng.standard_normal(200)
    few = models.fit(answers, x, E3, clusters=np.arange(200) % 8)
    assert "few clusters: the standard errors have 6 degrees of freedom" in str(few)
    assert "few clusters" in models.fit(answers, x, E3, clusters=np.arange(200) % 8, link="identity").sentence()
    assert "few clusters" not in str(models.fit(answers, x, E3, clusters=np.arange(200) % 20))
    wide = rng.standard_normal((200, 3))
    with pytest.raises(NotIdentified, match="4 coefficients in 4 clusters"):
        models.fit(answers, wide, E3, clusters=np.arange(200) % 4)


def test_the_letter_is_t_where_degrees_of_freedom_are_the_survey_s() -> None:
    rng = np.random.default_rng(5)
    fit = models.fit(rng.integers(0, 2, 200), rng.standard_normal(200), E3, clusters=np.arange(200) % 10)
    assert "P>|t|" in fit.summary()
    assert "P>|z|" not in fit.summary()
    assert "t" in fit.columns()
    assert "z" not in fit.columns()


def test_repeats_are_people() -> None:
    people = [60, 140, 80, 120, 110, 90]
    fit = models.fit([1, 0] * 3, [-1, -1, 0, 0, 1, 1], optimal_design(2), names=["x"], repeats=people)
    assert fit["x"].n == fit.as_dict()["n"] == 600
    heading = dict(fit.heading())
    assert (heading["No. Observations:"], heading["Df Residuals:"]) == ("600", "598")
    one_by_one = models.fit(
        np.repeat([1, 0] * 3, people), np.repeat([-1, -1, 0, 0, 1, 1], people), optimal_design(2), names=["x"]
    )
    assert one_by_one.summary() == fit.summary()


def test_what_is_nearly_a_combination_is_told_and_shown_in_columns() -> None:
    rng = np.random.default_rng(0)
    x, answers = rng.standard_normal(400), rng.integers(0, 2, 400)
    near = x + 1e-9 * rng.standard_normal(400)
    for link in ("logit", "identity"):
        fit = models.fit(answers, {"x": x, "near": near, "far": np.arange(400.0)}, E3, link=link)
        (told,) = [note for note in fit.notes if "nearly" in note]
        assert told.startswith("x, near: ")
        lines = [line.split() for line in fit.summary().splitlines() if line.strip().startswith(("x ", "near "))]
        assert [len(line) for line in lines] == [7, 7]
    year = 2000 + rng.integers(0, 20, 400)  # far from 0 beside its spread: no combination of anything
    assert not [note for note in models.fit(answers, {"year": year}, E3).notes if "nearly" in note]


def test_effects_by_formula_are_the_same_on_polars_frames() -> None:
    rng = np.random.default_rng(7)
    columns = {
        "said": rng.integers(0, 2, 300).tolist(), "age": rng.integers(18, 80, 300).tolist(),
        "region": rng.choice(["north", "south", "east"], 300).tolist(), "w": rng.random(300).tolist(),
    }  # fmt: skip
    first, second = (
        models.fit("said ~ age + C(region)", frame, E3, weights="w")
        for frame in (pd.DataFrame(columns), pl.DataFrame(columns))
    )
    assert second.marginal_effects().as_dict() == first.marginal_effects().as_dict()
    rows = {name: column[:5] for name, column in columns.items()}
    assert second.predict(pl.DataFrame(rows)).as_dict() == first.predict(pd.DataFrame(rows)).as_dict()
