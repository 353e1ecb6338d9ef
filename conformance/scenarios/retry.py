"""Retries of messages that a listener fails."""

import time

from rocketmq_testkit.emulator.message.names import dlq_topic, pop_retry_topic, retry_topic
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..scenario import scenario
from ..sdk.scenario_context import ScenarioContext
from ..sdk.sdk_clients import Consumer, text

SECONDS = 150.0
"""Timeout: remoting clients receive a failed message again after 10 s, 30 s, or later, as it wakes no waiting poll."""
SHORT_LEVELS = {"messageDelayLevel": " ".join(["1s"] * 18)}
"""Messages sent back by remoting clients wait one second, at every attempt."""
RETRIES = 16
OWN_POLICY = {"type": "CUSTOMIZED", "customizedRetryPolicy": {"next": [1000, 3000]}}
"""gRPC clients have no delay levels: their group's retry policy determines the delay of a failed message."""
SHORT_POLICY = {"type": "CUSTOMIZED", "customizedRetryPolicy": {"next": [1000]}}
GROWING_POLICY = {"type": "EXPONENTIAL", "exponentialRetryPolicy": {"initial": 1000, "max": 3000, "multiplier": 2}}
FEW_RETRIES = 3
TICK_SECONDS = 0.5
GONE_SECONDS = 4.0
"""A message that is sent back and kept is redelivered after slightly more than a second."""
INVISIBLE_MS = 10_000
"""The shortest invisible duration that a proxy accepts."""
OLD_MS = 5 * 3_600_000
"""The Java SDK acknowledges a message that fails after its last retry if it is older than four hours."""
YOUNG_MS = 15_000
"""The Java SDK delays a younger one by the first of its delays (10 s, 30 s, 1 min, ...) that is longer than its age."""
LONG_NAME = 130
"""Length of a group name. A record of version 1 has at most 127 bytes for its topic, here the retry topic."""


@scenario("ConsumeMessageConcurrentlyService.processConsumeResult", modes={"concurrent"}, time_passes=True)
def a_message_failed_twice_is_delivered_a_third_time(s: ScenarioContext) -> None:
    """A message that a listener fails twice is delivered a third time, and then no more."""
    topic, group = s.topic(), s.group()
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "concurrent", fail={"bad": 2})
    producer.send(topic, "bad", tag="t", keys=["k"])
    s.wait_for(3, consumer, seconds=SECONDS, jump_s=5)
    _note_calls(s, consumer)
    s.note("the same id", len({message["id"] for message in consumer.messages}) == 1)


def _note_calls(s: ScenarioContext, consumer: Consumer) -> None:
    """Note the attempt and result of each listener call, and the last message."""
    s.note("history", [[message["attempt"], message["ok"]] for message in consumer.messages])
    last = consumer.messages[-1]
    s.note("last", {"topic": last["topic"], "tag": last["tag"], "keys": last["keys"]})


@scenario(
    "AbstractSendMessageProcessor.consumerSendMsgBack",
    modes={"concurrent"},
    time_passes=True,
    without={"cpp": "it does not limit delivery attempts"},
)
def a_message_that_fails_beyond_the_retry_limit_goes_to_the_dlq(s: ScenarioContext) -> None:
    """A message that fails once more than the group allows goes to the group's dead letter queue."""
    topic, group = s.topic(), s.group(retryMaxTimes=1)
    producer = s.producer(topic)
    more = {} if s.grpc else {"max_reconsume": 1}
    consumer = s.consumer(group, topic, "concurrent", fail={"bad": 9}, **more)
    producer.send(topic, "bad", keys=["k"])

    def buried() -> bool:
        return len(s.stored(dlq_topic(group))) == 1

    s.wait_until(buried, "a dead letter", consumers=[consumer], seconds=SECONDS, jump_s=5)
    s.wait_until_idle(consumer)  # the driver may report the last call after its effect
    s.note("history", [[message["attempt"], message["ok"]] for message in consumer.messages])


def _note_failures(s: ScenarioContext, topic: str, group: str, *, ticks: bool = False) -> None:
    """Fail a message until it is a dead letter, and note its delivery attempts.

    `ticks`: send other messages meanwhile. They wake the poll, which a redelivery does not.
    """
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "concurrent", fail={"bad": RETRIES + 9})
    producer.send(topic, "bad", keys=["k"])

    def buried() -> bool:
        if ticks:
            producer.send(topic, "tick")
            s.idle(TICK_SECONDS)
        return bool(s.stored(dlq_topic(group)))

    s.wait_until(buried, "a dead letter", consumers=[consumer], seconds=2 * SECONDS, jump_s=5)
    s.wait_until_idle(consumer)  # the driver may report the last call after its effect
    s.note("attempts", [message["attempt"] for message in consumer.with_prefix("bad")])
    [dead] = s.stored(dlq_topic(group))
    s.note("dead letter", [dead.body, dead.properties["KEYS"]])


