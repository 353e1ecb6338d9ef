"""Bodies about mappings of static topics. Source: TopicQueueMappingDetail, LogicQueueMappingItem (5.3.3)."""

from collections.abc import Mapping
from typing import Any

from rocketmq_testkit.emulator.operations import QueueMapping, QueuePart

from .reading import boolean, integer, objects, text
from .writing import number_map


def members(mapping: QueueMapping, *, whole: bool, strict: bool = False) -> dict[str, Any]:
    """A mapping as an object: for routes who leads which queue now, for administrators (`whole`) all parts instead.

    `strict`: valid JSON, the numbers of queues are quoted.
    """
    found: dict[str, Any] = {
        "bname": mapping.broker_name,
        "currIdMap": _numbered({} if whole else mapping.led(), strict=strict),
        "dirty": mapping.dirty,
        "epoch": mapping.epoch,
    }
    if whole:
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


def read(found: dict[str, Any]) -> QueueMapping:
    """The mapping in the body of a request."""
    hosted = found.get("hostedQueues")
    queues = hosted.items() if isinstance(hosted, dict) else ()
    return QueueMapping(
        text(found.get("topic")),
        integer(found.get("totalQueues")),
        text(found.get("bname")),
        integer(found.get("epoch")),
        {integer(number): [_read_part(each) for each in objects(parts)] for number, parts in queues},
        text(found.get("scope"), "__global__"),
        boolean(found.get("dirty")),
    )


def _read_part(found: dict[str, Any]) -> QueuePart:
    return QueuePart(
        integer(found.get("gen")),
        integer(found.get("queueId")),
        text(found.get("bname")),
        integer(found.get("logicOffset")),
        integer(found.get("startOffset")),
        integer(found.get("endOffset"), -1),
        integer(found.get("timeOfStart"), -1),
        integer(found.get("timeOfEnd"), -1),
    )
