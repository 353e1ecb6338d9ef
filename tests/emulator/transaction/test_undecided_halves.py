"""Half messages that are neither committed nor rolled back."""

from engine_harness import make_harness
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.send import EndTransaction

COMMIT = 8


def test_a_reappended_half_message_is_undecided_once() -> None:
    """The newest of several copies of a half message is listed; an end that names the first one decides all of them."""
    harness = make_harness(transaction_check_interval=3000, transaction_time_out=1000)
    harness.topic("T")
    first, second = (
        harness.send("T", body, TRAN_MSG="true", PGROUP="PG", CHECK_IMMUNITY_TIME_IN_SECONDS="3600")
        for body in (b"first", b"second")
    )
    harness.advance(7000)
    checks = harness.broker.checks
    assert [decode(each).body for each in checks.undecided()] == [b"first", b"second"]
    harness.engine.execute(
        harness.broker,
        EndTransaction("PG", first.queue_offset, first.physical_offset, COMMIT, False, first.msg_id),
    )
    assert [decode(each).body for each in checks.undecided()] == [b"second"]
    assert second.queue_offset == 1
