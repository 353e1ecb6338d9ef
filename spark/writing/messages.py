"""Conversion of rows into messages: columns of a write, contents of a row, and the queue of each message."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from difflib import get_close_matches
from itertools import repeat
from typing import Any

import pyarrow as pa
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.message import names
from rocketmq_testkit.emulator.message import properties as props

from ..errors import RowError, SchemaError
from ..options import schema
from ..options.schema import BINARY, INT, LONG, MAP, STRING

QueueSelection = int | str | tuple[str, int]
"""The queue that a row selects: an index into all queues of the topic, a key to hash, or a broker and its queue."""

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "body": (BINARY, STRING),
    "topic": (STRING,),
    "tags": (STRING,),
    "keys": (STRING,),
    "properties": (MAP, STRING),
    "shardingKey": (STRING,),
    "queueId": (INT, LONG),
    "delayLevel": (INT, LONG),
    "deliverTimeMs": (LONG,),
    "flag": (INT, LONG),
    "brokerName": (STRING,),
    "messageGroup": (STRING,),
}
"""Columns of a write and their types. Only body is required, and the topic as a column or an option.

`RowReader` reads the values of a row in this order.
"""

IGNORED = frozenset(schema.COLUMNS) - COLUMNS.keys()
"""Columns of a read that a write ignores: positions, ids, times and addresses, which the broker assigns."""

QUERY_ID, BATCH_ID, PARTITION_ID, SEQ = "SPARK_QUERY_ID", "SPARK_BATCH_ID", "SPARK_PARTITION_ID", "SPARK_SEQ"
"""Properties with which a reader can detect resent messages, if the query's plan is deterministic."""

TABLE_MARK = "rocketmq?"
"""Prefix of a brokerName that is the default of a table's column: it contains options and names no broker."""

SPARK_PROPERTIES = (QUERY_ID, BATCH_ID, PARTITION_ID, SEQ)
"""Properties of an earlier write, which are removed from rows that were read."""

BODY_BYTES_MAX = 4 << 20
PROPERTY_BYTES_MAX = 32767
DELAY_LEVEL_MAX = 18
FLAG_LIMIT = 1 << 31

_BROKER_PROPERTIES = props.STEERING | frozenset(SPARK_PROPERTIES)
"""Properties that control the broker; they are removed from rows, since such rows were read from a topic.

Delays are set with columns instead.
"""

_ID = f"\x02{props.UNIQ_KEY}\x01"
_WAIT = f"\x02{props.WAIT}\x01true\x02"


@dataclass(slots=True)
class Outgoing:
    """A message to send. `queue_selection` is None if any queue will do."""

    topic: str
    body: bytes
    properties: str
    queue_selection: QueueSelection | None
    _: KW_ONLY
    delayed: bool
    ordered: bool
    uniq_key: str
    flag: int = 0


def check_columns(fields: Sequence[tuple[str, str]], topic_option: str | None) -> None:
    """Raise SchemaError for unknown columns, wrong types, a missing body or a missing topic."""
    for name, kind in fields:
        if name in IGNORED:
            continue
        allowed = COLUMNS.get(name)
        if allowed is None:
            near = get_close_matches(name, COLUMNS, 1, 0.5) or get_close_matches(name, IGNORED, 1, 0.8)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(COLUMNS)}"
            remedy = f'use withColumnRenamed("{name}", "{near[0]}")' if near else f'use drop("{name}")'
            raise SchemaError(f"column {name}: a write has no such column; {hint}; {remedy}")
        if kind not in allowed:
            raise SchemaError(
                f"column {name} {kind}: a write cannot have this type; it can be {' or '.join(allowed)}; cast it"
            )
    given = {name for name, _ in fields}
    if "body" not in given:
        raise SchemaError(
            'column body: missing; it is the content of messages; name a column body, as in selectExpr("value AS body")'
        )
    if "topic" not in given and topic_option is None:
        raise SchemaError("topic: missing; a write has the option topic or a column topic; use topic=orders")
    if {"shardingKey", "messageGroup"} <= given:
        raise SchemaError(
            "columns shardingKey, messageGroup: names of the same value; a write has one of them; drop one"
        )
    if topic_option is not None:
        _check_topic(topic_option, "option topic")


