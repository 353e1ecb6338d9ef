"""Faults of connections after requests and responses, over both protocols, plain and with TLS."""

import socket
import ssl

import grpc
import pytest
from fault_wires import WIRES, GrpcWire, Wire
from rocketmq_testkit.conformance.clients.grpc_client import GrpcClient
from rocketmq_testkit.conformance.clients.grpc_requests import message
from rocketmq_testkit.conformance.clients.grpc_response import Failure
from rocketmq_testkit.conformance.clients.remoting_sends import send_request
from rocketmq_testkit.emulator.faults.errors import FaultError
from rocketmq_testkit.emulator.faults.fault import Fault
from rocketmq_testkit.emulator.faults.kinds.bytes_on_the_wire import StallFrame, TruncateFrame
from rocketmq_testkit.emulator.faults.kinds.connections import (
    CloseConnection,
    GoAway,
    HalfCloseConnection,
    IgnorePings,
    RefuseConnection,
    ResetConnection,
    WithholdWindow,
)
from rocketmq_testkit.emulator.faults.kinds.responses import DropResponse
from rocketmq_testkit.fixtures.emulator import Emulator
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.grpc_v2.transport import Limits
from rocketmq_testkit.grpc_v2.transport.http2 import frames as f
from rocketmq_testkit.remoting.client import ConnectionLost, RemotingClient
from rocketmq_testkit.remoting.client.connection import RemotingTimeout

SEND = {"operation": "SendMessage"}
ENDINGS = [(CloseConnection(), "close"), (ResetConnection(), "reset"), (HalfCloseConnection(), "half close")]


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> Wire:
    return WIRES[request.param]()


@pytest.mark.parametrize(("fault", "end"), ENDINGS, ids=[end for _, end in ENDINGS])
@pytest.mark.parametrize(("phase", "stored"), [("request", 0), ("response", 1)])
def test_a_connection_ends_before_or_after_the_request_is_executed(
    wire: Wire, fault: Fault, end: str, phase: str, *, stored: int
) -> None:
    """The phase of the rule decides if the message is stored; the client gets no response in either phase."""
    wire.rules.add(fault, phase=phase, times=1, **SEND)
    wire.send()
    assert (wire.events(), wire.stored) == ([end], stored)


def test_requests_of_a_half_closed_connection_are_executed(wire: Wire) -> None:
    """The client may still send requests, and gets no responses."""
    wire.rules.add(HalfCloseConnection(), times=1, **SEND)
    wire.send()
    assert (wire.stored, wire.events()) == (0, ["half close"])
    wire.send()
    assert wire.stored == 1


def test_earlier_responses_are_written_before_the_connection_ends(wire: Wire) -> None:
    """The server collects responses for one write, and writes those before the fault before it closes."""
    from rocketmq_testkit.remoting.wire import frame
    from rocketmq_testkit.remoting.wire.command import RemotingCommand

    wire.rules.add(CloseConnection(), nth=2, **SEND)
    if isinstance(wire, GrpcWire):
        wire.send()
        wire.send()
    else:
        code, ext, body = send_request("T", b"x", born_ms=1)
        sends = [frame.encode(RemotingCommand(code, opaque=at, ext_fields=ext, body=body)) for at in (1, 2)]
        wire.server.dataReceived(b"".join(sends))  # type: ignore[attr-defined]  # of a remoting wire
    *written, end = wire.events()
    assert (wire.complete(b"".join(written)), end) == ([1], "close")  # type: ignore[arg-type]  # bytes


@pytest.mark.parametrize("phase", ["request", "response"])
def test_go_away_completes_open_calls_and_rejects_new_ones(phase: str) -> None:
    """The server sends two GOAWAY frames: the first allows any stream.

    The second one, sent after the client's PING ACK, allows the streams that the client had opened by then.
    """
    wire = GrpcWire()
    wire.rules.add(GoAway(), phase=phase, times=1, **SEND)
    wire.send()
    wire.send()
    written = b"".join(wire.events())  # type: ignore[arg-type]  # bytes
    wire.acknowledge_ping(written)
    *more, end = wire.events()
    data = written + b"".join(more)  # type: ignore[arg-type]  # bytes
    away = [each for each in wire.frames(data) if each[3] == f.GOAWAY]
    assert (wire.complete(data), end, wire.stored) == ([1, 2], "close", 2)
    assert [int.from_bytes(each[9:13], "big") for each in away] == [0x7FFF_FFFF, 3]
    assert {each[17:] for each in away} == {b"app_requested"}


def test_go_away_without_finishing_closes_at_once() -> None:
    """In the phase `request`, the call that fires the rule gets no response."""
    wire = GrpcWire()
    wire.rules.add(GoAway(finish=False), phase="request", times=1, **SEND)
    wire.send()
    *written, end = wire.events()
    data = b"".join(written)  # type: ignore[arg-type]  # bytes
    assert (wire.complete(data), end) == ([], "close")
    assert [each[3] for each in wire.frames(data)].count(f.GOAWAY) == 1


def test_a_withheld_window_stops_large_requests() -> None:
    """The server sends no WINDOW_UPDATE while the rule lasts, so a large request cannot be sent completely."""
    updates = []
    for withheld in (False, True):
        wire = GrpcWire(Limits(connection_window_bytes=1_000_000))
        if withheld:
            wire.rules.add(WithholdWindow(), times=1, **SEND)
        wire.send()
        wire.data()
        for _ in range(60):
            wire.send(bytes(16_000))
        updates.append([each[3] for each in wire.frames(wire.data())].count(f.WINDOW_UPDATE))
    assert updates[0] > 0
    assert updates[1] == 0


