"""The rights that a request requires. To protect another request code, add a line to a table.

Source: DefaultAuthorizationContextBuilder, RocketMQAction and RocketMQResource of the request headers (5.3.3).
"""

# ruff: noqa: ARG001  # all functions of the tables share one signature

from collections.abc import Callable, Iterable, Iterator, Mapping

from rocketmq_testkit.emulator.auth.authentication import AccessDenied, Need
from rocketmq_testkit.emulator.auth.policies import Action, Resource, ResourceType, group_resource, topic_resource
from rocketmq_testkit.emulator.message.names import is_retry

from ..bodies.client import HeartbeatBody, LockBody
from .request_code import RequestCode

Fields = Mapping[str, str]
Needs = Callable[[Fields, bytes], Iterator[Need]]

UNREADABLE = "parse authorization context error."
_SEPARATORS = {"topicList": ";", "filterGroups": ","}
_PUB, _SUB = (Action.PUB,), (Action.SUB,)
_SUB_OR_GET, _SUB_OR_UPDATE = (Action.SUB, Action.GET), (Action.SUB, Action.UPDATE)


def needs(code: int, ext: Fields, body: bytes, cluster: str) -> Iterator[Need]:
    """Yield the rights that a request requires on a broker of a cluster.

    Raises AccessDenied, and EngineError for a request that cannot be read.
    """
    special = _SPECIAL.get(code)
    if special is not None:
        yield from special(ext, body)
        return
    rule = _RULES.get(code)
    if rule is None:
        return
    actions, of_cluster, names = rule
    found = [Need(resource, actions) for name in names if name in ext for resource in _named(name, ext[name])]
    yield from found
    if of_cluster and not found:
        yield Need(Resource(ResourceType.CLUSTER, cluster), actions)


def _named(field: str, value: str) -> Iterator[Resource]:
    """Yield the resources named by a field. The field's own name implies their type."""
    separator = _SEPARATORS.get(field)
    for name in [value] if separator is None else filter(None, value.split(separator)):
        if "luster" in field:
            yield Resource(ResourceType.CLUSTER, name)
        elif field == "b" or "opic" in field:
            yield group_resource(name) if is_retry(name) else topic_resource(name)
        else:
            yield Resource(ResourceType.GROUP, name)


# requests whose fields name all resources


def _rule(*actions: Action, fields: str = "", cluster: bool = False) -> tuple[tuple[Action, ...], bool, list[str]]:
    return actions, cluster, fields.split()


_OF_CLUSTER: Mapping[Action, tuple[RequestCode, ...]] = {
    Action.GET: (
        RequestCode.AUTH_GET_ACL,
        RequestCode.AUTH_GET_USER,
        RequestCode.AUTH_LIST_ACL,
        RequestCode.AUTH_LIST_USER,
        RequestCode.CONTROLLER_GET_REPLICA_INFO,
        RequestCode.EXPORT_ROCKSDB_CONFIG_TO_JSON,
        RequestCode.GET_ALL_PRODUCER_INFO,
        RequestCode.GET_BROKER_CONSUME_STATS,
        RequestCode.GET_KVLIST_BY_NAMESPACE,
        RequestCode.GET_KV_CONFIG,
        RequestCode.GET_PRODUCER_CONNECTION_LIST,
        RequestCode.VIEW_BROKER_STATS_DATA,
    ),
    Action.UPDATE: (
        RequestCode.ADD_BROKER,
        RequestCode.ADD_WRITE_PERM_OF_BROKER,
        RequestCode.AUTH_CREATE_ACL,
        RequestCode.AUTH_CREATE_USER,
        RequestCode.AUTH_DELETE_ACL,
        RequestCode.AUTH_DELETE_USER,
        RequestCode.AUTH_UPDATE_ACL,
        RequestCode.AUTH_UPDATE_USER,
        RequestCode.CONTROLLER_ALTER_SYNC_STATE_SET,
        RequestCode.DELETE_KV_CONFIG,
        RequestCode.EXCHANGE_BROKER_HA_INFO,
        RequestCode.NOTIFY_BROKER_ROLE_CHANGED,
        RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE,
        RequestCode.PUT_KV_CONFIG,
        RequestCode.REGISTER_TOPIC_IN_NAMESRV,
        RequestCode.RESET_MASTER_FLUSH_OFFSET,
        RequestCode.WIPE_WRITE_PERM_OF_BROKER,
    ),
}
"""Request codes that always require a right on the broker's cluster."""

