"""Journal files of emulators, as `pytest --rocketmq-journal` keeps them, in the audit and the replay."""

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark_rocketmq.audit import JournalError, audit_events, audit_journals, events_of, events_of_file
from pyspark_rocketmq.audit.command import UNUSABLE, main
from pyspark_rocketmq.replay.command import saved_rows
from pyspark_rocketmq.replay.journal_messages import recording_of
from pyspark_rocketmq.replay.resend import replay
from rocketmq_testkit.emulator.operations.consume import AckMessage, PopMessage, PopResult
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.fixtures.host.host import Host
from rocketmq_testkit.fixtures.reports.journal_files import keep

pytestmark = pytest.mark.rocketmq(time="frozen", topics=["orders:NORMAL:1"])
TEST = "test_orders.py::test_late"


def consume(host: Host) -> None:
    """Receive two messages of `orders` for the group `shop`, and acknowledge the first."""
    engine, broker = host.engine, host.engine.brokers[0]
    result = engine.execute(
        broker, PopMessage("shop", "orders", queue_id=0, max_msg_nums=2, invisible_ms=10_000, exp_type="TAG", exp="*")
    )
    assert isinstance(result, PopResult)
    first = result.messages[0]
    handle = f"{first.start_offset} {result.pop_time} {result.invisible_ms} {result.revive_qid} 0 broker-a 0 0"
    engine.execute(broker, AckMessage("shop", "orders", 0, handle, 0))


@pytest.fixture
def kept(rocketmq: Emulator, tmp_path: Path) -> Path:
    """The kept journal of a test: three messages were sent, two received, one of them acknowledged, one redelivered."""
    for name in ("ONE", "TWO", "THREE"):
        rocketmq.topic("orders").send(name, tag="tea", keys=name.lower(), properties={"UNIQ_KEY": name})
    rocketmq.run_on_loop(consume)
    host = rocketmq.run_on_loop(lambda host: host)
    [line] = keep(tmp_path / "kept", TEST, [(rocketmq, host)])
    return Path(line)


def test_a_kept_journal_has_the_events_of_the_running_emulator(rocketmq: Emulator, kept: Path) -> None:
    """Each event names the test as its recording."""
    events = events_of_file(kept)
    assert {event.run_id for event in events} == {TEST}
    assert [replace(event, run_id="") for event in events] == events_of(rocketmq)


def test_kept_journals_and_files_of_events_are_audited_as_recordings(
    rocketmq: Emulator, kept: Path, spark_rocketmq_session: SparkSession, tmp_path: Path
) -> None:
    """A folder with a kept journal, a journal exported as Parquet, and a file of events has three recordings.

    The Spark job judges the kept journal as the audit in memory does.
    """
    parquet = kept.with_name("other.parquet")
    rocketmq.journal.export(parquet)
    events_file(kept.parent)
    in_memory = audit_events(events_of_file(kept))
    with audit_journals(spark_rocketmq_session, [tmp_path / "kept"]) as audit:
        rows = audit.accounts.select("run", "id", "verdicts").collect()
        assert audit.events == len(events_of(rocketmq)) * 2 + 1
    of_kept = {row["id"]: row["verdicts"] for row in rows if row["run"] == TEST}
    assert of_kept == {account.message_id: list(account.verdicts) for account in in_memory.accounts}
    assert of_kept["ONE"] == []
    assert of_kept["TWO"] != []
    assert {row["run"] for row in rows} == {TEST, str(parquet)}


def test_incomplete_files_are_refused_in_one_sentence(
    rocketmq: Emulator, kept: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A file with selected entries, without messages, or of a part of the session would give wrong verdicts."""
    partial, bare, late = (tmp_path / f"{name}.jsonl" for name in ("partial", "bare", "late"))
    rocketmq.journal.where(topic="orders").export(partial)
    rocketmq.journal.export(bare, messages=False)
    late.write_text(kept.read_text().replace('"first":0', '"first":7', 1))
    for path, text in (
        (partial, "entries or messages were left out; export the whole journal, with messages"),
        (bare, "entries or messages were left out; export the whole journal, with messages"),
        (late, "its first entry has the index 7, so the audit would be incomplete"),
    ):
        with pytest.raises(JournalError, match=text):
            events_of_file(path)
    with pytest.raises(JournalError, match="not a journal file of an emulator"):
        events_of_file(events_file(tmp_path))
    assert main([str(tmp_path / "missing.jsonl")]) == UNUSABLE
    assert "there is no such journal" in capsys.readouterr().err


def events_file(folder: Path) -> Path:
    """Write a file of one event."""
    path = folder / "events.jsonl"
    path.write_text('{"ts_us": 1, "event": "stored", "topic": "teas", "msgId": "m"}\n')
    return path


def test_a_replay_of_a_kept_journal_sends_its_messages_again(
    rocketmq: Emulator, kept: Path, spark_rocketmq_session: SparkSession, tmp_path: Path
) -> None:
    """The messages are sent again in order, with body, tag and keys; a recording of --save stays as it is."""
    again = rocketmq.topic("again", queues=1)
    recording = recording_of(str(kept), tmp_path)
    assert recording is not None
    rows = saved_rows(spark_rocketmq_session, recording)
    replayed = replay(rows, {"nameServer": rocketmq.namesrv, "topic": "again"}, tasks=1)
    assert replayed.messages == 3
    sent = [(message.body, message.tag, message.keys) for message in again.messages]
    assert sent == [(name.encode(), "tea", [name.lower()]) for name in ("ONE", "TWO", "THREE")]
    assert [row["storeTimestamp"] for row in rows.select("storeTimestamp").distinct().collect()] != [None]
    assert recording_of(recording, tmp_path) is None
    assert recording_of(str(tmp_path), tmp_path) is None
