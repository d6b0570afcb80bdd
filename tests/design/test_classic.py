"""Classic procedures: matrices by enumerating what the interviewer tells, tight ε, comparison at equal ε."""

import json
import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rrcollect import Design, Epsilon, ParameterError, classic, optimal_design
from rrcollect.errors import UninformativeDesign
from server_agg import Tally, estimate, plan
from tests.support.strategies import epsilons, prevalences, unit

inner = st.fractions(min_value=Fraction(1, 50), max_value=Fraction(49, 50), max_denominator=50)
RAPPOR_COUNTS = [
    16170, 6268, 6102, 6187, 6143, 6414, 6090, 6032, 6454, 6013, 6105, 6086, 6399, 6093, 6265, 6256, 6167,
    6049, 6110, 6188, 6348, 6190, 6131, 6163, 6035, 6568, 6123, 6399, 6094, 6048, 6295, 6227, 6310,
]  # fmt: skip


def ln(design) -> Fraction:
    return design.worst_likelihood_ratio


@given(inner)
def test_warner(p):
    assume(p != Fraction(1, 2))
    assert classic.warner(p) == Design(p, p)
    assert ln(classic.warner(p)) == max(p / (1 - p), (1 - p) / p)


@given(inner, inner)
def test_forced_response(yes, no):
    assume(yes + no < 1)
    design = classic.forced_response(yes, no)
    truthfully = 1 - yes - no
    assert design.matrix == ((truthfully + no, yes), (no, truthfully + yes))
    assert ln(design) == max((1 - no) / yes, (1 - yes) / no)


@given(inner, inner)
def test_unrelated_question(p, u):
    design = classic.unrelated_question(p, u)
    assert design.matrix[1][1] == p + (1 - p) * u
    assert design.matrix[0][1] == (1 - p) * u
    assert ln(design) == 1 + p / ((1 - p) * min(u, 1 - u))


@given(inner, inner)
def test_mangat_singh(t, p):
    assume(t + (1 - t) * p != Fraction(1, 2))
    design = classic.mangat_singh(t, p)
    assert design.p00 == design.p11 == t + (1 - t) * p


@given(inner, epsilons)
def test_mangat_and_triangular_have_no_epsilon(p, epsilon):
    for design in (classic.mangat(p), classic.triangular(1 - p)):
        assert (design.p00, design.p11) == (p, 1)
        assert design.epsilon() == math.inf
        assert design.proofs == ("no",)
        assert design.satisfies(epsilon, p)
        assert not design.satisfies(epsilon, p - Fraction(1, 10**9))


@given(inner)
def test_crosswise_counts_the_right_answer(u):
    """The two questions are independent; the counted answer is the likelier one under the attribute."""
    assume(u != Fraction(1, 2))
    same = {1: u, 0: 1 - u}  # P(both answers the same | truth)
    counted = same if u > Fraction(1, 2) else {truth: 1 - p for truth, p in same.items()}
    assert classic.crosswise(u).matrix == ((1 - counted[0], counted[0]), (1 - counted[1], counted[1]))


@given(inner, prevalences)
def test_crosswise_coded_as_in_rrreg(u, pi):
    """RRreg: 1 = "no-no" or "yes-yes"; π = (λ + p − 1)/(2p − 1) with p the share of yes to the other question."""
    assume(u != Fraction(1, 2))
    same, different = classic.crosswise(u, one="same"), classic.crosswise(u, one="different")
    both_yes_or_both_no = pi * u + (1 - pi) * (1 - u)
    assert same.says_yes(pi) == both_yes_or_both_no
    assert different.says_yes(pi) == 1 - both_yes_or_both_no
    assert (both_yes_or_both_no + u - 1) / (2 * u - 1) == pi
    assert classic.crosswise(u) in {same, different}
    assert same.tight_epsilon == different.tight_epsilon == classic.crosswise(u).tight_epsilon


@given(inner, inner, st.integers(1, 4), prevalences)
def test_kuk_by_enumerating_every_sequence_of_cards(theta1, theta2, draws, pi):
    assume(theta1 != theta2)
    procedure = classic.kuk(theta1, theta2, draws)
    law = {}
    for truth, theta in ((1, theta1), (0, theta2)):
        law[truth] = [Fraction(0)] * (draws + 1)
        for cards in product((0, 1), repeat=draws):
            law[truth][sum(cards)] += math.prod((theta if c else 1 - theta for c in cards), start=Fraction(1))
    ratios = [max(a / b, b / a) for a, b in zip(law[1], law[0], strict=True)]
    assert procedure.worst_likelihood_ratio == max(ratios)
    reds = range(draws + 1)
    marginal = [pi * law[1][r] + (1 - pi) * law[0][r] for r in reds]
    values = [(Fraction(r, draws) - theta2) / (theta1 - theta2) for r in reds]
    mean = sum(m * v for m, v in zip(marginal, values, strict=True))
    assert mean == pi
    assert procedure.variance(pi) == sum(m * (v - pi) ** 2 for m, v in zip(marginal, values, strict=True))


