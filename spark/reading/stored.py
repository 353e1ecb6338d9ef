"""Stored messages found in pull responses, collected so that columns can be built from many at once.

A response body holds the records one after another. For a usual record, one call reads the lengths of its parts, and
its bytes are copied only together with those of its neighbors. Unusual records (IPv6 addresses, compressed bodies, long
topics) are decoded by `rocketmq_testkit.emulator.message.stored_record`. Records of the usual form with the same
`FIELDS`, topic and properties replace them, and their hosts are stored separately.
Source: MessageDecoder (5.3.3).
"""

from array import array
from struct import Struct
from struct import error as StructError
from typing import NamedTuple

from rocketmq_testkit.emulator.message import stored_record as records
from rocketmq_testkit.remoting.wire.inflate import INFLATED_BYTES_MAX, TooLargeError, inflate

from ..errors import RecordError

MAGIC_V1 = records.MAGIC_V1 - (1 << 32)
HEAD_BYTES = 88
"""Length of the head of a usual record: all fields before the body, including the body's length."""
UNUSUAL_BITS = records.SYS_COMPRESSED | records.HOST_BITS | records.SYS_INNER_BATCH
_COMPRESSION_TYPE = 0x700
_CODECS = {0x100: "lz4", 0x200: "zstd"}

FIELDS = {
    "bodyCRC": (8, 4),
    "queueId": (12, 4),
    "flag": (16, 4),
    "queueOffset": (20, 8),
    "commitLogOffset": (28, 8),
    "sysFlag": (36, 4),
    "bornTimestamp": (40, 8),
    "bornHost": (48, 8),
    "storeTimestamp": (56, 8),
    "storeHost": (64, 8),
    "reconsumeTimes": (72, 4),
    "preparedTransactionOffset": (76, 8),
}
"""Position and length of the fields in the head of a usual record. Fields with a column have its name."""

RECORD_SEPARATOR = b"\x03"
"""Separator between the property strings of several records, which are joined and processed as one string."""

_HEAD = Struct(">iiIiiqqiq8sq8siqi")
_PREFIX = Struct(">ii12xq8xi44xi")
"""Size, magic, queue offset, sysFlag, body length."""


class Records(NamedTuple):
    """Usual records of one topic, concatenated in `data` after a `RECORD_SEPARATOR`.

    `starts` contains the start of each record, and the end of the last. `body_ends` contains the end of each body; a
    body starts `HEAD_BYTES` after the start of its record. The properties start `properties_after` bytes after the end
    of the body. `odd_hosts` contains (born host, store host) of the records that replace unusual ones, by index: the
    head of such a record has only the first 8 bytes of each.
    """

    data: bytes
    starts: "array[int]"
    body_ends: "array[int]"
    properties_after: int
    odd_hosts: dict[int, tuple[bytes, bytes]]

    def __len__(self) -> int:
        return len(self.body_ends)


