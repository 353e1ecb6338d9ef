"""Clients: heartbeats, group members, queue locks, connections.

Each processor translates a request into an operation of the engine, whose class explains the fields.
Source: ClientManageProcessor, ConsumerManageProcessor, AdminBrokerProcessor (5.3.3).
"""

# ruff: noqa: ARG001  # all processors and response encoders share one signature

from rocketmq_testkit.emulator.auth.policies import Action
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.clients import (
    AllProducersResult,
    CheckClientConfig,
    ClientResponse,
    ConsumeMessageDirectly,
    ConsumerConnectionResult,
    ConsumerListResult,
    ConsumerStatusResult,
    GetAllProducerInfo,
    GetConsumerConnectionList,
    GetConsumerListByGroup,
    GetConsumerRunningInfo,
    GetConsumerStatus,
    GetProducerConnectionList,
    Heartbeat,
    HeartbeatResult,
    LockBatchMq,
    LockBatchResult,
    ProducerConnectionResult,
    UnlockBatchMq,
    UnregisterClient,
)
from rocketmq_testkit.emulator.overload.request_pools import BrokerPool

from ..bodies import client
from ..bodies.client import CheckClientBody, HeartbeatBody, LockBody, SubscriptionBody, UnlockBody
from ..bodies.last_encoded import LastEncoded
from ..bodies.writing import dumps, message_queue
from ..request.call import RemotingCall
from ..request.request_code import RequestCode
from ..request.request_table import BodyOf, NoHeader, RequestTable, Role
from ..request.required_rights import (
    CONSUMER_GROUP_AND_TOPIC,
    TOPIC_AND_GROUP,
    no_rights,
    on_cluster,
    on_fields,
    to_list_consumers,
    to_lock_queues,
    to_send_heartbeat,
    to_unregister,
)
from ..wire.ext_fields import Header, Int, header, wire
from ..wire.response_frame import EMPTY_EXT, NOT_SET, encode_success

TABLE = RequestTable(Role.BROKER)


@header
class UnregisterClientRequestHeader(Header):
    """Request of a client to leave groups. Leaving an unknown group is a no-op."""

    client_id: str = wire("clientID", default="")
    producer_group: str | None = None
    consumer_group: str | None = None


@header
class GetConsumerListByGroupRequestHeader(Header):
    """Request for the client ids of a group. Errors: SYSTEM_ERROR if the group has no clients."""

    consumer_group: str


@header
class GetConsumerConnectionListRequestHeader(Header):
    """Request for the connections of a consumer group. Errors: CONSUMER_NOT_ONLINE."""

    consumer_group: str


@header
class GetProducerConnectionListRequestHeader(Header):
    """Request for the connections of a producer group. Errors: SYSTEM_ERROR if there are none."""

    producer_group: str


@header
class GetConsumerRunningInfoRequestHeader(Header):
    """Request for the running info of an online consumer.

    Errors: SYSTEM_ERROR (client not online, or its version is too old), CONSUME_MSG_TIMEOUT.
    """

    consumer_group: str
    client_id: str | None = None
    jstack_enable: bool | None = None


@header
class ConsumeMessageDirectlyResultRequestHeader(Header):
    """Request that an online consumer's listener processes a stored message.

    Errors: SYSTEM_ERROR (client not online, its version is too old, no such message), CONSUME_MSG_TIMEOUT.
    """

    consumer_group: str
    client_id: str | None = None
    msg_id: str | None = None
    broker_name: str | None = None
    topic: str | None = None
    topic_sys_flag: Int | None = None
    group_sys_flag: Int | None = None


@header
class GetConsumerStatusRequestHeader(Header):
    """Request for the offsets of the consumer with the client id `client_addr`, or of all online consumers without it.

    Errors: SYSTEM_ERROR (no consumer online, or the version of one is too old).
    """

    topic: str
    group: str
    client_addr: str | None = None


def _heartbeat_response(call: RemotingCall, result: HeartbeatResult) -> bytes:
    changed = "true" if result.is_sub_change else "false"
    return call.response(None, {"IS_SUPPORT_HEART_BEAT_V2": "true", "IS_SUB_CHANGE": changed})


