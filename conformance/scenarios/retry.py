"""Messages that a listener fails."""

from rocketmq_testkit.emulator.names import dlq_topic, retry_topic

from ..scenario import scenario
from ..stage import Stage

SECONDS = 150.0
"""Remoting clients are given a failed message again after 10 s and after 30 s; waiting polls do not hear of it."""
SHORT_LEVELS = {"messageDelayLevel": " ".join(["1s"] * 18)}
"""What remoting clients send back waits a second, however often it failed."""
RETRIES = 16
OWN_POLICY = {"type": "CUSTOMIZED", "customizedRetryPolicy": {"next": [1000, 3000]}}
"""Delay levels are not for gRPC clients: their group says how long what they fail waits."""
FEW_RETRIES = 3


@scenario("ConsumeMessageConcurrentlyService.processConsumeResult", modes={"concurrent"}, passes=True)
def a_message_is_failed_twice(s: Stage) -> None:
    """A message that a listener fails twice is given to it a third time, and then no more."""
    topic, group = s.topic(), s.group()
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "concurrent", fail={"bad": 2})
    producer.send(topic, "bad", tag="t", keys=["k"])
    s.wait_for(3, consumer, seconds=SECONDS, passing=5)
    s.see("history", [[message["attempt"], message["ok"]] for message in consumer.messages])
    last = consumer.messages[-1]
    s.see("last", {"topic": last["topic"], "tag": last["tag"], "keys": last["keys"]})
    s.see("the same id", len({message["id"] for message in consumer.messages}) == 1)


@scenario(
    "AbstractSendMessageProcessor.consumerSendMsgBack",
    modes={"concurrent"},
    passes=True,
    without={"cpp": "it has no limit of attempts"},
)
def a_message_ends_in_the_dead_letter_queue(s: Stage) -> None:
    """A message that is failed once more than the group allows goes to the group's dead letter queue."""
    topic, group = s.topic(), s.group(retryMaxTimes=1)
    producer = s.producer(topic)
    more = {} if s.grpc else {"max_reconsume": 1}
    consumer = s.consumer(group, topic, "concurrent", fail={"bad": 9}, **more)
    producer.send(topic, "bad", keys=["k"])

    def buried() -> bool:
        return len(s.stored(dlq_topic(group))) == 1

    s.wait_until(buried, "a dead letter", consumers=[consumer], seconds=SECONDS, passing=5)
    s.see("history", [[message["attempt"], message["ok"]] for message in consumer.messages])


def _see_failures(s: Stage, topic: str, group: str) -> None:
    """Let a listener fail a message until it is a dead letter, and note the attempts that it was told of."""
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "concurrent", fail={"bad": RETRIES + 9})
    producer.send(topic, "bad", keys=["k"])

    def buried() -> bool:
        return bool(s.stored(dlq_topic(group)))

    s.wait_until(buried, "a dead letter", consumers=[consumer], seconds=2 * SECONDS, passing=5)
    s.see("attempts", [message["attempt"] for message in consumer.messages])
    [dead] = s.stored(dlq_topic(group))
    s.see("dead letter", [dead.body, dead.properties["KEYS"]])


@scenario(
    "AbstractSendMessageProcessor.consumerSendMsgBack",
    modes={"concurrent"},
    protocol="remoting",
    settings=SHORT_LEVELS,
    passes=True,
    without={"cpp": "it has no limit of attempts"},
)
def a_message_dies_after_sixteen_retries(s: Stage) -> None:
    """A message that always fails is tried seventeen times, which is counted, and then is a dead letter."""
    topic, group = s.topic(), s.group()
    # A client that finds it at its start need not wait until it looks again.
    s.world.topic(name=retry_topic(group), queues=1)
    _see_failures(s, topic, group)


@scenario("CustomizedRetryPolicy.nextDelayDuration", modes={"concurrent"}, protocol="grpc", passes=True)
def a_message_is_tried_by_the_policy_of_its_group(s: Stage) -> None:
    """A message that always fails is tried once more than its group retries, by the times that the group has."""
    # More queues, more polls: one of them begins soon, and finds what has come back.
    _see_failures(s, s.topic(queues=8), s.group(retryMaxTimes=FEW_RETRIES, groupRetryPolicy=OWN_POLICY))


@scenario("ConsumeMessagePopConcurrentlyService.processConsumeResult", modes={"pop"})
def a_popped_message_is_failed(s: Stage) -> None:
    """A popped message that a listener fails comes again."""
    topic, group = s.pair("pop")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "pop", fail={"bad": 1})
    producer.send(topic, "bad")
    s.wait_for(2, consumer, seconds=SECONDS)
    s.see("history", [[message["attempt"], message["ok"]] for message in consumer.messages])
