"""Meaning of requests for consumption: the messages that a pop returned, and those that an acknowledgement is for.

Two modules use these rules: the model of deliveries of a running engine (`deliveries.py`), and the audit of a journal.
The functions therefore take single fields, not operations. They must not know the consumer of a message, nor the time.
"""

from collections.abc import Iterable, Iterator

from ..message.names import pop_retry_topic
from ..operations.consume import FLAG_COMMIT_OFFSET, PoppedMessage


def holding_topic(topic: str, group: str, digit: str | int) -> str:
    """Return the topic that stores a popped message.

    `digit` is a field of the receipt handle: 0 for the topic itself, 1 for the group's pop retry topic with a V1 name
    (`%RETRY%group_topic`), 2 for the one with a V2 name (`%RETRY%group+topic`). Any other digit counts as 1; unlike
    `receipt.real_topic`, this function never raises.
    """
    number = str(digit)
    return topic if number == "0" else pop_retry_topic(topic, group, v2=number == "2")


def popped_places(topic: str, group: str, msg_offset_info: str) -> Iterator[tuple[str, int, int]]:
    """Yield (topic, queue id, queue offset) of each message of a pop; `msg_offset_info` is that of PopResult."""
    for entry in msg_offset_info.split(";") if msg_offset_info else ():
        digit, queue_id, offsets = entry.split(" ")
        held_in = holding_topic(topic, group, digit)
        for offset in offsets.split(","):
            yield held_in, int(queue_id), int(offset)


def acknowledged_offsets(start_offset: int, bits: bytes) -> list[int]:
    """Return the offsets that one entry of a batch acknowledgement acknowledges, in ascending order.

    Bit i of `bits` (lowest bit of the first byte first) acknowledges the offset `start_offset` + i.
    """
    return [
        start_offset + 8 * at + bit for at, octet in enumerate(bits) if octet for bit in range(8) if octet >> bit & 1
    ]


def acknowledged_between(start_offset: int, bits: bytes, low: int, high: int) -> list[int]:
    """Return `acknowledged_offsets` from `low` to `high`. A client can set millions of bits outside that range."""
    first = max(low - start_offset, 0)
    count = high - start_offset - first + 1
    if count <= 0:
        return []
    within = int.from_bytes(bits, "little") >> first & (1 << count) - 1
    return acknowledged_offsets(start_offset + first, within.to_bytes(count // 8 + 1, "little"))


def popped_by_queue(messages: Iterable[PoppedMessage]) -> dict[tuple[int, int], list[int]]:
    """Return the offsets of popped messages by (topic digit, queue id)."""
    found: dict[tuple[int, int], list[int]] = {}
    for each in messages:
        found.setdefault((each.topic_digit, each.queue_id), []).append(each.queue_offset)
    return found


def is_acknowledged(offset: int, start_offset: int, bits: bytes) -> bool:
    """True if an entry of a batch acknowledgement acknowledges an offset."""
    at = offset - start_offset
    return 0 <= at < 8 * len(bits) and bool(bits[at // 8] >> at % 8 & 1)


def committed_by_pull(sys_flag: int, commit_offset: int) -> int | None:
    """Return the offset that a pull commits: its client has processed all messages below. None if it commits none."""
    return commit_offset if sys_flag & FLAG_COMMIT_OFFSET else None


def runs_of(offsets: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield (first offset, number of offsets) of each run of consecutive offsets."""
    first = count = 0
    for offset in offsets:
        if count and offset == first + count:
            count += 1
            continue
        if count:
            yield first, count
        first, count = offset, 1
    if count:
        yield first, count
