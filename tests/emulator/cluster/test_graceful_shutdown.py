"""Graceful shutdown with GO_AWAY: new clients get GO_AWAY, older ones are served, and then the broker stops."""

import pytest
from engine_harness import EngineHarness, make_harness
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel
from rocketmq_testkit.emulator.kernel.errors import EngineError, RejectedBeforeProcessing
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.cluster import GetRouteInfo, RouteResult, UpdateBrokerConfig
from rocketmq_testkit.emulator.operations.send import SendMessage, SendResult
from rocketmq_testkit.emulator.overload.request_pools import BrokerPool

V5_3_1, V5_3_2_SNAPSHOT = 475, 476


def sent(harness: EngineHarness, version: int) -> DirectCall:
    """Submit a send of a remoting client with this version."""
    call = DirectCall(DirectChannel("client", ("10.0.0.1", 5000)))
    message = SendMessage("PG", "T", 0, b"m", {}, ("10.0.0.1", 5000), harness.now_ms)
    pools = harness.broker.request_pools
    if pools.is_active:
        pools.enter(BrokerPool.SEND, call, message, pools.go_away_error(version))
    else:
        harness.engine.gate.submit(harness.broker, call, message)
    return call


def gets_go_away(harness: EngineHarness, version: int = V5_3_2_SNAPSHOT) -> bool:
    """Return True if a client of this version gets GO_AWAY; False if it is served."""
    outcome = sent(harness, version).outcome
    if isinstance(outcome, SendResult):
        return False
    assert isinstance(outcome, RejectedBeforeProcessing)
    assert (outcome.code, outcome.remark) == (ResponseCode.GO_AWAY, "please go away")
    return True


def has_route(harness: EngineHarness) -> bool:
    """Return True if the name server has a route for topic T."""
    try:
        return bool(harness.ask(RouteResult, GetRouteInfo("T"), harness.engine.name_server))
    except EngineError:
        return False


def graceful_harness(**keys: object) -> EngineHarness:
    """Create a harness whose broker shuts down gracefully."""
    harness = make_harness(1, enable_shutdown_gracefully=True, shutdown_wait_time_seconds=5, **keys)
    harness.topic("T")
    return harness


def test_a_graceful_shutdown_sends_go_away_to_new_clients_before_it_stops() -> None:
    """During a graceful shutdown new clients get GO_AWAY, older ones are served, and the route is removed first."""
    harness = graceful_harness()
    over: list[int] = []
    assert has_route(harness)
    harness.engine.stop(harness.broker, on_stopped=lambda: over.append(harness.now_ms))
    begun_ms = harness.now_ms
    assert not has_route(harness)
    assert gets_go_away(harness)
    assert not gets_go_away(harness, V5_3_1)
    harness.engine.stop(harness.broker)
    harness.advance(4_999)
    assert harness.broker.running
    harness.advance(1)
    assert not harness.broker.running
    assert over == [begun_ms + 5_000]
    harness.engine.start(harness.broker)
    assert has_route(harness)
    assert not gets_go_away(harness)
    assert harness.broker.store.max_offset("T", 0) == 2


@pytest.mark.parametrize("graceful", [True, False])
def test_a_broker_that_is_killed_or_has_no_graceful_shutdown_stops_at_once(graceful: bool) -> None:
    """A killed broker stops at once; without graceful shutdown, the default, a stopped one does so, too."""
    harness = make_harness(enable_shutdown_gracefully=graceful)
    over: list[bool] = []
    harness.engine.stop(harness.broker, kill=graceful, on_stopped=lambda: over.append(True))
    assert (harness.broker.running, over) == (False, [True])


def test_a_crash_during_a_graceful_shutdown_restarts_the_broker() -> None:
    """A broker that crashes during its graceful shutdown starts again, and the shutdown is not continued."""
    harness = graceful_harness()
    harness.engine.stop(harness.broker)
    harness.advance(1_000)
    harness.engine.crash(harness.broker)
    assert has_route(harness)
    harness.advance(60_000)
    assert harness.broker.running
    assert not gets_go_away(harness)


def test_go_away_enable_sends_go_away_and_keeps_the_route(harness: EngineHarness) -> None:
    """While goAwayEnable is on, clients get GO_AWAY, and the broker keeps its route."""
    harness.topic("T")
    harness.ask(Done, UpdateBrokerConfig({"goAwayEnable": "true"}))
    assert gets_go_away(harness)
    assert not gets_go_away(harness, V5_3_1)
    assert has_route(harness)
    harness.ask(Done, UpdateBrokerConfig({"goAwayEnable": "false"}))
    assert not gets_go_away(harness)
