"""An engine in virtual time behind the gRPC services, called without a transport."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from rocketmq_testkit.conformance.clients import grpc_requests
from rocketmq_testkit.conformance.clients.grpc_requests import publishing
from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.operations.base import Operation, Result
from rocketmq_testkit.emulator.operations.groups import CreateGroup, GroupConfig
from rocketmq_testkit.emulator.operations.send import SendMessage
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig
from rocketmq_testkit.grpc_v2.assembly import create_messaging_service
from rocketmq_testkit.grpc_v2.config.proxy_config import ProxyConfig
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.grpc_v2.proxy.request_pools import FLOW_LIMIT
from rocketmq_testkit.grpc_v2.proxy.routes import Endpoint
from rocketmq_testkit.grpc_v2.proxy.rpc_table import Rpc
from rocketmq_testkit.grpc_v2.services import RPCS

START_MS = 1_700_000_000_000
_RPCS = {rpc.name: rpc for rpc in RPCS}


class MemoryConnection:
    """The connection of calls in memory. It records the actions of faults and carries none of them out."""

    def __init__(self) -> None:
        self.actions: list[str] = []
        self.is_open = True
        """Always true: a recorded close changes nothing."""

    def pace(self, pieces: Sequence[tuple[int, bytes]], later: Callable[[int, Callable[[], None]], object]) -> None:
        """Record that a fault sends a response in pieces. The pieces are dropped: memory has no frames."""
        self.actions.append("pace")

    def captured(self, deliver: Callable[[], None]) -> bytes:
        """Deliver, and return no bytes: there are no frames in memory."""
        deliver()
        return b""

    def discard_unsent(self, stream_id: int) -> None:
        """Do nothing: there are no windows in memory."""

    def close(self) -> None:
        """Record a close."""
        self.actions.append("close")

    def reset(self) -> None:
        """Record a reset."""
        self.actions.append("reset")

    def half_close(self) -> None:
        """Record the close of the sending direction."""
        self.actions.append("half close")

    def go_away(self, *, finish: bool) -> None:
        """Record a GOAWAY."""
        self.actions.append(f"go away, finish={finish}")

    def withhold_window(self) -> None:
        """Record that the window stays closed."""
        self.actions.append("withhold window")

    def ignore_pings(self) -> None:
        """Record that PINGs get no response."""
        self.actions.append("ignore pings")


@dataclass(eq=False)
class MemoryCall:
    """A call that records its response."""

    rpc: Rpc
    metadata: dict[str, str]
    deadline_ms: int | None
    peer: tuple[str, int] = ("10.0.0.7", 40_000)
    _: KW_ONLY
    local: tuple[str, int] = ("127.0.0.1", 8081)
    authority: str = "127.0.0.1:8081"
    secure: bool = False
    cancelled: bool = False
    finished: bool = False
    sent: list[bytes] = field(default_factory=list)
    status: int | None = None
    text: str = ""
    on_message: Callable[[Any], None] | None = None
    on_half_close: Callable[[], None] | None = None
    control: MemoryConnection = field(default_factory=MemoryConnection)
    number: int = 1
    """The number of the request on its connection; the journal's request id ends with it."""
    _callbacks: list[Callable[[], None]] = field(default_factory=list)

    def listen(self, on_message: Callable[[Any], None], on_half_close: Callable[[], None]) -> None:
        self.on_message, self.on_half_close = on_message, on_half_close

    def send(self, message: bytes) -> None:
        assert not self.finished or self.cancelled, "a message after the end of the answer"
        if not self.finished:
            self.sent.append(message)

    def reply(self, message: bytes) -> None:
        self.send(message)
        self.finish()

    def finish(self, status: int = 0, message: str = "") -> None:
        assert not self.finished or self.cancelled, "a second end of the answer"
        if not self.finished:
            self.finished = True
            self.status, self.text = int(status), message
            self._check_codes()
            self.on_message = self.on_half_close = None

    @property
    def path(self) -> str:
        return self.rpc.path

    def _check_codes(self) -> None:
        """Check that the response has only codes that the table of RPCs declares, or a code that any RPC may return.

        These are OK, UNAUTHORIZED, and the status of a proxy whose request pool is full (FLOW_LIMIT).
        """
        for sent in self.sent:
            response = self.rpc.response()
            response.ParseFromString(sent)
            for part in (response, *getattr(response, "entries", ())):
                if part.HasField("status"):
                    known = part.status.code in (pb.OK, pb.UNAUTHORIZED, *self.rpc.codes)
                    assert known or part.status == FLOW_LIMIT.status(), part.status

    def on_cancel(self, callback: Callable[[], None]) -> None:
        self._callbacks.append(callback)

    def cancel(self) -> None:
        """Cancel the call, as the client."""
        if not self.finished:
            self.cancelled = self.finished = True
            for callback in self._callbacks:
                callback()


