"""A real broker in place of the emulator: what tests need of an `Emulator`, as far as a real broker has it.

Clock, journal, faults and what else only an emulator has are not there; a test that asks for them is skipped, and the
reason names what it asked for.
"""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest
from pyspark_rocketmq.cluster import Cluster
from pyspark_rocketmq.options import source_options
from rocketmq_testkit.conformance.targets.apache import ApacheBroker
from rocketmq_testkit.emulator.message import properties as props
from rocketmq_testkit.emulator.message.names import AUTO_CREATE_TOPIC
from rocketmq_testkit.fixtures.inspect.messages import Message, from_record
from rocketmq_testkit.remoting.client import RemotingClient
from rocketmq_testkit.remoting.client.messages import split_records
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire.command import RemotingCommand

SECONDS = 30.0
"""How long a real broker may take to do what an emulator has done when it answers."""
APACHE = "apache:"
BROKER = "broker-a"
SETTINGS = {"enablePropertyFilter": "false"}
"""Upstream's default, as the emulator has it."""
PULL_SIZE = 32
FOUND = 0
_SUBSCRIPTION_IN_REQUEST = 4


class RunningBroker:
    """A broker that somebody else has started, and that goes on running."""

    alive = True

    def __init__(self, namesrv: str) -> None:
        self.namesrv = namesrv
        with RemotingClient(namesrv, timeout=SECONDS) as client:
            answer = client.request(RequestCode.GET_BROKER_CLUSTER_INFO)
        # Ids of brokers are bare numbers where the name server is older than 4.9.4.
        found = re.search(r'[{,]"?0"?:"([0-9.:]+)"', answer.body.decode())
        assert found is not None, answer.body
        self.broker = found[1]

    def crash(self) -> None:
        """It is not ours."""
        pytest.skip("not applicable to a broker at an address: it would have to be stopped")

    halt = resume = stop = wait_registered = crash


class RealBroker:
    """One test's view of a real broker, which is called broker-a: topics that it makes are gone afterwards."""

    def __init__(self, apache: ApacheBroker | RunningBroker) -> None:
        self._apache = apache
        self._made: set[str] = set()
        self._ids = count()
        self.is_used_up = False
        """Whether it was stopped meanwhile: what comes back from disk may hold what tests before have deleted."""

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
        """The number of its version, by which answers are headed."""
        return self.ask(RequestCode.GET_ALL_TOPIC_CONFIG, {}).version

    def topic(self, name: str, type: str | None = None, queues: int | None = None) -> "RealTopic":  # noqa: A002 - as Emulator.topic
        """A topic, created or changed, when every client can see it so."""
        fields = {
            "topic": name,
            "defaultTopic": AUTO_CREATE_TOPIC,
            "readQueueNums": queues or 8,
            "writeQueueNums": queues or 8,
            "perm": 6,
            "topicFilterType": "SINGLE_TAG",
            "topicSysFlag": 0,
            "order": False,
            "attributes": f"+message.type={(type or 'NORMAL').upper()}" if name not in self._made else "",
        }
        self._made.add(name)
        self.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, fields)
        self._until(lambda: self._queues(name) == (queues or 8), f"topic {name} is not in the route")
        return RealTopic(self, name)

    def group(self, name: str) -> None:
        """A subscription group."""
        self.ask(
            RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, json.dumps({"groupName": name, "brokerId": 0}).encode()
        )

    def messages(self, topic: str) -> list[Message]:
        """All messages of a topic in the order in which they were stored."""
        self.settle()
        found = [message for queue in range(self._queues(topic)) for message in self._of_queue(topic, queue)]
        return sorted(found, key=lambda message: message.physical_offset)

    def restart(self) -> None:
        """Stop in order and start again."""
        self.stop_broker(BROKER)
        self.start_broker(BROKER)

    def crash(self) -> None:
        """Die and start again."""
        self._apache.crash()
        self._apache.wait_registered()
        self.is_used_up = True

    def stop_broker(self, name: str) -> None:
        """Take it down."""
        self._apache.halt()
        self.is_used_up = True

    def start_broker(self, name: str) -> None:
        """Bring it back."""
        self._apache.resume()
        self._apache.wait_registered()

    def settle(self) -> None:
        """Wait until all that is stored is in its queue; a broker answers before."""
        self._until(self._is_settled, "messages are not queued")

    def forget(self) -> None:
        """Remove what the test has made."""
        for topic in self._made:
            self.ask(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic})
            self.ask(RequestCode.DELETE_TOPIC_IN_NAMESRV, {"topic": topic}, to=self.namesrv)

    def ask(
        self, code: RequestCode, fields: Mapping[str, object], body: bytes = b"", to: str | None = None
    ) -> RemotingCommand:
        """Ask the broker, which must do it."""
        with RemotingClient(to or self.broker, timeout=SECONDS) as client:
            answer = client.request(code, fields, body)
        assert answer.code == 0, f"{code.name}: {answer.remark}"
        return answer

    def next_id(self) -> str:
        """An id for a message."""
        return f"{next(self._ids):032X}"

    def _is_settled(self) -> bool:
        with RemotingClient(self.broker, timeout=SECONDS) as client:
            answer = client.request(RequestCode.GET_BROKER_RUNTIME_INFO)
        # One that has just started fails, because it has no statistics yet.
        return answer.code == 0 and int(json.loads(answer.body)["table"]["dispatchBehindBytes"]) == 0

    def _queues(self, topic: str) -> int:
        with Cluster(source_options({"nameServer": self.namesrv, "topic": topic})) as cluster:
            route = cluster.route(topic)
        return 0 if route is None else len(route.writable)

    def _of_queue(self, topic: str, queue: int) -> Iterator[Message]:
        where = {"topic": topic, "queueId": queue}
        at, end = (
            int((self.ask(code, where).ext_fields or {})["offset"])
            for code in (RequestCode.GET_MIN_OFFSET, RequestCode.GET_MAX_OFFSET)
        )
        with RemotingClient(self.broker, timeout=SECONDS) as client:
            while at < end:
                answer = client.request(
                    RequestCode.PULL_MESSAGE,
                    {
                        **where,
                        "consumerGroup": "looks-into-topics",
                        "queueOffset": at,
                        "maxMsgNums": PULL_SIZE,
                        "sysFlag": _SUBSCRIPTION_IN_REQUEST,
                        "commitOffset": 0,
                        "suspendTimeoutMillis": 0,
                        "subscription": "*",
                        "subVersion": 0,
                        "expressionType": "TAG",
                    },
                )
                assert answer.code == FOUND, answer.remark
                for record in split_records(answer.body):
                    yield from_record(record, BROKER)
                at = int((answer.ext_fields or {})["nextBeginOffset"])

    def _until(self, true: Callable[[], bool], otherwise: str) -> None:
        deadline = time.monotonic() + SECONDS
        while not true():
            assert time.monotonic() < deadline, otherwise
            time.sleep(0.02)  # another process has to come to it


