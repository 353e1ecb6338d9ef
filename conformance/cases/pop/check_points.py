"""Check points that have one key: topic, group, queue, start offset, pop time and broker.

A broker makes two of them when the invisible time of a message is changed in the very millisecond of its pop, which
nobody can bring about at will. So they are written here as the broker writes them: by the timer, into the revive topic.
"""

from collections.abc import Sequence

from rocketmq_testkit.emulator.message.names import revive_topic
from rocketmq_testkit.emulator.pop.check_point import ACK_TAG, CK_TAG, Ack, CheckPoint

from ...case import remoting_case
from ...worlds.pops import PopGroup, bodies, popping
from ...worlds.remoting import Remoting

REVIVE_QUEUE = 3
EARLY_MS = 1000
"""A check point can be read so long before the invisible time ends."""
STEP_MS = 1000
"""The timer gives what lies in one second in any order, so each record has a second of its own."""
FIRST_MS = 4000
"""Invisible time of the first check point, which is decided 3 s after it can be read, or later."""


class Records:
    """What is written down of a group, all popped at one time."""

    def __init__(self, group: PopGroup) -> None:
        self._group = group
        self._pop_time = group.t.now_ms()

    def point(self, invisible_ms: int, offsets: Sequence[int]) -> None:
        """A check point of some offsets."""
        group, start = self._group, offsets[0]
        diffs = [offset - start for offset in offsets]
        broker = group.t.broker_name
        point = CheckPoint(group.topic, group.name, 0, start, self._pop_time, invisible_ms, broker, diffs)
        self._write(point.to_json(), CK_TAG, invisible_ms - EARLY_MS)

    def ack(self, after_ms: int, start: int, offset: int) -> None:
        """An acknowledgement of one offset, to be read so long after the pop."""
        group = self._group
        ack = Ack(group.topic, group.name, 0, start, self._pop_time, group.t.broker_name, [offset])
        self._write(ack.to_json(batch=False), ACK_TAG, after_ms)

    def _write(self, body: bytes, tag: str, after_ms: int) -> None:
        t = self._group.t
        deliver = {"TIMER_DELIVER_MS": str(self._pop_time + after_ms)}
        answer = t.send(revive_topic(t.cluster), body, queue=REVIVE_QUEUE, tag=tag, properties=deliver)
        t.require(answer.code == 0, f"a record was to be written: {answer}")


@remoting_case("PopReviveService.consumeReviveMessage")
def the_later_of_two_with_one_key_counts(t: Remoting) -> None:
    """A check point takes the place of an earlier one with its key: what only the earlier names does not come back."""
    group = popping(t, 3)
    records = Records(group)
    records.point(FIRST_MS, [0, 1])
    records.point(FIRST_MS + STEP_MS, [0])
    records.point(FIRST_MS + 2 * STEP_MS, [2])
    t.see("came back", bodies(group.copies(2)))


@remoting_case("PopReviveService.consumeReviveMessage")
def an_acknowledgement_of_one_key_is_of_the_later(t: Remoting) -> None:
    """An acknowledgement read after both check points of its key acknowledges the later: nothing of it comes back."""
    group = popping(t, 3)
    records = Records(group)
    records.point(FIRST_MS, [0, 1])
    records.point(FIRST_MS + STEP_MS, [0])
    records.ack(FIRST_MS - EARLY_MS + 2 * STEP_MS, 0, 0)
    records.point(FIRST_MS + 3 * STEP_MS, [2])
    t.see("came back", bodies(group.copies(1)))


@remoting_case("PopReviveService.consumeReviveMessage")
def an_acknowledgement_read_before_the_later_is_forgotten(t: Remoting) -> None:
    """What was acknowledged before the second check point of a key is read comes back with that one."""
    group = popping(t, 3)
    records = Records(group)
    records.point(FIRST_MS, [0, 1])
    records.ack(FIRST_MS - EARLY_MS + STEP_MS, 0, 0)
    records.point(FIRST_MS + 2 * STEP_MS, [0])
    records.point(FIRST_MS + 3 * STEP_MS, [2])
    t.see("came back", bodies(group.copies(2)))
