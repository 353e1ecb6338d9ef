"""Tests of stored messages as Arrow columns, which must equal the result of the plain decoder for any message."""

import gzip
import json
import zlib
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark_rocketmq.errors import RecordError
from pyspark_rocketmq.options.offsets import MessageQueue
from pyspark_rocketmq.options.schema import COLUMNS
from pyspark_rocketmq.reading.arrow_columns import ColumnMaker, properties_as_json
from pyspark_rocketmq.reading.record_parts import RecordParts
from pyspark_rocketmq.reading.stored import StoredBatch
from rocketmq_testkit.emulator.message import properties as props
from rocketmq_testkit.emulator.message import stored_record as records
from rocketmq_testkit.remoting.client import decode_messages

QUEUE = MessageQueue("orders", "broker-a", 3)
WANTED = tuple((column.name, column.types[0]) for column in COLUMNS.values())
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

TEXTS = st.text(st.characters(exclude_characters="\x01\x02", exclude_categories=["Cs"]), min_size=1, max_size=12)
PROPERTIES = st.dictionaries(TEXTS | st.sampled_from(["UNIQ_KEY", "TAGS", "KEYS", "__SHARDINGKEY"]), TEXTS, max_size=5)
HOSTS = st.sampled_from([("10.0.0.1", 50000), ("::1", 10911), ("255.255.255.255", 1)])


@st.composite
def stored(draw: st.DrawFn, offset: int = 0) -> bytes:
    """Create a record as stored by a broker, with either address family, with or without a compressed body."""
    body = draw(st.binary(max_size=40))
    packed, sys_flag = draw(st.sampled_from([(body, 0), (zlib.compress(body), 0x1), (zlib.compress(body), 0x301)]))
    born_host, store_host = records.pack_host(draw(HOSTS)), records.pack_host(draw(HOSTS))
    return records.encode(
        records.form_of(b"orders", len(born_host), len(store_host)),
        3,
        draw(st.integers(-(1 << 31), (1 << 31) - 1)),
        offset,
        draw(st.integers(0, 1 << 50)),
        sys_flag,
        draw(st.integers(0, 1 << 42)),
        born_host,
        draw(st.integers(0, 1 << 42)),
        store_host,
        draw(st.integers(0, 16)),
        0,
        packed,
        props.encode(draw(PROPERTIES)).encode(),
    )


def plain(body: bytes, offset: int = 0, properties: str = "", *, topic: bytes = b"orders", sys_flag: int = 0) -> bytes:
    """Create a usual record."""
    host = records.pack_host(("10.0.0.1", 5))
    form = records.form_of(topic, len(host), len(host))
    return records.encode(form, 3, 0, offset, 7, sys_flag, 1, host, 2, host, 0, 0, body, properties.encode())


@given(st.integers(0, 6).flatmap(lambda count: st.tuples(*(stored(at) for at in range(count)))))
def test_columns_equal_the_values_of_the_message_decoder(made: tuple[bytes, ...]) -> None:
    """All columns of all messages equal the values from the decoder of single messages."""
    maker = ColumnMaker(QUEUE, WANTED)

    assert maker.batch.add(b"".join(made), 0, len(made)) == len(made)
    rows = maker.make().to_pylist()

    for row, data in zip(rows, made, strict=True):
        [message] = decode_messages(data)
        assert row == {
            "topic": message.topic,
            "flag": message.flag,
            "body": message.body,
            "properties": row["properties"],
            "brokerName": "broker-a",
            "queueId": message.queue_id,
            "queueOffset": message.queue_offset,
            "bornTimestamp": EPOCH + timedelta(milliseconds=message.born_timestamp),
            "storeTimestamp": EPOCH + timedelta(milliseconds=message.store_timestamp),
            "msgId": message.message_id,
            "offsetMsgId": message.offset_message_id,
            "keys": message.properties.get("KEYS"),
            "tags": message.tag,
            "sysFlag": message.sys_flag,
            "bodyCRC": records.decode(data).body_crc,
            "commitLogOffset": message.physical_offset,
            "reconsumeTimes": message.reconsume_times,
            "bornHost": host_text(message.born_host),
            "storeHost": host_text(message.store_host),
            "messageGroup": message.properties.get("__SHARDINGKEY"),
        }
        assert json.loads(row["properties"]) == message.properties


def host_text(host: tuple[str, int]) -> str:
    """Return an address as shown in the columns."""
    return f"[{host[0]}]:{host[1]}" if ":" in host[0] else f"{host[0]}:{host[1]}"


