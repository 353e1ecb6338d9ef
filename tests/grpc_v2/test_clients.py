"""Heartbeat and NotifyClientTermination."""

from typing import Any

import pytest
from grpc_texts import GROUP_BLANK, group_characters, unknown_language
from grpc_world import Client, GrpcWorld, a_message, a_receive, a_send, an_ack, subscribing
from rocketmq_testkit.conformance.clients.grpc_requests import publishing
from rocketmq_testkit.grpc_v2.proto import definition_pb2 as pb
from rocketmq_testkit.grpc_v2.proto import service_pb2 as sv

UNKNOWN = (40015, "cannot find client settings for this client")


def beat(client: Client, group: str | None = "G", **options: Any) -> tuple[int, str]:
    request = sv.HeartbeatRequest(client_type=options.pop("client_type", pb.SIMPLE_CONSUMER))
    if group is not None:
        request.group.name = group
    status = client.ask("Heartbeat", request, **options).status
    return status.code, status.message


def leave(client: Client, group: str | None = "G", **options: Any) -> tuple[int, str]:
    request = sv.NotifyClientTerminationRequest()
    if group is not None:
        request.group.name = group
    status = client.ask("NotifyClientTermination", request, **options).status
    return status.code, status.message


OK = (20000, "OK")


def test_a_heartbeat_or_termination_without_settings_is_rejected(world: GrpcWorld) -> None:
    """A client without settings is rejected. A termination validates the language first, a heartbeat does not."""
    assert beat(world.client(), x_mq_language="KLINGON") == UNKNOWN
    assert leave(world.client()) == UNKNOWN
    assert leave(world.client(), x_mq_language="KLINGON") == (50001, unknown_language("KLINGON"))


@pytest.mark.parametrize("client_type", [pb.PRODUCER, pb.PUSH_CONSUMER, 99])
@pytest.mark.parametrize("group", [None, "a b", "G"])
def test_a_producers_heartbeat_succeeds_with_any_client_type_and_group(
    world: GrpcWorld, client_type: int, group: str | None
) -> None:
    """A producer's heartbeat succeeds with any client type and group, because its settings define it."""
    producer = world.producer("p", "T")
    assert beat(producer, group, client_type=client_type) == OK


def test_a_heartbeat_keeps_the_client_registered(world: GrpcWorld) -> None:
    """Heartbeats keep a client registered; brokers drop clients that are silent for 120 s."""
    producer, consumer = world.producer("p", "T"), world.consumer("c")
    for _ in range(30):
        world.advance(10_000)
        assert beat(producer) == beat(consumer) == OK
    clients = world.broker.clients
    assert clients.consumers["G"].client_ids() == ["c"]
    assert [member.client_id for member in clients.producer_members("T")] == ["p"]


def test_a_heartbeat_for_another_group_registers_the_client_there(world: GrpcWorld) -> None:
    """A heartbeat for another group registers the client there with the subscriptions of its settings."""
    consumer = world.consumer("c")
    assert beat(consumer, "other") == OK
    assert sorted(world.broker.clients.consumers) == ["G", "other"]


@pytest.mark.parametrize("call", [beat, leave])
@pytest.mark.parametrize(("group", "text"), [(None, GROUP_BLANK), ("a b", group_characters("a b"))])
def test_a_consumers_heartbeat_or_termination_without_a_valid_group_is_rejected(
    world: GrpcWorld, call: Any, group: str | None, text: str
) -> None:
    assert call(world.consumer(), group) == (40003, text)


@pytest.mark.parametrize("call", [beat, leave])
@pytest.mark.parametrize("language", ["", "XX"])
@pytest.mark.parametrize("settings", [publishing("T"), subscribing()])
def test_a_heartbeat_or_termination_with_an_unknown_language_is_rejected(
    world: GrpcWorld, call: Any, language: str, settings: pb.Settings
) -> None:
    client = world.client()
    client.send_settings(settings)
    assert call(client, x_mq_language=language) == (50001, unknown_language(language))


