"""Settings for all tests.  A property test asserts what is true for every input: its false-alarm rate is 0."""

import os
import shutil
import subprocess

from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

settings.register_profile("project", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("project")

TOGETHER = ("tests/batch/test_batch_spark.py", "tests/examples/")  # their tests share something that is slow to start


def pytest_configure():
    """Node 18, which Debian 12 has, keeps the `crypto` that browsers have behind an option."""
    node = shutil.which("node")
    if node and subprocess.run([node, "--version"], capture_output=True, check=False).stdout.startswith(b"v18."):
        os.environ.setdefault("NODE_OPTIONS", "--experimental-global-webcrypto")


class ByTestButTogether(LoadScopeScheduling):
    """Every test for itself, to whichever worker is free; each file or folder of TOGETHER on one worker.

    (`--dist loadgroup` is meant for this, but pytest 9 takes no notice of the names that xdist 3.8 gives to groups.)
    """

    def _split_scope(self, nodeid: str) -> str:
        return next((place for place in TOGETHER if nodeid.startswith(place)), nodeid)


def pytest_xdist_make_scheduler(config, log):
    return ByTestButTogether(config, log)
