"""Extreme values in a request's fields cause no unexpected exception, and other clients can still read everything."""

import sys

import pytest
from everything import check, read_everything
from extremes import exchange, odd_bodies, odd_exts, usual_body, usual_ext
from remoting_harness import Peer, Port, create, send
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.operations.groups import CreateGroup, GroupConfig
from rocketmq_testkit.remoting.processors import PROCESSORS
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.request.request_table import Processor

BLOCKS_MAX = 3_000_000
"""Maximum number of memory blocks that may remain. Without limits there are hundreds of millions."""
TIMERS_MAX = 5_000
"""Maximum number of timers that may remain."""


@pytest.fixture
def port() -> Port:
    """Return a port of a broker with a topic, a group and messages."""
    port = Port(Engine(now_ms=1_700_000_000_000))
    port.engine.execute(port.engine.brokers[0], CreateGroup(GroupConfig("G")))
    peer = port.peer()
    create(peer, "T", 2)
    for number in range(3):
        send(peer, "T", queue=number % 2, KEYS=f"k{number}")
    return port


@pytest.mark.parametrize("processor", PROCESSORS.values(), ids=lambda each: each.label)
def test_extreme_field_values_harm_no_other_client(port: Port, processor: Processor) -> None:
    """Each request with an extreme value gets a response or waits.

    Then another client reads everything that is readable.
    """
    blocks = sys.getallocatedblocks()
    attacker = port.peer()
    for ext in odd_exts(processor):
        check(exchange(attacker, processor.code, ext, usual_body(processor)))
    for body in odd_bodies(processor):
        check(exchange(attacker, processor.code, usual_ext(processor), body))
    assert port.log == []
    port.engine.scheduler.advance_to(port.engine.scheduler.now_ms + 60_000)
    assert sum(1 for _ in port.engine.scheduler.scheduled()) < TIMERS_MAX
    read_everything(port)
    assert port.log == []
    assert sys.getallocatedblocks() - blocks < BLOCKS_MAX


def test_a_surrogate_client_id_and_too_many_queues_do_not_break_later_requests(port: Port) -> None:
    """A heartbeat with a lone surrogate in the client id, and a topic with too many queues, harm no later request."""
    peer: Peer = port.peer()
    heartbeat = b'{"clientID":"\\ud800","consumerDataSet":[{"groupName":"G","subscriptionDataSet":[]}]}'
    exchange(peer, RequestCode.HEART_BEAT, {}, heartbeat)
    (response,) = exchange(port.peer(), RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "G"}, b"")
    assert response.body == b'{"consumerIdList":["?"]}'
    many = {**usual_ext(PROCESSORS[RequestCode.UPDATE_AND_CREATE_TOPIC]), "topic": "many"}
    del many["attributes"]
    many["readQueueNums"] = "16385"
    (response,) = exchange(peer, RequestCode.UPDATE_AND_CREATE_TOPIC, many, b"")
    assert (response.code, response.remark) == (
        29,
        "readQueueNums=16385: a topic of this emulator has at most 16384 queues; give fewer, "
        "or raise the key topicQueueNumsMax",
    )
    (response,) = exchange(peer, RequestCode.UPDATE_AND_CREATE_TOPIC, {**many, "readQueueNums": "16384"}, b"")
    assert response.code == 0
