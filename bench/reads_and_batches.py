"""Steps that `growth.py` measures: batches, messages sent back, read-only requests and searches."""

from collections.abc import Callable

from bench_harness import BODY, BORN_HOST, FAR_MS, BenchHarness, response
from rocketmq_testkit.emulator.operations.consume import (
    FLAG_SUBSCRIPTION,
    Notification,
    PeekMessage,
    PullMessage,
    PullResult,
)
from rocketmq_testkit.emulator.operations.message_queries import ViewMessage
from rocketmq_testkit.emulator.operations.offsets import SearchOffset
from rocketmq_testkit.emulator.operations.send import SendMessage, SendMessageBack
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig
from rocketmq_testkit.emulator.topic.topic_table import BATCH_QUEUE, QUEUE_TYPE
from rocketmq_testkit.remoting.client import batch_body

Work = Callable[[], None]
Step = Callable[[BenchHarness, int], Work]
"""(harness, count) -> function that repeats a step `count` times. Its time is measured, that of preparations is not."""
BATCH_MESSAGES = 32
"""Number of messages in a batch. Of as many pulled messages, one matches EXPRESSION."""
EXPRESSION = "color = 'red' AND size > 98"


def _batches(harness: BenchHarness, topic: str, properties: dict[str, str], count: int) -> Work:
    body = batch_body([(BODY, {"UNIQ_KEY": f"{number:032X}"}) for number in range(BATCH_MESSAGES)])

    def work() -> None:
        for _ in range(count // BATCH_MESSAGES):
            whole = SendMessage("P", topic, 0, body, dict(properties), BORN_HOST, harness.now_ms, batch=True)
            response(harness.submit(whole))

    return work


def batch(harness: BenchHarness, count: int) -> Work:
    """Send batches that are stored message by message; the time is per message."""
    return _batches(harness, "work", {}, count)


def whole_batch(harness: BenchHarness, count: int) -> Work:
    """Send batches, each of which is stored as one record; the time is per message."""
    name = f"whole-{next(harness.names)}"
    config = TopicConfig(name, 1, 1, attributes={QUEUE_TYPE: BATCH_QUEUE})
    response(harness.submit(CreateTopic(config)))
    return _batches(harness, name, {"UNIQ_KEY": "k"}, count)


def sent_back(harness: BenchHarness, count: int) -> Work:
    """Send messages back, to be redelivered after ten seconds."""
    offsets = [harness.sent("work").physical_offset for _ in range(count)]

    def work() -> None:
        for offset in offsets:
            response(harness.submit(SendMessageBack("G", offset, 3)))

    return work


def pulled_by_an_expression(harness: BenchHarness, count: int) -> Work:
    """Pull the one message of 32 that matches an expression; the time is for each of the 32."""
    name = harness.topic(f"colored-{next(harness.names)}")
    for number in range(count):
        harness.sent(name, color="red", size=str(number % BATCH_MESSAGES + 68))

    def work() -> None:
        for offset in range(0, count, BATCH_MESSAGES):
            pull = PullMessage("G", name, 0, offset, 1, FLAG_SUBSCRIPTION, 0, 0, 0, EXPRESSION, "SQL92")
            assert isinstance(response(harness.submit(pull)), PullResult)

    return work


def peeked(harness: BenchHarness, count: int) -> Work:
    """Peek at the next message of a queue, behind those in flight."""
    harness.send("work")

    def work() -> None:
        for _ in range(count):
            response(harness.submit(PeekMessage("G", "work", 0, 1)))

    return work


def notified(harness: BenchHarness, count: int) -> Work:
    """Start a notification that waits, and wake it by a message."""
    name = harness.topic(f"wake-{next(harness.names)}")

    def work() -> None:
        for _ in range(count):
            call = harness.submit(Notification(f"G{next(harness.names)}", name, 0, FAR_MS, harness.now_ms))
            harness.send(name)
            response(call)

    return work


def viewed(harness: BenchHarness, count: int) -> Work:
    """View messages by their commit log offset."""
    offset = harness.sent("work").physical_offset

    def work() -> None:
        for _ in range(count):
            response(harness.submit(ViewMessage(offset)))

    return work


def searched(harness: BenchHarness, count: int) -> Work:
    """Search offsets by time, in a queue that received a message at each of these times."""
    begin_ms, clock = harness.now_ms, harness.engine.scheduler
    for _ in range(count):
        harness.send("work")
        clock.advance_to(clock.now_ms + 1)
    operations = [SearchOffset("work", 0, begin_ms + number, False) for number in range(count)]

    def work() -> None:
        for operation in operations:
            response(harness.submit(operation))

    return work


ROWS: tuple[tuple[str, Step], ...] = (
    ("message is sent in a batch of 32", batch),
    ("message is sent in a batch of 32 that stays one record", whole_batch),
    ("message is sent back", sent_back),
    ("message is skipped by an expression", pulled_by_an_expression),
    ("next message of a queue is peeked at", peeked),
    ("notification waits, message wakes it", notified),
    ("message is viewed by its commit log offset", viewed),
    ("offset is searched by a time", searched),
)
