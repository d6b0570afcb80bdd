"""The optimal mechanism: the paper's theorems, its four examples with their errata, its limits, and the words."""

import math
import pickle
from fractions import Fraction

import pytest
from hypothesis import given
from scipy.stats import beta

from rrcollect import (
    Design,
    Epsilon,
    ParameterError,
    Promise,
    classic,
    optimal_design,
)
from rrcollect.design.optimal import switch_point
from rrcollect.errors import UninformativeDesign
from tests.inside.design import GRID
from tests.support.strategies import deltas, epsilons, positive_deltas, prevalences

TENTH = 5e-11  # figures are printed with ten digits


def corner(epsilon: float, delta: float) -> float:
    return (math.exp(epsilon) + delta) / (math.exp(epsilon) + 1)


# ---- numbers -----------------------------------------------------------------------------------------------------


def test_strict_optimum_at_epsilon_1():
    design = optimal_design(1)
    assert design.numerators == (13485650502877570762,) * 2
    assert float(design.p00) == pytest.approx(0.7310585786, abs=TENTH)
    assert float(design.variance(0)) == pytest.approx(0.9206735942, abs=TENTH)  # K: the variance without π(1−π)


def test_numerators_on_the_grid():
    assert optimal_design("0.5", "0.1", prevalence="0.25").numerators == (12178787588446674674,) * 2
    assert optimal_design(100).numerators == (2**64 - 1,) * 2


def test_example_1():
    designs = list(optimal_design("1/2", "1/10", prevalence="1/4").choice.ties)
    assert [d.proofs for d in designs] == [()]
    assert float(designs[0].p00) == pytest.approx(0.6602133981, abs=TENTH)
    assert optimal_design("1/2", "1/10").choice.switch_point == pytest.approx(0.2427674292, abs=TENTH)
    assert dict(designs[0].choice.compared)["symmetric"] == pytest.approx(2.372406863, abs=1e-9)
    assert dict(designs[0].choice.compared)["(1, δ)"] == 2.4375


def test_example_2():
    design = optimal_design(1, "2/5", prevalence="1/10")
    assert design == Design(1, "2/5").to_grid()
    assert optimal_design(1, "2/5").choice.switch_point == pytest.approx(0.1966829402, abs=TENTH)
    assert dict(design.choice.compared)["symmetric"] == pytest.approx(0.3850244103, abs=TENTH)
    assert dict(design.choice.compared)["(1, δ)"] == 0.24


def test_example_3_with_its_erratum():
    """The paper prints 0.143 and 1.911; right are 0.29 and 1.89, at (δ, 1) and (r(t0), s(t0)) = (1, 1/3)."""
    design = optimal_design("1/2", "1/3", prevalence="9/10")
    assert design == Design("1/3", 1).to_grid()
    figures = dict(design.choice.compared)
    assert figures["symmetric"] == pytest.approx(0.8536891948, abs=TENTH)
    assert figures["(δ, 1)"] == pytest.approx(0.29, abs=1e-15)
    assert figures["(1, δ)"] == pytest.approx(1.89, abs=1e-15)
    assert Design("1/3", 1).variance("9/10") == Fraction(29, 100)
    assert Design(1, "1/3").variance("9/10") == Fraction(189, 100)


def test_example_4_is_an_exact_tie():
    designs = list(optimal_design("ln 2", "1/4", prevalence="1/4").choice.ties)
    assert designs == [Design("3/4", "3/4"), Design(1, "1/4")]
    assert [d.variance("1/4") for d in designs] == [Fraction(15, 16)] * 2
    assert optimal_design("ln 2", "1/4").choice.switch_point == 0.25
    assert all("a tie" in d.choice.rule for d in designs)
    assert optimal_design("ln 2", "1/4", prevalence="1/4") == designs[0]


def test_just_beside_the_tie_there_is_no_tie():
    hair = Fraction(1, 10**40)
    below = list(optimal_design("ln 2", "1/4", prevalence=Fraction(1, 4) - hair).choice.ties)
    above = list(optimal_design("ln 2", "1/4", prevalence=Fraction(1, 4) + hair).choice.ties)
    assert (below, above) == ([Design(1, "1/4")], [Design("3/4", "3/4")])


# ---- the theorems as stated -----------------------------------------------------------------------------------------


