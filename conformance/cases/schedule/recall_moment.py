"""The moment from which a timed message cannot be recalled any more, which is before its delivery."""

from ...case import remoting_case
from ...worlds.remoting import Remoting
from .recall import recall, timed
from .timer import handle_of


@remoting_case("RecallMessageProcessor.processRequest")
def a_message_that_cannot_be_recalled_still_comes(t: Remoting) -> None:
    """A recall in the second of a message's time comes too late, and the message is delivered as if nothing was."""
    topic = t.topic(queues=1)
    sent = timed(t, topic, 3000)
    second = int(handle_of(sent)[3])
    t.wait((second - t.now_ms() + 60) / 1000)
    t.see("recalled", recall(t, topic, sent["recallHandle"]), 604)
    t.see("delivered", t.stored(topic, seconds=10).bodies)


@remoting_case("RecallMessageProcessor.processRequest")
def a_message_can_be_recalled_until_its_second(t: Remoting) -> None:
    """A recall just before the second of a message's time is taken; whether the message comes is not told by it."""
    topic = t.topic(queues=1)
    sent = timed(t, topic, 4000)
    second = int(handle_of(sent)[3])
    t.wait((second - t.now_ms() - 1200) / 1000)
    t.see("recalled", recall(t, topic, sent["recallHandle"]), 0)
    t.wait(4)
    t.see("delivered", t.pull(topic, t.group()).bodies)
