"""RecallMessage of the gRPC proxy, and timed messages."""

from base64 import urlsafe_b64decode, urlsafe_b64encode

from rocketmq_testkit.emulator.message.names import SCHEDULE_TOPIC
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case
from ...settings import STRICT
from ...worlds.consumer import consuming
from ...worlds.grpc import BAD_TOPICS, Grpc


@grpc_case("RecallMessageActivity.recallMessage")
def a_recalled_message_does_not_come(t: Grpc) -> None:
    """A recall returns the message id, and the message is not delivered at its time."""
    consumer = consuming(t, kind="DELAY")
    at = t.now_ms() + 4000
    handle = t.send(_timed(t, consumer.topic, "recalled", at)).entries[0].recall_handle
    t.send(_timed(t, consumer.topic, "kept", at))
    t.see("recalled", t.recall(consumer.topic, handle), 20000)
    t.see("received", consumer.received_within(8.2, await_s=8, deadline=12).bodies)


@grpc_case("RecallMessageHandle.HandleV1.buildHandle")
def what_a_recall_handle_holds(t: Grpc) -> None:
    """A recall handle has version, topic, broker, a time within the delivery second, and the message id."""
    topic = t.topic(kind="DELAY", queues=1)
    at = (t.now_ms() // 1000 + 60) * 1000 + 500
    parts = _parts(t.send(_timed(t, topic, "m", at)).entries[0].recall_handle)
    t.see("parts", [*parts[:3], *parts[4:]])
    t.see("before delivery, ms", at - int(parts[3]))


@grpc_case("RecallMessageActivity.recallMessage")
def recalls_that_are_taken(t: Grpc) -> None:
    """A recall is accepted repeatedly, from an unknown client, and with a handle without padding or with another id."""
    topic = t.topic(kind="DELAY", queues=1)
    handle = t.send(_timed(t, topic, "m", t.now_ms() + 60_000)).entries[0].recall_handle
    t.see("first", t.recall(topic, handle), 20000)
    t.see("again", t.recall(topic, handle), 20000)
    t.see("without padding", t.recall(topic, handle.rstrip("=")), 20000)
    t.see("by an unknown client", t.recall(topic, handle, client=t.new("client")), 20000)
    parts = _parts(handle)
    t.see("unknown id", t.recall(topic, _handle(*parts[:4], t.message_id())), 20000)


@grpc_case("RecallMessageHandle.decodeHandle")
def handles_that_are_none(t: Grpc) -> None:
    """A malformed recall handle is rejected by the broker."""
    topic = t.topic(kind="DELAY", queues=1)
    later = str(t.now_ms() + 60_000)
    for what, handle in (
        ("empty", ""),
        ("garbage", "!?"),
        ("base64 of garbage", _handle("x")),
        ("a part less", _handle("v1", topic, t.broker_name, later)),
        ("version 2", _handle("v2", topic, t.broker_name, later, "x")),
    ):
        t.see(what, t.recall(topic, handle), 50001)


@grpc_case("RecallMessageProcessor.processRequest")
def handles_that_do_not_fit(t: Grpc) -> None:
    """A recall handle of another topic or broker, or with a past or too distant time, is rejected by the broker."""
    topic = t.topic(kind="DELAY", queues=1)
    later = str(t.now_ms() + 60_000)
    name = t.message_id()
    for what, handle in (
        ("another topic", _handle("v1", "other", t.broker_name, later, name)),
        ("another broker", _handle("v1", topic, "nobody", later, name)),
        ("past", _handle("v1", topic, t.broker_name, str(t.now_ms() - 5000), name)),
        ("4 days", _handle("v1", topic, t.broker_name, str(t.now_ms() + 4 * 86_400_000), name)),
        ("no number", _handle("v1", topic, t.broker_name, "soon", name)),
    ):
        t.see(what, t.recall(topic, handle), 50001)


@grpc_case("RecallMessageActivity.recallMessage")
def a_delivered_message_cannot_be_recalled(t: Grpc) -> None:
    """A recall after the delivery is rejected."""
    consumer = consuming(t, kind="DELAY")
    handle = t.send(_timed(t, consumer.topic, "m", t.now_ms() + 1000)).entries[0].recall_handle
    t.see("received", consumer.received_within(4).bodies)
    t.see("recalled", t.recall(consumer.topic, handle), 50001)


@grpc_case("DefaultTopicMessageTypeValidator.validate")
def only_delay_topics_recall(t: Grpc) -> None:
    """A recall for a topic of another type or an unknown topic is rejected before its handle is checked."""
    for kind in ("NORMAL", "FIFO", "TRANSACTION"):
        t.see(kind, t.recall(t.topic(kind=kind), ""), 40014)
    t.see("unknown topic", t.recall(t.new(), ""), 40014)


@grpc_case("GrpcValidator.validateTopic")
def bad_names_are_refused(t: Grpc) -> None:
    """A recall with an illegal topic name or without a client id is rejected."""
    for what, name in BAD_TOPICS.items():
        t.see(what, t.recall(name, "x"), 40002)
    t.see("nothing", t.call("RecallMessage", sv.RecallMessageRequest()), 40002)
    t.see("no client id", t.recall("a b", "x", client=None), 40017)


@grpc_case("RecallMessageProcessor.processRequest", settings=STRICT)
def recalling_can_be_off(t: Grpc) -> None:
    """With recallMessageEnable=false the broker rejects recalls, but its send responses still have recall handles."""
    topic = t.topic(kind="DELAY", queues=1)
    handle = t.send(_timed(t, topic, "m", t.now_ms() + 60_000)).entries[0].recall_handle
    t.see("handle", bool(handle))
    t.see("recalled", t.recall(topic, handle), 50001)


@grpc_case("RecallMessageProcessor.processRequest", tidy=True)
def a_broker_that_does_not_serve_recalls_nothing(t: Grpc) -> None:
    """A slave and a broker that does not serve yet reject recalls.

    A non-writable one does with allowRecallWhenBrokerNotWriteable=false.
    """
    topic = t.topic(kind="DELAY", queues=1)
    handle = t.send(_timed(t, topic, "m", t.now_ms() + 600_000)).entries[0].recall_handle
    for label, settings, code in (
        ("slave", "brokerRole=SLAVE", 50001),
        ("master again", "brokerRole=ASYNC_MASTER", 20000),
        ("before it serves", f"startAcceptSendRequestTimeStamp={t.now_ms() + 3_600_000}", 50001),
        ("when it serves", "startAcceptSendRequestTimeStamp=0", 20000),
        ("not writable", "brokerPermission=4", 20000),
        ("not writable, and forbidden", "allowRecallWhenBrokerNotWriteable=false", 50001),
        ("writable", "brokerPermission=6", 20000),
    ):
        changed = t.ask(RequestCode.UPDATE_BROKER_CONFIG, {}, f"{settings}\n".encode())
        t.require(changed.code == 0, f"{settings} was not taken")
        t.see(label, t.recall(topic, handle), code)
    t.ask(RequestCode.UPDATE_BROKER_CONFIG, {}, b"allowRecallWhenBrokerNotWriteable=true\n")


@grpc_case("TimerMessageStore.enqueue")
def a_timed_message_comes_in_time(t: Grpc) -> None:
    """A timed message is received when its delivery time is reached, and has that time as a property."""
    consumer = consuming(t, kind="DELAY")
    at = t.now_ms() + 3000
    t.see("sent", t.send(_timed(t, consumer.topic, "m", at)).status, 20000)
    watch = t.stopwatch()
    received = t.see("received", consumer.received_within(4.5), 20000)
    t.see("after", watch.at(received.delivered_ms).between(2, 5))
    said = received.messages[0].system_properties.delivery_timestamp.ToMilliseconds()
    t.see("difference of the time said, ms", said - at)


@grpc_case("TimerMessageStore.enqueue")
def a_time_that_is_over_delivers_at_once(t: Grpc) -> None:
    """A timed message with a past delivery time is received at once."""
    consumer = consuming(t, kind="DELAY")
    t.send(_timed(t, consumer.topic, "m", t.now_ms() - 5000))
    t.see("received", consumer.receive(), 20000)


@grpc_case("SendMessageActivity.fillDelayMessageProperty")
def a_time_within_a_day_waits(t: Grpc) -> None:
    """A message delayed by 23 hours waits and can be recalled; one delayed by 40 days is rejected."""
    topic = t.topic(kind="DELAY", queues=1)
    at = t.now_ms() + 23 * 3_600_000
    sent = t.send(_timed(t, topic, "m", at))
    t.see("23 hours", sent.status, 20000)
    parts = _parts(sent.entries[0].recall_handle)
    t.see("its slot is right", 0 <= at - int(parts[3]) <= 1000)
    t.see("recalled", t.recall(topic, sent.entries[0].recall_handle), 20000)
    far = t.send(_timed(t, topic, "m", t.now_ms() + 40 * 86_400_000))
    t.see("40 days", far, 40012)


@grpc_case("RecallMessageHandle.decodeHandle")
def a_true_handle_may_be_changed(t: Grpc) -> None:
    """Recall handles are not signed: a modified handle is judged by its contents."""
    topic, other = t.topic(kind="DELAY", queues=1), t.topic(kind="DELAY", queues=1)
    true = _parts(t.send(_timed(t, topic, "m", t.now_ms() + 60_000)).entries[0].recall_handle)
    for label, place, text, code in (
        ("version", 0, "V1", 50001),
        ("topic", 1, other, 50001),
        ("an earlier time", 3, str(int(true[3]) - 5000), 20000),
        ("a negative time", 3, f"-{true[3]}", 50001),
        ("no id", 4, "", None),
    ):
        t.see(label, t.recall(topic, _handle(*true[:place], text, *true[place + 1 :])), code)
    t.see("under the other topic's name", t.recall(other, _handle(*true)), 50001)


@grpc_case("ProxyConfig.computeDelayLevel", settings={"proxy.useDelayLevel": "true"})
def a_delivery_time_may_become_a_delay_level(t: Grpc) -> None:
    """With useDelayLevel a timed message gets the first delay level above its delay, and no recall handle."""
    topic = t.topic(kind="DELAY", queues=1)
    watch = t.stopwatch()
    for body, ahead_ms in (("past", -5000), ("3.5 s", 3500), ("a day", 86_000_000)):
        answer = t.send(_timed(t, topic, body, t.now_ms() + ahead_ms))
        t.see(body, answer.status, 20000)
        t.see(f"{body}: recall handle", answer.entries[0].recall_handle)
    t.until(lambda: t.max_offset(topic))
    t.see("the first after", watch.between(0.9, 3))
    t.until(lambda: t.max_offset(topic) == 2)
    t.see("the second after", watch.between(4.9, 7))
    t.see("on the last level", t.put_into(SCHEDULE_TOPIC, answer, queue=17))
    stored = t.messages_of(topic, t.group())
    t.see("stored", [[each.body.decode(), sorted(each.properties)] for each in stored])


def _timed(t: Grpc, topic: str, body: str, at: int) -> pb.Message:
    return t.message(topic, body, message_type=pb.DELAY, deliver_ms=at)


def _parts(handle: str) -> list[str]:
    return urlsafe_b64decode(handle + "=" * (-len(handle) % 4)).decode().split(" ")


def _handle(*parts: str) -> str:
    return urlsafe_b64encode(" ".join(parts).encode()).decode()
