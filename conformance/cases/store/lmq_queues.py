"""Light message queues (LMQ): additional queues that a message names and that need not be created."""

from typing import Unpack

from rocketmq_testkit.emulator.message.names import LMQ_PREFIX
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.remoting.client import properties_text
from rocketmq_testkit.remoting.client.messages import split_records
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import DecodedResponse
from ...clients.send_fields import SendFields
from ...context.remoting import RemotingContext
from ...helpers.sends import send_batch
from ...helpers.transactions import COMMIT, transacting
from ..topic.topics import create, delete

LMQ_ENABLED = {"enableLmq": "true", "enableMultiDispatch": "true"}
DISPATCH, OFFSETS = "INNER_MULTI_DISPATCH", "INNER_MULTI_QUEUE_OFFSET"


def lmq_name(t: RemotingContext) -> str:
    """Return a new LMQ name."""
    return LMQ_PREFIX + t.new("light")


def send_to_lmqs(
    t: RemotingContext, topic: str, names: str, body: str = "m", **more: Unpack[SendFields]
) -> DecodedResponse:
    """Send a message that names LMQs, and return when it can be read in its topic."""
    own = {**(more.pop("properties", None) or {}), DISPATCH: names}
    fields: SendFields = {**more, "properties": own}
    return t.readable(topic, t.send(topic, body, **fields))[0]


def messages_with_lmq_offsets(response: DecodedResponse) -> list[tuple[str, str, int, int, str | None]]:
    """Return body, topic, queue, offset and LMQ offsets of each message in a response."""
    found = [decode(each) for each in split_records(response.body)]
    return [
        (each.body.decode(), each.topic, each.queue_id, each.queue_offset, each.property_map().get(OFFSETS))
        for each in found
    ]


def _note_pull(t: RemotingContext, label: str, name: str, offset: int = 0) -> None:
    response = t.pull(name, t.group(), offset=offset)
    ends = {each: response.fields.get(each) for each in ("nextBeginOffset", "minOffset", "maxOffset")}
    t.note(
        label,
        {"code": response.code, **ends, "messages": messages_with_lmq_offsets(response) if response.code == 0 else []},
    )


def wait_for_offset(t: RemotingContext, name: str, end: int) -> None:
    t.require(t.until(lambda: t.max_offset(name) >= end), f"{name} did not reach {end}")


@remoting_case("LmqDispatch.wrapLmqDispatch", settings=LMQ_ENABLED)
def a_message_is_in_each_lmq_named_in_its_properties(t: RemotingContext) -> None:
    """A message is in each LMQ that it names and has its offsets as a property. Its record keeps its own topic."""
    topic, first, second = t.topic(queues=2), lmq_name(t), lmq_name(t)
    t.note("sent", send_to_lmqs(t, topic, f"{first},{second}", "one").without("msgId", "transactionId"), 0)
    send_to_lmqs(t, topic, second, "two", queue=1, tag="A")
    wait_for_offset(t, second, 2)
    for label, name, offset in (
        ("topic", topic, 0),
        ("first", first, 0),
        ("second", second, 0),
        ("second, from 1", second, 1),
        ("second, at its end", second, 2),
        ("second, beyond it", second, 7),
    ):
        _note_pull(t, label, name, offset)
    t.note("of a tag", messages_with_lmq_offsets(t.pull(second, t.group(), expression="A")))
    t.note("of no tag", t.pull(second, t.group(), expression="none").code)


@remoting_case("MultiDispatchUtils.checkMultiDispatchQueue")
def without_enable_lmq_lmq_names_have_no_effect(t: RemotingContext) -> None:
    """Without enableLmq a message keeps the LMQ names as a property without effect."""
    topic, name = t.topic(queues=1), lmq_name(t)
    send_to_lmqs(t, topic, name)
    _note_pull(t, "topic", topic)
    t.note("LMQ", t.pull(name, t.group()), 17)


@remoting_case("LmqDispatch.updateLmqOffsets", settings={"enableLmq": "true"}, alone=True)
def without_multi_dispatch_messages_get_lmq_offsets_but_no_lmq(t: RemotingContext) -> None:
    """With only enableLmq, messages get LMQ offsets but no LMQ. A later LMQ starts at the current count."""
    topic, name = t.topic(queues=1), lmq_name(t)
    send_to_lmqs(t, topic, name, "one")
    send_to_lmqs(t, topic, name, "two")
    _note_pull(t, "topic", topic)
    _note_pull(t, "LMQ", name)
    t.note("set", t.request(RequestCode.UPDATE_BROKER_CONFIG, None, b"enableMultiDispatch=true\n"), 0)
    send_to_lmqs(t, topic, name, "three")
    wait_for_offset(t, name, 3)
    _note_pull(t, "LMQ, from 0", name)
    _note_pull(t, "LMQ, from 2", name, 2)


