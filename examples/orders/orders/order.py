"""An order, and how it travels in a message."""

import json
from dataclasses import asdict, dataclass
from typing import Self

TOPIC = "orders"


@dataclass(frozen=True)
class Order:
    """So many of one item for one customer."""

    number: str
    item: str
    quantity: int

    def to_body(self) -> bytes:
        """The body of the message that carries the order."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_body(cls, body: bytes) -> Self:
        """The order that a message carries."""
        return cls(**json.loads(body))
