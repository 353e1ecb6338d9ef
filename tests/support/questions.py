"""Requests of the broker to its clients, and the responses to the administrators that triggered them."""

import json
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import count
from typing import Generic, Protocol, TypeVar

from entrance import Entrance
from entrance_engine import EngineEntrance
from entrance_grpc import GrpcEntrance
from entrance_remoting import OnlyFrame, RemotingEntrance
from rocketmq_testkit.emulator import operations as ops
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel
from rocketmq_testkit.emulator.gate.effects import (
    AskConsumerStatus,
    AskRunningInfo,
    AskToConsume,
    Effect,
    NotifyConsumerIdsChanged,
    Question,
    ResetConsumerOffset,
)
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.message.stored_record import Record, decode, offset_message_id, pack_host
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

E = TypeVar("E", bound=Entrance)


@dataclass(frozen=True)
class Pushed:
    """A server-initiated request or notification: a body to consume, or offsets by queue.

    `token` is for the response.
    """

    kind: str
    body: bytes = b""
    offsets: tuple[tuple[int, int], ...] = ()
    token: object = None


@dataclass(frozen=True)
class Told:
    """The response to an administrator. The body is JSON or empty."""

    code: int
    remark: str
    body: bytes

    @property
    def result(self) -> object:
        """The result of a listener."""
        return json.loads(self.body).get("consumeResult")


class Telling(Protocol):
    """An administrator's request, which waits for clients."""

    @property
    def told(self) -> Told | None:
        """The response, None while the request waits."""


class Questions(ABC, Generic[E]):
    """Requests to clients of the broker of an entrance. Administrators use the broker's own protocol."""

    def __init__(self, entrance: E) -> None:
        self.entrance = entrance

    @abstractmethod
    def pushed(self, client: str) -> list[Pushed]:
        """Return the requests and notifications that a client has received since the last call, without settings."""

    @abstractmethod
    def consumed(self, client: str, question: Pushed, result: str) -> None:
        """Respond with the result of a direct consumption."""

    def say(self, client: str, question: Pushed, body: bytes, code: int = 0) -> None:
        """Respond with a body of the client's own, which only clients of the broker's protocol can do."""
        raise NotImplementedError

    def give(self, client: str, record: Record, *, group: str = "G") -> Telling:
        """Request that a client consumes a stored message directly."""
        host = pack_host(self.entrance.broker.store_host)
        return self.give_id(client, offset_message_id(host, record.physical_offset), group=group)

    def give_id(self, client: str, message_id: str, *, group: str = "G") -> Telling:
        """Request a direct consumption by the broker's id of a message of `T`."""
        return self._ask(ops.ConsumeMessageDirectly(group, client, message_id, "T", {}))

    def running_info(self, client: str, group: str = "G") -> Telling:
        """Request the running info of a client, with its stacks."""
        return self._ask(ops.GetConsumerRunningInfo(group, client, {"jstackEnable": "true"}))

    def status(self, client: str | None = None, group: str = "G") -> Telling:
        """Request the offsets of clients for `T`."""
        return self._ask(ops.GetConsumerStatus("T", group, client))

    def reset(self, timestamp: int = 0, *, force: bool = True, group: str = "G") -> Told:
        """Reset the offsets of a group for `T`."""
        told = self._ask(ops.ResetOffset(group, "T", timestamp, force=force)).told
        assert told is not None
        return told

    def _ask(self, operation: ops.Operation) -> Telling:
        entrance = self.entrance
        return _Operation(entrance.engine.submit(entrance.broker, operation, DirectChannel("administrator")))


class _Operation:
    """An administrator's operation."""

    def __init__(self, call: DirectCall) -> None:
        self._call = call

    @property
    def told(self) -> Told | None:
        """The outcome. The status of consumers is the list of their client ids."""
        match self._call.outcome:
            case None:
                return None
            case EngineError() as refusal:
                return Told(refusal.code, refusal.remark or "", b"")
            case ops.ClientAnswer() as answer:
                return Told(answer.code, answer.remark or "", answer.body)
            case ops.ConsumerStatusResult() as result:
                return Told(0, "", json.dumps(sorted(result.answers)).encode())
            case ops.ResetOffsetResult():
                return Told(0, "", b"")
            case other:
                raise AssertionError(other)


class EngineQuestions(Questions[EngineEntrance]):
    """Requests as effects of the engine."""

    def pushed(self, client: str) -> list[Pushed]:
        effects = self.entrance.channel(client).effects
        found = [_of_effect(each) for each in effects]
        effects.clear()
        return found

    def consumed(self, client: str, question: Pushed, result: str) -> None:
        self.say(client, question, json.dumps({"consumeResult": result}).encode())

    def say(self, client: str, question: Pushed, body: bytes, code: int = 0) -> None:
        assert isinstance(question.token, int)
        entrance = self.entrance
        answered = ops.PushAnswered(question.token, code, body=body)
        entrance.engine.submit(entrance.broker, answered, entrance.channel(client))


