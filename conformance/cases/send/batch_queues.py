"""Topics with queue.type=BatchCQ: a batch with an id is one record there, with the offsets of all its messages."""

from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.remoting.client import batch_body
from rocketmq_testkit.remoting.client.messages import split_records
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...worlds.answer import Answer
from ...worlds.remoting import Remoting
from ..topic.topics import create
from .batch import send_batch

PARTS = [(b"one", {"TAGS": "A", "KEYS": "k"}), (b"two", {"TAGS": "B"}), (b"three", {})]


def batched(t: Remoting) -> str:
    """A new topic whose queue holds batches."""
    topic = t.new()
    answer = create(t, topic, readQueueNums=1, writeQueueNums=1, attributes="+queue.type=BatchCQ")
    t.require(answer.code == 0, f"the topic was not made: {answer}")
    return topic


def _records(answer: Answer) -> list[tuple[int, str, str | None, bool]]:
    """Offset, flag, number of messages and whether the body is that of the batch, of each record in an answer."""
    found = [decode(each) for each in split_records(answer.body)]
    whole = batch_body(PARTS)
    return [
        (each.queue_offset, hex(each.sys_flag), each.property_map().get("INNER_NUM"), each.body == whole)
        for each in found
    ]


def _seen(answer: Answer) -> dict[str, object]:
    """What a pull tells, with its records."""
    ends = {name: answer.fields.get(name) for name in ("nextBeginOffset", "minOffset", "maxOffset")}
    return {"code": answer.code, **ends, "records": _records(answer) if answer.code == 0 else []}


def _stored(t: Remoting, topic: str, end: int) -> None:
    t.require(t.until(lambda: t.max_offset(topic) >= end), "what was sent cannot be read")


@remoting_case("BatchConsumeQueue.putMessagePositionInfoWrapper")
def single_messages_are_what_they_are(t: Remoting) -> None:
    """A queue of batches takes single messages, which are read as in any queue."""
    topic = batched(t)
    sends = [t.send(topic, body, tag=body, keys="k") for body in ("a", "b", "c")]
    t.see("sent", [answer.without("msgId", "transactionId") for answer in sends])
    _stored(t, topic, 3)
    for offset in (0, 2, 3, 7):
        t.see(f"pulled from {offset}", _seen(t.pull(topic, t.group(), offset=offset)))
    t.see("of tag b", t.pull(topic, t.group(), expression="b").found)
    t.see("popped", t.pop(topic, t.group()).bodies)
    t.until(lambda: len(t.query(topic, "k").messages) == 3)
    t.see("by key", t.query(topic, "k").found)


@remoting_case("SendMessageProcessor.sendBatchMessage")
def a_batch_is_one_record(t: Remoting) -> None:
    """A batch with an id is stored whole, takes as many offsets as it has messages, and is told by its id."""
    topic = batched(t)
    t.see("sent", send_batch(t, topic, PARTS, unique=True), 0)
    t.see("sent again", send_batch(t, topic, PARTS, unique=True).without("msgId"), 0)
    _stored(t, topic, 6)
    t.see("single", t.send(topic, "last").without("msgId"), 0)
    _stored(t, topic, 7)
    for offset in (0, 1, 2, 3, 5, 6, 7, 9):
        t.see(f"pulled from {offset}", _seen(t.pull(topic, t.group(), offset=offset)))
    for count in (1, 3, 4):
        t.see(f"{count} at most", _seen(t.pull(topic, t.group(), max_messages=count)))


@remoting_case("BatchConsumeQueue.putMessagePositionInfoWrapper")
def a_batch_is_found_as_a_whole(t: Remoting) -> None:
    """A batch is viewed by its place and queried by its own id; tags and keys of its messages find nothing."""
    topic = batched(t)
    sent = send_batch(t, topic, PARTS, unique=True)
    _stored(t, topic, 3)
    t.see("viewed", _records(t.view(sent.place)))
    for expression in ("A", "B", "*"):
        t.see(f"of tag {expression}", _seen(t.pull(topic, t.group(), expression=expression)))
    t.until(lambda: t.query(topic, sent["transactionId"] if "transactionId" in sent.fields else "x").code == 0, 3)
    t.see("by key", t.query(topic, "k").code)


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def a_batch_is_popped_as_a_whole(t: Remoting) -> None:
    """A pop takes a batch as one record, and acknowledging it is acknowledging its first offset."""
    topic, group = batched(t), t.group()
    send_batch(t, topic, PARTS, unique=True)
    _stored(t, topic, 3)
    answer = t.pop(topic, group)
    t.see("popped", _records(answer))
    t.see("offsets", answer.fields.get("msgOffsetInfo"))
    t.see("popped again", t.pop(topic, group).code)


@remoting_case("SendMessageProcessor.sendBatchMessage")
def a_batch_without_id_is_taken_apart(t: Remoting) -> None:
    """A batch without an id of its own is stored message by message, in this queue too."""
    topic = batched(t)
    t.see("sent", send_batch(t, topic, PARTS).without("msgId"), 0)
    _stored(t, topic, 3)
    t.see("pulled", _seen(t.pull(topic, t.group())))
    t.see("of tag B", t.pull(topic, t.group(), expression="B").found)


@remoting_case("HookUtils.checkInnerBatch")
def a_message_may_say_that_it_holds_others(t: Remoting) -> None:
    """A message with the flag of an inner batch is taken here; one with the number alone is refused."""
    topic = batched(t)
    t.see("number", t.send(topic, properties={"INNER_NUM": "2"}), 13)
    t.see("flag and number", t.send(topic, sysFlag=0x80, properties={"INNER_NUM": "2"}).without("msgId"))
    t.see("flag", t.send(topic, sysFlag=0x80).without("msgId"))
    t.wait(2)
    t.see("end", t.max_offset(topic))
    t.see("pulled", _seen(t.pull(topic, t.group())))


@remoting_case("AdminBrokerProcessor.searchOffsetByTimestamp")
def offsets_of_a_queue_of_batches(t: Remoting) -> None:
    """Ends and times of a queue of batches count its messages."""
    topic, group = batched(t), t.group()
    send_batch(t, topic, PARTS, unique=True)
    _stored(t, topic, 3)
    t.wait(1.5)
    between = t.now_ms()
    t.wait(1.5)
    send_batch(t, topic, PARTS, unique=True)
    _stored(t, topic, 6)
    ext = {"topic": topic, "queueId": 0}
    for label, time in (("before all", 0), ("between", between), ("after all", between + 60_000)):
        t.see(label, t.ask(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {**ext, "timestamp": time}), 0)
    t.see("minimum", t.ask(RequestCode.GET_MIN_OFFSET, ext), 0)
    t.see("extent", t.ask(RequestCode.GET_TOPIC_STATS_INFO, {"topic": topic}).code)
    t.see("committed", t.commit(topic, group, 6), 0)
    t.see("a new group", t.committed(topic, t.group()).code)
