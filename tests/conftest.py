"""Settings for all tests.  A property test asserts what is true for every input: its false-alarm rate is 0."""

import gc
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from tests.support.accounts import living_in
from tests.support.marks import MARKS, left_out, marks_of
from tests.support.quick import LEFT_OUT, Quick

settings.register_profile("project", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("project"), max_examples=25)
settings.load_profile("project")

# The tests of each share something that is slow to start: an engine, a browser, a server, a wheel.
TOGETHER = (
    "tests/batch/test_batch_databases.py",
    "tests/batch/test_batch_spark.py",
    "tests/cli/test_cli_files.py",
    "tests/cli/test_cli_owner.py",
    "tests/cli/test_cli_results_by_kind.py",
    *(f"tests/collect/test_collect_{name}.py" for name in (
        "board", "browser_client", "built", "element", "languages", "owner_page", "page_kinds", "pages", "states",
        "webkit",
    )),
    "tests/demo/",
    "tests/documents/test_readme.py",
    "tests/documents/test_site.py",
    "tests/examples/",
    "tests/survey_page/test_one_answer_walked.py",
    "tests/test_layout.py",
    "tests/test_packaging.py",
)  # fmt: skip

OLD = (
    "const [a, b] = process.versions.node.split(`.`).map(Number); process.exit(a < 20 || (a === 20 && b < 16) ? 1 : 0)"
)


class ByTestButTogether(LoadScopeScheduling):
    """Every test for itself, to whichever worker is free; each file or folder of TOGETHER on one worker.

    (`--dist loadgroup` is meant for this, but pytest 9 takes no notice of the names that xdist 3.8 gives to groups.)
    """

    def _split_scope(self, nodeid: str) -> str:
        return next((place for place in TOGETHER if nodeid.startswith(place)), nodeid)


@pytest.fixture(autouse=True, scope="session")
def home_of_the_tests(tmp_path_factory):
    """The ledger of `rrcollect randomise` lies in the account's home folder; that of the tests is not the account's."""
    with pytest.MonkeyPatch.context() as patch:
        living_in(patch, tmp_path_factory.mktemp("home"))
        yield


def pytest_xdist_make_scheduler(config, log):
    return ByTestButTogether(config, log)


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="no process, browser, engine or long search")


def pytest_configure(config):
    gc.disable()  # until all tests are read: see pytest_collection_finish
    # A job that a script starts in the background inherits an ignored Ctrl-C, and hands it on to what tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "slow: takes a quarter of a second and more: too slow for a loop of a minute")
    if config.getoption("quick"):
        settings.load_profile("quick")
        config.option.markexpr = LEFT_OUT
        config.pluginmanager.register(Quick(MARKS))
        return
    os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")  # short jobs: less work
    beside = Path(sys.prefix, "node", "node_modules", ".bin")  # a Node is there if the machine has an old one
    os.environ["PATH"] = os.pathsep.join([str(beside), os.environ["PATH"]])
    found = shutil.which("node")
    if found and subprocess.run([found, "-e", OLD], check=False).returncode:
        raise pytest.UsageError(
            f"{found} is older than Node 20, which the client needs; `make test` installs a newer one"
        )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    names = [item.nodeid for item in items]
    gone = left_out(names, os.environ.get("REACH_PART"))
    config.hook.pytest_deselected(items=[item for item, left in zip(items, gone, strict=True) if left])
    items[:] = [item for item, left in zip(items, gone, strict=True) if not left]
    for item in items:
        for mark in marks_of(item.nodeid):
            item.add_marker(mark)
        if item.get_closest_marker("long"):  # the same lines again and again: measuring them takes most of the time
            item.add_marker(pytest.mark.no_cover)


def pytest_collection_finish():
    """What was read stays until the end: it is not looked through again and again for garbage."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure():
    gc.unfreeze()
