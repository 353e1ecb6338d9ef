"""The gate: unknown operations, bugs in handlers, the journal, listeners, and repeatable runs with one seed."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engine_harness import START_MS, EngineHarness, make_harness
from pull_operation import pull_of
from rocketmq_testkit.emulator.engine import DirectCall, DirectChannel, Engine, raise_bug
from rocketmq_testkit.emulator.gate.call import Call, Channel, Node, Outcome
from rocketmq_testkit.emulator.gate.effects import CloseExpiredConnection, NotifyConsumerIdsChanged
from rocketmq_testkit.emulator.gate.gate import Gate, GateListeners
from rocketmq_testkit.emulator.gate.journal import Journal
from rocketmq_testkit.emulator.kernel.errors import EngineError
from rocketmq_testkit.emulator.kernel.response_code import ResponseCode
from rocketmq_testkit.emulator.kernel.scheduler import Scheduler
from rocketmq_testkit.emulator.operations.base import PARKED, Done, Operation, Parked, Result
from rocketmq_testkit.emulator.operations.cluster import GetRouteInfo
from rocketmq_testkit.emulator.operations.consume import PullMessage, PullResult
from rocketmq_testkit.emulator.operations.topics import GetTopicConfig

WALK = Path(__file__).parents[2] / "support" / "journal_walk.py"


def test_an_unknown_operation_returns_request_code_not_supported(harness: EngineHarness) -> None:
    """The remark has the names of the operation and the node."""
    outcome = harness.engine.submit(harness.broker, GetRouteInfo("A")).outcome
    assert isinstance(outcome, EngineError)
    assert (outcome.code, outcome.remark) == (3, "GetRouteInfo is not supported by broker-a")


def test_the_journal_keeps_errors_without_their_tracebacks(harness: EngineHarness) -> None:
    """The journal keeps code and text of an error without its frames, which refer to the contents of the request."""
    with pytest.raises(EngineError) as caught:
        harness.engine.execute(harness.broker, GetTopicConfig("missing"))
    kept = list(harness.engine.journal)[-1].outcome
    assert isinstance(kept, EngineError)
    assert (kept.code, kept.remark, kept.details) == (caught.value.code, caught.value.remark, caught.value.details)
    assert str(kept) == str(caught.value)
    assert (kept.__traceback__, kept.__context__) == (None, None)


def test_an_exception_in_a_handler_is_reported_and_answered_system_error() -> None:
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
    """A full journal drops and counts its oldest entries; its entries have no message bodies."""
    harness = make_harness(journal_max_entries=10)
    harness.topic("A")
    for _ in range(20):
        harness.send("A", b"x" * 1000)
    harness.pull("A")
    assert (len(harness.engine.journal), harness.engine.journal.dropped) == (10, 12)
    newest = list(harness.engine.journal)[-1]
    assert newest.label == "direct"
    assert isinstance(newest.outcome, PullResult)
    assert newest.outcome.records == []
    assert list(newest.outcome.offsets) == list(range(20))
    assert all(getattr(entry.subject, "body", b"") == b"" for entry in harness.engine.journal)


def test_a_parked_request_has_a_parked_and_an_answered_journal_entry(harness: EngineHarness) -> None:
    harness.topic("A")
    harness.pop("A", poll_ms=1000)
    harness.advance(1000)
    events = [(entry.event, entry.now_ms - START_MS) for entry in harness.engine.journal][-2:]
    assert events == [("parked", 0), ("responded", 1000)]


def test_two_runs_of_one_seed_write_the_same_journal_under_different_hash_seeds() -> None:
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


def test_a_journal_entry_names_the_connection_and_the_call_of_its_request(harness: EngineHarness) -> None:
    harness.topic("A")
    call = DirectCall(DirectChannel("the-connection"))
    call.label = "the-call"
    pull = pull_of("G", "A", suspend_ms=15_000)
    harness.engine.gate.submit(harness.broker, call, pull)
    harness.send("A")
    found = [
        (entry.now_ms, entry.node, entry.event, entry.client, entry.label)
        for entry in harness.engine.journal
        if entry.subject is pull
    ]
    place = (harness.now_ms, "broker-a")
    assert found == [(*place, event, "the-connection", "the-call") for event in ("parked", "responded")]


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
def test_a_client_timestamp_is_converted_from_the_nearer_clock(ahead_ms: int, client_ms: int, engine_ms: int) -> None:
    """A client's timestamp is from the nearer clock, the machine's or the engine's; on a tie from the engine's.

    A timestamp of 0 or below means none.
    """
    gate = Gate(Scheduler(START_MS), Journal(1, 1), raise_bug, lambda: ahead_ms)
    assert gate.engine_time_ms(client_ms) == engine_ms


def test_follow_up_actions_of_a_request_run_after_its_own_response(harness: EngineHarness) -> None:
    """Follow-up actions of a request run after its own response, even if it completes a parked request first."""
    replied: list[str] = []
    gate = harness.engine.gate

    class Told(DirectCall):
        def reply(self, outcome: object) -> None:
            replied.append(self.label)

    parked, own = Told(DirectChannel()), Told(DirectChannel())
    parked.label, own.label = "parked", "own"

    class Node:
        name = "node"

        def __init__(self) -> None:
            self.handlers: dict[type[Operation], Callable[[Call, Any], Result | Parked]] = {GetTopicConfig: self.handle}

        def handle(self, call: Call, operation: Operation) -> Done:
            gate.run_after_reply(lambda: replied.append("afterwards"))
            gate.complete(self, parked, GetTopicConfig("A"), Done())
            return Done()

    gate.submit(Node(), own, GetTopicConfig("A"))
    assert replied == ["parked", "own", "afterwards"]


class Follower:
    """A node with three operations, and the calls of the gate's listeners for two of them."""

    name = "followed"

    def __init__(self) -> None:
        self.seen: list[tuple[str, object]] = []
        self.channel = DirectChannel()
        self.handlers: dict[type[Operation], Callable[[Call, Any], Result | Parked]] = {
            GetTopicConfig: self.refuse,
            PullMessage: lambda call, operation: PARKED,
            GetRouteInfo: lambda call, operation: Done(),
        }
        followed = {GetTopicConfig: self.outcome, PullMessage: self.outcome}
        listeners = GateListeners(
            outcomes=followed, refusals={GetTopicConfig: self.refusal}, effects={CloseExpiredConnection: self.effect}
        )
        self.gate = Gate(Scheduler(START_MS), Journal(100, 1_000_000), raise_bug, listeners=listeners)

    def refuse(self, call: Call, operation: GetTopicConfig) -> Result:
        raise EngineError(ResponseCode.TOPIC_NOT_EXIST, operation.topic)

    def outcome(self, node: Node, call: Call, operation: object, outcome: Outcome | None) -> None:
        assert (node, call.channel) == (self, self.channel)
        assert isinstance(call, DirectCall)
        assert call.outcome is None
        self.seen.append(("outcome", outcome))

    def refusal(self, node: Node, call: Call, operation: object, outcome: Outcome | None) -> None:
        self.seen.append(("refusal", outcome))

    def effect(self, node: Node, channel: Channel, effect: object) -> None:
        assert (node, channel, self.channel.effects) == (self, self.channel, [])
        self.seen.append(("effect", effect))


