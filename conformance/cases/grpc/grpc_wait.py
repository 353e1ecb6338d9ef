"""Waiting receives: their wake-up by messages, the choice among several, and their timeouts."""

from collections.abc import Callable

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb

from ...case import grpc_case
from ...clients.grpc_response import Received
from ...context.grpc import GrpcContext
from ...helpers.consumer import GrpcConsumer, attempts, consuming
from ..pop.pop_retry import ONLY_V2

_HELD_SECONDS = 1.0
"""Seconds after which a receive is certainly held."""


def waiting(consumer: GrpcConsumer, *, await_s: float = 8, **more: object) -> Callable[[], Received]:
    """Start a receive, and return while it is held."""
    pending = consumer.start_receive(await_s=await_s, deadline=await_s + 6, **more)
    consumer.t.wait(_HELD_SECONDS)
    return pending


def store(consumer: GrpcConsumer, queue: int = 0, body: str = "hello", **properties: str) -> None:
    """Store a message in a queue, which only the remoting protocol can choose, and return when it can be read."""
    t = consumer.t
    response = t.store(consumer.topic, body, queue=queue, properties=properties)
    t.until(lambda: t.max_offset(consumer.topic, queue) > int(response["queueOffset"]))


@grpc_case("ReceiveMessageActivity.receiveMessage, PopLongPollingService.notifyMessageArriving")
def a_message_in_any_queue_wakes_up_a_held_receive(t: GrpcContext) -> None:
    """A waiting receive returns as soon as a message is stored in any of eight queues."""
    consumer = consuming(t, queues=8)
    for queue in (0, 3, 7):
        pending = waiting(consumer)
        watch = t.stopwatch()
        store(consumer, queue, f"in queue {queue}")
        received = pending()
        t.note("received", received.bodies)
        t.note("after", watch.between(0, 2))
        consumer.ack(received.handles[0])


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_message_completes_only_one_of_several_held_receives(t: GrpcContext) -> None:
    """Of three waiting receives of a group one gets the message; the others return empty at the end of their time."""
    consumer = consuming(t, queues=4)
    watch = t.stopwatch()
    pending = [consumer.start_receive(await_s=8, deadline=14) for _ in range(3)]
    t.wait(_HELD_SECONDS)
    store(consumer, 2)
    t.wait(7.2)
    t.note("responses", sorted([each().code or 0, len(each().messages)] for each in pending))
    t.note("after", watch.between(7.9, 11))


@grpc_case("ReceiveMessageActivity.receiveMessage")
def ten_held_receives_get_ten_different_messages(t: GrpcContext) -> None:
    """Ten receives of one message each get ten different messages."""
    consumer = consuming(t, queues=4)
    pending = [consumer.start_receive(await_s=12, deadline=18, max_messages=1) for _ in range(10)]
    t.wait(_HELD_SECONDS)
    watch = t.stopwatch()
    for number in range(10):
        store(consumer, number % 4, f"m{number}")
    t.note("received", sorted(body.decode() for each in pending for body in each().bodies))
    t.note("after", watch.between(0, 8))


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_receive_is_held_until_its_long_polling_time_or_deadline(t: GrpcContext) -> None:
    """A waiting receive ends just before its long polling time, at least 5 s, or before its deadline.

    Without a long polling time the settings shorten its deadline.
    """
    consumer = consuming(t, queues=4)
    watch, began = t.stopwatch(), t.now_ms()
    waits = [
        (wish, deadline, about, consumer.start_receive(await_s=wish, deadline=deadline))
        for wish, deadline, about in (
            (0, 10, 4.9),
            (5, 10, 4.9),
            (6, 10, 5.9),
            (20, 5.2, 5.1),
            (20, 8, 7.9),
            (None, 6, 4.9),
            (None, 8, 6.4),
            (None, 10, 8.4),
        )
    ]
    t.wait(8.7)
    for wish, deadline, about, pending in waits:
        response = pending()
        # A busy client may miss a response just before the deadline.
        missed = response.failure is not None and response.failure.grpc == "DEADLINE_EXCEEDED"
        end = watch.stopped_at(round(began + deadline * 1000) if missed else response.delivered_ms)
        t.note(f"wish {wish}, deadline {deadline} s", end.between(about, about + 0.9))


@grpc_case("PopLongPollingService.notifyMessageArriving")
def a_message_with_another_tag_completes_no_held_receive(t: GrpcContext) -> None:
    """A receive waiting with a tag is not completed by messages with other tags."""
    consumer = consuming(t)
    pending = waiting(consumer, expression="A")
    store(consumer, 0, "other", TAGS="B")
    t.wait(1)
    watch = t.stopwatch()
    store(consumer, 0, "wanted", TAGS="A")
    t.note("received", pending().bodies)
    t.note("after", watch.between(0, 2))


@grpc_case("PopLongPollingService.notifyMessageArriving")
def a_message_that_fails_the_sql_filter_completes_no_held_receive(t: GrpcContext) -> None:
    """A receive waiting with SQL is not completed by messages that do not match."""
    consumer = consuming(t)
    pending = waiting(consumer, expression="price > 5", filter_type=pb.SQL)
    store(consumer, 0, "cheap", price="3")
    t.wait(1)
    watch = t.stopwatch()
    store(consumer, 0, "dear", price="7")
    t.note("received", pending().bodies)
    t.note("after", watch.between(0, 2))


@grpc_case("PopLongPollingService.notifyMessageArriving")
def a_receive_is_held_while_no_existing_message_matches(t: GrpcContext) -> None:
    """A receive whose filter matches no existing message waits for its full time."""
    consumer = consuming(t)
    for _ in range(3):
        store(consumer, 0, TAGS="B")
    watch = t.stopwatch()
    pending = consumer.start_receive(await_s=5, deadline=12, expression="A")
    t.wait(5.3)
    t.note("response", pending(), pb.MESSAGE_NOT_FOUND)
    t.note("after", watch.between(4.9, 8))


