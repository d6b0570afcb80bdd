"""Repeated surveys: what they say of bias and coverage, and that a wrong matrix and a wrong level are seen."""

import json

import pytest

from rrcollect import Design, ParameterError, optimal_design
from server_agg import plan
from tests.support.command_line import json_of, run

DESIGN = optimal_design("ln 3")


def unbiased(found):
    """The mean of the estimates is where it should be; false alarm below 1e-10 (6.6 standard errors)."""
    return abs(found.bias_in_errors) < 6.6


def covered(found, level):
    """The exact bar holds at least as often as `level` says, up to chance: 6.6 standard errors, below 1e-10."""
    spread = (level * (1 - level) / found.n) ** 0.5
    return found.value > level - 6.6 * spread


def test_the_estimate_is_unbiased_and_a_wrong_matrix_is_seen():
    assert unbiased(plan.rehearse(DESIGN, "0.1", 500, 2000, methods=["hoeffding"]))
    wrong = plan.rehearse(DESIGN, "0.1", 500, 2000, methods=["hoeffding"], estimated_with=Design("0.77", "0.75"))
    assert not unbiased(wrong)


def test_an_option_is_rehearsed_with_sets_and_a_wrong_size_is_seen():
    design = optimal_design(1, options=10)
    found = plan.rehearse(design, "0.1", 500, 2000, methods=["hoeffding"])
    assert unbiased(found)
    assert abs(found.spread**2 / found.predicted_spread**2 - 1) < 6.6 * (2 / 1999) ** 0.5  # as below
    other = optimal_design(2, options=10).column
    assert not unbiased(plan.rehearse(design, "0.1", 500, 2000, methods=["hoeffding"], estimated_with=other))


@pytest.mark.parametrize("target", ["population", "sample"])
def test_the_exact_bar_holds_and_a_narrow_one_is_seen(target):
    found = plan.rehearse(DESIGN, "0.3", 300, 2000, methods=["exact"], target=target)
    assert covered(found, 0.95)
    narrow = plan.rehearse(DESIGN, "0.3", 300, 2000, methods=["exact"], target=target, level="0.7")
    assert not covered(narrow, 0.95)


def test_the_spread_is_the_theorys():
    found = plan.rehearse(Design("0.9", "0.6").to_grid(), "0.2", 400, 4000, methods=["hoeffding"])
    # the variance of 4000 nearly normal values has a relative error of √(2/3999): 6.6 of them, false alarm about 1e-10
    assert abs(found.spread**2 / found.predicted_spread**2 - 1) < 6.6 * (2 / 3999) ** 0.5


@pytest.mark.needs("matplotlib")
def test_the_whole_answer_as_data_and_words(capsys, tmp_path):
    words = ["plan", "--rehearse", "--epsilon", "1", "--prevalence", "0.1", "--n", "200", "--surveys", "300"]
    said = json_of(capsys, *words)
    assert [c["name"] for c in said["rows"]] == [
        "exact", "wilson", "chebyshev", "hoeffding", "likelihood", "wald", "credible", "anytime",
    ]  # fmt: skip
    assert all(c["interval"]["low"] <= c["value"] <= c["interval"]["high"] for c in said["rows"])
    assert json.loads(json.dumps(said)) == said
    code, out, _ = run(capsys, *words, "--method", "exact", "--plot", tmp_path / "s.png")
    assert code == 0
    assert "◄ truth" in out
    assert "standard errors" in out
    assert (tmp_path / "s.png").read_bytes()[:4] == b"\x89PNG"
    sample = json_of(capsys, *words[:4], "--prevalence", "0.1", "--surveys", "50", "--n", "50", "--target", "sample")
    assert "likelihood" not in [c["name"] for c in sample["rows"]]


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ({"n": 1}, "n"),
        ({"surveys": 0}, "surveys"),
        ({"n": 10**9, "surveys": 10**9}, "at most"),
        ({"target": 5}, "target"),
    ],
)
def test_invalid_numbers_are_refused(change, hint):
    with pytest.raises(ParameterError, match=hint):
        plan.rehearse(**{"design": DESIGN, "prevalence": "0.1", "n": 100, "surveys": 10} | change)
