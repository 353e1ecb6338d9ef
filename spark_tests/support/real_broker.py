"""A real broker in place of the emulator: the part of `Emulator`'s API that tests need and a real broker supports.

It has no clock, journal, faults or other features of an emulator. A test that uses one of them is skipped, and the
reason names the feature.
"""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest
from pyspark_rocketmq.cluster.cluster import Cluster
from pyspark_rocketmq.options.options import source_options
from rocketmq_testkit.conformance.clients.remoting_consumption import pull_request
from rocketmq_testkit.conformance.clients.remoting_request import RemotingRequest, request
from rocketmq_testkit.conformance.clients.remoting_sends import send_request
from rocketmq_testkit.conformance.clients.remoting_topics import group_request, topic_request
from rocketmq_testkit.conformance.targets.apache import ApacheBroker
from rocketmq_testkit.emulator.message import properties as props
from rocketmq_testkit.fixtures.inspect.messages import Message, from_record
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.client.messages import split_records
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire.command import RemotingCommand

SECONDS = 30.0
"""Timeout for effects that an emulator shows before its response, and a real broker later."""
APACHE = "apache:"
BROKER = "broker-a"
SETTINGS = {"enablePropertyFilter": "false"}
"""Upstream's default, which the emulator has as well."""
FOUND = 0


class RunningBroker:
    """A broker that was started outside of the tests, and keeps running."""

    alive = True

    def __init__(self, namesrv: str) -> None:
        self.namesrv = namesrv
        with RemotingClient(namesrv, timeout=SECONDS) as client:
            response = client.request(RequestCode.GET_BROKER_CLUSTER_INFO)
        # Name servers older than 4.9.4 write broker ids as bare numbers.
        found = re.search(r'[{,]"?0"?:"([0-9.:]+)"', response.body.decode())
        assert found is not None, response.body
        self.broker = found[1]

    def crash(self) -> None:
        """Skip the test: the broker is not ours to stop."""
        pytest.skip("not applicable to a broker at an address: it would have to be stopped")

    halt = resume = stop = wait_registered = crash


class RealBroker:
    """One test's view of a real broker named broker-a: topics that the test creates are deleted afterwards."""

    def __init__(self, apache: ApacheBroker | RunningBroker) -> None:
        self._apache = apache
        self._made: set[str] = set()
        self._ids = count()
        self.needs_restart = False
        """True if it was stopped meanwhile: after a restart topics deleted by earlier tests may return from disk."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        pytest.skip(f"not applicable to a real broker: it needs Emulator.{name}")

    @property
    def namesrv(self) -> str:
        """The address of the name server."""
        return self._apache.namesrv

    @property
    def broker(self) -> str:
        """The address of the broker."""
        return self._apache.broker

    @property
    def version(self) -> int:
        """The broker's version number, as in the header of its responses."""
        return self.ask(request(RequestCode.GET_ALL_TOPIC_CONFIG, {})).version

    def topic(self, name: str, type: str | None = None, queues: int | None = None) -> "RealTopic":  # noqa: A002 - as Emulator.topic
        """Create or change a topic, and wait until every client can see it."""
        kind = (type or "NORMAL").upper() if name not in self._made else None
        self._made.add(name)
        self.ask(topic_request(name, queues=queues or 8, kind=kind))
        self._until(lambda: self._queues(name) == (queues or 8), f"topic {name} is not in the route")
        return RealTopic(self, name)

    def group(self, name: str) -> None:
        """Create a subscription group."""
        self.ask(group_request(name))

    def messages(self, topic: str) -> list[Message]:
        """Return all messages of a topic in the order in which they were stored."""
        self.settle()
        found = [message for queue in range(self._queues(topic)) for message in self._of_queue(topic, queue)]
        return sorted(found, key=lambda message: message.physical_offset)

    def restart(self) -> None:
        """Restart the broker gracefully."""
        self.stop_broker(BROKER)
        self.start_broker(BROKER)

    def crash(self) -> None:
        """Crash and restart the broker."""
        self._apache.crash()
        self._apache.wait_registered()
        self.needs_restart = True

    def stop_broker(self, name: str) -> None:
        """Stop the broker."""
        self._apache.halt()
        self.needs_restart = True

    def start_broker(self, name: str) -> None:
        """Start the broker again."""
        self._apache.resume()
        self._apache.wait_registered()

    def settle(self) -> None:
        """Wait until all stored messages are in their queues; a broker responds earlier."""
        self._until(self._is_settled, "messages are not queued")

    def forget(self) -> None:
        """Delete the topics of the test."""
        for topic in self._made:
            self.ask(request(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic}))
            self.ask(request(RequestCode.DELETE_TOPIC_IN_NAMESRV, {"topic": topic}), to=self.namesrv)

    def ask(self, asked: RemotingRequest, to: str | None = None) -> RemotingCommand:
        """Send a request to the broker, which must succeed."""
        with RemotingClient(to or self.broker, timeout=SECONDS) as client:
            response = client.request(*asked)
        assert response.code == 0, f"{asked.code.name}: {response.remark}"
        return response

    def next_id(self) -> str:
        """Return a message id."""
        return f"{next(self._ids):032X}"

    def _is_settled(self) -> bool:
        with RemotingClient(self.broker, timeout=SECONDS) as client:
            response = client.request(RequestCode.GET_BROKER_RUNTIME_INFO)
        # A newly started broker fails, because it has no statistics yet.
        return response.code == 0 and int(json.loads(response.body)["table"]["dispatchBehindBytes"]) == 0

    def _queues(self, topic: str) -> int:
        with Cluster(source_options({"nameServer": self.namesrv, "topic": topic})) as cluster:
            route = cluster.route(topic)
        return 0 if route is None else len(route.writable)

    def _of_queue(self, topic: str, queue: int) -> Iterator[Message]:
        where = {"topic": topic, "queueId": queue}
        at, end = (
            int((self.ask(request(code, where)).ext_fields or {})["offset"])
            for code in (RequestCode.GET_MIN_OFFSET, RequestCode.GET_MAX_OFFSET)
        )
        with RemotingClient(self.broker, timeout=SECONDS) as client:
            while at < end:
                response = client.request(*pull_request(topic, "looks-into-topics", queue, at))
                assert response.code == FOUND, response.remark
                for record in split_records(response.body):
                    yield from_record(record, BROKER)
                at = int((response.ext_fields or {})["nextBeginOffset"])

    def _until(self, true: Callable[[], bool], otherwise: str) -> None:
        deadline = time.monotonic() + SECONDS
        while not true():
            assert time.monotonic() < deadline, otherwise
            time.sleep(0.02)  # another process needs time


