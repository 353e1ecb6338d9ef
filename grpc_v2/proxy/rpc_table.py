"""The declaration of an RPC: its messages, its operations on the engine, its response codes.

An RPC with one operation declares how its request becomes the operation and how the result becomes its response. An RPC
with several operations in sequence has a function of its own. The server's methods, the names in the journal and the
generated page all follow from the table of these declarations.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import Message
from rocketmq_testkit.emulator.gate.gate import Node, Outcome
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations import Operation, Result

from ..proto import definition_pb2 as pb
from ..rules.status import Refusal, broker_refused
from ..transport import MethodKind
from .rpc_call import RpcCall

SERVICE = "/apache.rocketmq.v2.MessagingService/"
"""The path prefix on the wire. It is upstream's, although the messages here are in another protobuf package."""

Ask = tuple[Node, Operation]


def refuse_in_response(call: RpcCall, refusal: Refusal) -> None:
    """Send a response that holds only the Status."""
    call.reply(call.rpc.response(status=refusal.status()))


@dataclass(frozen=True, slots=True)
class Rpc:
    """One RPC.

    `start` starts a call. `operations` and `codes` are the possible operations and response codes (besides OK).
    `anonymous` RPCs accept calls without a client id.
    """

    name: str
    request: type[Message]
    response: Callable[..., Message]
    start: Callable[[RpcCall, Any], None]
    operations: tuple[type[Operation], ...]
    codes: tuple[int, ...]
    kind: MethodKind = MethodKind.UNARY
    refuse: Callable[[RpcCall, Refusal], None] = field(default=refuse_in_response)
    anonymous: bool = False

    @property
    def path(self) -> str:
        """The method's path on the wire."""
        return SERVICE + self.name

    @property
    def about(self) -> str:
        """The first line of the docstring of `start`."""
        return (self.start.__doc__ or "").strip().partition("\n")[0]


def one_operation(
    to_operation: Callable[[RpcCall, Any], Ask],
    from_result: Callable[[RpcCall, Any, Any], Message],
    refusal: Callable[[Any, EngineError], Refusal] = lambda _request, error: broker_refused(error),
) -> Callable[[RpcCall, Any], None]:
    """Return the `start` function of an RPC with one operation. `refusal` converts an error of the engine."""

    def start(call: RpcCall, request: Any) -> None:
        node, operation = to_operation(call, request)

        def answer(outcome: Outcome) -> None:
            if isinstance(outcome, EngineError):
                raise refusal(request, outcome)
            call.reply(from_result(call, request, outcome))

        call.ask(node, operation, answer)

    start.__doc__ = to_operation.__doc__
    return start


def expect(outcome: Outcome, kind: type[Result]) -> Any:
    """Return the result of an operation. Raises INTERNAL_SERVER_ERROR with the remark of a broker's error."""
    if isinstance(outcome, EngineError):
        raise broker_refused(outcome)
    if not isinstance(outcome, kind):
        raise AssertionError(f"{type(outcome).__name__} is no {kind.__name__}")
    return outcome


NAMES = (pb.CLIENT_ID_REQUIRED, pb.ILLEGAL_TOPIC)
"""Codes that every RPC with a topic name can return."""
