"""One connection and its port: responses, oneway requests, error responses, server requests, malformed bytes."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from remoting_harness import Peer, Port, RecordingNode, create, send
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.gate.effects import CheckTransactionState, NotifyConsumerIdsChanged, PushReplyMessage
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import NO_RESPONSE, Operation, Result
from rocketmq_testkit.emulator.operations.clients import ChannelClosed, GetConsumerListByGroup
from rocketmq_testkit.emulator.operations.cluster import GetRouteInfo
from rocketmq_testkit.emulator.operations.offsets import GetMaxOffset, OffsetResult
from rocketmq_testkit.emulator.operations.send import EndTransaction
from rocketmq_testkit.remoting.processors import NAME_SERVER_CODES, PROCESSORS, RIGHTS
from rocketmq_testkit.remoting.processors.unserved import UNSERVED, UnservedReason, by_code, codes_with
from rocketmq_testkit.remoting.request.broker_requests import CODE_OF_EFFECT
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.request.request_table import NoHeader, RequestTable, Role, join
from rocketmq_testkit.remoting.request.required_rights import no_rights
from rocketmq_testkit.remoting.wire import frame
from rocketmq_testkit.remoting.wire.command import ONEWAY, RESPONSE, RemotingCommand
from stored_bytes import stored_records

DELETING = {RequestCode.DELETE_TOPIC_IN_BROKER}
"""Request codes that delete stored messages if the request is valid."""
MAX_OFFSET = {"topic": "T", "queueId": "0"}


def recording(response: Any = None) -> tuple[Port, RecordingNode]:
    """Return a port with a broker that records its operations, and this broker.

    Each operation has the outcome `response`: a result, an exception to raise, or None for OffsetResult(5).
    """

    def respond(operation: Operation) -> Result:
        if isinstance(response, Exception):
            raise response
        return OffsetResult(5) if response is None else response

    broker = RecordingNode(Role.BROKER, dict.fromkeys(RecordingNode(Role.BROKER).handlers, respond))
    engine = Engine(now_ms=1_700_000_000_000, report_bug=lambda bug: None)
    return Port(engine, broker), broker


def test_a_response_has_the_opaque_of_its_request() -> None:
    """Each pipelined request gets a response with its own opaque, even a negative one."""
    port, _ = recording()
    peer = port.peer()
    assert peer.send(
        *(RemotingCommand(RequestCode.GET_MAX_OFFSET, opaque=opaque, ext_fields=MAX_OFFSET) for opaque in (7, -7, 0))
    )
    assert [(each.opaque, each.flag, each.ext_fields) for each in peer.received()] == [
        (7, RESPONSE, {"offset": "5"}),
        (-7, RESPONSE, {"offset": "5"}),
        (0, RESPONSE, {"offset": "5"}),
    ]


def test_responses_to_one_piece_of_bytes_leave_in_one_write() -> None:
    """Responses to requests in one piece of bytes leave in one write, regardless of their number."""
    port, _ = recording()
    peer = port.peer()
    peer.send(*[RemotingCommand(RequestCode.GET_MAX_OFFSET, opaque=n, ext_fields=MAX_OFFSET) for n in range(50)])
    assert len(peer.written) == 1
    assert len(peer.received()) == 50


def test_oneway_requests_are_executed_and_get_no_response() -> None:
    """Oneway requests are executed and get no response, even if they are rejected or unknown."""
    port, broker = recording()
    peer = port.peer()
    for code, ext in ((RequestCode.GET_MAX_OFFSET, MAX_OFFSET), (RequestCode.GET_MAX_OFFSET, {}), (9999, {})):
        assert peer.exchange(code, ext, flag=ONEWAY) == []
    assert broker.operations == [GetMaxOffset("T", 0)]


def test_binary_requests_get_json_responses() -> None:
    """Requests with binary headers get JSON responses, as on 5.3.3."""
    port, _ = recording()
    response = port.peer().ask(RequestCode.GET_MAX_OFFSET, MAX_OFFSET, serialize_type=frame.ROCKETMQ)
    assert (response.code, response.serialize_type, response.ext_fields) == (0, frame.JSON, {"offset": "5"})


def test_an_end_transaction_with_an_unknown_state_gets_no_response() -> None:
    port, broker = recording(NO_RESPONSE)
    ext = {"tranStateTableOffset": "0", "commitLogOffset": "0", "commitOrRollback": "0"}
    assert port.peer().exchange(RequestCode.END_TRANSACTION, ext) == []
    assert [type(each) for each in broker.operations] == [EndTransaction]


def test_an_error_response_has_the_code_and_remark_of_the_engines_error() -> None:
    port, _ = recording(EngineError(ResponseCode.SYSTEM_BUSY, 'too "much"\n'))
    response = port.peer().ask(RequestCode.GET_TOPIC_CONFIG, {"topic": "T"})
    assert (response.code, response.remark, response.ext_fields) == (2, 'too "much"\n', None)


@pytest.mark.provokes_bugs
def test_an_unexpected_exception_while_encoding_returns_code_1_and_is_logged() -> None:
    """An exception while a response is encoded returns code 1 and is logged. The connection stays open."""
    port, _ = recording(GetMaxOffset("T", 0))  # not a result
    peer = port.peer()
    response = peer.ask(RequestCode.GET_MAX_OFFSET, MAX_OFFSET)
    assert response.code == ResponseCode.SYSTEM_ERROR
    assert "AttributeError" in (response.remark or "")
    assert "Traceback" in port.log[0]
    assert peer.ask(9999).code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED


def test_a_journal_entry_has_the_request_code_name_and_the_channel_id() -> None:
    port, _ = recording()
    peer = port.peer()
    peer.ask(RequestCode.GET_MAX_OFFSET, MAX_OFFSET)
    (entry,) = port.engine.journal
    assert (entry.label, entry.client, entry.subject) == (
        "GET_MAX_OFFSET",
        peer.channel.channel_id,
        GetMaxOffset("T", 0),
    )


@pytest.mark.parametrize(
    "code", [9999, 0, -5, 3442, *sorted(map(int, codes_with(UnservedReason.NO_HANDLER, UnservedReason.OTHER_PROGRAM)))]
)
def test_an_unknown_request_code_returns_upstreams_remark(code: int) -> None:
    """An unknown request code returns code 3 and a remark that begins with a blank. Nothing is logged."""
    port, _ = recording()
    response = port.peer().ask(code, {})
    assert (response.code, response.remark) == (3, f" request type {code} not supported")
    assert port.log == []


def test_a_code_that_is_not_emulated_is_named_in_the_response_and_logged_once() -> None:
    port, _ = recording()
    code = RequestCode.EXCHANGE_BROKER_HA_INFO
    assert code not in PROCESSORS
    remarks = {port.peer().ask(code, {}).remark for _ in range(3)}
    assert remarks == {" request type 906 not supported: EXCHANGE_BROKER_HA_INFO is not implemented"}
    assert port.log == [
        "request code 906 EXCHANGE_BROKER_HA_INFO is not implemented, the response is REQUEST_CODE_NOT_SUPPORTED"
    ]


def test_a_code_whose_operation_the_node_lacks_is_reported_as_not_emulated() -> None:
    broker = RecordingNode(Role.BROKER)
    del broker.handlers[GetMaxOffset]
    response = Port(None, broker).peer().ask(RequestCode.GET_MAX_OFFSET, MAX_OFFSET)
    assert response.remark == " request type 30 not supported: GET_MAX_OFFSET is not implemented"


def test_a_port_serves_only_the_requests_of_its_broker_and_name_server() -> None:
    """A broker serves no routes, a name server stores no messages, and one port may serve both."""
    broker, name_server = RecordingNode(Role.BROKER), RecordingNode(Role.NAME_SERVER)
    route, offset = (RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}), (RequestCode.GET_MAX_OFFSET, MAX_OFFSET)
    assert Port(None, broker).peer().ask(*route).remark == " request type 105 not supported"
    assert Port(None, None, name_server).peer().ask(*offset).remark == " request type 30 not supported"
    both = Port(None, broker, name_server).peer()
    both.exchange(*route)
    both.exchange(*offset)
    assert (broker.operations, name_server.operations) == ([GetMaxOffset("T", 0)], [GetRouteInfo("T")])


def test_malformed_bytes_close_their_connection_only() -> None:
    """Malformed bytes close only their connection and log one line. Earlier requests get responses."""
    port, _ = recording()
    bad, good = port.peer(), port.peer()
    request = frame.encode(RemotingCommand(RequestCode.GET_MAX_OFFSET, opaque=1, ext_fields=MAX_OFFSET))
    assert not bad.connection.received(request + b"GET / HTTP/1.1\r\n\r\n")
    assert [each.opaque for each in bad.received()] == [1]
    assert len(port.log) == 1
    assert bad.channel.channel_id in port.log[0]
    assert good.ask(RequestCode.GET_MAX_OFFSET, MAX_OFFSET).code == 0


def test_the_broker_is_notified_of_a_lost_connection() -> None:
    """The broker is notified once. The channel of the lost connection is then inactive and sends nothing."""
    broker = RecordingNode(Role.BROKER)
    broker.handlers = {**broker.handlers, ChannelClosed: broker._record}
    port = Port(None, broker)
    peer = port.peer()
    peer.connection.closed()
    assert broker.operations == [ChannelClosed()]
    assert broker.calls[0].channel is peer.channel
    assert not peer.channel.active
    peer.channel.push(NotifyConsumerIdsChanged("G"))
    assert peer.received() == []


def test_a_name_server_is_not_notified_of_lost_connections() -> None:
    """A name server is not notified of lost connections, because it stores nothing about clients."""
    name_server = RecordingNode(Role.NAME_SERVER)
    Port(None, None, name_server).peer().connection.closed()
    assert name_server.operations == []


def test_channels_have_different_ids_even_if_a_port_is_reused() -> None:
    port, _ = recording()
    first, second = Peer(port.dispatcher, 5), Peer(port.dispatcher, 5)
    assert first.channel.channel_id != second.channel.channel_id


def test_a_proxied_address_is_listed_but_the_born_host_is_the_tcp_peer() -> None:
    """After a PROXY prologue, lists show its address, but messages have the TCP peer as born host, as on 5.3.3."""
    port, _ = recording()
    peer = port.peer()
    assert peer.connection.received(b"PROXY TCP4 10.9.8.7 10.0.0.1 5555 10911\r\n")
    assert peer.channel.remote_address == ("10.9.8.7", 5555)
    assert peer.channel.peer_address == ("10.0.0.7", 50001)
    assert peer.ask(RequestCode.GET_MAX_OFFSET, MAX_OFFSET).code == 0


class TestPushes:
    """Requests that the server sends to clients, as recorded from 5.3.3."""

    def test_a_change_of_group_members_is_sent_as_oneway_code_40(self) -> None:
        peer = recording()[0].peer()
        peer.channel.push(NotifyConsumerIdsChanged("G"))
        (push,) = peer.received()
        assert (push.code, push.flag, push.ext_fields, push.body) == (40, ONEWAY, {"consumerGroup": "G"}, b"")

    def test_a_transaction_check_is_sent_as_oneway_code_39_with_the_record(self) -> None:
        peer = recording()[0].peer()
        peer.channel.push(
            CheckTransactionState(
                b"record",
                "RMQ_SYS_TRANS_HALF_TOPIC",
                7,
                57026,
                msg_id="U1",
                transaction_id="U1",
                offset_msg_id="7F00",
                broker_name="broker-a",
            )
        )
        (push,) = peer.received()
        assert (push.code, push.flag, push.body) == (39, ONEWAY, b"record")
        assert push.ext_fields == {
            "bname": "broker-a",
            "commitLogOffset": "57026",
            "topic": "RMQ_SYS_TRANS_HALF_TOPIC",
            "msgId": "U1",
            "tranStateTableOffset": "7",
            "offsetMsgId": "7F00",
            "transactionId": "U1",
        }

    def test_a_reply_message_is_sent_as_code_326_and_accepts_one_response(self) -> None:
        """A reply message is sent as code 326, which is no oneway request.

        The first response is accepted; further ones are dropped and logged.
        """
        port, _ = recording()
        peer = port.peer()
        peer.channel.push(
            PushReplyMessage(
                "PG",
                "DefaultCluster_REPLY_TOPIC",
                0,
                b"pong",
                properties="a\x01b\x02",
                sys_flag=0,
                flag=0,
                born_timestamp=5,
                born_host=("127.0.0.1", 1),
                store_host=("::1", 2),
                store_timestamp=6,
                reconsume_times=2,
                unit_mode=True,
                default_topic="T",
                default_topic_queue_nums=9,
            )
        )
        (push,) = peer.received()
        assert (push.code, push.flag, push.body) == (326, 0, b"pong")
        ext = push.ext_fields or {}
        assert (ext["bornHost"], ext["storeHost"], ext["properties"]) == ("127.0.0.1:1", "::1:2", "a\x01b\x02")
        assert (ext["queueId"], ext["bornTimestamp"], ext["storeTimestamp"]) == ("0", "5", "6")
        assert (ext["reconsumeTimes"], ext["unitMode"]) == ("2", "true")
        assert (ext["defaultTopic"], ext["defaultTopicQueueNums"]) == ("T", "9")
        response = RemotingCommand(0, opaque=push.opaque, flag=RESPONSE)
        assert peer.send(response)
        assert port.log == []
        assert peer.send(response)
        assert len(port.log) == 1
        assert peer.received() == []

    def test_opaques_of_server_requests_count_over_all_connections_of_a_port(self) -> None:
        port, _ = recording()
        first, second = port.peer(), port.peer()
        for peer in (first, second, first):
            peer.channel.push(NotifyConsumerIdsChanged("G"))
        opaques = [each.opaque for each in first.received() + second.received()]
        assert sorted(opaques) == [0, 1, 2]

    def test_a_notification_during_a_request_leaves_before_the_response(self) -> None:
        port, broker = recording()
        peer = port.peer()

        def push_first(operation: Operation) -> Result:
            peer.channel.push(NotifyConsumerIdsChanged("G"))
            return OffsetResult(1)

        broker._answers = {GetMaxOffset: push_first}
        assert [each.code for each in peer.exchange(RequestCode.GET_MAX_OFFSET, MAX_OFFSET)] == [40, 0]
        assert peer.written == []


def test_a_second_processor_for_a_request_code_is_rejected() -> None:
    """A second processor for a request code raises AssertionError, within one table and between two."""
    tables = [RequestTable(Role.BROKER), RequestTable(Role.BROKER)]
    header = PROCESSORS[RequestCode.GET_CONSUMER_LIST_BY_GROUP].header

    def translate(call: Any, header: Any, body: bytes) -> GetConsumerListByGroup:
        return GetConsumerListByGroup(header.consumer_group)

    for table in tables:
        table.processor(RequestCode.GET_CONSUMER_LIST_BY_GROUP, header=header, rights=no_rights)(translate)
    with pytest.raises(AssertionError):
        tables[0].processor(RequestCode.GET_CONSUMER_LIST_BY_GROUP, header=header, rights=no_rights)(translate)
    with pytest.raises(AssertionError):
        join(tables)


def test_there_are_153_request_codes() -> None:
    """RequestCode has all 153 request codes of upstream (5.3.3)."""
    assert len(RequestCode) == 153


def test_each_request_code_is_declared_once() -> None:
    """A request code has a processor or the reason why it has none, and in both cases the rights that it requires."""
    assert set(PROCESSORS).isdisjoint(UNSERVED)
    assert set(PROCESSORS) | set(UNSERVED) == set(RequestCode) == set(RIGHTS)
    with pytest.raises(AssertionError, match="ADD_BROKER is declared twice"):
        by_code([UNSERVED[RequestCode.ADD_BROKER]] * 2)


def test_a_processor_cannot_be_declared_without_rights() -> None:
    """A processor cannot be declared without rights: the import of its module fails."""
    table = RequestTable(Role.BROKER)
    with pytest.raises(TypeError, match="rights"):
        table.processor(RequestCode.SEND_MESSAGE, header=NoHeader)  # type: ignore[call-arg]  # as meant


def test_each_code_to_clients_is_sent_for_an_effect_of_the_engine() -> None:
    """The codes declared `TO_CLIENTS` are exactly the codes of effects of the engine that no processor serves."""
    assert set(codes_with(UnservedReason.TO_CLIENTS)) == set(CODE_OF_EFFECT.values()) - set(PROCESSORS)


def test_name_server_codes_are_those_declared_with_that_role() -> None:
    """A name server has the codes whose processor or `UNSERVED` entry has the role NAME_SERVER."""
    assert {
        code
        for code in RequestCode
        if (PROCESSORS[code] if code in PROCESSORS else UNSERVED[code]).role is Role.NAME_SERVER
    } == NAME_SERVER_CODES


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["10", "38", "\ud800", "\x01", "JAVA"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
MEMBERS = ["code", "opaque", "flag", "version", "language", "extFields", "remark", "other"]


@settings(max_examples=300)
@given(st.dictionaries(st.sampled_from(MEMBERS), JSON), st.booleans())
def test_no_json_header_causes_an_unexpected_exception(members: dict[str, Any], ascii_only: bool) -> None:
    """Headers with members of any kind, numbers of any size and lone surrogates cause no unexpected exception."""
    port, _ = recording()
    header = json.dumps(members, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    port.peer().connection.received(frame.join(header))
    assert [line for line in port.log if "Traceback" in line] == []


@pytest.mark.pure
@pytest.mark.provokes_bugs
def test_an_unexpected_exception_while_reading_closes_only_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unexpected exception while a request is read is logged and closes only its connection."""
    port, _ = recording()
    bad, good = port.peer(), port.peer()
    monkeypatch.setattr(port.dispatcher, "_unserved_error", lambda *arguments: 1 / 0)
    assert not bad.connection.received(frame.encode(RemotingCommand(9999)))
    assert "ZeroDivisionError" in port.log[0]
    assert good.ask(RequestCode.GET_MAX_OFFSET, MAX_OFFSET).code == 0


