"""A broker that stops and comes back."""

from ..actors import comparison
from ..drivers.process import DriverError
from ..scenario import scenario
from ..stage import Stage
from ..targets.target import Capability

SECONDS = 120.0


# A restarted proxy has forgotten the settings of gRPC consumers, and some SDKs send them every five minutes only.
@scenario("BrokerStartup.main", verbs={"send"}, protocol="remoting", capabilities={Capability.RESTART}, alone=True)
def clients_go_on_after_a_restart(s: Stage) -> None:
    """Producer and consumer live through a restart of the broker: nothing that was sent is lost."""
    topic, group = s.pair(s.usual)
    producer = s.producer(topic)
    consumer = s.consumer(group, topic)
    sent = producer.send_numbered(topic, 5, "before")
    s.wait_for(2, consumer, stem="before")
    s.place.restart()

    def send_again() -> bool:
        try:
            sent.extend(producer.send_numbered(topic, 1, "after"))
        except DriverError:
            return False
        return True

    s.wait_until(send_again, "a send after the restart", seconds=SECONDS)
    s.wait_for(1, consumer, stem="after", seconds=SECONDS)
    s.wait_until(
        lambda: {"before0", "before1", "before2", "before3", "before4", "after0"} <= set(consumer.bodies),
        "all messages",
        consumers=[consumer],
        seconds=SECONDS,
    )
    s.see("lost", comparison(sent, [consumer.messages])["lost"])


@scenario("PopReviveService.mergeAndRevive", modes={"pop"}, capabilities={Capability.RESTART}, alone=True)
def a_popping_consumer_goes_on_after_a_restart(s: Stage) -> None:
    """A popping consumer lives through a restart of the broker: what it failed before comes again, and what is new."""
    topic, group = s.pair("pop")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "pop", fail={"failed": 1})
    producer.send(topic, "before")
    producer.send(topic, "failed")
    s.wait_for(1, consumer, stem="before")
    s.wait_for(1, consumer, stem="failed")
    s.idle(1.0)
    s.place.restart()

    def send_again() -> bool:
        try:
            producer.send(topic, "after")
        except DriverError:
            return False
        return True

    s.wait_until(send_again, "a send after the restart", seconds=SECONDS)
    s.wait_for(1, consumer, stem="after", seconds=SECONDS)
    s.wait_for(2, consumer, stem="failed", seconds=SECONDS)
    s.see("failed", [[message["attempt"], message["ok"]] for message in consumer.of("failed")])
    s.see("before", len(consumer.of("before")))
    s.see("after", len(consumer.of("after")) > 0)
