"""Histories of a message for one group, and their notes if the group has no step."""

from dataclasses import replace
from typing import Any

import pytest
from prepared_past import NOON_MS, absent_group, connected, copy_of, message_of, prepared_history, prepared_inspection
from rocketmq_testkit.emulator.explanation.group_history import for_group
from rocketmq_testkit.emulator.explanation.message_history import MessageHistory
from rocketmq_testkit.emulator.explanation.scene import Scene
from rocketmq_testkit.emulator.explanation.timeline import history_of
from rocketmq_testkit.emulator.history.deleted_groups import DeletedGroups, GroupDeletion
from rocketmq_testkit.emulator.history.events import RecordedEvent
from rocketmq_testkit.emulator.history.record_kind import RecordKind
from rocketmq_testkit.emulator.inspection.messages import CopyState

SENT = copy_of(CopyState.STORED, "orders", 0, offset=4)
RETRY = copy_of(CopyState.RETRY, "%RETRY%audit_orders", 3, group="audit", retry=1)


def a_history(group: str, *copies: Any) -> MessageHistory:
    """Return the history for `group` of a message that the groups billing and audit received; only billing exists."""
    deliveries = {
        ("broker-a", "orders", 0, 4): [
            RecordedEvent(NOON_MS + 1, RecordKind.PULLED, "channel of c1", "billing", 4, 1, None),
            RecordedEvent(NOON_MS + 2, RecordKind.PULLED, "channel of c1", "audit", 4, 1, None),
        ]
    }
    deleted = DeletedGroups()
    deleted.note("news", GroupDeletion(NOON_MS + 5_000, "broker-a"))
    past = prepared_history(deliveries=deliveries, deleted_groups=deleted)
    look = prepared_inspection(connections=[connected("c1")], groups=[replace(absent_group("billing"), exists=True)])
    return for_group(history_of(message_of(*copies), look, past), group, Scene(look, past, NOON_MS + 6_000))


@pytest.mark.parametrize(
    ("group", "kinds"), [("billing", ["sent", "delivered"]), ("audit", ["sent", "delivered", "redelivered"])]
)
def test_history_for_a_group_omits_the_steps_of_other_groups(group: str, kinds: list[str]) -> None:
    """Steps without a group, such as the send, remain."""
    found = a_history(group, SENT, RETRY)
    assert [step.kind for step in found.steps] == kinds
    assert {step.group for step in found.steps} == {None, group}
    assert (found.group, found.note) == (group, "")
    assert repr(found).splitlines()[0] == f"<MessageHistory of ID1 in orders for {group}, {len(kinds)} steps>"


@pytest.mark.parametrize(
    ("group", "note"),
    [
        ("biling", "no step of group biling; there is no group biling, the nearest is billing"),
        ("news", "no step of group news, which was deleted at 12:00:05"),
        ("q", "no step of group q; there is no group q"),
    ],
)
def test_history_without_a_step_of_the_group_has_a_note_with_the_reason(group: str, note: str) -> None:
    found = a_history(group, SENT)
    assert found.note == note
    head, second, *_ = repr(found).splitlines()
    assert (head, second) == (f"<MessageHistory of ID1 in orders for {group}, 1 step>", note)
    assert (found.as_json()["group"], found.as_json()["note"]) == (group, note)
