"""Clients that have disconnected: their SDKs, addresses and times of departure."""

from dataclasses import replace

import pytest
from engine_harness import EngineHarness
from rocketmq_testkit.emulator.gate.call import GRPC_CHANNEL
from rocketmq_testkit.emulator.history.seen_clients import CONNECTIONS_MAX, SeenClient, SeenClients

C1 = SeenClient("c1", "JAVA", "V5_3_3", "10.0.0.1:1")


def test_client_with_an_open_connection_has_not_left() -> None:
    """A remoting client, which has a connection to each broker, has left when the last one is closed."""
    clients = SeenClients()
    clients.note("to broker-a", C1)
    clients.note("to broker-b", replace(C1, address="10.0.0.1:2"))
    clients.left("to broker-a", 5)
    assert clients.named("c1") == replace(C1, address="10.0.0.1:2")
    clients.left("to broker-b", 7)
    assert clients.named("c1") == replace(C1, address="10.0.0.1:2", left_ms=7)
    clients.left("to broker-b", 9)  # it can be closed once
    assert clients.named("c1") == replace(C1, address="10.0.0.1:2", left_ms=7)


def test_client_that_registers_again_has_not_left() -> None:
    clients = SeenClients()
    clients.note("channel", C1)
    clients.left("channel", 5)
    assert not clients.has("channel")
    clients.note("channel", C1)
    assert clients.has("channel")
    assert clients.named("c1") == C1


def test_expired_client_has_left_on_all_connections() -> None:
    clients = SeenClients()
    for channel in ("a", "b"):
        clients.note(channel, C1)
    clients.note("c", replace(C1, client="c2"))
    clients.gone("c1", 5)
    assert [each.left_ms for each in clients] == [5, 5, None]


def test_connection_is_open_until_it_ends() -> None:
    clients = SeenClients()
    for channel in ("a", "b"):
        clients.note(channel, C1)
    clients.left("a", 5)
    assert clients.is_connected("c1")
    assert clients.copy(with_connections=True).is_connected("c1")
    assert not clients.copy().is_connected("c1")  # no client is connected to a new fork
    clients.left("b", 5)
    assert not clients.is_connected("c1")
    clients.note("b", replace(C1, client="c2"))
    assert clients.is_connected("c2")


def test_removed_connection_is_not_open() -> None:
    clients = SeenClients()
    for number in range(CONNECTIONS_MAX + 1):
        clients.note(f"{number}", replace(C1, client=f"c{number}"))
    assert (clients.is_connected("c0"), clients.is_connected("c1")) == (False, True)


def test_leave_of_an_unknown_client_adds_no_client() -> None:
    clients = SeenClients()
    clients.left("channel", 5)
    assert clients.named("c1") is clients.on("channel") is None
    assert list(clients) == []


@pytest.mark.parametrize("kill", [False, True])
def test_client_has_left_a_stopped_broker_whose_connection_is_still_open(harness: EngineHarness, *, kill: bool) -> None:
    """A connection stays open while its client reads no bytes. A gRPC client stays connected to the proxy."""
    clients = harness.engine.history.clients
    for client in ("c1", f"{GRPC_CHANNEL}c2"):
        harness.heartbeat(client)
    harness.advance(5_000)
    harness.engine.stop(harness.broker, kill=kill)
    assert (clients.has("c1"), clients.has(f"{GRPC_CHANNEL}c2")) == (False, True)
    found = clients.on("c1")
    assert found is not None
    assert found.left_ms == harness.now_ms
