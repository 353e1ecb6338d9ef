"""A request of a client while the gate carries it out.

A call knows the client's channel and how to encode the outcome. It must not know what the operation means.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from rocketmq_testkit.emulator.client.client_versions import release_of
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.faults.client_call import Line, ResponseHandler
from rocketmq_testkit.emulator.gate.call import Outcome
from rocketmq_testkit.emulator.kernel.errors import EngineError, RejectedBeforeProcessing
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler
from rocketmq_testkit.emulator.operations.base import NO_RESPONSE, Operation
from rocketmq_testkit.emulator.operations.consume import Notification, PopMessage, PullMessage
from rocketmq_testkit.emulator.stats.response_counts import Kind
from rocketmq_testkit.emulator.stats.tally import Tally

from ..wire.ext_fields import Header
from ..wire.response_frame import encode_response
from .call_channel import CallChannel

LONG_POLLS = (PullMessage, PopMessage, Notification)
"""Requests that wait for messages (PullRequestHoldService, PopLongPollingService)."""
SUSPENDED: Final = "suspended"
"""The `kind` of a call that waited for messages. The `kind` of any other call is True if it is oneway, else False."""
Responses = Tally[tuple[str, int, int, Kind]]
"""(name of the request code, response code, latency in ms, kind) -> number of responses."""

BrokerAddress = Callable[[str, int, CallChannel], str]
"""(broker name, broker id, requesting channel) -> the `host:port` under which that client reaches that broker."""


class Dispatcher(Protocol):
    """The dispatcher of the listening port that received a request."""

    @property
    def broker_config(self) -> BrokerConfig:
        """The configuration of the port's broker; defaults if it serves a name server only."""

    @property
    def clock(self) -> Scheduler:
        """The emulator's time."""

    @property
    def responses(self) -> Responses:
        """The responses of the port's broker in its present run; those of a mere name server are not exported."""

    @property
    def broker_address(self) -> BrokerAddress:
        """Looks up addresses of brokers for a client."""

    def engine_time_ms(self, client_ms: int, /) -> int:
        """Convert a client's timestamp close to now (ms since the epoch) to the engine's time."""

    def report_bug(self, bug: BaseException, /) -> None:
        """Log an error of the protocol layer."""


class ResponseEncoder(Protocol):
    """Encodes the outcomes of one request code."""

    @property
    def code(self) -> int:
        """The request code."""

    @property
    def label(self) -> str:
        """The request's name in journals."""

    @property
    def encode_response(self) -> "Callable[[RemotingCall, Any], bytes]":
        """Encodes the response frame of a result."""

    @property
    def encode_error(self) -> "Callable[[RemotingCall, EngineError], bytes]":
        """Encodes the response frame of an error."""


class RemotingCall:
    """A request of a client; implements Call of the gate, and ClientCall of the faults.

    `number` is the opaque of the request. `version` and `language` are the client's. `header` is the parsed custom
    header. `kind`: True for a oneway request, SUSPENDED for one that waited for messages.
    """

    __slots__ = (
        *("arrived_ms", "channel", "dispatcher", "header", "kind", "label", "language", "number", "oneway"),
        *("processor", "version"),
    )

    def __init__(  # noqa: PLR0917  # made for each request: keywords would cost it time
        self,
        dispatcher: Dispatcher,
        channel: CallChannel,
        processor: ResponseEncoder,
        number: int,
        oneway: bool,
        version: int,
        language: str,
        header: Header,
    ) -> None:
        self.dispatcher = dispatcher
        self.channel = channel
        self.processor = processor
        self.label = processor.label
        self.number = number
        self.oneway = oneway
        self.version = version
        self.language = language
        self.header = header
        self.arrived_ms = dispatcher.clock.now_ms
        self.kind: Kind = oneway

    @property
    def active(self) -> bool:
        """False once the connection is closed."""
        return self.channel.active

    def note_parked(self, operation: Operation) -> None:
        """Record that the request waits at the broker; upstream's metrics call such a pull or pop suspended."""
        if isinstance(operation, LONG_POLLS):
            self.kind = SUSPENDED

    def reply(self, outcome: Outcome) -> None:
        """Send the outcome, unless the request is oneway or gets no response."""
        channel = self.channel
        if outcome is NO_RESPONSE:
            return
        dispatcher = self.dispatcher
        dispatcher.responses[
            self.label,
            getattr(outcome, "code", 0),
            dispatcher.clock.now_ms - self.arrived_ms,
            self.kind,
        ] += 1
        if self.oneway or not channel.active:
            return
        try:
            if isinstance(outcome, EngineError):
                frame = self._error(outcome)
            else:
                frame = self.processor.encode_response(self, outcome)
        except Exception as bug:
            self.dispatcher.report_bug(bug)
            frame = encode_response(self.number, ResponseCode.SYSTEM_ERROR, f"{type(bug).__name__}: {bug}")
        channel.send(frame)

    def _error(self, error: EngineError) -> bytes:
        if isinstance(error, RejectedBeforeProcessing):
            return self.response(error.remark, code=error.code)
        return self.processor.encode_error(self, error)

    def response(
        self, remark: str | None = None, ext: Mapping[str, str] | None = None, body: bytes = b"", code: int = 0
    ) -> bytes:
        """Encode a response to this request."""
        return encode_response(self.number, code, remark, ext, body)

    # for rules of faults

    protocol = "remoting"
    client_id = None

    @property
    def client_language(self) -> str:
        """The language of the client's SDK."""
        return self.language

    @property
    def client_version(self) -> str:
        """The version of the client's SDK, such as `5.3.3`."""
        return release_of(self.version)

    @property
    def responding_rules(self) -> set[str]:
        """No names: a remoting request is one operation, so no rule has acted on its response before."""
        return set()

    def ends_with(self, outcome: Outcome) -> bool:
        """True if the client gets a response with this outcome. False for oneway requests and for NO_RESPONSE."""
        return not self.oneway and outcome is not NO_RESPONSE

    @property
    def line(self) -> Line:
        """The client's connection."""
        return self.channel

    def intercept(self, handler: ResponseHandler) -> None:
        """Pass the response of this request to the handler instead of sending it."""
        from .intercepted_channel import InterceptedChannel

        self.channel = InterceptedChannel(self.channel, self.number, handler)

    def refuse(self, code: int, remark: str) -> None:
        """Respond with a code."""
        if not self.oneway and self.channel.active:
            latency_ms = self.dispatcher.clock.now_ms - self.arrived_ms
            self.dispatcher.responses[self.label, code, latency_ms, self.kind] += 1
            self.channel.send(self.response(remark, code=code))

    def fail(self, status: int, text: str) -> None:
        """Raise TypeError: this protocol has no statuses besides its response codes."""
        raise TypeError(f"status {status}: a remoting call has no status of gRPC")

    def abandon(self) -> None:
        """Do nothing: the server holds nothing for the request."""

    def broker_address(self, broker_name: str, broker_id: int) -> str:
        """Return the `host:port` at which this client reaches a broker."""
        return self.dispatcher.broker_address(broker_name, broker_id, self.channel)


class EventCall:
    """The Call of an event that the engine handles like a request: a closed connection, a response of a client.

    Its outcome is not sent.
    """

    __slots__ = ("channel", "label")

    active = False
    number = None

    def __init__(self, channel: CallChannel, label: str) -> None:
        self.channel = channel
        self.label = label

    def reply(self, outcome: Outcome) -> None:
        """Do nothing: no client waits for the outcome."""
