"""Pending responses of clients: ends of transactions, and responses to checks, pushed replies, forwarded requests."""

import pytest
from engine_harness import EngineHarness, make_harness
from rocketmq_testkit.emulator.client import pending_responses
from rocketmq_testkit.emulator.client.pending_responses import PendingResponse, ResponseKind
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel
from rocketmq_testkit.emulator.gate.call import GRPC_CHANNEL
from rocketmq_testkit.emulator.gate.effects import CheckTransactionState, RequestDirectConsumption, ServerRequest
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.clients import (
    ConsumeMessageDirectly,
    ConsumerData,
    GetConsumerRunningInfo,
    Heartbeat,
)
from rocketmq_testkit.emulator.operations.send import (
    ClientResponded,
    EndTransaction,
    SendMessage,
    SendReplyMessage,
    SendResult,
)

CURRENT = 491
HOST = ("10.0.0.1", 5000)


class Client:
    """A producer of group P and consumer of group G."""

    def __init__(self, harness: EngineHarness, channel_id: str = "client's") -> None:
        self.harness = harness
        self.channel = DirectChannel(channel_id)
        self.ask(Heartbeat("client", ["P"], [ConsumerData("G")], version=CURRENT))

    def ask(self, operation: Operation) -> DirectCall:
        return self.harness.engine.submit(self.harness.broker, operation, self.channel)

    def half(self) -> SendResult:
        properties = {"TRAN_MSG": "true", "PGROUP": "P", "UNIQ_KEY": "ID"}
        sent = self.ask(SendMessage("P", "T", 0, b"?", properties, HOST, self.harness.now_ms, sys_flag=4)).outcome
        assert isinstance(sent, SendResult)
        return sent

    def ticket(self) -> int:
        """Return the ticket of the newest request to the client."""
        return [effect for effect in self.channel.effects if isinstance(effect, ServerRequest)][-1].ticket

    def checks(self) -> list[CheckTransactionState]:
        return [effect for effect in self.channel.effects if isinstance(effect, CheckTransactionState)]


@pytest.fixture
def harness() -> EngineHarness:
    harness = make_harness()
    harness.topic("T")
    return harness


@pytest.fixture
def client(harness: EngineHarness) -> Client:
    return Client(harness)


def pending(harness: EngineHarness) -> list[PendingResponse]:
    return list(harness.engine.deliveries.pending_responses())


def ended(physical_offset: int, queue_offset: int) -> EndTransaction:
    return EndTransaction("P", queue_offset, physical_offset, 12, False, "ID")


def test_a_half_message_waits_for_the_end_of_its_transaction(harness: EngineHarness, client: Client) -> None:
    """The end of a transaction is pending, as an optional response: a producer may leave a transaction open."""
    sent = client.half()
    [response] = pending(harness)
    assert (response.kind, response.node, response.topic, response.is_optional) == (
        ResponseKind.HALF_MESSAGE,
        "broker-a",
        "T",
        True,
    )
    assert (response.client.client_id, response.since_ms) == ("client", harness.now_ms)
    assert response.number == harness.engine.deliveries.last_number
    client.ask(ended(sent.physical_offset, sent.queue_offset))
    assert pending(harness) == []


def test_an_ordinary_or_failed_send_leaves_no_pending_response(harness: EngineHarness, client: Client) -> None:
    """Only a stored half message waits for its producer."""
    client.ask(SendMessage("P", "T", 0, b"x", {}, HOST, harness.now_ms))
    client.ask(SendMessage("P", "unknown", -1, b"x", {"TRAN_MSG": "true"}, HOST, harness.now_ms, default_topic="none"))
    assert pending(harness) == []


def test_an_end_of_a_transaction_that_is_rejected_is_no_longer_pending(harness: EngineHarness, client: Client) -> None:
    """A producer may never repeat an end that a thread pool rejected."""
    sent = client.half()
    busy = EngineError(ResponseCode.SYSTEM_BUSY, "busy")
    end = ended(sent.physical_offset, sent.queue_offset)
    harness.engine.gate.refuse(harness.broker, DirectCall(client.channel), end, busy)
    assert pending(harness) == []


@pytest.mark.parametrize(("channel_id", "is_optional"), [("client's", False), (f"{GRPC_CHANNEL}client", True)])
def test_a_transaction_check_waits_for_the_producer(harness: EngineHarness, channel_id: str, is_optional: bool) -> None:
    """A remoting producer must respond to each check; a gRPC SDK sends no response for the resolution "unknown"."""
    client = Client(harness, channel_id)
    client.half()
    harness.advance(90_000)
    [check] = client.checks()[-1:]
    response = pending(harness)[-1]
    assert (response.kind, response.topic, response.is_optional) == (ResponseKind.CHECK, "T", is_optional)
    before = len(pending(harness))
    offsets = check.tran_state_table_offset, check.commit_log_offset
    client.ask(EndTransaction("P", *offsets, 0, True, "ID"))
    assert len(pending(harness)) == before - 1


def test_a_forwarded_request_waits_for_its_response(harness: EngineHarness, client: Client) -> None:
    """The response to a request that the broker forwards for an administrator is pending until it arrives."""
    client.ask(GetConsumerRunningInfo("G", "client", {}))
    [response] = pending(harness)
    assert (response.kind, response.topic, response.is_optional) == (ResponseKind.FORWARDED_REQUEST, "", False)
    client.ask(ClientResponded(client.ticket() + 1, 0))
    assert len(pending(harness)) == 1
    client.ask(ClientResponded(client.ticket(), 0))
    assert pending(harness) == []


def test_only_direct_consumption_leaves_a_pending_response_of_a_grpc_client(harness: EngineHarness) -> None:
    """Of all forwarded requests a gRPC client responds only to that for direct consumption."""
    client = Client(harness, f"{GRPC_CHANNEL}client")
    sent = harness.send("T")
    client.ask(GetConsumerRunningInfo("G", "client", {}))
    assert pending(harness) == []
    client.ask(ConsumeMessageDirectly("G", "client", sent.msg_id, "T", ext_fields={}))
    assert isinstance(client.channel.effects[-1], RequestDirectConsumption)
    assert [response.kind for response in pending(harness)] == [ResponseKind.FORWARDED_REQUEST]


def test_a_pushed_reply_waits_for_the_client(harness: EngineHarness, client: Client) -> None:
    """The response to a pushed reply, by the client that sent the request, is pending until it arrives."""
    properties = {"MSG_TYPE": "reply", "REPLY_TO_CLIENT": "client"}
    client.ask(SendReplyMessage(SendMessage("P", "T", 0, b"pong", properties, HOST, harness.now_ms)))
    [response] = pending(harness)
    assert (response.kind, response.topic, response.is_optional) == (ResponseKind.REPLY, "T", False)
    client.ask(ClientResponded(client.ticket(), 0))
    assert pending(harness) == []


def test_pending_responses_of_a_disconnected_client_are_deleted(harness: EngineHarness, client: Client) -> None:
    """They are not pending again after the client reconnects."""
    client.half()
    client.channel.active = False
    assert pending(harness) == []
    client.channel.active = True
    assert pending(harness) == []


def test_the_oldest_pending_responses_above_the_limit_are_deleted(
    harness: EngineHarness, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pending responses take bounded memory, for instance if producers end no transactions."""
    monkeypatch.setattr(pending_responses, "RESPONSES_MAX", 2)
    numbers = []
    for _ in range(3):
        client.half()
        numbers.append(harness.engine.deliveries.last_number)
    assert [response.number for response in pending(harness)] == numbers[1:]
