"""Looking at what a pop would find."""

from typing import Any

from ..case import remoting_case
from ..worlds.answer import Answer
from ..worlds.pops import committed, copies, filled, texts
from ..worlds.remoting import Remoting

PEEK = 200052


def peek(t: Remoting, topic: str, group: str, count: Any = 32, queue: Any = -1) -> Answer:
    """Look at messages."""
    return t.ask(PEEK, {"consumerGroup": group, "topic": topic, "queueId": queue, "maxMsgNums": count})


@remoting_case("PeekMessageProcessor.processRequest")
def a_look_takes_nothing(t: Remoting) -> None:
    """A peek shows messages as often as it is asked, without a pop time, and pops find them afterwards."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 3)
    t.see("first", peek(t, topic, group, 2), 0)
    t.see("second", texts(peek(t, topic, group, 2)))
    t.see("committed", t.committed(topic, group, setZeroIfNotFound=False))
    t.see("popped", texts(t.pop(topic, group)))


@remoting_case("PeekMessageProcessor.processRequest")
def a_look_shows_what_is_left(t: Remoting) -> None:
    """A peek begins where the next pop of the group would."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 3)
    t.pop(topic, group, max_messages=2)
    committed(t, topic, group, 2)
    t.see("left", texts(peek(t, topic, group)))
    t.pop(topic, group)
    committed(t, topic, group, 3)
    t.see("nothing left", peek(t, topic, group), 19)


@remoting_case("PeekMessageProcessor.peekMsgFromQueue")
def a_look_goes_over_all_queues(t: Remoting) -> None:
    """A peek fills up from queue after queue and counts what it does not show; a peek of one queue shows only that."""
    topic, group = t.topic(queues=2), t.group()
    filled(t, topic, 5, queue=0)
    filled(t, topic, 5, queue=1)
    answer = peek(t, topic, group, 7)
    t.see("seven", [answer.code, answer.remark, len(answer.messages), answer["restNum"]])
    answer = peek(t, topic, group, queue=1)
    t.see("queue 1", [[message.queue_id for message in answer.messages], answer["restNum"]])


@remoting_case("PeekMessageProcessor.peekMsgFromQueue")
def a_look_is_not_filtered(t: Remoting) -> None:
    """A peek shows messages of every tag."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, tag="A")
    filled(t, topic, tag="B")
    t.see("both", [message.tag for message in peek(t, topic, group).messages])


@remoting_case("PeekMessageProcessor.processRequest")
def a_look_has_no_bound_of_32(t: Remoting) -> None:
    """A peek of more than 32 messages is not refused, and one of none shows nothing."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 40)
    answer = peek(t, topic, group, 100)
    t.see("100", [answer.code, len(answer.messages), answer["restNum"]])
    t.see("0", peek(t, topic, group, 0))
    t.see("-1", peek(t, topic, group, -1))


@remoting_case("PeekMessageProcessor.peekMsgFromQueue")
def a_look_sees_copies(t: Remoting) -> None:
    """A peek shows what lies in the retry topic, under that topic's name."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic)
    t.pop(topic, group, invisible_ms=0)
    committed(t, topic, group, 1)
    t.see("while it is out", peek(t, topic, group), 19)
    copies(t, topic, group)
    t.see("when it is back", peek(t, topic, group))


@remoting_case("PeekMessageProcessor.peekMsgFromQueue")
def a_look_sees_what_is_out_in_order(t: Remoting) -> None:
    """A peek does not mind that the queue's batch is out in order."""
    topic, group = t.topic(queues=1), t.group()
    filled(t, topic, 2)
    t.pop(topic, group, max_messages=1, order=True)
    t.see("seen", texts(peek(t, topic, group)))


@remoting_case("PeekMessageProcessor.processRequest")
def what_is_not_there_is_refused(t: Remoting) -> None:
    """A peek is refused for an unknown topic, queue or group, and where reading is not allowed."""
    topic, group = t.topic(queues=1), t.group()
    t.see("unknown topic", peek(t, t.new(), group), 17)
    t.see("queue 9", peek(t, topic, group, queue=9), 29)
    t.see("queue -5", peek(t, topic, group, queue=-5), 19)
    t.see("illegal group", peek(t, topic, "bad!"), 26)
    t.see("unknown group", peek(t, topic, t.new("group")), 19)
    t.see("write only", peek(t, t.topic(queues=1, perm=2), group), 16)
    t.see("disabled group", peek(t, topic, t.group(consumeEnable=False)), 16)
    t.see("no topic", t.ask(PEEK, {"consumerGroup": group}), 1)
    t.see("no group", t.ask(PEEK, {"topic": topic}), 1)
