"""First scenarios, one for all SDKs: everything sent is received once, and two consumers share and hand over.

Written against PROTOCOL.md alone. The broker is whatever the driver processes were pointed at; topics and groups are
made beforehand through an Admin. Names carry ``run``, so that a scenario can be repeated on a broker that keeps its
state.
"""

import itertools
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from .mqadmin import MqadminError, mqadmin
from .process import Driver, Fields, body

Style = Literal["simple", "concurrent", "orderly", "broadcast", "pop", "lite"]
"""A way to consume: ``simple`` (receive and ack), a push mode, or ``lite`` (poll and commit)."""

Start = Callable[[], Driver]
"""Starts one more process of the driver under test."""

STYLES: tuple[Style, ...] = ("simple", "concurrent", "orderly", "broadcast", "pop", "lite")
QUEUES = 4
GROUPS = 16
"""Message groups of an ordered topic: enough that their hashes reach every queue."""
INVISIBLE_MS = 30_000
PATIENCE_SECONDS = 120.0
"""The slowest client known takes 40 s to hand a queue over; a loaded machine may double that."""
_GLANCE_SECONDS = 0.02


class Admin(Protocol):
    """What a scenario needs to have made on the broker."""

    def create_topic(self, name: str, *, type: str = "NORMAL", queues: int = QUEUES) -> None:  # noqa: A002 upstream's word
        """Make a topic of one of upstream's message types: NORMAL, FIFO, DELAY, TRANSACTION."""

    def create_group(self, name: str, *, orderly: bool = False) -> None:
        """Make a consumer group, an orderly one where gRPC consumers are to get messages in order."""

    def set_pop_mode(self, topic: str, group: str) -> None:
        """Let the push consumers of ``group`` that leave the rebalance to the broker pop from ``topic``."""


@dataclass(frozen=True, slots=True)
class MqadminAdmin:
    """An Admin that calls Apache's mqadmin; ``namesrv`` is ``host:port``. Raises MqadminError when a command fails."""

    namesrv: str
    cluster: str = "DefaultCluster"

    def create_topic(self, name: str, *, type: str = "NORMAL", queues: int = QUEUES) -> None:  # noqa: A002 upstream's word
        """Make the topic with ``updateTopic``."""
        kind, count = f"+message.type={type}", str(queues)
        self._run("updateTopic", "-c", self.cluster, "-t", name, "-r", count, "-w", count, "-a", kind)

    def create_group(self, name: str, *, orderly: bool = False) -> None:
        """Make the group with ``updateSubGroup``, broadcasting allowed."""
        self._run("updateSubGroup", "-c", self.cluster, "-g", name, "-d", "true", "-o", str(orderly).lower())

    def set_pop_mode(self, topic: str, group: str) -> None:
        """Set the mode with ``setConsumeMode``."""
        self._run("setConsumeMode", "-c", self.cluster, "-t", topic, "-g", group, "-m", "POP", "-q", "8")

    def _run(self, *arguments: str) -> None:
        printed = mqadmin(self.namesrv, *arguments)
        if "success" not in printed:
            raise MqadminError(f"mqadmin {' '.join(arguments)} failed:\n{printed}")


def styles(driver: Driver) -> tuple[Style, ...]:
    """The ways to consume that the driver's SDK can express."""
    possible: set[str] = {"simple"} if {"simple", "receive", "ack"} <= driver.verbs else set()
    possible |= driver.modes
    if {"lite", "poll", "commit"} <= driver.verbs:
        possible.add("lite")
    return tuple(style for style in STYLES if style in possible)


def send_receive(start: Start, style: Style, admin: Admin, run: str, *, count: int = 100) -> None:
    """``count`` messages with keys, tags and properties arrive exactly once and whole, and stay consumed.

    The last point: a later consumer of the same group is given only what is sent after it. A broadcasting group, whose
    offsets each client keeps for itself, is spared that.
    """
    with start() as first, start() as second:
        topic, group = _prepare(first, style, admin, run, "whole")
        first.call("producer", as_="p", topics=[topic], group=f"{group}-p")
        early = _Consumer(first, style, topic, group)
        expected = _send(first, topic, style, f"{run}-a", range(count))
        _wait([early], f"{run}-a", count)
        # Checked after the end, so that a message that comes once more is seen.
        early.stop()
        _check([early.messages], expected, style)
        if style == "broadcast":
            return
        late = _Consumer(second, style, topic, group)
        second.call("producer", as_="p", topics=[topic], group=f"{group}-p2")
        sentinel = _send(second, topic, style, f"{run}-b", range(1))
        _wait([late], f"{run}-b", 1)
        _check([late.messages], sentinel, style, again=_abandons_polls(first, style))


