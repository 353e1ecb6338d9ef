"""Thread pools of the proxy: waiting requests, and requests for which there is no room."""

from collections.abc import Callable
from typing import Any

import pytest
from fault_rules import Rules
from grpc_harness import Client, GrpcHarness, MemoryCall, a_message, a_receive, a_send
from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.config import BrokerConfig, ConfigError
from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.faults.fault import Fault
from rocketmq_testkit.emulator.faults.kinds.cluster import Partition
from rocketmq_testkit.emulator.faults.kinds.requests import DelayRequest, DropRequest
from rocketmq_testkit.emulator.faults.kinds.responses import DropResponse, Respond
from rocketmq_testkit.emulator.operations.cluster import UpdateBrokerConfig
from rocketmq_testkit.grpc_v2.config.pools import ProxyPool
from rocketmq_testkit.grpc_v2.config.proxy_config import ProxyConfig
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv
from rocketmq_testkit.grpc_v2.services import rpcs_of

ONE_PRODUCER: dict[str, Any] = {"grpc_producer_thread_pool_nums": 1, "grpc_producer_thread_queue_capacity": 1}


def limited(**keys: Any) -> GrpcHarness:
    """Return a harness with topic T whose proxy has these configuration keys (as attribute names)."""
    harness = GrpcHarness(proxy=ProxyConfig(**keys))
    harness.topic("T")
    return harness


def sent(client: Client) -> MemoryCall:
    """Start a send."""
    return client.start("SendMessage", a_send(a_message()))


def status(call: MemoryCall) -> tuple[int, str]:
    """Return the status of a finished send."""
    assert call.finished
    response = sv.SendMessageResponse.FromString(call.sent[0])
    return response.status.code, response.status.message


def commit(client: Client, name: str) -> MemoryCall:
    """Commit a half message."""
    topic = pb.Resource(name="T")
    request = sv.EndTransactionRequest(topic=topic, transaction_id=name, message_id=name, resolution=pb.COMMIT)
    return client.start("EndTransaction", request)


def test_no_request_waits_while_no_thread_is_occupied() -> None:
    """Without occupied threads no request waits, even with one thread."""
    harness = limited(**ONE_PRODUCER)
    client = harness.client()
    assert [status(sent(client))[0] for _ in range(3)] == [pb.OK] * 3


@pytest.mark.parametrize("responds", [True, False])
def test_a_request_without_room_in_its_pool_gets_no_response_or_too_many_requests(responds: bool) -> None:
    """A request without room gets no response in 5.3.3, and TOO_MANY_REQUESTS with `flowLimitAnswerEnable`.

    Waiting requests are served, and other pools are not affected.
    """
    harness = limited(grpc_request_times="producer=100", flow_limit_answer_enable=responds, **ONE_PRODUCER)
    client = harness.client()
    served, waits, too_many = (sent(client) for _ in range(3))
    if responds:
        assert status(too_many) == (pb.TOO_MANY_REQUESTS, "flow limit")
    harness.advance(99)
    assert not served.finished
    harness.advance(1)
    assert status(served) == (pb.OK, "OK")
    assert not waits.finished
    assert client.ask("QueryRoute", sv.QueryRouteRequest(topic=pb.Resource(name="T"))).status.code == pb.OK
    harness.advance(100)
    assert status(waits) == (pb.OK, "OK")
    harness.advance(10_000)
    assert too_many.finished is responds


def test_a_waiting_receive_occupies_no_thread() -> None:
    """A waiting receive occupies no thread: one thread serves any number of them."""
    harness = limited(
        grpc_request_times="consumer=10", grpc_consumer_thread_pool_nums=1, grpc_consumer_thread_queue_capacity=3
    )
    client = harness.consumer()
    receives = [client.receive(a_receive()) for _ in range(3)]
    harness.advance(30)
    assert not any(each.call.finished for each in receives)
    harness.store(b"m")
    assert sum(each.call.finished for each in receives) == 1


