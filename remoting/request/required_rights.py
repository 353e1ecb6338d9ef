"""The rules from which the declaration of a request code chooses the rights that the request requires.

A rule reads ext fields and body, and yields the required rights. `rights=` of a declaration names it: in `processors/`
beside the code's processor, in `processors/unserved.py` for a code without one.
Source: DefaultAuthorizationContextBuilder, RocketMQAction and RocketMQResource of the request headers (5.3.3).
"""

# ruff: noqa: ARG001  # all rules share one signature

from collections.abc import Callable, Iterable, Iterator, Mapping

from rocketmq_testkit.emulator.auth.access_control import AccessDenied, RequiredRight
from rocketmq_testkit.emulator.auth.policies import Action, Resource, ResourceType, group_resource, topic_resource
from rocketmq_testkit.emulator.message.names import is_retry

from ..bodies.client import HeartbeatBody, LockBody

Fields = Mapping[str, str]
Rights = Callable[[Fields, bytes, str], Iterable[RequiredRight]]
"""(ext fields, body, name of the broker's cluster) -> required rights.

Raises AccessDenied, and EngineError for a request that cannot be read.
"""

UNREADABLE = "parse authorization context error."
CONSUMER_GROUP_AND_TOPIC, TOPIC_AND_GROUP = "consumerGroup topic", "topic group"
"""Fields of requests about a group's consumption of a topic, by their two spellings in upstream's headers."""
_SEPARATORS = {"topicList": ";", "filterGroups": ","}
_PUB, _SUB = (Action.PUB,), (Action.SUB,)


def no_rights(ext: Fields, body: bytes, cluster: str) -> Iterable[RequiredRight]:
    """Require no right: upstream has no header for the code, or a header without annotations."""
    return ()


# rules about fields that name all resources


def on_fields(*actions: Action, fields: str, or_cluster: bool = False) -> Rights:
    """Require one of the actions on each resource that the named fields contain.

    With `or_cluster`, a request that names no resource requires it on the broker's cluster.
    """
    names = fields.split()

    def rights(ext: Fields, body: bytes, cluster: str) -> Iterator[RequiredRight]:
        """Yield the rights on the resources of the fields."""
        found = [
            RequiredRight(resource, actions)
            for name in names
            if name in ext
            for resource in _resources_of_field(name, ext[name])
        ]
        yield from found
        if or_cluster and not found:
            yield RequiredRight(Resource(ResourceType.CLUSTER, cluster), actions)

    return rights


def on_cluster(*actions: Action) -> Rights:
    """Require one of the actions on the broker's cluster, whatever the fields contain."""
    return on_fields(*actions, fields="", or_cluster=True)


def _resources_of_field(field: str, value: str) -> Iterator[Resource]:
    """Yield the resources named by a field. The field's own name implies their type."""
    separator = _SEPARATORS.get(field)
    for name in [value] if separator is None else filter(None, value.split(separator)):
        if "cluster" in field.lower():
            yield Resource(ResourceType.CLUSTER, name)
        elif field == "b" or "topic" in field.lower():
            yield group_resource(name) if is_retry(name) else topic_resource(name)
        else:
            yield Resource(ResourceType.GROUP, name)


# rules of single requests


def to_find_route(ext: Fields, body: bytes, cluster: str) -> Iterator[RequiredRight]:
    """Yield the rights of a route request: any use of the topic, or of the group of a retry topic."""
    topic = ext.get("topic")
    if topic is not None and is_retry(topic):
        yield RequiredRight(group_resource(topic), (Action.SUB, Action.GET))
    else:
        yield RequiredRight(topic_resource(topic), (Action.PUB, Action.SUB, Action.GET))


