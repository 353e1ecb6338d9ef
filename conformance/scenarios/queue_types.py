"""Topics with other kinds of queues: compacted topics, and batch consume queues."""

from ..clients.remoting_topics import route_request, topic_request
from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import Consumer, text


def _topic_with(s: ScenarioContext, attribute: str) -> str:
    """Create a topic with one queue and an attribute."""
    topic, admin = s.admin.new(), s.admin
    made = topic_request(topic, queues=1, attributes=f"+message.type=NORMAL,+{attribute}")
    s.require(admin.request(*made).code == 0, f"{topic} was not made")
    s.wait_until(lambda: admin.request(*route_request(topic), to=admin.namesrv).code == 0, "its route")
    return topic


def _bodies(consumer: Consumer) -> list[str]:
    return sorted(text(message) for message in consumer.messages)


@scenario("CompactionLog.getMessage", modes={"concurrent"})
def a_compacted_topic_is_consumed_by_tag(s: ScenarioContext) -> None:
    """A broker returns all messages of a compacted topic, and the SDK or the proxy filters them by tag."""
    topic, group = _topic_with(s, "cleanup.policy=COMPACTION"), s.group()
    producer = s.producer(topic)
    consumer = s.consumer(group, {topic: "red"}, "concurrent")
    s.refusal("without a key", lambda: producer.send(topic, "no key", tag="red"))
    for tag in ("red", "blue", "red"):
        producer.send(topic, f"{tag}", tag=tag, keys=["k"])
    s.wait_for(2, consumer, prefix="red")
    s.wait_until_idle(consumer)
    s.note("given", _bodies(consumer))


@scenario("MessageDecoder.decodeMessage", verbs={"send_batch"}, modes={"concurrent"}, protocol="remoting")
def a_batch_stored_as_one_record_is_unwrapped_except_with_cpp(s: ScenarioContext) -> None:
    """A batch that is one record in a batch consume queue reaches a listener as its messages, if the SDK unwraps it."""
    topic, group = _topic_with(s, "queue.type=BatchCQ"), s.group()
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "concurrent")
    messages = [{"topic": topic, "body": each.encode(), "tag": each} for each in ("one", "two", "three")]
    sent = producer.driver.call("send_batch", on=producer.name, messages=messages)
    s.note("ids", len(sent["ids"]))
    producer.send(topic, "last")
    s.wait_for(1, consumer, prefix="last")
    s.wait_until_idle(consumer)
    s.note("given", sorted((message["offset"], text(message)[:20]) for message in consumer.messages))
