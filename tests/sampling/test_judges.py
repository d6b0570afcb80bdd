"""Complex samples against R's `survey`: shares, totals, differences, choices, replicates, calibration, non-response.

The figures of R stand in reference/figures.json; R is not needed here.  Both sides are exact, so they agree to 1e-6 of
the figure; most to 1e-12.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from rrcollect import Design, SetDesign
from server_agg import sampling
from server_agg.sampling.replication import jackknife_replicates
from tests.inside.sampling import Sample
from tests.sampling.data import figures, survey

DIRECT = Design(1, 1)
CLOSE = 1e-6


def close(found: float, judged: Any) -> bool:
    told = float(np.ravel(judged)[0])
    return math.isclose(found, told, rel_tol=CLOSE, abs_tol=1e-12)


def named(name: str, case: dict[str, Any]) -> str:
    on = [switch for switch, value in case["switches"].items() if value]
    return f"{name}: {', '.join(on) or 'none'}"


SHARES = [pytest.param(name, case, id=named(name, case)) for name in "ABN" for case in figures()["shares"][name]]


@pytest.mark.parametrize(("name", "case"), SHARES)
def test_shares_totals_and_differences_are_those_of_r(name: str, case: dict[str, Any]) -> None:
    data = survey(name)
    how = data.drawn(**case["switches"])
    direct, noisy = (sampling.estimate(data["answer"], design, **how) for design in (DIRECT, data.design))
    assert noisy.df == case["freedom"]
    for found, judged, noise, noise_of_total in (
        (direct, case["direct"], 0.0, 0.0),
        (noisy, case["randomised"], case["noise"], case["total_noise"]),
    ):
        assert close(found.value, judged["mean"])
        assert close(found.standard_error**2, float(np.ravel(judged["se"])[0]) ** 2 + noise)
        if how["weights"] is not None or how["population"] is not None:
            assert close(found.total.value, judged["total"])
            error = float(np.ravel(judged["total_se"])[0])
            assert close(found.total.standard_error**2, error**2 + noise_of_total)
        if noise == 0:
            assert close(found.design_effect, judged["deff"])
            low, high = judged["ci"]
            bar = found.interval(method="wald")
            assert close(bar.low, max(low, 0))
            assert close(bar.high, min(high, 1))
    groups = sampling.estimate(data["answer"], data.design, by=data["group"], **how)
    judged = case["groups"]
    assert [close(f.value, mean) for f, mean in zip(groups.rows[1:], judged["mean"], strict=True)] == [True, True]
    if how["population"] is None:
        assert [close(f.standard_error, se) for f, se in zip(groups.rows[1:], judged["se"], strict=True)] == [True] * 2
        assert close(groups.difference("0", "1").standard_error, judged["difference_se"])


@pytest.mark.parametrize("kind", ["stratified_schools", "clustered_schools"])
def test_a_real_sample_of_schools(kind: str) -> None:
    case = figures()[kind]
    counts = [row["people"] for row in case["rows"]]
    told = {name: np.repeat([row[name] for row in case["rows"]], counts) for name in case["rows"][0]}
    place = "stratum" if kind == "stratified_schools" else "cluster"
    sizes: Any = dict(zip(told[place].tolist(), told["size"].tolist(), strict=True))
    how = {"strata": told[place]} if place == "stratum" else {"clusters": told[place]}
    population = sizes if place == "stratum" else int(told["size"][0])
    for design, judged, noise in (
        (DIRECT, case["direct"], 0.0),
        (Design("0.8", "0.7"), case["randomised"], case["noise"]),
    ):
        found = sampling.estimate(told["answer"], design, weights=told["w"], population=population, **how)
        assert found.df == case["freedom"]
        assert close(found.value, judged["mean"])
        assert close(found.total.value, judged["total"])
        assert close(found.standard_error**2, float(np.ravel(judged["se"])[0]) ** 2 + noise)


@pytest.mark.parametrize("name", "AB")
def test_choices_have_the_covariances_of_r(name: str) -> None:
    data, design = survey(name), SetDesign(4, 1, "1/2")
    sets = (data["choice"][:, None] == np.arange(4)).astype(int)
    for case in figures()["choices"][name]:
        found = sampling.estimate(sets, design, **data.drawn(**case["switches"]))
        assert np.allclose([f.value for f in found.rows], case["mean"], rtol=CLOSE)
        if not case["switches"]["fpc"]:
            assert np.allclose(found.covariance, case["covariance"], rtol=CLOSE, atol=1e-15)
        assert math.isclose(sum(f.value for f in found.rows), 1)


@pytest.mark.parametrize("name", "AB")
@pytest.mark.parametrize("place", [0, 1], ids=["JK1", "JKn"])
def test_replicates_are_those_of_r(name: str, place: int) -> None:
    data, case = survey(name), figures()["replicates"][name][place]
    how = data.drawn(weights=True, strata=case["strata"], clusters=True, fpc=False)
    sample = Sample.of(data["i"].size, **how)
    i = data["i"]
    given = np.column_stack([data["w"] * (0.5 + (i + k * (1 + i % 3)) % 5 / 4) for k in range(12)])
    for centre in ("estimate", "mean"):
        made = jackknife_replicates(sample, centre=centre)
        assert made.kind == case["kind"]
        found = sampling.estimate(data["answer"], data.design, replicates=made, **how)
        assert close(found.standard_error, case[centre])
        judged = case[f"given_{centre}"]
        brought = sampling.replicates(given, scale=0.3, scales=np.arange(1, 13) / 4, centre=centre)
        found = sampling.estimate(data["answer"], data.design, weights=data["w"], replicates=brought)
        assert close(found.value, judged["mean"])
        assert close(found.standard_error, judged["se"])
        assert found.rows[0].df == judged["freedom"]


@pytest.mark.parametrize("name", "AB")
@pytest.mark.parametrize("place", [0, 1], ids=["clustered", "weighted"])
def test_calibrated_weights_and_their_errors_are_those_of_r(name: str, place: int) -> None:
    data, case = survey(name), figures()["calibrations"][name][place]
    how = data.drawn(**case["switches"])
    base = how.pop("weights")
    ages = np.unique(data["age"])
    total = 120 * len(ages)
    cell = 10 * data["age"] + data["sex"]
    margins = {
        "sex": (data["sex"], {0: 0.45 * total, 1: 0.55 * total}),
        "age": (data["age"], {int(age): 120 for age in ages}),
    }
    post = sampling.post_stratify(base, cell, {int(c): 50 + 10 * k for k, c in enumerate(np.unique(cell))})
    for made, judged, key in ((post, case["post"], "post"), (sampling.rake(base, margins), case["raked"], "raked")):
        assert np.allclose(made.weights[:12], judged["weights"], rtol=CLOSE)
        found = sampling.estimate(data["answer"], data.design, weights=made, **how)
        assert close(found.value, judged["mean"]), key
        assert close(found.standard_error, judged["se"]), key
        assert close(found.total.standard_error, judged["total_se"]), key
    again = sampling.estimate(
        data["answer"], data.design, weights=sampling.rake(base, margins), replicates="jackknife", **how
    )
    assert close(again.value, case["raked_jackknife"]["mean"])
    assert close(again.standard_error, case["raked_jackknife"]["se"])


@pytest.mark.parametrize("name", "AB")
def test_response_weights_are_those_of_r(name: str) -> None:
    data, case = survey(name), figures()["responses"][name]
    there = (data["i"] * 29 % 17 < 9 + 3 * data["sex"]).astype(int)
    made = sampling.response_weights(data["w"], there, np.column_stack([data["sex"], data["x"]]))
    assert np.allclose(made.coefficients, case["coefficients"], rtol=CLOSE)
    how = {"strata": data["stratum"], "clusters": data["cluster"]}
    answers = [a if t else None for a, t in zip(data["answer"].tolist(), there, strict=True)]
    linear = sampling.estimate(answers, data.design, weights=made, **how)
    again = sampling.estimate(answers, data.design, weights=made, replicates="jackknife", **how)
    assert close(linear.value, case["mean"])
    assert close(again.standard_error, case["jackknife_se"])
    assert math.isclose(linear.standard_error, case["jackknife_se"], rel_tol=0.05)  # two estimates of one error
