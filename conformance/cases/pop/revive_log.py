"""Check points and acknowledgements that the broker stores as messages of the revive topic."""

from typing import Any

from rocketmq_testkit.emulator.message.names import TIMER_TOPIC, revive_topic
from rocketmq_testkit.remoting.client import ReceivedMessage
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...helpers.pops import PopGroup, popping, record_shown, records_since
from ...helpers.sends import send_batch
from .batch_ack import batch_ack, entry


class ReviveRecords:
    """The records that the broker stores for a group from now on."""

    def __init__(self, group: PopGroup) -> None:
        self._group = group
        self._since = group.t.max_offset(TIMER_TOPIC)
        topic = revive_topic(group.t.cluster)
        self._starts = [group.t.max_offset(topic, queue) for queue in range(8)]

    def in_timer_topic(self, count: int, seconds: float = 5) -> list[dict[str, Any]]:
        """Return the records in the timer topic as soon as there are `count`, decoded for notes."""
        return [record_shown(each) for each in self.messages_in_timer_topic(count, seconds)]

    def messages_in_timer_topic(self, count: int, seconds: float = 5) -> list[ReceivedMessage]:
        """Return the messages in the timer topic that hold the records, as soon as there are `count`."""
        return self._records(TIMER_TOPIC, 0, self._since, count, seconds=seconds)

    def in_revive_topic(self, response: DecodedResponse, count: int, seconds: float = 10) -> list[dict[str, Any]]:
        """Return the records of a pop in the revive topic as soon as there are `count`."""
        queue = int(response["reviveQid"])
        topic = revive_topic(self._group.t.cluster)
        return [record_shown(each) for each in self._records(topic, queue, self._starts[queue], count, seconds=seconds)]

    def _records(self, topic: str, queue: int, since: int, count: int, *, seconds: float) -> list[ReceivedMessage]:
        t, name = self._group.t, self._group.name

        def look() -> list[ReceivedMessage]:
            found = records_since(t, topic, queue, since, mark=name)
            return found if len(found) >= count else []

        return t.until(look, seconds)


def tags(records: list[dict[str, Any]]) -> list[str]:
    """Return the tag of each record, which tells its kind."""
    return [each["properties"]["TAGS"] for each in records]


def logged_pop(t: RemotingContext, messages: int, **more: Any) -> tuple[PopGroup, ReviveRecords, DecodedResponse]:
    """Create a group that pops `messages` messages. Return it, the records of its pops, and the response to the pop."""
    group = popping(t, messages)
    log = ReviveRecords(group)
    return group, log, group.pop(**more)


def properties_without_queue(record: dict[str, Any]) -> dict[str, str]:
    """Return the properties without the revive queue, because all pops of a broker share the revive queues."""
    return {name: value for name, value in record["properties"].items() if name != "REAL_QID"}


def note_record(
    t: RemotingContext, label: str, record: dict[str, Any], pop_time: str, *, readable: str = "readable after"
) -> None:
    """Note a record without its revive queue, and the time in ms from the pop until it becomes readable."""
    t.note(label, {**record, "properties": properties_without_queue(record)})
    t.note(readable, deliver_after(record, pop_time))


def deliver_after(record: dict[str, Any], pop_time: str) -> int:
    """Return the ms from the pop until a record becomes readable."""
    return int(record["properties"]["TIMER_DELIVER_MS"]) - int(pop_time)


@remoting_case("PopMessageProcessor.buildCkMsg")
def a_pop_writes_a_check_point(t: RemotingContext) -> None:
    """A pop stores one check point for the messages of a queue, readable 1 s before they become visible."""
    _, log, response = logged_pop(t, 4, invisible_ms=60_000)
    [point] = log.in_timer_topic(1)
    note_record(t, "check point", point, response["popTime"])
    t.note("revive queue", point["properties"]["REAL_QID"] == response["reviveQid"])


@remoting_case("PopMessageProcessor.appendCheckPoint")
def a_pop_writes_one_check_point_for_each_queue(t: RemotingContext) -> None:
    """A pop of several queues stores one check point for each queue, all in the same revive queue."""
    group = popping(t, 2, queues=3)
    log = ReviveRecords(group)
    response = group.pop()
    points = log.in_timer_topic(3)
    t.note("queues and numbers", sorted([point["body"]["q"], point["body"]["n"]] for point in points))
    t.note("one revive queue", {point["properties"]["REAL_QID"] for point in points} == {response["reviveQid"]})


@remoting_case("PopMessageProcessor.appendCheckPoint")
def a_check_point_omits_filtered_messages(t: RemotingContext) -> None:
    """A check point names messages by their distance from the start offset and omits filtered ones."""
    group = popping(t)
    for tag in ("B", "A", "B", "A", "A"):
        group.fill(tag=tag)
    log = ReviveRecords(group)
    group.pop(expression="A", max_messages=2)
    [point] = log.in_timer_topic(1)
    t.note("body", point["body"])


@remoting_case("AckMessageProcessor.appendAck")
def an_ack_writes_a_record(t: RemotingContext) -> None:
    """An acknowledgement is stored as a record that becomes readable when the invisible duration ends."""
    group, log, response = logged_pop(t, 2)
    group.ack(group.handles_of(response)[1], 1)
    _, record = log.in_timer_topic(2)
    note_record(t, "record", record, response["popTime"])


