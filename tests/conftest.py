"""Settings for all tests.  A property test asserts what is true for every input: its false-alarm rate is 0."""

from hypothesis import HealthCheck, settings

settings.register_profile("project", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("project")
