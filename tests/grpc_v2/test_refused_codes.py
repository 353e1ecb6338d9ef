"""Each code with which an RPC declares to reject a request itself is journaled as the client gets it."""

from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.message import Message
from grpc_harness import (
    START_MS,
    Client,
    GrpcHarness,
    MemoryCall,
    a_change,
    a_forward,
    a_message,
    a_receive,
    a_send,
    an_ack,
    subscribing,
)
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.gate.raw_request import Rejection
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.grpc_v2.proxy.rpc_table import Rpc
from rocketmq_testkit.grpc_v2.rules.status import code_name
from rocketmq_testkit.grpc_v2.services import RPCS

_DAY_MS = 86_400_000
_EXPIRED = f"0 {START_MS - 20_000} 10000 0 0 broker-a 0 0 0"
_WITHOUT_LOG_OFFSET = f"0 {START_MS} 10000 0 0 broker-a 0 0 -1"
_OF_UNKNOWN_BROKER = urlsafe_b64encode(f"v1 D broker-z {START_MS} id".encode()).decode()
_BAD = pb.Resource(name="a b")


def _asking(rpc: str, request: Message, **options: Any) -> Callable[[Client], MemoryCall]:
    return lambda client: client.start(rpc, request, **options)


def _sending(message: pb.Message) -> Callable[[Client], MemoryCall]:
    return _asking("SendMessage", a_send(message))


def _settled(rpc: str, request: Message) -> Callable[[Client], MemoryCall]:
    def act(client: Client) -> MemoryCall:
        client.send_settings(subscribing())
        return client.start(rpc, request)

    return act


def _second_poll(client: Client) -> MemoryCall:
    client.start("ReceiveMessage", a_receive())
    return client.start("ReceiveMessage", a_receive())


def _with_illegal(rpc: Rpc, field: str) -> Callable[[Client], MemoryCall]:
    """Return a function that sends a request with an illegal name in `field` and legal names in the others."""
    names = {"topic": pb.Resource(name="T"), "group": pb.Resource(name="G"), field: _BAD}
    if rpc.name == "ReceiveMessage":
        return _asking(rpc.name, a_receive(names["topic"].name, names["group"].name))
    request = rpc.request(**{name: names[name] for name in names if name in rpc.request.DESCRIPTOR.fields_by_name})
    if rpc.name == "SendMessage":
        request = a_send(a_message("a b"))
    return _settled(rpc.name, request)


_ACTS: dict[tuple[str, str], Callable[[Client], MemoryCall]] = {
    **{(rpc.name, "ILLEGAL_TOPIC"): _with_illegal(rpc, "topic") for rpc in RPCS if pb.ILLEGAL_TOPIC in rpc.codes},
    **{
        (rpc.name, "ILLEGAL_CONSUMER_GROUP"): _with_illegal(rpc, "group")
        for rpc in RPCS
        if pb.ILLEGAL_CONSUMER_GROUP in rpc.codes
    },
    ("Heartbeat", "UNRECOGNIZED_CLIENT_TYPE"): _asking("Heartbeat", sv.HeartbeatRequest()),
    ("NotifyClientTermination", "UNRECOGNIZED_CLIENT_TYPE"): _asking(
        "NotifyClientTermination", sv.NotifyClientTerminationRequest()
    ),
    ("SendMessage", "MESSAGE_CORRUPTED"): _asking("SendMessage", a_send()),
    ("SendMessage", "MESSAGE_BODY_EMPTY"): _sending(a_message(body=b"")),
    ("SendMessage", "MESSAGE_BODY_TOO_LARGE"): _sending(a_message(body=bytes(4_194_305))),
    ("SendMessage", "MESSAGE_PROPERTIES_TOO_LARGE"): _sending(a_message(user={"k": "v" * 16_384})),
    ("SendMessage", "ILLEGAL_MESSAGE_PROPERTY_KEY"): _sending(a_message(user={"TAGS": "x"})),
    ("SendMessage", "ILLEGAL_MESSAGE_TAG"): _sending(a_message(tag="a|b")),
    ("SendMessage", "ILLEGAL_MESSAGE_KEY"): _sending(a_message(keys=[" "])),
    ("SendMessage", "ILLEGAL_MESSAGE_ID"): _sending(a_message(message_id="")),
    ("SendMessage", "BAD_REQUEST"): _sending(a_message(message_type=pb.TRANSACTION, recovery_s=3601)),
    ("SendMessage", "ILLEGAL_DELIVERY_TIME"): _sending(a_message(deliver_ms=START_MS + _DAY_MS + 1)),
    ("SendMessage", "ILLEGAL_MESSAGE_GROUP"): _sending(a_message(message_group=" ")),
    ("SendMessage", "MESSAGE_PROPERTY_CONFLICT_WITH_TYPE"): _sending(a_message(message_group="g")),
    ("SendMessage", "FORBIDDEN"): _sending(a_message("R")),
    ("QueryAssignment", "FORBIDDEN"): _asking(
        "QueryAssignment", sv.QueryAssignmentRequest(topic=pb.Resource(name="W"), group=pb.Resource(name="G"))
    ),
    ("ReceiveMessage", "ILLEGAL_POLLING_TIME"): _asking(
        "ReceiveMessage", a_receive(), deadline_ms=1_000, x_mq_client_version="5.0.3"
    ),
    ("ReceiveMessage", "BAD_REQUEST"): _asking(
        "ReceiveMessage", a_receive(), deadline_ms=1_000, x_mq_client_version="4.9"
    ),
    ("ReceiveMessage", "ILLEGAL_INVISIBLE_TIME"): _asking("ReceiveMessage", a_receive(invisible_ms=1)),
    ("ReceiveMessage", "ILLEGAL_FILTER_EXPRESSION"): _asking("ReceiveMessage", a_receive(expression="||")),
    ("ReceiveMessage", "TOO_MANY_REQUESTS"): _second_poll,
    ("ReceiveMessage", "FORBIDDEN"): _asking("ReceiveMessage", a_receive("W")),
    ("AckMessage", "INVALID_RECEIPT_HANDLE"): _asking("AckMessage", an_ack(_EXPIRED)),
    ("ForwardMessageToDeadLetterQueue", "INVALID_RECEIPT_HANDLE"): _asking(
        "ForwardMessageToDeadLetterQueue", a_forward(_WITHOUT_LOG_OFFSET)
    ),
    ("EndTransaction", "INVALID_TRANSACTION_ID"): _asking(
        "EndTransaction", sv.EndTransactionRequest(topic=pb.Resource(name="T"))
    ),
    ("ChangeInvisibleDuration", "ILLEGAL_INVISIBLE_TIME"): _asking("ChangeInvisibleDuration", a_change(_EXPIRED, -1)),
    ("ChangeInvisibleDuration", "INVALID_RECEIPT_HANDLE"): _asking(
        "ChangeInvisibleDuration", a_change(_EXPIRED, 30_000)
    ),
    ("RecallMessage", "MESSAGE_PROPERTY_CONFLICT_WITH_TYPE"): _asking(
        "RecallMessage", sv.RecallMessageRequest(topic=pb.Resource(name="T"))
    ),
    ("RecallMessage", "BAD_REQUEST"): _asking(
        "RecallMessage", sv.RecallMessageRequest(topic=pb.Resource(name="D"), recall_handle=_OF_UNKNOWN_BROKER)
    ),
}

