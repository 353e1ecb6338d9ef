"""Tests of the shop. No consumer is needed: the test reads the messages from the broker."""

from orders.order import Order
from orders.shop import Shop
from rocketmq_testkit import Emulator


def test_an_order_becomes_one_message(rocketmq: Emulator) -> None:
    """A placed order becomes a message with the order as its body, the item as its tag and the number as its key."""
    topic = rocketmq.topic("orders")

    with Shop(rocketmq.endpoint) as shop:
        message_id = shop.place(Order("1001", "tea", 2))

    [message] = topic.messages
    assert Order.from_body(message.body) == Order("1001", "tea", 2)
    assert (message.message_id, message.tag, message.keys) == (message_id, "tea", ["1001"])
