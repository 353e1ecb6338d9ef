"""Popped messages after a crash or a graceful restart of the broker.

The buffer is that of enablePopBufferMerge, KV records are those of popConsumerKVServiceEnable. The broker writes group
offsets to a file periodically, for the first time ten seconds after the start. In cases that allow only that one write,
later offsets are not written.
"""

from collections.abc import Mapping

from rocketmq_testkit.remoting.client import ReceivedMessage

from ...case import remoting_case
from ...clients.remoting_response import DecodedResponse
from ...context.remoting import RemotingContext
from ...deployment.target import Capability
from ...helpers.pops import PopGroup, bodies, popping
from .batch_ack import batch_ack, entry
from .pop_records import RECORDS

NEEDS = frozenset({Capability.ADMIN, Capability.CRASH})
RESTARTS = frozenset({Capability.ADMIN, Capability.RESTART})
OFFSETS_WRITTEN_ONCE: Mapping[str, str] = {"flushConsumerOffsetInterval": "3600000"}
OFFSETS_WRITTEN_OFTEN: Mapping[str, str] = {"flushConsumerOffsetInterval": "500"}
BUFFER: Mapping[str, str] = {"enablePopBufferMerge": "true"}
RECORDS_IN_MEMORY: Mapping[str, str] = {**RECORDS, "enablePopBufferMerge": "true"}

FIRST_WRITE_SECONDS = 11
"""Seconds until offsets are written for the first time. A buffered check point stays in memory for ten seconds."""
INVISIBLE_MS = 40_000
"""Invisible duration in ms, longer than the restart of the broker. A change sets the same duration."""
LONG_MS = 3_600_000


def pop_four(group: PopGroup) -> DecodedResponse:
    """Pop four messages: ack the first, batch-ack the second, prolong the third, leave the fourth in flight."""
    response = group.pop(max_messages=4, invisible_ms=INVISIBLE_MS)
    popped = group.t.popped(response)
    group.t.require(len(popped) == 4, f"a pop of four messages returned {response}")
    (first, one), (second, two), (third, three), _ = popped
    group.ack(one, first.queue_offset)
    batch_ack(group.t, entry(group, two, [second.queue_offset]))
    group.change(three, third.queue_offset, INVISIBLE_MS)
    return response


def note_after_crash(group: PopGroup) -> None:
    """Crash and restart the broker, then record the messages it returns at once and those it redelivers later."""
    t = group.t
    t.wait(2)  # offsets advance shortly after a pop's response, or in the next second
    t.note("committed before", group.committed())
    t.crash()
    note_deliveries(group)


def note_deliveries(group: PopGroup) -> None:
    """Record the messages that a restarted broker returns at once and those it redelivers later."""
    t = group.t
    t.note("committed", group.committed())
    popped = group.pop(invisible_ms=LONG_MS, bornTime=0).messages  # for a starting, busy broker
    t.note("popped at once", bodies([each for each in popped if not each.reconsume_times]))  # copies may exist already
    t.wait(INVISIBLE_MS / 1000 + 12)
    t.note("came back", sorted(bodies(copies_now(group))))


def copies_now(group: PopGroup) -> list[ReceivedMessage]:
    """Return the messages redelivered so far."""
    return group.wait_for_copies() if group.count_copies() else []


def note_written(t: RemotingContext) -> None:
    """Pop messages, wait until they have left the buffer, if any, and until offsets are written; then crash."""
    group = popping(t, 6)
    pop_four(group)
    t.wait(FIRST_WRITE_SECONDS + 4)
    note_after_crash(group)


def note_unwritten(t: RemotingContext) -> None:
    """Pop messages after the last write of offsets, so that the group has no stored offset; then crash."""
    group = popping(t, 6)
    t.wait(FIRST_WRITE_SECONDS)
    pop_four(group)
    note_after_crash(group)


