"""Requests available to the rules of `tests/behaviour`, independent of the protocol that a test uses.

A rule is written once against `ProtocolClient`, or against `BrokerProtocolClient` for requests that only the broker's
own protocol has. Its implementations submit operations to the engine, exchange remoting frames, or call gRPC services.
"""

from abc import ABC, abstractmethod
from typing import Any

from protocol_values import (
    NOTHING,
    Answer,
    NewMessage,
    PopRequest,
    Route,
    Sending,
    Sent,
    Taken,
    TransactionCheck,
    Waiting,
)
from virtual_brokers import VirtualBrokers


class ProtocolClient(VirtualBrokers, ABC):
    """Clients of brokers in virtual time. Requests go to `broker`; behind a proxy, if they have a field for it."""

    name: str
    proxied = False
    """True if requests pass upstream's proxy, which rejects many requests itself, with codes of its own."""

    # Requests.

    def pop(self, topic: str = "T", **options: Any) -> Waiting:
        """Pop messages of any queue; `options`: see `PopRequest`."""
        return self.start_pop(PopRequest(topic, **options))

    @abstractmethod
    def start_pop(self, pop: PopRequest) -> Waiting:
        """Send a pop."""

    @abstractmethod
    def ack(self, *handles: str, topic: str = "T", group: str = "G") -> Answer:
        """Acknowledge messages, several of them by one request."""

    @abstractmethod
    def change(self, handle: str, invisible_ms: int, *, topic: str = "T", group: str = "G") -> Answer:
        """Change the invisible duration. The response has the new handle."""

    def start_send(  # noqa: PLR0913 - the fields of a message
        self,
        body: bytes = b"0",
        *,
        topic: str = "T",
        tag: str = "",
        keys: str = "",
        message_group: str = "",
        queue: int = 0,
        deliver_ms: int | None = None,
        half: bool = False,
        immune_s: int | None = None,
        **properties: str,
    ) -> Sending:
        """Send one message and return the pending send.

        `deliver_ms` makes it a timed message. `half` makes it a half message with an immunity time of `immune_s`. A
        proxy chooses the queue itself. The producer group has the name of the topic, as behind a proxy.
        """
        unique = f"ID{next(self._names)}"
        message = NewMessage(
            body,
            topic,
            unique,
            tag,
            keys=keys,
            message_group=message_group,
            queue=queue,
            deliver_ms=deliver_ms,
            half=half,
            immune_s=immune_s,
            own_properties=properties,
        )
        return self.send_message(message)

    @abstractmethod
    def send_message(self, message: NewMessage) -> Sending:
        """Send a message."""

    @abstractmethod
    def send_batch(self, *parts: tuple[bytes, dict[str, str]], topic: str = "T") -> Sent:
        """Send messages, each with properties of its own, by one request; return the result of the last one."""

    @abstractmethod
    def publish(self, *bodies: bytes, topic: str = "T", **more: Any) -> list[Sent]:
        """Send messages one by one to the queues of the topic's route. For `more` see `start_send`."""

    @abstractmethod
    def route(self, topic: str = "T") -> dict[str, Route]:
        """Return the route of a topic by broker name; empty if there is none."""

    @abstractmethod
    def assigned_queues(self, client: str, *, group: str = "G", topic: str = "T") -> list[tuple[str, int]]:
        """Return the brokers and queues assigned to a consumer; the queue -1 stands for any."""

    @abstractmethod
    def start_end(self, sent: Sent, how: int, *, topic: str = "T", checked: bool = False) -> Waiting:
        """Commit (`how` 8), roll back (12) or leave open (0) and return the pending request.

        `checked`: True if the end follows a transaction check of the broker.
        """

    @abstractmethod
    def recall(self, handle: str, topic: str = "T") -> Answer:
        """Recall a timed message. `handle` of the response is the message id."""

    @abstractmethod
    def register_producer(self, client: str, topic: str = "T") -> None:
        """Register a producer."""

    @abstractmethod
    def unregister_producer(self, client: str, topic: str = "T") -> None:
        """Unregister a producer."""

    @abstractmethod
    def heartbeat(self, client: str, group: str = "G", topic: str = "T") -> None:
        """Send a consumer's heartbeat, and its subscription if it is new."""

    @abstractmethod
    def unregister_consumer(self, client: str, group: str = "G") -> None:
        """Unregister a consumer."""

    @abstractmethod
    def transaction_checks(self, client: str) -> list[TransactionCheck]:
        """Return the transaction checks that a producer has received since the last call."""

    @abstractmethod
    def forward_to_dlq(self, message: Taken, *, topic: str = "T", group: str = "G") -> Answer:
        """Forward a message to the dead letter queue and acknowledge it: one request to a proxy, two to the broker."""

    # Short forms.

    def fill_topic(self, count: int = 3, topic: str = "T") -> None:
        """Create a topic with one queue and send messages `0`, `1`, ... through this client."""
        self.topic(topic)
        self.send(*(b"%d" % number for number in range(count)), topic=topic)

    def put(self, body: bytes = b"0", **more: Any) -> Sent:
        """Send one message and return its result. For `more` see `start_send`."""
        sent = self.start_send(body, **more).sent
        assert sent is not None, "it waits"
        return sent

    def end(self, sent: Sent, how: int, *, topic: str = "T", checked: bool = False) -> Answer | None:
        """Do as `start_end`, and return the response, None if there is none."""
        return self.start_end(sent, how, topic=topic, checked=checked).response

    def send(self, *bodies: bytes, **more: Any) -> None:
        """Send messages one by one; every send must succeed. For `more` see `start_send`.

        A message group sends all of them to one queue.
        """
        for body in bodies:
            sent = self.put(body, **more)
            assert sent.ok, sent

    def take(self, topic: str = "T", **options: Any) -> list[Taken]:
        """Return the messages that are available now."""
        response = self.pop(topic, **options).response
        assert response is not None, "it waits"
        assert response.ok or response.remark in NOTHING, response
        return response.messages

    def bodies(self, topic: str = "T", **options: Any) -> list[bytes]:
        """Return the bodies of the messages that are available now."""
        return [each.body for each in self.take(topic, **options)]

    def is_error(self, response: Answer | Sent | None, broker: tuple[int, str], proxy: tuple[int, str]) -> bool:
        """Return True if a response is an error with the expected code, and its remark begins as expected.

        `proxy` is the expected (code, remark) if requests pass a proxy, `broker` otherwise.
        """
        code, remark = proxy if self.proxied else broker
        return response is not None and not response.ok and response.code == code and response.remark.startswith(remark)


