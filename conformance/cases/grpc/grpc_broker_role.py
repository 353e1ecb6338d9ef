"""Requests that a slave or a broker without write permission rejects through the gRPC proxy."""

import re

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case
from ...context.grpc import GrpcContext
from ...helpers.consumer import consuming

_DISKS = re.compile(r"\[CL: [^\]]*\]")
_KINDS = (pb.NORMAL, pb.FIFO, pb.DELAY, pb.TRANSACTION)
_ENDED_SECONDS = 1
"""The proxy does not wait for the broker's response to EndTransaction."""


def _become(t: GrpcContext, settings: str) -> None:
    changed = t.request(RequestCode.UPDATE_BROKER_CONFIG, {}, f"{settings}\n".encode())
    t.require(changed.code == 0, f"{settings} was not accepted")


@grpc_case("EndTransactionProcessor.processRequest", tidy=True)
def ending_a_transaction_on_a_slave_returns_ok_without_effect(t: GrpcContext) -> None:
    """EndTransaction on a slave returns OK, but the half message is neither committed nor can it be ended later."""
    consumer = consuming(t, kind="TRANSACTION")
    topic = consumer.topic
    ended, kept = (t.send(t.message(topic, each, message_type=pb.TRANSACTION)).entries[0] for each in ("ended", "kept"))
    _become(t, "brokerRole=SLAVE")
    t.note("ended", t.end_transaction(topic, ended.transaction_id), pb.OK)
    t.wait(_ENDED_SECONDS)
    _become(t, "brokerRole=ASYNC_MASTER")
    t.note("received", consumer.receive_nothing(), pb.MESSAGE_NOT_FOUND)
    t.note("ended again", t.end_transaction(topic, ended.transaction_id), pb.INTERNAL_SERVER_ERROR)
    t.note("the other ended", t.end_transaction(topic, kept.transaction_id), pb.OK)
    t.note("received then", consumer.receive().bodies)


@grpc_case("HookUtils.checkBeforePutMessage", tidy=True)
def a_slave_rejects_sends_and_forwards_as_internal_server_error(t: GrpcContext) -> None:
    """A slave rejects messages of all types and forwarding to the dead letter queue.

    The proxy returns INTERNAL_SERVER_ERROR, not a busy status.
    """
    consumer = consuming(t, 1)
    handle = consumer.handle()
    topics = {kind: t.topic(kind=pb.MessageType.Name(kind), queues=1) for kind in _KINDS}
    _become(t, "brokerRole=SLAVE")
    for kind, topic in topics.items():
        later = t.now_ms() + 60_000 if kind == pb.DELAY else None
        group = "one" if kind == pb.FIFO else None
        sent = t.send(t.message(topic, "m", message_type=kind, deliver_ms=later, message_group=group))
        # The disk usage in the text varies.
        t.note(pb.MessageType.Name(kind), [sent.status.code, _DISKS.sub("[disks]", sent.status.message)])
    t.note("given up", consumer.forward(handle))
    _become(t, "brokerRole=ASYNC_MASTER")
    t.note("given up at a master", consumer.forward(handle), pb.OK)


@grpc_case("SendMessageProcessor.sendMessage", tidy=True)
def a_broker_without_write_permission_accepts_half_messages(t: GrpcContext) -> None:
    """A broker without write permission accepts half messages and their ends. It rejects only ordered topics."""
    consumer = consuming(t, kind="TRANSACTION")
    topic = consumer.topic
    before = t.send(t.message(topic, "before", message_type=pb.TRANSACTION)).entries[0]
    _become(t, "brokerPermission=4")
    sent = t.send(t.message(topic, "after", message_type=pb.TRANSACTION))
    t.note("sent", sent.status, pb.OK)
    for entry in (before, sent.entries[0]):
        t.note("ended", t.end_transaction(topic, entry.transaction_id), pb.OK)
    t.note("received", sorted(consumer.received_within(seconds=_ENDED_SECONDS).bodies))
    _become(t, "brokerPermission=6")
