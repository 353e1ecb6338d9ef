"""What becomes of popped messages when the broker is killed, or stopped in order, and starts again.

Offsets of groups are written to a file now and then, for the first time ten seconds after the start. Where that is the
only time, what a case does afterwards is not written.
"""

from collections.abc import Mapping

from rocketmq_testkit.remoting.client import ReceivedMessage

from ...case import remoting_case
from ...targets.target import Capability
from ...worlds.answer import Answer
from ...worlds.pops import PopGroup, bodies, popping
from ...worlds.remoting import Remoting
from .batch_ack import batch_ack, entry
from .pop_records import RECORDS

NEEDS = frozenset({Capability.ADMIN, Capability.CRASH})
RESTARTS = frozenset({Capability.ADMIN, Capability.RESTART})
WRITTEN_ONCE: Mapping[str, str] = {"flushConsumerOffsetInterval": "3600000"}
WRITTEN_OFTEN: Mapping[str, str] = {"flushConsumerOffsetInterval": "500"}
BUFFER: Mapping[str, str] = {"enablePopBufferMerge": "true"}
RECORDS_IN_MEMORY: Mapping[str, str] = {**RECORDS, "enablePopBufferMerge": "true"}

FIRST_WRITE_SECONDS = 11
"""Offsets are written by then; and what is popped stays in memory for ten seconds where it does."""
INVISIBLE_MS = 40_000
"""So long that the broker is back before; the time of a change is as long again."""
LONG_MS = 3_600_000


def take_four(group: PopGroup) -> Answer:
    """Pop four messages: acknowledge the first, the second by a batch, prolong the third; the fourth stays out."""
    answer = group.pop(max_messages=4, invisible_ms=INVISIBLE_MS)
    popped = group.t.popped(answer)
    group.t.require(len(popped) == 4, f"four messages were to be popped: {answer}")
    (first, one), (second, two), (third, three), _ = popped
    group.ack(one, first.queue_offset)
    batch_ack(group.t, entry(group, two, [second.queue_offset]))
    group.change(three, third.queue_offset, INVISIBLE_MS)
    return answer


def see_after_crash(group: PopGroup) -> None:
    """Note what a killed broker hands out at once when it is back, and what comes back later."""
    t = group.t
    t.wait(2)  # offsets move a moment after the answer of a pop, or at the next second
    t.see("committed before", group.committed())
    t.crash()
    see_what_comes(group)


def see_what_comes(group: PopGroup) -> None:
    """Note what a broker that has started hands out at once, and what comes back later."""
    t = group.t
    t.see("committed", group.committed())
    popped = group.pop(invisible_ms=LONG_MS, bornTime=0).messages  # however busy a broker is that starts
    t.see("popped at once", bodies([each for each in popped if not each.reconsume_times]))  # copies may be there by now
    t.wait(INVISIBLE_MS / 1000 + 12)
    t.see("came back", sorted(bodies(copies_now(group))))


def copies_now(group: PopGroup) -> list[ReceivedMessage]:
    """What has come back by now."""
    return group.copies() if group.copied() else []


def see_written(t: Remoting) -> None:
    """Messages that are popped, have left what memory there is, and the offsets are written."""
    group = popping(t, 6)
    take_four(group)
    t.wait(FIRST_WRITE_SECONDS + 4)
    see_after_crash(group)


def see_unwritten(t: Remoting) -> None:
    """Messages that are popped when offsets have been written for the last time, so that the group has none then."""
    group = popping(t, 6)
    t.wait(FIRST_WRITE_SECONDS)
    take_four(group)
    see_after_crash(group)


@remoting_case(
    "ConsumerOffsetManager.persist, PopReviveService.mergeAndRevive", needs=NEEDS, settings=WRITTEN_OFTEN, tidy=True
)
def what_was_popped_before_the_write_is_not_popped_again(t: Remoting) -> None:
    """After a crash only what was out and not acknowledged comes back, if the group's offset had been written."""
    see_written(t)


@remoting_case(
    "ConsumerOffsetManager.persist, PopReviveService.mergeAndRevive", needs=NEEDS, settings=WRITTEN_ONCE, tidy=True
)
def what_was_popped_after_the_write_is_popped_again(t: Remoting) -> None:
    """Popped after the last write, messages are popped again at once, and what was not acknowledged comes back too."""
    see_unwritten(t)


@remoting_case("PopBufferMergeService.scan", needs=NEEDS, settings={**BUFFER, **WRITTEN_OFTEN}, tidy=True)
def what_has_left_the_buffer_is_kept(t: Remoting) -> None:
    """A check point that had left the buffer is found after a crash, with what was acknowledged in the buffer."""
    see_written(t)


@remoting_case("PopBufferMergeService.addCk", needs=NEEDS, settings={**BUFFER, **WRITTEN_ONCE}, tidy=True)
def what_is_in_the_buffer_is_lost(t: Remoting) -> None:
    """What was in the buffer at a crash is popped again, acknowledged or not; only what was changed comes back too."""
    see_unwritten(t)


