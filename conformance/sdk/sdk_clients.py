"""Producers and consumers of any SDK for scenarios: objects in a driver process and the messages that they received.

A consumer has a style, which hides how messages arrive: by events (push), by receiving and acknowledging (simple), or
by polling and committing (lite).
"""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Literal

from ..drivers.process import Driver, Fields, body

Style = Literal["simple", "concurrent", "orderly", "broadcast", "pop", "lite"]
"""Consumption style: `simple` (receive and acknowledge), a mode of push consumers, or `lite` (poll and commit)."""

CLOSE_SECONDS = 120.0
"""Timeout of a shutdown. A gRPC push consumer waits for its long polls, up to 34 s."""
INVISIBLE_MS = 120_000
"""Longer than a busy machine needs from a receive to its acknowledgement, with a hundred sends in between."""
AWAIT_MS = 5000
"""The shortest long polling timeout that a proxy accepts unchanged."""
FILLER_BODY = b"(priming)"
"""Body of messages that let a consumer start at the right offset; scenarios do not see them."""
_POLL_MS = 300
_BATCH = 16


class Producer:
    """A producer called `name`, of a producer group, in a driver process."""

    def __init__(self, driver: Driver, name: str, group: str) -> None:
        self.driver = driver
        self.name = name
        self.group = group

    def send(self, topic: str, content: str | bytes = "hello", *, verb: str = "send", **fields: Any) -> Fields:
        """Send one message and return the reply. Raises DriverError if the SDK rejects it."""
        return self.driver.call(verb, on=self.name, topic=topic, body=_bytes(content), **fields)

    def send_numbered(self, topic: str, count: int, prefix: str = "m", **fields: Any) -> list[Fields]:
        """Send `stem0`, `stem1`, ...; returns the sent messages, each with the `id` that the SDK reports."""
        sent = []
        for number in range(count):
            content = f"{prefix}{number}"
            reply = self.send(topic, content, **fields)
            sent.append({"topic": topic, "body": content.encode(), "id": reply.get("id"), **fields})
        return sent

    def recall(self, topic: str, handle: str) -> Fields:
        """Cancel a message that waits for its delivery time. Raises DriverError if that is rejected."""
        return self.driver.call("recall", on=self.name, topic=topic, handle=handle)

    def checks(self) -> list[Fields]:
        """Transaction checks that the producer has received so far."""
        return [event for event in self.driver.events(self.name) if event["ev"] == "check"]

    def close(self) -> None:
        """Shut the producer down with the SDK's own shutdown."""
        self.driver.call("close", on=self.name, timeout=CLOSE_SECONDS)


