"""The codecs of frames, records and batches agree with the declared layouts, and with vectors of known bytes."""

from zlib import crc32

import pytest
from construct import Container
from hypothesis import given
from hypothesis import strategies as st
from rocketmq_testkit.emulator.message import properties as props
from rocketmq_testkit.emulator.message import stored_record as records
from rocketmq_testkit.remoting.client import batch_body
from rocketmq_testkit.remoting.wire import frame, header_binary
from rocketmq_testkit.remoting.wire.command import LANGUAGES, RemotingCommand
from rocketmq_testkit.remoting.wire.frame_layout import BinaryHeader, Frame
from rocketmq_testkit.remoting.wire.message_layout import (
    BORN_HOST_V6,
    MAGIC_V1,
    MAGIC_V2,
    STORE_HOST_V6,
    BatchBody,
    OffsetMessageIdV4,
    OffsetMessageIdV6,
    PropertiesText,
    StoredRecord,
    StoredRecords,
    UniqueKeyV4,
)

ROUTE_HEADER = (
    b'{"code":105,"extFields":{"topic":"T"},"flag":0,"language":"JAVA","opaque":7,'
    b'"serializeTypeCurrentRPC":"JSON","version":479}'
)
ROUTE_REQUEST = bytes.fromhex("0000007f0000007b") + ROUTE_HEADER
BINARY_ROUTE_REQUEST = bytes.fromhex(
    "00000025 01000021 0069 00 01df 00000007 00000000 00000000 0000000c 0005 746f706963 00000001 54"
)
ROUTE_RESPONSE = (
    bytes.fromhex("000000740000006e")
    + b'{"code":17,"flag":1,"language":"JAVA","opaque":7,"remark":"no",'
    + b'"serializeTypeCurrentRPC":"JSON","version":479}xy'
)
RECORD = bytes.fromhex(
    "0000007adaa320a73610a6860000000300000000000000000000000500000000000003e8000000000000018bcfe568000a0000010000c350"
    "0000018bcfe568017f00000100002a9f0000000000000000000000000000000568656c6c6f01540019554e49515f4b455901374630303030"
    "30310254414753014102"
)
BATCH = bytes.fromhex("0000002900000000000000000000000000000002686900115741495401747275650254414753014102") * 2

INT = st.integers(-(2**31), 2**31 - 1)
LONG = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
NAME = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x01\x02"), min_size=1, max_size=20)
PORT = st.integers(0, 65535)


def test_a_frame_has_two_words_a_header_and_a_body() -> None:
    """The declared layout `Frame` reads and writes recorded frames byte for byte."""
    found = Frame.parse(ROUTE_REQUEST)
    assert (found.length, found.serialize_type, found.header_length) == (0x7F, "JSON", 0x7B)
    assert (found.header, found.body) == (ROUTE_HEADER, b"")
    assert Frame.parse(ROUTE_RESPONSE).body == b"xy"
    for vector in (ROUTE_REQUEST, BINARY_ROUTE_REQUEST, ROUTE_RESPONSE):
        assert Frame.build(Frame.parse(vector)) == vector


def test_the_fast_frame_codec_agrees_with_the_recorded_frames() -> None:
    """Recorded frames decode to their commands and encode back to the same bytes."""
    request = RemotingCommand(105, opaque=7, ext_fields={"topic": "T"})
    response = RemotingCommand(17, opaque=7, flag=1, remark="no", body=b"xy")
    vectors = [ROUTE_REQUEST, BINARY_ROUTE_REQUEST, ROUTE_RESPONSE]
    frames = frame.FrameSplitter().feed(b"".join(vectors))
    assert [frame.decode(*each) for each in frames] == [request, request, response]
    request_binary = RemotingCommand(105, opaque=7, ext_fields={"topic": "T"}, serialize_type=frame.ROCKETMQ)
    assert [frame.encode(each) for each in (request, request_binary, response)] == vectors


def test_a_oneway_request_has_flag_2() -> None:
    command = RemotingCommand(15, opaque=8, flag=2)
    expected = b'{"code":15,"flag":2,"language":"JAVA","opaque":8,"serializeTypeCurrentRPC":"JSON","version":479}'
    assert frame.encode(command)[8:] == expected
    assert command.is_oneway
    assert not command.is_response


@given(st.integers(0, 1), st.binary(max_size=200), st.binary(max_size=200))
def test_the_fast_frame_codec_agrees_with_the_declared_layout(serialize_type: int, header: bytes, body: bytes) -> None:
    """The fast encoder and the declared layout return the same bytes, and the splitter decodes them."""
    declared = Frame.build({"serialize_type": serialize_type, "header": header, "body": body})
    assert frame.join(header, body, serialize_type) == declared
    assert list(frame.FrameSplitter().feed(declared)) == [(serialize_type, header, body)]


