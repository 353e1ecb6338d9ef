"""Forged receipt handles through gRPC: the status of their requests, and their effect."""

from typing import Any

from rocketmq_testkit.emulator.message.names import pop_retry_topic
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case
from ...clients.grpc_response import Failure
from ...clients.receipt_handles import forged
from ...context.grpc import GrpcContext
from ...helpers.consumer import GrpcConsumer, consuming
from .grpc_wait import store

_LARGEST = 2**63 - 1


def forged_handles(t: GrpcContext, handle: str) -> dict[str, str]:
    """Return forged copies of a handle, each with one field changed, by a description of the change."""
    return {
        "an ordered pop": forged(handle, revive=999),
        "revive queue -1": forged(handle, revive=-1),
        "an hour from now": forged(handle, popped=t.now_ms() + 3_600_000),
        "pop time -1": forged(handle, popped=-1),
        "the last pop time": forged(handle, popped=_LARGEST),
        "invisible time -1": forged(handle, invisible=-1),
        "a longer invisible time": forged(handle, invisible=90_000),
        "the longest invisible time": forged(handle, invisible=_LARGEST),
        "start -1": forged(handle, start=-1),
        "the last start": forged(handle, start=_LARGEST),
        "an empty digit": forged(handle, digit=""),
        "a letter for the digit": forged(handle, digit="x"),
        "the second retry topic": forged(handle, digit=2),
        "queue -1": forged(handle, queue=-1),
        "queue 2147483648": forged(handle, queue=2**31),
        "offset -1": forged(handle, offset=-1),
        "the last offset": forged(handle, offset=_LARGEST),
        "log offset -1": forged(handle, log=-1),
        "a word for the log offset": forged(handle, log="x"),
        "ten fields": handle + " 1",
        "tabs": handle.replace(" ", "\t"),
        "a blank too many": handle.replace(" ", "  ", 1),
        "other letters": forged(handle, broker="посредник"),
        "10000 fields": handle + " 1" * 10_000,
    }


def code_and_message(response: Any) -> list[Any]:
    """Return the code and the first 160 characters of the status message of a response."""
    if isinstance(response, Failure):
        return [response.grpc, response.text[:160]]
    return [int(response.status.code), response.status.message[:160]]


@grpc_case("AckMessageActivity.ackMessage")
def the_status_of_an_ack_with_a_forged_handle_depends_on_the_field(t: GrpcContext) -> None:
    """The forged field of a handle decides if an ack returns OK, INVALID_RECEIPT_HANDLE or INTERNAL_SERVER_ERROR."""
    consumer = consuming(t, 1)
    handle = consumer.handle()
    for what, text in forged_handles(t, handle).items():
        response = consumer.ack(text)
        t.note(
            what, [code_and_message(response), [code_and_message(each) for each in getattr(response, "entries", ())]]
        )


@grpc_case("AckMessageProcessor.appendAck, AckMessageProcessor.ackOrderly")
def an_ack_with_a_forged_pop_or_offset_does_not_stop_redelivery(t: GrpcContext) -> None:
    """An ack with a forged handle prevents redelivery only if pop and offset are right.

    Otherwise the message is redelivered.
    """
    acknowledged: dict[str, tuple[GrpcConsumer, Any]] = {}
    for what in forged_handles(t, "0 0 0 0 0 broker 0 0 0"):
        consumer = consuming(t, 1)
        handle = consumer.handle(invisible_s=10)
        acknowledged[what] = consumer, code_and_message(consumer.ack(forged_handles(t, handle)[what]))
    t.wait(17)
    for what, (consumer, response) in acknowledged.items():
        place = {"topic": consumer.topic, "consumerGroup": consumer.group, "queueId": 0}
        committed = t.request(RequestCode.QUERY_CONSUMER_OFFSET, place)["offset"]
        copies = t.messages_of(pop_retry_topic(consumer.topic, consumer.group, v2=False), consumer.group)
        t.note(what, [response, committed, len(copies)])


@grpc_case("ChangeInvisibleDurationActivity.changeInvisibleDuration")
def the_status_of_a_change_with_a_forged_handle_depends_on_the_field(t: GrpcContext) -> None:
    """The forged field of a handle decides if a change returns OK, INVALID_RECEIPT_HANDLE or INTERNAL_SERVER_ERROR."""
    consumer = consuming(t, 1)
    handle = consumer.handle()
    for what, text in forged_handles(t, handle).items():
        t.note(what, code_and_message(consumer.change(text, 3600)))


@grpc_case("AckMessageProcessor.appendAck")
def an_ack_with_a_foreign_handle_does_not_stop_redelivery(t: GrpcContext) -> None:
    """Acks with a handle of another topic, group or queue have no effect on the message, which is redelivered."""
    consumer = consuming(t, queues=2)
    store(consumer, 0, "wanted")
    handle = consumer.handle(invisible_s=10)
    store(consumer, 1, "in another queue")
    foreign = consuming(t, 1)
    for what, whose, text in (
        ("another topic's", consumer, foreign.handle()),
        ("at another topic", consumer.with_topic(foreign.topic), handle),
        ("another group", consumer.with_group(foreign.group), handle),
        ("another queue", consumer, forged(handle, queue=1)),
        ("another pop time", consumer, forged(handle, popped=t.now_ms() + 60_000)),
        ("another start", consumer, forged(handle, start=1)),
    ):
        t.note(what, code_and_message(whose.ack(text)))
    t.wait(9)
    bodies: list[bytes] = []
    for _ in range(3):
        if b"wanted" not in bodies:
            bodies += consumer.received_within(max_messages=1).bodies
    t.note("came again", b"wanted" in bodies)


@grpc_case("ChangeInvisibleDurationActivity.changeInvisibleDuration")
def a_change_to_an_extreme_invisible_duration_is_rejected(t: GrpcContext) -> None:
    """A change to an invisible duration far out of range is rejected, and the handle still acknowledges."""
    consumer = consuming(t, 1)
    handle = consumer.handle()
    for wish in (-315_576_000_000, -0.001, 315_576_000_000, 10**9):
        t.note(f"{wish} s", code_and_message(consumer.change(handle, wish)))
    t.note("acknowledged", consumer.ack(handle).status, pb.OK)


@grpc_case("AckMessageActivity.ackMessage")
def an_ack_may_have_hundreds_of_entries(t: GrpcContext) -> None:
    """An acknowledgement may have hundreds of entries, each with its own status."""
    consumer = consuming(t, 1)
    handle = consumer.handle()
    response = consumer.ack(*["garbage"] * 300, handle)
    t.note("response", code_and_message(response))
    t.note("codes", sorted({int(each.status.code) for each in response.entries}))
    t.note("entries", len(response.entries))
