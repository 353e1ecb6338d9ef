"""The first message of a log has log offset 0, the default of requests without an offset."""

from rocketmq_testkit.emulator.message.names import dlq_topic, retry_topic

from ...case import remoting_case
from ...worlds.remoting import Remoting
from ..send.send_back import back


def _first(t: Remoting, topic: str) -> None:
    """Record whether the log of a new broker starts with the first sent message."""
    view = t.view(0)
    t.see("at place 0", [view.code, [each.topic == topic for each in view.messages]])


@remoting_case("AbstractSendMessageProcessor.consumerSendMsgBack", alone=True)
def place_0_is_the_first_message(t: Remoting) -> None:
    """Sending back log offset 0 sends back the first message of the log, even if it belongs to another topic."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 2)
    _first(t, topic)
    t.see("sent back", back(t, group, 0, 1), 0)
    t.see("came again", t.stored(retry_topic(group), seconds=15).bodies)
    t.see("given up", back(t, group, 0, -1), 0)
    t.see("dead", t.stored(dlq_topic(group), seconds=5).bodies)
    t.see("before the first", back(t, group, -1, 1))