_CONSUMPTION, _PROGRESS = "consumerGroup topic", "topic group"
_RULES: Mapping[int, tuple[tuple[Action, ...], bool, list[str]]] = {
    **{code: _rule(action, cluster=True) for action, codes in _OF_CLUSTER.items() for code in codes},
    RequestCode.ACK_MESSAGE: _rule(Action.SUB, fields=_CONSUMPTION),
    RequestCode.BROKER_HEARTBEAT: _rule(Action.UPDATE, fields="clusterName", cluster=True),
    RequestCode.CHANGE_MESSAGE_INVISIBLETIME: _rule(Action.SUB, fields=_CONSUMPTION),
    RequestCode.CHECK_ROCKSDB_CQ_WRITE_PROGRESS: _rule(Action.GET, fields="topic"),
    RequestCode.CHECK_TRANSACTION_STATE: _rule(Action.PUB, fields="topic"),
    RequestCode.CLEAN_BROKER_DATA: _rule(Action.UPDATE, fields="clusterName", cluster=True),
    RequestCode.CLONE_GROUP_OFFSET: _rule(Action.UPDATE, fields="destGroup topic"),
    RequestCode.CONSUME_MESSAGE_DIRECTLY: _rule(Action.SUB, fields=_CONSUMPTION),
    RequestCode.CONTROLLER_APPLY_BROKER_ID: _rule(Action.UPDATE, fields="clusterName", cluster=True),
    RequestCode.CONTROLLER_ELECT_MASTER: _rule(Action.UPDATE, fields="clusterName", cluster=True),
    RequestCode.CONTROLLER_GET_NEXT_BROKER_ID: _rule(Action.GET, fields="clusterName", cluster=True),
    RequestCode.CONTROLLER_REGISTER_BROKER: _rule(Action.UPDATE, fields="clusterName", cluster=True),
    RequestCode.DELETE_SUBSCRIPTIONGROUP: _rule(Action.DELETE, fields="groupName"),
    RequestCode.DELETE_TOPIC_IN_BROKER: _rule(Action.DELETE, fields="topic"),
    RequestCode.DELETE_TOPIC_IN_NAMESRV: _rule(Action.UPDATE, fields="clusterName", cluster=True),
    RequestCode.GET_BROKER_MEMBER_GROUP: _rule(Action.GET, fields="clusterName"),
    RequestCode.GET_CONSUMER_CONNECTION_LIST: _rule(Action.GET, fields="consumerGroup"),
    RequestCode.GET_CONSUMER_RUNNING_INFO: _rule(Action.GET, fields="consumerGroup"),
    RequestCode.GET_CONSUME_STATS: _rule(Action.GET, fields=f"{_CONSUMPTION} topicList"),
    RequestCode.GET_EARLIEST_MSG_STORETIME: _rule(Action.GET, fields="topic"),
    RequestCode.GET_MAX_OFFSET: _rule(Action.GET, fields="topic"),
    RequestCode.GET_MIN_OFFSET: _rule(Action.GET, fields="topic"),
    RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG: _rule(Action.GET, fields="group"),
    RequestCode.GET_TOPIC_CONFIG: _rule(Action.GET, fields="topic"),
    RequestCode.GET_TOPIC_STATS_INFO: _rule(Action.GET, fields="topic"),
    RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: _rule(Action.GET, fields=_PROGRESS),
    RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: _rule(Action.UPDATE, fields="group topic"),
    RequestCode.NOTIFICATION: _rule(Action.SUB, fields=_CONSUMPTION),
    RequestCode.NOTIFY_CONSUMER_IDS_CHANGED: _rule(Action.SUB, fields="consumerGroup"),
    RequestCode.PEEK_MESSAGE: _rule(Action.SUB, fields="topic consumerGroup"),
    RequestCode.POLLING_INFO: _rule(Action.GET, fields=_CONSUMPTION),
    RequestCode.POP_MESSAGE: _rule(Action.SUB, fields=_CONSUMPTION),
    RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT: _rule(Action.SUB, fields="producerGroup topic"),
    RequestCode.QUERY_CONSUME_QUEUE: _rule(Action.GET, fields="topic consumerGroup"),
    RequestCode.QUERY_CONSUME_TIME_SPAN: _rule(Action.GET, fields=_PROGRESS),
    RequestCode.QUERY_CORRECTION_OFFSET: _rule(Action.GET, fields="filterGroups compareGroup topic"),
    RequestCode.QUERY_DATA_VERSION: _rule(Action.GET, fields="clusterName", cluster=True),
    RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER: _rule(Action.GET, fields="group topic"),
    RequestCode.QUERY_TOPICS_BY_CONSUMER: _rule(Action.GET, fields="group"),
    RequestCode.QUERY_TOPIC_CONSUME_BY_WHO: _rule(Action.GET, fields="topic"),
    RequestCode.REGISTER_BROKER: _rule(Action.UPDATE, fields="clusterName", cluster=True),
    RequestCode.REMOVE_BROKER: _rule(Action.UPDATE, fields="brokerClusterName", cluster=True),
    RequestCode.RESUME_CHECK_HALF_MESSAGE: _rule(Action.UPDATE, fields="topic"),
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: _rule(Action.GET, fields="topic"),
    RequestCode.UNREGISTER_BROKER: _rule(Action.UPDATE, fields="clusterName", cluster=True),
    RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN: _rule(Action.UPDATE, fields="group topic"),
    RequestCode.VIEW_MESSAGE_BY_ID: _rule(Action.GET, fields="topic"),
}
"""The rule of each request code: actions of which one must be allowed, a cluster flag, and fields with resource names.

With the cluster flag, a request that names no resource requires a right on the cluster. A code without a rule requires
no right: upstream has no header for it, or a header without annotations.
"""