class Consumer:
    """A consumer called `name` in a driver process.

    `messages`: all received messages. In each, `t` is the time of receipt in ms since the epoch, `ok` is true if it was
    consumed successfully, and `did` is the listener's result. `invisible_ms`: invisible duration of a simple consumer's
    receives in `collect`, which acknowledges at once.
    """

    def __init__(self, driver: Driver, name: str, style: Style) -> None:
        self.driver = driver
        self.name = name
        self.style = style
        self.invisible_ms = INVISIBLE_MS
        self.messages: list[Fields] = []
        self._pending: Future[Fields] | None = None
        self._seen = 0

    @property
    def is_push(self) -> bool:
        """True for push consumers, which receive messages as events."""
        return self.style not in ("simple", "lite")

    @property
    def bodies(self) -> list[str]:
        """The bodies of the received messages as text, in order of receipt."""
        return [text(message) for message in self.messages]

    def with_prefix(self, prefix: str) -> list[Fields]:
        """The messages whose body begins with `prefix`."""
        return [message for message in self.messages if body(message).startswith(prefix.encode())]

    def collect(self) -> None:
        """Collect new messages, and keep one receive or poll in flight if the style needs one."""
        if self.is_push:
            events = [event for event in self.driver.events(self.name) if event["ev"] == "msg"]
            new = [event for event in events[self._seen :] if body(event["msg"]) != FILLER_BODY]
            self.messages += [{**event["msg"], **{name: event[name] for name in ("t", "ok", "did")}} for event in new]
            self._seen = len(events)
        elif self._pending is None:
            # In the background, so that the driver's other commands do not wait for it.
            if self.style == "simple":
                self._pending = self.post_receive(self.invisible_ms)
            else:
                self._pending = self.driver.post("poll", on=self.name, bg=True, max=_BATCH, ms=_POLL_MS)
        elif self._pending.done():
            self.finish_receive()

    def started_messages(self) -> list[Fields]:
        """Messages that the listener was called with so far, finished or not; for consumers created with `begin`."""
        return [event["msg"] for event in self.driver.events(self.name) if event["ev"] == "begin"]

    def is_answered(self) -> bool:
        """True if none of the consumer's own receives or polls is in flight."""
        return self._pending is None or self._pending.done()

    def finish_receive(self) -> None:
        """Wait for the receive or poll in flight, then acknowledge or commit its messages."""
        if self._pending is None:
            return
        pending, self._pending = self._pending, None
        messages = self.driver.result(pending)["messages"]
        if messages and self.style == "simple":
            self.ack(messages)
        elif messages and "commit" in self.driver.verbs:
            self.driver.call("commit", on=self.name)
        now = int(time.time() * 1000)
        self.messages += [{**message, "t": now, "ok": True} for message in messages]

    # --- simple consumers

    def post_receive(self, invisible_ms: int, count: int = _BATCH) -> Future[Fields]:
        """Start a receive in the background."""
        return self.driver.post("receive", on=self.name, bg=True, max=count, invisible_ms=invisible_ms)

    def receive(self, invisible_ms: int = INVISIBLE_MS, count: int = _BATCH) -> list[Fields]:
        """Receive once, without acknowledging."""
        reply = self.driver.call("receive", on=self.name, max=count, invisible_ms=invisible_ms)
        return list(reply["messages"])

    def ack(self, messages: Iterable[Mapping[str, Any]]) -> None:
        """Acknowledge messages by their receipt handles."""
        self.driver.call("ack", on=self.name, h=[message["h"] for message in messages])

    # --- lite consumers

    def poll(self, ms: int = _POLL_MS, count: int = _BATCH) -> list[Fields]:
        """Poll once, without committing."""
        return list(self.driver.call("poll", on=self.name, max=count, ms=ms)["messages"])

    # --- shutdown

    def post_close(self) -> Future[Fields]:
        """Start to leave the group with the SDK's own shutdown."""
        return self.driver.post("close", on=self.name, bg=True)


# --- descriptions of messages


def text(message: Mapping[str, Any]) -> str:
    """Return a body as text, or its length in bytes if it is long or not UTF-8."""
    content = body(message)
    try:
        shown = content.decode()
    except UnicodeDecodeError:
        return f"{len(content)} bytes"
    return shown if len(shown) <= 80 else f"{len(content)} bytes"


def shown(message: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return the body as text and the named fields of a message."""
    return {"body": text(message), **{name: message[name] for name in names}}


def comparison(sent: Sequence[Mapping[str, Any]], shares: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """Compare the messages received by all consumers together with the sent ones; bodies identify messages."""
    by_body = {message["body"]: message for message in sent}
    received = [message for share in shares for message in share]
    counts = Counter(body(message) for message in received)
    changed: set[str] = set()
    ids: set[str] = set()
    for message in received:
        original = by_body.get(body(message))
        if original is None:
            continue
        for name in ("topic", "tag", "keys"):
            if original.get(name) is not None and _plain(message[name]) != _plain(original[name]):
                changed.add(name)
        for name, value in (original.get("props") or {}).items():
            if message["props"].get(name) != value:
                changed.add(f"property {name}")
        if original.get("id"):
            ids.add("as sent" if message["id"] == original["id"] else "another")
    return {
        "sent": len(sent),
        "received": len(received),
        "lost": sorted(content.decode(errors="replace") for content in by_body if not counts[content]),
        "more than once": sorted(text_of(content) for content, count in counts.items() if count > 1),
        "never sent": sorted(text_of(content) for content in counts if content not in by_body),
        "changed": sorted(changed),
        "ids": sorted(ids),
        "attempts": sorted({str(message["attempt"]) for message in received}),
    }


def text_of(content: bytes) -> str:
    """Bytes as text, cut to 40 bytes."""
    return content[:40].decode(errors="replace")


def order(places: Iterable[tuple[str, int]]) -> dict[str, list[int]] | str:
    """Return `kept` if the numbers of (message group, number) pairs rise within each group, else all by group."""
    groups: dict[str, list[int]] = {}
    for group, number in places:
        groups.setdefault(group, []).append(number)
    kept = all(numbers == sorted(numbers) for numbers in groups.values())
    return "kept" if kept else groups


def _plain(value: Any) -> Any:
    """Sort keys, which are a set: some SDKs sort them."""
    return sorted(value) if isinstance(value, list) else value


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content
