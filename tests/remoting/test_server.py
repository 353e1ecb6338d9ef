"""The Twisted server of the remoting protocol, with in-memory transports and a test clock."""

from typing import Any

import pytest
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.server.twisted_server import (
    IDLE_SECONDS,
    RemotingServerFactory,
    RemotingServerProtocol,
    _endpoint,
)
from rocketmq_testkit.remoting.wire import frame
from rocketmq_testkit.remoting.wire.command import RemotingCommand
from twisted.internet.address import IPv4Address
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport


class Transport(StringTransport):
    """A transport that records its writes and whether reading is paused."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.aborted = False

    def write(self, data: bytes) -> None:
        self.writes.append(data)
        super().write(data)

    def abortConnection(self) -> None:
        self.aborted = True


class Server:
    """A server with its clock and its log."""

    def __init__(self, idle: bool = True) -> None:
        self.engine = Engine(now_ms=1_700_000_000_000)
        self.clock = Clock()
        self.log: list[str] = []
        self.ticks = 0
        self.factory = RemotingServerFactory(
            gate=self.engine.gate,
            broker=self.engine.brokers[0],
            name_server=self.engine.name_server,
            broker_address=lambda name, broker_id, channel: "127.0.0.1:1",
            tick=self.tick,
            log=self.log.append,
            clock=self.clock if idle else None,
        )

    def tick(self) -> None:
        """Count the calls by which the server advances the engine's time."""
        self.ticks += 1

    def connect(self) -> tuple[RemotingServerProtocol, Transport]:
        """Open a connection."""
        protocol = self.factory.buildProtocol(None)
        transport = Transport()
        protocol.makeConnection(transport)
        return protocol, transport


def request(code: int = 9999, ext: dict[str, str] | None = None, *, opaque: int = 1) -> bytes:
    """Encode a request frame."""
    return frame.encode(RemotingCommand(code, opaque=opaque, ext_fields=ext))


_BEAT = b'{"clientID":"c","consumerDataSet":[],"producerDataSet":[{"groupName":"P"}]}'


def responses(transport: Transport) -> list[RemotingCommand]:
    """Decode the written responses."""
    return [frame.decode(*each) for each in frame.FrameSplitter().feed(transport.value())]


@pytest.fixture
def server() -> Server:
    """Return a server without connections."""
    return Server()


def test_requests_in_one_piece_get_their_responses_in_one_write(server: Server) -> None:
    """Two requests get their responses in one write, after the engine's time was advanced."""
    protocol, transport = server.connect()
    protocol.dataReceived(request(opaque=1) + request(opaque=2))
    assert [each.opaque for each in responses(transport)] == [1, 2]
    assert (len(transport.writes), server.ticks) == (1, 1)


