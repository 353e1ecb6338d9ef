"""Heartbeat and NotifyClientTermination."""

from typing import Any

import pytest
from grpc_harness import Client, GrpcHarness, a_message, a_receive, a_send, an_ack, subscribing
from grpc_texts import GROUP_BLANK, group_characters, unknown_language
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


def test_a_heartbeat_or_termination_without_settings_is_rejected(harness: GrpcHarness) -> None:
    """A client without settings is rejected. A termination validates the language first, a heartbeat does not."""
    assert beat(harness.client(), x_mq_language="KLINGON") == UNKNOWN
    assert leave(harness.client()) == UNKNOWN
    assert leave(harness.client(), x_mq_language="KLINGON") == (50001, unknown_language("KLINGON"))


@pytest.mark.parametrize("client_type", [pb.PRODUCER, pb.PUSH_CONSUMER, 99])
@pytest.mark.parametrize("group", [None, "a b", "G"])
def test_a_producers_heartbeat_succeeds_with_any_client_type_and_group(
    harness: GrpcHarness, client_type: int, group: str | None
) -> None:
    """A producer's heartbeat succeeds with any client type and group, because its settings define it."""
    producer = harness.producer("p", "T")
    assert beat(producer, group, client_type=client_type) == OK


def test_a_heartbeat_keeps_the_client_registered(harness: GrpcHarness) -> None:
    """Heartbeats keep a client registered; brokers drop clients that are silent for 120 s."""
    producer, consumer = harness.producer("p", "T"), harness.consumer("c")
    for _ in range(30):
        harness.advance(10_000)
        assert beat(producer) == beat(consumer) == OK
    clients = harness.broker.clients
    assert clients.consumers["G"].client_ids() == ["c"]
    assert [member.client_id for member in clients.producer_members("T")] == ["p"]


def test_a_heartbeat_for_another_group_registers_the_client_there(harness: GrpcHarness) -> None:
    """A heartbeat for another group registers the client there with the subscriptions of its settings."""
    consumer = harness.consumer("c")
    assert beat(consumer, "other") == OK
    assert sorted(harness.broker.clients.consumers) == ["G", "other"]


@pytest.mark.parametrize("call", [beat, leave])
@pytest.mark.parametrize(("group", "text"), [(None, GROUP_BLANK), ("a b", group_characters("a b"))])
def test_a_consumers_heartbeat_or_termination_without_a_valid_group_is_rejected(
    harness: GrpcHarness, call: Any, group: str | None, text: str
) -> None:
    assert call(harness.consumer(), group) == (40003, text)


@pytest.mark.parametrize("call", [beat, leave])
@pytest.mark.parametrize("language", ["", "XX"])
@pytest.mark.parametrize("settings", [publishing("T"), subscribing()])
def test_a_heartbeat_or_termination_with_an_unknown_language_is_rejected(
    harness: GrpcHarness, call: Any, language: str, settings: pb.Settings
) -> None:
    client = harness.client()
    client.send_settings(settings)
    assert call(client, x_mq_language=language) == (50001, unknown_language(language))


@pytest.mark.parametrize(("said", "shown"), [("V4_9_7", 407), ("v5_3_0", 473), ("5.2.0", 479), ("", 479)])
def test_the_version_of_a_client_is_registered_as_its_number(harness: GrpcHarness, said: str, shown: int) -> None:
    """Brokers get the number of the client's version name, and that of the proxy's own version for any other text."""
    client = harness.client("c", **{"x-mq-client-version": said})
    client.send_settings(subscribing("G", "T"))
    (member,) = harness.broker.clients.consumers["G"].members.values()
    assert member.version == shown


def test_a_termination_with_an_unknown_language_changes_nothing(harness: GrpcHarness) -> None:
    """A termination with an unknown language changes nothing.

    The client is a producer without topics, whose settings and heartbeats are accepted with any language.
    """
    client = harness.client()
    client.send_settings(publishing())
    assert beat(client, x_mq_language="XX") == OK
    assert leave(client, x_mq_language="XX") == (50001, unknown_language("XX"))
    assert leave(client) == OK


def test_a_terminated_client_is_removed_from_its_groups(harness: GrpcHarness) -> None:
    """A client that terminates is removed from its groups and its session ends, but its stream stays open."""
    for client, settings in ((harness.client("p"), publishing("T", "U")), (harness.client("c"), subscribing())):
        stream = client.send_settings(settings)
        assert leave(client) == OK
        assert leave(client) == beat(client) == UNKNOWN
        assert stream.call.status is None
    assert harness.broker.clients.consumers == {}
    assert harness.broker.clients.producers == {}


def test_a_rejected_termination_still_ends_the_session(harness: GrpcHarness) -> None:
    """A termination that is rejected still ends the session, as in upstream."""
    consumer = harness.consumer()
    assert leave(consumer, "a b")[0] == 40003
    assert beat(consumer) == UNKNOWN


def test_settings_register_a_terminated_client_again(harness: GrpcHarness) -> None:
    """Settings on the open stream register a terminated client again."""
    client = harness.client("c")
    stream = client.send_settings(subscribing())
    leave(client)
    stream.send(sv.TelemetryCommand(settings=subscribing()))
    assert beat(client) == OK
    assert harness.broker.clients.consumers["G"].client_ids() == ["c"]


def test_auto_renewed_messages_become_visible_after_a_termination(harness: GrpcHarness) -> None:
    """After a termination, messages received with auto_renew become visible after one second and a revive.

    Acknowledged messages do not.
    """
    harness.topic()
    for body in (b"1", b"2", b"3"):
        harness.client().ask("SendMessage", a_send(a_message(body=body, message_id=body.decode())))
    consumer = harness.consumer("c", push=True)
    messages = consumer.receive(a_receive(auto_renew=True)).messages
    consumer.ask("AckMessage", an_ack(messages[0]))
    assert leave(consumer) == OK
    harness.advance(5_000)
    assert sorted(harness.consumer("d").receive(a_receive()).bodies) == [b"2", b"3"]


def test_waiting_polls_of_a_terminated_client_continue(harness: GrpcHarness) -> None:
    """Waiting polls of a client that terminates continue, as in upstream; a closing push consumer waits for them."""
    harness.topic()
    consumer = harness.consumer()
    waiting = consumer.receive(a_receive(poll_ms=20_000))
    leave(consumer)
    assert waiting.call.sent == []
    harness.advance(20_000)
    assert waiting.status.code == 40401


def test_with_end_polls_on_client_termination_waiting_polls_end_empty(harness: GrpcHarness) -> None:
    """With endPollsOnClientTermination, polls of a terminated client end empty, and messages go to other clients."""
    harness.config.end_polls_on_client_termination = True
    harness.topic()
    consumer, other = harness.consumer(), harness.consumer("other")
    waiting = [consumer.receive(a_receive(poll_ms=20_000)) for _ in range(2)]
    theirs = other.receive(a_receive(poll_ms=20_000))
    leave(consumer)
    assert [(received.status.code, received.kinds) for received in waiting] == [
        (40401, ["status", "delivery_timestamp"])
    ] * 2
    harness.client().ask("SendMessage", a_send(a_message()))
    assert theirs.bodies == [b"body"]
    harness.advance(30_000)
    assert all(len(received.responses) == 2 for received in waiting)
