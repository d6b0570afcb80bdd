"""ε in words and tables is that of the mechanism that was published, never that of one column of it."""

import math
from fractions import Fraction

import pytest

from rrcollect import Design
from server_agg import Tallies, Tally, TallyKey, estimate, survey_results
from server_agg.results.interval import privacy_words

COLUMN = Design("2/3", "2/3")  # one bit of a set of 2 out of 5 that holds the truth with probability 2/3


class SetOfTwo:
    """A mechanism whose likelihood ratio is 3, while each of its columns has a smaller one."""

    loss = Design("3/4", "3/4").loss
    worst_likelihood_ratio = Fraction(3)
    manipulation_factor = Fraction(3)


class RevealingMechanism:
    """A mechanism that is not a yes/no design, and whose answers can be proofs."""

    loss = Design(1, "1/2").loss
    worst_likelihood_ratio = math.inf
    proof_words = "an answer can be a proof"


PUBLISHED = SetOfTwo()


@pytest.mark.parametrize("change", [lambda t: t, lambda t: t + t, Tally.swapped, Tally.mirrored, Tally.oriented])
def test_the_sentence_and_the_table_tell_the_published_epsilon(change):
    found = estimate(change(Tally(COLUMN, 1000, 400, PUBLISHED)))
    for words in (found.sentence(), str(found), found._repr_html_()):
        assert "ε = 1.099" in words
    column = estimate(change(Tally(COLUMN, 1000, 400)))
    assert f"ε = {float(COLUMN.tight_epsilon):.4g}" in column.sentence()
    assert "1.099" not in column.sentence()  # the planted bug: ε read off the column
    assert found.value == column.value


def test_the_table_of_results_tells_the_published_epsilon():
    keys = [TallyKey("s", "q", COLUMN, (("region", r),)) for r in ("north", "south")]
    results = survey_results(Tallies({key: Tally(COLUMN, 500, 200, PUBLISHED) for key in keys}))
    assert results.columns()["privacy"] == ["ε = 1.099"]
    assert "ε = 1.099" in str(results)
    assert "ε" not in estimate([Tally(COLUMN, 500, 200, PUBLISHED), Tally(Design("3/4", "3/4"), 50, 20)]).sentence()


def test_a_proof_is_called_so_whatever_the_mechanism():
    assert privacy_words(Design(1, "1/2")) == 'ε = ∞ (a "yes" is a proof)'
    assert privacy_words(Design(1, 1)) == 'ε = ∞ (a "yes" and a "no" is a proof)'
    assert privacy_words(RevealingMechanism()) == "ε = ∞ (an answer can be a proof)"
