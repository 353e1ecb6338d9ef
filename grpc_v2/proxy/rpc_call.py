"""One RPC in flight: the gRPC call as services see it, and its operations on the engine.

It must not know HTTP/2: it uses a call's metadata, peer and deadline, and its methods to respond.
"""

import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from google.protobuf.message import Message
from rocketmq_testkit.emulator.gate.gate import Channel, Node, Outcome
from rocketmq_testkit.emulator.gate.raw_request import Rejection
from rocketmq_testkit.emulator.kernel import bug_reports as bugs
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations import Operation

from ..proto import definition_pb2 as pb
from ..rules.status import Refusal, rejection
from .raw_requests import raw_request

if TYPE_CHECKING:
    from .proxy import Proxy
    from .rpc_table import Rpc
    from .sessions import Session

Then = Callable[[Outcome], None]

NODE = "proxy"
"""The node in journal lines of requests that the proxy handles on its own."""


class ServerCall(Protocol):
    """The transport's call, as far as services use it."""

    on_message: Callable[[Any], None] | None
    on_half_close: Callable[[], None] | None

    @property
    def path(self) -> str:
        """`/package.Service/Method`."""

    @property
    def metadata(self) -> dict[str, str]:
        """Request headers by lower-case name."""

    @property
    def peer(self) -> tuple[str, int]:
        """The client's (address, port)."""

    @property
    def local(self) -> tuple[str, int]:
        """The (address, port) at which the client reached the server."""

    @property
    def authority(self) -> str:
        """The `host:port` that the client dialed."""

    @property
    def secure(self) -> bool:
        """True if the call uses TLS."""

    @property
    def deadline_ms(self) -> int | None:
        """The client's timeout, in ms from the arrival of the request. None means no timeout."""

    @property
    def cancelled(self) -> bool:
        """True if the client no longer waits for the response."""

    @property
    def finished(self) -> bool:
        """True if the response is complete."""

    def send(self, message: bytes) -> None:
        """Send one message of a stream."""

    def reply(self, message: bytes) -> None:
        """Send the only message of a response and end the call."""

    def finish(self, status: int = 0, message: str = "") -> None:
        """End the call with a gRPC status and its text."""

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Call `callback` if the client cancels before the response is complete."""


class RpcCall:
    """A call of one RPC by one client."""

    __slots__ = (
        "channel",
        "client_id",
        "engine_refused",
        "message",
        "on_reply",
        "proxy",
        "rpc",
        "server_call",
        "session",
    )

    def __init__(
        self,
        proxy: "Proxy",
        rpc: "Rpc",
        server_call: ServerCall,
        client_id: str,
        session: "Session | None",
        channel: Channel,
        message: Message | None,
    ) -> None:
        self.proxy = proxy
        self.rpc = rpc
        self.server_call = server_call
        self.client_id = client_id
        self.session = session
        self.channel = channel
        self.message = message
        """The request; None for a stream of requests."""
        self.engine_refused = False
        """True if the journal already has the refusal as the outcome of an operation."""
        self.on_reply: Callable[[], None] | None = None
        """Called after the response, to release what is held for the call."""

    def ask(self, node: Node, operation: Operation, then: Then) -> None:
        """Submit an operation to the engine. `then` gets the outcome, at once or later."""
        self.proxy.engine.gate.submit(node, EngineCall(self, then), operation)

    def reply(self, response: Message) -> None:
        """Send the response and end the call."""
        self.server_call.reply(response.SerializeToString())
        if self.on_reply is not None:
            self.on_reply()

    def refuse(self, refusal: Refusal) -> None:
        """Send a Status as the response."""
        # A receive without messages is no refusal: the journal has the outcomes of its pops.
        if not self.engine_refused and refusal.code != pb.MESSAGE_NOT_FOUND:
            self.journal_refusal(rejection(refusal), self.message)
        self.rpc.refuse(self, refusal)

    def journal_refusal(self, outcome: Rejection, message: Message | None) -> None:
        """Journal a request that was refused before it became an operation."""
        request = raw_request(self.server_call.metadata, message)
        self.proxy.engine.gate.refused(NODE, self.channel.channel_id, self.rpc.name, request, outcome)

    def journal_success(self) -> None:
        """Journal a request that succeeded without an operation."""
        request = raw_request(self.server_call.metadata, self.message)
        self.proxy.engine.gate.served(NODE, self.channel.channel_id, self.rpc.name, request)

    def guard(self, function: Callable[..., None], *arguments: object) -> None:
        """Call a service function. A Refusal becomes the response.

        An unexpected exception is logged and becomes a response as well. Other calls are not affected.
        """
        try:
            function(*arguments)
        except Refusal as refusal:
            self.refuse(refusal)
        except Exception as bug:
            name = self.rpc.name
            report = f"{name} of client {self.client_id} failed\n{traceback.format_exc()}"
            self.proxy.log(report)
            bugs.note(report)
            if not self.server_call.finished:
                self.refuse(Refusal(pb.INTERNAL_SERVER_ERROR, f"the emulator failed: {type(bug).__name__}: {bug}"))


class EngineCall:
    """One operation of an RPC, as a Call of the gate."""

    __slots__ = ("_rpc_call", "_then")
    active = True

    def __init__(self, rpc_call: RpcCall, then: Then) -> None:
        self._rpc_call = rpc_call
        self._then = then

    @property
    def channel(self) -> Channel:
        """The client's channel."""
        return self._rpc_call.channel

    @property
    def label(self) -> str:
        """The RPC's name."""
        return self._rpc_call.rpc.name

    def reply(self, outcome: Outcome) -> None:
        """Continue the service function with the outcome."""
        call = self._rpc_call
        call.engine_refused = isinstance(outcome, EngineError)
        call.guard(self._then, outcome)


class SilentCall:
    """An operation of the proxy for a client, whose outcome is ignored."""

    __slots__ = ("channel", "label")
    active = True

    def __init__(self, channel: Channel, label: str) -> None:
        self.channel = channel
        self.label = label

    def reply(self, outcome: Outcome) -> None:
        """Ignore the outcome, as upstream does."""
