"""Responses through the remoting layer: code, remark, ext fields and body, as recorded from a real 5.3.3 broker."""

import json

import pytest
from remoting_harness import NOW, Peer, Port, create, send
from rocketmq_testkit.conformance.clients.remoting_consumption import pop_request, pull_request
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.remoting.client import batch_body, decode_messages
from rocketmq_testkit.remoting.processors.send import SendMessageRequestHeaderV2
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire import frame
from rocketmq_testkit.remoting.wire.command import RemotingCommand

FAQ = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
MARKS = {"TRACE_ON": "true", "MSG_REGION": "DefaultRegion"}
NPE = 'java.lang.NullPointerException: Cannot invoke "java.lang.Integer.intValue()" because the return value of '
PACKAGE = "org.apache.rocketmq.remoting.protocol.header"


@pytest.fixture
def port() -> Port:
    """Return a port of a broker and a name server."""
    return Port(Engine(now_ms=NOW))


@pytest.fixture
def peer(port: Port) -> Peer:
    """Return a client of the port."""
    port.engine.brokers[0].store_host = ("127.0.0.1", 10911)
    return port.peer()


def pull(peer: Peer, topic: str, offset: int = 0, **more: object) -> RemotingCommand:
    """Send a pull from queue 0 that contains its subscription; return the response."""
    return peer.ask(*pull_request(topic, "G", 0, offset, **more))


def header_text(peer: Peer, code: int, ext: object, body: bytes = b"") -> str:
    """Return the header of a response as it is on the wire."""
    command = RemotingCommand(code, opaque=2, ext_fields=ext if isinstance(ext, dict) else None, body=body)
    assert peer.send(command)
    ((_, header, _),) = frame.FrameSplitter().feed(b"".join(peer.written))
    peer.written.clear()
    return header.decode()


