"""Convert a stored record to the Message for a consumer, or for a producer whose transaction is checked.

Source: GrpcConverter (5.3.3).
"""

import re
from functools import lru_cache
from hashlib import md5

from rocketmq_testkit.emulator.message import names
from rocketmq_testkit.emulator.message import properties as props
from rocketmq_testkit.emulator.message.stored_record import SYS_COMPRESSED, Record, unpack_host

from ..proto import definition_pb2 as pb
from ..proto.timestamps import set_timestamp
from ..rules.message_rules import message_type

_RESERVED = props.RESERVED
_RARE = frozenset({props.SHARDING_KEY, props.TRACE_CONTEXT, props.DLQ_ORIGIN_TOPIC, props.DLQ_ORIGIN_MESSAGE_ID})
_TIMES = frozenset({props.TIMER_DELIVER_MS, props.TIMER_DELAY_SEC})
_NUMBER = re.compile(r"-?[0-9]{1,15}\Z")
_TYPES = {"NORMAL": pb.NORMAL, "FIFO": pb.FIFO, "DELAY": pb.DELAY, "TRANSACTION": pb.TRANSACTION}
_host = lru_cache(maxsize=1024)(unpack_host)
"""Cached, because most messages come from a few hosts."""


def fill_message(  # noqa: PLR0917  # called for each message: keywords would cost it time
    message: pb.Message, record: Record, topic: str, reconsume_times: int, now_ms: int
) -> None:
    """Fill an empty Message from a record, without the receipt handle.

    `topic` is the topic to show: messages of a retry topic show their original topic. `reconsume_times` counts earlier
    deliveries. `now_ms` (ms since the epoch) is the instant from which a delay in seconds counts.
    """
    properties = record.property_map()
    fill_resource(message.topic, topic)
    message.body = record.body
    if not _RESERVED.issuperset(properties):
        for name, value in properties.items():
            if name not in _RESERVED:
                message.user_properties[name] = value
    system = message.system_properties
    _fill_identity(system, properties, record)
    digest = system.body_digest
    digest.type = pb.MD5
    digest.checksum = md5(record.body, usedforsecurity=False).hexdigest().upper()
    system.body_encoding = pb.GZIP if record.sys_flag & SYS_COMPRESSED else pb.IDENTITY
    system.message_type = _TYPES[message_type(properties)]
    _fill_times(system, properties, record, now_ms)
    system.queue_id = record.queue_id
    system.queue_offset = record.queue_offset
    system.delivery_attempt = reconsume_times + 1


def fill_resource(resource: pb.Resource, name: str) -> None:
    """Split `namespace%name` into a resource.

    The prefixes of retry topics and dead letter queues stay with the name.
    """
    if "%" not in name:
        resource.name = name
        return
    prefix = ""
    for known in (names.RETRY_PREFIX, names.DLQ_PREFIX):
        if name.startswith(known):
            prefix = known
    namespace, separator, rest = name[len(prefix) :].partition("%")
    if separator and namespace:
        resource.resource_namespace = namespace
        resource.name = prefix + rest
    else:
        resource.name = name


def _fill_identity(system: pb.SystemProperties, properties: dict[str, str], record: Record) -> None:
    tag = properties.get(props.TAGS)
    if tag:
        system.tag = tag
    keys = properties.get(props.KEYS)
    if keys:
        system.keys.extend(keys.split(" "))
    # A record without a unique key is identified by its store host and physical offset.
    system.message_id = properties.get(props.UNIQ_KEY) or (
        f"{record.store_host.hex().upper()}{record.physical_offset:016X}"
    )
    if _RARE.isdisjoint(properties):
        return
    group = properties.get(props.SHARDING_KEY)
    if group:
        system.message_group = group
    trace_context = properties.get(props.TRACE_CONTEXT)
    if trace_context:
        system.trace_context = trace_context
    origin_topic, origin_id = properties.get(props.DLQ_ORIGIN_TOPIC), properties.get(props.DLQ_ORIGIN_MESSAGE_ID)
    if origin_topic and origin_id:
        system.dead_letter_queue.topic = origin_topic
        system.dead_letter_queue.message_id = origin_id


def _fill_times(system: pb.SystemProperties, properties: dict[str, str], record: Record, now_ms: int) -> None:
    born_ms = parse_number(properties.get(props.BORN_TIMESTAMP))
    set_timestamp(system.born_timestamp, record.born_timestamp if born_ms is None else born_ms)
    system.born_host = properties.get(props.BORN_HOST) or _host(record.born_host)[0]
    set_timestamp(system.store_timestamp, record.store_timestamp)
    host, port = _host(record.store_host)
    system.store_host = f"{host}:{port}"
    if _TIMES.isdisjoint(properties):
        return
    deliver_ms = parse_number(properties.get(props.TIMER_DELIVER_MS))
    if deliver_ms is None:
        delay_s = parse_number(properties.get(props.TIMER_DELAY_SEC))
        deliver_ms = None if delay_s is None else now_ms + delay_s * 1000
    if deliver_ms is not None:
        set_timestamp(system.delivery_timestamp, deliver_ms)


def parse_number(text: str | None) -> int | None:
    """Parse a property as a number of at most 15 digits, else return None.

    Remoting producers can set it to any text.
    """
    return int(text) if text and _NUMBER.match(text) else None
