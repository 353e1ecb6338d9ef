"""Driver program of the C++ SDK of the remoting protocol, which it uses through its published Python wrapper."""

import argparse
import base64
import importlib
import importlib.metadata
import os
import threading
import time
import traceback
import zlib
from collections import deque
from types import SimpleNamespace
from typing import Any

from ..python_common.command import Command, bad, unsupported
from ..python_common.line import DriverLoop, Fields, protect_stdout
from ..python_common.load import send_many
from ..python_common.script import Script
from .memory import Memory

_PACKAGE = "rocketmq"
_SHARDING_KEYS = ("__SHARDINGKEY", "SHARDING_KEY")
_DELIVER_AT = "TIMER_DELIVER_MS"
_STATUSES = {0: "SEND_OK", 1: "FLUSH_DISK_TIMEOUT", 2: "FLUSH_SLAVE_TIMEOUT", 3: "SLAVE_NOT_AVAILABLE"}
_SUCCESS, _LATER = 0, 1
_PAUSE_SECONDS = 0.05
_FIRST_HEARTBEAT_SECONDS = 0.1
"""Longer than the delay of the first heartbeat, which finds no broker because none is known before the first send."""


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--namesrv", required=True, metavar="HOST:PORT")
    parser.add_argument("--tls", action="store_true", help="refused: this SDK has no TLS")
    parser.add_argument("--ca", metavar="FILE", help="not used")
    parser.add_argument("--slow", action="store_true", help="not used: this SDK has no intervals to shorten")
    options = parser.parse_args()
    if options.tls:
        parser.error("this SDK has no TLS")
    return options


def _sign(client: Any) -> None:
    if "TESTKIT_ACCESS_KEY" in os.environ:
        keys = (os.environ["TESTKIT_ACCESS_KEY"], os.environ["TESTKIT_SECRET_KEY"])
        client.set_session_credentials(*keys, "")  # the third argument names a trace channel


class Selector:
    """Selects the wanted queue, or one by the hash of the message group."""

    def __init__(self, wanted: int | None, key: int) -> None:
        self._wanted = wanted
        self._key = key
        self._size = 0

    def __call__(self, size: int, _message: Any, _argument: Any) -> int:
        """Called by the SDK, which crashes if the number is out of range."""
        self._size = size
        return self._choice()

    def _choice(self) -> int:
        if self._wanted is None:
            return self._key % self._size
        return self._wanted if 0 <= self._wanted < self._size else 0

    def chosen(self) -> int:
        """Return the selected queue. Raises Refusal if the wanted queue does not exist."""
        if self._wanted not in (None, self._choice()):
            raise bad(f"there are {self._size} queues and no queue {self._wanted}; the message went to queue 0")
        return self._choice()


class CppPushConsumer:
    """A push consumer and the script of its listener."""

    def __init__(self, client: Any, script: Script) -> None:
        self.client = client
        self.script = script

    def shutdown(self) -> None:
        """Shut the consumer down."""
        self.client.shutdown()


class Lite:
    """A pull consumer, its topic, and its pulled messages that have not been polled yet."""

    def __init__(self, client: Any, topic: str, expression: str, batch: int) -> None:
        self.client = client
        self.topic = topic
        self.expression = expression
        self.batch = batch
        self.rest: deque[Fields] = deque()

    def shutdown(self) -> None:
        """Shut the consumer down."""
        self.client.shutdown()