# requests with rules of their own


def _of_route(ext: Fields, body: bytes) -> Iterator[Need]:
    topic = ext.get("topic")
    if topic is not None and is_retry(topic):
        yield Need(group_resource(topic), _SUB_OR_GET)
    else:
        yield Need(topic_resource(topic), (Action.PUB, Action.SUB, Action.GET))


def _of_send(topic_field: str, group_field: str) -> Needs:
    def needs(ext: Fields, body: bytes) -> Iterator[Need]:
        """Yield the rights of a send.

        A message to a retry topic was sent back by a consumer and requires SUB on the group.
        """
        topic, group = ext.get(topic_field), ext.get(group_field)
        if topic is not None and is_retry(topic):
            yield Need(group_resource(group if (group or "").strip() else topic), _SUB)
        else:
            yield Need(topic_resource(topic), _PUB)

    return needs


def _of_topic(*actions: Action) -> Needs:
    def needs(ext: Fields, body: bytes) -> Iterator[Need]:
        yield Need(topic_resource(ext.get("topic")), actions)

    return needs


def _of_end_transaction(ext: Fields, body: bytes) -> Iterator[Need]:
    if ext.get("topic", "").strip():
        yield Need(topic_resource(ext["topic"]), _PUB)


def _of_send_back(ext: Fields, body: bytes) -> Iterator[Need]:
    yield Need(group_resource(ext.get("group")), _SUB)


def _of_consumer(*actions: Action) -> Needs:
    def needs(ext: Fields, body: bytes) -> Iterator[Need]:
        topic = ext.get("topic")
        if topic is None or not is_retry(topic):
            yield Need(topic_resource(topic), actions)
        yield Need(group_resource(ext.get("consumerGroup")), actions)

    return needs


def _of_heartbeat(ext: Fields, body: bytes) -> Iterator[Need]:
    for consumer in HeartbeatBody.parse(body).consumer_data_set:
        yield Need(group_resource(consumer.group_name), _SUB)
        yield from _of_topics(each.topic for each in consumer.subscription_data_set)


def _of_locks(ext: Fields, body: bytes) -> Iterator[Need]:
    locks = LockBody.parse(body)
    yield Need(group_resource(locks.consumer_group), _SUB)
    yield from _of_topics(each.topic for each in locks.mq_set)


def _of_topics(topics: Iterable[str | None]) -> Iterator[Need]:
    for topic in topics:
        if topic is None or not is_retry(topic):
            yield Need(topic_resource(topic), _SUB)


def _of_unregistration(ext: Fields, body: bytes) -> Iterator[Need]:
    if ext.get("consumerGroup", "").strip():
        yield Need(group_resource(ext["consumerGroup"]), _SUB)


def _of_create_topic(ext: Fields, body: bytes) -> Iterator[Need]:
    """Yield the rights of a topic creation. As in upstream, only its header is validated on reading."""
    if ext.get("topicFilterType") not in ("SINGLE_TAG", "MULTI_TAG"):
        raise AccessDenied(UNREADABLE)
    if "topic" in ext:
        yield from (Need(resource, (Action.CREATE,)) for resource in _named("topic", ext["topic"]))


def _of_consumer_list(ext: Fields, body: bytes) -> Iterator[Need]:
    yield Need(group_resource(ext.get("consumerGroup")), _SUB_OR_GET)


_SPECIAL: Mapping[int, Needs] = {
    RequestCode.GET_ROUTEINFO_BY_TOPIC: _of_route,
    RequestCode.SEND_MESSAGE: _of_send("topic", "group"),
    RequestCode.SEND_MESSAGE_V2: _of_send("b", "a"),
    RequestCode.SEND_BATCH_MESSAGE: _of_send("b", "a"),
    RequestCode.RECALL_MESSAGE: _of_topic(Action.PUB),
    RequestCode.END_TRANSACTION: _of_end_transaction,
    RequestCode.CONSUMER_SEND_MSG_BACK: _of_send_back,
    RequestCode.PULL_MESSAGE: _of_consumer(Action.SUB),
    RequestCode.QUERY_MESSAGE: _of_topic(*_SUB_OR_GET),
    RequestCode.HEART_BEAT: _of_heartbeat,
    RequestCode.UNREGISTER_CLIENT: _of_unregistration,
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: _of_consumer_list,
    RequestCode.QUERY_CONSUMER_OFFSET: _of_consumer(*_SUB_OR_GET),
    RequestCode.UPDATE_CONSUMER_OFFSET: _of_consumer(*_SUB_OR_UPDATE),
    RequestCode.LOCK_BATCH_MQ: _of_locks,
    RequestCode.UNLOCK_BATCH_MQ: _of_locks,
    RequestCode.UPDATE_AND_CREATE_TOPIC: _of_create_topic,
}
