"""Bodies of static topic mappings. Source: TopicQueueMappingDetail, LogicQueueMappingItem (5.3.3)."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from rocketmq_testkit.emulator.operations.topics import QueueMapping, QueuePart

from ..wire.fields import Int, Long
from .bean import Bean, bean
from .reading import null_body
from .writing import number_map


def members(mapping: QueueMapping, *, all_parts: bool, strict: bool = False) -> dict[str, Any]:
    """Return a mapping as a JSON object.

    With `all_parts` (for administrators) it has all parts of each queue; otherwise (for routes) the queues
    whose last part is on the broker. With `strict` it is valid JSON: queue numbers are quoted.
    """
    found: dict[str, Any] = {
        "bname": mapping.broker_name,
        "currIdMap": _numbered({} if all_parts else mapping.queues_led_here(), strict=strict),
        "dirty": mapping.dirty,
        "epoch": mapping.epoch,
    }
    if all_parts:
        queues = {number: [_part(each) for each in parts] for number, parts in mapping.queues.items()}
        found["hostedQueues"] = _numbered(queues, strict=strict)
    return {**found, "scope": mapping.scope, "topic": mapping.topic, "totalQueues": mapping.total_queues}


def _numbered(items: Mapping[int, Any], *, strict: bool) -> Any:
    return {str(number): value for number, value in items.items()} if strict else number_map(items)


def _part(part: QueuePart) -> dict[str, Any]:
    return {
        "bname": part.broker_name,
        "endOffset": part.end_offset,
        "gen": part.generation,
        "logicOffset": part.logic_offset,
        "queueId": part.queue_id,
        "startOffset": part.start_offset,
        "timeOfEnd": part.time_of_end,
        "timeOfStart": part.time_of_start,
    }


@bean
class PartBody(Bean):
    """A part of a logical queue."""

    gen: Int = 0
    queue_id: Int = 0
    bname: str = ""
    logic_offset: Long = 0
    start_offset: Long = 0
    end_offset: Long = -1
    time_of_start: Long = -1
    time_of_end: Long = -1

    def part(self) -> QueuePart:
        """Convert the part."""
        return QueuePart(
            self.gen,
            self.queue_id,
            self.bname,
            self.logic_offset,
            start_offset=self.start_offset,
            end_offset=self.end_offset,
            time_of_start=self.time_of_start,
            time_of_end=self.time_of_end,
        )


@bean
class MappingBody(Bean):
    """The mapping of a static topic."""

    MISSING_BODY_REMARK = null_body("TopicQueueMappingDetail.getTopic", "requestBody")

    topic: str = ""
    total_queues: Int = 0
    bname: str = ""
    epoch: Long = 0
    hosted_queues: dict[Int, list[PartBody]] = field(default_factory=dict)
    scope: str = "__global__"
    dirty: bool = False

    def mapping(self) -> QueueMapping:
        """Convert the mapping."""
        queues = {number: [each.part() for each in parts] for number, parts in self.hosted_queues.items()}
        return QueueMapping(
            self.topic, self.total_queues, self.bname, self.epoch, queues=queues, scope=self.scope, dirty=self.dirty
        )
