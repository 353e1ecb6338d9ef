"""One emulator without a journal, and SDKs connected to it, for tests that provoke each reason of an explanation.

The scene of a test is its topic, its group and the clients that it creates.
"""

from collections.abc import Iterator

import pytest
from explained_sdks import CONFIG, Scene, Sdks, scene_of
from rocketmq_testkit.fixtures import Emulator


@pytest.fixture(scope="session")
def shared_sdks() -> Iterator[Sdks]:
    """One emulator for all tests of the folder that change neither its brokers nor their configuration."""
    with Emulator(config=CONFIG) as emulator:
        sdks = Sdks(emulator)
        yield sdks
        sdks.close()


@pytest.fixture
def scene(shared_sdks: Sdks, request: pytest.FixtureRequest) -> Iterator[Scene]:
    yield from scene_of(shared_sdks, request)
