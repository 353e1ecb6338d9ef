"""Consumers of one group share messages, each group receives all messages, and a consumer that leaves is replaced."""

import itertools

from ..scenario import scenario
from ..sdk.bulk_messages import COUNT, MESSAGE_GROUPS, QUEUES, merged_by_time, order_of_bulk, send_bulk
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import Style, comparison

ROUNDS_MAX = 60
OVERLAP_SECONDS = 0.3
"""Messages delivered to both owners of a queue arrive within this time."""
HAND_OVER_SECONDS = 150.0
"""Messages delivered to an abandoned long poll are redelivered after a minute.

The lock of an ordered queue expires after a minute as well.
"""


def _share_and_hand_over(s: ScenarioContext, style: Style) -> None:
    topic, group = s.pair(style, queues=QUEUES)
    producer = s.producer(topic)
    rest = s.consumer(group, topic, style)
    leaver = s.consumer(group, topic, style, process=1)

    def probe(prefix: str) -> None:
        for number in range(MESSAGE_GROUPS):
            ordered = {"group": f"group-{number}"} if style == "orderly" else {}
            producer.send_numbered(topic, 1, f"{prefix}{number}-", **ordered)

    # Only a shared round, with no message delivered to both, proves that the group has settled: for a moment a queue
    # has two owners, the new one and the one that has not released it yet.
    for number in itertools.count():
        prefix = f"probe{number}-"
        probe(prefix)
        s.wait_for(MESSAGE_GROUPS, rest, leaver, prefix=prefix, seconds=HAND_OVER_SECONDS)
        s.idle(OVERLAP_SECONDS)
        rest.collect()
        leaver.collect()
        if (
            rest.with_prefix(prefix)
            and leaver.with_prefix(prefix)
            and len(rest.with_prefix(prefix)) + len(leaver.with_prefix(prefix)) == MESSAGE_GROUPS
        ):
            break
        s.require(number < ROUNDS_MAX, f"two consumers did not share {topic} in {ROUNDS_MAX} rounds")
    both = send_bulk(producer, topic, style, prefix="both-")
    s.wait_for(COUNT, rest, leaver, prefix="both-", seconds=HAND_OVER_SECONDS)
    # Wait for the last acknowledgements: a consumer that leaves before them leaves messages to be redelivered.
    s.wait_until_idle(rest, leaver)
    if style != "pop":  # popping consumers commit nothing: the broker sets the offset at each pop
        s.until_committed(topic, group)
    s.leave(leaver)
    # Some of these are in the leaver's former queues, which the other consumer has not taken over yet.
    alone = send_bulk(producer, topic, style, prefix="alone-")
    s.wait_for(COUNT, rest, prefix="alone-", seconds=HAND_OVER_SECONDS, jump_s=s.poll_step)
    s.wait_until_idle(rest)
    shares = [rest.with_prefix("both-"), leaver.with_prefix("both-")]
    s.note("shared", comparison(both, shares))
    s.note("both had some", all(shares))
    seen = comparison(alone, [rest.with_prefix("alone-"), leaver.with_prefix("alone-")])
    # Messages first delivered to an abandoned poll arrive with attempt 2.
    s.note("handed over", {name: value for name, value in seen.items() if name != "attempts"})
    if style == "orderly":
        s.note(
            "order",
            {"shared": order_of_bulk(merged_by_time(shares)), "handed over": order_of_bulk(rest.with_prefix("alone-"))},
        )


@scenario("PopMessageProcessor.processRequest", verbs={"simple"})
def two_simple_consumers_share_messages_and_one_continues_alone(s: ScenarioContext) -> None:
    """Two simple consumers of a group share the messages, and one continues alone when the other is closed."""
    _share_and_hand_over(s, "simple")


@scenario("RebalanceImpl.rebalanceByTopic", modes={"concurrent"})
def two_concurrent_consumers_share_messages_and_one_continues_alone(s: ScenarioContext) -> None:
    """Two concurrent push consumers of a group share the messages, and one continues alone when the other is closed."""
    _share_and_hand_over(s, "concurrent")


@scenario(
    "ConsumeMessageOrderlyService.lockMQPeriodically",
    modes={"orderly"},
    without={
        "go-remoting": (
            "a consumer that joins waits a minute until a queue lock expires; queue_locks.py tests one that leaves"
        ),
        "cpp": ("a remaining consumer waits a minute until a queue lock expires; queue_locks.py tests one that joins"),
    },
)
def two_orderly_consumers_share_messages_and_one_continues_alone(s: ScenarioContext) -> None:
    """Two orderly push consumers of a group share the messages, and one continues alone when the other is closed."""
    _share_and_hand_over(s, "orderly")


@scenario("QueryAssignmentProcessor.doLoadBalance", modes={"pop"})
def two_popping_consumers_share_messages_and_one_continues_alone(s: ScenarioContext) -> None:
    """Two popping push consumers of a group share the messages, and one continues alone when the other is closed."""
    _share_and_hand_over(s, "pop")


@scenario("DefaultLitePullConsumerImpl.updateAssignedMessageQueue", verbs={"lite", "poll", "commit"})
def two_lite_pull_consumers_share_messages_and_one_continues_alone(s: ScenarioContext) -> None:
    """Two lite pull consumers of a group share the messages, and one continues alone when the other is closed."""
    _share_and_hand_over(s, "lite")


@scenario("ConsumerOffsetManager.commitOffset", verbs={"send"})
def two_groups_each_receive_all_messages(s: ScenarioContext) -> None:
    """Two groups subscribed to a topic each receive all of its messages."""
    topic = s.topic(queues=QUEUES)
    producer = s.producer(topic)
    consumers = [s.consumer(s.group(), topic, process=number) for number in range(2)]
    sent = send_bulk(producer, topic)
    for consumer in consumers:
        s.wait_for(COUNT, consumer)
    s.wait_until_idle(*consumers)
    for number, consumer in enumerate(consumers, 1):
        s.note(f"group {number}", comparison(sent, [consumer.messages]))
