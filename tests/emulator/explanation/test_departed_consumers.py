"""Explanations for groups whose consumers have left, whose subscriptions only the history has."""

import pytest
from explained_situations import GROUP, group, member, move, read
from fake_inspection import FakeHistory
from rocketmq_testkit.emulator.explanation.reason import Reason
from rocketmq_testkit.emulator.history.events import MoveKind
from rocketmq_testkit.emulator.history.last_subscriptions import LastSubscription


@pytest.mark.parametrize(
    ("expression", "reason", "words"),
    [
        (
            "b",
            Reason.FILTERED_BY_TAG,
            f"the last subscription `TAG = b` of group {GROUP}, whose consumers have left, did",
        ),
        ("*", Reason.STARTED_AT_END, f"group {GROUP} started at offset 5 of queue 3"),
        (
            None,
            Reason.COMMITTED_PAST,
            "its subscription of that time did not match it, or it started after this message",
        ),
    ],
)
def test_the_last_subscription_decides_why_a_group_did_not_read_a_message(
    expression: str | None, reason: Reason, words: str
) -> None:
    """Without a recorded subscription, as in a restored emulator, both reasons are possible."""
    past = FakeHistory(offset_moves=[move(MoveKind.FIRST, None, 5)])
    if expression is not None:
        past.subscriptions.note(GROUP, "orders", LastSubscription(expression, "TAG"))
    found = read(5, group(), past=past).explain()
    assert found.reason is reason
    assert words in found.sentence


def test_a_present_subscription_replaces_the_last_one() -> None:
    past = FakeHistory(offset_moves=[move(MoveKind.FIRST, None, 5)])
    past.subscriptions.note(GROUP, "orders", LastSubscription("a", "TAG"))
    assert read(5, group(member()), past=past).explain().reason is Reason.STARTED_AT_END
