"""Settings for all tests."""

from hypothesis import HealthCheck, settings

# No time limit on an example: on a busy laptop it would fail tests that are right.
settings.register_profile("course", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("course")
