"""Billing: charges orders batch by batch, and never loses one."""

from collections.abc import Callable
from types import TracebackType
from typing import Self

from rocketmq import ClientConfiguration, Credentials, FilterExpression, SimpleConsumer

from .order import TOPIC, Order

GROUP = "billing"
BATCH = 16
SECONDS_TO_CHARGE = 60
"""Invisible duration in seconds: an order that is not charged within it is redelivered."""


class Billing:
    """Calls `charge` for each order on the broker at `endpoint`; if that raises, the order is redelivered."""

    def __init__(self, endpoint: str, charge: Callable[[Order], None]) -> None:
        self._charge = charge
        self._consumer = SimpleConsumer(
            ClientConfiguration(endpoint, Credentials()), GROUP, {TOPIC: FilterExpression("*")}, await_duration=1
        )

    def run_once(self) -> int:
        """Charge one batch of orders; returns their number. If `charge` fails, its order is redelivered later."""
        messages = self._consumer.receive(BATCH, SECONDS_TO_CHARGE) or []
        for message in messages:
            self._charge(Order.from_body(message.body))
            self._consumer.ack(message)
        return len(messages)

    def __enter__(self) -> Self:
        self._consumer.startup()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._consumer.shutdown()
