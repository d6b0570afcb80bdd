"""Settings for all tests.  A property test asserts what is true for every input: its false-alarm rate is 0."""

from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

settings.register_profile("project", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("project")

TOGETHER = ("tests/batch/test_batch_spark.py", "tests/examples/")  # their tests share something that is slow to start


class ByTestButTogether(LoadScopeScheduling):
    """Every test for itself, to whichever worker is free; each file or folder of TOGETHER on one worker.

    (`--dist loadgroup` is meant for this, but pytest 9 takes no notice of the names that xdist 3.8 gives to groups.)
    """

    def _split_scope(self, nodeid: str) -> str:
        return next((place for place in TOGETHER if nodeid.startswith(place)), nodeid)


def pytest_xdist_make_scheduler(config, log):
    return ByTestButTogether(config, log)