@given(epsilons, positive_deltas, prevalences)
def test_theorem_3_and_corollary_2(epsilon, delta, pi):
    """g against π, decided exactly, names the corner; erratum 4 is the one exception (π = 1/2, g >= 1/2)."""
    big_e = epsilon.exp
    g = delta * (big_e + delta) / ((big_e + 2 * delta - 1) * (big_e + 2 * delta - 1))
    side = min(pi, 1 - pi)
    order = (g - side).sign()
    asymmetric = [Design(1, delta).to_grid()] if pi <= Fraction(1, 2) else []
    asymmetric += [Design(delta, 1).to_grid()] if pi >= Fraction(1, 2) else []
    found = list(optimal_design(epsilon, delta, prevalence=pi).choice.ties)
    symmetric = classic.warner(epsilon=epsilon, delta=delta)
    expected = {1: asymmetric, 0: [symmetric, *asymmetric], -1: [symmetric]}[order]
    assert found == expected


@given(epsilons, prevalences)
def test_theorem_2_strict(epsilon, pi):
    assert (
        list(optimal_design(epsilon, 0, prevalence=pi).choice.ties)
        == [optimal_design(epsilon)]
        == [classic.warner(epsilon=epsilon)]
    )


def test_erratum_4_at_one_half_the_two_proofs_tie():
    assert list(optimal_design("0.1", "0.3", prevalence="1/2").choice.ties) == [
        Design(1, "0.3").to_grid(),
        Design("0.3", 1).to_grid(),
    ]
    assert Epsilon("0.1") < Epsilon("ln 2")  # it happens only for ε <= ln2/2


@pytest.mark.parametrize("delta", ["1/5", "2/5"])
def test_erratum_4_three_ways(delta):
    """g = 1/2 means E² + s² = 2 with δ = (2 − E ± s)/2; the point (7/5, 1/5) of that circle gives δ = 1/5, 2/5."""
    assert optimal_design("ln(7/5)", delta).choice.switch_point == 0.5
    designs = list(optimal_design("ln(7/5)", delta, prevalence="1/2").choice.ties)
    assert [x.proofs for x in designs] == [(), ("yes",), ("no",)]


def test_erratum_4_only_for_small_epsilon():
    """g >= 1/2 for some δ in (0, 1) exactly while e^{2ε} <= 2."""
    for eps, possible in (("0.34", True), ("0.35", False)):
        best = max(optimal_design(eps, Fraction(k, 2000)).choice.switch_point for k in range(1, 2000))
        assert (best >= 0.5) == possible


def test_erratum_7_epsilon_0():
    """Both privacy lines coincide; (q, q) is a midpoint and the theorem still holds."""
    assert list(optimal_design(0, "1/10", prevalence="1/10").choice.ties) == [Design(1, "1/10").to_grid()]
    assert optimal_design(0, "1/8") == Design("9/16", "9/16")
    midpoint = Design(1, "1/8"), Design("1/8", 1)
    assert sum(d.p00 for d in midpoint) / 2 == Fraction(9, 16)
    assert optimal_design(0, "1/10").choice.switch_point == pytest.approx((1 + 0.1) / 0.4)


def test_erratum_8_prevalence_0():
    """At π = 0 the variance vanishes on all of (1, p11), 0 < p11 <= δ; (1, δ) is returned."""
    assert list(optimal_design(1, "1/5", prevalence=0).choice.ties) == [Design(1, "1/5").to_grid()]
    assert {Design(1, p).variance(0) for p in ("1/5", "1/10", "1/1000")} == {0}
    assert list(optimal_design(1, "1/5", prevalence=1).choice.ties) == [Design("1/5", 1).to_grid()]


@given(epsilons, deltas)
def test_theorem_4_warner(epsilon, delta):
    design = classic.warner(epsilon=epsilon, delta=delta)
    assert design.p00 == design.p11
    assert design.satisfies(epsilon, delta)
    step = Fraction(1, GRID)
    if design.p00 + step <= 1:
        assert not Design(design.p00 + step, design.p11 + step).satisfies(epsilon, delta)


# ---- the corners of the parameter range -------------------------------------------------------------------------


def test_delta_1_is_direct_questioning_and_says_so():
    design = optimal_design(1, 1, prevalence="0.3")
    assert design == Design(1, 1)
    assert "promises nothing" in design.choice.reason
    assert "would be exposed for certain" in design.choice.explain_exposure()


def test_nothing_said_about_the_prevalence_never_discloses():
    for delta in (0, "1e-30", "1e-9", "0.05", "0.5", "0.999", 1):
        for epsilon in (0, "1e-6", "ln 2", 1, 50, 10**6, 10**30):
            if (epsilon, delta) in ((0, 0), (0, "1e-30")):
                continue
            design = optimal_design(epsilon, delta)
            assert design.proofs == ()
            assert design.p00 == design.p11 <= 1 - Fraction(1, GRID)
            assert design.satisfies(epsilon, delta)


