"""The cases as a pytest suite: `pytest --pyargs rocketmq_testkit.conformance --target apache:5.3.3`."""

import secrets
from collections.abc import Iterator

import pytest
from rocketmq_testkit.conformance.case import Case, all_cases
from rocketmq_testkit.conformance.outcome import Outcome, Verdict
from rocketmq_testkit.conformance.runner.work import run_case
from rocketmq_testkit.conformance.targets.choose import target as choose
from rocketmq_testkit.conformance.targets.target import Target
from rocketmq_testkit.conformance.truth import Truth, differences


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every case on every target; tests of one target stay together, so that it is started once."""
    if "case" in metafunc.fixturenames:
        names = metafunc.config.getoption("target", None) or ["emulator"]
        pairs = [pytest.param(name, case, id=f"{name}-{case.id}") for name in names for case in all_cases()]
        metafunc.parametrize(("target", "case"), pairs, indirect=["target"], scope="session")


@pytest.fixture(scope="session")
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    """A started target."""
    with choose(request.param) as started:
        yield started


@pytest.fixture(scope="session")
def truth() -> Truth:
    """What is recorded."""
    return Truth()


def test_case(target: Target, case: Case, truth: Truth) -> None:
    """What the case sees is what is recorded, or differs as explained."""
    conclude(run_case(case, target, truth, secrets.token_hex(4)))
    target.check()


def conclude(outcome: Outcome) -> None:
    """Pass, skip or fail as the outcome says."""
    if outcome.verdict is Verdict.NOT_APPLICABLE:
        pytest.skip(outcome.reason)
    if not outcome.expected:
        lines = [f"{outcome.id} on {outcome.target}: {outcome.verdict.value}", outcome.reason]
        lines += differences([] if outcome.truth is None else outcome.truth.notes, outcome.notes)
        pytest.fail("\n".join(filter(None, lines)), pytrace=False)
