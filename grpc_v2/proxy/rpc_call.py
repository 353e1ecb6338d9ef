"""One RPC in flight: the gRPC call as services see it, and its operations on the engine.

It must not know HTTP/2: it uses a call's metadata, peer and deadline, and its methods to respond.
"""

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message
from rocketmq_testkit.emulator.faults.client_call import ResponseHandler
from rocketmq_testkit.emulator.gate.call import Channel, Node, Outcome
from rocketmq_testkit.emulator.gate.gate import Gate
from rocketmq_testkit.emulator.gate.raw_request import Rejection
from rocketmq_testkit.emulator.kernel import bug_reports as bugs
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.scheduler import Lifetime
from rocketmq_testkit.emulator.operations.base import Operation

from ..config.pools import ProxyPool
from ..proto import definition_pb2 as pb
from ..rules.status import Refusal, rejection
from ..transport.grpc.call import ConnectionControl
from .raw_requests import raw_request
from .required_rights import Rights
from .sessions import Session
from .transport_call import TransportCall

OnOutcome = Callable[[Outcome], None]

NODE = "proxy"
"""The node in journal lines of requests that the proxy handles on its own."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ServedRpc:
    """An RPC of a running proxy: its declaration, bound to the service that serves it.

    Its operations go through `gate`. `node` is the proxy, for rules of faults. `log` takes one line, or a line followed
    by a traceback.
    """

    name: str
    path: str
    response: Callable[..., Message]
    anonymous: bool
    rights: Rights
    pool: ProxyPool | None
    blocks_thread: bool
    start: Callable[["RpcCall", Any], None]
    send_refusal: Callable[["RpcCall", Refusal], None]
    obey_rules: Callable[["RpcCall", Callable[["RpcCall"], None]], None]
    """Carries out a request that becomes no operation, as the rules of faults demand."""
    gate: Gate
    node: Node
    log: Callable[[str], None]


class RpcCall:
    """A call of one RPC by one client."""

    __slots__ = (
        "_on_reply",
        "_run",
        "channel",
        "client_id",
        "message",
        "refusal_is_journaled",
        "responding_rules",
        "rpc",
        "server_call",
        "session",
    )

    def __init__(  # noqa: PLR0917  # made for each request: keywords would cost it time
        self,
        rpc: ServedRpc,
        server_call: TransportCall,
        client_id: str,
        session: Session | None,
        channel: Channel,
        message: Message | None,
    ) -> None:
        self.rpc = rpc
        self.server_call = server_call
        self.client_id = client_id
        self.session = session
        self.channel = channel
        self.message = message
        """The request; None for a stream of requests."""
        self.refusal_is_journaled = False
        """True if the journal already has the refusal as the outcome of an operation."""
        self._on_reply: Callable[[], None] | None = None
        self._run: Lifetime | None = None
        """The run of the node that `wait_for` has noted, None before."""
        self.responding_rules: set[str] | None = None
        """Names of the rules of faults that act on the response; None for none."""

    def submit(self, node: Node, operation: Operation, on_outcome: OnOutcome) -> None:
        """Submit an operation to the engine. `on_outcome` gets the outcome, at once or later."""
        if self._on_reply is not None:  # else nothing has to be released if the call is lost
            self.wait_for(node)
        self.rpc.gate.submit(node, EngineCall(self, on_outcome), operation)

    def reply(self, response: Message) -> None:
        """Send the response and end the call."""
        self.server_call.reply(response.SerializeToString())
        if self._on_reply is not None:  # None if a rule has replaced the response, which ended the call
            self.release()

    def release_after_reply(self, on_reply: Callable[[], None]) -> None:
        """Call a function after the response, or when the call is abandoned, to release what is held for the call."""
        self._on_reply = on_reply

    def release(self) -> None:
        """Release what is held for the call, such as its thread, without a response."""
        on_reply, self._on_reply = self._on_reply, None
        if on_reply is not None:
            on_reply()

    @property
    def is_lost(self) -> bool:
        """True if the run of the node that the call waits for has ended."""
        return self._run is not None and self._run.ended

    def wait_for(self, node: Node) -> None:
        """Note the node that carries the request out. The call is lost if the run of the node ends before the reply."""
        self._run = getattr(node, "lifetime", None)

    def replace_server_call(self, server_call: TransportCall) -> None:
        """Send the response to another call of the transport."""
        self.server_call = server_call

    def start(self, request: object) -> None:
        """Start the service function. Rules of faults may act on a Refusal that it raises before any operation."""
        try:
            self.rpc.start(self, request)
        except Refusal as refusal:
            self.reject(refusal)
        except Exception as bug:
            self._fail(bug)

    def reject(self, refusal: Refusal) -> None:
        """Refuse a request that became no operation, as the rules of faults demand."""
        if self.rpc.gate.rules is None:
            self.refuse(refusal)
        else:
            self.rpc.obey_rules(self, lambda call: call.refuse(refusal))

    def refuse(self, refusal: Refusal) -> None:
        """Send a Status as the response."""
        # A receive without messages is no refusal: the journal has the outcomes of its pops.
        if not self.refusal_is_journaled and refusal.code != pb.MESSAGE_NOT_FOUND:
            self.journal_refusal(rejection(refusal), self.message)
        self.rpc.send_refusal(self, refusal)

    def journal_refusal(self, outcome: Rejection, message: Message | None) -> None:
        """Journal a request that was refused before it became an operation."""
        request = raw_request(self.server_call.metadata, message)
        number = self.server_call.number
        self.rpc.gate.record_refusal(
            NODE, self.channel.channel_id, self.rpc.name, request, outcome=outcome, number=number
        )

    def journal_success(self) -> None:
        """Journal a request that a service completed successfully without an operation."""
        request = raw_request(self.server_call.metadata, self.message)
        number = self.server_call.number
        self.rpc.gate.record_success(NODE, self.channel.channel_id, self.rpc.name, request, number=number)

    def run_guarded(self, function: Callable[..., None], *arguments: object) -> None:
        """Call a service function. A Refusal becomes the response.

        An unexpected exception is logged and becomes a response as well. Other calls are not affected.
        """
        try:
            function(*arguments)
        except Refusal as refusal:
            self.refuse(refusal)
        except Exception as bug:
            self._fail(bug)

    def _fail(self, bug: Exception) -> None:
        """Report an exception that is being handled, and respond with it."""
        name = self.rpc.name
        report = f"{name} of client {self.client_id} failed\n{traceback.format_exc()}"
        self.rpc.log(report)
        bugs.note(report)
        if not self.server_call.finished:
            self.refuse(Refusal(pb.INTERNAL_SERVER_ERROR, f"the emulator failed: {type(bug).__name__}: {bug}"))


class RuledCall:
    """The part of `Call` (of the gate) and `ClientCall` (`emulator/faults`) that all operations of RPCs share."""

    __slots__ = ("_rpc_call",)
    protocol = "grpc"
    active = True
    _rpc_call: RpcCall

    @property
    def number(self) -> int:
        """The id of the call's stream."""
        return self._rpc_call.server_call.number

    @property
    def channel(self) -> Channel:
        """The client's channel."""
        return self._rpc_call.channel

    @property
    def label(self) -> str:
        """The RPC's name."""
        return self._rpc_call.rpc.name

    @property
    def client_id(self) -> str | None:
        """The client id of the call."""
        return self._rpc_call.client_id or None

    @property
    def client_language(self) -> str:
        """The language of the client's SDK, such as `JAVA`."""
        return self._rpc_call.server_call.metadata.get("x-mq-language", "")

    @property
    def client_version(self) -> str:
        """The version of the client's SDK, such as `5.0.7`."""
        return self._rpc_call.server_call.metadata.get("x-mq-client-version", "")

    @property
    def line(self) -> ConnectionControl:
        """The client's connection."""
        return self._rpc_call.server_call.control

    @property
    def responding_rules(self) -> set[str]:
        """Names of the rules that act on the response of the RPC already."""
        call = self._rpc_call
        if call.responding_rules is None:
            call.responding_rules = set()
        return call.responding_rules

    def intercept(self, handler: ResponseHandler) -> None:
        """Pass the response of the RPC to the handler instead of sending it."""
        from .intercepted_rpc import intercept

        intercept(self._rpc_call, handler)

    def refuse(self, code: int, remark: str) -> None:
        """Respond with a Code. An RPC that is complete, such as a canceled one, only releases what is held for it."""
        if self._rpc_call.server_call.finished:
            self.abandon()
        else:
            self._rpc_call.run_guarded(_raise, Refusal(code, remark))

    def fail(self, status: int, text: str) -> None:
        """End the call with a status of gRPC, unless it has its response already."""
        if not self._rpc_call.server_call.finished:
            self._rpc_call.server_call.finish(status, text)
        self.abandon()

    def abandon(self) -> None:
        """Release what is held for the RPC, such as its thread, without a response."""
        self._rpc_call.release()


class EngineCall(RuledCall):
    """One operation of an RPC."""

    __slots__ = ("_on_outcome",)

    def __init__(self, rpc_call: RpcCall, on_outcome: OnOutcome) -> None:
        self._rpc_call = rpc_call
        self._on_outcome = on_outcome

    def reply(self, outcome: Outcome) -> None:
        """Continue the service function with the outcome."""
        call = self._rpc_call
        call.refusal_is_journaled = isinstance(outcome, EngineError)
        call.run_guarded(self._on_outcome, outcome)

    def ends_with(self, outcome: Outcome) -> bool:
        """True: the RPC waits for the outcome."""
        return True


def _raise(refusal: Refusal) -> None:
    raise refusal
