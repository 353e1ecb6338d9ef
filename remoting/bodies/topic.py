"""Bodies about topics. Source: TopicConfig, TopicConfigAndMappingSerializeWrapper, TopicStatsTable (5.3.3)."""

from typing import Any

from rocketmq_testkit.emulator.codes import ResponseCode
from rocketmq_testkit.emulator.errors import EngineError
from rocketmq_testkit.emulator.operations import MessageQueue, TopicConfig, TopicsResult, TopicStatsResult

from . import mapping
from .reading import boolean, integer, text, text_map
from .writing import data_version, dumps, queue_map

FILTER_TYPES = ("SINGLE_TAG", "MULTI_TAG")


def config_members(config: TopicConfig) -> dict[str, Any]:
    """A topic's configuration as an object."""
    return {
        "attributes": config.attributes,
        "order": config.order,
        "perm": config.perm,
        "readQueueNums": config.read_queue_nums,
        "topicFilterType": config.topic_filter_type,
        "topicName": config.topic_name,
        "topicSysFlag": config.topic_sys_flag,
        "writeQueueNums": config.write_queue_nums,
    }


def config(members: dict[str, Any]) -> tuple[TopicConfig, dict[str, str]]:
    """A topic's configuration and the changes of its attributes (`{"+message.type": "FIFO"}`)."""
    made = TopicConfig(
        topic_name=text(members.get("topicName")),
        read_queue_nums=integer(members.get("readQueueNums"), 16),
        write_queue_nums=integer(members.get("writeQueueNums"), 16),
        perm=integer(members.get("perm"), 6),
        topic_filter_type=text(members.get("topicFilterType"), "SINGLE_TAG"),
        topic_sys_flag=integer(members.get("topicSysFlag")),
        order=boolean(members.get("order")),
    )
    return made, text_map(members.get("attributes"))


def attribute_changes(changes: str) -> dict[str, str]:
    """The attribute changes of a request: `+key=value,-key` as `{"+key": "value", "-key": ""}`.

    Errors: SYSTEM_ERROR for a change without its sign. Source: AttributeParser (5.3.3).
    """
    found: dict[str, str] = {}
    for change in changes.split(","):
        if not change:
            continue
        parts = change.split("=")
        while len(parts) > 1 and not parts[-1]:
            parts.pop()  # as Java's split does
        if "=" in change:
            if len(parts) == 1:
                missing = 0 if change.strip("=") == "" else 1
                raise _refused(f"Index {missing} out of bounds for length {missing}")
            key, value = parts[:2]
            if "+" not in key:
                raise _refused(f"add/alter attribute format is wrong: {key}")
        else:
            key, value = change, ""
            if "-" not in key:
                raise _refused(f"delete attribute format is wrong: {key}")
        if key in found:
            raise _refused(f"key duplication: {key}")
        found[key] = value
    return found


def _refused(reason: str) -> EngineError:
    return EngineError(ResponseCode.SYSTEM_ERROR, reason)


def all_topics(result: TopicsResult) -> bytes:
    """All topics, and the mappings of static ones."""
    version = data_version(result.version_counter, result.version_timestamp)
    return dumps(
        {
            "dataVersion": version,
            "mappingDataVersion": data_version(*result.mapping_version),
            "topicConfigTable": {name: config_members(each) for name, each in result.topics.items()},
            "topicQueueMappingDetailMap": {
                name: mapping.members(each, whole=True) for name, each in result.mappings.items()
            },
            "topicQueueMappingInfoMap": {},
        }
    )


def stats(result: TopicStatsResult) -> bytes:
    """The extent of a topic's queues."""
    items = (
        (
            MessageQueue(result.topic, result.broker_name, queue_id),
            {
                "lastUpdateTimestamp": extent.last_update_timestamp,
                "maxOffset": extent.max_offset,
                "minOffset": extent.min_offset,
            },
        )
        for queue_id, extent in result.offsets.items()
    )
    return dumps({"offsetTable": queue_map(items), "topicPutTps": result.put_tps})
