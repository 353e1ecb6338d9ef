"""Delayed actions of a firing, such as the rest of a delayed response, and their release."""

from rocketmq_testkit.emulator.engine import Engine
from rocketmq_testkit.emulator.engine_cluster_control import EngineClusterControl
from rocketmq_testkit.emulator.faults.events import FiringContext, release
from rocketmq_testkit.emulator.faults.vocabulary import Codes
from rocketmq_testkit.emulator.kernel.random_streams import RandomStream
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler


def _firing(scheduler: Scheduler) -> FiringContext:
    """Create a firing whose scheduler has no other timers."""
    engine = Engine()
    return FiringContext(
        rule="late",
        scheduler=scheduler,
        chance=RandomStream(1),
        carrier=engine.gate,
        state={},
        codes=Codes(()),
        cluster=EngineClusterControl(engine),
    )


def test_delayed_actions_run_once_at_their_time_or_at_the_release_in_the_order_of_time() -> None:
    scheduler = Scheduler()
    firing, ran = _firing(scheduler), list[str]()
    for name, ms in (("c", 30), ("a", 10), ("b", 20), ("d", 30)):
        firing.hold(ms, lambda name=name: ran.append(name))  # type: ignore[misc]  # a default binds the name
    scheduler.advance_to(10)
    assert ran == ["a"]
    release(firing.state)
    assert ran == ["a", "b", "c", "d"]
    scheduler.advance_to(100)
    release(firing.state)
    assert ran == ["a", "b", "c", "d"]


def test_a_release_also_runs_actions_that_its_actions_delay_in_turn() -> None:
    """Each piece of a slow frame delays the next piece."""
    scheduler = Scheduler()
    firing, ran = _firing(scheduler), list[int]()

    def piece() -> None:
        ran.append(len(ran))
        if len(ran) < 5:
            firing.hold(1_000, piece)

    firing.hold(1_000, piece)
    release(firing.state)
    assert ran == [0, 1, 2, 3, 4]


def test_an_action_is_lost_with_the_run_of_its_broker() -> None:
    """After the broker's run has ended, the action runs neither at its time nor at the release."""
    scheduler = Scheduler()
    firing, ran = _firing(scheduler), list[str]()
    lifetime = scheduler.begin()
    firing.hold(10, lambda: ran.append("lost"), lifetime)
    firing.hold(20, lambda: ran.append("kept"))
    scheduler.end(lifetime)
    release(firing.state)
    scheduler.advance_to(100)
    assert ran == ["kept"]


def test_timers_of_faults_name_their_rule() -> None:
    """A view of timers shows the rule of each timer of a fault."""
    scheduler = Scheduler()
    firing = _firing(scheduler)
    firing.later(5, lambda: None)
    firing.hold(6, lambda: None)
    assert [(timer.kind, timer.owner) for timer in scheduler.scheduled()] == [("fault", "late")] * 2
