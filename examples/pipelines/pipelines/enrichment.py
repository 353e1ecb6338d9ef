"""Adds customers to the orders of the topic `orders`: valid ones go to `orders-enriched`, others to `orders-refused`.

The data of a customer is that of the customer's latest message in the topic `customers`.
"""

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter

from .connection import run, to_topics, topic_stream

ORDER = "id string, customer string, amount double"
CUSTOMER = "customer string, country string"


def last_known(messages: DataFrame) -> DataFrame:
    """Return the latest message about each customer.

    The customer's name is the sharding key, so one queue has all messages about a customer, in order.
    """
    parsed = messages.select(F.from_json(F.col("body").cast("string"), CUSTOMER).alias("said"), "queueOffset")
    newest_first = Window.partitionBy("said.customer").orderBy(F.desc("queueOffset"))
    ranked = parsed.where("said.customer is not null").withColumn("rank", F.row_number().over(newest_first))
    return ranked.where("rank = 1").select("said.*")


def enriched(orders: DataFrame, customers: DataFrame) -> DataFrame:
    """Return messages with their target topics. No order is dropped: invalid ones are refused with a reason."""
    text = F.col("body").cast("string")
    parsed = orders.select(text.alias("text"), F.from_json(text, ORDER).alias("order"), "queueId", "queueOffset")
    joined = parsed.join(customers, parsed["order.customer"] == customers["customer"], "left")
    why = (
        F.when(F.col("order.id").isNull(), "it is no order")
        .when(F.coalesce(F.col("order.amount"), F.lit(0)) <= 0, "it has no amount")
        .when(F.col("country").isNull(), "nobody knows the customer")
    )
    body = F.to_json(F.struct("order.id", "order.customer", "order.amount", "country"))
    return joined.withColumn("why", why).select(
        F.when(F.col("why").isNull(), body).otherwise(F.col("text")).alias("body"),
        F.when(F.col("why").isNull(), "orders-enriched").otherwise("orders-refused").alias("topic"),
        F.col("order.id").alias("keys"),
        F.when(F.col("why").isNotNull(), F.create_map(F.lit("why"), F.col("why"))).alias("properties"),
    )


def pipeline(spark: SparkSession, name_server: str) -> DataStreamWriter:
    """Connect `orders` to the two target topics."""
    customers = spark.read.format("rocketmq").option("nameServer", name_server).option("topic", "customers").load()
    return to_topics(enriched(topic_stream(spark, name_server, "orders"), last_known(customers)), name_server)


if __name__ == "__main__":
    run("enrichment", pipeline)
