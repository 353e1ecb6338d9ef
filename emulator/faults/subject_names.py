"""The topics and groups that an operation or an effect is about, as the criteria of rules read them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from ..gate.effects import (
    CheckTransactionState,
    Effect,
    RequestConsumerStatus,
    RequestDirectConsumption,
    RequestRunningInfo,
)
from ..gate.gate import Request
from ..gate.proxy_only_request import ProxyOnlyRequest
from ..message import names, properties, stored_record
from ..operations.clients import CheckClientConfig, Heartbeat, LockBatchMq, UnlockBatchMq
from ..operations.consume import AckMessage, BatchAckMessage, ChangeInvisibleTime
from ..operations.groups import CloneGroupOffset, CreateGroup, CreateGroups, GetConsumeStats
from ..operations.offsets import QueryCorrectionOffset
from ..operations.send import SendReplyMessage
from ..operations.tools import UpdateColdDataFlowCtrConfig
from ..operations.topics import CreateStaticTopic, CreateTopic, CreateTopics
from .message_facts import of_record

Names = tuple[str, ...]
TOPIC_FIELDS = ("topic", "origin_topic")
"""Fields of operations and effects that hold the name of a topic."""
GROUP_FIELDS = ("group", "consumer_group", "producer_group")
"""Fields of operations and effects that hold the name of a group."""


def _acknowledged_topics(ack: Any) -> Iterator[str]:
    """Yield the topic that holds a message and, of a pop retry topic, the topic to which the message was sent."""
    yield ack.topic
    if names.is_retry(ack.topic):
        yield names.topic_of_pop_retry(ack.topic, ack.consumer_group)


TOPICS: Mapping[type, Callable[[Any], Iterable[str | None]]] = {
    CreateTopic: lambda each: (each.config.topic_name,),
    CreateTopics: lambda each: (one.config.topic_name for one in each.topics),
    CreateStaticTopic: lambda each: (each.config.topic_name,),
    SendReplyMessage: lambda each: (each.message.topic,),
    AckMessage: _acknowledged_topics,
    ChangeInvisibleTime: _acknowledged_topics,
    CheckClientConfig: lambda each: (each.subscription.topic,),
    GetConsumeStats: lambda each: (each.topic, *each.topics),
    BatchAckMessage: lambda each: (ack.topic for ack in each.acks or ()),
    LockBatchMq: lambda each: (queue.topic for queue in each.queues),
    UnlockBatchMq: lambda each: (queue.topic for queue in each.queues),
    Heartbeat: lambda each: (one.topic for consumer in each.consumers for one in consumer.subscriptions),
    # Its field names the half topic.
    CheckTransactionState: lambda each: (of_record(each.record).properties.get(properties.REAL_TOPIC, each.topic),),
    RequestConsumerStatus: lambda each: (each.ext_fields.get("topic"),),
    RequestDirectConsumption: lambda each: (stored_record.decode(each.record).topic,),
    ProxyOnlyRequest: lambda each: each.topics,
}
"""Topics of operations that have no field of `TOPIC_FIELDS`."""
GROUPS: Mapping[type, Callable[[Any], Iterable[str | None]]] = {
    CreateGroup: lambda each: (each.config.group_name,),
    CreateGroups: lambda each: (one.config.group_name for one in each.groups),
    SendReplyMessage: lambda each: (each.message.producer_group,),
    BatchAckMessage: lambda each: (ack.consumer_group for ack in each.acks or ()),
    Heartbeat: lambda each: (*each.producer_groups, *(consumer.group for consumer in each.consumers)),
    CloneGroupOffset: lambda each: (each.src_group, each.dest_group),
    QueryCorrectionOffset: lambda each: (each.compare_group, *each.filter_groups),
    UpdateColdDataFlowCtrConfig: lambda each: each.thresholds,
    CheckTransactionState: lambda each: (of_record(each.record).properties.get(properties.PRODUCER_GROUP),),
    RequestConsumerStatus: lambda each: (each.ext_fields.get("group"),),
    RequestDirectConsumption: lambda each: (each.ext_fields.get("consumerGroup"),),
    RequestRunningInfo: lambda each: (each.ext_fields.get("consumerGroup"),),
    ProxyOnlyRequest: lambda each: each.groups,
}
"""Groups of operations that have no field of `GROUP_FIELDS`."""


def topics_of(subject: Request | Effect) -> Names:
    """Return the topics that a request or an effect is about."""
    return _names(subject, TOPICS, TOPIC_FIELDS)


def groups_of(subject: Request | Effect) -> Names:
    """Return the consumer and producer groups that a request or an effect is about."""
    return _names(subject, GROUPS, GROUP_FIELDS)


def has_topics(kind: type) -> bool:
    """True if operations or effects of a class are about topics."""
    return kind in TOPICS or any(each.name in TOPIC_FIELDS for each in fields(kind))


def has_groups(kind: type) -> bool:
    """True if operations or effects of a class are about groups."""
    return kind in GROUPS or any(each.name in GROUP_FIELDS for each in fields(kind))


def _names(
    subject: object, special: Mapping[type, Callable[[Any], Iterable[str | None]]], names: Iterable[str]
) -> Names:
    found = special.get(subject.__class__)
    values = (getattr(subject, name, None) for name in names) if found is None else found(subject)
    return tuple(value for value in values if value)
