"""Small applications of the exploration's tests: a shop that takes orders in transactions, with the Python SDK."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from rocketmq import Producer, TransactionResolution
from rocketmq_testkit import Emulator
from sdk_worker import configuration, message
from transaction_checks import checker

PATIENCE_S = 20
"""The timeout of requests (s). With a shorter one the SDK can start without a route."""


class Shop(ABC):
    """A transaction producer that starts another one after a failed commit, as a careful application does.

    After a crash of the broker, the SDK 5.1.2 registers its producer for checks again only after 5 to 10 minutes of
    real time (ClientTelemetryManager). A new producer gets checks at once.
    """

    def __init__(self, emulator: Emulator) -> None:
        self.accepted: set[str] = set()
        self.cancelled: set[str] = set()
        self._emulator = emulator
        self._producers: list[Producer] = []

    def start(self) -> None:
        """Start a producer, and wait until the broker can send checks to it."""
        producer = Producer(configuration(self._emulator, PATIENCE_S), ["orders"], checker=checker(self.resolution))
        producer.startup()
        self._emulator.wait_for_producer("orders")
        self._producers.append(producer)

    def stop(self) -> None:
        """Shut all producers down."""
        for each in self._producers:
            each.shutdown()

    def order(self, name: str) -> None:
        """Send an order in a transaction."""
        producer = self._producers[-1]
        transaction = producer.begin_transaction()
        producer.send(message("orders", name), transaction)
        self.commit(transaction, name)

    @abstractmethod
    def commit(self, transaction: Any, name: str) -> None:
        """Accept an order, and commit its transaction."""

    def try_to_commit(self, transaction: Any) -> bool:
        """Commit a transaction. If that fails, return False, and let a new producer get the check."""
        try:
            transaction.commit()
        except Exception:  # the SDK raises errors of gRPC
            self.start()
            return False
        return True

    def resolution(self, order: str) -> Any:
        """Answer a check."""
        if order in self.accepted:
            return TransactionResolution.COMMIT
        self.cancelled.add(order)
        return TransactionResolution.ROLLBACK

    @property
    def sent(self) -> set[str]:
        """The orders that are sent."""
        return {key for each in self._emulator.messages("orders") for key in each.keys}


def running(shop: type[Shop], emulator: Emulator) -> Iterator[Shop]:
    """Create the topic of a shop, and run the shop until the test has ended."""
    emulator.topic("orders", type="TRANSACTION", queues=1)
    found = shop(emulator)
    found.start()
    yield found
    found.stop()