class TestSend:
    """SEND_MESSAGE_V2 and related codes."""

    def test_a_send_response_header_equals_upstreams_byte_for_byte(self, peer: Peer) -> None:
        """The raw header of a send response equals a recorded one, except for the message ids."""
        create(peer, "X")
        ext = {"a": "PG", "b": "X", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": str(NOW), "h": "0"}
        text = header_text(peer, 310, {**ext, "i": "UNIQ_KEY\x01UX0\x02", "j": "0", "k": "false", "m": "false"}, b"m")
        assert text == (
            '{"code":0,"extFields":{"queueId":"0","transactionId":"UX0","msgId":"7F00000100002A9F0000000000000000",'
            '"TRACE_ON":"true","MSG_REGION":"DefaultRegion","queueOffset":"0"},"flag":1,"language":"JAVA","opaque":2,'
            '"serializeTypeCurrentRPC":"JSON","version":479}'
        )

    def test_a_transaction_id_with_quotes_is_escaped_in_the_send_response(self, peer: Peer) -> None:
        """The transaction id in the response is the client's unique key, whose quotes are escaped in JSON."""
        create(peer, "X")
        assert (send(peer, "X", UNIQ_KEY='q"\\ ä').ext_fields or {})["transactionId"] == 'q"\\ ä'

    def test_a_batch_send_returns_all_message_ids(self, peer: Peer) -> None:
        """A batch send returns all message ids, and no transaction id if the header has no unique key."""
        create(peer, "X")
        header = SendMessageRequestHeaderV2(
            producer_group="PG", topic="X", queue_id=0, sys_flag=0, born_timestamp=NOW, flag=0, batch=True
        )
        body = batch_body([(b"a", {"TAGS": "A"}), (b"b", {"TAGS": "B"})])
        for code in (RequestCode.SEND_BATCH_MESSAGE, RequestCode.SEND_MESSAGE_V2):
            ext = peer.ask(code, header, body).ext_fields or {}
            assert ext["msgId"].count(",") == 1
            assert set(ext) == {"queueId", "msgId", "TRACE_ON", "MSG_REGION", "queueOffset"}
        found = decode_messages(pull(peer, "X").body)
        assert [(each.body, each.tag) for each in found] == [(b"a", "A"), (b"b", "B")] * 2

    @pytest.mark.parametrize(
        ("topic", "code", "remark"),
        [
            ("", 29, "The specified topic is blank."),
            ("a b", 29, "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"),
            ("x" * 128, 29, "The specified topic is longer than topic max length."),
            ("SCHEDULE_TOPIC_XXXX", 16, "Sending message to topic[SCHEDULE_TOPIC_XXXX] is forbidden."),
        ],
    )
    def test_a_rejected_send_returns_region_and_trace_switch(
        self, peer: Peer, topic: str, code: int, remark: str
    ) -> None:
        """Error responses to sends have the region and the trace switch, unless upstream's handler throws."""
        response = send(peer, topic)
        assert (response.code, response.remark, response.ext_fields) == (code, remark, MARKS)

    def test_a_send_without_a_body_returns_an_exception_without_ext_fields(self, peer: Peer) -> None:
        create(peer, "X")
        response = send(peer, "X", b"")
        assert (response.code, response.ext_fields) == (1, None)
        assert "RemotingCommand.getBody()" in (response.remark or "")

    @pytest.mark.parametrize(("left_out", "getter"), [("e", "getQueueId"), ("f", "getSysFlag"), ("h", "getFlag")])
    def test_a_missing_number_of_a_v2_send_is_named_as_in_the_long_header(
        self, peer: Peer, left_out: str, getter: str
    ) -> None:
        """A missing number in a V2 header is named in upstream's long header, to which upstream converts it."""
        create(peer, "X")
        ext = {"a": "PG", "b": "X", "e": "0", "f": "0", "g": "1", "h": "0"}
        del ext[left_out]
        response = peer.ask(RequestCode.SEND_MESSAGE_V2, ext, b"m")
        assert (response.code, response.ext_fields) == (1, None)
        assert response.remark == f'{NPE}"{PACKAGE}.SendMessageRequestHeader.{getter}()" is null'

    def test_send_message_v2_with_long_field_names_is_rejected(self, peer: Peer) -> None:
        """SEND_MESSAGE_V2 with the field names of SEND_MESSAGE fails, as on the real broker."""
        response = peer.ask(RequestCode.SEND_MESSAGE_V2, {"topic": "X", "queueId": "0"}, b"m")
        assert (response.code, response.ext_fields) == (1, None)


@pytest.mark.parametrize("left_out", ["offset", "group", "delayLevel"])
def test_a_send_back_without_offset_group_or_delay_level_is_rejected(peer: Peer, left_out: str) -> None:
    create(peer, "X")
    send(peer, "X", b"m")
    ext = {"offset": "0", "group": "G", "delayLevel": "1"}
    assert peer.ask(RequestCode.CONSUMER_SEND_MSG_BACK, ext).code == 0
    del ext[left_out]
    response = peer.ask(RequestCode.CONSUMER_SEND_MSG_BACK, ext)
    assert (response.code, (response.remark or "").split(":")[0]) == (1, "java.lang.NullPointerException")


class TestPull:
    """PULL_MESSAGE."""

    def test_a_pull_that_finds_messages_returns_offsets_status_and_records(self, peer: Peer) -> None:
        """A pull that finds messages returns six fields, the status as remark and records as body."""
        create(peer, "P")
        send(peer, "P", b"one", TAGS="A", KEYS="k")
        response = pull(peer, "P")
        assert (response.code, response.remark) == (0, "FOUND")
        assert response.ext_fields == {
            "suggestWhichBrokerId": "0",
            "groupSysFlag": "0",
            "nextBeginOffset": "1",
            "maxOffset": "1",
            "minOffset": "0",
            "topicSysFlag": "0",
        }
        (message,) = decode_messages(response.body)
        assert (message.topic, message.body, message.tag, message.keys) == ("P", b"one", "A", ["k"])
        assert (message.born_host, message.store_host) == (peer.channel.peer_address, ("127.0.0.1", 10911))

    @pytest.mark.parametrize(
        ("offset", "code", "remark", "next_offset"),
        [
            (1, 19, "OFFSET_OVERFLOW_ONE", "1"),
            (100, 21, "OFFSET_OVERFLOW_BADLY", "1"),
            (-5, 21, "OFFSET_TOO_SMALL", "0"),
        ],
    )
    def test_a_pull_without_messages_returns_the_next_offset(
        self, peer: Peer, offset: int, code: int, remark: str, *, next_offset: str
    ) -> None:
        """A pull without messages still returns minimum, maximum and next offset."""
        create(peer, "P")
        send(peer, "P")
        response = pull(peer, "P", offset)
        assert (response.code, response.remark, response.body) == (code, remark, b"")
        assert (response.ext_fields or {})["nextBeginOffset"] == next_offset

    def test_a_pull_of_a_topic_without_read_permission_returns_the_forbidden_type(self, peer: Peer) -> None:
        """A pull of a topic without read permission returns forbiddenType 3 (topic)."""
        create(peer, "PW", perm=2)
        response = pull(peer, "PW")
        assert (response.code, response.remark) == (16, "the topic[PW] pulling message is forbidden")
        assert response.ext_fields == {"forbiddenType": "3"}

    def test_a_pull_of_an_unknown_topic_or_queue_returns_upstreams_remark(self, peer: Peer) -> None:
        """Other rejected pulls return empty fields and upstream's texts, including the blank before the line break."""
        response = pull(peer, "nope")
        assert (response.code, response.ext_fields) == (17, {})
        assert response.remark == f"topic[nope] not exist, apply first please! {FAQ}"
        create(peer, "P")
        host, number = peer.channel.peer_address
        response = pull(peer, "P", queueId=7)
        assert (response.code, response.remark) == (
            29,
            f"queueId[7] is illegal, topic:[P] topicConfig.readQueueNums:[1] consumer:[/{host}:{number}]",
        )

    def test_a_long_polling_pull_gets_the_next_message(self, port: Port, peer: Peer) -> None:
        """A long-polling pull gets the next message on its own connection, and the sender gets its own response."""
        create(peer, "P")
        waiting = port.peer()
        assert waiting.exchange(*pull_request("P", "G", suspend_ms=15_000)) == []
        assert send(peer, "P", b"woke").code == 0
        (response,) = waiting.received()
        assert (response.code, response.remark, response.opaque) == (0, "FOUND", 1)
        assert [each.body for each in decode_messages(response.body)] == [b"woke"]

    def test_a_long_polling_pull_of_a_lost_connection_gets_no_message(self, port: Port, peer: Peer) -> None:
        create(peer, "P")
        waiting = port.peer()
        waiting.exchange(*pull_request("P", "G", suspend_ms=9_000))
        waiting.connection.closed()
        send(peer, "P")
        port.engine.scheduler.advance_to(NOW + 60_000)
        assert waiting.received() == []


class TestPop:
    """POP_MESSAGE, ACK_MESSAGE, CHANGE_MESSAGE_INVISIBLETIME, NOTIFICATION, PEEK_MESSAGE, POLLING_INFO."""

    def pop(self, peer: Peer, **more: object) -> RemotingCommand:
        """Pop from all queues of topic Q."""
        return peer.ask(*pop_request("Q", "G", invisible_ms=10_000, **more))

    def test_pop_change_invisible_time_and_ack_return_upstreams_fields(self, port: Port, peer: Peer) -> None:
        """A popped message gets a longer invisible duration and is then acknowledged."""
        create(peer, "Q")
        for body in (b"a", b"b"):
            send(peer, "Q", body)
        response = self.pop(peer)
        assert (response.code, response.remark) == (0, "FOUND")
        assert response.ext_fields == {
            "invisibleTime": "10000",
            "startOffsetInfo": "0 0 0",
            "restNum": "0",
            "popTime": str(NOW),
            "reviveQid": "0",
            "msgOffsetInfo": "0 0 0,1",
        }
        assert [each.body for each in decode_messages(response.body)] == [b"a", b"b"]
        port.engine.scheduler.advance_to(NOW + 5)
        receipt = f"0 {NOW} 10000 0 0 broker-a 0 1"
        ext = {"consumerGroup": "G", "topic": "Q", "queueId": "0", "offset": "1", "extraInfo": receipt}
        changed = peer.ask(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, {**ext, "invisibleTime": "2000"})
        assert (changed.code, changed.remark) == (0, "not set any response code")
        assert changed.ext_fields == {"invisibleTime": "2000", "popTime": str(NOW + 5), "reviveQid": "0"}
        acknowledged = peer.ask(RequestCode.ACK_MESSAGE, {**ext, "offset": "0"})
        assert (acknowledged.code, acknowledged.remark, acknowledged.ext_fields) == (0, None, None)

    def test_a_pop_without_messages_returns_all_fields_with_empty_offset_infos(self, peer: Peer) -> None:
        create(peer, "Q")
        response = self.pop(peer)
        assert (response.code, response.remark) == (210, "NO_MESSAGE_IN_QUEUE")
        assert response.ext_fields == {
            "invisibleTime": "10000",
            "startOffsetInfo": "",
            "restNum": "0",
            "popTime": str(NOW),
            "reviveQid": "0",
            "msgOffsetInfo": "",
        }

    def test_an_ordered_pop_returns_order_count_info_even_if_empty(self, peer: Peer) -> None:
        create(peer, "Q")
        assert (self.pop(peer, order=True).ext_fields or {})["orderCountInfo"] == ""
        send(peer, "Q")
        assert (self.pop(peer, order=True).ext_fields or {})["orderCountInfo"] == "0 0 0"

    def test_a_rejected_pop_change_or_notification_returns_fields_of_zero(self, peer: Peer) -> None:
        create(peer, "Q")
        response = self.pop(peer, maxMsgNums=33)
        assert (response.code, response.remark) == (29, "the broker[127.0.0.1] pop message's num is greater than 32")
        assert response.ext_fields == {"invisibleTime": "0", "restNum": "0", "popTime": "0", "reviveQid": "0"}
        receipt = "0 0 0 0 0 broker-a 9 0"
        ext = {"consumerGroup": "G", "topic": "Q", "queueId": "9", "offset": "0", "extraInfo": receipt}
        changed = peer.ask(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, {**ext, "invisibleTime": "1"})
        assert (changed.code, changed.ext_fields) == (13, {"invisibleTime": "0", "popTime": "0", "reviveQid": "0"})
        assert peer.ask(RequestCode.ACK_MESSAGE, ext).ext_fields is None
        notice = peer.ask(RequestCode.NOTIFICATION, {"consumerGroup": "G", "topic": "nope", "queueId": "0"})
        assert (notice.code, notice.ext_fields) == (17, {"hasMsg": "false", "pollingFull": "false"})

    def test_an_ack_with_a_missing_or_invalid_receipt_returns_the_exception_text(self, peer: Peer) -> None:
        """A missing or invalid receipt handle returns code 1 with the text of upstream's exception."""
        create(peer, "Q")
        ext = {"consumerGroup": "G", "topic": "Q", "queueId": "0", "offset": "0"}
        missing = peer.ask(RequestCode.ACK_MESSAGE, ext)
        assert (missing.code, missing.ext_fields) == (1, None)
        assert (missing.remark or "").startswith("java.lang.IllegalArgumentException: split extraInfo is null")
        short = peer.ask(RequestCode.ACK_MESSAGE, {**ext, "extraInfo": "a b"})
        assert "getBrokerName fail, extraInfoStrs length 2" in (short.remark or "")

    def test_peek_notification_and_polling_info_do_not_pop_messages(self, peer: Peer) -> None:
        create(peer, "Q")
        base = {"consumerGroup": "G", "topic": "Q", "queueId": "0"}
        empty = peer.ask(RequestCode.PEEK_MESSAGE, {**base, "maxMsgNums": "2"})
        assert (empty.code, empty.remark) == (19, "NO_MESSAGE_IN_QUEUE")
        send(peer, "Q")
        peeked = peer.ask(RequestCode.PEEK_MESSAGE, {**base, "maxMsgNums": "2"})
        assert (peeked.code, peeked.remark, len(decode_messages(peeked.body))) == (0, "FOUND", 1)
        notice = peer.ask(RequestCode.NOTIFICATION, {**base, "pollTime": "0", "bornTime": "0"})
        assert (notice.remark, notice.ext_fields) == (
            "not set any response code",
            {"hasMsg": "true", "pollingFull": "false"},
        )
        info = peer.ask(RequestCode.POLLING_INFO, base)
        assert (info.remark, info.ext_fields) == ("not set any response code", {"pollingNum": "0"})

    def test_a_batch_ack_without_body_or_entries_returns_no_message(self, peer: Peer) -> None:
        for body in (b"", b'{"acks":[]}'):
            response = peer.ask(RequestCode.BATCH_ACK_MESSAGE, {}, body)
            assert (response.code, response.remark, response.ext_fields) == (208, None, None)


class TestOffsets:
    """Offsets of queues and groups."""

    def test_offset_requests_return_the_offsets_and_the_first_time_of_a_queue(self, peer: Peer) -> None:
        """The requests return offsets and first store time of the queue. As in upstream, one remark is empty text."""
        create(peer, "P")
        send(peer, "P")
        ext = {"topic": "P", "queueId": "0"}
        found = {
            code: peer.ask(code, {**ext, "timestamp": "0", "boundaryType": "lower"})
            for code in (
                RequestCode.GET_MAX_OFFSET,
                RequestCode.GET_MIN_OFFSET,
                RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,
                RequestCode.GET_EARLIEST_MSG_STORETIME,
            )
        }
        assert [(each.code, each.remark, each.ext_fields) for each in found.values()] == [
            (0, None, {"offset": "1"}),
            (0, "", {"offset": "0"}),
            (0, None, {"offset": "0"}),
            (0, None, {"timestamp": str(NOW)}),
        ]

    def test_a_query_of_an_absent_consumer_offset_returns_query_not_found(self, peer: Peer) -> None:
        """A query of an absent offset returns code 22, from which clients conclude that the group is new."""
        ext = {"consumerGroup": "G", "topic": "nope", "queueId": "0"}
        response = peer.ask(RequestCode.QUERY_CONSUMER_OFFSET, ext)
        assert (response.code, response.ext_fields) == (22, {})
        assert response.remark == "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"

    def test_a_committed_offset_is_returned_by_a_query(self, peer: Peer) -> None:
        """A committed offset can be queried. A missing queue id gets the remark of the operation, not of the header."""
        create(peer, "P")
        peer.ask(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": "G"})
        ext = {"consumerGroup": "G", "topic": "P", "queueId": "0", "commitOffset": "3"}
        done = peer.ask(RequestCode.UPDATE_CONSUMER_OFFSET, ext)
        assert (done.code, done.remark, done.ext_fields) == (0, None, {})
        assert peer.ask(RequestCode.QUERY_CONSUMER_OFFSET, ext).ext_fields == {"offset": "3"}
        del ext["queueId"]
        response = peer.ask(RequestCode.UPDATE_CONSUMER_OFFSET, ext)
        assert (response.code, response.remark, response.ext_fields) == (29, "QueueId is null, topic is P", {})

    def test_an_offset_reset_returns_a_table_with_queue_objects_as_keys(self, peer: Peer) -> None:
        create(peer, "P")
        peer.ask(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": "G"})
        ext = {"group": "G", "topic": "P", "timestamp": "-1", "isForce": "true"}
        response = peer.ask(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, ext)
        assert response.body == b'{"offsetTable":{{"brokerName":"broker-a","queueId":0,"topic":"P"}:0}}'

    @pytest.mark.parametrize(("queue_id", "expected"), [("0", 1), ("-1", 0)])
    def test_a_reset_to_an_offset_applies_only_with_a_queue_id(self, peer: Peer, queue_id: str, expected: int) -> None:
        """A reset to an offset applies to the given queue, also queue 0. Without a queue, the timestamp decides."""
        create(peer, "P")
        for _ in range(2):
            assert send(peer, "P").code == 0
        peer.ask(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": "G"})
        reset = {"group": "G", "topic": "P", "timestamp": "0", "isForce": "true", "queueId": queue_id, "offset": "1"}
        response = peer.ask(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, reset)
        expected_body = f'{{"offsetTable":{{{{"brokerName":"broker-a","queueId":0,"topic":"P"}}:{expected}}}}}'
        assert response.body == expected_body.encode()


class TestClients:
    """Heartbeats, group members, queue locks."""

    BEAT = (
        b'{"clientID":"c@1","producerDataSet":[{"groupName":"PG"}],"consumerDataSet":[{"groupName":"G",'
        b'"consumeType":"CONSUME_PASSIVELY","messageModel":"CLUSTERING","consumeFromWhere":"CONSUME_FROM_FIRST_OFFSET",'
        b'"subscriptionDataSet":[{"topic":"P","subString":"*","subVersion":1,"expressionType":"TAG"}]}]}'
    )

    def test_a_joining_client_is_notified_and_listed_until_it_unregisters(self, peer: Peer) -> None:
        """A client that joins a group is notified before its heartbeat response. It is listed until it leaves."""
        create(peer, "P")
        push, response = peer.exchange(RequestCode.HEART_BEAT, {}, self.BEAT)
        assert (push.code, push.ext_fields) == (40, {"consumerGroup": "G"})
        assert response.ext_fields == {"IS_SUPPORT_HEART_BEAT_V2": "true", "IS_SUB_CHANGE": "true"}
        listed = peer.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "G"})
        assert (listed.ext_fields, listed.body) == ({}, b'{"consumerIdList":["c@1"]}')
        connections = peer.ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": "G"})
        assert json.loads(connections.body)["connectionSet"] == [
            {"clientAddr": "10.0.0.7:50001", "clientId": "c@1", "language": "JAVA", "version": 479}
        ]
        leave = {"clientID": "c@1", "producerGroup": "", "consumerGroup": "G"}
        left = peer.exchange(RequestCode.UNREGISTER_CLIENT, leave)[-1]
        assert (left.code, left.ext_fields) == (0, {})
        gone = peer.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "G"})
        assert (gone.code, gone.remark, gone.ext_fields) == (1, "no consumer for this group, G", {})

    def test_lists_of_two_groups_are_those_of_the_moment(self, port: Port, peer: Peer) -> None:
        """A list is encoded once for all members that query it. One of another group or time is another list."""
        create(peer, "P")
        for name in (b"c@1", b"c@2"):
            port.peer().exchange(RequestCode.HEART_BEAT, {}, self.BEAT.replace(b"c@1", name))
            port.peer().exchange(RequestCode.HEART_BEAT, {}, self.BEAT.replace(b"c@1", name).replace(b'"G"', b'"H"'))
            for group in ("G", "G", "H", "G"):
                listed = json.loads(peer.ask(38, {"consumerGroup": group}).body)["consumerIdList"]
                assert listed == ["c@1", "c@2"][: 1 if name == b"c@1" else 2]

    def test_other_group_members_are_notified_of_a_lost_connection(self, port: Port, peer: Peer) -> None:
        create(peer, "P")
        other = port.peer()
        for each, name in ((peer, b"c@1"), (other, b"c@2")):
            each.exchange(RequestCode.HEART_BEAT, {}, self.BEAT.replace(b"c@1", name))
        peer.received()
        other.connection.closed()
        assert [each.code for each in peer.received()] == [40]
        assert peer.ask(38, {"consumerGroup": "G"}).body == b'{"consumerIdList":["c@1"]}'

    def test_a_lock_request_returns_the_queues_that_the_client_holds(self, peer: Peer) -> None:
        body = b'{"clientId":"c@1","consumerGroup":"G","mqSet":[{"brokerName":"broker-a","queueId":0,"topic":"P"}]}'
        locked = peer.ask(RequestCode.LOCK_BATCH_MQ, None, body)
        assert locked.body == b'{"lockOKMQSet":[{"brokerName":"broker-a","queueId":0,"topic":"P"}]}'
        assert locked.ext_fields is None
        refused = peer.ask(RequestCode.LOCK_BATCH_MQ, None, body.replace(b"c@1", b"c@2"))
        assert refused.body == b'{"lockOKMQSet":[]}'
        assert peer.ask(RequestCode.UNLOCK_BATCH_MQ, None, body).code == 0


