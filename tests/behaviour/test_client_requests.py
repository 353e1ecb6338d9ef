"""Requests of administrators that the broker forwards to consumers, and notifications of the broker to consumers."""

from typing import Any

import pytest
from client_requests import (
    CONSUME,
    INFO,
    MEMBERS,
    RESET,
    RESULTS,
    STATUS,
    AdminRequest,
    AdminResponse,
    ClientRequests,
    ReceivedRequest,
    client_requests,
)
from protocol_client import BrokerProtocolClient, ProtocolClient
from protocol_clients import ALL, BROKER, through

CLIENT_TIMEOUT = 207
"""Code of the broker if a client does not respond."""
BUSY = 2
"""Code of the proxy if a client does not respond."""
WAIT_MS = {"engine": 10_000, "remoting": 10_000, "grpc": 6_000}
"""Timeout of a forwarded request in ms. The proxy checks every second whether five seconds have passed."""
STATUS_WAIT_MS = 5_000
RESET_BY_CLIENTS = {"use_server_side_reset_offset": False}


@pytest.fixture
def q(e: ProtocolClient) -> ClientRequests[Any]:
    """Return the requests to the members `one` and `two` of a group, whose topic has one message."""
    e.fill_topic(1)
    for client in ("one", "two"):
        e.heartbeat(client)
    asked = client_requests(e)
    for client in ("one", "two"):
        asked.received(client)
    return asked


def consume_directly(q: ClientRequests[Any], client: str = "one") -> AdminRequest:
    """Request that a client consumes the stored message directly."""
    return q.consume_directly(client, q.protocol_client.records("T")[0])


def response_of(admin_request: AdminRequest) -> AdminResponse:
    """Return the response that the administrator has received."""
    assert admin_request.response is not None
    return admin_request.response


# Direct consumption of a message.


@through(*ALL)
@pytest.mark.parametrize("result", RESULTS)
def test_a_direct_consumption_reaches_the_named_client_and_returns_its_result(
    q: ClientRequests[Any], result: str
) -> None:
    admin_request = consume_directly(q)
    (received,) = q.received("one")
    assert (received.kind, received.body, admin_request.response) == (CONSUME, b"0", None)
    assert q.received("two") == []
    q.respond_consumed("one", received, result)
    assert (response_of(admin_request).code, response_of(admin_request).result) == (0, result)


@through(*ALL)
def test_a_directly_consumed_message_is_still_delivered_to_its_group(e: ProtocolClient, q: ClientRequests[Any]) -> None:
    """A message that was consumed directly is still delivered to its group as a first attempt."""
    admin_request = consume_directly(q)
    (received,) = q.received("one")
    q.respond_consumed("one", received, "CR_SUCCESS")
    assert response_of(admin_request).code == 0
    assert e.committed() == -1
    (message,) = e.take()
    assert (message.body, message.attempt) == (b"0", 0)


@through(*ALL)
def test_an_acknowledged_message_can_be_consumed_directly(e: ProtocolClient, q: ClientRequests[Any]) -> None:
    """An already acknowledged message can be consumed directly any number of times without being redelivered."""
    (message,) = e.take()
    assert e.ack(message.handle).ok
    for _ in range(2):
        admin_request = consume_directly(q)
        (received,) = q.received("one")
        q.respond_consumed("one", received, "CR_LATER")
        assert response_of(admin_request).result == "CR_LATER"
    e.advance(60_000)
    assert e.bodies() == []


@through(*ALL)
def test_several_direct_consumptions_get_their_responses_in_any_order(
    e: ProtocolClient, q: ClientRequests[Any]
) -> None:
    e.send(b"1")
    admin_requests = [q.consume_directly("one", record) for record in e.records("T")]
    asked = q.received("one")
    assert [each.body for each in asked] == [b"0", b"1"]
    for received, result in zip(reversed(asked), ("CR_LATER", "CR_SUCCESS"), strict=True):
        q.respond_consumed("one", received, result)
    assert [response_of(each).result for each in admin_requests] == ["CR_SUCCESS", "CR_LATER"]


@through(*ALL)
def test_a_direct_consumption_without_a_response_fails_after_the_timeout(
    e: ProtocolClient, q: ClientRequests[Any]
) -> None:
    """A client that does not respond leads to an error after the timeout; a later response is ignored."""
    admin_request = consume_directly(q)
    (received,) = q.received("one")
    e.advance(WAIT_MS[e.name] - 1)
    assert admin_request.response is None
    e.advance(1)
    late = response_of(admin_request)
    assert late.code == (BUSY if e.proxied else CLIENT_TIMEOUT)
    assert late.remark.startswith("call remote timeout" if e.proxied else "consumer <G> <one> Timeout: ")
    q.respond_consumed("one", received, "CR_SUCCESS")
    assert admin_request.response == late