@remoting_case(
    "ConsumerOffsetManager.persist, PopReviveService.mergeAndRevive",
    needs=NEEDS,
    settings=OFFSETS_WRITTEN_OFTEN,
    tidy=True,
)
def messages_popped_before_the_last_offset_write_are_not_popped_again(t: RemotingContext) -> None:
    """After a crash only the messages in flight are redelivered if the group's offset was written before."""
    note_written(t)


@remoting_case(
    "ConsumerOffsetManager.persist, PopReviveService.mergeAndRevive",
    needs=NEEDS,
    settings=OFFSETS_WRITTEN_ONCE,
    tidy=True,
)
def messages_popped_after_the_last_offset_write_are_popped_again(t: RemotingContext) -> None:
    """Messages popped after the last offset write are popped again after a crash.

    Those in flight are also redelivered.
    """
    note_unwritten(t)


@remoting_case("PopBufferMergeService.scan", needs=NEEDS, settings={**BUFFER, **OFFSETS_WRITTEN_OFTEN}, tidy=True)
def a_check_point_that_left_the_buffer_survives_a_crash(t: RemotingContext) -> None:
    """A check point that has left the buffer survives a crash, with the acknowledgements made in the buffer."""
    note_written(t)


@remoting_case("PopBufferMergeService.addCk", needs=NEEDS, settings={**BUFFER, **OFFSETS_WRITTEN_ONCE}, tidy=True)
def buffered_check_points_are_lost_in_a_crash(t: RemotingContext) -> None:
    """Messages buffered at a crash are popped again, acknowledged or not.

    Only a changed message is also redelivered.
    """
    note_unwritten(t)


@remoting_case(
    "PopBufferMergeService.commitOffset", needs=NEEDS, settings={**BUFFER, **OFFSETS_WRITTEN_OFTEN}, tidy=True
)
def an_offset_advanced_by_buffered_acks_survives_a_crash(t: RemotingContext) -> None:
    """Messages all acknowledged in the buffer are not popped again after a crash; the messages after them are."""
    group = popping(t, 6)
    t.wait(FIRST_WRITE_SECONDS)
    group.ack_all(group.pop(max_messages=2, invisible_ms=INVISIBLE_MS))
    group.pop(max_messages=2, invisible_ms=INVISIBLE_MS)
    group.ack_all(group.pop(max_messages=1, invisible_ms=INVISIBLE_MS))
    group.wait_until_committed(2)
    t.wait(2)
    note_after_crash(group)


@remoting_case("PopConsumerService.popAsync", needs=NEEDS, settings={**RECORDS, **OFFSETS_WRITTEN_OFTEN}, tidy=True)
def kv_records_before_the_last_offset_write_survive_a_crash(t: RemotingContext) -> None:
    """With KV records the last read is popped again after a crash, and the messages in flight are also redelivered."""
    note_written(t)


@remoting_case(
    "PopConsumerRocksdbStore.writeRecords", needs=NEEDS, settings={**RECORDS, **OFFSETS_WRITTEN_ONCE}, tidy=True
)
def kv_records_after_the_last_offset_write_survive_a_crash(t: RemotingContext) -> None:
    """KV records are on disk at once. After a crash, messages in flight are redelivered and also popped again."""
    note_unwritten(t)


@remoting_case("PopConsumerCache.run", needs=NEEDS, settings={**RECORDS_IN_MEMORY, **OFFSETS_WRITTEN_OFTEN}, tidy=True)
def kv_records_that_left_the_cache_survive_a_crash(t: RemotingContext) -> None:
    """KV records that have left the memory cache are on disk, and messages in flight are redelivered after a crash."""
    note_written(t)


@remoting_case(
    "PopConsumerCache.writeRecords", needs=NEEDS, settings={**RECORDS_IN_MEMORY, **OFFSETS_WRITTEN_ONCE}, tidy=True
)
def kv_records_in_the_cache_are_lost_in_a_crash(t: RemotingContext) -> None:
    """KV records in memory are lost in a crash: their messages are popped again.

    Only a changed message is redelivered.
    """
    note_unwritten(t)


