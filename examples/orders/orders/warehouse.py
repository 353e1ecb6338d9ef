"""The warehouse: ships every order as soon as it comes in, or later when an item is out of stock."""

from queue import Queue
from types import TracebackType
from typing import Self

from rocketmq import (
    ClientConfiguration,
    ConsumeResult,
    Credentials,
    FilterExpression,
    Message,
    MessageListener,
    PushConsumer,
)

from .order import TOPIC, Order

GROUP = "warehouse"


class Warehouse(MessageListener):
    """Ships from `stock` (item -> how many) what the broker at `endpoint` pushes."""

    def __init__(self, endpoint: str, stock: dict[str, int]) -> None:
        self.stock = stock
        self.shipped: Queue[Order] = Queue()
        self.refused: Queue[Order] = Queue()
        configuration = ClientConfiguration(endpoint, Credentials())
        # One thread, because two must not take the last item off the shelf together.
        self._consumer = PushConsumer(
            configuration, GROUP, self, {TOPIC: FilterExpression("*")}, consumption_thread_count=1
        )

    def consume(self, message: Message) -> ConsumeResult:
        """Called by the consumer for each delivery. FAILURE asks the broker to deliver the message again later."""
        order = Order.from_body(message.body)
        if self.stock.get(order.item, 0) < order.quantity:
            self.refused.put(order)
            return ConsumeResult.FAILURE
        self.stock[order.item] -= order.quantity
        self.shipped.put(order)
        return ConsumeResult.SUCCESS

    def __enter__(self) -> Self:
        self._consumer.startup()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._consumer.shutdown()
