"""The class with which RPCs are declared: their messages, their operations on the engine, their response codes.

The RPCs are declared in the files of `grpc_v2/services/`. Their table is `RPCS` in `grpc_v2/services/__init__.py`.

An RPC with one operation declares how its request becomes the operation and how the result becomes its response. An RPC
with several operations in sequence has a function of its own. The server's methods, required rights, thread pools, the
names in the journal and the generated page all follow from the table of these declarations. An RPC without `rights=`
fails at import, so that none is left unprotected by mistake.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from types import MethodType
from typing import Any

from google.protobuf.message import Message
from rocketmq_testkit.emulator.gate.call import Node, Outcome
from rocketmq_testkit.emulator.gate.gate import Gate
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations.base import Operation, Result

from ..config.pools import ProxyPool
from ..proto import definition_pb2 as pb
from ..rules.status import Refusal, from_broker_error
from ..transport import MethodKind
from .required_rights import Rights
from .rpc_call import RpcCall, ServedRpc

SERVICE = "/apache.rocketmq.v2.MessagingService/"
"""The path prefix on the wire. It is upstream's, although the messages here are in another protobuf package."""

NodeOperation = tuple[Node, Operation]


def refuse_in_response(_service: object, call: RpcCall, refusal: Refusal) -> None:
    """Send a response that holds only the Status."""
    call.reply(call.rpc.response(status=refusal.status()))


@dataclass(frozen=True, slots=True)
class Rpc:
    """One RPC.

    `start` starts a call, `send_refusal` ends it with a Status. The first argument of both is the RPC's service.
    `operations` and `codes` are the possible operations and response codes (besides OK). `anonymous` RPCs accept calls
    without a client id. `rights` is a rule of `required_rights`. `pool` is the thread pool, None if upstream starts the
    RPC outside any pool. An RPC that `blocks_thread` occupies a thread of its pool until its response.
    """

    name: str
    request: type[Message]
    response: Callable[..., Message]
    start: Callable[[Any, RpcCall, Any], None]
    _: KW_ONLY
    operations: tuple[type[Operation], ...]
    codes: tuple[int, ...]
    kind: MethodKind = MethodKind.UNARY
    send_refusal: Callable[[Any, RpcCall, Refusal], None] = field(default=refuse_in_response)
    anonymous: bool = False
    rights: Rights
    pool: ProxyPool | None = None
    blocks_thread: bool = False

    @property
    def path(self) -> str:
        """The method's path on the wire."""
        return SERVICE + self.name

    @property
    def summary(self) -> str:
        """The first line of the docstring of `start`."""
        return (self.start.__doc__ or "").strip().partition("\n")[0]

    def served_by(self, service: object, gate: Gate, node: Node, log: Callable[[str], None]) -> ServedRpc:
        """Bind the declaration to its service, for calls of a running proxy, which is `node`."""
        return ServedRpc(
            name=self.name,
            path=self.path,
            response=self.response,
            anonymous=self.anonymous,
            rights=self.rights,
            pool=self.pool,
            blocks_thread=self.blocks_thread,
            start=MethodType(self.start, service),
            send_refusal=MethodType(self.send_refusal, service),
            obey_rules=_obey_rules,
            gate=gate,
            node=node,
            log=log,
        )


def _obey_rules(call: RpcCall, carry_out: Callable[[RpcCall], None]) -> None:
    from .proxy_only_call import obey_rules  # only while there are rules

    obey_rules(call, carry_out)


def one_operation(
    to_operation: Callable[[Any, RpcCall, Any], NodeOperation],
    from_result: Callable[[Any, RpcCall, Any, Any], Message],
    refusal: Callable[[Any, EngineError], Refusal] = lambda _request, error: from_broker_error(error),
) -> Callable[[Any, RpcCall, Any], None]:
    """Return the `start` function of an RPC with one operation.

    `to_operation` gets the service, the call and the request; `from_result` also gets the result. `refusal` converts an
    error of the engine.
    """

    def start(service: Any, call: RpcCall, request: Any) -> None:
        node, operation = to_operation(service, call, request)

        def respond(outcome: Outcome) -> None:
            if isinstance(outcome, EngineError):
                raise refusal(request, outcome)
            call.reply(from_result(service, call, request, outcome))

        call.submit(node, operation, respond)

    start.__doc__ = to_operation.__doc__
    return start


def expect(outcome: Outcome, kind: type[Result]) -> Any:
    """Return the result of an operation. Raises INTERNAL_SERVER_ERROR with the remark of a broker's error."""
    if isinstance(outcome, kind):
        return outcome
    if isinstance(outcome, EngineError):
        raise from_broker_error(outcome)
    raise AssertionError(f"{type(outcome).__name__} is no {kind.__name__}")


CODES_OF_TOPIC_RPCS = (pb.CLIENT_ID_REQUIRED, pb.ILLEGAL_TOPIC)
"""Codes that every RPC with a topic name can return."""
