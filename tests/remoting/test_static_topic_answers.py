"""Static topics in requests of mqadmin and clients."""

import json

import pytest
from remoting_world import NOW, Peer, Port, send
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire.lenient_json import loads

PART = {
    "bname": "broker-a",
    "endOffset": -1,
    "gen": 0,
    "logicOffset": 0,
    "queueId": 1,
    "startOffset": 0,
    "timeOfEnd": -1,
    "timeOfStart": -1,
}
HEADER = {
    "topic": "S",
    "defaultTopic": "TBW102",
    "readQueueNums": 2,
    "writeQueueNums": 2,
    "perm": 6,
    "topicFilterType": "SINGLE_TAG",
    "topicSysFlag": 0,
    "order": False,
    "force": False,
}


@pytest.fixture
def port() -> Port:
    """A broker and a name server on one port."""
    return Port(Engine(now_ms=NOW))


@pytest.fixture
def peer(port: Port) -> Peer:
    """A client of the port, with a static topic."""
    made = port.peer()
    body = b'{"bname":"broker-a","currIdMap":{},"dirty":false,"epoch":7,"hostedQueues":{0:[%b]},"scope":"__global__",'
    body += b'"topic":"S","totalQueues":1}'
    answer = made.ask(RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC, HEADER, body % json.dumps(PART).encode())
    assert answer.code == 0
    return made


def test_administrators_see_the_mapping(peer: Peer) -> None:
    """With `lo`, a topic's configuration includes the mapping. The list of all topics has it as well."""
    mapping = {
        "bname": "broker-a",
        "currIdMap": {},
        "dirty": False,
        "epoch": 7,
        "hostedQueues": {"0": [PART]},
        "scope": "__global__",
        "topic": "S",
        "totalQueues": 1,
    }
    config = loads(peer.ask(RequestCode.GET_TOPIC_CONFIG, {"topic": "S", "lo": "true"}).body.decode())
    assert config["mappingDetail"] == mapping
    assert b"mappingDetail" not in peer.ask(RequestCode.GET_TOPIC_CONFIG, {"topic": "S"}).body
    every = loads(peer.ask(RequestCode.GET_ALL_TOPIC_CONFIG).body.decode())
    assert every["topicQueueMappingDetailMap"] == {"S": mapping}
    assert every["mappingDataVersion"] == {"counter": 1, "stateVersion": 0, "timestamp": NOW}


def test_routes_say_where_logical_queues_lie(peer: Peer) -> None:
    """A route has, per broker, the logical queues with their physical queue ids."""
    asked = {"topic": "S", "acceptStandardJsonOnly": "true"}
    route = json.loads(peer.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, asked).body)
    assert route["topicQueueMappingByBroker"] == {
        "broker-a": {
            "bname": "broker-a",
            "currIdMap": {"0": 1},
            "dirty": False,
            "epoch": 7,
            "scope": "__global__",
            "topic": "S",
            "totalQueues": 1,
        }
    }


def test_a_pull_tells_by_how_much_offsets_differ(peer: Peer) -> None:
    """A pull returns the offset delta, which clients add to the offsets in records. An empty result has no remark."""
    send(peer, "S")
    ext = {"consumerGroup": "G", "topic": "S", "queueId": 0, "maxMsgNums": 32, "sysFlag": 4, "subscription": "*"}
    pull = {**ext, "commitOffset": 0, "suspendTimeoutMillis": 0, "subVersion": 0, "expressionType": "TAG"}
    found = peer.ask(RequestCode.PULL_MESSAGE, {**pull, "queueOffset": 0})
    assert (found.code, found.remark, (found.ext_fields or {})["offsetDelta"]) == (0, "FOUND", "0")
    nothing = peer.ask(RequestCode.PULL_MESSAGE, {**pull, "queueOffset": 1})
    assert (nothing.code, nothing.remark, (nothing.ext_fields or {})["offsetDelta"]) == (19, None, "0")


def test_a_queue_that_is_not_led_here(peer: Peer) -> None:
    """A request for a logical queue that another broker leads returns code 501."""
    answer = peer.ask(RequestCode.GET_MAX_OFFSET, {"topic": "S", "queueId": 1})
    text = "S-1 does not exit in request process of current broker broker-a"
    assert (answer.code, answer.remark) == (501, text)
