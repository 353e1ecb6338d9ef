"""One RPC on its way: what the services see of a gRPC call, and how it asks the engine.

Nothing here knows HTTP/2: a call is its facts (who, with which metadata, for how long) and the means to answer it.
"""

import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from google.protobuf.message import Message
from rocketmq_testkit.emulator.gate.gate import Channel, Node, Outcome
from rocketmq_testkit.emulator.gate.raw_request import Rejection
from rocketmq_testkit.emulator.kernel import bug_reports as bugs
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations.base import Operation

from ..proto import definition_pb2 as pb
from ..rules.status import Refusal, rejection
from .raw_requests import raw_request

if TYPE_CHECKING:
    from .proxy import Proxy
    from .rpc_table import Rpc
    from .sessions import Session

Then = Callable[[Outcome], None]

NODE = "proxy"
"""The node of journal lines about requests that the proxy answers by itself."""


class ServerCall(Protocol):
    """The transport's call, as far as services use it."""

    on_message: Callable[[Any], None] | None
    on_half_close: Callable[[], None] | None

    @property
    def path(self) -> str:
        """`/package.Service/Method`."""

    @property
    def metadata(self) -> dict[str, str]:
        """Headers by lower-case name."""

    @property
    def peer(self) -> tuple[str, int]:
        """The client's address and port."""

    @property
    def local(self) -> tuple[str, int]:
        """The address and port at which the client reached the server."""

    @property
    def authority(self) -> str:
        """What the client dialled, `host:port`."""

    @property
    def secure(self) -> bool:
        """Whether TLS protects the call."""

    @property
    def deadline_ms(self) -> int | None:
        """The time-out that the client asked for, from the arrival of the request; None = it waits for ever."""

    @property
    def cancelled(self) -> bool:
        """Nobody waits for the answer any more."""

    @property
    def finished(self) -> bool:
        """The answer is complete."""

    def send(self, message: bytes) -> None:
        """Send one message of a stream."""

    def reply(self, message: bytes) -> None:
        """Send the one message of an answer and end the call."""

    def finish(self, status: int = 0, message: str = "") -> None:
        """End the call with a gRPC status and its text."""

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Have `callback` called when the client gives up before the answer is complete."""


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
        """True if the journal already holds the refusal as the outcome of an operation."""
        self.on_reply: Callable[[], None] | None = None
        """Who keeps something for the call until it is answered."""

    def ask(self, node: Node, operation: Operation, then: Then) -> None:
        """Hand an operation to the engine; `then` gets the outcome, at once or later."""
        self.proxy.engine.gate.submit(node, EngineCall(self, then), operation)

    def reply(self, response: Message) -> None:
        """Answer and end the call."""
        self.server_call.reply(response.SerializeToString())
        if self.on_reply is not None:
            self.on_reply()

    def refuse(self, refusal: Refusal) -> None:
        """Answer with a Status."""
        # A receive that found nothing was no refusal: the journal holds the outcomes of its pops.
        if not self.engine_refused and refusal.code != pb.MESSAGE_NOT_FOUND:
            self.journal_refusal(rejection(refusal), self.message)
        self.rpc.refuse(self, refusal)

    def journal_refusal(self, outcome: Rejection, message: Message | None) -> None:
        """Journal that a request was refused before it became an operation."""
        request = raw_request(self.server_call.metadata, message)
        self.proxy.engine.gate.refused(NODE, self.channel.channel_id, self.rpc.name, request, outcome=outcome)

    def journal_success(self) -> None:
        """Journal a request that was answered without an operation."""
        request = raw_request(self.server_call.metadata, self.message)
        self.proxy.engine.gate.served(NODE, self.channel.channel_id, self.rpc.name, request)

    def guard(self, function: Callable[..., None], *arguments: object) -> None:
        """Call a service; a Refusal becomes the answer, and so does our bug, which is logged and ends nothing else."""
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
    """One operation of an RPC, as the gate sees it."""

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
        """Go on with the service."""
        call = self._rpc_call
        call.engine_refused = isinstance(outcome, EngineError)
        call.guard(self._then, outcome)


class SilentCall:
    """An operation that nobody waits for: the proxy's own housekeeping for a client."""

    __slots__ = ("channel", "label")
    active = True

    def __init__(self, channel: Channel, label: str) -> None:
        self.channel = channel
        self.label = label

    def reply(self, outcome: Outcome) -> None:
        """Pass over the outcome, as upstream does."""
