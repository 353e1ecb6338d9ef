"""Runs the programs in the pages about Spark verbatim, except for addresses and folders."""

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark_rocketmq.testing import SparkRocketMQ
from rocketmq_testkit.fixtures import Emulator

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def program(page: str, part: str) -> str:
    """Return the only program of a page that contains a text."""
    [found] = [block for block in BLOCK.findall((ROOT / "docs" / page).read_text()) if part in block]
    text: str = found
    return text


def run(text: str, **names: Any) -> dict[str, Any]:
    """Return the variables that a program leaves."""
    exec(compile(text, "page", "exec"), names)
    return names


def test_the_number_of_programs_in_the_pages_is_known() -> None:
    """The number of programs in the pages is known, so that a new one is added to this file."""
    counts = {
        page: len(BLOCK.findall((ROOT / "docs" / page).read_text())) for page in ("spark.md", "audit.md", "replay.md")
    }

    assert counts == {"spark.md": 2, "audit.md": 4, "replay.md": 1}


def test_the_first_program_of_the_spark_page_reads_and_copies_a_topic(spark_rocketmq: SparkRocketMQ) -> None:
    spark_rocketmq.emulator.topic("orders").send(b"two teas")
    copies = spark_rocketmq.emulator.topic("copies")
    text = program("spark.md", "readStream").replace("127.0.0.1:9876", spark_rocketmq.emulator.namesrv)

    left = run(text.replace("/var/lib/pipelines/copies", spark_rocketmq.checkpoint()), spark=spark_rocketmq.spark)

    assert [bytes(row.body) for row in left["orders"].collect()] == [b"two teas"]
    left["query"].processAllAvailable()
    assert [(message.body, message.tag) for message in copies.messages] == [(b"two teas", "copied")]


def test_the_sql_statements_of_the_spark_page_run_in_order(spark_rocketmq: SparkRocketMQ) -> None:
    spark_rocketmq.emulator.topic("orders").send(b"two teas")
    spark_rocketmq.emulator.topic("copies")
    [text] = re.findall(r"^```sql\n(.*?)^```$", (ROOT / "docs" / "spark.md").read_text(), re.MULTILINE | re.DOTALL)
    try:
        for statement in text.replace("127.0.0.1:9876", spark_rocketmq.emulator.namesrv).split(";")[:-1]:
            found = spark_rocketmq.spark.sql(statement).collect()
    finally:
        for table in ("orders", "copies"):
            spark_rocketmq.spark.sql(f"DROP TABLE IF EXISTS {table}")

    assert [tuple(row) for row in found] == [("two teas", "copied")]


def test_the_test_of_the_spark_page_passes(spark_rocketmq: SparkRocketMQ) -> None:
    run(program("spark.md", "def test_"))["test_large_orders_are_copied"](spark_rocketmq)

    assert [message.body for message in spark_rocketmq.emulator.messages("copies")] == [b"900"]


def test_the_test_of_the_audit_page_passes(rocketmq: Emulator) -> None:
    run(program("audit.md", "test_orders_audited"))["test_nothing_is_lost_on_the_way"](rocketmq)


def test_the_test_of_a_kept_journal_on_the_audit_page_passes(rocketmq: Emulator, tmp_path: Path) -> None:
    run(program("audit.md", "test_kept_journal"))["test_an_exported_journal_has_no_loss"](rocketmq, tmp_path)


def test_the_program_of_the_audit_page_shows_the_lost_message(
    spark_rocketmq: SparkRocketMQ, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program with a session in docs/audit.md shows the lost message."""
    journals = spark_rocketmq.folder / "journals"
    journals.mkdir()
    (journals / "journal.jsonl").write_text(
        '{"ts_us": 1, "event": "subscribed", "topic": "orders", "group": "shop"}\n'
        '{"ts_us": 2, "event": "stored", "topic": "orders", "msgId": "m1"}\n'
    )

    run(program("audit.md", "audit_journals").replace("journals/", str(journals)))

    assert "lost" in capsys.readouterr().out


def test_the_program_of_the_replay_page_replays_a_recording(
    spark_rocketmq: SparkRocketMQ, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program of docs/replay.md replays a recording, from one emulator to itself."""
    topic = spark_rocketmq.emulator.topic("orders", queues=1)
    topic.send(b"two teas")
    text = program("replay.md", "replay(").replace("10.0.0.7:9876", spark_rocketmq.emulator.namesrv)
    text = text.replace("127.0.0.1:9876", spark_rocketmq.emulator.namesrv)

    run(text.replace("orders.parquet", str(spark_rocketmq.folder / "orders.parquet")))

    assert [message.body for message in topic.messages] == [b"two teas", b"two teas"]
    assert capsys.readouterr().out.startswith("1 ")
