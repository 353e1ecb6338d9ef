"""The cases as a pytest suite: `pytest --pyargs rocketmq_testkit.conformance --target apache:5.3.3`."""

import secrets

import pytest

from .case import Case
from .deployment.target import Target
from .discovery import all_cases
from .outcomes.recorded_outcomes import RecordedOutcomes
from .pytest_verdict import conclude
from .runner.case_run import run_case


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize every case with every target; tests of one target stay together, so that it is started once."""
    names = metafunc.config.getoption("target", None) or ["emulator"]
    pairs = [pytest.param(name, case, id=f"{name}-{case.id}") for name in names for case in all_cases()]
    metafunc.parametrize(("target", "case"), pairs, indirect=["target"], scope="session")


def test_case(target: Target, case: Case, records: RecordedOutcomes) -> None:
    """The notes of a case equal the recorded ones, except in the cases of `known_differences`."""
    outcome = run_case(case, target, records, secrets.token_hex(4))
    target.check()
    conclude(outcome)
