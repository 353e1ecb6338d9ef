"""Tests of rows as messages: accepted rows, and rows that are rejected before anything is sent."""

import json
from itertools import count
from typing import Any

import pyarrow as pa
import pytest
from pyspark_rocketmq.errors import RowError, SchemaError
from pyspark_rocketmq.options import schema
from pyspark_rocketmq.writing.messages import IGNORED, RowReader, check_columns
from rocketmq_testkit.emulator.message import properties as props

TYPES = {
    "body": pa.binary(),
    "topic": pa.string(),
    "properties": pa.map_(pa.string(), pa.string()),
    "queueId": pa.int32(),
    "delayLevel": pa.int32(),
    "deliverTimeMs": pa.int64(),
}


def rows(*made: dict[str, Any], **types: pa.DataType) -> pa.RecordBatch:
    """Create rows as Spark passes them."""
    names = list(dict.fromkeys(name for row in made for name in row))
    fields = [pa.field(name, {**TYPES, **types}.get(name, pa.string())) for name in names]
    return pa.RecordBatch.from_pylist(list(made), schema=pa.schema(fields))


def reader(topic: str | None = "orders", *, hashes: bool = False) -> RowReader:
    """Create a row reader with numbered ids."""
    return RowReader(topic, hashes, {"SPARK_QUERY_ID": "q"}, (f"ID{number}" for number in count()))


def test_columns_become_properties() -> None:
    """Columns become RocketMQ's properties, in addition to the row's own, the stamps and the id."""
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

    assert (message.topic, message.body, message.queue_selection, message.ordered) == ("orders", b"x", "g", True)
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
def test_rows_with_only_a_body_become_the_same_messages(body: object) -> None:
    """Rows with only a body become the same messages, or errors, as rows whose other columns are null."""
    kind = pa.string() if isinstance(body, str) else pa.binary()
    alone = rows({"body": "a" if isinstance(body, str) else b"a"}, {"body": body}, body=kind)
    beside = alone.append_column("tags", pa.array([None, None], pa.string()))

    def said(batch: pa.RecordBatch) -> object:
        try:
            return reader().read(batch)
        except RowError as error:
            return str(error)

    assert said(alone) == said(beside)


def test_properties_that_control_the_broker_are_not_copied() -> None:
    """Properties that control the broker, such as the id, are not copied from another message."""
    text = '{"UNIQ_KEY":"old","RETRY_TOPIC":"t","DELAY":"3","a":"b"}'
    [message] = reader().read(rows({"body": b"x", "properties": text}, properties=pa.string()))

    found = props.decode(message.properties)
    assert found["UNIQ_KEY"] == "ID0"
    assert not {"RETRY_TOPIC", "DELAY"} & set(found)
    assert not message.delayed
    assert found["a"] == "b"


def test_the_queue_of_a_row_is_its_number_else_its_sharding_key() -> None:
    """A row's queue is selected by number, else by sharding key, and by its keys only if that is enabled."""
    batch = rows(
        {"body": b"x", "queueId": 3, "shardingKey": "g", "keys": "k"},
        {"body": b"x", "shardingKey": "g", "keys": "k"},
        {"body": b"x", "keys": "k"},
    )

    assert [(each.queue_selection, each.ordered) for each in reader().read(batch)] == [
        (3, True),
        ("g", True),
        (None, False),
    ]
    assert [(each.queue_selection, each.ordered) for each in reader(hashes=True).read(batch)][2] == ("k", False)


def test_every_column_of_a_read_is_accepted_by_a_write() -> None:
    """Every column of a read, in any of its types, is accepted by a write: as a value, or ignored by name."""
    for column in schema.COLUMNS.values():
        for kind in column.types:
            others = [("body", "binary")] if column.name != "body" else []
            check_columns([*others, (column.name, kind)], "orders")

    assert {"queueOffset", "msgId", "offsetMsgId", "commitLogOffset", "storeTimestamp"} <= IGNORED
    assert not IGNORED & {"topic", "flag", "body", "properties", "brokerName", "queueId", "keys", "tags"}


