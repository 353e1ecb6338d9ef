"""Small applications with planted bugs: the exploration finds each one, and passes their repaired versions."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from explored_applications import Explored, explore, only_failed, require_passed

APPLICATIONS = Path(__file__).with_name("applications")
SECONDS_MAX = 60.0
"""The longest time of the exploration of one application, on two cores."""
PLANS: Mapping[str, str] = {
    "acknowledge_first": "crash() is called before the first acknowledgement of order-1",
    "double_refund": "the first acknowledgement of order-1 is lost, "
    "then crash() is called after the first acknowledgement of order-2",
    "early_offset": "crash() is called before the first send of order-1 to audit",
    "charge_twice": "the first acknowledgement of order-1 is lost",
    "check_commits_unknown": "the first end of the transaction of order-2 is lost",
    "dead_letters": "the first send of order-1 to invoices gets the response TOO_MANY_REQUESTS, "
    "then the second send of order-1 to invoices gets the response TOO_MANY_REQUESTS",
    "dedupe_window": "the first acknowledgement of order-1 is lost, then the second acknowledgement of order-1 is lost",
    "lost_update": "the first acknowledgement of order-1-paid is lost",
    "order_assumption": "the first delivery of order-1 comes later, then the second delivery of order-1 comes later",
    "retry_resends": "the first send of invoice-of-order-1 to invoices gets the response TOO_MANY_REQUESTS",
}
"""The smallest failing plan of each application."""
DEEP = frozenset({"dead_letters", "double_refund", "dedupe_window", "order_assumption"})
"""Applications that survive each single fault. Their `test_one_fault_is_survived` explores only plans of one fault."""


@pytest.fixture(scope="module")
def explored(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Explored]:
    """The explorations of all applications, in processes of their own."""
    return explore(APPLICATIONS, tmp_path_factory.mktemp("exploration"))


@pytest.mark.parametrize("application", PLANS)
def test_a_planted_bug_is_found_with_its_smallest_plan(explored: Sequence[Explored], application: str) -> None:
    found = only_failed(explored, application)

    print(f"{application}: {found.seconds:.1f} s")  # for `pytest -s`
    assert "Broken" in found.name
    assert found.plan == PLANS[application]
    assert found.seconds < SECONDS_MAX


@pytest.mark.parametrize("application", PLANS)
def test_the_repaired_application_passes_each_plan(explored: Sequence[Explored], application: str) -> None:
    require_passed(explored, application, "Repaired")


@pytest.mark.parametrize("application", sorted(DEEP))
def test_a_bug_that_needs_two_faults_is_not_found_with_one(explored: Sequence[Explored], application: str) -> None:
    require_passed(explored, application, "one_fault")


def test_each_application_has_its_plan() -> None:
    assert sorted(PLANS) == sorted(each.stem for each in APPLICATIONS.glob("*.py"))
