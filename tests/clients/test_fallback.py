"""What SDKs do when a failed message cannot be sent back: a relay before the broker refuses their requests.

Only Java's SDK sends what cannot be sent back to the retry topic by itself. Go's (2.1.2) looks whether an answer comes,
not at its code, and the C++ SDK (1.0, of the wrapper for Python) at neither: what is refused there is gone.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from rocketmq_testkit.conformance.drivers.process import Addresses, Driver, Fields, body, start
from rocketmq_testkit.emulator.message.names import retry_topic
from rocketmq_testkit.emulator.operations.send import SendMessage, SendMessageBack
from rocketmq_testkit.fixtures import Emulator
from rocketmq_testkit.remoting.request.request_code import RequestCode
from rocketmq_testkit.remoting.wire.command import RESPONSE, RemotingCommand
from rocketmq_testkit.remoting.wire.frame import FrameSplitter, decode, encode, join
from sdks import JAVA_REMOTING

RELAYED = "127.0.0.2"
"""Clients are told this host. The relay listens there, on the port that the broker has at 127.0.0.1."""
TOPIC, GROUP = "orders", "billing"
SECONDS = 90.0
"""For what a client does by itself, on a machine that is busy with other things."""
GLANCE_SECONDS = 0.02
SYSTEM_ERROR = 1
ANSWER_MS = 3000
"""For so long Go's SDK waits for the answer when it sends a message back."""
LOCAL_RETRY_MS = 5000
"""After so long a client gives its listener again what it could not get rid of."""

Refused = Callable[[RemotingCommand], bool]


def _sent_back(request: RemotingCommand) -> bool:
    return request.code == RequestCode.CONSUMER_SEND_MSG_BACK


def _sent_back_or_again(request: RemotingCommand) -> bool:
    """Also what a client sends to the retry topic by itself; `b` is the topic of a send with short names."""
    return _sent_back(request) or (request.ext_fields or {}).get("b") == retry_topic(GROUP)


