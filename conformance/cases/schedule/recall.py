"""RECALL_MESSAGE: recalling a timed message before its delivery."""

from rocketmq_testkit.emulator.message.names import TIMER_TOPIC
from rocketmq_testkit.remoting.client import ReceivedMessage

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.broker_config import change
from ...helpers.settings import NO_AUTO_CREATE, shared_settings
from ...helpers.timers import handle, handle_of, recall, timed


@remoting_case("RecallMessageProcessor.processRequest")
def a_recalled_message_is_not_delivered(t: RemotingContext) -> None:
    """A message recalled in time is not delivered; other messages of the same second are."""
    topic = t.topic(queues=1)
    sent = [timed(t, topic, 3000, body) for body in ("first", "taken back", "last")]
    t.note("recalled", recall(t, topic, sent[1]["recallHandle"]), 0)
    t.stored(topic, 2)
    t.wait(1.5)
    t.note("delivered", sorted(t.stored(topic, 2).bodies))


@remoting_case("RecallMessageHandle.HandleV1.buildHandle")
def a_recall_handle_contains_topic_broker_time_and_message_id(t: RemotingContext) -> None:
    """A recall handle has version, topic, broker, time and message id. The time is 1 ms after a full second."""
    topic = t.topic(queues=1)
    now = t.now_ms()
    parts = handle_of(timed(t, topic, 30_000))
    t.note("parts", parts)
    left = int(parts[3]) - now
    t.note("time", [int(parts[3]) % 1000, 28_500 <= left <= 31_500])


@remoting_case("SendMessageProcessor.attachRecallHandle")
def only_timed_messages_have_handles(t: RemotingContext) -> None:
    """Responses to plain messages and messages with a delay level have no recall handle."""
    topic = t.topic(queues=1)
    t.note("plain", handle_of(t.send(topic)))
    t.note("level", handle_of(t.send(topic, properties={"DELAY": "1"})))


@remoting_case("RecallMessageProcessor.processRequest")
def a_message_may_be_recalled_twice(t: RemotingContext) -> None:
    """A recall succeeds even if its message was already recalled or never existed."""
    topic = t.topic(queues=1)
    sent = timed(t, topic, 20_000)
    t.note("once", recall(t, topic, sent["recallHandle"]), 0)
    t.note("twice", recall(t, topic, sent["recallHandle"]), 0)
    unknown = handle("v1", topic, t.broker_name, t.now_ms() + 20_000, "nobody")
    t.note("unknown message", recall(t, topic, unknown), 0)


@remoting_case("RecallMessageProcessor.processRequest")
def a_recall_too_late_or_too_far_in_the_future_is_refused(t: RemotingContext) -> None:
    """A recall is rejected once the message's second has begun, or if its time is too far in the future."""
    topic = t.topic(queues=1)
    sent = timed(t, topic, 1500)
    t.stored(topic)
    t.note("delivered", recall(t, topic, sent["recallHandle"]), 604)
    for label, left in (("now", 0), ("a minute ago", -60_000), ("in four days", 4 * 86_400_000)):
        parts = ("v1", topic, t.broker_name, t.now_ms() + left, "id")
        t.note(label, recall(t, topic, handle(*parts)), 604)
    t.note("no time", recall(t, topic, handle("v1", topic, t.broker_name, "soon", "id")))


@remoting_case("RecallMessageHandle.decodeHandle")
def malformed_or_foreign_recall_handles_are_refused(t: RemotingContext) -> None:
    """A recall handle that is malformed, or of another broker or topic, is rejected with a reason."""
    topic, soon = t.topic(queues=1), t.now_ms() + 20_000
    for label, text in (
        ("garbage", "garbage"),
        ("no Base64", "!!!"),
        ("other text", handle("hello", "world")),
        ("empty", ""),
        ("missing", None),
        ("other version", handle("v2", topic, t.broker_name, soon, "id")),
        ("too short", handle("v1", topic, t.broker_name, soon)),
        ("longer", handle("v1", topic, t.broker_name, soon, "id", "more")),
        ("other topic", handle("v1", t.new(), t.broker_name, soon, "id")),
        ("other broker", handle("v1", topic, "broker-z", soon, "id")),
    ):
        t.note(label, recall(t, topic, text))


