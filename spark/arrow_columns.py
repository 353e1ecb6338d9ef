"""Arrow columns of stored messages: only those that are wanted, each made for a whole batch at once."""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from rocketmq_testkit.emulator import properties as props
from rocketmq_testkit.emulator import record as records

from .errors import RecordError
from .offsets import MessageQueue
from .schema import BINARY, INT, LONG, MAP, STRING, TIMESTAMP, Wanted
from .stored import StoredBatch

ARROW_TYPES = {
    STRING: pa.string(),
    BINARY: pa.binary(),
    INT: pa.int32(),
    LONG: pa.int64(),
    TIMESTAMP: pa.timestamp("us", tz="UTC"),
    MAP: pa.map_(pa.string(), pa.string()),
}
"""As Spark makes Arrow schemas of its types; a test holds the two equal."""

_PROPERTY_COLUMNS = {
    "keys": props.KEYS,
    "tags": props.TAGS,
    "messageGroup": props.SHARDING_KEY,
}
_OF_HEAD = frozenset({"flag", "queueOffset", "sysFlag", "bodyCRC", "commitLogOffset", "reconsumeTimes"})
_TIMES = frozenset({"bornTimestamp", "storeTimestamp"})

_JOINT = b"\x03"
_HARMFUL = bytes([*range(1), *range(3, 32), ord('"'), ord("\\")])
"""Bytes that JSON writes otherwise, and the joint; 1 and 2 are the separators of properties."""
_NOT_SEPARATORS = bytes(each for each in range(256) if each not in (1, 2, 3))
_AT_ONCE = 256
"""So many texts of properties are made to JSON at once: as many as stay in a processor's cache."""


class ColumnMaker:
    """Makes record batches of the wanted columns for one queue.

    `tags`: only messages with one of these tags, because brokers filter by a hash of the tag alone.
    """

    def __init__(self, queue: MessageQueue, wanted: Wanted, tags: frozenset[str] | None = None) -> None:
        self._queue = queue
        self._wanted = wanted
        self._tags = tags
        names = {name for name, _ in wanted}
        heads = names & (_OF_HEAD | _TIMES | {"bornHost", "storeHost"})
        if names & {"offsetMsgId", "msgId"}:
            heads |= {"storeHost", "commitLogOffset"}
        self._needs_map = bool(names & {*_PROPERTY_COLUMNS, "msgId"}) or tags is not None
        self._as_json = ("properties", STRING) in wanted
        self.schema = pa.schema([pa.field(name, ARROW_TYPES[kind]) for name, kind in wanted])
        self.batch = StoredBatch(
            queue.topic, heads, bodies="body" in names, properties=self._needs_map or "properties" in names
        )

    def make(self) -> pa.RecordBatch:
        """The messages that were added since the last time. Errors: RecordError."""
        batch = self.batch
        heads = batch.columns()
        try:
            maps = [props.decode(each.decode()) for each in batch.properties] if self._needs_map else []
            columns = [self._column(name, kind, heads, maps) for name, kind in self._wanted]
            # Without any column a batch would have no rows either, and Spark counts them.
            made = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        except (UnicodeDecodeError, pa.ArrowInvalid) as error:
            raise RecordError(f"{self._queue}: a message cannot be read ({error})") from None
        if self._tags is not None:
            made = made.filter(pa.array([each.get(props.TAGS) in self._tags for each in maps], pa.bool_()))
        batch.clear()
        return made

    def _column(self, name: str, kind: str, heads: dict[str, tuple[Any, ...]], maps: list[dict[str, str]]) -> pa.Array:
        kept = ARROW_TYPES[kind]
        if name in _OF_HEAD:
            return pa.array(heads[name], kept)
        if name in _TIMES:
            return pc.cast(pa.array(heads[name], pa.timestamp("ms", tz="UTC")), kept)
        if name == "body":
            bodies = pa.array(self.batch.bodies, pa.binary())
            return bodies if kind == BINARY else _as_text(bodies)
        if name == "properties":
            if kind == MAP:
                found = maps or [props.decode(each.decode()) for each in self.batch.properties]
                return pa.array([list(each.items()) for each in found], kept)
            return pa.array(properties_as_json(self.batch.properties), kept)
        if name in _PROPERTY_COLUMNS:
            key = _PROPERTY_COLUMNS[name]
            return pa.array([each.get(key) for each in maps], kept)
        if name in ("bornHost", "storeHost"):
            return pa.array([_host(each) for each in heads[name]], kept)
        if name in ("msgId", "offsetMsgId"):
            ids = map(records.offset_message_id, heads["storeHost"], heads["commitLogOffset"])
            if name == "offsetMsgId":
                return pa.array(list(ids), kept)
            return pa.array([each.get(props.UNIQ_KEY, id_) for each, id_ in zip(maps, ids, strict=True)], kept)
        constant = {"topic": self._queue.topic, "brokerName": self._queue.broker, "queueId": self._queue.queue_id}
        return pa.repeat(pa.scalar(constant[name], kept), len(self.batch))


def properties_as_json(texts: Sequence[bytes]) -> list[str]:
    """A JSON object for each text of properties, `name 0x01 value 0x02` repeated. Errors: UnicodeDecodeError."""
    made: list[str] = []
    for start in range(0, len(texts), _AT_ONCE):
        made += _as_json(texts[start : start + _AT_ONCE])
    return made


def _as_json(texts: Sequence[bytes]) -> list[str]:
    """Where no text has anything that JSON would write otherwise, all are made by replacing separators in one text."""
    stripped = [each.rstrip(b"\x02") for each in texts]
    joined = _JOINT.join(stripped)
    usual = len(joined) - len(joined.translate(None, _HARMFUL)) == len(texts) - 1
    if usual:
        # Names and values take turns, so that none of them holds a separator.
        separators = joined.translate(None, _NOT_SEPARATORS).replace(_JOINT, b"\x02")
        usual = separators == (b"\x01\x02" * (len(separators) // 2 + 1))[:-1]
    if usual:
        quoted = joined.replace(b"\x01", b'":"').replace(b"\x02", b'","').replace(_JOINT, b'"}\x03{"')
        made = b'{"' + quoted + b'"}'
        if b'""' not in made:  # neither a name nor a value is empty
            return made.decode().split("\x03")
    return [json.dumps(props.decode(each.decode()), ensure_ascii=False, separators=(",", ":")) for each in texts]


def _as_text(bodies: pa.Array) -> pa.Array:
    try:
        return pc.cast(bodies, pa.string())
    except pa.ArrowInvalid:
        # As Spark's own cast of binary to string: what is no UTF-8 becomes a mark.
        return pa.array([each.decode(errors="replace") for each in bodies.to_pylist()], pa.string())


@lru_cache(maxsize=4096)
def _host(packed: bytes) -> str:
    address, port = records.unpack_host(packed)
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
