"""The shop: takes orders from customers and publishes them."""

from types import TracebackType
from typing import Self

from rocketmq import ClientConfiguration, Credentials, Message, Producer

from .order import TOPIC, Order


class Shop:
    """Publishes orders to the broker at `endpoint` (`host:port`)."""

    def __init__(self, endpoint: str) -> None:
        self._producer = Producer(ClientConfiguration(endpoint, Credentials()), [TOPIC])

    def place(self, order: Order) -> str:
        """Publish an order; returns its message id once the broker has stored it."""
        message = Message()
        message.topic = TOPIC
        message.tag = order.item
        message.keys = order.number
        message.body = order.to_body()
        message_id: str = self._producer.send(message).message_id
        return message_id

    def __enter__(self) -> Self:
        self._producer.startup()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._producer.shutdown()
