"""Messages that a listener fails."""

from rocketmq_testkit.emulator.names import dlq_topic
from rocketmq_testkit.remoting.request_code import RequestCode

from ..scenario import scenario
from ..stage import Stage

SECONDS = 150.0
"""Remoting clients are given a failed message again after 10 s and after 30 s; waiting polls do not hear of it."""


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
    dead = {"topic": dlq_topic(group), "queueId": 0}

    def buried() -> bool:
        answer = s.world.ask(RequestCode.GET_MAX_OFFSET, dead)
        return answer.code == 0 and answer["offset"] == "1"

    s.wait_until(buried, "a dead letter", consumers=[consumer], seconds=SECONDS, passing=5)
    s.see("history", [[message["attempt"], message["ok"]] for message in consumer.messages])


@scenario("ConsumeMessagePopConcurrentlyService.processConsumeResult", modes={"pop"})
def a_popped_message_is_failed(s: Stage) -> None:
    """A popped message that a listener fails comes again."""
    topic, group = s.pair("pop")
    producer = s.producer(topic)
    consumer = s.consumer(group, topic, "pop", fail={"bad": 1})
    producer.send(topic, "bad")
    s.wait_for(2, consumer, seconds=SECONDS)
    s.see("history", [[message["attempt"], message["ok"]] for message in consumer.messages])
