"""The messages of a request, a response or a push, as the criteria of rules read them."""

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Protocol

from ..gate.effects import CheckTransactionState, Effect, PushReplyMessage, RequestDirectConsumption
from ..gate.gate import Request
from ..gate.proxy_only_request import ProxyOnlyRequest
from ..kernel.errors import EngineError
from ..kernel.value_class import parts
from ..message import batch, properties, stored_record
from ..message.receipt import real_topic
from ..operations.consume import (
    AckMessage,
    BatchAck,
    BatchAckMessage,
    ChangeInvisibleTime,
    PeekMessage,
    PopMessage,
    PopResult,
    PullMessage,
    PullResult,
)
from ..operations.send import EndTransaction, SendMessage, SendMessageBack, SendReplyMessage
from .phase import Phase

ACKNOWLEDGED_MAX = 32
"""The most messages of a batch acknowledgement that are looked up."""
_BIT_BYTES_MAX = 128
"""The most bytes of the bit set of a batch acknowledgement that are read."""
_READABLE_MAX = 65_536
"""The most bytes to which a body is decompressed."""
_COMPRESSION_TYPE = 0x700
"""The bits of sysFlag that name the compression (MessageSysFlag, CompressionType, 5.3.3)."""
_ZLIB_TYPES = (0, 0x300)
"""The values of these bits for zlib: that of old clients, and that of new ones."""


@parts
class MessageFacts:
    """A message that a request sends or acknowledges, or that a response or a push delivers."""

    body: bytes
    properties: Mapping[str, str]
    sys_flag: int = 0

    @property
    def readable_body(self) -> bytes:
        """The body as the application sent it; of a compressed one the first 64 KiB. Only zlib is decompressed."""
        if self.sys_flag & stored_record.SYS_COMPRESSED and self.sys_flag & _COMPRESSION_TYPE in _ZLIB_TYPES:
            try:
                return zlib.decompressobj().decompress(self.body, _READABLE_MAX)
            except zlib.error:
                return self.body
        return self.body

    @property
    def tag(self) -> str | None:
        """The tag, None if there is none."""
        return self.properties.get(properties.TAGS)

    @property
    def keys(self) -> list[str]:
        """The keys, which a message holds separated by spaces."""
        return self.properties.get(properties.KEYS, "").split()

    @property
    def message_id(self) -> str | None:
        """The id that the producer gave it, None if there is none."""
        return self.properties.get(properties.UNIQ_KEY)


def of_record(record: bytes) -> MessageFacts:
    """Return the facts of a stored message."""
    read = stored_record.decode(record)
    return MessageFacts(body=read.body, properties=read.property_map(), sys_flag=read.sys_flag)


def _sent(send: SendMessage) -> Iterator[MessageFacts]:
    if not send.batch:
        yield MessageFacts(body=send.body, properties=send.properties, sys_flag=send.sys_flag)
        return
    try:
        messages = batch.split_batch(send.body)
    except EngineError:  # the broker refuses the batch
        return
    for _flag, body, text in messages:
        yield MessageFacts(body=body, properties=batch.properties_of(text), sys_flag=send.sys_flag)


_SENT: Mapping[type, Callable[[Any], Iterable[MessageFacts]]] = {
    SendMessage: _sent,
    SendReplyMessage: lambda each: _sent(each.message),
    ProxyOnlyRequest: lambda each: (MessageFacts(body=body, properties=named) for body, named in each.messages),
}
"""Return the messages that a request sends, by class of the request."""
_DELIVERED: Mapping[type, Callable[[Any], Iterable[MessageFacts]]] = {
    PullResult: lambda each: (of_record(record) for record in each.records),
    PopResult: lambda each: (of_record(message.record) for message in each.messages),
}
"""Return the messages that a response delivers, by class of the result."""
_PUSHED: Mapping[type, Callable[[Any], Iterable[MessageFacts]]] = {
    CheckTransactionState: lambda each: (of_record(each.record),),
    RequestDirectConsumption: lambda each: (of_record(each.record),),
    PushReplyMessage: lambda each: (
        MessageFacts(body=each.body, properties=properties.decode(each.properties), sys_flag=each.sys_flag),
    ),
}
"""Return the message of a push, by class of the effect."""


class Log(Protocol):
    """The commit log of a broker."""

    def record_at(self, physical_offset: int) -> bytes | None:
        """Return the record that starts at an offset, or None if none starts there."""


class Store(Protocol):
    """The stored messages of a broker."""

    @property
    def log(self) -> Log:
        """The commit log."""

    def record(self, topic: str, queue_id: int, offset: int) -> bytes | None:
        """Return the record at a topic, queue id and queue offset, or None."""


def _batch_acknowledged(ack: BatchAck, store: Store) -> Iterator[bytes | None]:
    try:
        topic = real_topic(ack.topic, ack.consumer_group, ack.retry)
    except EngineError:  # the broker refuses the entry
        return
    for at, octet in enumerate(ack.bits[:_BIT_BYTES_MAX]):
        for bit in range(8):
            if octet >> bit & 1:
                yield store.record(topic, ack.queue_id, ack.start_offset + 8 * at + bit)


_STORED: Mapping[type, Callable[[Any, Store], Iterable[bytes | None]]] = {
    AckMessage: lambda each, store: (store.record(each.topic, each.queue_id, each.offset),),
    ChangeInvisibleTime: lambda each, store: (store.record(each.topic, each.queue_id, each.offset),),
    BatchAckMessage: lambda each, store: (one for ack in each.acks or () for one in _batch_acknowledged(ack, store)),
    SendMessageBack: lambda each, store: (store.log.record_at(each.offset),),
    EndTransaction: lambda each, store: (store.log.record_at(each.commit_log_offset),),
}
"""The records that an operation acknowledges, sends back, commits or rolls back."""


_DELIVERING = (PullMessage, PopMessage, PeekMessage)
"""Operations whose response delivers messages."""


def holders(phase: Phase) -> list[type]:
    """Return the classes of operations or effects that can hold a message in a phase."""
    if phase is Phase.PUSH:
        return [*_PUSHED]
    found = [kind for kind in (*_SENT, *_STORED) if kind is not ProxyOnlyRequest]
    return [*found, *_DELIVERING] if phase is Phase.RESPONSE else found


def messages_of(subject: Request | Effect, outcome: object, store: Store | None) -> list[MessageFacts]:
    """Return the messages of a request and its outcome (None: not known yet), or of an effect.

    `store` has the messages of the broker; None of a name server.
    """
    kind = subject.__class__
    if outcome.__class__ in _DELIVERED:
        return list(_DELIVERED[outcome.__class__](outcome))
    if kind in _SENT:
        return list(_SENT[kind](subject))
    if kind in _PUSHED:
        return list(_PUSHED[kind](subject))
    if kind in _STORED and store is not None:
        found = islice((each for each in _STORED[kind](subject, store) if each is not None), ACKNOWLEDGED_MAX)
        return [of_record(each) for each in found]
    return []
