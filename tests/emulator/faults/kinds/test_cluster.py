"""Faults of nodes: brokers and name servers that stop or flap, and partitions from one client, in virtual time."""

import pytest
from connection_attempt import ConnectionAttempt
from fault_world import FaultWorld, make_fault_world
from remoting_world import Peer, send
from rocketmq_testkit import faults
from rocketmq_testkit.conformance.clients.remoting_members import heartbeat_request
from rocketmq_testkit.conformance.clients.remoting_sends import send_request
from rocketmq_testkit.conformance.clients.remoting_topics import route_request
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.gate.fired_rule import FiredRule
from rocketmq_testkit.emulator.gate.raw_request import RawRequest
from rocketmq_testkit.emulator.operations.cluster import GetRouteInfo, RouteResult
from rocketmq_testkit.emulator.operations.consume import FLAG_SUBSCRIPTION, FLAG_SUSPEND
from rocketmq_testkit.remoting.request.request_code import RequestCode
from stored import stored_bodies


@pytest.fixture
def world() -> FaultWorld:
    """Return a world with two brokers; the topic A is on the first one."""
    world = make_fault_world(("broker-a", "broker-b"))
    world.topic("A")
    return world


# stops


@pytest.mark.parametrize("kill", [False, True])
def test_a_stopped_broker_starts_after_its_duration(world: FaultWorld, kill: bool) -> None:
    """After the duration, in virtual time, the broker runs with its stored messages, and the rule has fired once."""
    world.send("A", b"kept")
    rule = world.add(faults.stop_broker("broker-a", duration="11s", kill=kill))
    assert (rule.fired, world.running()) == (1, [False, True])
    world.advance(10_999)
    assert world.running() == [False, True]
    world.advance(1)
    assert world.running() == [True, True]
    assert stored_bodies(world, "A") == [b"kept"]
    world.advance(60_000)
    assert (rule.fired, world.running()) == (1, [True, True])


def test_a_jump_over_the_end_of_a_stop_starts_the_broker_at_its_instant(world: FaultWorld) -> None:
    """A delayed message that is due 5 s after the start is delivered at that time, within one jump."""
    world.send("A", b"delayed", DELAY="2")
    world.add(faults.stop_broker("broker-a", duration="3s", kill=True))
    world.advance(3_600_000)
    assert stored_bodies(world, "A") == [b"delayed"]
    begins = [entry.now_ms for entry in world.engine.journal if entry.event == "faulted"]
    assert begins[1] - begins[0] == 3_000


def test_a_broker_stops_until_its_rule_is_removed(world: FaultWorld) -> None:
    """Without a duration the broker starts at the removal of the rule."""
    rule = world.add(faults.stop_broker("broker-b"))
    world.advance(3_600_000)
    assert world.running() == [True, False]
    world.plan.remove(rule.name)
    assert world.running() == [True, True]


def test_a_broker_starts_when_the_last_of_two_rules_ends(world: FaultWorld) -> None:
    """Two rules stop one broker at different times; the end of one does not start it while the other one lasts."""
    world.add(faults.stop_broker("broker-a", duration="10s"))
    world.advance(5_000)
    second = world.add(faults.stop_broker("broker-a", duration="10s"))
    world.advance(5_000)
    assert (second.fired, world.running()[0]) == (1, False)
    world.advance(5_000)
    assert world.running()[0]


def test_a_broker_that_the_test_starts_during_a_fault_keeps_running(world: FaultWorld) -> None:
    """The rules do not stop it again, and their end does not start it after the test has stopped it again."""
    rule = world.add(faults.stop_broker("broker-a", duration="10s"))
    world.engine.start(world.broker)
    world.advance(5_000)
    assert world.running()[0]
    world.engine.stop(world.broker)
    world.advance(5_000)
    world.plan.remove(rule.name)
    assert not world.running()[0]


def test_a_broker_that_the_test_stopped_stays_stopped_after_a_fault(world: FaultWorld) -> None:
    """A rule that begins while the broker is stopped does not start it at its end."""
    world.engine.stop(world.broker)
    rule = world.add(faults.stop_broker("broker-a", duration="10s"))
    world.advance(10_000)
    assert (rule.fired, world.running()[0]) == (1, False)


def test_a_stop_by_the_test_during_a_fault_has_no_effect(world: FaultWorld) -> None:
    """The broker is stopped already, and starts at the end of the rule."""
    world.add(faults.stop_broker("broker-a", duration="10s"))
    world.engine.stop(world.broker)
    world.engine.crash(world.broker)
    world.advance(10_000)
    assert world.running()[0]


def test_a_snapshot_taken_while_a_rule_stops_a_broker_has_no_rules(world: FaultWorld) -> None:
    """The snapshot has the state of the stopped broker. An engine that starts from it runs all brokers."""
    world.send("A", b"kept")
    world.add(faults.stop_broker("broker-a"))
    restored = make_fault_world(state=world.engine.state())
    assert restored.running() == [True, True]
    assert stored_bodies(restored, "A") == [b"kept"]
    assert len(restored.plan) == 0


