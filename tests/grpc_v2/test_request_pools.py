"""Thread pools of the proxy: waiting requests, and requests for which there is no room."""

from typing import Any

import pytest
from grpc_world import Client, GrpcWorld, MemoryCall, a_message, a_receive, a_send
from rocketmq_testkit.emulator.config import BrokerConfig, ConfigError
from rocketmq_testkit.emulator.operations import UpdateBrokerConfig
from rocketmq_testkit.grpc_v2.config.proxy_config import ProxyConfig
from rocketmq_testkit.grpc_v2.pools import Pool
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv

ONE_PRODUCER: dict[str, Any] = {"grpc_producer_thread_pool_nums": 1, "grpc_producer_thread_queue_capacity": 1}


def limited(**keys: Any) -> GrpcWorld:
    """Return a world whose proxy has these keys, with topic T."""
    world = GrpcWorld(proxy=ProxyConfig(**keys))
    world.topic("T")
    return world


def sent(client: Client) -> MemoryCall:
    """Start a send."""
    return client.start("SendMessage", a_send(a_message()))


def status(call: MemoryCall) -> tuple[int, str]:
    """Return the status of a finished send."""
    assert call.finished
    response = sv.SendMessageResponse.FromString(call.sent[0])
    return response.status.code, response.status.message


def test_nobody_waits_unless_something_keeps_threads() -> None:
    """Without occupied threads no request waits, however few threads there are."""
    world = limited(**ONE_PRODUCER)
    client = world.client()
    assert [status(sent(client))[0] for _ in range(3)] == [pb.OK] * 3


@pytest.mark.parametrize("told", [True, False])
def test_a_request_for_which_there_is_no_room(told: bool) -> None:
    """A request without room gets no response in 5.3.3.

    Waiting requests are served, and other pools are not affected.
    """
    world = limited(grpc_request_times="producer=100", flow_limit_answer_enable=told, **ONE_PRODUCER)
    client = world.client()
    served, waits, too_many = (sent(client) for _ in range(3))
    if told:
        assert status(too_many) == (pb.TOO_MANY_REQUESTS, "flow limit")
    world.advance(99)
    assert not served.finished
    world.advance(1)
    assert status(served) == (pb.OK, "OK")
    assert not waits.finished
    assert client.ask("QueryRoute", sv.QueryRouteRequest(topic=pb.Resource(name="T"))).status.code == pb.OK
    world.advance(100)
    assert status(waits) == (pb.OK, "OK")
    world.advance(10_000)
    assert too_many.finished is told


def test_a_receive_that_waits_for_messages_keeps_no_thread() -> None:
    """A waiting receive occupies no thread: one thread serves any number of them."""
    world = limited(
        grpc_request_times="consumer=10", grpc_consumer_thread_pool_nums=1, grpc_consumer_thread_queue_capacity=3
    )
    client = world.consumer()
    receives = [client.receive(a_receive()) for _ in range(3)]
    world.advance(30)
    assert not any(each.call.finished for each in receives)
    world.store(b"m")
    assert sum(each.call.finished for each in receives) == 1


@pytest.mark.parametrize("pool", Pool)
def test_requests_are_refused_on_demand(pool: Pool) -> None:
    """A pool in grpcRequestRefusals rejects all its requests that have a client id."""
    world = limited(grpc_request_refusals=pool.title, flow_limit_answer_enable=True)
    requests: dict[str, Any] = {
        "QueryRoute": sv.QueryRouteRequest(),
        "SendMessage": a_send(a_message()),
        "ReceiveMessage": a_receive(),
        "Heartbeat": sv.HeartbeatRequest(),
        "EndTransaction": sv.EndTransactionRequest(),
    }
    for name, request in requests.items():
        call = world.client().start(name, request)
        refused = call.finished and b"flow limit" in b"".join(call.sent)
        assert refused is (name in pool.rpcs)
    assert world.client().start("SendMessage", a_send(a_message()), x_mq_client_id="").finished


def test_an_end_keeps_its_thread_while_a_slave_is_waited_for() -> None:
    """EndTransaction occupies its thread while it waits for a slave.

    The next request waits for the thread, and a further one is rejected.
    """
    config = BrokerConfig(slave_timeout=2_000)
    proxy = ProxyConfig(
        grpc_transaction_thread_pool_nums=1,
        grpc_transaction_thread_queue_capacity=1,
        flow_limit_answer_enable=True,
    )
    world = GrpcWorld(config, proxy=proxy)
    world.topic("T", kind="TRANSACTION")
    client = world.client()
    for name in ("a", "b", "c"):
        client.start("SendMessage", a_send(a_message(message_id=name, message_type=pb.TRANSACTION)))
    world.ask(UpdateBrokerConfig({"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2"}))

    def ended(name: str) -> MemoryCall:
        topic = pb.Resource(name="T")
        request = sv.EndTransactionRequest(topic=topic, transaction_id=name, message_id=name, resolution=pb.COMMIT)
        return client.start("EndTransaction", request)

    first, second, third = (ended(name) for name in ("a", "b", "c"))
    assert (first.finished, second.finished, third.finished) == (False, False, True)
    world.advance(2_000)
    assert (first.finished, second.finished) == (True, False)
    world.advance(2_000)
    assert second.finished


@pytest.mark.parametrize(
    "keys",
    [{"grpc_request_refusals": "send"}, {"grpc_request_times": "producer"}, {"grpc_request_times": "send=5"}],
)
def test_what_makes_no_sense_is_told(keys: dict[str, str]) -> None:
    """With what there is."""
    with pytest.raises(
        ConfigError, match=r"=send: not a pool; pools are route, producer|=(producer|send=5): not POOL="
    ):
        limited(**keys)
