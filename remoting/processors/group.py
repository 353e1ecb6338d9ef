"""Subscription groups: configuration, progress, assignments.

Each processor translates a request into an operation of the engine, whose class explains the fields.
Source: AdminBrokerProcessor, QueryAssignmentProcessor (5.3.3).
"""

# ruff: noqa: ARG001  # all processors and response encoders share one signature

from rocketmq_testkit.emulator.auth.policies import Action
from rocketmq_testkit.emulator.operations.cluster import BrokerMember, TopicListResult
from rocketmq_testkit.emulator.operations.groups import (
    AssignmentResult,
    ConsumeStatsResult,
    ConsumeTimeSpanResult,
    CreateGroup,
    CreateGroups,
    DeleteGroup,
    GetAllGroups,
    GetConsumeStats,
    GetGroup,
    GroupForbiddenResult,
    GroupListResult,
    GroupResult,
    GroupsResult,
    QueryAssignment,
    QueryConsumeTimeSpan,
    QueryGroupsOfTopic,
    QuerySubscription,
    QueryTopicsOfGroup,
    SetMessageRequestMode,
    SubscriptionResult,
    UpdateGroupForbidden,
)
from rocketmq_testkit.emulator.overload.request_pools import BrokerPool

from ..bodies import group, route
from ..bodies.group import AssignmentBody, GroupConfigBody, GroupListBody, RequestModeBody
from ..bodies.writing import dumps
from ..request.call import RemotingCall
from ..request.request_code import RequestCode
from ..request.request_table import NoHeader, RequestTable, Role
from ..request.required_rights import CONSUMER_GROUP_AND_TOPIC, TOPIC_AND_GROUP, no_rights, on_fields
from ..wire.ext_fields import Header, header

TABLE = RequestTable(Role.BROKER)


@header
class DeleteSubscriptionGroupRequestHeader(Header):
    """Request to delete a group. Deleting an unknown group is a no-op."""

    group_name: str
    clean_offset: bool = False


@header
class GetSubscriptionGroupConfigRequestHeader(Header):
    """Request for one group's configuration. With auto-creation on, the request creates an unknown group.

    Errors: SUBSCRIPTION_GROUP_NOT_EXIST.
    """

    group: str


@header
class GetConsumeStatsRequestHeader(Header):
    """Request for a group's progress on one topic, on all topics, or on those of `topic_list`.

    In `topic_list` a semicolon follows each topic.
    """

    consumer_group: str
    topic: str | None = None
    topic_list: str | None = None


@header
class UpdateGroupForbiddenRequestHeader(Header):
    """Request to forbid or allow that a group reads a topic. Without `readable` it only returns the setting."""

    group: str
    topic: str
    readable: bool | None = None


@header
class QueryTopicConsumeByWhoRequestHeader(Header):
    """Request for the groups that consume a topic."""

    topic: str


@header
class QueryTopicsByConsumerRequestHeader(Header):
    """Request for the topics for which a group has offsets."""

    group: str = ""


@header
class QuerySubscriptionByConsumerRequestHeader(Header):
    """Request for an online group's subscription to a topic. An unknown group has no subscription."""

    group: str
    topic: str


@header
class QueryConsumeTimeSpanRequestHeader(Header):
    """Request for the store times of a group's consumed messages. Errors: TOPIC_NOT_EXIST."""

    topic: str
    group: str


@TABLE.processor(
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, header=NoHeader, rights=no_rights, body=GroupConfigBody
)
def create_group(call: RemotingCall, header: NoHeader, body: GroupConfigBody) -> CreateGroup:
    """Translate a group configuration. As in upstream, the group name is not validated here."""
    return CreateGroup(group.config(body))


@TABLE.processor(
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, header=NoHeader, rights=no_rights, body=GroupListBody
)
def create_groups(call: RemotingCall, header: NoHeader, body: GroupListBody) -> CreateGroups:
    """Translate the configurations of several groups."""
    return CreateGroups([CreateGroup(each) for each in body.configs()])


@TABLE.processor(
    RequestCode.DELETE_SUBSCRIPTIONGROUP,
    header=DeleteSubscriptionGroupRequestHeader,
    rights=on_fields(Action.DELETE, fields="groupName"),
)
def delete_group(call: RemotingCall, header: DeleteSubscriptionGroupRequestHeader, body: bytes) -> DeleteGroup:
    """Translate a request to delete a group. Other requests delete its retry topic and its dead letter queue."""
    return DeleteGroup(header.group_name, header.clean_offset)


def _group(call: RemotingCall, result: GroupResult) -> bytes:
    return call.response(None, None, dumps(group.config_members(result.config)))


@TABLE.processor(
    RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG,
    header=GetSubscriptionGroupConfigRequestHeader,
    rights=on_fields(Action.GET, fields="group"),
    response=_group,
)
def get_group(call: RemotingCall, header: GetSubscriptionGroupConfigRequestHeader, body: bytes) -> GetGroup:
    """Translate a request for a group's configuration. The proxy sends this request."""
    return GetGroup(header.group)


def _groups(call: RemotingCall, result: GroupsResult) -> bytes:
    return call.response(None, None, group.all_groups(result))


@TABLE.processor(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, header=NoHeader, rights=no_rights, response=_groups)
def get_all_groups(call: RemotingCall, header: NoHeader, body: bytes) -> GetAllGroups:
    """Translate a request for all groups. The paging fields are ignored, as in 5.3.3."""
    return GetAllGroups()


def _progress(call: RemotingCall, result: ConsumeStatsResult) -> bytes:
    return call.response(None, None, group.consume_stats(result))


