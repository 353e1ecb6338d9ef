"""The rules from which the declaration of an RPC chooses the rights that its requests require.

A rule reads a request and yields the required rights. `rights=` of an `Rpc` names it; no table here is keyed by RPC.
Source: DefaultAuthorizationContextBuilder (5.3.3).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rocketmq_testkit.emulator.auth.access_control import AccessDenied, RequiredRight
from rocketmq_testkit.emulator.auth.policies import Action, group_resource, topic_resource

from ..proto import definition_pb2 as pb
from ..proto import service_pb2 as sv
from ..rules.java_texts import exception_text
from ..rules.proxy_rules import is_blank
from ..rules.status import Refusal

Rights = Callable[[Any], Iterable[RequiredRight]]
"""request -> required rights. Raises AccessDenied for a request without the resource that it needs."""

_CONSUMERS = (pb.PUSH_CONSUMER, pb.SIMPLE_CONSUMER, pb.PULL_CONSUMER)
_NO_KIND = exception_text(
    "settings command doesn't have publishing or subscription.",
    "AclException",
    "org.apache.rocketmq.auth.authorization.builder.DefaultAuthorizationContextBuilder.newContext"
    "(DefaultAuthorizationContextBuilder.java:448)",
)


def no_rights(_request: object) -> Iterable[RequiredRight]:
    """Require no right."""
    return ()


def _topic(resource: pb.Resource, *actions: Action) -> RequiredRight:
    if is_blank(resource.name):
        raise AccessDenied("topic is null.")
    return RequiredRight(topic_resource(resource.name), actions)


def _group(resource: pb.Resource) -> RequiredRight:
    if is_blank(resource.name):
        raise AccessDenied("group is null.")
    return RequiredRight(group_resource(resource.name), (Action.SUB,))


def to_send(request: sv.SendMessageRequest) -> Iterator[RequiredRight]:
    """Yield PUB on the topic of the first message."""
    if not request.messages:
        raise AccessDenied("message is null.")
    yield _topic(request.messages[0].topic, Action.PUB)


def to_produce(request: sv.EndTransactionRequest | sv.RecallMessageRequest) -> Iterator[RequiredRight]:
    """Yield PUB on the topic."""
    yield _topic(request.topic, Action.PUB)


def to_consume(
    request: sv.AckMessageRequest | sv.ForwardMessageToDeadLetterQueueRequest | sv.QueryAssignmentRequest,
) -> Iterator[RequiredRight]:
    """Yield SUB on the group and on the topic."""
    yield _group(request.group)
    yield _topic(request.topic, Action.SUB)


def to_receive(request: sv.ReceiveMessageRequest) -> Iterator[RequiredRight]:
    """Yield SUB on the group and on the topic of the queue."""
    if not request.HasField("message_queue"):
        raise AccessDenied("messageQueue is null.")
    yield _group(request.group)
    yield _topic(request.message_queue.topic, Action.SUB)


def to_change_invisible_duration(request: sv.ChangeInvisibleDurationRequest) -> Iterator[RequiredRight]:
    """Yield SUB on the group."""
    yield _group(request.group)


def to_send_heartbeat(request: sv.HeartbeatRequest) -> Iterator[RequiredRight]:
    """Yield SUB on the group of a consumer. A producer requires no right."""
    if request.client_type in _CONSUMERS:
        yield _group(request.group)


def to_terminate(request: sv.NotifyClientTerminationRequest) -> Iterator[RequiredRight]:
    """Yield SUB on the group, if the request names one."""
    if not is_blank(request.group.name):
        yield _group(request.group)


def to_find_route(request: sv.QueryRouteRequest) -> Iterator[RequiredRight]:
    """Yield PUB or SUB on the topic."""
    yield _topic(request.topic, Action.PUB, Action.SUB)


def to_send_settings(command: sv.TelemetryCommand) -> Iterator[RequiredRight]:
    """Yield the rights of settings: PUB on a producer's topics, or SUB on a consumer's group and topics.

    Other commands require no right. Raises Refusal (INTERNAL_SERVER_ERROR) for settings of neither kind.
    """
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