def test_a_rule_that_ends_during_a_graceful_shutdown_starts_the_broker_after_it() -> None:
    """With enableShutdownGracefully a shutdown lasts shutdownWaitTimeSeconds, which is longer than the rule."""
    world = make_fault_world(enable_shutdown_gracefully=True, shutdown_wait_time_seconds=20)
    world.add(faults.stop_broker("broker-a", duration="5s"))
    world.advance(5_000)
    assert world.running() == [True]
    run = world.broker.lifetime
    world.advance(15_000)
    assert world.running() == [True]
    assert world.broker.lifetime is not run


def test_a_request_that_fires_a_stop_gets_no_response_and_is_not_stored(world: FaultWorld) -> None:
    """The broker stops before it executes the third send; the first two messages are stored."""
    peer = world.peer()
    rule = world.add(faults.stop_broker("broker-a", duration="5s", kill=True), operation="SendMessage", nth=3)
    assert [send(peer, "A", body).code for body in (b"1", b"2")] == [0, 0]
    assert world.running()[0]
    (refused,) = peer.exchange(*send_request("A", b"3", born_ms=world.now_ms))  # in memory there is no socket to break
    assert refused.code != 0
    assert (rule.fired, world.running()[0]) == (1, False)
    world.advance(5_000)
    assert send(world.peer(), "A", b"4").code == 0
    assert stored_bodies(world, "A") == [b"1", b"2", b"4"]


def test_a_stop_in_the_phase_response_happens_after_the_request_that_fires_it(world: FaultWorld) -> None:
    """The broker stores the message, then it stops."""
    peer = world.peer()
    world.add(faults.stop_broker("broker-a", duration="5s"), operation="SendMessage", phase="response", times=1)
    assert send(peer, "A", b"1").code == 0
    assert not world.running()[0]
    world.advance(5_000)
    assert stored_bodies(world, "A") == [b"1"]
    assert send(world.peer(), "A", b"2").code == 0
    assert world.running()[0]


def test_a_stopped_broker_is_missing_in_routes_until_it_starts() -> None:
    """A stopped broker is removed from routes at once (RouteInfoManager.unRegisterBroker, 5.3.3)."""
    world = make_fault_world(("broker-a", "broker-b"))
    for broker in world.engine.brokers:
        world.broker = broker
        world.topic("A")

    def brokers() -> list[str]:
        route = world.ask(RouteResult, GetRouteInfo("A"), world.engine.name_server)
        return [member.broker_name for member in route.brokers]

    world.add(faults.stop_broker("broker-b", duration="10s"))
    assert brokers() == ["broker-a"]
    world.advance(10_000)
    assert brokers() == ["broker-a", "broker-b"]


def test_a_stop_of_an_unknown_broker_is_rejected_and_adds_no_rule(world: FaultWorld) -> None:
    """The error names the nearest broker. A slave is named by broker name and id."""
    with pytest.raises(FaultError, match="broker='broker-c': there is no such broker; did you mean broker-b"):
        world.add(faults.stop_broker("broker-c"))
    assert len(world.plan) == 0
    assert world.running() == [True, True]


# flaps


def test_a_flapping_broker_stops_and_starts_in_turn(world: FaultWorld) -> None:
    """The broker stops for 2 s and runs for 3 s, again and again, and runs after the duration."""
    rule = world.add(faults.flap_broker("broker-a", down="2s", up="3s", duration="11s"))
    seen = []
    for _ in range(14):
        seen.append(world.running()[0])
        world.advance(1_000)
    down, up = [False] * 2, [True] * 3
    assert seen == [*down, *up, *down, *up, False, True, True, True]
    assert rule.fired == 1


def test_a_flapping_broker_runs_when_its_rule_is_removed(world: FaultWorld) -> None:
    """The removal also leaves no timer of the rule."""
    rule = world.add(faults.flap_broker("broker-a"))
    world.plan.remove(rule.name)
    assert world.running()[0]
    world.advance(60_000)
    assert world.running()[0]


# name server


def test_a_stopped_name_server_does_not_respond_to_remoting_clients(world: FaultWorld) -> None:
    """Brokers serve their clients meanwhile. With two rules, it responds when both have ended."""
    peer = world.peer()
    first = world.add(faults.stop_name_server(duration="10s"))
    second = world.add(faults.stop_name_server())
    assert peer.exchange(*route_request("A")) == []
    assert send(peer, "A").code == 0
    world.plan.remove(second.name)
    assert peer.exchange(*route_request("A")) == []
    world.advance(10_000)
    assert peer.ask(*route_request("A")).code == 0
    assert first.fired == 1


# partitions


def registered(world: FaultWorld, client: str) -> Peer:
    """Connect a producer with a client id."""
    peer = world.peer()
    assert peer.ask(*heartbeat_request(client, producers=["PG"])).code == 0
    return peer


