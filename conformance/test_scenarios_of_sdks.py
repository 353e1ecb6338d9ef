"""The scenarios as a pytest suite: `pytest --pyargs rocketmq_testkit.conformance --sdk python,go-grpc`.

Under xdist, `--dist loadgroup` lets all scenarios of one SDK share a place and processes.
"""

from collections.abc import Iterator

import pytest

from .pytest_verdict import conclude
from .runner.one_by_one import OneByOne
from .runner.plan import Selection, SelectionError, sdks_of
from .scenario import Scenario, all_scenarios
from .targets.target import Target
from .truth import Truth


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every scenario with every SDK on every target; those of one SDK stay together."""
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
        # Clients go by clocks of their own: those in which time jumps come last.
        for scenario in sorted(all_scenarios(), key=lambda each: each.mark.passes)
    ]
    metafunc.parametrize(("target", "sdk", "scenario"), tests, indirect=["target", "sdk"], scope="session")


@pytest.fixture(scope="session")
def sdk(request: pytest.FixtureRequest, target: Target, truth: Truth) -> Iterator[OneByOne]:
    """An SDK in front of a target."""
    with OneByOne(request.param, target, truth) as started:
        yield started


def test_scenario(target: Target, sdk: OneByOne, scenario: Scenario) -> None:
    """What an application of the SDK sees is what is recorded, or differs as explained."""
    outcome = sdk.run(scenario)
    target.check()
    conclude(outcome)
