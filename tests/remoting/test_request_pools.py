"""Thread pools and remoting requests: the pool of each code, and the responses to requests that a pool rejects."""

from collections.abc import Mapping

import pytest
from remoting_harness import Peer, Port, create, send
from rocketmq_testkit.conformance.clients.remoting_consumption import pull_request
from rocketmq_testkit.conformance.clients.remoting_request import RemotingRequest, request
from rocketmq_testkit.emulator.config import BrokerConfig
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.overload.request_pools import BrokerPool, RefusalForm
from rocketmq_testkit.remoting.processors import PROCESSORS
from rocketmq_testkit.remoting.request.request_code import RequestCode

NOW = 1_700_000_000_000
PULL = pull_request("T", "G")
REQUESTS: Mapping[BrokerPool, RemotingRequest] = {
    BrokerPool.PULL: PULL,
    BrokerPool.LITE_PULL: PULL._replace(code=RequestCode.LITE_PULL_MESSAGE),
    BrokerPool.CONSUMER: request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "G"}),
    BrokerPool.ADMIN: request(RequestCode.GET_BROKER_CONFIG, {}),
}


def port(**keys: object) -> Port:
    """Return a port whose broker has these configuration keys (as attribute names)."""
    return Port(Engine(brokers=[BrokerConfig(**keys)], now_ms=NOW))  # type: ignore[arg-type]  # checked by the keys


@pytest.mark.parametrize("form", [form for form in RefusalForm if form is not RefusalForm.PC_SYNCHRONIZED])
def test_a_send_rejected_by_a_pool_returns_system_busy_without_ext_fields(form: RefusalForm) -> None:
    """A send that a pool rejects gets SYSTEM_BUSY without the region, unlike a send that the store rejects."""
    peer = port(request_refusals=f"send={form.name}").peer()
    response = send(peer, "T")
    assert (response.code, response.ext_fields) == (ResponseCode.SYSTEM_BUSY, None)
    assert response.remark is not None
    assert response.remark.startswith(f"[{form.name}]")


def test_a_send_rejected_by_the_store_returns_system_busy_with_the_region() -> None:
    """A send that the store rejects gets SYSTEM_BUSY with region and trace switch."""
    response = send(port(request_refusals="send=PC_SYNCHRONIZED").peer(), "T")
    assert response.code == ResponseCode.SYSTEM_BUSY
    assert set(response.ext_fields or {}) == {"MSG_REGION", "TRACE_ON"}


@pytest.mark.parametrize("pool", REQUESTS)
def test_a_pool_rejects_only_its_own_requests(pool: BrokerPool) -> None:
    peer = port(request_refusals=f"{pool.title}=OVERLOAD").peer()
    for other, asked in REQUESTS.items():
        response = peer.ask(*asked)
        assert (response.code == ResponseCode.SYSTEM_BUSY) is (other is pool)
        if other is pool:
            assert response.ext_fields is None


def test_a_pool_with_one_thread_sends_its_responses_one_after_the_other() -> None:
    """With one thread, each response is sent when the thread becomes free.

    Requests of other pools get their responses at once.
    """
    place = port(request_times="pull=100", pull_message_thread_pool_nums=1)
    peer = place.peer()
    create(peer, "T")
    assert peer.exchange(*PULL) == []
    assert peer.exchange(*PULL) == []
    assert send(peer, "T").code == 0
    for _ in range(2):
        assert peer.received() == []
        place.engine.scheduler.advance_to(place.engine.scheduler.now_ms + 100)
        [response] = peer.received()
        assert response.code == 0


def response_code(peer: Peer, version: int) -> int:
    """Return the response code for a client version."""
    return peer.ask(RequestCode.GET_BROKER_CONFIG, version=version).code


def test_go_away_is_sent_only_to_client_versions_that_know_it() -> None:
    """GO_AWAY is sent only to client versions that know it. A name server on the same port continues to serve."""
    peer = port(go_away_enable=True).peer()
    assert [response_code(peer, version) for version in (0, 475, 476, 479)] == [0, 0, 1500, 1500]
    assert [peer.ask(9999, version=version).code for version in (475, 476)] == [3, 1500]
    assert peer.ask(RequestCode.GET_BROKER_CLUSTER_INFO, version=479).code == 0


def test_a_request_code_without_a_pool_belongs_to_the_admin_pool() -> None:
    """A request code without a pool belongs to the admin pool, as in upstream's default processor."""
    assert PROCESSORS[RequestCode.UPDATE_AND_CREATE_TOPIC].pool is BrokerPool.ADMIN
    assert PROCESSORS[RequestCode.SEND_MESSAGE_V2].pool is BrokerPool.SEND