@remoting_case("ConsumerOrderInfoManager.load", needs=NEEDS, settings=OFFSETS_WRITTEN_OFTEN, tidy=True)
def an_ordered_batch_blocks_its_queue_after_a_crash(t: RemotingContext) -> None:
    """An ordered batch in flight for 20 s is still in flight after a crash. Acknowledging it unblocks its queue."""
    note_order(t)


@remoting_case("ConsumerOrderInfoManager.load", needs=NEEDS, settings={**RECORDS, **OFFSETS_WRITTEN_OFTEN}, tidy=True)
def with_kv_records_an_ordered_batch_blocks_its_queue_after_a_crash(t: RemotingContext) -> None:
    """With KV records, too, an ordered batch is in flight after a crash. Acknowledging it unblocks its queue."""
    note_order(t)


def note_order(t: RemotingContext) -> None:
    """Pop three messages in order, acknowledge the first, and crash the broker."""
    group = popping(t, 5)
    one, two, three = group.handles_in_order(3, invisible_ms=120_000, attempt_id="first")
    t.note("acknowledged before", group.ack(one, 0))
    t.wait(22)  # ordered batches are written every 10 s
    t.crash()
    t.note("committed", group.committed())
    t.note("another attempt", group.pop_in_order(attempt_id="second").bodies)
    t.note("by old handles", [group.ack(handle, offset).code for handle, offset in ((two, 1), (three, 2))])
    t.note("committed by old handles", group.wait_until_committed(3))
    t.note("the next", group.pop_in_order(invisible_ms=120_000, attempt_id="third"))


@remoting_case("PopReviveService.consumeReviveMessage", needs=NEEDS, settings=OFFSETS_WRITTEN_ONCE, tidy=True)
def messages_revived_after_the_last_offset_write_are_redelivered_twice(t: RemotingContext) -> None:
    """Messages revived after the last write of offsets are redelivered a second time after a crash.

    The broker keeps its position in the revive topic as the offset of a group.
    """
    group = popping(t, 2)
    one, _ = group.handles(invisible_ms=12_000)
    group.ack(one, 0)
    t.until(group.count_copies, 40)
    t.note("came back", bodies(group.wait_for_copies()))
    t.crash()
    t.until(lambda: group.count_copies() > 1, 60)
    t.note("after the crash", [[each.body.decode(), each.reconsume_times] for each in group.wait_for_copies(2)])
    t.wait(10)
    t.note("copies at last", t.max_offset(group.retry_topic))


@remoting_case("PopBufferMergeService.shutdown", needs=RESTARTS, settings={**BUFFER, **OFFSETS_WRITTEN_ONCE}, tidy=True)
def a_graceful_stop_stores_buffered_check_points(t: RemotingContext) -> None:
    """A graceful stop stores the buffer: messages in flight are redelivered, and none is popped again."""
    note_stopped(t)


@remoting_case(
    "PopConsumerCache.shutdown", needs=RESTARTS, settings={**RECORDS_IN_MEMORY, **OFFSETS_WRITTEN_ONCE}, tidy=True
)
def a_graceful_stop_loses_kv_records_in_the_cache(t: RemotingContext) -> None:
    """A graceful stop loses KV records in memory, as a crash does.

    Only a changed message is redelivered, the rest is popped.
    """
    note_stopped(t)


@remoting_case("BrokerController.shutdown", needs=RESTARTS, settings=OFFSETS_WRITTEN_ONCE, tidy=True)
def a_graceful_stop_writes_the_offsets(t: RemotingContext) -> None:
    """A graceful stop writes the offsets: messages in flight are redelivered, and none is popped again."""
    note_stopped(t)


def note_stopped(t: RemotingContext) -> None:
    """Pop messages shortly before the broker is stopped gracefully."""
    group = popping(t, 6)
    pop_four(group)
    t.wait(2)
    t.note("committed before", group.committed())
    t.restart()
    note_deliveries(group)
