"""Brokers without free store buffers, and sends that do not wait for the disk."""

import pytest
from engine_harness import EngineHarness, make_harness, refused
from rocketmq_testkit.emulator.engine import DirectCall
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.send import SendMessage, SendMessageBack, SendResult

BUSY = "[REJECTREQUEST]system busy, start flow control for a while"


def sent(harness: EngineHarness, *, through_proxy: bool = False, **properties: str) -> DirectCall:
    """Submit a send, by the proxy or by the remoting protocol."""
    operation = SendMessage(
        "PG", "T", 0, b"m", properties, ("10.0.0.1", 5000), harness.now_ms, through_proxy=through_proxy
    )
    return harness.engine.submit(harness.broker, operation)


def code(call: DirectCall) -> ResponseCode:
    """Return the code of a send that was stored."""
    assert isinstance(call.outcome, SendResult), call.outcome
    return call.outcome.code


def is_busy(harness: EngineHarness) -> bool:
    """Return True if sends of remoting clients are rejected as busy."""
    call = sent(harness)
    if isinstance(call.outcome, SendResult):
        return False
    assert (refused(call).code, refused(call).remark) == (ResponseCode.SYSTEM_BUSY, BUSY)
    return True


def test_enabling_transient_store_pool_at_run_time_makes_the_broker_busy(harness: EngineHarness) -> None:
    """A broker whose transientStorePoolEnable is set at run time has no buffers: busy until reset or restarted."""
    harness.topic("T")
    config = harness.broker.config
    assert not is_busy(harness)
    config.transient_store_pool_enable = True
    assert is_busy(harness)
    config.transient_store_pool_enable = False
    assert not is_busy(harness)
    config.transient_store_pool_enable = True
    harness.engine.restart(harness.broker)
    assert not is_busy(harness)


@pytest.mark.parametrize(("size", "busy"), [(0, True), (1, False), (5, False)])
def test_a_broker_without_store_buffers_at_its_start_is_busy(size: int, busy: bool) -> None:
    """A broker without buffers at its start is busy; buffers are never used up."""
    harness = make_harness(transient_store_pool_enable=True, transient_store_pool_size=size)
    harness.topic("T")
    assert [is_busy(harness) for _ in range(3)] == [busy] * 3


def test_without_store_buffers_only_remoting_sends_and_send_backs_are_rejected(harness: EngineHarness) -> None:
    """Without buffers a send-back is rejected like a send; proxy requests are accepted, and pulls work."""
    harness.topic("T")
    place = harness.send("T").physical_offset
    harness.broker.config.transient_store_pool_enable = True
    back = SendMessageBack("G", place, 1, "T", None)
    assert refused(harness.engine.submit(harness.broker, back)).code is ResponseCode.SYSTEM_BUSY
    through = SendMessageBack("G", place, 1, "T", None, through_proxy=True)
    assert isinstance(harness.engine.submit(harness.broker, through).outcome, Done)
    assert code(sent(harness, through_proxy=True)) is ResponseCode.SUCCESS
    assert harness.broker.store.max_offset("T", 0) == 2


@pytest.mark.parametrize(("flush", "timeout", "late"), [("SYNC", 0, True), ("SYNC", 1, False), ("ASYNC", 0, False)])
def test_a_sync_flush_send_with_timeout_0_returns_flush_disk_timeout(flush: str, timeout: int, late: bool) -> None:
    """With SYNC_FLUSH and a timeout of 0 a send returns FLUSH_DISK_TIMEOUT, unless WAIT=false; it is stored."""
    harness = make_harness(flush_disk_type=f"{flush}_FLUSH", sync_flush_timeout=timeout)
    harness.topic("T")
    assert code(sent(harness)) is (ResponseCode.FLUSH_DISK_TIMEOUT if late else ResponseCode.SUCCESS)
    assert code(sent(harness, WAIT="false")) is ResponseCode.SUCCESS
    assert harness.broker.store.max_offset("T", 0) == 2


def test_a_slave_timeout_replaces_the_disk_timeout_of_a_send() -> None:
    """A send that waits in vain for disk and slave returns the slave's timeout, after `slaveTimeout`."""
    harness = make_harness(
        flush_disk_type="SYNC_FLUSH", sync_flush_timeout=0, broker_role="SYNC_MASTER", in_sync_replicas=2
    )
    harness.topic("T")
    call = sent(harness)
    assert call.outcome is None
    harness.advance(3_000)
    assert code(call) is ResponseCode.FLUSH_SLAVE_TIMEOUT
