"""Requests of the broker to its clients, and the responses to the administrators that triggered them."""

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import count
from typing import Generic, Protocol, TypeVar

from engine_protocol_client import EngineProtocolClient
from grpc_protocol_client import GrpcProtocolClient
from protocol_client import ProtocolClient
from remoting_protocol_client import OnlyFrame, RemotingProtocolClient
from rocketmq_testkit.conformance.clients.remoting_request import RemotingRequest, request
from rocketmq_testkit.conformance.clients.remoting_response import json_of
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel
from rocketmq_testkit.emulator.gate.effects import (
    Effect,
    NotifyConsumerIdsChanged,
    RequestConsumerStatus,
    RequestDirectConsumption,
    RequestRunningInfo,
    ResetConsumerOffset,
    ServerRequest,
)
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.message.stored_record import Record, decode, offset_message_id, pack_host
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.clients import (
    ClientResponse,
    ConsumeMessageDirectly,
    ConsumerStatusResult,
    GetConsumerRunningInfo,
    GetConsumerStatus,
)
from rocketmq_testkit.emulator.operations.offsets import ResetOffset, ResetOffsetResult
from rocketmq_testkit.emulator.operations.send import ClientResponded
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.remoting.client import decode_messages
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire.command import RESPONSE, RemotingCommand

CONSUME, INFO, STATUS, RESET, MEMBERS = "consume", "running info", "status", "reset", "members"
RESULTS = {
    "CR_SUCCESS": pb.OK,
    "CR_LATER": pb.FAILED_TO_CONSUME_MESSAGE,
    "CR_RETURN_NULL": pb.MESSAGE_CORRUPTED,
}
"""Result of a listener -> status by which a gRPC client reports it."""

E = TypeVar("E", bound=ProtocolClient)


@dataclass(frozen=True)
class ReceivedRequest:
    """A server-initiated request or notification.

    `kind` is CONSUME, INFO, STATUS, RESET or MEMBERS. `body` is that of the message to consume, or the name of the
    changed group; `offsets` are the (queue, offset) pairs of a reset. `token` identifies the request in its response.
    """

    kind: str
    body: bytes = b""
    offsets: tuple[tuple[int, int], ...] = ()
    token: object = None


@dataclass(frozen=True)
class AdminResponse:
    """The response to an administrator. The body is JSON or empty."""

    code: int
    remark: str
    body: bytes

    @property
    def result(self) -> object:
        """The result of the listener that consumed a message directly, such as CR_SUCCESS."""
        return json.loads(self.body).get("consumeResult")


class AdminRequest(Protocol):
    """An administrator's request, which waits for clients."""

    @property
    def response(self) -> AdminResponse | None:
        """The response, None while the request waits."""


