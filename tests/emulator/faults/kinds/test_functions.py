"""The fault `call`, which calls a function of the test."""

from functools import partial

import pytest
from fault_harness import FaultHarness, make_fault_harness
from remoting_harness import send
from rocketmq_testkit import faults
from rocketmq_testkit.conformance.clients.remoting_sends import send_request
from rocketmq_testkit.emulator.engine import DirectChannel
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.fault import create
from rocketmq_testkit.emulator.faults.rule_form import written_rule
from rocketmq_testkit.emulator.gate.effects import NotifyConsumerIdsChanged
from stored import stored_bodies


@pytest.fixture
def harness() -> FaultHarness:
    """Return a harness with one broker and the topic A."""
    harness = make_fault_harness()
    harness.topic("A")
    return harness


@pytest.mark.parametrize(("phase", "stored"), [("request", []), ("response", [b"1"])])
def test_a_function_is_called_before_or_after_the_request_is_executed(
    harness: FaultHarness, phase: str, stored: list[bytes]
) -> None:
    """The function is called in the phase of the rule, and the client gets its response in both phases."""
    seen: list[list[bytes]] = []
    harness.add(faults.call(lambda: seen.append(stored_bodies(harness, "A"))), operation="SendMessage", phase=phase)
    assert send(harness.peer(), "A", b"1").code == 0
    assert seen == [stored]
    assert stored_bodies(harness, "A") == [b"1"]


def test_a_function_is_called_before_a_push_is_sent(harness: FaultHarness) -> None:
    called: list[int] = []
    harness.add(faults.call(lambda: called.append(1)), operation="NotifyConsumerIdsChanged", phase="push")
    channel = DirectChannel()
    harness.engine.gate.push(harness.broker, channel, NotifyConsumerIdsChanged("g"))
    assert called == [1]
    assert channel.effects == [NotifyConsumerIdsChanged("g")]


def test_the_exception_of_a_function_is_stored_and_the_request_is_served(harness: FaultHarness) -> None:
    def fail() -> None:
        raise ValueError("no consumer")

    rule = harness.add(faults.call(fail), operation="SendMessage")
    assert send(harness.peer(), "A", b"1").code == 0
    assert [repr(error) for error in rule.errors] == ["ValueError('no consumer')"]


def test_a_request_is_lost_if_the_function_restarts_its_broker(harness: FaultHarness) -> None:
    """The broker stops before it executes the request."""
    harness.add(faults.call(lambda: harness.engine.restart(harness.broker)), operation="SendMessage")
    assert harness.peer().exchange(*send_request("A", b"1", born_ms=harness.now_ms)) == []
    assert stored_bodies(harness, "A") == []


def test_the_rule_of_a_function_is_written_with_its_name(harness: FaultHarness) -> None:
    """A file cannot contain the function itself."""
    rule = harness.add(faults.call(partial(harness.advance, 1), timeout="1s"), topic="A")
    then = {"call": {"function": "EngineHarness.advance", "timeout": "1s"}}
    assert written_rule(rule.spec) == {"when": {"topic": "A"}, "then": then}


def test_a_rule_in_a_file_cannot_have_the_fault_call() -> None:
    with pytest.raises(FaultError, match=r"^fault='call': a function can only be given in Python; use faults"):
        create("call", {"function": "crash"})
