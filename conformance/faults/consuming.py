"""Workloads that consume: stored messages, a transaction that is checked, a message with a changed duration."""

import time

from ..drivers.process import Fields
from .reaction import NO_ERROR, Reaction, time_class
from .situation import Situation
from .situation_context import ANSWER_SECONDS, BROKER, SituationContext
from .workload import DELIVERY_SECONDS, deliveries, error_of, first_error, is_copy, rule_of, settle

INVISIBLE_MS = 10_000
"""The shortest invisible duration that a proxy accepts."""


def consume(context: SituationContext, situation: Situation) -> Reaction:
    """Start a consumer of messages that are already stored in one queue."""
    name = context.new_name("stock")
    topic = context.emulator.topic(name, queues=1, broker=BROKER)
    context.emulator.group(name)
    bodies = [f"{name}-{number}".encode() for number in range(situation.count)]
    for each in bodies:
        topic.send(each)
    begin = time.monotonic()
    arrived: list[float] = []
    is_held = situation.hold_s is not None
    with rule_of(context, situation, name) as rule:
        consumer = context.post_consumer(
            name, name, listener_ms=situation.listener_ms, fails=situation.fails, orderly=situation.orderly
        )

        def is_delivered() -> bool:
            nonlocal is_held
            counts = deliveries(consumer, bodies)
            if is_held and time.monotonic() >= begin + (situation.hold_s or 0) and rule.fired:
                rule.remove()
                is_held = False
            if min(counts) > situation.fails and not arrived:
                arrived.append(time.monotonic() - begin)
            return bool(arrived)

        context.wait_until(is_delivered, DELIVERY_SECONDS)
        settle(context, consumer, bodies, 2 + situation.count * situation.listener_ms / 1000, wanted=lambda: 0)
    counts = deliveries(consumer, bodies)
    first = [next((n for n, each in enumerate(consumer.messages) if is_copy(each, one)), 0) for one in bodies]
    consumer.post_close()
    return Reaction(
        error=NO_ERROR,
        after=time_class(arrived[0] if arrived else None),
        requests=None,
        place=None,
        stored=len(topic.messages),
        deliveries=counts,
        order="kept" if first == sorted(first) else "changed",
    )


def transaction(context: SituationContext, situation: Situation) -> Reaction:
    """Leave a transaction open that the producer commits when the broker checks it."""
    name = context.new_name("payments")
    topic = context.emulator.topic(name, type="TRANSACTION", queues=1, broker=BROKER)
    producer = context.start_producer(name, check="COMMIT")
    consumer = context.start_consumer(name, name)
    content = f"{name}-0".encode()
    with rule_of(context, situation, name):
        begin = time.monotonic()
        reply = context.result(
            context.driver.post("send_tx", on=producer.name, topic=name, body=content, outcome="UNKNOWN", bg=True)
        )
        arrived = context.wait_until(lambda: bool(deliveries(consumer, [content])[0]), DELIVERY_SECONDS)
        taken = time.monotonic() - begin
        settle(context, consumer, [content], 1.5, wanted=lambda: 0)
    context.driver.post("close", on=producer.name, bg=True)
    consumer.post_close()
    return Reaction(
        error=error_of(reply),
        after=time_class(taken if arrived else None),
        requests=None,
        place=None,
        stored=len(topic.messages),
        deliveries=deliveries(consumer, [content]),
        checks=len(producer.checks()),
    )


def postpone(context: SituationContext, situation: Situation) -> Reaction:
    """Receive messages in one batch, change the invisible duration of the last one, and acknowledge all of them.

    The emulator's clock then jumps beyond the invisible duration. A message whose acknowledgement had no effect is
    delivered again.
    """
    name = context.new_name("postponed")
    topic = context.emulator.topic(name, queues=1, broker=BROKER)
    context.emulator.group(name)
    bodies = [f"{name}-{number}".encode() for number in range(situation.count)]
    for each in bodies:
        topic.send(each)
    call = context.driver.call
    received: list[Fields] = []
    with rule_of(context, situation, name):
        begin = time.monotonic()
        subscription = {name: {"expr": "*", "type": "TAG"}}
        call("simple", as_=name, group=name, sub=subscription, await_ms=1000, timeout=ANSWER_SECONDS)
        limits: Fields = {"max": 16, "invisible_ms": INVISIBLE_MS, "timeout": ANSWER_SECONDS}
        while len(received) < len(bodies):
            received += call("receive", on=name, **limits)["messages"]
        call("invisible", on=name, h=received[-1]["h"], ms=INVISIBLE_MS)
        handles = [message["h"] for message in received]
        reply = context.result(context.driver.post("ack", on=name, h=handles))
        taken = time.monotonic() - begin
        context.emulator.clock.advance(f"{2 * INVISIBLE_MS}ms")
        received += call("receive", on=name, **limits)["messages"]
    context.driver.post("close", on=name, bg=True)
    return Reaction(
        error=first_error([reply]),
        after=time_class(taken),
        requests=None,
        place=None,
        stored=len(topic.messages),
        deliveries=[sum(is_copy(message, each) for message in received) for each in bodies],
    )