@remoting_case("RecallMessageProcessor.processRequest")
def a_recall_for_an_unknown_topic_is_refused(t: RemotingContext) -> None:
    """A recall must name an existing topic, which is checked before the handle."""
    t.note("unknown", recall(t, t.new(), "garbage"), 17)
    t.note("blank", recall(t, "", "garbage"), 17)
    t.note("missing", recall(t, None, "garbage"))


@remoting_case("RecallMessageProcessor.processRequest")
def a_recall_stores_a_delete_marker_that_is_never_delivered(t: RemotingContext) -> None:
    """A recall stores a delete marker in the timer topic, which is never delivered."""
    topic, group = t.topic(queues=1), t.group()
    sent = timed(t, topic, 2500)
    place, name = int(sent["queueOffset"]), sent["transactionId"]
    t.note("recalled", recall(t, topic, sent["recallHandle"]), 0)

    def mark() -> list[ReceivedMessage]:
        found = t.pull(TIMER_TOPIC, group, 0, place).messages
        return [each for each in found if each.properties.get("TIMER_DEL_UNIQKEY", "").endswith(name)]

    for message in t.until(mark):
        t.note("body", message.body)
        t.note("properties", dict(sorted(message.properties.items())))
    t.wait(4)
    t.note("nothing came", t.pull(topic, t.group()), 19)


@remoting_case("RecallMessageProcessor.processRequest", settings=shared_settings(NO_AUTO_CREATE, "recallMessageEnable"))
def recalls_can_be_turned_off(t: RemotingContext) -> None:
    """With recallMessageEnable=false sends still return recall handles, but recalls are rejected."""
    topic = t.topic(queues=1)
    sent = timed(t, topic, 20_000)
    t.note("handle", handle_of(sent))
    t.note("recalled", recall(t, topic, sent["recallHandle"]), 16)


@remoting_case("RecallMessageProcessor.processRequest", tidy=True)
def a_slave_or_a_broker_not_yet_serving_refuses_recalls(t: RemotingContext) -> None:
    """A slave and a broker that does not serve yet reject recalls.

    A non-writable one does with allowRecallWhenBrokerNotWriteable=false.
    """
    topic = t.topic(queues=1)
    sent = timed(t, topic, 600_000)
    later = t.now_ms() + 3_600_000
    for label, settings, code in (
        ("slave", "brokerRole=SLAVE", 11),
        ("master again", "brokerRole=ASYNC_MASTER", 0),
        ("before it serves", f"startAcceptSendRequestTimeStamp={later}", 14),
        ("when it serves", "startAcceptSendRequestTimeStamp=0", 0),
        ("not writable", "brokerPermission=4", 0),
        ("not writable, and forbidden", "allowRecallWhenBrokerNotWriteable=false", 14),
        ("writable", "brokerPermission=6", 0),
    ):
        t.require(change(t, f"{settings}\n").code == 0, f"{settings} was not accepted")
        t.note(label, recall(t, topic, sent["recallHandle"]), code)
        response = t.send(topic)
        t.note(f"{label}: sent", response if label == "slave" else response.code)
    change(t, "allowRecallWhenBrokerNotWriteable=true\n")


@remoting_case("RecallMessageHandle.decodeHandle")
def recall_handles_are_unsigned_and_judged_by_their_contents(t: RemotingContext) -> None:
    """Recall handles are not signed: a modified handle is judged by its contents."""
    topic, other = t.topic(queues=1), t.topic(queues=1)
    true = handle_of(timed(t, topic, 30_000))
    for label, place, text in (
        ("nothing", 0, true[0]),
        ("version", 0, "V1"),
        ("topic", 1, other),
        ("topic in capitals", 1, topic.upper()),
        ("broker", 2, "broker-b"),
        ("an earlier time", 3, str(int(true[3]) - 5000)),
        ("a negative time", 3, f"-{true[3]}"),
        ("a time with letters", 3, f"{true[3]}x"),
        ("id", 4, t.message_id()),
        ("no id", 4, ""),
    ):
        parts = [*true[:place], text, *true[place + 1 :]]
        t.note(label, recall(t, topic, handle(*parts)))
    t.note("under the other topic's name", recall(t, other, handle(*true)), 604)
