"""Thread pools: waiting requests, rejected requests, and the operations that occupy threads."""

import pytest
from engine_harness import EngineHarness, make_harness, refused
from pull_operation import pull_of
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel, EngineListeners
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.message.stored_record import SYS_TRANSACTION_COMMIT, SYS_TRANSACTION_ROLLBACK
from rocketmq_testkit.emulator.operations.base import Done, Operation
from rocketmq_testkit.emulator.operations.cluster import GetBrokerRuntimeInfo, RuntimeInfoResult, UpdateBrokerConfig
from rocketmq_testkit.emulator.operations.send import (
    EndTransaction,
    RecallMessage,
    RecallResult,
    SendMessage,
    SendResult,
)
from rocketmq_testkit.emulator.overload.request_pools import BrokerPool, RefusalForm

V5_3_3 = 479
"""The version that the client reports, as its number in frame headers."""
ONE_SEND_THREAD: dict[str, object] = {"send_message_thread_pool_nums": 1, "send_thread_pool_queue_capacity": 2}
POOLS = "pools are send, pull, litePull, ack, heartbeat, transaction, admin, reply, query, client, consumer, balance"
WAITED_TOO_LONG = (
    "[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: {}ms, size of queue: {}"
)


def send_operation(harness: EngineHarness, *, through_proxy: bool = False) -> SendMessage:
    """Return a send. Requests through the proxy do not pass the broker's pools."""
    return SendMessage("PG", "T", 0, b"m", {}, ("10.0.0.1", 5000), harness.now_ms, through_proxy=through_proxy)


def submit(harness: EngineHarness, pool: BrokerPool, operation: Operation) -> DirectCall:
    """Submit a request of a remoting client to a pool."""
    call = DirectCall(DirectChannel("client", ("10.0.0.1", 5000)))
    pools = harness.broker.request_pools
    pools.enter(pool, call, operation, pools.go_away_error(V5_3_3))
    return call


def submit_send(harness: EngineHarness) -> DirectCall:
    """Submit a send of a remoting client."""
    return submit(harness, BrokerPool.SEND, send_operation(harness))


def submit_send_through_proxy(harness: EngineHarness) -> DirectCall:
    """Submit a send of the gRPC proxy."""
    return harness.engine.submit(harness.broker, send_operation(harness, through_proxy=True))


def busy_remark(call: DirectCall) -> str:
    """Return the remark of a SYSTEM_BUSY response."""
    error = refused(call)
    assert error.code is ResponseCode.SYSTEM_BUSY
    assert error.remark is not None
    return error.remark


def update_config(harness: EngineHarness, **keys: str) -> None:
    """Change configuration keys at run time."""
    harness.ask(Done, UpdateBrokerConfig(keys))


def test_requests_run_at_once_while_nothing_occupies_threads(harness: EngineHarness) -> None:
    """Without request times and without slaves to wait for, nothing occupies a thread.

    The pools are then inactive, and requests run at once, even if there is only one thread.
    """
    assert not harness.broker.request_pools.is_active
    update_config(harness, sendMessageThreadPoolNums="1", sendThreadPoolQueueCapacity="1")
    harness.topic("T")
    assert not harness.broker.request_pools.is_active
    assert all(isinstance(submit_send(harness).outcome, SendResult) for _ in range(5))


def test_with_one_thread_requests_are_served_one_after_the_other() -> None:
    """With one thread each request waits for those before it, and is stored after its own service time."""
    harness = make_harness(seed=1, request_times="send=50", **ONE_SEND_THREAD)
    harness.topic("T")
    calls = [submit_send(harness) for _ in range(3)]
    for number, call in enumerate(calls):
        harness.advance(49)
        assert call.outcome is None
        assert harness.broker.store.max_offset("T", 0) == number
        harness.advance(1)
        assert isinstance(call.outcome, SendResult)


