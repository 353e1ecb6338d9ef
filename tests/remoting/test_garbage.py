"""Requests leave no reference cycles: their objects are freed at once, not when the garbage collector runs."""

from collections.abc import Callable

import pytest
from garbage import ROUNDS, cyclic_garbage
from remoting_harness import Peer, Port, create, send
from rocketmq_testkit.emulator.config import BrokerConfig, EmulationConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.remoting.request.request_code import RequestCode

PULL = {"consumerGroup": "G", "topic": "T", "queueId": "0", "queueOffset": "0", "maxMsgNums": "32", "sysFlag": "4",
        "commitOffset": "0", "suspendTimeoutMillis": "0", "subVersion": "0", "subscription": "*"}  # fmt: skip
POP = {"consumerGroup": "G", "topic": "T", "queueId": "0", "maxMsgNums": "1", "invisibleTime": "60000", "pollTime": "0",
       "bornTime": "1700000000000", "initMode": "0"}  # fmt: skip
HEARTBEAT = b'{"clientID":"c","consumerDataSet":[{"groupName":"G","subscriptionDataSet":[{"topic":"T"}]}]}'


def acknowledged(peer: Peer) -> None:
    """Pop a message and acknowledge it."""
    send(peer, "T")
    popped = peer.ask(RequestCode.POP_MESSAGE, POP).ext_fields
    assert popped is not None
    offset = popped["msgOffsetInfo"].split(" ")[-1]
    times = f"{popped['popTime']} {popped['invisibleTime']} {popped['reviveQid']}"
    handle = f"{offset} {times} 0 broker-a 0 {offset}"
    ack = {"consumerGroup": "G", "topic": "T", "queueId": "0", "offset": offset, "extraInfo": handle}
    assert peer.ask(RequestCode.ACK_MESSAGE, ack).code == 0


def waiting(peer: Peer) -> None:
    """Start a pull that waits at the end of the queue, and send the message that ends the wait."""
    found = peer.ask(RequestCode.GET_MAX_OFFSET, {"topic": "T", "queueId": "0"}).ext_fields
    assert found is not None
    pull = {**PULL, "queueOffset": found["offset"], "sysFlag": "6", "suspendTimeoutMillis": "15000"}
    assert peer.exchange(RequestCode.PULL_MESSAGE, pull) == []
    send = {"a": "P", "b": "T", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0", "i": ""}
    assert [response.code for response in peer.exchange(RequestCode.SEND_MESSAGE_V2, send, b"m")] == [0, 0]


WORK: dict[str, Callable[[Peer], object]] = {
    "send": lambda peer: send(peer, "T", KEYS="k"),
    "send to a queue that does not exist": lambda peer: send(peer, "T", queue=99),
    "send without a body": lambda peer: send(peer, "T", b""),
    "send to a topic that does not exist": lambda peer: send(peer, "missing"),
    "pull": lambda peer: peer.ask(RequestCode.PULL_MESSAGE, PULL),
    "pull that waits": waiting,
    "pull of nothing": lambda peer: peer.ask(RequestCode.PULL_MESSAGE, {**PULL, "queueOffset": "1"}),
    "pull of a topic that does not exist": lambda peer: peer.ask(RequestCode.PULL_MESSAGE, {**PULL, "topic": "x"}),
    "pop and acknowledgement": acknowledged,
    "pop of a topic that does not exist": lambda peer: peer.ask(RequestCode.POP_MESSAGE, {**POP, "topic": "x"}),
    "heartbeat": lambda peer: peer.exchange(RequestCode.HEART_BEAT, {}, HEARTBEAT),
    "heartbeat that is no JSON": lambda peer: peer.ask(RequestCode.HEART_BEAT, {}, b"{"),
    "header without a field": lambda peer: peer.ask(RequestCode.PULL_MESSAGE, {}),
    "unknown code": lambda peer: peer.ask(9_999),
    "route": lambda peer: peer.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}),
    "route of a topic that does not exist": lambda peer: peer.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "x"}),
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_a_request_leaves_no_reference_cycles(work: Callable[[Peer], object]) -> None:
    """After many requests whose journal entries were dropped, the collector finds less than one object per request."""
    config = BrokerConfig(auto_create_topic_enable=False)
    port = Port(Engine(now_ms=1_700_000_000_000, brokers=[config], emulation=EmulationConfig(journal_max_entries=5)))
    peer = port.peer()
    create(peer, "T")
    send(peer, "T")
    assert cyclic_garbage(lambda: work(peer)) < ROUNDS


def test_a_reference_cycle_of_each_round_is_counted() -> None:
    """The measure of these tests counts a cycle, also if an older object has kept it for a round."""
    kept: list[object] = []

    def work() -> None:
        cycle: list[object] = []
        cycle.append(cycle)
        kept[:] = [[cycle]]

    assert cyclic_garbage(work) == ROUNDS