def share_and_hand_over(start: Start, style: Style, admin: Admin, run: str, *, count: int = 100) -> None:
    """Two consumers of a group both get messages, each message goes to one of them, and one takes over when the other
    leaves."""
    with start() as sender, start() as first, start() as second:
        topic, group = _prepare(sender, style, admin, run, "share")
        sender.call("producer", as_="p", topics=[topic], group=f"{group}-p")
        pair = [_Consumer(first, style, topic, group), _Consumer(second, style, topic, group)]
        _probe_until_shared(sender, pair, topic, style, run)
        both = _send(sender, topic, style, f"{run}-a", range(count))
        _wait(pair, f"{run}-a", count)
        rest, leaver = pair
        leaver.stop()
        alone = _send(sender, topic, style, f"{run}-b", range(count))
        _wait([rest], f"{run}-b", count)
        _check([one.of(f"{run}-a") for one in pair], both, style)
        _check([rest.of(f"{run}-b")], alone, style, again=_abandons_polls(first, style))


class _Consumer:
    """One consumer of any style in a driver, and the messages that it was given, each with the time ``t`` of that."""

    def __init__(self, driver: Driver, style: Style, topic: str, group: str) -> None:
        self.messages: list[Fields] = []
        self._driver = driver
        self._style = style
        self._pending: Future[Fields] | None = None
        self._seen = 0
        fields: dict[str, Any] = {"as": "c", "group": group, "sub": {topic: {"expr": "*", "type": "TAG"}}}
        if style == "simple":
            driver.call("simple", **fields, await_ms=5000)
        elif style == "lite":
            driver.call("lite", **fields, from_="first")
        else:
            driver.call("push", **fields, mode=style, from_="first")

    def of(self, stem: str) -> list[Fields]:
        """The messages whose body begins with ``stem``."""
        return [message for message in self.messages if body(message).startswith(f"{stem}-".encode())]

    def look(self) -> None:
        """Take over what has come, and keep one receive or poll in flight where the style needs one."""
        if self._style not in ("simple", "lite"):
            events = self._driver.events("c")
            self.messages += [{**event["msg"], "t": event["t"]} for event in events[self._seen :]]
            self._seen = len(events)
            return
        if self._pending is None:
            # In the background, so that the driver's other commands need not wait for a long poll.
            if self._style == "simple":
                self._pending = self._driver.post("receive", on="c", bg=True, max=16, invisible_ms=INVISIBLE_MS)
            else:
                self._pending = self._driver.post("poll", on="c", bg=True, max=16, ms=500)
        elif self._pending.done():
            self._take()

    def _take(self) -> None:
        assert self._pending is not None
        messages = self._driver.result(self._pending)["messages"]
        self._pending = None
        if messages and self._style == "simple":
            self._driver.call("ack", on="c", h=[message["h"] for message in messages])
        elif messages:
            self._driver.call("commit", on="c")
        now = int(time.time() * 1000)
        self.messages += [{**message, "t": now} for message in messages]

    def stop(self) -> None:
        """Leave the group by the SDK's own shutdown."""
        if self._pending is not None:
            self._take()
        # A gRPC push consumer waits for its long polls, 34 s at worst.
        self._driver.call("close", on="c", timeout=PATIENCE_SECONDS)
        if self._style not in ("simple", "lite"):
            self.look()


def _prepare(driver: Driver, style: Style, admin: Admin, run: str, scenario: str) -> tuple[str, str]:
    sdk = driver.name.replace(".", "_")
    topic, group = f"{scenario}-{sdk}-{style}-{run}", f"{scenario}-{sdk}-{style}-group-{run}"
    admin.create_topic(topic, type="FIFO" if style == "orderly" else "NORMAL", queues=QUEUES)
    admin.create_group(group, orderly=style == "orderly" and driver.hello["protocol"] == "grpc")
    if style == "pop":
        admin.set_pop_mode(topic, group)
    return topic, group


