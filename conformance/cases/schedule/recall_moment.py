"""The latest time for recalling a timed message, shortly before its delivery."""

from ...case import remoting_case
from ...worlds.remoting import Remoting
from .recall import recall, timed
from .timer import handle_of


@remoting_case("RecallMessageProcessor.processRequest")
def a_message_that_cannot_be_recalled_still_comes(t: Remoting) -> None:
    """A recall within the second of a message's delivery time is too late, and the message is delivered."""
    topic = t.topic(queues=1)
    sent = timed(t, topic, 3000)
    second = int(handle_of(sent)[3])
    t.wait((second - t.now_ms() + 60) / 1000)
    t.see("recalled", recall(t, topic, sent["recallHandle"]), 604)
    t.see("delivered", t.stored(topic, seconds=10).bodies)


@remoting_case("RecallMessageProcessor.processRequest")
def a_message_can_be_recalled_until_its_second(t: Remoting) -> None:
    """A recall just before the second of a message's delivery time succeeds, which does not guarantee its effect."""
    topic = t.topic(queues=1)
    sent = timed(t, topic, 4000)
    second = int(handle_of(sent)[3])
    t.wait((second - t.now_ms() - 1200) / 1000)
    t.see("recalled", recall(t, topic, sent["recallHandle"]), 0)
    t.wait(4)
    t.see("delivered", t.pull(topic, t.group()).bodies)
