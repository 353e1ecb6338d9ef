"""Tests of half messages and their log, without Spark: the state after a crash between any two steps."""

from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark_rocketmq.errors import RocketMQError, RowError, SendError
from pyspark_rocketmq.options.options import sink_options
from pyspark_rocketmq.writing.transaction_log import KEPT, Half, TransactionLog
from pyspark_rocketmq.writing.transactional_writer import TransactionalStreamWriter
from rocketmq_testkit.fixtures import Emulator

HALVES = [Half("broker-a", "orders", number, number * 100, uniq_key=f"ID{number}") for number in range(3)]


def writer(emulator: Emulator, folder: Path, retries: int = 3) -> TransactionalStreamWriter:
    """Create a writer to the topic `orders`."""
    return TransactionalStreamWriter(
        sink_options(
            {
                "nameServer": emulator.namesrv,
                "topic": "orders",
                "deliveryGuarantee": "transactional",
                "txnLogPath": str(folder),
                "fetchOffset.numRetries": str(retries),
                "fetchOffset.retryIntervalMs": "10",
            }
        )
    )


def rows(low: int, high: int) -> "list[pa.RecordBatch]":
    """Create numbered rows as Spark passes them."""
    bodies = pa.array([b"%d" % at for at in range(low, high)], pa.binary())
    return [pa.RecordBatch.from_arrays([bodies], names=["body"])]


def stored(emulator: Emulator) -> list[int]:
    """Return the numbers in the visible messages."""
    return sorted(int(message.body) for message in emulator.messages("orders"))


def test_a_batch_is_invisible_before_its_commit(rocketmq: Emulator, tmp_path: Path) -> None:
    """Half messages of two tasks are invisible until the driver commits them."""
    rocketmq.topic("orders", queues=2)
    target = writer(rocketmq, tmp_path)

    tasks = [target.store("q", 0, iter(rows(0, 50))), target.store("q", 0, iter(rows(50, 100)))]
    before = stored(rocketmq)
    target.commit(tasks, 0)

    assert before == []
    assert stored(rocketmq) == list(range(100))
    assert TransactionLog(str(tmp_path), "q").uncommitted(0) == []


def test_a_batch_that_fails_is_rolled_back(rocketmq: Emulator, tmp_path: Path) -> None:
    """A failed batch is rolled back and never visible, and its next run succeeds."""
    rocketmq.topic("orders", queues=2)
    target = writer(rocketmq, tmp_path)

    target.abort([target.store("q", 0, iter(rows(0, 50))), None], 0)
    target.commit([target.store("q", 0, iter(rows(0, 50)))], 0)

    assert stored(rocketmq) == list(range(50))


@pytest.mark.recovery
def test_a_decided_batch_is_not_sent_again(rocketmq: Emulator, tmp_path: Path) -> None:
    """A batch that was decided before the driver crashed is committed by the next run without being sent again."""
    rocketmq.topic("orders", queues=2)
    first = writer(rocketmq, tmp_path)
    task = first.store("q", 7, iter(rows(0, 50)))
    TransactionLog(str(tmp_path), "q").decide(7, task.halves)

    again = writer(rocketmq, tmp_path)
    second = again.store("q", 7, iter(rows(0, 50)))
    again.commit([second], 7)

    assert second.halves == []
    assert stored(rocketmq) == list(range(50))


@pytest.mark.recovery
def test_an_interrupted_commit_is_finished_by_the_next_run(rocketmq: Emulator, tmp_path: Path) -> None:
    """An interrupted commit is finished by the next run, which skips messages known to be committed."""
    rocketmq.topic("orders", queues=2)
    first = writer(rocketmq, tmp_path)
    task = first.store("q", 7, iter(rows(0, 50)))
    log = TransactionLog(str(tmp_path), "q")
    log.decide(7, task.halves)
    log.mark_committed(7, task.halves[:20])

    again = writer(rocketmq, tmp_path)
    again.commit([again.store("q", 7, iter(rows(0, 50)))], 7)

    found = [message.message_id for message in rocketmq.messages("orders")]
    assert sorted(found) == sorted(half.uniq_key for half in task.halves[20:])


