"""JSON bodies of requests and responses: read as by upstream's fastjson, written with upstream's members."""

from typing import Any

import pytest
from remoting_harness import Peer, Port, RecordingNode
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Operation, Result
from rocketmq_testkit.emulator.operations.clients import (
    ClientConnection,
    ConsumerConnectionResult,
    GetConsumerConnectionList,
    MessageQueue,
    SubscriptionData,
)
from rocketmq_testkit.emulator.operations.cluster import (
    BrokerMember,
    ClusterInfoResult,
    GetBrokerClusterInfo,
    GetNamesrvTopicList,
    GetRouteInfo,
    QueueRoute,
    RouteResult,
    TopicListResult,
)
from rocketmq_testkit.emulator.operations.consume import BatchAck, BatchAckMessage
from rocketmq_testkit.emulator.operations.groups import (
    AssignmentResult,
    ConsumeStatsResult,
    GetConsumeStats,
    GroupConfig,
    MessageRequestMode,
    OffsetWrapper,
    QueryAssignment,
    RetryPolicy,
)
from rocketmq_testkit.emulator.operations.offsets import ResetOffset
from rocketmq_testkit.emulator.operations.send import SendMessage, WholeBatchSendResult
from rocketmq_testkit.emulator.operations.topics import TopicConfig
from rocketmq_testkit.remoting.bodies import client, group, topic
from rocketmq_testkit.remoting.bodies.client import HeartbeatBody
from rocketmq_testkit.remoting.bodies.group import GroupConfigBody
from rocketmq_testkit.remoting.bodies.properties_text import read_properties
from rocketmq_testkit.remoting.bodies.topic import TopicConfigBody
from rocketmq_testkit.remoting.bodies.users import AclBody
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.request.request_table import Role
from rocketmq_testkit.remoting.wire.command import RemotingCommand

FULL_HEARTBEAT: dict[str, Any] = {
    "clientID": "c@1",
    "producerDataSet": [{"groupName": "PG"}],
    "consumerDataSet": [
        {
            "groupName": "G",
            "consumeType": 2,
            "messageModel": 0,
            "consumeFromWhere": 4,
            "unitMode": "true",
            "unknown": {"a": 1},
            "subscriptionDataSet": [
                {
                    "topic": "T",
                    "subString": "A || B",
                    "subVersion": "1795255027409",
                    "codeSet": ["65", 66],
                    "tagsSet": ["A", "B"],
                    "expressionType": None,
                    "classFilterMode": False,
                }
            ],
        },
        {"groupName": "G2", "consumeType": "CONSUME_ACTIVELY", "messageModel": "NOT_A_MODEL", "consumeFromWhere": ""},
    ],
    "heartbeatFingerprint": 12345,
    "withoutSub": True,
}


def test_a_heartbeat_accepts_ordinals_number_strings_and_unknown_members() -> None:
    """A heartbeat may have enums by ordinal or name, numbers as strings, unknown members and unknown enum names."""
    beat = client.heartbeat(HeartbeatBody.read(FULL_HEARTBEAT), "CPP", 63)
    assert (beat.client_id, beat.producer_groups) == ("c@1", ["PG"])
    assert (beat.fingerprint, beat.without_sub) == (12345, True)
    assert (beat.language, beat.version) == ("CPP", 63)
    first, second = beat.consumers
    assert (first.consume_type, first.message_model) == ("CONSUME_POP", "BROADCASTING")
    assert (first.consume_from_where, first.unit_mode) == ("CONSUME_FROM_FIRST_OFFSET", True)
    assert first.subscriptions == [
        SubscriptionData("T", "A || B", "TAG", frozenset({"A", "B"}), frozenset({65, 66}), 1795255027409)
    ]
    assert (second.consume_type, second.message_model) == ("CONSUME_ACTIVELY", "CLUSTERING")
    assert second.consume_from_where == "CONSUME_FROM_LAST_OFFSET"


