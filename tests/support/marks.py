"""Marks of files, folders and dear tests, by how their names begin; other tests have theirs beside them."""

import re
from collections.abc import Sequence

import pytest

process, browser, engine, long = pytest.mark.process, pytest.mark.browser, pytest.mark.engine, pytest.mark.long
slow = pytest.mark.slow
needs = pytest.mark.needs

MARKS = {
    "tests/answer/test_acceptance.py::test_no_single_bit_of_a_signed_survey_can_be_flipped": [long],
    "tests/answer/test_acceptance.py::test_the_flip_test_catches_a_verifier_that_ignores_spelling": [long],
    "tests/answer/test_bulk_ledger.py::test_a_book_kept_person_by_person_says_the_same": [long],
    "tests/answer/test_client.py::test_a_server_that_republishes_again_and_again_gets_one_draw": [long],
    "tests/assurance/test_checks.py": [process, long],
    "tests/batch/test_embedded.py": [engine],
    "tests/test_own_data.py": [engine],
    "tests/batch/test_batch_backends.py": [engine],
    "tests/batch/test_batch_contract.py": [engine],
    "tests/batch/test_batch_databases.py": [engine],
    "tests/batch/test_batch_faults.py": [engine],
    "tests/batch/test_batch_flow.py": [engine],
    "tests/batch/test_batch_folders.py": [engine],
    "tests/batch/test_batch_rules.py": [engine],
    "tests/batch/test_batch_spark.py": [engine, process],
    "tests/batch/test_batch_stores.py": [engine],
    "tests/benchmarks/test_competitors.py": [process],
    "tests/cli/test_cli_completion.py": [process],
    "tests/comparisons/test_small_counts.py::test_p_and_bar_do_not_contradict_each_other": [long],
    "tests/comparisons/test_trends.py::test_two_designs_per_round_hold_the_size": [long],
    "tests/count/test_pilot.py": [engine],
    "tests/collect/test_collect_crashes.py": [process],
    "tests/collect/test_many_collectors.py": [long],
    "tests/collect/test_collect_board.py": [browser],
    "tests/collect/test_collect_browser_client.py": [browser],
    "tests/collect/test_collect_built.py": [browser],
    "tests/collect/test_collect_forensics.py": [process],
    "tests/collect/test_collect_element.py": [browser],
    "tests/collect/test_collect_states.py": [browser],
    "tests/collect/test_collect_javascript.py": [browser],
    "tests/collect/test_collect_event_loop.py": [long],
    "tests/collect/test_collect_openapi.py": [long],
    "tests/collect/test_collect_owner_page.py": [browser],
    "tests/collect/test_collect_page_kinds.py": [browser],
    "tests/collect/test_collect_pages.py": [browser],
    "tests/collect/test_collect_traces.py": [browser],
    "tests/collect/test_collect_webkit.py": [browser],
    "tests/demo/": [process],
    "tests/design/test_brute_force.py": [long],
    "tests/design/test_promise.py": [long],
    "tests/deliver/test_chaining.py::test_the_same_with_real_clients": [long],
    "tests/documents/test_blocks.py": [process],
    "tests/documents/test_browser_page.py": [browser],
    "tests/documents/test_site.py": [process, needs("mkdocs", "mkdocstrings", "yaml")],
    "tests/documents/api_docstrings.py": [needs("griffe")],
    "tests/documents/site.py": [needs("mkdocs")],
    "tests/examples/": [process],
    "tests/examples/test_examples_browser.py": [browser],
    "tests/estimates/test_anytime.py::test_daily_looks_hold_and_the_ordinary_bar_looked_at_daily_does_not": [long],
    "tests/models/test_cheating.py::test_the_maximum_on_the_triangle_against_brute_force": [long],
    "tests/comparisons/test_many_groups.py::test_power_by_simulation_meets_the_formula": [long],
    "tests/models/test_predictor.py::test_a_skewed_outcome_is_not_an_effect": [long],
    "tests/models/test_recovery.py": [long],
    "tests/sampling/test_coverage.py": [long],
    "tests/answer/test_ledger_schema.py": [process],
    "tests/publish/test_voprf.py": [needs("rbcl", "voprf")],
    "tests/test_files.py": [process],
    "tests/test_machine.py": [process],
    "tests/test_packaging.py": [process, browser],
    "server_agg/plan/pictures.py": [needs("matplotlib")],
    "server_agg/batch/": [engine],
    "server_agg/models/effects.py": [needs("formulaic")],
    "server_agg/results/drawing.py": [needs("matplotlib")],
    "server_agg/plan/cost.py": [needs("matplotlib")],
    "tests/results/test_results.py::test_a_result_is_a_picture": [long],
    "tests/results/test_results.py": [needs("matplotlib", "pandas", "polars")],
}

