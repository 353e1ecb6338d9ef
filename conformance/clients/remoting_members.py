"""Remoting requests of connected clients: heartbeats with subscriptions, and unregistration."""

from collections.abc import Mapping, Sequence

from rocketmq_testkit.remoting.request.request_code import RequestCode

from .remoting_request import Request, json_request, request


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
) -> Request:
    """Send a client's heartbeat: its consumer groups, each with topics and expressions, and its producer groups.

    `version` is that of the subscriptions. `members` are further members of the body.
    """
    body = {
        "clientID": client,
        "producerDataSet": [{"groupName": each} for each in producers],
        "consumerDataSet": [
            {
                "groupName": group,
                "consumeType": type,
                "messageModel": model,
                "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
                "unitMode": False,
                "subscriptionDataSet": [
                    subscription(topic, expression, expression_type, version) for topic, expression in topics.items()
                ],
            }
            for group, topics in (groups or {}).items()
        ],
        **members,
    }
    return json_request(RequestCode.HEART_BEAT, body)


def unregister_request(client: str, *, group: str | None = None, producers: str | None = None) -> Request:
    """Unregister a client from a consumer group, a producer group, or both."""
    ext = {"clientID": client, "producerGroup": producers, "consumerGroup": group}
    return request(RequestCode.UNREGISTER_CLIENT, ext)


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
