"""Tests of the word count, which runs until no messages are left, stops, and runs again."""

import json

from pipelines.word_count import pipeline
from pyspark_rocketmq.testing import SparkRocketMQ


def test_after_a_restart_only_changed_word_counts_are_sent(spark_rocketmq: SparkRocketMQ) -> None:
    """After a restart only words whose count has changed are sent, with their total count."""
    lines = spark_rocketmq.emulator.topic("lines", queues=2)
    counts = spark_rocketmq.emulator.topic("word-counts", queues=2)

    def run() -> dict[str, int]:
        before = len(counts.messages)
        spark_rocketmq.finish(pipeline(spark_rocketmq.spark, spark_rocketmq.emulator.namesrv))
        told = [json.loads(message.body) for message in counts.messages[before:]]
        return {each["word"]: each["count"] for each in told}

    lines.send(b"To be, or not to be")
    lines.send(b"that is the question")
    first = run()
    lines.send(b"to sleep")
    second = run()

    assert first == {"to": 2, "be": 2, "or": 1, "not": 1, "that": 1, "is": 1, "the": 1, "question": 1}
    assert second == {"to": 3, "sleep": 1}