@TABLE.processor(
    RequestCode.HEART_BEAT,
    header=NoHeader,
    rights=to_send_heartbeat,
    pool=BrokerPool.HEARTBEAT,
    body=HeartbeatBody,
    response=_heartbeat_response,
)
def heart_beat(call: RemotingCall, header: NoHeader, body: HeartbeatBody) -> Heartbeat:
    """Translate a heartbeat. The client's language and version are those of the request header."""
    return client.heartbeat(body, call.language, call.version)


def _empty_fields(call: RemotingCall, result: Done) -> bytes:
    return call.response(result.remark, {})


@TABLE.processor(
    RequestCode.UNREGISTER_CLIENT,
    header=UnregisterClientRequestHeader,
    rights=to_unregister,
    pool=BrokerPool.CLIENT,
    response=_empty_fields,
)
def unregister_client(call: RemotingCall, header: UnregisterClientRequestHeader, body: bytes) -> UnregisterClient:
    """Translate a request to leave groups. C++ clients send an empty name for the group that they do not mean."""
    return UnregisterClient(header.client_id, header.producer_group or None, header.consumer_group or None)


_body_of_ids: LastEncoded[list[str]] = LastEncoded(lambda client_ids: dumps({"consumerIdList": client_ids}))
"""After each change of a group every member queries the same list."""


def _consumer_list(call: RemotingCall, result: ConsumerListResult) -> bytes:
    return encode_success(call.number, EMPTY_EXT, _body_of_ids(result.client_ids))


def _consumer_list_error(call: RemotingCall, error: EngineError) -> bytes:
    return call.response(error.remark, {}, code=error.code)


@TABLE.processor(
    RequestCode.GET_CONSUMER_LIST_BY_GROUP,
    header=GetConsumerListByGroupRequestHeader,
    rights=to_list_consumers,
    pool=BrokerPool.CONSUMER,
    response=_consumer_list,
    error=_consumer_list_error,
)
def get_consumer_list(
    call: RemotingCall, header: GetConsumerListByGroupRequestHeader, body: bytes
) -> GetConsumerListByGroup:
    """Translate a request for a group's client ids, from which clients rebalance."""
    return GetConsumerListByGroup(header.consumer_group)


def _locked(call: RemotingCall, result: LockBatchResult) -> bytes:
    return call.response(None, None, dumps({"lockOKMQSet": [message_queue(each) for each in result.queues]}))


@TABLE.processor(RequestCode.LOCK_BATCH_MQ, header=NoHeader, rights=to_lock_queues, body=LockBody, response=_locked)
def lock_batch_mq(call: RemotingCall, header: NoHeader, body: LockBody) -> LockBatchMq:
    """Translate a request to lock queues. The response lists those of them that the client holds now."""
    return LockBatchMq(body.consumer_group or "", body.client_id, body.queues)


@TABLE.processor(RequestCode.UNLOCK_BATCH_MQ, header=NoHeader, rights=to_lock_queues, body=UnlockBody)
def unlock_batch_mq(call: RemotingCall, header: NoHeader, body: UnlockBody) -> UnlockBatchMq:
    """Translate a request to unlock queues. Java clients may send it oneway; Go clients expect a response."""
    return UnlockBatchMq(body.consumer_group or "", body.client_id, body.queues)


@TABLE.processor(
    RequestCode.CHECK_CLIENT_CONFIG,
    header=NoHeader,
    rights=no_rights,
    pool=BrokerPool.CLIENT,
    body=BodyOf(CheckClientBody, required=False),
)
def check_client_config(call: RemotingCall, header: NoHeader, body: CheckClientBody | None) -> CheckClientConfig:
    """Translate a request to validate a subscription. Without a body or a subscription it is valid."""
    body = body or CheckClientBody()
    subscription = body.subscription_data or SubscriptionBody(sub_string="*")
    return CheckClientConfig(
        body.client_id, body.group, client.subscription_data(subscription), subscription.sub_string is not None
    )


def _consumer_connection(call: RemotingCall, result: ConsumerConnectionResult) -> bytes:
    return call.response(None, None, client.consumer_connection(result))


