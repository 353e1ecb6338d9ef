"""What a broker does with messages that are sent to it."""

from ..case import remoting_case
from ..worlds.remoting import Remoting


@remoting_case("SendMessageProcessor.sendMessage")
def a_message_is_stored(t: Remoting) -> None:
    """A sent message gets the next offset of its queue and the client's id as transaction id."""
    topic = t.topic()
    t.see("first", t.send(topic, tag="A", keys="k1 k2"), 0)
    t.see("second", t.send(topic), 0)
    t.see("stored", t.pull(topic, t.group()), 0)


@remoting_case("TopicValidator.validateTopic")
def a_blank_topic_is_refused(t: Remoting) -> None:
    """A send that names no topic is refused as an invalid parameter."""
    t.see("blank", t.send(""), 29)
