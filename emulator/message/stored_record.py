"""The stored-record format, which pull, pop, view and query responses contain.

A record is encoded once, at append. The remoting layer declares the same layout with field names; a test compares
the two. Source: MessageExtEncoder, MessageDecoder (5.3.3).
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from ipaddress import ip_address
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from ..kernel.value_class import value
from . import properties as props
from .names import RETRY_TOPIC_MAX_LENGTH, TOPIC_MAX_LENGTH, is_retry

MAGIC_V1 = 0xDAA320A7
MAGIC_V2 = 0xDAA320AB  # a topic length of two bytes, for topics longer than 127 bytes
CRC_MASK = 0x7FFFFFFF

SYS_COMPRESSED = 0x1
SYS_MULTI_TAGS = 0x2
SYS_TRANSACTION_MASK = 0xC
SYS_TRANSACTION_PREPARED = 0x4
SYS_TRANSACTION_COMMIT = 0x8
SYS_TRANSACTION_ROLLBACK = 0xC
SYS_BORN_HOST_V6 = 0x10
SYS_STORE_HOST_V6 = 0x20
HOST_BITS = SYS_BORN_HOST_V6 | SYS_STORE_HOST_V6
"""The bits of `sys_flag` that mark IPv6 hosts. The store sets them, so a message to store has none."""
NOT_QUEUED = SYS_TRANSACTION_PREPARED | HOST_BITS
"""Bits of the `sys_flag` of a message to store that keep it out of all queues: PREPARED, which prepared and rolled back
messages share, and claims of IPv6 hosts that it does not have. With such a claim its record cannot be decoded."""
SYS_NEED_UNWRAP = 0x40
SYS_INNER_BATCH = 0x80

_HEAD = {
    (born_v6, store_v6): Struct(f">iIIiiqqiq{20 if born_v6 else 8}sq{20 if store_v6 else 8}siqi")
    for born_v6 in (False, True)
    for store_v6 in (False, True)
}
_HEAD_V4 = _HEAD[False, False]
_SHORTEST = _HEAD_V4.size + 3  # empty body, topic and properties
_SYS_FLAG_OFFSET = 36
_STORE_TIME_OFFSET = 56  # if the born host is IPv4; 12 more if it is IPv6
_LONG = Struct(">q")
_INT = Struct(">i")
_PORT = Struct(">i")
_SHORT = Struct(">H")


@lru_cache(maxsize=4096)
def pack_host(host: tuple[str, int]) -> bytes:
    """Pack (address, port) into 4 or 16 address bytes and a 32-bit port. A host without address becomes 0.0.0.0."""
    try:
        address = ip_address(host[0].partition("%")[0])
    except ValueError:
        return bytes(4) + _PORT.pack(host[1])
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).packed + _PORT.pack(host[1])


def unpack_host(data: bytes) -> tuple[str, int]:
    """Unpack packed host bytes into (address, port)."""
    return str(ip_address(bytes(data[:-4]))), _PORT.unpack(data[-4:])[0]


def encode(  # noqa: PLR0913, PLR0917 - the fields of a record, once per message; keywords would cost time
    form: "RecordLayout",
    queue_id: int,
    flag: int,
    queue_offset: int,
    physical_offset: int,
    sys_flag: int,
    born_timestamp: int,
    born_host: bytes,
    store_timestamp: int,
    store_host: bytes,
    reconsume_times: int,
    prepared_transaction_offset: int,
    body: bytes,
    properties: bytes,
) -> bytes:
    """Encode one record. Hosts are packed; `sys_flag` gets its two host bits from the form."""
    pack, empty_size, magic, host_bits, topic_with_length = form
    body_length, property_length = len(body), len(properties)
    return b"".join(
        (
            pack(
                empty_size + body_length + property_length,
                magic,
                crc32(body) & CRC_MASK,
                queue_id,
                flag,
                queue_offset,
                physical_offset,
                sys_flag | host_bits,
                born_timestamp,
                born_host,
                store_timestamp,
                store_host,
                reconsume_times,
                prepared_transaction_offset,
                body_length,
            ),
            body,
            topic_with_length,
            _SHORT.pack(property_length),
            properties,
        )
    )


def encode_consecutive(  # noqa: PLR0913, PLR0917 - the fields of a record, once per batch; keywords would cost time
    topic: bytes,
    queue_id: int,
    queue_offset: int,
    physical_offset: int,
    sys_flag: int,
    born_timestamp: int,
    born_host: bytes,
    store_timestamp: int,
    store_host: bytes,
    reconsume_times: int,
    prepared_transaction_offset: int,
    parts: Iterable[tuple[int, bytes, bytes]],
) -> bytes:
    """Encode records that are consecutive in log and queue and differ only in flag, body and properties (`parts`).

    The result equals that of `encode` for each record. For a single record `encode` is faster.
    """
    pack, empty_size, magic, host_bits, topic_with_length = form_of(topic, len(born_host), len(store_host))
    sys_flag |= host_bits
    pack_short = _SHORT.pack
    pieces: list[bytes] = []
    for flag, body, properties in parts:
        body_length, property_length = len(body), len(properties)
        size = empty_size + body_length + property_length
        head = pack(
            size,
            magic,
            crc32(body) & CRC_MASK,
            queue_id,
            flag,
            queue_offset,
            physical_offset,
            sys_flag,
            born_timestamp,
            born_host,
            store_timestamp,
            store_host,
            reconsume_times,
            prepared_transaction_offset,
            body_length,
        )
        pieces += (head, body, topic_with_length, pack_short(property_length), properties)
        queue_offset += 1
        physical_offset += size
    return b"".join(pieces)


def encoded_size(born_host: bytes, store_host: bytes, topic: bytes, body_length: int, property_length: int) -> int:  # noqa: PLR0917 - once per message; keywords would cost time
    """Return the size of the record that `encode` would produce."""
    return form_of(topic, len(born_host), len(store_host)).empty_size + body_length + property_length


class RecordLayout(NamedTuple):
    """The parts of a record that depend only on its topic and on the lengths of its two hosts."""

    pack: Callable[..., bytes]
    empty_size: int
    """The size in bytes of a record with empty body and properties."""
    magic: int
    host_bits: int
    topic_with_length: bytes
    """The topic, preceded by its length in one byte (V1) or two (V2)."""


def required_host_bits(born_host: bytes, store_host: bytes) -> int:
    """Return the bits of `sys_flag` that two packed hosts demand."""
    return (SYS_BORN_HOST_V6 if len(born_host) == 20 else 0) | (SYS_STORE_HOST_V6 if len(store_host) == 20 else 0)


def is_readable(record: bytes) -> bool:
    """True if the bytes of a record are as long as its host bits, its body and its texts demand."""
    sys_flag: int = _INT.unpack_from(record, _SYS_FLAG_OFFSET)[0]
    if not sys_flag & HOST_BITS:
        return True
    at = _HEAD[bool(sys_flag & SYS_BORN_HOST_V6), bool(sys_flag & SYS_STORE_HOST_V6)].size
    short_topic = record[7] == MAGIC_V1 & 0xFF
    end = len(record)
    if at > end:
        return False
    body: int = _INT.unpack_from(record, at - 4)[0]
    at += body
    if body < 0 or at + 2 > end:
        return False
    at += 3 + record[at] if short_topic else 4 + _SHORT.unpack_from(record, at)[0]
    if at > end:
        return False
    properties: int = _SHORT.unpack_from(record, at - 2)[0]
    return at + properties == end


@lru_cache(maxsize=4096)
def form_of(topic: bytes, born_host_length: int, store_host_length: int) -> RecordLayout:
    """Return the form of records of a topic, from the lengths of their packed hosts."""
    born_v6, store_v6 = born_host_length == 20, store_host_length == 20
    v2 = len(topic) > 127
    head = _HEAD[born_v6, store_v6]
    topic_with_length = (_SHORT.pack(len(topic)) if v2 else bytes((len(topic),))) + topic
    host_bits = (SYS_BORN_HOST_V6 if born_v6 else 0) | (SYS_STORE_HOST_V6 if store_v6 else 0)
    empty_size = head.size + len(topic_with_length) + _SHORT.size
    return RecordLayout(head.pack, empty_size, MAGIC_V2 if v2 else MAGIC_V1, host_bits, topic_with_length)


@lru_cache(maxsize=4096)
def form_of_topic(topic: str, born_host_length: int, store_host_length: int) -> RecordLayout:
    """Return the form of records of a topic. Raises ValueError if its name is too long to be stored."""
    encoded = topic.encode()
    if len(encoded) > (RETRY_TOPIC_MAX_LENGTH if is_retry(topic) else TOPIC_MAX_LENGTH):
        raise ValueError(f"a topic of {len(encoded)} bytes")
    return form_of(encoded, born_host_length, store_host_length)


def born_timestamp(record: bytes) -> int:
    """Return the born time of a stored record (ms since the epoch), without decoding the rest."""
    return int.from_bytes(record[_SYS_FLAG_OFFSET + 4 : _SYS_FLAG_OFFSET + 12], "big", signed=True)


def store_timestamp(record: bytes | bytearray | memoryview, at: int = 0) -> int:
    """Return the store timestamp of the record that starts at `at`."""
    shift = 12 if _INT.unpack_from(record, at + _SYS_FLAG_OFFSET)[0] & SYS_BORN_HOST_V6 else 0
    found: int = _LONG.unpack_from(record, at + _STORE_TIME_OFFSET + shift)[0]
    return found


@value
class Record:
    """A decoded record. Hosts are packed; `properties` is decoded by `property_map`."""

    size: int
    magic: int
    body_crc: int
    queue_id: int
    flag: int
    queue_offset: int
    physical_offset: int
    sys_flag: int
    born_timestamp: int
    born_host: bytes
    store_timestamp: int
    store_host: bytes
    reconsume_times: int
    prepared_transaction_offset: int
    body: bytes
    topic: str
    properties: str

    def property_map(self) -> dict[str, str]:
        """Decode the properties into a mapping by name."""
        return props.decode(self.properties)


def decode(record: bytes) -> Record:
    """Decode one record. Raises ValueError if the bytes are not a record."""
    if len(record) < _SHORTEST:
        raise _no_record(record)
    head = _HEAD_V4
    fields = head.unpack_from(record)
    if fields[0] != len(record):
        raise _no_record(record)
    sys_flag = fields[7]
    if sys_flag & HOST_BITS:
        head = _HEAD[bool(sys_flag & SYS_BORN_HOST_V6), bool(sys_flag & SYS_STORE_HOST_V6)]
        fields = head.unpack_from(record)
    # Each field by name, here and in the call: passing the tuple as `*fields` makes decoding a fifth slower.
    (
        size,
        magic,
        body_crc,
        queue_id,
        flag,
        queue_offset,
        physical_offset,
        sys_flag,
        born_timestamp,
        born_host,
        store_timestamp,
        store_host,
        reconsume_times,
        prepared_transaction_offset,
        body_length,
    ) = fields
    at = head.size
    body_end = at + body_length
    if magic == MAGIC_V1:
        topic_at = body_end + 1
        topic_end = topic_at + record[body_end]
    elif magic == MAGIC_V2:
        topic_at = body_end + 2
        topic_end = topic_at + _SHORT.unpack_from(record, body_end)[0]
    else:
        raise ValueError(f"unknown magic {magic:#x}")
    properties_at = topic_end + 2
    properties_end = properties_at + _SHORT.unpack_from(record, topic_end)[0]
    return Record(
        size,
        magic,
        body_crc,
        queue_id,
        flag,
        queue_offset,
        physical_offset,
        sys_flag,
        born_timestamp,
        born_host,
        store_timestamp,
        store_host,
        reconsume_times,
        prepared_transaction_offset,
        record[at:body_end],
        record[topic_at:topic_end].decode(),
        record[properties_at:properties_end].decode(),
    )


def property_map(record: bytes) -> dict[str, str]:
    """Decode only the properties of a record, for filters, which read many records."""
    sys_flag = _INT.unpack_from(record, _SYS_FLAG_OFFSET)[0]
    head_size = _HEAD_V4.size
    if sys_flag & HOST_BITS:
        head_size = _HEAD[bool(sys_flag & SYS_BORN_HOST_V6), bool(sys_flag & SYS_STORE_HOST_V6)].size
    body_end = head_size + _INT.unpack_from(record, head_size - 4)[0]
    if record[7] == MAGIC_V1 & 0xFF:
        topic_end = body_end + 1 + record[body_end]
    else:
        topic_end = body_end + 2 + _SHORT.unpack_from(record, body_end)[0]
    at = topic_end + 2
    return props.decode(record[at : at + _SHORT.unpack_from(record, topic_end)[0]].decode())


def _no_record(data: bytes) -> ValueError:
    return ValueError(f"{len(data)} bytes are not a stored record")


def reencode(record: Record, *, topic: str, properties: dict[str, str]) -> bytes:
    """Encode a record again under another topic and with other properties; all other fields are unchanged."""
    return encode(
        form_of(topic.encode(), len(record.born_host), len(record.store_host)),
        record.queue_id,
        record.flag,
        record.queue_offset,
        record.physical_offset,
        record.sys_flag,
        record.born_timestamp,
        record.born_host,
        record.store_timestamp,
        record.store_host,
        record.reconsume_times,
        record.prepared_transaction_offset,
        record.body,
        props.encode(properties).encode(),
    )


def offset_message_id(store_host: bytes, physical_offset: int) -> str:
    """Return the broker's message id: store host and physical offset in upper-case hex (32 or 56 digits)."""
    return f"{_host_digits(store_host)}{physical_offset:016X}"


def offset_message_ids(store_host: bytes, physical_offsets: Sequence[int]) -> str:
    """Return the message ids of a batch as the send response lists them, separated by commas."""
    digits = _host_digits(store_host)
    return ",".join([f"{digits}{physical_offset:016X}" for physical_offset in physical_offsets])


@lru_cache(maxsize=64)
def _host_digits(host: bytes) -> str:
    return host.hex().upper()


def physical_offset_of(message_id: str) -> int | None:
    """Return the physical offset in a broker's message id, or None if the id is too short.

    A character that is not a hex digit counts as -1.
    Source: MessageDecoder.decodeMessageId, UtilAll.string2bytes (5.3.3).
    """
    digits = ["0123456789ABCDEF".find(digit) for digit in message_id.upper()]
    data = bytes((high << 4 | low) & 0xFF for high, low in zip(digits[::2], digits[1::2], strict=False))
    start = 8 if len(message_id) == 32 else 20
    return int.from_bytes(data[start : start + 8], "big", signed=True) if len(data) >= start + 8 else None
