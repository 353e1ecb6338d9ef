"""Every request that the proxy handles on its own is journaled with the code and text that the client gets."""

from collections.abc import Callable, Mapping

import pytest
from google.protobuf.message import Message
from grpc_harness import Client, GrpcHarness, a_message, a_receive, a_send, subscribing
from rocketmq_testkit.conformance.clients.grpc_requests import publishing
from rocketmq_testkit.emulator.gate.journal_entry import JournalEntry
from rocketmq_testkit.emulator.gate.raw_request import RawRequest, Rejection
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.grpc_v2.config.proxy_config import ProxyConfig
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.grpc_v2.proxy.rpc_table import Rpc
from rocketmq_testkit.grpc_v2.services import RPCS

_NAMED = [rpc for rpc in RPCS if not rpc.anonymous]
_SIGNED = "MQv2-HMAC-SHA1 Credential=ann/region/RocketMQ, SignedHeaders=x-mq-date-time, Signature=ABCDEF0123"
_IN_POOLS = {rpc.name: rpc.pool for rpc in RPCS if rpc.pool is not None}


def refused(harness: GrpcHarness) -> list[JournalEntry]:
    """Return the journal entries of requests that the proxy rejected itself (event `refused`)."""
    return [entry for entry in harness.engine.journal if entry.event == "refused"]


def outcome(entry: JournalEntry) -> Rejection:
    """Return the outcome of a rejected request."""
    assert isinstance(entry.outcome, Rejection)
    return entry.outcome


def fields(entry: JournalEntry) -> Mapping[str, str]:
    """Return the fields of a rejected request."""
    assert isinstance(entry.subject, RawRequest)
    return entry.subject.fields


@pytest.mark.parametrize("rpc", _NAMED, ids=[rpc.name for rpc in _NAMED])
def test_a_call_without_client_id_is_journaled(rpc: Rpc) -> None:
    """The response CLIENT_ID_REQUIRED of any RPC is journaled."""
    harness = GrpcHarness()
    harness.client("").start(rpc.name, rpc.request())
    (entry,) = refused(harness)
    assert (entry.node, entry.client, entry.label) == ("proxy", "grpc:", rpc.name)
    assert outcome(entry) == Rejection(pb.CLIENT_ID_REQUIRED, "CLIENT_ID_REQUIRED", "client id cannot be empty")


@pytest.mark.parametrize("rpc", sorted(_IN_POOLS))
@pytest.mark.parametrize("responds", [True, False])
def test_a_request_that_a_full_thread_pool_rejects_is_journaled(rpc: str, responds: bool) -> None:
    """The code TOO_MANY_REQUESTS is journaled, even if the client gets no response."""
    config = ProxyConfig(grpc_request_refusals=_IN_POOLS[rpc].title, flow_limit_answer_enable=responds)
    harness = GrpcHarness(proxy=config)
    request = next(each for each in RPCS if each.name == rpc).request()
    call = harness.client().start(rpc, request)
    assert call.finished is responds
    (entry,) = refused(harness)
    assert (entry.label, outcome(entry).name) == (rpc, "TOO_MANY_REQUESTS")
    assert outcome(entry).code == (pb.TOO_MANY_REQUESTS if responds else None)


@pytest.mark.parametrize("rpc", RPCS, ids=lambda rpc: rpc.name)
def test_a_failed_authentication_is_journaled_without_the_signature(rpc: Rpc) -> None:
    """The response UNAUTHORIZED of any RPC is journaled with the user and a masked signature."""
    harness = GrpcHarness(proxy=ProxyConfig(authentication_enabled=True))
    client = harness.client(authorization=_SIGNED)
    if rpc.name == "Telemetry":
        (command,) = client.send_settings(publishing("T")).commands
        assert command.status.code == pb.UNAUTHORIZED
    else:
        client.start(rpc.name, rpc.request())
    (entry,) = refused(harness)
    assert (entry.client, entry.label, outcome(entry).name) == ("grpc:client-1", rpc.name, "UNAUTHORIZED")
    assert outcome(entry).code == pb.UNAUTHORIZED
    assert "Credential=ann" in fields(entry)["authorization"]
    assert "ABCDEF0123" not in repr(entry)


