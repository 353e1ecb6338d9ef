"""Write the JSON bodies of responses."""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from rocketmq_testkit.emulator.operations.clients import MessageQueue

dumps = orjson.dumps


def host_text(host: tuple[str, int]) -> str:
    """Return `address:port`. As in Java, an IPv6 address has no brackets."""
    return f"{host[0]}:{host[1]}"


def message_queue(queue: MessageQueue) -> dict[str, Any]:
    """Return a queue as a JSON object."""
    return {"brokerName": queue.broker_name, "queueId": queue.queue_id, "topic": queue.topic}


def queue_map(items: Iterable[tuple[MessageQueue, Any]]) -> orjson.Fragment:
    """Write a map with queues as keys. fastjson writes such keys as objects: `{{"brokerName":...}:5}`."""
    pairs = [b"%b:%b" % (dumps(message_queue(queue)), dumps(value)) for queue, value in items]
    return orjson.Fragment(b"{" + b",".join(pairs) + b"}")


def number_map(items: Mapping[int, Any]) -> orjson.Fragment:
    """Write a map with numbers as keys. fastjson writes such keys without quotes: `{0:"127.0.0.1:10911"}`."""
    return orjson.Fragment(b"{" + b",".join([b"%d:%b" % (key, dumps(value)) for key, value in items.items()]) + b"}")


def data_version(counter: int, timestamp: int) -> dict[str, int]:
    """Return the version of a table: its number of changes and the time of the last one."""
    return {"counter": counter, "stateVersion": 0, "timestamp": timestamp}
