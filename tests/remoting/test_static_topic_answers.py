"""Responses to mqadmin and clients about static topics."""

import json

import pytest
from remoting_harness import NOW, Peer, Port, send
from rocketmq_testkit.conformance.clients.remoting_consumption import pull_request
from rocketmq_testkit.conformance.clients.remoting_request import request
from rocketmq_testkit.conformance.clients.remoting_topics import topic_fields
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


@pytest.fixture
def port() -> Port:
    """Return a port of a broker and a name server."""
    return Port(Engine(now_ms=NOW))


@pytest.fixture
def peer(port: Port) -> Peer:
    """Return a client of the port, which has created a static topic."""
    made = port.peer()
    body = b'{"bname":"broker-a","currIdMap":{},"dirty":false,"epoch":7,"hostedQueues":{0:[%b]},"scope":"__global__",'
    body += b'"topic":"S","totalQueues":1}'
    fields = {**topic_fields("S", queues=2), "force": False}
    static = request(RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC, fields, body % json.dumps(PART).encode())
    response = made.ask(*static)
    assert response.code == 0
    return made


def test_topic_configurations_include_the_static_topic_mapping(peer: Peer) -> None:
    """With the field `lo`, a topic's configuration includes the mapping; the list of all topics always does."""
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


def test_a_route_maps_logical_to_physical_queue_ids_per_broker(peer: Peer) -> None:
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


def test_a_pull_of_a_static_topic_returns_the_offset_delta(peer: Peer) -> None:
    """A pull returns the offset delta, which clients add to the offsets in records. An empty result has no remark."""
    send(peer, "S")
    found = peer.ask(*pull_request("S", "G"))
    assert (found.code, found.remark, (found.ext_fields or {})["offsetDelta"]) == (0, "FOUND", "0")
    nothing = peer.ask(*pull_request("S", "G", offset=1))
    assert (nothing.code, nothing.remark, (nothing.ext_fields or {})["offsetDelta"]) == (19, None, "0")


def test_a_request_for_a_logical_queue_of_another_broker_returns_code_501(peer: Peer) -> None:
    response = peer.ask(RequestCode.GET_MAX_OFFSET, {"topic": "S", "queueId": 1})
    text = "S-1 does not exit in request process of current broker broker-a"
    assert (response.code, response.remark) == (501, text)
