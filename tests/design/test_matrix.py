"""The published matrix: privacy read off it exactly, variance for both targets, the grid, swapping and refusing."""

import math
import pickle
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rrcollect import Design, Epsilon, ParameterError
from rrcollect.errors import OffGridDesign, UninformativeDesign
from tests.inside.design import GRID
from tests.support.strategies import deltas, designs, epsilons, prevalences, unit


@given(designs, epsilons, deltas)
def test_satisfies_is_the_definition_over_every_event(design, epsilon, delta):
    """P(A | d) <= e^ε P(A | d') + δ for all truths d, d' and all sets A of answers, with e^ε as an exact number."""
    big_e = epsilon.exp
    rows = design.matrix
    holds = all(
        sum((rows[d][a] for a in event), Fraction(0))
        <= big_e * sum((rows[other][a] for a in event), Fraction(0)) + delta
        for d, other in ((0, 1), (1, 0))
        for event in ((), (0,), (1,), (0, 1))
    )
    assert design.satisfies(epsilon, delta) == holds


@given(designs)
def test_tight_epsilon_is_kept_and_nothing_less_is(design):
    tight = design.tight_epsilon
    if tight is None:
        assert design.epsilon() == math.inf
        assert design.proofs
        assert not design.satisfies(700, 0)
        return
    assert not design.proofs
    assert design.satisfies(tight, 0)
    assert 0 in design.slack(tight, 0)
    assert design.satisfies(design.epsilon(), 0)
    assert design.epsilon() <= float(tight) * (1 + 1e-15)
    less = Epsilon.of_ratio(1 + (design.worst_likelihood_ratio - 1) * (1 - Fraction(1, 10**30)))
    assert not design.satisfies(less, 0)


@given(designs, epsilons)
def test_delta_is_kept_and_nothing_less_is(design, epsilon):
    delta = design.delta(epsilon)
    assert 0 <= delta <= 1
    assert design.satisfies(epsilon, delta)
    if delta > 1e-12:
        assert not design.satisfies(epsilon, Fraction(repr(delta)) * (1 - Fraction(1, 10**14)))


@given(designs, epsilons, deltas)
def test_slack_names_the_tight_inequality(design, epsilon, delta):
    no, yes = design.slack(epsilon, delta)
    assert (min(no, yes) >= 0) == design.satisfies(epsilon, delta)
    big_e, p00, p11 = epsilon.exp, design.p00, design.p11
    if design.c > 0:
        assert (yes == 0) == (big_e * (1 - p00) + delta == p11)
        assert (no == 0) == (big_e * (1 - p11) + delta == p00)


def test_slack_at_the_corners_of_the_paper():
    """Inside of R′, on its edge R″, outside; and a design whose answers mean their opposite keeps the promise too."""
    assert Design("2/3", "2/3").slack("ln 2") == (0, 0)
    assert Design(1, "1/4").slack("ln 2", "1/4") == (1, 0)
    assert Design("1/4", 1).slack("ln 2", "1/4") == (0, 1)
    assert Design("0.6", "0.6").slack("ln 2") == (1, 1)
    assert Design("0.9", "0.9").slack("ln 2") == (-1, -1)
    assert Design("1/3", "1/3").slack("ln 2") == (0, 0)


@given(designs, prevalences, st.integers(1, 10**6))
def test_variance_is_the_papers_formula(design, pi, n):
    p00, p11, half = design.p00, design.p11, Fraction(1, 2)
    papers = (Fraction(1, 4) - (p00 - half - pi * (p00 + p11 - 1)) ** 2) / ((p00 + p11 - 1) ** 2 * n)
    assert design.variance(pi, n) == papers
    assert math.sqrt(design.variance(pi, n)) == pytest.approx(math.sqrt(papers))
    assert math.sqrt(design.variance(pi)) == pytest.approx(math.sqrt(papers * n))
    assert design.variance(pi, n) == design.variance(pi, n, target="sample") + pi * (1 - pi) / n


@given(st.tuples(unit, unit).filter(lambda p: sum(p) != 1), st.integers(1, 5), st.integers(0, 5))
def test_both_variances_by_enumerating_every_outcome(p, n, yes):
    """Exact moments of the estimate over all answer vectors, for fixed respondents and for a drawn one."""
    design, yes = Design(*p), min(yes, n)
    truths = [1] * yes + [0] * (n - yes)
    mean = second = Fraction(0)
    for answers in product((0, 1), repeat=n):
        chance = math.prod((design.matrix[t][a] for t, a in zip(truths, answers, strict=True)), start=Fraction(1))
        value = (Fraction(sum(answers), n) - (1 - design.p00)) / design.c
        mean, second = mean + chance * value, second + chance * value**2
    share = Fraction(yes, n)
    assert mean == share
    assert second - mean**2 == design.variance(share, n, target="sample")


@given(designs, prevalences)
def test_swapping_the_outputs_changes_nothing_that_matters(design, pi):
    swapped = design.swapped()
    assert swapped.c == -design.c
    assert swapped.worst_likelihood_ratio == design.worst_likelihood_ratio
    assert swapped.variance(pi) == design.variance(pi)
    assert swapped.manipulation_factor == design.manipulation_factor
    assert swapped.swapped() == design
    assert design.mirrored().variance(1 - pi) == design.variance(pi)


@given(designs, prevalences)
def test_effective_sample_ratio(design, pi):
    ratio = design.effective_sample_ratio(pi)
    assert 0 <= ratio <= 1
    if design.variance(pi):
        assert ratio == pi * (1 - pi) / design.variance(pi)


