"""A master that waits for slaves, and one that suggests them: what it does, whether it has a slave or not."""

from typing import Unpack

from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case, remoting_case
from ...settings import ODD, with_keys
from ...worlds.grpc import Grpc
from ...worlds.remoting import Remoting, short_names
from ...worlds.send_fields import SendFields

WITHOUT_SLAVE = {"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2"}
BEHIND = {"slaveReadEnable": "true", "accessMessageInMemoryMaxRatio": "0"}
"""Whoever is not at the end of the log is far behind."""


def see_sent_at_once(t: Remoting, topic: str, label: str = "sent", **more: Unpack[SendFields]) -> None:
    """Send a message, and note the answer and that nothing was waited for."""
    watch = t.stopwatch()
    t.see(label, t.send(topic, **more), 0)
    t.see("after", watch.between(0, 2))


@remoting_case("GroupTransferService.doWaitTransfer", settings=WITHOUT_SLAVE)
def a_send_waits_for_a_slave_that_is_not_there(t: Remoting) -> None:
    """It is told so after three seconds, and its message is stored; one that waits for nobody is answered at once."""
    topic = t.topic(queues=1)
    watch = t.stopwatch()
    waiting = t.start(RequestCode.SEND_MESSAGE_V2, short_names(t.send_fields(topic)), b"waits")
    t.see("stored at once", t.stored(topic).bodies)
    t.see_arrival(waiting, watch, 2.9, 8, 12)
    see_sent_at_once(t, topic, "waits for nobody", properties={"WAIT": "false"})


@remoting_case("GroupTransferService.doWaitTransfer", settings=with_keys(ODD, "brokerRole"))
def a_synchronous_master_waits_for_nobody_by_default(t: Remoting) -> None:
    """One broker in sync is enough, and that is itself."""
    see_sent_at_once(t, t.topic(queues=1))


@grpc_case("SendMessageActivity.convertToSendMessageResponse", settings=WITHOUT_SLAVE)
def a_send_through_the_proxy_waits_for_a_slave_that_is_not_there(t: Grpc) -> None:
    """It is told so, and its message is stored."""
    topic = t.topic(queues=1)
    waiting = t.start_call("SendMessage", sv.SendMessageRequest(messages=[t.message(topic, "waits")]))
    t.wait(4)
    t.see("sent", waiting(), 50402)
    t.see("stored", t.messages_of(topic, t.group())[0].body.decode())


@remoting_case("PullMessageProcessor.composeResponseHeader", settings=BEHIND)
def who_is_far_behind_is_sent_to_a_slave(t: Remoting) -> None:
    """A master suggests one broker of a group to who has left much behind, and another to who has not."""
    topic, group = t.topic(queues=1), t.group()
    other = t.group(brokerId=3, whichBrokerWhenConsumeSlowly=2)
    t.sent(topic, 3)
    t.see("far behind", t.pull(topic, group, max_messages=1), 0)
    t.see("at the end", t.pull(topic, group, offset=3), 19)
    t.see("beyond it", t.pull(topic, group, offset=30), 21)
    t.see("far behind, as the group has it", t.pull(topic, other, max_messages=1), 0)
    t.see("at the end, as the group has it", t.pull(topic, other, offset=3), 19)
    t.see("nothing that matches", t.pull(topic, group, expression="none"), 20)


@remoting_case("PullMessageProcessor.composeResponseHeader", settings=with_keys(ODD, "accessMessageInMemoryMaxRatio"))
def nobody_is_sent_to_a_slave_that_is_not_read_from(t: Remoting) -> None:
    """Without slaveReadEnable the master suggests itself, whatever the group has."""
    topic, group = t.topic(queues=1), t.group(brokerId=3)
    t.sent(topic, 3)
    t.see("far behind", t.pull(topic, group, max_messages=1), 0)
    t.see("at the end", t.pull(topic, group, offset=3), 19)
