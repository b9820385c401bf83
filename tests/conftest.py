"""Settings for all tests."""

import os

from hypothesis import HealthCheck, settings

# No time limit on an example: on a busy laptop it would fail tests that are right.
_common = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
# The same examples on every run, so that a pull request fails for its own faults only.
settings.register_profile("course", derandomize=True, max_examples=40, **_common)
# Other examples each time, and many: HYPOTHESIS_PROFILE=thorough python -m pytest tests
settings.register_profile("thorough", max_examples=3000, **_common)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "course"))
