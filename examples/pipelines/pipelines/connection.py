"""Shared code of both pipelines: arguments, a session, an input stream and an output stream."""

import argparse
import os
import sys
from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark_rocketmq import register


def topic_stream(spark: SparkSession, name_server: str, topic: str) -> DataFrame:
    """Return the stream of a topic's messages, starting with the earliest."""
    reader = spark.readStream.format("rocketmq").option("nameServer", name_server).option("topic", topic)
    return reader.option("startingOffsets", "earliest").load()


def to_topics(messages: DataFrame, name_server: str) -> DataStreamWriter:
    """Return a writer that sends messages to the topics in their column `topic`."""
    return messages.writeStream.format("rocketmq").option("nameServer", name_server).option("sendBatchSize", "32")


def run(name: str, pipeline: Callable[[SparkSession, str], DataStreamWriter]) -> None:
    """Run a pipeline until it is stopped."""
    parser = argparse.ArgumentParser(prog=name)
    parser.add_argument("--name-server", required=True, help="host:port, several with ; between")
    parser.add_argument("--checkpoint", required=True, help="a folder that survives restarts")
    arguments = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # otherwise workers use the first python3 in the path
    # Counts of a small topic do not need 200 tasks, Spark's default; the number cannot change for an existing
    # checkpoint.
    spark = SparkSession.builder.appName(name).config("spark.sql.shuffle.partitions", "8").getOrCreate()
    register(spark)  # needed only if the package is installed with --editable
    writer = pipeline(spark, arguments.name_server)
    writer.option("checkpointLocation", arguments.checkpoint).start().awaitTermination()
