"""Positions in queues: JSON formats of users and checkpoints, and the distribution of a rate limit.

An offset is the position of the next message to read; ends are exclusive.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rocketmq_testkit.emulator.kernel.shown import shown

EARLIEST = "earliest"
LATEST = "latest"
GROUP = "group"

EARLIEST_OFFSET = -2
LATEST_OFFSET = -1


class MessageQueue(NamedTuple):
    """A queue of a topic on a broker."""

    topic: str
    broker: str
    queue_id: int

    def __str__(self) -> str:
        return f"queue {self.queue_id} of topic {self.topic} on {self.broker}"


Offsets = dict[MessageQueue, int]


class Range(NamedTuple):
    """Messages of one queue from `start` (inclusive) to `end` (exclusive)."""

    queue: MessageQueue
    start: int
    end: int

    @property
    def size(self) -> int:
        """Number of offsets."""
        return max(0, self.end - self.start)


def to_json(offsets: Mapping[MessageQueue, int]) -> dict[str, dict[str, dict[str, int]]]:
    """Return offsets in the format of Spark's checkpoints: by topic, broker name and queue id, sorted."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    for queue, offset in sorted(offsets.items()):
        found.setdefault(queue.topic, {}).setdefault(queue.broker, {})[str(queue.queue_id)] = offset
    return found


def from_json(value: Any) -> Offsets:
    """Parse offsets in the format of `to_json`. Raises ValueError that says what is wrong."""
    return _by_queue(value, _offset, 0)


def positions_from(text: str) -> Offsets:
    """Parse `{"topic":{"broker":{"0":offset}}}` of a user: -2 is earliest, -1 latest. Raises ValueError."""
    return _by_queue(_loads(text), _offset, EARLIEST_OFFSET)


def queues_from(text: str) -> frozenset[MessageQueue]:
    """Parse queues of a user, `{"topic":{"broker":[0,1]}}`. Raises ValueError."""
    found = set()
    for topic, brokers in _object(_loads(text), "topics").items():
        for broker, ids in _object(brokers, f"brokers of topic {topic}").items():
            if not isinstance(ids, list) or not ids:
                raise ValueError(f"queues of {topic} on {broker} are {ids!r}, not a list of numbers")
            found |= {MessageQueue(topic, broker, _queue_id(each)) for each in ids}
    return frozenset(found)


def timestamps_from(text: str) -> dict[str | MessageQueue, int]:
    """Parse times in ms of a user: `{"topic":ms}`, or `{"topic":{"broker":{"0":ms}}}`. Raises ValueError."""
    topics = _object(_loads(text), "topics")
    by_queue = {topic: value for topic, value in topics.items() if isinstance(value, dict)}
    found: dict[str | MessageQueue, int] = {
        topic: _timestamp(value, 0) for topic, value in topics.items() if topic not in by_queue
    }
    found.update(_by_queue(by_queue, _timestamp, 0).items())
    return found


def limited(start: Mapping[MessageQueue, int], end: Mapping[MessageQueue, int], most: int) -> Offsets:
    """Move ends closer to `start`, so that `most` offsets lie between, in proportion to each queue's remaining offsets.

    No queue starves: each queue with remaining offsets gets at least one, if there are enough for all of them. Queues
    missing in `start` start at 0.
    """
    left = {queue: max(0, offset - start.get(queue, 0)) for queue, offset in end.items()}
    total = sum(left.values())
    if total <= most:
        return dict(end)
    shares = {queue: size * most // total for queue, size in left.items()}
    rest = most - sum(shares.values())
    # The rest after rounding goes first to queues without a share, then to those that lost most by rounding.
    order = sorted(
        (queue for queue, size in left.items() if size > shares[queue]),
        key=lambda queue: (shares[queue] > 0, -(left[queue] * most % total), queue),
    )
    for queue in order[:rest]:
        shares[queue] += 1
    hungry = [queue for queue in order[rest:] if not shares[queue]]
    for queue in hungry:
        richest = max(shares, key=lambda each: shares[each])
        if shares[richest] < 2:
            break
        shares[richest] -= 1
        shares[queue] = 1
    return {queue: start.get(queue, 0) + shares[queue] if left[queue] else end[queue] for queue in end}


def _by_queue(value: Any, read: Callable[[Any, int], int], low: int) -> Offsets:
    found = {}
    for topic, brokers in _object(value, "topics").items():
        for broker, queues in _object(brokers, f"brokers of topic {topic}").items():
            for queue_id, number in _object(queues, f"queues of {topic} on {broker}").items():
                queue = MessageQueue(topic, broker, _queue_id(queue_id))
                try:
                    found[queue] = read(number, low)
                except ValueError as error:
                    raise ValueError(f"{queue}: {error}") from None
    return found


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"no JSON: {error}") from None
    except RecursionError:
        raise ValueError("no JSON of offsets: nested too deeply") from None


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} are {shown(value)}, not an object")
    return value


def _queue_id(value: Any) -> int:
    text = str(value)
    if isinstance(value, bool) or not text.isascii() or not text.isdigit():
        raise ValueError(f"{shown(value)} is no queue id")
    return int(text)


def _offset(value: Any, low: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise ValueError(f"{shown(value)} is no offset")
    return value


def _timestamp(value: Any, low: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise ValueError(f"{value!r} is no time in ms")
    return value
