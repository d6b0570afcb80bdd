"""Plans for choices, numbers, rounds and several questions: KINDS' numbers, and what the printed bars then reach."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest

from rrcollect import Design, ParameterError, SetDesign, optimal_choice, optimal_design
from server_agg import (
    Tally,
    ask_one_best_until,
    central_privacy,
    choice_plan,
    estimate,
    estimate_mean,
    mean_margin,
    mean_sample_size,
    option_margin,
    option_sample_size,
    ways_of_asking,
    ways_over_rounds,
)
from server_agg.plan.central_privacy import central_delta


def test_the_ways_to_spend_one_epsilon_over_a_year():
    """52 weeks, ε = 1: 2704 for a fresh answer weekly, 47.9 for one random week, .92 for one memo."""
    fresh, panel, memo = ways_over_rounds(1, 52)
    assert (round(fresh.noise), round(panel.noise, 1), round(memo.noise, 2)) == (2704, 47.9, 0.92)
    assert fresh.n > 40 * panel.n > 40 * 50 * memo.n
    assert (panel.epsilon_per_answer, fresh.epsilon_per_answer) == (1, pytest.approx(1 / 52))


@pytest.mark.parametrize(
    ("questions", "prevalence", "limit"),
    [(2, "1/2", 3.06), (3, "1/2", 3.71), (5, "1/2", 4.71), (10, "1/2", 6.53), (2, "0.1", 4.86)],
)
def test_one_question_is_better_than_all_up_to_a_known_epsilon(questions, prevalence, limit):
    found = ask_one_best_until(questions, prevalence)
    assert found == pytest.approx(limit, abs=0.005)
    for epsilon, better in ((found - 0.05, True), (found + 0.05, False)):
        split, one = ways_of_asking(epsilon, questions, "0.02", prevalence=prevalence, method="wald")
        assert (one.n < split.n) is better
        assert one.noise < split.noise  # by noise alone at every ε


def test_the_margin_of_a_choice_is_that_of_its_printed_bars():
    design = optimal_choice(1, 5)
    n = option_sample_size(design, 0.05)
    worst = option_margin(design, n)
    assert worst <= 0.05 < option_margin(design, n - 40)
    share = Fraction(1, 2) if design.column.says_yes(0) < 0.5 else Fraction(0)
    counts = [round(n * float(design.q + design.c * s)) for s in (share, 1 - share, 0, 0, 0)]
    counts[4] = design.size * n - sum(counts[:4])
    bars = estimate(Tally(design, n, counts)).intervals()
    assert max(bar.width for bar in bars[:2]) / 2 <= 1.02 * worst
    known = ["1/2", "1/4", "1/8", "1/16", "1/16"]
    assert option_sample_size(design, 0.05, shares=known) <= n
    with pytest.raises(ParameterError, match="add up to 1"):
        option_margin(design, 100, shares=["1/2", "1/4"])


def test_a_choice_of_two_costs_what_a_yes_no_costs():
    found = choice_plan(1, 2, "0.05")
    assert found.n == found.yes_no_n
    assert choice_plan(1, 10, "0.05").n > 3 * found.n


def test_the_margin_of_a_mean_is_in_its_unit():
    design = optimal_design(1)
    n = mean_sample_size(design, 2, 0, 40)
    assert mean_margin(design, n, 0, 40) <= 2 < mean_margin(design, n - 20, 0, 40)
    bar = estimate_mean(Tally(design, n, n // 2), 0, 40).interval()
    assert bar.width / 2 == pytest.approx(2, rel=0.01)
    assert mean_sample_size(design, 2, 0, 40, mean=0) < n
    for wrong in ({"margin": 41}, {"margin": 0}):
        with pytest.raises(ParameterError, match="margin"):
            mean_sample_size(design, low=0, high=40, **wrong)
    with pytest.raises(ParameterError, match="mean"):
        mean_sample_size(design, 2, 0, 40, mean=41)


# ---- what the crowd adds to a set ------------------------------------------------------------------------------------


def chances(design):
    """P(set | truth), exactly, of every set the design gives."""
    texts = ["".join(bits) for bits in product("01", repeat=design.options) if bits.count("1") == design.size]
    k, w = design.options, design.size
    inside, outside = design.p / math.comb(k - 1, w - 1), (1 - design.p) / math.comb(k - 1, w)
    return {x: {text: inside if text[x] == "1" else outside for text in texts} for x in range(k)}


def shuffled(design, truths):
    """The exact law of the multiset of the reports of people with these truths."""
    law, known = {(): Fraction(1)}, chances(design)
    for truth in truths:
        after = {}
        for seen, chance in law.items():
            for text, own in known[truth].items():
                key = tuple(sorted((*seen, text)))
                after[key] = after.get(key, 0) + chance * own
        law = after
    return law


def exact_delta(design, others, epsilon):
    """The hockey-stick divergence between the crowds with one person of truth 0 and of truth 1."""
    first, second = shuffled(design, (0, *others)), shuffled(design, (1, *others))
    ratio = math.exp(epsilon)
    return max(sum(max(0.0, float(a.get(m, 0)) - ratio * float(b.get(m, 0))) for m in {**a, **b})
               for a, b in ((first, second), (second, first)))  # fmt: skip


@pytest.mark.parametrize("design", [SetDesign(3, 1, "1/2"), SetDesign(4, 2, "5/8")], ids=str)
def test_no_crowd_tells_more_than_the_bound(design):
    """By enumeration of every multiset of reports, for every truth of three others."""
    for epsilon in (0.1, 0.3, 0.6):
        bound = central_delta(design, 4, epsilon)
        worst = max(exact_delta(design, others, epsilon) for others in product(range(3), repeat=3))
        assert worst <= bound
        assert bound < float(design.delta(epsilon)) + 1e-9  # and it says more than the local promise
    # the planted bug: a bound for twice as many others is broken by somebody
    assert any(exact_delta(design, (2, 2), epsilon) > central_delta(design, 30, epsilon) for epsilon in (0.1, 0.3, 0.6))


def test_two_options_are_warner_s():
    for epsilon, n in ((1, 1000), (2, 50)):
        choice, yes_no = optimal_choice(epsilon, 2), optimal_design(epsilon)
        assert central_privacy(choice, n, "1e-6") == pytest.approx(central_privacy(yes_no, n, "1e-6"), rel=1e-6)
    assert central_privacy(optimal_choice(1, 2), 1000, "1e-6") == pytest.approx(0.148671, abs=1e-6)


def test_a_crowd_never_says_less_than_the_local_promise_and_a_proof_is_refused():
    design = optimal_choice(1, 10)
    found = [central_privacy(design, n, "1e-6") for n in (100, 1000, 10_000)]
    assert found == sorted(found, reverse=True)
    assert found[0] <= design.epsilon()
    for proof in (SetDesign(3, 1, 1), Design(1, "1/2")):
        with pytest.raises(ParameterError):
            central_privacy(proof, 100, "1e-6")
