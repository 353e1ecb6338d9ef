"""Offsets of groups with LMQ names: one per topic, under queue id 0.

Lists of groups and topics, copies to slaves and to other groups, and the deletion of a topic leave these offsets out.
Only `lmq_offsets` lists them. A reset changes only the offset of the next read.
Source: LmqConsumerOffsetManager (5.3.3).
"""

from collections.abc import Iterator, Mapping

from ..kernel.mypyc_attr import mypyc_attr
from ..message.names import is_lmq
from .offset_table import OffsetTable


@mypyc_attr(allow_interpreted_subclasses=True)
class LmqOffsetTable(OffsetTable):
    """The offset table of a broker with `enableLmq`."""

    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Overwrite the committed offset."""
        super().commit(group, topic, 0 if is_lmq(group) else queue_id, offset)

    def restore(self, offsets: Mapping[tuple[str, str], Mapping[int, int]]) -> None:
        """Restore the committed offsets of a previous run; of a group with an LMQ name, the last one of a topic."""
        super().restore(
            {
                (group, topic): {0: list(table.values())[-1]} if table and is_lmq(group) else table
                for (group, topic), table in offsets.items()
            }
        )

    def query(self, group: str, topic: str, queue_id: int) -> int:
        """Return the committed offset, or -1; a pending reset comes first, but not for groups with LMQ names."""
        if is_lmq(group):
            return self.committed.get((group, topic), {}).get(0, -1)
        return super().query(group, topic, queue_id)

    def clone(self, source: str, dest: str, topic: str) -> None:
        """Copy the committed offsets of a group to another; a no-op if either has an LMQ name."""
        if not (is_lmq(source) or is_lmq(dest)):
            super().clone(source, dest, topic)

    def reset(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Reset an offset of a group; with an LMQ name only for the next read."""
        if is_lmq(group):
            self._resets.setdefault((group, topic), {})[queue_id] = offset
        else:
            super().reset(group, topic, queue_id, offset)

    def topics_of(self, group: str) -> list[str]:
        """Return the topics on which a group has committed offsets; none for a group with an LMQ name."""
        return [] if is_lmq(group) else super().topics_of(group)

    def groups_of(self, topic: str) -> list[str]:
        """Return the groups with committed offsets on a topic, except those with LMQ names."""
        return [group for group in super().groups_of(topic) if not is_lmq(group)]

    def all(self) -> Iterator[tuple[str, str, dict[int, int]]]:
        """Iterate over (group, topic, offsets by queue id), except for groups with LMQ names."""
        return (each for each in super().all() if not is_lmq(each[0]))

    def lmq_offsets(self) -> dict[tuple[str, str], int]:
        """Return (group, topic) -> offset for the groups with LMQ names."""
        return {key: table[0] for key, table in self.committed.items() if is_lmq(key[0])}

    def delete_group(self, group: str) -> None:
        """Delete all offsets of a group; of one with an LMQ name only the committed offsets."""
        if is_lmq(group):
            self._delete_committed(self._names.of_group(group))
        else:
            super().delete_group(group)

    def delete_committed_of_group(self, group: str) -> None:
        """Delete the committed offsets of a group; a no-op for one with an LMQ name."""
        if not is_lmq(group):
            super().delete_committed_of_group(group)

    def delete_topic(self, topic: str) -> None:
        """Delete the committed offsets of a topic, except those of groups with LMQ names."""
        pairs = self._names.of_topic(topic)
        self._delete_committed([pair for pair in pairs if "@" not in pair[0] and not is_lmq(pair[0])])
