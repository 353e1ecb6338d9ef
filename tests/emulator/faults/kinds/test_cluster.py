"""Faults of nodes: brokers and name servers that stop or flap, and partitions from one client, in virtual time."""

import pytest
from connection_attempt import ConnectionAttempt
from fault_harness import FaultHarness, make_fault_harness
from remoting_harness import Peer, send
from rocketmq_testkit import faults
from rocketmq_testkit.conformance.clients.remoting_members import heartbeat_request
from rocketmq_testkit.conformance.clients.remoting_sends import send_request
from rocketmq_testkit.conformance.clients.remoting_topics import route_request
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.gate.fired_rule import FiredRule
from rocketmq_testkit.emulator.gate.raw_request import RawRequest
from rocketmq_testkit.emulator.operations.cluster import GetRouteInfo, RouteResult
from rocketmq_testkit.emulator.operations.consume import FLAG_SUBSCRIPTION, FLAG_SUSPEND, PullResult
from rocketmq_testkit.remoting.request.request_code import RequestCode
from stored import stored_bodies


@pytest.fixture
def harness() -> FaultHarness:
    """Return a harness with two brokers; the topic A is on the first one."""
    harness = make_fault_harness(("broker-a", "broker-b"))
    harness.topic("A")
    return harness


# stops


@pytest.mark.parametrize("kill", [False, True])
def test_a_stopped_broker_starts_after_its_duration(harness: FaultHarness, kill: bool) -> None:
    """After the duration, in virtual time, the broker runs with its stored messages, and the rule has fired once."""
    harness.send("A", b"kept")
    rule = harness.add(faults.stop_broker("broker-a", duration="11s", kill=kill))
    assert (rule.fired, harness.running()) == (1, [False, True])
    harness.advance(10_999)
    assert harness.running() == [False, True]
    harness.advance(1)
    assert harness.running() == [True, True]
    assert stored_bodies(harness, "A") == [b"kept"]
    harness.advance(60_000)
    assert (rule.fired, harness.running()) == (1, [True, True])


def test_a_jump_over_the_end_of_a_stop_starts_the_broker_at_its_instant(harness: FaultHarness) -> None:
    """A delayed message that is due 5 s after the start is delivered at that time, within one jump."""
    harness.send("A", b"delayed", DELAY="2")
    harness.add(faults.stop_broker("broker-a", duration="3s", kill=True))
    harness.advance(3_600_000)
    assert stored_bodies(harness, "A") == [b"delayed"]
    begins = [entry.now_ms for entry in harness.engine.journal if entry.event == "faulted"]
    assert begins[1] - begins[0] == 3_000


def test_a_broker_stops_until_its_rule_is_removed(harness: FaultHarness) -> None:
    """Without a duration the broker starts at the removal of the rule."""
    rule = harness.add(faults.stop_broker("broker-b"))
    harness.advance(3_600_000)
    assert harness.running() == [True, False]
    harness.plan.remove(rule.name)
    assert harness.running() == [True, True]


def test_a_broker_starts_when_the_last_of_two_rules_ends(harness: FaultHarness) -> None:
    """Two rules stop one broker at different times; the end of one does not start it while the other one lasts."""
    harness.add(faults.stop_broker("broker-a", duration="10s"))
    harness.advance(5_000)
    second = harness.add(faults.stop_broker("broker-a", duration="10s"))
    harness.advance(5_000)
    assert (second.fired, harness.running()[0]) == (1, False)
    harness.advance(5_000)
    assert harness.running()[0]


def test_a_broker_that_the_test_starts_during_a_fault_keeps_running(harness: FaultHarness) -> None:
    """The rules do not stop it again, and their end does not start it after the test has stopped it again."""
    rule = harness.add(faults.stop_broker("broker-a", duration="10s"))
    harness.engine.start(harness.broker)
    harness.advance(5_000)
    assert harness.running()[0]
    harness.engine.stop(harness.broker)
    harness.advance(5_000)
    harness.plan.remove(rule.name)
    assert not harness.running()[0]


def test_a_broker_that_the_test_stopped_stays_stopped_after_a_fault(harness: FaultHarness) -> None:
    """A rule that begins while the broker is stopped does not start it at its end."""
    harness.engine.stop(harness.broker)
    rule = harness.add(faults.stop_broker("broker-a", duration="10s"))
    harness.advance(10_000)
    assert (rule.fired, harness.running()[0]) == (1, False)


def test_a_stop_by_the_test_during_a_fault_has_no_effect(harness: FaultHarness) -> None:
    """The broker is stopped already, and starts at the end of the rule."""
    harness.add(faults.stop_broker("broker-a", duration="10s"))
    harness.engine.stop(harness.broker)
    harness.engine.crash(harness.broker)
    harness.advance(10_000)
    assert harness.running()[0]


