"""Lite pull consumers, which poll, seek and commit explicitly."""

from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import Consumer, text


def _polled(s: ScenarioContext, consumer: Consumer, last: str) -> list[str]:
    """Poll until a message with body `last` arrives, and return all bodies."""
    bodies: list[str] = []

    def collect() -> bool:
        bodies.extend(text(message) for message in consumer.poll())
        return last in bodies

    s.wait_until(collect, last)
    return bodies


@scenario("DefaultLitePullConsumerImpl.seek", verbs={"lite", "poll", "seek"})
def a_consumer_receives_messages_again_after_a_seek_back(s: ScenarioContext) -> None:
    """After a seek to an earlier offset, a consumer receives the messages from that offset on again."""
    topic, group = s.pair("lite")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "lite")
    producer.send_numbered(topic, 6)
    s.note("polled", _polled(s, consumer, "m5"))
    consumer.driver.call("seek", on=consumer.name, topic=topic, queue=0, offset=3)
    s.note("after the seek", _polled(s, consumer, "m5"))


@scenario("ConsumerManageProcessor.queryConsumerOffset", verbs={"lite", "poll", "commit", "offsets"})
def a_lite_pull_consumer_commits_its_offset_only_on_request(s: ScenarioContext) -> None:
    """Polled messages count as consumed once they are committed, not before."""
    topic, group = s.pair("lite")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "lite")
    producer.send_numbered(topic, 4)
    _polled(s, consumer, "m3")

    def offsets() -> dict[str, object]:
        reply = consumer.driver.call("offsets", on=consumer.name, topic=topic, queue=0)
        return {name: reply.get(name) for name in ("min", "max", "committed")}

    s.note("polled", offsets())
    consumer.driver.call("commit", on=consumer.name)
    s.wait_until(lambda: offsets()["committed"] == 4, "the committed offset")
    s.note("committed", offsets())
