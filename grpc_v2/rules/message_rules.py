"""Validation of a message to send by upstream's proxy, and its conversion to stored properties.

The checks run in upstream's order, and the first failure ends the request. Source: SendMessageActivity, GrpcValidator,
DefaultTopicMessageTypeValidator (5.3.3).
"""

from rocketmq_testkit.emulator.message import properties as props
from rocketmq_testkit.emulator.message import stored_record as records
from rocketmq_testkit.emulator.schedule.delay_levels import parse_delay_levels

from ..config.proxy_config import ProxyConfig
from ..proto import definition_pb2 as pb
from ..proto.timestamps import timestamp_ms
from .proxy_rules import CONTROL
from .status import Refusal, proxy_exception

_RESERVED, _DELAYS = props.RESERVED, props.REQUESTED_DELAYS
_TYPED = frozenset({props.TRANSACTION_PREPARED, props.SHARDING_KEY, *_DELAYS})
"""Properties of a message that is not of the type NORMAL."""


def check_body(body: bytes, config: ProxyConfig) -> None:
    """Validate a body. Raises MESSAGE_BODY_EMPTY, MESSAGE_BODY_TOO_LARGE."""
    if not body and config.enable_message_body_empty_check:
        raise Refusal(pb.MESSAGE_BODY_EMPTY, "message body cannot be empty")
    if len(body) > config.max_message_size:
        raise Refusal(pb.MESSAGE_BODY_TOO_LARGE, f"message body cannot exceed the max {config.max_message_size}")


def stored_properties(message: pb.Message, peer: str, now_ms: int, config: ProxyConfig) -> dict[str, str]:
    """Validate a message and return the properties to store. The producer group is the topic's name.

    `peer` is the client's `host:port`, the born host of messages that name none.
    """
    system = message.system_properties
    properties, size = _user_properties(message, config)
    tag = system.tag
    if tag:
        _check_tag(tag)
        properties[props.TAGS] = tag
        size += len(tag.encode())
    keys = system.keys
    if keys:
        for key in keys:
            _check_key(key)
            size += len(key.encode())
        properties[props.KEYS] = " ".join(keys)
    if size > config.max_user_property_size:
        raise Refusal(
            pb.MESSAGE_PROPERTIES_TOO_LARGE,
            f"the total size of user property is too large, max is {config.max_user_property_size}",
        )
    message_id = system.message_id
    if not message_id or message_id.isspace():
        raise Refusal(pb.ILLEGAL_MESSAGE_ID, "message id cannot be empty")
    properties[props.UNIQ_KEY] = message_id
    properties[props.PRODUCER_GROUP] = message.topic.name
    if system.message_type == pb.TRANSACTION:
        properties[props.TRANSACTION_PREPARED] = "true"
        if system.HasField("orphaned_transaction_recovery_duration"):
            properties[props.CHECK_IMMUNITY_TIME_IN_SECONDS] = str(_recovery_seconds(system, config))
    if system.HasField("delivery_timestamp"):
        deliver_ms = _deliver_ms(system, now_ms, config)
        properties[props.TIMER_DELIVER_MS] = str(deliver_ms)
        if config.use_delay_level:
            properties[props.DELAY] = str(_nearest_level(deliver_ms - now_ms, config))
    properties[props.RECONSUME_TIME] = str(system.delivery_attempt)
    group = system.message_group
    if group:
        _check_group(group, config)
        properties[props.SHARDING_KEY] = group
    if system.trace_context:
        properties[props.TRACE_CONTEXT] = system.trace_context
    properties[props.BORN_HOST] = system.born_host or peer
    properties[props.BORN_TIMESTAMP] = str(timestamp_ms(system.born_timestamp))
    return properties


def sys_flag(message: pb.Message) -> int:
    """Return the sysFlag bits of the stored record: a compressed body, a half message."""
    system = message.system_properties
    flag = records.SYS_COMPRESSED if system.body_encoding == pb.GZIP else 0
    if system.message_type == pb.TRANSACTION:
        flag |= records.SYS_TRANSACTION_PREPARED
    return flag