@pytest.mark.parametrize("members", [{}, {"consumerDataSet": None}, {"clientID": 5, "producerDataSet": []}])
def test_a_heartbeat_requires_no_members(members: dict[str, Any]) -> None:
    beat = client.heartbeat(HeartbeatBody.read(members), "JAVA", 0)
    assert (beat.consumers, beat.producer_groups) == ([], [])


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b'""', b'{"clientID":"\xff"}'])
def test_a_missing_or_null_body_is_rejected_with_a_null_pointer_exception(body: bytes) -> None:
    """The remark is upstream's exception text. fastjson reads a body that is not UTF-8 as null."""
    with pytest.raises(EngineError) as refused:
        HeartbeatBody.parse(body)
    assert refused.value.remark == (
        'java.lang.NullPointerException: Cannot invoke "org.apache.rocketmq.remoting.protocol.heartbeat.HeartbeatData.'
        'getClientID()" because "heartbeatData" is null'
    )


@pytest.mark.parametrize("body", [b"garbage", b"[1]", b'"text"', b"{", b"[" * 100_000])
def test_a_body_that_is_not_an_object_is_rejected_as_a_json_syntax_error(body: bytes) -> None:
    """A body that is not an object is rejected with code 1 and fastjson's exception."""
    with pytest.raises(EngineError, match="JSONException: syntax error"):
        HeartbeatBody.parse(body)


def test_a_body_with_control_characters_and_a_trailing_newline_is_read() -> None:
    assert HeartbeatBody.parse(b'{"clientID":"x\x01y"}\n').client_id == "x\x01y"


def test_a_group_configuration_is_written_and_read_back_equal() -> None:
    """A written group configuration is read back equal, including its retry policy."""
    for policy in (
        RetryPolicy(),
        RetryPolicy(next_ms=[1000, 5000]),
        RetryPolicy("EXPONENTIAL", None, 100, 9000, multiplier=3),
    ):
        config = GroupConfig("G", consume_enable=False, retry_max_times=3, retry_policy=policy, attributes={"a": "b"})
        assert group.config(GroupConfigBody.read(group.config_members(config))) == config


def test_a_group_configuration_with_only_a_name_has_upstreams_defaults() -> None:
    """A group configuration requires only a name and has upstream's defaults."""
    assert group.config(GroupConfigBody(group_name="G")) == GroupConfig("G")
    with pytest.raises(EngineError, match="NullPointerException"):
        group.config(GroupConfigBody())


def test_a_topic_configuration_is_written_and_read_back_equal() -> None:
    """A written topic configuration is read back equal. In a request, attributes are changes, each with a sign."""
    config = TopicConfig("T", 3, 4, 6, topic_filter_type="MULTI_TAG", topic_sys_flag=1, order=True)
    members = {**topic.config_members(config), "attributes": {"+message.type": "FIFO", "-x": None}}
    body = TopicConfigBody.read(members)
    assert (body.config(), body.attributes) == (config, {"+message.type": "FIFO"})


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("+message.type=FIFO", {"+message.type": "FIFO"}),
        ("+a=1,-b,+c=d=e", {"+a": "1", "-b": "", "+c": "d"}),
        (",+a=1,,-b,", {"+a": "1", "-b": ""}),
        ("", {}),
    ],
)
def test_attribute_changes_are_signed_keys_separated_by_commas(text: str, changes: dict[str, str]) -> None:
    """Attribute changes are `+key=value` and `-key`, separated by commas."""
    assert topic.attribute_changes(text) == changes


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("message.type=FIFO", "add/alter attribute format is wrong: message.type"),
        ("message.type", "delete attribute format is wrong: message.type"),
        ("+a=1,+a=2", "key duplication: +a"),
        ("+a=", "Index 1 out of bounds for length 1"),
        ("=", "Index 0 out of bounds for length 0"),
    ],
)
def test_invalid_attribute_changes_are_rejected_with_upstreams_texts(text: str, remark: str) -> None:
    with pytest.raises(EngineError) as refused:
        topic.attribute_changes(text)
    assert refused.value.remark == remark


