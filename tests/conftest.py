"""Settings for all tests.  A property test asserts what is true for every input: its false-alarm rate is 0."""

import os
import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from tests.support.quick import LEFT_OUT, Quick

settings.register_profile("project", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("project")

TOGETHER = ("tests/batch/test_batch_spark.py", "tests/examples/")  # their tests share something that is slow to start

process, browser, engine, long = pytest.mark.process, pytest.mark.browser, pytest.mark.engine, pytest.mark.long
needs = pytest.mark.needs
# Marks of whole files and folders; single tests have theirs beside them.
MARKS = {
    "tests/assurance/test_checks.py": [process, long],
    "tests/batch/test_batch_contract.py": [engine],
    "tests/batch/test_batch_databases.py": [engine],
    "tests/batch/test_batch_faults.py": [engine],
    "tests/batch/test_batch_flow.py": [engine],
    "tests/batch/test_batch_spark.py": [engine, process],
    "tests/benchmarks/test_competitors.py": [process],
    "tests/cli/test_cli_completion.py": [process],
    "tests/collect/test_collect_crashes.py": [process],
    "tests/collect/test_collect_javascript.py": [browser],
    "tests/collect/test_collect_openapi.py": [long],
    "tests/collect/test_collect_pages.py": [browser],
    "tests/demo/": [process],
    "tests/design/test_brute_force.py": [long],
    "tests/design/test_promise.py": [long],
    "tests/documents/test_blocks.py": [process],
    "tests/documents/test_browser_page.py": [browser],
    "tests/examples/": [process],
    "tests/examples/test_examples_browser.py": [browser],
    "tests/models/test_models_recovery.py": [long],
    "tests/answer/test_ledger_schema.py": [process],
    "tests/batch/test_new_file.py": [process],
    "tests/test_machine.py": [process],
    "tests/test_packaging.py": [process],
    "rrcollect/design/figures.py": [needs("matplotlib")],
    "server_agg/batch/": [engine],
    "server_agg/models/formulas.py": [needs("formulaic")],
    "server_agg/report/figures.py": [needs("matplotlib")],
}


class ByTestButTogether(LoadScopeScheduling):
    """Every test for itself, to whichever worker is free; each file or folder of TOGETHER on one worker.

    (`--dist loadgroup` is meant for this, but pytest 9 takes no notice of the names that xdist 3.8 gives to groups.)
    """

    def _split_scope(self, nodeid: str) -> str:
        return next((place for place in TOGETHER if nodeid.startswith(place)), nodeid)


def pytest_xdist_make_scheduler(config, log):
    return ByTestButTogether(config, log)


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="no process, browser, engine or long search")


def pytest_configure(config):
    if config.getoption("quick"):
        config.option.markexpr = LEFT_OUT
        config.pluginmanager.register(Quick(MARKS))
        return
    node = shutil.which("node")  # Node 18, which Debian 12 has, keeps the `crypto` of browsers behind an option
    if node and subprocess.run([node, "--version"], capture_output=True, check=False).stdout.startswith(b"v18."):
        os.environ.setdefault("NODE_OPTIONS", "--experimental-global-webcrypto")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        for place, marks in MARKS.items():
            if item.nodeid.startswith(place):
                for mark in marks:
                    item.add_marker(mark)
        if item.get_closest_marker("long"):  # the same lines again and again: measuring them takes most of the time
            item.add_marker(pytest.mark.no_cover)