@given(
    code=st.integers(-(2**15), 2**15 - 1),
    language=st.integers(0, len(LANGUAGES) - 1),
    version=st.integers(-(2**15), 2**15 - 1),
    opaque=INT,
    flag=INT,
    remark=TEXT,
    ext=st.dictionaries(TEXT, TEXT, max_size=6),
)
def test_the_binary_header_codec_agrees_with_the_declared_layout(
    code: int, language: int, version: int, opaque: int, *, flag: int, remark: str, ext: dict[str, str]
) -> None:
    """Both encoders of binary headers return the same bytes. The decoder returns the values, None for empty texts."""
    command = RemotingCommand(code, LANGUAGES[language], version, opaque, flag, remark or None, ext, b"", 1)
    declared = BinaryHeader.build(
        {
            "code": code,
            "language": language,
            "version": version,
            "opaque": opaque,
            "flag": flag,
            "remark": remark.encode(),
            "ext_fields": [{"key": key.encode(), "value": value.encode()} for key, value in ext.items()],
        }
    )
    assert header_binary.encode(command) == declared
    read = header_binary.decode(declared)
    assert (read.code, read.language, read.version, read.opaque, read.flag) == (
        code,
        LANGUAGES[language],
        version,
        opaque,
        flag,
    )
    assert read.remark == (remark or None)
    assert (read.ext_fields or {}) == {key: value for key, value in ext.items() if key and value}


def test_the_stored_record_codec_agrees_with_a_recorded_record() -> None:
    """The decoder returns the fields and the CRC of a recorded record; its message id has host and physical offset."""
    declared = StoredRecord.parse(RECORD)
    assert StoredRecord.build(declared) == RECORD
    record = records.decode(RECORD)
    assert (record.topic, record.body, record.queue_id, record.queue_offset) == ("T", b"hello", 3, 5)
    assert (record.physical_offset, record.born_timestamp, record.store_timestamp) == (
        1000,
        1700000000000,
        1700000000001,
    )
    assert records.unpack_host(record.born_host) == ("10.0.0.1", 50000)
    assert record.property_map() == {"UNIQ_KEY": "7F000001", "TAGS": "A"}
    assert declared.body_crc == record.body_crc == 907060870 == crc32(b"hello") & 0x7FFFFFFF
    assert records.offset_message_id(record.store_host, 1000) == "7F00000100002A9F00000000000003E8"
    loopback = records.pack_host(("::1", 10911))
    assert records.offset_message_id(loopback, 1000) == "0000000000000000000000000000000100002A9F00000000000003E8"


def test_an_offset_message_id_decodes_to_store_host_and_offset() -> None:
    """The IPv4 form and the IPv6 form both decode to store host and physical offset."""
    short = OffsetMessageIdV4.parse(bytes.fromhex("7F00000100002A9F00000000000003E8"))
    assert (short.store_host.address, short.store_host.port, short.physical_offset) == (b"\x7f\0\0\1", 10911, 1000)
    long = OffsetMessageIdV6.parse(bytes.fromhex("0000000000000000000000000000000100002A9F00000000000003E8"))
    assert (long.store_host.port, long.physical_offset) == (10911, 1000)


def test_a_unique_key_of_the_cpp_client_has_the_declared_layout() -> None:
    """A recorded unique key of the C++ client has the field widths of Java's."""
    key = UniqueKeyV4.parse(bytes.fromhex("0100007F0000C19F000038297F6E0100"))
    assert key.address == b"\x01\x00\x00\x7f"
    assert UniqueKeyV4.build(key).hex().upper() == "0100007F0000C19F000038297F6E0100"


def host(v6: bool) -> st.SearchStrategy[Container]:
    """A strategy for packed hosts, IPv4 or IPv6."""
    size = 16 if v6 else 4
    return st.builds(
        lambda address, port: Container(address=address, port=port), st.binary(min_size=size, max_size=size), PORT
    )


@st.composite
def stored_records(draw: st.DrawFn) -> Container:
    """A strategy for records: IPv4 and IPv6 hosts, short and long topics."""
    born_v6, store_v6 = draw(st.booleans()), draw(st.booleans())
    topic = draw(st.binary(min_size=1, max_size=200))
    hosts = (BORN_HOST_V6 if born_v6 else 0) | (STORE_HOST_V6 if store_v6 else 0)
    sys_flag = draw(st.integers(0, 0x7FF)) & ~(BORN_HOST_V6 | STORE_HOST_V6) | hosts
    return Container(
        magic=MAGIC_V2 if len(topic) > 127 else MAGIC_V1,
        queue_id=draw(INT),
        flag=draw(INT),
        queue_offset=draw(LONG),
        physical_offset=draw(LONG),
        sys_flag=sys_flag,
        born_timestamp=draw(LONG),
        born_host=draw(host(born_v6)),
        store_timestamp=draw(LONG),
        store_host=draw(host(store_v6)),
        reconsume_times=draw(INT),
        prepared_transaction_offset=draw(LONG),
        body=draw(st.binary(max_size=60)),
        topic=topic,
        properties=draw(st.binary(max_size=60)),
    )


