"""The latest time for recalling a timed message, shortly before its delivery."""

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.timers import handle_of, recall, timed


@remoting_case("RecallMessageProcessor.processRequest")
def a_message_recalled_too_late_is_still_delivered(t: RemotingContext) -> None:
    """A recall after the start of the second in which a message is due is rejected, and the message is delivered."""
    topic = t.topic(queues=1)
    sent = timed(t, topic, 3000)
    second = int(handle_of(sent)[3])
    t.wait((second - t.now_ms() + 60) / 1000)
    t.note("recalled", recall(t, topic, sent["recallHandle"]), 604)
    t.note("delivered", t.stored(topic, seconds=10).bodies)


@remoting_case("RecallMessageProcessor.processRequest")
def a_recall_succeeds_until_the_second_of_the_delivery_time(t: RemotingContext) -> None:
    """A recall 1.2 s before the second in which a message is due succeeds, and the message is not delivered."""
    topic = t.topic(queues=1)
    sent = timed(t, topic, 4000)
    second = int(handle_of(sent)[3])
    t.wait((second - t.now_ms() - 1200) / 1000)
    t.note("recalled", recall(t, topic, sent["recallHandle"]), 0)
    t.wait(4)
    t.note("delivered", t.pull(topic, t.group()).bodies)