def test_epsilon_and_delta_0_teach_nothing():
    for prevalence in (None, "0.1"):
        with pytest.raises(UninformativeDesign, match="nothing c"):
            optimal_design(0, 0, prevalence=prevalence)
    with pytest.raises(UninformativeDesign, match="larger ε"):
        optimal_design("1e-25", 0)
    with pytest.raises(ParameterError, match="not both 0"):
        switch_point(Promise.of(0, 0))


def test_delta_below_the_grid_drops_the_proof():
    design = optimal_design(1, Fraction(1, 2**65), prevalence=0)
    assert design.proofs == ()
    assert "fall off the grid" in design.choice.reason
    assert optimal_design(1, Fraction(1, 2**64), prevalence=0) == Design(1, Fraction(1, 2**64))
    assert optimal_design("1e-25", Fraction(1, 2**64), prevalence="0.1").proofs == ("yes",)


@pytest.mark.parametrize("epsilon", ["44.4", 45, 100, 10**6, 10**100])
def test_huge_epsilon_never_becomes_certainty(epsilon):
    for prevalence in (None, "0.3"):
        design = optimal_design(epsilon, 0, prevalence=prevalence)
        assert design.numerators == (2**64 - 1,) * 2
        assert design.satisfies(epsilon, 0)
    assert "as good as a proof" in design.choice.explain_exposure()


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((math.nan,), "epsilon"),
        ((-1,), "epsilon"),
        (("junk",), "epsilon"),
        ((1, -0.1), "delta"),
        ((1, 1.5), "delta"),
        ((1, math.inf), "delta"),
        ((1, None), "delta"),
    ],
)
def test_bad_promises(arguments, name):
    with pytest.raises(ParameterError, match=f"^{name} is"):
        optimal_design(*arguments)
    with pytest.raises(ParameterError, match="^prevalence is"):
        optimal_design(1, prevalence=-0.5)


@given(epsilons, positive_deltas)
def test_switch_point_is_g(epsilon, delta):
    e, d = float(epsilon.exp), float(delta)
    assert optimal_design(epsilon, delta).choice.switch_point == pytest.approx(
        d * (e + d) / (e + 2 * d - 1) ** 2, rel=1e-9
    )


def test_stable_forms_agree():
    """c = δ + (1−δ)tanh(ε/2) and g with x = e^−ε."""
    for eps, delta in ((0.01, 0.3), (1, 0.05), (3, 1e-6), (30, 0.2)):
        design = optimal_design(eps, delta)
        x = math.exp(-eps)
        assert float(design.c) == pytest.approx(delta + (1 - delta) * math.tanh(eps / 2), rel=1e-13)
        stable = delta * x * (1 + delta * x) / (1 + (2 * delta - 1) * x) ** 2
        assert optimal_design(eps, delta).choice.switch_point == pytest.approx(stable, rel=1e-13)


# ---- the words -----------------------------------------------------------------------------------------------------


def test_a_proof_is_said_plainly_with_the_number_exposed_and_the_way_out():
    words = optimal_design(1, "2/5", prevalence="1/10").explain(n=5000)
    assert 'A "yes" proves that the person has the attribute' in words
    assert "Of 5000 respondents about 200 would be exposed" in words
    assert "The symmetric design p00 = 0.8386351472, p11 = 0.8386351472 lets no answer be a proof" in words
    assert "1.6 times" in words
    assert "g(ε, δ) = 0.196683 > π = 0.1" in words
    mirrored = optimal_design(1, "2/5", prevalence="9/10").explain(n=5000)
    assert 'A "no" proves that the person does not have the attribute' in mirrored


def test_no_proof_no_alarm():
    words = optimal_design(1).explain()
    assert "No answer proves anything" in words
    assert "2.719" in words
    assert "Theorem 2" in words
    assert "proof" not in optimal_design(1).choice.explain_exposure()


def test_advice_at_a_vanishing_variance_and_at_a_tie():
    assert "instead of 0" in optimal_design(1, "1/5", prevalence=0).choice.explain_exposure()
    assert (
        "its variance is the same"
        in optimal_design("ln 2", "1/4", prevalence="1/4").choice.ties[1].choice.explain_exposure()
    )
    lost = optimal_design("1e-25", Fraction(1, 2**64), prevalence="0.1")
    assert "No design without a proof can be applied" in lost.choice.explain_exposure()


def test_a_chosen_design_is_its_matrix():
    chosen = optimal_design("ln 3")
    assert chosen == Design("3/4", "3/4")
    assert hash(chosen) == hash(Design("3/4", "3/4"))
    assert pickle.loads(pickle.dumps(chosen)) == chosen  # noqa: S301
    with pytest.raises(AttributeError):
        chosen.choice = "because"


