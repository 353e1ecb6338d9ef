"""Receipt handles: their fields, and handles as clients build them."""

from collections.abc import Mapping

from rocketmq_testkit.emulator.message.receipt import Receipt, real_topic
from rocketmq_testkit.emulator.operations.consume import PoppedMessage, PopResult
from rocketmq_testkit.remoting.client import ReceivedMessage

HANDLE_FIELDS = ("start", "popped", "invisible", "revive", "digit", "broker", "queue", "offset")
"""Fields of a remoting receipt handle; those of the gRPC protocol have one more. Source: ExtraInfoUtil.

`digit` is the kind of topic: 0 for the topic itself, 1 or 2 for its V1 or V2 pop retry topic.
"""
_ALL = (*HANDLE_FIELDS, "log", "more")


def handle_fields(handle: str) -> dict[str, str]:
    """Split a handle into its fields; `log` is the commit log offset, `more` is a tenth field if there is one."""
    return dict(zip(_ALL, handle.split(" "), strict=False))


def forged(handle: str, **fields: object) -> str:
    """Return a handle with other values in some of its fields."""
    return " ".join(str(value) for value in {**handle_fields(handle), **fields}.values())


def built_handle(message: ReceivedMessage, pop: Mapping[str, str], broker_name: str, digit: str = "0") -> str:
    """Return the handle that clients build from the ext fields of a pop's response. Source: ExtraInfoUtil.

    `digit` is 0 for a message of the topic itself, and 1 or 2 for one of a V1 or V2 pop retry topic.
    """
    queue = str(message.queue_id)
    parts = [each.split(" ") for each in pop["startOffsetInfo"].split(";") if each]
    starts = {(of, at): offset for of, at, offset in parts}
    times = (pop["popTime"], pop["invisibleTime"], pop["reviveQid"])
    return " ".join((starts[digit, queue], *times, digit, broker_name, queue, str(message.queue_offset)))


def popped_receipt(popped: PopResult, message: PoppedMessage, broker_name: str) -> Receipt:
    """Return the receipt that clients build for a message of a pop, from the result of the engine."""
    return Receipt(
        message.start_offset,
        popped.pop_time,
        popped.invisible_ms,
        popped.revive_qid,
        str(message.topic_digit),
        broker_name,
        message.queue_id,
        message.queue_offset,
    )


def changed_handle(handle: str, pop_time: int, invisible_ms: int, revive_qid: int) -> str:
    """Return the handle that a client builds from the old one and the response to a change.

    The revive queue 999 marks an orderly pop, whose handles keep the first offset of the pop.
    """
    old = handle_fields(handle)
    start = old["start"] if revive_qid == 999 else old["offset"]
    return (
        f"{start} {pop_time} {invisible_ms} {revive_qid} {old['digit']} {old['broker']} {old['queue']} {old['offset']}"
    )


def place_of(handle: str, topic: str, group: str) -> tuple[str, int, int]:
    """Return topic, queue and offset that a client sends along with a handle.

    For a malformed handle these are the topic and the first message of queue 0.
    """
    found = handle_fields(handle)
    if found.get("digit") not in ("0", "1", "2"):
        return topic, 0, 0
    try:
        return real_topic(topic, group, found["digit"]), int(found["queue"]), int(found["offset"])
    except (KeyError, ValueError):
        return topic, 0, 0
