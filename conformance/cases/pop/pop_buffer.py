"""Check points that the broker first keeps in memory (enablePopBufferMerge, PopBufferMergeService)."""

from collections.abc import Mapping
from typing import Any

from rocketmq_testkit.emulator.message.names import TIMER_TOPIC

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.pops import PopGroup, bodies, popping, record_shown, records_since
from .batch_ack import batch_ack, entry
from .notification import notification
from .peek import peek
from .polling_info import polling_info
from .pop_progress import progress

BUFFER_SECONDS = 6
BUFFER: Mapping[str, str] = {"enablePopBufferMerge": "true", "popCkStayBufferTime": str(BUFFER_SECONDS * 1000)}
"""The buffer accepts acknowledgements of a check point until 1.5 s before the check point leaves it."""
BATCHED: Mapping[str, str] = {
    **BUFFER,
    "enablePopBatchAck": "true",
    "popCkOffsetMaxQueueSize": "2",
}


class StoredRecords:
    """The check points and acknowledgements that the broker stores for a group from now on.

    Until they are due, they wait in the topic of the timer wheel. The keys of their bodies are upstream's: `so` is the
    offset at which the check point starts, `n` the number of its messages, `d` their distances from `so`, `it` the
    invisible duration in ms, and `ao` the acknowledged offset.
    """

    def __init__(self, group: PopGroup) -> None:
        self._group = group
        self._since = group.t.max_offset(TIMER_TOPIC)

    def records(self) -> list[dict[str, Any]]:
        """Return all records so far, without the revive queue, because all pops of a broker share the revive queues."""
        t = self._group.t
        shown = [record_shown(each) for each in records_since(t, TIMER_TOPIC, 0, self._since, mark=self._group.name)]
        for each in shown:
            del each["properties"]["REAL_QID"]
        return shown

    def bodies(self, count: int = 0, seconds: float = 12) -> list[Any]:
        """Return the bodies of the records as soon as there are `count`, or those found after `seconds`."""
        return [each["body"] for each in self._group.t.until(lambda: self._enough(count), seconds) or self.records()]

    def _enough(self, count: int) -> list[dict[str, Any]]:
        found = self.records()
        return found if len(found) >= count else []


@remoting_case("PopBufferMergeService.addCk", settings=BUFFER)
def a_check_point_is_stored_when_its_time_in_the_buffer_ends(t: RemotingContext) -> None:
    """A check point is stored when its time in the buffer ends, not at the pop.

    The group's offset advances at that time.
    """
    group = popping(t, 3)
    written = StoredRecords(group)
    watch = t.stopwatch()
    t.note("popped", group.pop(invisible_ms=60_000), 0)
    t.wait(1)
    t.note("stored after 1 s", written.records())
    t.note("committed after 1 s", group.committed())
    t.until(written.records, 12)
    t.note("stored then", written.records())
    t.note("after", watch.between(BUFFER_SECONDS - 0.5, BUFFER_SECONDS + 3))
    t.note("committed then", group.wait_until_committed(3))


@remoting_case("PopBufferMergeService.addAk", settings=BUFFER)
def a_pop_fully_acknowledged_in_the_buffer_stores_no_records(t: RemotingContext) -> None:
    """If all messages of a pop are acknowledged while it is buffered, the broker stores nothing.

    The group's offset advances.
    """
    group = popping(t, 3)
    written = StoredRecords(group)
    response = group.pop(invisible_ms=20_000)
    one, two, three = (handle for _, handle in t.popped(response))
    t.note("acknowledged", [group.ack(one, 0), group.ack(three, 2), group.ack(three, 2)])
    t.note("committed before the last", group.committed())
    t.note("the last", group.ack(two, 1), 0)
    t.note("committed", group.wait_until_committed(3))
    t.wait(BUFFER_SECONDS + 2)
    t.note("stored", written.records())


@remoting_case("PopBufferMergeService.addAk", settings=BUFFER)
def a_batch_ack_is_buffered_like_single_acks(t: RemotingContext) -> None:
    """A batch acknowledgement is buffered like single ones."""
    group = popping(t, 3)
    written = StoredRecords(group)
    handle = group.handles(invisible_ms=20_000)[0]
    t.note("acknowledged", batch_ack(t, entry(group, handle, [0, 1, 2])), 0)
    t.note("committed", group.wait_until_committed(3))
    t.wait(BUFFER_SECONDS + 2)
    t.note("stored", written.records())


