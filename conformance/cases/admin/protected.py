"""System topics of the broker: which of them clients may send to and read."""

from rocketmq_testkit.emulator.message import names
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...worlds.pops import popping
from ...worlds.remoting import Remoting


@remoting_case("TopicValidator.isNotAllowedSendTopic")
def some_topics_are_forbidden(t: Remoting) -> None:
    """A send to a topic in which the broker keeps waiting messages is rejected."""
    for topic in (
        names.SCHEDULE_TOPIC,
        names.HALF_TOPIC,
        names.OP_HALF_TOPIC,
        names.TRANS_CHECK_MAX_TIME_TOPIC,
        names.SELF_TEST_TOPIC,
        names.OFFSET_MOVED_TOPIC,
    ):
        t.see(topic, t.send(topic), 16)


@remoting_case("TopicValidator.isNotAllowedSendTopic")
def other_topics_of_the_broker_are_open(t: Remoting) -> None:
    """A send to the template, cluster, broker, trace, reply or check point topic is accepted."""
    for topic in (
        names.AUTO_CREATE_TOPIC,
        names.BENCHMARK_TOPIC,
        t.cluster,
        t.broker_name,
        names.TRACE_TOPIC,
        names.reply_topic(t.cluster),
        names.CHECKPOINT_TOPIC,
    ):
        t.see("sent", t.send(topic).without("queueOffset"), 0)


@remoting_case("AbstractSendMessageProcessor.msgCheck")
def names_of_system_topics_can_be_taken(t: Remoting) -> None:
    """A send may create a topic whose name starts like a system topic's, although administrators may not."""
    topic = t.new("rmq_sys_of_mine")
    t.see("sent", t.send(topic), 0)
    t.see("created", t.config_of(topic), 0)
    t.see("deleted", t.ask(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic}), 29)


@remoting_case("PullMessageProcessor.processRequest")
def topics_of_the_broker_can_be_read(t: Remoting) -> None:
    """Any group can read messages that wait in system topics."""
    topic, group = t.topic(queues=1), t.group()
    sent = t.send(topic, "later", properties={"DELAY": "18"})
    t.see("sent", sent.without("queueOffset"), 0)
    answer = t.until(lambda: _read(t, names.SCHEDULE_TOPIC, group, 17, int(sent["queueOffset"])))
    t.see("waiting", {**answer, "offset": "{offset}"})


def _read(t: Remoting, topic: str, group: str, queue: int, offset: int) -> dict[str, object]:
    answer = t.pull(topic, group, queue, offset, max_messages=1)
    if answer.code != 0:
        return {}
    [message] = answer.messages
    return {"topic": message.topic, "body": message.body, "properties": message.properties}


@remoting_case("TimerMessageStore.doEnqueue", alone=True)
def a_plain_message_ends_the_timer(t: Remoting) -> None:
    """A message sent to the timer topic stops the timer.

    No timed message is delivered afterwards, and no popped one is redelivered.
    """
    topic = t.topic(queues=1)
    t.see("before", t.send(topic, "before", properties={"TIMER_DELAY_MS": "1000"}).code)
    t.see("delivered before", t.stored(topic, seconds=6).bodies)
    t.see("sent to the timer's topic", t.send(names.TIMER_TOPIC).code)
    t.see("after", t.send(topic, "after", properties={"TIMER_DELAY_MS": "1000"}).code)
    t.see("delivered after", t.stored(topic, 2, seconds=6).bodies)
    group = popping(t, 1)
    group.pop(invisible_ms=1000)
    t.wait(8)
    t.see("came back", group.copied())
