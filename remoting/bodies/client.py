"""Bodies about clients: heartbeats, subscriptions, connections, locks.

Source: HeartbeatData, SubscriptionData, ConsumerConnection, ProducerConnection, LockBatchRequestBody (5.3.3).
"""

from typing import Any

from rocketmq_testkit.emulator.operations import (
    ClientConnection,
    ConsumerConnectionResult,
    ConsumerData,
    Heartbeat,
    MessageQueue,
    SubscriptionData,
)

from ..lenient_json import ObjectMap
from ..push import host_text
from .reading import boolean, enum_name, integer, loads, objects, text
from .writing import dumps, queue_map

CONSUME_TYPES = ("CONSUME_ACTIVELY", "CONSUME_PASSIVELY", "CONSUME_POP")
MESSAGE_MODELS = ("BROADCASTING", "CLUSTERING")
CONSUME_FROM_WHERE = (
    "CONSUME_FROM_LAST_OFFSET",
    "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST",
    "CONSUME_FROM_MIN_OFFSET",
    "CONSUME_FROM_MAX_OFFSET",
    "CONSUME_FROM_FIRST_OFFSET",
    "CONSUME_FROM_TIMESTAMP",
)


def heartbeat(members: dict[str, Any], language: str, version: int) -> Heartbeat:
    """The operation of a heartbeat; language and version are those of the request's header."""
    return Heartbeat(
        client_id=text(members.get("clientID")),
        producer_groups=[text(each.get("groupName")) for each in objects(members.get("producerDataSet"))],
        consumers=[consumer_data(each) for each in objects(members.get("consumerDataSet"))],
        fingerprint=integer(members.get("heartbeatFingerprint")),
        without_sub=boolean(members.get("withoutSub")),
        language=language,
        version=version,
    )


def consumer_data(members: dict[str, Any]) -> ConsumerData:
    """One consumer of a heartbeat."""
    return ConsumerData(
        group=text(members.get("groupName")),
        consume_type=enum_name(members.get("consumeType"), CONSUME_TYPES, "CONSUME_PASSIVELY"),
        message_model=enum_name(members.get("messageModel"), MESSAGE_MODELS, "CLUSTERING"),
        consume_from_where=enum_name(members.get("consumeFromWhere"), CONSUME_FROM_WHERE, "CONSUME_FROM_LAST_OFFSET"),
        subscriptions=[subscription(each) for each in objects(members.get("subscriptionDataSet"))],
        unit_mode=boolean(members.get("unitMode")),
    )


def subscription(members: dict[str, Any]) -> SubscriptionData:
    """What a consumer wants of one topic. Tag codes are taken as sent, wrong ones of old clients included."""
    return SubscriptionData(
        topic=text(members.get("topic")),
        sub_string=text(members.get("subString")),
        expression_type=text(members.get("expressionType"), "TAG"),
        tags=frozenset(text(each) for each in _items(members.get("tagsSet"))),
        codes=frozenset(integer(each) for each in _items(members.get("codeSet"))),
        sub_version=integer(members.get("subVersion")),
        class_filter_mode=boolean(members.get("classFilterMode")),
    )


def subscription_members(data: SubscriptionData) -> dict[str, Any]:
    """A subscription as an object."""
    return {
        "classFilterMode": data.class_filter_mode,
        "codeSet": sorted(data.codes),
        "expressionType": data.expression_type,
        "subString": data.sub_string,
        "subVersion": data.sub_version,
        "tagsSet": sorted(data.tags),
        "topic": data.topic,
    }


def queues(value: Any) -> list[MessageQueue]:
    """The queues of a lock request."""
    return [
        MessageQueue(text(each.get("topic")), text(each.get("brokerName")), integer(each.get("queueId")))
        for each in objects(value)
    ]


def queue_offsets(body: bytes) -> Any:
    """The map of queues and offsets in a client's GetConsumerStatusBody, to be written again."""
    members = loads(body)
    table = members.get("messageQueueTable") if isinstance(members, dict) else None
    pairs = table if isinstance(table, ObjectMap) else ()
    return queue_map((queue, integer(offset)) for name, offset in pairs for queue in queues([name]))


def connection(client: ClientConnection) -> dict[str, Any]:
    """One connection of a group."""
    return {
        "clientAddr": host_text(client.address),
        "clientId": client.client_id,
        "language": client.language,
        "version": client.version,
    }


def producer_info(client: ClientConnection) -> dict[str, Any]:
    """One connection in the list of all producers. Source: ProducerInfo (5.3.3)."""
    return {
        "clientId": client.client_id,
        "language": client.language,
        "lastUpdateTimestamp": client.last_update_ms,
        "remoteIP": f"/{host_text(client.address)}",
        "version": client.version,
    }


def consumer_connection(result: ConsumerConnectionResult) -> bytes:
    """A consumer group's connections and subscriptions."""
    return dumps(
        {
            "connectionSet": [connection(each) for each in result.connections],
            "consumeFromWhere": result.consume_from_where,
            "consumeType": result.consume_type,
            "messageModel": result.message_model,
            "subscriptionTable": {
                topic: subscription_members(data) for topic, data in sorted(result.subscriptions.items())
            },
        }
    )


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
