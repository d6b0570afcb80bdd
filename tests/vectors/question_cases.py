"""Questions: their fields, kinds, designs and promises."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from tests.vectors.parts import (
    ALL_THAT_APPLY,
    CERTAIN_SET,
    IN_BINS,
    KINDS,
    LONG,
    ONE_OF_THREE,
    PROOF,
    SET_DESIGN,
    TWO_OF_FIVE,
    with_question,
    with_survey,
)


def bad_questions() -> Iterator[tuple[str, str, bytes]]:
    yield "question_id_hostile", "MalformedDocument", with_question(id="<script>")
    yield "attribute_hostile", "MalformedDocument", with_question(attribute="a'; DROP TABLE draws;--")
    yield "question_plain", "MalformedDocument", with_survey(questions=["Ever doped?"])
    for name, value in {"zero": 0, "negative": -5, "many": 1001}.items():
        yield f"rounds_{name}", "MalformedDocument", with_question(rounds=value)
    disclosures: dict[str, Any] = {
        "empty": {}, "negative": {"exposed": -1, "respondents": 10}, "nobody": {"exposed": 0, "respondents": 0},
        "impossible": {"exposed": 900, "respondents": 1000}, "extra": {"exposed": 1, "respondents": 10, "why": "x"},
        "true": {"exposed": True, "respondents": 10}, "text": {"exposed": "1", "respondents": 10},
        "huge": {"exposed": 1, "respondents": 10**9 + 1},
    }  # fmt: skip
    for name, value in disclosures.items():
        yield f"disclosure_{name}", "MalformedDocument", with_question(disclosure=value)
    for name, exposed in {"of_nobody": 0, "of_more_than_can_be": 9}.items():
        said = {"exposed": exposed, "respondents": 1000}
        yield f"disclosure_{name}", "MalformedDocument", with_survey(questions=[{**PROOF, "disclosure": said}])


def bad_kinds() -> Iterator[tuple[str, str, bytes]]:
    choice, number = KINDS["choice"], KINDS["number"]
    kinds: dict[str, Any] = {
        "plain": "yes_no", "unknown": {"kind": "essay"}, "of_a_number": {"kind": 1}, "of_null": {"kind": None},
        "of_nothing": {"options": []}, "extra": {"kind": "yes_no", "options": []}, "proto": {"kind": "__proto__"},
        "constructor": {"kind": "constructor"}, "of_a_list": {"kind": ["yes_no"]},
        "choice_without_options": {"kind": "choice"}, "choice_extra": {**choice, "other": True},
        "choice_of_one": {**choice, "options": [{"en": "x"}]}, "choice_of_none": {**choice, "options": []},
        "choice_of_many": {**choice, "options": [{"en": f"x{i}"} for i in range(201)]},
        "choice_plain": {**choice, "options": ["Never", "Often"]}, "choice_null": {**choice, "options": None},
        "choice_unlabelled": {**choice, "options": [{}, {"en": "x"}]},
        "choice_line": {**choice, "options": [{"en": "a\nb"}, {"en": "x"}]},
        "choice_of_equals": {**choice, "options": [{"en": "x"}, {"en": "y"}, {"en": "x"}]},
        "choice_of_equals_abroad": {**choice, "options": [{"en": "x", "de": "z"}, {"en": "y", "de": "z"}, {"en": "w"}]},
        "choice_not_in_the_language": {**choice, "options": [{"de": "Nie"}, {"en": "x"}]},
        "number_without_clip": {k: v for k, v in number.items() if k != "clip"},
        "number_without_unit": {k: v for k, v in number.items() if k != "unit"},
        "number_extra": {**number, "step": "1"}, "number_as_number": {**number, "low": 0},
        "number_equal": {**number, "low": "24"}, "number_reversed": {**number, "low": "25"},
        "number_decimal": {**number, "high": "24.5"}, "number_not_lowest": {**number, "high": "48/2"},
        "number_spaced": {**number, "high": " 24"}, "number_plus": {**number, "high": "+24"},
        "number_word": {**number, "high": "many"}, "number_exponent": {**number, "high": "1e3"},
        "number_null": {**number, "low": None}, "number_true": {**number, "low": True},
        "number_long": {**number, "high": str(2**512)}, "number_clip_text": {**number, "clip": "yes"},
        "number_bins_text": {**number, "bins": "16"}, "number_two_bins": {**number, "bins": 2},
        "number_of_24_bins": {**number, "bins": 24}, "number_of_many_bins": {**number, "bins": 2048},
        "number_without_bins": {k: v for k, v in number.items() if k != "bins"},
        "several_without_options": {"kind": "several"}, "several_of_one": {"kind": "several", "options": [{"en": "x"}]},
        "several_of_equals": {"kind": "several", "options": [{"en": "x"}, {"en": "x"}]},
        "number_minus_zero": {**number, "low": "-0"},
        "number_unit_plain": {**number, "unit": "hours"}, "number_unit_hidden": {**number, "unit": {"en": "h\u200b"}},
        "number_unit_not_in_the_language": {**number, "unit": {"de": "Stunden"}},
    }  # fmt: skip
    for name, value in kinds.items():
        yield f"kind_{name}", "MalformedDocument", with_question(kind=value)
    yield "kind_number_float", "FloatInDocument", with_question(kind={**number, "low": 0.5})


def bad_fits() -> Iterator[tuple[str, str, bytes]]:
    """Kinds and designs that do not go together, designs for options that no device applies, panels of one round."""
    choice, number = KINDS["choice"], KINDS["number"]
    yield "fit_choice_by_p00_and_p11", "MalformedDocument", with_question(kind=choice)
    yield "fit_yes_no_by_sets", "MalformedDocument", with_question(design=SET_DESIGN)
    yield "fit_number_by_sets", "MalformedDocument", with_question(kind=number, design=SET_DESIGN)
    yield "fit_choice_of_four", "MalformedDocument", with_question(kind=choice, design={**SET_DESIGN, "options": 4})
    yield "fit_several_by_sets", "MalformedDocument", with_survey(questions=[{**ALL_THAT_APPLY, "design": SET_DESIGN}])
    four = {"several": 4, "p": "3/4"}
    yield "fit_several_of_four", "MalformedDocument", with_survey(questions=[{**ALL_THAT_APPLY, "design": four}])
    yield "fit_choice_by_several", "MalformedDocument", with_survey(questions=[{**ONE_OF_THREE, "design": four}])
    yield "fit_bins_by_p00_and_p11", "MalformedDocument", with_question(kind=IN_BINS["kind"])
    yield "fit_mean_by_bins", "MalformedDocument", with_question(kind=number, design=IN_BINS["design"])
    drawn: dict[str, tuple[str, dict[str, Any]]] = {
        "one": ("MalformedDocument", {"several": 1}), "many": ("MalformedDocument", {"several": 201}),
        "text": ("MalformedDocument", {"several": "3"}), "without_p": ("MalformedDocument", {"p": None}),
        "extra": ("MalformedDocument", {"q": "1/4"}), "p_not_lowest": ("NotCanonical", {"p": "6/8"}),
        "p_half": ("NotOriented", {"p": "1/2"}), "off_grid": ("OffGridDesign", {"p": "2/3"}),
        "strong": ("ClaimTooSmall", {"p": "7/8"}),
    }  # fmt: skip
    for name, (error, design) in drawn.items():
        yield (
            f"several_{name}",
            error,
            with_survey(questions=[{**ALL_THAT_APPLY, "design": {**ALL_THAT_APPLY["design"], **design}}]),
        )
    binned = {"two": 2, "twelve": 12, "many": 2048, "text": "16", "null": None}
    for name, bins in binned.items():
        yield (
            f"bins_{name}",
            "MalformedDocument",
            with_survey(questions=[{**IN_BINS, "design": {"bins": bins, "p": "3/4"}}]),
        )
    yield "panel_of_one_round", "MalformedDocument", with_question(panel=True)
    designs: dict[str, tuple[str, dict[str, Any]]] = {
        "size_zero": ("MalformedDocument", {"size": 0}), "size_of_all": ("MalformedDocument", {"size": 3}),
        "size_negative": ("MalformedDocument", {"size": -1}), "size_true": ("MalformedDocument", {"size": True}),
        "size_text": ("MalformedDocument", {"size": "1"}), "size_float": ("FloatInDocument", {"size": 1.0}),
        "options_one": ("MalformedDocument", {"options": 1}), "options_many": ("MalformedDocument", {"options": 201}),
        "options_text": ("MalformedDocument", {"options": "3"}),
        "options_of_objects": ("MalformedDocument", {"options": [{}]}),
        "options_an_object": ("MalformedDocument", {"options": {}}), "extra": ("MalformedDocument", {"q": "1/4"}),
        "p_number": ("MalformedDocument", {"p": 1}), "p_null": ("MalformedDocument", {"p": None}),
        "p_decimal": ("NotCanonical", {"p": "0.5"}), "p_not_lowest": ("NotCanonical", {"p": "2/4"}),
        "p_above_one": ("MalformedDocument", {"p": "3/2"}), "p_negative": ("MalformedDocument", {"p": "-1/2"}),
        "p_too_many_bits": ("MalformedDocument", {"p": str(1 / (LONG + Fraction(1, 2**512)))}),
        "told_apart_never": ("NotOriented", {"p": "1/3"}), "told_backwards": ("NotOriented", {"p": "1/4"}),
        "off_grid": ("OffGridDesign", {"p": "3/5"}),
        "off_grid_of_the_others": ("OffGridDesign", {"p": str(1 - Fraction(2**63 + 1, 2**65))}),
    }  # fmt: skip
    for name, (error, change) in designs.items():
        made = {**SET_DESIGN, **change}
        yield f"set_{name}", error, with_survey(questions=[{**ONE_OF_THREE, "design": made}])
    off = {"options": 5, "p": "2/3", "size": 2}
    yield "set_off_grid_of_two", "OffGridDesign", with_survey(questions=[{**TWO_OF_FIVE, "design": off}])
    promises = {"by_a_hair": ("4499999999999999999/1000000000000000000", "0"), "of_its_column": ("9/4", "0"),
                "with_delta": ("4", "1/17")}  # fmt: skip
    for name, (ratio, delta) in promises.items():
        promise = {"epsilon": f"ln({ratio})", "delta": delta}
        yield f"set_claim_{name}", "ClaimTooSmall", with_survey(questions=[{**TWO_OF_FIVE, "promise": promise}])
    nobody = {**CERTAIN_SET, "disclosure": {"exposed": 0, "respondents": 10}}
    yield "set_disclosure_of_nobody", "MalformedDocument", with_survey(questions=[nobody])


def bad_numbers() -> Iterator[tuple[str, str, bytes]]:
    """Designs and promises."""
    matrices: dict[str, tuple[str, Any]] = {
        "float": ("FloatInDocument", {"p00": 0.75, "p11": "3/4"}),
        "of_numbers": ("MalformedDocument", {"p00": 1, "p11": "3/4"}),
        "missing": ("MalformedDocument", {"p00": "3/4"}),
        "extra": ("MalformedDocument", {"p00": "3/4", "p11": "3/4", "p01": "1/4"}),
        "array": ("MalformedDocument", ["3/4", "3/4"]),
        "decimal": ("NotCanonical", {"p00": "0.75", "p11": "3/4"}),
        "not_lowest_terms": ("NotCanonical", {"p00": "6/8", "p11": "3/4"}),
        "spaced": ("NotCanonical", {"p00": "3/4 ", "p11": "3/4"}),
        "spaced_inside": ("NotCanonical", {"p00": "3 / 4", "p11": "3/4"}),
        "plus": ("NotCanonical", {"p00": "+3/4", "p11": "3/4"}),
        "one_as_quotient": ("NotCanonical", {"p00": "1/1", "p11": "3/4"}),
        "exponent": ("NotCanonical", {"p00": "75e-2", "p11": "3/4"}),
        "no_break_space": ("MalformedDocument", {"p00": "\u00a03/4", "p11": "3/4"}),
        "byte_order_mark": ("MalformedDocument", {"p00": "\ufeff3/4", "p11": "3/4"}),
        "separator_control": ("MalformedDocument", {"p00": "\x1c3/4", "p11": "3/4"}),
        "vertical_tab": ("NotCanonical", {"p00": "\x0b3/4", "p11": "3/4"}),
        "other_digits": ("MalformedDocument", {"p00": "٣/٤", "p11": "3/4"}),
        "underscore": ("MalformedDocument", {"p00": "0.7_5", "p11": "3/4"}),
        "division_by_zero": ("MalformedDocument", {"p00": "1/0", "p11": "3/4"}),
        "negative": ("MalformedDocument", {"p00": "-1/4", "p11": "3/4"}),
        "above_one": ("MalformedDocument", {"p00": "5/4", "p11": "3/4"}),
        "nan": ("MalformedDocument", {"p00": "nan", "p11": "3/4"}),
        "empty": ("MalformedDocument", {"p00": "", "p11": "3/4"}),
        "enormous": ("MalformedDocument", {"p00": "1" * 9000 + "/" + "2" * 9000, "p11": "3/4"}),
        "exponent_bomb": ("MalformedDocument", {"p00": "1e-999999999", "p11": "3/4"}),
        "exponent_of_thousands": ("MalformedDocument", {"p00": "1e-4000", "p11": "3/4"}),
        "too_many_bits": ("MalformedDocument", {"p00": str(Fraction(2**512, 2**512 + 1)), "p11": "3/4"}),
        "as_many_bits_as_may_be": ("OffGridDesign", {"p00": str(1 / LONG), "p11": "3/4"}),
        "too_long": ("MalformedDocument", {"p00": "0" * 698 + "3/4", "p11": "3/4"}),
        "as_long_as_may_be": ("NotCanonical", {"p00": "0" * 697 + "3/4", "p11": "3/4"}),
        "off_grid": ("OffGridDesign", {"p00": "2/3", "p11": "3/4"}),
        "off_grid_by_a_bit": ("OffGridDesign", {"p00": str(Fraction(2**65 // 4 * 3 + 1, 2**65)), "p11": "3/4"}),
        "sum_one": ("NotOriented", {"p00": "1/4", "p11": "3/4"}),
        "sum_one_not_lowest": ("NotOriented", {"p00": "2/8", "p11": "3/4"}),
        "sum_below_one": ("NotOriented", {"p00": "1/4", "p11": "1/4"}),
        "zero": ("NotOriented", {"p00": "0", "p11": "0"}),
    }  # fmt: skip
    for name, (error, value) in matrices.items():
        yield f"design_{name}", error, with_question(design=value)
    epsilons = {
        "too_small": ("ClaimTooSmall", "1"),
        "too_small_by_a_hair": ("ClaimTooSmall", "1098612288668109691/1000000000000000000"),
        "zero": ("ClaimTooSmall", "0"),
        "negative": ("MalformedDocument", "-1"),
        "below_zero_by_a_hair": ("MalformedDocument", "-1098612288668109692/1000000000000000000 + ln(3)"),
        "nan": ("MalformedDocument", "nan"),
        "infinite": ("MalformedDocument", "inf"),
        "empty": ("MalformedDocument", ""),
        "of_zero": ("MalformedDocument", "ln(0)"),
        "of_a_negative": ("MalformedDocument", "ln(-3)"),
        "nested": ("MalformedDocument", "ln(ln(3))"),
        "decimal": ("NotCanonical", "1.5"),
        "bare_logarithm": ("NotCanonical", "ln 3"),
        "joined_logarithm": ("NotCanonical", "ln3"),
        "other_order": ("NotCanonical", "ln(3) + 1"),
        "zero_and_logarithm": ("NotCanonical", "0 + ln(3)"),
        "logarithm_of_one": ("NotCanonical", "2 + ln(1)"),
        "many_terms": ("NotCanonical", "1 + 1 + ln(3) + ln(2)"),
        "no_break_space": ("MalformedDocument", "ln\u00a03"),
        "separator_control": ("MalformedDocument", "ln\x1f3"),
        "too_many_bits": ("MalformedDocument", str(Fraction(2**512 + 1, 3))),
        "too_many_bits_in_a_logarithm": ("MalformedDocument", f"ln({2**512})"),
        "too_many_bits_below": ("MalformedDocument", str(Fraction(2**512 + 1, 2**512))),
        "too_many_bits_in_sum": ("MalformedDocument", " + ".join(["ln(1e100)"] * 6)),
        "growing_without_end": ("MalformedDocument", " + ".join(["ln(1e4000)"] * 50)),
        "hardly_above_zero": ("MalformedDocument", "1e-4000"),
        "thousands_of_bits": ("MalformedDocument", str(Fraction(10**4000 + 1, 3**8000))),
        "too_long": ("MalformedDocument", "0" * 700 + "2"),
        "as_long_as_may_be": ("NotCanonical", "0" * 699 + "2"),
    }
    for name, (error, epsilon) in epsilons.items():
        yield f"promise_{name}", error, with_question(promise={"epsilon": epsilon, "delta": "0"})
    promises: dict[str, tuple[str, Any]] = {
        "float": ("FloatInDocument", {"epsilon": 1.1, "delta": "0"}),
        "of_numbers": ("MalformedDocument", {"epsilon": 2, "delta": "0"}),
        "delta_too_small": ("ClaimTooSmall", {"epsilon": "1", "delta": "1/1000"}),
        "delta_above_one": ("MalformedDocument", {"epsilon": "2", "delta": "2"}),
        "delta_negative": ("MalformedDocument", {"epsilon": "2", "delta": "-1/2"}),
        "delta_decimal": ("NotCanonical", {"epsilon": "2", "delta": "0.5"}),
        "delta_too_many_bits": ("MalformedDocument", {"epsilon": "2", "delta": str(Fraction(1, 2**512))}),
        "missing_delta": ("MalformedDocument", {"epsilon": "2"}),
        "extra": ("MalformedDocument", {"epsilon": "2", "delta": "0", "rounds": "1"}),
    }
    for name, (error, value) in promises.items():
        yield f"promise_{name}", error, with_question(promise=value)