def _telemetry(settings: pb.Settings) -> Callable[[Client], object]:
    return lambda client: client.send_settings(settings)


def _asking(rpc: str, request: Message) -> Callable[[Client], object]:
    return lambda client: client.start(rpc, request)


_TOPIC, _GROUP = pb.Resource(name="T"), pb.Resource(name="G")
_BAD = pb.Resource(name="a b")
_REFUSED: dict[str, tuple[Callable[[Client], object], str, str, dict[str, str]]] = {
    "illegal topic of a send": (
        _asking("SendMessage", a_send(a_message("a b", b"secret body"))),
        "SendMessage",
        "ILLEGAL_TOPIC",
        {"messages[0].topic.name": "a b", "messages[0].body": "11 bytes"},
    ),
    "no message in a send": (_asking("SendMessage", a_send()), "SendMessage", "MESSAGE_CORRUPTED", {}),
    "illegal topic of a route": (
        _asking("QueryRoute", sv.QueryRouteRequest(topic=_BAD)),
        "QueryRoute",
        "ILLEGAL_TOPIC",
        {"topic.name": "a b"},
    ),
    "no queue to read": (
        _asking("QueryAssignment", sv.QueryAssignmentRequest(topic=pb.Resource(name="W"), group=_GROUP)),
        "QueryAssignment",
        "FORBIDDEN",
        {"topic.name": "W", "group.name": "G"},
    ),
    "negative batch of a receive": (
        _asking("ReceiveMessage", a_receive(batch=-1)),
        "ReceiveMessage",
        "INTERNAL_SERVER_ERROR",
        {"batch_size": "-1"},
    ),
    "illegal receipt of an acknowledgement": (
        _asking(
            "AckMessage",
            sv.AckMessageRequest(group=_GROUP, topic=_TOPIC, entries=[sv.AckMessageEntry(receipt_handle="1 2")]),
        ),
        "AckMessage",
        "INTERNAL_SERVER_ERROR",
        {"entries[0].receipt_handle": "1 2", "group.name": "G", "topic.name": "T"},
    ),
    "acknowledgement of nothing": (
        _asking("AckMessage", sv.AckMessageRequest(group=_GROUP, topic=_TOPIC)),
        "AckMessage",
        "INTERNAL_SERVER_ERROR",
        {},
    ),
    "illegal receipt of a change": (
        _asking(
            "ChangeInvisibleDuration",
            sv.ChangeInvisibleDurationRequest(
                group=_GROUP, topic=_TOPIC, receipt_handle="1 2", invisible_duration={"seconds": 30}
            ),
        ),
        "ChangeInvisibleDuration",
        "INTERNAL_SERVER_ERROR",
        {"receipt_handle": "1 2", "invisible_duration.seconds": "30"},
    ),
    "illegal receipt of a dead letter": (
        _asking(
            "ForwardMessageToDeadLetterQueue",
            sv.ForwardMessageToDeadLetterQueueRequest(group=_GROUP, topic=_TOPIC, receipt_handle="1 2"),
        ),
        "ForwardMessageToDeadLetterQueue",
        "INTERNAL_SERVER_ERROR",
        {"receipt_handle": "1 2"},
    ),
    "unknown transaction": (
        _asking("EndTransaction", sv.EndTransactionRequest(topic=_TOPIC, transaction_id="x")),
        "EndTransaction",
        "INTERNAL_SERVER_ERROR",
        {"transaction_id": "x"},
    ),
    "heartbeat without settings": (
        _asking("Heartbeat", sv.HeartbeatRequest(group=_GROUP)),
        "Heartbeat",
        "UNRECOGNIZED_CLIENT_TYPE",
        {"group.name": "G"},
    ),
    "termination without settings": (
        _asking("NotifyClientTermination", sv.NotifyClientTerminationRequest(group=_GROUP)),
        "NotifyClientTermination",
        "UNRECOGNIZED_CLIENT_TYPE",
        {"group.name": "G"},
    ),
    "recall without a handle": (
        _asking("RecallMessage", sv.RecallMessageRequest(topic=_TOPIC)),
        "RecallMessage",
        "MESSAGE_PROPERTY_CONFLICT_WITH_TYPE",
        {"topic.name": "T"},
    ),
    "settings of neither kind": (
        _telemetry(pb.Settings(client_type=pb.PRODUCER)),
        "Telemetry",
        "INVALID_ARGUMENT",
        {"settings.client_type": "PRODUCER"},
    ),
    "settings with an illegal group": (
        _telemetry(subscribing("a b")),
        "Telemetry",
        "INVALID_ARGUMENT",
        {"settings.subscription.group.name": "a b"},
    ),
    "unserved": (_asking("GetOffset", sv.GetOffsetRequest()), "GetOffset", "UNIMPLEMENTED", {}),
}