@scenario(
    "AbstractSendMessageProcessor.consumerSendMsgBack",
    modes={"concurrent"},
    protocol="remoting",
    settings=SHORT_LEVELS,
    time_passes=True,
    without={"cpp": "it does not limit delivery attempts"},
)
def a_message_goes_to_the_dlq_after_16_retries(s: ScenarioContext) -> None:
    """A message that always fails is delivered seventeen times with rising attempts, then is a dead letter."""
    topic, group = s.topic(), s.group()
    # A client that finds the topic at its start does not wait for its next route update.
    s.admin.topic(name=retry_topic(group), queues=1)
    _note_failures(s, topic, group)


@scenario("CustomizedRetryPolicy.nextDelayDuration", modes={"concurrent"}, protocol="grpc", time_passes=True)
def a_message_goes_to_the_dlq_after_3_retries_with_a_customized_policy(s: ScenarioContext) -> None:
    """A message that always fails is delivered once more than its group retries, at the policy's intervals."""
    # More queues mean more polls: one of them starts soon, and finds the redelivered message.
    _note_failures(s, s.topic(queues=8), s.group(retryMaxTimes=FEW_RETRIES, groupRetryPolicy=OWN_POLICY))


@scenario("ConsumerProcessor.popMessage", modes={"concurrent"}, protocol="grpc", time_passes=True)
def a_message_goes_to_the_dlq_after_16_retries_with_a_customized_policy(s: ScenarioContext) -> None:
    """A message that a gRPC listener always fails is delivered seventeen times, then is a dead letter.

    Each delivery has the next attempt number.
    """
    _note_failures(s, s.topic(), s.group(groupRetryPolicy=SHORT_POLICY), ticks=True)


@scenario(
    "MessageVersion.MESSAGE_VERSION_V2",
    modes={"concurrent"},
    settings=SHORT_LEVELS,
    time_passes=True,
    without={
        "go-remoting": "it cannot decode messages of record version 2",
        "cpp": "it misreads messages of record version 2",
    },
)
def a_long_group_name_is_refused_or_its_failed_message_is_redelivered(s: ScenarioContext) -> None:
    """A failed message is redelivered even if its group's name makes the retry topic too long for a V1 record.

    Brokers of version 5.5.0 refuse to create a group with such a name.
    """
    topic, group = s.topic(), s.admin.new("group").ljust(LONG_NAME, "x")
    s.admin.placeholders.put(group, "long group")
    if made := s.admin.request_group(group).code:
        s.note("refused", made)
        return
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "concurrent", fail={"bad": 1})
    producer.send(topic, "bad", tag="t", keys=["k"])
    s.wait_for(2, consumer, seconds=SECONDS, jump_s=5)
    _note_calls(s, consumer)


@scenario("ConsumeMessagePopConcurrentlyService.processConsumeResult", modes={"pop"})
def a_failed_popped_message_is_redelivered(s: ScenarioContext) -> None:
    """A popped message that a listener fails is redelivered."""
    topic, group = s.pair("pop")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "pop", fail={"bad": 1})
    producer.send(topic, "bad")
    s.wait_for(2, consumer, seconds=SECONDS)
    s.note("history", [[message["attempt"], message["ok"]] for message in consumer.messages])


@scenario(
    "ExponentialRetryPolicy.nextDelayDuration",
    modes={"concurrent"},
    protocol="grpc",
    time_passes=True,
    without={"node": "it makes a failed message visible again at once, whatever the retry policy"},
)
def a_message_goes_to_the_dlq_after_3_retries_with_an_exponential_policy(s: ScenarioContext) -> None:
    """A message that always fails is delivered once more than its group retries, at growing intervals."""
    _note_failures(s, s.topic(queues=8), s.group(retryMaxTimes=FEW_RETRIES, groupRetryPolicy=GROWING_POLICY))


