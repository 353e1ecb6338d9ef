"""What the broker writes down about popped messages: check points and acknowledgements as messages of its own."""

from typing import Any

from ..case import remoting_case
from ..json_text import dumps
from ..worlds.answer import Answer
from ..worlds.pops import TIMER_TOPIC, filled, max_offset, record_shown, records_since
from ..worlds.remoting import Remoting
from .batch_ack import BATCH_ACK, entry


def on_the_way(t: Remoting, group: str, since: int, count: int) -> list[dict[str, Any]]:
    """The records of a group in the timer topic, as soon as there are so many."""
    found = t.until(lambda: (lie := records_since(t, TIMER_TOPIC, 0, since, group)) and len(lie) >= count and lie, 5)
    return [record_shown(each) for each in found or []]


def revive_topic(t: Remoting) -> str:
    """The topic that they are delivered to."""
    return f"rmq_sys_REVIVE_LOG_{t.cluster}"


def delivered(t: Remoting, answer: Answer, group: str, since: int, count: int) -> list[dict[str, Any]]:
    """The records of a group in the revive topic, as soon as there are so many."""
    queue = int(answer["reviveQid"])
    found = t.until(
        lambda: (lie := records_since(t, revive_topic(t), queue, since, group)) and len(lie) >= count and lie, 10
    )
    return [record_shown(each) for each in found or []]


def deliver_after(record: dict[str, Any], pop_time: str) -> int:
    """Milliseconds from the pop to the instant at which a record is to be readable."""
    return int(record["properties"]["TIMER_DELIVER_MS"]) - int(pop_time)


@remoting_case("PopMessageProcessor.buildCkMsg")
def a_pop_writes_a_check_point(t: Remoting) -> None:
    """A pop writes one check point for the messages of a queue, to be readable a second before they are visible."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 4)
    since = max_offset(t, TIMER_TOPIC)
    answer = t.pop(topic, group, invisible_ms=60_000)
    [point] = on_the_way(t, group, since, 1)
    t.see("check point", {**point, "properties": without_queue(point)})
    t.see("readable after", deliver_after(point, answer["popTime"]))
    t.see("revive queue", point["properties"]["REAL_QID"] == answer["reviveQid"])


def without_queue(record: dict[str, Any]) -> dict[str, str]:
    """The properties without the revive queue, which all pops of a broker share by turns."""
    return {name: value for name, value in record["properties"].items() if name != "REAL_QID"}


@remoting_case("PopMessageProcessor.appendCheckPoint")
def each_queue_has_its_check_point(t: Remoting) -> None:
    """A pop that takes messages of several queues writes a check point for each, all in one revive queue."""
    topic, group = t.topic(queues=3), t.group()
    for queue in range(3):
        filled(t, topic, 2, queue=queue)
    since = max_offset(t, TIMER_TOPIC)
    answer = t.pop(topic, group)
    points = on_the_way(t, group, since, 3)
    t.see("queues and numbers", sorted([point["body"]["q"], point["body"]["n"]] for point in points))
    t.see("one revive queue", {point["properties"]["REAL_QID"] for point in points} == {answer["reviveQid"]})


@remoting_case("PopMessageProcessor.appendCheckPoint")
def a_check_point_skips_what_the_filter_skips(t: Remoting) -> None:
    """A check point names the messages by their distance from the start, and leaves out those that were filtered."""
    topic, group = t.topic(queues=1), t.group()
    for tag in ("B", "A", "B", "A", "A"):
        filled(t, topic, tag=tag)
    since = max_offset(t, TIMER_TOPIC)
    t.pop(topic, group, expression="A", max_messages=2)
    [point] = on_the_way(t, group, since, 1)
    t.see("body", point["body"])


@remoting_case("AckMessageProcessor.appendAck")
def an_ack_writes_a_record(t: Remoting) -> None:
    """An acknowledgement is written down, to be readable when the invisible time ends."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    since = max_offset(t, TIMER_TOPIC)
    answer = t.pop(topic, group)
    handle = t.popped(answer)[1][1]
    t.ack(topic, group, handle, 1)
    _, record = on_the_way(t, group, since, 2)
    t.see("record", {**record, "properties": without_queue(record)})
    t.see("readable after", deliver_after(record, answer["popTime"]))


@remoting_case("AckMessageProcessor.appendAck")
def a_batch_ack_writes_one_record(t: Remoting) -> None:
    """A batch acknowledgement of several messages of a check point is one record with a list of offsets."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 4)
    since = max_offset(t, TIMER_TOPIC)
    answer = t.pop(topic, group)
    handle = t.popped(answer)[0][1]
    entries = [entry(topic, group, handle, [0, 2, 3])]
    t.ask(BATCH_ACK, None, dumps({"acks": entries, "brokerName": t.broker_name}))
    _, record = on_the_way(t, group, since, 2)
    t.see("record", {**record, "properties": without_queue(record)})
    t.see("readable after", deliver_after(record, answer["popTime"]))


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def a_change_writes_a_check_point_and_an_ack(t: Remoting) -> None:
    """A change writes a check point of the one message first, then an acknowledgement of the old check point."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 3)
    since = max_offset(t, TIMER_TOPIC)
    answer = t.pop(topic, group)
    handle = t.popped(answer)[2][1]
    changed = t.change(topic, group, handle, 2, 30_000)
    _, point, ack = on_the_way(t, group, since, 3)
    t.see("check point", {**point, "properties": without_queue(point)})
    t.see("check point readable after", deliver_after(point, changed["popTime"]))
    t.see("popped at the time of the change", str(point["body"]["pt"]) == changed["popTime"])
    t.see("acknowledgement", {**ack, "properties": without_queue(ack)})
    t.see("acknowledgement readable after", deliver_after(ack, answer["popTime"]))


@remoting_case("TimerMessageStore.convert")
def they_reach_the_revive_topic(t: Remoting) -> None:
    """Check point and acknowledgement arrive in the revive topic about when the invisible time ends."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    starts = [max_offset(t, revive_topic(t), queue) for queue in range(8)]
    answer = t.pop(topic, group, invisible_ms=3000)
    handle = t.popped(answer)[0][1]
    t.ack(topic, group, handle, 0)
    found = delivered(t, answer, group, starts[int(answer["reviveQid"])], 2)
    t.see("tags", [each["properties"]["TAGS"] for each in found])
    t.see("check point's properties", {**found[0], "properties": without_queue(found[0])})
    t.see("acknowledgement's properties", {**found[1], "properties": without_queue(found[1])})


@remoting_case("PopBufferMergeService.putCkToStore")
def what_is_due_is_written_at_once(t: Remoting) -> None:
    """The check point of a pop without invisible time goes into the revive topic without waiting."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    starts = [max_offset(t, revive_topic(t), queue) for queue in range(8)]
    watch = t.stopwatch()
    answer = t.pop(topic, group, invisible_ms=0)
    [point] = delivered(t, answer, group, starts[int(answer["reviveQid"])], 1)
    t.see("check point", {**point, "properties": without_queue(point)})
    t.see("after", watch.between(0, 1.5))


@remoting_case("TopicConfigManager.init")
def the_revive_topic_has_a_queue_for_each_turn(t: Remoting) -> None:
    """The revive topic belongs to the cluster and has 8 queues."""
    t.see("revive topic", t.ask(351, {"topic": revive_topic(t)}).json)
