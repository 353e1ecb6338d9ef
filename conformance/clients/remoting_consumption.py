"""Remoting requests of consumers: pulls, pops, receipt handles and offsets.

The functions build the requests that their docstrings describe, for a connection to send.
"""

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rocketmq_testkit.remoting.request.request_code import RequestCode

from .remoting_request import RemotingRequest, json_request, request

SUSPEND, SUBSCRIPTION, COMMIT, LITE = 0x2, 0x4, 0x1, 0x10
"""Bits of a pull's sysFlag."""


def pull_fields(  # noqa: PLR0913 - the fields of a request
    topic: str,
    group: str,
    queue: int = 0,
    offset: int = 0,
    *,
    expression: str | None = "*",
    type: str | None = "TAG",  # noqa: A002 RocketMQ's own word
    max_messages: int = 32,
    suspend_ms: int = 0,
    commit: int | None = None,
    **fields: object,
) -> dict[str, object]:
    """Return the ext fields of a pull that contains its subscription; the broker may hold it for `suspend_ms`."""
    flag = SUBSCRIPTION | (SUSPEND if suspend_ms else 0) | (0 if commit is None else COMMIT)
    return {
        "consumerGroup": group,
        "topic": topic,
        "queueId": queue,
        "queueOffset": offset,
        "maxMsgNums": max_messages,
        "sysFlag": flag,
        "commitOffset": commit or 0,
        "suspendTimeoutMillis": suspend_ms,
        "subscription": expression,
        "subVersion": 0,
        "expressionType": type,
        **fields,
    }


def pull_request(topic: str, group: str, queue: int = 0, offset: int = 0, **more: Any) -> RemotingRequest:
    """Pull; `more`: see `pull_fields`."""
    return request(RequestCode.PULL_MESSAGE, pull_fields(topic, group, queue, offset, **more))


def pop_fields(  # noqa: PLR0913 - the fields of a request
    topic: str,
    group: str,
    *,
    queue: int = -1,
    max_messages: int = 32,
    invisible_ms: int = 60_000,
    poll_ms: int = 0,
    born_ms: int = 0,
    init_mode: int = 0,
    expression: str | None = "*",
    type: str | None = "TAG",  # noqa: A002 RocketMQ's own word
    order: bool = False,
    attempt_id: str | None = None,
    **fields: object,
) -> dict[str, object]:
    """Return the ext fields of a pop; `born_ms` is the current time, which a pop with long polling needs.

    `init_mode`: a new group starts at the first message (0, MIN) or at the last one (1, MAX).
    """
    return {
        "consumerGroup": group,
        "topic": topic,
        "queueId": queue,
        "maxMsgNums": max_messages,
        "invisibleTime": invisible_ms,
        "pollTime": poll_ms,
        # A pop without long polling has no born time here: a busy broker would treat it as expired.
        "bornTime": born_ms if poll_ms > 0 else 0,
        "initMode": init_mode,
        "expType": type,
        "exp": expression,
        "order": order,
        "attemptId": attempt_id,
        **fields,
    }


def pop_request(topic: str, group: str, **more: Any) -> RemotingRequest:
    """Pop; `more`: see `pop_fields`."""
    return request(RequestCode.POP_MESSAGE, pop_fields(topic, group, **more))


def ack_request(
    topic: str, group: str, handle: str | None, offset: int, *, queue: int = 0, **fields: object
) -> RemotingRequest:
    """Acknowledge by receipt handle (a message's POP_CK property)."""
    return request(RequestCode.ACK_MESSAGE, {**_receipt(topic, group, handle, offset, queue=queue), **fields})


def batch_ack_request(broker_name: str, entries: Sequence[Mapping[str, object]]) -> RemotingRequest:
    """Acknowledge messages of several check points; `entries`: see `batch_ack_entry`."""
    return json_request(RequestCode.BATCH_ACK_MESSAGE, {"acks": list(entries), "brokerName": broker_name})


def batch_ack_entry(topic: str, group: str, handle: str, offsets: Iterable[int]) -> dict[str, object]:
    """Build a batch entry for offsets of one check point, from any handle of that check point (BatchAck)."""
    start, popped, invisible, revive, digit, _, queue, _ = handle.split(" ")
    bits = sum(1 << offset - int(start) for offset in offsets)
    return {
        "b": b64encode(bits.to_bytes(bits.bit_length() // 8 + 1, "little")).decode(),
        "c": group,
        "it": int(invisible),
        "pt": int(popped),
        "q": int(queue),
        "r": digit,
        "rq": int(revive),
        "so": int(start),
        "t": topic,
    }


def change_request(
    topic: str, group: str, handle: str | None, offset: int, *, invisible_ms: int, queue: int = 0, **fields: object
) -> RemotingRequest:
    """Change the invisible duration of a message by its receipt handle."""
    ext = {**_receipt(topic, group, handle, offset, queue=queue), "invisibleTime": invisible_ms, **fields}
    return request(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, ext)


def commit_request(topic: str, group: str, offset: object, queue: object = 0) -> RemotingRequest:
    """Commit an offset."""
    ext = {"consumerGroup": group, "topic": topic, "queueId": queue, "commitOffset": offset}
    return request(RequestCode.UPDATE_CONSUMER_OFFSET, ext)


def committed_request(topic: str, group: str, queue: int = 0, **fields: object) -> RemotingRequest:
    """Query the committed offset."""
    ext = {"consumerGroup": group, "topic": topic, "queueId": queue, **fields}
    return request(RequestCode.QUERY_CONSUMER_OFFSET, ext)


def _receipt(topic: str, group: str, handle: str | None, offset: int, *, queue: int) -> dict[str, object]:
    return {"consumerGroup": group, "topic": topic, "queueId": queue, "extraInfo": handle, "offset": offset}