@pytest.mark.parametrize("pool", ProxyPool)
def test_a_pool_in_grpc_request_refusals_rejects_its_requests(pool: ProxyPool) -> None:
    """A pool in grpcRequestRefusals rejects all its requests that have a client id."""
    harness = limited(grpc_request_refusals=pool.title, flow_limit_answer_enable=True)
    requests: dict[str, Any] = {
        "QueryRoute": sv.QueryRouteRequest(),
        "SendMessage": a_send(a_message()),
        "ReceiveMessage": a_receive(),
        "Heartbeat": sv.HeartbeatRequest(),
        "EndTransaction": sv.EndTransactionRequest(),
    }
    for name, request in requests.items():
        call = harness.client().start(name, request)
        refused = call.finished and b"flow limit" in b"".join(call.sent)
        assert refused is (name in rpcs_of(pool))
    assert harness.client().start("SendMessage", a_send(a_message()), x_mq_client_id="").finished


def test_end_transaction_occupies_its_thread_while_it_waits_for_a_slave() -> None:
    """EndTransaction occupies its thread while it waits for a slave.

    The next request waits for the thread, and a further one is rejected.
    """
    config = BrokerConfig(slave_timeout=2_000)
    proxy = ProxyConfig(
        grpc_transaction_thread_pool_nums=1,
        grpc_transaction_thread_queue_capacity=1,
        flow_limit_answer_enable=True,
    )
    harness = GrpcHarness(config, proxy=proxy)
    harness.topic("T", kind="TRANSACTION")
    client = harness.client()
    for name in ("a", "b", "c"):
        client.start("SendMessage", a_send(a_message(message_id=name, message_type=pb.TRANSACTION)))
    harness.ask(UpdateBrokerConfig({"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2"}))

    first, second, third = (commit(client, name) for name in ("a", "b", "c"))
    assert (first.finished, second.finished, third.finished) == (False, False, True)
    harness.advance(2_000)
    assert (first.finished, second.finished) == (True, False)
    harness.advance(2_000)
    assert second.finished


def with_half_messages(*names: str) -> tuple[GrpcHarness, Client]:
    """Return a harness with half messages, one thread for EndTransaction and room for one that waits; and a client."""
    proxy = ProxyConfig(
        grpc_request_times="route=1",
        grpc_transaction_thread_pool_nums=1,
        grpc_transaction_thread_queue_capacity=1,
    )
    harness = GrpcHarness(proxy=proxy)
    harness.topic("T", kind="TRANSACTION")
    client = harness.client()
    for name in names:
        client.start("SendMessage", a_send(a_message(message_id=name, message_type=pb.TRANSACTION)))
    return harness, client


@pytest.mark.parametrize("fault", [DropRequest(), Partition("client-1"), Partition(address="10.0.0.7")], ids=str)
def test_a_commit_that_a_rule_loses_occupies_no_thread(fault: Fault) -> None:
    """After the rule, the next commit finds the thread free."""
    harness, client = with_half_messages("a", "b")
    rules = Rules(harness.engine)
    rule = rules.add(fault)
    lost = commit(client, "a")
    assert (rule.fired, lost.finished) == (1, False)
    rules.remove(rule)
    assert commit(client, "b").finished


def test_a_response_that_a_rule_replaces_by_a_code_releases_its_thread_once() -> None:
    """The proxy keeps its single thread: while a rule delays a commit, the next one waits for the thread."""
    harness, client = with_half_messages("a", "b", "c")
    rules = Rules(harness.engine)
    rules.add(DropResponse("INTERNAL_SERVER_ERROR"), operation="EndTransaction", times=1)
    assert commit(client, "a").finished
    rules.add(DelayRequest("1s"), operation="EndTransaction", times=1)
    delayed, waiting = commit(client, "b"), commit(client, "c")
    assert (delayed.finished, waiting.finished) == (False, False)
    harness.advance(1_000)
    assert (delayed.finished, waiting.finished) == (True, True)


