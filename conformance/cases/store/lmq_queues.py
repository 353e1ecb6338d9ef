"""Light message queues (LMQ): additional queues that a message names and that need not be created."""

from typing import Unpack

from rocketmq_testkit.emulator.message.names import LMQ_PREFIX
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.remoting.client import properties_text
from rocketmq_testkit.remoting.client.messages import split_records
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import Answer
from ...clients.send_fields import SendFields
from ...context.remoting import Remoting
from ...helpers.sends import send_batch
from ...helpers.transactions import COMMIT, transacting
from ..topic.topics import create, delete

LIGHT = {"enableLmq": "true", "enableMultiDispatch": "true"}
DISPATCH, OFFSETS = "INNER_MULTI_DISPATCH", "INNER_MULTI_QUEUE_OFFSET"


def light_name(t: Remoting) -> str:
    """Return a new LMQ name."""
    return LMQ_PREFIX + t.new("light")


def send_to(t: Remoting, topic: str, names: str, body: str = "m", **more: Unpack[SendFields]) -> Answer:
    """Send a message that names LMQs, and return when it can be read in its topic."""
    own = {**(more.pop("properties", None) or {}), DISPATCH: names}
    fields: SendFields = {**more, "properties": own}
    return t.readable(topic, t.send(topic, body, **fields))[0]


def within(answer: Answer) -> list[tuple[str, str, int, int, str | None]]:
    """Return body, topic, queue, offset and LMQ offsets of each message in a response."""
    found = [decode(each) for each in split_records(answer.body)]
    return [
        (each.body.decode(), each.topic, each.queue_id, each.queue_offset, each.property_map().get(OFFSETS))
        for each in found
    ]


def _see_pull(t: Remoting, label: str, name: str, offset: int = 0) -> None:
    answer = t.pull(name, t.group(), offset=offset)
    ends = {each: answer.fields.get(each) for each in ("nextBeginOffset", "minOffset", "maxOffset")}
    t.see(label, {"code": answer.code, **ends, "messages": within(answer) if answer.code == 0 else []})


def _reaches(t: Remoting, name: str, end: int) -> None:
    t.require(t.until(lambda: t.max_offset(name) >= end), f"{name} did not reach {end}")


@remoting_case("LmqDispatch.wrapLmqDispatch", settings=LIGHT)
def a_message_is_in_each_queue_that_it_names(t: Remoting) -> None:
    """A message is in each LMQ that it names and has its offsets as a property. Its record keeps its own topic."""
    topic, first, second = t.topic(queues=2), light_name(t), light_name(t)
    t.see("sent", send_to(t, topic, f"{first},{second}", "one").without("msgId", "transactionId"), 0)
    send_to(t, topic, second, "two", queue=1, tag="A")
    _reaches(t, second, 2)
    for label, name, offset in (
        ("topic", topic, 0),
        ("first", first, 0),
        ("second", second, 0),
        ("second, from 1", second, 1),
        ("second, at its end", second, 2),
        ("second, beyond it", second, 7),
    ):
        _see_pull(t, label, name, offset)
    t.see("of a tag", within(t.pull(second, t.group(), expression="A")))
    t.see("of no tag", t.pull(second, t.group(), expression="none").code)


@remoting_case("MultiDispatchUtils.checkMultiDispatchQueue")
def by_default_names_are_names(t: Remoting) -> None:
    """Without enableLmq a message keeps the LMQ names as a property without effect."""
    topic, name = t.topic(queues=1), light_name(t)
    send_to(t, topic, name)
    _see_pull(t, "topic", topic)
    t.see("light queue", t.pull(name, t.group()), 17)


@remoting_case("LmqDispatch.updateLmqOffsets", settings={"enableLmq": "true"}, alone=True)
def offsets_are_given_without_queues(t: Remoting) -> None:
    """With only enableLmq, messages get LMQ offsets but no LMQ. A later LMQ starts at the current count."""
    topic, name = t.topic(queues=1), light_name(t)
    send_to(t, topic, name, "one")
    send_to(t, topic, name, "two")
    _see_pull(t, "topic", topic)
    _see_pull(t, "light queue", name)
    t.see("set", t.ask(RequestCode.UPDATE_BROKER_CONFIG, None, b"enableMultiDispatch=true\n"), 0)
    send_to(t, topic, name, "three")
    _reaches(t, name, 3)
    _see_pull(t, "light queue, from 0", name)
    _see_pull(t, "light queue, from 2", name, 2)