def type_conflict(expected: str, actual: str) -> Refusal:
    """Return the refusal of a message or a recall because of the topic's type."""
    return proxy_exception(
        pb.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE,
        f"TopicMessageType validate failed, the expected type is {expected}, but actual type is {actual}",
    )


def message_type(properties: dict[str, str]) -> str:
    """Return the message type according to stored properties.

    The client's `message_type` matters only for transactions.
    """
    if _TYPED.isdisjoint(properties):
        return "NORMAL"
    if properties.get(props.TRANSACTION_PREPARED) == "true":
        return "TRANSACTION"
    if not properties.keys().isdisjoint(_DELAYS):
        return "DELAY"
    return "FIFO" if props.SHARDING_KEY in properties else "NORMAL"


def _user_properties(message: pb.Message, config: ProxyConfig) -> tuple[dict[str, str], int]:
    """Validate user properties. Returns a copy and their size in bytes."""
    if not message.user_properties:
        return {}, 0
    properties = dict(message.user_properties)
    if len(properties) > config.user_property_max_num:
        raise Refusal(
            pb.MESSAGE_PROPERTIES_TOO_LARGE, f"too many user properties, max is {config.user_property_max_num}"
        )
    size = 0
    for name, value in properties.items():
        if name in _RESERVED:
            raise Refusal(pb.ILLEGAL_MESSAGE_PROPERTY_KEY, f"property is used by system: {name}")
        if CONTROL.search(name):
            raise Refusal(pb.ILLEGAL_MESSAGE_PROPERTY_KEY, "the key of property cannot contain control character")
        if CONTROL.search(value):
            raise Refusal(pb.ILLEGAL_MESSAGE_PROPERTY_KEY, "the value of property cannot contain control character")
        size += len(name.encode()) + len(value.encode())
    return properties, size


def _check_tag(tag: str) -> None:
    if tag.isspace():
        raise Refusal(pb.ILLEGAL_MESSAGE_TAG, "tag cannot be the char sequence of whitespace")
    if "|" in tag:
        raise Refusal(pb.ILLEGAL_MESSAGE_TAG, "tag cannot contain '|'")
    if CONTROL.search(tag):
        raise Refusal(pb.ILLEGAL_MESSAGE_TAG, "tag cannot contain control character")


def _check_key(key: str) -> None:
    if key.isspace():
        raise Refusal(pb.ILLEGAL_MESSAGE_KEY, "key cannot be the char sequence of whitespace")
    if CONTROL.search(key):
        raise Refusal(pb.ILLEGAL_MESSAGE_KEY, "key cannot contain control character")


def _check_group(group: str, config: ProxyConfig) -> None:
    if group.isspace():
        raise Refusal(pb.ILLEGAL_MESSAGE_GROUP, "message group cannot be the char sequence of whitespace")
    if len(group.encode()) >= config.max_message_group_size:
        raise Refusal(pb.ILLEGAL_MESSAGE_GROUP, f"message group exceed the max size {config.max_message_group_size}")
    if CONTROL.search(group):
        raise Refusal(pb.ILLEGAL_MESSAGE_GROUP, "message group cannot contain control character")


def _recovery_seconds(system: pb.SystemProperties, config: ProxyConfig) -> int:
    seconds = system.orphaned_transaction_recovery_duration.seconds
    longest = config.max_transaction_recovery_second
    if seconds > longest:
        raise Refusal(pb.BAD_REQUEST, f"the max transaction recovery time of message is too large, max is {longest}")
    return seconds


def _deliver_ms(system: pb.SystemProperties, now_ms: int, config: ProxyConfig) -> int:
    deliver_ms = timestamp_ms(system.delivery_timestamp)
    longest = config.max_delay_time_mills
    if deliver_ms - now_ms > longest:
        raise Refusal(pb.ILLEGAL_DELIVERY_TIME, f"the max delay time of message is too large, max is {longest}")
    return deliver_ms


def _nearest_level(delay_ms: int, config: ProxyConfig) -> int:
    """Return the shortest level that is longer than a delay, else the longest (ProxyConfig.computeDelayLevel)."""
    levels = sorted(
        (level_ms, level) for level, level_ms in enumerate(parse_delay_levels(config.message_delay_level), 1)
    )
    return next((level for level_ms, level in levels if level_ms > delay_ms), levels[-1][1])
