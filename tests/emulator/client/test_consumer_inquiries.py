"""Requests to online consumers: forwarded, answered, and timed out in virtual time."""

import pytest
from engine_world import World, make_world
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel
from rocketmq_testkit.emulator.gate.effects import AskConsumerStatus, AskRunningInfo, AskToConsume, Question
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations import (
    ClientAnswer,
    ConsumeMessageDirectly,
    ConsumerData,
    ConsumerStatusResult,
    GetConsumerRunningInfo,
    GetConsumerStatus,
    Heartbeat,
    Operation,
    PushAnswered,
)

CURRENT = 491


@pytest.fixture
def world() -> World:
    return make_world()


def submit(world: World, operation: Operation, channel: DirectChannel | None = None) -> DirectCall:
    return world.engine.submit(world.broker, operation, channel or DirectChannel())


def consumer(world: World, client: str, version: int = CURRENT) -> DirectChannel:
    """Register an online consumer of group G; return its channel."""
    channel = DirectChannel(f"{client}'s")
    submit(world, Heartbeat(client, [], [ConsumerData("G")], version=version), channel)
    return channel


def question(channel: DirectChannel) -> Question:
    """Return the newest request pushed to a channel."""
    found = [effect for effect in channel.effects if isinstance(effect, Question)]
    return found[-1]


def refusal(call: DirectCall) -> EngineError:
    assert isinstance(call.outcome, EngineError)
    return call.outcome


def test_an_answer_goes_back_to_who_asked(world: World) -> None:
    """A request's fields are forwarded unchanged; code, remark, fields and body of the response are returned."""
    channel = consumer(world, "c")
    ext = {"consumerGroup": "G", "clientId": "c", "jstackEnable": "true"}
    call = submit(world, GetConsumerRunningInfo("G", "c", ext))
    asked = question(channel)
    assert isinstance(asked, AskRunningInfo)
    assert (asked.ext_fields, call.outcome) == (ext, None)
    submit(world, PushAnswered(asked.ticket, 0, "remark", {"a": "b"}, b"body"), channel)
    assert call.outcome == ClientAnswer(0, "remark", {"a": "b"}, b"body")


def test_no_answer_in_ten_seconds(world: World) -> None:
    """Without a response in ten seconds the request times out; a later response is ignored."""
    channel = consumer(world, "c")
    call = submit(world, GetConsumerRunningInfo("G", "c", {}))
    world.advance(9_999)
    assert call.outcome is None
    world.advance(1)
    assert refusal(call).code is ResponseCode.CONSUME_MSG_TIMEOUT
    submit(world, PushAnswered(question(channel).ticket, 0), channel)
    assert refusal(call).code is ResponseCode.CONSUME_MSG_TIMEOUT


def test_the_message_comes_along(world: World) -> None:
    """A forwarded request contains the message, its broker's name, and the flags of topic and group."""
    channel = consumer(world, "c")
    sent = world.send(world.topic("T"), b"hello")
    submit(world, ConsumeMessageDirectly("G", "c", sent.msg_id, "T", {"msgId": sent.msg_id}))
    asked = question(channel)
    assert isinstance(asked, AskToConsume)
    assert asked.record == world.broker.store.log.record_at(sent.physical_offset)
    flags = {"brokerName": world.broker.name, "topicSysFlag": "0", "groupSysFlag": "0"}
    assert asked.ext_fields == {"msgId": sent.msg_id, **flags}


def test_consumers_are_asked_where_they_are_in_turn(world: World) -> None:
    """Consumers are asked one after the other, each after the previous response or five seconds."""
    first, second = consumer(world, "a"), consumer(world, "b")
    call = submit(world, GetConsumerStatus("T", "G"))
    assert isinstance(question(first), AskConsumerStatus)
    assert not [each for each in second.effects if isinstance(each, Question)]
    world.advance(5_000)
    submit(world, PushAnswered(question(second).ticket, 0, body=b"{}"), second)
    assert call.outcome == ConsumerStatusResult({"b": b"{}"})


def test_clients_that_are_too_old(world: World) -> None:
    """Clients of too old a version get no request, and the error names their version."""
    channel = consumer(world, "c", version=0)
    call = submit(world, GetConsumerRunningInfo("G", "c", {}))
    assert "Version <V3_0_0_SNAPSHOT> too low" in str(refusal(call).remark)
    call = submit(world, GetConsumerStatus("T", "G"))
    assert refusal(call).remark == "the client does not support this feature. version=V3_0_0_SNAPSHOT"
    assert not [each for each in channel.effects if isinstance(each, Question)]
