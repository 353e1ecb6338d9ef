"""Stored messages taken apart, only as far as somebody wants to know, and many at a time.

An answer to a pull is records one after the other. Of each, one call reads the numbers of its head, and body and
properties are sliced; everything else is done for a whole batch. The layout is that of
`rocketmq_testkit.emulator.record`, which reads what is unusual: addresses of IPv6, compressed bodies.
Source: MessageDecoder (5.3.3).
"""

import zlib
from collections.abc import Iterable
from struct import Struct
from struct import error as StructError

from rocketmq_testkit.emulator import record as records

from .errors import RecordError

MAGIC_V1 = records.MAGIC_V1 - (1 << 32)
HEAD_BYTES = 88
ODD_BITS = records.SYS_COMPRESSED | records.HOST_BITS | records.SYS_INNER_BATCH
_COMPRESSION_TYPE = 0x700
_CODECS = {0x100: "lz4", 0x200: "zstd"}

FIELDS = (
    ("bodyCRC", "i"),
    ("queueId", "i"),
    ("flag", "i"),
    ("queueOffset", "q"),
    ("commitLogOffset", "q"),
    ("sysFlag", "i"),
    ("bornTimestamp", "q"),
    ("bornHost", "8s"),
    ("storeTimestamp", "q"),
    ("storeHost", "8s"),
    ("reconsumeTimes", "i"),
    ("preparedTransactionOffset", "q"),
)
"""The head between magic and length of the body; names as the columns have them."""

_ALWAYS = ("queueOffset", "sysFlag")
Head = tuple[object, ...]


class StoredBatch:
    """Messages of one queue that wait to become columns. `wanted` names fields of the head; offsets come always."""

    def __init__(self, topic: str, wanted: Iterable[str], *, bodies: bool = True, properties: bool = True) -> None:
        names = {*wanted, *_ALWAYS}
        self._topic = topic
        name = topic.encode()
        self._topic_bytes = bytes((len(name) & 0xFF,)) + name
        self._fields = [name for name, _ in FIELDS if name in names]
        self._head = Struct(
            ">ii" + "".join(code if name in names else f"{_size(code)}x" for name, code in FIELDS) + "i"
        )
        self._offset_at = 2 + self._fields.index("queueOffset")
        self._flag_at = 2 + self._fields.index("sysFlag")
        self._want_bodies = bodies
        self._want_properties = properties
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self.heads: list[Head] = []
        self.bodies: list[bytes] = []
        self.properties: list[bytes] = []
        self.bytes = 0

    def __len__(self) -> int:
        return len(self.heads)

    def columns(self) -> dict[str, tuple[object, ...]]:
        """The wanted fields of the heads by name."""
        if not self.heads:
            return dict.fromkeys(self._fields, ())
        turned = list(zip(*self.heads, strict=True))
        return dict(zip(self._fields, turned[2:-1], strict=True))

    def add(self, data: bytes, low: int, high: int) -> int:
        """Take the messages of an answer with `low <= offset < high`; how many there were. Errors: RecordError."""
        before = len(self.heads)
        try:
            self._add(data, low, high)
            return len(self.heads) - before
        except (StructError, IndexError, ValueError, UnicodeDecodeError) as error:
            raise RecordError(f"the broker answered with bytes that are no messages ({error})") from None

    def _add(self, data: bytes, low: int, high: int) -> None:
        unpack = self._head.unpack_from
        heads, bodies, properties = self.heads, self.bodies, self.properties
        want_bodies, want_properties = self._want_bodies, self._want_properties
        offset_at, flag_at, topic_bytes = self._offset_at, self._flag_at, self._topic_bytes
        between = len(topic_bytes) + 2
        at, end = 0, len(data)
        while at < end:
            head = unpack(data, at)
            size = head[0]
            stop = at + size
            body_end = at + HEAD_BYTES + head[-1]
            # One comparison for the usual record; its properties reach to its end, so that no length is read.
            if head[1] != MAGIC_V1 or head[flag_at] & ODD_BITS or stop > end or body_end + between > stop:
                if not HEAD_BYTES < size <= end - at:
                    raise ValueError(f"a record of {size} bytes in the last {end - at}")
                if low <= head[offset_at] < high:
                    self._add_odd(data[at:stop])
            elif low <= head[offset_at] < high:
                if not data.startswith(topic_bytes, body_end):
                    raise ValueError(f"a message of another topic at byte {at}")
                heads.append(head)
                if want_bodies:
                    bodies.append(data[at + HEAD_BYTES : body_end])
                if want_properties:
                    properties.append(data[body_end + between : stop])
            at = stop
        self.bytes += len(data)

    def _add_odd(self, data: bytes) -> None:
        record = records.decode(data)
        if record.topic != self._topic:
            raise ValueError(f"a message of topic {record.topic} in a queue of {self._topic}")
        if record.sys_flag & records.SYS_INNER_BATCH:
            raise ValueError("several messages in one record, as topics with queue.type=BatchCQ store them")
        values = {
            "bodyCRC": record.body_crc,
            "queueId": record.queue_id,
            "flag": record.flag,
            "queueOffset": record.queue_offset,
            "commitLogOffset": record.physical_offset,
            "sysFlag": record.sys_flag,
            "bornTimestamp": record.born_timestamp,
            "bornHost": record.born_host,
            "storeTimestamp": record.store_timestamp,
            "storeHost": record.store_host,
            "reconsumeTimes": record.reconsume_times,
            "preparedTransactionOffset": record.prepared_transaction_offset,
        }
        body = record.body
        if self._want_bodies and record.sys_flag & records.SYS_COMPRESSED:
            body = decompressed(body, record.sys_flag & _COMPRESSION_TYPE)
        self.heads.append((record.size, record.magic, *(values[name] for name in self._fields), len(body)))
        if self._want_bodies:
            self.bodies.append(body)
        if self._want_properties:
            self.properties.append(record.properties.encode())


def decompressed(body: bytes, kind: int) -> bytes:
    """A body as it was before its sender compressed it. `kind`: the bits of sysFlag. Errors: ValueError."""
    codec = _CODECS.get(kind)
    if codec is None:
        try:
            return zlib.decompress(body)
        except zlib.error as error:
            raise ValueError(f"a compressed body that is none: {error}") from None
    import pyarrow

    try:
        with pyarrow.CompressedInputStream(pyarrow.BufferReader(body), codec) as stream:
            found: bytes = stream.read()
            return found
    except OSError as error:
        raise ValueError(f"a compressed body that is none: {error}") from None


def _size(code: str) -> int:
    return {"i": 4, "q": 8, "8s": 8}[code]
