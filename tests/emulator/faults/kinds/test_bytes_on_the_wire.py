"""Faults of the bytes of a response, over both protocols: the written bytes, their times, and later responses."""

import pytest
from fault_wires import WIRES, GrpcWire, RemotingWire, Wire
from rocketmq_testkit.emulator.faults.kinds.bytes_on_the_wire import (
    CorruptByte,
    DripFrame,
    GarbageBeforeFrame,
    SplitFrame,
    StallFrame,
    TruncateFrame,
    position,
)
from rocketmq_testkit.emulator.faults.kinds.connections import CloseConnection, GoAway
from rocketmq_testkit.emulator.faults.kinds.responses import DelayResponse, DropResponse, WrongOpaque
from rocketmq_testkit.grpc_v2.transport.http2 import frames as f

SEND = {"operation": "SendMessage"}


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> Wire:
    return WIRES[request.param]()


def _whole(name: str) -> bytes:
    """Return the bytes of the response to the first send, without rules."""
    wire = WIRES[name]()
    wire.send()
    return wire.data()


def test_positions_are_limited_to_the_response() -> None:
    """A position beyond the response means its end; a negative one counts from the end."""
    assert [position(at, 10) for at in (0, 3, 10, 99, -1, -10, -99)] == [0, 3, 10, 10, 9, 0, 0]


@pytest.mark.parametrize("at", [0, 1, 7, 20, -1, -5])
@pytest.mark.parametrize("how", ["close", "reset"])
def test_truncate_frame_sends_the_first_bytes_and_ends_the_connection(wire: Wire, at: int, how: str) -> None:
    """The message is stored, and the server writes nothing after the truncated response."""
    whole = _whole(wire.name)
    wire.rules.add(TruncateFrame(at=at, how=how), **SEND)
    wire.send()
    *written, end = wire.events()
    assert (b"".join(written), end) == (whole[:at], how)  # type: ignore[arg-type]  # bytes
    assert wire.stored == 1


@pytest.mark.parametrize(("at", "mask"), [(0, 255), (5, 1), (-1, 128), (100_000, 255)])
def test_corrupt_byte_changes_one_byte(wire: Wire, at: int, mask: int) -> None:
    """All other bytes are those of the response."""
    whole = _whole(wire.name)
    wire.rules.add(CorruptByte(at=at, mask=mask), **SEND)
    wire.send()
    data = wire.data()
    changed = [(number, old ^ new) for number, (old, new) in enumerate(zip(whole, data, strict=True)) if old != new]
    assert changed == [(min(at % len(whole) if at < 0 else at, len(whole) - 1), mask)]


def test_stall_frame_pauses_in_the_frame_and_keeps_the_order_of_the_connection(wire: Wire) -> None:
    """Later responses of the connection are sent complete, after the pause."""
    whole = _whole(wire.name)
    wire.rules.add(StallFrame("2s", at=4), times=1, **SEND)
    wire.send()
    wire.send()
    assert wire.events() == [whole[:4]]
    wire.advance(1_999)
    assert wire.events() == []
    wire.advance(1)
    assert wire.complete(whole[:4] + wire.data()) == [1, 2]
    wire.send()
    assert wire.complete(wire.data()) == [3]


def test_two_stalls_on_one_connection_follow_each_other(wire: Wire) -> None:
    """The second pause starts after the first response."""
    wire.rules.add(StallFrame("2s", at=4), **SEND)
    wire.send()
    wire.send()
    wire.advance(2_000)
    first = wire.data()
    wire.advance(1_999)
    assert wire.data() == b""
    wire.advance(1)
    assert wire.complete(first + wire.data()) == [1, 2]


