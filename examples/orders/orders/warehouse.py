"""The warehouse: ships every order as soon as it arrives, or later if an item is out of stock."""

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
    """Ships orders that the broker at `endpoint` pushes, from `stock` (item -> quantity)."""

    def __init__(self, endpoint: str, stock: dict[str, int]) -> None:
        self.stock = stock
        self.shipped: Queue[Order] = Queue()
        self.refused: Queue[Order] = Queue()
        configuration = ClientConfiguration(endpoint, Credentials())
        # One thread, so that two threads cannot take the last item together.
        self._consumer = PushConsumer(
            configuration, GROUP, self, {TOPIC: FilterExpression("*")}, consumption_thread_count=1
        )

    def consume(self, message: Message) -> ConsumeResult:
        """Handle one delivery; called by the consumer. FAILURE makes the broker redeliver the message later."""
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
