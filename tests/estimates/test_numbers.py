"""Numbers known beforehand: re-derived formulas, R's RRreg, SciPy and statsmodels as oracles."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from rrcollect import Design, classic, optimal_design
from server_agg import Tally, estimate, plan
from tests.inside.estimates import METHODS, deviance_lower, unclipped_exact

E1 = optimal_design(1)


def to_prevalence(design: Design, yes: float) -> float:
    return (yes - float(1 - design.p00)) / float(design.c)


def test_400_of_1000():
    e = estimate(Tally(E1, 1000, 400))
    assert e.value == pytest.approx(0.2836046586, abs=5e-11)
    assert e.standard_error == pytest.approx(0.0335405966, abs=5e-11)
    assert estimate(e.tally, target="sample").standard_error == pytest.approx(0.0303426036, abs=5e-11)
    assert e.interval() == pytest.approx((0.217536970, 0.350950252), abs=5e-10)
    assert e.interval(method="wilson") == pytest.approx((0.218847879, 0.350017623), abs=5e-10)


def test_20_of_100_lies_below_zero():
    e = estimate(Tally(E1, 100, 20))
    assert e.value == pytest.approx(-0.1491860241, abs=5e-11)
    assert e.clipped == 0.0
    assert unclipped_exact(e.problem, 0.95)[1] == pytest.approx(0.049557276, abs=5e-10)  # before the edge rule
    assert e.interval() == estimate(Tally(E1, 100, 27)).interval()  # 27 is the least count that a prevalence explains
    assert 1 - deviance_lower(e.problem.mirrored().tallies, 3.8414588207) == pytest.approx(0.094605919, abs=5e-10)
    assert e.misfit.tail_probability == pytest.approx(0.0715562468, abs=5e-11)
    assert not e.misfit
    assert e.misfit.side == "below"


def test_a_finite_population():
    e = estimate(Tally(E1, 200, 90), population=1000)
    found = [float(v) for v in (e.share.population_variance, e.share.noise_variance, e.variance)]
    assert found == pytest.approx([0.0058239541, 0.0046033680, 0.0055798368], abs=5e-11)


def test_pooled_over_two_designs():
    pooled = estimate([Tally(E1, 600, 230), Tally(optimal_design(2), 400, 100)])
    assert pooled.value == pytest.approx(0.196012379570, abs=5e-13)
    assert pooled.standard_error == pytest.approx(0.023988610243, abs=5e-13)


def test_planning():
    assert [plan.sample_size(E1, margin=0.05, method=m) for m in ("wald", "chebyshev", "hoeffding")] == [
        1799,
        9366,
        3455,
    ]
    for method, n in (("wald", 1799), ("chebyshev", 9366), ("hoeffding", 3455)):
        assert plan.margin(E1, n, method=method) <= 0.05 < plan.margin(E1, n - 1, method=method)
        assert plan.epsilon(n, margin=0.05, method=method) <= 1


def test_misfit_flags_what_no_prevalence_explains():
    low, high = estimate(Tally(E1, 100, 10)), estimate(Tally(E1, 100, 90))
    for e, end, side in ((low, 0.0, "below"), (high, 1.0, "above")):
        assert e.misfit
        assert e.misfit.side == side
        assert e.interval()[int(end)] == end
        assert e.interval().width > 0.15  # by the edge rule: as wide as that of the nearest count that fits
        assert "do not fit" in e.sentence()
    assert low.misfit.tail_probability == pytest.approx(stats.binom.cdf(10, 100, float(1 - E1.p00)), rel=1e-9)
    assert low.misfit.at(0.9999)
    assert not low.misfit.at(0.999999)


def test_rrreg_manual_warner():
    """The RRreg manual (D. W. Heck, 2018-06-03, vignettes/RRreg.html in danheck/RRreg, `summary(warner)`): Warner's
    model with p = 0.2, sample size 1000, prints pi 0.266667, StdErr 0.025311, z 10.536.  640 is the only count of
    ones whose estimate prints so.  With p < 1/2 the answers mean their opposite (c < 0)."""
    design = classic.warner("0.2")
    printed = [ones for ones in range(1001) if f"{estimate(Tally(design, 1000, ones)).value:.6f}" == "0.266667"]
    assert printed == [640]
    e = estimate(Tally(design, 1000, 640))
    assert f"{e.standard_error:.6f}" == "0.025311"
    assert f"{e.value / e.standard_error:.3f}" == "10.536"


@pytest.mark.parametrize(
    ("design", "published"),
    [
        (classic.warner("1/6"), lambda x: ((x + 1 / 6 - 1) / (2 / 6 - 1), abs(1 / (2 / 6 - 1)))),
        (classic.mangat("0.7"), lambda x: ((x - 1 + 0.7) / 0.7, 1 / 0.7)),
        (classic.triangular("1/4"), lambda x: (1 - (1 - x) / 0.75, 1 / 0.75)),
        (classic.unrelated_question("0.6", "0.3"), lambda x: ((x - 0.4 * 0.3) / 0.6, 1 / 0.6)),
        (classic.kuk("0.8", "0.3"), lambda x: ((x - 0.3) / 0.5, 1 / 0.5)),
        (classic.forced_response(yes="1/12", no="1/6"), lambda x: ((x - 1 / 12) / 0.75, 1 / 0.75)),
    ],
)
def test_rrreg_univariate_formulas(design, published):
    """RRuni of RRreg (R/RRuni_models.R): its moment estimate and its standard error, with n − 1, model by model."""
    for n, ones in ((500, 210), (37, 9), (1000, 640)):
        share = ones / n
        value, slope = published(share)
        e = estimate(Tally(design, n, ones))
        assert e.value == pytest.approx(value, rel=1e-12, abs=1e-14)
        assert e.standard_error == pytest.approx(slope * math.sqrt(share * (1 - share) / (n - 1)), rel=1e-12)


@pytest.mark.parametrize("design", [E1, Design("0.9", "0.6"), Design(1, 1)], ids=["ε = 1", "(0.9, 0.6)", "direct"])
@pytest.mark.parametrize(("n", "ones"), [(10, 3), (50, 20), (1000, 400), (30, 15), (20, 0), (20, 20)])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_statsmodels_and_scipy_as_oracles(design, n, ones, level, monkeypatch):
    """Before the edge rule, of which the libraries know nothing."""
    for name in ("exact", "wilson"):
        monkeypatch.setitem(METHODS, name, METHODS[name]._replace(edge=False))
    e = estimate(Tally(design, n, ones))
    for method, theirs in (("exact", "beta"), ("wilson", "wilson")):
        low, high = (to_prevalence(design, x) for x in proportion_confint(ones, n, 1 - level, method=theirs))
        assert e.interval(level, method) == pytest.approx((np.clip(low, 0, 1), np.clip(high, 0, 1)), abs=1e-9)
    test = stats.binomtest(ones, n)
    for method, theirs in (("exact", "exact"), ("wilson", "wilson")):
        bar = test.proportion_ci(level, method=theirs)
        expected = tuple(np.clip([to_prevalence(design, bar.low), to_prevalence(design, bar.high)], 0, 1))
        assert e.interval(level, method) == pytest.approx(expected, abs=1e-9)


def test_the_oracle_check_would_see_a_wrong_tail():
    e = estimate(Tally(Design(1, 1), 50, 20))
    assert e.interval(0.95) != pytest.approx(proportion_confint(20, 50, 0.06, method="beta"), abs=1e-9)


def test_credible_against_scipy():
    """A uniform prior on π is a truncated Beta for λ; Jeffreys' likewise with ½; Beta(a, b) directly if c = 1."""
    design, n, ones = Design("3/4", "2/3"), 60, 25
    for prior, shape in (("uniform", 1.0), ("jeffreys", 0.5)):
        law = stats.beta(ones + shape, n - ones + shape)
        ends = law.cdf(1 / 4), law.cdf(2 / 3)
        expected = [to_prevalence(design, law.ppf(ends[0] + u * (ends[1] - ends[0]))) for u in (0.025, 0.975)]
        found = estimate(Tally(design, n, ones)).interval(method="credible", prior=prior)
        assert found == pytest.approx(tuple(expected), abs=1e-5)
        assert prior[:5].lower() in found.warning.lower()
    for a, b, many, yes in (
        (50, 50, 200, 190),
        (50, 50, 200, 5),
        (0.5, 0.5, 30, 0),
        (0.3, 4, 30, 30),
        (400, 2, 90, 20),
    ):
        found = estimate(Tally(Design(1, 1), many, yes)).interval(method="credible", prior=(float(a), float(b)))
        assert found == pytest.approx(stats.beta(a + yes, b + many - yes).interval(0.95), abs=2e-5)
    direct = estimate(Tally(Design(1, 1), n, ones)).interval(method="credible", prior=(2.0, 5.0))
    assert direct == pytest.approx(stats.beta(2 + ones, 5 + n - ones).interval(0.95), abs=1e-5)


