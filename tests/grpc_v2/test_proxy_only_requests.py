"""Rules about requests that the proxy rejects on its own, or executes at all brokers, in virtual time."""

from typing import Any

import pytest
from fault_rules import WATCH, Rules
from grpc_harness import Client, GrpcHarness, MemoryCall, a_message, a_receive, a_send, an_ack, subscribing
from rocketmq_testkit.conformance.clients import grpc_requests
from rocketmq_testkit.conformance.clients.grpc_requests import publishing
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import DirectChannel
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.kinds.connections import GoAway
from rocketmq_testkit.emulator.faults.kinds.requests import DelayRequest, DropRequest, DuplicateRequest
from rocketmq_testkit.emulator.faults.kinds.responses import DelayResponse, DropResponse, DuplicateResponse, Respond
from rocketmq_testkit.emulator.operations.clients import (
    ClientResponse,
    ConsumeMessageDirectly,
    Heartbeat,
    UnregisterClient,
)
from rocketmq_testkit.emulator.operations.send import SendMessage, SendResult
from rocketmq_testkit.grpc_v2.config.proxy_config import ProxyConfig
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv

BROKERS = ("broker-a", "broker-b")


@pytest.fixture
def harness() -> GrpcHarness:
    found = GrpcHarness(*(BrokerConfig(broker_name=name) for name in BROKERS))
    found.topic_everywhere()
    return found


def heartbeat(client: Client, group: str = "G") -> MemoryCall:
    """Start a heartbeat."""
    return client.start("Heartbeat", grpc_requests.heartbeat(group))


def nodes_that_executed(harness: GrpcHarness, kind: type) -> list[str]:
    """Return the names of the nodes that executed an operation of class `kind`, in order."""
    return [
        each.node for each in harness.engine.journal if each.event == "responded" and isinstance(each.subject, kind)
    ]


def is_member(harness: GrpcHarness, group: str = "G", client: str = "consumer-1") -> bool:
    """Return True if a client is a consumer of the group at each broker, False if at no broker."""
    (found,) = {broker.clients.is_consumer(group, client) for broker in harness.engine.brokers}
    return found


MATCHING: list[dict[str, Any]] = [
    {"operation": "Heartbeat"},
    {"operation": "Heartbeat", "broker": "broker-b"},
    {"broker": "proxy"},
    {"operation": "Heartbeat", "group": "G", "topic": "T", "client": "consumer-1"},
    {"language": "JAVA", "version": "5.0.8", "address": "10.0.0.7"},
    {"operation": "Heartbeat", "where": lambda beat: beat.client_id == "consumer-1"},
]
OTHER: list[dict[str, Any]] = [
    {"operation": "Telemetry"},
    {"operation": "HEART_BEAT"},
    {"operation": "Heartbeat", "broker": "namesrv"},
    {"operation": "Heartbeat", "group": "H"},
    {"operation": "Heartbeat", "topic": "U"},
    {"operation": "Heartbeat", "where": lambda beat: beat.client_id == "consumer-2"},
]


def test_a_heartbeat_to_two_brokers_is_one_match_of_a_rule(harness: GrpcHarness) -> None:
    """Criteria of a rule also match the topic and the group of the client's settings."""
    consumer = harness.consumer()
    rules = Rules(harness.engine)
    matching = [rules.add(WATCH, **criteria) for criteria in MATCHING]
    other = [rules.add(WATCH, **criteria) for criteria in OTHER]
    before = len(nodes_that_executed(harness, Heartbeat))
    assert heartbeat(consumer).finished
    assert [rule.matched for rule in matching] == [1] * len(MATCHING)
    assert [rule.matched for rule in other] == [0] * len(OTHER)
    assert matching[0].events[0].operation == "Heartbeat"
    assert nodes_that_executed(harness, Heartbeat)[before:] == list(BROKERS)


