"""Declarations of parameters: errors for parts of a rule that are given to a fault, and examples of parameters."""

import pytest
from rocketmq_testkit.emulator.faults import kinds  # noqa: F401 - fills the table of kinds
from rocketmq_testkit.emulator.faults.criteria import CRITERIA
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.fault import KINDS
from rocketmq_testkit.emulator.faults.kind_declaration import RULE_OPTIONS, check_names, example_of
from rocketmq_testkit.emulator.faults.rule_form import MEMBERS, THEN, WHEN

PLACES = {
    **dict.fromkeys(CRITERIA, "a criterion of the rule; give it to add(), or write it below 'when'"),
    **dict.fromkeys(RULE_OPTIONS, "an option of the rule; give it to add(), or write it beside 'then'"),
}


@pytest.mark.parametrize("name", PLACES)
def test_the_error_for_a_part_of_the_rule_that_is_given_to_a_fault_names_its_place(name: str) -> None:
    with pytest.raises(FaultError) as found:
        check_names(KINDS["drop_push"].KIND, [name])
    assert str(found.value) == f"{name}: no parameter of drop_push, but {PLACES[name]}"


def test_the_members_of_a_rule_are_its_criteria_its_fault_and_the_declared_options() -> None:
    assert set(MEMBERS) == {WHEN, THEN, *RULE_OPTIONS}


@pytest.mark.parametrize("name", KINDS)
def test_the_example_of_each_parameter_is_accepted(name: str) -> None:
    for parameter, declared in KINDS[name].KIND.parameters.items():
        declared.metadata["check"].plain(parameter, example_of(declared))
