"""Responses of every RPC to calls without a client id, with invalid topics and with invalid groups."""

from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.message import Message
from grpc_harness import (
    Client,
    GrpcHarness,
    Received,
    a_change,
    a_forward,
    a_message,
    a_receive,
    a_send,
    an_ack,
    subscribing,
)
from grpc_texts import BAD_GROUPS, BAD_TOPICS
from rocketmq_testkit.conformance.clients.grpc_requests import publishing
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv

HANDLE = "0 1700000000000 10000 0 0 broker-a 0 0 0"


def named(name: str) -> pb.Resource:
    return pb.Resource(name=name)


BY_TOPIC: dict[str, Callable[[str], Message]] = {
    "QueryRoute": lambda topic: sv.QueryRouteRequest(topic=named(topic)),
    "QueryAssignment": lambda topic: sv.QueryAssignmentRequest(topic=named(topic), group=named("G")),
    "SendMessage": lambda topic: a_send(a_message(topic)),
    "ReceiveMessage": a_receive,
    "AckMessage": lambda topic: an_ack(HANDLE, topic=topic),
    "ChangeInvisibleDuration": lambda topic: a_change(HANDLE, 1000, topic),
    "ForwardMessageToDeadLetterQueue": lambda topic: a_forward(HANDLE, topic),
    "EndTransaction": lambda topic: sv.EndTransactionRequest(topic=named(topic), transaction_id="x"),
    "RecallMessage": lambda topic: sv.RecallMessageRequest(topic=named(topic), recall_handle="x"),
}
BY_GROUP: dict[str, Callable[[str], Message]] = {
    "QueryAssignment": lambda group: sv.QueryAssignmentRequest(topic=named("T"), group=named(group)),
    "ReceiveMessage": lambda group: a_receive(group=group),
    "AckMessage": lambda group: an_ack(HANDLE, group=group),
    "ChangeInvisibleDuration": lambda group: a_change(HANDLE, 1000, group=group),
    "ForwardMessageToDeadLetterQueue": lambda group: a_forward(HANDLE, group=group),
    "Heartbeat": lambda group: sv.HeartbeatRequest(group=named(group)),
    "NotifyClientTermination": lambda group: sv.NotifyClientTerminationRequest(group=named(group)),
}
SERVED = {**BY_TOPIC, **BY_GROUP}


def status_of(client: Client, name: str, request: Message, **options: Any) -> tuple[int, str]:
    """Return code and text of the overall Status of a response."""
    if name == "ReceiveMessage":
        status = Received(client.start(name, request, **options)).status
    else:
        status = client.ask(name, request, **options).status
    return status.code, status.message


@pytest.mark.parametrize("topic", BAD_TOPICS, ids=lambda topic: topic[:20] or "empty")
@pytest.mark.parametrize("name", BY_TOPIC)
def test_every_rpc_rejects_an_invalid_topic(harness: GrpcHarness, name: str, topic: str) -> None:
    """Every RPC with a topic rejects an invalid one with upstream's code and text."""
    assert status_of(harness.consumer(), name, BY_TOPIC[name](topic)) == BAD_TOPICS[topic]


@pytest.mark.parametrize("topic", ["%RETRY%g", "%DLQ%g", "a|b", "DefaultHeartBeatSyncerTopic", "t" * 127])
def test_topic_names_with_prefixes_bars_or_127_characters_are_valid(harness: GrpcHarness, topic: str) -> None:
    assert status_of(harness.client(), "QueryRoute", BY_TOPIC["QueryRoute"](topic))[0] == pb.TOPIC_NOT_FOUND


@pytest.mark.parametrize("group", BAD_GROUPS, ids=lambda group: group[:20] or "empty")
@pytest.mark.parametrize("name", BY_GROUP)
def test_every_rpc_rejects_an_invalid_group(harness: GrpcHarness, name: str, group: str) -> None:
    """Every RPC with a group rejects an invalid one with upstream's code and text."""
    harness.topic()
    assert status_of(harness.consumer(), name, BY_GROUP[name](group)) == BAD_GROUPS[group]


@pytest.mark.parametrize("client_id", ["", "  "])
@pytest.mark.parametrize("name", SERVED)
def test_a_call_without_a_client_id_is_rejected(harness: GrpcHarness, name: str, client_id: str) -> None:
    """A call without a client id is rejected before any other check."""
    client = harness.client(client_id)
    assert status_of(client, name, SERVED[name]("")) == (40017, "client id cannot be empty")


def test_a_receive_without_a_client_id_gets_the_status_alone(harness: GrpcHarness) -> None:
    """A receive without a client id gets only the status, without the delivery timestamp of other receives."""
    received = harness.client("").receive(a_receive())
    assert received.kinds == ["status"]
    assert received.call.status == 0


def test_a_telemetry_stream_without_a_client_id_gets_its_status_and_ends(harness: GrpcHarness) -> None:
    stream = harness.client("").send_settings(publishing("T"))
    assert [(command.status.code, command.WhichOneof("command")) for command in stream.commands] == [(40017, None)]
    assert stream.call.status == 0


@pytest.mark.parametrize("topic", BAD_TOPICS, ids=lambda topic: topic[:20] or "empty")
def test_settings_with_an_invalid_topic_end_the_stream(harness: GrpcHarness, topic: str) -> None:
    """The stream ends with INVALID_ARGUMENT and a prefix before the text that unary calls get for the topic."""
    call = harness.client().send_settings(publishing("ok", topic)).call
    assert (call.status, call.text) == (3, "process client telemetryCommand failed. " + BAD_TOPICS[topic][1])


@pytest.mark.parametrize("group", BAD_GROUPS, ids=lambda group: group[:20] or "empty")
def test_settings_with_an_invalid_group_end_the_stream(harness: GrpcHarness, group: str) -> None:
    """The stream ends with INVALID_ARGUMENT and a prefix before the text that unary calls get for the group."""
    call = harness.client().send_settings(subscribing(group)).call
    assert (call.status, call.text) == (3, "process client telemetryCommand failed. " + BAD_GROUPS[group][1])


@pytest.mark.parametrize("name", ["PullMessage", "UpdateOffset", "GetOffset", "QueryOffset"])
def test_offset_rpcs_are_unimplemented(harness: GrpcHarness, name: str) -> None:
    """Offset RPCs return UNIMPLEMENTED with and without a client id, as in 5.3.3."""
    requests = {
        "PullMessage": sv.PullMessageRequest(),
        "UpdateOffset": sv.UpdateOffsetRequest(),
        "GetOffset": sv.GetOffsetRequest(),
        "QueryOffset": sv.QueryOffsetRequest(),
    }
    for client in (harness.client(), harness.client("")):
        call = client.start(name, requests[name])
        expected = f"Method apache.rocketmq.v2.MessagingService/{name} is unimplemented"
        assert (call.status, call.text, call.sent) == (12, expected, [])
