"""A master that is reconfigured as a slave: rejected and accepted requests."""

import pytest
from engine_harness import EngineHarness, refused
from pull_operation import pull_of
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.send import EndTransaction, SendMessage, SendMessageBack

BUSY = "[REJECTREQUEST]system busy, start flow control for a while"


@pytest.mark.parametrize(
    ("operation", "code", "remark"),
    [
        (pull_of("G", "A", expression=None), ResponseCode.SYSTEM_BUSY, BUSY),
        (pull_of("G", "unknown", queue=9, offset=-1, count=0, expression=None), ResponseCode.SYSTEM_BUSY, BUSY),
        (SendMessageBack("G", 0, 1), ResponseCode.SYSTEM_BUSY, BUSY),
        (EndTransaction("G", 0, 0, 8, False, "id"), ResponseCode.SLAVE_NOT_AVAILABLE, "not set any response code"),
    ],
    ids=("pull", "pull of nothing", "send back", "end"),
)
def test_a_slave_rejects_pulls_send_backs_and_ends_before_any_other_check(
    harness: EngineHarness, operation: Operation, code: ResponseCode, remark: str
) -> None:
    """A slave rejects the request because of its role, before it checks anything else."""
    harness.topic("A")
    harness.send("A")
    harness.broker.config.set("brokerRole", "SLAVE")
    refusal = refused(harness.engine.submit(harness.broker, operation))
    assert (refusal.code, refusal.remark) == (code, remark)


def test_the_store_of_a_slave_rejects_messages_from_the_proxy(harness: EngineHarness) -> None:
    """The store of a slave rejects a message from the proxy, which does not pass the busy check."""
    harness.topic("A")
    harness.send("A")
    harness.broker.config.set("brokerRole", "SLAVE")
    for batch in (False, True):
        message = SendMessage("P", "A", 0, b"", {}, ("127.0.0.1", 1), 0, batch=batch, through_proxy=True)
        refusal = refused(harness.engine.submit(harness.broker, message))
        assert refusal.code is ResponseCode.SERVICE_NOT_AVAILABLE
        assert "messages are put to the slave" in str(refusal.remark)
    refusal = refused(
        harness.engine.submit(harness.broker, SendMessageBack("G", 0, -1, origin_topic="A", through_proxy=True))
    )
    assert (refusal.code, refusal.remark) == (ResponseCode.SYSTEM_ERROR, "SERVICE_NOT_AVAILABLE")
    assert harness.broker.store.max_offset("A", 0) == 1


def test_a_message_popped_before_its_broker_became_a_slave_can_be_acknowledged(harness: EngineHarness) -> None:
    """A message popped before the broker becomes a slave can be acknowledged there and is not redelivered."""
    harness.topic("A")
    harness.send("A")
    [message] = harness.popped("A", invisible_ms=5000)
    harness.broker.config.set("brokerRole", "SLAVE")
    harness.ack("A", harness.receipt(message))
    harness.broker.config.set("brokerRole", "ASYNC_MASTER")
    harness.advance(30_000)
    assert harness.popped("A") == []
