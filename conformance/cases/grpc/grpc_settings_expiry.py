"""Expiry of client settings in the gRPC proxy."""

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb

from ...case import grpc_case
from ...context.grpc import GrpcContext
from ...helpers.consumer import GrpcConsumer, consuming

LONGER_THAN_KEPT_SECONDS = 135
HEARTBEAT_SECONDS = 15
INTERVALS_BEFORE_EXPIRY = 7
"""Number of heartbeat intervals during which no client's settings can expire."""


def _note_received(t: GrpcContext, label: str, consumer: GrpcConsumer) -> None:
    received = consumer.received_within()
    code = None if received.status is None else received.status.code
    t.note(label, [code, [each.body for each in received.messages]])


@grpc_case("GrpcClientSettingsManager.onWaitEnd")
def settings_expire_without_heartbeats(t: GrpcContext) -> None:
    """The settings of a consumer without heartbeats expire after two minutes, even if its stream is open."""
    consumer = consuming(t, 1)
    t.wait(LONGER_THAN_KEPT_SECONDS)
    _note_received(t, "received", consumer)


@grpc_case("GrpcClientSettingsManager.onWaitEnd")
def receives_do_not_prevent_the_expiry_of_settings(t: GrpcContext) -> None:
    """The settings of a consumer without stream and heartbeats expire, although it continues to receive."""
    topic, group, client = t.topic(kind="NORMAL", queues=1), t.group(), t.new("client")
    stream = t.open(client, t.subscription(group, {topic: "*"}))
    stream.command()
    stream.cancel()
    consumer = GrpcConsumer(t, topic, group, client)
    for number in range(LONGER_THAN_KEPT_SECONDS // HEARTBEAT_SECONDS):
        t.wait(HEARTBEAT_SECONDS)
        t.sent(topic)
        if number < INTERVALS_BEFORE_EXPIRY:
            t.note(f"received after {(number + 1) * HEARTBEAT_SECONDS} s", consumer.receive(invisible_s=600).bodies)
        else:
            consumer.receive()
    t.note("heartbeat", t.heartbeat(client, group), pb.UNRECOGNIZED_CLIENT_TYPE)


@grpc_case("GrpcClientSettingsManager.onWaitEnd")
def heartbeats_prevent_the_expiry_of_settings(t: GrpcContext) -> None:
    """The settings of a consumer do not expire while it sends heartbeats."""
    consumer = consuming(t, 1)
    for _ in range(LONGER_THAN_KEPT_SECONDS // HEARTBEAT_SECONDS):
        t.wait(HEARTBEAT_SECONDS)
        t.heartbeat(consumer.client, consumer.group)
    _note_received(t, "received", consumer)