SLOW = (
    "tests/answer/test_acceptance.py::test_bad_documents_are_refused_by_name",
    "tests/answer/test_acceptance.py::test_the_vectors_are_what_their_command_makes",
    "tests/answer/test_bulk.py::test_frequencies_with_the_real_keystream",
    "tests/answer/test_bulk_ledger.py::test_no_byte_of_the_file",
    "tests/answer/test_explained.py::test_every_sentence_is_said",
    "tests/answer/test_explained.py::test_the_vectors_are_what_this_client_says",
    "tests/answer/test_few_bits.py::test_two_collectors_join_nobody",
    "tests/answer/test_languages.py::test_that_nothing_is_proved",
    "tests/answer/test_ledger.py::test_no_single_bit_of_the_ledger",
    "tests/answer/test_ledger_unchanged.py::test_the_guard_is_bounded",
    "tests/assurance/test_ledger_moments.py",
    "tests/cli/test_cli.py::test_plan_in_all_its_ways",
    "tests/cli/test_cli_files.py::test_every_result_can_be_drawn",
    "tests/cli/test_cli_results_by_kind.py::test_groups_of_every_kind",
    "tests/cli/test_cli_results_by_kind.py::test_pictures_of_every_kind",
    "tests/cli/test_cli_results_by_kind.py::test_plans_of_every_kind",
    "tests/collect/test_collect_crowds.py",
    "tests/collect/test_collect_http.py",
    "tests/collect/test_collect_log.py",
    "tests/collect/test_collect_operations.py",
    "tests/collect/test_collect_release.py",
    "tests/collect/test_collect_segments.py",
    "tests/collect/test_collect_strangers.py",
    "tests/comparisons/test_groups.py::test_the_test_holds_its_size",
    "tests/comparisons/test_groups.py::test_trend_slope_holds_its_size",
    "tests/comparisons/test_many_groups.py::test_power_of_a_coefficient",
    "tests/comparisons/test_small_counts.py",
    "tests/comparisons/test_words.py::test_misfit_stands_beside_every_value",
    "tests/comparisons/test_words.py::test_only_guaranteed_bars",
    "tests/deliver/test_clocks.py::test_arrivals_are_uniform",
    "tests/deliver/test_clocks.py::test_the_distance",
    "tests/deliver/test_delivery.py::test_each_report_is_alone",
    "tests/deliver/test_http.py",
    "tests/deliver/test_misbehaving.py",
    "tests/design/test_optimal.py::test_erratum_4",
    "tests/design/test_others.py::test_nobody_needs_fewer_people",
    "tests/design/test_proofs.py",
    "tests/estimates/test_coverage.py",
    "tests/estimates/test_edge_cases.py::test_noise_is_never_negative",
    "tests/estimates/test_edge_rule.py::test_every_method_whose_ends_rise",
    "tests/estimates/test_invariance.py",
    "tests/estimates/test_output.py",
    "tests/estimates/test_sums_of_options.py::test_the_default_bar_holds",
    "tests/models/test_cheating.py::test_bars_end_where",
    "tests/models/test_cheating.py::test_it_shows_itself",
    "tests/models/test_cheating.py::test_the_test_of_the_model_holds_its_size",
    "tests/models/test_few_clusters.py::test_four_clusters_hold",
    "tests/models/test_graphs.py::test_a_large_graph",
    "tests/models/test_kuk_and_moors.py::test_kuk_covers",
    "tests/models/test_predictor.py",
    "tests/models/test_results.py::test_a_result_is_a_picture",
    "tests/models/test_results.py::test_a_result_is_told_in_every_form_with_all_its_notes[cheating]",
    "tests/models/test_survey_regression.py::test_planted_bug_naive_errors_in_clusters",
    "tests/plan/test_rehearsal.py::test_the_whole_answer",
    "tests/plan/test_sample_size.py::test_invalid_plans_are_refused",
    "tests/publish/test_canonical.py::test_the_bytes_are_rfc_8785s",
    "tests/results/test_results.py::test_a_picture_is_saved",
    "tests/results/test_results.py::test_a_result_is_a_table",
    "tests/results/test_results.py::test_every_output_holds_every_note",
    "tests/sampling/test_effective.py::test_the_default_bar_holds",
    "tests/sampling/test_effective.py::test_the_guaranteed_bar_of_strata",
    "tests/sampling/test_judges.py::test_shares_totals_and_differences",
    "tests/sampling/test_weights.py::test_strata_cover_exactly",
    "tests/survey_page/test_survey_results.py::test_a_headline_looked_at",
    "tests/test_house.py::test_the_house_keeps_its_size",
    "tests/test_layout.py::test_no_test_module_is_imported",
    "tests/test_layout.py::test_the_packages_and_examples_import_no_tests",
)
"""Half of the time of all that has no other mark, and a quarter of its tests: too slow for a loop of a minute."""
for place in SLOW:
    MARKS[place] = [*MARKS.get(place, []), slow]

