"""The operations that only read: how a schedule draws one of each, with valid and with invalid arguments.

A table has each of them with its result and its errors. Any other error, an internal one included, is a violation.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from rocketmq_testkit.emulator.operations import (
    clients,
    cluster,
    consume,
    groups,
    message_queries,
    offsets,
    timers,
    tools,
    topics,
    users,
)
from rocketmq_testkit.emulator.operations.base import Done, Operation, Result
from rocketmq_testkit.emulator.operations.topics import TopicResult, TopicsResult, TopicStatsResult

if TYPE_CHECKING:
    from all_operations import AllOperations
    from simulation import Action

Make = Callable[["AllOperations", "Action"], Operation]
EXPRESSIONS = ("*", "red || blue", "a > 1 AND TAGS = 'red'", "a >", "")
STRATEGIES = ("AVG", "AVG_BY_CIRCLE", "", "NONE")
STATS = ("TOPIC_PUT_NUMS", "TOPIC_PUT_SIZE", "BROKER_PUT_NUMS", "GROUP_GET_NUMS", "NONE", None)
TYPES = ("topics", "topics;subscriptionGroups", "consumerOffsets", "users", "")
RELAYED = ("SYSTEM_ERROR", "CONSUME_MSG_TIMEOUT")
READ_REFUSED = ("TOPIC_NOT_EXIST", "INVALID_PARAMETER", "NO_PERMISSION", "SUBSCRIPTION_GROUP_NOT_EXIST")


class Read(NamedTuple):
    """An operation that only reads: `make` returns one for the numbers of an action; `errors` are names of codes."""

    make: Make
    result: type[Result]
    errors: tuple[str, ...] = ()


def _peek(simulation: "AllOperations", action: "Action") -> Operation:
    topic, group = simulation.any_topic(action.a), simulation.existing_group(action.b)
    return consume.PeekMessage(group, topic, action.c % 3 - 1, action.d % 6 or -1)


def _check_client(simulation: "AllOperations", action: "Action") -> Operation:
    kind = ("TAG", "SQL92", "XML")[action.c % 3]
    subscription = clients.SubscriptionData(simulation.any_topic(action.a), EXPRESSIONS[action.b % 5], kind)
    has_expression = action.d % 5 > 0
    return clients.CheckClientConfig("side-client", simulation.any_group(action.d), subscription, has_expression)


def _find_message(simulation: "AllOperations", action: "Action") -> Operation:
    topic, key = simulation.any_key(action.a)
    now = simulation.session.now_ms
    begin = now - 1_000 * action.c if action.c % 3 else 0
    end = now if action.d % 3 else begin + 1_000 * action.d
    unique_key = action.b % 2 == 0
    return message_queries.QueryMessage(topic, key, action.d % 5, begin, end_timestamp=end, unique_key=unique_key)


def _directly(simulation: "AllOperations", action: "Action") -> Operation:
    topic = simulation.any_topic(action.c) if action.c % 4 else None
    message_id = simulation.any_message_id(action.b)
    return clients.ConsumeMessageDirectly(
        simulation.listening_group(action.a),
        simulation.listening_client(action.d),
        message_id,
        topic,
        ext_fields={"a": "b"},
    )


def _assignment(simulation: "AllOperations", action: "Action") -> Operation:
    model = ("CLUSTERING", "BROADCASTING")[action.d % 2]
    strategy, client_id = STRATEGIES[action.c % 4], simulation.listening_client(action.d) or ""
    topic, group = simulation.any_topic(action.a), simulation.any_group(action.b)
    return groups.QueryAssignment(topic, group, client_id, strategy, message_model=model)


def _consume_stats(simulation: "AllOperations", action: "Action") -> Operation:
    topic = simulation.any_topic(action.b) if action.c % 3 else None
    several = [simulation.any_topic(action.b), simulation.any_topic(action.d)] if action.c % 4 == 0 else []
    return groups.GetConsumeStats(simulation.any_group(action.a), topic, several)


def _stats(simulation: "AllOperations", action: "Action") -> Operation:
    name = STATS[action.a % len(STATS)]
    topic = simulation.any_topic(action.b) if action.c % 5 else None
    return tools.ViewBrokerStats(name, "DefaultCluster" if name == "BROKER_PUT_NUMS" else topic)


def _units(simulation: "AllOperations", action: "Action") -> Operation:
    group = simulation.any_group(action.d) if action.d % 3 else None
    topic, queue_id = simulation.any_topic(action.a), action.b % 4
    return message_queries.QueryConsumeQueue(topic, queue_id, action.c % 20 - 1, action.d % 9, consumer_group=group)


READS: dict[type[Operation], Read] = {
    clients.GetConsumerListByGroup: Read(
        lambda simulation, action: clients.GetConsumerListByGroup(simulation.any_group(action.a)),
        clients.ConsumerListResult,
        ("SYSTEM_ERROR",),
    ),
    clients.CheckClientConfig: Read(_check_client, Done, ("SUBSCRIPTION_PARSE_FAILED",)),
    clients.GetConsumerConnectionList: Read(
        lambda simulation, action: clients.GetConsumerConnectionList(simulation.any_group(action.a)),
        clients.ConsumerConnectionResult,
        ("CONSUMER_NOT_ONLINE",),
    ),
    clients.GetProducerConnectionList: Read(
        lambda simulation, action: clients.GetProducerConnectionList(
            ("producers", "side-producers", "none")[action.a % 3]
        ),
        clients.ProducerConnectionResult,
        ("SYSTEM_ERROR",),
    ),
    clients.GetAllProducerInfo: Read(lambda _, __: clients.GetAllProducerInfo(), clients.AllProducersResult),
    clients.GetConsumerRunningInfo: Read(
        lambda simulation, action: clients.GetConsumerRunningInfo(
            simulation.listening_group(action.a), simulation.listening_client(action.b), {"jstackEnable": "false"}
        ),
        clients.ClientResponse,
        RELAYED,
    ),
    clients.ConsumeMessageDirectly: Read(_directly, clients.ClientResponse, RELAYED),
    clients.GetConsumerStatus: Read(
        lambda simulation, action: clients.GetConsumerStatus(
            simulation.any_topic(action.a), simulation.listening_group(action.b), simulation.listening_client(action.c)
        ),
        clients.ConsumerStatusResult,
        ("SYSTEM_ERROR",),
    ),
    cluster.GetRouteInfo: Read(
        lambda simulation, action: cluster.GetRouteInfo(simulation.any_topic(action.a) if action.b % 9 else None),
        cluster.RouteResult,
        ("TOPIC_NOT_EXIST",),
    ),
    cluster.GetBrokerClusterInfo: Read(lambda _, __: cluster.GetBrokerClusterInfo(), cluster.ClusterInfoResult),
    cluster.GetNamesrvTopicList: Read(
        lambda _, action: cluster.GetNamesrvTopicList(
            (None, "DefaultCluster", "none")[action.a % 3], system=action.b % 3 == 0
        ),
        cluster.TopicListResult,
    ),
    cluster.GetUnitTopicList: Read(
        lambda _, action: cluster.GetUnitTopicList(action.a % 4, action.b % 4), cluster.TopicListResult
    ),
    cluster.GetKvConfig: Read(
        lambda simulation, action: cluster.GetKvConfig(simulation.namespace(action.a), simulation.key(action.b)),
        cluster.KvResult,
        ("QUERY_NOT_FOUND",),
    ),
    cluster.GetKvListByNamespace: Read(
        lambda simulation, action: cluster.GetKvListByNamespace(simulation.namespace(action.a)),
        cluster.KvListResult,
        ("QUERY_NOT_FOUND",),
    ),
    cluster.GetNamesrvConfig: Read(lambda _, __: cluster.GetNamesrvConfig(), cluster.TextResult),
    cluster.GetBrokerConfig: Read(lambda _, __: cluster.GetBrokerConfig(), cluster.TextResult),
    cluster.GetBrokerRuntimeInfo: Read(lambda _, __: cluster.GetBrokerRuntimeInfo(), cluster.RuntimeInfoResult),
    cluster.GetBrokerHaStatus: Read(lambda _, __: cluster.GetBrokerHaStatus(), cluster.HaStatusResult),
    consume.PeekMessage: Read(_peek, consume.PopResult, (*READ_REFUSED, "SYSTEM_ERROR")),
    consume.PollingInfo: Read(
        lambda simulation, action: consume.PollingInfo(
            simulation.existing_group(action.a), simulation.any_topic(action.b), action.c % 5 - 1
        ),
        consume.PollingInfoResult,
        READ_REFUSED,
    ),
    groups.GetAllGroups: Read(lambda _, __: groups.GetAllGroups(), groups.GroupsResult),
    groups.GetConsumeStats: Read(_consume_stats, groups.ConsumeStatsResult),
    groups.GetBrokerConsumeStats: Read(
        lambda _, action: groups.GetBrokerConsumeStats(only_ordered=action.a % 2 == 0), groups.BrokerConsumeStatsResult
    ),
    groups.QueryGroupsOfTopic: Read(
        lambda simulation, action: groups.QueryGroupsOfTopic(simulation.any_topic(action.a)), groups.GroupListResult
    ),
    groups.QueryTopicsOfGroup: Read(
        lambda simulation, action: groups.QueryTopicsOfGroup(simulation.any_group(action.a)), cluster.TopicListResult
    ),
    groups.QuerySubscription: Read(
        lambda simulation, action: groups.QuerySubscription(
            simulation.any_group(action.a), simulation.any_topic(action.b)
        ),
        groups.SubscriptionResult,
    ),
    groups.QueryConsumeTimeSpan: Read(
        lambda simulation, action: groups.QueryConsumeTimeSpan(
            simulation.any_topic(action.a), simulation.any_group(action.b)
        ),
        groups.ConsumeTimeSpanResult,
        ("TOPIC_NOT_EXIST",),
    ),
    groups.QueryAssignment: Read(_assignment, groups.AssignmentResult),
    message_queries.ViewMessage: Read(
        lambda simulation, action: message_queries.ViewMessage(simulation.any_physical_offset(action.a)),
        message_queries.MessagesResult,
        ("SYSTEM_ERROR",),
    ),
    message_queries.QueryMessage: Read(_find_message, message_queries.MessagesResult, ("QUERY_NOT_FOUND",)),
    message_queries.QueryConsumeQueue: Read(_units, message_queries.QueryConsumeQueueResult, ("SYSTEM_ERROR",)),
    offsets.QueryConsumerOffset: Read(
        lambda simulation, action: offsets.QueryConsumerOffset(
            simulation.any_group(action.a),
            simulation.any_topic(action.b),
            action.c % 4,
            (None, True, False)[action.d % 3],
        ),
        offsets.OffsetResult,
        ("QUERY_NOT_FOUND", "NOT_LEADER_FOR_QUEUE"),
    ),
    offsets.GetMaxOffset: Read(
        lambda simulation, action: offsets.GetMaxOffset(simulation.any_topic(action.a), action.b % 4),
        offsets.OffsetResult,
        ("NOT_LEADER_FOR_QUEUE",),
    ),
    offsets.GetMinOffset: Read(
        lambda simulation, action: offsets.GetMinOffset(simulation.any_topic(action.a), action.b % 4),
        offsets.OffsetResult,
        ("NOT_LEADER_FOR_QUEUE",),
    ),
    offsets.SearchOffset: Read(
        lambda simulation, action: offsets.SearchOffset(
            simulation.any_topic(action.a),
            action.b % 4,
            simulation.session.now_ms - 1_000 * action.c,
            upper=action.d % 2 == 0,
        ),
        offsets.OffsetResult,
        ("NOT_LEADER_FOR_QUEUE",),
    ),
    offsets.GetEarliestStoreTime: Read(
        lambda simulation, action: offsets.GetEarliestStoreTime(simulation.any_topic(action.a), action.b % 4),
        offsets.TimestampResult,
        ("NOT_LEADER_FOR_QUEUE",),
    ),
    offsets.GetAllConsumerOffset: Read(lambda _, __: offsets.GetAllConsumerOffset(), offsets.AllOffsetsResult),
    timers.GetTimerCheckPoint: Read(lambda _, __: timers.GetTimerCheckPoint(), timers.TimerCheckPointResult),
    timers.GetTimerMetrics: Read(lambda _, __: timers.GetTimerMetrics(), timers.TimerMetricsResult),
    timers.GetAllDelayOffset: Read(lambda _, __: timers.GetAllDelayOffset(), timers.DelayOffsetsResult),
    tools.ViewBrokerStats: Read(_stats, tools.BrokerStatsResult, ("SYSTEM_ERROR",)),
    tools.GetAllMessageRequestMode: Read(
        lambda _, __: tools.GetAllMessageRequestMode(), tools.MessageRequestModesResult
    ),
    tools.ExportConfigToJson: Read(
        lambda _, action: tools.ExportConfigToJson(TYPES[action.a % len(TYPES)]), Done, ("SYSTEM_ERROR",)
    ),
    tools.CheckQueueProgress: Read(lambda _, __: tools.CheckQueueProgress(), Done),
    tools.ResetMasterFlushOffset: Read(lambda _, __: tools.ResetMasterFlushOffset(), Done),
    tools.GetBrokerEpochCache: Read(lambda _, __: tools.GetBrokerEpochCache(), Done, ("SYSTEM_ERROR",)),
    tools.GetColdDataFlowCtrInfo: Read(lambda _, __: tools.GetColdDataFlowCtrInfo(), tools.ColdDataFlowCtrResult),
    topics.GetTopicConfig: Read(
        lambda simulation, action: topics.GetTopicConfig(
            simulation.any_topic(action.a), with_mapping=action.b % 2 == 0
        ),
        TopicResult,
        ("TOPIC_NOT_EXIST",),
    ),
    topics.GetAllTopics: Read(lambda _, __: topics.GetAllTopics(), TopicsResult),
    topics.GetBrokerTopicList: Read(lambda _, __: topics.GetBrokerTopicList(), cluster.TopicListResult),
    topics.GetTopicStats: Read(
        lambda simulation, action: topics.GetTopicStats(simulation.any_topic(action.a)),
        TopicStatsResult,
        ("TOPIC_NOT_EXIST",),
    ),
    users.GetUser: Read(
        lambda simulation, action: users.GetUser(simulation.user(action.a)), users.UserResult, ("INVALID_PARAMETER",)
    ),
    users.ListUsers: Read(lambda _, action: users.ListUsers((None, "", "an", "z")[action.a % 4]), users.UsersResult),
    users.GetAcl: Read(
        lambda simulation, action: users.GetAcl(simulation.subject(action.a)),
        users.AclResult,
        ("NO_PERMISSION", "SYSTEM_ERROR"),
    ),
    users.ListAcls: Read(
        lambda simulation, action: users.ListAcls(
            simulation.subject(action.a) if action.b % 2 else None, ("A", None, "")[action.b % 3]
        ),
        users.AclsResult,
    ),
}
"""The operations that only read, all of which any client or tool can send."""
