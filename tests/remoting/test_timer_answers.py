"""Responses about delayed and timed messages, with the fields and bodies recorded from a real 5.3.3."""

import json
import struct

import pytest
from remoting_harness import NOW, Peer, Port, create, send
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.remoting.client import batch_body, properties_text
from rocketmq_testkit.remoting.processors.send import SendMessageRequestHeaderV2
from rocketmq_testkit.remoting.request.request_code import RequestCode


@pytest.fixture
def port() -> Port:
    """Return a port of a broker and a name server."""
    return Port(Engine(now_ms=NOW))


@pytest.fixture
def peer(port: Port) -> Peer:
    """Return a client of the port."""
    return port.peer()


def test_the_timer_check_point_has_seven_numbers(port: Port, peer: Peer) -> None:
    """The body has seven numbers of eight bytes, in upstream's order (TimerCheckpoint).

    They are: the last second that the timer read, the size of the timer log, the number of messages that the timer
    accepted, the same number of the master, and a data version: state version, timestamp and counter.
    """
    create(peer, "X")
    send(peer, "X", TIMER_DELAY_MS="60000")
    port.engine.scheduler.advance_to(NOW + 2500)
    response = peer.ask(RequestCode.GET_TIMER_CHECK_POINT)
    assert (response.code, response.remark, response.ext_fields) == (0, None, None)
    assert struct.unpack(">7q", response.body) == (NOW + 2000, 52, 1, 1, 0, NOW + 2000, 3)


def test_timer_metrics_have_a_count_per_topic_and_a_table_version(peer: Peer) -> None:
    create(peer, "X")
    nothing = peer.ask(RequestCode.GET_TIMER_METRICS).body
    version = {"counter": 0, "stateVersion": 0, "timestamp": NOW}
    assert json.loads(nothing) == {"dataVersion": version, "timingCount": {}}
    send(peer, "X", TIMER_DELAY_MS="60000")
    response = peer.ask(RequestCode.GET_TIMER_METRICS)
    assert (response.code, response.remark, response.ext_fields) == (0, None, None)
    counted = {"X": {"count": 1, "timeStamp": NOW}}
    assert json.loads(response.body) == {"dataVersion": {**version, "counter": 1}, "timingCount": counted}


def test_delay_offsets_have_unquoted_level_numbers_as_keys(port: Port, peer: Peer) -> None:
    create(peer, "X")
    send(peer, "X", DELAY="2")
    port.engine.scheduler.advance_to(NOW + 6000)
    response = peer.ask(RequestCode.GET_ALL_DELAY_OFFSET)
    assert (response.code, response.remark, response.ext_fields) == (0, None, None)
    version = b'{"counter":0,"stateVersion":0,"timestamp":%d}' % NOW
    assert response.body == b'{"dataVersion":%b,"offsetTable":{2:1}}' % version


def test_a_timed_batch_has_no_recall_handle_with_the_batch_request_code(peer: Peer) -> None:
    """A timed batch has no recall handle with the request code of batches, and has one with another code."""
    create(peer, "X")
    header = SendMessageRequestHeaderV2(
        producer_group="PG",
        topic="X",
        queue_id=0,
        sys_flag=0,
        born_timestamp=NOW,
        flag=0,
        properties=properties_text({"TIMER_DELAY_SEC": "60", "UNIQ_KEY": "U"}),
        batch=True,
    )
    for code, handle in ((RequestCode.SEND_BATCH_MESSAGE, False), (RequestCode.SEND_MESSAGE_V2, True)):
        response = peer.ask(code, header, batch_body([(b"a", {})]))
        assert (response.code, "recallHandle" in (response.ext_fields or {})) == (0, handle)
