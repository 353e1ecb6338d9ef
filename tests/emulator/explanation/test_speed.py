"""The work of an explanation does not grow with other groups, topics or messages in flight."""

from collections.abc import Callable

import pytest
from engine_harness import EngineHarness, make_harness
from inspected import look
from operation_counts import executed_lines
from rocketmq_testkit.emulator.explanation.explain import Explainer
from rocketmq_testkit.emulator.explanation.reason import Reason
from rocketmq_testkit.emulator.operations.base import Done
from rocketmq_testkit.emulator.operations.groups import CreateGroup, GroupConfig
from rocketmq_testkit.emulator.operations.offsets import UpdateConsumerOffset

FEW, MANY = 10, 200


def other_groups(harness: EngineHarness, number: int) -> None:
    """Let other groups commit offsets of the queue."""
    for each in range(number):
        harness.ask(Done, CreateGroup(GroupConfig(f"other-{each}")))
        harness.ask(Done, UpdateConsumerOffset(f"other-{each}", "T", 0, 1))


def other_topics(harness: EngineHarness, number: int) -> None:
    """Create other topics."""
    for each in range(number):
        harness.topic(f"other-{each}")


def messages_in_flight(harness: EngineHarness, number: int) -> None:
    """Put earlier messages of the queue in flight, up to 32 in one check point."""
    for _ in range(number):
        harness.send("T", b"earlier")
    for _ in range(0, number, 32):
        harness.pop("T", count=32, invisible_ms=60_000)


def lines(fill: Callable[[EngineHarness, int], None], number: int) -> int:
    """Return the number of lines that the second explanation of an available message executes."""
    harness = make_harness()
    harness.topic("T")
    harness.heartbeat("c", topics={"T": "*"})
    fill(harness, number)
    harness.send("T", b"tea")
    inspection, history = look(harness), harness.engine.history
    explainer = Explainer(inspection, history, lambda: harness.now_ms)
    message = inspection.messages("T")[-1]

    def explain() -> None:
        assert explainer.explain(message, message.message_id, "G").reason is Reason.AVAILABLE

    explain()
    return executed_lines(explain)


@pytest.mark.parametrize("fill", [other_groups, other_topics, messages_in_flight])
def test_work_of_an_explanation_does_not_grow_with_unrelated_state(fill: Callable[[EngineHarness, int], None]) -> None:
    """With 20 times as many, an explanation executes at most a fifth more lines: one for each check point."""
    lines(fill, FEW)
    few, many = lines(fill, FEW), lines(fill, MANY)
    assert many <= 1.2 * few, (few, many)
