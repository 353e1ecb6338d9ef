"""Requests that real clients sent to a real 5.3.3, as recorded, become the expected operations."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from remoting_harness import Peer, Port, RecordingNode, recorded_requests
from rocketmq_testkit.conformance.clients.remoting_request import RemotingRequest
from rocketmq_testkit.conformance.clients.remoting_sends import send_request, send_v1_request
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.clients import Heartbeat, MessageQueue, SubscriptionData
from rocketmq_testkit.emulator.operations.consume import PopMessage, PullMessage
from rocketmq_testkit.emulator.operations.offsets import ResetOffset
from rocketmq_testkit.emulator.operations.send import SendMessage
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig
from rocketmq_testkit.remoting.client import batch_body
from rocketmq_testkit.remoting.processors import PROCESSORS
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.request.request_table import Role
from rocketmq_testkit.remoting.wire import frame

REQUESTS = recorded_requests()
SERVED = [each for each in REQUESTS if each["code"] in PROCESSORS]


def name(request: dict[str, Any]) -> str:
    """Return the id of the test of a recorded request: its code and its client."""
    return f"{RequestCode(request['code']).name}-{request['client'].replace(' ', '-')}"


def recorded(code: RequestCode, client: str) -> dict[str, Any]:
    """Return one recorded request."""
    return next(each for each in REQUESTS if each["code"] == code and each["client"] == client)


def as_frame(request: dict[str, Any]) -> bytes:
    """Return the request's frame as it was on the wire."""
    binary = "header_hex" in request
    header = bytes.fromhex(request["header_hex"]) if binary else request["header"].encode()
    body: bytes = request["body"].encode()
    if "batch" in request:
        size, messages = request["batch"]
        body = batch_body((text.encode(), properties) for text, properties in messages)
        assert abs(size - len(body)) <= len(messages)  # 4.9.8 omits the last separator of each message
    return frame.join(header, body, frame.ROCKETMQ if binary else frame.JSON)


def serve(request: dict[str, Any]) -> tuple[list[Operation], Peer, Port]:
    """Send a request to a port whose nodes record their operations; return these, the client and the port."""
    broker, name_server = RecordingNode(Role.BROKER), RecordingNode(Role.NAME_SERVER)
    port = Port(None, broker, name_server)
    peer = port.peer()
    assert peer.connection.received(as_frame(request))
    return broker.operations + name_server.operations, peer, port


@pytest.mark.parametrize("request_", SERVED, ids=name)
def test_each_request_becomes_one_operation(request_: dict[str, Any]) -> None:
    """Each recorded request becomes one operation of the type in the table, for every client and header form.

    Nothing is logged.
    """
    operations, _, port = serve(request_)
    kind = PROCESSORS[request_["code"]].operation
    assert [type(each) for each in operations] == [kind]
    assert [each for each in port.log if "Error" in each and "Done" not in each] == []


@pytest.mark.parametrize("request_", [each for each in SERVED if "header" in each], ids=name)
def test_each_declared_header_field_is_read_and_written_back_unchanged(request_: dict[str, Any]) -> None:
    sent = json.loads(request_["header"]).get("extFields") or {}
    kind = PROCESSORS[request_["code"]].header
    declared = {each.name: each for each in kind.FIELDS}
    written = kind.parse(sent).ext_fields()
    for key, value in sent.items():
        if key not in declared:
            continue
        if declared[key].kind == "bool" and value in ("0", "1"):
            assert written[key] == "false"  # C++ writes 0 and 1, which Java reads as false
        else:
            assert written[key] == str(value)


def operation_of(code: RequestCode, client: str) -> Any:
    """Return the operation of one recorded request."""
    (operation,) = serve(recorded(code, client))[0]
    return operation


def test_a_send_of_a_java_client_is_read_with_short_field_names() -> None:
    """A send of a Java client has field names of one letter. The born host of its message is the TCP peer."""
    sent = operation_of(RequestCode.SEND_MESSAGE_V2, "java 5.3.3")
    assert isinstance(sent, SendMessage)
    assert (sent.producer_group, sent.topic, sent.queue_id, sent.body) == ("PGB-j53-bc", "j53-bc", 0, b"bc0")
    assert (sent.default_topic, sent.default_topic_queue_nums, sent.batch) == ("TBW102", 4, False)
    assert sent.properties["KEYS"] == "bc"
    assert sent.properties["WAIT"] == "true"
    assert sent.born_host == ("10.0.0.7", 50001)
    assert sent.born_timestamp == 1795254407609


def test_a_send_of_a_java_client_is_read_with_a_binary_header() -> None:
    sent = operation_of(RequestCode.SEND_MESSAGE_V2, "java 5.3.3 binary")
    assert (sent.topic, sent.body, sent.sys_flag) == ("jbin-push", b"ry0", 0)