def test_a_dropped_heartbeat_reaches_no_broker_and_a_duplicated_one_all_twice(harness: GrpcHarness) -> None:
    """The client gets one response to a duplicated heartbeat."""
    consumer = harness.consumer()
    rules = Rules(harness.engine)
    rules.add(DropRequest(), operation="Heartbeat", times=1)
    rules.add(DuplicateRequest(), operation="Heartbeat")
    before = len(nodes_that_executed(harness, Heartbeat))
    assert not heartbeat(consumer).finished
    assert len(nodes_that_executed(harness, Heartbeat)) == before
    call = heartbeat(consumer)
    assert (call.finished, len(call.sent)) == (True, 1)
    assert nodes_that_executed(harness, Heartbeat)[before:] == [*BROKERS, *BROKERS]


def test_a_heartbeat_that_is_delayed_beyond_the_termination_is_rejected(harness: GrpcHarness) -> None:
    """The proxy looks up the client's settings after the delay, when it executes the heartbeat."""
    consumer = harness.consumer()
    Rules(harness.engine).add(DelayRequest("5s"), operation="Heartbeat")
    call = heartbeat(consumer)
    consumer.ask("NotifyClientTermination", grpc_requests.termination("G"))
    harness.advance(5_000)
    assert sv.HeartbeatResponse.FromString(call.sent[0]).status.code == pb.UNRECOGNIZED_CLIENT_TYPE
    assert not is_member(harness)


@pytest.mark.parametrize("name", ["NotifyClientTermination", "UnregisterClient"])
def test_a_client_whose_termination_is_lost_stays_a_member(harness: GrpcHarness, name: str) -> None:
    """A lost request has no effect. A termination whose response is lost has, so the next one finds no client."""
    rules = Rules(harness.engine)
    consumer = harness.consumer()
    rules.add(DropRequest(), operation=name, times=1, protocol="grpc")
    rule = rules.add(DropResponse(), operation=name, group="G", topic="T")
    assert not consumer.start("NotifyClientTermination", grpc_requests.termination("G")).finished
    assert is_member(harness)
    assert nodes_that_executed(harness, UnregisterClient) == []
    assert not consumer.start("NotifyClientTermination", grpc_requests.termination("G")).finished
    assert (is_member(harness), rule.fired) == (False, 1)
    response = consumer.ask("NotifyClientTermination", grpc_requests.termination("G"))
    assert (response.status.code, rule.matched) == (pb.UNRECOGNIZED_CLIENT_TYPE, 1)


def test_rules_about_telemetry_match_settings_and_rules_about_heartbeats_do_not(harness: GrpcHarness) -> None:
    """Each command on a telemetry stream is a request of its own.

    Settings also execute heartbeats at the brokers, but a rule with the RPC name Heartbeat does not match these.
    """
    rules = Rules(harness.engine)
    beats = rules.add(DropResponse(), operation="Heartbeat", protocol="grpc")
    rule = rules.add(DropRequest(), operation="Telemetry", group="G", topic="T", times=2)
    client = harness.client("consumer-1")
    stream = client.send_settings(subscribing())
    stream.send(sv.TelemetryCommand(settings=subscribing()))
    assert (stream.commands, rule.fired, beats.matched) == ([], 2, 0)
    assert not is_member(harness)
    stream.send(sv.TelemetryCommand(settings=subscribing()))
    assert [each.WhichOneof("command") for each in stream.commands] == ["settings"]
    assert is_member(harness)
    assert not heartbeat(client).finished
    assert beats.fired == 1


def test_a_lost_response_to_settings_is_not_repeated(harness: GrpcHarness) -> None:
    """Without a rule the proxy repeats the response; the next settings of the stream get theirs."""
    Rules(harness.engine).add(DropResponse(), operation="Telemetry", times=1)
    lost, served = (harness.client(name).send_settings(subscribing()) for name in ("consumer-1", "consumer-2"))
    harness.advance(10_000)
    assert lost.commands == []
    assert len(served.commands) > 1
    assert is_member(harness)
    lost.send(sv.TelemetryCommand(settings=subscribing()))
    assert len(lost.commands) == 1