@remoting_case("AckMessageProcessor.appendAck")
def a_batch_ack_writes_one_record(t: RemotingContext) -> None:
    """A batch acknowledgement of several messages of a check point is one record with a list of offsets."""
    group, log, response = logged_pop(t, 4)
    batch_ack(t, entry(group, group.handles_of(response)[0], [0, 2, 3]))
    _, record = log.in_timer_topic(2)
    note_record(t, "record", record, response["popTime"])


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin")
def a_change_writes_a_check_point_and_an_ack(t: RemotingContext) -> None:
    """A change stores a check point of the one message, then an acknowledgement of the old check point."""
    group, log, response = logged_pop(t, 3)
    changed = group.change(group.handles_of(response)[2], 2, 30_000)
    _, point, ack = log.in_timer_topic(3)
    note_record(t, "check point", point, changed["popTime"], readable="check point readable after")
    t.note("popped at the time of the change", str(point["body"]["pt"]) == changed["popTime"])
    note_record(t, "acknowledgement", ack, response["popTime"], readable="acknowledgement readable after")


@remoting_case("TimerMessageStore.convert")
def check_points_reach_the_revive_topic(t: RemotingContext) -> None:
    """Check points and acknowledgements reach the revive topic about when the invisible duration ends."""
    group, log, response = logged_pop(t, 2, invisible_ms=3000)
    group.ack(group.handles_of(response)[0], 0)
    found = log.in_revive_topic(response, 2)
    t.note("tags", tags(found))
    t.note("check point's properties", {**found[0], "properties": properties_without_queue(found[0])})
    t.note("acknowledgement's properties", {**found[1], "properties": properties_without_queue(found[1])})


@remoting_case("TimerMessageStore.dequeue")
def records_wait_in_the_timer_topic_until_delivery(t: RemotingContext) -> None:
    """Records wait only in the timer topic, with the born time of their request.

    A check point is delivered 1 s early.
    """
    group, log, response = logged_pop(t, 4, invisible_ms=6000)
    watch = t.stopwatch()
    handles = group.handles_of(response)
    after_pop = t.now_ms()
    t.wait(0.5)
    before_ack = t.now_ms()
    group.ack(handles[1], 1)
    changed = group.change(handles[2], 2, 8000)
    found = log.messages_in_timer_topic(4)
    in_the_end = t.now_ms()
    t.note("waiting", [each.tag for each in found])
    t.note("delivered", log.in_revive_topic(response, 1, 0))
    point, ack, later, ack_of_the_first = (each.born_timestamp for each in found)
    t.note("born at the pop", int(response["popTime"]) <= point <= after_pop)
    t.note("born at the acknowledgement", before_ack <= ack <= int(changed["popTime"]))
    t.note("born at the change", int(changed["popTime"]) <= later <= ack_of_the_first <= in_the_end)
    t.note("the first", tags(log.in_revive_topic(response, 1)))
    t.note("after", watch.between(4.7, 6.7))
    t.note("with its acknowledgements", tags(log.in_revive_topic(response, 3)))
    t.note("after", watch.between(5.8, 7.8))


@remoting_case("PopBufferMergeService.putCkToStore")
def a_check_point_with_no_invisible_duration_is_written_without_delay(t: RemotingContext) -> None:
    """The check point of a pop with an invisible duration of 0 goes to the revive topic without delay."""
    group = popping(t, 1)
    log = ReviveRecords(group)
    watch = t.stopwatch()
    response = group.pop(invisible_ms=0)
    [point] = log.in_revive_topic(response, 1)
    t.note("check point", {**point, "properties": properties_without_queue(point)})
    t.note("after", watch.between(0, 1.5))


@remoting_case("PopReviveService.rePutCK", alone=True)
def a_check_point_is_stored_again_if_redelivery_fails(t: RemotingContext) -> None:
    """A check point whose copies cannot be stored (retry topic name too long) is stored again for each message.

    Its invisible duration grows by 10 s, and by another 20 s the next time.
    """
    start, group_start = t.new(), t.new("group")
    topic = t.topic(queues=1, name=start + "-" * (127 - len(start)))
    group = PopGroup(t, topic, t.group(name=group_start + "-" * (130 - len(group_start))))
    group.fill(2)
    log = ReviveRecords(group)
    response = group.pop(invisible_ms=0)
    for attempt in (1, 2):
        # The order of the two records depends on threads.
        for record in sorted(log.in_timer_topic(2 * attempt, 30)[-2:], key=lambda each: int(each["body"]["so"])):
            note_record(t, f"attempt {attempt}", record, response["popTime"])
    t.note("the group's offset", group.committed())


@remoting_case("PopReviveService.rePutCK, HookUtils.transformTimerMessage")
def redelivery_is_retried_if_the_delay_exceeds_the_timer_limit(t: RemotingContext) -> None:
    """A copy whose delay exceeds the timer's limit is rejected and retried 10 s later.

    The case sends such a message inside a batch, whose messages the broker does not check for delays.
    """
    group = popping(t)
    t.readable(group.topic, send_batch(t, group.topic, [(b"four days", {"TIMER_DELAY_MS": "345600000"})]))
    log = ReviveRecords(group)
    response = group.pop(invisible_ms=0)
    t.note("popped", response.messages)
    [record] = log.in_timer_topic(1, 20)
    note_record(t, "check point", record, response["popTime"])
    t.note("copies", group.count_copies())


@remoting_case("TopicConfigManager.init")
def the_revive_topic_has_8_queues(t: RemotingContext) -> None:
    """The revive topic is named after the cluster and has 8 queues."""
    t.note("revive topic", t.request(RequestCode.GET_TOPIC_CONFIG, {"topic": revive_topic(t.cluster)}).json)
