"""Stops and restarts of a broker."""

from collections.abc import Callable
from contextlib import suppress

from ..deployment.target import Capability
from ..drivers.process import DriverError, Fields
from ..scenario import scenario
from ..sdk.scenario_context import Stage
from ..sdk.sdk_clients import Consumer, Producer, comparison

SECONDS = 120.0
ALL = frozenset({"before0", "before1", "before2", "before3", "before4", "after0"})
GOES_ON_SECONDS = 60.0
"""By then all SDKs have received messages, except those that register with a new proxy after minutes or never."""
INVISIBLE_MS = 10_000
"""Shortest invisible duration that a proxy accepts.

Messages that were received but not acknowledged when the broker stopped are redelivered after it.
"""


def sent_again(s: Stage, producer: Producer, topic: str) -> list[Fields]:
    """Send `after0` until the broker accepts it."""
    sent: list[Fields] = []

    def taken() -> bool:
        with suppress(DriverError):
            sent.extend(producer.send_numbered(topic, 1, "after"))
        return bool(sent)

    s.wait_until(taken, "a send after the restart", seconds=SECONDS)
    return sent


@scenario("BrokerStartup.main", verbs={"send"}, protocol="remoting", capabilities={Capability.RESTART}, alone=True)
def clients_go_on_after_a_restart(s: Stage) -> None:
    """A remoting producer and consumer survive a broker restart, and no message is lost."""
    see_clients_go_on(s, s.place.restart)


def see_clients_go_on(s: Stage, stop_and_start: Callable[[], None]) -> None:
    """Note the lost messages among those sent before the broker stops and after it is back."""
    topic, group = s.pair(s.usual)
    producer = s.producer(topic)
    consumer = s.consumer(group, topic)
    sent = producer.send_numbered(topic, 5, "before")
    s.wait_for(2, consumer, stem="before")
    stop_and_start()
    sent += sent_again(s, producer, topic)
    s.wait_for(1, consumer, stem="after", seconds=SECONDS)
    s.wait_until(lambda: set(consumer.bodies) >= ALL, "all messages", consumers=[consumer], seconds=SECONDS)
    s.see("lost", comparison(sent, [consumer.messages])["lost"])


@scenario(
    "GrpcClientSettingsManager.getClientSettings",
    verbs={"simple"},
    protocol="grpc",
    capabilities={Capability.RESTART},
    alone=True,
)
def clients_of_a_proxy_go_on_after_a_restart(s: Stage) -> None:
    """Sends fail while the proxy is stopped; after its restart the producer continues, and no message is lost.

    A consumer continues once it has sent its settings to the new proxy: at once with Java's SDK and Node's, after
    minutes with Go's and Python's, never with Rust's. A new consumer of its group receives everything.
    """
    topic, group = s.pair("simple")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "simple")
    consumer.invisible_ms = INVISIBLE_MS
    sent = producer.send_numbered(topic, 5, "before")
    s.wait_for(2, consumer, stem="before")
    with s.world.away():
        s.refusal("a send while it is away", lambda: producer.send(topic, "away"), text=False)
    sent += sent_again(s, producer, topic)
    _see_who_goes_on(s, consumer, topic, group, sent)


def _see_who_goes_on(s: Stage, consumer: Consumer, topic: str, group: str, sent: list[Fields]) -> None:
    """Note if a consumer continues on its own, and the lost messages; if not, add a new consumer of its group."""
    consumers = [consumer]

    def all_came() -> bool:
        for each in consumers:
            with suppress(DriverError):  # receives in flight when the broker stopped have failed
                each.look()
        return {body for each in consumers for body in each.bodies} >= ALL

    goes_on = s.comes(all_came, seconds=GOES_ON_SECONDS, passing=s.poll_step)
    s.see("the consumer goes on", goes_on)
    if not goes_on:
        consumers.append(s.consumer(group, topic, consumer.style))
        s.wait_until(all_came, "all messages", passing=s.poll_step)
    s.see("lost", comparison(sent, [each.messages for each in consumers])["lost"])


@scenario(
    "GrpcClientSettingsManager.getClientSettings",
    modes={"concurrent"},
    protocol="grpc",
    capabilities={Capability.RESTART},
    alone=True,
)
def a_push_consumer_goes_on_after_a_restart(s: Stage) -> None:
    """After a proxy restart a push consumer continues on its own, or a new one receives the remaining messages."""
    topic, group = s.pair("concurrent")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "concurrent")
    sent = producer.send_numbered(topic, 5, "before")
    s.wait_for(5, consumer, stem="before")
    s.place.restart()
    sent += sent_again(s, producer, topic)
    _see_who_goes_on(s, consumer, topic, group, sent)


@scenario("PopReviveService.mergeAndRevive", modes={"pop"}, capabilities={Capability.RESTART}, alone=True)
def a_popping_consumer_goes_on_after_a_restart(s: Stage) -> None:
    """After a broker restart a popping consumer receives a failed message again, and new ones."""
    topic, group = s.pair("pop")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "pop", fail={"failed": 1})
    producer.send(topic, "before")
    producer.send(topic, "failed")
    s.wait_for(1, consumer, stem="before")
    s.wait_for(1, consumer, stem="failed")
    s.idle(1.0)
    s.place.restart()
    sent_again(s, producer, topic)
    s.wait_for(1, consumer, stem="after", seconds=SECONDS)
    s.wait_for(2, consumer, stem="failed", seconds=SECONDS)
    s.see("failed", [[message["attempt"], message["ok"]] for message in consumer.of("failed")])
    s.see("before", len(consumer.of("before")))
    s.see("after", len(consumer.of("after")) > 0)
