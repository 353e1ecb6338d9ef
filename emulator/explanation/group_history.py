"""The part of a history that concerns one group, and notes about steps that a history does not have."""

from dataclasses import replace

from ..kernel.nearest_name import nearest_of
from .message_history import MessageHistory
from .missing_rules import Missing, missing
from .scene import Scene


def for_group(found: MessageHistory, group: str, scene: Scene) -> MessageHistory:
    """Return the steps of a group and those that belong to no group, such as the send of the message.

    If the group has no step, the note says so. If there is no such group, it also says why.
    """
    steps = tuple(step for step in found.steps if step.group in (None, group))
    note = found.note
    if found.steps and not any(step.group == group for step in steps):
        note = f"no step of group {group}{_absence(group, scene)}"
    return replace(found, group=group, steps=steps, note=note)


def with_note(found: MessageHistory, message: Missing, scene: Scene) -> MessageHistory:
    """Return a history with a note if it has no steps: no broker received the message, with the nearest name."""
    return found if found.steps else replace(found, note=f"message {message.wanted} {missing(scene, message).text}")


def _absence(group: str, scene: Scene) -> str:
    if scene.group(group).exists:
        return ""
    deletion = scene.history.deleted_groups.of(group)
    if deletion is not None:
        return f", which was deleted at {scene.at(deletion.at_ms)}"
    nearest = nearest_of(group, [each.name for each in scene.groups])
    return f"; there is no group {group}" + (f", the nearest is {nearest}" if nearest is not None else "")
