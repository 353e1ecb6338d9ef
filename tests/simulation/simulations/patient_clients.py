"""Clients that wait after a rejection, as SDKs do, and repeat their request.

A producer sends to the next broker at once, three times in all, and again when its application sends again
(DefaultMQProducerImpl.sendDefaultImpl, retryResponseCodes). Pulls, pops and acknowledgements are repeated after a
second (DefaultMQPushConsumerImpl.pullTimeDelayMillsWhenException, PopProcessQueue).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from accepted_messages import INVISIBLE_MS, PAUSE_MS, TRIES, Got
from pull_operation import pull_of
from rocketmq_testkit.conformance.clients.receipt_handles import popped_receipt
from rocketmq_testkit.emulator.cluster.broker import Broker
from rocketmq_testkit.emulator.message.stored_record import decode
from rocketmq_testkit.emulator.operations.consume import (
    AckMessage,
    PopMessage,
    PoppedMessage,
    PopResult,
    PullResult,
)
from rocketmq_testkit.emulator.operations.offsets import UpdateConsumerOffset
from rocketmq_testkit.emulator.operations.send import SendMessage
from rocketmq_testkit.emulator.overload.request_pools import BrokerPool

if TYPE_CHECKING:
    from troubled_requests import TroubledRequests

TOPIC, QUEUES = "T", 2
PULLERS, TAKERS = "pullers", "takers"
NEXT_MS = 1
"""Time between a response and the client's next request, in ms."""
FOUND_NOTHING = ("PULL_NOT_FOUND", "PULL_RETRY_IMMEDIATELY", "PULL_OFFSET_MOVED", "POLLING_TIMEOUT")


class PatientProducer:
    """Sends messages to any broker that accepts them."""

    def __init__(self, requests: "TroubledRequests", brokers: list[Broker]) -> None:
        self._requests = requests
        self._brokers = brokers

    def send(self, message_id: str, at: int, tries: int = 1) -> None:
        """Send until a broker accepts the message; `at` is the number of the first broker, `tries` counts sends."""
        requests, broker = self._requests, self._brokers[at % len(self._brokers)]

        def on_answer(code: str, result: object) -> None:
            if code == "SUCCESS":
                return
            if tries < TRIES:
                self.send(message_id, at + 1, tries + 1)
            else:
                requests.later(PAUSE_MS, lambda: self.send(message_id, at + 1))

        send = SendMessage(
            "producers",
            TOPIC,
            at % QUEUES,
            message_id.encode(),
            {"UNIQ_KEY": message_id},
            ("10.0.0.1", 5000),
            requests.now_ms,
        )
        requests.ask(
            "producer", broker, BrokerPool.SEND, "send", operation=send, on_answer=on_answer, message_id=message_id
        )


class PatientPuller:
    """Pulls from one queue of one broker and commits its offset."""

    def __init__(self, requests: "TroubledRequests", broker: Broker, queue_id: int) -> None:
        self._requests = requests
        self._broker = broker
        self._queue_id = queue_id
        self._offset = 0

    def go_on(self) -> None:
        """Send the next pull."""
        pull = pull_of(PULLERS, TOPIC, queue=self._queue_id, offset=self._offset, count=8, suspend_ms=15_000)
        name = f"puller {self._queue_id}"
        self._requests.ask(name, self._broker, BrokerPool.PULL, "pull", operation=pull, on_answer=self._answered)

    def _answered(self, code: str, result: object) -> None:
        requests = self._requests
        if isinstance(result, PullResult):
            for record in result.records:
                requests.note(Got(requests.now_ms, PULLERS, self._broker.name, decode(record).body.decode()))
            self._offset = result.next_begin_offset
            commit = UpdateConsumerOffset(PULLERS, TOPIC, self._queue_id, self._offset)
            requests.engine.submit(self._broker, commit)
        requests.later(NEXT_MS if code == "SUCCESS" else PAUSE_MS, self.go_on)


class PatientTaker:
    """Pops from one broker and repeats each acknowledgement until it is accepted or the invisible duration ends."""

    def __init__(self, requests: "TroubledRequests", broker: Broker) -> None:
        self._requests = requests
        self._broker = broker

    def go_on(self) -> None:
        """Send the next pop."""
        now = self._requests.now_ms
        pop = PopMessage(
            TAKERS,
            TOPIC,
            queue_id=-1,
            max_msg_nums=8,
            invisible_ms=INVISIBLE_MS,
            poll_ms=5_000,
            born_ms=now,
            exp_type="TAG",
            exp="*",
        )
        self._requests.ask("taker", self._broker, BrokerPool.PULL, "pop", operation=pop, on_answer=self._answered)

    def _answered(self, code: str, result: object) -> None:
        requests = self._requests
        if isinstance(result, PopResult):
            for message in result.messages:
                message_id = decode(message.record).body.decode()
                requests.note(Got(requests.now_ms, TAKERS, self._broker.name, message_id))
                self._acknowledge(message_id, self._ack_of(result, message), requests.now_ms + INVISIBLE_MS)
        requests.later(NEXT_MS if code == "SUCCESS" else PAUSE_MS, self.go_on)

    def _acknowledge(self, message_id: str, ack: AckMessage, until_ms: int) -> None:
        """Repeat an acknowledgement until the broker accepts it or the message is visible again at `until_ms`."""
        requests = self._requests

        def on_answer(code: str, result: object) -> None:
            if code != "SUCCESS" and requests.now_ms < until_ms:
                requests.later(PAUSE_MS, lambda: self._acknowledge(message_id, ack, until_ms))

        name = f"taker of {ack.extra_info}"
        requests.ask(
            name, self._broker, BrokerPool.ACK, "ack", operation=ack, on_answer=on_answer, message_id=message_id
        )

    def _ack_of(self, popped: PopResult, message: PoppedMessage) -> AckMessage:
        receipt = popped_receipt(popped, message, self._broker.name)
        topic = f"%RETRY%{TAKERS}_{TOPIC}" if message.topic_digit else TOPIC
        return AckMessage(TAKERS, topic, message.queue_id, receipt.text(), message.queue_offset)


Answer = Callable[[str, object], None]
