"""Names of topics and groups: which are legal, which belong to the system, how derived ones are formed.

Source: TopicValidator, KeyBuilder, MixAll, PopAckConstants (5.3.3).
"""

import re

from ..kernel.errors import EngineError
from ..kernel.response_code import ResponseCode

RETRY_PREFIX = "%RETRY%"
DLQ_PREFIX = "%DLQ%"
LMQ_PREFIX = "%LMQ%"
SYSTEM_TOPIC_PREFIX = "rmq_sys_"
SYSTEM_GROUP_PREFIX = "CID_RMQ_SYS_"

AUTO_CREATE_TOPIC = "TBW102"
SCHEDULE_TOPIC = "SCHEDULE_TOPIC_XXXX"
BENCHMARK_TOPIC = "BenchmarkTest"
HALF_TOPIC = "RMQ_SYS_TRANS_HALF_TOPIC"
OP_HALF_TOPIC = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
TRACE_TOPIC = "RMQ_SYS_TRACE_TOPIC"
TRANS_CHECK_MAX_TIME_TOPIC = "TRANS_CHECK_MAX_TIME_TOPIC"
SELF_TEST_TOPIC = "SELF_TEST_TOPIC"
OFFSET_MOVED_TOPIC = "OFFSET_MOVED_EVENT"
CHECKPOINT_TOPIC = "CHECKPOINT_TOPIC"
TIMER_TOPIC = "rmq_sys_wheel_timer"
REVIVE_TOPIC_PREFIX = "rmq_sys_REVIVE_LOG_"
SYNC_MEMBER_TOPIC_PREFIX = "rmq_sys_SYNC_BROKER_MEMBER_"
REPLY_TOPIC_POSTFIX = "REPLY_TOPIC"
REVIVE_GROUP = "CID_RMQ_SYS_REVIVE_GROUP"
TRANSACTION_GROUP = "CID_RMQ_SYS_TRANS"

SYSTEM_TOPICS = frozenset(
    {
        AUTO_CREATE_TOPIC,
        SCHEDULE_TOPIC,
        BENCHMARK_TOPIC,
        HALF_TOPIC,
        OP_HALF_TOPIC,
        TRACE_TOPIC,
        TRANS_CHECK_MAX_TIME_TOPIC,
        SELF_TEST_TOPIC,
        OFFSET_MOVED_TOPIC,
        CHECKPOINT_TOPIC,
    }
)
NOT_ALLOWED_SEND_TOPICS = frozenset(
    {
        SCHEDULE_TOPIC,
        HALF_TOPIC,
        OP_HALF_TOPIC,
        TRANS_CHECK_MAX_TIME_TOPIC,
        SELF_TEST_TOPIC,
        OFFSET_MOVED_TOPIC,
        TIMER_TOPIC,  # deliberate: upstream takes such a message, and its timer service never works again
    }
)
PREDEFINED_GROUPS = (
    "TOOLS_CONSUMER",
    "FILTERSRV_CONSUMER",
    "SELF_TEST_C_GROUP",
    "CID_ONS-HTTP-PROXY",
    "CID_ONSAPI_PULL",
    "CID_ONSAPI_PERMISSION",
    "CID_ONSAPI_OWNER",
    TRANSACTION_GROUP,
)
MAY_ALWAYS_PULL = frozenset({*PREDEFINED_GROUPS, "DEFAULT_CONSUMER", "SCHEDULE_CONSUMER", "__MONITOR_CONSUMER"})
"""Groups of tools, which pull without being known, as do those named CID_RMQ_SYS_*."""

TOPIC_MAX_LENGTH = 127
RETRY_TOPIC_MAX_LENGTH = 255
"""What the broker itself may store into; nobody may create or send to a topic of more than TOPIC_MAX_LENGTH."""
GROUP_MAX_LENGTH = 255
_LEGAL = re.compile(r"[%|a-zA-Z0-9_-]+\Z")
ALLOWED = "^[%|a-zA-Z0-9_-]+$"


def has_legal_characters(name: str) -> bool:
    """Only `%`, `|`, letters, digits, `_` and `-`."""
    return _LEGAL.match(name) is not None


def check_topic(topic: str) -> None:
    """Raise INVALID_PARAMETER, with upstream's text, when the name of a topic is illegal."""
    if not topic.strip():
        raise EngineError(ResponseCode.INVALID_PARAMETER, "The specified topic is blank.")
    if not has_legal_characters(topic):
        raise EngineError(
            ResponseCode.INVALID_PARAMETER,
            f"The specified topic contains illegal characters, allowing only {ALLOWED}",
        )
    if len(topic) > TOPIC_MAX_LENGTH:
        raise EngineError(ResponseCode.INVALID_PARAMETER, "The specified topic is longer than topic max length.")


def is_legal_group(group: str) -> bool:
    """A group that is created by its use: up to 255 legal characters, none too (seen on 5.3.3; its source says 120)."""
    return not group or (len(group) <= GROUP_MAX_LENGTH and has_legal_characters(group))


def is_retry(topic: str) -> bool:
    """A classic or pop retry topic."""
    return topic.startswith(RETRY_PREFIX)


def is_retry_or_dlq(topic: str) -> bool:
    """A retry or dead letter topic."""
    return topic.startswith((RETRY_PREFIX, DLQ_PREFIX))


def is_lmq(name: str) -> bool:
    """A light queue, or a group of those who read them."""
    return name.startswith(LMQ_PREFIX)


def is_pop_retry_v2(topic: str) -> bool:
    """A pop retry topic in its second form."""
    return topic.startswith(RETRY_PREFIX) and "+" in topic


def normal_topic_of_v2(topic: str) -> str:
    """The topic whose messages a v2 pop retry topic holds."""
    return topic.partition("+")[2]


def retry_topic(group: str) -> str:
    """Where send-back puts the messages of a group."""
    return RETRY_PREFIX + group


def dlq_topic(group: str) -> str:
    """Where the messages of a group end that failed too often."""
    return DLQ_PREFIX + group


def pop_retry_topic(topic: str, group: str, *, v2: bool) -> str:
    """Where revive puts the messages of a group and topic."""
    return f"{RETRY_PREFIX}{group}{'+' if v2 else '_'}{topic}"


def topic_of_pop_retry(topic: str, group: str) -> str:
    """The topic that a pop retry topic of a group belongs to, in either form."""
    return topic[len(retry_topic(group)) + 1 :]


def group_of_retry_topic(topic: str) -> str:
    """The group of a retry topic; for a v1 pop retry name this is `group_topic`, as upstream reads it."""
    name = topic.removeprefix(RETRY_PREFIX)
    return name.partition("+")[0]


def revive_topic(cluster: str) -> str:
    """Where check points and acknowledgements of pops are stored."""
    return REVIVE_TOPIC_PREFIX + cluster


def reply_topic(cluster: str) -> str:
    """Where replies of requests are sent."""
    return f"{cluster}_{REPLY_TOPIC_POSTFIX}"
