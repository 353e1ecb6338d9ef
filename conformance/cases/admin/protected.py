"""System topics of the broker: sends to them and reads from them by clients."""

from rocketmq_testkit.emulator.message import names
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.pops import popping


@remoting_case("TopicValidator.isNotAllowedSendTopic")
def sends_to_forbidden_system_topics_are_rejected(t: RemotingContext) -> None:
    """A send to a topic in which the broker keeps waiting messages is rejected."""
    for topic in (
        names.SCHEDULE_TOPIC,
        names.HALF_TOPIC,
        names.OP_HALF_TOPIC,
        names.TRANS_CHECK_MAX_TIME_TOPIC,
        names.SELF_TEST_TOPIC,
        names.OFFSET_MOVED_TOPIC,
    ):
        t.note(topic, t.send(topic), 16)


@remoting_case("TopicValidator.isNotAllowedSendTopic")
def sends_to_other_system_topics_are_accepted(t: RemotingContext) -> None:
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
        t.note("sent", t.send(topic).without("queueOffset"), 0)


@remoting_case("AbstractSendMessageProcessor.msgCheck")
def a_send_may_create_a_topic_with_a_system_prefix(t: RemotingContext) -> None:
    """A send may create a topic whose name starts like a system topic's, although administrators may not."""
    topic = t.new("rmq_sys_of_mine")
    t.note("sent", t.send(topic), 0)
    t.note("created", t.config_of(topic), 0)
    t.note("deleted", t.request(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic}), 29)


@remoting_case("PullMessageProcessor.processRequest")
def any_group_can_pull_from_system_topics(t: RemotingContext) -> None:
    """Any group can read messages that wait in system topics."""
    topic, group = t.topic(queues=1), t.group()
    sent = t.send(topic, "later", properties={"DELAY": "18"})
    t.note("sent", sent.without("queueOffset"), 0)
    response = t.until(lambda: _read(t, names.SCHEDULE_TOPIC, group, 17, offset=int(sent["queueOffset"])))
    t.note("waiting", {**response, "offset": "{offset}"})


def _read(t: RemotingContext, topic: str, group: str, queue: int, *, offset: int) -> dict[str, object]:
    response = t.pull(topic, group, queue, offset, max_messages=1)
    if response.code != 0:
        return {}
    [message] = response.messages
    return {"topic": message.topic, "body": message.body, "properties": message.properties}


@remoting_case("TimerMessageStore.doEnqueue", alone=True)
def a_message_sent_to_the_timer_topic_stops_the_timer(t: RemotingContext) -> None:
    """A message sent to the timer topic stops the timer.

    No timed message is delivered afterwards, and no popped one is redelivered.
    """
    topic = t.topic(queues=1)
    t.note("before", t.send(topic, "before", properties={"TIMER_DELAY_MS": "1000"}).code)
    t.note("delivered before", t.stored(topic, seconds=6).bodies)
    t.note("sent to the timer's topic", t.send(names.TIMER_TOPIC).code)
    t.note("after", t.send(topic, "after", properties={"TIMER_DELAY_MS": "1000"}).code)
    t.note("delivered after", t.stored(topic, 2, seconds=6).bodies)
    group = popping(t, 1)
    group.pop(invisible_ms=1000)
    t.wait(8)
    t.note("came back", group.count_copies())
