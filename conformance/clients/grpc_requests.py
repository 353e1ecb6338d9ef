"""gRPC requests as SDKs send them. Times are in ms; None omits a field."""

from collections.abc import Mapping
from typing import Any

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv

_REQUEST_SECONDS = 3


def endpoints(address: str) -> pb.Endpoints:
    """Return `host:port` in the form of client requests."""
    host, _, port = address.rpartition(":")
    return pb.Endpoints(scheme=pb.IPv4, addresses=[pb.Address(host=host, port=int(port))])


def publishing(*topics: str, client_type: int = pb.PRODUCER, **fields: Any) -> pb.Settings:
    """Return the settings of a producer; `fields`: of Publishing."""
    return pb.Settings(
        client_type=client_type,  # type: ignore[arg-type]  # an enum's value
        request_timeout=Duration(seconds=_REQUEST_SECONDS),
        publishing=pb.Publishing(topics=[pb.Resource(name=topic) for topic in topics], **fields),
    )


def subscribing(
    group: str,
    subscriptions: Mapping[str, str],
    *,
    client_type: int = pb.SIMPLE_CONSUMER,
    filter_type: int = pb.TAG,
    **fields: Any,
) -> pb.Settings:
    """Return the settings of a consumer with expressions by topic; `fields`: of Subscription."""
    entries = [
        pb.SubscriptionEntry(topic=pb.Resource(name=topic), expression=_filter(filter_type, expression))
        for topic, expression in subscriptions.items()
    ]
    return pb.Settings(
        client_type=client_type,  # type: ignore[arg-type]  # an enum's value
        request_timeout=Duration(seconds=_REQUEST_SECONDS),
        subscription=pb.Subscription(group=pb.Resource(name=group), subscriptions=entries, **fields),
    )


def heartbeat(group: str | None = None, client_type: int = pb.SIMPLE_CONSUMER) -> sv.HeartbeatRequest:
    """Build a Heartbeat request."""
    return sv.HeartbeatRequest(group=_resource(group), client_type=client_type)  # type: ignore[arg-type]  # an enum


def termination(group: str | None = None) -> sv.NotifyClientTerminationRequest:
    """Build a NotifyClientTermination request."""
    return sv.NotifyClientTerminationRequest(group=_resource(group))


def route(topic: str, access_point: pb.Endpoints | None = None) -> sv.QueryRouteRequest:
    """Build a QueryRoute request."""
    return sv.QueryRouteRequest(topic=pb.Resource(name=topic), endpoints=access_point)


def assignment(topic: str, group: str, access_point: pb.Endpoints | None = None) -> sv.QueryAssignmentRequest:
    """Build a QueryAssignment request."""
    return sv.QueryAssignmentRequest(
        topic=pb.Resource(name=topic), group=pb.Resource(name=group), endpoints=access_point
    )


def message(
    topic: str,
    body: bytes | str,
    *,
    namespace: str = "",
    properties: Mapping[str, str] | None = None,
    deliver_ms: int | None = None,
    **system: Any,
) -> pb.Message:
    """Build a message; `system`: fields of SystemProperties such as tag, keys, message_group.

    `deliver_ms`: the delivery time, in ms since the epoch.
    """
    if deliver_ms is not None:
        system["delivery_timestamp"] = timestamp(deliver_ms)
    return pb.Message(
        topic=pb.Resource(name=topic, resource_namespace=namespace),
        body=body.encode() if isinstance(body, str) else body,
        user_properties=dict(properties or {}),
        system_properties=pb.SystemProperties(**system),
    )


def receive(  # noqa: PLR0913 - the fields of a request
    topic: str,
    group: str,
    *,
    broker: str,
    access_point: pb.Endpoints | None = None,
    queue_id: int = -1,
    max_messages: int = 32,
    invisible_ms: float | None = 60_000,
    poll_ms: float | None = None,
    expression: str | None = "*",
    filter_type: int = pb.TAG,
    auto_renew: bool = False,
    **fields: Any,
) -> sv.ReceiveMessageRequest:
    """Build a ReceiveMessage request; `poll_ms` is the long polling timeout, `broker` a name."""
    return sv.ReceiveMessageRequest(
        group=pb.Resource(name=group),
        message_queue=pb.MessageQueue(
            topic=pb.Resource(name=topic),
            id=queue_id,
            permission=pb.READ_WRITE,
            broker=pb.Broker(name=broker, id=0, endpoints=access_point),
        ),
        filter_expression=None if expression is None else _filter(filter_type, expression),
        batch_size=max_messages,
        auto_renew=auto_renew,
        invisible_duration=duration(invisible_ms),
        long_polling_timeout=duration(poll_ms),
        **fields,
    )


def ack(topic: str, group: str, *entries: tuple[str, str]) -> sv.AckMessageRequest:
    """Build an AckMessage request of (message id, receipt handle) pairs."""
    parts = [sv.AckMessageEntry(message_id=id_, receipt_handle=handle) for id_, handle in entries]
    return sv.AckMessageRequest(group=pb.Resource(name=group), topic=pb.Resource(name=topic), entries=parts)


def change(
    topic: str, group: str, handle: str, invisible_ms: float | None, *, message_id: str
) -> sv.ChangeInvisibleDurationRequest:
    """Build a ChangeInvisibleDuration request."""
    return sv.ChangeInvisibleDurationRequest(
        group=pb.Resource(name=group),
        topic=pb.Resource(name=topic),
        receipt_handle=handle,
        message_id=message_id,
        invisible_duration=duration(invisible_ms),
    )


def forward(
    topic: str, group: str, handle: str, *, message_id: str, attempts: int = 0, max_attempts: int = 0
) -> sv.ForwardMessageToDeadLetterQueueRequest:
    """Build a ForwardMessageToDeadLetterQueue request, after `attempts` of at most `max_attempts` delivery attempts."""
    return sv.ForwardMessageToDeadLetterQueueRequest(
        group=pb.Resource(name=group),
        topic=pb.Resource(name=topic),
        receipt_handle=handle,
        message_id=message_id,
        delivery_attempt=attempts,
        max_delivery_attempts=max_attempts,
    )


def end(
    topic: str,
    transaction_id: str,
    resolution: int,
    *,
    message_id: str | None = None,
    source: int = pb.SOURCE_CLIENT,
) -> sv.EndTransactionRequest:
    """Build an EndTransaction request; the message id is the transaction id by default."""
    return sv.EndTransactionRequest(
        topic=pb.Resource(name=topic),
        message_id=transaction_id if message_id is None else message_id,
        transaction_id=transaction_id,
        resolution=resolution,  # type: ignore[arg-type]  # an enum's value
        source=source,  # type: ignore[arg-type]  # an enum's value
    )


def recall(topic: str, handle: str) -> sv.RecallMessageRequest:
    """Build a RecallMessage request."""
    return sv.RecallMessageRequest(topic=pb.Resource(name=topic), recall_handle=handle)


def duration(ms: float | None) -> Duration | None:
    """Return milliseconds as a protobuf duration, and None for None."""
    if ms is None:
        return None
    value = Duration()
    value.FromMilliseconds(round(ms))
    return value


def timestamp(ms: int) -> Timestamp:
    """Return milliseconds since the epoch as a protobuf timestamp."""
    value = Timestamp()
    value.FromMilliseconds(ms)
    return value


def _resource(name: str | None) -> pb.Resource | None:
    return None if name is None else pb.Resource(name=name)


def _filter(kind: int, expression: str) -> pb.FilterExpression:
    return pb.FilterExpression(type=kind, expression=expression)  # type: ignore[arg-type]  # an enum's value