@TABLE.processor(
    RequestCode.GET_CONSUME_STATS,
    header=GetConsumeStatsRequestHeader,
    rights=on_fields(Action.GET, fields=f"{CONSUMER_GROUP_AND_TOPIC} topicList"),
    response=_progress,
)
def get_consume_stats(call: RemotingCall, header: GetConsumeStatsRequestHeader, body: bytes) -> GetConsumeStats:
    """Translate a request for a group's progress. A blank topic means all topics."""
    listed, topic = header.topic_list or "", header.topic or ""
    topics = [each for each in listed.split(";") if each] if listed.strip() else []
    return GetConsumeStats(header.consumer_group, topic if topic.strip() else None, topics)


def _group_list(call: RemotingCall, result: GroupListResult) -> bytes:
    return call.response(None, None, dumps({"groupList": result.groups}))


@TABLE.processor(
    RequestCode.QUERY_TOPIC_CONSUME_BY_WHO,
    header=QueryTopicConsumeByWhoRequestHeader,
    rights=on_fields(Action.GET, fields="topic"),
    response=_group_list,
)
def query_groups_of_topic(
    call: RemotingCall, header: QueryTopicConsumeByWhoRequestHeader, body: bytes
) -> QueryGroupsOfTopic:
    """Translate a request for the groups of a topic, online or not."""
    return QueryGroupsOfTopic(header.topic)


def _topic_list(call: RemotingCall, result: TopicListResult) -> bytes:
    if result.broker is None:
        config = call.dispatcher.broker_config
        broker = BrokerMember(config.broker_cluster_name, config.broker_name, [config.broker_id])
        result = TopicListResult(result.topics, broker)
    return call.response(None, None, route.topic_list(call.broker_address, result))


@TABLE.processor(
    RequestCode.QUERY_TOPICS_BY_CONSUMER,
    header=QueryTopicsByConsumerRequestHeader,
    rights=on_fields(Action.GET, fields="group"),
    response=_topic_list,
)
def query_topics_of_group(
    call: RemotingCall, header: QueryTopicsByConsumerRequestHeader, body: bytes
) -> QueryTopicsOfGroup:
    """Translate a request for the topics of a group. The response also has the broker's address."""
    return QueryTopicsOfGroup(header.group)


def _subscription(call: RemotingCall, result: SubscriptionResult) -> bytes:
    return call.response(None, None, group.subscription(result))


@TABLE.processor(
    RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER,
    header=QuerySubscriptionByConsumerRequestHeader,
    rights=on_fields(Action.GET, fields="group topic"),
    response=_subscription,
)
def query_subscription(
    call: RemotingCall, header: QuerySubscriptionByConsumerRequestHeader, body: bytes
) -> QuerySubscription:
    """Translate a request for a group's subscription, as in its newest heartbeat."""
    return QuerySubscription(header.group, header.topic)


def _time_span(call: RemotingCall, result: ConsumeTimeSpanResult) -> bytes:
    return call.response(None, None, group.consume_time_span(result))


@TABLE.processor(
    RequestCode.QUERY_CONSUME_TIME_SPAN,
    header=QueryConsumeTimeSpanRequestHeader,
    rights=on_fields(Action.GET, fields=TOPIC_AND_GROUP),
    response=_time_span,
)
def query_time_span(call: RemotingCall, header: QueryConsumeTimeSpanRequestHeader, body: bytes) -> QueryConsumeTimeSpan:
    """Translate a request for a group's consume time spans by queue."""
    return QueryConsumeTimeSpan(header.topic, header.group)


def _assignment(call: RemotingCall, result: AssignmentResult) -> bytes:
    return call.response(None, None, group.assignments(result))


@TABLE.processor(
    RequestCode.QUERY_ASSIGNMENT,
    header=NoHeader,
    rights=no_rights,
    pool=BrokerPool.BALANCE,
    body=AssignmentBody,
    response=_assignment,
)
def query_assignment(call: RemotingCall, header: NoHeader, body: AssignmentBody) -> QueryAssignment:
    """Translate a request to assign the queues of one topic to one client (server-side rebalance)."""
    return QueryAssignment(
        topic=body.topic,
        consumer_group=body.consumer_group,
        client_id=body.client_id,
        strategy_name=body.strategy_name,
        message_model=body.message_model,
    )


@TABLE.processor(
    RequestCode.SET_MESSAGE_REQUEST_MODE,
    header=NoHeader,
    rights=no_rights,
    pool=BrokerPool.BALANCE,
    body=RequestModeBody,
)
def set_message_request_mode(call: RemotingCall, header: NoHeader, body: RequestModeBody) -> SetMessageRequestMode:
    """Translate the message request mode of a group on a topic.

    Errors: NO_PERMISSION (retry topic), TOPIC_NOT_EXIST, SUBSCRIPTION_GROUP_NOT_EXIST.
    """
    return SetMessageRequestMode(
        topic=body.topic,
        consumer_group=body.consumer_group,
        mode=body.mode,
        pop_share_queue_num=body.pop_share_queue_num,
    )


def _forbidden(call: RemotingCall, result: GroupForbiddenResult) -> bytes:
    found = {"group": result.group, "readable": result.readable, "topic": result.topic}
    return call.response("", None, dumps(found))


@TABLE.processor(
    RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN,
    header=UpdateGroupForbiddenRequestHeader,
    rights=on_fields(Action.UPDATE, fields="group topic"),
    response=_forbidden,
)
def update_group_forbidden(
    call: RemotingCall, header: UpdateGroupForbiddenRequestHeader, body: bytes
) -> UpdateGroupForbidden:
    """Translate a request to forbid or allow reading. It affects pulls that use the subscription of a heartbeat."""
    return UpdateGroupForbidden(header.group, header.topic, header.readable)
