"""Check points that share one key: topic, group, queue, start offset, pop time and broker.

A broker creates two of them if an invisible duration is changed in the same millisecond as the pop. A test cannot time
that, so these cases write check points as the broker does: into the revive topic, through the timer. The last check
point of each case has another key; its copy shows that the broker has processed the others.
"""

from collections.abc import Sequence

from rocketmq_testkit.emulator.message.names import revive_topic
from rocketmq_testkit.emulator.pop.check_point import ACK_TAG, CK_TAG, Ack, CheckPoint

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.pops import PopGroup, bodies, popping

REVIVE_QUEUE = 3
EARLY_MS = 1000
"""Milliseconds by which a check point becomes readable before its invisible duration ends."""
STEP_MS = 1000
"""Distance between records in ms: the timer delivers the records of one second in any order."""
FIRST_MS = 4000
"""Invisible duration of the first check point in ms. A broker revives it at the earliest 2 s after that duration."""


class ReviveRecordWriter:
    """Writes revive-topic records of one group, all with the same pop time."""

    def __init__(self, group: PopGroup) -> None:
        self._group = group
        self._pop_time = group.t.now_ms()

    def point(self, invisible_ms: int, offsets: Sequence[int]) -> None:
        """Write a check point of these offsets."""
        group, start = self._group, offsets[0]
        diffs = [offset - start for offset in offsets]
        broker = group.t.broker_name
        point = CheckPoint(group.topic, group.name, 0, start, self._pop_time, invisible_ms, broker, diffs)
        self._write(point.to_json(), CK_TAG, invisible_ms - EARLY_MS)

    def ack(self, after_ms: int, start: int, offset: int) -> None:
        """Write an acknowledgement of one offset that becomes readable `after_ms` after the pop time."""
        group = self._group
        ack = Ack(group.topic, group.name, 0, start, self._pop_time, group.t.broker_name, [offset])
        self._write(ack.to_json(batch=False), ACK_TAG, after_ms)

    def _write(self, body: bytes, tag: str, after_ms: int) -> None:
        t = self._group.t
        deliver = {"TIMER_DELIVER_MS": str(self._pop_time + after_ms)}
        response = t.send(revive_topic(t.cluster), body, queue=REVIVE_QUEUE, tag=tag, properties=deliver)
        t.require(response.code == 0, f"a record was not stored: {response}")


@remoting_case("PopReviveService.consumeReviveMessage")
def a_check_point_replaces_an_earlier_one_with_the_same_key(t: RemotingContext) -> None:
    """A check point replaces an earlier one with the same key.

    Offsets that only the earlier one names are not redelivered.
    """
    group = popping(t, 3)
    records = ReviveRecordWriter(group)
    records.point(FIRST_MS, [0, 1])
    records.point(FIRST_MS + STEP_MS, [0])
    records.point(FIRST_MS + 2 * STEP_MS, [2])
    t.note("came back", bodies(group.wait_for_copies(2)))


@remoting_case("PopReviveService.consumeReviveMessage")
def an_ack_read_after_two_check_points_of_its_key_counts_for_the_later_one(t: RemotingContext) -> None:
    """An ack read after both check points of its key counts for the later one: no message of the key is redelivered."""
    group = popping(t, 3)
    records = ReviveRecordWriter(group)
    records.point(FIRST_MS, [0, 1])
    records.point(FIRST_MS + STEP_MS, [0])
    records.ack(FIRST_MS - EARLY_MS + 2 * STEP_MS, 0, 0)
    records.point(FIRST_MS + 3 * STEP_MS, [2])
    t.note("came back", bodies(group.wait_for_copies(1)))


@remoting_case("PopReviveService.consumeReviveMessage")
def an_ack_read_before_the_later_check_point_of_its_key_is_lost(t: RemotingContext) -> None:
    """An ack read before the second check point of its key is lost: the acknowledged message is redelivered."""
    group = popping(t, 3)
    records = ReviveRecordWriter(group)
    records.point(FIRST_MS, [0, 1])
    records.ack(FIRST_MS - EARLY_MS + STEP_MS, 0, 0)
    records.point(FIRST_MS + 2 * STEP_MS, [0])
    records.point(FIRST_MS + 3 * STEP_MS, [2])
    t.note("came back", bodies(group.wait_for_copies(2)))