def test_malformed_bytes_close_the_connection_without_a_response(server: Server) -> None:
    """Malformed bytes close the connection without a response and log one line. Later bytes are ignored.

    Other connections continue.
    """
    protocol, transport = server.connect()
    other, other_transport = server.connect()
    protocol.dataReceived(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert transport.disconnecting
    protocol.dataReceived(request())
    assert transport.value() == b""
    assert len(server.log) == 1
    other.dataReceived(request())
    assert [each.code for each in responses(other_transport)] == [3]


def test_responses_before_malformed_bytes_are_written(server: Server) -> None:
    """Responses to requests before malformed bytes in the same piece are written."""
    protocol, transport = server.connect()
    protocol.dataReceived(request() + b"\xff" * 20)
    assert [each.code for each in responses(transport)] == [3]
    assert transport.disconnecting


def test_a_client_without_heartbeats_loses_its_connection(server: Server) -> None:
    """A client without heartbeats loses its connection by the engine's time, although it sends other requests."""
    beat = frame.encode(RemotingCommand(RequestCode.HEART_BEAT, opaque=1, body=_BEAT))
    (silent, transport), (alive, other) = server.connect(), server.connect()
    silent.dataReceived(beat)
    for _ in range(13):
        alive.dataReceived(beat)
        silent.dataReceived(request())
        server.engine.scheduler.advance_to(server.engine.scheduler.now_ms + 10_000)
    assert transport.disconnecting
    assert not other.disconnecting


def test_an_idle_connection_is_closed_after_120_s(server: Server) -> None:
    """A connection without reads and writes is closed after 120 s."""
    _, transport = server.connect()
    server.clock.advance(IDLE_SECONDS - 1)
    assert not transport.disconnecting
    server.clock.advance(1)
    assert transport.disconnecting


def test_reading_and_writing_keep_a_connection_open(server: Server) -> None:
    """Each read and each write restarts the idle timeout, even half a frame or a late response."""
    protocol, transport = server.connect()
    for _ in range(3):
        server.clock.advance(IDLE_SECONDS - 1)
        protocol.dataReceived(request()[:1] if _ == 0 else request()[1:] if _ == 1 else request())
    server.clock.advance(IDLE_SECONDS - 1)
    protocol._connection.channel.send(b"late")  # type: ignore[union-attr]  # it is connected
    server.clock.advance(IDLE_SECONDS - 1)
    assert not transport.disconnecting
    server.clock.advance(1)
    assert transport.disconnecting


def test_a_connection_that_does_not_close_is_aborted(server: Server) -> None:
    """A closed connection whose peer reads nothing is aborted after a while, because its output is never sent."""
    _, transport = server.connect()
    server.clock.advance(IDLE_SECONDS)
    assert not transport.aborted
    server.clock.advance(IDLE_SECONDS)
    assert transport.aborted


def test_without_a_clock_idle_connections_stay_open() -> None:
    server = Server(idle=False)
    protocol, transport = server.connect()
    protocol.dataReceived(request())
    server.clock.advance(10 * IDLE_SECONDS)
    assert not transport.disconnecting


def test_a_lost_connection_leaves_no_timer_no_channel_and_no_waiting_pull(server: Server) -> None:
    protocol, transport = server.connect()
    create: dict[str, Any] = {
        "topic": "T",
        "readQueueNums": "1",
        "writeQueueNums": "1",
        "perm": "6",
        "topicFilterType": "SINGLE_TAG",
    }
    protocol.dataReceived(request(RequestCode.UPDATE_AND_CREATE_TOPIC, create))
    pull: dict[str, Any] = {
        "consumerGroup": "G",
        "topic": "T",
        "queueId": "0",
        "queueOffset": "0",
        "maxMsgNums": "1",
        "sysFlag": "6",
    }
    protocol.dataReceived(request(RequestCode.PULL_MESSAGE, {**pull, "suspendTimeoutMillis": "9000"}, opaque=2))
    assert [each.opaque for each in responses(transport)] == [1]
    protocol.connectionLost()
    assert server.factory.connections == set()
    assert server.clock.getDelayedCalls() == []
    server.engine.scheduler.advance_to(1_700_000_060_000)
    assert [each.opaque for each in responses(transport)] == [1]


def test_reading_is_paused_while_the_write_buffer_is_full(server: Server) -> None:
    """A full write buffer pauses reading, an empty one resumes it (the protocol is its transport's producer)."""
    protocol, transport = server.connect()
    assert transport.producer is protocol
    protocol.pauseProducing()
    assert transport.producerState == "paused"
    protocol.resumeProducing()
    assert transport.producerState == "producing"
    protocol.close()
    assert transport.producer is None


def test_a_connection_of_an_ended_process_is_closed_without_later_output(server: Server) -> None:
    """The response to a request in execution is lost, and the connection ends without RST."""
    protocol, transport = server.connect()
    protocol.end()
    protocol._write(b"late")
    assert (transport.disconnecting, transport.value()) == (True, b"")


def test_all_connections_can_be_closed_or_aborted_when_the_server_stops(server: Server) -> None:
    transports = [server.connect()[1] for _ in range(3)]
    server.factory.close_connections()
    assert [each.disconnecting for each in transports] == [True] * 3
    server.factory.abort_connections()
    assert [each.aborted for each in transports] == [True] * 3


def test_a_server_without_broker_and_name_server_raises_value_error() -> None:
    engine = Engine()
    with pytest.raises(ValueError, match="broker, a name server or both"):
        RemotingServerFactory(
            gate=engine.gate,
            broker=None,
            name_server=None,
            broker_address=lambda name, broker_id, channel: "",
            tick=lambda: None,
            log=lambda line: None,
        )


def test_the_end_of_a_connection_is_its_address_and_port() -> None:
    """For a socket without host and port, such as one in memory, it is 127.0.0.1 and port 0."""
    assert _endpoint(IPv4Address("TCP", "10.0.0.7", 4711)) == ("10.0.0.7", 4711)
    assert _endpoint(object()) == ("127.0.0.1", 0)
