"""Remoting requests of group members: heartbeats with subscriptions, assignments, and queue locks.

The functions build the requests that their docstrings describe, for a connection to send.
"""

from collections.abc import Iterable, Mapping, Sequence

from rocketmq_testkit.remoting.request.request_code import RequestCode

from .remoting_request import RemotingRequest, json_request, request


def heartbeat_request(
    client: str,
    *,
    groups: Mapping[str, Mapping[str, str]] | None = None,
    producers: Sequence[str] = (),
    model: str = "CLUSTERING",
    type: str = "CONSUME_PASSIVELY",  # noqa: A002 RocketMQ's own word
    expression_type: str = "TAG",
    version: int = 0,
    **members: object,
) -> RemotingRequest:
    """Send a client's heartbeat: its consumer groups, each with topics and expressions, and its producer groups.

    `version` is that of the subscriptions. `members` are further JSON members of the body.
    """
    body = {
        "clientID": client,
        "producerDataSet": [{"groupName": each} for each in producers],
        "consumerDataSet": [
            consumer_data(
                group,
                *(subscription(topic, expression, expression_type, version) for topic, expression in topics.items()),
                messageModel=model,
                consumeType=type,
            )
            for group, topics in (groups or {}).items()
        ],
        **members,
    }
    return json_request(RequestCode.HEART_BEAT, body)


def consumer_data(group: str, *subscriptions: Mapping[str, object], **members: object) -> dict[str, object]:
    """Build a ConsumerData as clients do; `members` replace its JSON members."""
    return {
        "groupName": group,
        "consumeType": "CONSUME_PASSIVELY",
        "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
        "unitMode": False,
        "subscriptionDataSet": subscriptions,
        **members,
    }


def unregister_request(client: str, *, group: str | None = None, producers: str | None = None) -> RemotingRequest:
    """Unregister a client from a consumer group, a producer group, or both."""
    ext = {"clientID": client, "producerGroup": producers, "consumerGroup": group}
    return request(RequestCode.UNREGISTER_CLIENT, ext)


def lock_request(
    client: str, group: str, topic: str, broker_name: str, *, queues: Iterable[int], unlock: bool = False
) -> RemotingRequest:
    """Lock queues of a topic for a client of a group, or release its locks."""
    members = [{"topic": topic, "brokerName": broker_name, "queueId": queue} for queue in queues]
    code = RequestCode.UNLOCK_BATCH_MQ if unlock else RequestCode.LOCK_BATCH_MQ
    return json_request(code, {"clientId": client, "consumerGroup": group, "mqSet": members})


def assignment_request(
    topic: str, group: str, client: str, strategy: str = "AVG", *, model: str = "CLUSTERING", **members: object
) -> RemotingRequest:
    """Query the queues of a topic that the broker assigns to a client."""
    body = {
        "topic": topic,
        "consumerGroup": group,
        "clientId": client,
        "strategyName": strategy,
        "messageModel": model,
        **members,
    }
    return json_request(RequestCode.QUERY_ASSIGNMENT, body)


def mode_request(topic: str, group: str, mode: str, share: int = 0) -> RemotingRequest:
    """Set the message request mode (PULL or POP) of a group for a topic; `share` is the field popShareQueueNum."""
    body = {"topic": topic, "consumerGroup": group, "mode": mode, "popShareQueueNum": share}
    return json_request(RequestCode.SET_MESSAGE_REQUEST_MODE, body)


def subscription(topic: str, expression: str, kind: str = "TAG", version: int = 0) -> dict[str, object]:
    """Build a SubscriptionData as clients do."""
    tags = [] if kind != "TAG" or expression in ("", "*") else [each.strip() for each in expression.split("||")]
    tags = [each for each in tags if each]
    return {
        "classFilterMode": False,
        "topic": topic,
        "subString": expression,
        "expressionType": kind,
        "tagsSet": tags,
        "codeSet": [java_hash(each) for each in tags],
        "subVersion": version,
    }


def java_hash(text: str) -> int:
    """Java's String.hashCode."""
    value = 0
    for unit in memoryview(text.encode("utf-16-le")).cast("H"):
        value = value * 31 + unit & 0xFFFFFFFF
    return value - (1 << 32) if value & 0x80000000 else value
