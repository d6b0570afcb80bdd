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
from tests.support.strategies import epsilons, prevalences, unit

inner = st.fractions(min_value=Fraction(1, 50), max_value=Fraction(49, 50), max_denominator=50)


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
        lambda: classic.compare(1, 2),
        lambda: classic.compare(1, "0.1", innocuous=1),
        lambda: classic.moors("0.5").variance("0.1", "0.5", 0, 5),
    ],
)
def test_bad_parameters(call):
    with pytest.raises(ParameterError):
        call()


@pytest.mark.parametrize(
    "call",
    [lambda: classic.warner("1/2"), lambda: classic.forced_response("1/2", "1/2"), lambda: classic.kuk("0.3", "0.3")],
)
def test_procedures_that_teach_nothing(call):
    with pytest.raises(UninformativeDesign):
        call()


# ---- side by side --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["0.1", "ln 3", 1, 4])
def test_comparison_is_at_equal_epsilon_and_nothing_beats_the_optimum(epsilon):
    lines = classic.compare(epsilon, "0.15")
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
    lines = classic.compare(1, "0.1")
    assert (
        json.loads(json.dumps([line.as_dict() for line in lines], allow_nan=False))[0]["procedure"] == "optimal [HLM17]"
    )
    table = classic.comparison_table(lines).splitlines()
    assert len(table) == len(lines) + 1
    assert table[0].startswith("procedure")
    assert "∞" in table[-1]


@pytest.mark.long
@given(unit)
def test_comparison_at_any_prevalence(pi):
    for line in classic.compare(1, pi):
        assert math.isfinite(line.n_variance)
        assert 0 <= line.effective_sample <= 1
