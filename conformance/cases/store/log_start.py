"""Log offset 0, which belongs to the first message of a log, and may also stand for a missing offset."""

from rocketmq_testkit.emulator.message.names import dlq_topic, retry_topic

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.sends import send_back


def _first(t: RemotingContext, topic: str) -> None:
    """Record whether the log of a new broker starts with the first sent message."""
    view = t.view(0)
    t.note("at place 0", [view.code, [each.topic == topic for each in view.messages]])


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack", alone=True)
def sending_back_log_offset_0_sends_back_the_first_message(t: RemotingContext) -> None:
    """Sending back log offset 0 sends back the first message of the log, even if it belongs to another topic."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 2)
    _first(t, topic)
    t.note("sent back", send_back(t, group, 0, 1), 0)
    t.note("came again", t.stored(retry_topic(group), seconds=15).bodies)
    t.note("given up", send_back(t, group, 0, -1), 0)
    t.note("dead", t.stored(dlq_topic(group), seconds=5).bodies)
    t.note("before the first", send_back(t, group, -1, 1))
