"""Positions of groups: committed, pulled, and resets that wait for the next read.

Committed ones are written to a file every `flushConsumerOffsetInterval`, the others never.
Source: ConsumerOffsetManager (5.3.3).
"""

from collections.abc import Iterable, Iterator

from ..config import BrokerConfig
from ..kernel.file_image import LastWrite
from ..kernel.scheduler import Scheduler
from ..topic.topic_group_index import NameIndex

_Pair = tuple[str, str]
"""(group, topic)"""


class Offsets:
    """Offsets by (group, topic) and queue id. Commits overwrite, also backwards."""

    def __init__(self, config: BrokerConfig, scheduler: Scheduler) -> None:
        self._config = config
        self._scheduler = scheduler
        self._file = self._begin_file()
        self.committed: dict[_Pair, dict[int, int]] = {}
        self._pulled: dict[_Pair, dict[int, int]] = {}
        self._resets: dict[_Pair, dict[int, int]] = {}
        self._names: NameIndex[_Pair] = NameIndex()
        """Of all tables: what is not in one of them any more may still be here."""

    def _begin_file(self) -> LastWrite[tuple[str, str, int], int]:
        return LastWrite(self._scheduler, lambda: self._config.flush_consumer_offset_interval)

    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Overwrite the committed offset."""
        table = self.committed.get((group, topic))
        if table is None:
            table = self.committed[group, topic] = {}
            self._names.add(topic, group, (group, topic))
        place = (group, topic, queue_id)
        if self._file.is_first_change(place):
            self._file.keep(place, table.get(queue_id))
        table[queue_id] = offset

    def clone(self, source: str, dest: str, topic: str) -> None:
        """Give a group what another has committed, and nothing else; does nothing where that is nothing."""
        table = self.committed.get((source, topic))
        if table is None:
            return
        before = self.committed.get((dest, topic), {})
        for queue_id in sorted(before.keys() | table.keys()):
            if self._file.is_first_change((dest, topic, queue_id)):
                self._file.keep((dest, topic, queue_id), before.get(queue_id))
        self.committed[dest, topic] = dict(table)
        self._names.add(topic, dest, (dest, topic))

    def query(self, group: str, topic: str, queue_id: int) -> int:
        """A waiting reset, else the committed offset, else -1."""
        reset = self.pending_reset(group, topic, queue_id) if self._resets else None
        if reset is not None:
            return reset
        table = self.committed.get((group, topic))
        return -1 if table is None else table.get(queue_id, -1)

    def note_pull(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Remember how far a group has read (not consumed)."""
        table = self._pulled.get((group, topic))
        if table is None:
            table = self._pulled[group, topic] = {}
            self._names.add(topic, group, (group, topic))
        table[queue_id] = offset

    def pulled(self, group: str, topic: str, queue_id: int) -> int:
        """How far a group has read, -1 for not at all."""
        table = self._pulled.get((group, topic))
        return -1 if table is None else table.get(queue_id, -1)

    def forget_pulls(self, group: str, topic: str) -> None:
        """Forget how far a group has read."""
        self._pulled.pop((group, topic), None)

    def reset(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Move a group: at once for queries, and for its next pull or pop of the queue."""
        self._resets.setdefault((group, topic), {})[queue_id] = offset
        self.commit(group, topic, queue_id, offset)

    def pending_reset(self, group: str, topic: str, queue_id: int) -> int | None:
        """The reset that the next read will take, or None."""
        return self._resets[group, topic].get(queue_id) if (group, topic) in self._resets else None

    def take_reset(self, group: str, topic: str, queue_id: int) -> int | None:
        """The waiting reset, which is gone afterwards."""
        resets = self._resets.get((group, topic)) if self._resets else None
        reset = None if resets is None else resets.pop(queue_id, None)
        if resets is not None and not resets:
            del self._resets[group, topic]
        return reset

    def topics_of(self, group: str) -> list[str]:
        """Topics that a group has committed offsets of; none where its name has an @, as upstream splits names."""
        pairs = () if "@" in group else self._names.of_group(group)
        return [pair[1] for pair in pairs if pair in self.committed]

    def groups_of(self, topic: str) -> list[str]:
        """Groups that have committed offsets of a topic, without those that the broker keeps for broadcasts."""
        return [pair[0] for pair in self._names.of_topic(topic) if pair in self.committed and "@" not in pair[0]]

    def all(self) -> Iterator[tuple[str, str, dict[int, int]]]:
        """(group, topic, offsets by queue id)."""
        return ((group, topic, table) for (group, topic), table in self.committed.items())

    def copy_from(self, other: "Offsets") -> None:
        """Take over what another broker has committed; what only this one knows stays. The file is written."""
        for group, topic, table in other.all():
            self.committed[group, topic] = dict(table)
            self._names.add(topic, group, (group, topic))
        self._file.write()

    def delete_group(self, group: str) -> None:
        """Forget a group."""
        self._forget(self._names.of_group(group))

    def delete_topic(self, topic: str) -> None:
        """Forget a topic."""
        self._forget(self._names.of_topic(topic))

    def _forget(self, pairs: Iterable[_Pair]) -> None:
        for group, topic in pairs:
            for queue_id, offset in self.committed.pop((group, topic), {}).items():
                if self._file.is_first_change((group, topic, queue_id)):
                    self._file.keep((group, topic, queue_id), offset)
            self._pulled.pop((group, topic), None)
            self._resets.pop((group, topic), None)
            self._names.discard(topic, group, (group, topic))

    def write(self) -> None:
        """Write the file now."""
        self._file.write()

    def crash(self) -> None:
        """Go back to what the file says; what was never in it is gone."""
        for (group, topic, queue_id), offset in self._file.lost().items():
            table = self.committed.setdefault((group, topic), {})
            self._names.add(topic, group, (group, topic))
            if offset is None:
                table.pop(queue_id, None)
            else:
                table[queue_id] = offset
            if not table:
                del self.committed[group, topic]
        self._pulled.clear()
        self._resets.clear()
        self._file = self._begin_file()
