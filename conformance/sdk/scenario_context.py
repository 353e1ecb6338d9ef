"""The context of a scenario: driver processes of one SDK, one deployment, topics and groups, waiting, and notes."""

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from rocketmq_testkit.remoting.client import Credentials, ReceivedMessage
from rocketmq_testkit.remoting.request.request_code import RequestCode

from ..clients.json_text import dumps
from ..context.case_context import CaseContext, Stopwatch
from ..deployment.target import Deployment
from ..drivers.build import Announce
from ..drivers.process import Addresses, Driver, DriverError, DriverFailure, Fields, start
from .sdk_clients import AWAIT_MS, CLOSE_SECONDS, FILLER_BODY, Consumer, Producer, Style

PATIENCE_SECONDS = 60.0
"""Default timeout for expected events; a loaded machine may need much of it."""
ROUTE_SECONDS = 10.0
_KNOWN_SECONDS = 2.0
"""Longest wait until a broker knows a new consumer."""
_POLL_SECONDS = 0.02
_PRIMING_SECONDS = 0.2
"""Interval between messages that are sent until a new consumer receives one of each queue."""
_STEP_SECONDS = 0.4
"""Real time between two clock jumps: enough for a client to respond and to send its next request."""
_WARM_UPS_MAX = 3
_KEPT_LANGUAGES = frozenset({"java"})
"""Languages whose processes take seconds to start, so scenarios share them; all others get new processes."""

_UNSTABLE: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b\d+(?:\.\d+)? ?(ms|milliseconds|us|s)\b"), r"{n} \1"),
    (re.compile(r"\bcost \[\d+\]ms"), "cost [{n}]ms"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "{uuid}"),
    (re.compile(r"\b[\w.-]+@\d+[@#][\w@#]+"), "{client}"),
    (re.compile(r"\b[0-9a-f]{16,40}\b"), "{hex}"),
    # The headers of a gRPC error depend on the library, not on the broker.
    (re.compile(r", metadata: MetadataMap \{.*\}"), ""),
)


class DriverProcesses:
    """The driver processes of one SDK for one deployment, numbered from 0; a context manager that ends them."""

    def __init__(
        self,
        sdk: str,
        deployment: Deployment,
        credentials: Credentials | None = None,
        *,
        announce: Announce | None = None,
    ) -> None:
        self.sdk = sdk
        self.deployment = deployment
        self._announce = announce
        access = deployment.access
        tls = access.tls
        self._addresses = Addresses(
            access.namesrv,
            access.endpoint,
            tls is not None,
            tls.ca if tls else None,
            credentials=credentials or access.credentials,
        )
        self._processes: dict[int, Driver] = {}
        self._known: set[Driver] = set()
        """Drivers for which `is_new` was called."""
        self._made: list[tuple[Driver, str]] = []
        """Names of the objects created since the last `clean_up`, each with its driver."""
        self._numbers = 0
        self._changing = threading.Lock()
        self._closed = False

    def process(self, number: int = 0) -> Driver:
        """Return a driver process, started on first use. Raises BuildError, DriverFailure."""
        with self._changing:
            if self._closed:
                raise DriverFailure(f"the {self.sdk} driver is not started: the run is over")
            if number not in self._processes:
                self._processes[number] = start(self.sdk, self._addresses, announce=self._announce)
            return self._processes[number]

    def is_new(self, number: int) -> bool:
        """True if the process was started since the last call."""
        driver = self.process(number)
        known = driver in self._known
        self._known.add(driver)
        return not known

    def end(self, number: int) -> None:
        """End a process; the next call of `process` starts a new one."""
        driver = self._processes.pop(number, None)
        if driver is not None:
            driver.close()

    def name(self, driver: Driver, kind: str) -> str:
        """Return a name for a new object in a process, unique among these processes."""
        self._numbers += 1
        name = f"{kind}{self._numbers}"
        self._made.append((driver, name))
        return name

    def clean_up(self, *, broken: bool = False) -> None:
        """Clean up after a scenario: end the processes, or only close the objects of processes worth keeping."""
        made, self._made = self._made, []
        for number, driver in list(self._processes.items()):
            if broken or driver.hello["language"] not in _KEPT_LANGUAGES:
                self.end(number)
                continue
            for owner, name in made:
                if owner is driver:
                    # Do not wait: a gRPC push consumer takes 20 s. The driver rejects the command if the object is
                    # already closed.
                    driver.post("close", on=name, bg=True)

    def __enter__(self) -> "DriverProcesses":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """End all processes, from any thread; no more are started."""
        with self._changing:
            self._closed = True
        for number in list(self._processes):
            self.end(number)


