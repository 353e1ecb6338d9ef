"""The verdict about full request pools: which refusals count, and until when."""

from typing import Any

import pytest
from explained_situations import C1, GROUP, assigned, event, events, read, refused
from fake_inspection import FakeHistory
from prepared_past import NOON_MS
from rocketmq_testkit.emulator.explanation.reason import Reason
from rocketmq_testkit.emulator.history.events import RefusedRequest
from rocketmq_testkit.emulator.history.record_kind import RecordKind
from rocketmq_testkit.emulator.inspection.polls import PollView


def refusal(operation: str = "PullMessage", **fields: Any) -> RefusedRequest:
    """A request of the group that a full pool refused 10 s after noon."""
    return refused("SYSTEM_BUSY", "", label=operation, at_ms=10_000, **({"group": GROUP} | fields))


@pytest.mark.parametrize("operation", ["PullMessage", "LitePullMessage", "PopMessage", "ReceiveMessage"])
def test_a_refused_request_for_messages_is_the_reason(operation: str) -> None:
    assert read(4, past=FakeHistory(refusals=[refusal(operation)])).explain().reason is Reason.OVERLOADED


@pytest.mark.parametrize(
    "fields",
    [
        {"operation": "SendMessageBack"},
        {"operation": "AckMessage"},
        {"operation": "UpdateConsumerOffset"},
        {"topic": "payments"},
        {"node": "broker-b"},
    ],
    ids=str,
)
def test_a_refused_request_that_would_not_have_read_the_message_is_no_reason(fields: dict[str, str]) -> None:
    """Acknowledgements and messages that are sent back, other topics, and other brokers do not count."""
    assert read(4, past=FakeHistory(refusals=[refusal(**fields)])).explain().reason is Reason.AVAILABLE


def test_a_refusal_before_a_delivery_is_no_reason_after_a_reset_of_the_offset() -> None:
    """The message was delivered after the refusal; a reset then moved the offset of the group back."""
    deliveries = events(event(RecordKind.PULLED, 20_000), event(RecordKind.COMMITTED, 21_000))
    found = read(4, past=FakeHistory(refusals=[refusal()], deliveries=deliveries)).explain()
    assert found.reason is Reason.AVAILABLE


@pytest.mark.parametrize(("later_ms", "reason"), [(9_999, Reason.OVERLOADED), (20_000, Reason.AVAILABLE)])
def test_a_refusal_before_an_accepted_request_is_no_reason(later_ms: int, reason: Reason) -> None:
    """An accepted request is seen by its long poll, or by the time at which the owner requested the queue."""
    poll = PollView(
        f"channel of {C1}",
        GROUP,
        "broker-a",
        "orders",
        queue_id=3,
        since_ms=NOON_MS + later_ms,
        until_ms=NOON_MS + later_ms + 15_000,
        kind="pull",
    )
    looks: list[dict[str, Any]] = [{"waiting_polls": [poll]}, {"assigned": [assigned(C1, later_ms)]}]
    for look in looks:
        assert read(4, past=FakeHistory(refusals=[refusal()]), **look).explain().reason is reason