def test_a_refusal_of_a_canceled_commit_by_a_rule_releases_its_thread() -> None:
    """The client cancels while a rule delays its request; a second rule refuses the request at the end of the delay."""
    harness, client = with_half_messages("a", "b")
    rules = Rules(harness.engine)
    rules.add(DelayRequest("1s"), operation="EndTransaction", times=1)
    refusing = rules.add(Respond("INTERNAL_SERVER_ERROR"), operation="EndTransaction", times=1)
    commit(client, "a").cancel()
    harness.advance(1_000)
    assert refusing.fired == 1
    assert commit(client, "b").finished


@pytest.mark.parametrize("end", [Engine.crash, Engine.restart, Engine.stop], ids=["crash", "restart", "stop"])
def test_a_commit_that_is_lost_with_the_run_of_its_broker_occupies_no_thread(
    end: Callable[[Engine, Broker], None],
) -> None:
    """A commit that a rule delays is lost when the broker stops, crashes or restarts. The next one gets the thread."""
    harness, client = with_half_messages("a", "b")
    Rules(harness.engine).add(DelayRequest("1h"), operation="EndTransaction", times=1)
    delayed, waiting = commit(client, "a"), commit(client, "b")
    assert not waiting.finished
    end(harness.engine, harness.broker)
    assert (delayed.finished, waiting.finished) == (False, True)


def test_a_delayed_commit_to_a_stopped_broker_occupies_no_thread() -> None:
    """It is lost at once."""
    harness, client = with_half_messages("a", "b")
    harness.engine.stop(harness.broker)
    rule = Rules(harness.engine).add(DelayRequest("1h"), operation="EndTransaction", times=1)
    commit(client, "a")
    assert rule.fired == 1
    assert commit(client, "b").finished


def test_a_commit_that_the_proxy_refuses_and_a_rule_delays_occupies_no_thread_after_a_restart_of_the_proxy() -> None:
    """The request is lost with the run of the proxy."""
    harness, client = with_half_messages("b")
    Rules(harness.engine).add(DelayRequest("1h"), operation="EndTransaction", times=1)
    delayed, waiting = commit(client, ""), commit(client, "b")
    assert not waiting.finished
    harness.service.discard()
    assert (delayed.finished, waiting.finished) == (False, True)


def test_a_commit_that_waits_for_a_slave_occupies_no_thread_after_a_crash_of_the_broker() -> None:
    """The commit is lost in the crash. The next one gets its thread."""
    proxy = ProxyConfig(grpc_transaction_thread_pool_nums=1, grpc_transaction_thread_queue_capacity=1)
    harness = GrpcHarness(BrokerConfig(slave_timeout=2_000), proxy=proxy)
    harness.topic("T", kind="TRANSACTION")
    client = harness.client()
    for name in ("a", "b"):
        client.start("SendMessage", a_send(a_message(message_id=name, message_type=pb.TRANSACTION)))
    harness.ask(UpdateBrokerConfig({"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2"}))
    first = commit(client, "a")
    assert not first.finished
    harness.engine.crash()
    second = commit(client, "b")
    harness.advance(2_000)
    assert second.finished


@pytest.mark.parametrize(
    ("keys", "error"),
    [
        ({"grpc_request_refusals": "send"}, "grpcRequestRefusals=send: send is no pool; pools are route, producer, "),
        ({"grpc_request_times": "producer"}, "grpcRequestTimes=producer: not POOL=MILLISECONDS; pools are route, "),
        ({"grpc_request_times": "send=5"}, "grpcRequestTimes=send=5: send is no pool; pools are route, producer, "),
        ({"grpc_request_times": "producer=-1"}, "grpcRequestTimes=producer=-1: -1 is no time; a time is a whole "),
    ],
)
def test_an_invalid_pool_or_time_raises_config_error_that_names_the_wrong_part(
    keys: dict[str, str], error: str
) -> None:
    with pytest.raises(ConfigError, match=error):
        limited(**keys)