def test_drip_frame_sends_at_a_rate(wire: Wire) -> None:
    """Each byte is written at its time by the rate, the last one at the end of the whole duration."""
    whole = _whole(wire.name)
    wire.rules.add(DripFrame(bytes_per_second=100, piece=10), **SEND)
    wire.send()
    got = wire.data()
    assert got == whole[:10]
    for number in range(1, -(-len(whole) // 10)):
        wire.advance(99)
        assert wire.data() == b""
        wire.advance(1)
        assert wire.data() == whole[number * 10 : number * 10 + 10]


def test_split_frame_writes_each_byte_on_its_own(wire: Wire) -> None:
    """The bytes together are the response."""
    whole = _whole(wire.name)
    wire.rules.add(SplitFrame(), **SEND)
    wire.send()
    wire.advance(len(whole))
    assert wire.events() == [whole[at : at + 1] for at in range(len(whole))]


def test_garbage_is_written_before_the_response(wire: Wire) -> None:
    """Number and value of the garbage bytes are parameters of the fault."""
    whole = _whole(wire.name)
    wire.rules.add(GarbageBeforeFrame(size=3, byte=7), **SEND)
    wire.send()
    assert wire.data() == b"\x07\x07\x07" + whole


def test_the_removal_of_its_rule_sends_the_rest_of_a_stalled_or_dripping_frame(wire: Wire) -> None:
    """All waiting pieces are written at once, in order, and the next response after them."""
    for fault in (StallFrame("1h"), DripFrame(bytes_per_second=1)):
        rule = wire.rules.add(fault, times=1, **SEND)
        wire.send()
        wire.send()
        first = wire.data()
        assert wire.complete(first) == []
        wire.rules.remove(rule)
        assert wire.complete(first + wire.data()) == [wire.number - 1, wire.number]
        wire.advance(7_200_000)
        assert wire.data() == b""


def test_a_client_that_leaves_during_a_pause_gets_nothing(wire: Wire) -> None:
    """The pieces whose time comes after the end of the connection are discarded."""
    wire.rules.add(DripFrame(bytes_per_second=10), **SEND)
    wire.send()
    wire.lose()
    wire.transport.events.clear()
    wire.advance(60_000)
    assert wire.stored == 1
    assert wire.name == "remoting" or wire.data() == b""


def test_a_connection_is_closed_only_after_a_stalled_frame_is_complete(wire: Wire) -> None:
    whole = _whole(wire.name)
    wire.rules.add(StallFrame("2s", at=4), times=1, **SEND)
    wire.send()
    wire.rules.add(CloseConnection(), **SEND)
    wire.send()
    assert wire.events() == [whole[:4]]
    wire.advance(2_000)
    *written, end = wire.events()
    assert (b"".join(written), end) == (whole[4:], "close")  # type: ignore[arg-type]  # bytes


def test_a_go_away_closes_the_connection_only_after_a_stalled_frame_is_complete() -> None:
    wire = GrpcWire()
    whole = _whole("grpc")
    wire.rules.add(StallFrame("2s", at=4), times=1, **SEND)
    wire.send()
    wire.rules.add(GoAway(), **SEND)
    wire.send()
    assert wire.events() == [whole[:4]]
    wire.advance(2_000)
    data = whole[:4] + b"".join(wire.events())  # type: ignore[arg-type]  # bytes
    wire.acknowledge_ping(data)
    assert (wire.complete(data), wire.events()[-1]) == ([1, 2], "close")


@pytest.mark.parametrize("order", [1, -1])
def test_of_several_faults_only_one_writes_the_bytes_of_a_response(wire: Wire, order: int) -> None:
    """The rule that was added first acts, the second does not fire. Faults of other kinds act before them."""
    whole = _whole(wire.name)
    faults = [CorruptByte(at=0), DelayResponse("1s")][::order]
    acting = [wire.rules.add(fault, **SEND) for fault in faults]
    idle = wire.rules.add(TruncateFrame(), **SEND)
    wire.send()
    assert wire.events() == []
    wire.advance(1_000)
    assert wire.data()[1:] == whole[1:]
    assert ([rule.fired for rule in acting], idle.matched) == ([1, 1], 0)


def test_a_lost_response_has_no_bytes_to_corrupt(wire: Wire) -> None:
    """A rule that drops the response acts before a rule that corrupts its bytes, which does not fire."""
    for fault in (CorruptByte(), DropResponse()):
        wire.rules.add(fault, **SEND)
    wire.send()
    assert wire.events() == []


def test_a_response_larger_than_the_window_is_truncated_within_the_window() -> None:
    """The server sends no more than the client's window allows, and closes the connection then."""
    wire = GrpcWire()
    wire.harness.store(bytes(200_000))
    wire.rules.add(TruncateFrame(at=-1), operation="ReceiveMessage")
    wire.receive()
    *written, end = wire.events()
    assert end == "close"
    assert 60_000 < sum(map(len, written)) < 66_000


def test_a_corrupted_response_larger_than_the_window_is_sent_completely() -> None:
    """The part within the window is corrupted; the rest is sent when the client sends credit."""
    wire = GrpcWire()
    wire.harness.store(bytes(200_000))
    wire.rules.add(CorruptByte(at=40_000), operation="ReceiveMessage")
    wire.receive()
    data = wire.data()
    assert data.count(255) == 1
    assert len(data) < 66_000
    wire.server.dataReceived(f.window_update(0, 1_000_000) + f.window_update(wire.number * 2 - 1, 1_000_000))
    assert wire.complete(data + wire.data()) == [wire.number]


def test_a_misaddressed_response_larger_than_the_window_leaves_nothing_on_its_own_stream() -> None:
    """The rest of the response is discarded, because its beginning went to another stream."""
    wire = GrpcWire()
    wire.harness.store(bytes(200_000))
    wire.rules.add(WrongOpaque(), operation="ReceiveMessage")
    wire.receive()
    data = wire.data()
    wire.server.dataReceived(f.window_update(0, 1_000_000) + f.window_update(wire.number * 2 - 1, 1_000_000))
    frames = wire.frames(data + wire.data())
    streams = {int.from_bytes(each[5:9], "big") for each in frames if each[3] in (f.HEADERS, f.DATA)}
    assert streams == {0x3FFF_FFF1}


def test_a_delay_by_size_counts_the_whole_response() -> None:
    """A pull of 100,000 bytes at 100,000 bytes per second takes a second."""
    wire = RemotingWire()
    wire.send(bytes(100_000))
    wire.data()
    wire.rules.add(DelayResponse(bytes_per_second=100_000), operation="PullMessage")
    wire.receive()
    wire.advance(1_000)
    assert wire.data() == b""
    wire.advance(10)
    assert wire.complete(wire.data()) == [wire.number]
