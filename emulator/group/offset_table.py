"""Offset table: committed offsets, pull offsets, and pending resets of groups.

Committed offsets are written to a file every `flushConsumerOffsetInterval`, the others never.
Source: ConsumerOffsetManager (5.3.3).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from ..config import BrokerConfig
from ..history.events import MoveKind
from ..kernel.file_image import FileImage
from ..kernel.mypyc_attr import mypyc_attr
from ..kernel.scheduler import Scheduler
from ..topic.topic_group_index import TopicGroupIndex

_GroupTopic = tuple[str, str]
"""(group, topic)"""
OffsetsInMemory = dict[_GroupTopic, dict[int, int]]
"""(group, topic) -> queue id -> offset, for offsets that are not written to a file."""
OnMove = Callable[[MoveKind, str, str, int, int | None, int], None]
"""Called with kind, group, topic, queue id, the offset before (None: there was none) and the offset after."""


@mypyc_attr(allow_interpreted_subclasses=True)
class OffsetTable:
    """Offsets by (group, topic) and queue id. A commit overwrites the offset, even with a lower one.

    `on_move` is called with first offsets, resets, lower commits and copies from another group, but not with the many
    other commits, and not with offsets from a file or from a master.
    """

    def __init__(self, config: BrokerConfig, scheduler: Scheduler, on_move: OnMove | None = None) -> None:
        self._config = config
        self._scheduler = scheduler
        self._file = self._begin_file()
        self.committed: dict[_GroupTopic, dict[int, int]] = {}
        self._pull_offsets: dict[_GroupTopic, dict[int, int]] = {}
        self._resets: dict[_GroupTopic, dict[int, int]] = {}
        self._names: TopicGroupIndex[_GroupTopic] = TopicGroupIndex()
        """Index of all three tables; it may contain entries that some of the tables no longer have."""
        self._on_move = on_move

    def _begin_file(self) -> FileImage[tuple[str, str, int], int]:
        return FileImage(self._scheduler, lambda: self._config.flush_consumer_offset_interval)

    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Overwrite the committed offset."""
        table = self.committed.get((group, topic))
        if table is None:
            table = self.committed[group, topic] = {}
            self._names.add(topic, group, (group, topic))
        key = (group, topic, queue_id)
        if self._file.unchanged_since_write(key):
            self._file.save(key, table.get(queue_id))
        before = table.get(queue_id)
        table[queue_id] = offset
        if (before is None or offset < before) and self._on_move is not None:
            kind = MoveKind.FIRST if before is None else MoveKind.BACKWARD
            self._on_move(kind, group, topic, queue_id, before, offset)

    def restore(self, offsets: Mapping[_GroupTopic, Mapping[int, int]]) -> None:
        """Restore the committed offsets of a previous run, which its file contains. `on_move` is not called."""
        for (group, topic), table in offsets.items():
            if table:
                self.committed[group, topic] = dict(table)
                self._names.add(topic, group, (group, topic))
        self._file.write()

    def clone(self, source: str, dest: str, topic: str) -> None:
        """Replace the committed offsets of group `dest` on a topic by those of `source`; a no-op if that has none."""
        table = self.committed.get((source, topic))
        if table is None:
            return
        before = self.committed.get((dest, topic), {})
        for queue_id in sorted(before.keys() | table.keys()):
            if self._file.unchanged_since_write((dest, topic, queue_id)):
                self._file.save((dest, topic, queue_id), before.get(queue_id))
        self.committed[dest, topic] = dict(table)
        self._names.add(topic, dest, (dest, topic))
        if self._on_move is not None:
            for queue_id, offset in table.items():
                self._on_move(MoveKind.CLONE, dest, topic, queue_id, before.get(queue_id), offset)

    def query(self, group: str, topic: str, queue_id: int) -> int:
        """Return the pending reset, else the committed offset, else -1."""
        reset = self.pending_reset(group, topic, queue_id) if self._resets else None
        if reset is not None:
            return reset
        table = self.committed.get((group, topic))
        return -1 if table is None else table.get(queue_id, -1)

    def set_pull_offset(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Record the next offset that a group pulls (not its committed offset)."""
        table = self._pull_offsets.get((group, topic))
        if table is None:
            table = self._pull_offsets[group, topic] = {}
            self._names.add(topic, group, (group, topic))
        table[queue_id] = offset

    def pull_offset(self, group: str, topic: str, queue_id: int) -> int:
        """Return the next offset that a group pulls, -1 if it has not pulled."""
        table = self._pull_offsets.get((group, topic))
        return -1 if table is None else table.get(queue_id, -1)

    def delete_pull_offsets(self, group: str, topic: str) -> None:
        """Delete a group's pull offsets of a topic."""
        self._pull_offsets.pop((group, topic), None)

    def reset(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Reset an offset of a group: at once for queries, and for its next pull or pop of the queue."""
        self._resets.setdefault((group, topic), {})[queue_id] = offset
        self.note_reset(group, topic, queue_id, offset)
        self.commit(group, topic, queue_id, offset)

    def note_reset(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Call `on_move` with a reset, also with one that the connected consumers carry out themselves."""
        if self._on_move is not None:
            before = self.committed.get((group, topic), {}).get(queue_id)
            self._on_move(MoveKind.RESET, group, topic, queue_id, before, offset)

    def pending_reset(self, group: str, topic: str, queue_id: int) -> int | None:
        """Return the reset that the next read will apply, or None."""
        return self._resets[group, topic].get(queue_id) if (group, topic) in self._resets else None

    def take_reset(self, group: str, topic: str, queue_id: int) -> int | None:
        """Return the pending reset and remove it."""
        resets = self._resets.get((group, topic)) if self._resets else None
        reset = None if resets is None else resets.pop(queue_id, None)
        if resets is not None and not resets:
            del self._resets[group, topic]
        return reset

    def topics_of(self, group: str) -> list[str]:
        """Return the topics on which a group has committed offsets.

        Empty for a name with an @, because upstream splits its keys TOPIC@GROUP there.
        """
        pairs = () if "@" in group else self._names.of_group(group)
        return [pair[1] for pair in pairs if pair in self.committed]

    def groups_of(self, topic: str) -> list[str]:
        """Return the groups with committed offsets on a topic, except the broker's entries for broadcast consumers."""
        return [pair[0] for pair in self._names.of_topic(topic) if pair in self.committed and "@" not in pair[0]]

    def all(self) -> Iterator[tuple[str, str, dict[int, int]]]:
        """Iterate over (group, topic, offsets by queue id)."""
        return ((group, topic, table) for (group, topic), table in self.committed.items())

    def copy_from(self, other: "OffsetTable") -> None:
        """Copy another broker's committed offsets; those of groups and topics that it lacks stay. Writes the file."""
        committed = self.committed
        for group, topic, table in other.all():
            pair = (group, topic)
            if committed.get(pair) != table:  # a slave copies every 63 seconds, most of the time the same
                committed[pair] = dict(table)
                self._names.add(topic, group, pair)
        self._file.write()

    def delete_group(self, group: str) -> None:
        """Delete all offsets of a group. Source: ConsumerOffsetManager.removeOffset (5.3.3)."""
        pairs = () if "@" in group else self._names.of_group(group)
        for pair in pairs:
            self._pull_offsets.pop(pair, None)
            self._resets.pop(pair, None)
        self._delete_committed(pairs)

    def delete_committed_of_group(self, group: str) -> None:
        """Delete the committed offsets of a group, and those of its broadcast consumers.

        Source: ConsumerOffsetManager.queryMinOffsetInAllGroup (5.3.3), which compares the text up to the second @.
        """
        self._delete_committed([pair for pair in self.committed if pair[0].split("@", 1)[0] == group])

    def delete_topic(self, topic: str) -> None:
        """Delete the committed offsets of a topic; pull offsets, pending resets and broadcast offsets stay.

        Source: ConsumerOffsetManager.cleanOffsetByTopic (5.3.3).
        """
        self._delete_committed([pair for pair in self._names.of_topic(topic) if "@" not in pair[0]])

    def _delete_committed(self, pairs: Iterable[_GroupTopic]) -> None:
        for pair in pairs:
            group, topic = pair
            for queue_id, offset in self.committed.pop(pair, {}).items():
                if self._file.unchanged_since_write((group, topic, queue_id)):
                    self._file.save((group, topic, queue_id), offset)
            if pair not in self._pull_offsets and pair not in self._resets:
                self._names.discard(topic, group, pair)

    def write(self) -> None:
        """Write the file now."""
        self._file.write()

    def fork_state(self) -> tuple[OffsetsInMemory, OffsetsInMemory]:
        """Return the pull offsets and the pending resets for a fork."""
        return _copied(self._pull_offsets), _copied(self._resets)

    def continue_from(self, state: tuple[OffsetsInMemory, OffsetsInMemory]) -> None:
        """Start with the pull offsets and pending resets of another broker's table."""
        self._pull_offsets, self._resets = state
        for group, topic in (*self._pull_offsets, *self._resets):
            self._names.add(topic, group, (group, topic))

    def recover(self) -> None:
        """Recover after a crash: restore the offsets from the file; those never written to it are lost."""
        for (group, topic, queue_id), offset in self._file.values_at_last_write().items():
            table = self.committed.setdefault((group, topic), {})
            self._names.add(topic, group, (group, topic))
            if offset is None:
                table.pop(queue_id, None)
            else:
                table[queue_id] = offset
            if not table:
                del self.committed[group, topic]
        self._pull_offsets.clear()
        self._resets.clear()
        self._file = self._begin_file()


def _copied(table: OffsetsInMemory) -> OffsetsInMemory:
    return {pair: offsets.copy() for pair, offsets in table.items()}