@remoting_case("PopBufferMergeService.putCkToStore, PopBufferMergeService.putAckToStore", settings=BUFFER)
def a_check_point_leaving_the_buffer_is_stored_before_its_acks(t: RemotingContext) -> None:
    """A check point that leaves the buffer is stored as if nothing was acknowledged.

    Each acknowledgement is stored after it.
    """
    group = popping(t, 4)
    written = StoredRecords(group)
    handles = group.handles(invisible_ms=20_000)
    group.ack(handles[2], 2)
    group.ack(handles[0], 0)
    t.note("stored", written.bodies(3))
    t.note("came back", bodies(group.wait_for_copies(2)))


@remoting_case("PopBufferMergeService.putBatchAckToStore", settings=BATCHED)
def with_enable_pop_batch_ack_buffered_acks_are_stored_as_one_record(t: RemotingContext) -> None:
    """With enablePopBatchAck the acknowledgements of a check point that leaves the buffer are stored as one record."""
    group = popping(t, 4)
    written = StoredRecords(group)
    handles = group.handles(invisible_ms=20_000)
    group.ack(handles[2], 2)
    group.ack(handles[0], 0)
    t.note("stored", written.bodies(2))
    t.note("came back", bodies(group.wait_for_copies(2)))


def _note_room_for_two(t: RemotingContext) -> None:
    """Pop three messages while the buffer has room for two check points."""
    group = popping(t, 4)
    written = StoredRecords(group)
    first, second, third = (group.pop(max_messages=1, invisible_ms=20_000) for _ in range(3))
    t.note("popped", [first.bodies, second.bodies, third.bodies])
    t.note("stored at once", [[each["so"], each["n"]] for each in written.bodies(1, 2)])
    t.note("committed", group.committed())
    group.ack_all(second)
    group.ack_all(first)
    t.note("committed when the others are done", group.wait_until_committed(3))


@remoting_case("PopBufferMergeService.checkQueueOk", settings=BATCHED)
def check_points_beyond_pop_ck_offset_max_queue_size_are_stored_at_once(t: RemotingContext) -> None:
    """If a queue has popCkOffsetMaxQueueSize check points buffered, the next is stored at once.

    The group's offset waits.
    """
    _note_room_for_two(t)


@remoting_case("PopBufferMergeService.addCk", settings={**BUFFER, "popCkMaxBufferSize": "1"})
def check_points_beyond_pop_ck_max_buffer_size_are_stored_at_once(t: RemotingContext) -> None:
    """If more than popCkMaxBufferSize check points are buffered, the next is stored at once.

    The group's offset waits.
    """
    _note_room_for_two(t)


@remoting_case("PopBufferMergeService.commitOffset", settings=BUFFER)
def an_unacknowledged_buffered_check_point_holds_the_offset_back(t: RemotingContext) -> None:
    """The group's offset passes check points in the order of their pops.

    The order of acknowledgements does not matter.
    """
    group = popping(t, 6)
    pops = [group.pop(max_messages=2, invisible_ms=20_000) for _ in range(3)]
    t.note("popped", [each.bodies for each in pops])
    group.ack_all(pops[1])
    t.wait(0.5)
    t.note("the second is done", group.committed())
    t.note("progress", progress(group))
    group.ack_all(pops[0])
    t.note("the first is done", group.wait_until_committed(4))
    t.note("nothing is left", group.pop())
    t.note("who waits", polling_info(group))
    t.note("the third has left the memory", t.until(lambda: group.committed()["offset"] == "6", 12))


@remoting_case("PopBufferMergeService.addCk", settings=BUFFER)
def a_check_point_with_a_short_invisible_duration_is_stored_at_once(t: RemotingContext) -> None:
    """A check point is stored at once, without buffering, if its invisible duration is short.

    The limit is popCkStayBufferTimeOut + 1.5 s.
    """
    group = popping(t, 2)
    written = StoredRecords(group)
    t.note("popped", group.pop(max_messages=1, invisible_ms=4000).bodies)
    t.note("stored", [[each["so"], each["n"], each["it"]] for each in written.bodies(1, 2)])
    t.note("committed", group.wait_until_committed(1))
    t.note("came back", bodies(group.wait_for_copies()))


@remoting_case("PopBufferMergeService.addAk", settings=BUFFER)
def an_ack_after_the_check_point_left_the_buffer_is_stored(t: RemotingContext) -> None:
    """An acknowledgement after the check point has left the buffer is stored and takes effect."""
    group = popping(t, 2)
    written = StoredRecords(group)
    one, _ = group.handles(invisible_ms=16_000)
    t.until(written.records, 12)
    t.note("acknowledged", group.ack(one, 0), 0)
    _, record = written.bodies(2)
    t.note("stored", record)
    t.note("came back", bodies(group.wait_for_copies()))


