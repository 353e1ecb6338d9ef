"""Tests of the enrichment, with every kind of order."""

import json

from pipelines.enrichment import pipeline
from pyspark_rocketmq.testing import SparkRocketMQ


def test_every_order_is_enriched_or_refused(spark_rocketmq: SparkRocketMQ) -> None:
    """Every order is enriched with the latest customer data or refused, exactly once, although a broker restarts."""
    emulator = spark_rocketmq.emulator
    customers, orders = emulator.topic("customers", queues=2), emulator.topic("orders", queues=2)
    good, refused = emulator.topic("orders-enriched", queues=2), emulator.topic("orders-refused", queues=2)
    for country in ("NO", "SE"):
        customers.send(json.dumps({"customer": "ada", "country": country}).encode(), message_group="ada")

    def run() -> None:
        spark_rocketmq.finish(pipeline(spark_rocketmq.spark, emulator.namesrv))

    orders.send(b'{"id": "1", "customer": "ada", "amount": 5}')
    orders.send(b'{"id": "2", "customer": "bob", "amount": 5}')
    orders.send(b'{"id": "3", "customer": "ada", "amount": 0}')
    orders.send(b"hello")
    run()
    emulator.restart()
    customers.send(b'{"customer": "bob", "country": "FI"}', message_group="bob")
    orders.send(b'{"id": "4", "customer": "bob", "amount": 7}')
    run()

    assert sorted(
        (found["id"], found["country"]) for found in map(json.loads, (message.body for message in good.messages))
    ) == [
        ("1", "SE"),
        ("4", "FI"),
    ]
    assert {message.body: message.properties["why"] for message in refused.messages} == {
        b'{"id": "2", "customer": "bob", "amount": 5}': "nobody knows the customer",
        b'{"id": "3", "customer": "ada", "amount": 0}': "it has no amount",
        b"hello": "it is no order",
    }
    assert len(refused.messages) == 3