class RealTopic:
    """A topic of a real broker."""

    def __init__(self, broker: RealBroker, name: str) -> None:
        self._broker = broker
        self.name = name

    @property
    def messages(self) -> list[Message]:
        """All its messages."""
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
        """Store a message and return it as it is stored."""
        found = dict(properties or {})
        found.setdefault(props.UNIQ_KEY, self._broker.next_id())
        if tag is not None:
            found[props.TAGS] = tag
        if keys:
            found[props.KEYS] = keys if isinstance(keys, str) else " ".join(keys)
        if found.keys() & {props.DELAY, props.TIMER_DELIVER_MS, props.TIMER_DELAY_SEC, props.TIMER_DELAY_MS}:
            self._broker.is_used_up = True  # it comes to its topic later, which may be the next test's by then
        queue = -1
        if message_group is not None:
            found[props.SHARDING_KEY] = message_group
            queue = (props.string_hash(message_group) & 0x7FFFFFFF) % self._broker._queues(self.name)
        fields = {"a": "p", "b": self.name, "c": AUTO_CREATE_TOPIC, "d": 8, "e": queue, "f": 0, "h": 0, "j": 0}
        fields |= {"g": int(time.time() * 1000), "i": props.encode(found), "k": False, "m": False}
        data = body.encode() if isinstance(body, str) else body
        answer = self._broker.ask(RequestCode.SEND_MESSAGE_V2, fields, data)
        self._broker.settle()
        # Its id holds the broker's address and the position in its log.
        place = int((answer.ext_fields or {})["msgId"][-16:], 16)
        viewed = self._broker.ask(RequestCode.VIEW_MESSAGE_BY_ID, {"offset": place})
        return from_record(viewed.body, BROKER)


@contextmanager
def real_broker(target: str, settings: Mapping[str, object]) -> Iterator[ApacheBroker | RunningBroker]:
    """A broker of `apache:VERSION` with these keys in its broker.conf, or the one behind the name server HOST:PORT."""
    if not target.startswith(APACHE):
        if settings:
            pytest.skip(f"not applicable to a broker at an address: it would need {', '.join(settings)}")
        yield RunningBroker(target)
        return
    texts = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in settings.items()}
    with ApacheBroker(target.removeprefix(APACHE), {**SETTINGS, **texts}) as apache:
        yield apache
