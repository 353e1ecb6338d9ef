"""RECALL_MESSAGE: recalling a timed message before its delivery."""

from base64 import urlsafe_b64encode

from rocketmq_testkit.emulator.message.names import TIMER_TOPIC
from rocketmq_testkit.remoting.client import ReceivedMessage
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...settings import STRICT, with_keys
from ...worlds.answer import Answer
from ...worlds.remoting import Remoting
from ..admin.config import change
from .timer import handle_of


def timed(t: Remoting, topic: str, ms: int, body: str = "timed") -> Answer:
    """Send a timed message."""
    return t.send(topic, body, properties={"TIMER_DELAY_MS": str(ms)})


def recall(t: Remoting, topic: str | None, handle: str | None) -> Answer:
    """Recall a message by its handle."""
    return t.ask(RequestCode.RECALL_MESSAGE, {"producerGroup": "PG", "topic": topic, "recallHandle": handle})


def handle(*parts: object) -> str:
    """Build a recall handle from its parts."""
    return urlsafe_b64encode(" ".join(map(str, parts)).encode()).decode()


@remoting_case("RecallMessageProcessor.processRequest")
def a_recalled_message_does_not_come(t: Remoting) -> None:
    """A message recalled in time is not delivered; other messages of the same second are."""
    topic = t.topic(queues=1)
    sent = [timed(t, topic, 3000, body) for body in ("first", "taken back", "last")]
    t.see("recalled", recall(t, topic, sent[1]["recallHandle"]), 0)
    t.stored(topic, 2)
    t.wait(1.5)
    t.see("delivered", sorted(t.stored(topic, 2).bodies))


@remoting_case("RecallMessageHandle.HandleV1.buildHandle")
def the_handle_names_the_message(t: Remoting) -> None:
    """A recall handle has version, topic, broker, time and message id. The time is 1 ms after a full second."""
    topic = t.topic(queues=1)
    now = t.now_ms()
    parts = handle_of(timed(t, topic, 30_000))
    t.see("parts", parts)
    left = int(parts[3]) - now
    t.see("time", [int(parts[3]) % 1000, 28_500 <= left <= 31_500])


@remoting_case("SendMessageProcessor.attachRecallHandle")
def only_timed_messages_have_handles(t: Remoting) -> None:
    """Responses to plain messages and messages with a delay level have no recall handle."""
    topic = t.topic(queues=1)
    t.see("plain", handle_of(t.send(topic)))
    t.see("level", handle_of(t.send(topic, properties={"DELAY": "1"})))


@remoting_case("RecallMessageProcessor.processRequest")
def a_message_may_be_recalled_twice(t: Remoting) -> None:
    """A recall succeeds even if its message was already recalled or never existed."""
    topic = t.topic(queues=1)
    sent = timed(t, topic, 20_000)
    t.see("once", recall(t, topic, sent["recallHandle"]), 0)
    t.see("twice", recall(t, topic, sent["recallHandle"]), 0)
    unknown = handle("v1", topic, t.broker_name, t.now_ms() + 20_000, "nobody")
    t.see("unknown message", recall(t, topic, unknown), 0)


@remoting_case("RecallMessageProcessor.processRequest")
def a_recall_may_come_too_late(t: Remoting) -> None:
    """A recall is rejected once the message's second has begun, or if its time is too far in the future."""
    topic = t.topic(queues=1)
    sent = timed(t, topic, 1500)
    t.stored(topic)
    t.see("delivered", recall(t, topic, sent["recallHandle"]), 604)
    for label, left in (("now", 0), ("a minute ago", -60_000), ("in four days", 4 * 86_400_000)):
        parts = ("v1", topic, t.broker_name, t.now_ms() + left, "id")
        t.see(label, recall(t, topic, handle(*parts)), 604)
    t.see("no time", recall(t, topic, handle("v1", topic, t.broker_name, "soon", "id")))


@remoting_case("RecallMessageHandle.decodeHandle")
def bad_handles_are_refused(t: Remoting) -> None:
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
        t.see(label, recall(t, topic, text))


@remoting_case("RecallMessageProcessor.processRequest")
def the_topic_of_a_recall_must_be_there(t: Remoting) -> None:
    """A recall must name an existing topic, which is checked before the handle."""
    t.see("unknown", recall(t, t.new(), "garbage"), 17)
    t.see("blank", recall(t, "", "garbage"), 17)
    t.see("missing", recall(t, None, "garbage"))


@remoting_case("RecallMessageProcessor.processRequest")
def the_mark_of_a_recall_waits_like_a_message(t: Remoting) -> None:
    """A recall stores a delete marker in the timer topic, which is never delivered."""
    topic, group = t.topic(queues=1), t.group()
    sent = timed(t, topic, 2500)
    place, name = int(sent["queueOffset"]), sent["transactionId"]
    t.see("recalled", recall(t, topic, sent["recallHandle"]), 0)

    def mark() -> list[ReceivedMessage]:
        found = t.pull(TIMER_TOPIC, group, 0, place).messages
        return [each for each in found if each.properties.get("TIMER_DEL_UNIQKEY", "").endswith(name)]

    for message in t.until(mark):
        t.see("body", message.body)
        t.see("properties", dict(sorted(message.properties.items())))
    t.wait(4)
    t.see("nothing came", t.pull(topic, t.group()), 19)


@remoting_case("RecallMessageProcessor.processRequest", settings=with_keys(STRICT, "recallMessageEnable"))
def recalls_can_be_turned_off(t: Remoting) -> None:
    """With recallMessageEnable=false sends still return recall handles, but recalls are rejected."""
    topic = t.topic(queues=1)
    sent = timed(t, topic, 20_000)
    t.see("handle", handle_of(sent))
    t.see("recalled", recall(t, topic, sent["recallHandle"]), 16)


@remoting_case("RecallMessageProcessor.processRequest", tidy=True)
def a_broker_that_does_not_serve_recalls_nothing(t: Remoting) -> None:
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
        t.require(change(t, f"{settings}\n").code == 0, f"{settings} was not taken")
        t.see(label, recall(t, topic, sent["recallHandle"]), code)
        answer = t.send(topic)
        t.see(f"{label}: sent", answer if label == "slave" else answer.code)
    change(t, "allowRecallWhenBrokerNotWriteable=true\n")


@remoting_case("RecallMessageHandle.decodeHandle")
def a_true_handle_may_be_changed(t: Remoting) -> None:
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
        t.see(label, recall(t, topic, handle(*parts)))
    t.see("under the other topic's name", recall(t, other, handle(*true)), 604)
