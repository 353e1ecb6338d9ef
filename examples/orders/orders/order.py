"""An order, and its format as a message body."""

import json
from dataclasses import asdict, dataclass
from typing import Self

TOPIC = "orders"


@dataclass(frozen=True)
class Order:
    """A quantity of one item for one customer."""

    number: str
    item: str
    quantity: int

    def to_body(self) -> bytes:
        """Return the message body for the order."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_body(cls, body: bytes) -> Self:
        """Parse an order from a message body."""
        return cls(**json.loads(body))
