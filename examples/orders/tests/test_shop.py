"""The shop publishes what customers order. Nothing consumes here: the test looks into the broker."""

from orders.order import Order
from orders.shop import Shop
from rocketmq_testkit import Emulator


def test_an_order_becomes_one_message(rocketmq: Emulator) -> None:
    """The message has the order as its body, the item as its tag and the number as its key."""
    topic = rocketmq.topic("orders")

    with Shop(rocketmq.endpoint) as shop:
        message_id = shop.place(Order("1001", "tea", 2))

    [message] = topic.messages
    assert Order.from_body(message.body) == Order("1001", "tea", 2)
    assert (message.message_id, message.tag, message.keys) == (message_id, "tea", ["1001"])