class StoredBatch:
    """Messages of one queue that will be converted to columns. Without `bodies` no body is decompressed."""

    def __init__(self, topic: str, *, bodies: bool = True) -> None:
        self._topic = topic
        self._bodies = bodies
        name = topic.encode()
        self._topic_bytes = bytes((len(name) & 0xFF,)) + name
        self._clear()

    def _clear(self) -> None:
        self._chunks = [RECORD_SEPARATOR]
        self._starts: list[int] = []
        self._body_ends: list[int] = []
        self._odd_hosts: dict[int, tuple[bytes, bytes]] = {}
        self._end = len(RECORD_SEPARATOR)
        self.bytes = 0
        """Size of the added responses."""

    def __len__(self) -> int:
        return len(self._starts)

    def take(self) -> Records:
        """Return the added records, and clear the batch."""
        taken = Records(
            b"".join(self._chunks),
            array("i", [*self._starts, self._end]),
            array("i", self._body_ends),
            len(self._topic_bytes) + 2,
            self._odd_hosts,
        )
        self._clear()
        return taken

    def add(self, data: bytes, low: int, high: int) -> int:
        """Add the messages of a response with `low <= offset < high`; returns their number. Raises RecordError."""
        before = len(self._starts)
        try:
            self._add(data, low, high)
            return len(self._starts) - before
        except (StructError, IndexError, ValueError, UnicodeDecodeError) as error:
            raise RecordError(f"the broker returned bytes that are no messages ({error})") from None

    def _add(self, data: bytes, low: int, high: int) -> None:
        glance, topic_bytes, is_topic = _PREFIX.unpack_from, self._topic_bytes, data.startswith
        between = len(topic_bytes) + 2
        started, ended = self._starts.append, self._body_ends.append
        at, end = 0, len(data)
        taken = 0  # bytes before this are in the batch, or excluded
        shift = self._end
        while at < end:
            size, magic, offset, sys_flag, body_length = glance(data, at)
            stop = at + size
            body_end = at + HEAD_BYTES + body_length
            if (
                magic != MAGIC_V1
                or sys_flag & UNUSUAL_BITS
                or stop > end
                or not at + HEAD_BYTES <= body_end <= stop - between
            ):
                if not HEAD_BYTES < size <= end - at:
                    raise ValueError(f"a record of {size} bytes where {end - at} are left")
                self._take_chunk(data[taken:at])
                if low <= offset < high:
                    self._add_odd(data[at:stop])
                taken, shift = stop, self._end - stop
            elif low <= offset < high:
                if not is_topic(topic_bytes, body_end):
                    raise ValueError(f"a message of another topic at byte {at}")
                started(shift + at)
                ended(shift + body_end)
            else:
                self._take_chunk(data[taken:at])
                taken, shift = stop, self._end - stop
            at = stop
        self._take_chunk(data[taken:] if taken else data)
        self.bytes += end

    def _take_chunk(self, data: bytes) -> None:
        self._chunks.append(data)
        self._end += len(data)

    def _add_odd(self, data: bytes) -> None:
        """Add an unusual record in the usual form. Its size and the lengths of topic and properties are not kept."""
        record = records.decode(data)
        if record.topic != self._topic:
            raise ValueError(f"a message of topic {record.topic} in a queue of {self._topic}")
        sys_flag = record.sys_flag
        if sys_flag & records.SYS_INNER_BATCH:
            raise ValueError("several messages in one record, as topics with queue.type=BatchCQ store them")
        body = record.body
        if self._bodies and sys_flag & records.SYS_COMPRESSED:
            body = decompressed(body, sys_flag & _COMPRESSION_TYPE)
        hosts = record.born_host, record.store_host
        self._odd_hosts[len(self._starts)] = hosts
        head = _HEAD.pack(
            0,
            MAGIC_V1,
            record.body_crc,
            record.queue_id,
            record.flag,
            record.queue_offset,
            record.physical_offset,
            sys_flag,
            record.born_timestamp,
            hosts[0][:8],
            record.store_timestamp,
            hosts[1][:8],
            record.reconsume_times,
            record.prepared_transaction_offset,
            len(body),
        )
        self._starts.append(self._end)
        self._body_ends.append(self._end + HEAD_BYTES + len(body))
        properties = record.properties.encode()
        self._take_chunk(b"".join((head, body, self._topic_bytes, b"\0\0", properties)))


def decompressed(body: bytes, kind: int) -> bytes:
    """Decompress a body. `kind`: the compression bits of sysFlag. Raises ValueError."""
    codec = _CODECS.get(kind)
    if codec is None:
        return inflate(body)
    import pyarrow

    try:
        with pyarrow.CompressedInputStream(pyarrow.BufferReader(body), codec) as stream:
            found: bytes = stream.read(INFLATED_BYTES_MAX + 1)
    except OSError as error:
        raise ValueError(f"a body that cannot be decompressed with {codec}: {error}") from None
    if len(found) > INFLATED_BYTES_MAX:
        raise TooLargeError
    return found
