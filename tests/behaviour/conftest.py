"""`e`, the entrance that a rule goes through."""

import pytest
from entrance import Entrance
from entrances import entrance


@pytest.fixture
def e(request: pytest.FixtureRequest) -> Entrance:
    name, keys = request.param
    return entrance(name, **keys)