def test_a_response_to_settings_is_both_delayed_and_duplicated(harness: GrpcHarness) -> None:
    """A response to later settings of the stream overtakes the delayed one."""
    rules = Rules(harness.engine)
    rules.add(DelayResponse("1s"), operation="Telemetry", nth=1)
    rules.add(DuplicateResponse(2), operation="Telemetry", nth=1)
    stream = harness.client("producer").send_settings(publishing("T"))
    stream.send(sv.TelemetryCommand(settings=publishing("T", "U")))
    assert [len(each.settings.publishing.topics) for each in stream.commands] == [2]
    harness.advance(1_000)
    assert len(stream.commands) == 4
    assert not stream.call.finished


@pytest.mark.parametrize("fault", [Respond("UNAUTHORIZED"), DropResponse("UNAUTHORIZED")])
def test_a_rule_that_rejects_settings_ends_the_stream(harness: GrpcHarness, fault: Any) -> None:
    """The stream ends as for a client without rights: with the status in a last command."""
    Rules(harness.engine).add(fault, operation="Telemetry", times=1)
    stream = harness.client("consumer-1").send_settings(subscribing())
    assert [each.status.code for each in stream.commands] == [pb.UNAUTHORIZED]
    assert (stream.call.finished, stream.call.status) == (True, 0)
    harness.advance(10_000)
    assert len(stream.call.sent) == 1


def test_settings_that_are_delayed_beyond_their_stream_start_a_session_that_expires(harness: GrpcHarness) -> None:
    """The session expires like that of each client without a stream."""
    Rules(harness.engine).add(DelayRequest("1s"), operation="Telemetry", times=1)
    stream = harness.client("consumer-1").send_settings(subscribing())
    stream.call.cancel()
    harness.advance(1_000)
    assert len(harness.service.clients.sessions) == 1
    harness.advance(140_000)
    assert len(harness.service.clients.sessions) == 0


@pytest.mark.parametrize("name", ["Telemetry", "ClientResponded"])
def test_rules_delay_and_drop_the_result_of_a_direct_consumption(harness: GrpcHarness, name: str) -> None:
    """A delayed result arrives later, a dropped one never."""
    stream = harness.client("consumer-1").send_settings(subscribing(push=True))
    stored = harness.ask(SendMessage("PG", "T", 0, b"x", {}, ("10.0.0.9", 5000), harness.now_ms))
    assert isinstance(stored, SendResult)
    rules = Rules(harness.engine)
    rules.add(DelayRequest("1s"), operation=name, times=1)
    rules.add(DropRequest(), operation=name, after=1)
    outcomes: list[Any] = []
    for _ in range(2):
        asked = harness.engine.submit(
            harness.broker,
            ConsumeMessageDirectly("G", "consumer-1", stored.msg_id, "T", ext_fields={}),
            DirectChannel(),
        )
        result = sv.VerifyMessageResult(nonce=stream.commands[-1].verify_message_command.nonce)
        stream.send(sv.TelemetryCommand(status=pb.Status(code=pb.OK), verify_message_result=result))
        assert asked.outcome is None
        harness.advance(1_000)
        outcomes.append(asked.outcome)
    assert [type(each) for each in outcomes] == [ClientResponse, type(None)]


@pytest.mark.parametrize("responds", [True, False])
def test_rules_match_a_request_that_a_full_thread_pool_rejects(responds: bool) -> None:
    """The proxy responds 42900; without `flowLimitAnswerEnable` there is no response that a rule could drop."""
    config = ProxyConfig(grpc_request_refusals="producer", flow_limit_answer_enable=responds)
    harness = GrpcHarness(proxy=config)
    rules = Rules(harness.engine)
    arrived = rules.add(WATCH, operation="SendMessage")
    sent = rules.add(DropResponse(), operation="SendMessage", optional=True)
    refused = rules.add(Respond("FORBIDDEN"), operation="SendMessage", nth=2)
    call = harness.client().start("SendMessage", a_send(a_message()))
    assert (call.finished, arrived.matched, sent.fired) == (False, 1, int(responds))
    response = harness.client().ask("SendMessage", a_send(a_message()))
    assert (response.status.code, refused.fired) == (pb.FORBIDDEN, 1)


