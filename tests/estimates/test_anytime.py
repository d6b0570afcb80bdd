"""Looking while it runs, and reporters who lie: bars that hold after every answer, and whatever m of n people sent."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import betaln
from scipy.stats import beta, binom

from rrcollect import Design, ParameterError, optimal_design
from server_agg import Tally, estimate, plan
from server_agg.estimates.numerics import anytime_shares
from tests.support.comparing import both

E1, P3 = optimal_design(1), Design(1, "0.3")


def test_known_numbers():
    bar = estimate(Tally(E1, 1000, 400)).interval(method="anytime")
    assert tuple(bar) == pytest.approx((0.163428982904, 0.407617062635), abs=1e-11)
    assert bar.guaranteed
    low, high = anytime_shares([400], 1000, 0.05)[0], 1 - anytime_shares([600], 1000, 0.05)[0]
    assert (low, high) == pytest.approx((0.344464758363, 0.457308259605), abs=1e-11)
    for share in (low, high):  # the definition
        log_e = betaln(400.5, 600.5) - betaln(0.5, 0.5) - 400 * np.log(share) - 600 * np.log(1 - share)
        assert log_e == pytest.approx(np.log(20), abs=1e-6)
    with pytest.raises(ParameterError, match="for the target 'sample'"):
        estimate(Tally(E1, 100, 40), target="sample").interval(method="anytime")


def ever_excluded(ends, yes, days, daily, surveys, seed):
    """The share of surveys in which some day's bar for λ misses it."""
    counts = np.random.default_rng(seed).binomial(daily, yes, (surveys, days)).cumsum(axis=1)
    missed = np.zeros(surveys, bool)
    for day in range(days):
        n = daily * (day + 1)
        missed |= ~((ends(counts[:, day], n) <= yes) & (yes <= 1 - ends(n - counts[:, day], n)))
    return missed.mean()


def ordinary(ones, n):
    return np.where(ones > 0, beta.ppf(0.025, np.maximum(ones, 1), n - ones + 1), 0.0)


@pytest.mark.parametrize("design", [E1, P3], ids=["ε = 1", "(1, 0.3)"])
def test_daily_looks_hold_and_the_ordinary_bar_looked_at_daily_does_not(design):
    """2000 surveys of 100 days with 10 answers each.  If at most 5 % are ever missed, more than
    0.05 + 6.2·√(.05·.95/2000) = 0.080 are with probability < 1e-9.  The ordinary bar is the planted bug."""
    yes = float(design.says_yes("0.2"))
    assert ever_excluded(lambda k, n: anytime_shares(k, n, 0.05), yes, 100, 10, 2000, 7) < 0.08
    assert ever_excluded(ordinary, yes, 100, 10, 2000, 7) > 0.2


def test_a_difference_is_two_bars_at_half_the_error():
    a, b = Tally(E1, 700, 330), Tally(P3, 650, 40)
    bar = both(a, b).difference.interval(0.95, "anytime")
    (la, ua), (lb, ub) = (estimate(t).interval(0.975, "anytime") for t in (a, b))
    assert tuple(bar) == pytest.approx((la - ub, ua - lb), abs=1e-12)
    assert bar.guaranteed


def test_a_mean_may_be_looked_at_every_day_too():
    tally = Tally(E1, 1000, 400)
    low, high = estimate(tally).interval(method="anytime")
    bar = estimate(tally, bounds=(-5, 35), unit="hours").interval(method="anytime")
    assert tuple(bar) == pytest.approx((-5 + 40 * low, -5 + 40 * high), abs=1e-9)
    assert bar.guaranteed
    with pytest.raises(ParameterError, match="'exact' or 'hoeffding' for the target 'sample'"):
        estimate(tally, bounds=(0, 1), target="sample").interval(method="anytime")


def test_a_difference_looked_at_every_day_holds():
    """1000 A/B tests of 50 days with 20 answers per group and equal prevalences.  If at most 5 % ever exclude 0, more
    than 0.05 + 6.2·√(.05·.95/1000) = 0.093 do with probability < 1e-9.  The score test, looked at daily, is the planted
    bug."""
    yes, rng = float(P3.says_yes("0.2")), np.random.default_rng(4)
    a, b = (rng.binomial(20, yes, (1000, 50)).cumsum(axis=1) for _ in "ab")
    ever, planted = np.zeros(1000, bool), np.zeros(1000, bool)
    for day in range(50):
        n, counts = 20 * (day + 1), (a[:, day], b[:, day])
        (la, ua), (lb, ub) = ((anytime_shares(k, n, 0.025), 1 - anytime_shares(n - k, n, 0.025)) for k in counts)
        ever |= (la > ub) | (lb > ua)
        share = (counts[0] + counts[1]) / (2 * n)
        planted |= np.abs(counts[0] - counts[1]) > 1.96 * np.sqrt(2 * n * share * (1 - share))
    assert ever.mean() < 0.093
    assert planted.mean() > 0.15


def test_its_width_can_be_planned():
    n = plan.sample_size(E1, margin="0.05", method="anytime", prevalence="0.2")
    assert plan.margin(E1, n, method="anytime", prevalence="0.2") <= 0.05
    assert plan.margin(E1, n - 20, method="anytime", prevalence="0.2") > 0.05
    assert n > 2 * plan.sample_size(E1, margin="0.05", method="exact", prevalence="0.2")
    k = round(n * float(E1.says_yes("0.2")))
    assert estimate(Tally(E1, n, k)).interval(method="anytime").width / 2 == pytest.approx(0.05, rel=0.02)


def test_at_most_m_dishonest_reporters():
    found = estimate(Tally(E1, 1000, 400))
    bar = found.interval_with_dishonest("0.01")
    assert tuple(bar) == pytest.approx((0.204298668303, 0.360123166803), abs=1e-11)
    assert bar.warning == "holds whatever any 10 of the 1000 reporters sent; they are given up"
    assert bar.target == "population, honest people"
    assert tuple(found.interval_with_dishonest(0)) == tuple(found.interval())
    swapped = estimate(found.tally.swapped()).interval_with_dishonest("0.01")
    assert tuple(swapped) == tuple(bar)
    spanned = [estimate(Tally(E1, 1000, k)).interval() for k in (390, 410)]  # what it was: two bars at n
    assert bar.width < spanned[1].high - spanned[0].low
    with pytest.raises(ParameterError, match="leaves two honest reporters"):
        estimate(Tally(E1, 10, 4)).interval_with_dishonest("0.9")


@pytest.mark.parametrize("design", [E1, P3], ids=["ε = 1", "(1, 0.3)"])
def test_the_bar_with_dishonest_reporters_covers_the_honest_whatever_they_send(design):
    """Exact, over the honest count; the dishonest choose after seeing it, the worst for the bar.  The planted bug takes
    all reports for honest ones."""
    n, m = 60, 6
    bars = [estimate(Tally(design, n, k)).interval_with_dishonest("0.1") for k in range(n + 1)]
    naive = [estimate(Tally(design, n, k)).interval() for k in range(n + 1)]
    fooled = 1.0
    for pi in np.arange(0, 1.01, 0.05):
        law = binom.pmf(np.arange(n - m + 1), n - m, float(1 - design.p00) * (1 - pi) + float(design.p11) * pi)
        for kind in (bars, naive):
            worst = [
                all(kind[h + lies].low <= pi <= kind[h + lies].high for lies in range(m + 1)) for h in range(n - m + 1)
            ]
            held = float(law @ np.array(worst))
            if kind is bars:
                assert held >= 0.95 - 1e-12
            else:
                fooled = min(fooled, held)
    assert fooled < 0.9
