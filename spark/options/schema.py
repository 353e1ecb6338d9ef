"""The columns of Spark's data source `rocketmq`: names, default types, and types that a user's schema may request.

This module must import neither Spark nor Arrow, so types are texts: their names in Spark's DDL.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from ..errors import SchemaError

STRING = "string"
BINARY = "binary"
INT = "int"
LONG = "bigint"
TIMESTAMP = "timestamp"
MAP = "map<string,string>"


@dataclass(frozen=True)
class Column:
    """A column: its default type first, then others that a user's schema may request."""

    name: str
    types: tuple[str, ...]
    doc: str


MESSAGE = (
    Column("topic", (STRING,), "The topic."),
    Column("flag", (INT,), "Number that the sender may set freely."),
    Column("body", (BINARY, STRING), "The decompressed body; `string` decodes it as UTF-8."),
    Column("properties", (STRING, MAP), "All properties, as a JSON object or as a map."),
    Column("brokerName", (STRING,), "The broker's name."),
    Column("queueId", (INT,), "The queue on that broker."),
    Column("queueOffset", (LONG,), "The position in the queue."),
    Column("bornTimestamp", (TIMESTAMP,), "Time of the send, by the sender's clock."),
    Column("storeTimestamp", (TIMESTAMP,), "Time of storing, by the broker's clock."),
)
"""Columns of a read by default, in the order of Apache's connector for Spark 2, `rocketmq-spark`."""

METADATA = (
    Column("msgId", (STRING,), "The message id of the sender, or of the broker if the sender set none."),
    Column("offsetMsgId", (STRING,), "The message id of the broker: its address and the position in its commit log."),
    Column("keys", (STRING,), "The keys, separated by blanks."),
    Column("tags", (STRING,), "The tag."),
    Column("sysFlag", (INT,), "System flags of the protocol: compression, transaction."),
    Column("bodyCRC", (INT,), "CRC-32 of the body as it is stored."),
    Column("commitLogOffset", (LONG,), "The position in the broker's commit log."),
    Column("reconsumeTimes", (INT,), "Number of redeliveries of the message so far."),
    Column("bornHost", (STRING,), "The sender's address and port."),
    Column("storeHost", (STRING,), "The broker's address and port."),
    Column("messageGroup", (STRING,), "The sharding key."),
)
"""Columns that includeMetadata=true appends, and that a user's schema may always name."""

COLUMNS = {column.name: column for column in (*MESSAGE, *METADATA)}

WRITE_ONLY = {
    "shardingKey": "a read has it in column messageGroup",
    "delayLevel": "a read has it in column properties, as DELAY",
    "deliverTimeMs": "a read has it in column properties, as TIMER_DELIVER_MS",
}
"""Columns of writes only, and where a read returns their values."""

Wanted = tuple[tuple[str, str], ...]
"""Requested columns: name and type."""

_OTHER_NAMES = {"long": LONG, "integer": INT}


def columns_of_read(include_metadata: bool) -> Wanted:
    """Return the columns of a read without a user's schema."""
    columns = MESSAGE + METADATA if include_metadata else MESSAGE
    return tuple((column.name, column.types[0]) for column in columns)


def ddl(columns: Wanted) -> str:
    """Return a schema in Spark's DDL."""
    return ", ".join(f"{name} {kind}" for name, kind in columns)


def parse(text: str) -> Wanted:
    """Parse columns as in `body STRING, properties MAP<STRING, STRING>`. Raises ValueError."""
    found = []
    for each in _split(text):
        name, _, kind = each.strip().partition(" ")
        kind = "".join(kind.lower().split())
        if not name or not kind:
            raise ValueError(f"{each.strip()!r} is not a name and a type")
        found.append((name, _OTHER_NAMES.get(kind, kind)))
    return tuple(found)


def _split(text: str) -> Iterator[str]:
    """Split a text into columns, at commas outside of `<>`."""
    begun = depth = 0
    for at, character in enumerate(text):
        if character in "<>":
            depth += 1 if character == "<" else -1
        elif character == "," and depth <= 0:
            yield text[begun:at]
            begun = at + 1
    yield text[begun:]


def check_column(name: str, kind: str) -> None:
    """Raise SchemaError for an unknown column or an unsupported type."""
    column = COLUMNS.get(name)
    if name in WRITE_ONLY:
        raise SchemaError(f"column {name}: only a write has it; {WRITE_ONLY[name]}; leave it out")
    if column is None:
        near = get_close_matches(name, COLUMNS, 1, 0.5) or [each for each in COLUMNS if each.lower() == name.lower()]
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(COLUMNS)}"
        raise SchemaError(
            f"column {name}: a read has no such column; {hint}; {f'use {near[0]}' if near else 'leave it out'}"
        )
    if kind not in column.types:
        raise SchemaError(
            f"column {name} {kind}: of the wrong type; it can be {' or '.join(column.types)}; "
            f"use {name} {column.types[0]}"
        )


def wanted(fields: Iterable[tuple[str, str]]) -> Wanted:
    """Return the columns of a schema. Raises SchemaError for an unknown column or an unsupported type."""
    found: list[tuple[str, str]] = []
    for name, kind in fields:
        check_column(name, kind)
        if name in (each for each, _ in found):
            raise SchemaError(f"column {name}: twice in the schema; a schema has a column once; leave one out")
        found.append((name, kind))
    return tuple(found)
