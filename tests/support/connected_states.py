"""States of an emulator in another process, made by requests of clients, for tests of a connected `Emulator`.

The fixture of `test_connected_emulator.py` has sent the message with the key 1001 to `orders`. The half message here
has the key 2001.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

import pytest
from noon_shop import ShopClient
from rocketmq_testkit.conformance.clients.grpc_client import GrpcClient, open_channel
from rocketmq_testkit.conformance.clients.grpc_requests import receive
from rocketmq_testkit.conformance.clients.remoting_consumption import pop_request, pull_request
from rocketmq_testkit.conformance.clients.remoting_members import lock_request
from rocketmq_testkit.fixtures import Emulator

WAREHOUSE = "warehouse"
LONG_POLL_MS = 20_000


class ConnectedShop:
    """The emulator of a client, and the numbers of its messages."""

    def __init__(self, rocketmq: Emulator) -> None:
        self.rocketmq = rocketmq
        self.numbers = count(1)


def client_of(emulator: Emulator) -> ShopClient:
    """Connect a client, which is no member of any group."""
    return ShopClient(ConnectedShop(emulator), "b-client")


def queue_of_order(emulator: Emulator) -> int:
    """Return the id of the queue that has the message of `orders`."""
    [queue] = [each.queue_id for each in emulator.inspection.queues("orders") if each.end]
    return queue


def pop_order(emulator: Emulator, *, ack: bool = False) -> None:
    """Pop the message of `orders`, and acknowledge it on request."""
    with client_of(emulator) as client:
        messages = client.pop("orders", WAREHOUSE)
        assert [each.body for each in messages] == [b"two teas"]
        if ack:
            client.ack(WAREHOUSE, messages)


def pop_order_again(emulator: Emulator) -> None:
    """Pop the message of `orders` once more, after the invisible duration of `pop_order` and the retry delay."""
    emulator.clock.advance("3m", wait=None)
    with client_of(emulator) as client:
        assert [each.body for each in client.pop("orders", WAREHOUSE)] == [b"two teas"]


def finish_later_message_first(emulator: Emulator) -> None:
    """Acknowledge a later message of the queue before the message of `orders` is delivered again."""
    with client_of(emulator) as client:
        client.send("orders", "one coffee", queue=queue_of_order(emulator))
        messages = client.pop("orders", WAREHOUSE)
        client.ack(WAREHOUSE, [each for each in messages if each.body == b"one coffee"])
    pop_order_again(emulator)


def send_order_back(emulator: Emulator, *, dead: bool = False) -> None:
    """Pull the message of `orders` and send it back: to be redelivered after 1 s, or to the dead letter queue."""
    with client_of(emulator) as client:
        [message] = client.pull("orders", WAREHOUSE, queue_of_order(emulator))
        client.send_back(WAREHOUSE, message, -1 if dead else 1)
    emulator.clock.advance("2s", wait=None)


def begin_transaction(emulator: Emulator, how: int | None = None) -> None:
    """Send a half message to the topic `payments`, and commit it or roll it back if `how` says so."""
    emulator.topic("payments", "TRANSACTION", 1)
    with client_of(emulator) as client:
        message_id = client.send("payments", "a tea", half=True, properties={"KEYS": "2001"})
        if how is not None:
            client.end(message_id, how)


def discard_transaction(emulator: Emulator) -> None:
    """Send a half message, and let the broker check it until it discards it."""
    begin_transaction(emulator)
    emulator.clock.advance("2h", wait=None)


def receive_order(emulator: Emulator) -> None:
    """Receive the message of `orders` over the gRPC protocol."""
    with GrpcClient(open_channel(emulator.endpoint)) as client:
        found = client.start_receiving(receive("orders", WAREHOUSE, broker="broker-a"), deadline=30)()
        assert found.bodies == [b"two teas"]


def refuse_pull(emulator: Emulator) -> None:
    """Let a client pull for a group that may not consume, which is a warning."""
    emulator.group("billing", consume_enable=False)
    with client_of(emulator) as client:
        assert client.ask(*pull_request("orders", "billing")).code != 0


@contextmanager
def locked_queue(emulator: Emulator) -> Iterator[None]:
    """Let a member of the group lock queue 3 of `orders` until the end of the block."""
    with client_of(emulator) as client:
        client.join(WAREHOUSE, {"orders": "*"})
        assert client.ask(*lock_request("b-client", WAREHOUSE, "orders", "broker-a", queues=[3])).code == 0
        yield


@contextmanager
def waiting_poll(emulator: Emulator) -> Iterator[None]:
    """Let a client wait for messages of the topic `empty` until the end of the block."""
    emulator.topic("empty", queues=1)
    with client_of(emulator) as client:
        now_ms = emulator.clock.now_ms
        client.connection.submit(*pop_request("empty", "waiting", poll_ms=LONG_POLL_MS, born_ms=now_ms))
        client.join("waiting", {"empty": "*"})  # the broker has read the pop before it responds to this heartbeat
        yield


def holds_only_after(prepare: Callable[[], object], call: Callable[[], object]) -> bool:
    """Return True if an assertion fails before a state is prepared, and holds in that state."""
    with pytest.raises(AssertionError):
        call()
    prepare()
    call()
    return True


def fails_only_after(prepare: Callable[[], object], call: Callable[[], object]) -> bool:
    """Return True if an assertion holds before a state is prepared, and fails in that state."""
    call()
    prepare()
    with pytest.raises(AssertionError):
        call()
    return True
