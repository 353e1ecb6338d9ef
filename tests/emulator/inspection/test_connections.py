"""Connections of clients are listed once for each channel, with client, language, version and times."""

from engine_world import World
from inspected import look
from rocketmq_testkit.emulator.engine import DirectChannel
from rocketmq_testkit.emulator.inspection.connections import ConnectionView, read_connections
from rocketmq_testkit.emulator.operations.clients import Heartbeat


def beat(world: World, client: str, groups: list[str], *, grpc: bool = False) -> None:
    channel = DirectChannel(f"grpc:{client}" if grpc else client, ("::1", 7))
    heartbeat = Heartbeat(client, groups, [], language="GO", version=433, through_proxy=grpc)
    world.engine.submit(world.broker, heartbeat, channel)


def test_connection_has_client_language_version_and_times(world: World) -> None:
    beat(world, "c1", ["P1"])
    world.advance(1_000)
    beat(world, "c1", ["P1", "P2"])
    (found,) = look(world).connections()
    assert (found.client, found.channel, found.protocol, found.language) == ("c1", "c1", "remoting", "GO")
    assert (found.address, found.groups, found.last_heartbeat_ms) == ("[::1]:7", ("P1", "P2"), world.now_ms)
    assert found.version
    assert found.since_ms == world.now_ms - 1_000


def test_session_of_the_proxy_is_one_connection_with_its_registrations(world: World) -> None:
    beat(world, "g1", ["P"], grpc=True)
    session = ConnectionView("g1", "grpc:g1", "grpc", "PYTHON", "5.1.2", "10.0.0.1:5", world.now_ms - 9, None, ())
    other = ConnectionView("g2", "grpc:g2", "grpc", "PYTHON", "5.1.2", "10.0.0.1:6", world.now_ms - 9, None, ())
    found = read_connections(world.engine.brokers, [other, session])
    assert [each.client for each in found] == ["g1", "g2"]
    assert (found[0].version, found[0].groups, found[0].since_ms) == ("5.1.2", ("P",), session.since_ms)
    assert found[0].last_heartbeat_ms == world.now_ms
    assert found[1] == other