def test_ignored_pings_get_no_response() -> None:
    """Requests of the connection still get responses."""
    wire = GrpcWire()
    ping = f.ping(b"12345678", ack=False)
    wire.server.dataReceived(ping)
    assert [each[3] for each in wire.frames(wire.data())] == [f.PING]
    wire.rules.add(IgnorePings(), times=1, **SEND)
    wire.send()
    assert wire.complete(wire.data()) == [1]
    wire.server.dataReceived(ping)
    assert wire.data() == b""
    wire.send()
    assert wire.complete(wire.data()) == [2]


@pytest.mark.parametrize("fault", [GoAway(), WithholdWindow(), IgnorePings()], ids=str)
def test_faults_of_http2_are_rejected_for_remoting(fault: Fault) -> None:
    """The error names the protocols on which the fault acts."""
    with pytest.raises(FaultError, match=r"^protocol='remoting': \w+ acts on grpc only; choose another protocol or"):
        GrpcWire().rules.add(fault, protocol="remoting")


def test_faults_of_http2_ignore_remoting_clients() -> None:
    """A rule without a protocol acts on gRPC clients only."""
    wire = WIRES["remoting"]()
    rule = wire.rules.add(GoAway(), **SEND)
    wire.send()
    assert (wire.complete(wire.data()), rule.matched) == ([1], 0)


def test_faults_of_new_connections_act_only_in_the_phase_connect() -> None:
    with pytest.raises(FaultError, match=r"^phase='request': refuse_connection does not act in this phase; it acts in"):
        GrpcWire().rules.add(RefuseConnection(), phase="request")


@pytest.fixture(scope="module")
def emulator():  # type: ignore[no-untyped-def]  # the type of a generator says nothing here
    with Emulator(tls_mode="permissive") as started:
        started.topic("T")
        yield started


SOCKET_FAULTS: list[tuple[Fault, type[Exception], str]] = [
    (CloseConnection(), ConnectionLost, "the other end closed"),
    (ResetConnection(), ConnectionLost, "reset|closed|EOF"),
    (TruncateFrame(at=9), ConnectionLost, "the other end closed|EOF"),
    (TruncateFrame(at=9, how="reset"), ConnectionLost, "reset|closed|EOF"),
    (DropResponse(), RemotingTimeout, "no answer in time"),
]


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize(("fault", "error", "text"), SOCKET_FAULTS, ids=[str(fault) for fault, *_ in SOCKET_FAULTS])
def test_a_remoting_client_on_a_socket_sees_the_end_of_its_connection(
    emulator: Emulator, fault: Fault, error: type[Exception], text: str, *, secure: bool
) -> None:
    """This holds with and without TLS, and the next connection is served."""
    tls = ssl.create_default_context(cafile=emulator.ca_file) if secure else None
    with emulator.faults.add(fault, operation="SendMessage", protocol="remoting") as rule:
        with RemotingClient(emulator.broker, timeout=0.3, tls=tls) as client, pytest.raises((error, OSError)) as caught:
            client.request(*send_request("T", b"x", born_ms=1))
        assert rule.fired == 1, caught.value
    with RemotingClient(emulator.broker, tls=tls) as client:
        assert client.request(*send_request("T", b"x", born_ms=1)).code == 0


def test_a_reset_after_a_truncated_frame_leaves_its_bytes_readable(emulator: Emulator) -> None:
    """The client reads the truncated frame before it sees the reset."""
    host, _, port = emulator.broker.rpartition(":")
    from rocketmq_testkit.remoting.wire import frame
    from rocketmq_testkit.remoting.wire.command import RemotingCommand

    code, ext, body = send_request("T", b"x", born_ms=1)
    with (
        emulator.faults.add(TruncateFrame(at=9, how="reset"), operation="SendMessage", protocol="remoting"),
        socket.create_connection((host, int(port)), 5) as raw,
    ):
        raw.sendall(frame.encode(RemotingCommand(code, opaque=1, ext_fields=ext, body=body)))
        got = _until_reset(raw)
    assert len(got) == 9


def _until_reset(raw: socket.socket) -> bytes:
    """Return the bytes that a connection delivers before it is reset."""
    got = b""
    while True:
        try:
            more = raw.recv(100)
        except ConnectionResetError:
            return got
        assert more, "the connection was closed, not reset"
        got += more


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize(
    "fault",
    [CloseConnection(), ResetConnection(), TruncateFrame(at=20), StallFrame("50ms"), GoAway()],
    ids=str,
)
def test_a_grpc_client_on_a_socket_sees_the_fault(emulator: Emulator, fault: Fault, secure: bool) -> None:
    """A call on a lost connection is UNAVAILABLE, a stalled or finished one succeeds; the next call is served."""
    credentials = None
    if secure:
        with open(emulator.ca_file, "rb") as file:
            credentials = grpc.ssl_channel_credentials(file.read())
    from rocketmq_testkit.conformance.clients.grpc_client import open_channel

    request = sv.SendMessageRequest(messages=[message("T", b"x", message_id="0102FC0000000139B80B12FD7F00000001")])
    with (
        emulator.faults.add(fault, operation="SendMessage", protocol="grpc", times=1) as rule,
        GrpcClient(open_channel(emulator.endpoint, credentials)) as client,
    ):
        response = client.call("SendMessage", request)
        assert rule.fired == 1
        if isinstance(fault, StallFrame | GoAway):
            assert response.status.code == 20000
        else:
            assert isinstance(response, Failure)
            assert response.grpc == "UNAVAILABLE"
        again = client.call("SendMessage", request)
        if isinstance(again, Failure) and "Broken pipe" in again.text:
            # grpcio began the call on the closed connection, before its thread had noticed the close.
            again = client.call("SendMessage", request)
        assert not isinstance(again, Failure), again
        assert again.status.code == 20000
