"""Bodies of requests about topics.

Source: TopicConfig, TopicConfigAndMappingSerializeWrapper, TopicStatsTable (5.3.3).
"""

from dataclasses import field
from typing import Annotated, Any, Literal

from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.clients import MessageQueue
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig, TopicsResult, TopicStatsResult

from ..wire.fields import Int
from . import mapping
from .bean import Bean, bean
from .reading import null_body, null_list
from .writing import data_version, dumps, queue_map

FILTER_TYPES = ("SINGLE_TAG", "MULTI_TAG")
FilterType = Annotated[Literal["SINGLE_TAG", "MULTI_TAG"], "org.apache.rocketmq.common.TopicFilterType"]


def config_members(config: TopicConfig) -> dict[str, Any]:
    """Return a topic's configuration as a JSON object."""
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


@bean
class TopicConfigBody(Bean):
    """A topic's configuration and the changes of its attributes (`{"+message.type": "FIFO"}`)."""

    topic_name: str = ""
    read_queue_nums: Int = 16
    write_queue_nums: Int = 16
    perm: Int = 6
    topic_filter_type: FilterType = "SINGLE_TAG"
    topic_sys_flag: Int = 0
    order: bool = False
    attributes: dict[str, str] = field(default_factory=dict)

    def config(self) -> TopicConfig:
        """Convert the configuration without attributes."""
        return TopicConfig(
            topic_name=self.topic_name,
            read_queue_nums=self.read_queue_nums,
            write_queue_nums=self.write_queue_nums,
            perm=self.perm,
            topic_filter_type=self.topic_filter_type,
            topic_sys_flag=self.topic_sys_flag,
            order=self.order,
        )


@bean
class TopicListBody(Bean):
    """The configurations of several topics."""

    MISSING_BODY_REMARK = null_body("CreateTopicListRequestBody.getTopicConfigList", "requestBody")

    topic_config_list: list[TopicConfigBody] | None = None

    def creations(self) -> list[CreateTopic]:
        """The topics to create. Errors: SYSTEM_ERROR without a list."""
        if self.topic_config_list is None:
            raise EngineError(ResponseCode.SYSTEM_ERROR, null_list("topicConfigList"))
        return [CreateTopic(each.config(), each.attributes) for each in self.topic_config_list]


def attribute_changes(changes: str) -> dict[str, str]:
    """Parse the attribute changes of a request: `+key=value,-key` becomes `{"+key": "value", "-key": ""}`.

    Raises SYSTEM_ERROR for a change without its sign. Source: AttributeParser (5.3.3).
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
                raise _attribute_error(f"Index {missing} out of bounds for length {missing}")
            key, value = parts[:2]
            if "+" not in key:
                raise _attribute_error(f"add/alter attribute format is wrong: {key}")
        else:
            key, value = change, ""
            if "-" not in key:
                raise _attribute_error(f"delete attribute format is wrong: {key}")
        if key in found:
            raise _attribute_error(f"key duplication: {key}")
        found[key] = value
    return found


def _attribute_error(reason: str) -> EngineError:
    return EngineError(ResponseCode.SYSTEM_ERROR, reason)


def all_topics(result: TopicsResult) -> bytes:
    """Write the configurations of all topics, and the mappings of static topics."""
    version = data_version(result.version_counter, result.version_timestamp)
    return dumps(
        {
            "dataVersion": version,
            "mappingDataVersion": data_version(*result.mapping_version),
            "topicConfigTable": {name: config_members(each) for name, each in result.topics.items()},
            "topicQueueMappingDetailMap": {
                name: mapping.members(each, all_parts=True) for name, each in result.mappings.items()
            },
            "topicQueueMappingInfoMap": {},
        }
    )


def stats(result: TopicStatsResult) -> bytes:
    """Write the minimum and maximum offsets and the last update of each queue of a topic."""
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
