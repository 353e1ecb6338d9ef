"""Handover of an ordered queue: once a consumer releases the lock, the next one does not wait for its expiry."""

import itertools

from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..scenario import scenario
from ..sdk.bulk_messages import COUNT, QUEUES, merged_by_time, order_of_bulk, send_bulk
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import comparison, text

ROUNDS_MAX = 60
OVERLAP_SECONDS = 0.3
SECONDS = 120.0
"""Timeout for messages of a queue that changes its owner, twice as long as the broker keeps an unreleased lock."""
_JAVA = dict.fromkeys(
    ("java-remoting", "java-remoting-4.9"),
    "groups.two_orderly_consumers_share_messages_and_one_continues_alone shows both, leaving and joining",
)
KEEPS_ITS_LOCKS = "its rebalance does not unlock queues, so a consumer that joins waits a minute until the lock expires"
FORGETS_THE_FIRST = (
    "its shutdown does not unlock a broker's first queue, so a remaining consumer waits a minute until the lock expires"
)


@scenario(
    "ConsumeMessageOrderlyService.unlockAllMQ",
    modes={"orderly"},
    protocol="remoting",
    without={**_JAVA, "cpp": FORGETS_THE_FIRST},
)
def a_consumer_that_leaves_hands_its_queue_over(s: ScenarioContext) -> None:
    """A closed consumer releases its lock, and another consumer of the group that had no queue continues at once."""
    topic, group = s.pair("orderly")
    producer = s.producer(topic)
    leaver = s.consumer(group, topic, "orderly")
    producer.send_numbered(topic, 4, "alone", group="one")
    s.wait_for(4, leaver, prefix="alone")
    # In the same process: client ids then sort in order of creation, and the first client has the queue.
    waiter = s.consumer(group, topic, "orderly")

    def both_known() -> bool:
        response = s.admin.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group})
        return response.code == 0 and len(response.json["consumerIdList"]) == 2

    s.wait_until(both_known, "two consumers", consumers=[leaver, waiter])
    producer.send_numbered(topic, 4, "both", group="one")
    s.wait_for(4, leaver, prefix="both")
    s.until_committed(topic, group)
    s.leave(leaver)
    producer.send_numbered(topic, 4, "left", group="one")
    s.wait_for(4, waiter, prefix="left", seconds=SECONDS)
    s.wait_until_idle(waiter)
    s.note("who left", [text(message) for message in leaver.messages])
    s.note("who stayed", [text(message) for message in waiter.messages])


@scenario(
    "RebalancePushImpl.removeUnnecessaryMessageQueue",
    modes={"orderly"},
    protocol="remoting",
    without={**_JAVA, "go-remoting": KEEPS_ITS_LOCKS},
)
def a_consumer_that_joins_takes_queues_over(s: ScenarioContext) -> None:
    """A consumer releases the locks of queues that it loses, and a joining consumer takes them over soon, in order."""
    topic, group = s.pair("orderly", queues=QUEUES)
    producer = s.producer(topic)
    first = s.consumer(group, topic, "orderly")
    alone = send_bulk(producer, topic, "orderly", prefix="alone-")
    s.wait_for(COUNT, first, prefix="alone-")
    s.until_committed(topic, group)
    second = s.consumer(group, topic, "orderly", process=1)
    for number in itertools.count():
        prefix = f"probe{number}-"
        for queue in range(QUEUES):
            producer.send(topic, prefix, queue=queue)
        s.wait_for(QUEUES, first, second, prefix=prefix, seconds=SECONDS)
        s.idle(OVERLAP_SECONDS)
        first.collect()
        second.collect()
        if second.with_prefix(prefix) and len(first.with_prefix(prefix)) + len(second.with_prefix(prefix)) == QUEUES:
            break
        s.require(number < ROUNDS_MAX, f"two consumers did not share {topic} in {ROUNDS_MAX} rounds")
    both = send_bulk(producer, topic, "orderly", prefix="both-")
    s.wait_for(COUNT, first, second, prefix="both-", seconds=SECONDS)
    s.wait_until_idle(first, second)
    shares = [first.with_prefix("both-"), second.with_prefix("both-")]
    s.note("alone", comparison(alone, [first.with_prefix("alone-"), second.with_prefix("alone-")]))
    s.note("shared", comparison(both, shares))
    s.note("both had some", all(shares))
    s.note("order", order_of_bulk(merged_by_time(shares)))
