"""The one doorway: unknown operations, bugs of ours, the journal, and the same run from the same seed."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine_world import START_MS, World, make_world
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel, Engine
from rocketmq_testkit.emulator.errors import EngineError
from rocketmq_testkit.emulator.gate import Call
from rocketmq_testkit.emulator.operations import (
    Done,
    GetRouteInfo,
    GetTopicConfig,
    Operation,
    Parked,
    PullResult,
    Result,
)

WALK = Path(__file__).parent.parent / "support" / "journal_walk.py"


def test_an_operation_that_a_node_does_not_know(world: World) -> None:
    """It is answered REQUEST_CODE_NOT_SUPPORTED and names operation and node."""
    outcome = world.engine.submit(world.broker, GetRouteInfo("A")).outcome
    assert isinstance(outcome, EngineError)
    assert (outcome.code, outcome.remark) == (3, "GetRouteInfo is not supported by broker-a")


def test_a_bug_of_ours_is_reported_and_answered() -> None:
    """An exception in a handler reaches the reporter, the client gets SYSTEM_ERROR, and the next request works."""
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
    """The oldest entries are dropped and counted; message bytes are in the store alone."""
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
    """Once when they begin to wait, once when they are answered."""
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
