"""The fault `restart_broker`: a broker restarts when its rule fires, in virtual time."""

import pytest
from fault_harness import FaultHarness, make_fault_harness
from remoting_harness import send
from rocketmq_testkit import faults
from rocketmq_testkit.conformance.clients.remoting_sends import send_request
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.history.events import BrokerEventKind
from stored import stored_bodies


@pytest.fixture
def harness() -> FaultHarness:
    """Return a harness with two brokers; the topic A is on the first one."""
    harness = make_fault_harness(("broker-a", "broker-b"))
    harness.topic("A")
    return harness


def restarts(harness: FaultHarness) -> list[tuple[str, BrokerEventKind]]:
    """Return the restarts and crashes so far as (name of the broker, kind)."""
    kinds = (BrokerEventKind.RESTARTED, BrokerEventKind.CRASHED)
    found = [(name, each) for name in ("broker-a", "broker-b") for each in harness.engine.history.broker_events(name)]
    return [(name, each.kind) for name, each in found if each.kind in kinds]


@pytest.mark.parametrize("kill", [False, True])
def test_the_request_that_fires_a_restart_is_lost_and_the_next_one_is_stored(harness: FaultHarness, kill: bool) -> None:
    """The broker of the request restarts, gracefully or after a crash, and keeps what it has stored."""
    peer = harness.peer()
    rule = harness.add(faults.restart_broker(kill=kill), operation="SendMessage", nth=2)
    assert send(peer, "A", b"1").code == 0
    assert peer.exchange(*send_request("A", b"2", born_ms=harness.now_ms)) == []
    assert send(harness.peer(), "A", b"3").code == 0
    assert stored_bodies(harness, "A") == [b"1", b"3"]
    kind = BrokerEventKind.CRASHED if kill else BrokerEventKind.RESTARTED
    assert (rule.fired, restarts(harness), harness.running()) == (1, [("broker-a", kind)], [True, True])


def test_a_restart_in_the_phase_response_loses_the_response_of_the_executed_request(harness: FaultHarness) -> None:
    """The message is stored, and the client gets no response."""
    harness.add(faults.restart_broker(), operation="SendMessage", phase="response", times=1)
    assert harness.peer().exchange(*send_request("A", b"1", born_ms=harness.now_ms)) == []
    assert stored_bodies(harness, "A") == [b"1"]
    assert [name for name, _ in restarts(harness)] == ["broker-a"]


def test_a_rule_restarts_a_broker_at_each_match(harness: FaultHarness) -> None:
    """A restart takes no time, so the next match fires the rule again."""
    rule = harness.add(faults.restart_broker(), operation="SendMessage", every=2)
    for body in (b"1", b"2", b"3", b"4"):
        harness.peer().exchange(*send_request("A", body, born_ms=harness.now_ms))
    assert (rule.fired, len(restarts(harness))) == (2, 2)
    assert stored_bodies(harness, "A") == [b"1", b"3"]


def test_a_rule_without_criteria_restarts_all_brokers(harness: FaultHarness) -> None:
    """They restart when the rule is added or, if the rule has a `start`, at that time."""
    harness.add(faults.restart_broker())
    assert [name for name, _ in restarts(harness)] == ["broker-a", "broker-b"]
    harness.add(faults.restart_broker("broker-b"), start="5s")
    harness.advance(4_999)
    assert len(restarts(harness)) == 2
    harness.advance(1)
    assert [name for name, _ in restarts(harness)] == ["broker-a", "broker-b", "broker-b"]


def test_a_named_broker_restarts_at_a_request_to_another(harness: FaultHarness) -> None:
    """The parameter `broker` names the broker that restarts."""
    harness.add(faults.restart_broker("broker-b"), operation="SendMessage", times=1)
    harness.peer().exchange(*send_request("A", b"1", born_ms=harness.now_ms))
    assert [name for name, _ in restarts(harness)] == ["broker-b"]


def test_a_stopped_broker_stays_stopped(harness: FaultHarness) -> None:
    """A restart starts no broker that does not run."""
    harness.engine.stop(harness.broker)
    harness.add(faults.restart_broker("broker-a"))
    assert harness.running() == [False, True]
    assert restarts(harness) == []


def test_a_restart_of_an_unknown_broker_raises_fault_error(harness: FaultHarness) -> None:
    with pytest.raises(FaultError, match=r"^broker='broker-z': there is no such broker"):
        harness.add(faults.restart_broker("broker-z"))
