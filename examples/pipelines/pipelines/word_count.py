"""Counts the words of the topic `lines`, and sends each new count to the topic `word-counts`."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter

from .connection import run, topic_stream


def word_counts(lines: DataFrame) -> DataFrame:
    """Return a message for each word whose count has changed; messages of the same word keep their order."""
    words = lines.select(F.explode(F.split(F.lower(F.col("body").cast("string")), r"\W+")).alias("word"))
    counts = words.where("word <> ''").groupBy("word").count()
    return counts.select(F.to_json(F.struct("word", "count")).alias("body"), F.col("word").alias("shardingKey"))


def pipeline(spark: SparkSession, name_server: str) -> DataStreamWriter:
    """Connect `lines` to `word-counts`. Spark's Python sinks can only append, so each batch writes the updates."""

    def send(counts: DataFrame, number: int) -> None:  # noqa: ARG001 - Spark gives the number of the batch
        writer = counts.write.format("rocketmq").option("nameServer", name_server).option("topic", "word-counts")
        writer.mode("append").save()

    counts = word_counts(topic_stream(spark, name_server, "lines"))
    return counts.writeStream.outputMode("update").foreachBatch(send)


if __name__ == "__main__":
    run("word-count", pipeline)