@TABLE.processor(
    RequestCode.GET_CONSUMER_CONNECTION_LIST,
    header=GetConsumerConnectionListRequestHeader,
    rights=on_fields(Action.GET, fields="consumerGroup"),
    response=_consumer_connection,
)
def get_consumer_connections(
    call: RemotingCall, header: GetConsumerConnectionListRequestHeader, body: bytes
) -> GetConsumerConnectionList:
    """Translate a request for a group's connections. The response has the subscriptions of the newest heartbeat."""
    return GetConsumerConnectionList(header.consumer_group)


def _producer_connection(call: RemotingCall, result: ProducerConnectionResult) -> bytes:
    return call.response(None, None, dumps({"connectionSet": [client.connection(each) for each in result.connections]}))


@TABLE.processor(
    RequestCode.GET_PRODUCER_CONNECTION_LIST,
    header=GetProducerConnectionListRequestHeader,
    rights=on_cluster(Action.GET),
    response=_producer_connection,
)
def get_producer_connections(
    call: RemotingCall, header: GetProducerConnectionListRequestHeader, body: bytes
) -> GetProducerConnectionList:
    """Translate a request for the connections of one producer group."""
    return GetProducerConnectionList(header.producer_group)


def _all_producers(call: RemotingCall, result: AllProducersResult) -> bytes:
    groups = {name: [client.producer_info(each) for each in found] for name, found in result.groups.items()}
    return call.response(None, None, dumps({"data": groups}))


@TABLE.processor(
    RequestCode.GET_ALL_PRODUCER_INFO, header=NoHeader, rights=on_cluster(Action.GET), response=_all_producers
)
def get_all_producers(call: RemotingCall, header: NoHeader, body: bytes) -> GetAllProducerInfo:
    """Translate a request for the connections of all producer groups."""
    return GetAllProducerInfo()


def _relayed(call: RemotingCall, result: ClientResponse) -> bytes:
    return call.response(result.remark, result.ext_fields, result.body, result.code)


@TABLE.processor(
    RequestCode.GET_CONSUMER_RUNNING_INFO,
    header=GetConsumerRunningInfoRequestHeader,
    rights=on_fields(Action.GET, fields="consumerGroup"),
    response=_relayed,
)
def get_consumer_running_info(
    call: RemotingCall, header: GetConsumerRunningInfoRequestHeader, body: bytes
) -> GetConsumerRunningInfo:
    """Translate a request for running info.

    The client's response is forwarded as is, with stack traces if requested.
    """
    return GetConsumerRunningInfo(header.consumer_group, header.client_id, header.ext_fields())


@TABLE.processor(
    RequestCode.CONSUME_MESSAGE_DIRECTLY,
    header=ConsumeMessageDirectlyResultRequestHeader,
    rights=on_fields(Action.SUB, fields=CONSUMER_GROUP_AND_TOPIC),
    response=_relayed,
)
def consume_message_directly(
    call: RemotingCall, header: ConsumeMessageDirectlyResultRequestHeader, body: bytes
) -> ConsumeMessageDirectly:
    """Translate a request to consume a message directly. Offsets and retry counts of the group do not change."""
    return ConsumeMessageDirectly(
        header.consumer_group, header.client_id, header.msg_id, header.topic, ext_fields=header.ext_fields()
    )


def _status(call: RemotingCall, result: ConsumerStatusResult) -> bytes:
    read = {client_id: client.queue_offsets(body) for client_id, body in result.responses.items()}
    tables = {client_id: table for client_id, table in read.items() if table is not None}
    return call.response(NOT_SET, None, dumps({"consumerTable": tables, "messageQueueTable": {}}))


@TABLE.processor(
    RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS,
    header=GetConsumerStatusRequestHeader,
    rights=on_fields(Action.GET, fields=TOPIC_AND_GROUP),
    response=_status,
)
def get_consumer_status(call: RemotingCall, header: GetConsumerStatusRequestHeader, body: bytes) -> GetConsumerStatus:
    """Translate a request for consumer offsets. The broker sends a request to each client, one after another."""
    return GetConsumerStatus(header.topic, header.group, header.client_addr)
