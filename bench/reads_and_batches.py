"""Growth of batches, send-backs, read-only requests and searches: steps for `growth.py`."""

from collections.abc import Callable

from rocketmq_testkit.emulator import operations as ops
from rocketmq_testkit.emulator.engine import DirectCall
from rocketmq_testkit.emulator.topic.topic_table import BATCH_QUEUE, QUEUE_TYPE
from rocketmq_testkit.remoting.client import batch_body
from world import BODY, FAR_MS, World

Work = Callable[[], None]
Step = Callable[[World, int], Work]
TOGETHER = 32
"""Messages of a batch."""
EXPRESSION = "color = 'red' AND size > 98"
BRINGS_SUBSCRIPTION = 4
"""System flag of a pull with an inline subscription."""


def answer(call: DirectCall) -> ops.Result:
    """Return the result of an operation. Raises AssertionError for an error."""
    assert isinstance(call.outcome, ops.Result), call.outcome
    return call.outcome


def sent(world: World, topic: str, **properties: str) -> ops.SendResult:
    """Send a message and return the result with its offsets."""
    message = ops.SendMessage("P", topic, 0, BODY, {"UNIQ_KEY": "k", **properties}, ("10.0.0.1", 1), world.now_ms)
    stored = answer(world.submit(message))
    assert isinstance(stored, ops.SendResult)
    return stored


def _batches(world: World, topic: str, properties: dict[str, str], count: int) -> Work:
    body = batch_body([(BODY, {"UNIQ_KEY": f"{number:032X}"}) for number in range(TOGETHER)])

    def work() -> None:
        for _ in range(count // TOGETHER):
            whole = ops.SendMessage("P", topic, 0, body, dict(properties), ("10.0.0.1", 1), world.now_ms, batch=True)
            answer(world.submit(whole))

    return work


def batch(world: World, count: int) -> Work:
    """Send batches that are stored message by message; the time is per message."""
    return _batches(world, "work", {}, count)


def whole_batch(world: World, count: int) -> Work:
    """Send batches that are stored as one record; the time is per message."""
    name = f"whole-{next(world.names)}"
    config = ops.TopicConfig(name, 1, 1, attributes={QUEUE_TYPE: BATCH_QUEUE})
    answer(world.submit(ops.CreateTopic(config)))
    return _batches(world, name, {"UNIQ_KEY": "k"}, count)


def sent_back(world: World, count: int) -> Work:
    """Send messages back that are retried after ten seconds."""
    offsets = [sent(world, "work").physical_offset for _ in range(count)]

    def work() -> None:
        for offset in offsets:
            answer(world.submit(ops.SendMessageBack("G", offset, 3)))

    return work


def pulled_by_an_expression(world: World, count: int) -> Work:
    """Pull a message that matches an expression, among others that do not; the time is per filtered message."""
    name = world.topic(f"colored-{next(world.names)}")
    for number in range(count):
        sent(world, name, color="red", size=str(number % TOGETHER + 68))

    def work() -> None:
        for offset in range(0, count, TOGETHER):
            pull = ops.PullMessage("G", name, 0, offset, 1, BRINGS_SUBSCRIPTION, 0, 0, 0, EXPRESSION, "SQL92")
            assert isinstance(answer(world.submit(pull)), ops.PullResult)

    return work


def peeked(world: World, count: int) -> Work:
    """Peek at the next message of a queue whose other messages are all in flight."""
    world.send("work")

    def work() -> None:
        for _ in range(count):
            answer(world.submit(ops.PeekMessage("G", "work", 0, 1)))

    return work


def notified(world: World, count: int) -> Work:
    """Start a notification that waits, and wake it by a message."""
    name = world.topic(f"wake-{next(world.names)}")

    def work() -> None:
        for _ in range(count):
            call = world.submit(ops.Notification(f"G{next(world.names)}", name, 0, FAR_MS, world.now_ms))
            world.send(name)
            answer(call)

    return work


def viewed(world: World, count: int) -> Work:
    """View messages by their commit log offset."""
    offset = sent(world, "work").physical_offset

    def work() -> None:
        for _ in range(count):
            answer(world.submit(ops.ViewMessage(offset)))

    return work


def searched(world: World, count: int) -> Work:
    """Search offsets by times in a queue that received messages during all that time."""
    begin_ms, clock = world.now_ms, world.engine.scheduler
    for _ in range(count):
        world.send("work")
        clock.advance_to(clock.now_ms + 1)
    operations = [ops.SearchOffset("work", 0, begin_ms + number, False) for number in range(count)]

    def work() -> None:
        for operation in operations:
            answer(world.submit(operation))

    return work


ROWS: tuple[tuple[str, Step], ...] = (
    ("message is sent in a batch of 32", batch),
    ("message is sent in a batch of 32 that stays one record", whole_batch),
    ("message is sent back", sent_back),
    ("message is passed over by an expression", pulled_by_an_expression),
    ("next message of a queue is peeked at", peeked),
    ("notification waits, message wakes it", notified),
    ("message is viewed by its place", viewed),
    ("offset is searched by a time", searched),
)