@remoting_case("ConsumeQueue.putMessagePositionInfo", settings=LMQ_ENABLED)
def an_lmq_named_twice_counts_its_single_message_twice(t: RemotingContext) -> None:
    """An LMQ named twice has a message once but counts it twice, so that the next message's offset is too high."""
    topic, name = t.topic(queues=1), lmq_name(t)
    send_to_lmqs(t, topic, f"{name},{name}", "one")
    send_to_lmqs(t, topic, name, "two")
    wait_for_offset(t, name, 2)
    _note_pull(t, "LMQ", name)


@remoting_case("ConsumeQueue.multiDispatchLmqQueue", settings=LMQ_ENABLED)
def a_trailing_name_without_lmq_prefix_keeps_a_message_out_of_all_lmqs(t: RemotingContext) -> None:
    """A name without the LMQ prefix at the end keeps a message out of all LMQs. One with a slash is only counted."""
    topic, first, second = t.topic(queues=1), lmq_name(t), lmq_name(t)
    for names in (f"{first},x", "x", " ", f"{first}/1,{second}", f"{second},,"):
        send_to_lmqs(t, topic, names, names.replace(first, "first").replace(second, "second"))
    wait_for_offset(t, second, 2)
    t.note("LMQ offsets", [each[-1] for each in messages_with_lmq_offsets(t.pull(topic, t.group()))])
    _note_pull(t, "first", first)
    _note_pull(t, "second", second)


@remoting_case("MultiDispatchUtils.isNeedHandleMultiDispatch", settings=LMQ_ENABLED)
def a_message_to_a_retry_topic_is_in_no_lmq(t: RemotingContext) -> None:
    """A message to a retry topic is in no LMQ; a delayed or timed one is in its LMQ after its delivery."""
    topic, group, name = t.topic(queues=1), t.group(), lmq_name(t)
    retry = t.topic(queues=1, name=f"%RETRY%{group}")
    send_to_lmqs(t, retry, name, "retry")
    t.note("LMQ offsets", messages_with_lmq_offsets(t.pull(retry, t.group())))
    for label, properties in (("level", {"DELAY": "1"}), ("time", {"TIMER_DELAY_SEC": "2"})):
        t.note(label, t.send(topic, label, properties={**properties, DISPATCH: name}).code)
    t.note("before", t.max_offset(name))
    wait_for_offset(t, name, 2)
    t.note("after", sorted(each[0] for each in messages_with_lmq_offsets(t.pull(name, t.group()))))


@remoting_case("CommitLog.doAppend", settings=LMQ_ENABLED)
def batch_messages_are_in_no_lmq(t: RemotingContext) -> None:
    """Messages of a batch get no LMQ offsets."""
    topic, name = t.topic(queues=1), lmq_name(t)
    t.readable(topic, send_batch(t, topic, [(b"one", {DISPATCH: name}), (b"two", {DISPATCH: name})]))
    t.wait(1)
    t.note("LMQ offsets", messages_with_lmq_offsets(t.pull(topic, t.group())))
    _note_pull(t, "LMQ", name)


@remoting_case("TransactionalMessageBridge.renewHalfMessageInner", settings=LMQ_ENABLED)
def a_half_message_is_in_its_lmq_at_once_and_again_after_its_commit(t: RemotingContext) -> None:
    """A half message is in its LMQ at once, and a second time after its commit."""
    producers, name = transacting(t), lmq_name(t)
    half = producers.half("half", properties={DISPATCH: name})
    wait_for_offset(t, name, 1)
    t.note("half", [(each[0], each[-1]) for each in messages_with_lmq_offsets(t.pull(name, t.group()))])
    t.note("end", t.request(RequestCode.END_TRANSACTION, producers.end_fields(half, COMMIT)), 0)
    wait_for_offset(t, name, 2)
    found = messages_with_lmq_offsets(t.pull(name, t.group()))
    t.note("committed", [(each[0], each[-1], each[1] == producers.topic) for each in found])


@remoting_case("CommitLog.handlePropertiesForLmqMsg", settings=LMQ_ENABLED)
def the_size_limit_of_lmq_messages_includes_their_properties(t: RemotingContext) -> None:
    """A message with LMQs may have 4 MiB with its properties, others without them. A rejected one is not counted."""
    topic, name = t.topic(queues=1), lmq_name(t)
    body = "x" * (4 * 1024 * 1024)
    t.note("plain", t.send(topic, body).code)
    t.note("with LMQ", t.send(topic, body, properties={DISPATCH: name}), 13)
    names = {DISPATCH: ",".join([name] * 200)}
    room = 32767 - 250 - len(properties_text({**names, "p": ""}))
    large = {**names, "p": "x" * room}
    t.note("many names", t.send(topic, properties=large), 13)
    send_to_lmqs(t, topic, name, "after")
    wait_for_offset(t, name, 1)
    _note_pull(t, "LMQ", name)


