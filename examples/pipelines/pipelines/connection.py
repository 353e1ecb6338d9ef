"""What both pipelines do the same: arguments, a session, a stream in and a stream out."""

import argparse
import os
import sys
from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark_rocketmq import register


def topic_stream(spark: SparkSession, name_server: str, topic: str) -> DataFrame:
    """What a topic holds and will hold."""
    reader = spark.readStream.format("rocketmq").option("nameServer", name_server).option("topic", topic)
    return reader.option("startingOffsets", "earliest").load()


def to_topics(messages: DataFrame, name_server: str) -> DataStreamWriter:
    """Messages on their way to the topics of their column `topic`."""
    return messages.writeStream.format("rocketmq").option("nameServer", name_server).option("sendBatchSize", "32")


def run(name: str, pipeline: Callable[[SparkSession, str], DataStreamWriter]) -> None:
    """Run a pipeline until it is stopped."""
    parser = argparse.ArgumentParser(prog=name)
    parser.add_argument("--name-server", required=True, help="host:port, several with ; between")
    parser.add_argument("--checkpoint", required=True, help="a folder that survives restarts")
    arguments = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers are the first python3 of the path
    # Counts of a small topic need no 200 tasks, Spark's default; it cannot be changed for a checkpoint that is there.
    spark = SparkSession.builder.appName(name).config("spark.sql.shuffle.partitions", "8").getOrCreate()
    register(spark)  # Spark finds the package by itself, unless it was installed with --editable
    writer = pipeline(spark, arguments.name_server)
    writer.option("checkpointLocation", arguments.checkpoint).start().awaitTermination()
