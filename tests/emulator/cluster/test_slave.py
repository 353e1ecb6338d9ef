"""A master that is reconfigured as a slave: rejected and accepted requests."""

import pytest
from engine_world import World, refused
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
    world: World, operation: Operation, code: ResponseCode, remark: str
) -> None:
    """A slave rejects the request because of its role, before it checks anything else."""
    world.topic("A")
    world.send("A")
    world.broker.config.set("brokerRole", "SLAVE")
    refusal = refused(world.engine.submit(world.broker, operation))
    assert (refusal.code, refusal.remark) == (code, remark)


def test_the_store_of_a_slave_rejects_messages_from_the_proxy(world: World) -> None:
    """The store of a slave rejects a message from the proxy, which does not pass the busy check."""
    world.topic("A")
    world.send("A")
    world.broker.config.set("brokerRole", "SLAVE")
    for batch in (False, True):
        message = SendMessage("P", "A", 0, b"", {}, ("127.0.0.1", 1), 0, batch=batch, through_proxy=True)
        refusal = refused(world.engine.submit(world.broker, message))
        assert refusal.code is ResponseCode.SERVICE_NOT_AVAILABLE
        assert "messages are put to the slave" in str(refusal.remark)
    refusal = refused(
        world.engine.submit(world.broker, SendMessageBack("G", 0, -1, origin_topic="A", through_proxy=True))
    )
    assert (refusal.code, refusal.remark) == (ResponseCode.SYSTEM_ERROR, "SERVICE_NOT_AVAILABLE")
    assert world.broker.store.max_offset("A", 0) == 1


def test_a_message_popped_before_its_broker_became_a_slave_can_be_acknowledged(world: World) -> None:
    """A message popped before the broker becomes a slave can be acknowledged there and is not redelivered."""
    world.topic("A")
    world.send("A")
    [message] = world.popped("A", invisible_ms=5000)
    world.broker.config.set("brokerRole", "SLAVE")
    world.ack("A", world.receipt(message))
    world.broker.config.set("brokerRole", "ASYNC_MASTER")
    world.advance(30_000)
    assert world.popped("A") == []