def _of_effect(effect: Effect) -> Pushed:
    ticket = effect.ticket if isinstance(effect, Question) else None
    match effect:
        case AskToConsume():
            return Pushed(CONSUME, decode(effect.record).body, token=ticket)
        case AskRunningInfo():
            return Pushed(INFO, token=ticket)
        case AskConsumerStatus():
            return Pushed(STATUS, token=ticket)
        case ResetConsumerOffset():
            return Pushed(RESET, offsets=tuple(sorted(effect.offsets.items())))
        case NotifyConsumerIdsChanged():
            return Pushed(MEMBERS, effect.consumer_group.encode())
        case other:
            raise AssertionError(other)


class RemotingQuestions(Questions[RemotingEntrance]):
    """Requests as remoting frames."""

    def __init__(self, entrance: RemotingEntrance) -> None:
        super().__init__(entrance)
        self._numbers = count()

    def pushed(self, client: str) -> list[Pushed]:
        return [_of_frame(each) for each in self.entrance.pushes(client)]

    def consumed(self, client: str, question: Pushed, result: str) -> None:
        self.say(client, question, json.dumps({"consumeResult": result}).encode())

    def say(self, client: str, question: Pushed, body: bytes, code: int = 0) -> None:
        assert isinstance(question.token, int)
        answer = RemotingCommand(code, opaque=question.token, flag=RESPONSE, body=body)
        assert self.entrance.peer(client).send(answer)

    def _ask(self, operation: ops.Operation) -> Telling:
        match operation:
            case ops.ConsumeMessageDirectly():
                code, group, client = (
                    RequestCode.CONSUME_MESSAGE_DIRECTLY,
                    operation.consumer_group,
                    operation.client_id,
                )
                ext = {"consumerGroup": group, "clientId": client, "msgId": operation.message_id, "topic": "T"}
            case ops.GetConsumerRunningInfo():
                code, group, client = (
                    RequestCode.GET_CONSUMER_RUNNING_INFO,
                    operation.consumer_group,
                    operation.client_id,
                )
                ext = {"consumerGroup": group, "clientId": client, **operation.ext_fields}
            case ops.GetConsumerStatus():
                code = RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS
                ext = {"topic": "T", "group": operation.group, "clientAddr": operation.client_id}
            case ops.ResetOffset():
                code, force = RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, "true" if operation.force else "false"
                ext = {"topic": "T", "group": operation.group, "timestamp": str(operation.timestamp), "isForce": force}
            case other:
                raise AssertionError(other)
        peer = self.entrance.peer(f"administrator {next(self._numbers)}")
        fields = {name: value for name, value in ext.items() if value is not None}
        return _Frame(peer, peer.exchange(code, fields))


class _Frame(OnlyFrame):
    """An administrator's request."""

    @property
    def told(self) -> Told | None:
        """The response. The status of consumers is the list of their client ids."""
        if (answer := self.frame) is None:
            return None
        body = answer.body
        if body.startswith(b'{"consumerTable"'):
            body = json.dumps(sorted(json.loads(body)["consumerTable"])).encode()
        return Told(answer.code, answer.remark or "", body)


_OFFSET = re.compile(r"(\{[^{}]*\}):(\d+)")
"""Queues are written as keys, and these are JSON objects."""
_KINDS = {
    RequestCode.CONSUME_MESSAGE_DIRECTLY: CONSUME,
    RequestCode.GET_CONSUMER_RUNNING_INFO: INFO,
    RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT: STATUS,
}


def _of_frame(frame: RemotingCommand) -> Pushed:
    if frame.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED:
        return Pushed(MEMBERS, (frame.ext_fields or {})["consumerGroup"].encode())
    if frame.code == RequestCode.RESET_CONSUMER_CLIENT_OFFSET:
        found = [(json.loads(queue)["queueId"], int(offset)) for queue, offset in _OFFSET.findall(frame.body.decode())]
        return Pushed(RESET, offsets=tuple(sorted(found)))
    kind = _KINDS[RequestCode(frame.code)]
    body = decode_messages(frame.body)[0].body if kind == CONSUME else b""
    return Pushed(kind, body, token=frame.opaque)


class GrpcQuestions(Questions[GrpcEntrance]):
    """Requests as commands on telemetry streams."""

    def __init__(self, entrance: GrpcEntrance) -> None:
        super().__init__(entrance)
        self._seen: dict[str, int] = {}

    def pushed(self, client: str) -> list[Pushed]:
        commands = self.entrance.streams[client].commands
        new = commands[self._seen.get(client, 0) :]
        self._seen[client] = len(commands)
        return [_of_command(each) for each in new if not each.HasField("settings")]

    def consumed(self, client: str, question: Pushed, result: str) -> None:
        assert isinstance(question.token, str)
        said = sv.TelemetryCommand(verify_message_result=sv.VerifyMessageResult(nonce=question.token))
        said.status.code = RESULTS[result]
        self.entrance.streams[client].send(said)


def _of_command(command: sv.TelemetryCommand) -> Pushed:
    assert command.HasField("verify_message_command"), command
    verify = command.verify_message_command
    return Pushed(CONSUME, verify.message.body, token=verify.nonce)


def questions(entrance: Entrance) -> Questions[EngineEntrance] | Questions[RemotingEntrance] | Questions[GrpcEntrance]:
    """Return the requests to clients of an entrance."""
    match entrance:
        case EngineEntrance():
            return EngineQuestions(entrance)
        case RemotingEntrance():
            return RemotingQuestions(entrance)
        case GrpcEntrance():
            return GrpcQuestions(entrance)
        case other:
            raise AssertionError(other)