@pytest.mark.parametrize(("act", "label", "name", "shown"), _REFUSED.values(), ids=_REFUSED)
def test_a_request_that_the_proxy_rejects_is_journaled(
    act: Callable[[Client], object], label: str, name: str, shown: dict[str, str]
) -> None:
    """The journal entry has the request's RPC, client and fields, and the code and text of the response."""
    harness = GrpcHarness()
    harness.topic("T")
    harness.topic("W", perm=2)
    act(harness.client())
    (entry,) = refused(harness)
    assert (entry.client, entry.label, outcome(entry).name) == ("grpc:client-1", label, name)
    assert outcome(entry).remark
    assert shown.items() <= fields(entry).items()


def test_the_table_of_refusals_has_every_rpc() -> None:
    assert {label for _, label, _, _ in _REFUSED.values()} | {"PullMessage", "UpdateOffset", "QueryOffset"} == {
        rpc.name for rpc in RPCS
    }


def test_a_request_that_the_engine_rejects_is_journaled_once() -> None:
    """A missing topic is journaled once, as the outcome of the operation."""
    harness = GrpcHarness()
    harness.client().ask("QueryRoute", sv.QueryRouteRequest(topic=_TOPIC))
    (entry,) = harness.engine.journal
    assert (entry.event, entry.label) == ("responded", "QueryRoute")
    assert isinstance(entry.outcome, EngineError)


def test_a_receive_without_messages_is_not_journaled_as_refused() -> None:
    """A receive that gets no message is not journaled as refused; its pops are journaled with their outcomes."""
    harness = GrpcHarness()
    harness.topic("T")
    harness.consumer().receive(a_receive())
    harness.advance(60_000)
    assert refused(harness) == []


@pytest.mark.parametrize("topics", [(), ("T",)])
def test_heartbeats_of_producers_are_journaled(topics: tuple[str, ...]) -> None:
    """A producer's heartbeat is journaled, even one without topics, which no broker gets."""
    harness = GrpcHarness()
    client = harness.client()
    client.send_settings(publishing(*topics))
    before = harness.engine.journal.written
    client.ask("Heartbeat", sv.HeartbeatRequest())
    (entry,) = harness.engine.journal.newest(harness.engine.journal.written - before)
    assert (entry.event, entry.client, entry.label) == ("responded", "grpc:client-1", "Heartbeat")


def test_long_requests_are_shortened_in_the_journal() -> None:
    """A journal line has at most 32 fields and 200 characters of each."""
    harness = GrpcHarness()
    many = {f"key-{number:04}": "v" * 10_000 for number in range(500)}
    harness.client().start("SendMessage", a_send(a_message("a b", user=many)))
    (entry,) = refused(harness)
    assert len(fields(entry)) == 32
    assert max(len(text) for text in fields(entry).values()) == 203
    assert isinstance(entry.subject, RawRequest)
    assert entry.subject.body_bytes > 5_000_000
