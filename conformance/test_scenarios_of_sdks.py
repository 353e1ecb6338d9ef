"""The scenarios as a pytest suite: `pytest --pyargs rocketmq_testkit.conformance --sdk python,go-grpc`.

With pytest-xdist, `--dist loadgroup` makes all scenarios of one SDK share a deployment and driver processes.
"""

from collections.abc import Iterator

import pytest

from .deployment.target import Target
from .discovery import all_scenarios
from .outcomes.recorded_outcomes import RecordedOutcomes
from .pytest_verdict import conclude
from .runner.one_by_one import OneByOne
from .runner.plan import Selection, SelectionError, sdks_of
from .scenario import Scenario


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize every scenario with every SDK and target; tests of one SDK stay together."""
    config = metafunc.config
    try:
        sdks = Selection(sdks=sdks_of(config.getoption("sdk", None))).of_sdks()
    except SelectionError as error:
        raise pytest.UsageError(str(error)) from error
    grouped = any(line.startswith("xdist_group") for line in config.getini("markers"))
    tests = [
        pytest.param(
            name,
            sdk,
            scenario,
            id=f"{name}-scenarios.{scenario.id_with(sdk)}",
            marks=[pytest.mark.xdist_group(f"{name}-{sdk}")] if grouped else [],
        )
        for name in config.getoption("target", None) or ["emulator"]
        for sdk in sdks
        # Clocks of clients do not jump with the emulator's, so scenarios with jumps come last.
        for scenario in sorted(all_scenarios(), key=lambda each: each.mark.time_passes)
    ]
    metafunc.parametrize(("target", "sdk", "scenario"), tests, indirect=["target", "sdk"], scope="session")


@pytest.fixture(scope="session")
def sdk(request: pytest.FixtureRequest, target: Target, records: RecordedOutcomes) -> Iterator[OneByOne]:
    """Scenario runner of one SDK for a target."""
    with OneByOne(request.param, target, records) as started:
        yield started


def test_scenario(target: Target, sdk: OneByOne, scenario: Scenario) -> None:
    """The notes of a scenario with an SDK equal the recorded ones, or differ as explained."""
    outcome = sdk.run(scenario)
    target.check()
    conclude(outcome)
