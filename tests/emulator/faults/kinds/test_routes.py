"""Faults of routes: hidden routes, stale routes, and addresses of dead brokers, for remoting clients."""

import json
from typing import Any

import pytest
from fault_harness import FaultHarness, make_fault_harness
from recorded_cases import recorded
from remoting_harness import Peer
from rocketmq_testkit import faults
from rocketmq_testkit.conformance.clients.remoting_topics import route_request
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig


@pytest.fixture
def harness() -> FaultHarness:
    """Return a harness with two brokers, each with one queue of topic A."""
    harness = make_fault_harness(("broker-a", "broker-b"))
    create(harness, "A")
    return harness


def create(harness: FaultHarness, topic: str, queues: int = 1) -> None:
    """Create or change a topic on all brokers."""
    for broker in harness.engine.brokers:
        harness.engine.execute(broker, CreateTopic(TopicConfig(topic, queues, queues)))


def route(peer: Peer, topic: str = "A") -> dict[str, Any]:
    """Query a route that exists."""
    response = peer.ask(*route_request(topic))
    assert response.code == 0, response.remark
    found: dict[str, Any] = json.loads(response.body)
    return found


def addresses(found: dict[str, Any]) -> dict[str, str]:
    """Return the address of each master by broker name."""
    return {broker["brokerName"]: broker["brokerAddrs"]["0"] for broker in found["brokerDatas"]}


def test_a_hidden_route_is_rejected_as_recorded(harness: FaultHarness) -> None:
    """The response is that of the conformance case `an_unknown_topic_has_no_route`. Other topics keep their routes."""
    create(harness, "B")
    rule = harness.add(faults.hide_route(), topic="A")
    peer = harness.peer()
    hidden = peer.ask(*route_request("A"))
    real = recorded("routes", "an_unknown_topic_has_no_route", "unknown")
    assert hidden.code == real["code"]
    assert hidden.remark == real["remark"].replace("{topic 1}", "A")
    assert len(addresses(route(peer, "B"))) == 2
    harness.plan.remove(rule.name)
    assert len(addresses(route(peer))) == 2


def test_a_stale_route_names_a_broker_that_has_stopped(harness: FaultHarness) -> None:
    """A real name server removes a stopped broker at once (case `a_stopped_broker_is_removed_from_all_routes`)."""
    rule = harness.add(faults.stale_route(), topic="A")
    harness.add(faults.stop_broker("broker-b"))
    peer = harness.peer()
    assert list(addresses(route(peer))) == ["broker-a", "broker-b"]
    harness.plan.remove(rule.name)
    assert list(addresses(route(peer))) == ["broker-a"]


def test_a_stale_route_has_the_queues_of_the_time_of_its_rule(harness: FaultHarness) -> None:
    """Queues that were added after the rule are missing."""
    harness.add(faults.stale_route())
    create(harness, "A", queues=4)
    assert [queues["readQueueNums"] for queues in route(harness.peer())["queueDatas"]] == [1, 1]


def test_a_topic_created_after_a_rule_of_stale_routes_has_no_route(harness: FaultHarness) -> None:
    """The name server returns only routes that existed when the rule was added."""
    rule = harness.add(faults.stale_route())
    create(harness, "B")
    assert harness.peer().ask(*route_request("B")).code == 17
    harness.plan.remove(rule.name)
    assert len(addresses(route(harness.peer(), "B"))) == 2


def test_a_topic_deleted_after_the_rule_keeps_its_stale_route(harness: FaultHarness) -> None:
    """The route is that of the time at which the rule was added."""
    harness.add(faults.stale_route())
    for broker in harness.engine.brokers:
        broker.topics.delete("A")
        harness.engine.stop(broker)
    assert len(addresses(route(harness.peer()))) == 2


def test_a_route_has_the_dead_address_of_the_rule_for_the_named_broker(harness: FaultHarness) -> None:
    """Other brokers keep their addresses, and all brokers their queues."""
    peer = harness.peer()
    usual = route(peer)
    harness.add(faults.route_to_dead_broker("broker-b"), topic="A")
    changed = route(peer)
    assert addresses(changed) == {**addresses(usual), "broker-b": "127.0.0.1:9"}
    assert changed["queueDatas"] == usual["queueDatas"]


def test_a_rule_without_a_broker_sets_the_address_of_all_brokers_in_routes(harness: FaultHarness) -> None:
    """A topic that does not exist still has no route."""
    harness.add(faults.route_to_dead_broker(address="192.0.2.1:10911"))
    assert set(addresses(route(harness.peer())).values()) == {"192.0.2.1:10911"}
    assert harness.peer().ask(*route_request("missing")).code == 17


def test_a_dead_address_without_a_port_or_an_unknown_broker_is_rejected(harness: FaultHarness) -> None:
    """The errors name a value that works."""
    with pytest.raises(FaultError, match=r"address='192\.0\.2\.1': not HOST:PORT; use '127.0.0.1:9'"):
        faults.route_to_dead_broker(address="192.0.2.1")
    with pytest.raises(FaultError, match="did you mean broker-b"):
        harness.add(faults.route_to_dead_broker("broker-c"))
