"""A remoting port without a socket: an engine, its service, and clients that exchange frames with it."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rocketmq_testkit.emulator.auth.authentication import Access
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.gate.gate import Call, Node
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations import Operation, Result
from rocketmq_testkit.emulator.overload.request_pools import RequestPools
from rocketmq_testkit.remoting.client import properties_text
from rocketmq_testkit.remoting.processors import PROCESSORS
from rocketmq_testkit.remoting.processors.send import SendMessageRequestHeaderV2
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.request.request_table import Role
from rocketmq_testkit.remoting.server.dispatcher import BrokerNode, RemotingService
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
        self, role: Role, answers: Mapping[type[Operation], Callable[[Operation], Result]] | None = None
    ) -> None:
        self.name = role.value
        self.config = BrokerConfig()
        self.operations: list[Operation] = []
        self.calls: list[Call] = []
        self._answers = answers or {}
        kinds = {each.operation for each in PROCESSORS.values() if each.role is role}
        self.handlers = dict.fromkeys(kinds, self._record)
        engine = Engine()
        self.request_pools = RequestPools(self.config, engine.scheduler, engine.gate, self)
        self.access = Access(self.config, engine.scheduler, lambda: None)

    def count_connection(self, what: str) -> None:
        """Do not count connections."""

    def _record(self, call: Call, operation: Operation) -> Result:
        self.calls.append(call)
        self.operations.append(operation)
        made = self._answers.get(type(operation))
        if made is None:  # a result of the wrong kind would be a bug of ours
            raise EngineError(ResponseCode.SYSTEM_ERROR, "recorded, not carried out")
        return made(operation)


class Peer:
    """A client's end of one connection, in memory."""

    def __init__(self, service: RemotingService, port: int = 50000, address: str = "10.0.0.7") -> None:
        self.written: list[bytes] = []
        self.channel = RemotingChannel(service, (address, port), LOCAL, self.written.append)
        self.connection = ServerConnection(service, self.channel)
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
        (answer,) = self.exchange(code, ext, body, **more)
        return answer

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
        self.service = RemotingService(
            gate=self.engine.gate,
            broker=broker,
            name_server=name_server,
            broker_address=lambda name, broker_id, channel: f"{channel.local_address[0]}:{10911 + broker_id}",
            log=self.log.append,
        )
        self._ports = iter(range(50001, 60000))

    def peer(self) -> Peer:
        """Open a connection."""
        return Peer(self.service, next(self._ports))


def create(peer: Peer, topic: str, queues: int = 1, perm: int = 6) -> None:
    """Create a topic."""
    ext = {"topic": topic, "readQueueNums": queues, "writeQueueNums": queues, "perm": perm}
    answer = peer.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, {**ext, "topicFilterType": "SINGLE_TAG"})
    assert (answer.code, answer.remark, answer.ext_fields) == (0, "not set any response code", None)


def send(peer: Peer, topic: str, body: bytes = b"m", *, queue: int = 0, **properties: str) -> RemotingCommand:
    """Send one message."""
    header = SendMessageRequestHeaderV2(
        producer_group="PG",
        topic=topic,
        queue_id=queue,
        sys_flag=0,
        born_timestamp=NOW,
        flag=0,
        properties=properties_text(properties),
    )
    return peer.ask(RequestCode.SEND_MESSAGE_V2, header, body)