def test_a_request_to_a_full_pool_queue_is_rejected_as_overload() -> None:
    """A request is rejected at once if the queue of its pool is full. Waiting requests are served."""
    harness = make_harness(seed=1, request_times="send=50", **ONE_SEND_THREAD)
    harness.topic("T")
    calls = [submit_send(harness) for _ in range(3)]
    assert busy_remark(submit_send(harness)) == "[OVERLOAD]system busy, start flow control for a while"
    harness.advance(150)
    assert all(isinstance(call.outcome, SendResult) for call in calls)


def test_a_request_that_waits_too_long_in_the_queue_is_rejected() -> None:
    """A request that has waited for waitTimeMillsInSendQueue (200 ms) is rejected at the broker's next check.

    The broker checks every 10 ms, from one second after its start, and rejects the oldest request first.
    """
    harness = make_harness(seed=1, request_times="send=5000", os_page_cache_busy_time_out_mills=9000, **ONE_SEND_THREAD)
    harness.topic("T")
    harness.advance(1_003)
    first = submit_send(harness)
    second = submit_send(harness)
    harness.advance(8)
    third = submit_send(harness)
    harness.advance(198)
    assert second.outcome is None
    harness.advance(1)
    assert busy_remark(second) == WAITED_TOO_LONG.format(207, 1)
    assert third.outcome is None
    harness.advance(10)
    assert busy_remark(third) == WAITED_TOO_LONG.format(209, 0)
    harness.advance(5_000)
    assert isinstance(first.outcome, SendResult)
    assert harness.broker.store.max_offset("T", 0) == 1


def test_without_fast_failure_no_request_is_rejected_for_waiting() -> None:
    """With brokerFastFailureEnable off no request is rejected for waiting."""
    harness = make_harness(request_times="send=900", broker_fast_failure_enable=False, send_message_thread_pool_nums=1)
    harness.topic("T")
    calls = [submit_send(harness) for _ in range(5)]
    harness.advance(4_500)
    assert all(isinstance(call.outcome, SendResult) for call in calls)


@pytest.mark.parametrize(
    ("pool", "wait_ms"),
    [
        (BrokerPool.SEND, 200),
        (BrokerPool.PULL, 5_000),
        (BrokerPool.LITE_PULL, 5_000),
        (BrokerPool.ACK, 3_000),
        (BrokerPool.HEARTBEAT, 31_000),
        (BrokerPool.TRANSACTION, 3_000),
        (BrokerPool.ADMIN, 5_000),
        (BrokerPool.REPLY, None),
        (BrokerPool.QUERY, None),
        (BrokerPool.CLIENT, None),
        (BrokerPool.CONSUMER, None),
        (BrokerPool.BALANCE, None),
    ],
)
def test_each_pool_has_its_own_maximum_wait(pool: BrokerPool, wait_ms: int | None) -> None:
    """Each pool has its own maximum wait. In a pool without one, requests wait until they are served."""
    harness = make_harness(
        seed=1, request_times=f"{pool.title}=60000", os_page_cache_busy_time_out_mills=90_000, **{pool.threads: 1}
    )
    harness.topic("T")
    harness.advance(2_000)
    pull = pull_of("G", "T")
    submit(harness, pool, pull)
    waiting = submit(harness, pool, pull)
    if wait_ms is not None:
        harness.advance(wait_ms - 1)
        assert waiting.outcome is None
        harness.advance(1)
        assert busy_remark(waiting) == WAITED_TOO_LONG.format(wait_ms, 0)
    harness.advance(120_000)
    assert waiting.outcome is not None
    assert isinstance(waiting.outcome, EngineError) == (wait_ms is not None)


