"""What a name server is asked. Source: ClientRequestProcessor, DefaultRequestProcessor (5.3.3)."""

# ruff: noqa: ARG001  # every processor and every answer has the same arguments, whether it needs them or not

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
from ..wire.command import VERSION_STRICT_ROUTE_JSON
from ..wire.ext_fields import Header, header

TABLE = RequestTable(Role.NAME_SERVER)


@header
class GetRouteInfoRequestHeader(Header):
    """Where a topic lives. Errors: TOPIC_NOT_EXIST."""

    topic: str | None = None
    accept_standard_json_only: bool = False


@header
class PutKVConfigRequestHeader(Header):
    """Store a value. Errors: SYSTEM_ERROR (no namespace or no key)."""

    namespace: str | None = None
    key: str | None = None
    value: str | None = None


@header
class KvConfigRequestHeader(Header):
    """A value, by namespace and key. Errors: QUERY_NOT_FOUND (asked for and not there)."""

    namespace: str | None = None
    key: str | None = None


@header
class GetKVListByNamespaceRequestHeader(Header):
    """All values of a namespace. Errors: QUERY_NOT_FOUND."""

    namespace: str | None = None


@header
class BrokerNameRequestHeader(Header):
    """All topics of one broker name."""

    broker_name: str = ""


@header
class DeleteTopicFromNamesrvRequestHeader(Header):
    """Forget a topic, everywhere or in one cluster; an unknown one is no error."""

    topic: str = ""
    cluster_name: str | None = None


@header
class GetTopicsByClusterRequestHeader(Header):
    """Topics of a cluster; an unknown one has none."""

    cluster: str = ""


def _route(call: RemotingCall, result: RouteResult) -> bytes:
    header = call.header
    assert isinstance(header, GetRouteInfoRequestHeader)
    strict = header.accept_standard_json_only or call.version >= VERSION_STRICT_ROUTE_JSON
    return call.answer(None, None, route.route(call, result, strict=strict))


@TABLE.processor(RequestCode.GET_ROUTEINFO_BY_TOPIC, header=GetRouteInfoRequestHeader, answer=_route)
def get_route_info(call: RemotingCall, header: GetRouteInfoRequestHeader, body: bytes) -> GetRouteInfo:
    """Requests older than 4.9.4 get broker ids as bare numbers."""
    return GetRouteInfo(header.topic)


def _cluster_info(call: RemotingCall, result: ClusterInfoResult) -> bytes:
    return call.answer(None, None, route.cluster_info(call, result))


@TABLE.processor(RequestCode.GET_BROKER_CLUSTER_INFO, header=NoHeader, answer=_cluster_info)
def get_cluster_info(call: RemotingCall, header: NoHeader, body: bytes) -> GetBrokerClusterInfo:
    """All brokers of all clusters."""
    return GetBrokerClusterInfo()


def _topic_list(call: RemotingCall, result: TopicListResult) -> bytes:
    return call.answer(None, None, route.topic_list(call, result))


@TABLE.processor(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, header=NoHeader, answer=_topic_list)
def get_all_topics(call: RemotingCall, header: NoHeader, body: bytes) -> GetNamesrvTopicList:
    """All topics. Errors: SYSTEM_ERROR (turned off)."""
    return GetNamesrvTopicList()


@TABLE.processor(RequestCode.GET_TOPICS_BY_CLUSTER, header=GetTopicsByClusterRequestHeader, answer=_topic_list)
def get_topics_by_cluster(
    call: RemotingCall, header: GetTopicsByClusterRequestHeader, body: bytes
) -> GetNamesrvTopicList:
    """Those of one cluster's brokers."""
    return GetNamesrvTopicList(cluster=header.cluster)


@TABLE.processor(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS, header=NoHeader, answer=_topic_list)
def get_system_topics(call: RemotingCall, header: NoHeader, body: bytes) -> GetNamesrvTopicList:
    """Names of clusters and brokers, which are topics too, with the address of one broker."""
    return GetNamesrvTopicList(system=True)


@TABLE.processor(RequestCode.GET_UNIT_TOPIC_LIST, header=NoHeader, answer=_topic_list)
def get_unit_topics(call: RemotingCall, header: NoHeader, body: bytes) -> GetUnitTopicList:
    """Topics of a unit. Errors: SYSTEM_ERROR (turned off), as of the two that follow."""
    return GetUnitTopicList(UNIT)


@TABLE.processor(RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST, header=NoHeader, answer=_topic_list)
def get_unit_subscribed_topics(call: RemotingCall, header: NoHeader, body: bytes) -> GetUnitTopicList:
    """Topics that units subscribe to."""
    return GetUnitTopicList(HAS_UNIT_SUBSCRIBERS)


