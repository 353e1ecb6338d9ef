"""Small Java applications with planted bugs: the exploration finds each one, and passes their repaired versions.

Each is a process with the published gRPC SDK. A crash kills it, and starts another one.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from explored_applications import Explored, explore, only_test
from java_application import CLASSES, compile_application

APPLICATIONS = Path(__file__).with_name("java_applications")
SECONDS_MAX = 60.0
"""The longest time of the exploration of one application, on two cores."""
PLANS: Mapping[str, str] = {
    "acknowledge_first": "crash() is called before the first acknowledgement of order-1",
    "charge_twice": "the first acknowledgement of order-1 gets the response INTERNAL_SERVER_ERROR",
    "dedupe_window": "the first acknowledgement of order-1 gets the response INTERNAL_SERVER_ERROR, "
    "then the second acknowledgement of order-1 gets the response INTERNAL_SERVER_ERROR",
}
"""The smallest failing plan of each application."""


@pytest.fixture(scope="module")
def explored(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Explored]:
    """The explorations of all applications, in processes of their own."""
    classes = tmp_path_factory.mktemp("classes")
    compile_application(classes)
    return explore(APPLICATIONS, tmp_path_factory.mktemp("exploration"), {CLASSES: str(classes)})


@pytest.mark.parametrize("application", PLANS)
def test_a_bug_of_a_java_application_is_found_with_its_smallest_plan(
    explored: Sequence[Explored], application: str
) -> None:
    [found] = [each for each in explored if each.application == application and each.plan]

    print(f"{application}: {found.seconds:.1f} s")  # for `pytest -s`
    assert "Broken" in found.name
    assert found.plan == PLANS[application]
    assert found.seconds < SECONDS_MAX


@pytest.mark.parametrize("application", PLANS)
def test_the_repaired_java_application_passes_each_plan(explored: Sequence[Explored], application: str) -> None:
    assert only_test(explored, application, "Repaired").plan == ""


def test_a_java_bug_that_needs_two_faults_is_not_found_with_one(explored: Sequence[Explored]) -> None:
    assert only_test(explored, "dedupe_window", "one_fault").plan == ""
