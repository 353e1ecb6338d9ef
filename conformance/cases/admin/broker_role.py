"""Requests rejected by a slave, by a broker without write permission, and without automatic creation."""

from rocketmq_testkit.emulator.message.names import SCHEDULE_TOPIC, retry_topic
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.json_text import dumps
from ...clients.remoting_response import Answer
from ...clients.remoting_sends import short_names
from ...context.remoting import Remoting
from ...helpers.broker_config import change
from ...helpers.pops import popping
from ...helpers.sends import back
from ...helpers.settings import STRICT, with_keys
from ...helpers.transactions import COMMIT, ROLLBACK, transacting


def _become(t: Remoting, setting: str) -> None:
    t.require(change(t, f"{setting}\n").code == 0, f"{setting} was not taken")


def _reply(t: Remoting, topic: str) -> Answer:
    """Send a reply to an offline client with another topic than the reply topic."""
    fields = t.send_fields(topic, properties={"REPLY_TO_CLIENT": "nobody"})
    return t.ask(RequestCode.SEND_REPLY_MESSAGE_V2, short_names(fields), b"reply")


@remoting_case("EndTransactionProcessor.processRequest", tidy=True)
def a_slave_takes_nothing_back(t: Remoting) -> None:
    """A slave rejects transaction ends, messages sent back and pulls. It accepts acknowledgements like a master."""
    group, producers = popping(t, 2), transacting(t)
    [first, second] = group.handles()
    sent = producers.half()
    place = group.send("later").place
    _become(t, "brokerRole=SLAVE")
    for value in (COMMIT, ROLLBACK):
        t.see(f"end {value}", producers.end(sent, value), 11)
    t.see("end of nothing", producers.end(sent, COMMIT, commitLogOffset=1 << 40))
    t.see("sent back", back(t, group.name, place, 1), 2)
    t.see("sent back by an unknown group", back(t, t.new("group"), place, 1), 2)
    pulled = t.pull(group.topic, t.group())
    t.require(pulled.code == 2, f"a slave is pulled from: {pulled}")
    t.see("pulled", pulled.bodies)
    t.see("acknowledged", group.ack(first, 0).code)
    _become(t, "brokerRole=ASYNC_MASTER")
    t.see("acknowledged by a master", group.ack(second, 1), 0)
    t.see("committed by a master", producers.end(sent, COMMIT), 0)
    t.see("sent back to a master", back(t, group.name, place, 1), 0)


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack", tidy=True)
def what_may_not_be_written_takes_nothing_back(t: Remoting) -> None:
    """Sending back is rejected by a broker without write permission, or if the retry topic has none."""
    topic, group = t.topic(queues=1), t.group()
    [sent] = t.sent(topic, 1)
    _become(t, "brokerPermission=4")
    t.see("broker", back(t, group, sent.place, 1), 16)
    t.see("broker, given up", back(t, group, sent.place, -1), 16)
    t.see("broker, unknown group", back(t, t.new("group"), sent.place, 1).code)
    _become(t, "brokerPermission=6")
    t.topic(name=retry_topic(group), queues=1, perm=4)
    t.see("retry topic", back(t, group, sent.place, 1), 16)
    t.see("retry topic, given up", back(t, group, sent.place, -1), 16)
    t.see("beyond the log", back(t, group, 1 << 40, 1).code)
    t.topic(name=retry_topic(group), queues=1, perm=6)
    t.see("allowed", back(t, group, sent.place, 1), 0)


@remoting_case("ReplyMessageProcessor.processReplyMessageRequest", settings=with_keys(STRICT, "autoCreateTopicEnable"))
def a_reply_needs_a_topic_to_be_stored_in(t: Remoting) -> None:
    """A reply to a topic that does not exist and cannot be created, or to a system topic, is rejected like a send."""
    t.see("unknown topic", _reply(t, t.new()), 17)
    t.see("topic of the broker", _reply(t, SCHEDULE_TOPIC), 16)
    t.see("plain topic", _reply(t, t.topic(queues=1)).without("queueOffset"), 1)


@remoting_case(
    "QueryAssignmentProcessor.setMessageRequestMode", settings=with_keys(STRICT, "autoCreateSubscriptionGroup")
)
def a_mode_needs_a_group_where_none_is_made(t: Remoting) -> None:
    """A message request mode for an unknown group is rejected without automatic creation of groups."""
    body = {"topic": t.topic(), "consumerGroup": t.new("group"), "mode": "POP", "popShareQueueNum": 0}
    t.see("unknown group", t.ask(RequestCode.SET_MESSAGE_REQUEST_MODE, None, dumps(body)), 26)
    body["consumerGroup"] = t.group()
    t.see("known group", t.ask(RequestCode.SET_MESSAGE_REQUEST_MODE, None, dumps(body)), 0)