PLACES = tuple(MARKS)


def marks_of(name: str) -> list[pytest.MarkDecorator]:
    """The marks that a test has by its name."""
    if not name.startswith(PLACES):  # most: one call
        return []
    return [mark for place in PLACES if name.startswith(place) for mark in MARKS[place]]


RARE = {
    "assurance": (
        r"tests/assurance/test_checks\.py::test_further_part",
        r"tests/collect/test_collect_openapi\.py::test_schemathesis",
    ),
    "batch": (
        r"tests/batch/test_batch_contract\.py::test_(generated_rows\[2|without_dedup.*\[open)(?!.*dask)",
        r"tests/batch/test_batch_databases\.py::test_postgresql\[bigint",
    ),
    "dask": (r"tests/batch/.*dask",),
    "element": (
        r"tests/collect/test_collect_board\.py::test_every_width_and_scheme_is_legible\[(390|1280)",
        r"tests/collect/test_collect_built\.py::test_the_bad_documents_are_refused_by_the_same_names",
        r"tests/collect/test_collect_element\.py::test_it_is_legible_at_every_width\[(?!en-light-320|ar-dark-1280)",
        r"tests/collect/test_collect_languages\.py::test_the_page_speaks_the_language.*\[(?!ar|de)",
        r"tests/collect/test_collect_states\.py::test_every_state_is_legible\[1280",
    ),
    "postgres": (
        r"tests/collect/test_collect_crowds\.py::.*\[postgres-(?!yes)",
        r"tests/collect/test_collect_crashes\.py::test_a_fold_interrupted_at_any_moment.*\[postgres",
        r"tests/collect/test_collect_forensics\.py::test_.*_in_postgresql",
        r"tests/collect/test_collect_segments\.py::.*\[postgres",
        r"tests/collect/test_collect_stores\.py::test_no_file_of_a_postgresql_database",
        r"tests/collect/test_collect_unfinished\.py::test_a_full_disk_of_postgresql",
    ),
    "profiles": (
        r"tests/collect/test_collect_frames\.py::test_inside_another_site.*\[firefox",
        r"tests/collect/test_collect_traces\.py::test_(no_file_of_the_profile|the_same_search_finds)",
    ),
    "searches": (
        r"tests/cli/test_cli_randomise\.py::test_two_questions_of_one_roster.*\[\.(csv|parquet)",
        r"tests/comparisons/test_groups\.py::test_coverage_of_differences.*\[optimal",
        r"tests/comparisons/test_small_counts\.py::test_(coverage_of_the_score_bar|p_and_bar.*\[(same|optimal|mixed))",
        r"tests/comparisons/test_small_counts\.py::test_zero_counts.*\[a[13]-b[13]-p00 = 1, p11 = 1\]",
        r"tests/deliver/test_clocks\.py::test_arrivals_are_uniform.*\[[0-9]",
        r"tests/design/test_promise\.py::test_every_promise_is_kept_and_tight\[[1-3]",
        r"tests/examples/test_notebooks\.py::test_it_runs.*\[(choose|regression)",
    ),
    "site": (r"tests/documents/test_site\.py::test_(a_broken|every_p|what_is_not|every_f|members|no_page|a_reader)",),
    "spark": (r"tests/batch/test_batch_spark\.py::test_(?!every_row_is_judged_as_the_rules_say)",),
    "spark_example": (r"tests/examples/.*::(test_it_runs.*spark|test_what_the_page_shows.*spark|test_spark_gives)",),
}
"""Tests that `make test` leaves out and the part of `make reach` of that name runs, and nothing else with them: one
engine per family, one start of Spark, no whole profiles of browsers, one case of a long search.
docs/reach.md says when they ran last."""


def left_out(names: Sequence[str], part: str | None) -> list[bool]:
    """Which of these tests are not run: by `make test`, or by this part of `make reach`.

    >>> left_out(["tests/documents/test_site.py::test_every_page", "tests/test_quick.py::test_b"], None)
    [True, False]
    >>> left_out(["tests/documents/test_site.py::test_every_page", "tests/test_quick.py::test_b"], "site")
    [False, True]
    """
    if part is None:
        rare = re.compile("|".join(one for places in RARE.values() for one in places))
        return [rare.match(name) is not None for name in names]
    return [part in RARE and re.match("|".join(RARE[part]), name) is None for name in names]
