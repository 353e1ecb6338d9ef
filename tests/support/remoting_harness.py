"""A remoting port without a socket: an engine, its dispatcher, and clients that exchange frames with it."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rocketmq_testkit.conformance.clients.remoting_sends import send_request
from rocketmq_testkit.conformance.clients.remoting_topics import topic_request
from rocketmq_testkit.emulator.auth.access_control import AccessControl
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.gate.call import Call, Node
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Operation, Result
from rocketmq_testkit.emulator.overload.request_pools import BrokerRequestPools
from rocketmq_testkit.emulator.stats.response_counts import ResponseCounts
from rocketmq_testkit.remoting.processors import PROCESSORS
from rocketmq_testkit.remoting.request.request_table import Role
from rocketmq_testkit.remoting.server.dispatcher import BrokerNode, RemotingDispatcher
from rocketmq_testkit.remoting.server.server_channel import RemotingChannel
from rocketmq_testkit.remoting.server.server_connection import ServerConnection
from rocketmq_testkit.remoting.wire import frame
from rocketmq_testkit.remoting.wire.command import RemotingCommand
from rocketmq_testkit.remoting.wire.ext_fields import Header

RECORDED = Path(__file__).parent.parent / "remoting" / "recorded_requests.jsonl"

LOCAL = ("127.0.0.1", 10911)
NOW = 1_700_000_000_000


def recorded_requests() -> list[dict[str, Any]]:
    """Return requests of real clients, as recorded on the wire to a real 5.3.3 broker."""
    return [json.loads(line) for line in RECORDED.read_text().splitlines()]


class RecordingNode:
    """A node that executes nothing: it records operations and returns prepared results."""

    def __init__(
        self, role: Role, responses: Mapping[type[Operation], Callable[[Operation], Result]] | None = None
    ) -> None:
        self.name = role.value
        self.config = BrokerConfig()
        self.operations: list[Operation] = []
        self.calls: list[Call] = []
        self._answers = responses or {}
        kinds = {each.operation for each in PROCESSORS.values() if each.role is role}
        self.handlers = dict.fromkeys(kinds, self._record)
        engine = Engine()
        self.request_pools = BrokerRequestPools(self.config, engine.scheduler, engine.gate, self)
        self.access = AccessControl(self.config, engine.scheduler, lambda: None)
        self.responses = ResponseCounts()

    def count_connection(self, event: str) -> None:
        """Do nothing."""

    def _record(self, call: Call, operation: Operation) -> Result:
        self.calls.append(call)
        self.operations.append(operation)
        made = self._answers.get(type(operation))
        if made is None:  # a result of the wrong kind would be a bug of ours
            raise EngineError(ResponseCode.SYSTEM_ERROR, "recorded, not carried out")
        return made(operation)


class RecordedEnd:
    """The socket of a connection in memory: it records how the server ends the connection."""

    def __init__(self) -> None:
        self.ends: list[str] = []

    def close(self) -> None:
        """Record a close."""
        self.ends.append("close")

    def reset(self) -> None:
        """Record a reset."""
        self.ends.append("reset")

    def half_close(self) -> None:
        """Record the close of the sending direction."""
        self.ends.append("half close")


class Peer:
    """A client's end of one connection, in memory."""

    def __init__(self, dispatcher: RemotingDispatcher, port: int = 50000, address: str = "10.0.0.7") -> None:
        self.written: list[bytes] = []
        self.socket = RecordedEnd()
        self.channel = RemotingChannel(dispatcher, (address, port), LOCAL, self.written.append, connection=self.socket)
        self.connection = ServerConnection(dispatcher, self.channel)
        self._splitter = frame.FrameSplitter()
        self._opaque = 0

    def send(self, *commands: RemotingCommand) -> bool:
        """Send commands as one piece of bytes. Returns False if the connection would be closed."""
        return self.connection.received(b"".join(frame.encode(each) for each in commands))

    def received(self) -> list[RemotingCommand]:
        """Return the commands received since the last call."""
        data = b"".join(self.written)
        self.written.clear()
        return [frame.decode(*each) for each in self._splitter.feed(data)]

    def ask(
        self, code: int, ext: Header | Mapping[str, Any] | None = None, body: bytes = b"", **more: Any
    ) -> RemotingCommand:
        """Send a request and return its response, which must be the only frame received."""
        (response,) = self.exchange(code, ext, body, **more)
        return response

    def exchange(
        self, code: int, ext: Header | Mapping[str, Any] | None = None, body: bytes = b"", **more: Any
    ) -> list[RemotingCommand]:
        """Send a request and return all frames received."""
        self._opaque += 1
        fields = ext.ext_fields() if isinstance(ext, Header) else None if ext is None else dict(ext)
        command = RemotingCommand(code, opaque=self._opaque, ext_fields=fields, body=body, **more)
        assert self.send(command)
        return self.received()


class Port:
    """One port and its log. By default it serves the engine's first broker and its name server."""

    def __init__(
        self,
        engine: Engine | None = None,
        broker: BrokerNode | None = None,
        name_server: Node | None = None,
    ) -> None:
        self.engine = engine or Engine(now_ms=1_700_000_000_000)
        self.log: list[str] = []
        if broker is None and name_server is None:
            broker, name_server = self.engine.brokers[0], self.engine.name_server
        self.dispatcher = RemotingDispatcher(
            gate=self.engine.gate,
            broker=broker,
            name_server=name_server,
            broker_address=lambda name, broker_id, channel: f"{channel.local_address[0]}:{10911 + broker_id}",
            log=self.log.append,
        )
        self._ports = iter(range(50001, 60000))

    def peer(self) -> Peer:
        """Open a connection."""
        return Peer(self.dispatcher, next(self._ports))


def create(peer: Peer, topic: str, queues: int = 1, perm: int = 6) -> None:
    """Create a topic."""
    response = peer.ask(*topic_request(topic, queues=queues, perm=perm))
    assert (response.code, response.remark, response.ext_fields) == (0, "not set any response code", None)


def send(peer: Peer, topic: str, body: bytes = b"m", *, queue: int = 0, **properties: str) -> RemotingCommand:
    """Send one message."""
    return peer.ask(*send_request(topic, body, born_ms=NOW, queue=queue, properties=properties))