@scenario(
    "AbstractSendMessageProcessor.consumerSendMsgBack",
    modes={"concurrent"},
    settings=SHORT_LEVELS,
    time_passes=True,
    without={
        "cpp": "it does not limit delivery attempts",
        "go-remoting": "it passes a redelivered message to the listener of its original topic, which does not exist",
    },
)
def a_dlq_message_failed_by_its_consumer_is_redelivered(s: ScenarioContext) -> None:
    """A message of a group without retries is a dead letter at once.

    If a consumer of the dead letter queue fails it, it is redelivered.

    The second group's attempts continue from those of the first. With gRPC they are one higher: the proxy moves the
    message when it would be redelivered, while a remoting client sends it back.
    """
    topic, group, other = s.topic(), s.group(retryMaxTimes=0), s.group(groupRetryPolicy=OWN_POLICY)
    dead = dlq_topic(group)
    producer = s.producer(topic)
    more = {} if s.grpc else {"max_reconsume": 0}
    first = s.consumer(group, topic, "concurrent", fail={"bad": 9}, **more)
    producer.send(topic, "bad", keys=["k"])
    s.wait_until(lambda: len(s.stored(dead)) == 1, "a dead letter", consumers=[first], seconds=SECONDS, jump_s=5)
    s.wait_for(1, first)
    s.note("first", [[message["attempt"], message["ok"]] for message in first.messages])
    route = {"topic": dead}
    s.wait_until(
        lambda: s.admin.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, route, to=s.admin.namesrv).code == 0,
        "a known route",
    )
    if not s.grpc:
        s.admin.topic(name=retry_topic(other), queues=1)
    # The second group fails its first attempt only.
    first_attempt = 3 if s.grpc else 2
    second = s.consumer(other, dead, "concurrent", fail={"bad": first_attempt})

    def consumed() -> bool:
        return any(message["ok"] for message in second.messages)

    s.wait_until(consumed, "a success", consumers=[second], seconds=SECONDS, jump_s=5)
    s.note("second", [[message["attempt"], message["ok"], message["keys"]] for message in second.messages])


@scenario(
    "AbstractSendMessageProcessor.consumerSendMsgBack",
    modes={"concurrent"},
    protocol="remoting",
    settings=SHORT_LEVELS,
    time_passes=True,
)
def a_failed_message_of_a_group_without_retry_queues_is_dropped(s: ScenarioContext) -> None:
    """A message that a listener fails in a group without retry queues is dropped; the next one arrives."""
    topic, group = s.topic(), s.group(retryQueueNums=0)
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "concurrent", fail={"bad": 1})
    producer.send(topic, "bad")
    producer.send(topic, "good")
    s.wait_for(2, consumer)

    def kept() -> bool:
        return len(consumer.messages) > 2 or bool(s.stored(retry_topic(group)) or s.stored(dlq_topic(group)))

    s.note("kept", s.becomes_true(kept, consumers=[consumer], seconds=GONE_SECONDS, jump_s=1))
    s.until_committed(topic, group)
    s.note("received", sorted([text(message), message["ok"]] for message in consumer.messages))


@scenario("ConsumerProcessor.popMessage", verbs={"simple", "receive"}, time_passes=True)
def an_unacknowledged_message_goes_to_the_dlq_after_the_retry_limit(s: ScenarioContext) -> None:
    """A message that is never acknowledged is delivered as often as its group allows, then is a dead letter."""
    topic, group = s.topic(), s.group(retryMaxTimes=1)
    consumer = s.consumer(group, topic)
    s.producer(topic).send(topic, "left", keys=["k"])
    attempts: list[int] = []
    while not s.stored(dlq_topic(group)):
        s.require(len(attempts) < FEW_RETRIES, f"it comes again and again: {attempts}")
        messages = s.finish(consumer.post_receive(INVISIBLE_MS))["messages"]
        attempts += [message["attempt"] for message in messages]
    s.note("attempts", attempts)
    [dead] = s.stored(dlq_topic(group))
    s.note("dead letter", [dead.body, dead.properties["KEYS"]])


@scenario("ConsumeMessagePopConcurrentlyService.checkNeedAckOrDelay", modes={"pop"}, time_passes=True)
def a_popped_message_that_fails_after_16_retries_is_not_redelivered(s: ScenarioContext) -> None:
    """A popped message that fails after its sixteenth retry is never delivered again, and is no dead letter.

    The client acknowledges an old message, and changes the invisible duration of a young one, which the broker then
    revives. The client measures the age with its own clock.
    """
    topic, group = s.pair("pop")
    consumer = s.consumer(group, topic, "pop", fail={"old": 99, "young": 99})
    for content, age_ms in (("old", OLD_MS), ("young", YOUNG_MS)):
        born_ms = int(time.time() * 1000) - age_ms
        s.admin.store(topic, content, unique=False, bornTimestamp=born_ms, reconsumeTimes=RETRIES)
    s.wait_for(1, consumer, prefix="old")
    s.wait_for(1, consumer, prefix="young")
    watch = s.stopwatch()
    copies = pop_retry_topic(topic, group, v2=False)
    s.wait_until(lambda: s.stored(copies), "a copy", consumers=[consumer], seconds=SECONDS, jump_s=5)
    s.note("after", watch.between(25, 60))  # a delay of 30 s
    s.producer(topic).send(topic, "next")
    s.wait_for(1, consumer, prefix="next")
    s.wait_until_idle(consumer)
    s.note("given", sorted([text(message), message["attempt"], message["ok"]] for message in consumer.messages))
    s.note("copies", [[copy.body, copy.reconsume_times] for copy in s.stored(copies)])
    s.note("dead letters", len(s.stored(dlq_topic(group))))
