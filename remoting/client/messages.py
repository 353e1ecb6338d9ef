"""Messages as a client sees them: decode records, encode batches. Source: MessageDecoder (5.3.3)."""

from collections.abc import Iterable, Iterator, Mapping
from struct import Struct

from rocketmq_testkit.emulator.kernel.value_class import frozen_value
from rocketmq_testkit.emulator.message import properties as props
from rocketmq_testkit.emulator.message import stored_record as records

from ..wire.inflate import inflate

_SIZE = Struct(">i")
_BATCH_HEAD = Struct(">iiiii")
_SHORT = Struct(">H")

_COMPRESSION_TYPE = 0x700
_ZLIB_TYPES = (0, 0x300)


@frozen_value
class ReceivedMessage:
    """A received message.

    `body` is decompressed if it was sent with zlib, otherwise as sent. Hosts are (address, port).
    """

    topic: str
    queue_id: int
    queue_offset: int
    physical_offset: int
    body: bytes
    properties: dict[str, str]
    sys_flag: int
    flag: int
    reconsume_times: int
    born_timestamp: int
    born_host: tuple[str, int]
    store_timestamp: int
    store_host: tuple[str, int]
    prepared_transaction_offset: int
    offset_message_id: str

    @property
    def tag(self) -> str | None:
        """The tag, None if the message has none."""
        return self.properties.get(props.TAGS)

    @property
    def keys(self) -> list[str]:
        """The keys by which the message can be queried."""
        return self.properties.get(props.KEYS, "").split()

    @property
    def message_id(self) -> str:
        """The unique key set by the producer, or the broker's message id if there is none."""
        return self.properties.get(props.UNIQ_KEY, self.offset_message_id)


def split_records(body: bytes) -> Iterator[bytes]:
    """Split a response body into its concatenated records. Raises ValueError for incomplete records."""
    at = 0
    while at < len(body):
        if len(body) - at < _SIZE.size:
            raise ValueError(f"{len(body) - at} bytes after the last record")
        (size,) = _SIZE.unpack_from(body, at)
        if size < _SIZE.size or at + size > len(body):
            raise ValueError(f"record of {size} bytes in the last {len(body) - at}")
        yield body[at : at + size]
        at += size


def decode_messages(body: bytes) -> list[ReceivedMessage]:
    """Decode the messages in a response to pull, pop, view or query.

    Raises ValueError for bytes that are not records.
    """
    return [_message(records.decode(each)) for each in split_records(body)]


def properties_text(properties: Mapping[str, str]) -> str:
    """Encode properties as in a send request."""
    return props.encode(dict(properties))


def batch_body(messages: Iterable[tuple[bytes, Mapping[str, str] | str]], flag: int = 0) -> bytes:
    """Encode the body of a batch send from (body, properties) pairs. Properties may already be encoded."""
    parts: list[bytes] = []
    for body, properties in messages:
        text = (properties if isinstance(properties, str) else properties_text(properties)).encode()
        length, text_length = len(body), len(text)
        head = _BATCH_HEAD.pack(22 + length + text_length, 0, 0, flag, length)
        parts += (head, body, _SHORT.pack(text_length), text)
    return b"".join(parts)


def _message(record: records.Record) -> ReceivedMessage:
    body = record.body
    if record.sys_flag & records.SYS_COMPRESSED and record.sys_flag & _COMPRESSION_TYPE in _ZLIB_TYPES:
        body = inflate(body)
    return ReceivedMessage(
        topic=record.topic,
        queue_id=record.queue_id,
        queue_offset=record.queue_offset,
        physical_offset=record.physical_offset,
        body=body,
        properties=record.property_map(),
        sys_flag=record.sys_flag,
        flag=record.flag,
        reconsume_times=record.reconsume_times,
        born_timestamp=record.born_timestamp,
        born_host=records.unpack_host(record.born_host),
        store_timestamp=record.store_timestamp,
        store_host=records.unpack_host(record.store_host),
        prepared_transaction_offset=record.prepared_transaction_offset,
        offset_message_id=records.offset_message_id(record.store_host, record.physical_offset),
    )
