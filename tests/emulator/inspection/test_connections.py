"""Connections of clients are listed once for each channel, with client, language, version and times."""

from engine_harness import EngineHarness
from inspected import look
from rocketmq_testkit.emulator.engine import DirectChannel
from rocketmq_testkit.emulator.inspection.connections import ConnectionView, read_connections
from rocketmq_testkit.emulator.operations.clients import Heartbeat


def beat(harness: EngineHarness, client: str, groups: list[str], *, grpc: bool = False) -> None:
    """Send a heartbeat of a producer in these groups, itself or through the proxy."""
    channel = DirectChannel(f"grpc:{client}" if grpc else client, ("::1", 7))
    heartbeat = Heartbeat(client, groups, [], language="GO", version=433, through_proxy=grpc)
    harness.engine.submit(harness.broker, heartbeat, channel)


def test_connection_has_client_language_version_and_times(harness: EngineHarness) -> None:
    beat(harness, "c1", ["P1"])
    harness.advance(1_000)
    beat(harness, "c1", ["P1", "P2"])
    (found,) = look(harness).connections()
    assert (found.client, found.channel, found.protocol, found.language) == ("c1", "c1", "remoting", "GO")
    assert (found.address, found.groups, found.last_heartbeat_ms) == ("[::1]:7", ("P1", "P2"), harness.now_ms)
    assert found.version
    assert found.since_ms == harness.now_ms - 1_000


def session(harness: EngineHarness, client: str) -> ConnectionView:
    """Return a connection of a gRPC client as the proxy lists it, without the registrations at brokers."""
    return ConnectionView(
        client=client,
        channel=f"grpc:{client}",
        protocol="grpc",
        language="PYTHON",
        version="5.1.2",
        address="10.0.0.1:5",
        since_ms=harness.now_ms - 9,
        last_heartbeat_ms=None,
        groups=(),
    )


def test_session_of_the_proxy_and_its_registration_at_a_broker_are_one_connection(harness: EngineHarness) -> None:
    """The connection has the version and time of the session, and the groups and heartbeat of the registration."""
    beat(harness, "g1", ["P"], grpc=True)
    registered, other = session(harness, "g1"), session(harness, "g2")
    found = read_connections(harness.engine.brokers, [other, registered])
    assert [each.client for each in found] == ["g1", "g2"]
    assert (found[0].version, found[0].groups, found[0].since_ms) == ("5.1.2", ("P",), registered.since_ms)
    assert found[0].last_heartbeat_ms == harness.now_ms
    assert found[1] == other
