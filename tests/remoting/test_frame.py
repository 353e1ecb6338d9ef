"""The splitter of a stream of bytes into frames: any pieces, invalid lengths, and random bytes."""

import itertools
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rocketmq_testkit.remoting.wire import frame
from rocketmq_testkit.remoting.wire.command import RemotingCommand
from rocketmq_testkit.remoting.wire.errors import ProtocolError

COMMANDS = [
    RemotingCommand(310, opaque=1, ext_fields={"b": "Tä", "i": "TAGS\x01A\x02"}, body=b"\x00body\xff"),
    RemotingCommand(34, opaque=2, flag=2, ext_fields={}, body=b""),
    RemotingCommand(11, "CPP", 63, -7, 0, None, {"queueId": "0"}, b"x" * 300, frame.ROCKETMQ),
    RemotingCommand(0, opaque=1, flag=1, remark="FOUND", ext_fields=None, body=b"r" * 10),
]
STREAM = b"".join(frame.encode(each) for each in COMMANDS)


def decode_all(splitter: frame.FrameSplitter, *pieces: bytes) -> list[RemotingCommand]:
    """Return the commands of a stream that arrives in pieces."""
    return [frame.decode(*each) for piece in pieces for each in splitter.feed(piece)]


def test_a_stream_cut_anywhere_gives_the_same_frames() -> None:
    for at in range(len(STREAM) + 1):
        assert decode_all(frame.FrameSplitter(), STREAM[:at], STREAM[at:]) == COMMANDS


def test_a_stream_that_arrives_byte_by_byte_gives_the_same_frames() -> None:
    """Each frame is returned with its last byte."""
    splitter = frame.FrameSplitter()
    found = [decode_all(splitter, STREAM[at : at + 1]) for at in range(len(STREAM))]
    assert [each for frames in found for each in frames] == COMMANDS
    assert found[-1] == COMMANDS[-1:]


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_a_stream_in_any_pieces_gives_the_same_frames(cuts: list[int]) -> None:
    """A stream in any number of pieces, even empty ones, gives the same frames."""
    edges = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[start:end] for start, end in itertools.pairwise(edges)]
    assert decode_all(frame.FrameSplitter(), *pieces) == COMMANDS


def test_a_frame_of_4_mib_in_pieces_is_joined_to_one_frame() -> None:
    large = frame.join(b"{}", bytes(4 * 1024 * 1024))
    splitter = frame.FrameSplitter()
    pieces = [large[at : at + 65536] for at in range(0, len(large), 65536)]
    assert [list(splitter.feed(piece)) for piece in pieces[:-1]] == [[]] * (len(pieces) - 1)
    ((_, header, body),) = splitter.feed(pieces[-1])
    assert (header, len(body)) == (b"{}", 4 * 1024 * 1024)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"GET / HTTP/1.1\r\n", id="another protocol"),
        pytest.param(pack(">iI", -5, 0), id="negative length"),
        pytest.param(pack(">II", frame.MAX_FRAME_BYTES + 1, 2), id="length over the limit"),
        pytest.param(pack(">II", 0, 0), id="length 0"),
        pytest.param(pack(">II", 3, 0), id="length without room for the second word"),
        pytest.param(pack(">II", 20, 17), id="header longer than the frame"),
    ],
)
def test_an_invalid_frame_length_is_rejected_after_eight_bytes(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        list(frame.FrameSplitter().feed(data[:8]))


def test_the_largest_frame_is_accepted() -> None:
    """A frame of the maximum size is accepted, and no memory is reserved before its bytes arrive."""
    assert list(frame.FrameSplitter().feed(pack(">II", frame.MAX_FRAME_BYTES, 2))) == []


def test_frames_before_a_malformed_one_are_returned_first() -> None:
    frames = iter(frame.FrameSplitter().feed(STREAM + b"\xff" * 8))
    assert [frame.decode(*next(frames)) for _ in COMMANDS] == COMMANDS
    with pytest.raises(ProtocolError):
        next(frames)


@pytest.mark.parametrize("serialize_type", [2, 9, 255])
def test_an_unknown_serialize_type_is_rejected(serialize_type: int) -> None:
    """A serialize type other than JSON and ROCKETMQ is rejected."""
    ((kind, header, body),) = frame.FrameSplitter().feed(frame.join(b'{"code":38}', b"", serialize_type))
    with pytest.raises(ProtocolError, match=f"serialize type {serialize_type}"):
        frame.decode(kind, header, body)


@given(st.binary(max_size=200))
def test_garbage_gives_commands_or_a_protocol_error(data: bytes) -> None:
    """Random bytes give commands or a ProtocolError, and no other exception."""
    try:
        decode_all(frame.FrameSplitter(), data)
    except ProtocolError:
        return


@given(st.integers(0, 1), st.binary(max_size=120))
def test_garbage_headers_give_commands_or_a_protocol_error(serialize_type: int, header: bytes) -> None:
    """Random headers in a well-formed frame give commands or a ProtocolError."""
    try:
        decode_all(frame.FrameSplitter(), frame.join(header, b"", serialize_type))
    except ProtocolError:
        return


@given(st.data())
def test_a_damaged_frame_gives_commands_or_a_protocol_error(data: st.DataObject) -> None:
    """A valid stream with one changed byte gives commands or a ProtocolError."""
    at = data.draw(st.integers(0, len(STREAM) - 1))
    damaged = STREAM[:at] + bytes([data.draw(st.integers(0, 255))]) + STREAM[at + 1 :]
    try:
        decode_all(frame.FrameSplitter(), damaged)
    except ProtocolError:
        return


@pytest.mark.parametrize("length", [0, 1, 3])
def test_a_too_short_frame_length_is_rejected_after_four_bytes(length: int) -> None:
    """A length that leaves no room for the header's length is rejected after four bytes, in any pieces."""
    data = pack(">I", length)
    for pieces in ((data,), (data[:2], data[2:]), (STREAM + data,), (data + STREAM,)):
        splitter = frame.FrameSplitter()
        with pytest.raises(ProtocolError, match=f"of {length}"):
            decode_all(splitter, *pieces)


@pytest.mark.parametrize("cut", [1, 2, 3])
@pytest.mark.parametrize("length", [0, 3])
def test_a_too_short_frame_after_a_complete_one_is_rejected_with_its_fourth_byte(cut: int, length: int) -> None:
    """A too short frame after a complete one is rejected with its fourth byte, for any split of its length."""
    data = pack(">I", length)
    splitter = frame.FrameSplitter()
    assert decode_all(splitter, STREAM + data[:cut]) == COMMANDS
    with pytest.raises(ProtocolError, match=f"frame of {length} bytes"):
        list(splitter.feed(data[cut:]))
