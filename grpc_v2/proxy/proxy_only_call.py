"""Requests that the proxy refuses, or carries out for all brokers, under rules of faults.

It is imported with the first such request while there are rules.
"""

from collections.abc import Callable, Iterator, Mapping

from google.protobuf.message import Message
from rocketmq_testkit.emulator.faults.client_call import Response
from rocketmq_testkit.emulator.faults.subject_names import groups_of
from rocketmq_testkit.emulator.gate.call import Call, Outcome
from rocketmq_testkit.emulator.gate.proxy_only_request import ProxyOnlyRequest
from rocketmq_testkit.emulator.message import properties
from rocketmq_testkit.emulator.operations.base import Done, Operation

from ..proto import definition_pb2 as pb
from ..rules.status import Refusal, rejection
from .intercepted_rpc import intercept
from .raw_requests import raw_request
from .rpc_call import RpcCall, RuledCall


class ProxyOnlyCall(RuledCall):
    """A request that the proxy refuses or carries out itself, for the rules. `responds`: False without a response."""

    __slots__ = ("_responds",)

    def __init__(self, rpc_call: RpcCall, *, responds: bool) -> None:
        self._rpc_call = rpc_call
        self._responds = responds

    def reply(self, outcome: Outcome) -> None:
        """Do nothing: the service sends the response itself."""

    def ends_with(self, outcome: Outcome) -> bool:
        """True if the client gets a response."""
        return self._responds

    def fail(self, status: int, text: str) -> None:
        """End the call, or the stream of a command, with a status of gRPC."""
        super().fail(status, text)
        if isinstance(self._rpc_call, CommandCall):
            self._rpc_call.detach()


class CommandCall(RpcCall):
    """One command on a telemetry stream, as a call of its own. `detach` releases the stream after its end."""

    __slots__ = ("command", "detach")

    def __init__(self, stream: RpcCall, command: Message, detach: Callable[[], None]) -> None:
        super().__init__(stream.rpc, stream.server_call, stream.client_id, stream.session, stream.channel, None)
        self.command = command
        self.detach = detach

    def refuse(self, refusal: Refusal) -> None:
        """Send a Status in a command, and end the stream."""
        self.journal_refusal(rejection(refusal), self.command)
        self.server_call.reply(self.rpc.response(status=refusal.status()).SerializeToString())
        self.detach()


def obey_rules(
    call: RpcCall,
    carry_out: Callable[[RpcCall], None],
    *,
    operation: Operation | None = None,
    names: tuple[str, ...] = (),
    responds: bool = True,
) -> None:
    """Carry a request out as the rules of faults demand: `carry_out` gets the call, or one whose response is ignored.

    `operation` is the operation that the proxy submits to each broker, None if there is none. `names` are the names of
    operations by which rules select the request.
    `responds`: False if the client gets no response.
    """
    own = ProxyOnlyCall(call, responds=responds)
    request = _request(call, operation, names)
    gate, node = call.rpc.gate, call.rpc.node
    call.wait_for(node)

    def respond(response: Response) -> None:
        gate.transform(node, own, request, Done())
        response.send()

    def run(each: Call, _request: ProxyOnlyRequest) -> None:
        if each is not own:
            ignored = RpcCall(call.rpc, call.server_call, call.client_id, call.session, call.channel, call.message)
            intercept(ignored, _ignore)
            ignored.run_guarded(carry_out, ignored)
            return
        if responds:
            intercept(call, respond)
        call.run_guarded(carry_out, call)

    gate.serve(node, own, request, run)


def _ignore(_response: Response) -> None:
    """Drop the response to a copy of a request."""


def _request(call: RpcCall, operation: Operation | None, names: tuple[str, ...]) -> ProxyOnlyRequest:
    message = call.command if isinstance(call, CommandCall) else call.message
    topics: dict[str, None] = {}
    groups: dict[str, None] = {}
    settings = None if call.session is None or operation is None else call.session.settings
    for part in (message, settings):
        for name, resource in _resources(part) if part is not None else ():
            (topics if name.startswith("topic") else groups)[resource.name] = None
    if operation is not None:
        groups |= dict.fromkeys(groups_of(operation))
    sent = getattr(message, "messages", ())
    return ProxyOnlyRequest(
        request=raw_request(call.server_call.metadata, message),
        operation=operation,
        names=names,
        topics=tuple(topics),
        groups=tuple(groups),
        messages=[(each.body, _properties(each)) for each in sent],
    )


def _resources(message: Message) -> Iterator[tuple[str, pb.Resource]]:
    """Yield the topics and groups in a message, each with the name of its field."""
    for field, content in message.ListFields():
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            continue
        for each in (content,) if isinstance(content, Message) else content:
            if isinstance(each, pb.Resource):
                yield field.name, each
            else:
                yield from _resources(each)


def _properties(message: pb.Message) -> Mapping[str, str]:
    system = message.system_properties
    own = {properties.KEYS: " ".join(system.keys), properties.UNIQ_KEY: system.message_id}
    if system.HasField("tag"):
        own[properties.TAGS] = system.tag
    return {**message.user_properties, **own}
