"""Producers and consumers of any SDK, as scenarios hold them: objects in a driver process and what they were given.

A consumer has a style, which hides how messages come: by events (push), by receiving and acknowledging (simple), or by
polling and committing (lite).
"""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Literal

from .drivers.process import Driver, Fields, body

Style = Literal["simple", "concurrent", "orderly", "broadcast", "pop", "lite"]
"""A way to consume: `simple` (receive and acknowledge), a mode of push consumers, or `lite` (poll and commit)."""

CLOSE_SECONDS = 120.0
"""A gRPC push consumer waits for its long polls, 34 s at worst."""
INVISIBLE_MS = 120_000
"""Longer than a busy machine takes from a receive to its acknowledgement, with a hundred sends in between."""
AWAIT_MS = 5000
"""The shortest long poll that a proxy takes as it is."""
PRIMING = b"(priming)"
"""The body of what a stage sends so that a consumer begins where it shall; scenarios do not see such messages."""
_POLL_MS = 300
_BATCH = 16


class Producer:
    """A producer called `name`, of a producer group, in a driver process."""

    def __init__(self, driver: Driver, name: str, group: str) -> None:
        self.driver = driver
        self.name = name
        self.group = group

    def send(self, topic: str, content: str | bytes = "hello", *, verb: str = "send", **fields: Any) -> Fields:
        """Send one message and return the reply. Errors: DriverError when the SDK refuses."""
        return self.driver.call(verb, on=self.name, topic=topic, body=_bytes(content), **fields)

    def send_numbered(self, topic: str, count: int, stem: str = "m", **fields: Any) -> list[Fields]:
        """Send `stem0`, `stem1`, ...; returns what was sent, each with the `id` that the SDK tells."""
        sent = []
        for number in range(count):
            content = f"{stem}{number}"
            reply = self.send(topic, content, **fields)
            sent.append({"topic": topic, "body": content.encode(), "id": reply.get("id"), **fields})
        return sent

    def recall(self, topic: str, handle: str) -> Fields:
        """Take a message back that waits for its delivery time. Errors: DriverError when that is refused."""
        return self.driver.call("recall", on=self.name, topic=topic, handle=handle)

    def checks(self) -> list[Fields]:
        """What it was asked about transactions so far."""
        return [event for event in self.driver.events(self.name) if event["ev"] == "check"]

    def close(self) -> None:
        """Shut it down as the SDK does it."""
        self.driver.call("close", on=self.name, timeout=CLOSE_SECONDS)


class Consumer:
    """A consumer called `name` in a driver process.

    `messages`: all that it was given, `t` being when, and `ok` whether it was a success; `did` is a listener's answer.
    `invisible_ms`: for how long a simple consumer receives what it acknowledges at once.
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
    def pushed(self) -> bool:
        """Whether messages come by themselves."""
        return self.style not in ("simple", "lite")

    @property
    def bodies(self) -> list[str]:
        """The bodies of its messages as texts, in the order they came."""
        return [text(message) for message in self.messages]

    def of(self, stem: str) -> list[Fields]:
        """The messages whose body begins with `stem`."""
        return [message for message in self.messages if body(message).startswith(stem.encode())]

    def look(self) -> None:
        """Take over what has come, and keep one receive or poll under way where the style needs one."""
        if self.pushed:
            events = [event for event in self.driver.events(self.name) if event["ev"] == "msg"]
            new = [event for event in events[self._seen :] if body(event["msg"]) != PRIMING]
            self.messages += [{**event["msg"], **{name: event[name] for name in ("t", "ok", "did")}} for event in new]
            self._seen = len(events)
        elif self._pending is None:
            # In the background: the driver's other commands need not wait for it.
            if self.style == "simple":
                self._pending = self.post_receive(self.invisible_ms)
            else:
                self._pending = self.driver.post("poll", on=self.name, bg=True, max=_BATCH, ms=_POLL_MS)
        elif self._pending.done():
            self.take()

    def begun(self) -> list[Fields]:
        """What its listener was called with so far, also where it has not answered; for push consumers with `begin`."""
        return [event["msg"] for event in self.driver.events(self.name) if event["ev"] == "begin"]

    def is_answered(self) -> bool:
        """Whether no receive or poll of its own is under way."""
        return self._pending is None or self._pending.done()

    def take(self) -> None:
        """Wait for what is under way, and acknowledge or commit it."""
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

    # --- what simple consumers do

    def post_receive(self, invisible_ms: int, count: int = _BATCH) -> Future[Fields]:
        """Begin to receive."""
        return self.driver.post("receive", on=self.name, bg=True, max=count, invisible_ms=invisible_ms)

    def receive(self, invisible_ms: int = INVISIBLE_MS, count: int = _BATCH) -> list[Fields]:
        """Receive once, without acknowledging."""
        reply = self.driver.call("receive", on=self.name, max=count, invisible_ms=invisible_ms)
        return list(reply["messages"])

    def ack(self, messages: Iterable[Mapping[str, Any]]) -> None:
        """Acknowledge."""
        self.driver.call("ack", on=self.name, h=[message["h"] for message in messages])

    # --- what lite consumers do

    def poll(self, ms: int = _POLL_MS, count: int = _BATCH) -> list[Fields]:
        """Poll once, without committing."""
        return list(self.driver.call("poll", on=self.name, max=count, ms=ms)["messages"])

    # --- end

    def post_close(self) -> Future[Fields]:
        """Begin to leave the group by the SDK's own shutdown."""
        return self.driver.post("close", on=self.name, bg=True)


# --- what is shown of messages


def text(message: Mapping[str, Any]) -> str:
    """A body as text; one that is long or no UTF-8 is described."""
    content = body(message)
    try:
        shown = content.decode()
    except UnicodeDecodeError:
        return f"{len(content)} bytes"
    return shown if len(shown) <= 80 else f"{len(content)} bytes"


def shown(message: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The body as text and some fields of a message."""
    return {"body": text(message), **{name: message[name] for name in names}}


def comparison(sent: Sequence[Mapping[str, Any]], shares: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """How what was received by all consumers together compares with what was sent; bodies tell messages apart."""
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
    """Bytes as text, shortened."""
    return content[:40].decode(errors="replace")


def order(places: Iterable[tuple[str, int]]) -> dict[str, list[int]] | str:
    """`kept` when the numbers of messages, as (message group, number), rise within each group, else all by group."""
    groups: dict[str, list[int]] = {}
    for group, number in places:
        groups.setdefault(group, []).append(number)
    kept = all(numbers == sorted(numbers) for numbers in groups.values())
    return "kept" if kept else groups


def _plain(value: Any) -> Any:
    """Keys are a set: some SDKs sort them."""
    return sorted(value) if isinstance(value, list) else value


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content