class BrokerProtocolClient(ProtocolClient):
    """A protocol client with the requests that only the broker's own protocol has."""

    def publish(self, *bodies: bytes, topic: str = "T", **more: Any) -> list[Sent]:
        """Send to writable queues by turns, or to the queues of the topic's order configuration."""
        sent = []
        for body in bodies:
            fixed = self.order_configuration(topic)
            writable = {name: each.writable for name, each in self.route(topic).items() if 0 in each.ids}
            if fixed:
                writable = {name: int(queues) for name, _, queues in (each.partition(":") for each in fixed.split(";"))}
            queues = [(name, queue) for name, number in writable.items() for queue in range(number)]
            assert queues, "no queue to write to"
            name, queue = queues[next(self._turns) % len(queues)]
            sent.append(self.at(name).put(body, topic=topic, queue=queue, **more))
        return sent

    @abstractmethod
    def order_configuration(self, topic: str = "T") -> str | None:
        """Return the order configuration in the route of a topic."""

    def pop_one_queue(
        self, queue: int, *, poll_ms: int = 0, count: int = 32, order: bool = False, begin: int = 1
    ) -> Waiting:
        """Pop one queue of `T` for group `G`; a new group starts at the first message (0) or at the end (1)."""
        return self.start_pop(PopRequest(queue=queue, poll_ms=poll_ms, count=count, order=order, begin=begin))

    @abstractmethod
    def pull(self, offset: int, *, suspend_ms: int | None = None, expression: str = "*", kind: str = "TAG") -> Waiting:
        """Pull queue 0 of `T` for group `G` from an offset; `number` of the response is the next offset."""

    @abstractmethod
    def notify(self, *, poll_ms: int = 0, queue: int = -1, order: bool = False) -> Waiting:
        """Send a notification request for `T` and group `G`.

        `number` of the response is 1 if there is a message, else 0.
        """

    @abstractmethod
    def peek(self, count: int = 32) -> Answer:
        """Peek at the messages that a pop of `T` by group `G` would read."""

    @abstractmethod
    def polling_number(self, queue: int = -1) -> int:
        """Return the number of waiting pops of group `G` and topic `T`."""

    @abstractmethod
    def lock(self, client: str, *queues: int) -> list[int]:
        """Lock queues of `T` for a client of `G`, and return those that it holds."""

    @abstractmethod
    def unlock(self, client: str, *queues: int) -> None:
        """Release locks of queues of `T`."""

    @abstractmethod
    def send_back(self, place: int, level: int = 0, *, group: str = "G", most: int | None = None) -> Answer:
        """Send a message back by its commit log offset, with at most `most` retries."""

    @abstractmethod
    def send_to_retry_topic(
        self, body: bytes = b"0", *, group: str = "G", times: int = 0, most: int | None = None, **properties: str
    ) -> Sent:
        """Send to the retry topic of a group, as clients do when a send-back fails."""

    @abstractmethod
    def send_batch_with_properties(
        self, *parts: tuple[bytes, dict[str, str]], topic: str = "T", half: bool = False, **properties: str
    ) -> Sent:
        """Send messages, each with properties of its own, by one request that also has properties."""

    @abstractmethod
    def request_mode(self, mode: str, share: int) -> None:
        """Set the request mode (PULL or POP) of group `G` for `T`. `share`: see popShareQueueNum of upstream."""

    def assigned(self, client: str, strategy: str = "AVG", model: str = "CLUSTERING") -> list[tuple[int, str]] | None:
        """Return the queues of `T` that a client of `G` is assigned, with their mode.

        None if the broker assigns nothing.
        """
        found = self.assignments(client, strategy, model)
        return None if found is None else [(queue, mode) for _, queue, mode in found]

    def assigned_queues(self, client: str, *, group: str = "G", topic: str = "T") -> list[tuple[str, int]]:
        """Return the queues assigned by the broker."""
        found = self.assignments(client, group=group, topic=topic)
        return sorted((broker, queue) for broker, queue, _ in found or ())

    @abstractmethod
    def assignments(
        self, client: str, strategy: str = "AVG", model: str = "CLUSTERING", *, group: str = "G", topic: str = "T"
    ) -> list[tuple[str, int, str]] | None:
        """Return the brokers and queues assigned to a client, with their mode; None if the broker assigns nothing."""

    @abstractmethod
    def consume_statistics(self) -> dict[int, tuple[int, int]]:
        """Return queue -> (end offset of the queue, offset of group `G`) of `T` from the consume statistics."""
