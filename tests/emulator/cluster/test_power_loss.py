"""Power loss with synchronous flush: delayed, timed and half messages survive, and no rolled back one is delivered."""

import pytest
from engine_harness import EngineHarness, make_harness
from rocketmq_testkit.emulator.engine import DirectChannel
from rocketmq_testkit.emulator.gate.effects import CheckTransactionState
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.clients import Heartbeat
from rocketmq_testkit.emulator.operations.send import EndTransaction, RecallMessage, RecallResult, SendResult
from stored import stored_bodies

COMMIT, ROLLBACK = 8, 12
GIVEN_UP = "TRANS_CHECK_MAX_TIME_TOPIC"
INTERVAL_MS = 3_000
WRITES_MS = [0, 3_000, 20_000]
"""Run times of the broker before the test, in ms: its offset files were not written yet, or several times."""


@pytest.fixture
def harness() -> EngineHarness:
    """Return a harness with a broker that flushes each message and checks half messages every 3 s."""
    harness = make_harness(
        flush_disk_type="SYNC_FLUSH",
        recall_message_enable=True,
        transaction_check_interval=INTERVAL_MS,
        transaction_time_out=1_000,
        transaction_check_max=3,
    )
    harness.topic("A")
    return harness


def stored_set(harness: EngineHarness, topic: str = "A") -> set[bytes]:
    """Return the distinct stored bodies of a topic; a crash may repeat a message."""
    return set(stored_bodies(harness, topic))


def half(harness: EngineHarness, body: bytes) -> SendResult:
    """Send a half message of producer group `P`."""
    return harness.send("A", body, TRAN_MSG="true", PGROUP="P", UNIQ_KEY=body.decode())


def end(harness: EngineHarness, sent: SendResult, how: int) -> None:
    """Commit or roll back the transaction of a half message."""
    harness.engine.execute(
        harness.broker, EndTransaction("P", sent.queue_offset, sent.physical_offset, how, False, sent.msg_id)
    )


class Producer:
    """A connected producer of group `P`."""

    def __init__(self, harness: EngineHarness) -> None:
        self.channel = DirectChannel("p")
        harness.engine.submit(harness.broker, Heartbeat("p", ["P"], []), self.channel)

    @property
    def asked(self) -> list[CheckTransactionState]:
        """The checks received."""
        return [effect for effect in self.channel.effects if isinstance(effect, CheckTransactionState)]

    @property
    def bodies(self) -> set[bytes]:
        """Bodies of the checked messages."""
        return {decode(check.record).body for check in self.asked}


@pytest.mark.parametrize("run_ms", WRITES_MS)
@pytest.mark.parametrize("left_ms", [30_000, 4_999, 1, 0])
def test_delayed_messages_are_delivered_after_a_power_loss(harness: EngineHarness, run_ms: int, left_ms: int) -> None:
    """Delayed messages are delivered at their time or at the next check, whether due around the crash or later."""
    harness.advance(run_ms)
    sent_ms = harness.now_ms
    for level, body in ((2, b"5 s"), (5, b"60 s")):
        harness.send("A", body, DELAY=str(level))
    harness.advance(max(5_000 - left_ms, 0))
    harness.engine.crash()
    harness.advance(sent_ms + 6_500 - harness.now_ms)
    assert stored_set(harness) == {b"5 s"}
    harness.advance(sent_ms + 59_999 - harness.now_ms)
    assert stored_set(harness) == {b"5 s"}
    harness.advance(101)
    assert stored_set(harness) == {b"5 s", b"60 s"}


@pytest.mark.parametrize("run_ms", WRITES_MS)
@pytest.mark.parametrize("waited_ms", [0, 500, 4_000, 5_000, 6_100, 9_000])
def test_timed_messages_but_no_recalled_ones_are_delivered_after_a_power_loss(
    harness: EngineHarness, run_ms: int, waited_ms: int
) -> None:
    """Timed messages in the wheel and those just due are delivered after a power loss, but no recalled ones."""
    harness.advance(run_ms)
    for delay, body in ((5_000, b"5 s"), (60_000, b"60 s")):
        for taken_back in (False, True):
            name = body + b" taken back" * taken_back
            sent = harness.send("A", name, TIMER_DELAY_MS=str(delay), UNIQ_KEY=name.decode().replace(" ", "-"))
            if taken_back:
                assert sent.recall_handle is not None
                assert isinstance(
                    harness.engine.execute(harness.broker, RecallMessage("A", sent.recall_handle)), RecallResult
                )
    harness.advance(waited_ms)
    harness.engine.crash()
    harness.advance(10_000)
    assert stored_set(harness) == {b"5 s"}
    harness.advance(60_000)
    assert stored_set(harness) == {b"5 s", b"60 s"}


def test_a_rolled_timed_message_is_delivered_after_power_losses(harness: EngineHarness) -> None:
    """A rolled timed message is delivered after a crash before its roll and another one after it."""
    harness.send("A", b"3 d", TIMER_DELAY_SEC=str(3 * 86_400 - 1))
    for hours in (1, 50):
        harness.advance(hours * 3_600_000)
        harness.engine.crash()
    harness.advance(21 * 3_600_000 - 2_000)
    assert stored_set(harness) == set()
    harness.advance(4_000)
    assert stored_set(harness) == {b"3 d"}


@pytest.mark.parametrize("run_ms", WRITES_MS)
@pytest.mark.parametrize("checks", [0, 1, 2])
def test_open_half_messages_are_checked_after_a_power_loss(harness: EngineHarness, run_ms: int, checks: int) -> None:
    """Half messages are checked after a power loss, even ones checked before; a commit for any check is accepted."""
    harness.advance(run_ms)
    half(harness, b"open")
    producer = Producer(harness)
    harness.advance(checks * INTERVAL_MS)
    assert len(producer.asked) == checks
    harness.engine.crash()
    producer = Producer(harness)
    harness.advance(2 * INTERVAL_MS)
    assert producer.bodies == {b"open"}
    asked = producer.asked[-1]
    operation = EndTransaction("P", asked.tran_state_table_offset, asked.commit_log_offset, COMMIT, True, asked.msg_id)
    harness.engine.execute(harness.broker, operation)
    assert stored_set(harness) == {b"open"}


@pytest.mark.parametrize("checks", [3, 4, 6])
def test_open_half_messages_are_discarded_after_a_power_loss(harness: EngineHarness, checks: int) -> None:
    """Half messages are discarded after their last check, before or after the crash, and never delivered."""
    half(harness, b"open")
    harness.advance(checks * INTERVAL_MS)
    harness.engine.crash()
    harness.advance(10 * INTERVAL_MS)
    assert stored_set(harness, GIVEN_UP) == {b"open"}
    assert stored_set(harness) == set()
    producer = Producer(harness)
    harness.advance(10 * INTERVAL_MS)
    assert producer.asked == []


@pytest.mark.parametrize("waited_ms", [0, 3_100, 20_000])
def test_commits_and_rollbacks_survive_a_power_loss(harness: EngineHarness, waited_ms: int) -> None:
    """A committed message stays, a rolled back one is never delivered, and neither is checked after its op message."""
    end(harness, half(harness, b"committed"), COMMIT)
    end(harness, half(harness, b"rolled back"), ROLLBACK)
    harness.advance(waited_ms)
    harness.engine.crash()
    assert stored_set(harness) == {b"committed"}
    producer = Producer(harness)
    harness.advance(3 * INTERVAL_MS)
    assert stored_set(harness) == {b"committed"}
    assert producer.bodies == ({b"committed", b"rolled back"} if waited_ms == 0 else set())