@through(*ALL)
@pytest.mark.parametrize("client", ["two", "nobody"])
def test_a_request_for_a_client_that_is_not_online_is_rejected(
    e: ProtocolClient, q: ClientRequests[Any], client: str
) -> None:
    """A request for a client that left or never registered is rejected as not online."""
    e.unregister_consumer("two")
    q.received("one")
    for admin_request in (consume_directly(q, client), q.running_info(client)):
        assert (response_of(admin_request).code, response_of(admin_request).remark) == (
            1,
            f"The Consumer <G> <{client}> not online",
        )
    assert q.received("one") == []


@through(*ALL)
def test_a_request_for_a_client_of_another_group_is_rejected(e: ProtocolClient, q: ClientRequests[Any]) -> None:
    e.heartbeat("three", group="H")
    q.received("three")
    admin_request = consume_directly(q, "three")
    assert response_of(admin_request).code == 1
    assert q.received("three") == []


@through(*ALL)
@pytest.mark.parametrize("message_id", ["", "7F0000010000", "7F00000100002A9F00FFFFFFFFFFFFFF"])
def test_a_direct_consumption_with_an_invalid_message_id_is_rejected(q: ClientRequests[Any], message_id: str) -> None:
    """A direct consumption request with an empty, short or dangling message id is rejected by the broker."""
    admin_request = q.consume_directly_by_id("one", message_id)
    assert response_of(admin_request).code == 1
    assert q.received("one") == []


@through(*ALL, brokers=2)
def test_each_broker_forwards_its_own_messages_for_direct_consumption(e: ProtocolClient) -> None:
    """Each broker forwards its own stored messages to clients that are registered there.

    Behind the proxy, clients are registered at all brokers.
    """
    e.topic()
    for name in ("broker-a", "broker-b"):
        e.at(name).store(name.encode())
        e.at(name).heartbeat("one")
    for name in ("broker-b", "broker-a"):
        there = e.at(name)
        q = client_requests(there)
        q.received("one")
        admin_request = q.consume_directly("one", there.records("T")[0])
        (received,) = q.received("one")
        assert received.body == name.encode()
        q.respond_consumed("one", received, "CR_SUCCESS")
        assert response_of(admin_request).code == 0


# Running info and consumer status.


@through(*BROKER)
def test_the_running_info_of_a_client_is_returned_unchanged(q: ClientRequests[Any]) -> None:
    """The running info of a client, or its error, is returned unchanged."""
    for code, body in ((0, b'{"properties":{}}'), (1, b"")):
        admin_request = q.running_info("one")
        (received,) = q.received("one")
        assert (received.kind, admin_request.response) == (INFO, None)
        q.respond("one", received, body, code)
        assert (response_of(admin_request).code, response_of(admin_request).body) == (code, body)


@through("grpc")
def test_the_proxy_does_not_forward_running_info_requests(e: ProtocolClient, q: ClientRequests[Any]) -> None:
    """The proxy does not forward running info requests, so that the broker times out."""
    admin_request = q.running_info("one")
    e.advance(9_999)
    assert admin_request.response is None
    e.advance(1)
    assert response_of(admin_request).code == CLIENT_TIMEOUT
    assert q.received("one") == []


@through(*BROKER)
def test_the_status_of_consumers_is_requested_one_after_another(
    e: BrokerProtocolClient, q: ClientRequests[Any]
) -> None:
    """The broker requests the status of one consumer after another, and leaves out a consumer that does not respond."""
    admin_request = q.status()
    (received,) = q.received("one")
    assert (received.kind, q.received("two")) == (STATUS, [])
    e.advance(STATUS_WAIT_MS)
    (second,) = q.received("two")
    q.respond("one", received, b'{"messageQueueTable":{}}')
    assert admin_request.response is None
    q.respond("two", second, b'{"messageQueueTable":{}}')
    assert (response_of(admin_request).code, response_of(admin_request).body) == (0, b'["two"]')


@through(*BROKER)
def test_a_status_request_for_one_client_reaches_only_that_client(q: ClientRequests[Any]) -> None:
    """A status request for one client reaches only that client, and no client if the id is unknown."""
    admin_request = q.status("two")
    assert q.received("one") == []
    (received,) = q.received("two")
    q.respond("two", received, b'{"messageQueueTable":{}}')
    assert response_of(admin_request).body == b'["two"]'
    assert response_of(q.status("nobody")).body == b"[]"
    assert q.received("one") + q.received("two") == []


@through("grpc")
def test_the_proxy_does_not_forward_status_requests(e: ProtocolClient, q: ClientRequests[Any]) -> None:
    """The proxy does not forward status requests, so that the broker times out per client and returns an empty list."""
    admin_request = q.status()
    e.advance(2 * STATUS_WAIT_MS - 1)
    assert admin_request.response is None
    e.advance(1)
    assert (response_of(admin_request).code, response_of(admin_request).body) == (0, b"[]")
    assert q.received("one") + q.received("two") == []


@through(*ALL)
def test_a_status_request_for_a_group_without_consumers_is_rejected(e: ProtocolClient) -> None:
    e.fill_topic(1)
    admin_request = client_requests(e).status()
    assert response_of(admin_request).code == 1


