"""The four uses of an SDK: each meets the rule of a situation, and returns the reaction."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future

from rocketmq_testkit.emulator.faults.fault import KINDS
from rocketmq_testkit.fixtures.views.faults import Rule

from ..drivers.process import Fields, body
from ..sdk.sdk_clients import Consumer, Producer
from .reaction import NO_ERROR, SILENCE, Cell, Impossible, Reaction, time_class
from .situation import Situation
from .situations import SEND
from .watch import Watch, place
from .world import ANSWER_SECONDS, World

DELIVERY_SECONDS = 30.0
QUIET_SECONDS = 0.7
"""A consumer that gets nothing for so long has got everything."""
VERBS: Mapping[str, frozenset[str]] = {"transaction": frozenset({"send_tx"})}
"""Verbs that a use needs besides those that all SDKs have."""


def observe(world: World, situation: Situation) -> Cell:
    """Run a situation with the SDK of a world. Raises NotFired if its rule did not act."""
    reason = obstacle(situation, world.hello)
    if reason:
        return Impossible(reason)
    return USES[situation.use](world, situation)


def obstacle(situation: Situation, hello: Fields) -> str:
    """Return why the fault cannot reach an SDK with this hello; empty if it can."""
    protocols = KINDS[situation.kind].KIND.protocols
    if hello["protocol"] not in protocols:
        return f"only {' and '.join(NAMES[each] for each in protocols)} has this fault"
    lacking = sorted(VERBS.get(situation.use, frozenset()) - set(hello["verbs"]))
    return "the SDK has no transactions" if lacking else ""


NAMES = {"remoting": "remoting", "grpc": "gRPC"}


class NotFired(Exception):
    """The rule of a situation did not act, so nothing was observed."""


@contextlib.contextmanager
def _rule(world: World, situation: Situation, name: str = "") -> Iterator[Rule]:
    """Add the rule of a situation for a block. `name`: that of topic and group of the workload."""
    [rule] = world.emulator.faults.load(situation.rule(world.hello["protocol"], name))
    with rule, contextlib.ExitStack() as stack:
        if situation.stops is not None:
            world.emulator.stop_broker(situation.stops)
            stack.callback(world.emulator.start_broker, situation.stops)
        yield rule
        if not rule.fired:
            raise NotFired(f"{situation.kind} with {world.sdk}: the rule never fired: {rule}")


def _error(reply: Fields | None) -> str:
    if reply is None:
        return SILENCE
    if reply.get("ok"):
        return NO_ERROR
    code = reply.get("code")
    return str(reply["kind"]) if code is None else f"{reply['kind']} {code}"


def _first_error(replies: list[Fields | None]) -> str:
    return next((error for reply in replies if (error := _error(reply)) != NO_ERROR), NO_ERROR)


def _deliveries(consumer: Consumer, bodies: list[bytes]) -> list[int]:
    consumer.collect()
    return [sum(_starts(message, each) for message in consumer.messages) for each in bodies]


def _starts(message: Fields, content: bytes) -> bool:
    return body(message)[: len(content) + 1].rstrip(b" ") == content


def _settle(world: World, consumer: Consumer, bodies: list[bytes], least_s: float, wanted: Callable[[], int]) -> None:
    """Wait until the consumer has all that is stored, and nothing changes any more."""
    begin = changed = time.monotonic()
    seen: object = None

    def is_settled() -> bool:
        nonlocal seen, changed
        counts = _deliveries(consumer, bodies)
        now, state = time.monotonic(), (counts, wanted())
        if state != seen:
            seen, changed = state, now
        return now >= begin + least_s and now >= changed + QUIET_SECONDS and sum(counts) >= wanted()

    world.wait_until(is_settled, DELIVERY_SECONDS + least_s)


def _stored(world: World, topic: str, bodies: list[bytes]) -> int:
    return sum(message.body.split(b" ")[0] in bodies for message in world.emulator.messages(topic))


def send(world: World, situation: Situation) -> Reaction:
    """Send the messages of a situation with a producer that has sent before."""
    producer = world.start_producer(world.ORDERS)
    _send_whole(producer, world.ORDERS, b"before", 0)
    with _watch(world) as watch, _rule(world, situation):
        reaction = _sent(world, situation, producer, watch, time.monotonic())
    world.driver.post("close", on=producer.name, bg=True)
    return reaction


def start(world: World, situation: Situation) -> Reaction:
    """Start a producer and send the first message."""
    with _watch(world) as watch, _rule(world, situation):
        begin = time.monotonic()
        name = world.new_name("p")
        made = world.driver.post("producer", as_=name, topics=[world.ORDERS], group=f"group-{name}", bg=True)
        reply = world.result(made)
        if _error(reply) != NO_ERROR:
            taken = time.monotonic() - begin
            return Reaction(_error(reply), time_class(None if reply is None else taken), None, None, 0, [0])
        reaction = _sent(world, situation, Producer(world.driver, name, name), watch, begin)
    world.driver.post("close", on=name, bg=True)
    return reaction


@contextlib.contextmanager
def _watch(world: World) -> Iterator[Watch]:
    """Record the sends of a block. Enter it before the rule: rules act in the order in which they are added."""
    watch = Watch()
    with world.emulator.faults.add(watch, operation=SEND, topic=world.ORDERS, optional=True):
        yield watch


def _sent(world: World, situation: Situation, producer: Producer, watch: Watch, begin: float) -> Reaction:
    stem = world.new_name(situation.kind)
    bodies = [f"{stem}-{number}".encode() for number in range(situation.count)]
    replies, taken = _replies(world, situation, producer, bodies, begin)
    if situation.crashes:
        for broker in world.emulator.brokers:
            world.emulator.crash(broker)
    _settle(world, world.consumer, bodies, situation.watch_s, lambda: _stored(world, world.ORDERS, bodies))
    single = situation.count == 1
    return Reaction(
        error=_first_error(replies),
        after=time_class(taken),
        requests=len(watch.arrivals),
        place=place(watch.arrivals, 0) if single else None,
        stored=_stored(world, world.ORDERS, bodies),
        deliveries=_deliveries(world.consumer, bodies),
    )


def _replies(
    world: World, situation: Situation, producer: Producer, bodies: list[bytes], begin: float
) -> tuple[list[Fields | None], float | None]:
    """Send all messages. Returns the replies, and the time until the first error or the last reply."""
    pending: list[Future[Fields]] = []
    replies: list[Fields | None] = []
    for number, content in enumerate(bodies):
        if situation.pause_s and number == len(bodies) - 1:
            world.wait_until(lambda: False, situation.pause_s)
            begin = time.monotonic()
        pending.append(_post(producer, world.ORDERS, content, situation.size))
        if not situation.together:
            replies.append(world.result(pending[-1]))
            if _error(replies[-1]) != NO_ERROR:
                break
    if situation.together:
        replies = [world.result(each) for each in pending]
    return replies, None if None in replies else time.monotonic() - begin


def _whole(content: bytes, size: int) -> bytes:
    return content + b" " * (size - len(content))


def _post(producer: Producer, topic: str, content: bytes, size: int) -> Future[Fields]:
    return producer.driver.post("send", on=producer.name, topic=topic, body=_whole(content, size), bg=True)


def _send_whole(producer: Producer, topic: str, content: bytes, size: int) -> None:
    producer.driver.call("send", on=producer.name, topic=topic, body=_whole(content, size), timeout=ANSWER_SECONDS)


def consume(world: World, situation: Situation) -> Reaction:
    """Start a consumer of messages that one queue holds already."""
    name = world.new_name("stock")
    topic = world.emulator.topic(name, queues=1, broker="broker-a")
    world.emulator.group(name)
    bodies = [f"{name}-{number}".encode() for number in range(situation.count)]
    for each in bodies:
        topic.send(each)
    begin = time.monotonic()
    arrived: list[float] = []
    with _rule(world, situation, name) as rule:
        consumer = world.post_consumer(
            name, name, listener_ms=situation.listener_ms, fails=situation.fails, orderly=situation.orderly
        )

        def is_delivered() -> bool:
            counts = _deliveries(consumer, bodies)
            if situation.hold_s is not None and time.monotonic() >= begin + situation.hold_s and rule.fired:
                world.emulator.run_on_loop(lambda host: host.rules.discard(rule.name))
            if min(counts) > situation.fails and not arrived:
                arrived.append(time.monotonic() - begin)
            return bool(arrived)

        world.wait_until(is_delivered, DELIVERY_SECONDS)
        _settle(world, consumer, bodies, 2 + situation.count * situation.listener_ms / 1000, lambda: 0)
    counts = _deliveries(consumer, bodies)
    first = [next((n for n, each in enumerate(consumer.messages) if _starts(each, one)), 0) for one in bodies]
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


def transaction(world: World, situation: Situation) -> Reaction:
    """Leave a transaction open that the producer commits when the broker checks it."""
    name = world.new_name("payments")
    topic = world.emulator.topic(name, type="TRANSACTION", queues=1, broker="broker-a")
    producer = world.start_producer(name, check="COMMIT")
    consumer = world.start_consumer(name, name)
    content = f"{name}-0".encode()
    with _rule(world, situation, name):
        begin = time.monotonic()
        reply = world.result(
            world.driver.post("send_tx", on=producer.name, topic=name, body=content, outcome="UNKNOWN", bg=True)
        )
        arrived = world.wait_until(lambda: bool(_deliveries(consumer, [content])[0]), DELIVERY_SECONDS)
        taken = time.monotonic() - begin
        _settle(world, consumer, [content], 1.5, lambda: 0)
    world.driver.post("close", on=producer.name, bg=True)
    consumer.post_close()
    return Reaction(
        error=_error(reply),
        after=time_class(taken if arrived else None),
        requests=None,
        place=None,
        stored=len(topic.messages),
        deliveries=_deliveries(consumer, [content]),
        checks=len(producer.checks()),
    )


USES: Mapping[str, Callable[[World, Situation], Reaction]] = {
    "send": send,
    "consume": consume,
    "transaction": transaction,
    "start": start,
}
