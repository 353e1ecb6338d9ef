"""Requests that the broker forwards to online consumers, their responses, and timeouts in virtual time."""

import pytest
from engine_harness import EngineHarness, make_harness
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel
from rocketmq_testkit.emulator.gate.effects import (
    RequestConsumerStatus,
    RequestDirectConsumption,
    RequestRunningInfo,
    ServerRequest,
)
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.clients import (
    ClientResponse,
    ConsumeMessageDirectly,
    ConsumerData,
    ConsumerStatusResult,
    GetConsumerRunningInfo,
    GetConsumerStatus,
    Heartbeat,
)
from rocketmq_testkit.emulator.operations.send import ClientResponded

CURRENT = 491


@pytest.fixture
def harness() -> EngineHarness:
    return make_harness()


def submit(harness: EngineHarness, operation: Operation, channel: DirectChannel | None = None) -> DirectCall:
    return harness.engine.submit(harness.broker, operation, channel or DirectChannel())


def consumer(harness: EngineHarness, client: str, version: int = CURRENT) -> DirectChannel:
    """Register an online consumer of group G; return its channel."""
    channel = DirectChannel(f"{client}'s")
    submit(harness, Heartbeat(client, [], [ConsumerData("G")], version=version), channel)
    return channel


def forwarded(channel: DirectChannel) -> ServerRequest:
    """Return the newest request forwarded to a channel."""
    found = [effect for effect in channel.effects if isinstance(effect, ServerRequest)]
    return found[-1]


def refusal(call: DirectCall) -> EngineError:
    assert isinstance(call.outcome, EngineError)
    return call.outcome


def test_a_forwarded_request_returns_the_response_of_the_consumer(harness: EngineHarness) -> None:
    """A request's fields are forwarded unchanged; code, remark, fields and body of the response are returned."""
    channel = consumer(harness, "c")
    ext = {"consumerGroup": "G", "clientId": "c", "jstackEnable": "true"}
    call = submit(harness, GetConsumerRunningInfo("G", "c", ext))
    asked = forwarded(channel)
    assert isinstance(asked, RequestRunningInfo)
    assert (asked.ext_fields, call.outcome) == (ext, None)
    submit(harness, ClientResponded(asked.ticket, 0, "remark", {"a": "b"}, body=b"body"), channel)
    assert call.outcome == ClientResponse(0, "remark", {"a": "b"}, b"body")


def test_a_forwarded_request_times_out_after_ten_seconds(harness: EngineHarness) -> None:
    """Without a response in ten seconds the request times out; a later response is ignored."""
    channel = consumer(harness, "c")
    call = submit(harness, GetConsumerRunningInfo("G", "c", {}))
    harness.advance(9_999)
    assert call.outcome is None
    harness.advance(1)
    assert refusal(call).code is ResponseCode.CONSUME_MSG_TIMEOUT
    submit(harness, ClientResponded(forwarded(channel).ticket, 0), channel)
    assert refusal(call).code is ResponseCode.CONSUME_MSG_TIMEOUT


def test_a_direct_consumption_request_contains_the_message(harness: EngineHarness) -> None:
    """A forwarded request contains the message, its broker's name, and the flags of topic and group."""
    channel = consumer(harness, "c")
    sent = harness.send(harness.topic("T"), b"hello")
    submit(harness, ConsumeMessageDirectly("G", "c", sent.msg_id, "T", ext_fields={"msgId": sent.msg_id}))
    asked = forwarded(channel)
    assert isinstance(asked, RequestDirectConsumption)
    assert asked.record == harness.broker.store.log.record_at(sent.physical_offset)
    flags = {"brokerName": harness.broker.name, "topicSysFlag": "0", "groupSysFlag": "0"}
    assert asked.ext_fields == {"msgId": sent.msg_id, **flags}


def test_consumer_status_is_requested_from_one_consumer_after_the_other(harness: EngineHarness) -> None:
    """The broker sends the request to the next consumer after the previous one's response, or after five seconds."""
    first, second = consumer(harness, "a"), consumer(harness, "b")
    call = submit(harness, GetConsumerStatus("T", "G"))
    assert isinstance(forwarded(first), RequestConsumerStatus)
    assert not [each for each in second.effects if isinstance(each, ServerRequest)]
    harness.advance(5_000)
    submit(harness, ClientResponded(forwarded(second).ticket, 0, body=b"{}"), second)
    assert call.outcome == ConsumerStatusResult({"b": b"{}"})


def test_clients_of_a_too_old_version_get_no_forwarded_request(harness: EngineHarness) -> None:
    """Clients of too old a version get no request, and the error names their version."""
    channel = consumer(harness, "c", version=0)
    call = submit(harness, GetConsumerRunningInfo("G", "c", {}))
    assert "Version <V3_0_0_SNAPSHOT> too low" in str(refusal(call).remark)
    call = submit(harness, GetConsumerStatus("T", "G"))
    assert refusal(call).remark == "the client does not support this feature. version=V3_0_0_SNAPSHOT"
    assert not [each for each in channel.effects if isinstance(each, ServerRequest)]
