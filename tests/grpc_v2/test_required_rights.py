"""The rights that each kind of RPC request requires."""

import pytest
from google.protobuf.message import Message
from grpc_harness import a_change, a_forward, a_message, a_receive, a_send, an_ack, subscribing
from rocketmq_testkit.conformance.clients.grpc_requests import publishing
from rocketmq_testkit.emulator.auth.access_control import AccessDenied
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.grpc_v2.proxy.rpc_table import Rpc
from rocketmq_testkit.grpc_v2.rules.status import Refusal
from rocketmq_testkit.grpc_v2.services import RPCS

RIGHTS = {rpc.request: rpc.rights for rpc in RPCS}
TOPIC, GROUP, RETRY = pb.Resource(name="T"), pb.Resource(name="G"), pb.Resource(name="%RETRY%G")
CONSUMPTION = ["Group:G: Sub", "Topic:T: Sub"]


def required_rights(request: Message) -> list[str]:
    """Return each required right as `resource: actions`."""
    needs = RIGHTS[type(request)](request)
    return [f"{need.resource.key}: {' '.join(action.value for action in need.actions)}" for need in needs]


def heartbeat(kind: int, group: str) -> sv.HeartbeatRequest:
    """Return the heartbeat of a client type."""
    return sv.HeartbeatRequest(client_type=kind, group=pb.Resource(name=group))  # type: ignore[arg-type]  # open enum


def settings(made: pb.Settings) -> sv.TelemetryCommand:
    """Return the first message of a telemetry stream."""
    return sv.TelemetryCommand(settings=made)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (a_send(a_message("T"), a_message("U")), ["Topic:T: Pub"]),
        (sv.RecallMessageRequest(topic=TOPIC), ["Topic:T: Pub"]),
        (sv.EndTransactionRequest(topic=TOPIC), ["Topic:T: Pub"]),
        (a_receive("T", "G"), CONSUMPTION),
        (an_ack("handle"), CONSUMPTION),
        (a_forward("handle"), CONSUMPTION),
        (sv.QueryAssignmentRequest(topic=TOPIC, group=GROUP), CONSUMPTION),
        (sv.QueryAssignmentRequest(topic=TOPIC, group=RETRY), CONSUMPTION),
        (a_change("handle", 1000), ["Group:G: Sub"]),
        (sv.QueryRouteRequest(topic=TOPIC), ["Topic:T: Pub Sub"]),
        (heartbeat(pb.PUSH_CONSUMER, "G"), ["Group:G: Sub"]),
        (heartbeat(pb.SIMPLE_CONSUMER, "G"), ["Group:G: Sub"]),
        (heartbeat(pb.PULL_CONSUMER, "G"), ["Group:G: Sub"]),
        (heartbeat(pb.PRODUCER, ""), []),
        (sv.NotifyClientTerminationRequest(group=GROUP), ["Group:G: Sub"]),
        (sv.NotifyClientTerminationRequest(), []),
        (settings(publishing("T", "U")), ["Topic:T: Pub", "Topic:U: Pub"]),
        (settings(subscribing("G", "T")), CONSUMPTION),
        (settings(subscribing("G", None)), ["Group:G: Sub"]),
        (sv.TelemetryCommand(), []),
    ],
)
def test_producers_require_pub_and_consumers_sub_rights(request_: Message, expected: list[str]) -> None:
    """Producers require PUB on topics, consumers SUB on group and topic, and routes require either."""
    assert required_rights(request_) == expected


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (sv.SendMessageRequest(), "message is null."),
        (a_send(a_message(" ")), "topic is null."),
        (sv.QueryRouteRequest(), "topic is null."),
        (sv.ReceiveMessageRequest(group=GROUP), "messageQueue is null."),
        (a_receive("T", ""), "group is null."),
        (a_receive("", "G"), "topic is null."),
        (a_change("handle", 1000, group=""), "group is null."),
        (heartbeat(pb.PUSH_CONSUMER, ""), "group is null."),
        (settings(subscribing("", "T")), "group is null."),
        (settings(publishing("")), "topic is null."),
    ],
)
def test_a_request_without_topic_or_group_is_denied(request_: Message, text: str) -> None:
    """A request without a topic or group is denied, and the text names the first missing one."""
    with pytest.raises(AccessDenied, match=text):
        required_rights(request_)


def test_settings_of_neither_producer_nor_consumer_return_internal_server_error() -> None:
    """Settings of neither a producer nor a consumer return INTERNAL_SERVER_ERROR, not UNAUTHORIZED."""
    with pytest.raises(Refusal) as refused:
        required_rights(settings(pb.Settings()))
    assert refused.value.code == pb.INTERNAL_SERVER_ERROR


def test_an_rpc_cannot_be_declared_without_rights() -> None:
    """An RPC cannot be declared without rights: the import of its module fails."""
    request, response = sv.QueryRouteRequest, sv.QueryRouteResponse
    with pytest.raises(TypeError, match="rights"):
        Rpc("QueryRoute", request, response, lambda *_: None, operations=(), codes=())  # type: ignore[call-arg]  # as meant
