"""Sends that wait for a disk flush that does not finish in time."""

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb

from ...case import grpc_case, remoting_case
from ...context.grpc import GrpcContext
from ...context.remoting import RemotingContext
from ...helpers.consumer import consuming
from ...helpers.disk import LATE_FLUSH
from ...helpers.sends import send_back
from ...helpers.transactions import COMMIT, transacting


@remoting_case("FlushDiskWatcher.run", settings=LATE_FLUSH)
def a_send_with_a_late_disk_flush_gets_flush_disk_timeout(t: RemotingContext) -> None:
    """A send whose flush times out returns FLUSH_DISK_TIMEOUT and is stored; one with WAIT=false succeeds."""
    topic = t.topic(queues=1)
    t.note("sent", t.send(topic, "waits"), 10)
    t.note("waits for nobody", t.send(topic, "does not", properties={"WAIT": "false"}), 0)
    t.note("stored", t.stored(topic, 2).bodies)


@remoting_case("EndTransactionProcessor.sendFinalMessage", settings=LATE_FLUSH)
def half_and_delayed_sends_get_flush_disk_timeout_but_commits_succeed(t: RemotingContext) -> None:
    """Half and delayed messages return FLUSH_DISK_TIMEOUT; transaction ends and sending back succeed.

    All are delivered.
    """
    producers, group = transacting(t), t.group()
    topic = producers.topic
    half = producers.half()
    t.note("half message", half.without("queueOffset"), 10)  # other cases share its queue
    t.until(lambda: t.view(half.place).code == 0)  # it has left the write buffer
    t.note("ended", producers.end(half, COMMIT), 0)
    [stored] = t.stored(topic).messages
    t.note("committed", stored.body)
    t.note("sent back", send_back(t, group, stored.physical_offset, 1), 0)
    t.note("delayed", t.send(topic, "delayed", properties={"DELAY": "1"}).without("queueOffset"), 10)
    t.note("comes", t.stored(topic, 2).bodies)


@grpc_case("SendMessageActivity.convertToSendMessageResponse", settings=LATE_FLUSH)
def a_proxy_send_with_a_late_flush_gets_master_persistence_timeout(t: GrpcContext) -> None:
    """A send through the proxy whose flush times out returns MASTER_PERSISTENCE_TIMEOUT, and the message is stored."""
    consumer = consuming(t)
    t.note("sent", t.send(consumer.message("m0")), pb.MASTER_PERSISTENCE_TIMEOUT)
    t.note("received", consumer.received_at_last().bodies)