def test_a_waiting_send_is_rejected_if_it_gets_its_thread_while_another_send_is_slow() -> None:
    """A send is slow if it occupies its thread for more than osPageCacheBusyTimeOutMills (1,000 ms by default).

    Without fast failure the broker does not reject waiting sends earlier. Here the second send is slow when the first
    one releases its thread.
    """
    pools = {"send_message_thread_pool_nums": 2, "broker_fast_failure_enable": False}
    harness = make_harness(seed=1, request_times="send=3000", **pools)
    harness.topic("T")
    first = submit_send(harness)
    harness.advance(500)
    second = submit_send(harness)
    waiting = [submit_send(harness) for _ in range(2)]
    harness.advance(2_499)
    assert waiting[0].outcome is None
    harness.advance(1)
    assert isinstance(first.outcome, SendResult)
    assert {busy_remark(each) for each in waiting} == {"[PC_SYNCHRONIZED]broker busy, start flow control for a while"}
    harness.advance(500)
    assert isinstance(second.outcome, SendResult)
    assert harness.broker.store.max_offset("T", 0) == 2


def test_a_slow_send_makes_the_broker_reject_waiting_new_and_proxy_sends() -> None:
    """While a send is slow, the broker rejects waiting sends, new sends and sends of the proxy, each with its own text.

    A send is slow if it occupies its thread for more than osPageCacheBusyTimeOutMills (1,000 ms by default).
    """
    harness = make_harness(seed=1, request_times="send=3000", wait_time_mills_in_send_queue=10_000, **ONE_SEND_THREAD)
    harness.topic("T")
    harness.advance(2_000)
    slow, waiting = submit_send(harness), submit_send(harness)
    harness.advance(1_000)
    assert isinstance(submit_send_through_proxy(harness).outcome, SendResult)
    assert waiting.outcome is None
    harness.advance(10)
    assert busy_remark(waiting) == (
        "[PCBUSY_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 1010ms, size of queue: 0"
    )
    assert busy_remark(submit_send(harness)) == "[REJECTREQUEST]system busy, start flow control for a while"
    assert busy_remark(submit_send_through_proxy(harness)) == (
        "[PC_SYNCHRONIZED]broker busy, start flow control for a while"
    )
    harness.advance(1_990)
    assert isinstance(slow.outcome, SendResult)
    assert submit_send(harness).outcome is None
    harness.advance(500)
    assert isinstance(submit_send_through_proxy(harness).outcome, SendResult)


@pytest.mark.parametrize("form", RefusalForm)
def test_request_refusals_reject_requests_of_the_pool_in_each_form(form: RefusalForm) -> None:
    """While requestRefusals names a pool, the broker rejects the pool's requests in the form that the key names."""
    harness = make_harness(request_refusals=f"pull=OVERLOAD send={form.name}")
    harness.topic("T")
    remark = busy_remark(submit_send(harness))
    assert remark.startswith(f"[{form.name}]")
    update_config(harness, requestRefusals="")
    assert isinstance(submit_send(harness).outcome, SendResult)
    assert not harness.broker.request_pools.is_active


def test_a_request_rejected_by_request_refusals_reports_the_maximum_wait() -> None:
    """The remark is that of a request that has waited for exactly the maximum wait of its pool."""
    harness = make_harness(request_refusals="ack=TIMEOUT_CLEAN_QUEUE")
    assert busy_remark(submit(harness, BrokerPool.ACK, send_operation(harness))) == WAITED_TOO_LONG.format(3_000, 0)


@pytest.mark.parametrize(
    ("word", "wrong"),
    [
        ("send", f"not POOL=FORM; {POOLS}"),
        ("send=", f"not POOL=FORM; {POOLS}"),
        ("=OVERLOAD", f"not POOL=FORM; {POOLS}"),
        ("sends=OVERLOAD", f"sends is no pool; {POOLS}"),
        (
            "send=BUSY",
            "BUSY is no form of a rejection; forms are REJECTREQUEST, OVERLOAD, TIMEOUT_CLEAN_QUEUE, "
            "PCBUSY_CLEAN_QUEUE, PC_SYNCHRONIZED",
        ),
    ],
)
def test_an_invalid_request_refusals_value_is_rejected_and_changes_nothing(
    harness: EngineHarness, word: str, wrong: str
) -> None:
    """The error names the wrong part of the value: its form, the pool, or the form of the rejection."""
    with pytest.raises(EngineError) as raised:
        update_config(harness, requestRefusals=f"pull=OVERLOAD {word}", transactionTimeOut="7000")
    assert raised.value.remark == f"requestRefusals={word}: {wrong}; use requestRefusals=send=OVERLOAD"
    assert harness.broker.config.request_refusals == ""
    assert harness.broker.config.transaction_time_out == 6_000