def test_listeners_get_an_outcome_before_the_client() -> None:
    """A listener gets None for a parked request, and each outcome, even an error, before the client does."""
    node = Follower()
    call, pull = DirectCall(node.channel), pull_of("G", "T", count=1, suspend_ms=1_000, expression=None)
    node.gate.submit(node, call, pull)
    assert node.seen == [("outcome", None)]
    node.gate.complete(node, call, pull, Done())
    assert node.seen[1:] == [("outcome", Done())]
    assert call.outcome == Done()
    node.gate.submit(node, DirectCall(node.channel), GetTopicConfig("A"))
    [(kind, outcome)] = node.seen[2:]
    assert kind == "outcome"
    assert isinstance(outcome, EngineError)


def test_listeners_get_refusals_and_effects_of_their_classes() -> None:
    """Only their own listeners get a request that was rejected before its execution, and an effect."""
    node = Follower()
    busy = EngineError(ResponseCode.SYSTEM_BUSY, "busy")
    node.gate.refuse(node, DirectCall(node.channel), GetTopicConfig("A"), busy)
    assert node.seen == [("refusal", busy)]
    node.gate.refuse(
        node, DirectCall(node.channel), pull_of("G", "T", count=1, suspend_ms=1_000, expression=None), busy
    )
    node.gate.submit(node, DirectCall(node.channel), GetRouteInfo("A"))
    assert len(node.seen) == 1
    node.gate.push(node, node.channel, CloseExpiredConnection())
    assert node.seen[1:] == [("effect", CloseExpiredConnection())]
    node.gate.push(node, node.channel, NotifyConsumerIdsChanged("G"))
    assert len(node.seen) == 2