class TestNameServer:
    """Routes and key-value configuration."""

    def test_a_route_has_the_address_that_the_client_can_reach(self, peer: Peer) -> None:
        """The broker's address in the route is the local end of the client's own connection."""
        create(peer, "P")
        route = json.loads(peer.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "P"}).body)
        assert route["brokerDatas"][0]["brokerAddrs"] == {"0": "127.0.0.1:10911"}
        assert route["queueDatas"][0]["writeQueueNums"] == 1

    @pytest.mark.parametrize(("ext", "shown"), [({"topic": "nope"}, "nope"), ({"topic": ""}, ""), ({}, "null")])
    def test_a_route_query_of_an_unknown_topic_returns_topic_not_exist(
        self, peer: Peer, ext: dict[str, str], shown: str
    ) -> None:
        """A route of an unknown topic returns code 17, so that producers request the template topic."""
        response = peer.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext)
        assert (response.code, response.ext_fields) == (17, None)
        assert response.remark == f"No topic route info in name server for the topic: {shown}{FAQ}"

    def test_kv_configs_are_put_read_listed_and_deleted(self, peer: Peer) -> None:
        """Values can be put, read, listed and deleted. A put without names fails."""
        ext = {"namespace": "n", "key": "k"}
        assert peer.ask(RequestCode.PUT_KV_CONFIG, {**ext, "value": "v"}).code == 0
        assert peer.ask(RequestCode.GET_KV_CONFIG, ext).ext_fields == {"value": "v"}
        assert peer.ask(RequestCode.GET_KVLIST_BY_NAMESPACE, ext).body == b'{"table":{"k":"v"}}'
        assert peer.ask(RequestCode.DELETE_KV_CONFIG, ext).code == 0
        gone = peer.ask(RequestCode.GET_KV_CONFIG, ext)
        assert (gone.code, gone.remark, gone.ext_fields) == (22, "No config item, Namespace: n Key: k", {})
        nameless = peer.ask(RequestCode.PUT_KV_CONFIG, {})
        assert (nameless.code, nameless.remark) == (1, "namespace or key is null")

    def test_write_permission_requests_return_the_number_of_changed_topics(self, peer: Peer) -> None:
        wiped = peer.ask(RequestCode.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "broker-a"}).ext_fields or {}
        assert int(wiped["wipeTopicCount"]) > 0
        assert peer.ask(RequestCode.ADD_WRITE_PERM_OF_BROKER, {"brokerName": "zz"}).ext_fields == {"addTopicCount": "0"}


