"""Fixture `world`: a broker with upstream's defaults, in virtual time."""

import pytest
from engine_world import World, make_world


@pytest.fixture
def world() -> World:
    return make_world()