@pytest.mark.parametrize(
    "time", ["-5", "+5", "5.0", "five", "\u0665", "5=5", pytest.param("9" * 5_000, id="5,000 digits")]
)
def test_a_request_time_that_is_not_in_milliseconds_is_rejected_and_changes_nothing(
    harness: EngineHarness, time: str
) -> None:
    with pytest.raises(EngineError) as raised:
        update_config(harness, requestTimes=f"pull=50 send={time}")
    assert raised.value.remark == (
        f"requestTimes=send={time}: {time} is no time; a time is a whole number of milliseconds, from 0; "
        "use requestTimes=send=600"
    )
    assert harness.broker.config.request_times == ""
    assert not harness.broker.request_pools.is_active


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("5", f"requestTimes=5: not POOL=MILLISECONDS; {POOLS}"),
        ("send= 5", f"requestTimes=send=: not POOL=MILLISECONDS; {POOLS}"),
        ("sends=5", f"requestTimes=sends=5: sends is no pool; {POOLS}"),
    ],
)
def test_request_times_without_a_known_pool_and_a_time_are_rejected(
    harness: EngineHarness, text: str, error: str
) -> None:
    with pytest.raises(EngineError) as raised:
        update_config(harness, requestTimes=text)
    assert raised.value.remark == f"{error}; use requestTimes=send=600"
    assert harness.broker.config.request_times == ""
    assert not harness.broker.request_pools.is_active


def harness_with_missing_slave(**keys: object) -> EngineHarness:
    """Create a harness with a master that waits up to 2,000 ms for a slave, and without a slave."""
    harness = make_harness(seed=1, broker_role="SYNC_MASTER", in_sync_replicas=2, slave_timeout=2_000, **keys)
    harness.topic("T")
    harness.advance(2_000)
    return harness


def test_a_recall_occupies_its_thread_while_it_waits_for_a_slave() -> None:
    """A recall occupies its thread while it waits for a slave and then succeeds; a send does not occupy one."""
    harness = harness_with_missing_slave(recall_message_enable=True, **ONE_SEND_THREAD)
    timed = harness.engine.submit(
        harness.broker, SendMessage("PG", "T", 0, b"m", {"TIMER_DELAY_SEC": "600"}, ("h", 1), 0)
    )
    harness.advance(2_000)
    assert isinstance(timed.outcome, SendResult)
    sends = [submit_send(harness), submit_send(harness), submit_send(harness), submit_send(harness)]
    assert all(call.outcome is None for call in sends)
    assert timed.outcome.recall_handle is not None
    recall = submit(harness, BrokerPool.SEND, RecallMessage("T", timed.outcome.recall_handle))
    waiting = submit_send(harness)
    harness.advance(200)
    assert busy_remark(waiting) == WAITED_TOO_LONG.format(200, 0)
    full_queue = [submit_send(harness), submit_send(harness)]
    assert busy_remark(submit_send(harness)).startswith("[OVERLOAD]")
    harness.advance(1_800)
    assert isinstance(recall.outcome, RecallResult)
    assert all(busy_remark(call).startswith("[TIMEOUT_CLEAN_QUEUE]") for call in full_queue)
    for call in sends:
        assert isinstance(call.outcome, SendResult)
        assert call.outcome.code is ResponseCode.FLUSH_SLAVE_TIMEOUT


