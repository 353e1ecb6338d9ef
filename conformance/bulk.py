"""Many messages that differ in everything: what scenarios send to see that nothing is lost, doubled or changed."""

from collections.abc import Sequence
from typing import Any

from .actors import Producer, Style, order
from .drivers.process import Fields

COUNT = 100
"""How many messages are sent where a scenario says that everything comes, and comes once."""
MESSAGE_GROUPS = 16
"""Message groups of an ordered topic: enough that their hashes reach every queue."""
QUEUES = 4
COLOUR = "grün ☕"


def send_bulk(
    producer: Producer, topic: str, style: Style = "concurrent", *, stem: str = "", verb: str = "send"
) -> list[Fields]:
    """Send COUNT messages one after the other without waiting in between; returns them as `comparison` takes them.

    Bodies begin with `stem` and a number and hold every byte value where the SDK has binary ones; each has its own keys
    and properties, one of two tags, and one of MESSAGE_GROUPS groups if the `style` is orderly. Errors: DriverError.
    """
    tail = bytes(range(256)) if producer.driver.hello.get("binary", True) else COLOUR.encode()
    sent: list[Fields] = [
        {
            "topic": topic,
            "body": f"{stem}{number}-".encode() + tail,
            "tag": "even" if number % 2 == 0 else "odd",
            "keys": [f"{stem}key-{number}", "all"],
            "props": {"n": str(number), "colour": COLOUR},
            "group": f"group-{number % MESSAGE_GROUPS}" if style == "orderly" else None,
        }
        for number in range(COUNT)
    ]
    # A driver carries its commands out one by one, so the order is that of sending.
    replies = [producer.driver.post(verb, on=producer.name, **message) for message in sent]
    for message, reply in zip(sent, replies, strict=True):
        message["id"] = producer.driver.result(reply).get("id")
    return sent


def order_of(received: Sequence[Fields]) -> dict[str, list[int]] | str:
    """`order` of what `send_bulk` sent to an ordered topic; not every SDK shows message groups."""
    numbers = [_number(message) for message in received]
    return order((f"group-{number % MESSAGE_GROUPS}", number) for number in numbers)


def in_turn(shares: Sequence[Sequence[Fields]]) -> list[Fields]:
    """What several consumers were given, by the clock that they share; two of one millisecond by their numbers."""
    return sorted((message for share in shares for message in share), key=lambda each: (each["t"], _number(each)))


def _number(message: Fields) -> int:
    props: dict[str, Any] = message["props"]
    return int(props["n"])