@remoting_case("PopBufferMergeService.addAk", settings=BUFFER)
def an_ack_of_an_offset_outside_the_check_point_is_not_stored(t: RemotingContext) -> None:
    """An acknowledgement of an offset outside the check point succeeds and is stored nowhere."""
    group = popping(t)
    for tag in "ABA":
        group.fill(tag=tag)
    written = StoredRecords(group)
    one, _ = group.handles(invisible_ms=16_000, expression="A")
    t.note("acknowledged", [group.ack(one, 1).code, group.ack(one, 2).code])
    t.note("stored", [[each.get("n"), each.get("d"), each.get("ao")] for each in written.bodies(2)])
    t.note("came back", bodies(group.wait_for_copies()))


@remoting_case("ChangeInvisibleTimeProcessor.appendCheckPointThenAckOrigin", settings=BUFFER)
def a_change_acknowledges_the_original_message_in_the_buffer(t: RemotingContext) -> None:
    """The check point of a change of the invisible duration is stored at once.

    The original message is acknowledged in the buffer, which ends its pop.
    """
    group = popping(t, 1)
    written = StoredRecords(group)
    handle = group.handle(invisible_ms=20_000)
    t.note("changed", group.change(handle, 0, 8000), 0)
    t.note("committed", group.wait_until_committed(1))
    t.wait(BUFFER_SECONDS + 2)
    t.note("stored", [[each.get("so"), each.get("n"), each.get("it")] for each in written.bodies(1)])
    t.note("came back", bodies(group.wait_for_copies()))
    t.wait(10)
    t.note("copies at last", group.count_copies())


@remoting_case("PopReviveService.mergeAndRevive", settings=BUFFER)
def an_unacknowledged_message_of_a_buffered_pop_is_redelivered(t: RemotingContext) -> None:
    """An unacknowledged message of a buffered pop is redelivered and counted. The next pop is buffered again."""
    group = popping(t, 2)
    watch = t.stopwatch()
    one, _ = group.handles(invisible_ms=9000)
    group.ack(one, 0)
    t.note("came back", group.wait_for_copies())
    t.note("after", watch.between(10.5, 17))
    again = t.note("popped", group.pop(invisible_ms=20_000), 0)
    t.note("offset of the retry topic", group.retry.committed())
    [(message, handle)] = t.popped(again)
    t.note("acknowledged", group.retry.ack(handle, message.queue_offset), 0)
    t.note("offset then", group.retry.wait_until_committed(1))


@remoting_case("PopBufferMergeService.clearOffsetQueue", settings=BUFFER)
def a_pop_starts_at_a_reset_offset_despite_buffered_check_points(t: RemotingContext) -> None:
    """After an offset reset a pop starts at the new offset, even while check points are buffered."""
    group = popping(t, 4)
    response = group.pop(max_messages=3, invisible_ms=20_000)
    t.note("reset", group.reset(1), 0)
    t.note("popped", group.pop(max_messages=2, invisible_ms=20_000).bodies)
    group.ack_all(response)
    t.wait(0.5)
    t.note("committed", group.committed())


@remoting_case("PopMessageProcessor.popMsgFromQueue", settings=BUFFER)
def an_ordered_pop_is_not_buffered(t: RemotingContext) -> None:
    """An ordered pop is not buffered. It blocks its queue, and acknowledgements advance the group's offset."""
    group = popping(t, 3)
    written = StoredRecords(group)
    one, two = group.handles_in_order(2, invisible_ms=20_000)
    t.note("blocked", group.pop_in_order().bodies)
    t.note("acknowledged", group.ack(one, 0), 0)
    t.note("committed", group.wait_until_committed(1))
    group.ack(two, 1)
    t.note("next", group.pop_in_order().bodies)
    t.note("stored", written.records())


@remoting_case("NotificationProcessor.hasMsgFromQueue, PeekMessageProcessor.peekMsgFromQueue", settings=BUFFER)
def notifications_and_peeks_start_after_buffered_messages(t: RemotingContext) -> None:
    """Notifications and peeks start where the next pop would, after the messages in the buffer."""
    group = popping(t, 2)
    group.pop(max_messages=1, invisible_ms=20_000)
    t.note("notification with one left", notification(group), 0)
    t.note("peek with one left", peek(group, 0).bodies)
    group.pop(invisible_ms=20_000)
    t.note("notification with none left", notification(group), 0)
    t.note("peek with none left", peek(group, 0))
