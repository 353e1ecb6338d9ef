"""A fault together with its criteria: `faults.drop_request(operation="AckMessage")`."""

from typing import Any

import pytest
from fault_harness import FaultHarness, make_fault_harness
from rocketmq_testkit import faults
from rocketmq_testkit.conformance.clients.remoting_sends import send_request
from rocketmq_testkit.emulator.faults.criteria import CRITERIA
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.fault import KINDS, Fault
from rocketmq_testkit.emulator.faults.given_fault import rule_of
from rocketmq_testkit.emulator.faults.kind_declaration import KEYWORDS
from rocketmq_testkit.emulator.faults.occurrence import Occurrence
from rocketmq_testkit.emulator.faults.rule import RuleSpec
from rocketmq_testkit.emulator.faults.rule_keywords import RuleKeywords
from stored import stored_bodies


@pytest.fixture
def harness() -> FaultHarness:
    """Return a harness with one broker and the topic A."""
    harness = make_fault_harness()
    harness.topic("A")
    return harness


def test_a_fault_without_criteria_is_a_fault_and_no_rule() -> None:
    fault = faults.drop_request()
    assert isinstance(fault, Fault)
    assert rule_of(fault, {"topic": "A"}).fault is fault


def test_a_fault_with_criteria_is_a_rule() -> None:
    """The rule has the criteria, occurrence and options of the call; the fault has its parameters."""
    rule: Any = faults.drop_request("close", operation="AckMessage", topic="A", nth=2, name="lost", optional=True)
    assert isinstance(rule, RuleSpec)
    assert rule.fault == faults.drop_request("close")
    assert dict(rule.criteria.given()) == {"operation": "AckMessage", "topic": "A"}
    assert (rule.occurrence, rule.name, rule.optional) == (Occurrence(nth=2), "lost", True)


def test_a_keyword_that_names_a_parameter_and_a_criterion_is_the_parameter() -> None:
    """The `broker` of `stop_broker` is the broker that stops, not a criterion."""
    fault = faults.stop_broker(broker="broker-a")
    assert isinstance(fault, Fault)
    assert fault.parameters() == {"broker": "broker-a"}


def test_a_rule_that_is_added_with_further_keywords_has_these_and_its_own() -> None:
    rule = rule_of(faults.drop_request(topic="A", every=2, strict=False), {"group": "g", "times": 3, "name": "n"})
    assert dict(rule.criteria.given()) == {"topic": "A", "group": "g"}
    assert rule.occurrence == Occurrence(every=2, times=3)
    assert (rule.name, rule.strict, rule.optional) == ("n", False, False)


@pytest.mark.parametrize("name", ["topic", "times", "name", "optional"])
def test_a_keyword_that_is_given_twice_is_rejected(name: str) -> None:
    """The error names the keyword."""
    value: Any = {"topic": "A", "times": 2, "name": "n", "optional": True}[name]
    with pytest.raises(FaultError, match=f"^{name}: given to the fault and to add"):
        rule_of(faults.drop_request(**{name: value}), {name: value})


def test_a_fault_with_criteria_acts_on_the_selected_request(harness: FaultHarness) -> None:
    """The second send to topic A is lost."""
    harness.plan.add([rule_of(faults.drop_request(operation="SendMessage", nth=2), {})])
    peer = harness.peer()
    for body in (b"1", b"2", b"3"):
        peer.exchange(*send_request("A", body, born_ms=harness.now_ms))
    assert stored_bodies(harness, "A") == [b"1", b"3"]


def test_type_checkers_know_each_keyword() -> None:
    """The keywords that a kind inherits for type checkers are those that its call accepts."""
    declared = RuleKeywords.__annotations__
    assert set(declared) == set(KEYWORDS)
    assert list(declared)[:5] == ["group", "topic", "broker", "client", "address"]


def test_parameters_with_the_names_of_criteria_keep_their_positions_for_type_checkers() -> None:
    """Type checkers put inherited names first, in the order of `RuleKeywords`; the calls have the same order.

    `slave_lag` declares its order itself.
    """
    order = list(RuleKeywords.__annotations__)
    for name, kind in KINDS.items():
        parameters = list(kind.KIND.parameters)
        shared = sorted((each for each in parameters if each in CRITERIA), key=order.index)
        assert parameters[: len(shared)] == shared or name == "slave_lag", name
