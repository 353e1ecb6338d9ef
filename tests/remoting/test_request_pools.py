"""Responses of thread pools to remoting clients: code and remark without ext fields; the pool of each code."""

from collections.abc import Mapping

import pytest
from remoting_world import Peer, Port, create, send
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.overload.request_pools import Form, Pool
from rocketmq_testkit.remoting.request.pool_of_code import pool_of
from rocketmq_testkit.remoting.request.request_code import RequestCode

NOW = 1_700_000_000_000
PULL = {
    "consumerGroup": "G",
    "topic": "T",
    "queueId": 0,
    "queueOffset": 0,
    "maxMsgNums": 32,
    "sysFlag": 4,
    "commitOffset": 0,
    "suspendTimeoutMillis": 0,
    "subscription": "*",
    "subVersion": 0,
}
REQUESTS: Mapping[Pool, tuple[RequestCode, Mapping[str, object]]] = {
    Pool.PULL: (RequestCode.PULL_MESSAGE, PULL),
    Pool.LITE_PULL: (RequestCode.LITE_PULL_MESSAGE, PULL),
    Pool.CONSUMER: (RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "G"}),
    Pool.ADMIN: (RequestCode.GET_BROKER_CONFIG, {}),
}


def port(**keys: object) -> Port:
    """Return a port whose broker has these keys."""
    return Port(Engine(brokers=[BrokerConfig(**keys)], now_ms=NOW))  # type: ignore[arg-type]  # checked by the keys


@pytest.mark.parametrize("form", [form for form in Form if form is not Form.PC_SYNCHRONIZED])
def test_a_send_that_is_turned_away(form: Form) -> None:
    """A send that a pool rejects gets SYSTEM_BUSY without the region, unlike a send that the store rejects."""
    peer = port(request_refusals=f"send={form.name}").peer()
    answer = send(peer, "T")
    assert (answer.code, answer.ext_fields) == (ResponseCode.SYSTEM_BUSY, None)
    assert answer.remark is not None
    assert answer.remark.startswith(f"[{form.name}]")


def test_a_send_that_the_store_refuses() -> None:
    """A send that the store rejects gets SYSTEM_BUSY with region and trace switch."""
    answer = send(port(request_refusals="send=PC_SYNCHRONIZED").peer(), "T")
    assert answer.code == ResponseCode.SYSTEM_BUSY
    assert set(answer.ext_fields or {}) == {"MSG_REGION", "TRACE_ON"}


@pytest.mark.parametrize("pool", REQUESTS)
def test_each_pool_turns_away_its_own(pool: Pool) -> None:
    """A pool rejects only its own requests; requests of other pools are served."""
    peer = port(request_refusals=f"{pool.title}=OVERLOAD").peer()
    for other, (code, ext) in REQUESTS.items():
        answer = peer.ask(code, ext)
        assert (answer.code == ResponseCode.SYSTEM_BUSY) is (other is pool)
        if other is pool:
            assert answer.ext_fields is None


def test_answers_come_when_threads_are_done() -> None:
    """With one thread, responses come in order as the thread becomes free.

    Requests of other pools get theirs at once.
    """
    place = port(request_times="pull=100", pull_message_thread_pool_nums=1)
    peer = place.peer()
    create(peer, "T")
    assert peer.exchange(RequestCode.PULL_MESSAGE, PULL) == []
    assert peer.exchange(RequestCode.PULL_MESSAGE, PULL) == []
    assert send(peer, "T").code == 0
    for _ in range(2):
        assert peer.received() == []
        place.engine.scheduler.advance_to(place.engine.scheduler.now_ms + 100)
        [answer] = peer.received()
        assert answer.code == 0


def told(peer: Peer, version: int) -> int:
    """Return the response code for a client version."""
    return peer.ask(RequestCode.GET_BROKER_CONFIG, version=version).code


def test_clients_are_told_to_go_by_their_version() -> None:
    """GO_AWAY is sent only to client versions that know it. A name server on the same port continues to serve."""
    peer = port(go_away_enable=True).peer()
    assert [told(peer, version) for version in (0, 475, 476, 479)] == [0, 0, 1500, 1500]
    assert [peer.ask(9999, version=version).code for version in (475, 476)] == [3, 1500]
    assert peer.ask(RequestCode.GET_BROKER_CLUSTER_INFO, version=479).code == 0


def test_what_is_of_no_pool_is_administration() -> None:
    """A request code without a pool belongs to the admin pool, as in upstream's default processor."""
    assert pool_of(RequestCode.UPDATE_AND_CREATE_TOPIC) is Pool.ADMIN
    assert pool_of(RequestCode.SEND_MESSAGE_V2) is Pool.SEND
