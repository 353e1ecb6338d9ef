"""Shared part of the contexts of both protocols' cases: unique names, connections, the deployment's time, and notes."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property
from threading import Thread
from typing import Any, TypeVar, Unpack

from rocketmq_testkit.emulator.message.names import AUTO_CREATE_TOPIC
from rocketmq_testkit.remoting.client import ReceivedMessage, RemotingClient
from rocketmq_testkit.remoting.client.closeable import Closeable
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire.command import RemotingCommand

from ..clients.contradiction import Contradiction
from ..clients.pending import ANSWER_SECONDS, Pending
from ..clients.remoting_consumption import pull_request
from ..clients.remoting_response import DecodedResponse
from ..clients.remoting_sends import send_fields, send_v1_request
from ..clients.remoting_topics import group_request, max_offset_request, topic_request
from ..clients.send_fields import SendFields
from ..deployment.target import Deployment
from .cluster import first_broker
from .connections import open_connection
from .placeholders import Placeholders
from .shape import shape

T = TypeVar("T")

_STEP_MS = 200
"""Polling interval of `until`, in the deployment's time."""


class CaseContext(Closeable):
    """A case's access to one deployment. `token` makes the names of this run unique."""

    def __init__(self, deployment: Deployment, token: str) -> None:
        self.deployment = deployment
        self.notes: list[tuple[str, Any]] = []
        """The observations: label and value, with placeholders."""
        self.contradictions: list[str] = []
        """Observations whose code is not that of the reference version."""
        self.placeholders = Placeholders()
        self._token = token
        self._numbers: dict[str, itertools.count[int]] = {}
        self._connections: list[RemotingClient] = []
        self.namesrv = self.connect(deployment.access.namesrv)
        """A connection to the name server."""
        first = first_broker(self.namesrv, deployment.access.namesrv, deployment.second_broker)
        self.cluster, self.broker_name, self.broker_address = first.cluster, first.name, first.address
        self.broker = self.connect(self.broker_address)
        """A connection to the (first) broker."""
        self.placeholders.put(self.cluster, "cluster")
        self.placeholders.put(self.broker_name, "broker name")
        self.placeholders.put(self.broker_address, "broker")
        self.placeholders.put(deployment.second_broker, "second broker")
        self.placeholders.put(deployment.access.namesrv, "namesrv")
        self.placeholders.put(deployment.access.endpoint, "endpoint")

    def close(self) -> None:
        """Close all connections."""
        for connection in self._connections:
            connection.close()

    @cached_property
    def second_broker(self) -> RemotingClient:
        """A connection to the second broker, for cases that have requested one."""
        return self.connect(self.deployment.second_broker)

    # --- notes

    def note(self, label: str, value: Any, code: int | str | None = None) -> Any:
        """Note an observation and return it.

        `code`: response or status code of the reference version, which cases pass as the third argument:
        `t.note("popped", group.pop(), 0)`. Another code of `value` is added to the contradictions.
        """
        shown = self.placeholders.normal(shape(value))
        self.notes.append((label, shown))
        if code is not None and (came := _code(value)) != code:
            self.contradictions.append(f"{label}: code {code} was expected, {came} was returned: {shown}")
        return value

    def require(self, truth: object, problem: str) -> None:
        """Raise Contradiction, which ends the case, if a precondition does not hold."""
        if not truth:
            raise Contradiction(problem)

    # --- names

    def new(self, kind: str = "topic") -> str:
        """Return an unused name; notes show it as `{topic 1}`, or with another `kind`."""
        number = next(self._numbers.setdefault(kind, itertools.count(1)))
        name = f"{kind.replace(' ', '-')}-{self._token}-{number}"
        self.placeholders.put(name, f"{kind} {number}")
        return name

    def message_id(self) -> str:
        """Return a new message id in the form that clients use: 32 hex digits."""
        number = next(self._numbers.setdefault("message id", itertools.count(1)))
        digits = f"{int.from_bytes(self._token.encode(), 'big'):X}"[-20:].rjust(20, "0")
        name = f"{digits}{number:012X}"
        self.placeholders.put(name, f"message {number}")
        return name

    def topic(
        self,
        *,
        queues: int = 4,
        kind: str | None = None,
        perm: int = 6,
        read: int | None = None,
        write: int | None = None,
        name: str | None = None,
        to: RemotingClient | None = None,
    ) -> str:
        """Create a topic, on the first broker by default.

        `kind`: message type (NORMAL, FIFO, DELAY, TRANSACTION); `perm`: 4 read, 2 write.
        """
        name = self.new() if name is None else name
        made = topic_request(name, queues=queues, read=read, write=write, perm=perm, kind=kind)
        response = self.request(*made, to=to)
        self.require(response.code == 0, f"the topic {name} was not created: {response}")
        return name

    def group(self, *, name: str | None = None, **config: Any) -> str:
        """Create a subscription group; `config` contains fields of SubscriptionGroupConfig by name."""
        name = self.new("group") if name is None else name
        response = self.request_group(name, **config)
        self.require(response.code == 0, f"the group {name} was not created: {response}")
        return name

    def request_group(self, name: str, **config: Any) -> DecodedResponse:
        """Try to create a subscription group; the broker may reject it."""
        return self.request(*group_request(name, **config))

    # --- connections

    def connect(self, address: str | None = None, **more: Any) -> RemotingClient:
        """Open another connection, by default to the broker; it is closed at the end of the case."""
        connection = open_connection(self.deployment.access, address or self.broker_address, **more)
        self._connections.append(connection)
        return connection

    def disconnect(self, connection: RemotingClient) -> None:
        """Close one of the connections abruptly, like a client that dies."""
        self._connections.remove(connection)
        connection.close()

    def crash(self) -> None:
        """Kill and restart the broker, and replace all connections."""
        self.deployment.crash()
        self.reconnect()

    def restart(self) -> None:
        """Restart the broker gracefully, and replace all connections."""
        self.deployment.restart()
        self.reconnect()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the broker gracefully within the block, and replace all connections afterwards."""
        with self.deployment.stopped():
            yield
        self.reconnect()

    @contextmanager
    def faulty(self, rule: Mapping[str, object], reach: Callable[[], AbstractContextManager[object]]) -> Iterator[None]:
        """Cause a situation within the block: on the emulator by the fault rule `rule`, on a real broker by `reach`."""
        added = self.deployment.fault(rule)
        with reach() if added is None else added:
            yield

    def stopping(self) -> Thread:
        """Start a graceful shutdown of the broker in a thread that the case can observe, and has to join."""
        thread = Thread(target=self.deployment.stop, daemon=True)
        thread.start()
        return thread

    def reconnect(self) -> None:
        """Replace all connections after the broker has started again."""
        for connection in list(self._connections):
            self.disconnect(connection)
        self.namesrv = self.connect(self.deployment.access.namesrv)
        self.broker = self.connect(self.broker_address)
        self.__dict__.pop("second_broker", None)  # recreated on next use

    def pushed(self, connection: RemotingClient) -> list[RemotingCommand]:
        """Return the commands that the broker has pushed on a connection since the last call.

        All of them arrive before the response to the request that this method sends.
        """
        _wait_for_earlier_requests(connection)
        found = list(connection.server_requests)
        connection.server_requests.clear()
        return found

    def request(
        self,
        code: int,
        ext: Mapping[str, object] | None = None,
        body: bytes = b"",
        *,
        to: RemotingClient | None = None,
        timeout: float = ANSWER_SECONDS,
    ) -> DecodedResponse:
        """Send a request and wait for the response."""
        return DecodedResponse.of((to or self.broker).request(code, ext, body, timeout=timeout))

    def runtime_info(self, to: RemotingClient | None = None) -> dict[str, str]:
        """Return the runtime info of a broker; a newly started one has none until it has statistics."""
        response = self.until(lambda: self._runtime_info(to))
        self.require(response is not None, "the broker returned no runtime info")
        return dict(response.json["table"]) if response is not None else {}

    def _runtime_info(self, to: RemotingClient | None) -> DecodedResponse | None:
        response = self.request(RequestCode.GET_BROKER_RUNTIME_INFO, {}, to=to)
        return response if response.code == 0 else None

    def start(
        self,
        code: int,
        ext: Mapping[str, object] | None = None,
        body: bytes = b"",
        *,
        to: RemotingClient | None = None,
    ) -> Pending:
        """Send a request without waiting; returns a callable that waits for the response."""
        connection = to or self.broker
        return Pending(connection, connection.submit(code, ext, body))

    def send_fields(self, topic: str, **more: Unpack[SendFields]) -> dict[str, object]:
        """Return the ext fields of a send by their long names."""
        return send_fields(topic, born_ms=self.now_ms(), new_id=self.message_id, **more)

    def store(self, topic: str, body: str | bytes, **more: Unpack[SendFields]) -> DecodedResponse:
        """Store a message with the remoting protocol, in cases of either protocol; the broker must accept it."""
        response = self.request(*send_v1_request(topic, body, born_ms=self.now_ms(), new_id=self.message_id, **more))
        self.require(response.code == 0, f"a message was not stored: {response}")
        return response

    def max_offset(self, topic: str, queue: int | str = 0) -> int:
        """Return the offset of a queue's next message; 0 if the queue does not exist."""
        return int(self.request(*max_offset_request(topic, queue))["offset"])

    def messages_of(self, topic: str, group: str) -> list[ReceivedMessage]:
        """Return the messages of queue 0 of a topic, at most 32, read with a remoting pull."""
        response = self.request(*pull_request(topic, group))
        return response.messages if response.code == 0 else []

    # --- time

    def now_ms(self) -> int:
        """Read the deployment's clock, in milliseconds since the epoch."""
        return self.deployment.now_ms()

    def wait(self, seconds: float) -> None:
        """Let `seconds` of the deployment's time pass, after it has received the earlier requests."""
        if self.deployment.has_virtual_time:
            self.settle()
        self.deployment.advance_ms(round(seconds * 1000))

    def settle(self) -> None:
        """Wait until the deployment has received everything that was sent so far."""
        for connection in self._connections:
            if connection is not self.namesrv:
                with suppress(ConnectionError):  # one that the broker has closed sends nothing more
                    _wait_for_earlier_requests(connection)

    def until(self, look: Callable[[], T], seconds: float = 30.0, *, step: float = _STEP_MS / 1000) -> T:
        """Call `look` every `step` s until it returns a true value, or for `seconds`; returns its last value."""
        end = self.now_ms() + round(seconds * 1000)
        while not (found := look()) and self.now_ms() < end:
            self.wait(step)
        return found

    def arrival(self, pending: Pending, seconds: float = 25.0, *, step: float = _STEP_MS / 1000) -> DecodedResponse:
        """Wait for the response to a waiting request, checking every `step` s, so that its time can be measured."""
        response = self.until(pending.arrived, seconds, step=step)
        if response is None:
            raise Contradiction("a waiting request got no response")
        return response

    def note_arrival(
        self, pending: Pending, watch: "Stopwatch", low: float, high: float, *, code: int | None = None
    ) -> None:
        """Note the response to a waiting request, and whether it came between `low` and `high` seconds."""
        self.note("response", self.arrival(pending), code)
        self.note("after", watch.between(low, high))

    def stopwatch(self) -> "Stopwatch":
        """Measure the deployment's time from now on."""
        return Stopwatch(self)