@pytest.mark.long
@given(inner, inner, st.integers(2, 4), epsilons)
def test_kuk_delta_is_the_definition_over_every_event(theta1, theta2, draws, epsilon):
    assume(theta1 != theta2)
    procedure = classic.kuk(theta1, theta2, draws)
    big_e = epsilon.exp
    worst = big_e * 0
    for a, b in ((0, 1), (1, 0)):
        for event in product((0, 1), repeat=draws + 1):
            excess = sum((p for p, on in zip(procedure.law(a), event, strict=True) if on), Fraction(0)) - big_e * sum(
                (p for p, on in zip(procedure.law(b), event, strict=True) if on), Fraction(0)
            )
            worst = excess if excess > worst else worst
    delta = procedure.delta(epsilon)
    assert procedure.satisfies(epsilon, delta)
    assert float(worst) <= delta <= float(worst) * (1 + 1e-14) + 1e-300


def test_kuk_limits():
    one = classic.kuk("0.8", "0.2")
    assert one == Design("0.8", "0.8")
    assert classic.kuk("0.8", "0.2", draws=3).epsilon() == pytest.approx(3 * math.log(4))
    proof = classic.kuk("0.8", 0, draws=2)
    assert (proof.epsilon(), proof.tight_epsilon, proof.worst_likelihood_ratio) == (math.inf, None, math.inf)
    near = classic.kuk("0.8", 0, draws=2).effective_sample_ratio(Fraction(1, 10**12))
    assert abs(classic.kuk("0.8", 0, draws=2).effective_sample_ratio(0) - near) < Fraction(1, 10**10)
    assert classic.kuk("0.8", "0.2", 2).variance("0.3", 10, target="sample") == classic.warner("0.8").variance(
        "0.3", 20, "sample"
    )


@given(inner, inner, prevalences)
def test_moors_variance_and_split(p, u, pi):
    moors = classic.moors(p)
    yes = p * pi + (1 - p) * u
    assert moors.design(u) == classic.unrelated_question(p, u)
    assert moors.variance(pi, u, 30, 10) == (yes * (1 - yes) / 30 + (1 - p) ** 2 * u * (1 - u) / 10) / p**2
    share = moors.best_split(pi, u)
    best = round(share * 1000)
    if 1 < best < 999:
        here = moors.variance(pi, u, best, 1000 - best)
        assert here <= moors.variance(pi, u, best - 2, 1002 - best) or here <= moors.variance(
            pi, u, best + 2, 998 - best
        )
        for other in (100, 300, 500, 700, 900):
            assert float(here) <= float(moors.variance(pi, u, other, 1000 - other)) * (1 + 1e-4)


@given(inner, inner, inner)
def test_rappor_by_enumerating_its_two_stages(f, p, q):
    assume(p != q)
    stages = {(bit, kept): (f / 2 if kept != bit else 1 - f / 2) for bit, kept in product((0, 1), (0, 1))}
    ones = [sum(stages[bit, kept] * (q if kept else p) for kept in (0, 1)) for bit in (0, 1)]
    assert classic.rappor(f, p, q).matrix == ((1 - ones[0], ones[0]), (1 - ones[1], ones[1]))
    assert classic.rappor(0, p, q) == Design(1 - p, q)


@pytest.mark.parametrize(("f", "one_report", "for_ever"), [("1/2", 1.0743, 4.3944), ("3/4", 0.5343, 2.0433)])
def test_rappor_promises_what_its_authors_print(f, one_report, for_ever):
    """[EPK14]: p = 1/2, q = 3/4, two bits per string."""
    bit, half = classic.rappor(f, "1/2", "3/4"), Fraction(f) / 2
    assert round(2 * math.log(bit.p11 * bit.p00 / ((1 - bit.p11) * (1 - bit.p00))), 4) == one_report
    assert round(4 * classic.forced_response(half, half).epsilon(), 4) == for_ever


def test_the_bits_of_rappor_s_own_page_are_estimated_as_its_authors_do():
    """The first cohort of case_counts.csv in RAPPOR's doc/data-flow.md (32 bits, p = 1/4, q = 3/4, f = 1/2): their
    unbiased count of a bit is (v − p01 N)/(p11 − p01), its variance N r(1 − r)/(p11 − p01)², r the share of ones."""
    n, design = RAPPOR_COUNTS[0], classic.rappor("1/2", "1/4", "3/4")
    p11, p01 = Fraction(3, 4) * Fraction(3, 4) + Fraction(1, 16), Fraction(1, 4) * Fraction(3, 4) + Fraction(3, 16)
    for ones in RAPPOR_COUNTS[1:]:
        found, r = estimate(Tally(design, n, ones)), Fraction(ones, n)
        assert found.value == pytest.approx(float((ones - p01 * n) / (p11 - p01) / n), abs=1e-12)
        assert found.standard_error == pytest.approx(math.sqrt(r * (1 - r) / n) / (p11 - p01), rel=1e-3)
    whole = sum(estimate(Tally(design, n, ones)).value for ones in RAPPOR_COUNTS[1:])
    assert abs(whole - 1) < 0.3  # every report sets one bit; 32 standard errors of 0.0152 make 0.086


