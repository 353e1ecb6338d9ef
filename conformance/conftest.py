"""Fixtures that the suite's cases and scenarios share under pytest."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .deployment.target import Target
from .outcomes.recorded_outcomes import RecordedOutcomes
from .targets.target_option import parse_target


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore scenarios if no SDK is selected: otherwise pytest would show one empty skipped test."""
    without = not config.getoption("sdk", None) and collection_path.name == "test_scenarios_of_sdks.py"
    return True if without else None


@pytest.fixture(scope="session")
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    """A started target."""
    with parse_target(request.param) as started:
        yield started


@pytest.fixture(scope="session")
def records() -> RecordedOutcomes:
    """The recorded outcomes of real brokers."""
    return RecordedOutcomes()
