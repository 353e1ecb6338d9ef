"""Topics of a broker.

Each processor translates a request into an operation of the engine, whose class explains the fields.
Source: AdminBrokerProcessor (5.3.3).
"""

# ruff: noqa: ARG001  # all processors and response encoders share one signature

from dataclasses import replace

from rocketmq_testkit.emulator.auth.policies import Action
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
from ..request.required_rights import no_rights, on_fields, to_create_topic
from ..wire.ext_fields import Header, Int, header, required
from ..wire.response_frame import NOT_SET

TABLE = RequestTable(Role.BROKER)


@header
class CreateTopicRequestHeader(Header):
    """Request to create or change a topic.

    Errors: INVALID_PARAMETER (name, system topic, too many queues, MIXED), SYSTEM_ERROR (attributes, filter type).
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
    """Request to delete a topic.

    Deleting an unknown topic is a no-op. Errors: INVALID_PARAMETER (blank, system topic).
    """

    topic: str = ""


@header
class GetTopicConfigRequestHeader(Header):
    """Request for one topic's configuration, including its mapping if `lo` is set. Errors: TOPIC_NOT_EXIST."""

    topic: str
    lo: bool = False


@header
class GetTopicStatsInfoRequestHeader(Header):
    """Request for the minimum and maximum offsets of a topic's queues. Errors: TOPIC_NOT_EXIST."""

    topic: str


def _created(call: RemotingCall, result: Done) -> bytes:
    return call.response(NOT_SET)


@TABLE.processor(
    RequestCode.UPDATE_AND_CREATE_TOPIC, header=CreateTopicRequestHeader, rights=to_create_topic, response=_created
)
def create_topic(call: RemotingCall, header: CreateTopicRequestHeader, body: bytes) -> CreateTopic:
    """Translate a topic configuration. Upstream does not validate numbers: it accepts perm 99 and 0 queues.

    The numbers are required, but the filter type is validated first.
    """
    config = _config(header)
    return CreateTopic(config, None if header.attributes is None else topic.attribute_changes(header.attributes))


@TABLE.processor(
    RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC,
    header=CreateTopicRequestHeader,
    rights=no_rights,
    body=BodyOf(MappingBody, required=False),
    response=_created,
)
def create_static_topic(
    call: RemotingCall, header: CreateTopicRequestHeader, body: MappingBody | None
) -> CreateStaticTopic:
    """Translate a static topic. The body is the mapping; order and attributes of the header are ignored."""
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
        # Here upstream's remark is the exception's text without the class name.
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


@TABLE.processor(
    RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, header=NoHeader, rights=no_rights, body=TopicListBody, response=_created
)
def create_topics(call: RemotingCall, header: NoHeader, body: TopicListBody) -> CreateTopics:
    """Translate several topic configurations. Attributes are a map here, whose keys have the same signs."""
    return CreateTopics(body.creations())


@TABLE.processor(
    RequestCode.DELETE_TOPIC_IN_BROKER, header=DeleteTopicRequestHeader, rights=on_fields(Action.DELETE, fields="topic")
)
def delete_topic(call: RemotingCall, header: DeleteTopicRequestHeader, body: bytes) -> DeleteTopic:
    """Translate a request to delete a topic. Another request deletes it on the name server."""
    return DeleteTopic(header.topic)


def _topic(call: RemotingCall, result: TopicResult) -> bytes:
    members = topic.config_members(result.config)
    if result.mapping is not None:
        members["mappingDetail"] = mapping.members(result.mapping, all_parts=True)
    return call.response(None, None, dumps(members))


@TABLE.processor(
    RequestCode.GET_TOPIC_CONFIG,
    header=GetTopicConfigRequestHeader,
    rights=on_fields(Action.GET, fields="topic"),
    response=_topic,
)
def get_topic_config(call: RemotingCall, header: GetTopicConfigRequestHeader, body: bytes) -> GetTopicConfig:
    """Translate a request for a topic's configuration. Admin tools set `lo`."""
    return GetTopicConfig(header.topic, header.lo)


def _topics(call: RemotingCall, result: TopicsResult) -> bytes:
    return call.response(None, {}, topic.all_topics(result))


@TABLE.processor(RequestCode.GET_ALL_TOPIC_CONFIG, header=NoHeader, rights=no_rights, response=_topics)
def get_all_topics(call: RemotingCall, header: NoHeader, body: bytes) -> GetAllTopics:
    """Translate a request for all topics. The paging fields are ignored, as in 5.3.3."""
    return GetAllTopics()


def _stats(call: RemotingCall, result: TopicStatsResult) -> bytes:
    return call.response(None, None, topic.stats(result))


@TABLE.processor(
    RequestCode.GET_TOPIC_STATS_INFO,
    header=GetTopicStatsInfoRequestHeader,
    rights=on_fields(Action.GET, fields="topic"),
    response=_stats,
)
def get_topic_stats(call: RemotingCall, header: GetTopicStatsInfoRequestHeader, body: bytes) -> GetTopicStats:
    """Translate a request for the offsets of a topic's queues."""
    return GetTopicStats(header.topic)


def _names(call: RemotingCall, result: TopicListResult) -> bytes:
    return call.response(None, None, route.topic_list(call.broker_address, result))


@TABLE.processor(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER, header=NoHeader, rights=no_rights, response=_names)
def get_system_topics(call: RemotingCall, header: NoHeader, body: bytes) -> GetBrokerTopicList:
    """Translate a request for the system topics, which a broker creates on its own."""
    return GetBrokerTopicList()