def test_a_properties_line_without_separator_is_a_key_with_an_empty_value() -> None:
    """In properties text, a line without a separator is a key with an empty value. Comments are skipped."""
    assert read_properties(b"# c\na=1\n\n b = x=y \r\n! d\ngarbage") == {"a": "1", "b": "x=y ", "garbage": ""}


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        (b"a:1\nb : 2\nc 3\nd\t\f4\ne = = 5\nf  :=6", {"a": "1", "b": "2", "c": "3", "d": "4", "e": "= 5", "f": "=6"}),
        (b"a\\=b=1\na\\:\\ b\\\\=2", {"a=b": "1", "a: b\\": "2"}),
        (b"a=\\u00e9\\n\\t\\q\\ud83d\\ude00\\ud800", {"a": "\u00e9\n\tq\U0001f600?"}),
        ("a=\u00e9\x0b\x85\u2028b".encode(), {"a": "\u00c3\u00a9\x0b\u00c2\x85\u00e2\x80\xa8b"}),
        (b"a=1\\\r\n  2\\\n#3\\\\\nb=4", {"a": "12#3\\", "b": "4"}),
        (b"a=1\\\n\nb=2\\", {"a": "1", "b": "2"}),
        (b"# c\\\na=1\n\\\n! c\nb=2", {"a": "1", "b": "2"}),
        (b"a=1\rb=2\ra=3", {"a": "3", "b": "2"}),
        (b"=1", {"": "1"}),
    ],
    ids=["separators", "escaped key", "escapes", "bytes", "continued", "end of text", "comments", "lines", "no key"],
)
def test_properties_are_read_as_in_java(text: bytes, properties: dict[str, str]) -> None:
    """Separators, escapes, continued lines and bytes outside ASCII. Source: java.util.Properties.load."""
    assert read_properties(text) == properties


def test_a_malformed_escape_in_properties_is_rejected() -> None:
    """Source: AdminBrokerProcessor.updateBrokerConfig (5.3.3)."""
    with pytest.raises(EngineError, match="string2Properties error"):
        read_properties(b"a=1\nb=\\u00g0")


def response_for(
    kind: type[Operation], result: Result, code: RequestCode, ext: dict[str, str], **more: Any
) -> RemotingCommand:
    """Return the response to a request whose operation, of class `kind`, has the outcome `result`."""
    role = Role.NAME_SERVER if kind in RecordingNode(Role.NAME_SERVER).handlers else Role.BROKER
    node = RecordingNode(role, {kind: lambda operation: result})
    port = Port(None, node, None) if role is Role.BROKER else Port(None, None, node)
    peer: Peer = port.peer()
    return peer.ask(code, ext, more.pop("body", b""), **more)


ROUTE = RouteResult(
    [BrokerMember("DefaultCluster", "broker-a", [0, 1])], [QueueRoute("broker-a", 4, 8, 6, topic_sys_flag=0)]
)


@pytest.mark.parametrize(
    ("version", "ext", "ids"),
    [
        (0, {}, b'{0:"127.0.0.1:10911",1:"127.0.0.1:10912"}'),
        (317, {}, b'{0:"127.0.0.1:10911",1:"127.0.0.1:10912"}'),
        (400, {}, b'{0:"127.0.0.1:10911",1:"127.0.0.1:10912"}'),
        (401, {}, b'{"0":"127.0.0.1:10911","1":"127.0.0.1:10912"}'),
        (479, {}, b'{"0":"127.0.0.1:10911","1":"127.0.0.1:10912"}'),
        (317, {"acceptStandardJsonOnly": "true"}, b'{"0":"127.0.0.1:10911","1":"127.0.0.1:10912"}'),
    ],
)
def test_a_route_quotes_broker_ids_only_for_new_clients_or_on_request(
    version: int, ext: dict[str, str], ids: bytes
) -> None:
    """Old clients get a route with unquoted broker ids. New clients, and those that request it, get valid JSON.

    Neither form has white space.
    """
    response = response_for(
        GetRouteInfo, ROUTE, RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T", **ext}, version=version
    )
    assert response.ext_fields is None
    assert response.body == (
        b'{"brokerDatas":[{"brokerAddrs":' + ids + b',"brokerName":"broker-a","cluster":"DefaultCluster",'
        b'"enableActingMaster":false}],"filterServerTable":{},"queueDatas":[{"brokerName":"broker-a","perm":6,'
        b'"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":8}]}'
    )


