"""Validation of a state that was read from a file: declared types, and consistency between its parts.

A checksum proves that a file is complete, not who wrote it. An engine can start from any state that passes.
"""

from collections.abc import Collection
from struct import Struct

from ..kernel.java_types import check_fields
from ..message.stored_record import MAGIC_V1, MAGIC_V2
from ..store.consume_queue import BatchConsumeQueue, ConsumeQueue
from .durable_state import BrokerState, EngineState, LogState

LAST_MS = 253_402_300_799_999
"""The end of the year 9999, the last date that Python supports."""
_FILE_BYTES_MAX = 0x7FFFFFFF
_ID_MAX = 0x7FFFFFFF
_PORT_MAX = 65_535
_OFFSET_MAX = (1 << 62) - 1
"""Offsets below this leave room for further messages within the 64 bits of a Java long."""
_HEAD = Struct(">iI")


def check_state(state: EngineState) -> None:
    """Validate a state. Raises ValueError, whose text names the wrong part."""
    check_fields(state)
    _require(0 <= state.now_ms <= LAST_MS, f"nowMs={state.now_ms}: expected a time from 0 to {LAST_MS}")
    identities = [(broker.config.broker_name, broker.config.broker_id) for broker in state.brokers]
    _require(len(set(identities)) == len(identities), "two brokers have one name and one id")
    _require(any(number == 0 for _, number in identities), "there is no master")
    for broker in state.brokers:
        _check_broker(broker, state.emulation.topic_queue_nums_max)


def _check_broker(state: BrokerState, queue_nums_max: int) -> None:
    for topic in state.topics.values():
        most = max(topic.read_queue_nums, topic.write_queue_nums)
        _require(most <= queue_nums_max, f"topic {topic.topic_name} has {most} queues, more than topicQueueNumsMax")
    for group in state.groups.values():
        most = group.retry_queue_nums
        _require(
            most <= queue_nums_max, f"group {group.group_name} has {most} retry queues, more than topicQueueNumsMax"
        )
    _check_log(state.log)
    _check_unique([(queue.topic, queue.queue_id) for queue in state.queues], "consume queues")
    for queue in state.queues:
        _check_queue(queue, state.log)
    for record in state.pop_records:
        _require(record.offset >= 0, f"a KV record has the offset {record.offset}")


def _check_log(log: LogState) -> None:
    size = log.segment_bytes
    _require(0 < size <= _FILE_BYTES_MAX, f"fileBytes={size}: expected 1 to {_FILE_BYTES_MAX}")
    _require(bool(log.segments), "the log has no files; expected at least one")
    for number in log.segments:
        _require(0 <= number * size <= _OFFSET_MAX, f"the log has a file number {number}")
    for number, content in log.segments.items():
        _require(len(content) <= size, f"file {number} of the log has {len(content)} bytes, more than fileBytes={size}")
    _require(
        log.full.keys() <= log.segments.keys(),
        f"the log lacks files that became full: {sorted(log.full.keys() - log.segments.keys())}",
    )
    for port in log.store_ports:
        _require(0 <= port <= _PORT_MAX, f"storePorts has {port}: expected ports from 0 to {_PORT_MAX}")


def _check_queue(queue: ConsumeQueue, log: LogState) -> None:
    """Require that each unit (entry) points to a record of its size, or to a part of the log that was dropped."""
    name = f"queue {queue.queue_id} of {queue.topic}"
    _require(0 <= queue.queue_id <= _ID_MAX, f"{name} has no valid number")
    _require(0 <= queue.first <= _OFFSET_MAX, f"{name} begins at {queue.first}")
    columns = {len(queue.physical), len(queue.sizes), len(queue.tags_codes)}
    _require(len(columns) == 1, f"{name} has columns of different lengths: {sorted(columns)}")
    size, files = log.segment_bytes, log.segments
    begin, before = min(files) * size, (-1, 0, 0)
    holds_batches = isinstance(queue, BatchConsumeQueue)
    unpack = _HEAD.unpack_from
    for unit in zip(queue.physical, queue.sizes, queue.tags_codes, strict=True):
        if holds_batches and unit == before:  # one unit for each message of a record
            continue
        physical, length, _ = unit
        _require(before[0] < physical, f"{name} has units that are not in order")
        before = unit
        if physical < begin:
            continue
        number, at = divmod(physical, size)
        content = files.get(number, b"")
        found = unpack(content, at) if at + length <= len(content) and length >= _HEAD.size else (0, 0)
        _require(
            found[0] == length and found[1] in (MAGIC_V1, MAGIC_V2), f"{name} has a unit without a record in the log"
        )


def _check_unique(keys: Collection[object], nouns: str) -> None:
    _require(len(set(keys)) == len(keys), f"two {nouns} have one name")


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise ValueError(problem)