@remoting_case("PopBufferMergeService.commitOffset", needs=NEEDS, settings={**BUFFER, **WRITTEN_OFTEN}, tidy=True)
def what_is_acknowledged_in_the_buffer_is_over(t: Remoting) -> None:
    """Messages that were all acknowledged in the buffer are not popped again after a crash, those behind them are."""
    group = popping(t, 6)
    t.wait(FIRST_WRITE_SECONDS)
    group.ack_all(group.pop(max_messages=2, invisible_ms=INVISIBLE_MS))
    group.pop(max_messages=2, invisible_ms=INVISIBLE_MS)
    group.ack_all(group.pop(max_messages=1, invisible_ms=INVISIBLE_MS))
    group.reaches(2)
    t.wait(2)
    see_after_crash(group)


@remoting_case("PopConsumerService.popAsync", needs=NEEDS, settings={**RECORDS, **WRITTEN_OFTEN}, tidy=True)
def records_of_before_the_write_are_kept(t: Remoting) -> None:
    """Where pops write records the last read is popped again after a crash, and what was out comes back too."""
    see_written(t)


@remoting_case("PopConsumerRocksdbStore.writeRecords", needs=NEEDS, settings={**RECORDS, **WRITTEN_ONCE}, tidy=True)
def records_of_after_the_write_are_kept(t: Remoting) -> None:
    """Records are on the disk at once: what was out at a crash comes back, besides being popped again."""
    see_unwritten(t)


@remoting_case("PopConsumerCache.run", needs=NEEDS, settings={**RECORDS_IN_MEMORY, **WRITTEN_OFTEN}, tidy=True)
def records_that_have_left_the_memory_are_kept(t: Remoting) -> None:
    """Records that stayed in memory long enough are on the disk, and what was out comes back after a crash."""
    see_written(t)


@remoting_case("PopConsumerCache.writeRecords", needs=NEEDS, settings={**RECORDS_IN_MEMORY, **WRITTEN_ONCE}, tidy=True)
def records_in_memory_are_lost(t: Remoting) -> None:
    """Records in memory are lost in a crash: their messages are popped again, and only what was changed comes back."""
    see_unwritten(t)


@remoting_case("ConsumerOrderInfoManager.load", needs=NEEDS, settings=WRITTEN_OFTEN, tidy=True)
def a_batch_in_order_blocks_after_a_crash(t: Remoting) -> None:
    """A batch that was out in order for 20 s is still out after a crash; acknowledged, it frees its queue."""
    see_order(t)


@remoting_case("ConsumerOrderInfoManager.load", needs=NEEDS, settings={**RECORDS, **WRITTEN_OFTEN}, tidy=True)
def a_batch_in_order_blocks_where_pops_write_records(t: Remoting) -> None:
    """Where pops write records, too, a batch in order is out after a crash, and frees its queue when it is done."""
    see_order(t)


def see_order(t: Remoting) -> None:
    """A batch of three in order, of which the first is acknowledged before the broker is killed."""
    group = popping(t, 5)
    one, two, three = group.handles_in_order(3, invisible_ms=120_000, attempt_id="first")
    t.see("acknowledged before", group.ack(one, 0))
    t.wait(22)  # batches are written every 10 s
    t.crash()
    t.see("committed", group.committed())
    t.see("another attempt", group.pop_in_order(attempt_id="second").bodies)
    t.see("by old handles", [group.ack(handle, offset).code for handle, offset in ((two, 1), (three, 2))])
    t.see("committed by old handles", group.reaches(3))
    t.see("the next", group.pop_in_order(invisible_ms=120_000, attempt_id="third"))


@remoting_case("PopReviveService.consumeReviveMessage", needs=NEEDS, settings=WRITTEN_ONCE, tidy=True)
def what_came_back_after_the_write_comes_back_twice(t: Remoting) -> None:
    """The place in the revive log is an offset like others: what came back since it was written comes back again."""
    group = popping(t, 2)
    one, _ = group.handles(invisible_ms=12_000)
    group.ack(one, 0)
    t.until(group.copied, 40)
    t.see("came back", bodies(group.copies()))
    t.crash()
    t.until(lambda: group.copied() > 1, 60)
    t.see("after the crash", [[each.body.decode(), each.reconsume_times] for each in group.copies(2)])
    t.wait(10)
    t.see("copies at last", t.max_offset(group.retry_topic))


@remoting_case("PopBufferMergeService.shutdown", needs=RESTARTS, settings={**BUFFER, **WRITTEN_ONCE}, tidy=True)
def a_stop_in_order_writes_the_buffer(t: Remoting) -> None:
    """A broker that is stopped in order stores its buffer: what was out comes back, and nothing is popped again."""
    see_stopped(t)


@remoting_case("PopConsumerCache.shutdown", needs=RESTARTS, settings={**RECORDS_IN_MEMORY, **WRITTEN_ONCE}, tidy=True)
def a_stop_in_order_and_records_in_memory(t: Remoting) -> None:
    """A stop in order loses records in memory as a crash does: only what was changed comes back, the rest is popped."""
    see_stopped(t)


@remoting_case("BrokerController.shutdown", needs=RESTARTS, settings=WRITTEN_ONCE, tidy=True)
def a_stop_in_order_writes_the_offsets(t: Remoting) -> None:
    """A broker that is stopped in order writes its offsets: what was out comes back, and nothing is popped again."""
    see_stopped(t)


def see_stopped(t: Remoting) -> None:
    """Messages that are popped just before the broker is stopped in order."""
    group = popping(t, 6)
    take_four(group)
    t.wait(2)
    t.see("committed before", group.committed())
    t.restart()
    see_what_comes(group)
