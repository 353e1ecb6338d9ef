"""The topic and group of a stored record: timed, half, retried and dead messages are stored in other topics."""

from collections.abc import Mapping

from ..cluster.broker import Broker
from ..message import names
from ..message import properties as props
from .messages import CopyState

_STATES = {
    names.SCHEDULE_TOPIC: CopyState.DELAYED,
    names.TIMER_TOPIC: CopyState.TIMED,
    names.HALF_TOPIC: CopyState.HALF,
    names.TRANS_CHECK_MAX_TIME_TOPIC: CopyState.DISCARDED,
}
REDIRECTED = frozenset(_STATES)
"""Topics in which a broker keeps messages of other topics, whose name is in the property REAL_TOPIC."""
_HOPS_MAX = 4
"""The most topics on the way to the topic of the send: timer, retry topic, pop retry topic, the topic itself."""


def state_of(topic: str) -> CopyState:
    """Return the state of the copies in a topic."""
    if topic.startswith(names.RETRY_PREFIX):
        return CopyState.RETRY
    if topic.startswith(names.DLQ_PREFIX):
        return CopyState.DEAD
    return _STATES.get(topic, CopyState.STORED)


def origin_of(broker: Broker, topic: str, properties: Mapping[str, str]) -> str:
    """Return the topic to which a message was sent, by the topic and the properties of one of its copies."""
    for _ in range(_HOPS_MAX):
        before, topic = topic, _next(broker, topic, properties)
        if topic == before:
            break
    return topic


def _next(broker: Broker, topic: str, properties: Mapping[str, str]) -> str:
    """Return the topic from which a copy came to a topic; the same topic if it came from none."""
    state = state_of(topic)
    if state is CopyState.STORED:
        return topic
    if state is CopyState.RETRY:
        popped = retry_parts(broker, topic)[1]
        return popped or properties.get(props.RETRY_TOPIC) or topic
    if state is CopyState.DEAD:
        return properties.get(props.RETRY_TOPIC) or topic
    named = properties.get(props.REAL_TOPIC)
    if named:
        return named
    mark = properties.get(props.TIMER_DEL_UNIQKEY, "")
    return mark.rpartition("+")[0] or topic


def group_of(broker: Broker, topic: str, properties: Mapping[str, str]) -> str | None:
    """Return the group for which a copy is stored: in its retry topic, on the way there, or in its dead letters."""
    if topic in REDIRECTED:
        topic = properties.get(props.REAL_TOPIC, topic)
    if topic.startswith(names.DLQ_PREFIX):
        return topic.removeprefix(names.DLQ_PREFIX)
    return retry_parts(broker, topic)[0] if topic.startswith(names.RETRY_PREFIX) else None


def retry_parts(broker: Broker, topic: str) -> tuple[str, str | None]:
    """Return group and popped topic of a retry topic; the topic is None for messages that consumers sent back.

    A pop retry topic with a V1 name (`%RETRY%group_topic`) is ambiguous: the longest known group with a known topic
    counts.
    """
    name = topic.removeprefix(names.RETRY_PREFIX)
    group, plus, popped = name.partition("+")
    if plus:
        return group, popped
    if name in broker.groups.table:
        return name, None
    at = name.rfind("_")
    while at > 0:
        if name[:at] in broker.groups.table and name[at + 1 :] in broker.topics.table:
            return name[:at], name[at + 1 :]
        at = name.rfind("_", 0, at)
    return name, None
