"""Requests rejected by a slave, by a broker without write permission, or for lack of automatic creation."""

from rocketmq_testkit.emulator.message.names import SCHEDULE_TOPIC, retry_topic
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.json_text import dumps
from ...clients.remoting_response import DecodedResponse
from ...clients.remoting_sends import short_names
from ...context.remoting import RemotingContext
from ...helpers.broker_config import change
from ...helpers.pops import popping
from ...helpers.sends import send_back
from ...helpers.settings import NO_AUTO_CREATE, shared_settings
from ...helpers.transactions import COMMIT, ROLLBACK, transacting


def change_setting(t: RemotingContext, setting: str) -> None:
    t.require(change(t, f"{setting}\n").code == 0, f"{setting} was not accepted")


def _reply(t: RemotingContext, topic: str) -> DecodedResponse:
    """Send a reply to an offline client with another topic than the reply topic."""
    fields = t.send_fields(topic, properties={"REPLY_TO_CLIENT": "nobody"})
    return t.request(RequestCode.SEND_REPLY_MESSAGE_V2, short_names(fields), b"reply")


@remoting_case("EndTransactionProcessor.processRequest", tidy=True)
def a_slave_rejects_transaction_ends_sent_back_messages_and_pulls(t: RemotingContext) -> None:
    """A slave rejects transaction ends, messages sent back and pulls. It accepts acknowledgements like a master."""
    group, producers = popping(t, 2), transacting(t)
    [first, second] = group.handles()
    sent = producers.half()
    place = group.send("later").place
    change_setting(t, "brokerRole=SLAVE")
    for value in (COMMIT, ROLLBACK):
        t.note(f"end {value}", producers.end(sent, value), 11)
    t.note("end of nothing", producers.end(sent, COMMIT, commitLogOffset=1 << 40))
    t.note("sent back", send_back(t, group.name, place, 1), 2)
    t.note("sent back by an unknown group", send_back(t, t.new("group"), place, 1), 2)
    pulled = t.pull(group.topic, t.group())
    t.require(pulled.code == 2, f"a slave did not reject a pull: {pulled}")
    t.note("pulled", pulled.bodies)
    t.note("acknowledged", group.ack(first, 0).code)
    change_setting(t, "brokerRole=ASYNC_MASTER")
    t.note("acknowledged by a master", group.ack(second, 1), 0)
    t.note("committed by a master", producers.end(sent, COMMIT), 0)
    t.note("sent back to a master", send_back(t, group.name, place, 1), 0)


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack", tidy=True)
def sending_back_is_rejected_without_write_permission(t: RemotingContext) -> None:
    """Sending back is rejected by a broker without write permission, or if the retry topic has none."""
    topic, group = t.topic(queues=1), t.group()
    [sent] = t.sent(topic, 1)
    change_setting(t, "brokerPermission=4")
    t.note("broker", send_back(t, group, sent.place, 1), 16)
    t.note("broker, given up", send_back(t, group, sent.place, -1), 16)
    t.note("broker, unknown group", send_back(t, t.new("group"), sent.place, 1).code)
    change_setting(t, "brokerPermission=6")
    t.topic(name=retry_topic(group), queues=1, perm=4)
    t.note("retry topic", send_back(t, group, sent.place, 1), 16)
    t.note("retry topic, given up", send_back(t, group, sent.place, -1), 16)
    t.note("beyond the log", send_back(t, group, 1 << 40, 1).code)
    t.topic(name=retry_topic(group), queues=1, perm=6)
    t.note("allowed", send_back(t, group, sent.place, 1), 0)


@remoting_case(
    "ReplyMessageProcessor.processReplyMessageRequest",
    settings=shared_settings(NO_AUTO_CREATE, "autoCreateTopicEnable"),
)
def a_reply_to_an_unknown_or_system_topic_is_rejected(t: RemotingContext) -> None:
    """A reply to a topic that does not exist and cannot be created, or to a system topic, is rejected like a send."""
    t.note("unknown topic", _reply(t, t.new()), 17)
    t.note("topic of the broker", _reply(t, SCHEDULE_TOPIC), 16)
    t.note("plain topic", _reply(t, t.topic(queues=1)).without("queueOffset"), 1)


@remoting_case(
    "QueryAssignmentProcessor.setMessageRequestMode",
    settings=shared_settings(NO_AUTO_CREATE, "autoCreateSubscriptionGroup"),
)
def a_request_mode_for_an_unknown_group_is_rejected_without_auto_creation(t: RemotingContext) -> None:
    """A message request mode for an unknown group is rejected without automatic creation of groups."""
    body = {"topic": t.topic(), "consumerGroup": t.new("group"), "mode": "POP", "popShareQueueNum": 0}
    t.note("unknown group", t.request(RequestCode.SET_MESSAGE_REQUEST_MODE, None, dumps(body)), 26)
    body["consumerGroup"] = t.group()
    t.note("known group", t.request(RequestCode.SET_MESSAGE_REQUEST_MODE, None, dumps(body)), 0)
