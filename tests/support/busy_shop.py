"""The state of the emulator for the transcripts in `tests/fixtures/failures/`: a shop after a busy minute.

| topic | messages |
|---|---|
| orders, 2 queues | M1, M3 (tag a), M2 (tag b); group billing (client c1, tag a) pops, group audit (client c2) pulls |
| parcels | M4 is a dead letter of group delivery (client c3), M5 was retried once |
| steps, FIFO | M6 to M8 of message group table-7, received out of order by client c4 of group kitchen; M9 of table-8 |
| payments | M10 is a half message that was checked once; M11 was committed, M12 rolled back |
| teas | M13 is delayed for two hours |
| reminders | none |
"""

from noon_shop import COMMIT, ROLLBACK, NoonShop, ShopClient
from rocketmq_testkit.conformance.clients.remoting_consumption import pull_request
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode

TOPICS = ["orders:NORMAL:2", "parcels:NORMAL:1", "steps:FIFO:1", "payments:TRANSACTION:1", "teas:NORMAL:1", "reminders"]
HOUR_MS = 3_600_000


def busy_shop() -> NoonShop:
    """Start an emulator and bring it into this state."""
    shop = NoonShop(topics=TOPICS, config={"transactionCheckInterval": 30_000, "transactionTimeOut": 6_000})
    producer = shop.client("p1").produce("shop")
    _orders(shop, producer)
    _parcels(shop, producer)
    _steps(shop, producer)
    for group, name, expression in (("mixed", "c5", "a"), ("mixed", "c6", "b")):
        shop.client(name).join(group, {"orders": expression})
    _payments(shop, producer)
    producer.send("teas", b'{"tea": "green", "grams": 99.5}', delay_level=18)
    return shop


def _orders(shop: NoonShop, producer: ShopClient) -> None:
    consumer = shop.client("c1").join("billing", {"orders": "a"})
    producer.send("orders", b"two teas", tag="a", keys="1001", queue=0)
    producer.send("orders", b"a coffee", tag="b", keys="1002", queue=1)
    consumer.ack("billing", consumer.pop("orders", "billing", expression="a", invisible_ms=HOUR_MS))
    producer.send("orders", b"more teas", tag="a", keys="1003", queue=0)
    consumer.pop("orders", "billing", expression="a", invisible_ms=HOUR_MS)
    auditor = shop.client("c2").join("audit", {"orders": "*"})
    for _ in range(2):
        auditor.pull("orders", "audit", 0)
    auditor.commit("orders", "audit", 2)
    assert auditor.ask(*pull_request("ordres", "audit")).code == ResponseCode.TOPIC_NOT_EXIST


def _parcels(shop: NoonShop, producer: ShopClient) -> None:
    consumer = shop.client("c3").join("delivery", {"parcels": "*"})
    producer.send("parcels", keys="1")
    producer.send("parcels", keys="2")
    dead, retried = consumer.pull("parcels", "delivery")
    consumer.send_back("delivery", dead, maxReconsumeTimes=0)
    consumer.send_back("delivery", retried)
    consumer.commit("parcels", "delivery", 2)


def _steps(shop: NoonShop, producer: ShopClient) -> None:
    consumer = shop.client("c4").join("kitchen", {"steps": "*"})
    for body in ("boil", "pour", "serve"):
        producer.send("steps", body, message_group="table-7")
    producer.send("steps", "boil", message_group="table-8")
    consumer.pull("steps", "kitchen", 0, 1, max_messages=1)
    consumer.pull("steps", "kitchen", 0, 0)
    consumer.commit("steps", "kitchen", 4)


def _payments(shop: NoonShop, producer: ShopClient) -> None:
    producer.send("payments", "open", half=True)
    for how in (COMMIT, ROLLBACK):
        producer.end(producer.send("payments", "decided", half=True), how)
    shop.rocketmq.clock.advance("40s", wait=None)
