"""Sends that wait for a disk flush that does not finish in time."""

from ...case import grpc_case, remoting_case
from ...worlds.consumer import consuming
from ...worlds.disk import TOO_LATE
from ...worlds.grpc import Grpc
from ...worlds.remoting import Remoting
from ...worlds.transactions import COMMIT, transacting
from ..send.send_back import back


@remoting_case("FlushDiskWatcher.run", settings=TOO_LATE)
def a_send_that_is_not_on_the_disk_in_time(t: Remoting) -> None:
    """A send whose flush times out returns FLUSH_DISK_TIMEOUT and is stored; one with WAIT=false succeeds."""
    topic = t.topic(queues=1)
    t.see("sent", t.send(topic, "waits"), 10)
    t.see("waits for nobody", t.send(topic, "does not", properties={"WAIT": "false"}), 0)
    t.see("stored", t.stored(topic, 2).bodies)


@remoting_case("EndTransactionProcessor.sendFinalMessage", settings=TOO_LATE)
def what_else_is_not_on_the_disk_in_time(t: Remoting) -> None:
    """Half and delayed messages return FLUSH_DISK_TIMEOUT; transaction ends and sending back succeed.

    All are delivered.
    """
    producers, group = transacting(t), t.group()
    topic = producers.topic
    half = producers.half()
    t.see("half message", half.without("queueOffset"), 10)  # other cases share its queue
    t.until(lambda: t.view(half.place).code == 0)  # it has left the write buffer
    t.see("ended", producers.end(half, COMMIT), 0)
    [stored] = t.stored(topic).messages
    t.see("committed", stored.body)
    t.see("sent back", back(t, group, stored.physical_offset, 1), 0)
    t.see("delayed", t.send(topic, "delayed", properties={"DELAY": "1"}).without("queueOffset"), 10)
    t.see("comes", t.stored(topic, 2).bodies)


@grpc_case("SendMessageActivity.convertToSendMessageResponse", settings=TOO_LATE)
def a_send_through_the_proxy_that_is_not_on_the_disk_in_time(t: Grpc) -> None:
    """A send through the proxy whose flush times out returns MASTER_PERSISTENCE_TIMEOUT, and the message is stored."""
    consumer = consuming(t)
    t.see("sent", t.send(consumer.message("m0")), 50401)
    t.see("received", consumer.received_at_last().bodies)
