"""Popping: what is handed out, hidden and handed out again."""

from ..case import remoting_case
from ..worlds.remoting import Remoting


@remoting_case("PopMessageProcessor.processRequest")
def a_popped_message_is_hidden(t: Remoting) -> None:
    """A message that one pop has handed out is not handed out by the next."""
    topic, group = t.topic(queues=1), t.group()
    t.sent(topic, 2)
    first = t.see("first pop", t.pop(topic, group, max_messages=1), 0)
    t.see("second pop", t.pop(topic, group), 0)
    t.see("third pop", t.pop(topic, group), 210)
    [(message, handle)] = t.popped(first)
    t.see("handle", handle)
    t.see("acknowledged", t.ack(topic, group, handle, message.queue_offset), 0)
