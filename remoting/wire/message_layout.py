"""Binary layouts of messages, as declarations. They are the specification of these bytes.

The engine encodes a record once, at append (`emulator/message/stored_record.py`). Tests compare that codec, and the
batch and property codecs, with these declarations. All integers are big-endian; texts are UTF-8.
Source: MessageDecoder, MessageExtEncoder, MessageSysFlag, MessageClientIDSetter (5.3.3).
"""

from zlib import crc32

from construct import (
    Byte,
    Bytes,
    Const,
    Container,
    GreedyBytes,
    GreedyRange,
    IfThenElse,
    Int16sb,
    Int16ub,
    Int32sb,
    Int32ub,
    Int64sb,
    NullTerminated,
    Prefixed,
    Rebuild,
    Struct,
    Switch,
    len_,
    this,
)

MAGIC_V1 = 0xDAA320A7
MAGIC_V2 = 0xDAA320AB

BORN_HOST_V6 = 0x10
STORE_HOST_V6 = 0x20


HostV4 = Struct("address" / Bytes(4), "port" / Int32sb)
HostV6 = Struct("address" / Bytes(16), "port" / Int32sb)
"""An address and its port. In a record, two bits of sysFlag select the form of the two hosts."""


def _record_size(record: Container) -> int:
    hosts = sum(len(host["address"]) + 4 for host in (record.born_host, record.store_host))
    topic = (2 if record.magic == MAGIC_V2 else 1) + len(record.topic)
    return 72 + hosts + len(record.body) + topic + 2 + len(record.properties)


StoredRecord = Struct(
    "size" / Rebuild(Int32sb, _record_size),  # of the whole record, including this field
    "magic" / Int32ub,
    "body_crc" / Rebuild(Int32sb, lambda record: crc32(record.body) & 0x7FFFFFFF),
    "queue_id" / Int32sb,
    "flag" / Int32sb,
    "queue_offset" / Int64sb,
    "physical_offset" / Int64sb,
    "sys_flag" / Int32sb,
    "born_timestamp" / Int64sb,  # ms, the producer's clock
    "born_host" / IfThenElse(this.sys_flag & BORN_HOST_V6, HostV6, HostV4),
    "store_timestamp" / Int64sb,  # ms, the broker's clock
    "store_host" / IfThenElse(this.sys_flag & STORE_HOST_V6, HostV6, HostV4),
    "reconsume_times" / Int32sb,
    "prepared_transaction_offset" / Int64sb,
    "body" / Prefixed(Int32ub, GreedyBytes),  # as sent: still compressed
    "topic" / Switch(this.magic, {MAGIC_V1: Prefixed(Byte, GreedyBytes), MAGIC_V2: Prefixed(Int16ub, GreedyBytes)}),
    "properties" / Prefixed(Int16ub, GreedyBytes),
)
"""One message as the broker stores it, and as pull, pop, view and query return it.

V2 is used only for topics longer than 127 bytes. Response bodies are concatenated records.
"""

StoredRecords = GreedyRange(StoredRecord)

Property = Struct(
    "name" / NullTerminated(GreedyBytes, term=b"\x01"),
    "value" / NullTerminated(GreedyBytes, term=b"\x02"),
)

PropertiesText = GreedyRange(Property)
"""The properties of a message. Some clients omit the last 0x02, and readers accept that."""

BatchMessage = Struct(
    "size" / Rebuild(Int32sb, 22 + len_(this.body) + len_(this.properties)),
    "magic" / Const(0, Int32sb),
    "body_crc" / Const(0, Int32sb),
    "flag" / Int32sb,
    "body" / Prefixed(Int32ub, GreedyBytes),
    "properties" / Prefixed(Int16ub, GreedyBytes),
)
"""One message of a batch send. Readers ignore magic and CRC; writers set them to zero."""

BatchBody = GreedyRange(BatchMessage)
"""The body of SEND_BATCH_MESSAGE."""

OffsetMessageIdV4 = Struct("store_host" / HostV4, "physical_offset" / Int64sb)
OffsetMessageIdV6 = Struct("store_host" / HostV6, "physical_offset" / Int64sb)
"""The bytes whose upper-case hex (32 or 56 digits) is the broker's message id."""


def _unique_key(address_bytes: int) -> Struct:
    return Struct(
        "address" / Bytes(address_bytes),
        "process_id" / Int16ub,
        "class_loader_hash" / Int32sb,
        "ms_since_month_start" / Int32sb,
        "counter" / Int16sb,
    )


UniqueKeyV4 = _unique_key(4)
UniqueKeyV6 = _unique_key(16)
"""The bytes whose hex (32 or 56 digits) is a client's UNIQ_KEY. Brokers take it as opaque text."""
