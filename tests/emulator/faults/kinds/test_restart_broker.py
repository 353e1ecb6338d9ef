"""The fault `restart_broker`: a broker restarts when its rule fires, in virtual time."""

import pytest
from fault_world import FaultWorld, make_fault_world
from remoting_world import send
from rocketmq_testkit import faults
from rocketmq_testkit.conformance.clients.remoting_sends import send_request
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.history.events import BrokerEventKind
from stored import stored_bodies


@pytest.fixture
def world() -> FaultWorld:
    """Return a world with two brokers; the topic A is on the first one."""
    world = make_fault_world(("broker-a", "broker-b"))
    world.topic("A")
    return world


def restarts(world: FaultWorld) -> list[tuple[str, BrokerEventKind]]:
    """Return the restarts and crashes so far as (name of the broker, kind)."""
    kinds = (BrokerEventKind.RESTARTED, BrokerEventKind.CRASHED)
    found = [(name, each) for name in ("broker-a", "broker-b") for each in world.engine.history.broker_events(name)]
    return [(name, each.kind) for name, each in found if each.kind in kinds]


@pytest.mark.parametrize("kill", [False, True])
def test_the_request_that_fires_a_restart_is_lost_and_the_next_one_is_stored(world: FaultWorld, kill: bool) -> None:
    """The broker of the request restarts, gracefully or after a crash, and keeps what it has stored."""
    peer = world.peer()
    rule = world.add(faults.restart_broker(kill=kill), operation="SendMessage", nth=2)
    assert send(peer, "A", b"1").code == 0
    assert peer.exchange(*send_request("A", b"2", born_ms=world.now_ms)) == []
    assert send(world.peer(), "A", b"3").code == 0
    assert stored_bodies(world, "A") == [b"1", b"3"]
    kind = BrokerEventKind.CRASHED if kill else BrokerEventKind.RESTARTED
    assert (rule.fired, restarts(world), world.running()) == (1, [("broker-a", kind)], [True, True])


def test_a_restart_in_the_phase_response_loses_the_response_of_the_executed_request(world: FaultWorld) -> None:
    """The message is stored, and the client gets no response."""
    world.add(faults.restart_broker(), operation="SendMessage", phase="response", times=1)
    assert world.peer().exchange(*send_request("A", b"1", born_ms=world.now_ms)) == []
    assert stored_bodies(world, "A") == [b"1"]
    assert [name for name, _ in restarts(world)] == ["broker-a"]


def test_a_rule_restarts_a_broker_at_each_match(world: FaultWorld) -> None:
    """A restart takes no time, so the next match fires the rule again."""
    rule = world.add(faults.restart_broker(), operation="SendMessage", every=2)
    for body in (b"1", b"2", b"3", b"4"):
        world.peer().exchange(*send_request("A", body, born_ms=world.now_ms))
    assert (rule.fired, len(restarts(world))) == (2, 2)
    assert stored_bodies(world, "A") == [b"1", b"3"]


def test_a_rule_without_criteria_restarts_all_brokers(world: FaultWorld) -> None:
    """They restart when the rule is added or, if the rule has a `start`, at that time."""
    world.add(faults.restart_broker())
    assert [name for name, _ in restarts(world)] == ["broker-a", "broker-b"]
    world.add(faults.restart_broker("broker-b"), start="5s")
    world.advance(4_999)
    assert len(restarts(world)) == 2
    world.advance(1)
    assert [name for name, _ in restarts(world)] == ["broker-a", "broker-b", "broker-b"]


def test_a_named_broker_restarts_at_a_request_to_another(world: FaultWorld) -> None:
    """The parameter `broker` names the broker that restarts."""
    world.add(faults.restart_broker("broker-b"), operation="SendMessage", times=1)
    world.peer().exchange(*send_request("A", b"1", born_ms=world.now_ms))
    assert [name for name, _ in restarts(world)] == ["broker-b"]


def test_a_stopped_broker_stays_stopped(world: FaultWorld) -> None:
    """A restart starts no broker that does not run."""
    world.engine.stop(world.broker)
    world.add(faults.restart_broker("broker-a"))
    assert world.running() == [False, True]
    assert restarts(world) == []


def test_a_restart_of_an_unknown_broker_raises_fault_error(world: FaultWorld) -> None:
    with pytest.raises(FaultError, match=r"^broker='broker-z': there is no such broker"):
        world.add(faults.restart_broker("broker-z"))