@dataclass
class Client:
    """A client of the services. `metadata` is sent with all its calls."""

    harness: "GrpcHarness"
    client_id: str
    metadata: dict[str, str]

    def start(
        self, name: str, request: Message | None, *, deadline_ms: int | None = 30_000, **metadata: str
    ) -> MemoryCall:
        """Start an RPC. A keyword is a header of the call, such as `x_mq_language`; an empty text removes it."""
        changed = {key.replace("_", "-"): value for key, value in metadata.items()}
        merged = {key: value for key, value in {**self.metadata, **changed}.items() if value}
        rpc = _RPCS[name]
        call = MemoryCall(rpc, merged, deadline_ms)
        method = self.harness.methods[rpc.path]
        method.handler(call, None if request is None else method.decode(request.SerializeToString()))  # type: ignore[arg-type]
        return call

    def ask(self, name: str, request: Message, **options: Any) -> Any:
        """Return the response of a unary RPC."""
        call = self.start(name, request, **options)
        assert call.status == 0, (call.status, call.text)
        response = _RPCS[name].response()
        response.ParseFromString(call.sent[0])
        return response

    def receive(self, request: sv.ReceiveMessageRequest, **options: Any) -> "Received":
        """Start a receive; return it with the response so far."""
        return Received(self.start("ReceiveMessage", request, **options))

    def telemetry(self, *commands: sv.TelemetryCommand, **options: Any) -> "Stream":
        """Open a telemetry stream and send commands."""
        stream = Stream(self.start("Telemetry", None, **options))
        for command in commands:
            stream.send(command)
        return stream

    def send_settings(self, settings: pb.Settings, **options: Any) -> "Stream":
        """Open a telemetry stream and send settings."""
        return self.telemetry(sv.TelemetryCommand(settings=settings), **options)


@dataclass
class Received:
    """The response of a receive."""

    call: MemoryCall

    @property
    def responses(self) -> list[sv.ReceiveMessageResponse]:
        return [sv.ReceiveMessageResponse.FromString(data) for data in self.call.sent]

    @property
    def kinds(self) -> list[str | None]:
        return [each.WhichOneof("content") for each in self.responses]

    @property
    def status(self) -> pb.Status:
        return self.responses[0].status

    @property
    def messages(self) -> list[pb.Message]:
        return [each.message for each in self.responses if each.HasField("message")]

    @property
    def bodies(self) -> list[bytes]:
        return [message.body for message in self.messages]

    @property
    def handles(self) -> list[str]:
        return [message.system_properties.receipt_handle for message in self.messages]


@dataclass
class Stream:
    """A telemetry stream."""

    call: MemoryCall

    def send(self, command: sv.TelemetryCommand) -> None:
        assert self.call.on_message is not None, "the stream has ended"
        self.call.on_message(sv.TelemetryCommand.FromString(command.SerializeToString()))

    def half_close(self) -> None:
        assert self.call.on_half_close is not None, "the stream has ended"
        self.call.on_half_close()

    @property
    def commands(self) -> list[sv.TelemetryCommand]:
        return [sv.TelemetryCommand.FromString(command) for command in self.call.sent]


class GrpcHarness:
    """One engine, its first broker, and the services in front of it."""

    def __init__(
        self,
        *brokers: BrokerConfig,
        emulation: EmulationConfig | None = None,
        seed: int = 1,
        endpoint: Endpoint = lambda call, broker_name, broker_id, dialled: ("127.0.0.1", 8081 + broker_id),
        proxy: ProxyConfig | None = None,
    ) -> None:
        self.engine = Engine(brokers=brokers or [BrokerConfig()], emulation=emulation, seed=seed, now_ms=START_MS)
        self.broker: Broker = self.engine.brokers[0]
        self.config = proxy or ProxyConfig()
        self.log: list[str] = []
        self.service = create_messaging_service(
            engine=self.engine,
            endpoint=endpoint,
            config=self.config,
            log=self.log.append,
        )
        self.methods = {method.path: method for method in self.service}

    @property
    def now_ms(self) -> int:
        return self.engine.scheduler.now_ms

    def advance(self, ms: int) -> None:
        self.engine.scheduler.advance_to(self.now_ms + ms)

    def ask(self, operation: Operation) -> Result:
        return self.engine.execute(self.broker, operation)

    def topic(
        self, name: str = "T", queues: int = 1, kind: str = "", perm: int = 6, *, write_queues: int | None = None
    ) -> str:
        """Create a topic. `kind` is its message type; without `write_queues` it has as many as read queues."""
        config = TopicConfig(name, queues, queues if write_queues is None else write_queues, perm)
        self.ask(CreateTopic(config, {"+message.type": kind} if kind else None))
        return name

    def topic_everywhere(self, name: str = "T", queues: int = 1, kind: str = "") -> str:
        """Create a topic on all brokers; `kind` is its message type."""
        for broker in self.engine.brokers:
            config = TopicConfig(name, queues, queues)
            self.engine.execute(broker, CreateTopic(config, {"+message.type": kind} if kind else None))
        return name

    def store(self, body: bytes, broker: int = 0, queue: int = 0, topic: str = "T", **properties: str) -> None:
        """Store a message in a queue of a broker, bypassing the proxy."""
        born_host = ("10.0.0.9", 5000)
        message = SendMessage("PG", topic, queue, body, properties, born_host, self.now_ms)
        self.engine.execute(self.engine.brokers[broker], message)

    def group(self, name: str = "G", **fields: Any) -> str:
        self.ask(CreateGroup(GroupConfig(name, **fields)))
        return name

    def client(self, client_id: str = "client-1", **metadata: str) -> Client:
        headers = {"x-mq-client-id": client_id, "x-mq-language": "JAVA", "x-mq-client-version": "5.0.8"}
        return Client(self, client_id, headers | metadata)

    def producer(self, client_id: str = "producer-1", *topics: str) -> Client:
        """Return a client that has sent a producer's settings on an open stream."""
        client = self.client(client_id)
        client.send_settings(publishing(*topics))
        return client

    def consumer(
        self, client_id: str = "consumer-1", group: str = "G", topic: str = "T", *, push: bool = False
    ) -> Client:
        """Return a client that has sent a consumer's settings on an open stream."""
        client = self.client(client_id)
        client.send_settings(subscribing(group, topic, push=push))
        return client