def test_criteria_about_messages_match_a_send_that_the_proxy_rejects(harness: GrpcHarness) -> None:
    """A rejected send has no operation, so the criterion `where`, a function of the operation, does not match."""
    rules = Rules(harness.engine)
    criteria: list[dict[str, Any]] = [
        {"tag": "a"},
        {"key": "k"},
        {"property": {"color": "red"}},
        {"body_matches": "order-\\d"},
        {"topic": "no topic!"},
    ]
    matching = [rules.add(WATCH, operation="SendMessage", **each) for each in criteria]
    other = [rules.add(WATCH, operation="SendMessage", **each) for each in ({"tag": "b"}, {"where": lambda _: True})]
    message = a_message("no topic!", b"order-1", tag="a", keys=["k"], user={"color": "red"})
    assert harness.client().ask("SendMessage", a_send(message)).status.code == pb.ILLEGAL_TOPIC
    assert [rule.matched for rule in matching] == [1] * len(criteria)
    assert [rule.matched for rule in other] == [0, 0]
    assert all(rule.failure is None for rule in other)


def test_a_request_that_its_broker_rejects_is_one_match_of_a_rule(harness: GrpcHarness) -> None:
    """The rejection is the outcome of the request's operation, not a second request."""
    rules = Rules(harness.engine)
    rule, responses = rules.add(WATCH), rules.add(DuplicateResponse(), optional=True)
    assert harness.client().ask("QueryRoute", grpc_requests.route("missing")).status.code == pb.TOPIC_NOT_FOUND
    assert (rule.matched, responses.matched) == (1, 1)


def test_an_acknowledgement_with_a_valid_and_an_invalid_handle_is_one_match_of_a_rule(harness: GrpcHarness) -> None:
    """The rule matches the operation of the valid handle; the invalid one is no further rejected request."""
    harness.store(b"x")
    consumer = harness.consumer()
    (handle,) = consumer.receive(a_receive()).handles
    rule = Rules(harness.engine).add(WATCH, operation="AckMessage")
    assert consumer.ask("AckMessage", an_ack(handle, "no handle")).status.code == pb.MULTIPLE_RESULTS
    assert rule.matched == 1
    consumer.ask("AckMessage", an_ack("no handle", "no handle"))
    assert rule.matched == 2


NEVER: list[tuple[Any, dict[str, str], str]] = [
    (
        DropRequest(),
        {"operation": "ReceiveMessage", "protocol": "remoting"},
        "clients of remoting send no such",
    ),
    (DropRequest(), {"operation": "PullMessage", "protocol": "grpc"}, "clients of grpc send no such request"),
    (DropRequest(), {"operation": "SEND_MESSAGE_V2", "protocol": "grpc"}, "clients of grpc send no such request"),
    (GoAway(), {"operation": "PullMessage"}, "clients of grpc send no such request"),
    (DropRequest(), {"operation": "ChannelClosed"}, "no client requests it"),
    (DropResponse(), {"operation": "ClientResponded"}, "the result of a client gets no response"),
    (DropRequest(), {"operation": "UpdateOffset"}, "the emulator never carries this request out"),
]


@pytest.mark.parametrize(("fault", "criteria", "text"), NEVER)
def test_a_rule_that_can_never_fire_raises_fault_error(
    harness: GrpcHarness, fault: Any, criteria: dict[str, str], text: str
) -> None:
    """The error names the operation and the reason."""
    with pytest.raises(FaultError) as caught:
        Rules(harness.engine).add(fault, **criteria)
    assert str(caught.value).startswith(f"operation='{criteria['operation']}': ")
    assert text in str(caught.value)