class Relay:
    """Passes frames on between clients and a broker, but not requests that are `refused`.

    It answers those itself, with an error, or never if it is `silent`; `kept_back` counts them.
    """

    def __init__(self, port: int, refused: Refused, *, silent: bool = False) -> None:
        self.kept_back = 0
        self._port = port
        self._refused = refused
        self._silent = silent
        self._loop = asyncio.new_event_loop()
        self._open = threading.Event()
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),), daemon=True)

    def __enter__(self) -> "Relay":
        self._thread.start()
        assert self._open.wait(SECONDS)
        return self

    def __exit__(self, *_error: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(SECONDS)

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._connected, RELAYED, self._port)
        self._open.set()
        await self._end.wait()
        server.close()

    async def _connected(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        broker, to_broker = await asyncio.open_connection("127.0.0.1", self._port)
        with contextlib.suppress(ConnectionError):
            await asyncio.gather(self._requests(client, to_broker, to_client), self._answers(broker, to_client))

    async def _requests(
        self, client: asyncio.StreamReader, to_broker: asyncio.StreamWriter, to_client: asyncio.StreamWriter
    ) -> None:
        splitter = FrameSplitter()
        while data := await client.read(65536):
            for kind, header, content in splitter.feed(data):
                request = decode(kind, header, content)
                if not request.is_response and self._refused(request):
                    self.kept_back += 1
                    if self._silent:
                        continue
                    answer = RemotingCommand(SYSTEM_ERROR, opaque=request.opaque, flag=RESPONSE, remark="refused")
                    answer.serialize_type = kind
                    to_client.write(encode(answer))
                else:
                    to_broker.write(join(header, content, kind))
        to_broker.close()

    async def _answers(self, broker: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        while data := await broker.read(65536):
            to_client.write(data)
        to_client.close()


@contextlib.contextmanager
def _failing_once(sdk: str, refused: Refused, *, silent: bool = False) -> Iterator[tuple[Emulator, Driver, Relay]]:
    """A push consumer whose listener fails the one message once, behind a relay that refuses what follows from it."""
    with (
        Emulator(advertise=RELAYED, topics=[f"{TOPIC}:NORMAL:1", f"{retry_topic(GROUP)}:NORMAL:1"]) as emulator,
        Relay(int(emulator.broker.rpartition(":")[2]), refused, silent=silent) as relay,
        start(sdk, Addresses(namesrv=emulator.namesrv, endpoint=emulator.endpoint)) as driver,
    ):
        emulator.group(GROUP)
        made: Fields = {"sub": {TOPIC: {"expr": "*", "type": "TAG"}}, "mode": "concurrent", "from": "first"}
        driver.call("producer", as_="p", topics=[TOPIC], group="shop")
        driver.call("push", as_="c", group=GROUP, fail={"bad": 1}, **made)
        driver.call("send", on="p", topic=TOPIC, body=b"bad", tag="t", keys=["k"], props={"a": "b"})
        yield emulator, driver, relay


def _given(driver: Driver) -> list[Fields]:
    return [event for event in driver.events("c") if event["ev"] == "msg"]


def _until_given(driver: Driver, count: int) -> list[Fields]:
    driver.wait_until(lambda _: len(_given(driver)) >= count, SECONDS)
    return _given(driver)


def _until(look: Callable[[], bool]) -> None:
    """Wait for what a client does without an event of its driver."""
    end = time.monotonic() + SECONDS
    while not look():
        assert time.monotonic() < end
        time.sleep(GLANCE_SECONDS)


def _sent_to_retry_topic(emulator: Emulator) -> list[SendMessage]:
    subjects = (entry.subject for entry in emulator.journal)
    return [each for each in subjects if isinstance(each, SendMessage) and each.topic == retry_topic(GROUP)]


def _committed(emulator: Emulator) -> int:
    """How far the group is, -1 if it has not said."""
    return emulator.run_in_loop(lambda host: host.engine.brokers[0].offsets.query(GROUP, TOPIC, 0))


@pytest.mark.parametrize("sdk", JAVA_REMOTING)
def test_what_cannot_be_sent_back_is_sent_to_the_retry_topic(sdk: str) -> None:
    """Java's SDK makes a message of its own for the retry topic of the group, which comes again after ten seconds.

    Source: DefaultMQPushConsumerImpl.sendMessageBack (5.3.3).
    """
    with _failing_once(sdk, _sent_back) as (emulator, driver, _relay):
        [first] = _until_given(driver, 1)
        _until(lambda: bool(_sent_to_retry_topic(emulator)))
        [message] = _sent_to_retry_topic(emulator)
        assert (message.reconsume_times, message.max_reconsume_times) == (1, 16)
        # It sets the id of the first message, too, and loses it when it takes over that message's properties.
        shown = {name: message.properties.get(name) for name in ("DELAY", "RETRY_TOPIC", "ORIGIN_MESSAGE_ID")}
        assert shown == {"DELAY": "3", "RETRY_TOPIC": TOPIC, "ORIGIN_MESSAGE_ID": None}
        emulator.clock.advance_until(lambda: len(_given(driver)) == 2, limit="1m", wait="60s")
        again = _given(driver)[1]
        assert again["msg"]["id"] == first["msg"]["id"]
        assert (body(again["msg"]), again["msg"]["topic"], again["msg"]["attempt"], again["ok"]) == (
            b"bad",
            TOPIC,
            2,
            True,
        )
        assert (again["msg"]["tag"], again["msg"]["keys"], again["msg"]["props"]["a"]) == ("t", ["k"], "b")
        assert not [entry for entry in emulator.journal if isinstance(entry.subject, SendMessageBack)]


@pytest.mark.parametrize("sdk", JAVA_REMOTING)
def test_what_the_broker_does_not_take_is_tried_again_in_the_client(sdk: str) -> None:
    """A client that cannot get rid of a failed message gives it to its listener again after five seconds.

    Source: ConsumeMessageConcurrentlyService.submitConsumeRequestLater (5.3.3).
    """
    with _failing_once(sdk, _sent_back_or_again) as (emulator, driver, _relay):
        first, again = _until_given(driver, 2)
        assert (body(again["msg"]), again["msg"]["attempt"], again["ok"]) == (b"bad", 2, True)
        assert again["msg"]["offset"] == first["msg"]["offset"]
        assert again["t"] - first["t"] >= LOCAL_RETRY_MS
        assert emulator.messages(retry_topic(GROUP)) == []


@pytest.mark.parametrize(("sdk", "silent"), [("go-remoting", False), ("cpp", False), ("cpp", True)])
def test_what_is_not_looked_at_is_gone(sdk: str, silent: bool) -> None:
    """An SDK that does not look at the answer takes the failed message for sent back: nobody is given it again.

    Source: pushConsumer.sendMessageBack (client-go 2.1.2), ConsumeMessageConcurrentlyService.ConsumeRequest
    (client-cpp 1.0).
    """
    with _failing_once(sdk, _sent_back, silent=silent) as (emulator, driver, relay):
        _until(lambda: relay.kept_back > 0)
        driver.call("send", on="p", topic=TOPIC, body=b"next")
        _until_given(driver, 2)
        driver.call("close", on="c", timeout=SECONDS)  # with that it says how far it is
        _until(lambda: _committed(emulator) == 2)
        assert [(body(each["msg"]), each["ok"]) for each in _given(driver)] == [(b"bad", False), (b"next", True)]
        assert relay.kept_back == 1
        assert _sent_to_retry_topic(emulator) == []
        assert emulator.messages(retry_topic(GROUP)) == []


def test_go_tries_again_what_gets_no_answer() -> None:
    """After three seconds Go's SDK gives up waiting, and after five more its listener is given the message again.

    Source: pushConsumer.consumeMessageConcurrently (client-go 2.1.2).
    """
    with _failing_once("go-remoting", _sent_back, silent=True) as (emulator, driver, relay):
        first, again = _until_given(driver, 2)
        assert (body(again["msg"]), again["msg"]["attempt"], again["ok"]) == (b"bad", 2, True)
        assert again["msg"]["offset"] == first["msg"]["offset"]
        assert again["t"] - first["t"] >= ANSWER_MS + LOCAL_RETRY_MS
        assert relay.kept_back == 1
        assert _sent_to_retry_topic(emulator) == []
        assert emulator.messages(retry_topic(GROUP)) == []