class RealTopic:
    """A topic of a real broker."""

    def __init__(self, broker: RealBroker, name: str) -> None:
        self._broker = broker
        self.name = name

    @property
    def messages(self) -> list[Message]:
        """All messages of the topic."""
        return self._broker.messages(self.name)

    def send(
        self,
        body: bytes | str,
        *,
        tag: str | None = None,
        keys: Sequence[str] | str = (),
        properties: Mapping[str, str] | None = None,
        message_group: str | None = None,
    ) -> Message:
        """Store a message, and return it as stored."""
        found = dict(properties or {})
        found.setdefault(props.UNIQ_KEY, self._broker.next_id())
        if tag is not None:
            found[props.TAGS] = tag
        if keys:
            found[props.KEYS] = keys if isinstance(keys, str) else " ".join(keys)
        if found.keys() & {props.DELAY, props.TIMER_DELIVER_MS, props.TIMER_DELAY_SEC, props.TIMER_DELAY_MS}:
            self._broker.needs_restart = True  # it reaches its topic later, when the topic may be the next test's
        queue = -1
        if message_group is not None:
            found[props.SHARDING_KEY] = message_group
            queue = (props.string_hash(message_group) & 0x7FFFFFFF) % self._broker._queues(self.name)
        born_ms = int(time.time() * 1000)
        response = self._broker.ask(send_request(self.name, body, born_ms=born_ms, queue=queue, properties=found))
        self._broker.settle()
        # The message id contains the broker's address and the commit log offset.
        place = int((response.ext_fields or {})["msgId"][-16:], 16)
        viewed = self._broker.ask(request(RequestCode.VIEW_MESSAGE_BY_ID, {"offset": place}))
        return from_record(viewed.body, BROKER)


@contextmanager
def real_broker(target: str, settings: Mapping[str, object]) -> Iterator[ApacheBroker | RunningBroker]:
    """Start a broker for `apache:VERSION` with these keys in broker.conf, or use that of the name server HOST:PORT."""
    if not target.startswith(APACHE):
        if settings:
            pytest.skip(f"not applicable to a broker at an address: it would need {', '.join(settings)}")
        yield RunningBroker(target)
        return
    texts = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in settings.items()}
    with ApacheBroker(target.removeprefix(APACHE), {**SETTINGS, **texts}) as apache:
        yield apache