def test_effective_sample_ratio_where_both_variances_vanish_is_the_limit():
    near = Design(1, "1/20").effective_sample_ratio(Fraction(1, 10**9))
    assert Design(1, "1/20").effective_sample_ratio(0) == Fraction(1, 20)
    assert abs(near - Fraction(1, 20)) < Fraction(1, 10**9)
    assert Design("1/20", 1).effective_sample_ratio(1) == Fraction(1, 20)


# ---- the grid ---------------------------------------------------------------------------------------------------


@given(designs, epsilons, deltas)
def test_rounding_to_the_grid_keeps_every_promise(design, epsilon, delta):
    assume(abs(design.c) > Fraction(1, 2**60))
    grid = design.to_grid()
    assert grid.on_grid
    assert max(abs(grid.p00 - design.p00), abs(grid.p11 - design.p11)) < Fraction(1, GRID)
    if design.satisfies(epsilon, delta):
        assert grid.satisfies(epsilon, delta)
    assert grid.to_grid() == grid
    assert (grid.c > 0) == (design.c > 0)


def test_rounding_up_instead_would_break_the_promise():
    """A planted bug: the same check catches a rounding to the nearest grid point."""
    broken = 0
    for denominator in range(3, 300, 2):
        q = Fraction(denominator - 1, denominator)
        nearest = Fraction(round(q * GRID), GRID)
        broken += not Design(nearest, nearest).satisfies(Epsilon.of_ratio(q / (1 - q)), 0)
    assert broken > 50


def test_numerators():
    assert Design("1/2", 1).numerators == (2**63, 2**64)
    assert Design(1, Fraction(1, GRID)).numerators == (2**64, 1)
    with pytest.raises(OffGridDesign, match="to_grid"):
        _ = Design("1/3", 1).numerators
    assert Design("1/3", 1).to_grid().numerators == (2**64 // 3, 2**64)


def test_a_design_that_vanishes_on_the_grid_is_refused():
    with pytest.raises(UninformativeDesign):
        Design(1, Fraction(1, 2**65)).to_grid()


# ---- refusals and the object itself ---------------------------------------------------------------------------


@pytest.mark.parametrize("p", ["0", "1/2", "0.3", "1"])
def test_nothing_can_be_learned_is_refused_with_the_reason(p):
    with pytest.raises(UninformativeDesign, match="nothing can be learned"):
        Design(p, 1 - Fraction(p))


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan, math.inf, "x", None, True])
def test_bad_probabilities(bad):
    with pytest.raises(ParameterError, match="^p00 is"):
        Design(bad, "0.9")
    with pytest.raises(ParameterError, match="^p11 is"):
        Design("0.9", bad)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda d: d.variance(2), "prevalence"),
        (lambda d: d.variance("0.1", 0), "n"),
        (lambda d: d.variance("0.1", 1, target="everybody"), "target"),
        (lambda d: d.likelihood_ratio(2), "answer"),
        (lambda d: d.likelihood_ratio(True), "answer"),
        (lambda d: d.delta(-1), "epsilon"),
        (lambda d: d.satisfies(1, 2), "delta"),
        (lambda d: d.exposed("0.1", -3), "n"),
        (lambda d: d.effective_sample_ratio(2), "prevalence"),
    ],
)
def test_bad_arguments(call, name):
    with pytest.raises(ParameterError, match=f"^{name} is"):
        call(Design("0.8", "0.8"))


def test_immutable_hashable_picklable_readable():
    design = Design(0.8, "3/4")
    with pytest.raises(AttributeError):
        design.p00 = Fraction(1)
    with pytest.raises(AttributeError):
        del design.p00
    assert {design: 1}[Design(Fraction(4, 5), "0.75")] == 1
    assert pickle.loads(pickle.dumps(design)) == design  # noqa: S301
    assert eval(repr(design), {"Design": Design}) == design  # noqa: S307
    assert design != "design"
    assert str(design) == "p00 = 0.8, p11 = 0.75"
    assert str(Design(1 - Fraction(1, GRID), 1)) == "p00 = 1 − 5.42e-20, p11 = 1"


def test_likelihood_ratio_speaks_for_each_answer():
    design = Design("9/10", "3/5")
    assert (design.likelihood_ratio(1), design.likelihood_ratio(0)) == (6, Fraction(9, 4))
    nearly = Design(1 - Fraction(1, 10**9), "1/2")
    assert nearly.proofs == ()
    assert nearly.worst_likelihood_ratio == 5 * 10**8


def test_exposed_counts_both_kinds_of_proof():
    assert Design(1, "1/20").exposed("1/10", 1000) == 5
    assert Design("1/20", 1).exposed("1/10", 1000) == 45
    assert Design(1, 1).exposed("1/10", 1000) == 1000
    assert Design("0.9", "0.9").exposed("1/10", 1000) == 0
    assert Design(1, "1/2").exposed("1/2") == Fraction(1, 4)
    proofs = [Design(*p).proofs for p in ((1, "1/2"), ("1/2", 1), (1, 1), ("3/4", "3/4"))]
    assert proofs == [("yes",), ("no",), ("yes", "no"), ()]


def test_numbers_of_warner():
    assert Design("0.8", "0.8").epsilon() == pytest.approx(1.3862943611, abs=1e-10)
    assert Design("0.8", "0.8").delta(0.5) == pytest.approx(0.4702557459, abs=1e-10)