@grpc_case(
    "ScheduleMessageService.DeliverDelayedMessageTimerTask.executeOnTimeUp, PopLongPollingService.notifyMessageArriving"
)
def a_delivered_timed_message_wakes_up_a_held_receive(t: GrpcContext) -> None:
    """A waiting receive returns when a timed message is delivered."""
    consumer = consuming(t, kind="DELAY")
    sent = t.send(consumer.message(deliver_ms=t.now_ms() + 4000, message_type=pb.DELAY))
    t.note("sent", sent.status, pb.OK)
    watch = t.stopwatch()
    pending = consumer.start_receive(await_s=12, deadline=18)
    t.wait(7)
    t.note("received", pending().bodies)
    t.note("after", watch.between(2, 9))


@grpc_case("EndTransactionProcessor.processRequest, PopLongPollingService.notifyMessageArriving")
def a_commit_wakes_up_a_held_receive(t: GrpcContext) -> None:
    """A waiting receive is not completed by a half message, but by its commit."""
    consumer = consuming(t, kind="TRANSACTION")
    producer = t.producer(consumer.topic)
    pending = waiting(consumer)
    sent = t.send(consumer.message(message_type=pb.TRANSACTION), client=producer)
    t.wait(1)
    watch = t.stopwatch()
    entry = sent.entries[0]
    ended = t.end_transaction(consumer.topic, entry.transaction_id, message_id=entry.message_id, client=producer)
    t.note("ended", ended.status, pb.OK)
    t.note("received", pending().bodies)
    t.note("after", watch.between(0, 2))


@grpc_case("PopReviveService.reviveRetry")
def a_held_receive_returns_a_redelivered_message(t: GrpcContext) -> None:
    """A waiting receive returns a redelivered message, at the latest when its time ends."""
    consumer = consuming(t)
    store(consumer, 0)
    handle = consumer.handle()
    consumer.change(handle, 1)
    watch = t.stopwatch()
    pending = consumer.start_receive(await_s=10, deadline=16)
    t.wait(11)
    again = pending()
    t.note("again", attempts(again))
    t.note("after", watch.between(1, 13))


@grpc_case("PopLongPollingService.notifyMessageArrivingWithRetryTopic", settings=ONLY_V2)
def with_retry_topic_v2_a_redelivered_message_wakes_up_a_held_receive(t: GrpcContext) -> None:
    """With enableRetryTopicV2 a redelivered message completes a waiting receive, with digit 2 in its handle."""
    consumer = consuming(t)
    store(consumer)
    consumer.handle(invisible_s=10)
    watch = t.stopwatch()
    pending = consumer.start_receive(await_s=25, deadline=30)
    t.wait(16)
    t.note("again", pending(), pb.OK)
    t.note("after", watch.between(16, 20))


@grpc_case("ReceiveMessageResponseStreamWriter.writeAndComplete")
def a_cancelled_receive_still_takes_the_next_message(t: GrpcContext) -> None:
    """A cancelled receive stays held: it takes the next message, which is invisible for its duration."""
    consumer = consuming(t)
    request = t.receive_request(consumer.topic, consumer.group, await_s=15, invisible_s=20)
    given_up = t.open_receive(request, client=consumer.client, deadline=20)
    t.wait(_HELD_SECONDS)
    given_up.cancel()
    t.wait(_HELD_SECONDS)
    store(consumer)
    t.wait(_HELD_SECONDS)
    t.note("at once", attempts(consumer.receive_nothing()))
    t.note("later", attempts(consumer.receive_nothing()))
    t.wait(15)
    t.note("after its time", attempts(consumer.received_within()))


@grpc_case("ReceiveMessageResponseStreamWriter.writeAndComplete")
def a_receive_streams_status_messages_and_timestamp(t: GrpcContext) -> None:
    """A receive streams a status, each message and the timestamp. An empty or rejected one has status and timestamp."""
    consumer = consuming(t)
    for number in range(3):
        store(consumer, 0, f"m{number}")
    t.note("three messages", consumer.receive().parts)
    t.note("nothing", consumer.receive_nothing().parts)
    t.note("refused", consumer.receive(invisible_s=1).parts)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_negative_long_polling_time_counts_as_5_seconds(t: GrpcContext) -> None:
    """A negative long polling time counts as 5 s; one of years ends with the deadline."""
    consumer = consuming(t)
    for wish in (-1, -(10**6)):
        watch = t.stopwatch()
        pending = consumer.start_receive(await_s=wish, deadline=12)
        t.wait(5.3)
        t.note(f"{wish} s", pending())
        t.note(f"after {wish} s", watch.between(4.9, 8))
    store(consumer, 0)
    t.note("a year", consumer.receive(await_s=31_536_000, deadline=10).bodies)


@grpc_case("ReceiveMessageActivity.receiveMessage")
def a_rejected_receive_takes_no_message(t: GrpcContext) -> None:
    """Receives with extreme batch sizes or invisible durations that are rejected take no message."""
    consumer = consuming(t)
    store(consumer, 0)
    for size in (-(2**31), -2):
        t.note(f"{size} messages", consumer.receive(max_messages=size))
    for wish in (-(10**9), 10**9, 315_576_000_000):
        response = consumer.receive(invisible_s=wish)
        t.note(f"{wish} s", response, pb.ILLEGAL_INVISIBLE_TIME)
    response = consumer.receive(max_messages=2**31 - 1)
    t.note("2147483647 messages", response.bodies)