@remoting_case("LmqTopicConfigManager.selectTopicConfig", settings=LMQ_ENABLED)
def an_lmq_is_an_unlisted_topic_with_one_queue(t: RemotingContext) -> None:
    """An LMQ is a topic with one queue even before its first message. It has no route and is not listed."""
    name = lmq_name(t)
    t.note("config", t.config_of(name), 0)
    t.note("pulled", t.pull(name, t.group()), 19)
    t.note("another queue", t.pull(name, t.group(), queue=1), 29)
    t.note("extent", t.request(RequestCode.GET_TOPIC_STATS_INFO, {"topic": name}), 0)
    t.note("route", t.route(name), 17)
    topics = t.request(RequestCode.GET_ALL_TOPIC_CONFIG).json["topicConfigTable"]
    t.note("listed", name in topics)


@remoting_case("LmqTopicConfigManager.updateTopicConfig", settings=LMQ_ENABLED)
def an_lmq_created_by_an_administrator_has_a_route(t: RemotingContext) -> None:
    """An LMQ created by an administrator has a route, but the broker does not store it as a topic."""
    name = lmq_name(t)
    t.note("made", create(t, name), 0)
    t.note("route", [each["readQueueNums"] for each in t.until(lambda: t.route(name), 5).json["queueDatas"]])
    t.note("config", t.config_of(name).json["readQueueNums"])
    t.note("listed", name in t.request(RequestCode.GET_ALL_TOPIC_CONFIG).json["topicConfigTable"])
    t.note("deleted", delete(t, name))
    t.note("route, later", t.route(name), 17)


@remoting_case("ConsumeQueue.putMessagePositionInfo", settings=LMQ_ENABLED)
def direct_sends_to_an_lmq_use_separate_offsets(t: RemotingContext) -> None:
    """Messages sent to an LMQ directly have separate offsets: one with an already used offset cannot be read."""
    topic, name = t.topic(queues=1), lmq_name(t)
    for body in ("one", "two"):
        send_to_lmqs(t, topic, name, body)
    wait_for_offset(t, name, 2)
    for body in ("a", "b", "c", "d"):
        t.note(body, t.send(name, body).without("msgId", "transactionId"), 0)
    wait_for_offset(t, name, 4)
    _note_pull(t, "LMQ", name)
    t.note("another queue", t.send(name, queue=1), 29)


@remoting_case("DefaultMessageStore.deleteTopics", settings=LMQ_ENABLED)
def a_deleted_lmq_restarts_at_offset_0(t: RemotingContext) -> None:
    """Deleting an LMQ as a topic empties it and restarts its offsets at 0."""
    topic, name = t.topic(queues=1), lmq_name(t)
    for body in ("one", "two"):
        send_to_lmqs(t, topic, name, body)
    wait_for_offset(t, name, 2)
    t.note("deleted", t.request(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": name}), 0)
    t.note("end", t.max_offset(name))
    send_to_lmqs(t, topic, name, "three")
    wait_for_offset(t, name, 1)
    _note_pull(t, "LMQ", name)


@remoting_case("DefaultMessageStore.notifyMessageArrive4MultiQueue", settings=LMQ_ENABLED)
def a_message_in_an_lmq_wakes_held_pulls_and_pops(t: RemotingContext) -> None:
    """A message in an LMQ completes waiting pulls and pops at once if their tag matches."""
    topic, name = t.topic(queues=1), lmq_name(t)
    pull = t.start_pull(name, t.group(), suspend_ms=15_000)
    tagged = t.start_pull(name, t.group(), suspend_ms=6000, expression="B", to=t.connect())
    pop = t.start_pop(name, t.group(), poll_ms=15_000, to=t.connect())
    t.wait(0.5)
    watch = t.stopwatch()
    send_to_lmqs(t, topic, name, tag="A")
    t.note("pulled", t.arrival(pull).bodies)
    t.note("popped", t.arrival(pop).bodies)
    t.note("after", watch.between(0, 2))
    t.note("tagged", t.arrival(tagged).code)
    t.note("tagged, after", watch.between(0.1, 13))  # the next check of waiting pulls, one every 5 s


@remoting_case("AdminBrokerProcessor.searchOffsetByTimestamp", settings=LMQ_ENABLED)
def an_lmq_supports_offset_and_time_requests(t: RemotingContext) -> None:
    """Offsets and times of an LMQ can be requested like those of any queue."""
    topic, name = t.topic(queues=1), lmq_name(t)
    send_to_lmqs(t, topic, name, "one")
    t.wait(1.5)
    between = t.now_ms()
    t.wait(1.5)
    send_to_lmqs(t, topic, name, "two")
    wait_for_offset(t, name, 2)
    ext = {"topic": name, "queueId": 0}
    for label, time in (("before all", 0), ("between", between), ("after all", between + 60_000)):
        t.note(label, t.request(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {**ext, "timestamp": time}), 0)
    t.note("minimum", t.request(RequestCode.GET_MIN_OFFSET, ext), 0)
    t.note("maximum", t.request(RequestCode.GET_MAX_OFFSET, ext), 0)
    t.note("first", t.request(RequestCode.GET_EARLIEST_MSG_STORETIME, ext)["timestamp"] != "-1")
