"""Bodies about subscription groups.

Source: SubscriptionGroupConfig, GroupRetryPolicy, ConsumeStats, QueryAssignmentResponseBody (5.3.3).
"""

from datetime import UTC, datetime
from typing import Any

from rocketmq_testkit.emulator.operations import (
    AssignmentResult,
    ConsumeStatsResult,
    ConsumeTimeSpanResult,
    GroupConfig,
    GroupsResult,
    RetryPolicy,
    SubscriptionResult,
)

from .client import subscription_members
from .reading import boolean, integer, optional_text, text, text_map
from .writing import data_version, dumps, message_queue, queue_map


def config_members(config: GroupConfig) -> dict[str, Any]:
    """A group's configuration as an object."""
    return {
        "attributes": config.attributes,
        "brokerId": config.broker_id,
        "consumeBroadcastEnable": config.consume_broadcast_enable,
        "consumeEnable": config.consume_enable,
        "consumeFromMinEnable": config.consume_from_min_enable,
        "consumeMessageOrderly": config.consume_message_orderly,
        "consumeTimeoutMinute": config.consume_timeout_minute,
        "groupName": config.group_name,
        "groupRetryPolicy": _policy_members(config.retry_policy),
        "groupSysFlag": config.group_sys_flag,
        "notifyConsumerIdsChangedEnable": config.notify_consumer_ids_changed_enable,
        "retryMaxTimes": config.retry_max_times,
        "retryQueueNums": config.retry_queue_nums,
        "whichBrokerWhenConsumeSlowly": config.which_broker_when_consume_slowly,
    }


def config(members: dict[str, Any]) -> GroupConfig | None:
    """A group's configuration; members that are absent have upstream's defaults. None without a name."""
    name = optional_text(members.get("groupName"))
    if name is None:
        return None
    return GroupConfig(
        group_name=name,
        consume_enable=boolean(members.get("consumeEnable"), True),
        consume_from_min_enable=boolean(members.get("consumeFromMinEnable"), True),
        consume_broadcast_enable=boolean(members.get("consumeBroadcastEnable"), True),
        consume_message_orderly=boolean(members.get("consumeMessageOrderly")),
        retry_queue_nums=integer(members.get("retryQueueNums"), 1),
        retry_max_times=integer(members.get("retryMaxTimes"), 16),
        retry_policy=_policy(members.get("groupRetryPolicy")),
        broker_id=integer(members.get("brokerId")),
        which_broker_when_consume_slowly=integer(members.get("whichBrokerWhenConsumeSlowly"), 1),
        notify_consumer_ids_changed_enable=boolean(members.get("notifyConsumerIdsChangedEnable"), True),
        group_sys_flag=integer(members.get("groupSysFlag")),
        consume_timeout_minute=integer(members.get("consumeTimeoutMinute"), 15),
        attributes=text_map(members.get("attributes")),
    )


def all_groups(result: GroupsResult) -> bytes:
    """All groups."""
    return dumps(
        {
            "dataVersion": data_version(result.version_counter, result.version_timestamp),
            "forbiddenTable": {},
            "subscriptionGroupTable": {name: config_members(each) for name, each in result.groups.items()},
        }
    )


def consume_stats(result: ConsumeStatsResult) -> bytes:
    """A group's progress by queue."""
    items = (
        (
            queue,
            {
                "brokerOffset": progress.broker_offset,
                "consumerOffset": progress.consumer_offset,
                "lastTimestamp": progress.last_timestamp,
                "pullOffset": progress.pull_offset,
            },
        )
        for queue, progress in result.offsets.items()
    )
    return dumps({"consumeTps": result.consume_tps, "offsetTable": queue_map(items)})


def subscription(result: SubscriptionResult) -> bytes:
    """A group's subscription to a topic, which is left out where there is none."""
    members: dict[str, Any] = {"group": result.group, "topic": result.topic}
    if result.subscription is not None:
        members["subscriptionData"] = subscription_members(result.subscription)
    return dumps(members)


def consume_time_span(result: ConsumeTimeSpanResult) -> bytes:
    """Store times by queue, as numbers and as texts, the latter in UTC."""
    return dumps(
        {
            "consumeTimeSpanSet": [
                {
                    "consumeTimeStamp": span.consume_timestamp,
                    "consumeTimeStampStr": _time_text(span.consume_timestamp),
                    "delayTime": span.delay_time_ms,
                    "maxTimeStamp": span.max_timestamp,
                    "maxTimeStampStr": _time_text(span.max_timestamp),
                    "messageQueue": message_queue(span.queue),
                    "minTimeStamp": span.min_timestamp,
                    "minTimeStampStr": _time_text(span.min_timestamp),
                }
                for span in result.spans
            ]
        }
    )


def _time_text(timestamp: int) -> str:
    seconds, ms = divmod(timestamp, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d#%H:%M:%S}:{ms:03d}"


def assignments(result: AssignmentResult) -> bytes:
    """Assigned queues; an empty object leaves the client's assignment as it is."""
    if result.assignments is None:
        return b"{}"
    return dumps(
        {
            "messageQueueAssignments": [
                {"messageQueue": message_queue(each.queue), "mode": each.mode} for each in result.assignments
            ]
        }
    )


def _policy_members(policy: RetryPolicy) -> dict[str, Any]:
    members: dict[str, Any] = {}
    if policy.kind == "EXPONENTIAL":
        members["exponentialRetryPolicy"] = {
            "initial": policy.initial_ms,
            "max": policy.max_ms,
            "multiplier": policy.multiplier,
        }
    elif policy.next_ms is not None:
        members["customizedRetryPolicy"] = {"next": policy.next_ms}
    members["type"] = policy.kind
    return members


def _policy(value: Any) -> RetryPolicy:
    policy = RetryPolicy()
    if not isinstance(value, dict):
        return policy
    if text(value.get("type")) == "EXPONENTIAL":
        policy.kind = "EXPONENTIAL"
    exponential = value.get("exponentialRetryPolicy")
    if isinstance(exponential, dict):
        policy.initial_ms = integer(exponential.get("initial"), policy.initial_ms)
        policy.max_ms = integer(exponential.get("max"), policy.max_ms)
        policy.multiplier = integer(exponential.get("multiplier"), policy.multiplier)
    customized = value.get("customizedRetryPolicy")
    if isinstance(customized, dict) and isinstance(customized.get("next"), list):
        policy.next_ms = [integer(each) for each in customized["next"]]
    return policy
