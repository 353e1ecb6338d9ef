"""Reading length-prefixed messages, plain and compressed, from the body of a request."""

from __future__ import annotations

import gzip
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rocketmq_testkit.grpc_v2.transport.grpc.messages import MessageReader
from rocketmq_testkit.grpc_v2.transport.grpc.status import StatusCode, StatusError

from tests.grpc_v2.transport.wire import message


def _take_all(reader: MessageReader) -> list[bytes]:
    found = []
    while (taken := reader.take()) is not None:
        found.append(taken)
    return found


@given(st.lists(st.tuples(st.binary(max_size=50), st.booleans()), max_size=6), st.integers(1, 40))
def test_messages_in_pieces_of_any_size_are_read_completely(bodies: list[tuple[bytes, bool]], size: int) -> None:
    """Plain and compressed messages in pieces of any size are read completely."""
    data = b"".join(message(gzip.compress(body), 1) if packed else message(body) for body, packed in bodies)
    reader = MessageReader(1_000, gzip=True)
    found = []
    for at in range(0, len(data), size):
        reader.feed(memoryview(data)[at : at + size])
        found += _take_all(reader)
    assert found == [body for body, _ in bodies]
    assert reader.empty


@given(st.binary(max_size=60))
def test_random_bytes_give_messages_or_a_status_error(data: bytes) -> None:
    """Random bytes give a message, a request for more bytes, or an error."""
    reader = MessageReader(20, gzip=True)
    reader.feed(data)
    refusal = None
    try:
        assert all(len(found) <= 20 for found in _take_all(reader))
    except StatusError as error:
        refusal = error.status
    assert refusal in (None, StatusCode.INTERNAL, StatusCode.RESOURCE_EXHAUSTED)


def test_a_long_message_is_refused_by_its_prefix() -> None:
    """A message above the limit is rejected with its fifth byte and the text of upstream's server."""
    reader = MessageReader(1_000, gzip=False)
    reader.feed(b"\0" + (1_001).to_bytes(4, "big"))
    with pytest.raises(StatusError, match="gRPC message exceeds maximum size 1000: 1001") as caught:
        reader.take()
    assert caught.value.status is StatusCode.RESOURCE_EXHAUSTED


def test_a_message_of_exactly_the_limit_is_accepted() -> None:
    """A message of exactly the limit is accepted, plain and decompressed."""
    reader = MessageReader(1_000, gzip=True)
    reader.feed(message(bytes(1_000)) + message(gzip.compress(bytes(1_000)), 1))
    assert _take_all(reader) == [bytes(1_000)] * 2


def test_a_gzip_bomb_is_rejected_without_memory_for_it() -> None:
    """A small message that decompresses to far above the limit is rejected before it is decompressed completely."""
    bomb = gzip.compress(bytes(64 * 1024 * 1024))
    reader = MessageReader(100_000, gzip=True)
    reader.feed(message(bomb, 1))
    tracemalloc.start()
    with pytest.raises(StatusError, match="exceeds maximum size") as caught:
        reader.take()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert caught.value.status is StatusCode.RESOURCE_EXHAUSTED
    assert peak < 2_000_000


@pytest.mark.parametrize(
    ("data", "packed", "text"),
    [
        (message(b"x", 2), True, "unknown flags 0x02"),
        (message(gzip.compress(b"x"), 1), False, "without grpc-encoding"),
        (message(b"plain", 1), True, "is not gzip"),
        (message(gzip.compress(b"x" * 50)[:-4], 1), True, "not one whole gzip stream"),
        (message(gzip.compress(b"x") + b"more", 1), True, "not one whole gzip stream"),
    ],
    # A gzip header contains the time; without ids the bytes would give the test another name in each worker.
    ids=["flags", "no encoding", "no gzip", "cut", "more than one"],
)
def test_a_damaged_message_is_internal_with_its_reason(data: bytes, packed: bool, text: str) -> None:
    reader = MessageReader(1_000, gzip=packed)
    reader.feed(data)
    with pytest.raises(StatusError, match=text) as caught:
        reader.take()
    assert caught.value.status is StatusCode.INTERNAL
