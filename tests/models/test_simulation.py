"""Artificial surveys follow the laws they claim, are repeatable, and stay out of the client's reach."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from rrcollect import Design, ParameterError, classic, optimal_design
from tests.inside.models import simulate_answers, simulate_survey, simulate_truths
from tests.support.acted_procedures import PROCEDURES, simulate_moors, simulate_procedure

ROOT = Path(__file__).resolve().parent.parent.parent
N = 200_000
ALARM = 1e-11  # of each of fewer than 100 checks: together below 1e-9
SETTINGS = {
    "warner": {"p": "0.8"},
    "forced_response": {"yes": "1/6", "no": "1/3"},
    "unrelated_question": {"p": "0.6", "prevalence": "0.3"},
    "mangat_singh": {"t": "0.3", "p": "0.7"},
    "mangat": {"p": "0.7"},
    "crosswise": {"prevalence": "0.25"},
    "triangular": {"prevalence": "0.25"},
    "kuk": {"theta1": "0.8", "theta2": "0.3"},
}


def fits(ones, rate, n=N):
    low, high = binom.ppf(ALARM / 2, n, rate), binom.ppf(1 - ALARM / 2, n, rate)
    return bool(low <= ones <= high)


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("truth", [0, 1])
def test_a_procedure_acted_out_has_the_matrix_it_is_said_to_have(name, truth):
    answers = simulate_procedure(name, np.full(N, truth), seed=17, **SETTINGS[name])
    design = getattr(classic, name)(**SETTINGS[name])
    assert fits(answers.sum(), float(design.matrix[truth][1]))
    by_matrix = simulate_answers(np.full(N, truth), design, seed=18)
    assert fits(by_matrix.sum(), float(design.matrix[truth][1]))
    if 0 < design.matrix[truth][1] < 1:
        assert not fits(answers.sum(), float(design.matrix[truth][1]) * 0.9)  # the planted bug


def test_every_procedure_there_is_can_be_simulated():
    programs = {"rappor", "k_ary_response"}  # what other programs draw: nobody acts them out
    names = {n for n in classic.__all__ if n.islower()} - programs
    assert names == {*PROCEDURES, "moors"}
    assert set(SETTINGS) == set(PROCEDURES)


def test_crosswise_above_one_half_and_kuk_with_several_draws():
    answers = simulate_procedure("crosswise", np.ones(N, int), seed=2, prevalence="0.7")
    assert fits(answers.sum(), 0.7)
    for coding, rate in (("same", 0.25), ("different", 0.75), ("likelier", 0.75)):
        answers = simulate_procedure("crosswise", np.ones(N, int), seed=2, prevalence="0.25", one=coding)
        assert fits(answers.sum(), rate)
    design = classic.kuk("0.8", "0.3", draws=3)
    for made in (
        simulate_procedure("kuk", np.ones(N, int), seed=3, theta1="0.8", theta2="0.3", draws=3),
        simulate_answers(np.ones(N, int), design.design, seed=4, draws=design.draws),
    ):
        counts = np.bincount(made, minlength=4)
        assert all(fits(k, float(p)) for k, p in zip(counts, design.law(1), strict=True))


def test_moors_and_truths_and_covariates():
    first, second = simulate_moors(np.zeros(N, int), 5, p="0.7", innocuous="0.4", second=N)
    assert fits(first.sum(), 0.3 * 0.4)
    assert fits(second.sum(), 0.4)
    assert fits(simulate_truths(N, "0.2", 6).sum(), 0.2)
    survey = simulate_survey(N, [0.5, 1.0], Design(1, 1), 7, covariates=np.full(N, -0.5), self_protective="0.25")
    assert fits(survey.truths.sum(), 0.5)
    assert fits(survey.cheated.sum(), 0.25)
    assert survey.answers[survey.cheated].sum() == 0
    assert (survey.answers[~survey.cheated] == survey.truths[~survey.cheated]).all()


def test_a_seed_repeats_everything():
    a, b, c = (simulate_survey(500, [0.1, 0.2], optimal_design(1), seed) for seed in (1, 1, 2))
    assert np.array_equal(a.answers, b.answers)
    assert np.array_equal(a.covariates, b.covariates)
    assert not np.array_equal(a.answers, c.answers)


@pytest.mark.parametrize(
    "call",
    [
        lambda: simulate_answers([None], optimal_design(1), 1),
        lambda: simulate_survey(0, [0.1], optimal_design(1), 1),
        lambda: simulate_survey(3, [0.1], optimal_design(1), 1, covariates=[1, 2, 3]),
        lambda: simulate_truths(3, 2, 1),
    ],
)
def test_wrong_input_is_refused(call):
    with pytest.raises(ParameterError):
        call()


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def test_the_client_never_imports_the_aggregator():
    modules = sorted((ROOT / "rrcollect").rglob("*.py"))
    assert len(modules) > 20
    for path in modules:
        assert not [name for name in imported(path) if name.split(".")[0] == "server_agg"], path
        assert "server_agg" not in {part for name in imported(path) for part in name.split(".")}
    assert "server_agg.count.tally" in imported(ROOT / "server_agg" / "models" / "simulation.py")  # the check can fail


def test_the_aggregator_does_not_offer_it_by_accident():
    import server_agg

    assert not [name for name in server_agg.__all__ if name.startswith("simulate_")]
    with pytest.raises(AttributeError):
        _ = server_agg.simulate_survey
