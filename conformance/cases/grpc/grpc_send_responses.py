"""The response to SendMessage of the gRPC proxy for a stored message: ids, offset and recall handle."""

from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import Any

from rocketmq_testkit.emulator.message.names import HALF_TOPIC, SCHEDULE_TOPIC, TIMER_TOPIC
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb

from ...case import grpc_case
from ...context.grpc import GrpcContext

_AHEAD_MS = 60_000
_TYPES: Mapping[str, dict[str, Any]] = {
    "NORMAL": {},
    "FIFO": {"message_type": pb.FIFO, "message_group": "g"},
    "DELAY": {"message_type": pb.DELAY},
    "TRANSACTION": {"message_type": pb.TRANSACTION},
}
"""The message types with their system properties; DELAY additionally needs a delivery time."""


@grpc_case("SendMessageActivity.convertToSendMessageResponse")
def every_send_response_has_the_message_id_as_transaction_id(t: GrpcContext) -> None:
    """A send of any type returns the message id as transaction id. Only timed messages get a recall handle."""
    for kind, system in _TYPES.items():
        at = t.now_ms() + _AHEAD_MS if kind == "DELAY" else None
        (entry,) = t.send(t.message(t.topic(kind=kind, queues=1), deliver_ms=at, **system)).entries
        t.note(kind, [entry.status, entry.message_id, entry.transaction_id])
        t.note(f"{kind}: can be recalled", bool(entry.recall_handle))


@grpc_case("SendMessageActivity.convertToSendMessageResponse")
def a_half_or_timed_send_returns_its_offset_in_the_system_topic(t: GrpcContext) -> None:
    """The response to a half or timed message has its offset in the system topic in which it waits."""
    half = t.message(t.topic(kind="TRANSACTION", queues=1), "half", message_type=pb.TRANSACTION)
    t.note("half", t.stored_in(HALF_TOPIC, t.send(half)))
    timed = t.message(t.topic(kind="DELAY", queues=1), "timed", deliver_ms=t.now_ms() + _AHEAD_MS)
    t.note("timed", t.stored_in(TIMER_TOPIC, t.send(timed)))


@grpc_case("SendMessageActivity.convertToSendMessageResponse", settings={"proxy.useDelayLevel": "true"})
def a_delay_level_send_returns_its_offset_in_the_levels_queue(t: GrpcContext) -> None:
    """With useDelayLevel the response to a timed message has its offset in the queue of its delay level."""
    timed = t.message(t.topic(kind="DELAY", queues=1), "timed", deliver_ms=t.now_ms() + 7_000_000)
    t.note("on the last level", t.stored_in(SCHEDULE_TOPIC, t.send(timed), queue=17))


@grpc_case("RecallMessageHandle.HandleV1.buildHandle")
def a_timed_half_messages_recall_handle_names_the_half_topic(t: GrpcContext) -> None:
    """A half message with a delivery time gets a recall handle for the half topic, not for its own."""
    topic = t.topic(kind="TRANSACTION", queues=1)
    half = t.message(topic, message_type=pb.TRANSACTION, deliver_ms=t.now_ms() + _AHEAD_MS)
    (entry,) = t.send(half).entries
    version, named, broker, _, message_id = urlsafe_b64decode(entry.recall_handle).decode().split(" ")
    t.note("parts without the time", [version, named, broker, message_id])
    t.note("recalled", t.recall(topic, entry.recall_handle), pb.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE)
