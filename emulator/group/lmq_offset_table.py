"""Offsets of groups with names of light queues: one of each topic, apart from those of other groups.

Nothing that goes through all groups finds them: lists of groups and topics, copies for slaves and other groups, the
end of a topic. A reset moves only the next read. Source: LmqConsumerOffsetManager (5.3.3).
"""

from collections.abc import Iterator

from ..message.names import is_lmq
from .offset_table import Offsets


class LightOffsets(Offsets):
    """The offsets of a broker with `enableLmq`."""

    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Overwrite the committed offset."""
        super().commit(group, topic, 0 if is_lmq(group) else queue_id, offset)

    def query(self, group: str, topic: str, queue_id: int) -> int:
        """The committed offset, else -1; for other groups a waiting reset before it."""
        if is_lmq(group):
            return self.committed.get((group, topic), {}).get(0, -1)
        return super().query(group, topic, queue_id)

    def clone(self, source: str, dest: str, topic: str) -> None:
        """Give a group what another has committed."""
        if not (is_lmq(source) or is_lmq(dest)):
            super().clone(source, dest, topic)

    def reset(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Move a group."""
        if is_lmq(group):
            self._resets.setdefault((group, topic), {})[queue_id] = offset
        else:
            super().reset(group, topic, queue_id, offset)

    def topics_of(self, group: str) -> list[str]:
        """Topics that a group has committed offsets of."""
        return [] if is_lmq(group) else super().topics_of(group)

    def groups_of(self, topic: str) -> list[str]:
        """Groups that have committed offsets of a topic."""
        return [group for group in super().groups_of(topic) if not is_lmq(group)]

    def all(self) -> Iterator[tuple[str, str, dict[int, int]]]:
        """(group, topic, offsets by queue id)."""
        return (each for each in super().all() if not is_lmq(each[0]))

    def light(self) -> dict[tuple[str, str], int]:
        """(group, topic) -> offset, of groups with names of light queues."""
        return {place: table[0] for place, table in self.committed.items() if is_lmq(place[0])}

    def delete_topic(self, topic: str) -> None:
        """Forget a topic."""
        self._forget([pair for pair in self._names.of_topic(topic) if not is_lmq(pair[0])])
