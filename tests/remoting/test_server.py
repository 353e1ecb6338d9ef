"""The Twisted server over in-memory transports and a clock of its own."""

from typing import Any

import pytest
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.server.twisted_server import IDLE_SECONDS, RemotingServerFactory, RemotingServerProtocol
from rocketmq_testkit.remoting.wire import frame
from rocketmq_testkit.remoting.wire.command import RemotingCommand
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport


class Transport(StringTransport):
    """A transport that counts its writes, and shows whether it is read from."""

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
    """A factory with its clock and what it told."""

    def __init__(self, idle: bool = True) -> None:
        self.engine = Engine(now_ms=1_700_000_000_000)
        self.clock = Clock()
        self.log: list[str] = []
        self.ticks = 0
        self.factory = RemotingServerFactory(
            engine=self.engine,
            broker=self.engine.brokers[0],
            name_server=self.engine.name_server,
            broker_address=lambda name, broker_id, channel: "127.0.0.1:1",
            tick=self.tick,
            log=self.log.append,
            clock=self.clock if idle else None,
        )

    def tick(self) -> None:
        """Count the calls."""
        self.ticks += 1

    def connect(self) -> tuple[RemotingServerProtocol, Transport]:
        """A connection."""
        protocol = self.factory.buildProtocol(None)
        transport = Transport()
        protocol.makeConnection(transport)
        return protocol, transport


def request(code: int = 9999, ext: dict[str, str] | None = None, *, opaque: int = 1) -> bytes:
    """A frame."""
    return frame.encode(RemotingCommand(code, opaque=opaque, ext_fields=ext))


_BEAT = b'{"clientID":"c","consumerDataSet":[],"producerDataSet":[{"groupName":"P"}]}'


def answers(transport: Transport) -> list[RemotingCommand]:
    """What was written."""
    return [frame.decode(*each) for each in frame.FrameSplitter().feed(transport.value())]


@pytest.fixture
def server() -> Server:
    """A server without connections."""
    return Server()


def test_requests_are_answered_in_one_write(server: Server) -> None:
    """And the engine's time is brought up to date before."""
    protocol, transport = server.connect()
    protocol.dataReceived(request(opaque=1) + request(opaque=2))
    assert [each.opaque for each in answers(transport)] == [1, 2]
    assert (len(transport.writes), server.ticks) == (1, 1)


def test_malformed_bytes_close_the_connection_without_an_answer(server: Server) -> None:
    """What comes afterwards is not looked at, one line is logged, others go on."""
    protocol, transport = server.connect()
    other, other_transport = server.connect()
    protocol.dataReceived(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert transport.disconnecting
    protocol.dataReceived(request())
    assert transport.value() == b""
    assert len(server.log) == 1
    other.dataReceived(request())
    assert [each.code for each in answers(other_transport)] == [3]


def test_answers_before_malformed_bytes_are_written(server: Server) -> None:
    """In the same piece."""
    protocol, transport = server.connect()
    protocol.dataReceived(request() + b"\xff" * 20)
    assert [each.code for each in answers(transport)] == [3]
    assert transport.disconnecting


def test_a_client_that_is_silent_loses_its_connection(server: Server) -> None:
    """By the engine's time, though the connection is used; who says that it lives keeps its own."""
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
    """Neither read nor written."""
    _, transport = server.connect()
    server.clock.advance(IDLE_SECONDS - 1)
    assert not transport.disconnecting
    server.clock.advance(1)
    assert transport.disconnecting


def test_reading_and_writing_keep_a_connection_open(server: Server) -> None:
    """Each of them; half a frame counts, and so does an answer to a request that waited."""
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
    """Its peer reads nothing, so what is written never leaves."""
    _, transport = server.connect()
    server.clock.advance(IDLE_SECONDS)
    assert not transport.aborted
    server.clock.advance(IDLE_SECONDS)
    assert transport.aborted


def test_without_a_clock_nothing_is_idle() -> None:
    """Tests of other things need none."""
    server = Server(idle=False)
    protocol, transport = server.connect()
    protocol.dataReceived(request())
    server.clock.advance(10 * IDLE_SECONDS)
    assert not transport.disconnecting


def test_a_lost_connection_leaves_nothing_behind(server: Server) -> None:
    """No timer, no channel, no answer to a pull that waited."""
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
    assert [each.opaque for each in answers(transport)] == [1]
    protocol.connectionLost()
    assert server.factory.connections == set()
    assert server.clock.getDelayedCalls() == []
    server.engine.scheduler.advance_to(1_700_000_060_000)
    assert [each.opaque for each in answers(transport)] == [1]


def test_a_slow_reader_is_not_listened_to(server: Server) -> None:
    """The protocol is its transport's producer: full buffers stop the reading, empty ones start it again."""
    protocol, transport = server.connect()
    assert transport.producer is protocol
    protocol.pauseProducing()
    assert transport.producerState == "paused"
    protocol.resumeProducing()
    assert transport.producerState == "producing"
    protocol.close()
    assert transport.producer is None


def test_all_connections_can_be_closed(server: Server) -> None:
    """At the end of the server, gently or at once."""
    transports = [server.connect()[1] for _ in range(3)]
    server.factory.close_connections()
    assert [each.disconnecting for each in transports] == [True] * 3
    server.factory.abort_connections()
    assert [each.aborted for each in transports] == [True] * 3


def test_a_port_needs_a_node() -> None:
    """A broker, a name server or both."""
    engine = Engine()
    with pytest.raises(ValueError, match="broker, a name server or both"):
        RemotingServerFactory(
            engine=engine,
            broker=None,
            name_server=None,
            broker_address=lambda name, broker_id, channel: "",
            tick=lambda: None,
            log=lambda line: None,
        )