@TABLE.processor(RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST, header=NoHeader, answer=_topic_list)
def get_unit_subscribed_plain_topics(call: RemotingCall, header: NoHeader, body: bytes) -> GetUnitTopicList:
    """Those of them that are of no unit."""
    return GetUnitTopicList(HAS_UNIT_SUBSCRIBERS, UNIT)


@TABLE.processor(RequestCode.DELETE_TOPIC_IN_NAMESRV, header=DeleteTopicFromNamesrvRequestHeader)
def delete_topic(call: RemotingCall, header: DeleteTopicFromNamesrvRequestHeader, body: bytes) -> DeleteTopicInNamesrv:
    """The brokers are told by another request."""
    return DeleteTopicInNamesrv(header.topic, header.cluster_name)


@TABLE.processor(RequestCode.PUT_KV_CONFIG, header=PutKVConfigRequestHeader)
def put_kv_config(call: RemotingCall, header: PutKVConfigRequestHeader, body: bytes) -> PutKvConfig:
    """A missing value is stored as such."""
    if header.namespace is None or header.key is None:
        raise EngineError(ResponseCode.SYSTEM_ERROR, "namespace or key is null")
    return PutKvConfig(header.namespace, header.key, header.value)


def _value(call: RemotingCall, result: KvResult) -> bytes:
    return call.answer(None, {"value": result.value})


def _no_value(call: RemotingCall, error: EngineError) -> bytes:
    return call.answer(error.remark, {}, code=error.code)


@TABLE.processor(RequestCode.GET_KV_CONFIG, header=KvConfigRequestHeader, answer=_value, refuse=_no_value)
def get_kv_config(call: RemotingCall, header: KvConfigRequestHeader, body: bytes) -> GetKvConfig:
    """Missing names are looked up, and shown in the remark, as Java prints null."""
    return GetKvConfig(_null(header.namespace), _null(header.key))


@TABLE.processor(RequestCode.DELETE_KV_CONFIG, header=KvConfigRequestHeader)
def delete_kv_config(call: RemotingCall, header: KvConfigRequestHeader, body: bytes) -> DeleteKvConfig:
    """A value that is not there is no error."""
    return DeleteKvConfig(_null(header.namespace), _null(header.key))


def _values(call: RemotingCall, result: KvListResult) -> bytes:
    return call.answer(None, None, dumps({"table": result.table}))


@TABLE.processor(RequestCode.GET_KVLIST_BY_NAMESPACE, header=GetKVListByNamespaceRequestHeader, answer=_values)
def get_kv_list(call: RemotingCall, header: GetKVListByNamespaceRequestHeader, body: bytes) -> GetKvListByNamespace:
    """Brokers ask for the order configuration this way."""
    return GetKvListByNamespace(_null(header.namespace))


def _wiped(call: RemotingCall, result: PermOfBrokerResult) -> bytes:
    return call.answer(None, {"wipeTopicCount": str(result.topic_count)})


@TABLE.processor(RequestCode.WIPE_WRITE_PERM_OF_BROKER, header=BrokerNameRequestHeader, answer=_wiped)
def wipe_write_perm(call: RemotingCall, header: BrokerNameRequestHeader, body: bytes) -> SetPermOfBroker:
    """Producers leave the broker at their next route poll."""
    return SetPermOfBroker(header.broker_name, add=False)


def _added(call: RemotingCall, result: PermOfBrokerResult) -> bytes:
    return call.answer(None, {"addTopicCount": str(result.topic_count)})


@TABLE.processor(RequestCode.ADD_WRITE_PERM_OF_BROKER, header=BrokerNameRequestHeader, answer=_added)
def add_write_perm(call: RemotingCall, header: BrokerNameRequestHeader, body: bytes) -> SetPermOfBroker:
    """The way back."""
    return SetPermOfBroker(header.broker_name, add=True)


@TABLE.processor(RequestCode.UPDATE_NAMESRV_CONFIG, header=NoHeader)
def update_config(call: RemotingCall, header: NoHeader, body: bytes) -> UpdateNamesrvConfig:
    """Change keys of the name server."""
    return UpdateNamesrvConfig(read_properties(body))


def _text(call: RemotingCall, result: TextResult) -> bytes:
    return call.answer(None, None, result.text.encode())


@TABLE.processor(RequestCode.GET_NAMESRV_CONFIG, header=NoHeader, answer=_text)
def get_config(call: RemotingCall, header: NoHeader, body: bytes) -> GetNamesrvConfig:
    """As properties text."""
    return GetNamesrvConfig()


def _null(name: str | None) -> str:
    return "null" if name is None else name
