"""Remoting requests of producers: sends, batches and ends of transactions, and messages that consumers send back.

The functions build the requests that their docstrings describe, for a connection to send.
"""

import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Unpack

from rocketmq_testkit.emulator.message.names import AUTO_CREATE_TOPIC
from rocketmq_testkit.remoting.client import batch_body, properties_text
from rocketmq_testkit.remoting.request.request_code import RequestCode

from .remoting_request import RemotingRequest, request
from .send_fields import SendFields

Parts = Iterable[tuple[bytes, Mapping[str, str]]]
"""Messages of a batch: bodies and properties."""
NewId = Callable[[], str]
"""Returns a new message id."""


def send_fields(
    topic: str, *, born_ms: int, new_id: NewId | None = None, **more: Unpack[SendFields]
) -> dict[str, object]:
    """Return the ext fields of a send by their long names.

    `new_id` creates the message id (property UNIQ_KEY), unless `properties` contain one or `unique` is False.
    """
    queue = more.pop("queue", 0)
    text = {"TAGS": more.pop("tag", None), "KEYS": more.pop("keys", None), **(more.pop("properties", None) or {})}
    if more.pop("unique", True) and new_id is not None and "UNIQ_KEY" not in text:
        text["UNIQ_KEY"] = new_id()
    return {
        "producerGroup": "PG",
        "topic": topic,
        "defaultTopic": AUTO_CREATE_TOPIC,
        "defaultTopicQueueNums": 4,
        "queueId": queue,
        "sysFlag": 0,
        "bornTimestamp": born_ms,
        "flag": 0,
        "properties": properties_text({name: value for name, value in text.items() if value is not None}),
        "reconsumeTimes": 0,
        "unitMode": False,
        "batch": False,
        **more,
    }


def short_names(fields: Mapping[str, object]) -> dict[str, object]:
    """Rename the fields of SendMessageRequestHeader as in SendMessageRequestHeaderV2."""
    return {_SHORT_NAMES[name]: value for name, value in fields.items()}


def send_request(
    topic: str, body: bytes | str, *, born_ms: int, new_id: NewId | None = None, **more: Unpack[SendFields]
) -> RemotingRequest:
    """Send one message as SDKs do, with SEND_MESSAGE_V2."""
    fields = send_fields(topic, born_ms=born_ms, new_id=new_id, **more)
    return request(RequestCode.SEND_MESSAGE_V2, short_names(fields), body)


def send_v1_request(
    topic: str, body: bytes | str, *, born_ms: int, new_id: NewId | None = None, **more: Unpack[SendFields]
) -> RemotingRequest:
    """Send one message with SEND_MESSAGE, which has long field names."""
    return request(RequestCode.SEND_MESSAGE, send_fields(topic, born_ms=born_ms, new_id=new_id, **more), body)


def batch_request(
    topic: str, parts: Parts | bytes, *, born_ms: int, new_id: NewId | None = None, **more: Unpack[SendFields]
) -> RemotingRequest:
    """Send a batch as SDKs do: without an id of its own unless `unique` is True, and with `batch=true`."""
    fields: SendFields = {"unique": False, "batch": True, **more}
    ext = short_names(send_fields(topic, born_ms=born_ms, new_id=new_id, **fields))
    return request(RequestCode.SEND_BATCH_MESSAGE, ext, parts if isinstance(parts, bytes) else batch_body(parts))


def send_back_request(group: str, place: object, level: object = 0, **fields: object) -> RemotingRequest:
    """Send back the message at a commit log offset, with a delay level."""
    ext = {
        "offset": place,
        "group": group,
        "delayLevel": level,
        "originMsgId": "none",
        "originTopic": "none",
        "unitMode": False,
        "maxReconsumeTimes": 16,
    }
    return request(RequestCode.CONSUMER_SEND_MSG_BACK, {**ext, **fields})


def end_fields(
    group: str, how: int, *, offset: object, place: object, message_id: str, **fields: object
) -> dict[str, object]:
    """Return the ext fields that end a half message: commit (8), roll back (12) or leave open (0).

    `offset` is the message's offset in the half topic, `place` its commit log offset.
    """
    return {
        "topic": "none",
        "producerGroup": group,
        "tranStateTableOffset": offset,
        "commitLogOffset": place,
        "commitOrRollback": how,
        "fromTransactionCheck": False,
        "msgId": message_id,
        "transactionId": message_id,
        **fields,
    }


def compressed(data: bytes) -> bytes:
    """Compress a body as producers do with large ones (sysFlag 1)."""
    return zlib.compress(data)


_SHORT_NAMES = {
    "producerGroup": "a",
    "topic": "b",
    "defaultTopic": "c",
    "defaultTopicQueueNums": "d",
    "queueId": "e",
    "sysFlag": "f",
    "bornTimestamp": "g",
    "flag": "h",
    "properties": "i",
    "reconsumeTimes": "j",
    "unitMode": "k",
    "maxReconsumeTimes": "l",
    "batch": "m",
    "brokerName": "n",
}
