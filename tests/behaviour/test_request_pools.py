"""Thread pools: requests that wait for a thread, requests that are rejected, and requests that are not affected.

A broker has pools for requests of its own protocol. The proxy calls the broker directly and has pools of its own.
"""

import pytest
from protocol_client import BrokerProtocolClient, ProtocolClient
from protocol_clients import through
from protocol_values import Sent

PROTOCOLS = ("remoting", "grpc")
"""Protocol clients that use thread pools. Direct calls of the engine do not."""
ONE_THREAD = {
    "send_message_thread_pool_nums": 1,
    "send_thread_pool_queue_capacity": 2,
    "grpc_producer_thread_pool_nums": 1,
    "grpc_producer_thread_queue_capacity": 2,
    "flow_limit_answer_enable": True,
}
SEND_TAKES_50 = {"request_times": "send=50", "grpc_request_times": "producer=50", **ONE_THREAD}
COMMIT = 8
FIRST_QUEUE_CHECK_MS = 1_000
"""Time from the start of a broker until it first checks the queues of its thread pools."""
CLEANED = "[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: {}ms, size of queue: {}"


def no_room(e: ProtocolClient, sent: Sent | None) -> bool:
    """Return True if a send was rejected because the queue of its pool is full."""
    return e.is_error(sent, (2, "[OVERLOAD]system busy, start flow control for a while"), (42900, "flow limit"))


def bodies(e: ProtocolClient) -> list[bytes]:
    """Return the stored bodies."""
    return [record.body for record in e.records("T")]


@through(*PROTOCOLS, **ONE_THREAD)
def test_no_request_waits_while_no_thread_is_occupied(e: ProtocolClient) -> None:
    """A pool of one thread serves any number of requests at once unless something keeps its thread busy."""
    e.topic()
    e.send(*(b"%d" % number for number in range(10)))
    assert len(bodies(e)) == len(e.bodies())


@through(*PROTOCOLS, **SEND_TAKES_50)
def test_with_a_service_time_requests_are_stored_one_after_another(e: ProtocolClient) -> None:
    """With a service time, requests of a pool of one thread are stored one after another, each after its own time."""
    e.topic()
    waiting = [e.start_send(b"%d" % number) for number in range(3)]
    for number, each in enumerate(waiting):
        e.advance(49)
        assert each.sent is None
        assert len(bodies(e)) == number
        e.advance(1)
        assert each.sent is not None
        assert each.sent.ok
    assert bodies(e) == [b"0", b"1", b"2"]


@through(*PROTOCOLS, **SEND_TAKES_50)
def test_a_request_that_finds_its_queue_full_is_rejected_at_once(e: ProtocolClient) -> None:
    """A request that finds the queue of its pool full is rejected at once and stores nothing.

    Queued requests are served, which makes room again.
    """
    e.topic()
    waiting = [e.start_send(b"%d" % number) for number in range(3)]
    assert no_room(e, e.start_send(b"too many").sent)
    e.advance(50)
    waiting.append(e.start_send(b"3"))
    e.advance(150)
    assert all(each.sent is not None and each.sent.ok for each in waiting)
    assert bodies(e) == [b"0", b"1", b"2", b"3"]


@through("grpc", **(SEND_TAKES_50 | {"flow_limit_answer_enable": False}))
def test_without_flow_limit_answer_the_proxy_does_not_respond_if_a_queue_is_full(e: ProtocolClient) -> None:
    """Without flowLimitAnswerEnable the proxy, as in 5.3.3, does not respond to a request that finds the queue full."""
    e.topic()
    waiting = [e.start_send(b"%d" % number) for number in range(4)]
    e.advance(60_000)
    assert [each.sent is not None for each in waiting] == [True, True, True, False]
    assert bodies(e) == [b"0", b"1", b"2"]


@through("remoting", request_times="send=5000", os_page_cache_busy_time_out_mills=9_000, **ONE_THREAD)
def test_a_request_queued_for_more_than_200_ms_is_rejected(e: BrokerProtocolClient) -> None:
    """A request queued for more than 200 ms is rejected at the next check of the queue, every 10 ms.

    The request in service continues.
    """
    e.topic()
    e.advance(FIRST_QUEUE_CHECK_MS + 3)
    served, first = e.start_send(b"served"), e.start_send(b"first")
    e.advance(8)
    second = e.start_send(b"second")
    e.advance(198)
    assert first.sent is None
    e.advance(1)
    assert first.sent is not None
    assert (first.sent.code, first.sent.remark) == (2, CLEANED.format(207, 1))
    assert second.sent is None
    e.advance(10)
    assert second.sent is not None
    assert (second.sent.code, second.sent.remark) == (2, CLEANED.format(209, 0))
    e.advance(5_000)
    assert served.sent is not None
    assert served.sent.ok
    assert bodies(e) == [b"served"]


@through("grpc", grpc_request_times="producer=5000", **ONE_THREAD)
def test_the_proxy_never_times_out_queued_requests(e: ProtocolClient) -> None:
    e.topic()
    waiting = [e.start_send(b"0"), e.start_send(b"1")]
    e.advance(9_999)
    assert waiting[1].sent is None
    e.advance(1)
    assert waiting[1].sent is not None
    assert waiting[1].sent.ok