def test_the_rule_and_the_reason_are_said():
    """Each theorem by name, with the numbers it compared."""
    high, low = optimal_design(1, "1/10", prevalence="9/10"), optimal_design(1, "1/10", prevalence="1/100")
    assert (high.choice.rule, low.choice.rule) == ("[HLM17] Corollary 2", "[HLM17] Theorem 3")
    assert high.choice.reason == (
        "g(ε, δ) = 0.0765878 < 1 − π = 0.1; n·variance at prevalence 0.9: symmetric 0.77929; (1, δ) 8.19; (δ, 1) 0.99"
    )
    assert low.choice.reason.startswith(
        "g(ε, δ) = 0.0765878 > π = 0.01; n·variance at prevalence 0.01: symmetric 0.69919; "
    )
    assert optimal_design(1, "1/10", prevalence="1/2").choice.rule == "[HLM17] Theorem 3"
    warner = classic.warner(epsilon=1, delta="1/10")
    assert warner.choice.rule == "[HLM17] Theorem 4 (Warner)"
    assert warner.choice.reason.endswith("so both stand at the promise's limit (e^ε + δ)/(e^ε + 1)")
    assert optimal_design(1, "1/10").choice.rule == "best full-support corner (no prevalence was given)"
    assert "costs ε = 1.14149." in optimal_design(1, "1/10").choice.reason
    assert (
        optimal_design(1).choice.rule
        == optimal_design(1, prevalence="1/3").choice.rule
        == "[HLM17] Theorem 2 (strict ε)"
    )
    assert optimal_design(1, 1, prevalence="1/3").choice.rule == "[HLM17] Theorem 3, δ = 1"
    reason = optimal_design(1, Fraction(1, 2**70), prevalence="1/3").choice.reason
    assert reason.startswith("g(ε, δ) = ")
    assert reason.endswith("; the corners (1, δ) and (δ, 1) fall off the grid because δ < 2^-64")


@pytest.mark.parametrize(
    ("delta", "prevalence"), [(0, None), ("1/10", None), (0, "1/10"), ("1/10", "1/10"), ("1/10", "2/5")]
)
def test_the_design_keeps_the_promise_it_was_made_for_in_mind(delta, prevalence):
    made = optimal_design("1/2", delta, prevalence=prevalence)
    assert made.choice.promise == Promise.of("1/2", delta)
    assert made.satisfies(made.choice.promise.epsilon, made.choice.promise.delta)


# ---- which arguments go together ------------------------------------------------------------------------------------

PROMISES = {
    "ε": ("ln 3",),
    "ε, δ": ("ln 3", "1/20"),
    "a promise ε": (Promise.of("ln 3", 0),),
    "a promise ε, δ": (Promise.of("ln 3", "1/20"),),
    "two-sided": (Promise.two_sided("ln 2", "ln 6"),),
    "capped": (Promise.capped("ln 3", "1/20", 20),),
    "a promise and δ": (Promise.of("ln 3", 0), "1/20"),
}
KNOWN = {
    "nothing": None,
    "a number": "1/10",
    "an interval": ("1/20", "1/5"),
    "a table": {"1/10": 1},
    "a law": beta(2, 8),
}


def refusal(promise: str, known: str, options: int, criterion: str) -> tuple[str, str] | None:
    """(the argument that is at fault, the reason); None if a theorem serves all of them together."""
    if promise == "a promise and δ":
        return "delta", "none beside a Promise, which has its own"
    if criterion == "regret" and known != "an interval":
        return "criterion", "regret is judged on an interval"
    if options > 2 and known != "nothing":
        return "prevalence", "the design is the best for all their shares"
    if options > 2 and promise in ("two-sided", "capped"):
        return "promise", "a plain one, ε alone, for several options"
    if options > 2 and "δ" in promise:
        return "delta", "only by sending the truth of some people"
    if known == "an interval" and promise in ("two-sided", "capped"):
        return "prevalence", "no theorem is known for an interval under two promises or a cap"
    return None


@pytest.mark.parametrize("criterion", ["variance", "regret"])
@pytest.mark.parametrize("options", [2, 5])
@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize("promise", PROMISES)
def test_arguments_without_a_theorem_are_refused_with_a_reason_and_all_others_served(
    promise, known, options, criterion
):
    def design():
        return optimal_design(*PROMISES[promise], prevalence=KNOWN[known], options=options, criterion=criterion)

    refused = refusal(promise, known, options, criterion)
    if refused is None:
        made, (asked, *_) = design(), PROMISES[promise]
        kept = asked if isinstance(asked, Promise) else Promise.of(*PROMISES[promise], *[0] * (promise == "ε"))
        assert made.on_grid
        assert made.truths == options
        assert made.satisfies(kept.epsilon, kept.delta)
        return
    with pytest.raises(ParameterError) as caught:
        design()
    assert caught.value.name == refused[0]
    assert refused[1] in str(caught.value)
