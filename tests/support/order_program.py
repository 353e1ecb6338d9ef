"""A shop that takes orders in transactions, as a process of its own with the Python SDK.

    python order_program.py ENDPOINT TABLES APPLICATION

TABLES is a file that survives crashes, as a database does. APPLICATION is `broken` or `repaired`. The program prints
`started` once its producer has started. Then it takes an order for each line of its standard input, prints the name of
the order when the transaction is committed or the commit has failed, and ends with its standard input.
"""

import sys
from pathlib import Path
from typing import Any

from rocketmq import ClientConfiguration, Credentials, Message, Producer, TransactionResolution
from transaction_checks import checker

TOPIC = "orders"
REQUEST_SECONDS = 20
"""The timeout of requests (s). With a shorter one the SDK can start without a route."""
ACCEPTED, ASKED, FAILED = "accepted", "asked", "failed"
"""Tables: accepted orders, orders whose check was answered with UNKNOWN, and orders whose commit failed."""


class Tables:
    """The tables of the shop. Each line of the file is a table and an order in it."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def add(self, table: str, order: str) -> None:
        """Add an order to a table."""
        with self._file.open("a", encoding="utf-8") as file:
            file.write(f"{table} {order}\n")

    def orders(self, table: str) -> set[str]:
        """Return the orders in a table."""
        lines = self._file.read_text(encoding="utf-8").splitlines() if self._file.exists() else []
        return {order for name, _, order in (line.partition(" ") for line in lines) if name == table}


class Shop:
    """Accepts each order before its commit. A check of an order that the shop still works on is answered with UNKNOWN.

    The broken shop takes an order for abandoned if it has answered an earlier check with UNKNOWN, and works on the
    order no more, although its commit did not fail. But a crash between the check and the commit leaves an accepted
    order in this state. The repaired shop looks up if the order was accepted.
    """

    def __init__(self, endpoint: str, tables: Tables, *, is_broken: bool) -> None:
        self._endpoint = endpoint
        self._tables = tables
        self._is_broken = is_broken
        self._working: set[str] = set()
        """Orders that this process works on. A crash loses them."""
        self._producers: list[Producer] = []

    def start(self) -> None:
        """Start a producer."""
        configuration = ClientConfiguration(self._endpoint, Credentials(), request_timeout=REQUEST_SECONDS)
        producer = Producer(configuration, [TOPIC], checker=checker(self.resolution))
        producer.startup()
        self._producers.append(producer)

    def order(self, name: str) -> None:
        """Take an order. If its commit fails, a new producer gets the checks, as a careful application does."""
        producer = self._producers[-1]
        transaction = producer.begin_transaction()
        message = Message()
        message.topic, message.keys, message.body = TOPIC, name, b"{}"
        producer.send(message, transaction)
        self._working.add(name)
        self._tables.add(ACCEPTED, name)
        try:
            transaction.commit()
        except Exception:  # the SDK raises errors of gRPC
            self._tables.add(FAILED, name)
            self.start()
        self._working.discard(name)

    def resolution(self, order: str) -> Any:
        """Answer a check."""
        if order in self._working and order not in self._tables.orders(FAILED):
            self._tables.add(ASKED, order)
            return TransactionResolution.TRANSACTION_RESOLUTION_UNSPECIFIED
        if order not in self._tables.orders(ACCEPTED) or (self._is_broken and self._is_abandoned(order)):
            return TransactionResolution.ROLLBACK
        return TransactionResolution.COMMIT

    def _is_abandoned(self, order: str) -> bool:
        return order in self._tables.orders(ASKED) and order not in self._tables.orders(FAILED)


def main(endpoint: str, tables: str, application: str) -> None:
    """Take orders from standard input until it ends."""
    shop = Shop(endpoint, Tables(Path(tables)), is_broken=application == "broken")
    shop.start()
    print("started", flush=True)
    for line in sys.stdin:
        shop.order(line.strip())
        print(line.strip(), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
