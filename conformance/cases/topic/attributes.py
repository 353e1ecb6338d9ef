"""Topic attributes: message type, queue type and cleanup policy."""

from ...case import remoting_case
from ...context.remoting import RemotingContext
from ...helpers.settings import CHANGED_KEYS, shared_settings
from .topics import create


@remoting_case("AttributeUtil.alterCurrentAttributes")
def a_topic_is_made_with_attributes(t: RemotingContext) -> None:
    """Attributes are passed with a leading plus each, separated by commas."""
    topic = t.new()
    t.note("made", create(t, topic, attributes="+message.type=FIFO,+cleanup.policy=DELETE"), 0)
    t.note("config", t.config_of(topic), 0)


@remoting_case("TopicMessageType.topicMessageTypeSet")
def every_known_message_type_except_mixed_is_accepted(t: RemotingContext) -> None:
    """A topic accepts each known message type except MIXED, which is disabled by default."""
    for kind in ("NORMAL", "FIFO", "DELAY", "TRANSACTION", "UNSPECIFIED", "MIXED", "PRIORITY", "LITE", "normal"):
        t.note(kind, create(t, t.new(), attributes=f"+message.type={kind}"))


@remoting_case("TopicConfigManager.updateTopicConfig", settings=shared_settings(CHANGED_KEYS, "enableMixedMessageType"))
def mixed_topics_are_accepted_with_enable_mixed_message_type(t: RemotingContext) -> None:
    """With enableMixedMessageType a topic may have the type MIXED."""
    topic = t.new()
    t.note("made", create(t, topic, attributes="+message.type=MIXED"), 0)
    t.note("config", t.config_of(topic), 0)


@remoting_case("TopicConfigManager.updateTopicConfig")
def an_update_without_attributes_keeps_them(t: RemotingContext) -> None:
    """An update changes only the attributes that it names. The message type may be changed or removed."""
    topic = t.topic(kind="FIFO")
    t.note("without", create(t, topic), 0)
    t.note("kept", t.config_of(topic), 0)
    t.note("with other numbers", create(t, topic, readQueueNums=3, writeQueueNums=1), 0)
    t.note("kept with them", t.config_of(topic), 0)
    t.note("changed", create(t, topic, attributes="+message.type=DELAY"), 0)
    t.note("as changed", t.config_of(topic), 0)
    t.note("taken away", create(t, topic, attributes="-message.type"), 0)
    t.note("without it", t.config_of(topic), 0)


@remoting_case("AttributeUtil.validateAlter")
def invalid_attributes_are_refused_with_a_reason(t: RemotingContext) -> None:
    """Unknown attributes, invalid values, missing signs and removal of missing ones are rejected with a reason."""
    for label, attributes in (
        ("unknown key", "+foo=bar"),
        ("wrong value", "+message.type=NOPE"),
        ("no sign", "message.type=FIFO"),
        ("taken away at creation", "-message.type"),
        ("no value", "+message.type"),
        ("empty value", "+message.type="),
        ("only a sign", "+"),
        ("twice", "+message.type=FIFO,+message.type=NORMAL"),
        ("nothing", ""),
        ("commas", ",,"),
        ("two equal signs", "+message.type=FIFO=NORMAL"),
        ("equal sign", "="),
        ("no name", "+=x"),
        ("blank before the sign", " +message.type=FIFO"),
        ("blank after the sign", "+ message.type=FIFO"),
        ("another sign", "*message.type=FIFO"),
        ("value taken away", "-message.type=FIFO"),
    ):
        topic = t.new()
        t.note(label, create(t, topic, attributes=attributes))
        t.note(f"{label}, topic", t.config_of(topic))


@remoting_case("AttributeUtil.alterCurrentAttributes")
def cleanup_policy_and_queue_type_cannot_be_changed(t: RemotingContext) -> None:
    """Cleanup policy and queue type are set at creation and cannot be changed later."""
    topic = t.new()
    t.note("made", create(t, topic, attributes="+cleanup.policy=DELETE,+queue.type=SimpleCQ"), 0)
    t.note("policy", create(t, topic, attributes="+cleanup.policy=COMPACTION"))
    t.note("queue type", create(t, topic, attributes="+queue.type=BatchCQ"))
    t.note("queue type taken away", create(t, topic, attributes="-queue.type"))
    t.note("type that is not there", create(t, topic, attributes="-message.type"))
    t.note("unknown", create(t, topic, attributes="-foo"))
    plain = t.topic()
    t.note("policy of a topic without one", create(t, plain, attributes="+cleanup.policy=DELETE"))
    t.note("config", t.config_of(topic), 0)


@remoting_case("LongRangeAttribute.verify")
def the_attribute_reserve_time_is_a_number(t: RemotingContext) -> None:
    """The attribute reserve.time is a number of hours."""
    for value in ("72", "0", "-1", "-2", "soon", "99999999999999999999"):
        topic = t.new()
        t.note(value, create(t, topic, attributes=f"+reserve.time={value}"))
        t.note(f"{value}, topic", t.config_of(topic))