class Stopwatch:
    """Time since its creation, for notes that say if it lies between two bounds."""

    def __init__(self, context: CaseContext) -> None:
        self._context = context
        self._begin = context.now_ms()
        self._end: int | None = None

    @property
    def seconds(self) -> float:
        """The measured seconds of the deployment's time."""
        return ((self._context.now_ms() if self._end is None else self._end) - self._begin) / 1000

    def between(self, low: float, high: float) -> str:
        """Return the value for a note: `low to high s` if the time lies between them, else the measured time."""
        return self.within((low, high))

    def stopped_at(self, ms: int | None) -> "Stopwatch":
        """Return a stopwatch stopped at a time of the deployment (ms since the epoch), or running if None."""
        stopped = Stopwatch(self._context)
        stopped._begin, stopped._end = self._begin, ms
        return stopped

    def within(self, *bounds: tuple[float, float]) -> str:
        """Like `between`, for the first matching pair of bounds: versions may have different times."""
        seconds = self.seconds
        found = next((f"{low:g} to {high:g} s" for low, high in bounds if low <= seconds <= high), None)
        return found or f"{seconds:.3f} s"


def _wait_for_earlier_requests(connection: RemotingClient) -> None:
    """Wait until the broker has handled all earlier requests, by sending a read-only request."""
    connection.request(*max_offset_request(AUTO_CREATE_TOPIC), timeout=ANSWER_SECONDS)


def _code(value: Any) -> Any:
    if isinstance(value, DecodedResponse):
        return value.code
    status = getattr(value, "status", value)
    return getattr(status, "code", None)
