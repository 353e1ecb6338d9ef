"""Header blocks: the decoder compared with that of the `hpack` library, and cached blocks."""

from __future__ import annotations

import pytest
from hpack import Decoder, Encoder
from hpack.exceptions import HPACKError
from hypothesis import given
from hypothesis import strategies as st
from rocketmq_testkit.grpc_v2.transport.http2.errors import ConnectionProtocolError, ErrorCode
from rocketmq_testkit.grpc_v2.transport.http2.header_blocks import HeaderBlock, encode_block, encode_integer
from rocketmq_testkit.grpc_v2.transport.http2.header_decoder import HeaderDecoder
from rocketmq_testkit.grpc_v2.transport.http2.huffman import HuffmanError, decode_huffman
from rocketmq_testkit.grpc_v2.transport.http2.limits import Limits
from rocketmq_testkit.grpc_v2.transport.http2.request_blocks import RequestBlocks
from rocketmq_testkit.grpc_v2.transport.http2.request_head import RequestHead

from tests.grpc_v2.transport.wire import request_fields

_TEXT = st.text(st.characters(min_codepoint=0, max_codepoint=255), max_size=80)
_NAMES = st.one_of(st.sampled_from([":path", "content-type", "x-mq-client-id", "te"]), _TEXT.filter(bool))
_LISTS = st.lists(st.tuples(_NAMES, _TEXT), max_size=12)


def _outcome(decoder: HeaderDecoder | Decoder, block: bytes) -> object:
    """Return the decoded header list as bytes, or "refused" if the decoder rejects the block."""
    try:
        if isinstance(decoder, HeaderDecoder):
            return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in decoder.decode(block)]
        return [(bytes(name), bytes(value)) for name, value in decoder.decode(block, raw=True)]
    except (ConnectionProtocolError, HPACKError):
        return "refused"


@given(st.lists(st.tuples(_LISTS, st.booleans(), st.sampled_from([None, 0, 64, 300, 4_096])), max_size=8))
def test_encoded_header_blocks_are_decoded_equal(blocks: list[tuple[list[tuple[str, str]], bool, int | None]]) -> None:
    """Encoded blocks are decoded equal, with and without Huffman, and with changing table sizes."""
    encoder = Encoder()
    ours, theirs = HeaderDecoder(), Decoder()
    for fields, huffman, table_bytes in blocks:
        if table_bytes is not None:
            encoder.header_table_size = table_bytes
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields]
        block = encoder.encode(raw, huffman=huffman)
        assert _outcome(ours, block) == raw
        assert _outcome(theirs, block) == raw


@given(st.lists(st.binary(max_size=60), max_size=4))
def test_the_decoder_rejects_the_blocks_that_the_hpack_library_rejects(blocks: list[bytes]) -> None:
    """For random bytes the decoder agrees with the library, up to the first rejected block."""
    ours, theirs = HeaderDecoder(), Decoder(max_header_list_size=1 << 30)
    for block in blocks:
        wanted = _outcome(theirs, block)
        got = _outcome(ours, block)
        assert got == wanted
        if wanted == "refused":
            break


@pytest.mark.parametrize("table_bytes", [4_096, 500, 31, 0])
def test_old_entries_are_evicted_from_the_table_as_in_the_hpack_library(table_bytes: int) -> None:
    """After more insertions than the table has room for, each index has the same entry as in the library, or none."""
    ours, theirs = HeaderDecoder(), Decoder()
    filling = b"".join(b"\x40\x04x-%02d" % n + bytes((60,)) + b"%02d" % n * 30 for n in range(60))
    update = encode_integer(table_bytes, 5, 0x20)
    assert _outcome(ours, update + filling) == _outcome(theirs, update + filling)
    outcomes = [
        (_outcome(ours, encode_integer(n, 7, 0x80)), _outcome(theirs, encode_integer(n, 7, 0x80))) for n in range(130)
    ]
    assert all(got == wanted for got, wanted in outcomes)
    assert sum(got != "refused" for got, _ in outcomes) == 61 + table_bytes // 97


@given(st.binary(max_size=40))
def test_huffman_strings_are_decoded_as_by_the_hpack_library(data: bytes) -> None:
    """Huffman strings are decoded, or rejected, as by the library."""
    from hpack.exceptions import HPACKDecodingError
    from hpack.huffman_table import decode_huffman as library

    try:
        wanted: bytes | None = library(data)
    except HPACKDecodingError:
        wanted = None
    try:
        got: bytes | None = decode_huffman(data).encode("latin-1")
    except HuffmanError:
        got = None
    assert got == wanted


