"""Stops and restarts of a broker."""

from collections.abc import Callable
from contextlib import suppress

from ..deployment.target import Capability
from ..drivers.process import DriverError, Fields
from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import Consumer, Producer, comparison

SECONDS = 120.0
"""Timeout for a send or a message after the broker has restarted."""
ALL = frozenset({"before0", "before1", "before2", "before3", "before4", "after0"})
GOES_ON_SECONDS = 60.0
"""By then all SDKs have received messages, except those that register with a new proxy after minutes or never."""
INVISIBLE_MS = 10_000
"""Shortest invisible duration that a proxy accepts.

Messages that were received but not acknowledged when the broker stopped are redelivered after this time.
"""


def sent_again(s: ScenarioContext, producer: Producer, topic: str) -> list[Fields]:
    """Send `after0` until the broker accepts it."""
    sent: list[Fields] = []

    def taken() -> bool:
        with suppress(DriverError):
            sent.extend(producer.send_numbered(topic, 1, "after"))
        return bool(sent)

    s.wait_until(taken, "a send after the restart", seconds=SECONDS)
    return sent


@scenario("BrokerStartup.main", verbs={"send"}, protocol="remoting", capabilities={Capability.RESTART}, alone=True)
def clients_go_on_after_a_restart(s: ScenarioContext) -> None:
    """A remoting producer and consumer survive a broker restart, and no message is lost."""
    note_clients_go_on(s, s.deployment.restart)


def note_clients_go_on(s: ScenarioContext, stop_and_start: Callable[[], None]) -> None:
    """Note the lost messages among those sent before the broker stops and after it is back."""
    topic, group = s.pair(s.fastest_style)
    producer = s.producer(topic)
    consumer = s.consumer(group, topic)
    sent = producer.send_numbered(topic, 5, "before")
    s.wait_for(2, consumer, prefix="before")
    stop_and_start()
    sent += sent_again(s, producer, topic)
    s.wait_for(1, consumer, prefix="after", seconds=SECONDS)
    s.wait_until(lambda: set(consumer.bodies) >= ALL, "all messages", consumers=[consumer], seconds=SECONDS)
    s.note("lost", comparison(sent, [consumer.messages])["lost"])


@scenario(
    "GrpcClientSettingsManager.getClientSettings",
    verbs={"simple"},
    protocol="grpc",
    capabilities={Capability.RESTART},
    alone=True,
)
def a_grpc_producer_and_simple_consumer_lose_no_message_over_a_restart(s: ScenarioContext) -> None:
    """Sends fail while the proxy is stopped; after its restart the producer continues, and no message is lost.

    A consumer continues once it has sent its settings to the new proxy: at once with Java's SDK and Node's, after
    minutes with Go's and Python's, never with Rust's. A new consumer of its group receives everything.
    """
    topic, group = s.pair("simple")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "simple")
    consumer.invisible_ms = INVISIBLE_MS
    sent = producer.send_numbered(topic, 5, "before")
    s.wait_for(2, consumer, prefix="before")
    with s.admin.stopped():
        s.refusal("a send while it is away", lambda: producer.send(topic, "away"), text=False)
    sent += sent_again(s, producer, topic)
    _note_who_goes_on(s, consumer, topic, group, sent=sent)


def _note_who_goes_on(s: ScenarioContext, consumer: Consumer, topic: str, group: str, *, sent: list[Fields]) -> None:
    """Note if a consumer continues on its own, and the lost messages; if not, add a new consumer of its group."""
    consumers = [consumer]

    def all_came() -> bool:
        for each in consumers:
            with suppress(DriverError):  # receives in flight when the broker stopped have failed
                each.collect()
        return {body for each in consumers for body in each.bodies} >= ALL

    goes_on = s.becomes_true(all_came, seconds=GOES_ON_SECONDS, jump_s=s.poll_step)
    s.note("the consumer goes on", goes_on)
    if not goes_on:
        consumers.append(s.consumer(group, topic, consumer.style))
        s.wait_until(all_came, "all messages", jump_s=s.poll_step)
    s.note("lost", comparison(sent, [each.messages for each in consumers])["lost"])


@scenario(
    "GrpcClientSettingsManager.getClientSettings",
    modes={"concurrent"},
    protocol="grpc",
    capabilities={Capability.RESTART},
    alone=True,
)
def a_grpc_push_consumer_group_loses_no_message_over_a_restart(s: ScenarioContext) -> None:
    """After a proxy restart a push consumer continues on its own, or a new one receives the remaining messages."""
    topic, group = s.pair("concurrent")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "concurrent")
    sent = producer.send_numbered(topic, 5, "before")
    s.wait_for(5, consumer, prefix="before")
    s.deployment.restart()
    sent += sent_again(s, producer, topic)
    _note_who_goes_on(s, consumer, topic, group, sent=sent)


@scenario("PopReviveService.mergeAndRevive", modes={"pop"}, capabilities={Capability.RESTART}, alone=True)
def a_message_failed_by_a_popping_consumer_is_redelivered_after_a_restart(s: ScenarioContext) -> None:
    """After a broker restart a popping consumer receives a failed message again, and new ones."""
    topic, group = s.pair("pop")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "pop", fail={"failed": 1})
    producer.send(topic, "before")
    producer.send(topic, "failed")
    s.wait_for(1, consumer, prefix="before")
    s.wait_for(1, consumer, prefix="failed")
    s.idle(1.0)
    s.deployment.restart()
    sent_again(s, producer, topic)
    s.wait_for(1, consumer, prefix="after", seconds=SECONDS)
    s.wait_for(2, consumer, prefix="failed", seconds=SECONDS)
    s.note("failed", [[message["attempt"], message["ok"]] for message in consumer.with_prefix("failed")])
    s.note("before", len(consumer.with_prefix("before")))
    s.note("after", len(consumer.with_prefix("after")) > 0)