class TestAdministration:
    """Requests of the tool mqadmin."""

    def test_mqadmin_reads_topics_and_groups_one_by_one_and_all_together(self, peer: Peer) -> None:
        """Topics and groups can be read one by one and all together, with statistics and names."""
        create(peer, "P", 2)
        one = json.loads(peer.ask(RequestCode.GET_TOPIC_CONFIG, {"topic": "P", "lo": "true"}).body)
        assert one == {
            "attributes": {},
            "order": False,
            "perm": 6,
            "readQueueNums": 2,
            "topicFilterType": "SINGLE_TAG",
            "topicName": "P",
            "topicSysFlag": 0,
            "writeQueueNums": 2,
        }
        every = peer.ask(RequestCode.GET_ALL_TOPIC_CONFIG)
        assert every.ext_fields == {}
        assert json.loads(every.body)["topicConfigTable"]["P"] == one
        stats = peer.ask(RequestCode.GET_TOPIC_STATS_INFO, {"topic": "P"})
        assert stats.body.startswith(b'{"offsetTable":{{"brokerName":"broker-a","queueId":0,"topic":"P"}:')
        assert peer.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, b'{"groupName":"G"}').code == 0
        groups = json.loads(peer.ask(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG).body)
        assert groups["subscriptionGroupTable"]["G"]["retryMaxTimes"] == 16
        topics = json.loads(peer.ask(RequestCode.QUERY_TOPICS_BY_CONSUMER, {"group": "G"}).body)
        assert topics == {"brokerAddr": "127.0.0.1:10911", "topicList": []}

    def test_a_message_is_found_by_id_by_key_and_by_consume_queue_unit(self, peer: Peer) -> None:
        create(peer, "P")
        send(peer, "P", b"seen", KEYS="k1", UNIQ_KEY="U1")
        viewed = peer.ask(RequestCode.VIEW_MESSAGE_BY_ID, {"topic": "P", "offset": "0"})
        assert (viewed.ext_fields, decode_messages(viewed.body)[0].body) == (None, b"seen")
        ext = {"topic": "P", "key": "k1", "maxNum": "9", "beginTimestamp": "0", "endTimestamp": str(2**63 - 1)}
        found = peer.ask(RequestCode.QUERY_MESSAGE, {**ext, "_UNIQUE_KEY_QUERY": "false"})
        assert [each.message_id for each in decode_messages(found.body)] == ["U1"]
        missing = peer.ask(RequestCode.QUERY_MESSAGE, {**ext, "key": "zz"})
        assert (missing.code, missing.ext_fields) == (
            22,
            {"indexLastUpdatePhyoffset": "0", "indexLastUpdateTimestamp": "0"},
        )
        units = peer.ask(RequestCode.QUERY_CONSUME_QUEUE, {"topic": "P", "queueId": "0", "index": "0", "count": "5"})
        assert units.remark == "not set any response code"
        assert json.loads(units.body)["queueData"][0]["physicOffset"] == 0
        beyond = peer.ask(RequestCode.QUERY_CONSUME_QUEUE, {"topic": "P", "queueId": "0", "index": "99", "count": "5"})
        assert (beyond.code, beyond.remark, beyond.body) == (0, "Index 99 of 0@P is not exist!", b"")

    def test_runtime_info_has_the_keys_that_cluster_list_requires(self, peer: Peer) -> None:
        table = json.loads(peer.ask(RequestCode.GET_BROKER_RUNTIME_INFO).body)["table"]
        needed = {"brokerVersionDesc", "putTps", "sendThreadPoolQueueSize", "pullThreadPoolQueueSize"}
        assert needed | {"pageCacheLockTimeMills", "earliestMessageTimeStamp", "commitLogDiskRatio"} <= set(table)


def test_a_slave_rejects_sends(port: Port, peer: Peer) -> None:
    """A slave rejects a send without region and trace switch, because upstream rejects it before the processor."""
    create(peer, "X")
    port.engine.brokers[0].config.set("brokerRole", "SLAVE")
    response = send(peer, "X")
    assert (response.code, response.ext_fields) == (2, None)
    assert response.remark == "[REJECTREQUEST]system busy, start flow control for a while"


def test_send_responses_follow_the_brokers_region_and_trace_switch() -> None:
    """Region and trace switch in responses follow the broker's configuration, also after a change."""
    config = BrokerConfig(region_id='re"gion', trace_on=False)
    peer = Port(Engine(brokers=[config], now_ms=NOW)).peer()
    create(peer, "X")
    ext = send(peer, "X").ext_fields or {}
    assert (ext["MSG_REGION"], ext["TRACE_ON"]) == ('re"gion', "false")
    assert send(peer, "a b").ext_fields == {"TRACE_ON": "false", "MSG_REGION": 're"gion'}
    config.trace_on = True
    assert (send(peer, "X").ext_fields or {})["TRACE_ON"] == "true"