def subscribing(
    group: str = "G",
    topic: str | None = "T",
    *,
    push: bool = False,
    client_type: int | None = None,
    expression: str = "*",
    filter_type: int = pb.TAG,
    fifo: bool | None = None,
    poll_s: int | None = None,
) -> pb.Settings:
    """Return a consumer's settings."""
    if client_type is None:
        client_type = pb.PUSH_CONSUMER if push else pb.SIMPLE_CONSUMER
    return grpc_requests.subscribing(
        group,
        {} if topic is None else {topic: expression},
        client_type=client_type,
        filter_type=filter_type,
        fifo=fifo,
        long_polling_timeout=None if poll_s is None else Duration(seconds=poll_s),
    )


def a_message(topic: str = "T", body: bytes = b"body", **system: Any) -> pb.Message:
    """Return a message with an id.

    Keywords are system properties, except `user` (user properties), `namespace` (that of the topic) and `recovery_s`
    (the system property `orphaned_transaction_recovery_duration`, in seconds).
    """
    user, recovery_s = system.pop("user", {}), system.pop("recovery_s", None)
    system.setdefault("message_id", "0102FC0000000139B80B12FD7F00000001")
    recovery = None if recovery_s is None else grpc_requests.duration(recovery_s * 1000)
    return grpc_requests.message(
        topic, body, properties=user, orphaned_transaction_recovery_duration=recovery, **system
    )


def a_send(*messages: pb.Message) -> sv.SendMessageRequest:
    """Return a send request of messages."""
    return sv.SendMessageRequest(messages=messages)


def a_receive(
    topic: str = "T",
    group: str = "G",
    *,
    batch: int = 32,
    invisible_ms: int | None = 10_000,
    poll_ms: int | None = 5_000,
    filter_type: int = pb.TAG,
    broker: str = "broker-a",
    queue_id: int = 0,
    **more: Any,
) -> sv.ReceiveMessageRequest:
    """Return a receive request; None omits a field. `more`: see `grpc_requests.receive`."""
    return grpc_requests.receive(
        topic,
        group,
        broker=broker,
        queue_id=queue_id,
        max_messages=batch,
        invisible_ms=invisible_ms,
        poll_ms=poll_ms,
        filter_type=filter_type,
        **more,
    )


def an_ack(*taken: str | pb.Message, topic: str = "T", group: str = "G") -> sv.AckMessageRequest:
    """Return an acknowledgement of received messages, or of handles with invented message ids."""
    return grpc_requests.ack(topic, group, *map(_named, taken))


def _named(taken: str | pb.Message) -> tuple[str, str]:
    """Return message id and receipt handle."""
    if isinstance(taken, str):
        return f"id-{taken}", taken
    return taken.system_properties.message_id, taken.system_properties.receipt_handle


def a_change(
    taken: str | pb.Message, invisible_ms: int | None, topic: str = "T", group: str = "G"
) -> sv.ChangeInvisibleDurationRequest:
    """Return a request to change the invisible duration."""
    id_, handle = _named(taken)
    return grpc_requests.change(topic, group, handle, invisible_ms, message_id=id_)


def a_forward(taken: str | pb.Message, topic: str = "T", group: str = "G") -> sv.ForwardMessageToDeadLetterQueueRequest:
    """Return a request to forward a message to the dead letter queue."""
    id_, handle = _named(taken)
    return grpc_requests.forward(topic, group, handle, message_id=id_)