class ClientRequests(ABC, Generic[E]):
    """Requests of administrators that the broker of a protocol client forwards to its clients.

    Administrators use the broker's own protocol.
    """

    def __init__(self, protocol_client: E) -> None:
        self.protocol_client = protocol_client

    @abstractmethod
    def received(self, client: str) -> list[ReceivedRequest]:
        """Return the requests and notifications that a client has received since the last call, without settings."""

    @abstractmethod
    def respond_consumed(self, client: str, received: ReceivedRequest, result: str) -> None:
        """Respond with the result of a direct consumption."""

    def respond(self, client: str, received: ReceivedRequest, body: bytes, code: int = 0) -> None:
        """Respond with a body that the test chooses, which only clients of the broker's own protocol can do."""
        raise NotImplementedError

    def consume_directly(self, client: str, record: Record, *, group: str = "G") -> AdminRequest:
        """Request that a client consumes a stored message directly."""
        host = pack_host(self.protocol_client.broker.store_host)
        return self.consume_directly_by_id(client, offset_message_id(host, record.physical_offset), group=group)

    def consume_directly_by_id(self, client: str, message_id: str, *, group: str = "G") -> AdminRequest:
        """Request a direct consumption by the broker's id of a message of `T`."""
        fields = {"consumerGroup": group, "clientId": client, "msgId": message_id, "topic": "T"}
        code = RequestCode.CONSUME_MESSAGE_DIRECTLY
        return self._ask(ConsumeMessageDirectly(group, client, message_id, "T", ext_fields={}), request(code, fields))

    def running_info(self, client: str, group: str = "G") -> AdminRequest:
        """Request the running info of a client, with its stacks."""
        fields, more = {"consumerGroup": group, "clientId": client}, {"jstackEnable": "true"}
        asked = request(RequestCode.GET_CONSUMER_RUNNING_INFO, {**fields, **more})
        return self._ask(GetConsumerRunningInfo(group, client, more), asked)

    def status(self, client: str | None = None, group: str = "G") -> AdminRequest:
        """Request the offsets of clients for `T`."""
        fields = {"topic": "T", "group": group, "clientAddr": client}
        code = RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS
        return self._ask(GetConsumerStatus("T", group, client), request(code, fields))

    def reset(self, timestamp: int = 0, *, force: bool = True, group: str = "G") -> AdminResponse:
        """Reset the offsets of a group for `T`."""
        fields = {"topic": "T", "group": group, "timestamp": timestamp, "isForce": force}
        asked = request(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, fields)
        response = self._ask(ResetOffset(group, "T", timestamp, force=force), asked).response
        assert response is not None
        return response

    def _ask(self, operation: Operation, asked: RemotingRequest) -> AdminRequest:
        """Send an administrator's request; where the protocol has none, submit the operation."""
        engine, broker = self.protocol_client.engine, self.protocol_client.broker
        return _Operation(engine.submit(broker, operation, DirectChannel("administrator")))


class _Operation:
    """An administrator's operation."""

    def __init__(self, call: DirectCall) -> None:
        self._call = call

    @property
    def response(self) -> AdminResponse | None:
        """The outcome. The status of consumers is the list of their client ids."""
        match self._call.outcome:
            case None:
                return None
            case EngineError() as refusal:
                return AdminResponse(refusal.code, refusal.remark or "", b"")
            case ClientResponse() as response:
                return AdminResponse(response.code, response.remark or "", response.body)
            case ConsumerStatusResult() as result:
                return AdminResponse(0, "", json.dumps(sorted(result.responses)).encode())
            case ResetOffsetResult():
                return AdminResponse(0, "", b"")
            case other:
                raise AssertionError(other)


class EngineClientRequests(ClientRequests[EngineProtocolClient]):
    """Requests as effects of the engine."""

    def received(self, client: str) -> list[ReceivedRequest]:
        effects = self.protocol_client.channel(client).effects
        found = [_of_effect(each) for each in effects]
        effects.clear()
        return found

    def respond_consumed(self, client: str, received: ReceivedRequest, result: str) -> None:
        self.respond(client, received, json.dumps({"consumeResult": result}).encode())

    def respond(self, client: str, received: ReceivedRequest, body: bytes, code: int = 0) -> None:
        assert isinstance(received.token, int)
        protocol_client = self.protocol_client
        answered = ClientResponded(received.token, code, body=body)
        protocol_client.engine.submit(protocol_client.broker, answered, protocol_client.channel(client))


def _of_effect(effect: Effect) -> ReceivedRequest:
    ticket = effect.ticket if isinstance(effect, ServerRequest) else None
    match effect:
        case RequestDirectConsumption():
            return ReceivedRequest(CONSUME, decode(effect.record).body, token=ticket)
        case RequestRunningInfo():
            return ReceivedRequest(INFO, token=ticket)
        case RequestConsumerStatus():
            return ReceivedRequest(STATUS, token=ticket)
        case ResetConsumerOffset():
            return ReceivedRequest(RESET, offsets=tuple(sorted(effect.offsets.items())))
        case NotifyConsumerIdsChanged():
            return ReceivedRequest(MEMBERS, effect.consumer_group.encode())
        case other:
            raise AssertionError(other)


