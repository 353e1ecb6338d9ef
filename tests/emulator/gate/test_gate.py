"""The gate: unknown operations, bugs in handlers, the journal, and repeatable runs with one seed."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engine_world import START_MS, World, make_world
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel, Engine
from rocketmq_testkit.emulator.gate.gate import Call
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.operations import (
    Done,
    GetRouteInfo,
    GetTopicConfig,
    Operation,
    Parked,
    PullMessage,
    PullResult,
    Result,
)

WALK = Path(__file__).parent.parent / "support" / "journal_walk.py"


def test_an_operation_that_a_node_does_not_know(world: World) -> None:
    """An unknown operation is answered REQUEST_CODE_NOT_SUPPORTED, with the names of operation and node."""
    outcome = world.engine.submit(world.broker, GetRouteInfo("A")).outcome
    assert isinstance(outcome, EngineError)
    assert (outcome.code, outcome.remark) == (3, "GetRouteInfo is not supported by broker-a")


def test_the_journal_keeps_refusals_without_their_tracebacks(world: World) -> None:
    """A copy: its code and text are those of the error, whose frames hold what the request brought."""
    with pytest.raises(EngineError) as caught:
        world.engine.ask(world.broker, GetTopicConfig("missing"))
    kept = list(world.engine.journal)[-1].outcome
    assert isinstance(kept, EngineError)
    assert (kept.code, kept.remark, kept.details) == (caught.value.code, caught.value.remark, caught.value.details)
    assert str(kept) == str(caught.value)
    assert (kept.__traceback__, kept.__context__) == (None, None)


def test_a_bug_of_ours_is_reported_and_answered() -> None:
    """An exception in a handler is reported, the client gets SYSTEM_ERROR, and the next request works."""
    bugs: list[BaseException] = []
    engine = Engine(report_bug=bugs.append)

    class Node:
        name = "broken"

        def __init__(self) -> None:
            self.handlers: dict[type[Operation], Callable[[Call, Any], Result | Parked]] = {GetTopicConfig: self.fail}

        def fail(self, call: Call, operation: Operation) -> Done:
            raise ZeroDivisionError("by zero")

    call = DirectCall(DirectChannel())
    engine.gate.submit(Node(), call, GetTopicConfig("A"))
    assert isinstance(call.outcome, EngineError)
    assert (call.outcome.code, call.outcome.remark) == (1, "ZeroDivisionError: by zero")
    assert [type(bug) for bug in bugs] == [ZeroDivisionError]
    assert isinstance(engine.submit(engine.brokers[0], GetTopicConfig("TBW102")).outcome, object)


def test_the_journal_is_bounded_and_holds_no_bodies() -> None:
    """A full journal drops and counts its oldest entries; it holds no message bodies, which only the store has."""
    world = make_world(journal_max_entries=10)
    world.topic("A")
    for _ in range(20):
        world.send("A", b"x" * 1000)
    world.pull("A")
    assert (len(world.engine.journal), world.engine.journal.dropped) == (10, 12)
    newest = list(world.engine.journal)[-1]
    assert newest.label == "direct"
    assert isinstance(newest.outcome, PullResult)
    assert newest.outcome.records == []
    assert list(newest.outcome.offsets) == list(range(20))
    assert all(getattr(entry.subject, "body", b"") == b"" for entry in world.engine.journal)


def test_parked_requests_are_written_down_twice(world: World) -> None:
    """A parked request has two journal entries: when it is parked and when it is answered."""
    world.topic("A")
    world.pop("A", poll_ms=1000)
    world.advance(1000)
    events = [(entry.event, entry.now_ms - START_MS) for entry in world.engine.journal][-2:]
    assert events == [("parked", 0), ("answered", 1000)]


def test_one_seed_gives_one_journal_under_any_hash_seed() -> None:
    """Two interpreters with different hash seeds write the same journal, byte for byte."""
    texts = {
        subprocess.run(
            [sys.executable, str(WALK), "42"],
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "1", "12345")
    }
    assert len(texts) == 1
    assert len(texts.pop().splitlines()) > 300


def test_the_journal_tells_the_channel_and_the_call_apart(world: World) -> None:
    """Each journal entry names the connection and the call of its request."""
    world.topic("A")
    call = DirectCall(DirectChannel("the-connection"))
    call.label = "the-call"
    pull = PullMessage("G", "A", 0, 0, 32, 2 | 4, 0, 15_000, subscription="*")
    world.engine.gate.submit(world.broker, call, pull)
    world.send("A")
    found = [
        (entry.now_ms, entry.node, entry.event, entry.client, entry.label)
        for entry in world.engine.journal
        if entry.subject is pull
    ]
    place = (world.now_ms, "broker-a")
    assert found == [(*place, event, "the-connection", "the-call") for event in ("parked", "answered")]


@pytest.mark.parametrize(
    ("ahead_ms", "client_ms", "engine_ms"),
    [
        (0, START_MS, START_MS),
        (60_000, START_MS - 60_000, START_MS),
        (60_000, START_MS - 30_001, START_MS + 29_999),
        (60_000, START_MS - 30_000, START_MS - 30_000),
        (60_000, START_MS, START_MS),
        (-60_000, START_MS + 60_000, START_MS),
        (60_000, 0, 0),
        (60_000, -5, -5),
    ],
)
def test_a_time_of_a_client_is_of_the_clock_that_is_nearer(
    world: World, ahead_ms: int, client_ms: int, engine_ms: int
) -> None:
    """A client's timestamp belongs to the nearer clock; on a tie to the engine's; 0 and below mean no timestamp."""
    world.engine.gate.ahead_ms = lambda: ahead_ms
    assert world.engine.gate.engine_time_ms(client_ms) == engine_ms


def test_what_a_request_sets_off_comes_after_its_own_answer(world: World) -> None:
    """Follow-up actions of a request run after its own response, even if it answers a parked request first."""
    told: list[str] = []
    gate = world.engine.gate

    class Told(DirectCall):
        def reply(self, outcome: object) -> None:
            told.append(self.label)

    parked, own = Told(DirectChannel()), Told(DirectChannel())
    parked.label, own.label = "parked", "own"

    class Node:
        name = "node"

        def __init__(self) -> None:
            self.handlers: dict[type[Operation], Callable[[Call, Any], Result | Parked]] = {GetTopicConfig: self.handle}

        def handle(self, call: Call, operation: Operation) -> Done:
            gate.afterwards(lambda: told.append("afterwards"))
            gate.complete(self, parked, GetTopicConfig("A"), Done())
            return Done()

    gate.submit(Node(), own, GetTopicConfig("A"))
    assert told == ["parked", "own", "afterwards"]