def test_an_order_configuration_is_written_as_order_topic_conf_of_the_route() -> None:
    """The member orderTopicConf is written at its place between the other members of a route."""
    result = RouteResult([], [], "broker-a:4")
    response = response_for(GetRouteInfo, result, RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
    assert response.body == b'{"brokerDatas":[],"filterServerTable":{},"orderTopicConf":"broker-a:4","queueDatas":[]}'


def test_consume_stats_have_queue_objects_as_keys() -> None:
    """In fastjson's dialect a queue is an object where JSON requires a string key."""
    result = ConsumeStatsResult({MessageQueue("T", "b", 0): OffsetWrapper(9, 3, 4, 5)})
    response = response_for(GetConsumeStats, result, RequestCode.GET_CONSUME_STATS, {"consumerGroup": "G"})
    assert response.body == (
        b'{"consumeTps":0.0,"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:'
        b'{"brokerOffset":9,"consumerOffset":3,"lastTimestamp":5,"pullOffset":4}}}'
    )


def test_cluster_information_has_unquoted_broker_ids() -> None:
    """Cluster information has unquoted broker ids for every client version."""
    result = ClusterInfoResult(
        {"broker-a": BrokerMember("DefaultCluster", "broker-a", [0])}, {"DefaultCluster": ["broker-a"]}
    )
    response = response_for(GetBrokerClusterInfo, result, RequestCode.GET_BROKER_CLUSTER_INFO, {})
    assert response.body == (
        b'{"brokerAddrTable":{"broker-a":{"brokerAddrs":{0:"127.0.0.1:10911"},"brokerName":"broker-a",'
        b'"cluster":"DefaultCluster","enableActingMaster":false}},"clusterAddrTable":{"DefaultCluster":["broker-a"]}}'
    )


def test_a_consumer_connection_list_has_the_subscriptions_of_the_heartbeat() -> None:
    beat = client.heartbeat(HeartbeatBody.read(FULL_HEARTBEAT), "CPP", 63)
    connection = ClientConnection("c@1", ("10.0.0.7", 5), "CPP", 63, last_update_ms=0)
    result = ConsumerConnectionResult(
        [connection],
        {"T": beat.consumers[0].subscriptions[0]},
        "CONSUME_POP",
        "BROADCASTING",
        consume_from_where="CONSUME_FROM_FIRST_OFFSET",
    )
    response = response_for(
        GetConsumerConnectionList, result, RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": "G"}
    )
    assert response.body == (
        b'{"connectionSet":[{"clientAddr":"10.0.0.7:5","clientId":"c@1","language":"CPP","version":63}],'
        b'"consumeFromWhere":"CONSUME_FROM_FIRST_OFFSET","consumeType":"CONSUME_POP","messageModel":"BROADCASTING",'
        b'"subscriptionTable":{"T":{"classFilterMode":false,"codeSet":[65,66],"expressionType":"TAG",'
        b'"subString":"A || B","subVersion":1795255027409,"tagsSet":["A","B"],"topic":"T"}}}'
    )


def test_an_absent_assignment_and_an_empty_one_are_encoded_differently() -> None:
    """An assignment of `{}` leaves the client's queues unchanged; an empty list removes them."""
    body = b'{"topic":"T","consumerGroup":"G","clientId":"c","strategyName":"AVG","messageModel":"CLUSTERING"}'
    for assignments, text in (
        (None, b"{}"),
        ([], b'{"messageQueueAssignments":[]}'),
        (
            [MessageRequestMode(MessageQueue("T", "b", -1), "POP")],
            b'{"messageQueueAssignments":[{"messageQueue":{"brokerName":"b","queueId":-1,"topic":"T"},"mode":"POP"}]}',
        ),
    ):
        result = AssignmentResult(assignments)
        response = response_for(QueryAssignment, result, RequestCode.QUERY_ASSIGNMENT, {}, body=body)
        assert response.body == text


def test_a_batch_acknowledgement_is_read_with_short_and_long_member_names() -> None:
    """The bit set {0,1,9} in base64 is read, with short member names and with long ones."""
    node = RecordingNode(Role.BROKER)
    peer = Port(None, node).peer()
    peer.ask(
        RequestCode.BATCH_ACK_MESSAGE,
        {},
        b'{"acks":[{"b":"AwI=","c":"g","it":60000,"pt":1700000000000,"q":0,"r":"0","rq":3,"so":100,"t":"T"},'
        b'{"bitSet":"","consumerGroup":"g","topic":"T","retry":"1","startOffset":5,"queueId":2,"reviveQueueId":1,'
        b'"popTime":6,"invisibleTime":7}],"brokerName":"broker-a"}',
    )
    assert node.operations == [
        BatchAckMessage(
            [
                BatchAck("g", "T", "0", 100, 0, 3, 1_700_000_000_000, 60000, b"\x03\x02"),
                BatchAck("g", "T", "1", 5, 2, 1, 6, 7, b""),
            ],
            "broker-a",
        )
    ]


def test_an_offset_reset_without_a_queue_id_ignores_the_offset() -> None:
    """Without a queue id, a reset ignores the offset and uses the timestamp."""
    node = RecordingNode(Role.BROKER)
    peer = Port(None, node).peer()
    base = {"group": "G", "topic": "T", "timestamp": "-1", "isForce": "true", "offset": "7"}
    for queue_id, offset in (("-1", None), ("2", 7)):
        peer.exchange(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, {**base, "queueId": queue_id})
        assert node.operations.pop() == ResetOffset("G", "T", -1, int(queue_id), offset=offset, force=True)


def test_an_acl_without_policies_is_rejected() -> None:
    """An ACL without a policy is rejected; in other ACLs, policies without entries are ignored."""
    entry = {"resource": "Topic:T", "actions": ["Pub"], "sourceIps": [], "decision": "Allow"}
    policies = [{"policyType": "Custom", "entries": [entry]}, {"policyType": "Default", "entries": []}]
    found = AclBody.read({"subject": "User:alice", "policies": policies}).infos()
    assert [(policy.policy_type, len(policy.entries)) for policy in found] == [("Custom", 1)]
    with pytest.raises(EngineError, match="The body of acl is null"):
        AclBody.read({"subject": "User:alice", "policies": []}).infos()


def test_a_queue_lock_without_a_group_has_an_empty_group() -> None:
    node = RecordingNode(Role.BROKER)
    peer = Port(None, node).peer()
    for code in (RequestCode.LOCK_BATCH_MQ, RequestCode.UNLOCK_BATCH_MQ):
        peer.exchange(code, {}, b'{"clientId":"c","mqSet":[]}')
    assert [getattr(operation, "consumer_group", None) for operation in node.operations] == ["", ""]


def test_the_address_of_a_broker_name_is_that_of_its_master() -> None:
    result = TopicListResult(["T"], BrokerMember("DefaultCluster", "broker-a", [1, 0]))
    response = response_for(GetNamesrvTopicList, result, RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS, {})
    assert b'"brokerAddr":"127.0.0.1:10911"' in response.body


@pytest.mark.parametrize(
    ("code", "handle"), [(RequestCode.SEND_MESSAGE_V2, "the-handle"), (RequestCode.SEND_BATCH_MESSAGE, None)]
)
def test_a_batch_stored_as_a_whole_returns_the_batch_id(code: RequestCode, handle: str | None) -> None:
    """A batch that is stored as a whole returns the batch id.

    It also returns the recall handle, except with the request code of batches.
    """
    result = WholeBatchSendResult(ResponseCode.SUCCESS, "the-id", 1, 2, "the-batch", 3, "the-handle")
    ext = {"a": "PG", "b": "T", "e": "0", "f": "0", "g": "0", "h": "0", "i": ""}
    response = response_for(SendMessage, result, code, ext, body=b"m")
    assert response.code == 0, response
    fields = response.ext_fields or {}
    assert (fields.get("batchUniqId"), fields.get("recallHandle")) == ("the-batch", handle)


def test_a_topic_body_with_only_a_name_has_upstreams_defaults() -> None:
    """A topic without values has 16 read and 16 write queues, readable and writable (TopicConfig, 5.3.3)."""
    assert TopicConfigBody.read({"topicName": "T"}).config() == TopicConfig("T", 16, 16, 6)
