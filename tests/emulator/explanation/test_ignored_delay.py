"""Delays that a broker ignored: the explanation and the history of the message name them with the reason."""

import pytest
from engine_harness import START_MS, make_harness
from prepared_past import copy_of, message_of
from rocketmq_testkit.emulator.explanation.explain import Explainer
from rocketmq_testkit.emulator.explanation.ignored_delay import ignored_delay
from rocketmq_testkit.emulator.explanation.timeline import history_of
from rocketmq_testkit.emulator.inspection.engine_parts import NoSurroundings
from rocketmq_testkit.emulator.inspection.inspection import Inspection
from rocketmq_testkit.emulator.inspection.messages import CopyState
from rocketmq_testkit.emulator.operations.send import SendMessage
from rocketmq_testkit.emulator.operations.topics import CreateTopic, TopicConfig

LARGEST = 2**63 - 1


def texts(advance_ms: int = 0, **properties: str) -> tuple[str, str]:
    """Send a message and advance; return the sentence of its explanation and the detail of its first step."""
    harness = make_harness()
    engine = harness.engine
    engine.execute(harness.broker, CreateTopic(TopicConfig("orders", 1, 1)))
    send = SendMessage("P", "orders", 0, b"tea", {"UNIQ_KEY": "M1", **properties}, ("10.0.0.1", 1), START_MS)
    engine.execute(harness.broker, send)
    harness.advance(advance_ms)
    look = Inspection(engine, NoSurroundings())
    [message] = look.find("M1")
    explained = Explainer(look, engine.history, lambda: engine.scheduler.now_ms).explain(message, "M1")
    return explained.sentence, history_of(message, look, engine.history).steps[0].detail


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("TIMER_DELAY_SEC", LARGEST, "overflows 64 bits as an instant in milliseconds"),
        ("TIMER_DELAY_MS", LARGEST, "overflows 64 bits as an instant in milliseconds"),
        ("TIMER_DELAY_SEC", 0, "is no delay"),
        ("TIMER_DELAY_MS", -1, "is no delay"),
        ("TIMER_DELIVER_MS", START_MS, "is not after the send"),
        ("TIMER_DELIVER_MS", 5, "is not after the send"),
    ],
)
def test_ignored_delay_is_named_with_its_reason(name: str, value: int, why: str) -> None:
    sentence, step = texts(0, **{name: str(value)})
    assert sentence.endswith(f"; groups can read it; its delay was ignored: {name}={value} {why}")
    assert step == f"orders queue 0 offset 0, not delayed: {name}={value} {why}"


@pytest.mark.parametrize("properties", [{}, {"TIMER_DELAY_SEC": "2"}, {"TIMER_DELIVER_MS": str(START_MS + 5_000)}])
def test_delay_that_the_broker_applied_is_not_named(properties: dict[str, str]) -> None:
    for advance_ms in (0, 60_000):
        sentence, step = texts(advance_ms, **properties)
        assert "ignored" not in sentence
        assert "not delayed" not in step


def test_delivered_message_whose_timer_copy_was_deleted_was_delayed() -> None:
    """The oldest messages are deleted first, so the copy in the topic may be the first one that is left."""
    delivered = copy_of(CopyState.STORED, "orders", 60_000, TIMER_DELIVER_MS="5")
    assert ignored_delay(message_of(delivered)) == "TIMER_DELIVER_MS=5 is not after the send"
    delivered = copy_of(CopyState.STORED, "orders", 60_000, TIMER_DELIVER_MS="5", TIMER_OUT_MS="5")
    assert ignored_delay(message_of(delivered)) is None


@pytest.mark.parametrize("value", ["", "soon", "1.5"])
def test_delay_that_is_no_number_is_not_named(value: str) -> None:
    """The broker stores such a message only with a delay level, which has precedence."""
    assert ignored_delay(message_of(copy_of(CopyState.STORED, "orders", 0, TIMER_DELAY_SEC=value))) is None
