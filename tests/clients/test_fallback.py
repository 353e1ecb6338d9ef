"""Reactions of SDKs to a rejected send-back of a failed message. A relay before the broker rejects it.

Only Java's SDK then sends the message to the retry topic itself. Go's SDK (2.1.2) checks that there is a response, not
its code. The C++ SDK (1.0, in the wrapper for Python) checks neither, so that a rejected message is lost.
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
"""Host in the addresses that clients get. The relay listens there, on the port that the broker has at 127.0.0.1."""
TOPIC, GROUP = "orders", "billing"
SECONDS = 90.0
"""Timeout for actions of a client on a busy machine."""
GLANCE_SECONDS = 0.02
SYSTEM_ERROR = 1
ANSWER_MS = 3000
"""Timeout of Go's SDK for the response to a send-back."""
LOCAL_RETRY_MS = 5000
"""Delay after which a client passes a message to its listener again if it cannot send it back."""

Refused = Callable[[RemotingCommand], bool]


def _sent_back(request: RemotingCommand) -> bool:
    return request.code == RequestCode.CONSUMER_SEND_MSG_BACK


def _sent_back_or_again(request: RemotingCommand) -> bool:
    """Return True for a send-back or a send to the retry topic; `b` is the topic in the short field names."""
    return _sent_back(request) or (request.ext_fields or {}).get("b") == retry_topic(GROUP)


class Relay:
    """Forwards frames between clients and a broker, except requests for which `refused` returns True.

    To such a request it responds with an error, or never if it is `silent`. `kept_back` counts these requests.
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
                    response = RemotingCommand(SYSTEM_ERROR, opaque=request.opaque, flag=RESPONSE, remark="refused")
                    response.serialize_type = kind
                    to_client.write(encode(response))
                else:
                    to_broker.write(join(header, content, kind))
        to_broker.close()

    async def _answers(self, broker: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        while data := await broker.read(65536):
            to_client.write(data)
        to_client.close()


@contextlib.contextmanager
def _failing_once(sdk: str, refused: Refused, *, silent: bool = False) -> Iterator[tuple[Emulator, Driver, Relay]]:
    """Start a push consumer whose listener fails one message once, behind a relay that rejects the next requests."""
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


def _received(driver: Driver) -> list[Fields]:
    return [event for event in driver.events("c") if event["ev"] == "msg"]


def _until_received(driver: Driver, count: int) -> list[Fields]:
    driver.wait_until(lambda _: len(_received(driver)) >= count, SECONDS)
    return _received(driver)


def _until(is_so: Callable[[], bool]) -> None:
    """Wait for an action of a client that its driver does not report."""
    end = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < end
        time.sleep(GLANCE_SECONDS)


def _sent_to_retry_topic(emulator: Emulator) -> list[SendMessage]:
    subjects = (entry.subject for entry in emulator.journal)
    return [each for each in subjects if isinstance(each, SendMessage) and each.topic == retry_topic(GROUP)]


def _committed(emulator: Emulator) -> int:
    """Return the committed offset of the group, -1 if there is none."""
    return emulator.run_on_loop(lambda host: host.engine.brokers[0].offsets.query(GROUP, TOPIC, 0))


@pytest.mark.parametrize("sdk", JAVA_REMOTING)
def test_java_sends_a_message_that_cannot_be_sent_back_to_the_retry_topic(sdk: str) -> None:
    """Java's SDK sends a message that cannot be sent back to the retry topic, from which it is redelivered after 10 s.

    Source: DefaultMQPushConsumerImpl.sendMessageBack (5.3.3).
    """
    with _failing_once(sdk, _sent_back) as (emulator, driver, _relay):
        [first] = _until_received(driver, 1)
        _until(lambda: bool(_sent_to_retry_topic(emulator)))
        [message] = _sent_to_retry_topic(emulator)
        assert (message.reconsume_times, message.max_reconsume_times) == (1, 16)
        # The SDK also sets the id of the first message, but then overwrites it with that message's properties.
        shown = {name: message.properties.get(name) for name in ("DELAY", "RETRY_TOPIC", "ORIGIN_MESSAGE_ID")}
        assert shown == {"DELAY": "3", "RETRY_TOPIC": TOPIC, "ORIGIN_MESSAGE_ID": None}
        emulator.clock.advance_until(lambda: len(_received(driver)) == 2, limit="1m", wait="60s")
        again = _received(driver)[1]
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
def test_java_passes_a_message_that_cannot_be_resent_to_its_listener_again(sdk: str) -> None:
    """A client that can neither send back nor resend a failed message passes it to its listener again after 5 s.

    Source: ConsumeMessageConcurrentlyService.submitConsumeRequestLater (5.3.3).
    """
    with _failing_once(sdk, _sent_back_or_again) as (emulator, driver, _relay):
        first, again = _until_received(driver, 2)
        assert (body(again["msg"]), again["msg"]["attempt"], again["ok"]) == (b"bad", 2, True)
        assert again["msg"]["offset"] == first["msg"]["offset"]
        assert again["t"] - first["t"] >= LOCAL_RETRY_MS
        assert emulator.messages(retry_topic(GROUP)) == []


@pytest.mark.parametrize(("sdk", "silent"), [("go-remoting", False), ("cpp", False), ("cpp", True)])
def test_an_sdk_that_ignores_a_rejected_send_back_loses_the_message(sdk: str, silent: bool) -> None:
    """An SDK that ignores an error response to a send-back loses the failed message.

    Source: pushConsumer.sendMessageBack (client-go 2.1.2), ConsumeMessageConcurrentlyService.ConsumeRequest (client-cpp
    1.0).
    """
    with _failing_once(sdk, _sent_back, silent=silent) as (emulator, driver, relay):
        _until(lambda: relay.kept_back > 0)
        driver.call("send", on="p", topic=TOPIC, body=b"next")
        _until_received(driver, 2)
        driver.call("close", on="c", timeout=SECONDS)  # closing commits the offset
        _until(lambda: _committed(emulator) == 2)
        assert [(body(each["msg"]), each["ok"]) for each in _received(driver)] == [(b"bad", False), (b"next", True)]
        assert relay.kept_back == 1
        assert _sent_to_retry_topic(emulator) == []
        assert emulator.messages(retry_topic(GROUP)) == []


def test_go_passes_a_message_to_its_listener_again_if_a_send_back_times_out() -> None:
    """Go's SDK times out after 3 s without a response and passes the message to its listener again 5 s later.

    Source: pushConsumer.consumeMessageConcurrently (client-go 2.1.2).
    """
    with _failing_once("go-remoting", _sent_back, silent=True) as (emulator, driver, relay):
        first, again = _until_received(driver, 2)
        assert (body(again["msg"]), again["msg"]["attempt"], again["ok"]) == (b"bad", 2, True)
        assert again["msg"]["offset"] == first["msg"]["offset"]
        assert again["t"] - first["t"] >= ANSWER_MS + LOCAL_RETRY_MS
        assert relay.kept_back == 1
        assert _sent_to_retry_topic(emulator) == []
        assert emulator.messages(retry_topic(GROUP)) == []
