"""Requests to the name server.

Each processor translates a request into an operation of the engine, whose class explains the fields.
Source: ClientRequestProcessor, DefaultRequestProcessor (5.3.3).
"""

# ruff: noqa: ARG001  # all processors and response encoders share one signature

from rocketmq_testkit.emulator.auth.policies import Action
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.cluster import (
    ClusterInfoResult,
    DeleteKvConfig,
    DeleteTopicInNamesrv,
    GetBrokerClusterInfo,
    GetKvConfig,
    GetKvListByNamespace,
    GetNamesrvConfig,
    GetNamesrvTopicList,
    GetRouteInfo,
    GetUnitTopicList,
    KvListResult,
    KvResult,
    PermOfBrokerResult,
    PutKvConfig,
    RouteResult,
    SetPermOfBroker,
    TextResult,
    TopicListResult,
    UpdateNamesrvConfig,
)
from rocketmq_testkit.emulator.topic.topic_table import HAS_UNIT_SUBSCRIBERS, UNIT

from ..bodies import route
from ..bodies.properties_text import read_properties
from ..bodies.writing import dumps
from ..request.call import RemotingCall
from ..request.request_code import RequestCode
from ..request.request_table import NoHeader, RequestTable, Role
from ..request.required_rights import no_rights, on_cluster, on_fields, to_find_route
from ..wire.command import VERSION_STRICT_ROUTE_JSON
from ..wire.ext_fields import Header, header

TABLE = RequestTable(Role.NAME_SERVER)


@header
class GetRouteInfoRequestHeader(Header):
    """Request for the route of a topic. Errors: TOPIC_NOT_EXIST."""

    topic: str | None = None
    accept_standard_json_only: bool = False


@header
class PutKVConfigRequestHeader(Header):
    """Request to store a value under a namespace and a key. Errors: SYSTEM_ERROR (no namespace or no key)."""

    namespace: str | None = None
    key: str | None = None
    value: str | None = None


@header
class KvConfigRequestHeader(Header):
    """Request to get or delete a value, by namespace and key. Errors: QUERY_NOT_FOUND (get only)."""

    namespace: str | None = None
    key: str | None = None


@header
class GetKVListByNamespaceRequestHeader(Header):
    """Request for all values of a namespace. Errors: QUERY_NOT_FOUND."""

    namespace: str | None = None


@header
class BrokerNameRequestHeader(Header):
    """Request about all topics of one broker name."""

    broker_name: str = ""


@header
class DeleteTopicFromNamesrvRequestHeader(Header):
    """Request to delete a topic from all routes or from those of one cluster. Deleting an unknown topic is a no-op."""

    topic: str = ""
    cluster_name: str | None = None


@header
class GetTopicsByClusterRequestHeader(Header):
    """Request for the topics of a cluster. An unknown cluster has none."""

    cluster: str = ""


def _route(call: RemotingCall, result: RouteResult) -> bytes:
    header = call.header
    assert isinstance(header, GetRouteInfoRequestHeader)
    strict = header.accept_standard_json_only or call.version >= VERSION_STRICT_ROUTE_JSON
    return call.response(None, None, route.route(call.broker_address, result, strict=strict))


@TABLE.processor(
    RequestCode.GET_ROUTEINFO_BY_TOPIC, header=GetRouteInfoRequestHeader, rights=to_find_route, response=_route
)
def get_route_info(call: RemotingCall, header: GetRouteInfoRequestHeader, body: bytes) -> GetRouteInfo:
    """Translate a request for a route. Clients older than 4.9.4 get broker ids as unquoted numbers."""
    return GetRouteInfo(header.topic)


def _cluster_info(call: RemotingCall, result: ClusterInfoResult) -> bytes:
    return call.response(None, None, route.cluster_info(call.broker_address, result))


@TABLE.processor(RequestCode.GET_BROKER_CLUSTER_INFO, header=NoHeader, rights=no_rights, response=_cluster_info)
def get_cluster_info(call: RemotingCall, header: NoHeader, body: bytes) -> GetBrokerClusterInfo:
    """Translate a request for all brokers of all clusters."""
    return GetBrokerClusterInfo()


