"""The header x-mq-language in RPCs of the gRPC proxy that do not depend on it."""

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv

from ...case import grpc_case
from ...context.grpc import GrpcContext
from ...helpers.consumer import consuming


@grpc_case("ContextInitPipeline.execute")
def consumer_rpcs_accept_any_client_language(t: GrpcContext) -> None:
    """The proxy serves consumers with an unknown language or none in every RPC."""
    consumer = consuming(t, 6)
    handles: list[str] = []
    group, topic = pb.Resource(name=consumer.group), pb.Resource(name=consumer.topic)
    for language in ("KLINGON", None):
        t.note(
            f"assigned, {language}", t.assignment(consumer.topic, consumer.group, x_mq_language=language).status, pb.OK
        )
        received = consumer.receive(max_messages=3, x_mq_language=language)
        t.note(f"received, {language}", received.bodies)
        handles += received.handles
        entries = [sv.AckMessageEntry(message_id="id", receipt_handle=handles.pop())]
        ack = sv.AckMessageRequest(group=group, topic=topic, entries=entries)
        t.note(f"acknowledged, {language}", t.call("AckMessage", ack, client=consumer.client, x_mq_language=language))
        change = sv.ChangeInvisibleDurationRequest(group=group, topic=topic, receipt_handle=handles.pop())
        change.invisible_duration.FromSeconds(30)
        response = t.call("ChangeInvisibleDuration", change, client=consumer.client, x_mq_language=language)
        t.note(f"changed, {language}", response.status, pb.OK)
        forward = sv.ForwardMessageToDeadLetterQueueRequest(
            group=group, topic=topic, receipt_handle=handles.pop(), delivery_attempt=1, max_delivery_attempts=17
        )
        response = t.call("ForwardMessageToDeadLetterQueue", forward, client=consumer.client, x_mq_language=language)
        t.note(f"forwarded, {language}", response, pb.OK)


@grpc_case("ContextInitPipeline.execute")
def recall_and_end_transaction_accept_any_client_language(t: GrpcContext) -> None:
    """Recall and EndTransaction of producers with an unknown language or none return the usual responses."""
    topic = t.topic(kind="NORMAL")
    producer = t.producer(topic)
    for language in ("KLINGON", None):
        recall = sv.RecallMessageRequest(topic=pb.Resource(name=topic), recall_handle="none")
        response = t.call("RecallMessage", recall, client=producer, x_mq_language=language)
        t.note(f"recalled, {language}", response)
        end = sv.EndTransactionRequest(topic=pb.Resource(name=topic), message_id="id", transaction_id="none")
        t.note(f"ended, {language}", t.call("EndTransaction", end, client=producer, x_mq_language=language))