class RowReader:
    """Converts Arrow batches to messages; `stamps` are properties added to all of them, `ids` their unique ids."""

    def __init__(self, topic: str | None, hashes_keys: bool, stamps: Mapping[str, str], ids: Iterator[str]) -> None:
        self._topic = topic
        self._hashes_keys = hashes_keys
        self._stamps = "".join(f"{name}\x01{value}\x02" for name, value in stamps.items()) + f"{SEQ}\x01"
        self._ids = ids
        self._seq = 0
        self._good_topics: set[str | None] = set()

    def read(self, batch: pa.RecordBatch) -> list[Outgoing]:
        """Return the messages of a batch, after all were checked. Raises RowError with the row number."""
        given = {name: batch.column(at).to_pylist() for at, name in enumerate(batch.schema.names)}
        if given.keys() == {"body"} and self._topic is not None:
            return self._of_bodies(given["body"])
        columns = (given.get(name) or repeat(None, batch.num_rows) for name in COLUMNS)
        made = []
        for values in zip(*columns, strict=True):
            made.append(self._message(*values))
            self._seq += 1
        return made

    def _of_bodies(self, bodies: Sequence[bytes | str | None]) -> list[Outgoing]:
        """Return the messages of rows that have only a body: equal to those of `_message`, with fewer checks."""
        topic, stamps, ids = self._topic, self._stamps, self._ids
        if topic is None or topic not in self._good_topics:
            self._check_topic(topic)
        assert topic is not None  # a checked topic is not None
        made = []
        for given in bodies:
            body = given.encode() if isinstance(given, str) else given
            if body is None or not 0 < len(body) <= BODY_BYTES_MAX:
                self._message(given, topic, *repeat(None, len(COLUMNS) - 2))  # raises the error
            assert body is not None
            uniq_key = next(ids)
            made.append(
                Outgoing(
                    topic,
                    body,
                    f"{stamps}{self._seq}{_ID}{uniq_key}{_WAIT}",
                    None,
                    delayed=False,
                    ordered=False,
                    uniq_key=uniq_key,
                )
            )
            self._seq += 1
        return made

    def _message(  # noqa: PLR0913, PLR0917 - the columns of a row, once per row; keywords would cost time
        self,
        body: bytes | str | None,
        topic: str | None,
        tags: str | None,
        keys: str | None,
        properties: Any,
        sharding_key: str | None,
        queue_id: int | None,
        delay_level: int | None,
        deliver_time_ms: int | None,
        flag: int | None,
        broker: str | None,
        message_group: str | None,
    ) -> Outgoing:
        if body is None:
            raise self._bad("body is null")
        if isinstance(body, str):
            body = body.encode()
        if not 0 < len(body) <= BODY_BYTES_MAX:
            raise self._bad(f"body has {len(body)} bytes; brokers accept 1 to {BODY_BYTES_MAX}")
        topic = self._topic or topic
        if topic not in self._good_topics:
            self._check_topic(topic)
        found = {} if properties is None else self._properties(properties)
        if tags:
            found[props.TAGS] = tags
        if keys:
            found[props.KEYS] = keys
        if sharding_key or message_group:
            found[props.SHARDING_KEY] = sharding_key or message_group or ""
        if delay_level is not None or deliver_time_ms is not None:
            self._delay(found, delay_level, deliver_time_ms)
        uniq_key = next(self._ids)
        text = f"{self._stamps}{self._seq}{_ID}{uniq_key}{_WAIT}"
        queue_selection: QueueSelection | None = None
        delayed = ordered = False
        if found:
            text = self._encoded(found) + text
            if len(text) * 4 > PROPERTY_BYTES_MAX and len(text.encode()) > PROPERTY_BYTES_MAX:
                raise self._bad(
                    f"properties have {len(text.encode())} bytes; brokers accept at most {PROPERTY_BYTES_MAX}"
                )
            delayed = props.DELAY in found or props.TIMER_DELIVER_MS in found
        if found or queue_id is not None:
            queue_selection, ordered = self._select_queue(queue_id, broker, found)
        if flag is not None and not -FLAG_LIMIT <= flag < FLAG_LIMIT:
            raise self._bad(f"flag is {flag}; it can be {-FLAG_LIMIT} to {FLAG_LIMIT - 1}")
        assert topic is not None  # a checked topic is not None
        return Outgoing(
            topic, body, text, queue_selection, delayed=delayed, ordered=ordered, uniq_key=uniq_key, flag=flag or 0
        )

    def _delay(self, found: dict[str, str], level: int | None, at: int | None) -> None:
        if level is not None and not 0 <= level <= DELAY_LEVEL_MAX:
            raise self._bad(f"delayLevel is {level}; it can be 0 to {DELAY_LEVEL_MAX}")
        if at is not None and at < 0:
            raise self._bad(f"deliverTimeMs is {at}; it can be 0 or more")
        if level and at is not None:
            raise self._bad("delayLevel and deliverTimeMs are both given; a message has one of them")
        if level == 0:
            found.pop(props.DELAY, None)
        elif level is not None:
            found[props.DELAY] = str(level)
        if at is not None:
            found[props.TIMER_DELIVER_MS] = str(at)

    def _check_topic(self, topic: str | None) -> None:
        if topic is None:
            raise self._bad("topic is null")
        try:
            _check_topic(topic, "topic")
        except SchemaError as error:
            raise self._bad(str(error)) from None
        self._good_topics.add(topic)

    def _select_queue(
        self, queue_id: int | None, broker: str | None, properties: Mapping[str, str]
    ) -> tuple[QueueSelection | None, bool]:
        """Return the selected queue, and True if the messages of that queue keep their order."""
        if queue_id is not None:
            if queue_id < 0:
                raise self._bad(f"queueId is {queue_id}; it can be 0 or more")
            return (queue_id, True) if broker is None or broker.startswith(TABLE_MARK) else ((broker, queue_id), True)
        sharding_key = properties.get(props.SHARDING_KEY)
        if sharding_key:
            return sharding_key, True
        return (properties.get(props.KEYS), False) if self._hashes_keys else (None, False)

    def _properties(self, value: Any) -> dict[str, str]:
        if value is None:
            return {}
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError) as error:
                raise self._bad(f"properties are no JSON: {error}") from None
            if not isinstance(value, dict):
                raise self._bad("properties are no JSON object")
            pairs = list(value.items())
        else:
            pairs = list(value)
        found = {}
        for name, text in pairs:
            if text is not None and not isinstance(text, str):
                raise self._bad(f"property {name} is {text!r}, not a text")
            if name and text and name not in _BROKER_PROPERTIES:
                found[name] = text
        return found

    def _encoded(self, properties: dict[str, str]) -> str:
        if not properties:
            return ""
        text = props.encode(properties)
        if text.count("\x01") != len(properties) or text.count("\x02") != len(properties):
            raise self._bad("properties hold one of the characters 0x01 and 0x02, which separate them")
        return text

    def _bad(self, why: str) -> RowError:
        return RowError(f"row {self._seq} of a task: {why}")


def _check_topic(topic: str, what: str) -> None:
    try:
        names.check_topic(topic)
    except EngineError as error:
        raise SchemaError(f"{what} {topic!r}: {error.remark}") from None
