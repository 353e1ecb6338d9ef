"""Bodies of requests about clients: heartbeats, subscriptions, connections, queue locks.

Source: HeartbeatData, SubscriptionData, ConsumerConnection, ProducerConnection, LockBatchRequestBody (5.3.3).
"""

from dataclasses import field
from typing import Annotated, Any, Literal

from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.clients import (
    ClientConnection,
    ConsumerConnectionResult,
    ConsumerData,
    Heartbeat,
    MessageQueue,
    SubscriptionData,
)

from ..wire.fields import Int, Long, wire
from ..wire.json_values import long
from ..wire.lenient_json import ObjectMap
from .bean import NULL_KEY, Bean, bean
from .reading import loads, null_body
from .writing import dumps, host_text, queue_map

_HEARTBEAT = "org.apache.rocketmq.remoting.protocol.heartbeat"

ConsumeType = Annotated[Literal["CONSUME_ACTIVELY", "CONSUME_PASSIVELY", "CONSUME_POP"], f"{_HEARTBEAT}.ConsumeType"]
MessageModel = Annotated[Literal["BROADCASTING", "CLUSTERING"], f"{_HEARTBEAT}.MessageModel"]
ConsumeFromWhere = Annotated[
    Literal[
        "CONSUME_FROM_LAST_OFFSET",
        "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST",
        "CONSUME_FROM_MIN_OFFSET",
        "CONSUME_FROM_MAX_OFFSET",
        "CONSUME_FROM_FIRST_OFFSET",
        "CONSUME_FROM_TIMESTAMP",
    ],
    "org.apache.rocketmq.common.consumer.ConsumeFromWhere",
]


@bean
class SubscriptionBody(Bean):
    """A subscription to one topic."""

    topic: str | None = None
    sub_string: str | None = None
    expression_type: str = "TAG"
    tags_set: frozenset[str] = frozenset()
    code_set: frozenset[Int] = frozenset()
    sub_version: Long = 0
    class_filter_mode: bool = False


@bean
class ConsumerBody(Bean):
    """A consumer group in a heartbeat."""

    group_name: str | None = None
    consume_type: ConsumeType = "CONSUME_PASSIVELY"
    message_model: MessageModel = "CLUSTERING"
    consume_from_where: ConsumeFromWhere = "CONSUME_FROM_LAST_OFFSET"
    subscription_data_set: list[SubscriptionBody] = field(default_factory=list)
    unit_mode: bool = False


@bean
class ProducerBody(Bean):
    """A producer group in a heartbeat."""

    group_name: str


@bean
class HeartbeatBody(Bean):
    """A heartbeat."""

    MISSING_BODY_REMARK = null_body("HeartbeatData.getClientID", "heartbeatData")

    client_id: str = wire("clientID", default="")
    producer_data_set: list[ProducerBody] = field(default_factory=list)
    consumer_data_set: list[ConsumerBody] = field(default_factory=list)
    heartbeat_fingerprint: Int = 0
    without_sub: bool = False


@bean
class QueueBody(Bean):
    """A message queue."""

    topic: str | None = None
    broker_name: str = ""
    queue_id: Int = 0


@bean
class LockBody(Bean):
    """A request to lock queues for a client of a group."""

    MISSING_BODY_REMARK = null_body("LockBatchRequestBody.getConsumerGroup", "requestBody")

    consumer_group: str | None = None
    client_id: str = ""
    mq_set: list[QueueBody] = field(default_factory=list)

    @property
    def queues(self) -> list[MessageQueue]:
        """Convert `mq_set` to message queues."""
        return [queue(each) for each in self.mq_set]


@bean
class UnlockBody(LockBody):
    """A request to unlock queues."""

    MISSING_BODY_REMARK = null_body("UnlockBatchRequestBody.isOnlyThisBroker", "requestBody")