class ScenarioContext:
    """Context of a scenario: one deployment and one SDK. `token` makes the names of this run unique."""

    def __init__(self, deployment: Deployment, drivers: DriverProcesses, token: str) -> None:
        self.deployment = deployment
        self.sdk = drivers.sdk
        self._drivers = drivers
        self._queues: dict[str, int] = {}
        self.admin = CaseContext(deployment, token)
        """The context of an administrator: the deployment through the remoting protocol, also for lookups."""
        self.hello = drivers.process().hello

    def close(self) -> None:
        """Close the connections; `DriverProcesses` owns the processes."""
        self.admin.close()

    # --- notes

    def note(self, label: str, value: Any) -> Any:
        """Note an observation and return it."""
        self.admin.note(label, value)
        return value

    @property
    def notes(self) -> list[tuple[str, Any]]:
        """The observations so far."""
        return self.admin.notes

    def refusal(self, label: str, action: Callable[[], object], *, text: bool = True) -> bool:
        """Note the error with which the SDK rejects an action (class, code, text), or `not refused`.

        Returns True if the action is rejected.
        """
        try:
            action()
        except DriverError as error:
            seen = {"kind": error.kind, "code": error.code}
            self.note(label, {**seen, "text": stable(error.err)} if text else seen)
            return True
        self.note(label, "not refused")
        return False

    # --- the SDK

    @property
    def verbs(self) -> frozenset[str]:
        """Commands that the SDK's driver supports."""
        return frozenset(self.hello["verbs"])

    @property
    def grpc(self) -> bool:
        """True if the SDK speaks the gRPC protocol."""
        return bool(self.hello["protocol"] == "grpc")

    @property
    def binary(self) -> bool:
        """True if message bodies may contain any bytes."""
        return bool(self.hello.get("binary", True))

    @property
    def poll_step(self) -> float:
        """Seconds that may pass in one jump while a scenario waits only for long polls of the proxy.

        Is 0 for remoting SDKs: their polls carry a start time from their own clocks.
        """
        return 5.0 if self.grpc else 0.0

    @property
    def fastest_style(self) -> Style:
        """The style for scenarios in which the style does not matter: the one that starts and ends fastest."""
        return "simple" if "simple" in self.verbs else "concurrent"

    def process(self, number: int = 0) -> Driver:
        """Return a driver process, started on first use."""
        driver = self._drivers.process(number)
        if self._drivers.is_new(number) and driver.hello["language"] in _KEPT_LANGUAGES:
            self._warm_up(driver)
        return driver

    def _warm_up(self, driver: Driver) -> None:
        """Make the SDK load its classes: on a busy machine that takes longer than a client's startup timeout."""
        # Without attributes: after the first topic that has some, a slave of 5.3.3 stops copying topics.
        topic = self._made_topic(self.admin.new("warm-up"), None)
        for _ in range(_WARM_UPS_MAX):
            name = self._drivers.name(driver, "p")
            with suppress(DriverError):
                driver.call("producer", as_=name, topics=[topic], group=self.admin.new("warm-up group"))
                driver.call("send", on=name, topic=topic, body=b"hello")
                return

    @contextmanager
    def signing(self, credentials: Credentials) -> Iterator[None]:
        """Within the block, use new processes that sign with these credentials; they end with the block."""
        own = self._drivers
        with DriverProcesses(self.sdk, self.deployment, credentials) as drivers:
            self._drivers = drivers
            try:
                yield
            finally:
                self._drivers = own

    def producer(self, *topics: str, process: int = 0, group: str | None = None, **fields: Any) -> Producer:
        """Create a producer, of a new group unless one is named. Further `fields` are those of the verb."""
        driver = self.process(process)
        name = self._drivers.name(driver, "p")
        group = group or self.admin.new("producer group")
        driver.call("producer", as_=name, topics=list(topics), group=group, **fields)
        return Producer(driver, name, group)

    def consumer(
        self,
        group: str,
        topics: str | Mapping[str, Any],
        style: Style | None = None,
        *,
        process: int = 0,
        **fields: Any,
    ) -> Consumer:
        """Create a consumer of a topic, or of several with their expressions: tags, or `{"expr", "type"}`."""
        style = style or self.fastest_style
        table = {topics: "*"} if isinstance(topics, str) else topics
        sub = {topic: {"expr": it, "type": "TAG"} if isinstance(it, str) else it for topic, it in table.items()}
        driver = self.process(process)
        name = self._drivers.name(driver, "c")
        if style == "simple":
            driver.call("simple", as_=name, group=group, sub=sub, **{"await_ms": AWAIT_MS, **fields})
            self._wait_until_consumer_known(group)
        elif style == "lite":
            driver.call("lite", as_=name, group=group, sub=sub, **{"from": "first", **fields})
        else:
            primed = not self.hello.get("from_first", True)
            if primed and style != "broadcast":
                self._fill_queues(sub, process)
            driver.call("push", as_=name, group=group, sub=sub, mode=style, **{"from": "first", **fields})
            if primed and style == "broadcast":
                self._wait_until_receiving(Consumer(driver, name, style), sub, process)
        return Consumer(driver, name, style)

    def _fill_queues(self, topics: Iterable[str], process: int) -> None:
        """Put a message into each empty queue, so that a new group starts at offset 0.

        Some SDKs start at the end of a queue. Such a group would miss messages sent between its requests for the
        group's offset and for the end offset. If the queue starts in memory, the broker returns 0 for the group's
        offset.
        """
        producer = self.producer(process=process)
        for topic in topics:
            for queue in range(self._queues.get(topic, 0)):
                filled = partial(self._is_filled, topic, queue)
                if not filled():
                    producer.send(topic, FILLER_BODY, queue=queue)
                    self.wait_until(filled, f"the first message of {topic}")

    def _is_filled(self, topic: str, queue: int) -> bool:
        return self.admin.request(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": queue})["offset"] != "0"

    def _wait_until_receiving(self, consumer: Consumer, topics: Iterable[str], process: int) -> None:
        """Send to each queue until a message arrives.

        A broadcasting client that starts at the end of a queue does not ask the broker for an offset.
        """
        producer = self.producer(process=process)
        lacking = {(topic, queue) for topic in topics for queue in range(self._queues.get(topic, 0))}
        end = time.monotonic() + PATIENCE_SECONDS
        while lacking:
            self.require(time.monotonic() < end, f"{consumer.name} receives no message of {sorted(lacking)}")
            for topic, queue in sorted(lacking):
                producer.send(topic, FILLER_BODY, queue=queue)
            time.sleep(_PRIMING_SECONDS)
            lacking -= {(each["topic"], each["queue"]) for each in consumer.driver.messages(consumer.name)}

    def wait_until_producer_known(self, producer: Producer, topic: str) -> None:
        """Wait until the broker knows a producer of a topic, so that transaction checks reach it.

        A remoting client sends its heartbeat once it has a broker, Go's client one to thirty seconds later. Send a
        message first.
        """
        asked = {"producerGroup": topic if self.grpc else producer.group}

        def known() -> bool:
            return self.admin.request(RequestCode.GET_PRODUCER_CONNECTION_LIST, asked).code == 0

        self.wait_until(known, f"the broker knows {producer.name}")

    def _wait_until_consumer_known(self, group: str) -> None:
        """Give the proxy time to receive a consumer's settings, which not every SDK awaits before it receives."""
        end = time.monotonic() + _KNOWN_SECONDS
        asked = {"consumerGroup": group}
        while self.admin.request(RequestCode.GET_CONSUMER_CONNECTION_LIST, asked).code != 0 and time.monotonic() < end:
            time.sleep(_POLL_SECONDS)

    # --- topics and groups

    def topic(self, *, kind: str = "NORMAL", queues: int = 1) -> str:
        """Create a topic that the name server knows. One queue keeps the order and makes offsets equal in each run."""
        return self._made_topic(self.admin.new(), kind, queues)

    def _made_topic(self, name: str, kind: str | None, queues: int = 1) -> str:
        self.admin.topic(name=name, kind=kind, queues=queues)
        self._queues[name] = queues
        end = time.monotonic() + ROUTE_SECONDS
        while self.admin.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": name}, to=self.admin.namesrv).code != 0:
            self.admin.require(time.monotonic() < end, f"the name server does not know {name}")
            time.sleep(_POLL_SECONDS)
        return name

    def group(self, *, orderly: bool = False, **config: object) -> str:
        """Create a consumer group; `orderly`: gRPC consumers receive its messages in order."""
        if orderly and self.grpc:
            config["consumeMessageOrderly"] = True
        return self.admin.group(name=None, **config)

    def pair(self, style: Style, *, queues: int = 1) -> tuple[str, str]:
        """Create a topic and a group for consumers of a style."""
        topic = self.topic(kind="FIFO" if style == "orderly" else "NORMAL", queues=queues)
        group = self.group(orderly=style == "orderly")
        if style == "pop":
            mode = {"topic": topic, "consumerGroup": group, "mode": "POP", "popShareQueueNum": 8}
            response = self.admin.request(RequestCode.SET_MESSAGE_REQUEST_MODE, None, dumps(mode))
            self.admin.require(response.code == 0, f"the request mode of {group} was not set: {response}")
        return topic, group

    def stored(self, topic: str) -> list[ReceivedMessage]:
        """The messages of queue 0 of a topic, at most 32; empty if the topic does not exist."""
        return self.admin.messages_of(topic, self.admin.group(name="stage"))

    # --- time

    def wait_until(
        self,
        look: Callable[[], object],
        what: str,
        *,
        consumers: Sequence[Consumer] = (),
        seconds: float = PATIENCE_SECONDS,
        jump_s: float = 0.0,
    ) -> None:
        """Wait until `look` returns true; arguments as for `becomes_true`. Raises Contradiction after `seconds`."""
        came = self.becomes_true(look, consumers=consumers, seconds=seconds, jump_s=jump_s)
        self.admin.require(came, f"not within {seconds:g} s: {what}; {_state(consumers)}")

    def becomes_true(
        self,
        look: Callable[[], object],
        *,
        consumers: Sequence[Consumer] = (),
        seconds: float = PATIENCE_SECONDS,
        jump_s: float = 0.0,
    ) -> bool:
        """True if `look` becomes true within `seconds`, while the consumers keep consuming.

        `jump_s`: seconds of the deployment's time that may pass between two responses of a client. If the clock can
        jump, it jumps in steps of this size.
        """
        end = time.monotonic() + seconds
        jump = time.monotonic() + _STEP_SECONDS
        while True:
            for consumer in consumers:
                consumer.collect()
            if look():
                return True
            now = time.monotonic()
            if now >= end:
                return False
            if jump_s and self.deployment.has_virtual_time and now > jump:
                self.deployment.advance_ms(round(jump_s * 1000))
                jump = time.monotonic() + _STEP_SECONDS
            time.sleep(_POLL_SECONDS)

    def wait_for(self, count: int, *consumers: Consumer, prefix: str = "", **how: Any) -> list[Fields]:
        """Wait until the consumers together have `count` messages whose body begins with `prefix`; returns these."""

        def found() -> list[Fields]:
            return [message for consumer in consumers for message in consumer.with_prefix(prefix)]

        what = f"{count} messages {prefix}"
        self.wait_until(lambda: len(found()) >= count, what, consumers=consumers, **how)
        return found()

    def wait_until_idle(self, *consumers: Consumer) -> None:
        """Wait until the consumers have received nothing for one second; used to check that no more messages arrive."""
        seen = -1
        changed = time.monotonic()

        def quiet() -> bool:
            nonlocal seen, changed
            count = sum(len(consumer.messages) for consumer in consumers)
            if count != seen:
                seen, changed = count, time.monotonic()
            return time.monotonic() - changed > 1.0

        self.wait_until(quiet, "a quiet second", consumers=consumers)

    def finish(self, future: Future[Fields], *, jump_s: float | None = None, seconds: float = CLOSE_SECONDS) -> Fields:
        """Wait for the reply of a posted command; `jump_s` as in `wait_until`, `poll_step` by default."""
        step = self.poll_step if jump_s is None else jump_s
        self.wait_until(future.done, "a reply", seconds=seconds, jump_s=step)
        reply = future.result()
        if not reply.get("ok"):
            raise DriverError(self.sdk, "a posted command", reply)
        return reply

    def until_committed(self, topic: str, group: str, *, ordered: bool = False) -> None:
        """Wait until the broker knows that a group has consumed a topic.

        A remoting SDK commits offsets periodically, and not every SDK commits them at shutdown. gRPC groups need a wait
        only if they consume in order. Without order their offset follows each delivery, acknowledged or not.
        """
        if self.grpc and not ordered:
            return
        for queue in range(self._queues[topic]):
            asked = {"topic": topic, "queueId": queue, "consumerGroup": group}
            end = int(self.admin.request(RequestCode.GET_MAX_OFFSET, asked)["offset"])
            reached = partial(self._has_committed, asked, end)
            self.wait_until(reached, f"{group} commits {end} in queue {queue} of {topic}")

    def _has_committed(self, asked: Mapping[str, object], end: int) -> bool:
        response = self.admin.request(RequestCode.QUERY_CONSUMER_OFFSET, asked)
        return end == 0 or (response.code == 0 and int(response["offset"]) >= end)

    def leave(self, *consumers: Consumer) -> None:
        """Make consumers leave their group with the SDK's own shutdown, after a receive in flight is handled."""
        for consumer in consumers:
            self.wait_until(consumer.is_answered, "the end of its receive in flight", jump_s=self.poll_step)
            consumer.finish_receive()
        for closing in [consumer.post_close() for consumer in consumers]:
            self.finish(closing)
        for consumer in consumers:
            if consumer.is_push:
                consumer.collect()

    def idle(self, seconds: float) -> None:
        """Let real time pass without action, so that requests in flight reach their long polling wait."""
        time.sleep(seconds)

    def stopwatch(self) -> Stopwatch:
        """Measure the deployment's time from now on."""
        return self.admin.stopwatch()

    def require(self, truth: object, problem: str) -> None:
        """Give up the scenario if a precondition does not hold."""
        self.admin.require(truth, problem)


@contextmanager
def scenario_context(deployment: Deployment, drivers: DriverProcesses, token: str) -> Iterator[ScenarioContext]:
    """Provide the context of one scenario and clean up the driver processes afterwards."""
    broken = False
    try:
        context = ScenarioContext(deployment, drivers, token)
        try:
            yield context
        finally:
            context.close()
    except DriverFailure:
        broken = True
        raise
    finally:
        drivers.clean_up(broken=broken)


def stable(text: str) -> str:
    """Return an error text without parts that differ between runs: durations, ids, names of clients."""
    for pattern, form in _UNSTABLE:
        text = pattern.sub(form, text)
    return text


def _state(consumers: Sequence[Consumer]) -> str:
    counts = [f"{len(consumer.messages)} messages" for consumer in consumers]
    return f"consumers have {', '.join(counts)}" if counts else "no consumer takes part"
