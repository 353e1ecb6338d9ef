"""Broadcasting: each consumer of a group receives every message."""

from rocketmq_testkit.emulator.message.names import retry_topic

from ..scenario import scenario
from ..sdk.bulk_messages import COUNT, QUEUES, send_bulk
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import comparison, text
from .retry import SHORT_LEVELS

AGAIN_SECONDS = 4.0
"""A message that is sent back is redelivered after slightly more than a second."""


@scenario("RebalanceImpl.rebalanceByTopic", modes={"broadcast"})
def each_broadcasting_consumer_of_a_group_receives_all_messages(s: ScenarioContext) -> None:
    """Two broadcasting consumers of one group each receive all messages."""
    topic, group = s.pair("broadcast", queues=QUEUES)
    producer = s.producer(topic)
    consumers = [s.consumer(group, topic, "broadcast", process=number) for number in range(2)]
    sent = send_bulk(producer, topic)
    for consumer in consumers:
        s.wait_for(COUNT, consumer)
    s.wait_until_idle(*consumers)
    for number, consumer in enumerate(consumers, 1):
        s.note(f"consumer {number}", comparison(sent, [consumer.messages]))


@scenario(
    "ConsumeMessageConcurrentlyService.processConsumeResult",
    modes={"broadcast"},
    settings=SHORT_LEVELS,
    time_passes=True,
)
def a_failed_broadcast_message_is_not_redelivered(s: ScenarioContext) -> None:
    """A message that a broadcasting consumer fails is neither sent back nor redelivered; the next message arrives."""
    topic, group = s.pair("broadcast")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "broadcast", fail={"bad": 9})
    producer.send(topic, "bad")
    s.wait_for(1, consumer)
    producer.send(topic, "good")
    s.wait_for(1, consumer, prefix="good")

    def tried_again() -> bool:
        return len(consumer.messages) > 2 or bool(s.stored(retry_topic(group)))

    # A message that is sent back waits a second here, and would be in the group's retry topic.
    again = s.becomes_true(tried_again, consumers=[consumer], seconds=AGAIN_SECONDS, jump_s=1)
    s.note("tried again", again)
    s.note("received", [[message["ok"], text(message)] for message in consumer.messages])
