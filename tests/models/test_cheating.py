"""Cheaters: identifiability, exact solutions, brute force, simulation with a planted bug, sensitivity."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from scipy.stats import binom, chi2

from rrcollect import Design, ParameterError, optimal_design
from server_agg import Tally, estimate, models
from server_agg.errors import NotIdentified, TooFewAnswers
from server_agg.models.cheaters import _fit, _statistic
from server_agg.models.cheating_models import Group, explain_identification, maximum
from tests.inside.models import simulate_survey

A, B, C = Design("0.9", "0.8"), Design("0.4", "0.8"), Design("0.7", "0.95")


def tallies(counts, designs=(A, B), n=1000):
    return [Tally(d, n, k) for d, k in zip(designs, counts, strict=True)]


def log_likelihood(groups, h, b):
    total = 0.0
    for t in groups:
        yes = h * float(t.design.p11) + b * float(1 - t.design.p00)
        total += t.ones * np.log(yes) + (t.n - t.ones) * np.log(1 - yes)
    return total


def brute_force(groups, steps=200):
    h, b = (np.ravel(x) for x in np.meshgrid(np.arange(steps + 1) / steps, np.arange(steps + 1) / steps))
    inside = (h + b > 0) & (h + b <= 1 + 1e-12)
    level = log_likelihood(groups, h[inside], b[inside])
    best = int(np.argmax(level))
    return level[best], h[inside][best], b[inside][best]


def test_designs_of_one_ratio_cannot_tell_cheaters_apart():
    assert explain_identification([A, B]).startswith("identified: 2 designs")
    assert "one equation" in explain_identification([A, A])
    same_ratio = [Design("0.9", "0.8"), Design("0.95", "0.4")]
    assert "same ratio p11/(1 − p00) = 8" in explain_identification(same_ratio)
    assert "∞" in explain_identification([Design(1, "0.5"), Design(1, "0.8")])
    with pytest.raises(NotIdentified, match="two designs, or one tally"):
        models.cheating(tallies([100, 200], same_ratio))
    with pytest.raises(NotIdentified, match="one equation"):
        models.cheating([Tally(A, 500, 100), Tally(A, 300, 50)])
    with pytest.raises(TooFewAnswers):
        models.cheating([Tally(A, 500, 100), Tally(B, 1, 0)])


def test_two_designs_solve_two_equations():
    found = models.cheating(tallies([230, 530]))
    h, b, gamma = found.unbiased
    assert h * A.p11 + b * (1 - A.p00) == Tally(A, 1000, 230).ones / Design(1, 1).p00 / 1000
    assert h + b + gamma == 1
    assert found.shares == pytest.approx([float(h), float(b), float(gamma)])
    assert found.prevalence_bounds == pytest.approx((float(h), float(h + gamma)))
    assert found.lie_detector_prevalence == pytest.approx(float(1 - b))
    assert found.honesty == pytest.approx(float(h / (h + gamma)))
    assert found.fit is None


@pytest.mark.parametrize("counts", [(230, 530), (100, 560), (10, 300), (400, 800), (50, 700), (800, 800)])
@pytest.mark.parametrize("designs", [(A, B), (optimal_design(2), optimal_design("0.5"))], ids=["forced", "symmetric"])
def test_the_maximum_on_the_triangle_against_brute_force(counts, designs):
    groups = tallies(counts, designs)
    found = models.cheating(groups)
    best, _, _ = brute_force(groups)
    assert best - 1e-9 <= found.log_likelihood <= best + 2
    assert min(found.shares) >= 0
    assert sum(found.shares) == pytest.approx(1)
    assert found.log_likelihood == pytest.approx(log_likelihood(groups, *found.shares[:2]), abs=1e-7)


def test_three_designs_test_the_model():
    found = models.cheating(tallies([230, 530, 380], (A, B, C)))
    best, h, b = brute_force(found.tallies, 400)
    assert found.log_likelihood >= best - 1e-9
    assert found.shares[:2] == pytest.approx((h, b), abs=0.01)
    assert found.fit.df == 1
    assert models.cheating(tallies([230, 530, 900], (A, B, C))).fit.p_value < 1e-6


def test_the_test_of_the_model_holds_its_size_at_a_corner():
    """Exact over the likely tables of three groups of 9 without carriers and without cheaters; the others count as
    rejected.  The planted bug is χ² with one degree of freedom wherever the maximum lies."""
    n, designs = 9, (A, B, C)
    laws = [binom.pmf(np.arange(n + 1), n, float(1 - d.p00)) for d in designs]
    size, planted = 1.0, 0.0
    for counts in itertools.product(range(n + 1), repeat=3):
        weight = float(np.prod([law[k] for law, k in zip(laws, counts, strict=True)]))
        if weight > 1e-3:
            groups = [Group.of(t) for t in tallies(counts, designs, n)]
            found = _fit(groups, *maximum(groups, None))
            size -= weight * (found.p_value >= 0.05)
            planted += weight * (chi2.sf(found.statistic, 1) < 0.05)
    assert size < 0.11
    assert planted > 0.13


def test_no_cheaters_is_the_pooled_estimate():
    groups = tallies([260, 640])  # prevalence 0.2..: the line h + b = 1 fits best
    found = models.cheating(groups)
    pooled = estimate(groups).value
    honest = log_likelihood(groups, pooled, 1 - pooled)
    assert found.no_cheaters.statistic == pytest.approx(2 * (found.log_likelihood - honest), abs=1e-6)
    assert found.no_cheaters.p_value > 0.01
    assert models.cheating(tallies([150, 450])).no_cheaters.p_value < 1e-6


def test_bars_end_where_the_deviance_says():
    found = models.cheating(tallies([230, 530]))
    for place, share in enumerate(("honest carriers", "honest others", "cheaters")):
        low, high = found[share].interval()
        assert low < found.shares[place] < high
        wide = found[share].interval(0.99)
        assert wide.low < low < high < wide.high
    low, high = found["honest carriers"].interval()
    for h in (low, high):
        top = max(log_likelihood(found.tallies, h, b) for b in np.linspace(0, 1 - h, 20001)[1:])
        assert 2 * (found.log_likelihood - top) == pytest.approx(3.8414588, abs=1e-4)
    with pytest.raises(ParameterError, match="one of \\['honest carriers'"):
        found["liars"].interval()


def survey(seed, n=20_000, share=0.15):
    """Half by A, half by B; prevalence 0.3; a share of self-protective people among all."""
    groups = []
    for k, design in enumerate((A, B)):
        made = simulate_survey(n // 2, [math.log(3 / 7)], design, [seed, k + 1], self_protective=share)
        groups.append(Tally(design, n // 2, int(made.answers.sum())))
    return groups


@pytest.mark.long
def test_cheaters_are_recovered_and_the_honest_model_is_wrong():
    """49 surveys: means within 6.2 standard errors (1e-9); the estimate that trusts everybody is far outside."""
    found = [models.cheating(survey(seed)) for seed in range(49)]
    for place, target in enumerate((0.3 * 0.85, 0.7 * 0.85, 0.15)):
        values = np.array([float(f.unbiased[place]) for f in found])
        assert abs(values.mean() - target) < 6.2 * values.std(ddof=1) / 7
    trusting = np.array([estimate(f.tallies[0]).value for f in found])
    assert abs(trusting.mean() - 0.3) > 20 * trusting.std(ddof=1) / 7
    assert all(f.no_cheaters.p_value < 1e-4 for f in found)
    bars = [f["cheaters"].interval() for f in found[:30]]
    assert sum(low <= 0.15 <= high for low, high in bars) >= 16  # of 30 at 93 % or more: P(fewer) < 1e-9


def test_honest_surveys_raise_no_alarm():
    alarms = sum(models.cheating(survey(seed, n=4000, share=0)).no_cheaters.p_value < 0.05 for seed in range(200))
    assert alarms <= 40  # of 200 at 5 %: P(more) < 1e-12


def test_sensitivity_of_one_design():
    tally = Tally(Design("3/4", "3/4"), 1000, 400)
    found = models.cheating(tally, cheaters=[0, "0.1", "0.9"])
    plain = estimate(tally)
    assert found.rows[0].value == pytest.approx(plain.value)
    assert tuple(found.rows[0].interval()) == pytest.approx(tuple(plain.interval()), abs=1e-9)
    gamma, h = found.rows[1].extras["cheaters"], found.rows[1].value
    assert h * 0.75 + (1 - gamma - h) * 0.25 == pytest.approx(0.4)  # the equation of the model
    assert found.rows[2].bar is None
    assert "excluded" in str(found)
    assert json.loads(found.to_json())["rows"][2]["interval"] is None
    assert "<table>" in found._repr_html_()
    with pytest.raises(ParameterError, match="cheaters"):
        models.cheating(tally, cheaters=[1.5])


def test_it_shows_itself():
    said = json.loads(models.cheating(tallies([230, 530])).to_json())
    assert {row["name"] for row in said["rows"]} == {"honest carriers", "honest others", "cheaters"}
    assert said["no_cheaters"]["df"] == 1
    assert json.loads(models.cheating(tallies([230, 530, 380], (A, B, C))).to_json())["fit"]["df"] == 1


@pytest.mark.long
def test_no_cheaters_holds_its_size_at_the_corner_where_the_halved_tail_does_not():
    """Exact, over the counts of two groups of 24 without carriers and without cheaters; rare tables count as rejected.
    The halved tail of χ² is the planted bug."""
    designs, n = (optimal_design(1), Design("0.5", "0.9")), 24
    laws = [binom.pmf(np.arange(n + 1), n, float(1 - d.p00)) for d in designs]
    size = planted = 0.0
    for i, j in itertools.product(range(n + 1), repeat=2):
        weight = float(laws[0][i] * laws[1][j])
        counted = [Tally(d, n, k) for d, k in zip(designs, (i, j), strict=True)]
        statistic = _statistic(tuple(Tally(d, n, 0) for d in designs), (i, j))
        if statistic > 0 and chi2.sf(statistic, 1) / 2 < 0.05:
            planted += weight
            size += weight * (weight < 5e-4 or models.cheating(counted).no_cheaters.p_value < 0.05)
    assert planted > 0.07
    assert size <= 0.05
    assert "simulated p" in models.cheating(tallies((9, 6), designs, n)).no_cheaters.method
