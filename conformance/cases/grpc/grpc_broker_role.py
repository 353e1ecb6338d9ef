"""Requests that a slave or a broker without write permission rejects through the gRPC proxy."""

import re

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case
from ...worlds.consumer import consuming
from ...worlds.grpc import Grpc

_DISKS = re.compile(r"\[CL: [^\]]*\]")
_KINDS = (pb.NORMAL, pb.FIFO, pb.DELAY, pb.TRANSACTION)
_ENDED_SECONDS = 1
"""The proxy does not wait for the broker's response to EndTransaction."""


def _become(t: Grpc, settings: str) -> None:
    changed = t.ask(RequestCode.UPDATE_BROKER_CONFIG, {}, f"{settings}\n".encode())
    t.require(changed.code == 0, f"{settings} was not taken")


@grpc_case("EndTransactionProcessor.processRequest", tidy=True)
def a_slave_ends_no_transaction(t: Grpc) -> None:
    """EndTransaction on a slave returns OK, but the half message is neither committed nor can it be ended later."""
    consumer = consuming(t, kind="TRANSACTION")
    topic = consumer.topic
    ended, kept = (t.send(t.message(topic, each, message_type=pb.TRANSACTION)).entries[0] for each in ("ended", "kept"))
    _become(t, "brokerRole=SLAVE")
    t.see("ended", t.end_transaction(topic, ended.transaction_id), 20000)
    t.wait(_ENDED_SECONDS)
    _become(t, "brokerRole=ASYNC_MASTER")
    t.see("received", consumer.receive_nothing(), 40401)
    t.see("ended again", t.end_transaction(topic, ended.transaction_id), 50001)
    t.see("the other ended", t.end_transaction(topic, kept.transaction_id), 20000)
    t.see("received then", consumer.receive().bodies)


@grpc_case("HookUtils.checkBeforePutMessage", tidy=True)
def a_slave_stores_nothing(t: Grpc) -> None:
    """A slave rejects messages of all types and forwarding to the DLQ.

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
        # # The disk usage in the text varies.
        t.see(pb.MessageType.Name(kind), [sent.status.code, _DISKS.sub("[disks]", sent.status.message)])
    t.see("given up", consumer.forward(handle))
    _become(t, "brokerRole=ASYNC_MASTER")
    t.see("given up at a master", consumer.forward(handle), 20000)


@grpc_case("SendMessageProcessor.sendMessage", tidy=True)
def a_broker_that_may_not_be_written_to_takes_transactions(t: Grpc) -> None:
    """A broker without write permission accepts half messages and their ends. It rejects only ordered topics."""
    consumer = consuming(t, kind="TRANSACTION")
    topic = consumer.topic
    before = t.send(t.message(topic, "before", message_type=pb.TRANSACTION)).entries[0]
    _become(t, "brokerPermission=4")
    sent = t.send(t.message(topic, "after", message_type=pb.TRANSACTION))
    t.see("sent", sent.status, 20000)
    for entry in (before, sent.entries[0]):
        t.see("ended", t.end_transaction(topic, entry.transaction_id), 20000)
    t.see("received", sorted(consumer.received_within(_ENDED_SECONDS).bodies))
    _become(t, "brokerPermission=6")
