"""Small applications of the exploration's tests: a thread that consumes, with the Python SDK."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from rocketmq import ClientConfiguration, Credentials, FilterExpression, Message, Producer, SimpleConsumer
from rocketmq_testkit import Emulator

REQUEST_SECONDS = 2
"""The timeout of the SDK's requests (s). A lost request costs this much time."""
INVISIBLE_SECONDS = 30
CLOSE = "close"
"""The end of a lost request: the SDK notices a closed connection at once, and waits for a silent one."""


def configuration(emulator: Emulator, seconds: int = REQUEST_SECONDS) -> ClientConfiguration:
    """Return the configuration of a client of an emulator. `seconds`: the timeout of its requests."""
    return ClientConfiguration(emulator.endpoint, Credentials(), request_timeout=seconds)


def message(topic: str, key: str, body: bytes = b"{}") -> Message:
    """Return a message with a key."""
    found = Message()
    found.topic, found.keys, found.body = topic, key, body
    return found


def key_of(received: Any) -> str:
    """Return the key of a received message."""
    return str(next(iter(received.keys)))


class Killed(Exception):
    """The application was killed while it processed a message."""


class Worker(ABC):
    """A consumer with a thread of its own. A subclass decides what happens with each message, and when.

    `kill` lets the thread do nothing more, as a crash of the application does; `start` starts another.
    """

    def __init__(self, emulator: Emulator, group: str, *topics: str) -> None:
        self._emulator, self._group, self._topics = emulator, group, topics
        self._ended = threading.Event()
        self._consumer: SimpleConsumer | None = None
        self._thread: threading.Thread | None = None
        self._crashed: list[SimpleConsumer] = []

    def start(self) -> None:
        """Start the consumer and its thread."""
        self._ended = threading.Event()
        filters = {topic: FilterExpression("*") for topic in self._topics}
        consumer = SimpleConsumer(configuration(self._emulator), self._group, filters, await_duration=5)
        consumer.startup()
        self._consumer = consumer
        self._thread = threading.Thread(target=self._work, args=(consumer, self._ended))
        self._thread.start()

    def stop(self) -> None:
        """End the thread, and wait for it."""
        self._ended.set()
        consumer, self._consumer = self._consumer, None
        if consumer is not None and self._thread is not None:
            consumer.shutdown()
            self._thread.join(10)
            assert not self._thread.is_alive()
        for each in self._crashed:
            each.shutdown()

    def kill(self) -> None:
        """End the thread as a crash does: it sends nothing more. It may still wait for the SDK."""
        self._ended.set()

    def restart(self) -> None:
        """Crash, and start again at once."""
        consumer = self._consumer
        self.kill()
        self.start()
        if consumer is not None:
            self._crashed.append(consumer)

    def check_alive(self) -> None:
        """Raise Killed on the thread of a consumer that was killed. A step of an application between two others."""
        if threading.current_thread() is not self._thread:
            raise Killed

    @abstractmethod
    def handle(self, received: Any, acknowledge: Callable[[], None]) -> None:
        """Process a message, and acknowledge it."""

    def _work(self, consumer: SimpleConsumer, ended: threading.Event) -> None:
        while not ended.is_set():
            try:
                batch = consumer.receive(1, INVISIBLE_SECONDS) or ()
            except Exception:  # the connection is closed; the SDK opens another
                ended.wait(0.01)
                continue
            for received in batch:
                if ended.is_set():
                    return
                try:
                    self.handle(received, partial(self._acknowledge, consumer, ended, received))
                except Killed:
                    return

    @staticmethod
    def _acknowledge(consumer: SimpleConsumer, ended: threading.Event, received: Any) -> None:
        with suppress(Exception):  # as applications do: the broker delivers the message again
            consumer.ack(received)
        if ended.is_set():
            raise Killed


def send(emulator: Emulator, *messages: Message) -> None:
    """Send messages with a producer of their own. Raises the errors of the SDK."""
    producer = Producer(configuration(emulator), sorted({str(each.topic) for each in messages}))
    producer.startup()
    try:
        for each in messages:
            producer.send(each)
    finally:
        producer.shutdown()