class CppVerbs:
    """The verbs; ``client`` and ``ffi`` are the wrapper's modules, imported after standard output is protected."""

    def __init__(self, namesrv: str, driver: DriverLoop, client: Any, ffi: Any) -> None:
        self._namesrv = namesrv
        self._driver = driver
        self._sdk = client
        self._ffi = ffi
        self._memory = Memory(ffi.dll)
        driver.verbs.update(
            {
                "producer": self._producer,
                "send": self._send,
                "send_async": self._send_async,
                "oneway": self._oneway,
                "send_batch": self._send_batch,
                "send_many": self._send_many,
                "push": self._push,
                "count": self._count,
                "lite": self._lite,
                "poll": self._poll,
                "seek": self._seek,
                "offsets": self._offsets,
                "close": self._close,
            }
        )

    # --- producers

    def _producer(self, command: Command) -> None:
        if command.has("check"):
            raise unsupported("the wrapper has no transactions")
        group = command.text("group", None) or f"driver-{command.text('as')}"

        def make() -> Any:
            producer = self._sdk.Producer(group)
            producer.set_namesrv_addr(self._namesrv)
            _sign(producer)
            producer.start()
            # A thread of the SDK connects to all known brokers 10 ms later, for its first heartbeat. A send during such
            # a connection attempt does not wait for it: it fails, as do its retries within the millisecond.
            time.sleep(_FIRST_HEARTBEAT_SECONDS)
            return producer

        self._driver.make(command, make)

    def _message(self, command: Command, body: bytes | None = None, keys: list[str] | None = None) -> Any:
        message = self._sdk.Message(command.text("topic"))
        # The wrapper's own method would truncate the body at its first zero byte.
        content = command.data("body") if body is None else body
        self._sdk.ffi_check(self._ffi.dll.SetByteMessageBody(message, content, len(content)))
        if command.has("tag"):
            message.set_tags(command.text("tag"))
        names = command.texts("keys") if keys is None else keys
        if names:
            message.set_keys(" ".join(names))
        props = command.pairs("props")
        if command.has("group"):
            props.update(dict.fromkeys(_SHARDING_KEYS, command.text("group")))
        if command.has("deliver_at"):
            props[_DELIVER_AT] = str(command.number("deliver_at"))
        for name, value in props.items():
            message.set_property(name, value)
        if command.has("delay_level"):
            message.set_delay_time_level(command.number("delay_level"))
        return message

    def _send(self, command: Command) -> Fields:
        producer = self._driver.on(command, self._sdk.Producer)
        message = self._message(command)
        if not command.has("queue") and not command.has("group"):
            return self._receipt(producer.send_sync(message))
        select = self._selector(command)
        reply = self._receipt(producer.send_orderly(message, 0, queue_selector=select))
        return {**reply, "queue": select.chosen()}

    def _selector(self, command: Command) -> "Selector":
        wanted = command.number("queue", None)
        return Selector(wanted, zlib.crc32(command.text("group", "").encode()))

    def _send_async(self, command: Command) -> Fields:
        producer = self._driver.on(command, self._sdk.Producer)
        if command.has("queue") or command.has("group"):
            raise unsupported("an asynchronous send of this SDK takes neither queue nor group")
        message = self._message(command)
        done = threading.Event()
        outcome: list[Any] = []

        def finish(result: Any) -> None:
            outcome.append(result)
            done.set()

        producer.send_async(message, finish, finish)
        done.wait()
        if isinstance(outcome[0], Exception):
            raise outcome[0]
        return self._receipt(outcome[0])

    def _oneway(self, command: Command) -> None:
        producer = self._driver.on(command, self._sdk.Producer)
        message = self._message(command)
        if command.has("queue") or command.has("group"):
            select = self._selector(command)
            producer.send_oneway_orderly(message, 0, queue_selector=select)
            select.chosen()
        else:
            producer.send_oneway(message)

    def _send_batch(self, command: Command) -> Fields:
        producer = self._driver.on(command, self._sdk.Producer)
        messages = [self._message(one) for one in command.list_of("messages")]
        if not messages:
            raise bad("field 'messages' is empty")
        reply = self._receipt(producer.send_batch(messages))
        return {**reply, "ids": [reply["id"]] if reply["id"] else []}

    def _send_many(self, command: Command) -> Fields:
        producer = self._driver.on(command, self._sdk.Producer)
        return send_many(command, lambda body, keys: producer.send_sync(self._message(command, body, keys)))

    def _receipt(self, sent: Any) -> Fields:
        return {
            "id": sent.msg_id or None,
            "offset": sent.offset,
            "queue": None,
            "status": _STATUSES.get(int(sent.status)),
        }

    # --- push consumers

    def _subscriptions(self, command: Command) -> dict[str, str]:
        made = {}
        for topic, filter_ in command.table("sub").items():
            if filter_.text("type", "TAG").upper() != "TAG":
                raise unsupported("this SDK filters by tags only")
            made[topic] = filter_.text("expr", "*")
        if not made:
            raise bad("field 'sub' is missing")
        return made

    def _push(self, command: Command) -> None:
        name = command.text("as")
        group = command.text("group")
        mode = command.text("mode", "concurrent")
        if mode not in ("concurrent", "orderly", "broadcast"):
            raise unsupported(f"this SDK has no push mode {mode!r}")
        # Raising into C returns an arbitrary result: the C caller reads an undefined number.
        for field in ("max_reconsume", "answer", "throw", "suspend"):
            if command.has(field):
                raise unsupported(f"the wrapper has no {field}")
        # `from` cannot be set either. A new group starts at the end. But the broker returns the first offset while the
        # whole queue is in memory, as it is in a test.
        subscriptions = self._subscriptions(command)
        script = Script.of(command)
        model = self._ffi.MessageModel.BROADCASTING if mode == "broadcast" else self._ffi.MessageModel.CLUSTERING

        def listen(_consumer: Any, handle: Any) -> int:
            try:
                message = self._show(self._sdk.RecvMessage(handle)) if script.needs_fields else {}
                body = self._memory.body(handle)
                return _SUCCESS if self._driver.listen(name, script, message, body) == "success" else _LATER
            except Exception:
                traceback.print_exc()  # C accepts only a number as result
                return _LATER

        def make() -> CppPushConsumer:
            consumer = self._sdk.PushConsumer(group, orderly=mode == "orderly", message_model=model)
            consumer.set_namesrv_addr(self._namesrv)
            _sign(consumer)
            # Otherwise two consumers of one process would share their connection, and two processes of a host a client
            # id.
            consumer.set_instance_name(f"{os.getpid()}-{name}")
            if command.has("threads"):
                consumer.set_thread_count(command.number("threads"))
            for topic, expression in subscriptions.items():
                self._sdk.ffi_check(self._ffi.dll.Subscribe(consumer._handle, topic.encode(), expression.encode()))
            # The wrapper's own callback raises on failure, and raising into C returns an arbitrary result.
            consumer._register_callback(listen)
            consumer.start()
            return CppPushConsumer(consumer, script)

        self._driver.make(command, make)

    def _count(self, command: Command) -> Fields:
        return {"count": self._driver.on(command, CppPushConsumer).script.calls}

    # --- pull consumers

    def _lite(self, command: Command) -> None:
        if command.text("from", "first") != "first":
            raise unsupported("a pull consumer of the wrapper starts at the first message")
        topics = {command.text("assign"): "*"} if command.has("assign") else self._subscriptions(command)
        if len(topics) != 1:
            raise unsupported("a pull consumer of the wrapper takes exactly one topic")
        group = command.text("group")
        batch = command.number("batch", 32)

        def make() -> Lite:
            consumer = self._sdk.PullConsumer(group)
            consumer.set_namesrv_addr(self._namesrv)
            _sign(consumer)
            # The wrapper stores the offsets of all its consumers in one table of the class.
            consumer.offset_table = {}
            consumer.start()
            ((topic, expression),) = topics.items()
            return Lite(consumer, topic, expression, batch)

        self._driver.make(command, make)

    def _poll(self, command: Command) -> Fields:
        lite = self._driver.on(command, Lite)
        deadline = time.monotonic() + command.number("ms", 1000) / 1000
        while True:
            # Finish the sweep over all queues: the offsets advance before the messages are returned.
            lite.rest.extend(map(self._show, lite.client.pull(lite.topic, lite.expression, lite.batch)))
            if lite.rest or time.monotonic() >= deadline:
                break
            # The library's Pull never waits at the broker and has no arrival notification, so poll repeatedly.
            time.sleep(_PAUSE_SECONDS)
        most = min(command.number("max", 32), len(lite.rest))
        return {"messages": [lite.rest.popleft() for _ in range(most)]}

    def _seek(self, command: Command) -> None:
        lite = self._driver.on(command, Lite)
        queue = SimpleNamespace(topic=command.text("topic").encode(), queueId=command.number("queue"))
        lite.client.set_message_queue_offset(queue, command.number("offset"))
        lite.rest.clear()

    def _offsets(self, command: Command) -> Fields:
        """Return the queue's bounds, found by one pull; the wrapper cannot read a group's committed offset."""
        lite = self._driver.on(command, Lite)
        ffi = self._ffi
        queues = ffi.POINTER(ffi._CMessageQueue)()
        count = ffi.c_int()
        topic = command.text("topic").encode()
        self._sdk.ffi_check(
            ffi.dll.FetchSubscriptionMessageQueues(
                lite.client._handle, topic, ffi.ctypes.pointer(queues), ffi.ctypes.pointer(count)
            )
        )
        try:
            for n in range(count.value):
                if queues[n].queueId == command.number("queue"):
                    pulled = ffi.dll.Pull(lite.client._handle, ffi.ctypes.pointer(queues[n]), b"*", 0, 1)
                    reply = {"min": pulled.minOffset, "max": pulled.maxOffset, "committed": None}
                    ffi.dll.ReleasePullResult(pulled)
                    return reply
        finally:
            ffi.dll.ReleaseSubscriptionMessageQueue(queues)
        raise bad(f"{topic.decode()} has no queue {command.number('queue')}")

    def _close(self, command: Command) -> None:
        self._driver.take(command).shutdown()

    # --- both

    def _show(self, message: Any) -> Fields:
        props = self._memory.properties(message._handle)
        keys = (message.keys or b"").decode(errors="replace")
        deliver_at = props.get(_DELIVER_AT)
        born_host, store_host = self._memory.hosts(message._handle)
        return {
            "h": None,
            "id": message.id,
            "topic": message.topic,
            "body": base64.b64encode(self._memory.body(message._handle)).decode(),
            "tag": (message.tags or b"").decode(errors="replace") or None,
            "keys": keys.split(),
            "props": props,
            "group": next((props[name] for name in _SHARDING_KEYS if name in props), None),
            "attempt": message.reconsume_times + 1,
            "queue": message.queue_id,
            "offset": message.queue_offset,
            "born": message.born_timestamp,
            "deliver_at": int(deliver_at) if deliver_at else None,
            "stored": message.store_timestamp,
            "offset_id": self._memory.offset_id(message._handle) or None,
            "broker": None,
            "born_host": born_host or None,
            "store_host": store_host or None,
        }


def main() -> None:
    """Run the driver."""
    options = _options()
    out = protect_stdout()
    # Imported by name: type checkers need not find it, and standard output must be protected first.
    client, ffi = (importlib.import_module(f"{_PACKAGE}.{name}") for name in ("client", "ffi"))
    about = {
        "sdk": _PACKAGE,
        "version": importlib.metadata.version(_PACKAGE),
        "language": "c++",
        "protocol": "remoting",
        "modes": ["concurrent", "orderly", "broadcast"],
        "outcomes": ["success", "fail", "hang"],
        "from_first": False,
    }
    driver = DriverLoop(about, out)
    CppVerbs(options.namesrv, driver, client, ffi)
    driver.run()


if __name__ == "__main__":
    main()
