"""Topics of a broker. Source: AdminBrokerProcessor (5.3.3)."""

# ruff: noqa: ARG001  # every processor and every answer has the same arguments, whether it needs them or not

from dataclasses import replace

from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.cluster import TopicListResult
from rocketmq_testkit.emulator.operations.topics import (
    CreateStaticTopic,
    CreateTopic,
    CreateTopics,
    DeleteTopic,
    GetAllTopics,
    GetBrokerTopicList,
    GetTopicConfig,
    GetTopicStats,
    TopicConfig,
    TopicResult,
    TopicsResult,
    TopicStatsResult,
)

from ..bodies import mapping, route, topic
from ..bodies.mapping import MappingBody
from ..bodies.topic import TopicListBody
from ..bodies.writing import dumps
from ..request.call import RemotingCall
from ..request.request_code import RequestCode
from ..request.request_table import BodyOf, NoHeader, RequestTable, Role
from ..wire.answer_frame import NOT_SET
from ..wire.ext_fields import Header, Int, header, required

TABLE = RequestTable(Role.BROKER)


@header
class CreateTopicRequestHeader(Header):
    """Create or change a topic.

    Errors: INVALID_PARAMETER (name, system topic), SYSTEM_ERROR (attributes, filter type).
    """

    topic: str | None = None
    default_topic: str = ""
    read_queue_nums: Int | None = None
    write_queue_nums: Int | None = None
    perm: Int | None = None
    topic_filter_type: str | None = None
    topic_sys_flag: Int = 0
    order: bool = False
    attributes: str | None = None
    force: bool = False


@header
class DeleteTopicRequestHeader(Header):
    """Delete a topic; an unknown one is no error. Errors: INVALID_PARAMETER (blank, system topic)."""

    topic: str = ""


@header
class GetTopicConfigRequestHeader(Header):
    """One topic's configuration, with `lo` and its mapping. Errors: TOPIC_NOT_EXIST."""

    topic: str
    lo: bool = False


@header
class GetTopicStatsInfoRequestHeader(Header):
    """The extent of a topic's queues. Errors: TOPIC_NOT_EXIST."""

    topic: str


def _created(call: RemotingCall, result: Done) -> bytes:
    return call.answer(NOT_SET)


@TABLE.processor(RequestCode.UPDATE_AND_CREATE_TOPIC, header=CreateTopicRequestHeader, answer=_created)
def create_topic(call: RemotingCall, header: CreateTopicRequestHeader, body: bytes) -> CreateTopic:
    """Numbers are not checked: perm 99 and 0 queues are accepted, as upstream accepts them.

    They are required, but the filter type is looked at first.
    """
    config = _config(header)
    return CreateTopic(config, None if header.attributes is None else topic.attribute_changes(header.attributes))


@TABLE.processor(
    RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC,
    header=CreateTopicRequestHeader,
    body=BodyOf(MappingBody, required=False),
    answer=_created,
)
def create_static_topic(
    call: RemotingCall, header: CreateTopicRequestHeader, body: MappingBody | None
) -> CreateStaticTopic:
    """The body is the mapping; order and attributes of the header are ignored."""
    config = replace(_config(header), order=False)
    return CreateStaticTopic(config, None if body is None else body.mapping(), header.force)


def _config(header: CreateTopicRequestHeader) -> TopicConfig:
    if header.topic_filter_type not in topic.FILTER_TYPES:
        shown = "null" if header.topic_filter_type is None else header.topic_filter_type
        raise EngineError(
            ResponseCode.SYSTEM_ERROR,
            f"org.apache.rocketmq.remoting.exception.RemotingCommandException: topicFilterType = [{shown}] value "
            "invalid, org.apache.rocketmq.remoting.protocol.header.CreateTopicRequestHeader.checkFields"
            "(CreateTopicRequestHeader.java:63)",
        )
    if header.topic is None:
        raise EngineError(ResponseCode.SYSTEM_ERROR, "java.lang.NullPointerException")
    try:
        numbers = [required(header, name) for name in ("read_queue_nums", "write_queue_nums", "perm")]
    except EngineError as missing:
        # Here upstream answers with the exception's text alone.
        raise EngineError(
            missing.code, (missing.remark or "").removeprefix("java.lang.NullPointerException: ")
        ) from None
    return TopicConfig(
        topic_name=header.topic,
        read_queue_nums=numbers[0],
        write_queue_nums=numbers[1],
        perm=numbers[2],
        topic_filter_type=header.topic_filter_type,
        topic_sys_flag=header.topic_sys_flag,
        order=header.order,
    )


@TABLE.processor(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, header=NoHeader, body=TopicListBody, answer=_created)
def create_topics(call: RemotingCall, header: NoHeader, body: TopicListBody) -> CreateTopics:
    """Attributes are a map here, its keys with the same signs."""
    return CreateTopics(body.creations())


@TABLE.processor(RequestCode.DELETE_TOPIC_IN_BROKER, header=DeleteTopicRequestHeader)
def delete_topic(call: RemotingCall, header: DeleteTopicRequestHeader, body: bytes) -> DeleteTopic:
    """The name server is told by another request."""
    return DeleteTopic(header.topic)


def _topic(call: RemotingCall, result: TopicResult) -> bytes:
    members = topic.config_members(result.config)
    if result.mapping is not None:
        members["mappingDetail"] = mapping.members(result.mapping, whole=True)
    return call.answer(None, None, dumps(members))


@TABLE.processor(RequestCode.GET_TOPIC_CONFIG, header=GetTopicConfigRequestHeader, answer=_topic)
def get_topic_config(call: RemotingCall, header: GetTopicConfigRequestHeader, body: bytes) -> GetTopicConfig:
    """Administrators ask with `lo`."""
    return GetTopicConfig(header.topic, header.lo)


def _topics(call: RemotingCall, result: TopicsResult) -> bytes:
    return call.answer(None, {}, topic.all_topics(result))


@TABLE.processor(RequestCode.GET_ALL_TOPIC_CONFIG, header=NoHeader, answer=_topics)
def get_all_topics(call: RemotingCall, header: NoHeader, body: bytes) -> GetAllTopics:
    """Always all: 5.3.3 ignores the fields that ask for a page."""
    return GetAllTopics()


def _stats(call: RemotingCall, result: TopicStatsResult) -> bytes:
    return call.answer(None, None, topic.stats(result))


@TABLE.processor(RequestCode.GET_TOPIC_STATS_INFO, header=GetTopicStatsInfoRequestHeader, answer=_stats)
def get_topic_stats(call: RemotingCall, header: GetTopicStatsInfoRequestHeader, body: bytes) -> GetTopicStats:
    """By queue."""
    return GetTopicStats(header.topic)


def _names(call: RemotingCall, result: TopicListResult) -> bytes:
    return call.answer(None, None, route.topic_list(call, result))


@TABLE.processor(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER, header=NoHeader, answer=_names)
def get_system_topics(call: RemotingCall, header: NoHeader, body: bytes) -> GetBrokerTopicList:
    """The topics that a broker makes for itself."""
    return GetBrokerTopicList()