def test_a_commit_occupies_its_thread_while_it_waits_for_a_slave() -> None:
    """A commit occupies its thread while it waits for a slave; a rollback or a commit with WAIT=false does not."""
    harness = harness_with_missing_slave(end_transaction_thread_pool_nums=1, end_transaction_pool_queue_capacity=1)

    def send_half_message(**more: str) -> SendResult:
        properties = {"TRAN_MSG": "true", "PGROUP": "PG", "UNIQ_KEY": "u", **more}
        call = harness.engine.submit(harness.broker, SendMessage("PG", "T", 0, b"m", properties, ("h", 1), 0))
        harness.advance(2_000)
        assert isinstance(call.outcome, SendResult)
        return call.outcome

    half, half_without_wait = send_half_message(), send_half_message(WAIT="false")

    def submit_end(resolution: int, message: SendResult) -> DirectCall:
        end = EndTransaction("PG", message.queue_offset, message.physical_offset, resolution, False, "u")
        return submit(harness, BrokerPool.TRANSACTION, end)

    assert isinstance(submit_end(SYS_TRANSACTION_ROLLBACK, half).outcome, Done)
    assert isinstance(submit_end(SYS_TRANSACTION_COMMIT, half_without_wait).outcome, Done)
    commits = [submit_end(SYS_TRANSACTION_COMMIT, half) for _ in range(2)]
    assert busy_remark(submit_end(SYS_TRANSACTION_COMMIT, half)).startswith("[OVERLOAD]")
    harness.advance(2_000)
    assert isinstance(commits[0].outcome, Done)
    assert commits[1].outcome is None
    harness.advance(2_000)
    assert isinstance(commits[1].outcome, Done)


def test_runtime_info_reports_queue_length_and_wait_of_the_first_request() -> None:
    """The runtime info contains the length of each queue and the wait of its first request."""
    harness = make_harness(seed=1, request_times="send=5000", wait_time_mills_in_send_queue=10_000, **ONE_SEND_THREAD)
    harness.topic("T")
    submit_send(harness)
    submit_send(harness)
    harness.advance(30)
    table = harness.ask(RuntimeInfoResult, GetBrokerRuntimeInfo()).table
    reported = [table[f"sendThreadPoolQueue{figure}"] for figure in ("Size", "HeadWaitTimeMills", "Capacity")]
    assert reported == ["1", "30", "2"]


@pytest.mark.parametrize(
    ("role", "replicas", "active"), [("SYNC_MASTER", 2, True), ("SYNC_MASTER", 1, False), ("ASYNC_MASTER", 2, False)]
)
def test_request_pools_are_active_only_if_requests_wait_for_slaves(role: str, replicas: int, active: bool) -> None:
    """Requests wait if a SYNC_MASTER needs more than one copy; `in_sync_replicas` counts the master's own."""
    harness = make_harness(broker_role=role, in_sync_replicas=replicas)
    assert harness.broker.request_pools.is_active is active


def test_listeners_are_called_when_the_pools_of_a_broker_may_have_become_active_or_inactive() -> None:
    """A change of keys, a new run and a graceful shutdown call the listeners, which then read the new state."""
    harness = make_harness(enable_shutdown_gracefully=True, shutdown_wait_time_seconds=5)
    seen: list[bool] = []
    listeners = EngineListeners(
        pools_changed=lambda: seen.append(harness.broker.request_pools.is_active),
        leases_extended=lambda ms: None,
        broker_stopped=lambda broker: None,
        run_ended=lambda: None,
    )
    harness.engine.listen(listeners)
    update_config(harness, requestTimes="send=5")
    harness.engine.restart()
    assert seen == [True, True]
    update_config(harness, requestTimes="")
    harness.engine.stop(harness.broker)
    assert seen[2:] == [False, True]
    harness.advance(5_000)
    harness.engine.start(harness.broker)
    assert seen[4:] == [False, False]
