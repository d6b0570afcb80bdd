"""Marks of whole files and folders, by how the names of their tests begin; single tests have theirs beside them."""

import pytest

process, browser, engine, long = pytest.mark.process, pytest.mark.browser, pytest.mark.engine, pytest.mark.long
needs = pytest.mark.needs

MARKS = {
    "tests/assurance/test_checks.py": [process, long],
    "tests/analysis/test_analyse.py": [engine],
    "tests/analysis/test_samples.py": [engine],
    "tests/batch/test_batch_contract.py": [engine],
    "tests/batch/test_batch_databases.py": [engine],
    "tests/batch/test_batch_faults.py": [engine],
    "tests/batch/test_batch_flow.py": [engine],
    "tests/batch/test_batch_rules.py": [engine],
    "tests/batch/test_batch_spark.py": [engine, process],
    "tests/benchmarks/test_competitors.py": [process],
    "tests/cli/test_cli_completion.py": [process],
    "tests/count/test_pilot.py": [engine],
    "tests/collect/test_collect_crashes.py": [process],
    "tests/collect/test_collect_browser_client.py": [browser],
    "tests/collect/test_collect_forensics.py": [process],
    "tests/collect/test_collect_javascript.py": [browser],
    "tests/collect/test_collect_event_loop.py": [long],
    "tests/collect/test_collect_openapi.py": [long],
    "tests/collect/test_collect_pages.py": [browser],
    "tests/collect/test_collect_traces.py": [browser],
    "tests/demo/": [process],
    "tests/design/test_brute_force.py": [long],
    "tests/design/test_promise.py": [long],
    "tests/documents/test_blocks.py": [process],
    "tests/documents/test_browser_page.py": [browser],
    "tests/examples/": [process],
    "tests/examples/test_examples_browser.py": [browser],
    "tests/models/test_recovery.py": [long],
    "tests/sampling/test_coverage.py": [long],
    "tests/answer/test_ledger_schema.py": [process],
    "tests/batch/test_new_file.py": [process],
    "tests/test_machine.py": [process],
    "tests/test_packaging.py": [process],
    "rrcollect/design/figures.py": [needs("matplotlib")],
    "server_agg/batch/": [engine],
    "server_agg/models/formulas.py": [needs("formulaic")],
    "server_agg/report/drawing.py": [needs("matplotlib")],
    "server_agg/report/figures.py": [needs("matplotlib")],
    "tests/report/test_results.py": [needs("matplotlib", "pandas", "polars")],
}