def test_a_snapshot_taken_while_a_rule_stops_a_broker_has_no_rules(harness: FaultHarness) -> None:
    """The snapshot has the state of the stopped broker. An engine that starts from it runs all brokers."""
    harness.send("A", b"kept")
    harness.add(faults.stop_broker("broker-a"))
    restored = make_fault_harness(state=harness.engine.state())
    assert restored.running() == [True, True]
    assert stored_bodies(restored, "A") == [b"kept"]
    assert len(restored.plan) == 0


def test_a_rule_that_ends_during_a_graceful_shutdown_starts_the_broker_after_it() -> None:
    """With enableShutdownGracefully a shutdown lasts shutdownWaitTimeSeconds, which is longer than the rule."""
    harness = make_fault_harness(enable_shutdown_gracefully=True, shutdown_wait_time_seconds=20)
    harness.add(faults.stop_broker("broker-a", duration="5s"))
    harness.advance(5_000)
    assert harness.running() == [True]
    run = harness.broker.lifetime
    harness.advance(15_000)
    assert harness.running() == [True]
    assert harness.broker.lifetime is not run


def test_a_request_that_fires_a_stop_gets_no_response_and_is_not_stored(harness: FaultHarness) -> None:
    """The broker stops before it executes the third send; the first two messages are stored."""
    peer = harness.peer()
    rule = harness.add(faults.stop_broker("broker-a", duration="5s", kill=True), operation="SendMessage", nth=3)
    assert [send(peer, "A", body).code for body in (b"1", b"2")] == [0, 0]
    assert harness.running()[0]
    (refused,) = peer.exchange(
        *send_request("A", b"3", born_ms=harness.now_ms)
    )  # in memory there is no socket to break
    assert refused.code != 0
    assert (rule.fired, harness.running()[0]) == (1, False)
    harness.advance(5_000)
    assert send(harness.peer(), "A", b"4").code == 0
    assert stored_bodies(harness, "A") == [b"1", b"2", b"4"]


def test_a_stop_in_the_phase_response_happens_after_the_request_that_fires_it(harness: FaultHarness) -> None:
    """The broker stores the message, then it stops."""
    peer = harness.peer()
    harness.add(faults.stop_broker("broker-a", duration="5s"), operation="SendMessage", phase="response", times=1)
    assert send(peer, "A", b"1").code == 0
    assert not harness.running()[0]
    harness.advance(5_000)
    assert stored_bodies(harness, "A") == [b"1"]
    assert send(harness.peer(), "A", b"2").code == 0
    assert harness.running()[0]


def test_a_stopped_broker_is_missing_in_routes_until_it_starts() -> None:
    """A stopped broker is removed from routes at once (RouteInfoManager.unRegisterBroker, 5.3.3)."""
    harness = make_fault_harness(("broker-a", "broker-b"))
    for broker in harness.engine.brokers:
        harness.broker = broker
        harness.topic("A")

    def brokers() -> list[str]:
        route = harness.ask(RouteResult, GetRouteInfo("A"), harness.engine.name_server)
        return [member.broker_name for member in route.brokers]

    harness.add(faults.stop_broker("broker-b", duration="10s"))
    assert brokers() == ["broker-a"]
    harness.advance(10_000)
    assert brokers() == ["broker-a", "broker-b"]


def test_a_stop_of_an_unknown_broker_is_rejected_and_adds_no_rule(harness: FaultHarness) -> None:
    """The error names the nearest broker. A slave is named by broker name and id."""
    with pytest.raises(FaultError, match="broker='broker-c': there is no such broker; did you mean broker-b"):
        harness.add(faults.stop_broker("broker-c"))
    assert len(harness.plan) == 0
    assert harness.running() == [True, True]


# flaps


def test_a_flapping_broker_stops_and_starts_in_turn(harness: FaultHarness) -> None:
    """The broker stops for 2 s and runs for 3 s, again and again, and runs after the duration."""
    rule = harness.add(faults.flap_broker("broker-a", down="2s", up="3s", duration="11s"))
    seen = []
    for _ in range(14):
        seen.append(harness.running()[0])
        harness.advance(1_000)
    down, up = [False] * 2, [True] * 3
    assert seen == [*down, *up, *down, *up, False, True, True, True]
    assert rule.fired == 1


def test_a_flapping_broker_runs_when_its_rule_is_removed(harness: FaultHarness) -> None:
    """The removal also leaves no timer of the rule."""
    rule = harness.add(faults.flap_broker("broker-a"))
    harness.plan.remove(rule.name)
    assert harness.running()[0]
    harness.advance(60_000)
    assert harness.running()[0]


# name server


def test_a_stopped_name_server_does_not_respond_to_remoting_clients(harness: FaultHarness) -> None:
    """Brokers serve their clients meanwhile. With two rules, it responds when both have ended."""
    peer = harness.peer()
    first = harness.add(faults.stop_name_server(duration="10s"))
    second = harness.add(faults.stop_name_server())
    assert peer.exchange(*route_request("A")) == []
    assert send(peer, "A").code == 0
    harness.plan.remove(second.name)
    assert peer.exchange(*route_request("A")) == []
    harness.advance(10_000)
    assert peer.ask(*route_request("A")).code == 0
    assert first.fired == 1