@pytest.mark.parametrize(("said", "shown"), [("V4_9_7", 407), ("v5_3_0", 473), ("5.2.0", 479), ("", 479)])
def test_the_version_of_a_client_is_registered_as_its_number(world: GrpcWorld, said: str, shown: int) -> None:
    """Brokers get the number of the client's version name, and that of the proxy's own version for any other text."""
    client = world.client("c", **{"x-mq-client-version": said})
    client.send_settings(subscribing("G", "T"))
    (member,) = world.broker.clients.consumers["G"].members.values()
    assert member.version == shown


def test_a_termination_with_an_unknown_language_changes_nothing(world: GrpcWorld) -> None:
    """A termination with an unknown language changes nothing.

    The client is a producer without topics, whose settings and heartbeats are accepted with any language.
    """
    client = world.client()
    client.send_settings(publishing())
    assert beat(client, x_mq_language="XX") == OK
    assert leave(client, x_mq_language="XX") == (50001, unknown_language("XX"))
    assert leave(client) == OK


def test_a_terminated_client_is_removed_from_its_groups(world: GrpcWorld) -> None:
    """A client that terminates is removed from its groups and its session ends, but its stream stays open."""
    for client, settings in ((world.client("p"), publishing("T", "U")), (world.client("c"), subscribing())):
        stream = client.send_settings(settings)
        assert leave(client) == OK
        assert leave(client) == beat(client) == UNKNOWN
        assert stream.call.status is None
    assert world.broker.clients.consumers == {}
    assert world.broker.clients.producers == {}


def test_a_rejected_termination_still_ends_the_session(world: GrpcWorld) -> None:
    """A termination that is rejected still ends the session, as in upstream."""
    consumer = world.consumer()
    assert leave(consumer, "a b")[0] == 40003
    assert beat(consumer) == UNKNOWN


def test_settings_register_a_terminated_client_again(world: GrpcWorld) -> None:
    """Settings on the open stream register a terminated client again."""
    client = world.client("c")
    stream = client.send_settings(subscribing())
    leave(client)
    stream.send(sv.TelemetryCommand(settings=subscribing()))
    assert beat(client) == OK
    assert world.broker.clients.consumers["G"].client_ids() == ["c"]


def test_auto_renewed_messages_become_visible_after_a_termination(world: GrpcWorld) -> None:
    """After a termination, messages received with auto_renew become visible after one second and a revive.

    Acknowledged messages do not.
    """
    world.topic()
    for body in (b"1", b"2", b"3"):
        world.client().ask("SendMessage", a_send(a_message(body=body, message_id=body.decode())))
    consumer = world.consumer("c", push=True)
    messages = consumer.receive(a_receive(auto_renew=True)).messages
    consumer.ask("AckMessage", an_ack(messages[0]))
    assert leave(consumer) == OK
    world.advance(5_000)
    assert sorted(world.consumer("d").receive(a_receive()).bodies) == [b"2", b"3"]


def test_waiting_polls_of_a_terminated_client_continue(world: GrpcWorld) -> None:
    """Waiting polls of a client that terminates continue, as in upstream; a closing push consumer waits for them."""
    world.topic()
    consumer = world.consumer()
    waiting = consumer.receive(a_receive(poll_ms=20_000))
    leave(consumer)
    assert waiting.call.sent == []
    world.advance(20_000)
    assert waiting.status.code == 40401


def test_with_end_polls_on_client_termination_waiting_polls_end_empty(world: GrpcWorld) -> None:
    """With endPollsOnClientTermination, polls of a terminated client end empty, and messages go to other clients."""
    world.config.end_polls_on_client_termination = True
    world.topic()
    consumer, other = world.consumer(), world.consumer("other")
    waiting = [consumer.receive(a_receive(poll_ms=20_000)) for _ in range(2)]
    theirs = other.receive(a_receive(poll_ms=20_000))
    leave(consumer)
    assert [(received.status.code, received.kinds) for received in waiting] == [
        (40401, ["status", "delivery_timestamp"])
    ] * 2
    world.client().ask("SendMessage", a_send(a_message()))
    assert theirs.bodies == [b"body"]
    world.advance(30_000)
    assert all(len(received.responses) == 2 for received in waiting)