class RemotingClientRequests(ClientRequests[RemotingProtocolClient]):
    """Requests as remoting frames."""

    def __init__(self, protocol_client: RemotingProtocolClient) -> None:
        super().__init__(protocol_client)
        self._numbers = count()

    def received(self, client: str) -> list[ReceivedRequest]:
        return [_of_frame(each) for each in self.protocol_client.pushes(client)]

    def respond_consumed(self, client: str, received: ReceivedRequest, result: str) -> None:
        self.respond(client, received, json.dumps({"consumeResult": result}).encode())

    def respond(self, client: str, received: ReceivedRequest, body: bytes, code: int = 0) -> None:
        assert isinstance(received.token, int)
        response = RemotingCommand(code, opaque=received.token, flag=RESPONSE, body=body)
        assert self.protocol_client.peer(client).send(response)

    def _ask(self, operation: Operation, asked: RemotingRequest) -> AdminRequest:
        peer = self.protocol_client.peer(f"administrator {next(self._numbers)}")
        return _Frame(peer, peer.exchange(*asked))


class _Frame(OnlyFrame):
    """An administrator's request."""

    @property
    def response(self) -> AdminResponse | None:
        """The response. The status of consumers is the list of their client ids."""
        if (response := self.frame) is None:
            return None
        body = response.body
        if body.startswith(b'{"consumerTable"'):
            body = json.dumps(sorted(json.loads(body)["consumerTable"])).encode()
        return AdminResponse(response.code, response.remark or "", body)


_KINDS = {
    RequestCode.CONSUME_MESSAGE_DIRECTLY: CONSUME,
    RequestCode.GET_CONSUMER_RUNNING_INFO: INFO,
    RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT: STATUS,
}


def _of_frame(frame: RemotingCommand) -> ReceivedRequest:
    if frame.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED:
        return ReceivedRequest(MEMBERS, (frame.ext_fields or {})["consumerGroup"].encode())
    if frame.code == RequestCode.RESET_CONSUMER_CLIENT_OFFSET:
        table = json_of(frame.body)["offsetTable"]
        found = [(json.loads(queue)["queueId"], offset) for queue, offset in table.items()]
        return ReceivedRequest(RESET, offsets=tuple(sorted(found)))
    kind = _KINDS[RequestCode(frame.code)]
    body = decode_messages(frame.body)[0].body if kind == CONSUME else b""
    return ReceivedRequest(kind, body, token=frame.opaque)


class GrpcClientRequests(ClientRequests[GrpcProtocolClient]):
    """Requests as commands on telemetry streams."""

    def __init__(self, protocol_client: GrpcProtocolClient) -> None:
        super().__init__(protocol_client)
        self._seen: dict[str, int] = {}

    def received(self, client: str) -> list[ReceivedRequest]:
        commands = self.protocol_client.streams[client].commands
        new = commands[self._seen.get(client, 0) :]
        self._seen[client] = len(commands)
        return [_of_command(each) for each in new if not each.HasField("settings")]

    def respond_consumed(self, client: str, received: ReceivedRequest, result: str) -> None:
        assert isinstance(received.token, str)
        said = sv.TelemetryCommand(verify_message_result=sv.VerifyMessageResult(nonce=received.token))
        said.status.code = RESULTS[result]
        self.protocol_client.streams[client].send(said)


def _of_command(command: sv.TelemetryCommand) -> ReceivedRequest:
    assert command.HasField("verify_message_command"), command
    verify = command.verify_message_command
    return ReceivedRequest(CONSUME, verify.message.body, token=verify.nonce)


AnyClientRequests = (
    ClientRequests[EngineProtocolClient] | ClientRequests[RemotingProtocolClient] | ClientRequests[GrpcProtocolClient]
)


def client_requests(protocol_client: ProtocolClient) -> AnyClientRequests:
    """Return the requests to the clients of a protocol client."""
    match protocol_client:
        case EngineProtocolClient():
            return EngineClientRequests(protocol_client)
        case RemotingProtocolClient():
            return RemotingClientRequests(protocol_client)
        case GrpcProtocolClient():
            return GrpcClientRequests(protocol_client)
        case other:
            raise AssertionError(other)
