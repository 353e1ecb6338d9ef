"""Graceful shutdown with GO_AWAY: new clients get GO_AWAY, older ones are served, and then the broker stops."""

import pytest
from engine_world import World, make_world
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel
from rocketmq_testkit.emulator.kernel.errors import EngineError, RejectedBeforeProcessing
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.cluster import GetRouteInfo, RouteResult, UpdateBrokerConfig
from rocketmq_testkit.emulator.operations.send import SendMessage, SendResult
from rocketmq_testkit.emulator.overload.request_pools import BrokerPool

V5_3_1, V5_3_2_SNAPSHOT = 475, 476


def sent(world: World, version: int) -> DirectCall:
    """Submit a send of a remoting client with this version."""
    call = DirectCall(DirectChannel("client", ("10.0.0.1", 5000)))
    message = SendMessage("PG", "T", 0, b"m", {}, ("10.0.0.1", 5000), world.now_ms)
    pools = world.broker.request_pools
    if pools.is_active:
        pools.enter(BrokerPool.SEND, call, message, pools.go_away_error(version))
    else:
        world.engine.gate.submit(world.broker, call, message)
    return call


def gets_go_away(world: World, version: int = V5_3_2_SNAPSHOT) -> bool:
    """Return True if a client of this version gets GO_AWAY; False if it is served."""
    outcome = sent(world, version).outcome
    if isinstance(outcome, SendResult):
        return False
    assert isinstance(outcome, RejectedBeforeProcessing)
    assert (outcome.code, outcome.remark) == (ResponseCode.GO_AWAY, "please go away")
    return True


def has_route(world: World) -> bool:
    """Return True if the name server has a route for topic T."""
    try:
        return bool(world.ask(RouteResult, GetRouteInfo("T"), world.engine.name_server))
    except EngineError:
        return False


def graceful_world(**keys: object) -> World:
    """Create a world whose broker shuts down gracefully."""
    world = make_world(1, enable_shutdown_gracefully=True, shutdown_wait_time_seconds=5, **keys)
    world.topic("T")
    return world


def test_a_graceful_shutdown_sends_go_away_to_new_clients_before_it_stops() -> None:
    """During a graceful shutdown new clients get GO_AWAY, older ones are served, and the route is removed first."""
    world = graceful_world()
    over: list[int] = []
    assert has_route(world)
    world.engine.stop(world.broker, on_stopped=lambda: over.append(world.now_ms))
    begun_ms = world.now_ms
    assert not has_route(world)
    assert gets_go_away(world)
    assert not gets_go_away(world, V5_3_1)
    world.engine.stop(world.broker)
    world.advance(4_999)
    assert world.broker.running
    world.advance(1)
    assert not world.broker.running
    assert over == [begun_ms + 5_000]
    world.engine.start(world.broker)
    assert has_route(world)
    assert not gets_go_away(world)
    assert world.broker.store.max_offset("T", 0) == 2


@pytest.mark.parametrize("graceful", [True, False])
def test_a_broker_that_is_killed_or_has_no_graceful_shutdown_stops_at_once(graceful: bool) -> None:
    """A killed broker stops at once; without graceful shutdown, the default, a stopped one does so, too."""
    world = make_world(enable_shutdown_gracefully=graceful)
    over: list[bool] = []
    world.engine.stop(world.broker, kill=graceful, on_stopped=lambda: over.append(True))
    assert (world.broker.running, over) == (False, [True])


def test_a_crash_during_a_graceful_shutdown_restarts_the_broker() -> None:
    """A broker that crashes during its graceful shutdown starts again, and the shutdown is not continued."""
    world = graceful_world()
    world.engine.stop(world.broker)
    world.advance(1_000)
    world.engine.crash(world.broker)
    assert has_route(world)
    world.advance(60_000)
    assert world.broker.running
    assert not gets_go_away(world)


def test_go_away_enable_sends_go_away_and_keeps_the_route(world: World) -> None:
    """While goAwayEnable is on, clients get GO_AWAY, and the broker keeps its route."""
    world.topic("T")
    world.ask(Done, UpdateBrokerConfig({"goAwayEnable": "true"}))
    assert gets_go_away(world)
    assert not gets_go_away(world, V5_3_1)
    assert has_route(world)
    world.ask(Done, UpdateBrokerConfig({"goAwayEnable": "false"}))
    assert not gets_go_away(world)