def _topic_list(call: RemotingCall, result: TopicListResult) -> bytes:
    return call.response(None, None, route.topic_list(call.broker_address, result))


@TABLE.processor(
    RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, header=NoHeader, rights=no_rights, response=_topic_list
)
def get_all_topics(call: RemotingCall, header: NoHeader, body: bytes) -> GetNamesrvTopicList:
    """Translate a request for all topics. Errors: SYSTEM_ERROR (disabled by configuration)."""
    return GetNamesrvTopicList()


@TABLE.processor(
    RequestCode.GET_TOPICS_BY_CLUSTER, header=GetTopicsByClusterRequestHeader, rights=no_rights, response=_topic_list
)
def get_topics_by_cluster(
    call: RemotingCall, header: GetTopicsByClusterRequestHeader, body: bytes
) -> GetNamesrvTopicList:
    """Translate a request for the topics of one cluster's brokers. Errors: SYSTEM_ERROR (disabled by configuration)."""
    return GetNamesrvTopicList(cluster=header.cluster)


@TABLE.processor(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS, header=NoHeader, rights=no_rights, response=_topic_list)
def get_system_topics(call: RemotingCall, header: NoHeader, body: bytes) -> GetNamesrvTopicList:
    """Translate a request for system topics. Those of a name server are named like its clusters and brokers.

    The response has the address of one broker, from which clients get the other system topics.
    """
    return GetNamesrvTopicList(system=True)


@TABLE.processor(RequestCode.GET_UNIT_TOPIC_LIST, header=NoHeader, rights=no_rights, response=_topic_list)
def get_unit_topics(call: RemotingCall, header: NoHeader, body: bytes) -> GetUnitTopicList:
    """Translate a request for topics with the flag UNIT, which a topic gets if a send with unitMode=true creates it.

    Errors: SYSTEM_ERROR (disabled by configuration).
    """
    return GetUnitTopicList(UNIT)


@TABLE.processor(RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST, header=NoHeader, rights=no_rights, response=_topic_list)
def get_unit_subscribed_topics(call: RemotingCall, header: NoHeader, body: bytes) -> GetUnitTopicList:
    """Translate a request for topics with the flag HAS_UNIT_SUB, as retry topics of consumers with unitMode=true.

    Errors: SYSTEM_ERROR (disabled by configuration).
    """
    return GetUnitTopicList(HAS_UNIT_SUBSCRIBERS)


@TABLE.processor(
    RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST, header=NoHeader, rights=no_rights, response=_topic_list
)
def get_unit_subscribed_plain_topics(call: RemotingCall, header: NoHeader, body: bytes) -> GetUnitTopicList:
    """Translate a request for topics with the flag HAS_UNIT_SUB, but without the flag UNIT.

    Errors: SYSTEM_ERROR (disabled by configuration).
    """
    return GetUnitTopicList(HAS_UNIT_SUBSCRIBERS, UNIT)


@TABLE.processor(
    RequestCode.DELETE_TOPIC_IN_NAMESRV,
    header=DeleteTopicFromNamesrvRequestHeader,
    rights=on_fields(Action.UPDATE, fields="clusterName", or_cluster=True),
)
def delete_topic(call: RemotingCall, header: DeleteTopicFromNamesrvRequestHeader, body: bytes) -> DeleteTopicInNamesrv:
    """Translate a request to delete a topic from routes. Another request deletes it on brokers."""
    return DeleteTopicInNamesrv(header.topic, header.cluster_name)


@TABLE.processor(RequestCode.PUT_KV_CONFIG, header=PutKVConfigRequestHeader, rights=on_cluster(Action.UPDATE))
def put_kv_config(call: RemotingCall, header: PutKVConfigRequestHeader, body: bytes) -> PutKvConfig:
    """Translate a request to store a value. A missing value is stored as null."""
    if header.namespace is None or header.key is None:
        raise EngineError(ResponseCode.SYSTEM_ERROR, "namespace or key is null")
    return PutKvConfig(header.namespace, header.key, header.value)


