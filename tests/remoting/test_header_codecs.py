"""The codecs of JSON headers and of binary headers: accepted input and written output."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rocketmq_testkit.remoting.wire import header_binary, header_json
from rocketmq_testkit.remoting.wire.command import RemotingCommand
from rocketmq_testkit.remoting.wire.errors import ProtocolError

TEXT = st.text(max_size=20)
NUMBER = st.integers(-(2**31), 2**31 - 1)


def ext_of(header: bytes) -> dict[str, str] | None:
    """Return the decoded ext fields of a header."""
    return header_json.decode(header).ext_fields


def test_a_json_header_as_cpp_clients_write_it_is_accepted() -> None:
    """A C++ header is accepted: white space, a trailing newline, non-string ext fields, nulls, a missing version."""
    header = (
        b'{ "code" : 38, "opaque": 5, "flag":0, "language":"CPP", "remark": "",'
        b' "extFields" : {"consumerGroup":"G-x", "n": 5, "b": true, "f": 12.50, "z": null} }\n'
    )
    command = header_json.decode(header)
    assert (command.code, command.opaque, command.language, command.version) == (38, 5, "CPP", 0)
    assert command.ext_fields == {"consumerGroup": "G-x", "n": "5", "b": "true", "f": "12.5"}


@pytest.mark.parametrize(
    ("header", "code", "opaque"),
    [
        (b"{}", 0, 0),
        (b'{"code":"38","opaque":"77"}', 38, 77),
        (b'{"code":38.0}', 38, 0),
        (b'{"code":null,"opaque":7}', 0, 7),
        (b'{"code":true}', 1, 0),
        (b'{"opaque":-7,"code":1}', 1, -7),
        (b'{"opaque":5000000000,"code":1}', 1, 705032704),
        (b'\xef\xbb\xbf{"code":38}', 38, 0),
    ],
)
def test_numbers_of_a_json_header_are_converted_as_by_fastjson(header: bytes, code: int, opaque: int) -> None:
    """Strings, fractions, nulls and booleans become numbers, and some too large numbers wrap around, as on 5.3.3."""
    command = header_json.decode(header)
    assert (command.code, command.opaque) == (code, opaque)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b'"a\\u0001b"', "a\x01b"),
        (b'"a\x01b"', "a\x01b"),
        (b'"a\\ud800b"', "a?b"),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'{"a":1}', '{"a":1}'),
        (b"[1,2]", "[1,2]"),
        (b"12", "12"),
        (b"false", "false"),
    ],
)
def test_ext_field_values_of_any_json_type_become_strings(value: bytes, text: str) -> None:
    """Values of ext fields become strings, including raw control characters and lone surrogates."""
    assert ext_of(b'{"code":1,"extFields":{"k":' + value + b"}}") == {"k": text}


@pytest.mark.parametrize("value", [b"null", b"NaN"])
def test_ext_fields_with_null_or_nan_are_omitted(value: bytes) -> None:
    assert ext_of(b'{"code":1,"extFields":{"k":' + value + b"}}") == {}


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"not json",
        b"[1,2,3]",
        b"null",
        b'"text"',
        b'{"code":"abc"}',
        b'{"code":38,"version":"x"}',
        b'{"code":38,"extFields":["a"]}',
        b'{"code":38,"extFields":"a"}',
        b'{"code":38} xyz',
        b'{"code":38}{"code":39}',
        b'{"code":38,"extFields":{"a":"\xff\xfe"}}',
        b'{"code":' + b"[" * 100_000,
        b'{"code":NaN}',
        b'{"code":1e999}',
    ],
)
def test_an_invalid_json_header_is_a_protocol_error(header: bytes) -> None:
    """An invalid header is rejected; the broker closes the connection on each of these."""
    with pytest.raises(ProtocolError):
        header_json.decode(header)


def test_a_written_json_header_equals_upstreams() -> None:
    """A written header has sorted members, no blanks, no nulls, and keeps an empty map of ext fields."""
    command = RemotingCommand(0, opaque=3, flag=1, remark='say "no"\n', ext_fields={"b": "1", "a": "ä"})
    assert (
        header_json.encode(command)
        == (
            '{"code":0,"extFields":{"b":"1","a":"ä"},"flag":1,"language":"JAVA","opaque":3,'
            '"remark":"say \\"no\\"\\n","serializeTypeCurrentRPC":"JSON","version":479}'
        ).encode()
    )
    assert b'"extFields":{},' in header_json.encode(RemotingCommand(0, ext_fields={}))
    assert b"extFields" not in header_json.encode(RemotingCommand(0))


@given(
    code=NUMBER,
    language=st.sampled_from(["JAVA", "GO", "CPP", "NODE_JS"]),
    version=NUMBER,
    opaque=NUMBER,
    flag=NUMBER,
    remark=st.none() | TEXT.filter(str.isprintable),
    ext=st.none() | st.dictionaries(TEXT.filter(str.isprintable), TEXT.filter(str.isprintable), max_size=5),
)
def test_any_json_header_is_written_and_read_back_equal(
    code: int, language: str, version: int, opaque: int, *, flag: int, remark: str | None, ext: dict[str, str] | None
) -> None:
    command = RemotingCommand(code, language, version, opaque, flag, remark, ext)
    header = header_json.encode(command)
    assert header_json.decode(header) == command
    json.loads(header)


def binary(code: int = 38, ext: bytes = b"", remark: bytes = b"", **lengths: int) -> bytes:
    """Encode a binary header; `lengths` replaces lengths, by field name, to make them wrong."""
    remark_length = lengths.get("remark_length", len(remark))
    ext_length = lengths.get("ext_length", len(ext))
    return b"".join(
        (
            code.to_bytes(2, "big"),
            bytes([lengths.get("language", 0)]),
            (479).to_bytes(2, "big"),
            (3).to_bytes(4, "big"),
            (0).to_bytes(4, "big"),
            remark_length.to_bytes(4, "big", signed=True),
            remark,
            ext_length.to_bytes(4, "big", signed=True),
            ext,
        )
    )


def field(key: bytes, value: bytes, *, key_length: int | None = None, value_length: int | None = None) -> bytes:
    """Encode an ext field; the given lengths replace the right ones."""
    return (
        (len(key) if key_length is None else key_length).to_bytes(2, "big", signed=True)
        + key
        + (len(value) if value_length is None else value_length).to_bytes(4, "big", signed=True)
        + value
    )


@pytest.mark.parametrize(
    ("ext", "read"),
    [
        (field(b"k", b"v"), {"k": "v"}),
        (field(b"k", b""), {}),
        (field(b"", b"v") + field(b"k", b"v"), {"k": "v"}),
        (field(b"k", b"a") + field(b"k", b"b"), {"k": "b"}),
        (field(b"k", b"a\xff"), {"k": "a\ufffd"}),
        (b"", None),
    ],
)
def test_binary_ext_fields_are_decoded_as_by_upstream(ext: bytes, read: dict[str, str] | None) -> None:
    """Empty values mean null, the last of two equal names wins, and invalid UTF-8 is replaced, as on 5.3.3."""
    assert header_binary.decode(binary(ext=ext)).ext_fields == read


def test_bytes_after_a_binary_header_are_ignored() -> None:
    """Bytes after a binary header are ignored, as on upstream's broker."""
    assert header_binary.decode(binary(ext=field(b"k", b"v")) + b"abcdef").ext_fields == {"k": "v"}


