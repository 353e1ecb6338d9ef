"""Messages that a broker does not store: the fault `refuse_append` with four of its reasons."""

from collections.abc import Mapping
from dataclasses import replace

from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ...case import grpc_case, remoting_case
from ...clients.remoting_response import DecodedResponse
from ...clients.remoting_sends import short_names
from ...context.case_context import CaseContext
from ...context.grpc import GrpcContext
from ...context.remoting import RemotingContext, connection_state
from ...helpers.disk import CAN_BE_FULL, HALF_FULL, without_disk_usage
from ...helpers.real_faults import REFUSE_APPEND, SMALL_LOG, blocked_log, full_disk, refusing_appends
from ...helpers.sends import send_back
from ...helpers.transactions import transacting

_WITHOUT_REPLICAS: Mapping[str, str] = {
    "brokerRole": "SYNC_MASTER",
    "inSyncReplicas": "2",
    "enableSlaveActingMaster": "true",
}
_BUSY: Mapping[str, str] = {"osPageCacheBusyTimeOutMills": "-1", "sendMessageThreadPoolNums": "8"}
"""Settings with which the page cache counts as busy while a message is written to the log."""
_LONG, _SENDS, _ROUNDS_MAX = bytes(300_000), 40, 40
_AT_ONCE = {"WAIT": "false"}
"""Properties of a send that waits neither for a flush nor for a slave: upstream's isWaitStoreMsgOK is false."""


def _without_usage(response: DecodedResponse) -> DecodedResponse:
    return replace(response, remark=without_disk_usage(response.remark))


def _note_as_usual(t: RemotingContext, topic: str) -> None:
    """Note that the topic has one message, the connection is open, and a send is stored."""
    t.note("stored", t.max_offset(topic))
    t.note("connection", connection_state(t.broker))
    t.note("sent then", t.until(lambda: t.send(topic, "then").code == 0))
    t.note("stored then", t.stored(topic, 2).bodies)


@remoting_case("HookUtils.checkBeforePutMessage", needs=CAN_BE_FULL, real=HALF_FULL, tidy=True, fault=REFUSE_APPEND)
def a_full_disk_refuses_messages_and_serves_everything_else(t: RemotingContext) -> None:
    """A send to a full disk returns SERVICE_NOT_AVAILABLE and stores nothing. Pulls and offsets are served."""
    producers, group = transacting(t), t.group()
    topic = producers.topic
    [sent] = t.sent(topic, 1)
    with refusing_appends(t, "disk_full", full_disk(t)):
        t.note("sent", _without_usage(t.send(topic)), 14)
        t.note("waits for nobody", _without_usage(t.send(topic, properties=_AT_ONCE)), 14)
        t.note("half message", _without_usage(producers.half()), 14)
        t.note("sent back", send_back(t, group, sent.place, 1), 1)
        t.note("pulled", t.pull(topic, group).bodies)
        t.note("committed", t.commit(topic, group, 1), 0)
    _note_as_usual(t, topic)


@grpc_case(
    "SendMessageActivity.convertToSendMessageResponse",
    needs=CAN_BE_FULL,
    real=HALF_FULL,
    tidy=True,
    fault=REFUSE_APPEND,
)
def a_full_disk_refuses_messages_through_the_proxy(t: GrpcContext) -> None:
    """A send through the proxy to a full disk returns INTERNAL_SERVER_ERROR and stores nothing."""
    topic = t.topic(queues=1)
    with refusing_appends(t, "disk_full", full_disk(t)):
        refused = t.send(t.message(topic)).status
        t.note("sent", [refused.code, without_disk_usage(refused.message)])
    _note_next(t, topic)


@remoting_case("SendMessageProcessor.rejectRequest", real=_BUSY, alone=True, fault=REFUSE_APPEND)
def a_busy_page_cache_rejects_sends_on_arrival(t: RemotingContext) -> None:
    """A send that arrives while the page cache is busy returns SYSTEM_BUSY and is not stored. Pulls are served."""
    topic = t.topic(queues=1)
    stored, rejected = 0, None
    with refusing_appends(t, "page_cache_busy"):
        for _ in range(_ROUNDS_MAX):
            responses = _send_at_once(t, topic)
            stored += sum(each.code == 0 for each in responses)
            rejected = next((each for each in responses if "[REJECTREQUEST]" in (each.remark or "")), rejected)
            if rejected is not None:
                break
        t.note("rejected", rejected, 2)
        t.note("pulled", t.pull(topic, t.group(), offset=stored + 100).code)
    t.until(lambda: t.max_offset(topic) >= stored)
    t.note("only the accepted ones are stored", t.max_offset(topic) == stored)
    t.note("connection", connection_state(t.broker))


