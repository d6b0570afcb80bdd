"""What a chosen design says of itself, to the word: proofs, people exposed, advice, and how it was chosen."""

import re
from fractions import Fraction

import pytest

from rrcollect import Design, ParameterError, Promise, optimal_design
from rrcollect.design.corners import Chosen
from tests.inside.design import PRACTICAL_PROOF, prior_mean

PROMISE = Promise.of("ln 3", "1/20")
YES = 'A "yes" proves that the person has the attribute; ε plays no part in it.'
NO = 'A "no" proves that the person does not have the attribute; ε plays no part in it.'
SYMMETRIC = "The symmetric design p00 = 0.7625, p11 = 0.7625 lets no answer be a proof"
FIFTH, TWO_FIFTHS = Fraction(1, 5), Fraction(2, 5)


def chosen(p00, p11, low=None, high=None):
    return Chosen(Design(p00, p11), promise=PROMISE, rule="a rule", reason="a reason", low=low, high=high)


def test_nothing_is_counted_unless_both_bounds_of_the_prevalence_are_known():
    words = f"{YES} {NO} {SYMMETRIC}."
    for low, high in ((None, None), (FIFTH, None), (None, FIFTH)):
        assert chosen(1, 1, low, high).explain_exposure() == words


@pytest.mark.parametrize(
    ("p00", "p11", "high", "words"),
    [
        (1, "1/4", FIFTH, f"{YES} Of 2000 respondents about 100 would be exposed for certain."),
        (1, "1/4", TWO_FIFTHS, f"{YES} Of 2000 respondents up to 200 would be exposed for certain."),
        ("1/4", 1, FIFTH, f"{NO} Of 2000 respondents about 400 would be exposed for certain."),
        ("1/4", 1, TWO_FIFTHS, f"{NO} Of 2000 respondents up to 400 would be exposed for certain."),
        ("1/8", 1, Fraction(1, 4), f"{NO} Of 2000 respondents up to 200 would be exposed for certain."),
        (
            1,
            1,
            FIFTH,
            f"{YES} Of 2000 respondents about 400 would be exposed for certain. "
            f"{NO} Of 2000 respondents about 1600 would be exposed for certain.",
        ),
    ],
)
def test_the_exposed_are_counted_at_the_worse_end(p00, p11, high, words):
    design = chosen(p00, p11, FIFTH, high)
    middle = (FIFTH + high) / 2
    cost = float(Design("0.7625", "0.7625").variance(middle) / design.design.variance(middle))
    said = design.explain_exposure(2000)
    assert said.startswith(f"{words} {SYMMETRIC}; at prevalence {float(middle):.4g} its variance is ")
    assert float(re.search(r"is (\S+) times as large\.$", said)[1]) == pytest.approx(cost, rel=5e-3)


def test_a_thousand_is_said_unless_another_number_is_given():
    assert "Of 1000 respondents about 50 would" in chosen(1, "1/4", FIFTH, FIFTH).explain_exposure()
    assert "Of 1000 respondents about 50 would" in chosen(1, "1/4", FIFTH, FIFTH).explain()
    assert "Of 7 respondents about 0.35 would" in chosen(1, "1/4", FIFTH, FIFTH).explain(7)


def test_odds_times_a_thousand_are_as_good_as_a_proof_and_less_are_not():
    almost = 1 - Fraction(1, 1024)
    assert PRACTICAL_PROOF == 1000
    for word, design in (
        ("yes", chosen(almost, Fraction(1000, 1024))),
        ("no", chosen(Fraction(1000, 1024), almost)),
    ):
        assert (
            design.explain_exposure()
            == f'A "{word}" multiplies the odds by 1e+03: it is as good as a proof. {SYMMETRIC}.'
        )
    assert chosen(almost, Fraction(999, 1024)).explain_exposure() == (
        "No answer proves anything; it can multiply the odds of the truth: "
        'a "yes" by at most 999, a "no" by at most 40.92.'
    )