# Offset resets.


def consume(e: ProtocolClient) -> None:
    """Consume and acknowledge all messages of the group."""
    for message in e.take(client="one"):
        assert e.ack(message.handle).ok
    e.advance(20_000)


@through(*ALL)
def test_a_server_side_reset_redelivers_all_messages(e: ProtocolClient, q: ClientRequests[Any]) -> None:
    """A server-side reset redelivers all messages without notifying the consumers."""
    e.send(b"1", b"2")
    consume(e)
    assert e.committed() == len(e.records("T"))
    assert q.reset().code == 0
    assert q.received("one") + q.received("two") == []
    assert e.bodies() == [b"0", b"1", b"2"]


@through(*BROKER)
def test_the_first_pull_after_a_reset_returns_the_new_offset(e: BrokerProtocolClient, q: ClientRequests[Any]) -> None:
    """The first pull after a reset returns the new offset, once per group, and messages are read from there."""
    e.send(b"1")
    consume(e)
    assert q.reset().code == 0
    response = e.pull(2).response
    assert response is not None
    assert (response.code, response.number) == (21, 0)
    assert e.pull(0).response.bodies == [b"0", b"1"]  # type: ignore[union-attr]  # the pull does not wait


@through(*BROKER, **RESET_BY_CLIENTS)
def test_without_server_side_reset_every_consumer_is_requested_to_reset(
    e: BrokerProtocolClient, q: ClientRequests[Any]
) -> None:
    """With useServerSideResetOffset=false, every consumer is requested to reset; the committed offset stays."""
    e.send(b"1")
    consume(e)
    assert q.reset().code == 0
    reset = [ReceivedRequest(RESET, offsets=((0, 0),))]
    assert (q.received("one"), q.received("two")) == (reset, reset)
    assert e.committed() == len(e.records("T"))


@through(*BROKER, **RESET_BY_CLIENTS)
@pytest.mark.parametrize(("timestamp", "force", "offset"), [(0, False, 0), (-1, False, 1), (-1, True, 2)])
def test_a_client_side_reset_moves_a_consumer_forward_only_with_force(
    e: BrokerProtocolClient, q: ClientRequests[Any], timestamp: int, force: bool, *, offset: int
) -> None:
    """A client-side reset moves a consumer forward only with `force`; it moves back in any case."""
    consume(e)
    e.send(b"1")
    assert q.reset(timestamp, force=force).code == 0
    assert q.received("one") == [ReceivedRequest(RESET, offsets=((0, offset),))]


@through("grpc", **RESET_BY_CLIENTS)
def test_the_proxy_does_not_forward_client_side_resets(e: ProtocolClient, q: ClientRequests[Any]) -> None:
    """The proxy does not forward client-side resets, so that the group keeps its offsets."""
    consume(e)
    assert q.reset().code == 0
    assert q.received("one") + q.received("two") == []
    assert e.bodies() == []


@through(*ALL, **RESET_BY_CLIENTS)
def test_a_client_side_reset_without_consumers_returns_consumer_not_online(
    e: ProtocolClient, q: ClientRequests[Any]
) -> None:
    consume(e)
    for client in e.members():
        e.unregister_consumer(client)
    assert q.reset().code == 206


# Notifications about members of the group.


@through(*BROKER)
def test_consumers_are_notified_when_one_joins_or_leaves(e: BrokerProtocolClient) -> None:
    """A consumer is notified when another or itself joins and when another leaves."""
    e.topic()
    q, changed = client_requests(e), [ReceivedRequest(MEMBERS, b"G")]
    e.heartbeat("one")
    assert q.received("one") == changed
    e.heartbeat("two")
    assert (q.received("one"), q.received("two")) == (changed, changed)
    e.heartbeat("one")
    assert q.received("one") + q.received("two") == []
    e.unregister_consumer("two")
    assert (q.received("one"), q.received("two")) == (changed, [])


@through(*BROKER)
def test_consumers_of_other_groups_are_not_notified(e: BrokerProtocolClient) -> None:
    """Consumers of other groups are not notified when a consumer joins or leaves."""
    e.topic()
    e.heartbeat("other", group="H")
    q = client_requests(e)
    q.received("other")
    e.heartbeat("one")
    e.unregister_consumer("one")
    assert q.received("other") == []


@through(*BROKER, notify_consumer_ids_changed_enable=False)
def test_with_notify_consumer_ids_changed_disabled_no_consumer_is_notified(e: BrokerProtocolClient) -> None:
    """With notifyConsumerIdsChangedEnable=false no consumer is notified."""
    e.topic()
    for client in ("one", "two"):
        e.heartbeat(client)
    assert client_requests(e).received("one") == []


@through("grpc")
def test_the_proxy_does_not_notify_consumers_of_group_changes(e: ProtocolClient) -> None:
    e.topic()
    for client in ("one", "two"):
        e.heartbeat(client)
    e.unregister_consumer("two")
    assert client_requests(e).received("one") == []
