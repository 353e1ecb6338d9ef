"""Thread pools: requests that wait, requests that are rejected, and what occupies threads."""

import pytest
from engine_world import World, make_world, refused
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations import (
    Done,
    EndTransaction,
    GetBrokerRuntimeInfo,
    Operation,
    PullMessage,
    RecallMessage,
    RecallResult,
    RuntimeInfoResult,
    SendMessage,
    SendResult,
    UpdateBrokerConfig,
)
from rocketmq_testkit.emulator.overload.request_pools import Form, Pool

V5_3_1, V5_3_3 = 475, 479
ONE_THREAD: dict[str, object] = {"send_message_thread_pool_nums": 1, "send_thread_pool_queue_capacity": 2}
CLEANED = "[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: {}ms, size of queue: {}"


def message(world: World, *, through_proxy: bool = False) -> SendMessage:
    """Return a send operation."""
    return SendMessage("PG", "T", 0, b"m", {}, ("10.0.0.1", 5000), world.now_ms, through_proxy=through_proxy)


def asked(world: World, pool: Pool, operation: Operation, version: int = V5_3_3) -> DirectCall:
    """Submit a request of a remoting client to a pool."""
    call = DirectCall(DirectChannel("client", ("10.0.0.1", 5000)))
    world.broker.request_pools.enter(pool, call, operation, version)
    return call


def sent(world: World) -> DirectCall:
    """Submit a send of a remoting client."""
    return asked(world, Pool.SEND, message(world))


def busy(call: DirectCall) -> str:
    """Return the text of a SYSTEM_BUSY response."""
    refusal = refused(call)
    assert refusal.code is ResponseCode.SYSTEM_BUSY
    assert refusal.remark is not None
    return refusal.remark


def change(world: World, **keys: str) -> None:
    """Change configuration keys at run time."""
    world.ask(Done, UpdateBrokerConfig(keys))


def test_nobody_waits_unless_something_keeps_threads(world: World) -> None:
    """Without anything that occupies threads the pools are off, and requests run at once, even with one thread."""
    assert not world.broker.request_pools.on
    change(world, sendMessageThreadPoolNums="1", sendThreadPoolQueueCapacity="1")
    world.topic("T")
    assert not world.broker.request_pools.on
    assert all(isinstance(sent(world).outcome, SendResult) for _ in range(5))


def test_requests_take_their_time_one_after_the_other() -> None:
    """With one thread each request waits for those before it, and is stored after its own service time."""
    world = make_world(1, request_times="send=50", **ONE_THREAD)
    world.topic("T")
    calls = [sent(world) for _ in range(3)]
    for number, call in enumerate(calls):
        world.advance(49)
        assert call.outcome is None
        assert world.broker.store.max_offset("T", 0) == number
        world.advance(1)
        assert isinstance(call.outcome, SendResult)


def test_who_finds_the_queue_full_is_refused() -> None:
    """A request that finds the queue full is rejected at once; waiting requests are served."""
    world = make_world(1, request_times="send=50", **ONE_THREAD)
    world.topic("T")
    calls = [sent(world) for _ in range(3)]
    assert busy(sent(world)) == "[OVERLOAD]system busy, start flow control for a while"
    world.advance(150)
    assert all(isinstance(call.outcome, SendResult) for call in calls)


def test_who_waits_too_long_is_refused() -> None:
    """A request that waits too long is rejected at the next check, the oldest first.

    Checks come every 10 ms, from one second after the start.
    """
    world = make_world(1, request_times="send=5000", os_page_cache_busy_time_out_mills=9000, **ONE_THREAD)
    world.topic("T")
    world.advance(1_003)
    first = sent(world)
    second = sent(world)
    world.advance(8)
    third = sent(world)
    world.advance(198)
    assert second.outcome is None
    world.advance(1)
    assert busy(second) == CLEANED.format(207, 1)
    assert third.outcome is None
    world.advance(10)
    assert busy(third) == CLEANED.format(209, 0)
    world.advance(5_000)
    assert isinstance(first.outcome, SendResult)
    assert world.broker.store.max_offset("T", 0) == 1


def test_nobody_is_refused_for_waiting_where_that_is_off() -> None:
    """With brokerFastFailureEnable off no request is rejected for waiting."""
    world = make_world(request_times="send=900", broker_fast_failure_enable=False, send_message_thread_pool_nums=1)
    world.topic("T")
    calls = [sent(world) for _ in range(5)]
    world.advance(4_500)
    assert all(isinstance(call.outcome, SendResult) for call in calls)


