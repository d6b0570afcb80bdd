"""What the crowd adds: the published numbers, an exact judge for small crowds, and what is refused."""

import math
from itertools import product

import pytest

from rrcollect import Design, ParameterError, optimal_design
from server_agg.plan import central_privacy
from tests.inside.estimates import central_delta


@pytest.mark.parametrize(("n", "wanted"), [
    (1_000, (0.0627, 0.1487, 0.3971, 0.8231)),
    (10_000, (0.0181, 0.0432, 0.1144, 0.2261)),
])  # fmt: skip
def test_the_table_of_the_theorem(n, wanted):
    found = [central_privacy(optimal_design(epsilon), n, "1e-6") for epsilon in ("1/2", 1, 2, 3)]
    assert found == pytest.approx(wanted, abs=5e-5)


def test_numbers_to_twelve_digits():
    assert central_delta(optimal_design(1), 20, 0.3) == pytest.approx(0.0246958209669, rel=1e-11)
    assert central_delta(Design("0.9", "0.5"), 20, 0.6) == pytest.approx(0.00337464371445, rel=1e-11)
    assert central_privacy(optimal_design(1), 1000, "1e-6") == pytest.approx(0.148671, abs=5e-7)


def law(design, truths):
    """P(sum of the answers = k), by convolution."""
    found = [1.0]
    for truth in truths:
        one = float(design.matrix[truth][1])
        found = [a * (1 - one) + b * one for a, b in zip([*found, 0.0], [0.0, *found], strict=True)]
    return found


def exact_delta(design, n, epsilon):
    """The least δ of the sum of n answers at this ε: over everybody else's truths and both directions."""
    worst = 0.0
    for others in range(n):
        rest = [1] * others + [0] * (n - 1 - others)
        for mine, other in ((0, 1), (1, 0)):
            pairs = zip(law(design, [mine, *rest]), law(design, [other, *rest]), strict=True)
            worst = max(worst, sum(max(0.0, p - math.exp(epsilon) * q) for p, q in pairs))
    return worst


CASES = list(product((Design("3/4", "3/4"), Design("0.9", "0.5"), optimal_design(1), optimal_design(3)),
                     (1, 2, 5, 12), (0.0, 0.1, 0.5, 1.0)))  # fmt: skip


@pytest.mark.parametrize(("design", "n", "epsilon"), CASES)
def test_no_crowd_tells_more_than_the_bound_says(design, n, epsilon):
    assert exact_delta(design, n, epsilon) <= central_delta(design, n, epsilon) + 1e-15


def test_the_judge_catches_a_bound_for_a_larger_crowd():
    """A planted bug: n counted over two questions, or over cells that are told apart."""
    caught = [case for case in CASES if exact_delta(*case) > central_delta(case[0], 4 * case[1], case[2]) + 1e-15]
    assert len(caught) > len(CASES) // 4


def test_it_is_never_above_the_local_epsilon_and_falls_with_n():
    design = optimal_design(1)
    found = [central_privacy(design, n, "1e-6") for n in (1, 2, 30, 100, 300, 1000)]
    assert found == sorted(found, reverse=True)
    assert all(epsilon <= design.epsilon() for epsilon in found)
    for n, epsilon in ((100, found[3]), (1000, found[5])):
        assert central_delta(design, n, epsilon) <= 1e-6 < central_delta(design, n, epsilon * 0.999)


@pytest.mark.parametrize("design", [Design(1, "1/20"), Design("1/20", 1), Design(1, 1)])
def test_a_certain_disclosure_is_refused_by_name(design):
    with pytest.raises(ParameterError, match="certain disclosure"):
        central_privacy(design, 1000, "1e-6")


@pytest.mark.parametrize(("n", "delta"), [(0, "1e-6"), (10, 0), (10, 1), (1.5, "1e-6"), (10, "x")])
def test_senseless_numbers_are_refused(n, delta):
    with pytest.raises(ParameterError):
        central_privacy(optimal_design(1), n, delta)
