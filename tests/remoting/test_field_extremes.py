"""Whatever value a field of a request holds, nothing fails inside, and what lists it stays readable for others."""

import io
import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from extremes import READERS, exchange, odd_bodies, odd_exts, usual_body, usual_ext
from remoting_world import Peer, Port, create, send
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.operations import CreateGroup, GroupConfig
from rocketmq_testkit.emulator.snapshot import read_snapshot, write_snapshot
from rocketmq_testkit.fixtures.control.json_form import entry, jsonable
from rocketmq_testkit.fixtures.direct import Direct
from rocketmq_testkit.remoting.bodies.reading import loads
from rocketmq_testkit.remoting.command import RemotingCommand
from rocketmq_testkit.remoting.processors import PROCESSORS
from rocketmq_testkit.remoting.request_code import RequestCode
from rocketmq_testkit.remoting.table import Processor

BODY_MAX = 4 * 1024 * 1024
BLOCKS_MAX = 3_000_000
"""Objects of Python that may be held after all of that: without bounds it is hundreds of millions."""
TIMERS_MAX = 5_000
_BINARY = (RequestCode.GET_TIMER_CHECK_POINT, RequestCode.QUERY_MESSAGE, RequestCode.VIEW_MESSAGE_BY_ID)


@pytest.fixture
def port() -> Port:
    """A broker with a topic, a group and messages."""
    port = Port(Engine(now_ms=1_700_000_000_000))
    port.engine.ask(port.engine.brokers[0], CreateGroup(GroupConfig("G")))
    peer = port.peer()
    create(peer, "T", 2)
    for number in range(3):
        send(peer, "T", queue=number % 2, KEYS=f"k{number}")
    return port


@pytest.mark.parametrize("processor", PROCESSORS.values(), ids=lambda each: each.label)
def test_extremes_of_every_field(port: Port, processor: Processor) -> None:
    """Each request is answered or waits; then all that can be read is read by another client."""
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


def read_everything(port: Port) -> None:
    """Every request that only looks, the direct interface's lists, the journal and a snapshot."""
    reader = port.peer()
    for code in reading_codes():
        processor = PROCESSORS[code]
        for answer in exchange(reader, code, usual_ext(processor), usual_body(processor)):
            if answer.body and code not in _BINARY and not code.name.startswith(("PULL", "POP", "PEEK", "LITE")):
                decoded(code, answer.body)
            check([answer])
    for group in list(port.engine.brokers[0].groups.table):
        for code in (RequestCode.GET_CONSUMER_CONNECTION_LIST, RequestCode.GET_CONSUMER_LIST_BY_GROUP):
            check(exchange(reader, code, {"consumerGroup": group}, b""))
    for topic in list(port.engine.brokers[0].topics.table):
        for code in (RequestCode.GET_ROUTEINFO_BY_TOPIC, RequestCode.GET_TOPIC_STATS_INFO):
            check(exchange(reader, code, {"topic": topic}, b""))
    direct = Direct(port.engine)
    for listed in (direct.topics(system=True), direct.groups(system=True), direct.members()):
        json.dumps(jsonable(listed)) if not isinstance(listed, list) else [
            json.dumps(jsonable(each)) for each in listed
        ]
    for topic in direct.topics(system=True):
        json.dumps([jsonable(message) for message in direct.messages(topic)])
    for index, line in enumerate(direct.journal):
        json.dumps(entry(index, line))
    file = io.BytesIO()
    write_snapshot(port.engine.state(), file)
    file.seek(0)
    Engine(state=read_snapshot(file))


def reading_codes() -> Iterator[RequestCode]:
    """Codes that change nothing."""
    for processor in PROCESSORS.values():
        if processor.code.name.startswith(READERS):
            yield processor.code


def decoded(code: RequestCode, body: bytes) -> Any:
    """A body as another client reads it: UTF-8, JSON unless it is a text of properties."""
    text = body.decode()
    return text if code.name.endswith("_CONFIG") and not text.startswith("{") else loads(body)


def check(answers: list[RemotingCommand]) -> None:
    """No answer is larger than a client takes, and none shows an exception of Python."""
    for answer in answers:
        assert len(answer.body) < BODY_MAX
        assert not (answer.remark or "").startswith(("TypeError", "ValueError", "OverflowError", "KeyError"))


def test_the_next_client_is_served_as_before(port: Port) -> None:
    """The attacks that once broke the lists of all."""
    peer: Peer = port.peer()
    heartbeat = b'{"clientID":"\\ud800","consumerDataSet":[{"groupName":"G","subscriptionDataSet":[]}]}'
    exchange(peer, RequestCode.HEART_BEAT, {}, heartbeat)
    (answer,) = exchange(port.peer(), RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "G"}, b"")
    assert answer.body == b'{"consumerIdList":["?"]}'
    many = {**usual_ext(PROCESSORS[RequestCode.UPDATE_AND_CREATE_TOPIC]), "topic": "many"}
    del many["attributes"]
    many["readQueueNums"] = "16385"
    (answer,) = exchange(peer, RequestCode.UPDATE_AND_CREATE_TOPIC, many, b"")
    assert (answer.code, answer.remark) == (
        29,
        "readQueueNums=16385: a topic of this emulator has at most 16384 queues; give fewer, "
        "or raise the key topicQueueNumsMax",
    )
    (answer,) = exchange(peer, RequestCode.UPDATE_AND_CREATE_TOPIC, {**many, "readQueueNums": "16384"}, b"")
    assert answer.code == 0