@pytest.mark.parametrize(
    ("pool", "wait_ms"),
    [
        (Pool.SEND, 200),
        (Pool.PULL, 5_000),
        (Pool.LITE_PULL, 5_000),
        (Pool.ACK, 3_000),
        (Pool.HEARTBEAT, 31_000),
        (Pool.TRANSACTION, 3_000),
        (Pool.ADMIN, 5_000),
        (Pool.REPLY, None),
        (Pool.QUERY, None),
        (Pool.CLIENT, None),
        (Pool.CONSUMER, None),
        (Pool.BALANCE, None),
    ],
)
def test_pools_have_waiting_times_of_their_own(pool: Pool, wait_ms: int | None) -> None:
    """Each pool has its own maximum wait; requests of a pool without one are served in the end."""
    world = make_world(
        1, request_times=f"{pool.title}=60000", os_page_cache_busy_time_out_mills=90_000, **{pool.threads: 1}
    )
    world.topic("T")
    world.advance(2_000)
    pull = PullMessage("G", "T", 0, 0, 32, 4, 0, 0, 0, "*", "TAG")
    asked(world, pool, pull)
    waits = asked(world, pool, pull)
    if wait_ms is not None:
        world.advance(wait_ms - 1)
        assert waits.outcome is None
        world.advance(1)
        assert busy(waits) == CLEANED.format(wait_ms, 0)
    world.advance(120_000)
    assert waits.outcome is not None
    assert isinstance(waits.outcome, EngineError) == (wait_ms is not None)


def test_who_waited_for_a_thread_while_the_store_is_too_slow_is_refused_there() -> None:
    """Without fast failure, a request that gets its thread while the store is too slow is rejected then."""
    pools = {"send_message_thread_pool_nums": 2, "broker_fast_failure_enable": False}
    world = make_world(1, request_times="send=3000", **pools)
    world.topic("T")
    first = sent(world)
    world.advance(500)
    second = sent(world)
    waiting = [sent(world) for _ in range(2)]
    world.advance(2_499)
    assert waiting[0].outcome is None
    world.advance(1)
    assert isinstance(first.outcome, SendResult)
    assert {busy(each) for each in waiting} == {"[PC_SYNCHRONIZED]broker busy, start flow control for a while"}
    world.advance(500)
    assert isinstance(second.outcome, SendResult)
    assert world.broker.store.max_offset("T", 0) == 2


def test_a_store_that_is_too_slow_refuses_sends() -> None:
    """A store that is too slow rejects waiting sends, new sends and proxy sends, each with its own text."""
    world = make_world(1, request_times="send=3000", wait_time_mills_in_send_queue=10_000, **ONE_THREAD)
    world.topic("T")
    world.advance(2_000)
    slow, waits = sent(world), sent(world)
    world.advance(1_000)
    through = world.engine.submit(world.broker, message(world, through_proxy=True))
    assert isinstance(through.outcome, SendResult)
    assert waits.outcome is None
    world.advance(10)
    assert busy(waits) == (
        "[PCBUSY_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 1010ms, size of queue: 0"
    )
    assert busy(sent(world)) == "[REJECTREQUEST]system busy, start flow control for a while"
    through = world.engine.submit(world.broker, message(world, through_proxy=True))
    assert busy(through) == "[PC_SYNCHRONIZED]broker busy, start flow control for a while"
    world.advance(1_990)
    assert isinstance(slow.outcome, SendResult)
    assert sent(world).outcome is None
    world.advance(500)
    assert isinstance(world.engine.submit(world.broker, message(world, through_proxy=True)).outcome, SendResult)


@pytest.mark.parametrize("form", Form)
def test_requests_are_refused_on_demand(form: Form) -> None:
    """While requestRefusals is set, requests of a pool are rejected with any of the forms."""
    world = make_world(request_refusals=f"pull=OVERLOAD send={form.name}")
    world.topic("T")
    remark = busy(sent(world))
    assert remark.startswith(f"[{form.name}]")
    change(world, requestRefusals="")
    assert isinstance(sent(world).outcome, SendResult)
    assert not world.broker.request_pools.on


def test_a_request_that_is_refused_on_demand_says_how_long_it_may_wait() -> None:
    """A request rejected by requestRefusals reports the maximum wait, as one that waited exactly that long does."""
    world = make_world(request_refusals="ack=TIMEOUT_CLEAN_QUEUE")
    assert busy(asked(world, Pool.ACK, message(world))) == CLEANED.format(3_000, 0)


@pytest.mark.parametrize("text", ["send", "sends=OVERLOAD", "send=BUSY", "send="])
def test_a_refusal_that_makes_no_sense_is_told(world: World, text: str) -> None:
    """And changes nothing."""
    with pytest.raises(
        EngineError,
        match=r"requestRefusals=.*: not POOL=VALUE; pools are send, pull.*; use requestRefusals=send=OVERLOAD",
    ):
        change(world, requestRefusals=text, transactionTimeOut="7000")
    assert world.broker.config.request_refusals == ""
    assert world.broker.config.transaction_time_out == 6_000