def _send(driver: Driver, topic: str, style: Style, stem: str, numbers: Sequence[int]) -> list[Fields]:
    """Send one message for each number; return what must be received, with the id that the SDK told."""
    expected: list[Fields] = []
    # An SDK with C strings for bodies says so; all others are given every byte value.
    tail = bytes(range(256)) if driver.hello.get("binary", True) else "grün ☕".encode()
    for n in numbers:
        fields: Fields = {
            "topic": topic,
            "body": f"{stem}-{n}-".encode() + tail,
            "tag": "even" if n % 2 == 0 else "odd",
            "keys": [f"{stem}-{n}", "smoke"],
            "props": {"n": str(n), "colour": "grün ☕"},
            "group": f"group-{n % GROUPS}" if style == "orderly" else None,
        }
        reply = driver.call("send", on="p", **fields)
        expected.append({**fields, "id": reply.get("id") or None})
    return expected


def _probe_until_shared(sender: Driver, pair: Sequence[_Consumer], topic: str, style: Style, run: str) -> None:
    """Send small rounds until one round is shared; only then has the group settled."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    for number in itertools.count():
        stem = f"{run}-probe{number}"
        _wait(pair, stem, len(_send(sender, topic, style, stem, range(GROUPS))))
        if all(one.of(stem) for one in pair):
            return
        if time.monotonic() > deadline:
            shares = [len(one.messages) for one in pair]
            raise AssertionError(f"two consumers did not share {topic} within {PATIENCE_SECONDS:g} s: {shares}")


def _wait(consumers: Sequence[_Consumer], stem: str, count: int) -> None:
    """Wait until the consumers together have been given ``count`` messages whose body begins with ``stem``."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        for consumer in consumers:
            consumer.look()
        counts = [len(consumer.of(stem)) for consumer in consumers]
        if sum(counts) >= count:
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"not {count} messages {stem}-* within {PATIENCE_SECONDS:g} s, but {counts}")
        time.sleep(_GLANCE_SECONDS)


def _abandons_polls(driver: Driver, style: Style) -> bool:
    """Whether a closed consumer of this kind may leave a long poll behind at the proxy.

    The proxy hands the next messages to it, and they come back as a further attempt when their invisible time is over.
    Some SDKs wait for their polls when they close a push consumer, others do not.
    """
    return driver.hello["protocol"] == "grpc" and style != "simple"


def _check(
    shares: Sequence[Sequence[Fields]], expected: Sequence[Fields], style: Style, *, again: bool = False
) -> None:
    """Every expected message was received by one of the consumers, once, as it was sent, and nothing else was.

    Each came as its first attempt, unless it may have come ``again``.
    """
    received = list(itertools.chain.from_iterable(shares))
    by_body = {message["body"]: message for message in expected}
    counts = Counter(body(message) for message in received)
    lost = [message["keys"][0] for message in expected if counts[message["body"]] == 0]
    repeated = [text[:40] for text, count in counts.items() if count > 1]
    strange = [text[:40] for text in counts if text not in by_body]
    assert [lost, repeated, strange] == [[], [], []], f"lost {lost}, repeated {repeated}, not sent {strange}"
    for message in received:
        sent = by_body[body(message)]
        for name in ("topic", "tag", "keys"):
            assert message[name] == sent[name], f"{name} of {sent['keys'][0]}: {message[name]!r}"
        for name, value in sent["props"].items():
            assert message["props"].get(name) == value, f"property {name} of {sent['keys'][0]}: {message['props']!r}"
        assert again or message["attempt"] in (1, None), f"{sent['keys'][0]} came as attempt {message['attempt']}"
        if sent["id"] and message["id"]:
            assert message["id"] == sent["id"], f"id of {sent['keys'][0]}: sent {sent['id']}, received {message['id']}"
    if style == "orderly":
        for share in shares:
            _check_order(share)
        # Taking turns, by the clock that they share; two in one millisecond cannot be told apart.
        _check_order(sorted(received, key=lambda message: (message["t"], int(message["props"]["n"]))))


def _check_order(received: Sequence[Fields]) -> None:
    """In each group the numbers rise."""
    last: dict[str, int] = {}
    for message in received:
        n = int(message["props"]["n"])
        group = f"group-{n % GROUPS}"
        assert n > last.get(group, -1), f"message {n} of {group} came after {last[group]}"
        last[group] = n
