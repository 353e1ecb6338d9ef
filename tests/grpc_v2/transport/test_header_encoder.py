"""Header blocks that refer to the peer's dynamic table, read by the decoder of another library."""

import pytest
from hpack import Decoder
from hypothesis import given
from hypothesis import strategies as st
from rocketmq_testkit.grpc_v2.transport.grpc.response_headers import OK_TRAILERS, RESPONSE_HEADERS, trailers
from rocketmq_testkit.grpc_v2.transport.http2.header_blocks import HeaderBlock
from rocketmq_testkit.grpc_v2.transport.http2.header_encoder import HeaderEncoder

FAILED = trailers(13, "no such queue", None)
RECURRING = [
    RESPONSE_HEADERS,
    OK_TRAILERS,
    HeaderBlock.of_recurring((":status", "200"), ("x-shared", "1"), ("grpc-encoding", "identity")),
    HeaderBlock.of_recurring(("x-shared", "1"), ("x-long", "v" * 200)),
]
FIELDS_OF_A_RESPONSE_BYTES = 60 + 53 + 56
"""Size in the peer's table of the three fields of RESPONSE_HEADERS that the static table lacks."""


def plain(block: HeaderBlock) -> list[tuple[str, str]]:
    """Return the fields of a block that uses no table."""
    return [(str(name), str(value)) for name, value in Decoder().decode(block.block)]


class Peer:
    """The peer's decoder; the size of its table follows the peer's SETTINGS."""

    def __init__(self) -> None:
        self.encoder = HeaderEncoder()
        self._decoder = Decoder()

    def shrink(self, size: int) -> None:
        self._decoder.max_allowed_table_size = size
        self.encoder.peer_table_bytes(size)

    def encoded(self, block: HeaderBlock) -> bytes:
        data = self.encoder.notice + self.encoder.encode(block).block
        self.encoder.notice = b""
        return data

    def read(self, data: bytes) -> list[tuple[str, str]]:
        return [(str(name), str(value)) for name, value in self._decoder.decode(data)]

    def receive(self, block: HeaderBlock) -> int:
        """Check that the peer reads the block's fields; return the length of its bytes."""
        data = self.encoded(block)
        assert self.read(data) == plain(block)
        return len(data)


def test_the_second_response_has_one_byte_for_each_field() -> None:
    peer = Peer()
    first = [peer.receive(RESPONSE_HEADERS), peer.receive(OK_TRAILERS)]
    assert [peer.receive(RESPONSE_HEADERS), peer.receive(OK_TRAILERS)] == [4, 1]
    assert first > [4, 1]


def test_failed_trailers_are_literal_and_leave_the_table_as_it_is() -> None:
    peer = Peer()
    peer.receive(RESPONSE_HEADERS)
    size = peer.receive(FAILED)
    assert peer.receive(FAILED) == size
    assert peer.receive(RESPONSE_HEADERS) == 4


@pytest.mark.parametrize("size", [0, 1, FIELDS_OF_A_RESPONSE_BYTES - 1])
def test_a_field_without_room_in_the_peers_table_is_literal(size: int) -> None:
    peer = Peer()
    peer.shrink(size)
    peer.receive(RESPONSE_HEADERS)
    assert peer.receive(RESPONSE_HEADERS) > 4


def test_a_table_that_just_fits_is_used_after_it_was_announced() -> None:
    peer = Peer()
    peer.shrink(FIELDS_OF_A_RESPONSE_BYTES)
    peer.receive(RESPONSE_HEADERS)
    assert peer.receive(RESPONSE_HEADERS) == 4


def test_blocks_that_never_arrive_do_not_use_the_table() -> None:
    """A fault may delay or discard a response, so its block must not change the table."""
    peer = Peer()
    with peer.encoder.literally():
        lost = peer.encoded(RESPONSE_HEADERS)
    assert lost == RESPONSE_HEADERS.block
    peer.receive(RESPONSE_HEADERS)
    with peer.encoder.literally():
        late = peer.encoded(RESPONSE_HEADERS)
    peer.receive(OK_TRAILERS)
    assert peer.read(late) == plain(RESPONSE_HEADERS)
    assert peer.receive(RESPONSE_HEADERS) == 4


@pytest.mark.parametrize("arrival", ["never", "first", "last"])
def test_a_block_that_may_never_arrive_has_not_the_only_table_size_update(arrival: str) -> None:
    """The first block that the peer receives after it has shrunk its table begins with the update."""
    peer = Peer()
    peer.receive(RESPONSE_HEADERS)
    peer.shrink(FIELDS_OF_A_RESPONSE_BYTES - 1)
    with peer.encoder.literally():
        captured = peer.encoded(RESPONSE_HEADERS)
    if arrival == "first":
        assert peer.read(captured) == plain(RESPONSE_HEADERS)
    peer.receive(OK_TRAILERS)
    peer.receive(RESPONSE_HEADERS)
    if arrival == "last":
        assert peer.read(captured) == plain(RESPONSE_HEADERS)
    assert peer.encoder.notice == b""


def test_a_late_block_announces_no_size_above_that_of_a_table_that_was_shrunk_again() -> None:
    """A peer refuses an update to a larger size than it allows when the block arrives (RFC 7541, section 6.3)."""
    peer = Peer()
    peer.receive(RESPONSE_HEADERS)
    peer.shrink(FIELDS_OF_A_RESPONSE_BYTES)
    with peer.encoder.literally():
        late = peer.encoded(RESPONSE_HEADERS)
    peer.shrink(FIELDS_OF_A_RESPONSE_BYTES - 1)
    peer.receive(RESPONSE_HEADERS)
    assert peer.read(late) == plain(RESPONSE_HEADERS)
    peer.receive(RESPONSE_HEADERS)


STEPS = st.lists(st.one_of(st.sampled_from([*RECURRING, FAILED]), st.integers(0, 5_000)), max_size=30)


@given(STEPS)
def test_the_peer_reads_every_block_after_any_changes_of_its_table_size(steps: list[HeaderBlock | int]) -> None:
    peer = Peer()
    largest = 4_096
    for step in steps:
        if isinstance(step, int):
            largest = min(largest, step)
            peer.shrink(largest)
        else:
            peer.receive(step)
