"""Topics with queue.type=BatchCQ.

A batch with an id is stored there as one record that takes an offset for each message.
"""

from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.remoting.client import batch_body
from rocketmq_testkit.remoting.client.messages import split_records
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import Answer
from ...context.remoting import Remoting
from ...helpers.sends import send_batch
from ..topic.topics import create

PARTS = [(b"one", {"TAGS": "A", "KEYS": "k"}), (b"two", {"TAGS": "B"}), (b"three", {})]


def batched(t: Remoting) -> str:
    """Create a topic with one queue and queue.type=BatchCQ."""
    topic = t.new()
    answer = create(t, topic, readQueueNums=1, writeQueueNums=1, attributes="+queue.type=BatchCQ")
    t.require(answer.code == 0, f"the topic was not made: {answer}")
    return topic


def _records(answer: Answer) -> list[tuple[int, str, str | None, bool]]:
    """Return offset, sysFlag, INNER_NUM and whether the body equals the batch, for each record of a response."""
    found = [decode(each) for each in split_records(answer.body)]
    whole = batch_body(PARTS)
    return [
        (each.queue_offset, hex(each.sys_flag), each.property_map().get("INNER_NUM"), each.body == whole)
        for each in found
    ]


def _seen(answer: Answer) -> dict[str, object]:
    """Return the code, offsets and records of a pull response."""
    ends = {name: answer.fields.get(name) for name in ("nextBeginOffset", "minOffset", "maxOffset")}
    return {"code": answer.code, **ends, "records": _records(answer) if answer.code == 0 else []}


def _stored(t: Remoting, topic: str, end: int) -> None:
    t.require(t.until(lambda: t.max_offset(topic) >= end), "what was sent cannot be read")


@remoting_case("BatchConsumeQueue.putMessagePositionInfoWrapper")
def single_messages_are_what_they_are(t: Remoting) -> None:
    """A BatchCQ queue accepts single messages, which are pulled, popped and queried as in any queue."""
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
    """A batch with an id is stored as one record and takes one offset per message.

    The response names the batch by its id.
    """
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
    """A batch can be viewed by its log offset and queried by its own id.

    Tags and keys of its messages do not find it.
    """
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
    """A pop returns a batch as one record, which is acknowledged by its first offset."""
    topic, group = batched(t), t.group()
    send_batch(t, topic, PARTS, unique=True)
    _stored(t, topic, 3)
    answer = t.pop(topic, group)
    t.see("popped", _records(answer))
    t.see("offsets", answer.fields.get("msgOffsetInfo"))
    t.see("popped again", t.pop(topic, group).code)


@remoting_case("SendMessageProcessor.sendBatchMessage")
def a_batch_without_id_is_taken_apart(t: Remoting) -> None:
    """A batch without its own id is stored message by message, even in a BatchCQ queue."""
    topic = batched(t)
    t.see("sent", send_batch(t, topic, PARTS).without("msgId"), 0)
    _stored(t, topic, 3)
    t.see("pulled", _seen(t.pull(topic, t.group())))
    t.see("of tag B", t.pull(topic, t.group(), expression="B").found)


@remoting_case("HookUtils.checkInnerBatch")
def a_message_may_say_that_it_holds_others(t: Remoting) -> None:
    """A BatchCQ topic accepts a message with the inner-batch flag; one with only INNER_NUM is rejected."""
    topic = batched(t)
    t.see("number", t.send(topic, properties={"INNER_NUM": "2"}), 13)
    t.see("flag and number", t.send(topic, sysFlag=0x80, properties={"INNER_NUM": "2"}).without("msgId"))
    t.see("flag", t.send(topic, sysFlag=0x80).without("msgId"))
    t.wait(2)
    t.see("end", t.max_offset(topic))
    t.see("pulled", _seen(t.pull(topic, t.group())))


@remoting_case("AdminBrokerProcessor.searchOffsetByTimestamp")
def offsets_of_a_queue_of_batches(t: Remoting) -> None:
    """Minimum, maximum and time-based offsets of a BatchCQ queue count messages, not records."""
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