@given(st.text(st.characters(min_codepoint=0, max_codepoint=255), max_size=200))
def test_every_text_is_unchanged_after_huffman_encoding_and_decoding(text: str) -> None:
    from hpack.huffman import HuffmanEncoder
    from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH

    coded = HuffmanEncoder(REQUEST_CODES, REQUEST_CODES_LENGTH).encode(text.encode("latin-1"))
    assert decode_huffman(coded) == text


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        (b"\x80", "no header field has index 0"),
        (b"\xbe", "no header field has index 62"),
        (b"\x7f\x80\x80\x80\x80\x80\x80\x01", "integer too long"),
        (b"\x82\x20", "table size update after"),
        (b"\x3f\xe2\x1f", "table size update to 4097"),
        (b"\x00\x01a", "ends inside a field"),
        (b"\x00\x01a\x05bc", "ends inside a string"),
        (b"\x00\x81\xff\x01b", "inside a symbol"),
    ],
)
def test_broken_blocks_are_compression_errors(block: bytes, reason: str) -> None:
    """Each way to break a block is a COMPRESSION_ERROR with its reason."""
    with pytest.raises(ConnectionProtocolError, match=reason) as caught:
        HeaderDecoder().decode(block)
    assert caught.value.code is ErrorCode.COMPRESSION_ERROR


@given(st.integers(0, 1 << 28), st.integers(4, 7))
def test_encoded_integers_are_decoded_equal(value: int, prefix_bits: int) -> None:
    """Encoded integers are decoded equal: the error for an index without table entry names the integer."""
    block = encode_integer(value, 7, 0x80)
    if 0 < value < 62:
        assert len(HeaderDecoder().decode(block)) == 1
    else:
        with pytest.raises(ConnectionProtocolError, match=f"index {value}$"):
            HeaderDecoder().decode(block)
    assert len(encode_integer(value, prefix_bits)) <= 6


@given(_LISTS)
def test_blocks_of_encode_block_change_no_table(fields: list[tuple[str, str]]) -> None:
    """Blocks of `encode_block` are decoded by any decoder and change no table."""
    ours, theirs = HeaderDecoder(), Decoder()
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields]
    assert _outcome(ours, encode_block(fields)) == raw
    assert _outcome(theirs, encode_block(fields)) == raw
    assert ours.version == 0
    assert not theirs.header_table.dynamic_entries


def test_a_prepared_block_has_the_constant_part_of_its_frame() -> None:
    """The constant part of the frame has the block's length and the right flags."""
    block = HeaderBlock.of([("grpc-status", "0")])
    assert block.prefix == bytes((0, 0, len(block.block), 1, 4))
    assert block.ending_prefix == bytes((0, 0, len(block.block), 1, 5))


def _head(blocks: RequestBlocks, block: bytes) -> tuple[RequestHead, bool]:
    """Return the head of a block, and True if it was cached."""
    decoded = blocks.decode(block)
    if isinstance(decoded, RequestHead):
        return decoded, True
    return blocks.head(block, decoded), False


def test_equal_blocks_are_decoded_once() -> None:
    """A block that does not change the table is cached; one that fills the table is not."""
    blocks, encoder = RequestBlocks(Limits()), Encoder()
    first = encoder.encode(request_fields())
    second = encoder.encode(request_fields())
    third = encoder.encode(request_fields())
    assert second == third != first
    assert [_head(blocks, block)[1] for block in (first, second, third)] == [False, False, True]


def test_a_cached_block_is_decoded_again_after_a_change_of_the_table() -> None:
    blocks = RequestBlocks(Limits())
    plain = encode_block(request_fields())
    newest_entry = plain + b"\xbe"
    _head(blocks, plain + b"\x40\x03x-n\x011")
    assert _head(blocks, newest_entry)[0].metadata["x-n"] == "1"
    assert _head(blocks, newest_entry)[1]
    _head(blocks, plain + b"\x40\x03x-n\x012")
    head, remembered = _head(blocks, newest_entry)
    assert head.metadata["x-n"] == "2"
    assert not remembered


@given(st.lists(st.lists(st.sampled_from([("x-a", "1"), ("x-a", "2"), ("x-b", "1"), ("x-c", "z")]), max_size=4)))
def test_heads_of_cached_blocks_have_the_encoded_metadata(calls: list[list[tuple[str, str]]]) -> None:
    """For any sequence of requests, each head has the encoded metadata."""
    blocks, encoder = RequestBlocks(Limits()), Encoder()
    for extra in calls:
        wanted: dict[str, str] = {}
        for name, value in extra:
            wanted[name] = f"{wanted[name]},{value}" if name in wanted else value
        head, _ = _head(blocks, encoder.encode(request_fields() + extra))
        assert {name: value for name, value in head.metadata.items() if name.startswith("x-")} == wanted