_IN_OTHER_TESTS = {"CLIENT_ID_REQUIRED", "INTERNAL_SERVER_ERROR"}
"""Codes whose requests are in test_refused_requests.py, the first for each RPC."""
_OF_THE_ENGINE = {
    "TOPIC_NOT_FOUND",
    "MASTER_PERSISTENCE_TIMEOUT",
    "SLAVE_PERSISTENCE_TIMEOUT",
    "HA_NOT_AVAILABLE",
    "MESSAGE_NOT_FOUND",
    "MULTIPLE_RESULTS",
}
"""Codes of requests that became operations: the journal has their outcomes."""


def test_every_declared_code_of_the_proxy_has_a_request() -> None:
    """`_ACTS` has a request for each code that an RPC declares, except codes of other tests and of the engine."""
    declared = {(rpc.name, code_name(code)) for rpc in RPCS for code in rpc.codes}
    own = {pair for pair in declared if pair[1] not in _IN_OTHER_TESTS | _OF_THE_ENGINE}
    assert sorted(own) == sorted(_ACTS)


def _brokers(rpc: str, name: str) -> list[BrokerConfig]:
    """Return the brokers for which a code is possible. A single master gets the handles of unknown brokers, too."""
    if name == "TOO_MANY_REQUESTS":
        return [BrokerConfig(pop_polling_size=0)]
    several = (rpc, name) == ("RecallMessage", "BAD_REQUEST")
    return [BrokerConfig(broker_name=each) for each in ("broker-a", "broker-b")[: 1 + several]]


@pytest.mark.parametrize(("rpc", "name"), _ACTS, ids=[" ".join(pair) for pair in _ACTS])
def test_a_refused_request_is_journaled_with_the_status_that_the_client_gets(rpc: str, name: str) -> None:
    """The journal has one entry `refused`, with the code and the text of the response's status."""
    harness = GrpcHarness(*_brokers(rpc, name))
    harness.topic("D", kind="DELAY")
    harness.topic("T")
    harness.topic("W", perm=2)
    harness.topic("R", perm=4)
    call = _ACTS[rpc, name](harness.client())
    response: Any = call.rpc.response()
    response.ParseFromString(call.sent[0])
    status = (response.entries[0] if rpc == "AckMessage" and response.entries else response).status
    (entry,) = [entry for entry in harness.engine.journal if entry.event == "refused"]
    assert (entry.node, entry.client, entry.label) == ("proxy", "grpc:client-1", rpc)
    assert entry.outcome == Rejection(status.code, name, status.message)
    assert status.message
