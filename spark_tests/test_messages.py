"""Rows as messages: what is taken, and what is refused before anything is sent."""

from itertools import count
from typing import Any

import pyarrow as pa
import pytest
from pyspark_rocketmq.errors import RowError, SchemaError
from pyspark_rocketmq.messages import RowReader, check_columns
from rocketmq_testkit.emulator import properties as props

TYPES = {
    "body": pa.binary(),
    "topic": pa.string(),
    "properties": pa.map_(pa.string(), pa.string()),
    "queueId": pa.int32(),
    "delayLevel": pa.int32(),
    "deliverTimeMs": pa.int64(),
}


def rows(*made: dict[str, Any], **types: pa.DataType) -> pa.RecordBatch:
    """Rows as Spark hands them over."""
    names = list(dict.fromkeys(name for row in made for name in row))
    fields = [pa.field(name, {**TYPES, **types}.get(name, pa.string())) for name in names]
    return pa.RecordBatch.from_pylist(list(made), schema=pa.schema(fields))


def reader(topic: str | None = "orders", *, hashes: bool = False) -> RowReader:
    """A reader of rows whose ids count."""
    return RowReader(topic, hashes, {"SPARK_QUERY_ID": "q"}, (f"ID{number}" for number in count()))


def test_columns_become_properties() -> None:
    """Each as RocketMQ names it, beside the row's own, the stamps and the id."""
    [message] = reader().read(
        rows(
            {
                "body": b"x",
                "tags": "new",
                "keys": "a b",
                "shardingKey": "g",
                "properties": [("colour", "blue")],
            }
        )
    )

    assert (message.topic, message.body, message.lane, message.ordered) == ("orders", b"x", "g", True)
    assert props.decode(message.properties) == {
        "TAGS": "new",
        "KEYS": "a b",
        "__SHARDINGKEY": "g",
        "colour": "blue",
        "SPARK_QUERY_ID": "q",
        "SPARK_SEQ": "0",
        "UNIQ_KEY": "ID0",
        "WAIT": "true",
    }


@pytest.mark.parametrize("body", [b"x", b"", None, b"y" * (4 << 20), b"y" * ((4 << 20) + 1), "gr\u00f6\u00dfe"])
def test_rows_of_bodies_alone_are_like_others(body: object) -> None:
    """As rows are whose other columns are empty: the same messages, and refused with the same words."""
    kind = pa.string() if isinstance(body, str) else pa.binary()
    alone = rows({"body": "a" if isinstance(body, str) else b"a"}, {"body": body}, body=kind)
    beside = alone.append_column("tags", pa.array([None, None], pa.string()))

    def said(batch: pa.RecordBatch) -> object:
        try:
            return reader().read(batch)
        except RowError as error:
            return str(error)

    assert said(alone) == said(beside)


def test_what_was_read_may_be_written() -> None:
    """Properties that decide what brokers do, such as the id, are not taken over from another message."""
    text = '{"UNIQ_KEY":"old","RETRY_TOPIC":"t","DELAY":"3","a":"b"}'
    [message] = reader().read(rows({"body": b"x", "properties": text}, properties=pa.string()))

    found = props.decode(message.properties)
    assert found["UNIQ_KEY"] == "ID0"
    assert not {"RETRY_TOPIC", "DELAY"} & set(found)
    assert not message.delayed
    assert found["a"] == "b"


def test_where_a_row_wants_to_go() -> None:
    """By number first, then by sharding key; by its keys only if that is wanted."""
    batch = rows(
        {"body": b"x", "queueId": 3, "shardingKey": "g", "keys": "k"},
        {"body": b"x", "shardingKey": "g", "keys": "k"},
        {"body": b"x", "keys": "k"},
    )

    assert [(each.lane, each.ordered) for each in reader().read(batch)] == [(3, True), ("g", True), (None, False)]
    assert [(each.lane, each.ordered) for each in reader(hashes=True).read(batch)][2] == ("k", False)


def test_the_option_wins_over_the_column() -> None:
    """As in the old connector."""
    batch = rows({"body": b"x", "topic": "other"})

    assert [each.topic for each in reader("orders").read(batch)] == ["orders"]
    assert [each.topic for each in reader(None).read(batch)] == ["other"]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"body": None}, "row 1 of a task: body is null"),
        ({"body": b""}, "body has 0 bytes"),
        ({"body": b"x" * ((4 << 20) + 1)}, "body has 4194305 bytes"),
        ({"body": b"x", "topic": None}, "topic is null"),
        ({"body": b"x", "topic": "a b"}, "topic 'a b': .*illegal characters"),
        ({"body": b"x", "topic": "t" * 128}, "longer than topic max length"),
        ({"body": b"x", "delayLevel": 19}, "delayLevel is 19; it can be 0 to 18"),
        ({"body": b"x", "deliverTimeMs": -1}, "deliverTimeMs is -1"),
        ({"body": b"x", "delayLevel": 1, "deliverTimeMs": 5}, "delayLevel and deliverTimeMs are both given"),
        ({"body": b"x", "queueId": -1}, "queueId is -1"),
        ({"body": b"x", "properties": [("a", "b\x01c")]}, "0x01 and 0x02"),
        ({"body": b"x", "tags": "a\x02"}, "0x01 and 0x02"),
        ({"body": b"x", "properties": [("a", "b" * 33000)]}, "properties have 33"),
    ],
)
def test_a_bad_row_is_named(row: dict[str, Any], said: str) -> None:
    """And no message of its batch is handed out, not even those before it."""
    good = {"body": b"x", "topic": "orders"}

    with pytest.raises(RowError, match=said):
        reader(None).read(rows(good, {**good, **row}))


@pytest.mark.parametrize(
    ("text", "said"),
    [("{", "properties are no JSON"), ("[1]", "no JSON object"), ('{"a":1}', "property a is 1, not a text")],
)
def test_properties_of_a_wrong_form_are_named(text: str, said: str) -> None:
    """JSON may hold anything; properties are texts."""
    with pytest.raises(RowError, match=said):
        reader().read(rows({"body": b"x", "properties": text}, properties=pa.string()))


@pytest.mark.parametrize(
    ("fields", "topic", "said"),
    [
        ([("bdy", "binary")], "t", "unknown column bdy of a write; did you mean body"),
        ([("body", "int")], "t", "column body of a write is int; it can be binary or string"),
        ([("tags", "string")], "t", "a write needs a column body"),
        ([("body", "binary")], None, "a write needs a column topic or the option topic"),
        ([("body", "binary")], "a b", "option topic 'a b'"),
    ],
)
def test_wrong_columns_are_named(fields: list[tuple[str, str]], topic: str | None, said: str) -> None:
    """Before any task starts."""
    with pytest.raises(SchemaError, match=said):
        check_columns(fields, topic)