def test_an_unknown_language_ordinal_of_a_binary_header_is_read_as_other() -> None:
    assert header_binary.decode(binary(language=99)).language == "OTHER"


def test_a_negative_length_of_binary_ext_fields_means_no_fields() -> None:
    """A negative length of ext fields means no fields: upstream reads them only if the length is above 0."""
    assert header_binary.decode(binary(ext=field(b"k", b"v"), ext_length=-1)).ext_fields is None


@pytest.mark.parametrize(
    "header",
    [
        b"",
        bytes(20),
        binary(remark_length=-1),
        binary(remark_length=100_000),
        binary(ext=field(b"k", b"v"), ext_length=5000),
        binary(ext=field(b"k", b"v"), ext_length=5),
        binary(ext=field(b"k", b"", value_length=-1)),
        binary(ext=field(b"", b"", key_length=-1)),
        binary(ext=field(b"k", b"v", value_length=2**31 - 1)),
    ],
)
def test_wrong_lengths_in_a_binary_header_are_a_protocol_error(header: bytes) -> None:
    """Wrong lengths are rejected; the broker closes the connection on each of these."""
    with pytest.raises(ProtocolError):
        header_binary.decode(header)


def test_truncated_binary_headers_are_rejected() -> None:
    """A binary header that is truncated at any byte is rejected."""
    whole = binary(ext=field(b"topic", b"T") + field(b"k", b"v"), remark=b"re")
    for end in range(len(whole)):
        with pytest.raises(ProtocolError):
            header_binary.decode(whole[:end])


def test_a_binary_header_keeps_only_the_low_16_bits_of_a_request_code() -> None:
    """Code 200050 is written as its low 16 bits, which is why binary clients cannot pop."""
    assert header_binary.decode(header_binary.encode(RemotingCommand(200050))).code == 3442