@remoting_case("ConsumeQueue.putMessagePositionInfo", settings=LIGHT)
def a_queue_named_twice_holds_a_message_once(t: Remoting) -> None:
    """An LMQ named twice has a message once but counts it twice, so that the next message's offset is too high."""
    topic, name = t.topic(queues=1), light_name(t)
    send_to(t, topic, f"{name},{name}", "one")
    send_to(t, topic, name, "two")
    _reaches(t, name, 2)
    _see_pull(t, "light queue", name)


@remoting_case("ConsumeQueue.multiDispatchLmqQueue", settings=LIGHT)
def other_names_take_no_message(t: Remoting) -> None:
    """A name without the LMQ prefix at the end keeps a message out of all LMQs. One with a slash is only counted."""
    topic, first, second = t.topic(queues=1), light_name(t), light_name(t)
    for names in (f"{first},x", "x", " ", f"{first}/1,{second}", f"{second},,"):
        send_to(t, topic, names, names.replace(first, "first").replace(second, "second"))
    _reaches(t, second, 2)
    t.see("told", [each[-1] for each in within(t.pull(topic, t.group()))])
    _see_pull(t, "first", first)
    _see_pull(t, "second", second)


@remoting_case("MultiDispatchUtils.isNeedHandleMultiDispatch", settings=LIGHT)
def retry_topics_are_left_out(t: Remoting) -> None:
    """A message to a retry topic is in no LMQ; a delayed or timed one is in its LMQ after its delivery."""
    topic, group, name = t.topic(queues=1), t.group(), light_name(t)
    retry = t.topic(queues=1, name=f"%RETRY%{group}")
    send_to(t, retry, name, "retry")
    t.see("told", within(t.pull(retry, t.group())))
    for label, properties in (("level", {"DELAY": "1"}), ("time", {"TIMER_DELAY_SEC": "2"})):
        t.see(label, t.send(topic, label, properties={**properties, DISPATCH: name}).code)
    t.see("before", t.max_offset(name))
    _reaches(t, name, 2)
    t.see("after", sorted(each[0] for each in within(t.pull(name, t.group()))))


@remoting_case("CommitLog.doAppend", settings=LIGHT)
def messages_of_a_batch_are_left_out(t: Remoting) -> None:
    """Messages of a batch get no LMQ offsets."""
    topic, name = t.topic(queues=1), light_name(t)
    t.readable(topic, send_batch(t, topic, [(b"one", {DISPATCH: name}), (b"two", {DISPATCH: name})]))
    t.wait(1)
    t.see("told", within(t.pull(topic, t.group())))
    _see_pull(t, "light queue", name)


@remoting_case("TransactionalMessageBridge.renewHalfMessageInner", settings=LIGHT)
def a_half_message_is_there_at_once(t: Remoting) -> None:
    """A half message is in its LMQ at once, and a second time after its commit."""
    producers, name = transacting(t), light_name(t)
    half = producers.half("half", properties={DISPATCH: name})
    _reaches(t, name, 1)
    t.see("half", [(each[0], each[-1]) for each in within(t.pull(name, t.group()))])
    t.see("end", t.ask(RequestCode.END_TRANSACTION, producers.end_fields(half, COMMIT)), 0)
    _reaches(t, name, 2)
    found = within(t.pull(name, t.group()))
    t.see("committed", [(each[0], each[-1], each[1] == producers.topic) for each in found])


@remoting_case("CommitLog.handlePropertiesForLmqMsg", settings=LIGHT)
def a_light_message_is_measured_as_a_whole(t: Remoting) -> None:
    """A message with LMQs may have 4 MiB with its properties, others without them. A rejected one is not counted."""
    topic, name = t.topic(queues=1), light_name(t)
    body = "x" * (4 * 1024 * 1024)
    t.see("plain", t.send(topic, body).code)
    t.see("light", t.send(topic, body, properties={DISPATCH: name}), 13)
    names = {DISPATCH: ",".join([name] * 200)}
    room = 32767 - 250 - len(properties_text({**names, "p": ""}))
    large = {**names, "p": "x" * room}
    t.see("many names", t.send(topic, properties=large), 13)
    send_to(t, topic, name, "after")
    _reaches(t, name, 1)
    _see_pull(t, "light queue", name)