def to_send(topic_field: str, group_field: str) -> Rights:
    """Require the rights of a send. The fields' names differ between the forms of its header."""

    def rights(ext: Fields, body: bytes, cluster: str) -> Iterator[RequiredRight]:
        """Yield the rights of a send.

        A message to a retry topic was sent back by a consumer and requires SUB on the group.
        """
        topic, group = ext.get(topic_field), ext.get(group_field)
        if topic is not None and is_retry(topic):
            yield RequiredRight(group_resource(group if (group or "").strip() else topic), _SUB)
        else:
            yield RequiredRight(topic_resource(topic), _PUB)

    return rights


def on_topic(*actions: Action) -> Rights:
    """Require one of the actions on the topic, even if the request names none."""

    def rights(ext: Fields, body: bytes, cluster: str) -> Iterator[RequiredRight]:
        """Yield the right on the topic."""
        yield RequiredRight(topic_resource(ext.get("topic")), actions)

    return rights


def to_end_transaction(ext: Fields, body: bytes, cluster: str) -> Iterator[RequiredRight]:
    """Yield PUB on the topic. A request without a topic requires no right."""
    if ext.get("topic", "").strip():
        yield RequiredRight(topic_resource(ext["topic"]), _PUB)


def to_send_back(ext: Fields, body: bytes, cluster: str) -> Iterator[RequiredRight]:
    """Yield SUB on the group that sends the message back."""
    yield RequiredRight(group_resource(ext.get("group")), _SUB)


def to_consume(*actions: Action) -> Rights:
    """Require one of the actions on the group, and on the topic unless it is a retry topic."""

    def rights(ext: Fields, body: bytes, cluster: str) -> Iterator[RequiredRight]:
        """Yield the rights on topic and group."""
        topic = ext.get("topic")
        if topic is None or not is_retry(topic):
            yield RequiredRight(topic_resource(topic), actions)
        yield RequiredRight(group_resource(ext.get("consumerGroup")), actions)

    return rights


def to_send_heartbeat(ext: Fields, body: bytes, cluster: str) -> Iterator[RequiredRight]:
    """Yield SUB on each group of the body and on each subscribed topic except retry topics."""
    for consumer in HeartbeatBody.parse(body).consumer_data_set:
        yield RequiredRight(group_resource(consumer.group_name), _SUB)
        yield from _rights_on_topics(each.topic for each in consumer.subscription_data_set)


def to_lock_queues(ext: Fields, body: bytes, cluster: str) -> Iterator[RequiredRight]:
    """Yield SUB on the group of the body and on the topic of each queue except retry topics."""
    locks = LockBody.parse(body)
    yield RequiredRight(group_resource(locks.consumer_group), _SUB)
    yield from _rights_on_topics(each.topic for each in locks.mq_set)


def _rights_on_topics(topics: Iterable[str | None]) -> Iterator[RequiredRight]:
    for topic in topics:
        if topic is None or not is_retry(topic):
            yield RequiredRight(topic_resource(topic), _SUB)


def to_unregister(ext: Fields, body: bytes, cluster: str) -> Iterator[RequiredRight]:
    """Yield SUB on the consumer group. A producer requires no right."""
    if ext.get("consumerGroup", "").strip():
        yield RequiredRight(group_resource(ext["consumerGroup"]), _SUB)


def to_create_topic(ext: Fields, body: bytes, cluster: str) -> Iterator[RequiredRight]:
    """Yield CREATE on the topic.

    Raises AccessDenied for an unknown topicFilterType, because upstream cannot read such a header.
    """
    if ext.get("topicFilterType") not in ("SINGLE_TAG", "MULTI_TAG"):
        raise AccessDenied(UNREADABLE)
    if "topic" in ext:
        yield from (
            RequiredRight(resource, (Action.CREATE,)) for resource in _resources_of_field("topic", ext["topic"])
        )


def to_list_consumers(ext: Fields, body: bytes, cluster: str) -> Iterator[RequiredRight]:
    """Yield SUB or GET on the group."""
    yield RequiredRight(group_resource(ext.get("consumerGroup")), (Action.SUB, Action.GET))
