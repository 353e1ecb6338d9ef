"""Tests of the command `rocketmq-replay`, run like a user."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession
from pyspark_rocketmq.replay.command import DONE, FAILED, UNUSABLE, main, save_rows, saved_rows
from quick_java import QUICK_JAVA
from rocketmq_testkit.fixtures import Emulator

pytestmark = pytest.mark.sampled

COMMAND = Path(sys.executable).with_name("rocketmq-replay")


def run(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    """Run the command in a separate process, since it stops its session at the end."""
    environment = {**os.environ, **QUICK_JAVA}
    return subprocess.run([COMMAND, *words], capture_output=True, text=True, timeout=600, check=False, env=environment)


def test_a_saved_range_of_a_topic_is_sent_again(rocketmq: Emulator, tmp_path: Path) -> None:
    """A saved range of a topic is sent again; the saved file can be saved once more, but not sent to a missing topic.

    The error is one sentence that names the topic, without Spark's own text.
    """
    topic = rocketmq.topic("orders", queues=1)
    for number in range(5):
        topic.send(b"\xff%d" % number, tag="tea", keys=[f"k{number}"])
    again = rocketmq.topic("again", queues=1)
    first_kept, second_kept = tmp_path / "orders.jsonl", tmp_path / "orders.parquet"

    first = run(
        *("--from", rocketmq.namesrv, "--topic", "orders", "--read", 'startingOffsets={"orders":{"broker-a":{"0":2}}}'),
        *("--save", first_kept, "--to", rocketmq.namesrv, "--to-topic", "again", "--speed", "1000"),
    )
    second = run(first_kept, "--save", second_kept, "--to", rocketmq.namesrv, "--to-topic", "nowhere")

    assert first.stdout.startswith("3 messages sent by 1 tasks, at most "), first.stderr
    assert first.returncode == DONE
    sent = [(message.body, message.tag, message.keys) for message in again.messages]
    assert sent == [(b"\xff%d" % number, "tea", [f"k{number}"]) for number in (2, 3, 4)]
    assert second.returncode == FAILED
    assert second.stderr.splitlines()[-1] == (
        "rocketmq-replay: topic nowhere has no queue to write: "
        f"name servers {rocketmq.namesrv} know none; create it first"
    )
    rows = pyarrow.parquet.read_table(second_kept).to_pylist()
    assert sorted((row["queueOffset"], row["body"]) for row in rows) == [(at, b"\xff%d" % at) for at in (2, 3, 4)]


@pytest.mark.parametrize("name", ["m.jsonl", "m.ndjson", "m.json", "m.jsonl.gz", "m.json.gz", "m.parquet"])
def test_rows_saved_under_any_name_are_read_back(
    name: str, rocketmq: Emulator, spark_rocketmq_session: SparkSession, tmp_path: Path
) -> None:
    """The name decides the format of the saved rows, and the same name is read in that format."""
    rocketmq.topic("orders", queues=1).send(b"\xffone", tag="tea")
    options = {"nameServer": rocketmq.namesrv, "topic": "orders", "includeMetadata": "true"}
    rows = spark_rocketmq_session.read.format("rocketmq").options(**options).load()
    path = str(tmp_path / name)
    save_rows(rows, path)
    assert saved_rows(spark_rocketmq_session, path).collect() == rows.collect()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "RECORDING, --from: not exactly one is given"),
        (["x.parquet", "--from", "a:1"], "RECORDING, --from: not exactly one is given"),
        (["--from", "a:1", "--to", "b:1"], "--from=a:1: no topic is named"),
        (["x.parquet", "--topic", "orders", "--to", "b:1"], "--topic, --read: no effect on recordings"),
        (["x.parquet"], "--to: missing; a replay sends to a cluster or saves to a file"),
        (["x.parquet", "--save", "y.parquet", "--speed", "2"], "--to-topic, --write, --speed: no effect without --to"),
        (["x.parquet", "--to", "b:1", "--speed", "0"], "--speed=0: not a speed"),
        (
            ["x.parquet", "--to", "b:1", "--write", "tls"],
            "--write=tls: not a setting; a setting is OPTION=VALUE; use --write sendBatchSize=32",
        ),
    ],
)
def test_unusable_arguments_end_the_command_with_one_sentence(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is 2, before Spark is started."""
    assert main(words) == UNUSABLE
    assert problem in capsys.readouterr().err