@grpc_case("HookUtils.checkBeforePutMessage", real=_BUSY, alone=True, fault=REFUSE_APPEND)
def a_busy_page_cache_rejects_sends_through_the_proxy_in_the_store(t: GrpcContext) -> None:
    """A send through the proxy reaches the store, which rejects it while the page cache is busy."""
    topic, busy = t.topic(queues=1), t.topic(queues=1)
    with refusing_appends(t, "page_cache_busy"):
        refused = None
        for _ in range(_ROUNDS_MAX):
            under_way = [t.start(*_long(t, busy), to=t.broker) for _ in range(_SENDS)]
            calls = [t.start_call("SendMessage", sv.SendMessageRequest(messages=[t.message(topic)])) for _ in range(8)]
            responses = [call() for call in calls]
            refused = next((each for each in responses if each.status.code != pb.OK), refused)
            for each in under_way:
                t.arrival(each)
            if refused is not None:
                break
        t.note("sent", refused, pb.INTERNAL_SERVER_ERROR)
    t.note("connection", t.route(topic).status, pb.OK)


def _long(t: CaseContext, topic: str) -> tuple[RequestCode, dict[str, object], bytes]:
    return RequestCode.SEND_MESSAGE_V2, short_names(t.send_fields(topic)), _LONG


def _send_at_once(t: RemotingContext, topic: str) -> list[DecodedResponse]:
    connections = [t.connect() for _ in range(4)]
    under_way = [t.start(*_long(t, topic), to=connections[number % 4]) for number in range(_SENDS)]
    responses = [t.arrival(each) for each in under_way]
    for each in connections:
        t.disconnect(each)
    return responses


@remoting_case("CommitLog.asyncPutMessage", real=_WITHOUT_REPLICAS, fault=REFUSE_APPEND)
def too_few_replicas_refuse_messages_that_wait_for_them(t: RemotingContext) -> None:
    """With an acting master a send without enough replicas returns SYSTEM_ERROR and is not stored.

    A message with WAIT=false is stored.
    """
    topic = t.topic(queues=1)
    with refusing_appends(t, "replicas_not_enough"):
        t.note("sent", t.send(topic, "refused"), 1)
        t.note("half message", transacting(t).half(), 1)
        t.note("delayed", t.send(topic, "delayed", properties={"DELAY": "1"}), 1)
        t.note("waits for nobody", t.send(topic, "does not", properties=_AT_ONCE), 0)
        t.note("stored", t.stored(topic).bodies)
        t.note("connection", connection_state(t.broker))


@grpc_case("CommitLog.asyncPutMessage", real=_WITHOUT_REPLICAS, fault=REFUSE_APPEND)
def too_few_replicas_refuse_messages_through_the_proxy(t: GrpcContext) -> None:
    """With an acting master a send through the proxy without enough replicas fails and is not stored."""
    topic = t.topic(queues=1)
    with refusing_appends(t, "replicas_not_enough"):
        t.note("sent", t.send(t.message(topic)), pb.INTERNAL_SERVER_ERROR)
        t.note("stored", t.max_offset(topic))


@remoting_case("CommitLog.asyncPutMessage", real=SMALL_LOG, alone=True, fault=REFUSE_APPEND)
def a_log_without_a_new_file_refuses_messages(t: RemotingContext) -> None:
    """A send returns SYSTEM_ERROR and is not stored while the log has no space and its next file cannot be created."""
    topic = t.topic(queues=1)
    with refusing_appends(t, "file_not_created", blocked_log(t)):
        t.note("sent", t.send(topic, _LONG[:200_000]), 1)
        t.note("waits for nobody", t.send(topic, _LONG[:200_000], properties=_AT_ONCE), 1)
        t.note("pulled", t.pull(topic, t.group()).code)
        t.note("stored", t.max_offset(topic))
        t.note("connection", connection_state(t.broker))
    t.note("sent then", t.until(lambda: t.send(topic, "then").code == 0))


@grpc_case("CommitLog.asyncPutMessage", real=SMALL_LOG, alone=True, fault=REFUSE_APPEND)
def a_log_without_a_new_file_refuses_messages_through_the_proxy(t: GrpcContext) -> None:
    """A send through the proxy fails and is not stored while the log has no space and no next file."""
    topic = t.topic(queues=1)
    with refusing_appends(t, "file_not_created", blocked_log(t)):
        t.note("sent", t.send(t.message(topic, _LONG[:200_000])), pb.INTERNAL_SERVER_ERROR)
        t.note("stored", t.max_offset(topic))


def _note_next(t: GrpcContext, topic: str) -> None:
    t.note("stored", t.max_offset(topic))
    t.note("sent then", t.send(t.message(topic)).status, pb.OK)
