"""Authentication and authorization of calls, before any other check. To protect another request, add a line to a table.

Source: DefaultAuthenticationContextBuilder, DefaultAuthorizationContextBuilder (5.3.3).
"""

from base64 import b64encode
from binascii import unhexlify
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from google.protobuf.message import Message
from rocketmq_testkit.emulator.auth.authentication import Access, AccessDenied, Asking, Need, Signed
from rocketmq_testkit.emulator.auth.policies import Action, group_resource, topic_resource

from ..proto import definition_pb2 as pb
from ..proto import service_pb2 as sv
from ..rules.java_texts import exception_text
from ..rules.proxy_rules import is_blank
from ..rules.status import Refusal
from .rpc_call import ServerCall

_PACKAGE = "apache.rocketmq.v2."
_CONSUMERS = (pb.PUSH_CONSUMER, pb.SIMPLE_CONSUMER, pb.PULL_CONSUMER)


def check(access: Access, call: ServerCall, request: Message) -> None:
    """Authenticate and authorize a request. Raises Refusal (UNAUTHORIZED)."""
    host, port = call.peer
    asking = Asking(_PACKAGE + type(request).DESCRIPTOR.name, f"{host}:{port}", host)
    username = None
    try:
        if access.authenticates:
            signed = _signed(call.metadata)
            access.authenticate(asking, signed)
            username = None if is_blank(signed.username or "") else signed.username
        if access.authorizes:
            needs = _NEEDS.get(type(request))
            access.authorize(asking, username, list(needs(request)) if needs is not None else ())
    except AccessDenied as denied:
        raise Refusal(pb.UNAUTHORIZED, denied.remark or "") from None


def _signed(metadata: Mapping[str, str]) -> Signed:
    """Parse the signature in the metadata.

    Its form is `MQv2-HMAC-SHA1 Credential=ann/region/RocketMQ, SignedHeaders=x-mq-date-time, Signature=hex`.
    """
    authorization = metadata.get("authorization", "")
    if not authorization:
        return Signed()
    moment = metadata.get("x-mq-date-time", "")
    if not moment:
        raise AccessDenied("datetime is null.")
    _, blank, rest = authorization.partition(" ")
    if not blank:
        raise AccessDenied("authentication header is incorrect.")
    username, signature = None, None
    for part in _java_split(rest, ","):
        name, equals, value = part.strip().partition("=")
        if not equals:
            raise AccessDenied("authentication keyValues length is incorrect, actual length=1.")
        if name == "Credential":
            names = _java_split(value, "/")
            if not names:
                raise AccessDenied("authentication credential length is incorrect, actual length=0.")
            username = names[0]
        elif name == "Signature":
            try:
                signature = b64encode(unhexlify(value)).decode()
            except ValueError:
                raise AccessDenied("create authentication context error.") from None
    return Signed(username, signature, moment.encode())


def _java_split(text: str, separator: str) -> list[str]:
    """Split like Java's String.split: drop empty parts at the end, unless the separator does not occur."""
    if separator not in text:
        return [text]
    parts = text.split(separator)
    while parts and not parts[-1]:
        parts.pop()
    return parts


# rights that requests require


def _topic(resource: pb.Resource, *actions: Action) -> Need:
    if is_blank(resource.name):
        raise AccessDenied("topic is null.")
    return Need(topic_resource(resource.name), actions)


def _group(resource: pb.Resource) -> Need:
    if is_blank(resource.name):
        raise AccessDenied("group is null.")
    return Need(group_resource(resource.name), (Action.SUB,))


def _of_send(request: sv.SendMessageRequest) -> Iterator[Need]:
    if not request.messages:
        raise AccessDenied("message is null.")
    yield _topic(request.messages[0].topic, Action.PUB)


def _of_producer(request: sv.EndTransactionRequest | sv.RecallMessageRequest) -> Iterator[Need]:
    yield _topic(request.topic, Action.PUB)


def _of_consumer(
    request: sv.AckMessageRequest | sv.ForwardMessageToDeadLetterQueueRequest | sv.QueryAssignmentRequest,
) -> Iterator[Need]:
    yield _group(request.group)
    yield _topic(request.topic, Action.SUB)


def _of_receive(request: sv.ReceiveMessageRequest) -> Iterator[Need]:
    if not request.HasField("message_queue"):
        raise AccessDenied("messageQueue is null.")
    yield _group(request.group)
    yield _topic(request.message_queue.topic, Action.SUB)


def _of_change(request: sv.ChangeInvisibleDurationRequest) -> Iterator[Need]:
    yield _group(request.group)


def _of_heartbeat(request: sv.HeartbeatRequest) -> Iterator[Need]:
    if request.client_type in _CONSUMERS:
        yield _group(request.group)


def _of_termination(request: sv.NotifyClientTerminationRequest) -> Iterator[Need]:
    if not is_blank(request.group.name):
        yield _group(request.group)


def _of_route(request: sv.QueryRouteRequest) -> Iterator[Need]:
    yield _topic(request.topic, Action.PUB, Action.SUB)


def _of_telemetry(command: sv.TelemetryCommand) -> Iterator[Need]:
    if command.WhichOneof("command") != "settings":
        return
    kind = command.settings.WhichOneof("pub_sub")
    if kind is None:
        raise Refusal(pb.INTERNAL_SERVER_ERROR, _NO_KIND)
    if kind == "publishing":
        yield from (_topic(topic, Action.PUB) for topic in command.settings.publishing.topics)
        return
    yield _group(command.settings.subscription.group)
    yield from (_topic(entry.topic, Action.SUB) for entry in command.settings.subscription.subscriptions)


_NO_KIND = exception_text(
    "settings command doesn't have publishing or subscription.",
    "AclException",
    "org.apache.rocketmq.auth.authorization.builder.DefaultAuthorizationContextBuilder.newContext"
    "(DefaultAuthorizationContextBuilder.java:448)",
)
_NEEDS: Mapping[type[Message], Callable[[Any], Iterable[Need]]] = {
    sv.SendMessageRequest: _of_send,
    sv.RecallMessageRequest: _of_producer,
    sv.EndTransactionRequest: _of_producer,
    sv.HeartbeatRequest: _of_heartbeat,
    sv.ReceiveMessageRequest: _of_receive,
    sv.AckMessageRequest: _of_consumer,
    sv.ForwardMessageToDeadLetterQueueRequest: _of_consumer,
    sv.NotifyClientTerminationRequest: _of_termination,
    sv.ChangeInvisibleDurationRequest: _of_change,
    sv.QueryRouteRequest: _of_route,
    sv.QueryAssignmentRequest: _of_consumer,
    sv.TelemetryCommand: _of_telemetry,
}
"""The function that yields the required rights of each request type. Other types require none."""
