"""RecallMessage of the gRPC proxy, and timed messages."""

from base64 import urlsafe_b64decode, urlsafe_b64encode

from rocketmq_testkit.emulator.message.names import SCHEDULE_TOPIC
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case
from ...context.grpc import BAD_TOPICS, GrpcContext
from ...helpers.consumer import consuming
from ...helpers.settings import NO_AUTO_CREATE


@grpc_case("RecallMessageActivity.recallMessage")
def a_recalled_message_is_not_delivered(t: GrpcContext) -> None:
    """A recall returns the message id, and the message is not delivered at its time."""
    consumer = consuming(t, kind="DELAY")
    at = t.now_ms() + 4000
    handle = t.send(_timed(t, consumer.topic, "recalled", at)).entries[0].recall_handle
    t.send(_timed(t, consumer.topic, "kept", at))
    t.note("recalled", t.recall(consumer.topic, handle), pb.OK)
    t.note("received", consumer.received_within(seconds=8.2, await_s=8, deadline=12).bodies)


@grpc_case("RecallMessageHandle.HandleV1.buildHandle")
def a_recall_handle_contains_topic_broker_time_and_message_id(t: GrpcContext) -> None:
    """A recall handle has version, topic, broker, a time within the delivery second, and the message id."""
    topic = t.topic(kind="DELAY", queues=1)
    at = (t.now_ms() // 1000 + 60) * 1000 + 500
    parts = _parts(t.send(_timed(t, topic, "m", at)).entries[0].recall_handle)
    t.note("parts", [*parts[:3], *parts[4:]])
    t.note("before delivery, ms", at - int(parts[3]))


@grpc_case("RecallMessageActivity.recallMessage")
def a_recall_is_accepted_repeatedly_and_from_unknown_clients(t: GrpcContext) -> None:
    """A recall is accepted repeatedly, from an unknown client, and with a handle without padding or with another id."""
    topic = t.topic(kind="DELAY", queues=1)
    handle = t.send(_timed(t, topic, "m", t.now_ms() + 60_000)).entries[0].recall_handle
    t.note("first", t.recall(topic, handle), pb.OK)
    t.note("again", t.recall(topic, handle), pb.OK)
    t.note("without padding", t.recall(topic, handle.rstrip("=")), pb.OK)
    t.note("by an unknown client", t.recall(topic, handle, client=t.new("client")), pb.OK)
    parts = _parts(handle)
    t.note("unknown id", t.recall(topic, _handle(*parts[:4], t.message_id())), pb.OK)


@grpc_case("RecallMessageHandle.decodeHandle")
def a_malformed_recall_handle_is_rejected(t: GrpcContext) -> None:
    """A malformed recall handle is rejected by the proxy."""
    topic = t.topic(kind="DELAY", queues=1)
    later = str(t.now_ms() + 60_000)
    for what, handle in (
        ("empty", ""),
        ("garbage", "!?"),
        ("base64 of garbage", _handle("x")),
        ("a part less", _handle("v1", topic, t.broker_name, later)),
        ("version 2", _handle("v2", topic, t.broker_name, later, "x")),
    ):
        t.note(what, t.recall(topic, handle), pb.INTERNAL_SERVER_ERROR)


@grpc_case("RecallMessageProcessor.processRequest")
def a_recall_handle_with_a_wrong_topic_broker_or_time_is_rejected(t: GrpcContext) -> None:
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
        t.note(what, t.recall(topic, handle), pb.INTERNAL_SERVER_ERROR)


@grpc_case("RecallMessageActivity.recallMessage")
def a_delivered_message_cannot_be_recalled(t: GrpcContext) -> None:
    """A recall after the delivery is rejected."""
    consumer = consuming(t, kind="DELAY")
    handle = t.send(_timed(t, consumer.topic, "m", t.now_ms() + 1000)).entries[0].recall_handle
    t.note("received", consumer.received_within(seconds=4).bodies)
    t.note("recalled", t.recall(consumer.topic, handle), pb.INTERNAL_SERVER_ERROR)


@grpc_case("DefaultTopicMessageTypeValidator.validate")
def only_delay_topics_accept_recalls(t: GrpcContext) -> None:
    """A recall for a topic of another type or an unknown topic is rejected before its handle is checked."""
    for kind in ("NORMAL", "FIFO", "TRANSACTION"):
        t.note(kind, t.recall(t.topic(kind=kind), ""), pb.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE)
    t.note("unknown topic", t.recall(t.new(), ""), pb.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE)


@grpc_case("GrpcValidator.validateTopic")
def a_recall_with_an_illegal_topic_is_rejected(t: GrpcContext) -> None:
    """A recall with an illegal topic name or without a client id is rejected."""
    for what, name in BAD_TOPICS.items():
        t.note(what, t.recall(name, "x"), pb.ILLEGAL_TOPIC)
    t.note("nothing", t.call("RecallMessage", sv.RecallMessageRequest()), pb.ILLEGAL_TOPIC)
    t.note("no client id", t.recall("a b", "x", client=None), pb.CLIENT_ID_REQUIRED)


@grpc_case("RecallMessageProcessor.processRequest", settings=NO_AUTO_CREATE)
def recalls_are_rejected_with_recall_message_enable_false(t: GrpcContext) -> None:
    """With recallMessageEnable=false the broker rejects recalls, but its send responses still have recall handles."""
    topic = t.topic(kind="DELAY", queues=1)
    handle = t.send(_timed(t, topic, "m", t.now_ms() + 60_000)).entries[0].recall_handle
    t.note("handle", bool(handle))
    t.note("recalled", t.recall(topic, handle), pb.INTERNAL_SERVER_ERROR)


@grpc_case("RecallMessageProcessor.processRequest", tidy=True)
def a_slave_or_a_broker_not_yet_serving_rejects_recalls(t: GrpcContext) -> None:
    """A slave and a broker that does not serve yet reject recalls.

    A non-writable one does with allowRecallWhenBrokerNotWriteable=false.
    """
    topic = t.topic(kind="DELAY", queues=1)
    handle = t.send(_timed(t, topic, "m", t.now_ms() + 600_000)).entries[0].recall_handle
    for label, settings, code in (
        ("slave", "brokerRole=SLAVE", pb.INTERNAL_SERVER_ERROR),
        ("master again", "brokerRole=ASYNC_MASTER", pb.OK),
        ("before it serves", f"startAcceptSendRequestTimeStamp={t.now_ms() + 3_600_000}", pb.INTERNAL_SERVER_ERROR),
        ("when it serves", "startAcceptSendRequestTimeStamp=0", pb.OK),
        ("not writable", "brokerPermission=4", pb.OK),
        ("not writable, and forbidden", "allowRecallWhenBrokerNotWriteable=false", pb.INTERNAL_SERVER_ERROR),
        ("writable", "brokerPermission=6", pb.OK),
    ):
        changed = t.request(RequestCode.UPDATE_BROKER_CONFIG, {}, f"{settings}\n".encode())
        t.require(changed.code == 0, f"{settings} was not accepted")
        t.note(label, t.recall(topic, handle), code)
    t.request(RequestCode.UPDATE_BROKER_CONFIG, {}, b"allowRecallWhenBrokerNotWriteable=true\n")


@grpc_case("TimerMessageStore.enqueue")
def a_timed_message_is_received_at_its_delivery_time(t: GrpcContext) -> None:
    """A timed message is received when its delivery time is reached, and has that time as a property."""
    consumer = consuming(t, kind="DELAY")
    at = t.now_ms() + 3000
    t.note("sent", t.send(_timed(t, consumer.topic, "m", at)).status, pb.OK)
    watch = t.stopwatch()
    received = t.note("received", consumer.received_within(seconds=4.5), pb.OK)
    t.note("after", watch.stopped_at(received.delivered_ms).between(2, 5))
    said = received.messages[0].system_properties.delivery_timestamp.ToMilliseconds()
    t.note("difference of the time said, ms", said - at)


@grpc_case("TimerMessageStore.enqueue")
def a_message_with_a_past_delivery_time_is_received_at_once(t: GrpcContext) -> None:
    """A timed message with a past delivery time is received at once."""
    consumer = consuming(t, kind="DELAY")
    t.send(_timed(t, consumer.topic, "m", t.now_ms() - 5000))
    t.note("received", consumer.receive(), pb.OK)


@grpc_case("SendMessageActivity.fillDelayMessageProperty")
def a_delay_of_23_hours_is_accepted_and_one_of_40_days_rejected(t: GrpcContext) -> None:
    """A message delayed by 23 hours waits and can be recalled; one delayed by 40 days is rejected."""
    topic = t.topic(kind="DELAY", queues=1)
    at = t.now_ms() + 23 * 3_600_000
    sent = t.send(_timed(t, topic, "m", at))
    t.note("23 hours", sent.status, pb.OK)
    parts = _parts(sent.entries[0].recall_handle)
    t.note("its slot is right", 0 <= at - int(parts[3]) <= 1000)
    t.note("recalled", t.recall(topic, sent.entries[0].recall_handle), pb.OK)
    far = t.send(_timed(t, topic, "m", t.now_ms() + 40 * 86_400_000))
    t.note("40 days", far, pb.ILLEGAL_DELIVERY_TIME)


@grpc_case("RecallMessageHandle.decodeHandle")
def a_modified_recall_handle_is_judged_by_its_contents(t: GrpcContext) -> None:
    """Recall handles are not signed: a modified handle is judged by its contents."""
    topic, other = t.topic(kind="DELAY", queues=1), t.topic(kind="DELAY", queues=1)
    true = _parts(t.send(_timed(t, topic, "m", t.now_ms() + 60_000)).entries[0].recall_handle)
    for label, place, text, code in (
        ("version", 0, "V1", pb.INTERNAL_SERVER_ERROR),
        ("topic", 1, other, pb.INTERNAL_SERVER_ERROR),
        ("an earlier time", 3, str(int(true[3]) - 5000), pb.OK),
        ("a negative time", 3, f"-{true[3]}", pb.INTERNAL_SERVER_ERROR),
        ("no id", 4, "", None),
    ):
        t.note(label, t.recall(topic, _handle(*true[:place], text, *true[place + 1 :])), code)
    t.note("under the other topic's name", t.recall(other, _handle(*true)), pb.INTERNAL_SERVER_ERROR)


@grpc_case("ProxyConfig.computeDelayLevel", settings={"proxy.useDelayLevel": "true"})
def use_delay_level_turns_a_delivery_time_into_a_delay_level(t: GrpcContext) -> None:
    """With useDelayLevel a timed message gets the first delay level above its delay, and no recall handle."""
    topic = t.topic(kind="DELAY", queues=1)
    watch = t.stopwatch()
    for body, ahead_ms in (("past", -5000), ("3.5 s", 3500), ("a day", 86_000_000)):
        response = t.send(_timed(t, topic, body, t.now_ms() + ahead_ms))
        t.note(body, response.status, pb.OK)
        t.note(f"{body}: recall handle", response.entries[0].recall_handle)
    t.until(lambda: t.max_offset(topic))
    t.note("the first after", watch.between(0.9, 3))
    t.until(lambda: t.max_offset(topic) == 2)
    t.note("the second after", watch.between(4.9, 7))
    t.note("on the last level", t.stored_in(SCHEDULE_TOPIC, response, queue=17))
    stored = t.messages_of(topic, t.group())
    t.note("stored", [[each.body.decode(), sorted(each.properties)] for each in stored])


def _timed(t: GrpcContext, topic: str, body: str, at: int) -> pb.Message:
    return t.message(topic, body, message_type=pb.DELAY, deliver_ms=at)


def _parts(handle: str) -> list[str]:
    return urlsafe_b64decode(handle + "=" * (-len(handle) % 4)).decode().split(" ")


def _handle(*parts: str) -> str:
    return urlsafe_b64encode(" ".join(parts).encode()).decode()
