"""Writing JSON bodies of answers."""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from rocketmq_testkit.emulator.operations.clients import MessageQueue

dumps = orjson.dumps


def message_queue(queue: MessageQueue) -> dict[str, Any]:
    """A queue as an object."""
    return {"brokerName": queue.broker_name, "queueId": queue.queue_id, "topic": queue.topic}


def queue_map(items: Iterable[tuple[MessageQueue, Any]]) -> orjson.Fragment:
    """A map with queues as keys, which fastjson writes with objects for names: `{{"brokerName":...}:5}`."""
    pairs = [b"%b:%b" % (dumps(message_queue(queue)), dumps(value)) for queue, value in items]
    return orjson.Fragment(b"{" + b",".join(pairs) + b"}")


def number_map(items: Mapping[int, Any]) -> orjson.Fragment:
    """A map with numbers as keys, which fastjson writes without quotes: `{0:"127.0.0.1:10911"}`."""
    return orjson.Fragment(b"{" + b",".join([b"%d:%b" % (key, dumps(value)) for key, value in items.items()]) + b"}")


def data_version(counter: int, timestamp: int) -> dict[str, int]:
    """The version of a table: number of changes and time of the last one."""
    return {"counter": counter, "stateVersion": 0, "timestamp": timestamp}