@given(
    st.lists(
        st.binary(max_size=30)
        | st.text("ab\x01\x02\x03", max_size=8).map(str.encode)
        | PROPERTIES.map(lambda found: props.encode(found).encode()),
        max_size=5,
    )
)
def test_properties_as_json_equal_the_parsing_of_each_string(texts: list[bytes]) -> None:
    """The fast conversion of many property strings equals the parsing of each one, for any content."""
    readable = [each for each in texts if _is_text(each)]
    batch = StoredBatch("orders")
    batch.add(b"".join(with_properties(each) for each in readable), 0, 1)

    assert [json.loads(each) for each in properties_as_json(RecordParts(batch.take())).to_pylist()] == [
        props.decode(each.decode()) for each in readable
    ]


def with_properties(text: bytes) -> bytes:
    """Create a usual record with arbitrary bytes as properties."""
    host = records.pack_host(("10.0.0.1", 5))
    form = records.form_of(b"orders", len(host), len(host))
    return records.encode(form, 3, 0, 0, 7, 0, 1, host, 2, host, 0, 0, b"", text)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_only_messages_in_the_requested_offset_range_are_added() -> None:
    """Only messages in the requested offset range are added, because a filtered response may extend past it."""
    maker = ColumnMaker(QUEUE, (("queueOffset", "bigint"),))

    assert maker.batch.add(b"".join(plain(b"x", at) for at in range(10)), 3, 7) == 4
    assert maker.make().to_pydict() == {"queueOffset": [3, 4, 5, 6]}


def test_a_body_is_read_as_string_and_properties_as_map() -> None:
    """A body is read as a string and properties as a map; replacement characters stand for invalid UTF-8."""
    maker = ColumnMaker(QUEUE, (("body", "string"), ("properties", "map<string,string>")))
    maker.batch.add(plain("grüße".encode(), 0, "a\x01b\x02") + plain(b"\xff!", 1), 0, 2)

    assert maker.make().to_pydict() == {"body": ["grüße", "\ufffd!"], "properties": [[("a", "b")], []]}


@pytest.mark.parametrize(("kind", "codec"), [(0x101, "lz4"), (0x201, "zstd")])
def test_bodies_compressed_with_lz4_or_zstd_are_decompressed(kind: int, codec: str) -> None:
    """Bodies compressed with LZ4 frames or ZSTD, which Java clients can use, are decompressed."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        stream.write(b"hello" * 100)
    maker = ColumnMaker(QUEUE, (("body", "binary"),))
    maker.batch.add(plain(sink.getvalue().to_pybytes(), 0, sys_flag=kind), 0, 1)

    assert maker.make().to_pydict() == {"body": [b"hello" * 100]}


def test_a_message_whose_tag_only_has_the_same_hash_is_left_out() -> None:
    """A message whose tag only has the same hash (`Aa` and `BB`) is left out, because brokers compare only hashes."""
    maker = ColumnMaker(QUEUE, (("queueOffset", "bigint"),), frozenset({"Aa"}))
    maker.batch.add(plain(b"x", 0, "TAGS\x01Aa\x02") + plain(b"x", 1, "TAGS\x01BB\x02"), 0, 2)

    assert maker.make().to_pydict() == {"queueOffset": [0]}


@pytest.mark.parametrize(
    "data",
    [
        b"hello",
        plain(b"hello")[:-1],
        plain(b"hello") + b"\x00",
        plain(b"hello")[:84] + b"\x7f\xff\xff\xff" + plain(b"hello")[88:],
        b"\x00\x00\x00\x00" + plain(b"hello")[4:],
        plain(b"hello", topic=b"others"),
        plain(b"hello", topic=b"a-longer-name"),
        plain(b"hello", sys_flag=0x1),
        plain(b"hello", sys_flag=0x201),
        plain(gzip.compress(b"hello"), sys_flag=0x80),
    ],
)
def test_bytes_that_are_no_messages_raise_an_error(data: bytes) -> None:
    """Bytes that are not messages raise an error, instead of a crash or a row with garbage."""
    maker = ColumnMaker(QUEUE, WANTED)

    with pytest.raises(RecordError, match="bytes that are no messages"):
        maker.batch.add(data, 0, 1)


def test_properties_that_are_not_utf8_raise_an_error() -> None:
    """Properties that are not UTF-8 raise an error that names the queue."""
    maker = ColumnMaker(QUEUE, WANTED)
    maker.batch.add(with_properties(b"a\x01\xff\x02"), 0, 1)

    with pytest.raises(RecordError, match="queue 3 of topic orders on broker-a"):
        maker.make()
