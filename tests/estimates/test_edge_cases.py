"""Found by review: designs next to c = 0, odd booleans, tiny weights, small tables, opposite bit orders."""

import math
from fractions import Fraction

import numpy as np
import pytest

from rrcollect import Design, ParameterError, optimal_design, randomise_many
from server_agg import Tallies, Tally, compare, sampling
from server_agg.errors import TooFewAnswers
from tests.support.comparing import both

DESIGN = Design("3/4", "3/4")


def test_packed_answers_are_counted_in_the_order_they_are_made_in():
    """Eleven truths in two bytes: the default bit orders of making and counting agree."""
    truths = np.packbits(np.array([0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1], bool), bitorder="little")
    assert Tally.of(randomise_many(truths, Design(1, 1), packed=11), DESIGN, n=11).ones == 4


@pytest.mark.parametrize("epsilon", ["1e-6", "1e-12", "1e-15", "1e-17"])
def test_values_stay_exact_next_to_a_design_that_tells_nothing(epsilon):
    design = optimal_design(epsilon)
    for answer, exact in ((1, design.p00 / design.c), (0, (design.p00 - 1) / design.c)):
        assert design.unbiased([answer])[0] == float(exact)
    noise = design.noise([0, 1])
    assert np.isfinite(noise).all()
    assert noise[1] == float(design.p00 * (1 - design.p11) / design.c**2)


def test_noise_is_never_negative():
    for i in range(1, 1000):
        found = sampling.estimate([1, 1, 1], Design(Fraction(i, 1000), 1), weights=[1, 1, 1], target="sample")
        assert found.standard_error >= 0


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e99])
def test_the_scale_of_weights_does_not_matter(scale):
    found = sampling.estimate([1, 0, 1], DESIGN, weights=[scale, 2 * scale, scale])
    same = sampling.estimate([1, 0, 1], DESIGN, weights=[1, 2, 1])
    assert found.value == pytest.approx(same.value, rel=1e-12)
    assert found.standard_error == pytest.approx(same.standard_error, rel=1e-12)
    assert found.kish_design_effect == pytest.approx(same.kish_design_effect, rel=1e-12)


def test_true_is_true_whatever_byte_it_is():
    assert Tally.of(np.array([2, 0, 255, 1], np.uint8).view(bool), DESIGN).ones == 3
    with pytest.raises(ParameterError, match="masked"):
        Tally.of(np.ma.array([1, 0], mask=[True, False]), DESIGN)


@pytest.mark.parametrize("sizes", [(5,), (5, 6), (29,)])
def test_too_few_answers_in_all_segments_are_not_shown_merged_either(sizes):
    cells = {f"s{i}": Tally(DESIGN, n, 2) for i, n in enumerate(sizes)}
    with pytest.raises(TooFewAnswers, match="30 or more are needed, the minimum"):
        compare(cells, minimum=30)


def test_a_census_without_noise_that_differs_is_a_difference():
    a, b = (Tally(Design(1, 1), 10, ones) for ones in (9, 1))
    assert both(a, b, target="sample").test.p_value == 0.0
    assert both(a, a, target="sample").test.p_value == 1.0
    assert math.isfinite(both(a, b, target="sample").difference.value)
    assert both(a, b, population={"a": 10, "b": 10}).test.method == "none"  # everybody was asked


@pytest.mark.parametrize("text", ['{"n": ' + "1" * 5000 + "}", b"\xff", "[", "NaN"])
def test_texts_that_are_not_a_tally_are_refused(text):
    with pytest.raises(ParameterError):
        Tally.from_json(text)


def report(question="q1", answer="1", report_id="1", round=0, region="north"):
    from rrcollect import Report

    return Report(
        survey="0" * 64, question=question, design=DESIGN, answer=answer, id=report_id * 32, round=round,
        segments={"region": region},
    )  # fmt: skip


def test_answers_to_two_questions_are_never_counted_together():
    tallies = Tallies.of([report(), report("q2", report_id="2")])
    for call in (tallies.one, tallies.each_design, lambda: tallies.by("region")):
        with pytest.raises(ParameterError, match=r"2 questions \(q1, q2\)"):
            call()
    assert tallies.where(question="q1").one().n == 1
    assert len(tallies.by("question", "region")) == 2
    rounds = Tallies.of([report(), report(round=1, report_id="2")])
    with pytest.raises(ParameterError, match="2 rounds"):
        rounds.one()
    assert len(rounds.by("round")) == 2


def test_a_name_nobody_declared_is_refused():
    tallies = Tallies.of([report()])
    for call in (lambda: tallies.by("regoin"), lambda: tallies.where(frage="x")):
        with pytest.raises(ParameterError, match="region"):
            call()


def test_a_report_counts_once_and_one_id_has_one_content():
    assert Tallies.of([report(), report(), report(report_id="2")]).n == 2
    with pytest.raises(ParameterError, match="one content for one id"):
        Tallies.of([report(), report(answer="0")])
    for wrong in (b"{}", "text", {}):
        with pytest.raises(ParameterError, match="Report.from_bytes"):
            Tallies.of([wrong])