@pytest.mark.parametrize(
    "text", ["send=-5", "send=+5", "send=5.0", "send=five", "send=\u0665", "send= 5", "5", "sends=5"]
)
def test_a_service_time_that_is_no_whole_number_is_rejected(world: World, text: str) -> None:
    """The error lists the pools and says that values are milliseconds; nothing changes."""
    with pytest.raises(
        EngineError,
        match=r"requestTimes=.*: not POOL=VALUE; pools are send, .* milliseconds; use requestTimes=send=600",
    ):
        change(world, requestTimes=text)
    assert world.broker.config.request_times == ""
    assert not world.broker.request_pools.on


def waiting_for_slaves(**keys: object) -> World:
    """Create a master whose slave is missing."""
    world = make_world(1, broker_role="SYNC_MASTER", in_sync_replicas=2, slave_timeout=2_000, **keys)
    world.topic("T")
    world.advance(2_000)
    return world


def test_a_recall_keeps_its_thread_while_it_waits_for_a_slave() -> None:
    """A recall occupies its thread while it waits for a slave and then succeeds; a send does not occupy one."""
    world = waiting_for_slaves(recall_message_enable=True, **ONE_THREAD)
    timed = world.engine.submit(world.broker, SendMessage("PG", "T", 0, b"m", {"TIMER_DELAY_SEC": "600"}, ("h", 1), 0))
    world.advance(2_000)
    assert isinstance(timed.outcome, SendResult)
    sends = [sent(world), sent(world), sent(world), sent(world)]
    assert all(call.outcome is None for call in sends)
    assert timed.outcome.recall_handle is not None
    recall = asked(world, Pool.SEND, RecallMessage("T", timed.outcome.recall_handle))
    behind = sent(world)
    world.advance(200)
    assert busy(behind) == CLEANED.format(200, 0)
    two = [sent(world), sent(world)]
    assert busy(sent(world)).startswith("[OVERLOAD]")
    world.advance(1_800)
    assert isinstance(recall.outcome, RecallResult)
    assert all(busy(call).startswith("[TIMEOUT_CLEAN_QUEUE]") for call in two)
    for call in sends:
        assert isinstance(call.outcome, SendResult)
        assert call.outcome.code is ResponseCode.FLUSH_SLAVE_TIMEOUT


def test_a_commit_keeps_its_thread_while_it_waits_for_a_slave() -> None:
    """A commit occupies its thread while it waits for a slave; a rollback or a commit with WAIT=false does not."""
    world = waiting_for_slaves(end_transaction_thread_pool_nums=1, end_transaction_pool_queue_capacity=1)

    def stored_half(**more: str) -> SendResult:
        properties = {"TRAN_MSG": "true", "PGROUP": "PG", "UNIQ_KEY": "u", **more}
        call = world.engine.submit(world.broker, SendMessage("PG", "T", 0, b"m", properties, ("h", 1), 0))
        world.advance(2_000)
        assert isinstance(call.outcome, SendResult)
        return call.outcome

    waits, does_not = stored_half(), stored_half(WAIT="false")

    def ended(value: int, half: SendResult = waits) -> DirectCall:
        end = EndTransaction("PG", half.queue_offset, half.physical_offset, value, False, "u")
        return asked(world, Pool.TRANSACTION, end)

    assert isinstance(ended(12).outcome, Done)
    assert isinstance(ended(8, does_not).outcome, Done)
    commits = [ended(8), ended(8)]
    assert busy(ended(8)).startswith("[OVERLOAD]")
    world.advance(2_000)
    assert isinstance(commits[0].outcome, Done)
    assert commits[1].outcome is None
    world.advance(2_000)
    assert isinstance(commits[1].outcome, Done)


def test_a_broker_tells_who_waits() -> None:
    """The runtime info contains the length of each queue and the wait of its first request."""
    world = make_world(1, request_times="send=5000", wait_time_mills_in_send_queue=10_000, **ONE_THREAD)
    world.topic("T")
    sent(world)
    sent(world)
    world.advance(30)
    table = world.ask(RuntimeInfoResult, GetBrokerRuntimeInfo()).table
    told = [table[f"sendThreadPoolQueue{what}"] for what in ("Size", "HeadWaitTimeMills", "Capacity")]
    assert told == ["1", "30", "2"]


@pytest.mark.parametrize(
    ("role", "replicas", "on"), [("SYNC_MASTER", 2, True), ("SYNC_MASTER", 1, False), ("ASYNC_MASTER", 2, False)]
)
def test_requests_wait_for_threads_where_sends_wait_for_slaves(role: str, replicas: int, on: bool) -> None:
    """The pools are on if sends wait for slaves; a master that waits only for itself occupies no thread."""
    world = make_world(broker_role=role, in_sync_replicas=replicas)
    assert world.broker.request_pools.on is on
