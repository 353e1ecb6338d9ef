"""What an RPC is: its messages, what it asks of the engine, which codes it answers.

An RPC that asks one thing declares how its request becomes an operation and how the result becomes its answer; an RPC
that asks several things one after the other brings a function of its own. Everything else follows from the table of
these declarations: the methods of the server, the names in the journal, the generated page.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import Message
from rocketmq_testkit.emulator.gate.gate import Node, Outcome
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations.base import Operation, Result

from ..proto import definition_pb2 as pb
from ..rules.status import Refusal, broker_refused
from ..transport import MethodKind
from .rpc_call import RpcCall

SERVICE = "/apache.rocketmq.v2.MessagingService/"
"""The true path: the messages live in a package of our own, the methods do not."""

Ask = tuple[Node, Operation]


def refuse_in_response(call: RpcCall, refusal: Refusal) -> None:
    """Answer with a response that holds the Status alone."""
    call.reply(call.rpc.response(status=refusal.status()))


@dataclass(frozen=True, slots=True)
class Rpc:
    """One RPC. `start` begins it; `operations` and `codes` are what it may ask and answer (besides OK).

    `anonymous` RPCs are begun for calls without a client id too.
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
    """The `start` of an RPC that asks the engine one thing; `refusal` words what the engine refuses."""

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
    """The result of an operation; a broker's refusal becomes INTERNAL_SERVER_ERROR with its remark."""
    if isinstance(outcome, EngineError):
        raise broker_refused(outcome)
    if not isinstance(outcome, kind):
        raise AssertionError(f"{type(outcome).__name__} is no {kind.__name__}")
    return outcome


NAMES = (pb.CLIENT_ID_REQUIRED, pb.ILLEGAL_TOPIC)
"""What every RPC that names a topic can answer."""
