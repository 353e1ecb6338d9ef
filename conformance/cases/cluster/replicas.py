"""A master that waits for slaves or suggests them to consumers, with and without a slave."""

from typing import Unpack

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case, remoting_case
from ...clients.remoting_sends import short_names
from ...clients.send_fields import SendFields
from ...context.grpc import GrpcContext
from ...context.remoting import RemotingContext
from ...helpers.settings import FURTHER_CHANGED_KEYS, shared_settings

WITHOUT_SLAVE = {"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2"}
ALL_READS_FAR_BEHIND = {"slaveReadEnable": "true", "accessMessageInMemoryMaxRatio": "0"}
"""Settings by which every group with a lag counts as far behind, because the limit is 0 % of the memory."""


def note_sent_at_once(t: RemotingContext, topic: str, label: str = "sent", **more: Unpack[SendFields]) -> None:
    """Send a message; record the response and that it came without waiting."""
    watch = t.stopwatch()
    t.note(label, t.send(topic, **more), 0)
    t.note("after", watch.between(0, 2))


@remoting_case("GroupTransferService.doWaitTransfer", settings=WITHOUT_SLAVE)
def a_send_to_a_sync_master_without_a_slave_gets_flush_slave_timeout(t: RemotingContext) -> None:
    """A send to a synchronous master without a slave is stored, and returns FLUSH_SLAVE_TIMEOUT after 3 s.

    A message with WAIT=false gets its response at once.
    """
    topic = t.topic(queues=1)
    watch = t.stopwatch()
    waiting = t.start(RequestCode.SEND_MESSAGE_V2, short_names(t.send_fields(topic)), b"waits")
    t.note("stored at once", t.stored(topic).bodies)
    t.note_arrival(waiting, watch, 2.9, 8, code=12)
    note_sent_at_once(t, topic, "waits for nobody", properties={"WAIT": "false"})


@remoting_case("GroupTransferService.doWaitTransfer", settings=shared_settings(FURTHER_CHANGED_KEYS, "brokerRole"))
def a_synchronous_master_waits_for_no_slave_by_default(t: RemotingContext) -> None:
    """With the default inSyncReplicas=1 a synchronous master does not wait, because it counts itself."""
    note_sent_at_once(t, t.topic(queues=1))


@grpc_case("SendMessageActivity.convertToSendMessageResponse", settings=WITHOUT_SLAVE)
def a_proxy_send_without_a_slave_gets_slave_persistence_timeout(t: GrpcContext) -> None:
    """A send through the proxy without a slave returns SLAVE_PERSISTENCE_TIMEOUT, and the message is stored."""
    topic = t.topic(queues=1)
    waiting = t.start_call("SendMessage", sv.SendMessageRequest(messages=[t.message(topic, "waits")]))
    t.wait(4)
    t.note("sent", waiting(), pb.SLAVE_PERSISTENCE_TIMEOUT)
    t.note("stored", t.messages_of(topic, t.group())[0].body.decode())


@remoting_case("PullMessageProcessor.composeResponseHeader", settings=ALL_READS_FAR_BEHIND)
def a_master_suggests_a_slave_to_a_lagging_group(t: RemotingContext) -> None:
    """A master suggests a slave to a group that is far behind, otherwise itself.

    Broker ids of the group have priority.
    """
    topic, group = t.topic(queues=1), t.group()
    other = t.group(brokerId=3, whichBrokerWhenConsumeSlowly=2)
    t.sent(topic, 3)
    t.note("far behind", t.pull(topic, group, max_messages=1), 0)
    t.note("at the end", t.pull(topic, group, offset=3), 19)
    t.note("beyond it", t.pull(topic, group, offset=30), 21)
    t.note("far behind, as the group has it", t.pull(topic, other, max_messages=1), 0)
    t.note("at the end, as the group has it", t.pull(topic, other, offset=3), 19)
    t.note("nothing that matches", t.pull(topic, group, expression="none"), 20)


@remoting_case(
    "PullMessageProcessor.composeResponseHeader",
    settings=shared_settings(FURTHER_CHANGED_KEYS, "accessMessageInMemoryMaxRatio"),
)
def without_slave_read_enable_the_master_suggests_itself(t: RemotingContext) -> None:
    """Without slaveReadEnable the master suggests itself and ignores the broker ids of the group."""
    topic, group = t.topic(queues=1), t.group(brokerId=3)
    t.sent(topic, 3)
    t.note("far behind", t.pull(topic, group, max_messages=1), 0)
    t.note("at the end", t.pull(topic, group, offset=3), 19)