# partitions


def registered(harness: FaultHarness, client: str) -> Peer:
    """Connect a producer with a client id."""
    peer = harness.peer()
    assert peer.ask(*heartbeat_request(client, producers=["PG"])).code == 0
    return peer


def test_a_partition_cuts_off_one_client_only(harness: FaultHarness) -> None:
    """Requests of that client are not executed; those of another client are."""
    cut, other = registered(harness, "c1"), registered(harness, "c2")
    rule = harness.add(faults.partition("c1"))
    assert cut.exchange(*send_request("A", b"lost", born_ms=harness.now_ms)) == []
    assert send(other, "A", b"kept").code == 0
    assert stored_bodies(harness, "A") == [b"kept"]
    assert rule.fired == 1
    harness.plan.remove(rule.name)
    assert send(cut, "A", b"again").code == 0


def test_a_partition_covers_new_connections_once_they_name_the_client(harness: FaultHarness) -> None:
    """The client's heartbeat names it; later requests of the connection are then lost as well."""
    harness.add(faults.partition("c1"))
    peer = harness.peer()
    assert send(peer, "A", b"before").code == 0
    assert peer.exchange(*heartbeat_request("c1", producers=["PG"])) == []
    assert peer.exchange(*send_request("A", b"lost", born_ms=harness.now_ms)) == []
    assert stored_bodies(harness, "A") == [b"before"]


def test_a_partition_loses_the_response_to_an_earlier_request(harness: FaultHarness) -> None:
    """The messages of a long poll that began before the partition do not arrive, and the journal does not list them."""
    peer = registered(harness, "c1")
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
    rule = harness.add(faults.partition("c1"))
    harness.send("A")
    assert peer.received() == []
    assert rule.fired == 1
    pulls = [each.outcome for each in harness.engine.journal if isinstance(each.outcome, PullResult)]
    assert [pull.records for pull in pulls] == [[]]


def test_a_partition_loses_pushes(harness: FaultHarness) -> None:
    """The client gets no notification of a new member of its group."""
    cut, other = harness.peer(), harness.peer()
    groups = {"G": {"A": "*"}}
    cut.exchange(*heartbeat_request("c1", groups=groups))
    harness.add(faults.partition("c1"))
    other.exchange(*heartbeat_request("c2", groups=groups))
    harness.advance(100)
    assert cut.received() == []
    harness.plan.clear()
    harness.peer().exchange(*heartbeat_request("c3", groups=groups))
    harness.advance(100)
    assert [frame.code for frame in cut.received()] == [RequestCode.NOTIFY_CONSUMER_IDS_CHANGED]


@pytest.mark.parametrize(("how", "done"), [("silent", "ignore"), ("reset", "refuse")])
def test_a_partition_by_address_covers_new_connections(harness: FaultHarness, how: str, done: str) -> None:
    """New connections of the address are ignored or reset, and requests of open ones are lost, at every node."""
    harness.add(faults.partition(address="10.0.0.8", how=how))
    cut, other = ConnectionAttempt(), ConnectionAttempt()
    harness.plan.decisions.connected("remoting", "broker-a", "10.0.0.8", cut)
    harness.plan.decisions.connected("remoting", "broker-a", "10.0.0.9", other)
    assert (cut.done, other.done) == ([done], [])
    [entry] = [each for each in harness.engine.journal if each.event == "faulted"]
    assert (entry.node, entry.client, entry.label) == ("broker-a", "", "connect")
    assert (entry.subject, entry.outcome) == (RawRequest.of([("address", "10.0.0.8")]), FiredRule("partition"))
    assert harness.peer(address="10.0.0.8").exchange(*route_request("A")) == []
    assert harness.peer(address="10.0.0.9").ask(*route_request("A")).code == 0


def test_a_partition_by_client_does_not_affect_new_connections(harness: FaultHarness) -> None:
    """A new connection has not named its client yet."""
    harness.add(faults.partition("c1"))
    attempt = ConnectionAttempt()
    harness.plan.decisions.connected("remoting", "broker-a", "10.0.0.7", attempt)
    assert attempt.done == []


def test_a_partition_without_a_client_is_rejected() -> None:
    """A partition names a client id or an address, because otherwise it would affect all clients."""
    with pytest.raises(FaultError, match="partition without a client; give its client id or its address"):
        faults.partition()


def test_a_partition_can_be_limited_to_one_broker() -> None:
    """A partition accepts the criteria of all its phases: broker, protocol and address."""
    harness = make_fault_harness(("broker-a", "broker-b"))
    harness.add(faults.partition(address="10.0.0.8"), broker="broker-b")
    to_a = harness.peer(address="10.0.0.8")
    to_b = harness.peer(harness.named("broker-b"), address="10.0.0.8")
    beat = heartbeat_request("c1", producers=["PG"])
    assert to_a.ask(*beat).code == 0
    assert to_b.exchange(*beat) == []
    with pytest.raises(FaultError, match="topic='A': not known in the phase 'connect'"):
        harness.add(faults.partition("c1"), topic="A")
