"""Workloads that send: with a producer that has sent before, or with a new one."""

import contextlib
import functools
import time
from collections.abc import Iterator
from concurrent.futures import Future

from ..drivers.process import Fields
from ..sdk.sdk_clients import Producer
from .reaction import NO_ERROR, Reaction, time_class
from .situation import Situation
from .situation_context import ANSWER_SECONDS, SituationContext
from .situations import SEND
from .watch import Watch, place
from .workload import deliveries, error_of, first_error, rule_of, settle, stored


def send(context: SituationContext, situation: Situation) -> Reaction:
    """Send the messages of a situation with a producer that has sent before."""
    producer = context.start_producer(context.ORDERS)
    _send_whole(producer, context.ORDERS, b"before", 0)
    with _watch(context) as watch, rule_of(context, situation):
        reaction = _sent(context, situation, producer, watch, begin=time.monotonic())
    context.driver.post("close", on=producer.name, bg=True)
    return reaction


def start(context: SituationContext, situation: Situation) -> Reaction:
    """Start a producer and send the first message."""
    with context.driver_of(fresh=situation.fresh) as driver:
        with _watch(context) as watch, rule_of(context, situation):
            begin = time.monotonic()
            name = context.new_name("p")
            made = driver.post("producer", as_=name, topics=[context.ORDERS], group=f"group-{name}", bg=True)
            reply = context.result(made)
            if error_of(reply) != NO_ERROR:
                taken = None if reply is None else time.monotonic() - begin
                return Reaction(
                    error_of(reply), time_class(taken), None, None, stored=0, deliveries=[0] * situation.count
                )
            reaction = _sent(context, situation, Producer(driver, name, name), watch, begin=begin)
        driver.post("close", on=name, bg=True)
    return reaction


@contextlib.contextmanager
def _watch(context: SituationContext) -> Iterator[Watch]:
    """Record the sends of a block. Enter it before the rule: rules act in the order in which they are added."""
    watch = Watch()
    with context.emulator.faults.add(watch, operation=SEND, topic=context.ORDERS, optional=True):
        yield watch


def _sent(
    context: SituationContext, situation: Situation, producer: Producer, watch: Watch, *, begin: float
) -> Reaction:
    prefix = context.new_name(situation.kind)
    bodies = [f"{prefix}-{number}".encode() for number in range(situation.count)]
    stored_now = functools.partial(stored, context, context.ORDERS, bodies)
    replies, taken = _replies(context, situation, producer, bodies, begin=begin)
    if situation.crashes:
        # Otherwise it depends on the machine whether the consumer gets the messages before the crash.
        settle(context, context.consumer, bodies, 0, wanted=stored_now)
        for broker in context.emulator.brokers:
            context.emulator.crash(broker)
    settle(context, context.consumer, bodies, situation.watch_s, wanted=stored_now, crashed=situation.crashes)
    single = situation.count == 1
    return Reaction(
        error=first_error(replies),
        after=time_class(taken),
        requests=len(watch.arrivals),
        place=place(watch.arrivals, 0) if single else None,
        stored=stored_now(),
        deliveries=deliveries(context.consumer, bodies, crashed=situation.crashes),
    )


def _replies(
    context: SituationContext, situation: Situation, producer: Producer, bodies: list[bytes], *, begin: float
) -> tuple[list[Fields | None], float | None]:
    """Send all messages. Returns the replies, and the time until the first error or the last reply."""
    pending: list[Future[Fields]] = []
    replies: list[Fields | None] = []
    for number, content in enumerate(bodies):
        if situation.pause_s and number == len(bodies) - 1:
            context.wait_until(lambda: False, situation.pause_s)
            begin = time.monotonic()
        pending.append(_post(producer, context.ORDERS, content, situation.size))
        if not situation.together:
            replies.append(context.result(pending[-1]))
            if error_of(replies[-1]) != NO_ERROR:
                break
    if situation.together:
        replies = [context.result(each) for each in pending]
    return replies, None if None in replies else time.monotonic() - begin


def _whole(content: bytes, size: int) -> bytes:
    return content + b" " * (size - len(content))


def _post(producer: Producer, topic: str, content: bytes, size: int) -> Future[Fields]:
    return producer.driver.post("send", on=producer.name, topic=topic, body=_whole(content, size), bg=True)


def _send_whole(producer: Producer, topic: str, content: bytes, size: int) -> None:
    producer.driver.call("send", on=producer.name, topic=topic, body=_whole(content, size), timeout=ANSWER_SECONDS)
