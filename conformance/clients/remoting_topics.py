"""Remoting requests of administrators about topics, their routes and queues, and groups.

The functions build the requests that their docstrings describe, for a connection to send.
"""

from typing import Any

from rocketmq_testkit.emulator.message.names import AUTO_CREATE_TOPIC
from rocketmq_testkit.remoting.request.request_code import RequestCode

from .remoting_request import RemotingRequest, json_request, request


def topic_fields(
    name: str,
    *,
    queues: int = 4,
    read: int | None = None,
    write: int | None = None,
    kind: str | None = None,
    **changes: object,
) -> dict[str, object]:
    """Return the ext fields that create a topic; `changes` replace fields, and None omits one.

    `kind`: message type (NORMAL, FIFO, DELAY, TRANSACTION); `perm`: 4 read, 2 write.
    """
    fields: dict[str, object] = {
        "topic": name,
        "defaultTopic": AUTO_CREATE_TOPIC,
        "readQueueNums": queues if read is None else read,
        "writeQueueNums": queues if write is None else write,
        "perm": 6,
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": 0,
        "order": False,
    }
    return {**fields, **({} if kind is None else {"attributes": f"+message.type={kind}"}), **changes}


def topic_request(name: str, **more: Any) -> RemotingRequest:
    """Create a topic; `more`: see `topic_fields`."""
    return request(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields(name, **more))


def group_request(name: str, **config: object) -> RemotingRequest:
    """Create a subscription group; `config` contains fields of SubscriptionGroupConfig by name."""
    body = {
        "groupName": name,
        "consumeEnable": True,
        "consumeFromMinEnable": True,
        "consumeBroadcastEnable": True,
        "retryQueueNums": 1,
        "retryMaxTimes": 16,
        "brokerId": 0,
        "whichBrokerWhenConsumeSlowly": 1,
        "notifyConsumerIdsChangedEnable": True,
        **config,
    }
    return json_request(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body)


def route_request(topic: str | None, **fields: object) -> RemotingRequest:
    """Query the route of a topic at a name server."""
    return request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic, **fields})


def max_offset_request(topic: str, queue: int | str = 0) -> RemotingRequest:
    """Query the offset of a queue's next message."""
    return request(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": queue})
