"""Bugs that need another order of two events: the exploration finds each one, although no listed fault causes it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from explored_applications import Explored, explore, only_failed, require_passed

APPLICATIONS = Path(__file__).with_name("order_applications")
SECONDS_MAX = 60.0
"""The longest time of the exploration of one application, on two cores."""
PLANS: Mapping[str, str] = {
    "concurrent_update": "the first delivery of order-1-paid comes after the first delivery of order-1-sent",
    "crash_after_check": "the broker crashes between the first transaction check of order-1 "
    "and the first end of the transaction of order-1",
    "early_check": "the first end of the transaction of order-1 comes after the first transaction check of order-1",
    "producer_crash": "crash() is called between the first transaction check of order-1 "
    "and the first end of the transaction of order-1, which is lost",
}
"""The only plan of one injection with which each application fails."""


@pytest.fixture(scope="module")
def explored(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Explored]:
    """The explorations of all applications, in processes of their own."""
    return explore(APPLICATIONS, tmp_path_factory.mktemp("exploration"))


@pytest.mark.parametrize("application", PLANS)
def test_a_bug_that_needs_another_order_is_found_by_this_order(explored: Sequence[Explored], application: str) -> None:
    found = only_failed(explored, application)

    print(f"{application}: {found.seconds:.1f} s")  # for `pytest -s`
    assert "Broken" in found.name
    assert found.plan == PLANS[application]
    assert found.seconds < SECONDS_MAX


@pytest.mark.parametrize("application", PLANS)
def test_the_repaired_application_passes_each_order(explored: Sequence[Explored], application: str) -> None:
    require_passed(explored, application, "Repaired")


@pytest.mark.parametrize("application", ["crash_after_check", "producer_crash"])
def test_a_bug_of_check_crash_and_commit_is_not_found_by_two_faults_alone(
    explored: Sequence[Explored], application: str
) -> None:
    require_passed(explored, application, "faults")
