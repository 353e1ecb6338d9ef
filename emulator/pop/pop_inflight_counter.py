"""Number of popped messages in flight (not acknowledged), by topic, group and queue.

Only a counter, as upstream: each acknowledgement decrements it, repeated ones too, and it never falls below zero.
Source: PopInflightMessageCounter (5.3.3).
"""

from collections.abc import Callable, Iterable

from ..config import BrokerConfig
from ..kernel.mypyc_attr import mypyc_attr
from ..kernel.scheduler import Scheduler
from ..topic.topic_group_index import TopicGroupIndex
from .consumer_order_info import GroupQueue


@mypyc_attr(allow_interpreted_subclasses=True)
class PopInflightCounter:
    """In-flight counts of one broker since its start.

    `on_below_threshold` is called with topic, group and queue id when a queue over the threshold falls back to it.
    """

    def __init__(
        self, config: BrokerConfig, scheduler: Scheduler, on_below_threshold: Callable[[str, str, int], None]
    ) -> None:
        self._config = config
        self._on_below_threshold = on_below_threshold
        self._start_ms = scheduler.now_ms
        self._counts: dict[GroupQueue, int] = {}
        self._names: TopicGroupIndex[GroupQueue] = TopicGroupIndex()

    def fork_state(self) -> tuple[int, dict[GroupQueue, int]]:
        """Return for a fork the time since which messages are counted (ms), and the counts."""
        return self._start_ms, self._counts.copy()

    def continue_from(self, state: tuple[int, dict[GroupQueue, int]]) -> None:
        """Start with the counts of another broker. A fork without messages may start before its parent did."""
        start_ms, self._counts = state
        self._start_ms = min(start_ms, self._start_ms)
        for group_queue in self._counts:
            self._names.add(group_queue[0], group_queue[1], group_queue)

    def exceeds_threshold(self, group_queue: GroupQueue) -> bool:
        """Return True if too many messages are in flight, so that pops skip the queue."""
        config = self._config
        return (
            config.enable_pop_message_threshold
            and self._counts.get(group_queue, 0) > config.pop_inflight_message_threshold
        )

    def count(self, group_queue: GroupQueue) -> int:
        """Return the number of messages in flight of a topic, group and queue."""
        return self._counts.get(group_queue, 0)

    def add(self, group_queue: GroupQueue, number: int) -> None:
        """Add popped messages to the count."""
        count = self._counts.get(group_queue)
        if count is None:
            self._names.add(group_queue[0], group_queue[1], group_queue)
            count = 0
        self._counts[group_queue] = count + number

    def subtract(self, group_queue: GroupQueue, pop_time: int, number: int = 1) -> None:
        """Subtract acknowledged or revived messages; those popped before the broker started were never counted."""
        count = self._counts.get(group_queue)
        if pop_time < self._start_ms or not count:
            return
        exceeded = self.exceeds_threshold(group_queue)
        self._counts[group_queue] = max(count - number, 0)
        if exceeded and not self.exceeds_threshold(group_queue):
            self._on_below_threshold(*group_queue)

    def clear(self, group_queue: GroupQueue) -> None:
        """Set the count to zero, as an offset reset and an ordered pop do."""
        if group_queue in self._counts:
            self._counts[group_queue] = 0

    def delete_topic(self, topic: str) -> None:
        """Delete the counts of a deleted topic."""
        self._delete(self._names.of_topic(topic))

    def delete_group(self, group: str) -> None:
        """Delete the counts of a deleted group."""
        self._delete(self._names.of_group(group))

    def _delete(self, group_queues: Iterable[GroupQueue]) -> None:
        for group_queue in group_queues:
            del self._counts[group_queue]
            self._names.discard(group_queue[0], group_queue[1], group_queue)