@through(*PROTOCOLS, **SEND_TAKES_50)
def test_a_full_producer_pool_does_not_delay_requests_of_consumers(e: ProtocolClient) -> None:
    e.topic()
    e.store(b"there")
    waiting = [e.start_send(b"%d" % number) for number in range(3)]
    (message,) = e.take()
    assert message.body == b"there"
    assert e.ack(message.handle).ok
    e.heartbeat("consumer")
    assert e.members() != []
    assert [each.sent for each in waiting] == [None] * 3


@through(
    *PROTOCOLS,
    request_times="pull=10",
    pull_message_thread_pool_nums=1,
    pull_thread_pool_queue_capacity=3,
    grpc_request_times="consumer=10",
    grpc_consumer_thread_pool_nums=1,
    grpc_consumer_thread_queue_capacity=3,
)
def test_a_waiting_pop_occupies_no_thread(e: ProtocolClient) -> None:
    """A waiting pop occupies no thread, and its messages do not pass through the pool again."""
    e.topic()
    for group in "GHIJ":
        e.group(group)
    waiting = [e.pop(group=group, client=group, poll_ms=20_000) for group in "GHIJ"]
    e.advance(40)
    assert [each.response for each in waiting] == [None] * 4
    e.store(b"0")
    assert all(each.response is not None and each.response.bodies == [b"0"] for each in waiting)


@through(
    *PROTOCOLS,
    slave_timeout=2_000,
    end_transaction_thread_pool_nums=1,
    end_transaction_pool_queue_capacity=1,
    grpc_transaction_thread_pool_nums=1,
    grpc_transaction_thread_queue_capacity=1,
    flow_limit_answer_enable=True,
)
def test_a_commit_occupies_its_thread_while_it_waits_for_a_slave(e: ProtocolClient) -> None:
    """A commit that waits for a slave occupies its thread, so that the next one queues and a third is rejected.

    Sends have a pool of their own.
    """
    e.topic(kind="TRANSACTION")
    halves = [e.put(b"%d" % number, half=True) for number in range(3)]
    e.configure(brokerRole="SYNC_MASTER", inSyncReplicas="2")
    first, second, third = (e.start_end(half, COMMIT) for half in halves)
    assert (first.response, second.response) == (None, None)
    broker, proxy = (2, "[OVERLOAD]system busy"), (42900, "flow limit")
    assert e.is_error(third.response, broker, proxy), third.response
    assert bodies(e) == [b"0"]
    e.advance(2_000)
    assert first.response is not None
    assert first.response.ok
    assert second.response is None
    assert bodies(e) == [b"0", b"1"]
    e.advance(2_000)
    assert second.response is not None
    assert second.response.ok
    assert bodies(e) == [b"0", b"1"]


@through(
    *PROTOCOLS,
    request_refusals="transaction=OVERLOAD",
    grpc_request_refusals="transaction",
    flow_limit_answer_enable=True,
    transaction_check_interval=3_000,
    transaction_time_out=1_000,
)
def test_a_half_message_whose_commit_a_full_pool_rejected_is_checked(e: ProtocolClient) -> None:
    e.topic(kind="TRANSACTION")
    e.register_producer("p")
    response = e.end(e.put(half=True), COMMIT)
    assert e.is_error(response, (2, "[OVERLOAD]"), (42900, "flow limit")), response
    e.advance(5_000)
    assert [each.body for each in e.transaction_checks("p")][:1] == [b"0"]
    assert bodies(e) == []


@through("remoting", request_refusals="ack=OVERLOAD")
def test_a_message_whose_ack_a_full_pool_rejected_is_redelivered(e: BrokerProtocolClient) -> None:
    e.fill_topic(1)
    (message,) = e.take()
    response = e.ack(message.handle)
    assert e.is_error(response, (2, "[OVERLOAD]"), (0, "")), response
    e.advance(20_000)
    (again,) = e.take()
    assert (again.body, again.attempt) == (b"0", 1)


@through("remoting")
@pytest.mark.parametrize("form", ["REJECTREQUEST", "OVERLOAD", "TIMEOUT_CLEAN_QUEUE", "PCBUSY_CLEAN_QUEUE"])
def test_a_waiting_pop_is_not_affected_by_later_rejections(e: BrokerProtocolClient, form: str) -> None:
    """A waiting pop is not affected by later rejections, in any of their forms, and is served afterwards."""
    e.topic()
    waits = e.pop(poll_ms=20_000)
    e.configure(requestRefusals=f"pull={form} litePull={form}")
    for turned_away in (e.pop(poll_ms=20_000).response, e.pull(0).response, e.peek()):
        assert e.is_error(turned_away, (2, f"[{form}]"), (0, "")), turned_away
    e.send(b"0")
    assert waits.response is not None
    assert waits.response.bodies == [b"0"]
    e.configure(requestRefusals="")
    e.send(b"1")
    assert e.bodies() == [b"1"]