def test_a_send_of_a_cpp_client_is_read_with_long_field_names() -> None:
    """A send of a C++ client has long field names, JSON numbers as values, and `batch:"0"`."""
    sent = operation_of(RequestCode.SEND_MESSAGE, "cpp 0.4.4")
    assert (sent.topic, sent.queue_id, sent.batch, sent.unit_mode) == ("cpp-push", 0, False, False)
    assert sent.properties == {
        "KEYS": "k1",
        "TAGS": "TagA",
        "UNIQ_KEY": "0100007F0000C19F000038297F6E0100",
        "WAIT": "true",
        "p": "v",
    }


def test_a_cpp_pull_carries_its_subscription() -> None:
    """A pull of a C++ client has sysFlag 6 (suspend, subscription) and no expression type."""
    pull = operation_of(RequestCode.PULL_MESSAGE, "cpp 0.4.4")
    assert isinstance(pull, PullMessage)
    assert (pull.sys_flag, pull.subscription, pull.expression_type) == (6, "TagA", None)
    assert (pull.sub_version, pull.suspend_timeout_ms, pull.max_msg_nums) == (1795255027409, 15000, 32)


def test_a_lite_pull_is_read_as_a_pull_with_another_sys_flag() -> None:
    """A lite pull (code 361) is a pull with another sysFlag."""
    pull = operation_of(RequestCode.LITE_PULL_MESSAGE, "java 5.3.3")
    assert isinstance(pull, PullMessage)
    assert (pull.sys_flag, pull.subscription, pull.max_msg_nums) == (22, "LT", 10)


def test_a_pop_of_a_java_client_is_of_all_queues() -> None:
    """A pop of a Java client has queue id -1: all queues."""
    pop = operation_of(RequestCode.POP_MESSAGE, "java 5.3.3")
    assert isinstance(pop, PopMessage)
    assert (pop.queue_id, pop.max_msg_nums, pop.invisible_ms, pop.poll_ms) == (-1, 32, 10000, 15000)
    assert (pop.exp_type, pop.exp, pop.order) == ("TAG", "POP", False)


def test_a_heartbeat_of_a_cpp_client_is_read_without_empty_collections() -> None:
    """A heartbeat of a C++ client omits empty collections. Language and version are the header's."""
    beat = operation_of(RequestCode.HEART_BEAT, "cpp 0.4.4")
    assert isinstance(beat, Heartbeat)
    assert (beat.client_id, beat.producer_groups, beat.consumers) == ("8470-127.0.0.1@DEFAULT", ["PG-cpp"], [])
    assert (beat.language, beat.version, beat.fingerprint) == ("CPP", 63, 0)


def test_a_batch_body_reaches_the_engine_unchanged() -> None:
    """A field of the header, not the request code, marks a batch. The body reaches the engine unchanged."""
    sent = operation_of(RequestCode.SEND_BATCH_MESSAGE, "java 5.3.3")
    assert isinstance(sent, SendMessage)
    assert (sent.batch, len(sent.body)) == (True, 354)


def test_a_heartbeat_of_a_go_client_has_versions_in_nanoseconds() -> None:
    """The version of a Go client's subscription is a time in ns, not in ms, and its heartbeat has no fingerprint."""
    beat = operation_of(RequestCode.HEART_BEAT, "go 2.1.2")
    (consumer,) = beat.consumers
    assert (beat.client_id, beat.producer_groups) == ("192.0.2.2@b1", [])
    assert (consumer.group, consumer.message_model) == ("G-go-bc2", "BROADCASTING")
    assert consumer.subscriptions == [
        SubscriptionData("go-bc2", "*", "TAG", frozenset(), frozenset(), 1795255272647526800)
    ]


def test_a_send_back_of_a_cpp_client_sets_no_maximum_of_retries() -> None:
    """A send-back of a C++ client (version 63) cannot set the maximum number of retries; that of a Java client can."""
    assert operation_of(RequestCode.CONSUMER_SEND_MSG_BACK, "cpp 0.4.4").max_reconsume_times is None
    assert operation_of(RequestCode.CONSUMER_SEND_MSG_BACK, "java 5.3.3").max_reconsume_times == 1


@pytest.mark.parametrize(("version", "most"), [(120, None), (121, 3)])
@pytest.mark.parametrize("request_of", [send_request, send_v1_request])
def test_a_send_before_version_3_4_9_sets_no_maximum_of_retries(
    request_of: Callable[..., RemotingRequest], version: int, most: int | None
) -> None:
    """A send can set it from version 121 (3.4.9). Source: SendMessageProcessor.handleRetryAndDLQ (5.3.3)."""
    broker = RecordingNode(Role.BROKER)
    Port(None, broker, None).peer().ask(*request_of("%RETRY%G", b"x", born_ms=0, maxReconsumeTimes=3), version=version)
    (sent,) = broker.operations
    assert isinstance(sent, SendMessage)
    assert sent.max_reconsume_times == most


