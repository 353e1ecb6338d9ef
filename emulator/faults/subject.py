"""The facts of a request, a response, a push or a connection that the criteria of a rule are compared with."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from ..gate.effects import CheckTransactionState, Effect, PushReplyMessage
from ..kernel.value_class import parts
from ..message import batch, properties, stored_record
from ..operations.base import Operation
from ..operations.clients import Heartbeat, LockBatchMq, UnlockBatchMq
from ..operations.consume import (
    AckMessage,
    BatchAckMessage,
    ChangeInvisibleTime,
    PopResult,
    PullResult,
)
from ..operations.groups import CreateGroup, CreateGroups
from ..operations.send import SendMessage, SendReplyMessage
from ..operations.topics import CreateStaticTopic, CreateTopic, CreateTopics

Names = tuple[str, ...]
TOPIC_FIELDS = ("topic", "origin_topic")
GROUP_FIELDS = ("group", "consumer_group", "producer_group")
_TAG, _KEYS = "TAGS", "KEYS"


@parts
class MessageFacts:
    """A message that a request sends or acknowledges, or that a response delivers."""

    body: bytes
    properties: Mapping[str, str]

    @property
    def tag(self) -> str | None:
        """The tag, None if there is none."""
        return self.properties.get(_TAG)

    @property
    def keys(self) -> list[str]:
        """The keys, which a message holds separated by spaces."""
        return self.properties.get(_KEYS, "").split()

    @property
    def message_id(self) -> str | None:
        """The id that the producer gave it, None if there is none."""
        return self.properties.get("UNIQ_KEY")


def of_record(record: bytes) -> MessageFacts:
    """Return the facts of a stored message."""
    read = stored_record.decode(record)
    return MessageFacts(body=read.body, properties=read.property_map())


def _sent(send: SendMessage) -> Iterator[MessageFacts]:
    if not send.batch:
        yield MessageFacts(body=send.body, properties=send.properties)
        return
    for _flag, body, text in batch.split_batch(send.body):
        yield MessageFacts(body=body, properties=batch.properties_of(text))


TOPICS: Mapping[type, Callable[[Any], Iterable[str | None]]] = {
    CreateTopic: lambda each: (each.config.topic_name,),
    CreateTopics: lambda each: (one.config.topic_name for one in each.topics),
    CreateStaticTopic: lambda each: (each.config.topic_name,),
    SendReplyMessage: lambda each: (each.message.topic,),
    BatchAckMessage: lambda each: (ack.topic for ack in each.acks or ()),
    LockBatchMq: lambda each: (queue.topic for queue in each.queues),
    UnlockBatchMq: lambda each: (queue.topic for queue in each.queues),
    Heartbeat: lambda each: (one.topic for consumer in each.consumers for one in consumer.subscriptions),
}
"""Topics of operations that have no field of `TOPIC_FIELDS`."""
GROUPS: Mapping[type, Callable[[Any], Iterable[str | None]]] = {
    CreateGroup: lambda each: (each.config.group_name,),
    CreateGroups: lambda each: (one.config.group_name for one in each.groups),
    SendReplyMessage: lambda each: (each.message.producer_group,),
    BatchAckMessage: lambda each: (ack.consumer_group for ack in each.acks or ()),
    Heartbeat: lambda each: (*each.producer_groups, *(consumer.group for consumer in each.consumers)),
}
"""Groups of operations that have no field of `GROUP_FIELDS`."""


def topics_of(subject: Operation | Effect) -> Names:
    """Return the topics that an operation or an effect is about."""
    return _names(subject, TOPICS, TOPIC_FIELDS)


def groups_of(subject: Operation | Effect) -> Names:
    """Return the consumer and producer groups that an operation or an effect is about."""
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


_SENT: Mapping[type, Callable[[Any], Iterable[MessageFacts]]] = {
    SendMessage: _sent,
    SendReplyMessage: lambda each: _sent(each.message),
}
_ABOUT_STORED = (AckMessage, ChangeInvisibleTime)
_DELIVERED: Mapping[type, Callable[[Any], Iterable[MessageFacts]]] = {
    PullResult: lambda each: (of_record(record) for record in each.records),
    PopResult: lambda each: (of_record(message.record) for message in each.messages),
}
_PUSHED: Mapping[type, Callable[[Any], Iterable[MessageFacts]]] = {
    CheckTransactionState: lambda each: (of_record(each.record),),
    PushReplyMessage: lambda each: (MessageFacts(body=each.body, properties=properties.decode(each.properties)),),
}


def messages_of(
    subject: Operation | Effect, outcome: object, record: Callable[[str, int, int], bytes | None]
) -> list[MessageFacts]:
    """Return the messages of a request and its outcome (None: not known yet), or of an effect.

    `record` returns the stored message at a topic, queue id and offset.
    """
    kind = subject.__class__
    if outcome.__class__ in _DELIVERED:
        return list(_DELIVERED[outcome.__class__](outcome))
    if kind in _SENT:
        return list(_SENT[kind](subject))
    if kind in _PUSHED:
        return list(_PUSHED[kind](subject))
    if isinstance(subject, _ABOUT_STORED):
        stored = record(subject.topic, subject.queue_id, subject.offset)
        return [] if stored is None else [of_record(stored)]
    return []
