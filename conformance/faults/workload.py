"""The parts that all workloads of the matrix share: the rule, errors, deliveries, and the end of an observation."""

import contextlib
import time
from collections.abc import Callable, Iterator

from rocketmq_testkit.fixtures.views.faults import Rule

from ..drivers.process import DriverError, Fields, body
from ..sdk.sdk_clients import Consumer
from .reaction import NO_ERROR, SILENCE
from .situation import Situation
from .situation_context import SituationContext

DELIVERY_SECONDS = 30.0
QUIET_SECONDS = 0.7
"""A consumer that gets nothing for so long has got everything."""


class NotFired(Exception):
    """The rule of a situation did not act, so nothing was observed."""


@contextlib.contextmanager
def rule_of(context: SituationContext, situation: Situation, name: str = "") -> Iterator[Rule]:
    """Add the rule of a situation for a block. `name`: that of topic and group of the workload."""
    [rule] = context.emulator.faults.load(situation.rule(context.hello["protocol"], name))
    with rule, contextlib.ExitStack() as stack:
        if situation.stops is not None:
            context.emulator.stop_broker(situation.stops)
            stack.callback(context.emulator.start_broker, situation.stops)
        yield rule
        if not rule.fired:
            raise NotFired(f"{situation.kind} with {context.sdk}: the rule never fired: {rule}")


def error_of(reply: Fields | None) -> str:
    """Return class and code of the error in a reply, or that there is none."""
    if reply is None:
        return SILENCE
    if reply.get("ok"):
        return NO_ERROR
    code = reply.get("code")
    return str(reply["kind"]) if code is None else f"{reply['kind']} {code}"


def first_error(replies: list[Fields | None]) -> str:
    """Return the first error of several replies, or that there is none."""
    return next((error for reply in replies if (error := error_of(reply)) != NO_ERROR), NO_ERROR)


def deliveries(consumer: Consumer, bodies: list[bytes], *, crashed: bool = False) -> list[int]:
    """Return how often a consumer has got each body so far. Raises DriverError if a receive failed.

    `crashed`: the brokers have crashed, which may fail the receive in flight; the next call receives again.
    """
    with contextlib.suppress(*[DriverError] if crashed else []):
        consumer.collect()
    return [sum(is_copy(message, each) for message in consumer.messages) for each in bodies]


def is_copy(message: Fields, content: bytes) -> bool:
    """True if the body of a message is this content, padded to its size."""
    return body(message)[: len(content) + 1].rstrip(b" ") == content


def settle(
    context: SituationContext,
    consumer: Consumer,
    bodies: list[bytes],
    least_s: float,
    *,
    wanted: Callable[[], int],
    crashed: bool = False,
) -> None:
    """Wait until the consumer has all that is stored, and nothing changes any more. `crashed`: see `deliveries`."""
    begin = changed = time.monotonic()
    seen: object = None

    def is_settled() -> bool:
        nonlocal seen, changed
        counts = deliveries(consumer, bodies, crashed=crashed)
        now, state = time.monotonic(), (counts, wanted())
        if state != seen:
            seen, changed = state, now
        return now >= begin + least_s and now >= changed + QUIET_SECONDS and sum(counts) >= wanted()

    context.wait_until(is_settled, DELIVERY_SECONDS + least_s)


def stored(context: SituationContext, topic: str, bodies: list[bytes]) -> int:
    """Return the number of messages in a topic that have one of the bodies."""
    return sum(message.body.split(b" ")[0] in bodies for message in context.emulator.messages(topic))
