"""Fits of samples: replicates, finite populations, parts of the people.  Judges: R's survey; all answers enumerated."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from rrcollect import Design, ParameterError
from server_agg import models, sampling
from server_agg.models.outcome import Outcome
from server_agg.sampling.replication import jackknife_replicates
from tests.inside.sampling import Sample
from tests.models.data import DIRECT, covariates, drawn, figures, people
from tests.sampling.data import survey

NAMES = ["A", "B"]


def both(fit: Any, judged: dict[str, Any]) -> bool:
    """R has no factor for few clusters, which replicates do not need (see `inference`)."""
    errors = fit.standard_errors * (math.sqrt(fit.df / (fit.df + 2)) if fit.kind == "survey" else 1)
    same = np.allclose(fit.coefficients, judged["coefficients"], rtol=1e-6, atol=1e-8)
    return same and np.allclose(errors, judged["se"], rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_replicates_parts_and_populations_are_those_of_r(name: str) -> None:
    data, judged = people(name), figures()["fits"][name]
    z, how, units = covariates(data), drawn(data), survey(name).units
    sizes = {int(stratum): units for stratum in np.unique(data["stratum"])}
    assert both(models.fit(data["answer"], z, DIRECT, replicates="jackknife", **how), judged["jackknife"])
    assert both(models.fit(data["answer"], z, DIRECT, population=sizes, **how), judged["whole"])
    linear = models.fit(data["answer"], z, DIRECT, link="identity", replicates="jackknife", **how)
    assert both(linear, judged["linear_jackknife"])
    among = data["group"] == 1
    part = models.fit(data["answer"], z, DIRECT, among=among, **how)
    assert both(part, judged["part"])
    assert (part.df + 2, part.records) == (judged["part"]["freedom"], int(among.sum()))
    assert both(models.fit(data["answer"], z, DIRECT, link="identity", among=among, **how), judged["linear_part"])
    cut = models.fit(data["answer"][among], z[among], DIRECT, **{k: v[among] for k, v in how.items()})
    assert np.allclose(cut.coefficients, part.coefficients)
    whole = models.fit(data["answer"], z, DIRECT, **how)
    assert whole.wald_test("x1", "x2").statistic == pytest.approx(judged["wald"] * whole.df / (whole.df + 2))


@pytest.mark.parametrize("name", NAMES)
def test_replicates_that_came_with_the_data_are_the_same(name: str) -> None:
    data = people(name)
    z, how = covariates(data), drawn(data)
    made = jackknife_replicates(Sample.of(data["i"].size, **how))
    sample = Sample.of(data["i"].size, **how)
    columns = np.column_stack([made.weights(sample, r) for r in range(made.count)])
    brought = sampling.replicates(columns, scales=made.scales, df=made.df)
    fits = [
        models.fit(data["told"], z, Design("0.8", "0.8"), weights=data["w"], replicates=brought),
        models.fit(data["told"], z, Design("0.8", "0.8"), replicates="jackknife", **how),
    ]
    assert np.allclose(fits[0].standard_errors, fits[1].standard_errors, rtol=1e-9)
    assert fits[0].df == fits[1].df
    near = models.fit(data["told"], z, Design("0.8", "0.8"), **how).standard_errors
    assert np.allclose(fits[1].standard_errors, near, rtol=0.2)
    with pytest.raises(ParameterError, match="the value needs them too"):
        models.fit(data["told"], z, Design("0.8", "0.8"), replicates=brought)


@pytest.mark.parametrize("design", [Design("0.8", "0.7"), Design(1, "0.6"), Design(1, 1)], ids=str)
def test_the_noise_of_a_census_is_unbiased(design: Design) -> None:
    """Everybody is asked: over all answers of four people the mean of the added noise is the variance of the score at
    the true coefficients, and (1 − f)V is 0, which alone R would report."""
    z, truths = np.array([[1.0, 0.2], [1.0, 1.0], [1.0, -0.7], [1.0, 0.4]]), np.array([0, 1, 1, 0])
    beta, w = np.array([0.3, -0.6]), np.array([1.0, 2.0, 0.5, 1.5])
    mean, square, noise = np.zeros(2), np.zeros((2, 2)), np.zeros((2, 2))
    for said in itertools.product((0, 1), repeat=4):
        chance = float(np.prod([design.matrix[t][a] for t, a in zip(truths, said, strict=True)]))
        if not chance:
            continue
        model = Outcome(**{**Outcome.of(said, z, design).__dict__, "weights": w})
        score = model.scores(beta).sum(axis=0)
        mean, square = mean + chance * score, square + chance * np.outer(score, score)
        noise += chance * model.noise(beta, np.ones(4))
    assert np.allclose(noise, square - np.outer(mean, mean), atol=1e-12)
    assert (np.abs(noise).max() > 1e-3) == (design != Design(1, 1))


def test_a_census_has_the_noise_and_a_part_of_it_more() -> None:
    """The errors fall with the share that is asked, to those of the noise alone; the linear model's likewise."""
    data = people("A")
    z, n = covariates(data), 240
    for link in ("logit", "identity"):
        errors = [
            models.fit(data["told"], z, Design("0.8", "0.8"), link=link, population=m).standard_errors
            for m in (n, 2 * n, 10**9)
        ]
        assert (errors[0] < errors[1]).all()
        assert (errors[1] < errors[2]).all()
        assert (errors[0] > 0.5 * errors[2]).all()
        direct = models.fit(data["answer"], z, DIRECT, link=link, population=n)
        assert np.allclose(direct.standard_errors, 0, atol=1e-7)
        jackknife = models.fit(data["told"], z, Design("0.8", "0.8"), link=link, population=n, replicates="jackknife")
        assert np.allclose(jackknife.standard_errors, errors[0], rtol=1e-6)


def test_a_part_without_weights_and_bad_input() -> None:
    data = people("B")
    z, among = covariates(data), data["group"] == 0
    part = models.fit(data["told"], z, Design("0.8", "0.8"), among=among)
    cut = models.fit(data["told"][among], z[among], Design("0.8", "0.8"))
    assert np.allclose(part.coefficients, cut.coefficients, rtol=1e-9)
    assert np.allclose(part.standard_errors, cut.using("sandwich").standard_errors, rtol=0.02)
    assert (part.kind, part.records, part.aic) == ("survey", int(among.sum()), None)
    for wrong, words in (
        ({"among": among[:5]}, "among"),
        ({"among": np.full(among.size, np.nan)}, "among"),
        ({"among": among * 2}, "True or False"),
        ({"replicates": "brr"}, "'jackknife', 'bootstrap'"),
        ({"population": 3}, "population"),
        ({"repeats": np.ones(among.size), "among": among}, "repeats alone"),
    ):
        with pytest.raises(ParameterError, match=words):
            models.fit(data["told"], z, Design("0.8", "0.8"), **wrong)