@given(stored_records())
def test_the_engines_record_encoder_agrees_with_the_declared_layout(wanted: Container) -> None:
    born_host = wanted.born_host.address + wanted.born_host.port.to_bytes(4, "big")
    store_host = wanted.store_host.address + wanted.store_host.port.to_bytes(4, "big")
    encoded = records.encode(
        records.form_of(wanted.topic, len(born_host), len(store_host)),
        wanted.queue_id,
        wanted.flag,
        wanted.queue_offset,
        wanted.physical_offset,
        wanted.sys_flag & ~(BORN_HOST_V6 | STORE_HOST_V6),
        wanted.born_timestamp,
        born_host,
        wanted.store_timestamp,
        store_host,
        wanted.reconsume_times,
        wanted.prepared_transaction_offset,
        wanted.body,
        wanted.properties,
    )
    assert encoded == StoredRecord.build(wanted)
    assert StoredRecord.parse(encoded).size == len(encoded)


@given(stored_records(), TEXT, TEXT)
def test_the_engines_record_decoder_agrees_with_the_declared_layout(wanted: Container, topic: str, text: str) -> None:
    wanted.topic, wanted.properties = (topic or "T").encode(), text.encode()
    wanted.magic = MAGIC_V2 if len(wanted.topic) > 127 else MAGIC_V1
    record = records.decode(StoredRecord.build(wanted))
    assert (record.magic, record.queue_id, record.flag) == (wanted.magic, wanted.queue_id, wanted.flag)
    assert (record.queue_offset, record.physical_offset) == (wanted.queue_offset, wanted.physical_offset)
    assert (record.sys_flag, record.reconsume_times) == (wanted.sys_flag, wanted.reconsume_times)
    assert (record.born_timestamp, record.store_timestamp) == (wanted.born_timestamp, wanted.store_timestamp)
    assert record.born_host == wanted.born_host.address + wanted.born_host.port.to_bytes(4, "big")
    assert record.store_host == wanted.store_host.address + wanted.store_host.port.to_bytes(4, "big")
    assert record.prepared_transaction_offset == wanted.prepared_transaction_offset
    assert (record.body, record.topic, record.properties) == (wanted.body, topic or "T", text)


@given(st.lists(stored_records(), max_size=4))
def test_a_response_body_is_a_concatenation_of_records(wanted: list[Container]) -> None:
    """Response bodies are concatenated records without count and padding."""
    data = b"".join(StoredRecord.build(each) for each in wanted)
    assert [each.queue_offset for each in StoredRecords.parse(data)] == [each.queue_offset for each in wanted]


@given(st.dictionaries(NAME, NAME, max_size=8))
def test_the_property_text_codec_agrees_with_the_declared_layout(properties: dict[str, str]) -> None:
    text = props.encode(properties)
    pairs = [{"name": name.encode(), "value": value.encode()} for name, value in properties.items()]
    assert text.encode() == PropertiesText.build(pairs)
    assert props.decode(text) == properties
    assert {each.name.decode(): each.value.decode() for each in PropertiesText.parse(text.encode())} == properties


def test_the_batch_body_encoder_agrees_with_a_recorded_body() -> None:
    """Two messages with the properties WAIT and TAGS are encoded to the recorded bytes."""
    assert batch_body([(b"hi", {"WAIT": "true", "TAGS": "A"})] * 2) == BATCH
    assert BatchBody.build(BatchBody.parse(BATCH)) == BATCH
    assert [each.body for each in BatchBody.parse(BATCH)] == [b"hi", b"hi"]


@given(st.lists(st.tuples(st.binary(max_size=50), st.dictionaries(NAME, NAME, max_size=3)), max_size=5), INT)
def test_the_batch_body_encoder_agrees_with_the_declared_layout(
    messages: list[tuple[bytes, dict[str, str]]], flag: int
) -> None:
    declared = [
        {"flag": flag, "body": body, "properties": props.encode(properties).encode()} for body, properties in messages
    ]
    assert batch_body(messages, flag) == BatchBody.build(declared)


@pytest.mark.parametrize(("text", "code"), [("A", 65), ("TagA", 2598919), ("", 0), ("𐐷", 1770582)])
def test_the_hash_of_a_tag_is_javas_string_hash_code(text: str, code: int) -> None:
    """The hash is computed over UTF-16 units, as by Java's String.hashCode."""
    assert props.string_hash(text) == code