def test_a_partition_cuts_off_one_client_only(world: FaultWorld) -> None:
    """Requests of that client are not executed; those of another client are."""
    cut, other = registered(world, "c1"), registered(world, "c2")
    rule = world.add(faults.partition("c1"))
    assert cut.exchange(*send_request("A", b"lost", born_ms=world.now_ms)) == []
    assert send(other, "A", b"kept").code == 0
    assert stored_bodies(world, "A") == [b"kept"]
    assert rule.fired == 1
    world.plan.remove(rule.name)
    assert send(cut, "A", b"again").code == 0


def test_a_partition_covers_new_connections_once_they_name_the_client(world: FaultWorld) -> None:
    """The client's heartbeat names it; later requests of the connection are then lost as well."""
    world.add(faults.partition("c1"))
    peer = world.peer()
    assert send(peer, "A", b"before").code == 0
    assert peer.exchange(*heartbeat_request("c1", producers=["PG"])) == []
    assert peer.exchange(*send_request("A", b"lost", born_ms=world.now_ms)) == []
    assert stored_bodies(world, "A") == [b"before"]


def test_a_partition_loses_the_response_to_an_earlier_request(world: FaultWorld) -> None:
    """The messages of a long poll that began before the partition do not arrive."""
    peer = registered(world, "c1")
    fields = {
        "consumerGroup": "G",
        "topic": "A",
        "queueId": 0,
        "queueOffset": 0,
        "maxMsgNums": 32,
        "sysFlag": FLAG_SUSPEND | FLAG_SUBSCRIPTION,
        "commitOffset": 0,
        "suspendTimeoutMillis": 15_000,
        "subscription": "*",
        "subVersion": 0,
        "expressionType": "TAG",
    }
    assert peer.exchange(RequestCode.PULL_MESSAGE, fields) == []
    rule = world.add(faults.partition("c1"))
    world.send("A")
    assert peer.received() == []
    assert rule.fired == 1


def test_a_partition_loses_pushes(world: FaultWorld) -> None:
    """The client gets no notification of a new member of its group."""
    cut, other = world.peer(), world.peer()
    groups = {"G": {"A": "*"}}
    cut.exchange(*heartbeat_request("c1", groups=groups))
    world.add(faults.partition("c1"))
    other.exchange(*heartbeat_request("c2", groups=groups))
    world.advance(100)
    assert cut.received() == []
    world.plan.clear()
    world.peer().exchange(*heartbeat_request("c3", groups=groups))
    world.advance(100)
    assert [frame.code for frame in cut.received()] == [RequestCode.NOTIFY_CONSUMER_IDS_CHANGED]


@pytest.mark.parametrize(("how", "done"), [("silent", "ignore"), ("reset", "refuse")])
def test_a_partition_by_address_covers_new_connections(world: FaultWorld, how: str, done: str) -> None:
    """New connections of the address are ignored or reset, and requests of open ones are lost, at every node."""
    world.add(faults.partition(address="10.0.0.8", how=how))
    cut, other = ConnectionAttempt(), ConnectionAttempt()
    world.plan.decisions.connected("remoting", "broker-a", "10.0.0.8", cut)
    world.plan.decisions.connected("remoting", "broker-a", "10.0.0.9", other)
    assert (cut.done, other.done) == ([done], [])
    [entry] = [each for each in world.engine.journal if each.event == "faulted"]
    assert (entry.node, entry.client, entry.label) == ("broker-a", "", "connect")
    assert (entry.subject, entry.outcome) == (RawRequest.of([("address", "10.0.0.8")]), FiredRule("partition"))
    assert world.peer(address="10.0.0.8").exchange(*route_request("A")) == []
    assert world.peer(address="10.0.0.9").ask(*route_request("A")).code == 0


def test_a_partition_by_client_does_not_affect_new_connections(world: FaultWorld) -> None:
    """A new connection has not named its client yet."""
    world.add(faults.partition("c1"))
    attempt = ConnectionAttempt()
    world.plan.decisions.connected("remoting", "broker-a", "10.0.0.7", attempt)
    assert attempt.done == []


def test_a_partition_without_a_client_is_rejected() -> None:
    """A partition names a client id or an address, because otherwise it would affect all clients."""
    with pytest.raises(FaultError, match="partition without a client; give its client id or its address"):
        faults.partition()


def test_a_partition_can_be_limited_to_one_broker() -> None:
    """A partition accepts the criteria of all its phases: broker, protocol and address."""
    world = make_fault_world(("broker-a", "broker-b"))
    world.add(faults.partition(address="10.0.0.8"), broker="broker-b")
    to_a = world.peer(address="10.0.0.8")
    to_b = world.peer(world.named("broker-b"), address="10.0.0.8")
    beat = heartbeat_request("c1", producers=["PG"])
    assert to_a.ask(*beat).code == 0
    assert to_b.exchange(*beat) == []
    with pytest.raises(FaultError, match="topic='A': not known in the phase 'connect'"):
        world.add(faults.partition("c1"), topic="A")
