"""Responses to administrators about producers and consumers, with the JSON members that a real 5.3.3 sends."""

import json
from typing import Any

import pytest
from remoting_harness import NOW, Peer, Port, create, send
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire.command import RemotingCommand


@pytest.fixture
def peer() -> Peer:
    """Return a client of a broker."""
    return Port(Engine(now_ms=NOW)).peer()


def beat(peer: Peer, body: dict[str, Any]) -> None:
    """Send a heartbeat of the client `c`. Consumers first get a notification that their group changed."""
    response = peer.exchange(RequestCode.HEART_BEAT, {}, json.dumps({"clientID": "c", **body}).encode())[-1]
    assert response.code == 0


def plain(response: RemotingCommand) -> Any:
    """Return the JSON body of a response, which must have neither remark nor ext fields."""
    assert (response.code, response.remark, response.ext_fields) == (0, None, None)
    return json.loads(response.body)


def test_all_producers_are_listed_by_group(peer: Peer) -> None:
    """All producers are listed by group, each with its address and the time of its last heartbeat."""
    beat(peer, {"producerDataSet": [{"groupName": "PG"}]})
    listed = plain(peer.ask(RequestCode.GET_ALL_PRODUCER_INFO, {}))
    [entry] = listed["data"]["PG"]
    assert entry.pop("remoteIP").startswith("/10.0.0.7:")
    assert entry == {"clientId": "c", "language": "JAVA", "lastUpdateTimestamp": NOW, "version": 479}


def test_a_subscription_is_returned_only_while_its_group_is_online(peer: Peer) -> None:
    create(peer, "T", 1)
    ask = {"group": "G", "topic": "T"}
    assert plain(peer.ask(RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER, ask)) == ask
    wanted = {"topic": "T", "subString": "A", "tagsSet": ["A"], "codeSet": [65], "expressionType": "TAG"}
    beat(peer, {"consumerDataSet": [{"groupName": "G", "subscriptionDataSet": [wanted]}]})
    shown = plain(peer.ask(RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER, ask))
    assert shown["subscriptionData"] == {**wanted, "classFilterMode": False, "subVersion": 0}


def test_a_consume_time_span_has_the_store_times_of_each_queue(peer: Peer) -> None:
    """A consume time span has the store times of each queue. A group that consumed everything has no delay.

    An empty queue has no times.
    """
    create(peer, "T", 2)
    send(peer, "T")
    peer.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, b'{"groupName":"G"}')
    commit = {"consumerGroup": "G", "topic": "T", "queueId": 0, "commitOffset": 1}
    assert peer.ask(RequestCode.UPDATE_CONSUMER_OFFSET, commit).code == 0
    ask = {"topic": "T", "group": "G"}
    full, empty = plain(peer.ask(RequestCode.QUERY_CONSUME_TIME_SPAN, ask))["consumeTimeSpanSet"]
    assert full == {
        "consumeTimeStamp": NOW,
        "consumeTimeStampStr": "2023-11-14#22:13:20:000",
        "delayTime": 0,
        "maxTimeStamp": NOW,
        "maxTimeStampStr": "2023-11-14#22:13:20:000",
        "messageQueue": {"brokerName": "broker-a", "queueId": 0, "topic": "T"},
        "minTimeStamp": NOW,
        "minTimeStampStr": "2023-11-14#22:13:20:000",
    }
    assert (empty["minTimeStamp"], empty["maxTimeStamp"], empty["consumeTimeStamp"]) == (-1, -1, -1)
    assert (empty["delayTime"], empty["minTimeStampStr"]) == (NOW + 1, "1969-12-31#23:59:59:999")
    unknown = peer.ask(RequestCode.QUERY_CONSUME_TIME_SPAN, {**ask, "topic": "none"})
    assert (unknown.code, unknown.remark) == (17, "topic[none] not exist")


def test_a_group_list_creates_each_of_its_groups(peer: Peer) -> None:
    body = b'{"groupConfigList":[{"groupName":"G1","retryMaxTimes":2},{"groupName":"G2"}]}'
    assert peer.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, {}, body).code == 0
    times = [
        plain(peer.ask(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": group}))["retryMaxTimes"]
        for group in ("G1", "G2")
    ]
    assert times == [2, 16]


@pytest.mark.parametrize(
    ("listed", "topics"),
    [("A", ["A"]), (";B;;A;", ["A", "B"]), ("none;B", ["B"]), (";", ["A", "B"]), (" ", ["A", "B"]), ("", ["A", "B"])],
)
def test_empty_parts_of_a_topic_list_are_ignored_in_consume_stats(peer: Peer, listed: str, topics: list[str]) -> None:
    """Empty parts of a topic list are ignored.

    A list with only empty parts means all topics with offsets of the group.
    """
    assert peer.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, b'{"groupName":"G"}').code == 0
    for topic in ("A", "B"):
        create(peer, topic, 1)
        ext = {"consumerGroup": "G", "topic": topic, "queueId": 0, "commitOffset": 0}
        assert peer.ask(RequestCode.UPDATE_CONSUMER_OFFSET, ext).code == 0
    response = peer.ask(RequestCode.GET_CONSUME_STATS, {"consumerGroup": "G", "topicList": listed})
    assert [topic for topic in ("A", "B") if f'"topic":"{topic}"'.encode() in response.body] == topics