def test_the_papers_margins_say_what_they_assume():
    normal, chebyshev = estimate(Tally(E1, 1000, 400)).margins()
    assert (normal.multiplier, chebyshev.multiplier) == (1.96, 4.5)
    assert normal.half_width == pytest.approx(1.96 * 0.0335405966, rel=1e-8)
    assert "normal" in normal.assumes
    assert "true σ" in chebyshev.assumes


def test_dishonest_reporters_and_the_price_of_privacy():
    e = estimate(Tally(Design("3/4", "3/4"), 1000, 400))
    assert e.manipulation("0.01") == pytest.approx(0.02)
    assert e.effective_sample_size == pytest.approx(1000 * 0.3 * 0.7 * 0.25 / (0.4 * 0.6))
    assert e.direct().standard_error == pytest.approx(math.sqrt(0.3 * 0.7 / 1000))
    assert estimate(e.tally, target="sample").direct().standard_error == 0.0
    wider, bar = e.interval_with_dishonest("0.05"), e.interval()
    assert wider.low <= bar.low - 0.06
    assert wider.high >= bar.high + 0.04
    assert tuple(e.interval_with_dishonest(0)) == tuple(bar)
    # whatever 50 of the 1000 did, 350 to 400 of the 950 honest answers are ones: their bar lies within
    for ones in (350, 375, 400):
        honest = estimate(Tally(e.tally.design, 950, ones)).interval()
        assert wider.low <= honest.low
        assert honest.high <= wider.high


def test_totals():
    e = estimate(Tally(Design("3/4", "3/4"), 1000, 400), population=5000)
    total = e.total()
    assert (total.scale.high, total.value) == (5000, 1500.0)
    assert total.interval() == (5000 * e.interval().low, 5000 * e.interval().high)
    assert estimate(e.tally).total(10**6).value == 300_000
    assert estimate(e.tally).exact_value == Fraction(3, 10)