def test_a_row_that_was_read_becomes_the_same_message() -> None:
    """A row that was read becomes the same message with flag, properties and queue; id and delay are not copied."""
    [message] = reader(None).read(
        rows(
            {
                "topic": "orders",
                "flag": 7,
                "body": b"x",
                "properties": json.dumps(
                    {
                        "TAGS": "new",
                        "colour": "blue",
                        "UNIQ_KEY": "OLD",
                        "DELAY": "3",
                        "SPARK_SEQ": "9",
                        "WAIT": "false",
                    }
                ),
                "brokerName": "broker-b",
                "queueId": 1,
                "queueOffset": 42,
                "msgId": "OLD",
            },
            properties=pa.string(),
            flag=pa.int32(),
            queueOffset=pa.int64(),
        )
    )

    assert (message.topic, message.body, message.flag, message.queue_selection) == ("orders", b"x", 7, ("broker-b", 1))
    assert props.decode(message.properties) == {
        "TAGS": "new",
        "colour": "blue",
        "SPARK_QUERY_ID": "q",
        "SPARK_SEQ": "0",
        "UNIQ_KEY": "ID0",
        "WAIT": "true",
    }
    assert message.properties.count("SPARK_SEQ") == 1
    assert not message.delayed


@pytest.mark.parametrize(
    "row",
    [
        {"messageGroup": "g", "keys": "k"},
        {"properties": [("__SHARDINGKEY", "g"), ("KEYS", "k")]},
        {"properties": [("__SHARDINGKEY", "old")], "messageGroup": "g"},
    ],
)
def test_a_sharding_key_in_column_or_properties_selects_the_queue(row: dict[str, Any]) -> None:
    """A sharding key in its column or in the properties selects the queue, so that copied messages keep their order."""
    [message] = reader(hashes=True).read(rows({"body": b"x", **row}))

    assert (message.queue_selection, message.ordered) == ("g", True)
    assert props.decode(message.properties)["__SHARDINGKEY"] == "g"


def test_with_hash_selection_keys_in_the_properties_select_the_queue() -> None:
    """With queueSelector=hash keys in the properties select the queue, like those in their own column."""
    [message] = reader(hashes=True).read(rows({"body": b"x", "properties": [("KEYS", "k")]}))

    assert (message.queue_selection, message.ordered) == ("k", False)


def test_the_option_topic_takes_precedence_over_the_column() -> None:
    """The option `topic` takes precedence over the column, as in the old connector."""
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
def test_a_bad_row_is_refused_with_its_number(row: dict[str, Any], said: str) -> None:
    """A bad row is named in the error, and no message of its batch is returned."""
    good = {"body": b"x", "topic": "orders"}

    with pytest.raises(RowError, match=said):
        reader(None).read(rows(good, {**good, **row}))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "properties are no JSON"),
        ("[" * 100_000, "properties are no JSON"),
        ("[1]", "no JSON object"),
        ('{"a":1}', "property a is 1, not a text"),
    ],
)
def test_properties_that_are_no_json_object_of_strings_are_refused(text: str, said: str) -> None:
    with pytest.raises(RowError, match=said):
        reader().read(rows({"body": b"x", "properties": text}, properties=pa.string()))


@pytest.mark.parametrize(
    ("fields", "topic", "said"),
    [
        ([("bdy", "binary")], "t", "column bdy: a write has no such column; did you mean body"),
        ([("body", "int")], "t", "column body int: a write cannot have this type; it can be binary or string"),
        ([("tags", "string")], "t", "column body: missing"),
        ([("body", "binary")], None, "topic: missing; a write has the option topic or a column topic"),
        ([("body", "binary")], "a b", "option topic 'a b'"),
    ],
)
def test_wrong_columns_are_refused_before_any_task_starts(
    fields: list[tuple[str, str]], topic: str | None, said: str
) -> None:
    with pytest.raises(SchemaError, match=said):
        check_columns(fields, topic)
