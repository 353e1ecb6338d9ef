"""Bulk messages that differ in every field, sent by scenarios to detect lost, duplicated or changed messages."""

from collections.abc import Sequence
from typing import Any

from ..drivers.process import Fields
from .sdk_clients import Producer, Style, order

COUNT = 100
"""Number of messages in scenarios that check that every message arrives exactly once."""
MESSAGE_GROUPS = 16
"""Message groups of an ordered topic: enough that their hashes reach every queue."""
QUEUES = 4
COLOUR = "grün ☕"


def send_bulk(
    producer: Producer, topic: str, style: Style = "concurrent", *, prefix: str = "", verb: str = "send"
) -> list[Fields]:
    """Send COUNT messages in a row without waiting for replies; returns them in the form that `comparison` expects.

    Bodies begin with `prefix` and a number, and contain every byte value if the SDK supports binary bodies. Each
    message has its own keys and properties, one of two tags, and one of MESSAGE_GROUPS groups if the `style` is
    orderly. Raises DriverError.
    """
    tail = bytes(range(256)) if producer.driver.hello.get("binary", True) else COLOUR.encode()
    sent: list[Fields] = [
        {
            "topic": topic,
            "body": f"{prefix}{number}-".encode() + tail,
            "tag": "even" if number % 2 == 0 else "odd",
            "keys": [f"{prefix}key-{number}", "all"],
            "props": {"n": str(number), "colour": COLOUR},
            "group": f"group-{number % MESSAGE_GROUPS}" if style == "orderly" else None,
        }
        for number in range(COUNT)
    ]
    # A driver executes its commands one by one, so the order is that of sending.
    replies = [producer.driver.post(verb, on=producer.name, **message) for message in sent]
    for message, reply in zip(sent, replies, strict=True):
        message["id"] = producer.driver.result(reply).get("id")
    return sent


def order_of_bulk(received: Sequence[Fields]) -> dict[str, list[int]] | str:
    """Return the `order` of messages that `send_bulk` sent to an ordered topic; not every SDK shows message groups."""
    numbers = [_number(message) for message in received]
    return order((f"group-{number % MESSAGE_GROUPS}", number) for number in numbers)


def merged_by_time(shares: Sequence[Sequence[Fields]]) -> list[Fields]:
    """Merge the messages of several consumers by receipt time on their shared clock, ties by message number."""
    return sorted((message for share in shares for message in share), key=lambda each: (each["t"], _number(each)))


def _number(message: Fields) -> int:
    props: dict[str, Any] = message["props"]
    return int(props["n"])
