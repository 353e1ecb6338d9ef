"""Names of topics and groups: validation, system names, and derived names (retry, dead letter queue, revive).

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
        TIMER_TOPIC,  # upstream accepts such a message, which stops its timer: the defect timer_topic_stops_timer
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
"""Groups of tools, which may pull without being registered, as groups named CID_RMQ_SYS_* may."""

TOPIC_MAX_LENGTH = 127
RETRY_TOPIC_MAX_LENGTH = 255
"""The limit for topics that the broker itself writes. Clients may neither create nor send to topics longer than
TOPIC_MAX_LENGTH."""
GROUP_MAX_LENGTH = 255
_LEGAL = re.compile(r"[%|a-zA-Z0-9_-]+\Z")
ALLOWED = "^[%|a-zA-Z0-9_-]+$"


def has_legal_characters(name: str) -> bool:
    """True if the name has only `%`, `|`, letters, digits, `_` and `-`."""
    return _LEGAL.match(name) is not None


def check_topic(topic: str) -> None:
    """Validate a topic name. Raises INVALID_PARAMETER with upstream's text."""
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
    """True if the name is legal for a group that is created by its first use: empty, or up to 255 legal characters.

    Source: SubscriptionGroupManager.findSubscriptionGroupConfig, Validators.CHARACTER_MAX_LENGTH (5.3.3).
    """
    return not group or (len(group) <= GROUP_MAX_LENGTH and has_legal_characters(group))


def is_retry(topic: str) -> bool:
    """True for a retry topic or a pop retry topic."""
    return topic.startswith(RETRY_PREFIX)


def is_retry_or_dlq(topic: str) -> bool:
    """True for a retry topic or a dead letter queue."""
    return topic.startswith((RETRY_PREFIX, DLQ_PREFIX))


def is_lmq(name: str) -> bool:
    """True for a light message queue (LMQ), or for a group that consumes LMQs."""
    return name.startswith(LMQ_PREFIX)


def is_pop_retry_v2(topic: str) -> bool:
    """True for a pop retry topic with a v2 name."""
    return topic.startswith(RETRY_PREFIX) and "+" in topic


def normal_topic_of_v2(topic: str) -> str:
    """Return the original topic of a v2 pop retry topic."""
    return topic.partition("+")[2]


def retry_topic(group: str) -> str:
    """Return the topic for a group's messages that consumers sent back."""
    return RETRY_PREFIX + group


def dlq_topic(group: str) -> str:
    """Return the dead letter queue of a group."""
    return DLQ_PREFIX + group


def pop_retry_topic(topic: str, group: str, *, v2: bool) -> str:
    """Return the topic to which revive writes messages of a group and topic."""
    return f"{RETRY_PREFIX}{group}{'+' if v2 else '_'}{topic}"


def topic_of_pop_retry(topic: str, group: str) -> str:
    """Return the original topic of a group's pop retry topic, v1 or v2."""
    return topic[len(retry_topic(group)) + 1 :]


def group_of_retry_topic(topic: str) -> str:
    """Return the group of a retry topic. For a v1 pop retry topic this is `group_topic`, as upstream parses it."""
    name = topic.removeprefix(RETRY_PREFIX)
    return name.partition("+")[0]


def revive_topic(cluster: str) -> str:
    """Return the topic that stores check points and acknowledgements of pops."""
    return REVIVE_TOPIC_PREFIX + cluster


def reply_topic(cluster: str) -> str:
    """Return the topic to which reply messages are sent."""
    return f"{cluster}_{REPLY_TOPIC_POSTFIX}"
