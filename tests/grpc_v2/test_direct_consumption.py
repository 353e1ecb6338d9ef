"""Direct consumption: administrators send messages to consumers over their telemetry streams, in virtual time."""

import orjson
import pytest
from grpc_harness import GrpcHarness, Stream, subscribing
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.kernel.timer_kind import TimerKind
from rocketmq_testkit.emulator.operations.base import Operation
from rocketmq_testkit.emulator.operations.clients import (
    ClientResponse,
    ConsumeMessageDirectly,
    ConsumerStatusResult,
    GetConsumerRunningInfo,
    GetConsumerStatus,
)
from rocketmq_testkit.emulator.operations.send import SendMessage, SendResult
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv


def submit(harness: GrpcHarness, operation: Operation) -> DirectCall:
    return harness.engine.submit(harness.broker, operation, DirectChannel())


def consume_directly(harness: GrpcHarness, message: str, client: str = "c") -> DirectCall:
    """Submit a direct consumption of a message by a client of group G."""
    return submit(harness, ConsumeMessageDirectly("G", client, message, "T", ext_fields={}))


def verify_commands(stream: Stream) -> list[sv.VerifyMessageCommand]:
    """Return the commands for direct consumption that were sent on a stream."""
    commands = [each for each in stream.commands if each.WhichOneof("command") == "verify_message_command"]
    return [each.verify_message_command for each in commands]


def response(stream: Stream, code: int = pb.OK) -> None:
    """Send the client's result for the last message."""
    result = sv.TelemetryCommand(verify_message_result=sv.VerifyMessageResult(nonce=verify_commands(stream)[-1].nonce))
    result.status.code = code  # type: ignore[assignment]  # an enum's value
    stream.send(result)


@pytest.fixture
def message(harness: GrpcHarness) -> str:
    """Return the broker's id of a stored message."""
    harness.topic()
    sent = harness.ask(SendMessage("PG", "T", 0, b"hello", {}, ("10.0.0.9", 5000), harness.now_ms))
    assert isinstance(sent, SendResult)
    return sent.msg_id


@pytest.mark.parametrize(
    ("code", "result"),
    [
        (pb.OK, "CR_SUCCESS"),
        (pb.FAILED_TO_CONSUME_MESSAGE, "CR_LATER"),
        (pb.MESSAGE_CORRUPTED, "CR_RETURN_NULL"),
        (pb.VERIFY_FIFO_MESSAGE_UNSUPPORTED, None),
    ],
)
def test_the_status_of_a_direct_consumption_becomes_its_result(
    harness: GrpcHarness, message: str, code: int, result: str | None
) -> None:
    """A client gets the message to consume, and its status becomes the result."""
    stream = harness.client("c").send_settings(subscribing())
    call = consume_directly(harness, message)
    assert [each.message.body for each in verify_commands(stream)] == [b"hello"]
    assert call.outcome is None
    response(stream, code)
    assert isinstance(call.outcome, ClientResponse)
    assert (call.outcome.code, call.outcome.remark) == (0, "")
    others = {"autoCommit": True, "order": False, "remark": "from gRPC client", "spentTimeMills": 0}
    assert orjson.loads(call.outcome.body) == others | ({} if result is None else {"consumeResult": result})


def test_a_direct_consumption_is_sent_on_the_clients_newest_stream(harness: GrpcHarness, message: str) -> None:
    """The newest stream gets the message, and the client may respond on another stream."""
    client = harness.client("c")
    first, second = client.send_settings(subscribing()), client.send_settings(subscribing())
    call = consume_directly(harness, message)
    assert (len(verify_commands(first)), len(verify_commands(second))) == (0, 1)
    first.send(
        sv.TelemetryCommand(verify_message_result=sv.VerifyMessageResult(nonce=verify_commands(second)[0].nonce))
    )
    assert isinstance(call.outcome, ClientResponse)


@pytest.mark.parametrize("gone", [False, True])
def test_a_direct_consumption_without_a_response_returns_system_busy(
    harness: GrpcHarness, message: str, gone: bool
) -> None:
    """Without a response, the proxy responds SYSTEM_BUSY at its next scan after five seconds.

    A later result is ignored.
    """
    stream = harness.client("c").send_settings(subscribing())
    if gone:
        stream.call.cancel()
    call = consume_directly(harness, message)
    harness.advance(5_000)
    assert call.outcome is None
    harness.advance(1_000)
    busy = ClientResponse(ResponseCode.SYSTEM_BUSY, "call remote timeout", None, b"")
    assert call.outcome == busy
    if not gone:
        response(stream)
    harness.advance(60_000)
    assert call.outcome == busy


def test_running_info_and_offset_requests_reach_no_grpc_client(harness: GrpcHarness) -> None:
    """Requests for running info and for offsets reach no gRPC client and time out."""
    stream = harness.client("c").send_settings(subscribing())
    before = len(stream.commands)
    info = submit(harness, GetConsumerRunningInfo("G", "c", {"jstackEnable": "true"}))
    status = submit(harness, GetConsumerStatus("T", "G"))
    harness.advance(5_000)
    assert status.outcome == ConsumerStatusResult({})
    harness.advance(5_000)
    assert isinstance(info.outcome, EngineError)
    assert info.outcome.code is ResponseCode.CONSUME_MSG_TIMEOUT
    assert all(each.WhichOneof("command") == "settings" for each in stream.commands[before:])


def test_a_closed_service_leaves_no_timer_of_a_request(harness: GrpcHarness, message: str) -> None:
    harness.client("c").send_settings(subscribing())
    consume_directly(harness, message)
    harness.service.close()
    assert TimerKind.GRPC_CLIENT_REQUEST not in [timer.kind for timer in harness.engine.scheduler.scheduled()]


def test_an_expired_client_registers_its_subscriptions_with_its_next_heartbeat(harness: GrpcHarness) -> None:
    """A client dropped after two minutes of silence registers its subscriptions with its next heartbeat."""
    client = harness.client("a")
    client.send_settings(subscribing())
    harness.advance(140_000)
    assert harness.broker.clients.consumers == {}
    client.ask("Heartbeat", sv.HeartbeatRequest(group=pb.Resource(name="G")))
    assert list(harness.broker.clients.consumers["G"].subscriptions) == ["T"]


def test_heartbeats_do_not_change_subscriptions(harness: GrpcHarness) -> None:
    """A group has the subscriptions of the last settings of its clients; heartbeats do not change them.

    A group that only a heartbeat names has no subscriptions.
    """
    first, second = harness.client("a"), harness.client("b")
    first.send_settings(subscribing(topic="T"))
    second.send_settings(subscribing(topic="U"))
    for group in ("G", "H"):
        first.ask("Heartbeat", sv.HeartbeatRequest(group=pb.Resource(name=group)))
    consumers = harness.broker.clients.consumers
    assert {name: list(group.subscriptions) for name, group in consumers.items()} == {"G": ["U"], "H": []}
