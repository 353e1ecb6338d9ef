"""Arrow columns of stored messages: only the requested ones, each built for a whole batch at once."""

import json
from collections.abc import Sequence
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc
from rocketmq_testkit.emulator.message import properties as props
from rocketmq_testkit.emulator.message import stored_record as records

from ..errors import RecordError
from ..options.offsets import MessageQueue
from ..options.schema import BINARY, INT, LONG, MAP, STRING, TIMESTAMP, Wanted
from .record_parts import RecordParts
from .stored import RECORD_SEPARATOR, StoredBatch

ARROW_TYPES = {
    STRING: pa.string(),
    BINARY: pa.binary(),
    INT: pa.int32(),
    LONG: pa.int64(),
    TIMESTAMP: pa.timestamp("us", tz="UTC"),
    MAP: pa.map_(pa.string(), pa.string()),
}
"""Arrow types of Spark's types, as Spark converts them; a test compares the two."""

_PROPERTY_COLUMNS = {
    "keys": props.KEYS,
    "tags": props.TAGS,
    "messageGroup": props.SHARDING_KEY,
}
_NUMBERS = frozenset({"flag", "queueOffset", "sysFlag", "bodyCRC", "commitLogOffset", "reconsumeTimes"})
_TIMES = frozenset({"bornTimestamp", "storeTimestamp"})

_HARMLESS = bytes([*range(32, ord('"')), *range(ord('"') + 1, ord("\\")), *range(ord("\\") + 1, 256)])
"""Bytes that JSON does not escape: no control characters (which include the separators), quotes or backslashes."""
_AT_ONCE = 256
"""Number of property strings that are converted to JSON at once: as many as fit into a processor cache."""


class ColumnMaker:
    """Builds record batches of the requested columns for one queue.

    `wanted`: at least one column, because a batch without columns has no rows, and Spark counts rows.
    `tags`: keep only messages with one of these tags, because brokers filter only by a hash of the tag.
    """

    def __init__(self, queue: MessageQueue, wanted: Wanted, tags: frozenset[str] | None = None) -> None:
        self._queue = queue
        self._wanted = wanted
        self._tags = tags
        names = {name for name, _ in wanted}
        self._needs_map = bool(names & {*_PROPERTY_COLUMNS, "msgId"}) or tags is not None
        self.schema = pa.schema([pa.field(name, ARROW_TYPES[kind]) for name, kind in wanted])
        self.batch = StoredBatch(queue.topic, bodies="body" in names)

    def make(self) -> pa.RecordBatch:
        """Return the messages added since the last call. Raises RecordError."""
        parts = RecordParts(self.batch.take())
        try:
            maps = _maps(parts.properties) if self._needs_map else []
            columns = [self._column(name, kind, parts, maps) for name, kind in self._wanted]
            made = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        except (UnicodeDecodeError, pa.ArrowInvalid) as error:
            raise RecordError(f"{self._queue}: a message cannot be read ({error})") from None
        if self._tags is not None:
            made = made.filter(pa.array([each.get(props.TAGS) in self._tags for each in maps], pa.bool_()))
        return made

    def _column(self, name: str, kind: str, parts: RecordParts, maps: list[dict[str, str]]) -> pa.Array:
        kept = ARROW_TYPES[kind]
        if name in _NUMBERS:
            return parts.numbers(name)
        if name in _TIMES:
            return pc.cast(parts.numbers(name).view(pa.timestamp("ms", tz="UTC")), kept)
        if name == "body":
            return parts.bodies if kind == BINARY else _as_text(parts.bodies)
        if name == "properties":
            if kind == MAP:
                return pa.array([list(each.items()) for each in maps or _maps(parts.properties)], kept)
            return properties_as_json(parts)
        if name in _PROPERTY_COLUMNS:
            key = _PROPERTY_COLUMNS[name]
            return pa.array([each.get(key) for each in maps], kept)
        if name in ("bornHost", "storeHost"):
            return pa.array([_host(each) for each in parts.hosts(name)], kept)
        if name in ("msgId", "offsetMsgId"):
            ids = map(records.offset_message_id, parts.hosts("storeHost"), parts.numbers("commitLogOffset").to_pylist())
            if name == "offsetMsgId":
                return pa.array(list(ids), kept)
            return pa.array([each.get(props.UNIQ_KEY, id_) for each, id_ in zip(maps, ids, strict=True)], kept)
        constant = {"topic": self._queue.topic, "brokerName": self._queue.broker, "queueId": self._queue.queue_id}
        return pa.repeat(pa.scalar(constant[name], kept), len(parts))


def _maps(properties: Sequence[bytes]) -> list[dict[str, str]]:
    return [props.decode(each.decode()) for each in properties]


def properties_as_json(parts: RecordParts) -> pa.Array:
    """Convert the properties of each record, `name 0x01 value 0x02` repeated, to JSON. Raises UnicodeDecodeError."""
    made = [pa.array([], pa.string())]
    for start in range(0, len(parts), _AT_ONCE):
        count = min(_AT_ONCE, len(parts) - start)
        found = _all_usual(parts, start, count) or [
            json.dumps(each, ensure_ascii=False, separators=(",", ":"))
            for each in _maps(parts.properties[start : start + count])
        ]
        made.append(pa.array(found, pa.string()))
    return pa.concat_arrays(made)


def _all_usual(parts: RecordParts, start: int, count: int) -> list[str] | None:
    """Convert properties without JSON escapes to JSON objects, replacing the separators of all records at once.

    None if a name or a value contains a character that JSON escapes or is empty, or if a record has no properties or
    anything but pairs with both separators.
    """
    joined = parts.joined_properties(start, count)
    if joined is None:
        return None
    # Names and values must alternate, so that none of them contains a separator.
    found = joined.translate(None, _HARMLESS)
    if found.count(RECORD_SEPARATOR) != count or found.replace(RECORD_SEPARATOR, b"\x02") != b"\x01\x02" * (
        len(found) // 2
    ):
        return None
    quoted = joined[:-1].replace(RECORD_SEPARATOR, b'"}\x03{"').replace(b"\x01", b'":"').replace(b"\x02", b'","')
    made = b'{"' + quoted + b'"}'
    # Neither a name nor a value may be empty.
    return None if b'""' in made else made.decode().split("\x03")


def _as_text(bodies: pa.Array) -> pa.Array:
    try:
        return pc.cast(bodies, pa.string())
    except pa.ArrowInvalid:
        # Spark's own cast of binary to string keeps invalid UTF-8, and shows it as replacement characters. A string of
        # Arrow must be valid UTF-8, so the characters replace it here.
        return pa.array([each.decode(errors="replace") for each in bodies.to_pylist()], pa.string())


@lru_cache(maxsize=4096)
def _host(packed: bytes) -> str:
    address, port = records.unpack_host(packed)
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