@remoting_case("LmqTopicConfigManager.selectTopicConfig", settings=LIGHT)
def a_light_queue_is_a_topic_of_one_queue(t: Remoting) -> None:
    """An LMQ is a topic with one queue even before its first message. It has no route and is not listed."""
    name = light_name(t)
    t.see("config", t.config_of(name), 0)
    t.see("pulled", t.pull(name, t.group()), 19)
    t.see("another queue", t.pull(name, t.group(), queue=1), 29)
    t.see("extent", t.ask(RequestCode.GET_TOPIC_STATS_INFO, {"topic": name}), 0)
    t.see("route", t.route(name), 17)
    topics = t.ask(RequestCode.GET_ALL_TOPIC_CONFIG).json["topicConfigTable"]
    t.see("listed", name in topics)


@remoting_case("LmqTopicConfigManager.updateTopicConfig", settings=LIGHT)
def a_light_queue_that_is_made_has_a_route(t: Remoting) -> None:
    """An LMQ created by an administrator has a route, but the broker does not store it as a topic."""
    name = light_name(t)
    t.see("made", create(t, name), 0)
    t.see("route", [each["readQueueNums"] for each in t.until(lambda: t.route(name), 5).json["queueDatas"]])
    t.see("config", t.config_of(name).json["readQueueNums"])
    t.see("listed", name in t.ask(RequestCode.GET_ALL_TOPIC_CONFIG).json["topicConfigTable"])
    t.see("deleted", delete(t, name))
    t.see("route, later", t.route(name), 17)


@remoting_case("ConsumeQueue.putMessagePositionInfo", settings=LIGHT)
def a_light_queue_may_be_sent_to(t: Remoting) -> None:
    """Messages sent to an LMQ directly have separate offsets: one with an already used offset cannot be read."""
    topic, name = t.topic(queues=1), light_name(t)
    for body in ("one", "two"):
        send_to(t, topic, name, body)
    _reaches(t, name, 2)
    for body in ("a", "b", "c", "d"):
        t.see(body, t.send(name, body).without("msgId", "transactionId"), 0)
    _reaches(t, name, 4)
    _see_pull(t, "light queue", name)
    t.see("another queue", t.send(name, queue=1), 29)


@remoting_case("DefaultMessageStore.deleteTopics", settings=LIGHT)
def a_deleted_light_queue_begins_anew(t: Remoting) -> None:
    """Deleting an LMQ as a topic empties it and restarts its offsets at 0."""
    topic, name = t.topic(queues=1), light_name(t)
    for body in ("one", "two"):
        send_to(t, topic, name, body)
    _reaches(t, name, 2)
    t.see("deleted", t.ask(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": name}), 0)
    t.see("end", t.max_offset(name))
    send_to(t, topic, name, "three")
    _reaches(t, name, 1)
    _see_pull(t, "light queue", name)


@remoting_case("DefaultMessageStore.notifyMessageArrive4MultiQueue", settings=LIGHT)
def who_waits_at_a_light_queue_is_told(t: Remoting) -> None:
    """A message in an LMQ completes held pulls and pops at once if their tag matches."""
    topic, name = t.topic(queues=1), light_name(t)
    pull = t.start_pull(name, t.group(), suspend_ms=15_000)
    tagged = t.start_pull(name, t.group(), suspend_ms=6000, expression="B", to=t.connect())
    pop = t.start_pop(name, t.group(), poll_ms=15_000, to=t.connect())
    t.wait(0.5)
    watch = t.stopwatch()
    send_to(t, topic, name, tag="A")
    t.see("pulled", t.arrival(pull).bodies)
    t.see("popped", t.arrival(pop).bodies)
    t.see("after", watch.between(0, 2))
    t.see("tagged", t.arrival(tagged).code)
    t.see("tagged, after", watch.between(0.1, 13))  # the next check of held pulls, one every 5 s


@remoting_case("AdminBrokerProcessor.searchOffsetByTimestamp", settings=LIGHT)
def times_of_a_light_queue(t: Remoting) -> None:
    """Offsets and times of an LMQ can be requested like those of any queue."""
    topic, name = t.topic(queues=1), light_name(t)
    send_to(t, topic, name, "one")
    t.wait(1.5)
    between = t.now_ms()
    t.wait(1.5)
    send_to(t, topic, name, "two")
    _reaches(t, name, 2)
    ext = {"topic": name, "queueId": 0}
    for label, time in (("before all", 0), ("between", between), ("after all", between + 60_000)):
        t.see(label, t.ask(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {**ext, "timestamp": time}), 0)
    t.see("minimum", t.ask(RequestCode.GET_MIN_OFFSET, ext), 0)
    t.see("maximum", t.ask(RequestCode.GET_MAX_OFFSET, ext), 0)
    t.see("first", t.ask(RequestCode.GET_EARLIEST_MSG_STORETIME, ext)["timestamp"] != "-1")