@bean
class CheckClientBody(Bean):
    """A client's request to validate its subscription."""

    MISSING_BODY_REMARK = null_body("CheckClientRequestBody.getSubscriptionData", "requestBody")

    client_id: str = ""
    group: str = ""
    subscription_data: SubscriptionBody | None = None


def heartbeat(body: HeartbeatBody, language: str, version: int) -> Heartbeat:
    """Make the heartbeat operation. `language` and `version` come from the request's header."""
    return Heartbeat(
        client_id=body.client_id,
        producer_groups=[each.group_name for each in body.producer_data_set],
        consumers=[consumer_data(each) for each in body.consumer_data_set],
        fingerprint=body.heartbeat_fingerprint,
        without_sub=body.without_sub,
        language=language,
        version=version,
    )


def consumer_data(body: ConsumerBody) -> ConsumerData:
    """Convert a consumer of a heartbeat. Raises SYSTEM_ERROR for a missing group, or a subscription without a topic."""
    if body.group_name is None or any(each.topic is None for each in body.subscription_data_set):
        raise EngineError(ResponseCode.SYSTEM_ERROR, NULL_KEY)
    return ConsumerData(
        group=body.group_name,
        consume_type=body.consume_type,
        message_model=body.message_model,
        consume_from_where=body.consume_from_where,
        subscriptions=[subscription_data(each) for each in body.subscription_data_set],
        unit_mode=body.unit_mode,
    )


def subscription_data(body: SubscriptionBody) -> SubscriptionData:
    """Convert a subscription to one topic. Tag codes are stored as sent, including the wrong ones of old clients."""
    return SubscriptionData(
        topic=body.topic or "",
        sub_string=body.sub_string or "",
        expression_type=body.expression_type,
        tags=body.tags_set,
        codes=body.code_set,
        sub_version=body.sub_version,
        class_filter_mode=body.class_filter_mode,
    )


def subscription_members(data: SubscriptionData) -> dict[str, Any]:
    """Return a subscription as a JSON object."""
    return {
        "classFilterMode": data.class_filter_mode,
        "codeSet": sorted(data.codes),
        "expressionType": data.expression_type,
        "subString": data.sub_string,
        "subVersion": data.sub_version,
        "tagsSet": sorted(data.tags),
        "topic": data.topic,
    }


def queue(body: QueueBody) -> MessageQueue:
    """Convert a queue."""
    return MessageQueue(body.topic or "", body.broker_name, body.queue_id)


def queue_offsets(body: bytes) -> Any:
    """Read queues and offsets from a client's GetConsumerStatusBody, and return them as JSON to be written again.

    Returns None if upstream cannot read the body. Source: Broker2Client.getConsumeStatus, which logs such a client and
    omits it.
    """
    try:
        members = loads(body)
        table = members.get("messageQueueTable") if isinstance(members, dict) else None
        pairs = table if isinstance(table, ObjectMap) else ()
        read = [(queue(QueueBody.read(name)), long(offset, "offset")) for name, offset in pairs if offset is not None]
    except (EngineError, AttributeError):
        return None
    return queue_map(read)


def connection(client: ClientConnection) -> dict[str, Any]:
    """Return a connection of a group as a JSON object."""
    return {
        "clientAddr": host_text(client.address),
        "clientId": client.client_id,
        **_language(client),
        "version": client.version,
    }


def _language(client: ClientConnection) -> dict[str, str]:
    """Return the language member, or no member if upstream does not know the language."""
    return {"language": client.language} if client.language else {}


def producer_info(client: ClientConnection) -> dict[str, Any]:
    """Return a connection for the list of all producers. Source: ProducerInfo (5.3.3)."""
    return {
        "clientId": client.client_id,
        **_language(client),
        "lastUpdateTimestamp": client.last_update_ms,
        "remoteIP": f"/{host_text(client.address)}",
        "version": client.version,
    }


def consumer_connection(result: ConsumerConnectionResult) -> bytes:
    """Write a consumer group's connections and subscriptions."""
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