def test_rappor_decoded_without_its_permanent_stage_is_wrong():
    """The planted bug: f forgotten.  A bit that nobody sets then seems to be set by a quarter."""
    expected = 10_000 * (1 - classic.rappor("1/2", "1/4", "3/4").p00)
    assert estimate(Tally(classic.rappor(0, "1/4", "3/4"), 10_000, int(expected))).value == pytest.approx(0.25)


def test_k_ary_response_by_enumeration_and_as_chrome_prints_it():
    """The Attribution Reporting API replaces one of k outputs with probability k/(k − 1 + e^ε), ε = 14; for views
    k = 3, and 0.00025 % is printed."""
    for k, rate in ((2, Fraction(1, 3)), (3, Fraction(1, 7)), (8, Fraction(1, 2))):
        design = classic.k_ary_response(k, rate)
        assert (design.options, design.size, design.p) == (k, 1, 1 - rate * Fraction(k - 1, k))
    exact = 3 / (2 + math.exp(14))
    assert f"{exact:.7f}" == "0.0000025"
    assert classic.k_ary_response(3, exact).epsilon() == pytest.approx(14, abs=1e-9)
    assert classic.k_ary_response(3, "0.0000025").epsilon() < 14


def test_the_die_with_forced_yes_on_1_and_forced_no_on_6():
    die = classic.forced_response("1/6", "1/6")
    assert die.tight_epsilon == Epsilon("ln 5")


@pytest.mark.parametrize(
    "call",
    [
        lambda: classic.warner(2),
        lambda: classic.forced_response("0.6", "0.6"),
        lambda: classic.forced_response(-0.1, 0),
        lambda: classic.unrelated_question("0.5", 3),
        lambda: classic.mangat_singh("x", "0.5"),
        lambda: classic.mangat(None),
        lambda: classic.crosswise(math.nan),
        lambda: classic.crosswise("1/4", one="yes"),
        lambda: classic.triangular(-1),
        lambda: classic.kuk("0.8", "0.2", draws=0),
        lambda: classic.kuk("0.8", "0.2", draws=1.5),
        lambda: classic.moors(0),
        lambda: classic.rappor("1/2", 2, "3/4"),
        lambda: classic.k_ary_response(3, "-0.1"),
        lambda: classic.k_ary_response(1, "0.1"),
        lambda: plan.compare_procedures(1, 2),
        lambda: plan.compare_procedures(1, "0.1", innocuous=1),
        lambda: classic.moors("0.5").variance("0.1", "0.5", 0, 5),
    ],
)
def test_bad_parameters(call):
    with pytest.raises(ParameterError):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: classic.warner("1/2"),
        lambda: classic.forced_response("1/2", "1/2"),
        lambda: classic.kuk("0.3", "0.3"),
        lambda: classic.rappor(1, "1/4", "3/4"),
    ],
)
def test_procedures_that_teach_nothing(call):
    with pytest.raises(UninformativeDesign):
        call()


# ---- side by side --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["0.1", "ln 3", 1, 4])
def test_comparison_is_at_equal_epsilon_and_nothing_beats_the_optimum(epsilon):
    lines = plan.compare_procedures(epsilon, "0.15")
    assert {line.procedure for line in lines} >= {
        "warner", "forced_response", "unrelated_question", "mangat_singh", "mangat", "crosswise", "triangular", "kuk",
        "moors",
    }  # fmt: skip
    finite = [line for line in lines if line.epsilon is not None]
    for line in finite:
        assert line.epsilon == pytest.approx(float(Epsilon(epsilon)), rel=1e-9)
        assert line.delta == 0
        assert line.n_variance >= finite[0].n_variance
    assert finite[0].n_variance == pytest.approx(float(optimal_design(epsilon).variance("0.15")))
    assert all("proof" in line.note for line in lines if line.epsilon is None)
    assert {line.procedure for line in lines if line.nominal} == classic.NOMINAL


def test_comparison_as_data_and_as_a_table():
    lines = plan.compare_procedures(1, "0.1")
    assert (
        json.loads(json.dumps([line.as_dict() for line in lines], allow_nan=False))[0]["procedure"] == "optimal [HLM17]"
    )
    table = [line.cells() for line in lines]
    assert table[0][0] == "optimal [HLM17]"
    assert "∞" in table[-1]


@pytest.mark.long
@given(unit)
def test_comparison_at_any_prevalence(pi):
    for line in plan.compare_procedures(1, pi):
        assert math.isfinite(line.n_variance)
        assert 0 <= line.effective_sample <= 1