def test_no_advice_where_the_symmetric_design_is_no_better():
    said = optimal_design(10, "1/100", prevalence="1/2").choice.explain_exposure()
    assert said.endswith("it is as good as a proof.")
    same = Chosen(Design("0.7625", "0.7625").to_grid(), promise=PROMISE, rule="", reason="")
    assert same.alternative == same.design


def test_the_page_for_a_publisher_names_everything():
    assert chosen(1, "1/4").explain().splitlines() == [
        "Design    p00 = 1, p11 = 0.25",
        "Promise   (ε, δ) = (ln(3), 1/20); tight with δ = 0: none: an answer can be a proof",
        "Rule      a rule",
        "Why       a reason",
        f"People    {YES} {SYMMETRIC}.",
    ]
    assert "tight with δ = 0: ε = 1.09861\n" in chosen("3/4", "3/4").explain()


def test_a_prior_design_carries_what_it_was_chosen_by():
    best, design = (
        optimal_design(1, "2/5", prevalence="0.1").choice,
        optimal_design(1, "2/5", prevalence={"0.05": "1/2", "0.15": "1/2"}).choice,
    )
    assert (design.low, design.high, design.compared) == (Fraction(1, 10), Fraction(1, 10), best.compared)
    assert str(design.promise) == str(best.promise) == "(ε, δ) = (1, 2/5)"
    assert design.rule == f"{best.rule}, at the prior's mean"
    assert design.reason == (f"for any prior the optimum at its mean has the least expected variance; {best.reason}")


def test_weights_are_fractions_of_any_size_and_named_when_bad():
    assert prior_mean({"0.1": "1/8", "0.3": "1/8", "0.9": 0}) == FIFTH
    with pytest.raises(ParameterError, match="^weight is"):
        prior_mean({"0.1": "x"})
    with pytest.raises(ParameterError, match="^prevalence is"):
        prior_mean({"2": 1})
    with pytest.raises(ParameterError, match="^prior mean is"):
        prior_mean("2")
    with pytest.raises(ParameterError, match=r"^prior is .*0 or more with a positive sum"):
        prior_mean({"0.1": 0})


@pytest.mark.parametrize(
    ("choose", "rule", "reason"),
    [
        ("variance", "minimax variance", "worst n·variance for a prevalence in [0.1, 0.4]: "),
        (
            "regret",
            "minimax regret",
            "most n·variance lost against the best design for the true prevalence in [0.1, 0.4]: ",
        ),
    ],
)
def test_a_minimax_design_carries_its_interval_and_every_figure(choose, rule, reason):
    design = optimal_design(1, "2/5", prevalence=("0.1", "0.4"), criterion=choose).choice
    assert (design.low, design.high) == (Fraction(1, 10), TWO_FIFTHS)
    assert str(design.promise) == "(ε, δ) = (1, 2/5)"
    assert design.rule == f"{rule} on [0.1, 0.4]"
    figures = "; ".join(f"{name} {value:.6g}" for name, value in design.compared)
    assert len(design.compared) >= 3
    assert design.reason.removesuffix(".") == reason + figures


def test_where_nothing_is_proven_both_odds_are_told():
    odds = 'a "yes" by at most 3, a "no" by at most 3'
    words = f"No answer proves anything; it can multiply the odds of the truth: {odds}."
    assert optimal_design("ln 3").choice.explain_exposure() == words


def test_odds_of_a_thousand_are_as_good_as_a_proof():
    def disclosure(p):
        return Chosen(Design(p, p), promise=Promise.of(7, 0), rule="", reason="").explain_exposure()

    assert "multiplies the odds by 1e+03: it is as good as a proof" in disclosure(Fraction(1000, 1001))
    assert "No answer proves anything" in disclosure(Fraction(999, 1000))


def test_the_alternative_to_the_truth_itself_is_one_step_below_certainty():
    chosen = optimal_design(1, 1, prevalence="1/3")
    assert chosen == Design(1, 1)
    assert chosen.choice.alternative == Design(1 - Fraction(1, 2**64), 1 - Fraction(1, 2**64))
