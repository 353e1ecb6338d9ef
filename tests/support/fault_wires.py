"""Connections to real servers of both protocols on a transport in memory, in virtual time, with their bytes."""

from abc import ABC, abstractmethod

from fault_rules import Rules
from grpc_harness import GrpcHarness, a_message, a_receive, a_send
from http2_client import GREETING, call
from remoting_harness import NOW
from rocketmq_testkit.conformance.clients.remoting_consumption import pull_request
from rocketmq_testkit.conformance.clients.remoting_request import RemotingRequest
from rocketmq_testkit.conformance.clients.remoting_sends import send_request
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig
from rocketmq_testkit.grpc_v2.transport import Limits
from rocketmq_testkit.grpc_v2.transport.http2 import frames as f
from rocketmq_testkit.grpc_v2.transport.http2.settings import HEADER_TABLE_SIZE, encode_settings
from rocketmq_testkit.grpc_v2.transport.twisted_server import GrpcServerFactory
from rocketmq_testkit.remoting.server.twisted_server import RemotingServerFactory
from rocketmq_testkit.remoting.wire import frame
from rocketmq_testkit.remoting.wire.command import RemotingCommand
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure


class Transport(StringTransport):
    """A transport that records each write, and how the server ends the connection."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[bytes | str] = []

    def write(self, data: bytes) -> None:
        """Record a write."""
        self.events.append(bytes(data))

    def setTcpNoDelay(self, enabled: bool) -> None:
        """Do nothing."""

    def registerProducer(self, producer: object, streaming: bool) -> None:
        """Do nothing: no buffer fills."""

    def unregisterProducer(self) -> None:
        """Do nothing."""

    def loseConnection(self) -> None:
        """Record a close."""
        self.events.append("close")

    def abortConnection(self) -> None:
        """Record a reset."""
        self.events.append("reset")

    def loseWriteConnection(self) -> None:
        """Record the close of the sending direction."""
        self.events.append("half close")


class Wire(ABC):
    """One connection to a server, with topic `T`."""

    name: str

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.rules = Rules(engine)
        self.transport = Transport()
        self.number = 0
        engine.execute(engine.brokers[0], CreateTopic(TopicConfig("T", 1, 1)))

    def advance(self, ms: int) -> None:
        """Advance the virtual time."""
        self.engine.scheduler.advance_to(self.engine.scheduler.now_ms + ms)

    def events(self) -> list[bytes | str]:
        """Return the writes and ends since the last call."""
        found, self.transport.events = self.transport.events, []
        return found

    def data(self) -> bytes:
        """Return the bytes that were written since the last call, without ends of the connection."""
        return b"".join(each for each in self.events() if isinstance(each, bytes))

    @property
    def stored(self) -> int:
        """The number of stored messages."""
        return self.engine.brokers[0].store.max_offset("T", 0)

    @abstractmethod
    def send(self, body: bytes = b"x") -> None:
        """Send a message."""

    @abstractmethod
    def complete(self, data: bytes) -> list[int]:
        """Return the numbers of the requests with complete responses in bytes. Raises if they are malformed."""

    @abstractmethod
    def lose(self) -> None:
        """Close the connection, as the client."""


class RemotingWire(Wire):
    """A connection to a remoting server. The opaque of a request is its number."""

    name = "remoting"

    def __init__(self) -> None:
        engine = Engine(now_ms=NOW)
        super().__init__(engine)
        self.factory = RemotingServerFactory(
            gate=engine.gate,
            broker=engine.brokers[0],
            name_server=engine.name_server,
            broker_address=lambda name, broker_id, channel: "127.0.0.1:1",
            tick=lambda: None,
            log=lambda line: None,
        )
        self.server = self.factory.buildProtocol(None)
        self.server.makeConnection(self.transport)

    def start(self, request: RemotingRequest) -> None:
        """Send a request."""
        self.number += 1
        command = RemotingCommand(request.code, opaque=self.number, ext_fields=request.ext, body=request.body)
        self.server.dataReceived(frame.encode(command))

    def send(self, body: bytes = b"x") -> None:
        """Send a message."""
        self.start(send_request("T", body, born_ms=NOW))

    def receive(self) -> None:
        """Pull all messages."""
        self.start(pull_request("T", "G"))

    def complete(self, data: bytes) -> list[int]:
        """Return the opaques of the complete frames."""
        return [frame.decode(*each).opaque for each in frame.FrameSplitter().feed(data)]

    def lose(self) -> None:
        """Close the connection, as the client."""
        self.server.connectionLost(Failure(ConnectionDone()))


class GrpcWire(Wire):
    """A connection to a gRPC server. The stream of a request is its number * 2 - 1."""

    name = "grpc"

    def __init__(self, limits: Limits | None = None) -> None:
        self.harness = GrpcHarness()
        super().__init__(self.harness.engine)
        self.factory = GrpcServerFactory(self.harness.service, clock=Clock(), log=lambda line: None, limits=limits)
        self.server = self.factory.buildProtocol(None)
        self.server.makeConnection(self.transport)
        # Without a table of headers, a response has the same bytes whether a fault holds it back or not.
        self.server.dataReceived(GREETING + f.settings(encode_settings({HEADER_TABLE_SIZE: 0})))
        self.events()

    def start(self, rpc: str, data: bytes, *, ends: bool = True) -> None:
        """Start a call."""
        self.number += 1
        stream_id = self.number * 2 - 1
        self.server.dataReceived(
            call(rpc, data, stream_id=stream_id, ends=ends, x_mq_client_version="5.0.8", grpc_timeout="30S")
        )

    def send(self, body: bytes = b"x") -> None:
        """Send a message."""
        self.start("SendMessage", a_send(a_message("T", body)).SerializeToString())

    def receive(self) -> None:
        """Receive messages."""
        self.start("ReceiveMessage", a_receive(poll_ms=None).SerializeToString())

    def frames(self, data: bytes) -> list[bytes]:
        """Return the complete frames in bytes."""
        return [each for each in f.split_frames(data) if len(each) == 9 + int.from_bytes(each[:3], "big")]

    def complete(self, data: bytes) -> list[int]:
        """Return the numbers of the requests whose streams have ended."""
        found = []
        for each in self.frames(data):
            stream_id = int.from_bytes(each[5:9], "big")
            if each[4] & f.END_STREAM and each[3] in (f.HEADERS, f.DATA):
                found.append((stream_id + 1) // 2)
        return found

    def acknowledge_ping(self, data: bytes) -> None:
        """Acknowledge the only PING in these bytes, as the client."""
        [ping] = [each for each in self.frames(data) if each[3] == f.PING]
        self.server.dataReceived(f.ping(ping[9:], ack=True))

    def lose(self) -> None:
        """Close the connection, as the client."""
        self.server.connectionLost(Failure(ConnectionDone()))


WIRES: dict[str, type[RemotingWire | GrpcWire]] = {"remoting": RemotingWire, "grpc": GrpcWire}
