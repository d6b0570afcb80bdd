"""Others' designs at the same ε: every number against its closed form or an enumeration, and the order of them."""

from __future__ import annotations

import itertools
import math

import pytest

from rrcollect import ParameterError
from server_agg.plan import compare_choices, compare_numbers, plot_choices
from tests.inside.design import best_size


def line(epsilon: object, options: int, start: str):
    (found,) = [one for one in compare_choices(epsilon, options) if one.design.startswith(start)]
    return found


@pytest.mark.parametrize(
    ("start", "n_mse"),
    [
        ("sets of 3", 30.0040551563),
        ("k-ary", 41.8583005841),
        ("optimised unary", 38.7269437683),
        ("unary encoding, as", 40.0769808903),
        ("Hadamard", 46.7269437683),
    ],
)
def test_ten_options_at_epsilon_1(start, n_mse):
    assert line(1, 10, start).n_mse == pytest.approx(n_mse, rel=1e-11)


def test_how_many_more_people_others_need():
    ratios = {(k, start): line(1, k, start).people for k in (10, 100) for start in ("k-ary", "optimised", "unary enc")}
    found = [round(value, 1 if start == "k-ary" else 2) for (_, start), value in ratios.items()]
    assert found == [1.4, 1.29, 1.34, 9.4, 1.0, 1.06]  # of a hundred options against blocks, 2.6 % above the best sets


def test_a_liar_moves_a_share_by_the_stated_bound():
    assert line(1, 10, "k-ary").option == pytest.approx(6.81976706869, rel=1e-11)
    assert line(1, 10, "sets").option == pytest.approx(3.7799001723, rel=1e-11)
    assert line(1, 10, "sets").all == pytest.approx(2 * 3 * 3.7799001723, rel=1e-11)
    assert line(1, 10, "Laplace").option == math.inf
    assert line(1, 10, "Laplace").as_dict()["option"] is None
    assert "without end" in line(1, 10, "Laplace").cells()


def by_enumeration(p: float, q: float, k: int) -> float:
    """n·MSE of bits alone at equal shares: over every truth and every row of bits."""
    found = 0.0
    for truth, bits in itertools.product(range(k), itertools.product((0, 1), repeat=k)):
        chances = [p if j == truth else q for j in range(k)]
        chance = math.prod(c if bit else 1 - c for c, bit in zip(chances, bits, strict=True)) / k
        found += chance * sum(((bit - q) / (p - q) - 1 / k) ** 2 for bit in bits)
    return found


@pytest.mark.parametrize("k", [2, 3, 5])
def test_unary_encodings_by_enumeration(k):
    e = math.e
    assert line(1, k, "optimised").n_mse == pytest.approx(by_enumeration(0.5, 1 / (e + 1), k), rel=1e-12)
    root = math.sqrt(e)
    assert line(1, k, "unary").n_mse == pytest.approx(by_enumeration(root / (root + 1), 1 / (root + 1), k), rel=1e-12)


@pytest.mark.parametrize("k", [2, 4, 8])
def test_hadamard_by_enumeration(k):
    """A row of the matrix of signs is drawn, and the sign at the truth is sent, changed with chance 1/(E + 1)."""
    signs = [[(-1) ** bin(i & j).count("1") for j in range(k)] for i in range(k)]
    slope, found = (math.e + 1) / (math.e - 1), 0.0
    for truth, row, kept in itertools.product(range(k), range(k), (True, False)):
        chance = (math.e if kept else 1) / (math.e + 1) / k / k
        sent = signs[row][truth] * (1 if kept else -1)
        found += chance * sum((slope * sent * signs[row][j] - 1 / k) ** 2 for j in range(k))
    assert line(1, k, "Hadamard").n_mse == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize(("epsilon", "ratio"), [(1, 2.17), (2, 2.76)])
def test_laplace_noise_on_a_bit_adds_more_than_twice_as_much_as_warner(epsilon, ratio):
    """2/ε² against 1/(4 sinh²(ε/2)): 8 sinh²(ε/2)/ε² is 2 or more for every ε."""
    warner = 1 / (4 * math.sinh(epsilon / 2) ** 2)
    assert compare_numbers(epsilon)["Laplace noise"] / warner == pytest.approx(ratio, abs=0.005)
    assert all(8 * math.sinh(e / 20) ** 2 / (e / 10) ** 2 >= 2 for e in range(1, 100))


def test_numbers_by_three_ways():
    assert [round(value, 3) for value in compare_numbers(1).values()] == [1.171, 1.306, 2]
    assert [round(value, 3) for value in compare_numbers(2).values()] == [0.431, 0.307, 0.5]
    near = [compare_numbers(e)["one bit"] < compare_numbers(e)["piecewise"] for e in ("1.28", "1.29", "1.30")]
    assert near[0]
    assert not near[2]


@pytest.mark.parametrize("options", [2, 3, 4, 10, 50, 200])
@pytest.mark.parametrize("epsilon", ["1/10", "1/2", 1, "ln 3", 2, 4])
def test_nobody_needs_fewer_people_than_the_best_set(epsilon, options):
    lines = compare_choices(epsilon, options)
    size = best_size(epsilon, options)
    if math.comb(options, size) >= 2**63:  # blocks of so few bits: nobody is ahead of them by 4 %
        assert line(epsilon, options, "blocks of").people < 1.04
    else:
        assert lines[0].design.startswith("k-ary" if size == 1 else "sets of")
    assert lines[0].people == 1
    assert [one.n_mse for one in lines] == sorted(one.n_mse for one in lines)


def test_the_plot_shows_the_table():
    axes = plot_choices(10, epsilons=(1, 2)).axes
    drawn = {each.get_label(): list(each.get_ydata()) for each in axes.lines}
    assert drawn["k-ary response"] == [line(1, 10, "k-ary").people, line(2, 10, "k-ary").people]
    assert drawn["the best sets or blocks"] == [1]  # at ε = 2 the best size is 1


def test_what_is_out_of_range_is_refused():
    for epsilon, options in ((0, 10), (1, 1), (1, 10**6 + 1)):
        with pytest.raises(ParameterError):
            compare_choices(epsilon, options)
    with pytest.raises(ParameterError):
        plot_choices(10, epsilons=())
