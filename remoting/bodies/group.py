"""Bodies of requests about subscription groups.

Source: SubscriptionGroupConfig, GroupRetryPolicy, ConsumeStats, QueryAssignmentResponseBody (5.3.3).
"""

from dataclasses import field
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.groups import (
    AssignmentResult,
    ConsumeStatsResult,
    ConsumeTimeSpanResult,
    GroupConfig,
    GroupsResult,
    RetryPolicy,
    SubscriptionResult,
)

from ..wire.fields import Int, Long
from .bean import Bean, bean
from .client import MessageModel, subscription_members
from .reading import null_body, null_list
from .writing import data_version, dumps, message_queue, queue_map

_SUBSCRIPTION = "org.apache.rocketmq.remoting.protocol.subscription"

RetryPolicyType = Annotated[Literal["EXPONENTIAL", "CUSTOMIZED"], f"{_SUBSCRIPTION}.GroupRetryPolicyType"]
MessageRequestMode = Annotated[Literal["PULL", "POP"], "org.apache.rocketmq.common.message.MessageRequestMode"]


@bean
class ExponentialPolicyBody(Bean):
    """A retry policy whose delays (ms) grow by a factor."""

    initial: Long = 5_000
    max: Long = 7_200_000
    multiplier: Long = 2


@bean
class CustomizedPolicyBody(Bean):
    """A retry policy with a list of delays, in milliseconds."""

    next: list[Long] | None = None


@bean
class RetryPolicyBody(Bean):
    """The retry policy of a group: the delays after which failed messages are redelivered."""

    type: RetryPolicyType = "CUSTOMIZED"
    exponential_retry_policy: ExponentialPolicyBody | None = None
    customized_retry_policy: CustomizedPolicyBody | None = None


@bean
class GroupConfigBody(Bean):
    """The configuration of a subscription group."""

    MISSING_BODY_REMARK = null_body("SubscriptionGroupConfig.getGroupName", "config")

    group_name: str | None = None
    consume_enable: bool = True
    consume_from_min_enable: bool = True
    consume_broadcast_enable: bool = True
    consume_message_orderly: bool = False
    retry_queue_nums: Int = 1
    retry_max_times: Int = 16
    group_retry_policy: RetryPolicyBody | None = None
    broker_id: Long = 0
    which_broker_when_consume_slowly: Long = 1
    notify_consumer_ids_changed_enable: bool = True
    group_sys_flag: Int = 0
    consume_timeout_minute: Int = 15
    attributes: dict[str, str] = field(default_factory=dict)


@bean
class GroupListBody(Bean):
    """The configurations of several groups."""

    MISSING_BODY_REMARK = null_body("SubscriptionGroupList.getGroupConfigList", "subscriptionGroupList")

    group_config_list: list[GroupConfigBody] | None = None

    def configs(self) -> list[GroupConfig]:
        """Convert the configurations. Raises SYSTEM_ERROR for a missing list or a missing group name."""
        if self.group_config_list is None:
            raise EngineError(ResponseCode.SYSTEM_ERROR, null_list("groupConfigList"))
        return [config(each) for each in self.group_config_list]


@bean
class AssignmentBody(Bean):
    """A client's request for the queues assigned to it."""

    MISSING_BODY_REMARK = null_body("QueryAssignmentRequestBody.getTopic", "requestBody")

    topic: str = ""
    consumer_group: str = ""
    client_id: str = ""
    strategy_name: str = ""
    message_model: MessageModel = "CLUSTERING"


@bean
class RequestModeBody(Bean):
    """A request to set the message request mode (PULL or POP) of a group on a topic."""

    MISSING_BODY_REMARK = null_body("SetMessageRequestModeRequestBody.getTopic", "requestBody")

    topic: str = ""
    consumer_group: str = ""
    mode: MessageRequestMode = "PULL"
    pop_share_queue_num: Int = 0


def config_members(config: GroupConfig) -> dict[str, Any]:
    """Return a group's configuration as a JSON object."""
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


def config(body: GroupConfigBody) -> GroupConfig:
    """Convert a group's configuration. Raises SYSTEM_ERROR for a missing group name."""
    if body.group_name is None:
        raise EngineError(ResponseCode.SYSTEM_ERROR, "java.lang.NullPointerException")
    return GroupConfig(
        group_name=body.group_name,
        consume_enable=body.consume_enable,
        consume_from_min_enable=body.consume_from_min_enable,
        consume_broadcast_enable=body.consume_broadcast_enable,
        consume_message_orderly=body.consume_message_orderly,
        retry_queue_nums=body.retry_queue_nums,
        retry_max_times=body.retry_max_times,
        retry_policy=RetryPolicy() if body.group_retry_policy is None else _policy(body.group_retry_policy),
        broker_id=body.broker_id,
        which_broker_when_consume_slowly=body.which_broker_when_consume_slowly,
        notify_consumer_ids_changed_enable=body.notify_consumer_ids_changed_enable,
        group_sys_flag=body.group_sys_flag,
        consume_timeout_minute=body.consume_timeout_minute,
        attributes=body.attributes,
    )


def all_groups(result: GroupsResult) -> bytes:
    """Write the configurations of all groups."""
    return dumps(
        {
            "dataVersion": data_version(result.version_counter, result.version_timestamp),
            "forbiddenTable": {},
            "subscriptionGroupTable": {name: config_members(each) for name, each in result.groups.items()},
        }
    )


def consume_stats(result: ConsumeStatsResult) -> bytes:
    """Write a group's progress by queue."""
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
    """Write a group's subscription to a topic. A missing subscription is omitted."""
    members: dict[str, Any] = {"group": result.group, "topic": result.topic}
    if result.subscription is not None:
        members["subscriptionData"] = subscription_members(result.subscription)
    return dumps(members)


def consume_time_span(result: ConsumeTimeSpanResult) -> bytes:
    """Write the consume time spans by queue. Store times are written as numbers and as text, the latter in UTC."""
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
    """Write the assigned queues. An empty object leaves the client's assignment unchanged."""
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


def _policy(body: RetryPolicyBody) -> RetryPolicy:
    policy = RetryPolicy(body.type)
    exponential, customized = body.exponential_retry_policy, body.customized_retry_policy
    if exponential is not None:
        policy.initial_ms, policy.max_ms = exponential.initial, exponential.max
        policy.multiplier = exponential.multiplier
    if customized is not None:
        policy.next_ms = customized.next
    return policy
