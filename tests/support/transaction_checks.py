"""Checks of transactions by a producer of the Python SDK."""

from collections.abc import Callable
from typing import Any

from rocketmq import TransactionChecker


def checker(resolution: Callable[[str], Any]) -> Any:
    """Return a checker for a producer. `resolution` gets the order, the key of the message, and returns its end."""

    class Checker(TransactionChecker):  # type: ignore[misc]  # the SDK has no types
        def check(self, received: Any) -> Any:
            return resolution(next(iter(received.keys)))

    return Checker()