def _value(call: RemotingCall, result: KvResult) -> bytes:
    return call.response(None, {"value": result.value})


def _no_value(call: RemotingCall, error: EngineError) -> bytes:
    return call.response(error.remark, {}, code=error.code)


@TABLE.processor(
    RequestCode.GET_KV_CONFIG,
    header=KvConfigRequestHeader,
    rights=on_cluster(Action.GET),
    response=_value,
    error=_no_value,
)
def get_kv_config(call: RemotingCall, header: KvConfigRequestHeader, body: bytes) -> GetKvConfig:
    """Translate a request for a value. A missing name is looked up, and shown in the remark, as "null"."""
    return GetKvConfig(_null(header.namespace), _null(header.key))


@TABLE.processor(RequestCode.DELETE_KV_CONFIG, header=KvConfigRequestHeader, rights=on_cluster(Action.UPDATE))
def delete_kv_config(call: RemotingCall, header: KvConfigRequestHeader, body: bytes) -> DeleteKvConfig:
    """Translate a request to delete a value. Deleting an unknown value is a no-op."""
    return DeleteKvConfig(_null(header.namespace), _null(header.key))


def _values(call: RemotingCall, result: KvListResult) -> bytes:
    return call.response(None, None, dumps({"table": result.table}))


@TABLE.processor(
    RequestCode.GET_KVLIST_BY_NAMESPACE,
    header=GetKVListByNamespaceRequestHeader,
    rights=on_cluster(Action.GET),
    response=_values,
)
def get_kv_list(call: RemotingCall, header: GetKVListByNamespaceRequestHeader, body: bytes) -> GetKvListByNamespace:
    """Translate a request for all values of a namespace.

    The namespace ORDER_TOPIC_CONFIG has, by topic, the number of queues on each broker to which ordered messages go.
    """
    return GetKvListByNamespace(_null(header.namespace))


def _wiped(call: RemotingCall, result: PermOfBrokerResult) -> bytes:
    return call.response(None, {"wipeTopicCount": str(result.topic_count)})


@TABLE.processor(
    RequestCode.WIPE_WRITE_PERM_OF_BROKER,
    header=BrokerNameRequestHeader,
    rights=on_cluster(Action.UPDATE),
    response=_wiped,
)
def wipe_write_perm(call: RemotingCall, header: BrokerNameRequestHeader, body: bytes) -> SetPermOfBroker:
    """Translate a request to remove a broker's write permission. Producers notice it when they next fetch the route."""
    return SetPermOfBroker(header.broker_name, add=False)


def _added(call: RemotingCall, result: PermOfBrokerResult) -> bytes:
    return call.response(None, {"addTopicCount": str(result.topic_count)})


@TABLE.processor(
    RequestCode.ADD_WRITE_PERM_OF_BROKER,
    header=BrokerNameRequestHeader,
    rights=on_cluster(Action.UPDATE),
    response=_added,
)
def add_write_perm(call: RemotingCall, header: BrokerNameRequestHeader, body: bytes) -> SetPermOfBroker:
    """Translate a request to restore a broker's write permission."""
    return SetPermOfBroker(header.broker_name, add=True)


@TABLE.processor(RequestCode.UPDATE_NAMESRV_CONFIG, header=NoHeader, rights=no_rights)
def update_config(call: RemotingCall, header: NoHeader, body: bytes) -> UpdateNamesrvConfig:
    """Translate changed configuration keys of the name server."""
    return UpdateNamesrvConfig(read_properties(body))


def _text(call: RemotingCall, result: TextResult) -> bytes:
    return call.response(None, None, result.text.encode())


@TABLE.processor(RequestCode.GET_NAMESRV_CONFIG, header=NoHeader, rights=no_rights, response=_text)
def get_config(call: RemotingCall, header: NoHeader, body: bytes) -> GetNamesrvConfig:
    """Translate a request for the configuration. The response is properties text."""
    return GetNamesrvConfig()


def _null(name: str | None) -> str:
    return "null" if name is None else name
