"""Topics with queue.type=BatchCQ.

A batch with an id is stored there as one record that takes an offset for each message.
"""

from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.remoting.client import batch_body
from rocketmq_testkit.remoting.client.messages import split_records
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...helpers.sends import send_batch
from ..topic.topics import create

PARTS = [(b"one", {"TAGS": "A", "KEYS": "k"}), (b"two", {"TAGS": "B"}), (b"three", {})]


def batched(t: RemotingContext) -> str:
    """Create a topic with one queue and queue.type=BatchCQ."""
    topic = t.new()
    response = create(t, topic, readQueueNums=1, writeQueueNums=1, attributes="+queue.type=BatchCQ")
    t.require(response.code == 0, f"the topic was not created: {response}")
    return topic


def _records(response: DecodedResponse) -> list[tuple[int, str, str | None, bool]]:
    """Return offset, sysFlag, INNER_NUM and whether the body equals the batch, for each record of a response."""
    found = [decode(each) for each in split_records(response.body)]
    whole = batch_body(PARTS)
    return [
        (each.queue_offset, hex(each.sys_flag), each.property_map().get("INNER_NUM"), each.body == whole)
        for each in found
    ]


def _seen(response: DecodedResponse) -> dict[str, object]:
    """Return the code, offsets and records of a pull response."""
    ends = {name: response.fields.get(name) for name in ("nextBeginOffset", "minOffset", "maxOffset")}
    return {"code": response.code, **ends, "records": _records(response) if response.code == 0 else []}


def _wait_for(t: RemotingContext, topic: str, end: int) -> None:
    """Wait until the maximum offset of the topic's queue is at least `end`."""
    t.require(t.until(lambda: t.max_offset(topic) >= end), "the messages cannot be read")


@remoting_case("BatchConsumeQueue.putMessagePositionInfoWrapper")
def a_batch_cq_topic_accepts_single_messages(t: RemotingContext) -> None:
    """A BatchCQ queue accepts single messages, which are pulled, popped and queried as in any queue."""
    topic = batched(t)
    sends = [t.send(topic, body, tag=body, keys="k") for body in ("a", "b", "c")]
    t.note("sent", [response.without("msgId", "transactionId") for response in sends])
    _wait_for(t, topic, 3)
    for offset in (0, 2, 3, 7):
        t.note(f"pulled from {offset}", _seen(t.pull(topic, t.group(), offset=offset)))
    t.note("of tag b", t.pull(topic, t.group(), expression="b").found)
    t.note("popped", t.pop(topic, t.group()).bodies)
    t.until(lambda: len(t.query(topic, "k").messages) == 3)
    t.note("by key", t.query(topic, "k").found)


@remoting_case("SendMessageProcessor.sendBatchMessage")
def a_batch_with_an_id_is_stored_as_one_record(t: RemotingContext) -> None:
    """A batch with an id is stored as one record and takes one offset per message.

    The response names the batch by its id.
    """
    topic = batched(t)
    t.note("sent", send_batch(t, topic, PARTS, unique=True), 0)
    t.note("sent again", send_batch(t, topic, PARTS, unique=True).without("msgId"), 0)
    _wait_for(t, topic, 6)
    t.note("single", t.send(topic, "last").without("msgId"), 0)
    _wait_for(t, topic, 7)
    for offset in (0, 1, 2, 3, 5, 6, 7, 9):
        t.note(f"pulled from {offset}", _seen(t.pull(topic, t.group(), offset=offset)))
    for count in (1, 3, 4):
        t.note(f"{count} at most", _seen(t.pull(topic, t.group(), max_messages=count)))


@remoting_case("BatchConsumeQueue.putMessagePositionInfoWrapper")
def a_batch_record_is_not_found_by_tags_or_keys_of_its_messages(t: RemotingContext) -> None:
    """A batch can be viewed by its log offset and queried by its own id.

    Neither tags nor keys of its messages find it.
    """
    topic = batched(t)
    sent = send_batch(t, topic, PARTS, unique=True)
    _wait_for(t, topic, 3)
    t.note("viewed", _records(t.view(sent.place)))
    for expression in ("A", "B", "*"):
        t.note(f"of tag {expression}", _seen(t.pull(topic, t.group(), expression=expression)))
    # A broker indexes a record after the send: once the batch's own id is found, the keys are not indexed later.
    t.until(lambda: t.query(topic, sent["transactionId"] if "transactionId" in sent.fields else "x").code == 0, 3)
    t.note("by key", t.query(topic, "k").code)


@remoting_case("PopMessageProcessor.popMsgFromQueue")
def a_batch_is_popped_as_a_whole(t: RemotingContext) -> None:
    """A pop returns a batch as one record, and `msgOffsetInfo` has only its first offset."""
    topic, group = batched(t), t.group()
    send_batch(t, topic, PARTS, unique=True)
    _wait_for(t, topic, 3)
    response = t.pop(topic, group)
    t.note("popped", _records(response))
    t.note("offsets", response.fields.get("msgOffsetInfo"))
    t.note("popped again", t.pop(topic, group).code)


@remoting_case("SendMessageProcessor.sendBatchMessage")
def a_batch_without_an_id_is_stored_message_by_message(t: RemotingContext) -> None:
    """A batch without its own id is stored message by message, even in a BatchCQ queue."""
    topic = batched(t)
    t.note("sent", send_batch(t, topic, PARTS).without("msgId"), 0)
    _wait_for(t, topic, 3)
    t.note("pulled", _seen(t.pull(topic, t.group())))
    t.note("of tag B", t.pull(topic, t.group(), expression="B").found)


@remoting_case("HookUtils.checkInnerBatch")
def inner_num_is_accepted_only_with_the_inner_batch_flag(t: RemotingContext) -> None:
    """A BatchCQ topic accepts a message with the inner-batch flag; one with only INNER_NUM is rejected."""
    topic = batched(t)
    t.note("number", t.send(topic, properties={"INNER_NUM": "2"}), 13)
    t.note("flag and number", t.send(topic, sysFlag=0x80, properties={"INNER_NUM": "2"}).without("msgId"))
    t.note("flag", t.send(topic, sysFlag=0x80).without("msgId"))
    t.wait(2)
    t.note("end", t.max_offset(topic))
    t.note("pulled", _seen(t.pull(topic, t.group())))


@remoting_case("AdminBrokerProcessor.searchOffsetByTimestamp")
def offsets_of_a_batch_cq_queue_count_messages_and_not_records(t: RemotingContext) -> None:
    """Minimum, maximum and time-based offsets of a BatchCQ queue count messages, not records."""
    topic, group = batched(t), t.group()
    send_batch(t, topic, PARTS, unique=True)
    _wait_for(t, topic, 3)
    t.wait(1.5)
    between = t.now_ms()
    t.wait(1.5)
    send_batch(t, topic, PARTS, unique=True)
    _wait_for(t, topic, 6)
    ext = {"topic": topic, "queueId": 0}
    for label, time in (("before all", 0), ("between", between), ("after all", between + 60_000)):
        t.note(label, t.request(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {**ext, "timestamp": time}), 0)
    t.note("minimum", t.request(RequestCode.GET_MIN_OFFSET, ext), 0)
    t.note("extent", t.request(RequestCode.GET_TOPIC_STATS_INFO, {"topic": topic}).code)
    t.note("committed", t.commit(topic, group, 6), 0)
    t.note("a new group", t.committed(topic, t.group()).code)
