"""What the broker writes down about popped messages: check points and acknowledgements as messages of its own."""

from typing import Any

from rocketmq_testkit.emulator.names import TIMER_TOPIC, revive_topic

from ..case import remoting_case
from ..worlds.answer import Answer
from ..worlds.pops import max_offset, popping, record_shown, records_since
from ..worlds.remoting import Remoting
from .batch_ack import batch_ack, entry


def on_the_way(t: Remoting, group: str, since: int, count: int) -> list[dict[str, Any]]:
    """The records of a group in the timer topic, as soon as there are so many."""
    found = t.until(lambda: (lie := records_since(t, TIMER_TOPIC, 0, since, group)) and len(lie) >= count and lie, 5)
    return [record_shown(each) for each in found or []]


def delivered(t: Remoting, answer: Answer, group: str, since: int, count: int) -> list[dict[str, Any]]:
    """The records of a group in the revive topic, as soon as there are so many."""
    queue = int(answer["reviveQid"])
    found = t.until(
        lambda: (lie := records_since(t, revive_topic(t.cluster), queue, since, group)) and len(lie) >= count and lie,
        10,
    )
    return [record_shown(each) for each in found or []]


def without_queue(record: dict[str, Any]) -> dict[str, str]:
    """The properties without the revive queue, which all pops of a broker share by turns."""
    return {name: value for name, value in record["properties"].items() if name != "REAL_QID"}


def see_record(
    t: Remoting, label: str, record: dict[str, Any], pop_time: str, readable: str = "readable after"
) -> None:
    """Note a record without its revive queue, and how long after the pop it is to be readable."""
    t.see(label, {**record, "properties": without_queue(record)})
    t.see(readable, deliver_after(record, pop_time))


def deliver_after(record: dict[str, Any], pop_time: str) -> int:
    """Milliseconds from the pop to the instant at which a record is to be readable."""
    return int(record["properties"]["TIMER_DELIVER_MS"]) - int(pop_time)


@remoting_case("PopMessageProcessor.buildCkMsg")
def a_pop_writes_a_check_point(t: Remoting) -> None:
    """A pop writes one check point for the messages of a queue, to be readable a second before they are visible."""
    group = popping(t, 4)
    since = max_offset(t, TIMER_TOPIC)
    answer = group.pop(invisible_ms=60_000)
    [point] = on_the_way(t, group.name, since, 1)
    see_record(t, "check point", point, answer["popTime"])
    t.see("revive queue", point["properties"]["REAL_QID"] == answer["reviveQid"])


@remoting_case("PopMessageProcessor.appendCheckPoint")
def each_queue_has_its_check_point(t: Remoting) -> None:
    """A pop that takes messages of several queues writes a check point for each, all in one revive queue."""
    group = popping(t, 2, queues=3)
    since = max_offset(t, TIMER_TOPIC)
    answer = group.pop()
    points = on_the_way(t, group.name, since, 3)
    t.see("queues and numbers", sorted([point["body"]["q"], point["body"]["n"]] for point in points))
    t.see("one revive queue", {point["properties"]["REAL_QID"] for point in points} == {answer["reviveQid"]})


@remoting_case("PopMessageProcessor.appendCheckPoint")
def a_check_point_skips_what_the_filter_skips(t: Remoting) -> None:
    """A check point names the messages by their distance from the start, and leaves out those that were filtered."""
    group = popping(t)
    for tag in ("B", "A", "B", "A", "A"):
        group.fill(tag=tag)
    since = max_offset(t, TIMER_TOPIC)
    group.pop(expression="A", max_messages=2)
    [point] = on_the_way(t, group.name, since, 1)
    t.see("body", point["body"])


@remoting_case("AckMessageProcessor.appendAck")
def an_ack_writes_a_record(t: Remoting) -> None:
    """An acknowledgement is written down, to be readable when the invisible time ends."""
    group = popping(t, 2)
    since = max_offset(t, TIMER_TOPIC)
    answer = group.pop()
    handle = group.handles_of(answer)[1]
    group.ack(handle, 1)
    _, record = on_the_way(t, group.name, since, 2)
    see_record(t, "record", record, answer["popTime"])


@remoting_case("AckMessageProcessor.appendAck")
def a_batch_ack_writes_one_record(t: Remoting) -> None:
    """A batch acknowledgement of several messages of a check point is one record with a list of offsets."""
    group = popping(t, 4)
    since = max_offset(t, TIMER_TOPIC)
    answer = group.pop()
    handle = group.handles_of(answer)[0]
    batch_ack(t, entry(group, handle, [0, 2, 3]))
    _, record = on_the_way(t, group.name, since, 2)
    see_record(t, "record", record, answer["popTime"])


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def a_change_writes_a_check_point_and_an_ack(t: Remoting) -> None:
    """A change writes a check point of the one message first, then an acknowledgement of the old check point."""
    group = popping(t, 3)
    since = max_offset(t, TIMER_TOPIC)
    answer = group.pop()
    handle = group.handles_of(answer)[2]
    changed = group.change(handle, 2, 30_000)
    _, point, ack = on_the_way(t, group.name, since, 3)
    see_record(t, "check point", point, changed["popTime"], "check point readable after")
    t.see("popped at the time of the change", str(point["body"]["pt"]) == changed["popTime"])
    see_record(t, "acknowledgement", ack, answer["popTime"], "acknowledgement readable after")


@remoting_case("TimerMessageStore.convert")
def they_reach_the_revive_topic(t: Remoting) -> None:
    """Check point and acknowledgement arrive in the revive topic about when the invisible time ends."""
    group = popping(t, 2)
    starts = [max_offset(t, revive_topic(t.cluster), queue) for queue in range(8)]
    answer = group.pop(invisible_ms=3000)
    handle = group.handles_of(answer)[0]
    group.ack(handle, 0)
    found = delivered(t, answer, group.name, starts[int(answer["reviveQid"])], 2)
    t.see("tags", [each["properties"]["TAGS"] for each in found])
    t.see("check point's properties", {**found[0], "properties": without_queue(found[0])})
    t.see("acknowledgement's properties", {**found[1], "properties": without_queue(found[1])})


@remoting_case("PopBufferMergeService.putCkToStore")
def what_is_due_is_written_at_once(t: Remoting) -> None:
    """The check point of a pop without invisible time goes into the revive topic without waiting."""
    group = popping(t, 1)
    starts = [max_offset(t, revive_topic(t.cluster), queue) for queue in range(8)]
    watch = t.stopwatch()
    answer = group.pop(invisible_ms=0)
    [point] = delivered(t, answer, group.name, starts[int(answer["reviveQid"])], 1)
    t.see("check point", {**point, "properties": without_queue(point)})
    t.see("after", watch.between(0, 1.5))


@remoting_case("TopicConfigManager.init")
def the_revive_topic_has_a_queue_for_each_turn(t: Remoting) -> None:
    """The revive topic belongs to the cluster and has 8 queues."""
    t.see("revive topic", t.ask(351, {"topic": revive_topic(t.cluster)}).json)