def test_a_lock_and_an_unlock_have_the_queues_of_the_json_body() -> None:
    lock = operation_of(RequestCode.LOCK_BATCH_MQ, "go 2.1.2")
    assert lock.queues == [MessageQueue("go-order3", "broker-a", 0)]
    assert (lock.consumer_group, lock.client_id) == ("G-go-order3", "192.0.2.2@o1")
    assert operation_of(RequestCode.UNLOCK_BATCH_MQ, "java 4.9.8").queues == [MessageQueue("j49-order", "broker-a", 1)]


def test_mqadmin_creates_a_topic_and_a_group() -> None:
    """Attributes of a topic that mqadmin creates keep their signs."""
    created = operation_of(RequestCode.UPDATE_AND_CREATE_TOPIC, "java 5.3.3")
    assert created == CreateTopic(
        TopicConfig("AdmFifo", 3, 3, 6, topic_filter_type="SINGLE_TAG", topic_sys_flag=0, order=False),
        {"+message.type": "FIFO"},
    )
    group = operation_of(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, "java 5.3.3").config
    assert (group.group_name, group.consume_broadcast_enable, group.consume_message_orderly) == (
        "AdmGroup",
        False,
        True,
    )
    assert group.retry_max_times == 5


def test_a_reset_of_mqadmin_without_a_queue_id_has_no_offset() -> None:
    assert operation_of(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, "java 5.3.3") == ResetOffset(
        "G-adm", "adm", 0, -1, offset=None, force=True
    )


def test_each_served_code_is_recorded_except_the_listed_ones() -> None:
    """No recorded client sends the listed codes."""
    met = {each["code"] for each in SERVED}
    assert {PROCESSORS[code].code.name for code in PROCESSORS if code not in met} == {
        "UPDATE_AND_CREATE_STATIC_TOPIC",
        "UPDATE_AND_CREATE_TOPIC_LIST",
        "CLONE_GROUP_OFFSET",
        "DELETE_EXPIRED_COMMITLOG",
        "GET_ALL_CONSUMER_OFFSET",
        "GET_ALL_DELAY_OFFSET",
        "GET_TIMER_CHECK_POINT",
        "GET_TIMER_METRICS",
        "INVOKE_BROKER_TO_GET_CONSUMER_STATUS",
        "QUERY_CORRECTION_OFFSET",
        "RESUME_CHECK_HALF_MESSAGE",
        "UPDATE_AND_GET_GROUP_FORBIDDEN",
        "GET_SUBSCRIPTIONGROUP_CONFIG",
        "QUERY_TOPICS_BY_CONSUMER",
        "UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST",
        "QUERY_CONSUME_TIME_SPAN",
        "QUERY_SUBSCRIPTION_BY_CONSUMER",
        "PEEK_MESSAGE",
        "NOTIFICATION",
        "POLLING_INFO",
        "BATCH_ACK_MESSAGE",
        "POP_ROLLBACK",
        "GET_KVLIST_BY_NAMESPACE",
        "GET_TOPICS_BY_CLUSTER",
        "GET_SYSTEM_TOPIC_LIST_FROM_NS",
        "GET_UNIT_TOPIC_LIST",
        "GET_HAS_UNIT_SUB_TOPIC_LIST",
        "GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST",
        "UPDATE_NAMESRV_CONFIG",
        "AUTH_CREATE_ACL",
        "AUTH_CREATE_USER",
        "AUTH_DELETE_ACL",
        "AUTH_DELETE_USER",
        "AUTH_GET_ACL",
        "AUTH_GET_USER",
        "AUTH_LIST_ACL",
        "AUTH_UPDATE_ACL",
        "AUTH_UPDATE_USER",
        "CHECK_ROCKSDB_CQ_WRITE_PROGRESS",
        "EXPORT_ROCKSDB_CONFIG_TO_JSON",
        "GET_ALL_MESSAGE_REQUEST_MODE",
        "GET_BROKER_EPOCH_CACHE",
        "GET_COLD_DATA_FLOW_CTR_INFO",
        "REMOVE_COLD_DATA_FLOW_CTR_CONFIG",
        "RESET_MASTER_FLUSH_OFFSET",
        "SET_COMMITLOG_READ_MODE",
        "UPDATE_COLD_DATA_FLOW_CTR_CONFIG",
    }