@pytest.mark.recovery
def test_a_commit_that_failed_is_not_rolled_back(rocketmq: Emulator, tmp_path: Path) -> None:
    """An abort after a failed commit does not roll back a decided batch, and its next run commits it."""
    rocketmq.topic("orders", queues=2)
    target = writer(rocketmq, tmp_path)
    task = target.store("q", 0, iter(rows(0, 10)))
    rocketmq.stop_broker("broker-a")
    with pytest.raises(RocketMQError):
        target.commit([task], 0)
    rocketmq.start_broker("broker-a")

    target.abort([task], 0)
    target.commit([target.store("q", 0, iter(rows(0, 10)))], 0)

    assert stored(rocketmq) == list(range(10))


@pytest.mark.recovery
def test_a_commit_waits_for_a_stopped_broker(rocketmq: Emulator, tmp_path: Path) -> None:
    """A commit waits, within its retries, for a broker that is stopped or not registered yet."""
    rocketmq.topic("orders", queues=2)
    target = writer(rocketmq, tmp_path, retries=10_000)
    task = target.store("q", 0, iter(rows(0, 10)))
    rocketmq.stop_broker("broker-a")
    with ThreadPoolExecutor(1) as pool:
        committed = pool.submit(target.commit, [task], 0)
        assert wait([committed], 0.3).not_done
        rocketmq.start_broker("broker-a")
        committed.result(60)

    assert stored(rocketmq) == list(range(10))


def test_half_messages_that_the_broker_lost_fail_the_batch_by_name(rocketmq: Emulator, tmp_path: Path) -> None:
    """Half messages that the broker no longer has fail the batch with an error that names them."""
    rocketmq.topic("orders", queues=2)
    target = writer(rocketmq, tmp_path)
    task = target.store("q", 0, iter(rows(0, 1)))
    task.halves = [Half("broker-a", "orders", 5, 10**9, uniq_key="ID")]

    with pytest.raises(SendError, match="half message ID of topic orders on broker-a cannot be ended"):
        target.commit([task], 0)


def test_a_half_message_with_a_delay_is_refused(rocketmq: Emulator, tmp_path: Path) -> None:
    """A half message with a delay is rejected, because a broker would ignore one of the two."""
    rocketmq.topic("orders", queues=2)
    batch = pa.RecordBatch.from_pydict({"body": [b"x"], "delayLevel": pa.array([3], pa.int32())})

    with pytest.raises(RowError, match="a half message cannot be delayed"):
        writer(rocketmq, tmp_path).store("q", 0, iter([batch]))


def test_an_incomplete_draft_decides_nothing(tmp_path: Path) -> None:
    """An incomplete draft decides nothing, and a truncated line names no message."""
    log = TransactionLog(str(tmp_path), "q")
    (tmp_path / "q").mkdir()
    (tmp_path / "q" / "0.draft").write_text('[{"bro')

    assert not log.has(0)
    log.decide(0, HALVES)
    log.mark_committed(0, HALVES[:1])
    with (tmp_path / "q" / "0.done").open("a") as file:
        file.write("ID")
    assert log.uncommitted(0) == HALVES[1:]
    assert not TransactionLog(str(tmp_path), "other").has(0)


@pytest.mark.parametrize("text", ["{", "[" * 100_000], ids=["no JSON", "nested"])
def test_an_unreadable_transaction_log_is_named_in_the_error(tmp_path: Path, text: str) -> None:
    log = TransactionLog(str(tmp_path), "q")
    log.decide(0, HALVES)
    (tmp_path / "q" / "0.json").write_text(text)

    with pytest.raises(RocketMQError, match=r"option txnLogPath: .*0.json cannot be read"):
        log.uncommitted(0)


def test_old_decisions_are_deleted(tmp_path: Path) -> None:
    """Old decisions are deleted, because Spark only retries the last batch."""
    log = TransactionLog(str(tmp_path), "q")
    for number in range(KEPT + 3):
        log.decide(number, HALVES)
        log.mark_committed(number, HALVES)

    assert not log.has(2)
    assert log.has(3)
    assert len(list((tmp_path / "q").iterdir())) == 2 * KEPT