@settings(max_examples=300)
@given(
    st.sampled_from(sorted(PROCESSORS)),
    st.dictionaries(
        st.sampled_from(sorted({field.name for each in PROCESSORS.values() for field in each.header.FIELDS})),
        st.one_of(
            st.text(max_size=12),
            st.integers(-(2**70), 2**70).map(str),
            st.sampled_from(["T", "%RETRY%G", "TAG", "SQL92", "*", "true", "0 1 2 3 0 broker-a 0 0"]),
        ),
        max_size=14,
    ),
    st.one_of(
        st.binary(max_size=60),
        st.sampled_from([b"{}", b"[]", b"null", b'{"acks":[{"b":"?"}]}', b'{"mqSet":[1],"subscriptionData":3}']),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(
                        ["consumerDataSet", "acks", "mqSet", "topicConfigList", "groupName", "topicName", "b"]
                    ),
                    inner,
                    max_size=4,
                )
            ),
            max_leaves=8,
        ).map(lambda value: json.dumps(value).encode()),
    ),
)
def test_any_request_gets_one_response_or_waits(code: int, ext: dict[str, str], body: bytes) -> None:
    """A request with any fields and any body gets one response or waits, and causes no unexpected exception.

    Stored messages do not change, unless the request deletes a topic.
    """
    bugs: list[BaseException] = []
    port = Port(Engine(now_ms=1_700_000_000_000, report_bug=bugs.append))
    other = port.peer()
    create(other, "T")
    assert [send(other, "T", b"%d" % number).code for number in range(3)] == [0, 0, 0]
    stored = stored_records(port.engine.brokers[0])
    responses = [each for each in port.peer().exchange(code, ext, body) if each.is_response]
    assert len(responses) <= 1
    if code not in DELETING:
        after = stored_records(port.engine.brokers[0])
        assert {place: after[place][: len(records)] for place, records in stored.items()} == stored
    assert bugs == []
    assert [line for line in port.log if "Traceback" in line] == []
