"""Fixture `harness`: a broker with upstream's defaults, in virtual time."""

import pytest
from engine_harness import EngineHarness, make_harness


@pytest.fixture
def harness() -> EngineHarness:
    return make_harness()
