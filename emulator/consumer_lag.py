"""The lag of consumer groups, with messages in flight. Source: ConsumerLagCalculator (5.3.3)."""

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from .message.names import is_retry, pop_retry_topic, retry_topic

if TYPE_CHECKING:
    from .cluster.broker import Broker


@dataclass(frozen=True, slots=True)
class QueueLag:
    """Progress of a group on one queue, which holds the offsets from `first` to `end` - 1.

    `committed`: the offset of the group, < 0 if there is none. `in_flight`: messages that consumers popped and have
    not acknowledged. `position`: the offset from which on all messages are in the lag. `lag`: messages from there on
    (without an offset, the whole queue), and those in flight before it.
    """

    committed: int
    first: int
    end: int
    in_flight: int
    _: KW_ONLY
    position: int
    lag: int


def topics_of(broker: "Broker", group: str, topic: str | None = None) -> list[str]:
    """List the topics that a group reads because of `topic`: itself and its pop retry topics.

    Without `topic`, list all topics to which the group subscribes or in which it has offsets, their pop retry topics,
    and the retry topic of the group.
    """
    if topic is None:
        registered = broker.clients.consumers.get(group)
        subscribed = [] if registered is None else list(registered.subscriptions)
        found = dict.fromkeys([*broker.offsets.topics_of(group), *subscribed, retry_topic(group)])
    else:
        found = dict.fromkeys([topic])
    ordinary = [name for name in found if not is_retry(name)]
    return list(found | dict.fromkeys(pop_retry_topic(name, group, v2=v2) for name in ordinary for v2 in (False, True)))


def queue_lag(broker: "Broker", group: str, topic: str, queue_id: int) -> QueueLag:
    """Compute the progress of a group on one queue of a broker."""
    group_queue = topic, group, queue_id
    committed = broker.offsets.query(group, topic, queue_id)
    first, end = max(broker.store.min_offset(topic, queue_id), 0), broker.store.max_offset(topic, queue_id)
    in_flight = broker.pop_in_flight.count(group_queue)
    if broker.orders.has_batch(group_queue):
        # the group commits an offset beyond an ordered batch only when the batch is acknowledged
        position, popped = committed, 0
    elif broker.offsets.pending_reset(group, topic, queue_id) is not None:
        position, popped = committed, in_flight  # the next pop ignores the merge buffer
    else:  # the merge buffer commits the offset some time after the pop
        position, popped = broker.pop_buffer.next_read_offset(group_queue, committed), in_flight
    position = max(position, first)
    lag = max(end - position, 0) + popped
    return QueueLag(committed, first, end, in_flight, position=position, lag=lag)
